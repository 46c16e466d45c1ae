#!/usr/bin/env python3
"""Exact instructions, allocations and reference counting of one operation of each workload.

Many machines lack hardware counters, and times vary. Callgrind counts executed instructions, the same number in every
run. `chirrup-bench count` performs N operations and then 2N; the difference divided by N is the cost of one operation
without the cost of a run.
"""

import argparse
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

from thresholds import Thresholds  # noqa: E402

OPERATIONS = 512

#: The called functions whose counts are added up.
CALLS = {
    "allocations": {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc"},
    # swift_bridgeObjectRetain and similar functions call one of these.
    "retains": {"swift_retain", "swift_retain_n", "swift_tryRetain", "swift_release", "swift_release_n"},
}
COLUMNS = ("instructions", *CALLS)


def count(binary, names):
    """The columns of each workload, as dictionaries."""
    with tempfile.TemporaryDirectory(prefix="chirrup-count.") as folder:
        # With random seeds of hashing, collisions would vary the number of instructions.
        environment = os.environ | {"SWIFT_DETERMINISTIC_HASHING": "1", "SWIFT_BACKTRACE": "enable=no"}
        done = subprocess.run(
            ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/counts", "--dump-before=*countingMark*",
             "--compress-strings=no", "--compress-pos=no", "--dump-instr=no", binary, "count", str(OPERATIONS), *names],
            env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"valgrind ends with {done.returncode}:\n{done.stderr[-2000:]}")
        found = {}
        for index, line in enumerate(done.stdout.splitlines()):
            name, operations = line.split("\t")
            # Each workload calls the mark three times. The dumps before the second and the third call are its counts.
            once, twice = (read(f"{folder}/counts.{3 * index + part}") for part in (2, 3))
            found[name] = {column: (twice[column] - once[column]) / int(operations) for column in COLUMNS}
        return found


def read(path):
    """The totals of one dump."""
    sums = dict.fromkeys(COLUMNS, 0)
    kind = None
    with open(path) as file:
        for line in file:
            if line.startswith("cfn="):
                called = line[4:].strip().split("'")[0]
                kind = next((column for column, functions in CALLS.items() if called in functions), None)
            elif line.startswith("calls=") and kind:
                sums[kind] += int(line[6:].split()[0])
            elif line.startswith(("totals:", "summary:")):
                sums["instructions"] = int(line.split()[1])
    return sums


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="workloads; by default all")
    parser.add_argument("--binary", default=os.path.join(ROOT, ".build/release/chirrup-bench"), help="chirrup-bench")
    parser.add_argument("--record", action="store_true", help="record the counts as the new thresholds")
    options = parser.parse_args()
    thresholds = Thresholds(os.path.join(HERE, "instructions.txt"), COLUMNS, share=0.03, least=0.02)
    found = count(options.binary, options.names)
    if options.record:
        thresholds.record(found)
    raise SystemExit(thresholds.judge(found, all=not options.names))


if __name__ == "__main__":
    main()
