"""A client of chirrup.v1 on a peer: sends commands, waits for events."""

import json
import time
import uuid

from . import frames
from .peer import Failure, Gone


class Chat:
    """The commands and events of one connection, as JSON objects."""

    def __init__(self, peer):
        self.peer = peer
        self.waiting = []

    def say(self, **command):
        self.raw(json.dumps(command, ensure_ascii=False))

    def raw(self, text):
        self.peer.send(frames.frame(frames.TEXT, text))

    def next(self, within=None):
        """Returns the next event; a `ping` is answered and skipped."""
        within = within or self.peer.timeout
        while not self.waiting:
            opcode, payload = self.peer.message(within)
            if opcode != frames.TEXT:
                raise Failure(f"opcode {opcode} on the chat endpoint")
            self.waiting = [json.loads(line) for line in payload.decode().split("\n")]
            if self.waiting[0]["type"] == "ping":
                self.say(type="pong")
                self.waiting.pop(0)
        return self.waiting.pop(0)

    def until(self, kind, within=None, **fields):
        """Returns the next event of this type with these fields. Others are skipped, an error fails."""
        deadline = time.monotonic() + (within or self.peer.timeout)
        while True:
            event = self.next(max(0.01, deadline - time.monotonic()))
            if event["type"] == kind and all(event.get(key) == value for key, value in fields.items()):
                return event
            if event["type"] == "error" and kind != "error":
                raise Failure(f"error instead of {kind}: {event}")

    def hello(self, token, session=None, after=None, tail=None):
        command = {"type": "hello", "ref": "hello", "token": token}
        if session:
            place = {"session": session}
            if after is not None:
                place["after"] = after
            if tail is not None:
                place["tail"] = tail
            command["subscribe"] = [place]
        self.say(**command)
        welcome = self.until("welcome", ref="hello")
        if session:
            self.subscribed = self.until("subscribed", session=session)
        return welcome

    def send(self, session, body, id=None, ref=None, **fields):
        """Sends a message and returns its ack."""
        id = id or str(uuid.uuid4())
        ref = ref or id[:8]
        self.say(type="send", ref=ref, session=session, id=id, body=body, **fields)
        return self.until("ack", ref=ref)

    def expect_error(self, code, naming=None, ref=None, within=None):
        event = self.until("error", within)
        if event["code"] != code or naming and naming not in event["message"]:
            raise Failure(f"expected the error {code} naming {naming}, got {event}")
        if ref is not None and event.get("ref") != ref:
            raise Failure(f"the error is about {event.get('ref')!r} and not {ref!r}")
        return event

    def is_open(self):
        """Checks that the connection works: an unknown command gets its error."""
        ref = uuid.uuid4().hex[:12]
        self.say(type="no such type", ref=ref)
        try:
            while True:
                event = self.next()
                if event["type"] == "error" and event.get("ref") == ref:
                    return event["code"] == "unknown_type"
        except Gone:
            return False


__all__ = ["Chat"]
