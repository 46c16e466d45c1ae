"""Clients under load: each keeps its unacknowledged messages and sends them again with the same ids.

One thread drives all of them. `audit.py` then compares their events with the tables."""

import collections
import json
import random
import selectors
import socket
import threading
import time
import uuid

from . import frames
from .peer import Failure

#: Sends of one client without an answer; the gateway takes 16.
WINDOW = 8
#: Messages that a client holds while the gateway takes none; it makes no more then.
OUTBOX_MAX = 400
#: Seconds between two attempts to connect: doubled from the first to the last, half of it random.
RECONNECT = (0.1, 2.0)


class Client:
    """One client with one connection after the other, which follows a session and may write into it."""

    def __init__(self, crowd, name, token, session):
        self.crowd, self.name, self.token, self.session = crowd, name, token, session
        self.socket = None
        self.phase = "off"
        self.retry_at = 0.0
        self.attempts = 0
        #: In the order they were made; the ids in `made` are never taken away.
        self.made, self.outbox = [], collections.deque()
        self.acks, self.view = {}, []
        self.claims = 0  # how many of what it was shown are lines of a claim, which nobody made
        self.violations = []
        #: Errors by code, closes by code, connections made.
        self.errors, self.closes = collections.Counter(), collections.Counter()
        self.welcomes = self.typings = self.pings = 0
        self.waits = []
        #: Orders of the row: messages, and reconnects.
        self.wanted, self.wants_anew = 0, False
        self.reset()

    def reset(self):
        self.input, self.output = bytearray(), bytearray()
        #: How many of the outbox are under way, and whether one of them was refused.
        self.under_way = 0
        self.has_failed = self.is_probing = False
        self.resume_at = 0.0

    # Writing

    def make(self, pad=""):
        if len(self.outbox) >= OUTBOX_MAX:
            return
        id = str(uuid.uuid4())
        body = f"{self.crowd.canary} {self.name} {len(self.made)} {pad}"
        self.crowd.bodies[id] = body
        self.made.append(id)
        self.outbox.append(id)
        self.pump(time.monotonic())

    def say(self, **command):
        self.output += frames.frame(frames.TEXT, json.dumps(command))

    def pump(self, now):
        if self.phase != "open" or now < self.resume_at or self.has_failed:
            return
        window = 1 if self.is_probing else WINDOW
        while self.under_way < min(window, len(self.outbox)):
            id = self.outbox[self.under_way]
            self.under_way += 1
            self.say(type="send", ref=id, session=self.session, id=id, body=self.crowd.bodies[id])
        self.flush()

    def flush(self):
        if not self.socket or self.phase == "connecting":
            return
        try:
            while self.output:
                del self.output[:self.socket.send(self.output)]
        except BlockingIOError:
            pass
        except OSError:
            self.lose()
            return
        self.crowd.watch(self)

    # Connecting

    def connect(self, now):
        self.reset()
        self.socket = socket.socket()
        self.socket.setblocking(False)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.phase = "connecting"
        self.deadline = now + 15
        self.socket.connect_ex(self.crowd.address)
        self.crowd.watch(self)

    def connected(self):
        if self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            return self.lose()
        self.phase = "upgrading"
        self.output += (f"GET /api/v1/ws HTTP/1.1\r\nHost: {self.crowd.host}\r\nUpgrade: websocket\r\n"
                        "Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: chirrup.v1\r\n\r\n").encode()
        self.flush()

    def upgraded(self):
        end = self.input.find(b"\r\n\r\n")
        if end < 0:
            return
        status = bytes(self.input[9:12]).decode()
        del self.input[:end + 4]
        if status != "101":
            self.errors[f"HTTP {status}"] += 1
            return self.lose()
        self.phase = "greeting"
        self.say(type="hello", ref="hello", token=self.token,
                 subscribe=[{"session": self.session, "after": len(self.view), "ref": "subscribe"}])
        self.flush()

    def lose(self):
        if self.socket:
            self.crowd.unwatch(self)
            self.socket.close()
            self.socket = None
        first, last = RECONNECT
        wait = min(last, first * 2 ** min(self.attempts, 8))
        self.attempts += 1
        self.phase = "off"
        self.retry_at = time.monotonic() + wait * (0.5 + random.random() / 2)
        self.reset()

    # Reading

    def readable(self):
        try:
            data = self.socket.recv(262144)
        except BlockingIOError:
            return
        except OSError:
            return self.lose()
        if not data:
            return self.lose()
        self.input += data
        if self.phase == "upgrading":
            self.upgraded()
        while self.phase in ("greeting", "open") and (frame := self.take_frame()):
            self.take(*frame)

    def take_frame(self):
        """The server never fragments and never masks; `peer.py` is the one that judges its framing."""
        if len(self.input) < 2:
            return None
        length, start = self.input[1] & 0x7F, 2
        if length >= 126:
            size = 2 if length == 126 else 8
            start += size
            if len(self.input) < start:
                return None
            length = int.from_bytes(self.input[2:start], "big")
        if len(self.input) < start + length:
            return None
        opcode, payload = self.input[0] & 0x0F, bytes(self.input[start:start + length])
        del self.input[:start + length]
        return opcode, payload

    def take(self, opcode, payload):
        if opcode == frames.CLOSE:
            self.closes[int.from_bytes(payload[:2], "big")] += 1
            self.output += frames.frame(frames.CLOSE, payload[:2])
            self.flush()
            return self.lose()
        for line in payload.split(b"\n"):
            event = json.loads(line)
            handler = getattr(self, "on_" + event["type"], None)
            if handler:
                handler(event)

    def on_welcome(self, event):
        self.welcomes += 1
        self.attempts = 0

    def on_subscribed(self, event):
        if event["from"] != len(self.view) + 1:
            self.violations.append(f"resumed from {event['from']} instead of {len(self.view) + 1}")
        self.phase = "open"
        self.pump(time.monotonic())

    def on_ping(self, event):
        self.pings += 1
        self.say(type="pong")
        self.flush()

    def on_typing(self, event):
        self.typings += 1

    def on_message(self, event):
        wanted = len(self.view) + 1
        if event["seq"] != wanted:
            self.violations.append(f"received {event['seq']}, expected {wanted}")
            return
        is_claim = event["kind"] == "event" and event["body"].endswith(" joined")
        if not is_claim and event["body"] != self.crowd.bodies.get(event["id"]):
            self.violations.append(f"received another body at {wanted}")
        self.view.append(event["id"])
        self.claims += is_claim

    def on_resync(self, event):
        self.violations.append(f"received resync: {event['reason']}")
        self.lose()

    def on_ack(self, event):
        id = event["id"]
        if self.acks.setdefault(id, event["seq"]) != event["seq"]:
            self.violations.append(f"acked at {event['seq']} after {self.acks[id]}")
        if id in self.outbox:
            self.outbox.remove(id)
            self.under_way -= 1
        self.is_probing = False
        self.answered()

    def on_error(self, event):
        self.errors[event["code"]] += 1
        if "ref" not in event:
            self.violations.append(f"an error without a command: {event}")
            return
        # The session may have to be read anew, which an outage forbids as long as it lasts.
        if event["ref"] in ("hello", "subscribe") or not event["retry"]:
            if event["code"] not in ("unavailable", "rate_limited"):
                self.violations.append(f"refused: {event['code']} {event['message']}")
            return self.lose()
        if event["code"] == "unavailable":
            self.waits.append(event["retry_after_ms"])
        # Everything behind it fails too; then the first one tells when the store takes messages again.
        self.under_way -= 1
        self.has_failed = True
        self.resume_at = max(self.resume_at, time.monotonic() + event.get("retry_after_ms", 500) / 1000)
        self.answered()

    def answered(self):
        if self.has_failed and self.under_way == 0:
            self.has_failed, self.is_probing = False, True
        self.pump(time.monotonic())


