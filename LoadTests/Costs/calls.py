#!/usr/bin/env python3
"""The calls of the allocator and of Swift's reference counting per message in a real gateway."""

import argparse
import os
import statistics
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from stage import SHARED, Stage  # noqa: E402
from counter import KINDS, Counter, Names, built_counter  # noqa: E402
from scenes import SCENES  # noqa: E402
from thresholds import Thresholds  # noqa: E402

#: Retains and releases are printed separately and compared as a sum.
COLUMNS = ("allocations", "libpq", "counting")

#: The number of parts of a scene. The figure for allocations is the minimum, since periodic work (sweep, maintenance)
#: only adds calls. For retains and releases it is the median, since load on the machine can reduce a part by a quarter.
PARTS = 4
#: On a slow machine every part may contain a sweep, with about 35 calls of the allocator.
SWEEP = 40


def measure(gateway, counter, name, traced):
    """The loop's calls of each kind in a part of a scene, and the number of messages in it."""
    scene = SCENES[name](gateway)
    scene.warm_up()
    parts = 1 if traced else min(PARTS, scene.rounds)
    rounds = scene.rounds // parts
    found = []
    for _ in range(parts):
        before = counter.counts("loop")
        counter.trace(traced)
        for _ in range(rounds):
            scene.round()
        counter.trace(())
        after = counter.counts("loop")
        found.append({kind: after[kind] - before[kind] for kind in KINDS})
    middle = {kind: statistics.median_low(part[kind] for part in found) for kind in ("retains", "releases")}
    return {kind: min(part[kind] for part in found) for kind in KINDS} | middle, rounds * scene.messages


def show_traces(gateway, counter, messages, depth):
    traces = counter.traces()[:30]
    names = Names(gateway.pid)
    names.resolve([address for _, _, addresses in traces for address in addresses])
    for kind, count, addresses in traces:
        print(f"\n  {count / messages:8.3f} {kind} a message")
        lines = [line for address in addresses for line in names[address]]
        for line in lines[:depth]:
            print(f"             {line[:170]}")


def main():
    parser = argparse.ArgumentParser(
        description="Drives a private gateway with one loop over real sockets and counts how often the loop calls the "
        "allocator and Swift's reference counting, for each message, after a warm-up.",
        epilog=f"Scenes: {', '.join(SCENES)}. In 'fanout' and 'fanout-x8' each message has 100 deliveries; in 'rest' a "
        "message stands for one idle second.")
    parser.add_argument("scenes", nargs="*", help="scenes; by default all")
    parser.add_argument("--binary", default=SHARED, help="a gateway with a shared runtime")
    parser.add_argument("--trace", metavar="KIND,…", default="",
                        help=f"also print the backtraces of these kinds: {', '.join(KINDS)}. For one scene.")
    parser.add_argument("--frames", type=int, default=12, help="lines of each backtrace (12)")
    parser.add_argument("--record", action="store_true", help="record the counts as the new thresholds")
    options = parser.parse_args()
    traced = [kind for kind in options.trace.split(",") if kind]
    unknown = set(options.scenes) - set(SCENES) or set(traced) - set(KINDS)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    found, least = {}, {}
    with Stage(options.binary) as stage:
        board = os.path.join(stage.folder, "board")
        gateway = stage.start({"LD_PRELOAD": built_counter(stage.folder), "COUNTER_FILE": board})
        counter = Counter(board)
        # The cost of an idle second depends on its start. It is only printed, and only on demand.
        for name in options.scenes or [name for name in SCENES if name != "rest"]:
            calls, messages = measure(gateway, counter, name, traced)
            parts = "  ".join(f"{kind} {calls[kind] / messages:7.3f}" for kind in KINDS)
            print(f"{name:13} {parts}  of {messages} messages", flush=True)
            if traced:
                show_traces(gateway, counter, messages, options.frames)
                counter.forget()
            if name == "rest":
                continue
            least[name] = max(0.05, SWEEP / messages)
            found[name] = {kind: calls[kind] / messages for kind in ("allocations", "libpq")}
            found[name]["counting"] = (calls["retains"] + calls["releases"]) / messages
    if traced:
        return
    print()
    thresholds = Thresholds(os.path.join(HERE, "calls.txt"), COLUMNS, share=0.15, least=least)
    if options.record:
        thresholds.record(found)
    raise SystemExit(thresholds.judge(found, all=not options.scenes))


if __name__ == "__main__":
    main()
