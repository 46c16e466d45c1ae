"""Reads the counts of counter.c from another process, and resolves its backtraces to source lines."""

import mmap
import os
import re
import struct
import subprocess

#: The same layout as in counter.c.
KINDS = ("allocations", "libpq", "frees", "objects", "retains", "releases")
THREADS, TRACES, FRAMES = 64, 4096, 24
THREAD = struct.Struct(f"16s{len(KINDS)}Q")
TRACE = struct.Struct(f"4Q{FRAMES}Q")
HEAD = struct.Struct("8s3Q")


HERE = os.path.dirname(os.path.abspath(__file__))


def built_counter(folder):
    library = os.path.join(folder, "counter.so")
    subprocess.run(["cc", "-std=gnu11", "-O2", "-Wall", "-Werror", "-fPIC", "-shared", "-o", library,
                    os.path.join(HERE, "counter.c"), "-ldl"], check=True)
    return library


class Counter:
    def __init__(self, path):
        with open(path, "r+b") as file:
            self.board = mmap.mmap(file.fileno(), 0)
        magic = self.board[:8]
        if magic != b"counter1":
            raise SystemExit("the process does not count: was it started with LD_PRELOAD?")

    def counts(self, thread=None):
        """The calls of each kind so far, by the threads whose names start with `thread`."""
        sums = dict.fromkeys(KINDS, 0)
        for name, counts in self._threads():
            if thread is None or name.startswith(thread):
                for kind, count in zip(KINDS, counts):
                    sums[kind] += count
        return sums

    def _threads(self):
        _, used, _, _ = HEAD.unpack_from(self.board, 0)
        for index in range(min(used, THREADS)):
            name, *counts = THREAD.unpack_from(self.board, HEAD.size + index * THREAD.size)
            yield name.rstrip(b"\0").decode(errors="replace"), counts

    def trace(self, kinds):
        """Keeps the backtraces of these kinds from now on."""
        bits = sum(1 << KINDS.index(kind) for kind in kinds)
        struct.pack_into("Q", self.board, 16, bits)

    def forget(self):
        begin = HEAD.size + THREADS * THREAD.size
        self.board[begin:begin + TRACES * TRACE.size] = bytes(TRACES * TRACE.size)

    def traces(self):
        """Tuples (kind, count, addresses) in descending order of their counts."""
        found = []
        begin = HEAD.size + THREADS * THREAD.size
        for index in range(TRACES):
            _, count, kind, depth, *frames = TRACE.unpack_from(self.board, begin + index * TRACE.size)
            if count:
                found.append((KINDS[kind], count, frames[:depth]))
        return sorted(found, key=lambda one: -one[1])


class Names:
    """Resolves addresses of a process to functions and lines. Create it while the process runs."""

    def __init__(self, pid):
        self.places, self.known = [], {}
        with open(f"/proc/{pid}/maps") as file:
            for line in file:
                fields = line.split()
                if len(fields) >= 6 and "x" in fields[1] and fields[5].startswith("/"):
                    begin, end = (int(part, 16) for part in fields[0].split("-"))
                    self.places.append((begin, end, int(fields[2], 16), fields[5]))
        self.symbolizer = None
        for tool in ("llvm-symbolizer", "addr2line"):
            if not subprocess.run(["which", tool], capture_output=True).returncode:
                self.symbolizer = tool
                break

    def resolve(self, addresses):
        """Resolves all addresses with one call of the symbolizer for each program."""
        wanted = {}
        for address in set(addresses) - set(self.known):
            for begin, end, offset, path in self.places:
                if begin <= address < end:
                    # A return address is the instruction after the call.
                    wanted.setdefault(path, []).append((address, address - begin + offset - 1))
        for path, pairs in wanted.items():
            biases = segments(path)
            virtual = [hex(to_virtual(biases, offset)) for _, offset in pairs]
            lines = self._symbolize(path, virtual)
            for (address, _), names in zip(pairs, lines):
                self.known[address] = names or [f"{os.path.basename(path)} {hex(address)}"]

    def _symbolize(self, path, virtual):
        if self.symbolizer != "llvm-symbolizer":
            return [[f"{os.path.basename(path)} {address}"] for address in virtual]
        done = subprocess.run(
            [self.symbolizer, "--obj", path, "--inlines", "--demangle", "--basenames", *virtual],
            capture_output=True, text=True)
        answers = []
        for block in done.stdout.strip("\n").split("\n\n"):
            lines = block.split("\n")
            answers.append([f"{name}  {place}" for name, place in zip(lines[::2], lines[1::2])])
        return demangled(answers)

    def __getitem__(self, address):
        return self.known.get(address, [hex(address)])


def segments(path):
    """The loadable segments of a file: (offset, virtual address, size)."""
    done = subprocess.run(["readelf", "--segments", "--wide", path], capture_output=True, text=True)
    found = []
    for line in done.stdout.splitlines():
        match = re.match(r"\s+LOAD\s+(0x\w+)\s+(0x\w+)\s+0x\w+\s+(0x\w+)", line)
        if match:
            found.append(tuple(int(part, 16) for part in match.groups()))
    return found


def to_virtual(found, offset):
    for begin, address, size in found:
        if begin <= offset < begin + size:
            return offset - begin + address
    return offset


def demangled(answers):
    names = sorted({line.split("  ")[0] for lines in answers for line in lines if line.startswith("$s")})
    if not names:
        return answers
    done = subprocess.run(["swift", "demangle", "--compact", "--simplified"], input="\n".join(names),
                          capture_output=True, text=True)
    table = dict(zip(names, done.stdout.splitlines()))
    return [[table.get(line.split("  ")[0], line.split("  ")[0]) + "  " + line.partition("  ")[2] for line in lines]
            for lines in answers]
