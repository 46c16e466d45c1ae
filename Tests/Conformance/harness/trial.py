"""One run of a row: the functions for its body, and the checks after every row."""

import os
import time
import traceback

from . import frames
from .gateway import connect_chat
from .peer import Failure, Gone, Peer
from .registry import Skip

#: What an unrelated connection may wait for its echo, in seconds. It tries until one is that fast, for as long as
#: the row's patience: a machine that is busy with something else may delay many of them, a stalled gateway delays all.
ECHO_SECONDS = 0.1
#: The time in seconds without such an echo after which the gateway counts as stalled.
STILL_SECONDS = 15
#: What a peer of a row waits for an answer, in seconds. Nothing that is right takes so long; it is what a machine
#: may take that runs something else for a while.
ANSWER_SECONDS = 30


class Trial:
    """One run of a row on a gateway. A row's body is a function of the trial; `failures` has what it found."""

    #: The time limit for counters, descriptors and memory to reach their expected values, in seconds.
    patience = 60

    def __init__(self, row, gateway, witness, scale):
        self.row, self.gateway, self.witness, self.scale = row, gateway, witness, scale
        self.peers = []
        self.failures = []
        self.notes = []
        self.skipped = None
        self.canary = f"canary-{row.id.lower()}-{os.urandom(8).hex()}"
        gateway.secrets.add(self.canary.encode())

    # For the bodies of rows

    def check(self, holds, text):
        if not holds:
            self.failures.append(text)
        return bool(holds)

    def note(self, text):
        self.notes.append(text)

    def peer(self, address=None, **options):
        """Opens a connection to the plain port or another one; it is closed when the row ends."""
        options.setdefault("timeout", ANSWER_SECONDS * self.scale)
        peer = Peer(address or self.gateway.address, **options)
        self.peers.append(peer)
        return peer

    def open(self, path="/debug/echo", headers=(), **options):
        """Opens a WebSocket whose handshake contains the canary, a text that no log may show."""
        peer = self.peer(**options)
        peer.upgrade(path, [("X-Canary", self.canary), *headers])
        return peer

    def hello_less(self, **options):
        return self.open("/api/v1/ws", [("Sec-WebSocket-Protocol", "chirrup.v1")], **options)

    def chat(self, role="visitor", **options):
        options.setdefault("timeout", ANSWER_SECONDS * self.scale)
        chat = connect_chat(self.gateway, role, **options)
        self.peers.append(chat.peer)
        return chat

    def each(self, cases, body):
        """Runs body(*case) for every case. A failed one is named and does not stop the others."""
        for case in cases:
            name, *values = case if isinstance(case, tuple) else (case,)
            first = len(self.peers)
            try:
                body(*(values or [name]))
            except (Failure, OSError, AssertionError) as failure:
                self.failures.append(f"{name}: {failure or type(failure).__name__}")
            for peer in self.peers[first:]:
                peer.close()
            del self.peers[first:]

    def refuses(self, data, code, path="/debug/echo"):
        """Checks that the bytes are answered with a close frame of this code, and the end of the connection."""
        peer = self.open(path)
        peer.send(data)
        return peer.expect_close(code)

    def eventually(self, holds, within=60):
        """Returns whether the condition becomes true within a generous time; checks it ten times a second."""
        deadline = time.monotonic() + within
        while True:
            if holds():
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(0.1)

    def restarted(self):
        """Notes that the row has restarted its gateway: the counters begin at 0, and old connections are closed."""
        self.figures = {}
        self.witness.close()

    # Around a row

    def run(self):
        self.begin()
        try:
            self.row.body(self)
        except Skip as reason:
            self.skipped = str(reason)
        except Exception as failure:
            where = traceback.extract_tb(failure.__traceback__)
            ours = [frame for frame in where if os.sep + "rows" + os.sep in frame.filename]
            place = f" (line {ours[-1].lineno})" if ours else ""
            self.failures.append(f"{type(failure).__name__}: {failure}{place}")
        for peer in self.peers:
            peer.close()
        self.peers.clear()
        if self.skipped:
            return self.failures
        try:
            self.finish()
        except (Failure, OSError) as failure:
            self.failures.append(f"after the row: {failure}")
        return self.failures

    def begin(self):
        self.log_start = os.path.getsize(self.gateway.log)
        self.figures = self.gateway.metrics()
        self.descriptors = self.settled(self.gateway.lasting_descriptors)
        self.memory = self.gateway.memory()

    def settled(self, read):
        """Returns a figure once it has stopped changing."""
        value = read()
        for _ in range(20):
            time.sleep(0.05)
            value, last = read(), value
            if value == last:
                return value
        return value

    def finish(self):
        if not self.gateway.is_alive:
            self.failures.append(f"the gateway died with status {self.gateway.process.returncode}")
            self.check_log()
            return
        self.check_witness()
        self.check_counters()
        self.check_descriptors()
        self.check_memory()
        self.check_log()

    def check_witness(self):
        best, deadline = None, time.monotonic() + self.patience
        while best is None or time.monotonic() < deadline:
            try:
                taken = self.witness.answer(STILL_SECONDS * self.scale)
            except (Failure, OSError) as failure:
                self.failures.append(f"an unrelated connection gets no answer: {failure}")
                return
            best = taken if best is None else min(best, taken)
            if best <= ECHO_SECONDS * self.scale:
                return
            time.sleep(0.2)
        self.failures.append(f"an unrelated connection waits {best * 1000:.0f} ms for its answer")

    def check_counters(self):
        """Checks that the expected counters have increased; each loop publishes its figures twice a second."""
        missing = list(self.row.counters)
        deadline = time.monotonic() + self.patience
        while missing:
            now = self.gateway.metrics()
            missing = [counter for counter in missing
                       if counter.value(now) - counter.value(self.figures) < counter.least]
            if not missing or time.monotonic() > deadline:
                break
            time.sleep(0.1)
        for counter in missing:
            grown = counter.value(now) - counter.value(self.figures)
            self.failures.append(f"{counter} increased by {grown:.0f} instead of {counter.least}")

    def check_descriptors(self):
        """Checks that all descriptors are released and none is inheritable. Sockets linger for up to 2 s."""
        if inheritable := self.gateway.inheritable():
            self.failures.append(f"descriptors that a started program inherits: {', '.join(inheritable)}")
        deadline = time.monotonic() + self.patience
        while (found := self.gateway.lasting_descriptors()) > self.descriptors:
            if time.monotonic() > deadline:
                self.failures.append(f"{found - self.descriptors} descriptors are left open")
                return
            time.sleep(0.1)

    def check_memory(self):
        slack = self.row.memory
        if self.gateway.is_sanitized:
            # Freed memory stays in the sanitizer's quarantine, and each allocation has a shadow.
            slack = slack * 4 + (320 << 20)
        deadline = time.monotonic() + self.patience
        while (grown := self.gateway.memory() - self.memory) > slack:
            if time.monotonic() > deadline:
                self.failures.append(f"{grown / 1024:.0f} KiB of memory stay allocated, {slack / 1024:.0f} are allowed")
                break
            time.sleep(0.1)
        self.grown = grown

    def check_log(self):
        with open(self.gateway.log, "rb") as file:
            file.seek(self.log_start)
            text = file.read()
        for secret in self.gateway.secrets:
            if secret in text:
                self.failures.append(f"the log contains {secret[:40].decode()}…")
        for word in (b"AddressSanitizer", b"Fatal error", b"runtime error"):
            if word in text:
                start = text.index(word)
                self.failures.append(text[start:start + 600].decode(errors="replace"))


