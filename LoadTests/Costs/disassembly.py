#!/usr/bin/env python3
"""Checks the machine code of the hot path: in the release program, the functions listed in disassembly.txt may not call
the allocator, reference counting or the runtime's dynamic features. Functions are found by their demangled names, with
their closures and specialisations; a missing one (renamed, or inlined into its callers) is an error."""

import argparse
import bisect
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from stage import SHARED  # noqa: E402
from thresholds import Thresholds  # noqa: E402

#: The modules of the hot path, as in mangled names.
MODULES = ("4Wire", "4JSON", "4Chat", "6Engine", "7Gateway", "6Kernel", "10Primitives")

#: The columns, by the names of call targets.
COLUMNS = {
    # Without the growth of an array, a cold branch of every append; calls.py counts actual allocations.
    "allocating": re.compile(
        r"(swift_(allocObject|slowAlloc|allocBox|allocError|dealloc\w*)|malloc|calloc|realloc|free|posix_memalign)$"),
    # Outlined copies and destructions of values contain retains and releases: WOy, WOe, WOs, WOr, WOh, WOc, WOd, WOf.
    "counting": re.compile(r"(swift_(bridgeObject)?(try)?(Retain|Release|retain|release)(_n)?|\$s.*WO[yesrhcdf])$"),
    "dynamic": re.compile(
        r"(swift_(dynamicCast\w*|get\w*Metadata\w*|getWitnessTable|getAssociated\w+|getTypeByMangled\w*|conforms\w*|"
        r"beginAccess|once)|__swift_(instantiate\w+|project_boxed\w+|destroy_boxed\w+|allocate_value_buffer))$"),
}

CALL = re.compile(r"^\s+([0-9a-f]+):\s+(?:call|jmp|j\w+)\s+[0-9a-f]+ <([^>+@]+)(?:@plt)?>$")


class Program:
    def __init__(self, path):
        self.path = path
        listed = subprocess.run(["nm", "--print-size", "--defined-only", path], capture_output=True, text=True, check=True)
        self.symbols = []
        for line in listed.stdout.splitlines():
            fields = line.split()
            if len(fields) == 4 and fields[2] in "tT" and re.match(rf"\$s(s|S\w)?.*({'|'.join(MODULES)})", fields[3]):
                self.symbols.append((int(fields[0], 16), int(fields[1], 16), fields[3]))
        self.symbols.sort()
        names = subprocess.run(["swift", "demangle", "--compact", "--simplified"], capture_output=True, text=True,
                               input="\n".join(symbol for _, _, symbol in self.symbols), check=True)
        self.names = [plain(name) for name in names.stdout.splitlines()]

    def functions(self, name):
        """The address ranges (first, end) of everything with this name."""
        return [(begin, begin + size) for (begin, size, _), found in zip(self.symbols, self.names) if found == name]

    def calls(self, ranges):
        """The targets of all calls and jumps in these ranges. Ranges close to each other are disassembled at once."""
        targets = []
        ranges = sorted(set(ranges))
        begins = [begin for begin, _ in ranges]
        for first, last in clusters(ranges):
            done = subprocess.run(
                ["objdump", "--disassemble", "--no-show-raw-insn", f"--start-address={first:#x}",
                 f"--stop-address={last:#x}", self.path], capture_output=True, text=True, check=True)
            for line in done.stdout.splitlines():
                match = CALL.match(line)
                if match:
                    address = int(match.group(1), 16)
                    index = bisect.bisect_right(begins, address) - 1
                    if index >= 0 and address < ranges[index][1]:
                        targets.append((ranges[index], match.group(2)))
        return targets


def plain(name):
    """`specialized closure #1 in static Masking.apply(_:to:in:)` is part of `Masking.apply`."""
    name = re.sub(r"^((specialized|partial apply for|merged|generic specialization <.*?> of|implicit) )+", "", name)
    name = re.sub(r"^.* in (?=(static )?[A-Z])", "", name)
    name = re.sub(r"^(specialized |static )+", "", name)
    return name.split("(")[0]


def clusters(ranges, gap=200_000):
    found = []
    for begin, end in ranges:
        if found and begin - found[-1][1] < gap:
            found[-1][1] = max(end, found[-1][1])
        else:
            found.append([begin, end])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="functions of the list, by default all; also prints their calls")
    parser.add_argument("--binary", default=SHARED, help="a gateway with a shared runtime")
    parser.add_argument("--record", action="store_true", help="record figures that have decreased")
    options = parser.parse_args()
    table = Thresholds(os.path.join(HERE, "disassembly.txt"), tuple(COLUMNS), share=0, least=0, may_rise=False)
    program = Program(options.binary)
    places, missing = {}, []
    for name in options.names or table.rows:
        ranges = program.functions(name)
        if not ranges:
            missing.append(name)
        for begin_end in ranges:
            places[begin_end] = name
    found = {name: dict.fromkeys(COLUMNS, 0) for name in options.names or table.rows if name not in missing}
    called = {}
    for place, target in program.calls(places):
        name = places[place]
        for column, pattern in COLUMNS.items():
            if pattern.match(target):
                found[name][column] += 1
                called.setdefault(name, []).append(target)
    if options.names:
        for name, targets in called.items():
            print(f"{name}: {', '.join(f'{target} {targets.count(target)}' for target in sorted(set(targets)))}")
    for name in missing:
        print(f"FAIL  {name} is not in {options.binary}: renamed, or inlined into its callers, which must be listed then")
    if options.record:
        table.record(found)
    raise SystemExit(table.judge(found, all=False) or bool(missing))


if __name__ == "__main__":
    main()
