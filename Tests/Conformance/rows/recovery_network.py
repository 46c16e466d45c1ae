"""Table N: clients that sleep, slow connections with losses and breaks, and thousands that connect and disconnect."""

import random
import ssl
import threading
import time

from harness import effort
from harness.audit import judge
from harness.crowd import Crowd
from harness.frames import TEXT, close, frame
from harness.peer import Failure, Gone, Peer
from harness.proxy import Proxy
from harness.registry import closed, counts, row

from .common import KIB, MIB

#: Limits.swift: a silent client is asked after the first, and closed after both.
HEARTBEAT, PATIENCE = 25, 10


@row("N06", "a client that sleeps longer than its timeout: closed with 4102; after its return it receives all, once, in order",
     closed(4102), counts("committed", 100), seconds=HEARTBEAT + PATIENCE + 8, memory=2 * MIB)
def asleep(t):
    # For the gateway, a stopped process neither reads nor writes; its kernel still acknowledges.
    sleeper = t.chat("visitor")
    begin, seen = time.monotonic(), []
    writer = t.chat("operator", session=sleeper.session, after=0, timeout=30 * t.scale)
    for number in range(100):
        writer.send(sleeper.session, f"{t.canary} {number}", ref=number)
        # Under the rate of one connection, and over most of the time.
        time.sleep(0.3)
    while time.monotonic() - begin < HEARTBEAT + PATIENCE + 3:
        time.sleep(0.5)
        # The one who is awake answers its pings.
        while not writer.peer.is_silent(0.01):
            writer.next()
    pings = listen(sleeper, seen)
    t.note(f"{len(seen)} messages lay in its socket, and {pings} ping")
    t.check(pings == 1, f"{pings} pings in {HEARTBEAT + PATIENCE} s")
    again = t.chat(account=sleeper.account, after=len(seen))
    t.check(again.subscribed["from"] == len(seen) + 1, f"resumed from {again.subscribed['from']}")
    # The first reply claims the conversation, which is a line before it.
    while len(seen) < 101:
        seen.append(again.until("message")["seq"])
    t.check(seen == list(range(1, 102)), "what it was shown is not 1 to 101")


def listen(chat, seen):
    """Reads the socket up to the close frame, which must be 4102; returns the number of pings."""
    pings = 0
    try:
        while True:
            _, payload = chat.peer.message(5)
            for line in payload.decode().split("\n"):
                if line.startswith('{"type":"message"'):
                    seen.append(int(line.split('"seq":')[1].split(",")[0]))
                pings += line == '{"type":"ping"}'
    except Gone as end:
        if "4102" not in str(end):
            raise Failure(f"the sleeper was closed otherwise: {end}") from None
    return pings


@row("N08", "connections with 5 % loss, breaks, jitter and 32 kbit/s: no acked message is lost or duplicated",
     counts("committed", 100), closed(1006), profile="stage", seconds=24, memory=4 * MIB)
def bad_lines(t):
    # The kernels of most machines have no netem: what a lost segment does to a stream is that it, and all behind it,
    # come when TCP has sent it again.
    proxy = Proxy(("127.0.0.1", 0), t.gateway.address)
    t.peers.append(proxy)
    crowd = Crowd(t.gateway, 6, t.canary, address=proxy.address)
    t.peers.append(crowd)
    crowd.rate = 30
    for name, faults in (("loss", {"loss": 0.05}), ("jitter", {"latency": 0.02, "jitter": 0.2}),
                         ("resets", {"reset": 0.1}), ("32 kbit/s", {"rate": 4_000}),
                         ("all", {"loss": 0.05, "reset": 0.01, "jitter": 0.1, "rate": 4_000})):
        for fault in ("loss", "latency", "jitter", "reset", "rate"):
            setattr(proxy, fault, faults.get(fault, 0))
        acked, reconnects = crowd.total("acks"), crowd.reconnects
        crowd.wait_acks(40, 90 * t.scale)
        time.sleep(1)
        t.note(f"{name}: {crowd.total('acks') - acked} acked, {crowd.reconnects - reconnects} reconnects")
    deadline = time.monotonic() + 90 * t.scale
    while proxy.losses <= 20 and time.monotonic() < deadline:
        time.sleep(0.5)
    t.check(proxy.losses > 20, f"only {proxy.losses} losses")
    t.check(crowd.reconnects > 5, f"only {crowd.reconnects} reconnects")
    for fault in ("loss", "latency", "jitter", "reset", "rate"):
        setattr(proxy, fault, 0)
    judge(t, crowd, t.gateway.store, seconds=90)


