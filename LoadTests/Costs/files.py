#!/usr/bin/env python3
"""The source files that a message passes through on its way from the sender's socket to the sockets of its receivers.

A debug gateway with one loop runs under Callgrind, where every function is a function of its own file: nothing is
inlined. An instruction belongs to the way if the loop executes it the same number of times for every message, and never
while no message is sent. Its file is found in the debug information. files.txt is the recorded list; a file more fails,
and so does a list that is longer than FILES_MAX.
"""

import argparse
import collections
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from stage import ROOT, Stage  # noqa: E402
from scenes import Stream, command, connect_chat  # noqa: E402

DEBUG = os.path.join(ROOT, ".build/debug/chirrup")
FILES_MAX = 40
#: Values that are used like those of the standard library: bytes, identifiers, times, indices, bounds.
VALUES = re.compile(r"Primitives/|Engine/Indices\.swift|Chat/Limits\.swift")
#: Not only ASCII, which skips the check of UTF-8.
BODY = "Grüße aus der Küche " * 6
MESSAGES = 20
#: Seconds without a message. Covers what a loop does every few seconds.
IDLE_SECONDS = 6
LIST = os.path.join(HERE, "files.txt")


def control(gateway, *arguments):
    subprocess.run(["callgrind_control", *arguments, str(gateway.pid)], check=True, stdout=subprocess.DEVNULL)


def send(streams, session, count):
    visitor, operator = streams
    for _ in range(count):
        # Below the rate of a connection.
        time.sleep(0.2)
        visitor.send(command(session, BODY))
        visitor.take_marks(ack=1, message=1)
        operator.take_marks(message=1)


def run(binary):
    """How often the loop executed each instruction for MESSAGES messages, in the idle time, and for twice as many."""
    with Stage(binary) as stage:
        counts, program, wrapper = (os.path.join(stage.folder, name) for name in ("counts", "program", "wrapper"))
        # Valgrind does not read the debug information of every compiler.
        subprocess.run(["objcopy", "--strip-debug", "--remove-section=.gnu_debuglink", binary, program], check=True)
        with open(wrapper, "w") as file:
            file.write("#!/bin/sh\nexec valgrind --quiet --tool=callgrind --separate-threads=yes --dump-instr=yes "
                       "--dump-line=no --compress-strings=no --compress-pos=no "
                       f"--callgrind-out-file={counts} {program} \"$@\"\n")
        os.chmod(wrapper, 0o755)
        stage.binary = wrapper
        gateway = stage.start({})
        visitor, operator = gateway.token("visitor"), gateway.token("operator")
        session = visitor["session"]
        chats = [connect_chat(gateway, account=account, session=session, tail=1) for account in (visitor, operator)]
        for chat in chats:
            chat.until("live")
        streams = [Stream(chat.peer) for chat in chats]
        send(streams, session, 10)
        control(gateway, "--zero")
        send(streams, session, MESSAGES)
        control(gateway, "--dump")
        time.sleep(IDLE_SECONDS)
        control(gateway, "--dump")
        send(streams, session, 2 * MESSAGES)
        control(gateway, "--dump")
        # The loop is the second thread of the process.
        return [read(f"{counts}.{part}-02", program) for part in (1, 2, 3)]


def read(path, program):
    executed, is_ours, is_call = collections.Counter(), False, False
    with open(path) as file:
        for line in file:
            if line.startswith("ob="):
                is_ours = line[3:].strip() == program
            elif line.startswith("calls="):
                is_call = True
            elif line.startswith("0x"):
                address, cost = line.split()[:2]
                # The line after a call has the cost of the called function.
                if is_ours and not is_call:
                    executed[int(address, 16)] += int(cost)
                is_call = False
    return executed


def files(addresses, binary):
    symbolizer = shutil.which("llvm-symbolizer", path=os.path.dirname(os.path.realpath(shutil.which("swift"))))
    done = subprocess.run([symbolizer or "llvm-symbolizer", f"--obj={binary}", "--output-style=JSON"], check=True,
                          capture_output=True, text=True, input="\n".join(map(hex, sorted(addresses))))
    found = set()
    for line in done.stdout.splitlines():
        for symbol in json.loads(line).get("Symbol", []):
            match = re.search(r"\bSources/(\w+/.*\.swift)$", symbol["FileName"])
            if match and "/checkouts/" not in symbol["FileName"]:
                found.add(match.group(1))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=DEBUG, help="a debug build of the gateway")
    parser.add_argument("--record", action="store_true", help="record the list")
    options = parser.parse_args()
    once, idle, twice = run(options.binary)
    way = [address for address, count in once.items()
           if count % MESSAGES == 0 and twice[address] == 2 * count and not idle[address]]
    found = files(way, options.binary)
    steps = sorted(file for file in found if not VALUES.match(file))
    values = sorted(found - set(steps))
    print(f"{len(steps)} files of at most {FILES_MAX}, and {len(values)} of values: {', '.join(values)}")
    if options.record:
        with open(LIST, "w") as file:
            file.write("# The source files that a message passes through. Written by `LoadTests/Costs/files.py --record`.\n\n"
                       + "\n".join(steps) + "\n")
    with open(LIST) as file:
        known = {line.strip() for line in file if line.strip() and not line.startswith("#")}
    wrong = [f"{file} is new on the way of a message" for file in steps if file not in known]
    wrong += [f"{file} is no longer on the way of a message: record the list" for file in sorted(known - set(steps))]
    if len(steps) > FILES_MAX:
        wrong.append(f"a message passes through {len(steps)} files, more than {FILES_MAX}")
    for line in wrong:
        print(f"FAIL  {line}")
    raise SystemExit(1 if wrong else 0)


if __name__ == "__main__":
    main()
