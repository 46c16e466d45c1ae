"""A visitor of chirrup.v1 (Sources/PROTOCOL.md) in Python, with PyPI's `websockets` (14 or later).

visitor_terminal.py uses it.
"""

import asyncio
import contextlib
import json
import random
import urllib.request
import uuid

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException

WINDOW = 8  # sends without an answer; the gateway takes 16
SILENCE = 40  # seconds after which the connection counts as lost: the gateway pings after 25


class Visitor:
    """A subclass has `changed`, `message`, `failed` and `reset`. `state` must survive: store it in `changed`."""

    def __init__(self, base, workspace, state):
        self.base, self.workspace = base, workspace
        self.state = {"refresh": None, "session": None, "epoch": None, "seq": 0, "outbox": []} | state
        self.token, self.socket, self.is_live, self.sent, self.tries, self.window = None, None, False, set(), 0, None

    async def send(self, body):
        self.state["outbox"].append({"id": str(uuid.uuid4()), "body": body})  # the id stays the same over every retry
        self.changed()
        await self.flush()

    async def run(self):
        """Returns the close code after which a client must not come back."""
        while True:
            code = await self.connection()
            self.socket, self.is_live = None, False
            self.sent.clear()  # without an answer: stored or not, they go out again under the same ids
            if 4300 <= code < 4400:
                return code
            if 4200 <= code < 4300:
                self.token = None  # also when it expired: 4202
            window = (self.window or (0, 5)) if 4000 <= code < 4100 else (0, min(60, 2**self.tries))
            self.tries, self.window = self.tries + 1, None
            await asyncio.sleep(random.uniform(*window))

    async def connection(self):
        """Serves one connection. Returns its close code."""
        try:
            self.token = self.token or await self.renew()
            async with connect(self.base.replace("http", "ws", 1) + "/api/v1/ws", subprotocols=["chirrup.v1"],
                               ping_interval=None) as self.socket:
                await self.say(type="hello", ref="hello", token=self.token, subscribe=[self.place()])
                while True:
                    message = await asyncio.wait_for(self.socket.recv(), SILENCE)
                    for line in message.split("\n"):
                        await self.receive(json.loads(line))
        except ConnectionClosed as end:
            return end.rcvd.code if end.rcvd else 4102
        except (OSError, TimeoutError, WebSocketException) as error:
            status = getattr(error, "code", None)  # of the request for a token
            return 4300 if status and status < 500 and status != 429 else 4102

    async def renew(self):
        """A new token, for the same visitor and conversation while the refresh secret is valid."""
        wanted = {"workspace": self.workspace, "refresh": self.state["refresh"], "session": self.state["session"]}
        given = await asyncio.to_thread(self.request_token, wanted)
        if given["session"] != self.state["session"]:
            self.state |= {"epoch": None, "seq": 0}
        self.state |= {"refresh": given["refresh"], "session": given["session"]}
        self.changed()
        return given["token"]

    def request_token(self, wanted):
        """Runs in a thread of its own, so it does not use `state`."""
        request = urllib.request.Request(self.base + "/api/v1/widget/token", json.dumps(wanted).encode(),
                                         {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def place(self):
        return {"session": self.state["session"], "after": self.state["seq"], "epoch": self.state["epoch"]}

    async def say(self, **command):
        with contextlib.suppress(ConnectionClosed):  # `connection` sees it, too
            await self.socket.send(json.dumps(command))

    async def receive(self, frame):
        state, kind = self.state, frame["type"]
        if kind == "ping":
            return await self.say(type="pong")
        elif kind == "drain":
            self.window = (frame["min_ms"] / 1000, frame["max_ms"] / 1000)
        elif kind == "resync":  # the log begins again: drop the copy of it
            state |= {"epoch": frame["epoch"], "seq": 0}
            self.reset()
            if self.is_live:
                await self.say(type="subscribe", **self.place())
        elif kind == "subscribed":
            state |= {"epoch": frame["epoch"], "seq": frame["from"] - 1}
            self.tries = 0
            await self.live(self.socket)
        elif kind == "message":
            if frame["seq"] != state["seq"] + 1:  # never seen; subscribe again
                return await self.socket.close(4190)
            state["seq"] = frame["seq"]
            self.message(frame)
            await self.done(frame.get("id"))  # one's own message may come before its ack, or instead of it
        elif kind == "ack":
            await self.done(frame["id"])
        elif kind == "error" and frame["retry"]:  # all behind it fail too: later everything again, from the oldest
            if self.is_live:
                self.pause = asyncio.create_task(self.live(self.socket, frame.get("retry_after_ms", 1000) / 1000))
            self.is_live = False
        elif kind == "error" and any(item["id"] == frame.get("ref") for item in state["outbox"]):
            self.failed(frame["ref"], frame["code"])
            await self.done(frame["ref"])
        elif kind in ("error", "unsubscribed"):  # of the connection, or the conversation is gone: get a new token
            self.token = None
            await self.socket.close()
        self.changed()

    async def live(self, socket, delay=0):
        await asyncio.sleep(delay)
        if socket is self.socket:
            self.is_live = True
            self.sent.clear()
            await self.flush()

    async def done(self, id):
        self.state["outbox"] = [item for item in self.state["outbox"] if item["id"] != id]
        self.sent.discard(id)
        await self.flush()

    async def flush(self):
        for item in self.state["outbox"][:WINDOW] if self.is_live else []:
            if item["id"] not in self.sent:
                self.sent.add(item["id"])
                await self.say(type="send", ref=item["id"], session=self.state["session"], **item)
