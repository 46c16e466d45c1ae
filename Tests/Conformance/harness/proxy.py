"""A faulty connection between two peers: delays, low bandwidth, stalls, resets; cuts at a byte.

`Proxy` moves bytes for any stream. `CommitProxy` stands before PostgreSQL's socket and knows just enough of its
protocol to find the gateway's batches in the stream, so that it can cut anywhere around COMMIT."""

import collections
import os
import random
import selectors
import socket
import struct
import threading
import time

#: Bytes that wait in one direction before the proxy stops reading.
QUEUE_BYTES = 65_536


class Pair:
    """The two sockets of one connection, and the bytes in transit in each direction."""

    def __init__(self, client, server):
        self.sockets = {"up": client, "down": server}
        self.queues = {"up": collections.deque(), "down": collections.deque()}
        self.free_at = {"up": 0.0, "down": 0.0}
        self.is_ended = {"up": False, "down": False}

    def other(self, direction):
        return self.sockets["down" if direction == "up" else "up"]

    def queued(self, direction):
        return sum(len(data) for _, data in self.queues[direction])


class Proxy:
    """`up` is from the client to the server. All faults may be changed while it runs."""

    def __init__(self, listen, target):
        family = socket.AF_UNIX if isinstance(listen, str) else socket.AF_INET
        self.target, self.family = target, family
        self.listener = socket.socket(family)
        self.listener.bind(listen)
        self.listener.listen(512)
        self.address = self.listener.getsockname()
        #: Seconds that a chunk takes, and as much again at random; bytes a second, 0 for no bound.
        self.latency = self.jitter = 0.0
        self.rate = 0
        #: Of a chunk to be lost (its bytes, and all behind them, come as late as TCP sends again); of a reset.
        self.loss = self.reset = 0.0
        self.retransmit = 0.3
        #: Connections made, cut.
        self.accepted = self.cuts = self.losses = 0
        self.pairs = set()
        self.random = random.Random(7)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ, None)
        self.is_ending = False
        self.thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self.thread.start()

    # For subclasses

    def forwards(self, pair, direction, data):
        """Returns how many bytes of the data are forwarded. With fewer than all, the connection is cut after them."""
        return len(data)

    # The thread

    def _run(self):
        while not self.is_ending:
            for key, _ in self.selector.select(self._pause()):
                if key.data is None:
                    self._accept()
                elif key.data[0] in self.pairs:
                    self._read(*key.data)
            now = time.monotonic()
            for pair in list(self.pairs):
                self._deliver(pair, now)

    def _pause(self):
        due = [pair.queues[direction][0][0] for pair in self.pairs for direction in ("up", "down")
               if pair.queues[direction]]
        return min(0.1, max(0.0, min(due) - time.monotonic())) if due else 0.1

    def _accept(self):
        client, _ = self.listener.accept()
        self.accepted += 1
        server = socket.socket(self.family)
        try:
            server.connect(self.target)
        except OSError:
            client.close()
            server.close()
            return
        pair = Pair(client, server)
        for direction, one in pair.sockets.items():
            if self.family == socket.AF_INET:
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(one, selectors.EVENT_READ, (pair, direction))
        self.pairs.add(pair)

    def _read(self, pair, direction):
        if pair.queued(direction) >= QUEUE_BYTES:
            time.sleep(0.001)
            return
        try:
            data = pair.sockets[direction].recv(4096)
        except OSError:
            return self.cut(pair, True)
        if not data:
            # The other side gets the end after the bytes that are still in transit.
            pair.is_ended[direction] = True
            self.selector.unregister(pair.sockets[direction])
            return
        now = time.monotonic()
        if self.reset and self.random.random() < self.reset:
            return self.cut(pair, True)
        at = max(now + self.latency + self.jitter * self.random.random(), pair.free_at[direction])
        if self.loss and self.random.random() < self.loss:
            self.losses += 1
            at += self.retransmit
        if self.rate:
            at += len(data) / self.rate
        pair.free_at[direction] = at
        pair.queues[direction].append((at, data))

    def _deliver(self, pair, now):
        for direction in ("up", "down"):
            queue = pair.queues[direction]
            while queue and queue[0][0] <= now:
                data = queue.popleft()[1]
                count = self.forwards(pair, direction, data)
                if not self._write(pair.other(direction), data[:count]) or count < len(data):
                    return self.cut(pair, False)
            if pair.is_ended[direction] and not queue:
                return self.cut(pair, False)

    def _write(self, to, data):
        try:
            to.settimeout(30)
            to.sendall(data)
            return True
        except OSError:
            return False

    def cut(self, pair, is_reset):
        """Ends a connection on both sides, over TCP with RST."""
        if pair not in self.pairs:
            return
        self.pairs.discard(pair)
        self.cuts += 1
        for one in pair.sockets.values():
            try:
                self.selector.unregister(one)
            except KeyError:
                pass
            if is_reset and self.family == socket.AF_INET:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()

    def close(self):
        self.is_ending = True
        self.thread.join(10)
        for pair in list(self.pairs):
            self.cut(pair, False)
        self.listener.close()
        self.selector.close()


