"""Rows with a planted fault, each of which must fail for the expected reason."""

import os
import signal
import threading
import time

from harness import frames
from harness.peer import Peer
from harness.registry import closed, counts, fault, row
from harness.trial import STILL_SECONDS

#: Keeps connections open after their row, which is the planted fault.
held = []

EXPECTED = {
    "Z01": "increased by 0", "Z02": "descriptors are left open", "Z03": "KiB of memory stay allocated", "Z04": "the log contains",
    "Z05": "no answer|waits", "Z06": "the gateway died", "Z07": "closed with 1000", "Z08": "AddressSanitizer",
    "Z09": "self_test.py.*wait",
}


@row("Z01", "a counter that does not increase", fault("frame", "frame not masked"))
def no_counter(t):
    t.open().echo()


@row("Z02", "a connection that stays", counts("frames_received"))
def left_open(t):
    peer = Peer(t.gateway.address)
    peer.upgrade()
    peer.echo()
    held.append(peer)


@row("Z03", "memory that stays", counts("accepted"))
def left_behind(t):
    peer = Peer(t.gateway.address)
    peer.upgrade()
    peer.send(frames.header(0x82, 16 << 20) + bytes(12 << 20))
    held.append(peer)
    time.sleep(0.5)


@row("Z04", "a body in the log", counts("accepted"))
def logged(t):
    t.open().echo()
    with open(t.gateway.log, "ab") as log:
        log.write(f"received {t.canary}\n".encode())


@row("Z05", "a gateway that is stopped", counts("accepted"))
def stalled(t):
    t.open().echo()
    os.kill(t.gateway.pid, signal.SIGSTOP)
    # It stands still until the check has failed, however late a busy machine begins the check.
    threading.Thread(target=continue_when_noticed, args=(t,), daemon=True).start()


def continue_when_noticed(t):
    t.eventually(lambda: t.failures, within=4 * STILL_SECONDS * t.scale)
    os.kill(t.gateway.pid, signal.SIGCONT)


@row("Z07", "a wrong close code", closed(1000))
def wrong_code(t):
    peer = t.open()
    peer.send(frames.close(1000))
    peer.expect_close(1002)


@row("Z08", "a report of the sanitizer", counts("accepted"))
def reported(t):
    t.open().echo()
    with open(t.gateway.log, "ab") as log:
        log.write(b"==1==ERROR: AddressSanitizer: heap-use-after-free\n")


@row("Z06", "a gateway that dies", counts("accepted"))
def died(t):
    t.open().echo()
    t.gateway.process.kill()
    t.gateway.process.wait()


@row("Z09", "a row that hangs", counts("accepted"), seconds=1, limit=2)
def hangs(t):
    t.open().echo()
    threading.Event().wait()
