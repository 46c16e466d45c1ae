"""A proxy that falsifies some events, to prove that the load's verdict finds them.

tamper.py PORT UPSTREAM drop|duplicate|swap: stands between the clients and the gateway at UPSTREAM.
`drop` keeps every 50th message frame from its reader, `duplicate` shows it twice, `swap` hands on every
20th send of a connection behind the one that follows it. Prints `ready` when it listens.
"""

import asyncio
import json
import sys

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

port, upstream, fault = int(sys.argv[1]), sys.argv[2], sys.argv[3]
shown = 0


async def down(gateway, client):
    global shown
    async for text in gateway:
        for line in text.split("\n"):
            if json.loads(line)["type"] == "message":
                shown += 1
                if shown % 50 == 0 and fault == "drop":
                    continue
                if shown % 50 == 0 and fault == "duplicate":
                    await client.send(line)
            await client.send(line)


async def up(client, gateway):
    sends = 0
    held = None
    async for text in client:
        if json.loads(text)["type"] == "send":
            sends += 1
            if fault == "swap" and sends % 20 == 0:
                held = text
                continue
            await gateway.send(text)
            if held is not None:
                await gateway.send(held)
                held = None
        else:
            await gateway.send(text)


async def relay(client):
    try:
        async with connect(upstream, subprotocols=["chirrup.v1"], max_size=None) as gateway:
            tasks = [asyncio.create_task(down(gateway, client)),
                     asyncio.create_task(up(client, gateway))]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
    except (ConnectionClosed, OSError):
        pass


async def main():
    async with serve(relay, "127.0.0.1", port, subprotocols=["chirrup.v1"], max_size=None,
                     ping_interval=None):
        print("ready", flush=True)
        await asyncio.get_running_loop().create_future()


asyncio.run(main())