class CommitProxy(Proxy):
    """Before PostgreSQL's socket: cuts the gateway's writer at a byte of a batch, counted from its first message."""

    def __init__(self, store):
        folder = os.path.join(store.home, "front")
        os.mkdir(folder)
        store.front = folder
        name = ".s.PGSQL.5432"
        self.streams = {}
        #: (direction, byte) of the next cut; whether it has happened; what the last whole batch was like.
        self.wish = None
        #: Cuts that follow it, each in the batch that runs next.
        self.after = []
        self.is_done = threading.Event()
        self.messages, self.answer_bytes = [], 0
        super().__init__(os.path.join(folder, name), os.path.join(store.folder, name))

    def arm(self, direction, byte):
        self.is_done.clear()
        self.wish = (direction, byte)

    def forwards(self, pair, direction, data):
        stream = self.streams.setdefault(pair, Stream())
        start = stream.take(direction, data)
        if start is None:
            return len(data)
        if direction == "up":
            self.messages = stream.batch
        else:
            self.answer_bytes = start + len(data)
        if self.wish and self.wish[0] == direction and start <= self.wish[1] < start + len(data):
            count = self.wish[1] - start
            self.wish = self.after.pop(0) if self.after else None
            self.is_done.set()
            return count
        return len(data)

    def cut(self, pair, is_reset):
        self.streams.pop(pair, None)
        super().cut(pair, is_reset)


class Stream:
    """One connection to PostgreSQL. A batch begins with Bind of one of these statements: under locks, or fenced."""

    FIRST = ("begin", *(f"{first}{name}" for first in ("", "first_") for name in ("one", "each", "several")))

    def __init__(self):
        #: The gateway's bytes that are not a whole message yet; the offsets of their first byte and of the next one.
        self.buffer, self.parsed, self.total = b"", 0, 0
        #: (kind, statement, first byte, byte behind it) of each message, counted from the batch's beginning.
        self.batch, self.batch_at = [], None
        self.answered = 0

    def take(self, direction, data):
        """Returns the offset of this piece in its batch, or in the response to it; None before the first batch."""
        if direction == "down":
            start = self.answered
            self.answered += len(data)
            return None if self.batch_at is None else start
        begin = self.total
        self.total += len(data)
        self.buffer += data
        while message := self._next():
            kind = message[:1].decode("latin-1")
            # Bind: the portal's name, then the statement's.
            statement = message[5:].split(b"\0")[1].decode() if kind == "B" else ""
            if statement in self.FIRST:
                self.batch, self.batch_at, self.answered = [], self.parsed, 0
            if self.batch_at is not None:
                first = self.parsed - self.batch_at
                self.batch.append((kind, statement, first, first + len(message)))
            self.parsed += len(message)
        return None if self.batch_at is None else begin - self.batch_at

    def _next(self):
        # The first message has no kind.
        head = 1 if self.parsed else 0
        if len(self.buffer) < head + 4:
            return None
        size = head + int.from_bytes(self.buffer[head:head + 4], "big")
        if len(self.buffer) < size:
            return None
        message, self.buffer = self.buffer[:size], self.buffer[size:]
        return message
