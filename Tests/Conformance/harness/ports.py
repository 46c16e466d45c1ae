"""Ports for servers of the tests, from below those that the kernel gives to connections of its own choice."""

import random
import socket
import threading

#: Linux chooses from 32,768 on (net.ipv4.ip_local_port_range): there a connection of another row could take the
#: port between the moment it is found free and the moment its server listens.
FIRST, LAST = 12_000, 32_000

_lock = threading.Lock()
_given = set()


def free_port():
    """A port of 127.0.0.1 that nobody has, and that is given only once in this process."""
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
