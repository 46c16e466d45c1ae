#!/usr/bin/env python3
"""A service manager of sd_notify(3): starts a program with NOTIFY_SOCKET, and prints each line that it gets, one at a
time, as `SECONDS LINE`. SIGTERM is passed on; the exit status is the program's.

    service_manager.py SOCKET WATCHDOG_USEC COMMAND…
"""

import os
import signal
import socket
import subprocess
import sys
import time


def main():
    path, interval, command = sys.argv[1], sys.argv[2], sys.argv[3:]
    address = "\0" + path[1:] if path.startswith("@") else path
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
        receiver.bind(address)
        receiver.settimeout(0.1)
        environment = dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC=interval)
        child = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
        print(f"{time.monotonic():.3f} PID={child.pid}", flush=True)
        signal.signal(signal.SIGTERM, lambda *_: child.send_signal(signal.SIGTERM))
        while True:
            try:
                message = receiver.recv(4096).decode()
            except TimeoutError:
                if child.poll() is not None:
                    return child.returncode if child.returncode >= 0 else 128 - child.returncode
                continue
            for line in message.splitlines():
                print(f"{time.monotonic():.3f} {line}", flush=True)


sys.exit(main())
