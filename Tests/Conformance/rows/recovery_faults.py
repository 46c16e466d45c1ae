"""Table R: system calls of the gateway fail, one after the other, during a chat whose events are recorded."""

import time

from harness import effort
from harness.audit import judge
from harness.crowd import Crowd
from harness.inject import Injection
from harness.registry import counts, row

from .common import MIB

#: The real errors of each system call, and how often they occur in CI: `when=first+step` of strace.
#: A call that EAGAIN is injected into is not carried out, so the kernel must say again that it is time. `close` is
#: left out, since strace would not carry it out either; mmap, since a Swift process cannot go on without memory.
FAULTS = (
    ("recvfrom:error=ECONNRESET", "when=17+23"), ("recvfrom:error=EINTR", "when=1+3"),
    ("recvfrom:error=EAGAIN", "when=2+5"), ("recvfrom:error=ENOMEM", "when=19+29"),
    ("sendto:error=EPIPE", "when=13+31"), ("sendto:error=EAGAIN", "when=1+4"), ("sendto:error=EINTR", "when=2+3"),
    ("sendto:error=ENOBUFS", "when=11+37"), ("read:error=EINTR", "when=1+3"), ("read:error=EAGAIN", "when=2+5"),
    ("read:error=EIO", "when=3+7"), ("write:error=EAGAIN", "when=1+4"), ("write:error=EINTR", "when=2+3"),
    ("write:error=ENOSPC", "when=3+5"), ("epoll_wait,epoll_pwait:error=EINTR", "when=1+3"),
    ("epoll_ctl:error=ENOMEM", "when=5+7"), ("accept4:error=ECONNABORTED", "when=1+3"),
    ("accept4:error=EMFILE", "when=2+4"), ("accept4:error=EINTR", "when=1+2"), ("socket:error=EMFILE", "when=1+2"),
    ("connect:error=ECONNREFUSED", "when=1+2"), ("poll:error=EINTR", "when=1+2"),
    ("getsockopt,setsockopt:error=ENOBUFS", "when=2+3"), ("futex:error=EINTR", "when=1+2"),
)


@row("R18", "system calls of the gateway fail during a chat: no crash, and no acked message is lost",
     counts("committed", 60), profile="stage", seconds=18, memory=16 * MIB)
def failing_calls(t):
    gateway = t.gateway
    crowd = Crowd(gateway, 3, t.canary)
    t.peers.append(crowd)
    silent = []
    for call, when in FAULTS:
        wishes = [f"{call}:{when}"]
        wishes += [f"{call}:when={number}" for number in range(1, effort.FAILING_CALLS + 1)]
        failed = sum(chat_under(t, crowd, wish) for wish in wishes if gateway.is_alive)
        if not t.check(gateway.is_alive, f"the gateway died under {call}"):
            return
        if not failed:
            silent.append(call)
    t.note(f"never called: {', '.join(silent)}")
    t.check(len(silent) < len(FAULTS) / 3, f"too many faults that did not happen: {silent}")
    t.check(crowd.reconnects > 0, "no client felt any of it")
    judge(t, crowd, gateway.store)


def chat_under(t, crowd, wish):
    """Sends messages and reconnects all clients and PostgreSQL while the call fails. Returns how often it failed."""
    store = t.gateway.store
    with Injection(store.home, [t.gateway.pid], wish) as injection:
        # A disconnected client reconnects, under the same fault.
        crowd.ask(anew=crowd.clients[:2])
        store.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'chirrup'")
        end = time.monotonic() + 5 * t.scale
        while crowd.total("outbox") and time.monotonic() < end and t.gateway.is_alive:
            time.sleep(0.02)
    failed = injection.stop()
    if t.gateway.is_alive:
        # Without the fault all must be well again, each time.
        crowd.wait(lambda: not crowd.total("outbox"), 60 * t.scale, f"all is acked after {wish}")
    return failed
