"""A client of chirrup.v1 on PyPI's websockets, written from the protocol's page alone.

client_websockets.py URL VISITOR OPERATOR: the last two as `chirrup token` prints them.
"""

import asyncio
import json
import sys
import uuid

from websockets.asyncio.client import connect

TEXTS = ["Where is my parcel?", "สวัสดีครับ", "مرحبا كيف حالك", "🙂👩‍👩‍👧", 'a "quoted"\n\\line', "x" * 4096]


class Client:
    """One connection; frames come as objects, several of which may share a message."""

    def __init__(self, socket):
        self.socket = socket
        self.waiting = []

    async def say(self, **command):
        await self.socket.send(json.dumps(command, ensure_ascii=False))

    async def next(self):
        while not self.waiting:
            message = await asyncio.wait_for(self.socket.recv(), 60)
            self.waiting = [json.loads(line) for line in message.split("\n")]
        return self.waiting.pop(0)

    async def until(self, kind, **fields):
        """Returns the next event of a type with these fields; others are skipped."""
        while True:
            frame = await self.next()
            if frame["type"] == kind and all(frame.get(k) == v for k, v in fields.items()):
                return frame
            assert frame["type"] != "error", frame

    async def hello(self, token, session, after):
        await self.say(type="hello", ref="h", token=token,
                       client={"name": "client_websockets.py", "version": "1"},
                       subscribe=[{"session": session, "after": after}])
        welcome = await self.until("welcome", ref="h")
        subscribed = await self.until("subscribed", session=session)
        assert subscribed["from"] == after + 1, subscribed
        return welcome, subscribed

    async def send(self, session, body, id=None):
        id = id or str(uuid.uuid4())
        await self.say(type="send", ref=id[:8], session=session, id=id, body=body)
        return await self.until("ack", ref=id[:8], session=session, id=id)


async def main(url, visitor, operator):
    session = visitor["session"]

    def dial():
        return connect(url, subprotocols=["chirrup.v1"], max_size=1 << 20)

    async with dial() as first, dial() as second:
        assert first.subprotocol == "chirrup.v1"
        guest, agent = Client(first), Client(second)
        await guest.hello(visitor["token"], session, 0)
        await guest.until("live", session=session)
        await agent.hello(operator["token"], session, 0)
        await agent.until("live", session=session)

        seq = 0
        for turn, body in enumerate(TEXTS):
            sender, other = (guest, agent) if turn % 2 == 0 else (agent, guest)
            ack = await sender.send(session, body)
            assert ack["seq"] > seq, ack
            seq = ack["seq"]
            message = await other.until("message", session=session, id=ack["id"])
            assert message["seq"] == seq and message["body"] == body, message
            kind = "visitor" if sender is guest else "operator"
            assert message["sender"]["kind"] == kind, message

        again = await guest.send(session, "once")
        twice = await guest.send(session, "once", again["id"])
        assert twice["seq"] == again["seq"] and twice["duplicate"] is True, twice
        await guest.say(type="send", ref="c", session=session, id=again["id"], body="other")
        assert (await error(guest, "c"))["code"] == "id_conflict"
        await guest.say(type="nonsense", ref=7)
        assert (await error(guest, 7))["code"] == "unknown_type"
        await guest.say(type="subscribe", ref="s", session=str(uuid.uuid4()))
        assert (await error(guest, "s"))["code"] == "no_such_session"
        await first.close()
        assert first.close_code == 1000, first.close_code

        missed = [await agent.send(session, body) for body in ("one", "two", "three")]
    async with dial() as socket:
        guest = Client(socket)
        _, subscribed = await guest.hello(visitor["token"], session, again["seq"])
        assert subscribed["head"] == missed[-1]["seq"], subscribed
        for ack in missed:
            message = await guest.until("message", session=session)
            assert (message["seq"], message["id"]) == (ack["seq"], ack["id"]), message
        live = await guest.until("live", session=session)
        assert live["seq"] == missed[-1]["seq"], live


async def error(client, ref):
    while True:
        frame = await client.next()
        if frame.get("ref") == ref:
            assert frame["type"] == "error" and frame["message"], frame
            return frame


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3])))
