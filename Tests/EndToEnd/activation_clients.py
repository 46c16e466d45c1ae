#!/usr/bin/env python3
"""Connects 50 times a second and sends GET /healthz, until the file STOP exists. Fails if a connection is refused, reset
or has no answer within a minute.

    activation_clients.py PORT STOP
"""

import os
import socket
import sys
import threading
import time


def request(port, outcomes):
    begin = time.monotonic()
    try:
        with socket.create_connection(("127.0.0.1", port), 60) as client:
            client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = client.recv(4096)
        outcome = "answered" if answer.startswith(b"HTTP/1.1 200 ") else f"wrong: {answer[:60]}"
    except OSError as error:
        outcome = f"{type(error).__name__}: {error}"
    outcomes.append((outcome, time.monotonic() - begin))


def main():
    port, stop = int(sys.argv[1]), sys.argv[2]
    outcomes, threads, has_told = [], [], False
    while not os.path.exists(stop):
        thread = threading.Thread(target=request, args=(port, outcomes))
        thread.start()
        threads.append(thread)
        # Several may be answered within one pause.
        if len(outcomes) >= 20 and not has_told:
            print("answered", flush=True)
            has_told = True
        time.sleep(0.02)
    for thread in threads:
        thread.join()
    failures = [outcome for outcome, _ in outcomes if outcome != "answered"]
    for outcome in sorted(set(failures)):
        print(f"{failures.count(outcome)} × {outcome}")
    slowest = max(seconds for _, seconds in outcomes)
    print(f"{len(outcomes)} connections, {len(failures)} failed, the slowest after {slowest:.1f} s")
    sys.exit(1 if failures or len(outcomes) != len(threads) else 0)


main()
