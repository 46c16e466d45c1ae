#!/usr/bin/env python3
"""Stops one thread of a process by ptrace(2) until standard input ends. The other threads run on."""

import ctypes
import os
import select
import sys

SEIZE, INTERRUPT, DETACH, WAIT_ALL = 0x4206, 0x4207, 17, 0x40000000


def thread(pid, name):
    for number in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{number}/comm") as file:
            if file.read().strip() == name:
                return int(number)
    raise SystemExit(f"process {pid} has no thread {name}")


def main():
    number = thread(int(sys.argv[1]), sys.argv[2])
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    libc.ptrace.restype = ctypes.c_long
    for request in (SEIZE, INTERRUPT):
        if libc.ptrace(request, number, None, None) == -1:
            raise SystemExit(f"ptrace is not possible here: {os.strerror(ctypes.get_errno())}")
    os.waitpid(number, WAIT_ALL)
    print("held", flush=True)
    while not select.select([sys.stdin], [], [], 0.1)[0]:
        # A killed thread, and with it its process, remains until the tracer has waited for it.
        if os.waitpid(number, WAIT_ALL | os.WNOHANG)[0]:
            return
    libc.ptrace(DETACH, number, None, None)


main()