class Crowd:
    """A visitor and an operator in each session, both of which write and read."""

    def __init__(self, gateway, sessions=10, canary=None, address=None, operators=True):
        self.gateway, self.address = gateway, address or gateway.address
        self.host = f"{self.address[0]}:{self.address[1]}"
        self.canary = canary or uuid.uuid4().hex
        self.bodies = {}
        self.clients = []
        visitors = gateway.make_tokens("visitor", count=sessions)
        watchers = gateway.make_tokens("operator", count=sessions) if operators else []
        for number, visitor in enumerate(visitors):
            self.clients.append(Client(self, f"v{number}", visitor["token"], visitor["session"]))
            if operators:
                self.clients.append(Client(self, f"o{number}", watchers[number]["token"], visitor["session"]))
        self.sessions = [visitor["session"] for visitor in visitors]
        self.selector = selectors.DefaultSelector()
        self.rate, self.pad = 0.0, ""
        self.is_ending = False
        self.failure = None
        self.thread = threading.Thread(target=self._run, name="crowd", daemon=True)
        self.thread.start()
        self.wait(lambda: all(client.phase == "open" for client in self.clients), 60, "everybody is connected")

    # The thread

    def watch(self, client):
        wanted = selectors.EVENT_READ
        if client.output or client.phase == "connecting":
            wanted |= selectors.EVENT_WRITE
        try:
            if self.selector.get_key(client.socket).events != wanted:
                self.selector.modify(client.socket, wanted, client)
        except KeyError:
            self.selector.register(client.socket, wanted, client)

    def unwatch(self, client):
        try:
            self.selector.unregister(client.socket)
        except KeyError:
            pass

    def _run(self):
        try:
            last, owed, turn = time.monotonic(), 0.0, 0
            while not self.is_ending:
                for key, events in self.selector.select(0.01):
                    self._event(key.data, events)
                now = time.monotonic()
                owed = min(owed + self.rate * (now - last), len(self.clients))
                last = now
                while owed >= 1:
                    owed -= 1
                    turn += 1
                    self.clients[turn % len(self.clients)].make(self.pad)
                for client in self.clients:
                    self._time(client, now)
        except Exception as failure:
            self.failure = failure

    def _event(self, client, events):
        if client.socket and client.phase == "connecting":
            client.connected()
        elif client.socket and events & selectors.EVENT_WRITE:
            client.flush()
        if client.socket and events & selectors.EVENT_READ and client.phase != "connecting":
            client.readable()

    def _time(self, client, now):
        while client.wanted:
            client.make()
            client.wanted -= 1
        if client.wants_anew and client.phase == "open":
            client.wants_anew = False
            client.lose()
        elif client.phase == "off" and now >= client.retry_at:
            client.connect(now)
        elif client.phase in ("connecting", "upgrading", "greeting") and now > client.deadline:
            client.lose()
        elif client.phase == "open" and client.outbox:
            client.pump(now)

    # For rows

    def wait(self, condition, seconds, what):
        deadline = time.monotonic() + seconds
        while not condition():
            if self.failure:
                raise Failure(f"the crowd failed: {type(self.failure).__name__}: {self.failure}")
            if time.monotonic() > deadline:
                raise Failure(f"not after {seconds:.0f} s: {what}: {self.summary()}")
            time.sleep(0.02)

    def ask(self, anew=()):
        """Sends one message of each client; some disconnect first. Returns when the crowd's thread has done it."""
        for client in anew:
            client.wants_anew = True
        for client in self.clients:
            client.wanted += 1
        self.wait(lambda: not any(client.wanted for client in self.clients), 10, "the messages are made")

    def total(self, name):
        return sum(len(getattr(client, name)) for client in self.clients)

    def count(self, code):
        return sum(client.errors[code] for client in self.clients)

    @property
    def reconnects(self):
        return sum(client.welcomes - 1 for client in self.clients)

    def closes(self):
        return sum((client.closes for client in self.clients), collections.Counter())

    def wait_acks(self, more, seconds=60):
        goal = self.total("acks") + more
        self.wait(lambda: self.total("acks") >= goal, seconds, f"{more} more acks")

    def settle(self, seconds=60):
        """Stops new messages, and returns when all sent ones are acked and delivered to every client."""
        self.rate = 0.0
        heads = collections.Counter()

        def is_quiet():
            heads.clear()
            for client in self.clients:
                heads[client.session] += len(client.made)
            return all(not client.outbox and client.phase == "open"
                       and len(client.view) - client.claims >= heads[client.session]
                       for client in self.clients)

        self.wait(is_quiet, seconds, "all is acked and shown")

    def summary(self):
        return (f"{self.total('made')} made, {self.total('acks')} acked, {self.total('outbox')} held, "
                f"{self.count('unavailable')} unavailable, {self.reconnects} reconnects, "
                f"{sum(client.phase == 'open' for client in self.clients)} of {len(self.clients)} connected, "
                f"closes {dict(self.closes())}")

    def close(self):
        self.is_ending = True
        self.thread.join(10)
        for client in self.clients:
            if client.socket:
                client.socket.close()
        self.selector.close()
