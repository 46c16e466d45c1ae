"""Compressed messages with PyPI's websockets, an independent implementation of permessage-deflate.

client_deflate.py BASE VISITOR OPERATOR KEEPS: the gateway's ws://host:port, two tokens as `chirrup token`
prints them, and whether it keeps context (yes or no).
"""

import asyncio
import json
import sys
import uuid

from websockets.asyncio.client import connect
from websockets.extensions.permessage_deflate import ClientPerMessageDeflateFactory

LONG = "Where is my parcel, and when will it come? " * 40
TEXTS = ["", "x", "grün 🙂" * 100, LONG, LONG, "".join(str(n * 7919) for n in range(9000))]

# The offers of a client: both windows, each context, and none.
OFFERS = [
    {}, {"server_max_window_bits": 9}, {"client_max_window_bits": True}, {"client_max_window_bits": 9},
    {"server_max_window_bits": 12, "client_max_window_bits": 12},
    {"server_no_context_takeover": True}, {"client_no_context_takeover": True},
    {"server_no_context_takeover": True, "client_no_context_takeover": True,
     "server_max_window_bits": 10, "client_max_window_bits": 15},
]


def agreed(socket):
    """Returns the extension as the client configured it from the 101."""
    (extension,) = socket.protocol.extensions
    return extension


async def echo(base, keeps):
    for offer in OFFERS:
        factory = ClientPerMessageDeflateFactory(**offer)
        async with connect(base + "/debug/echo", compression=None, extensions=[factory]) as socket:
            extension = agreed(socket)
            if keeps != "yes":
                assert extension.remote_no_context_takeover and extension.local_no_context_takeover, offer
            if offer.get("server_max_window_bits"):
                assert extension.remote_max_window_bits <= offer["server_max_window_bits"], offer
            for text in TEXTS * 3:
                await socket.send(text)
                assert await socket.recv() == text, offer
                await socket.send([text[:9], text[9:500], text[500:]])
                assert await socket.recv() == text, offer
            await socket.send(b"\0" * 1_000_000)
            assert await socket.recv() == b"\0" * 1_000_000, offer


async def until(socket, kind):
    while True:
        for line in (await asyncio.wait_for(socket.recv(), 60)).split("\n"):
            frame = json.loads(line)
            if frame["type"] == kind:
                return frame
            assert frame["type"] != "error", frame


async def conversation(base, visitor, operator):
    session = visitor["session"]
    async with connect(base + "/api/v1/ws", subprotocols=["chirrup.v1"]) as ada, \
            connect(base + "/api/v1/ws", subprotocols=["chirrup.v1"], compression=None) as mika:
        assert agreed(ada).name == "permessage-deflate"
        for socket, who in (ada, visitor), (mika, operator):
            await socket.send(json.dumps({"type": "hello", "token": who["token"],
                                          "subscribe": [{"session": session}]}))
            await until(socket, "live")
        for text in TEXTS[1:] * 3:
            await ada.send(json.dumps({"type": "send", "session": session, "id": str(uuid.uuid4()),
                                       "body": text[:16000]}))
            for socket in ada, mika:
                assert (await until(socket, "message"))["body"] == text[:16000]
        await ada.send(json.dumps({"type": "history", "session": session, "limit": 9}))
        assert len((await until(ada, "ok"))["messages"]) == 9


async def main(base, visitor, operator, keeps):
    await echo(base, keeps)
    await conversation(base, json.loads(visitor), json.loads(operator))


asyncio.run(main(*sys.argv[1:]))
