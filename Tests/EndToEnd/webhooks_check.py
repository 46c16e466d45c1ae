"""Compares the deliveries that a receiver of webhooks got with the events of the database.

    webhooks_check.py RECORD < "conversation seq event" lines, in order

Each event once after those with a known id are left out, in order in each conversation, all signed, no redirect
followed. Prints what is missing or wrong; --count only counts what was taken.
"""

import collections
import pathlib
import sys

taken = {}
repeats = 0
for line in pathlib.Path(sys.argv[1]).read_text().splitlines():
    name, event, place, number, signed, path = line.split()
    if name in taken:
        repeats += 1
        continue
    taken[name] = (place, int(number), event)
    if event != "webhook.test" and (signed != "True" or path != "/"):
        sys.exit(f"not signed, or sent elsewhere: {line}")

expected = collections.Counter()
for line in sys.stdin:
    place, number, event = line.split()
    expected[(place, int(number), event)] += 1
if not expected:
    sys.exit("nothing was expected")

found = collections.Counter(value for value in taken.values() if value[2] != "webhook.test")
if found != expected:
    missing, extra = expected - found, found - expected
    sys.exit(f"{sum(missing.values())} missing, {sum(extra.values())} too many: "
             f"{list(missing)[:3]} {list(extra)[:3]}")

last = {}
for place, number, event in taken.values():
    if place != "-":
        if number < last.get(place, 0):
            sys.exit(f"out of order in {place}: {event} {number} after {last[place]}")
        last[place] = number
print(f"noticed: {sum(expected.values())} events in {len(last)} conversations, {repeats} came again")
