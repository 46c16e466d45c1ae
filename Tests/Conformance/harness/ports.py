"""Ports for servers of the tests, below the kernel's ephemeral ports."""

import random
import socket
import threading

#: Linux chooses from 32,768 on (net.ipv4.ip_local_port_range): there a connection of another row could take the
#: port between the moment it is found free and the moment its server listens.
FIRST, LAST = 12_000, 32_000

_lock = threading.Lock()
_given = set()


def free_port():
    """Returns a free port of 127.0.0.1, and each port only once in this process."""
    with _lock:
        while True:
            port = random.randrange(FIRST, LAST)
            if port in _given:
                continue
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
            _given.add(port)
            return port
