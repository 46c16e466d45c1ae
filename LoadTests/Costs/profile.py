#!/usr/bin/env python3
"""The gateway's use of time, from profiles of `perf record -e cpu-clock -g -p PID`: system calls by name, the rest by
purpose. Prints a table in per cent with a column for each profile."""

import argparse
import collections
import re
import subprocess

FRAME = re.compile(r"^\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \((.*)\)$")

#: Part of a kernel function's name → row. The outermost match counts.
SYSTEM_CALLS = [
    ("sys_send", "kernel: send"), ("sys_recv", "kernel: recv"), ("epoll_wait", "kernel: epoll_wait"),
    ("epoll_ctl", "kernel: epoll_ctl"), ("page_fault", "kernel: memory"), ("sys_m", "kernel: memory"),
    ("sys_brk", "kernel: memory"),
]

#: Mangled name → row. The first match counts.
OURS = [
    (r"^\$s4Wire.*(Decoder|Masking|UTF8|FrameHeader|WholeMessage)", "frames in"),
    (r"^\$s4Wire.*FrameEncoder", "frames out"),
    (r"^\$s4Wire", "handshake"),
    (r"^\$s4Chat.*(Scanner|CommandDecoder|6decode)", "JSON in"),
    (r"^\$s4Chat|^\$s10Primitives.*append|^\$sSa10Primitives", "JSON out"),
    (r"^\$s(7Journal|8Postgres)", "journal"),
    (r"^\$s(6Engine|10Primitives)", "engine"),
    (r"^\$s(7Gateway|6Kernel)", "loop"),
    (r"^\$s7OpenSSL", "TLS"),
]

ALLOCATOR = re.compile(r"^_*(libc_|int_)*(malloc|free|calloc|realloc|cfree|memalign|unlink_chunk|sysmalloc|tcache)|"
                       r"^_*swift_(slow|alloc|dealloc)|deallocating_deinit")
COUNTING = re.compile(r"swift_(retain|release|bridgeObject)|RefCount|isUniquelyReferenced")


def stacks(path):
    """The frames of each sample as (function, program), innermost first."""
    script = subprocess.Popen(["perf", "script", "--fields", "ip,sym,symoff,dso", "--input", path],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    stack = []
    for line in script.stdout:
        match = FRAME.match(line)
        if match:
            stack.append(match.groups())
        elif stack:
            yield stack
            stack = []
    if stack:
        yield stack


def row(stack):
    name, program = stack[0]
    is_journal = any("libpq" in place for _, place in stack)
    if program.startswith("[kernel") or program.startswith("[guest"):
        for function, place in reversed(stack):
            if place == program:
                for part, title in SYSTEM_CALLS:
                    if part in function:
                        return title + (", PostgreSQL" if is_journal else "")
        return "kernel: other"
    if ALLOCATOR.search(name):
        return "allocator"
    if COUNTING.search(name):
        return "reference counting"
    if is_journal:
        return "libpq"
    if re.search(r"libssl|libcrypto", program):
        return "TLS"
    if "libc.so" in program and re.search(r"mem(move|cpy|set)", name):
        return "copying"
    for function, _ in stack:
        for pattern, title in OURS:
            if re.search(pattern, function):
                return title
    return "other"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("profiles", nargs="+", metavar="TITLE=FILE", help="an output file of perf")
    options = parser.parse_args()
    columns = {}
    for profile in options.profiles:
        title, _, path = profile.partition("=")
        counts = collections.Counter(row(stack) for stack in stacks(path))
        total = sum(counts.values())
        if not total:
            raise SystemExit(f"{path} has no samples")
        columns[f"{title} ({total})"] = {name: 100 * count / total for name, count in counts.items()}
    rows = sorted({name for column in columns.values() for name in column},
                  key=lambda name: -sum(column.get(name, 0) for column in columns.values()))
    print("| % of the gateway's time (samples) | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name in rows:
        print(f"| {name} | " + " | ".join(f"{column.get(name, 0):.1f}" for column in columns.values()) + " |")


if __name__ == "__main__":
    main()
