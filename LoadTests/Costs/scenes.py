"""The workloads for counting the calls of a real gateway: real sockets, and an exact number of messages.

A scene opens its connections first. A round then sends `messages` messages and receives all results. The gateway is
stopped while they are sent, so that it finds all of them in one loop iteration on any machine.
"""

import contextlib
import os
import re
import signal
import socket
import ssl
import time
import uuid

from harness import frames
from harness.gateway import connect_chat
from harness.peer import Peer


class Stream:
    """The input of one connection. Only lengths or marks are checked."""

    def __init__(self, peer):
        self.socket, self.kept = peer.socket, bytes(peer.buffer)
        self.socket.settimeout(30)

    def send(self, data):
        self.socket.sendall(data)

    def take_bytes(self, count):
        while count > 0:
            data = self.socket.recv(1 << 20)
            if not data:
                raise SystemExit("the gateway closed a connection")
            count -= len(data)
        if count:
            raise SystemExit("more was received than expected")

    def take_marks(self, **wanted):
        """Reads until this many events of each type have arrived. An error ends the run."""
        wanted = {f'"type":"{word}"'.encode(): count for word, count in wanted.items()}
        while any(count > 0 for count in wanted.values()):
            data = self.socket.recv(1 << 20)
            if not data:
                raise SystemExit("the gateway closed a connection")
            text = self.kept + data
            if b'"type":"error"' in text:
                raise SystemExit(f"the gateway answers {text[:300]!r}")
            cut = max(0, len(text) - 20)
            for mark in wanted:
                # A mark that begins after the cut is counted with the next input.
                wanted[mark] -= sum(1 for found in re.finditer(re.escape(mark), text) if found.start() < cut)
            self.kept = text[cut:]
            if len(data) < 1 << 20 and self.kept.endswith(b"}"):
                for mark in wanted:
                    wanted[mark] -= self.kept.count(mark)
                self.kept = b""


class Scene:
    rounds, warm = 200, 100
    deliveries = 0

    def warm_up(self):
        for _ in range(self.warm):
            self.round()


@contextlib.contextmanager
def stopped(gateway):
    """Stops the gateway during the block, so that it finds all sent messages when it continues."""
    os.kill(gateway.pid, signal.SIGSTOP)
    try:
        while state(gateway.pid) != "T":
            time.sleep(0)
        yield
    finally:
        os.kill(gateway.pid, signal.SIGCONT)


def state(pid):
    with open(f"/proc/{pid}/stat") as file:
        return file.read().rpartition(")")[2].split()[0]


class Echo(Scene):
    """`size` bytes, `depth` in flight, on eight connections."""

    def __init__(self, gateway, size, depth, tls=None):
        self.gateway = gateway
        address = gateway.tls_address if tls else gateway.address
        peers = [Peer(address, tls=tls) for _ in range(8)]
        for peer in peers:
            peer.upgrade("/debug/echo")
        self.streams = [Stream(peer) for peer in peers]
        self.data = frames.frame(frames.BINARY, bytes(size)) * depth
        self.answer = len(frames.header(0x82, size, mask=None)) * depth + size * depth
        self.messages = depth * len(peers)
        self.rounds = 200 if depth > 1 else 400

    def round(self):
        with stopped(self.gateway):
            for stream in self.streams:
                stream.send(self.data)
        for stream in self.streams:
            stream.take_bytes(self.answer)


def command(session, body):
    return frames.frame(frames.TEXT, '{"type":"send","ref":1,"session":"%s","id":"%s","body":"%s"}'
                        % (session, uuid.uuid4(), body))


def fill(gateway, account, session):
    """Sends more messages than a session keeps in memory, so that it no longer grows."""
    for _ in range(6):
        chat = connect_chat(gateway, account=account, session=session, tail=1)
        stream = Stream(chat.peer)
        for count in (16, 16, 16):
            stream.send(b"".join(command(session, "x" * 128) for _ in range(count)))
            stream.take_marks(ack=count, message=count)
        stream.socket.close()


class FanOut(Scene):
    """One session with 100 operators' connections. `pending` messages are sent at once."""
    warm = 30

    def __init__(self, gateway, pending):
        self.rounds = 240 if pending == 1 else 120
        self.gateway = gateway
        visitor = gateway.token("visitor")
        operator = gateway.token("operator")
        self.session = visitor["session"]
        fill(gateway, visitor, self.session)
        chats = [connect_chat(gateway, account=operator, session=self.session, tail=1) for _ in range(100)]
        for chat in chats:
            chat.until("live")
        self.streams = [Stream(chat.peer) for chat in chats]
        self.turn, self.pending = 0, pending
        self.messages = pending
        self.deliveries = pending * len(chats)

    def round(self):
        # The connections send in turn, because of their rate limits.
        with stopped(self.gateway):
            for _ in range(self.pending):
                self.streams[self.turn % 100].send(command(self.session, "x" * 128))
                self.turn += 1
        for stream in self.streams:
            stream.take_marks(message=self.pending)


class Chat(Scene):
    """Conversations of a visitor and an operator: messages sent, acknowledged and delivered to both."""
    warm, rounds = 5, 40

    def __init__(self, gateway):
        self.gateway = gateway
        operator = gateway.token("operator")
        self.pairs = []
        for _ in range(16):
            visitor = gateway.token("visitor")
            session = visitor["session"]
            fill(gateway, visitor, session)
            sides = [connect_chat(gateway, account=account, session=session, tail=1)
                     for account in (visitor, operator)]
            for side in sides:
                side.until("live")
            self.pairs.append((session, *(Stream(side.peer) for side in sides)))
        self.messages = len(self.pairs)
        self.deliveries = 2 * self.messages

    def round(self):
        with stopped(self.gateway):
            for session, visitor, _ in self.pairs:
                visitor.send(command(session, "x" * 128))
        for _, visitor, operator in self.pairs:
            visitor.take_marks(ack=1, message=1)
            operator.take_marks(message=1)


class Rest(Scene):
    """100 idle connections. One message represents one second."""
    warm, rounds, messages = 1, 2, 1

    def __init__(self, gateway):
        self.peers = [Peer(gateway.address) for _ in range(100)]
        for peer in self.peers:
            peer.upgrade("/debug/echo")

    def round(self):
        time.sleep(1)


def without_verification():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


SCENES = {
    "echo-20": lambda gateway: Echo(gateway, 20, 1),
    "echo-20x16": lambda gateway: Echo(gateway, 20, 16),
    "echo-512": lambda gateway: Echo(gateway, 512, 1),
    "echo-512x16": lambda gateway: Echo(gateway, 512, 16),
    "echo-4096": lambda gateway: Echo(gateway, 4096, 1),
    "echo-4096x16": lambda gateway: Echo(gateway, 4096, 16),
    "tls-20": lambda gateway: Echo(gateway, 20, 1, without_verification()),
    "tls-512x16": lambda gateway: Echo(gateway, 512, 16, without_verification()),
    "fanout": lambda gateway: FanOut(gateway, 1),
    "fanout-x8": lambda gateway: FanOut(gateway, 8),
    "chat": Chat,
    "rest": Rest,
}