class Witness:
    """An unrelated connection, whose echo (or health probe, where there is no echo) must always come at once."""

    def __init__(self, gateway):
        self.gateway, self.peer = gateway, None

    def answer(self, within):
        begin = time.monotonic()
        if self.gateway.profile == "production":
            if self.gateway.get("/healthz", within).status != 200:
                raise Failure("/healthz does not answer 200")
        else:
            if not self.peer:
                self.peer = Peer(self.gateway.address, 30)
                self.peer.upgrade(headers=self.gateway.headers)
                begin = time.monotonic()
            self.peer.echo(b"still there?", within)
        return time.monotonic() - begin

    def close(self):
        if self.peer:
            self.peer.close()
            self.peer = None


def warm_up(gateway):
    """Uses each path once, so that its first allocations do not count as a leak of the first row."""
    for size in (10, 100_000, 4 << 20):
        peer = Peer(gateway.address, 60)
        if gateway.profile != "production":
            peer.upgrade(headers=gateway.headers)
            for _ in range(3):
                peer.echo(os.urandom(size))
        peer.close()
    for role in ("visitor", "operator"):
        account = gateway.token("visitor")
        chats = [connect_chat(gateway, "visitor", account=account, timeout=60),
                 connect_chat(gateway, "operator", session=account["session"], timeout=60)]
        for chat in chats:
            for text in ("hello", "x" * 16384):
                chat.send(account["session"], text)
            chat.peer.close()
    for path in ("/metrics", "/healthz", "/console", "/nothing", "/api/v1/nothing"):
        gateway.get(path)


__all__ = ["Gone", "Trial", "Witness", "frames", "warm_up"]