class Visits:
    """Connects and disconnects in every way, some without a close."""

    def __init__(self, t, accounts):
        self.t, self.accounts = t, accounts
        self.context = ssl.create_default_context()
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.done, self.failures = 0, []
        self.lock = threading.Lock()

    def run(self, count, workers=2):
        """Runs several visits at once, so that connections overlap."""
        threads = [threading.Thread(target=self._work, args=(count // workers, number)) for number in range(workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _work(self, count, worker):
        dice = random.Random(worker)
        for number in range(count):
            # The kernel has 28,000 ports for each address.
            source = f"127.0.{2 + worker}.{1 + number // 16 % 200}"
            try:
                self.visit(number % 20, source, dice)
            except (Failure, OSError) as failure:
                with self.lock:
                    self.failures.append(f"{number % 20}: {failure}")
        with self.lock:
            self.done += count

    def visit(self, kind, source, dice):
        """Of twenty: two over TLS, two say hello, four upgrade, one asks by HTTP, the others say little or nothing."""
        gateway = self.t.gateway
        secure = kind < 2
        peer = Peer(gateway.tls_address if secure else gateway.address, 20 * self.t.scale, source=source,
                    tls=self.context if secure else None)
        try:
            if kind in (0, 2, 3, 4, 5):
                peer.upgrade()
                peer.send(close(1000) if kind % 2 else frame(TEXT, "x" * 100))
            elif kind in (6, 7):
                account = dice.choice(self.accounts)
                peer.send(peer.handshake_bytes("/api/v1/ws", [("Sec-WebSocket-Protocol", "chirrup.v1")]))
                peer.check_accept(peer.response())
                peer.send(frame(TEXT, f'{{"type":"hello","ref":1,"token":"{account["token"]}",'
                                      f'"subscribe":[{{"session":"{account["session"]}","after":0}}]}}'))
                if b'"welcome"' not in peer.message()[1]:
                    raise Failure("no welcome")
            elif kind == 8:
                peer.send(f"GET /healthz HTTP/1.1\r\nHost: {peer.host}\r\nConnection: close\r\n\r\n".encode())
                if peer.response().status != 200:
                    raise Failure("/healthz is not 200")
            elif kind in (9, 10):
                peer.send(peer.handshake_bytes()[:dice.randrange(1, 120)])
        finally:
            if kind in (5, 10, 11, 12) and not secure:
                peer.reset()
            else:
                peer.close()


@row("N07", "thousands of connections, plain and TLS, closed and aborted: descriptors and memory stay constant",
     counts("accepted", effort.CONNECTS), profile="tls", seconds=12, memory=2 * MIB)
def come_and_go(t):
    accounts = t.gateway.make_tokens("visitor", count=64)
    visits = Visits(t, accounts)
    # Growth by the first connections (tables, pools of the allocator) is no leak of the later ones.
    visits.run(effort.CONNECTS // 10)
    quiet(t)
    descriptors, memory, begin = t.gateway.lasting_descriptors(), t.gateway.memory(), time.monotonic()
    visits.run(effort.CONNECTS)
    seconds = time.monotonic() - begin
    quiet(t)
    grown = t.gateway.memory() - memory
    # The last of them may still linger; a leak stays.
    t.eventually(lambda: t.gateway.lasting_descriptors() <= descriptors)
    left = t.gateway.lasting_descriptors() - descriptors
    t.note(f"{visits.done} connects, {effort.CONNECTS / seconds:.0f} a second; after the first tenth {left} descriptors "
           f"and {grown / KIB:.0f} KiB of anonymous memory more ({t.gateway.memory() / MIB:.1f} MiB)")
    t.check(not visits.failures, f"{len(visits.failures)} failed: {visits.failures[:3]}")
    t.check(left <= 0, f"{left} descriptors stay")
    slack = (1 if not t.gateway.is_sanitized else 320) * MIB
    t.check(grown <= slack, f"{grown / KIB:.0f} KiB stay, {slack / KIB:.0f} may")


def quiet(t):
    """Waits until the gateway has closed all connections but the witness's; sessions stay in memory for a while."""
    deadline = time.monotonic() + 30 * t.scale
    while t.gateway.figure("sockets") > 2 and time.monotonic() < deadline:
        time.sleep(0.2)
