"""A visitor who writes all the time on one connection: reload_client.py URL VISIT STOP.

VISIT is the JSON of `chirrup token`. Ends when the file STOP exists: exit 0 if every message was acknowledged and came
back once, in order, and the connection was never lost.
"""

import asyncio
import json
import os
import sys
import uuid

from websockets.asyncio.client import connect


async def main(url, visit, stop):
    visit = json.loads(visit)
    session = visit["session"]
    acknowledged, seen = [], []
    sent = 0
    async with connect(url.replace("http", "ws") + "/api/v1/ws", subprotocols=["chirrup.v1"]) as socket:

        async def say(**command):
            await socket.send(json.dumps(command))

        async def take(is_done):
            while not is_done():
                for line in (await asyncio.wait_for(socket.recv(), 60)).split("\n"):
                    event = json.loads(line)
                    if event["type"] == "ping":
                        await say(type="pong")
                    elif event["type"] == "ack":
                        acknowledged.append(event["seq"])
                    elif event["type"] == "message":
                        seen.append(event["seq"])
                    elif event["type"] == "error":
                        sys.exit(f"an error: {event}")

        await say(type="hello", ref="h", token=visit["token"], subscribe=[{"session": session, "after": 0}])
        while not os.path.exists(stop):
            await say(type="send", ref=f"{sent}", session=session, id=str(uuid.uuid4()), body=f"number {sent}")
            sent += 1
            # Some messages are always under way; the gateway allows one connection about 20 a second.
            await take(lambda: len(acknowledged) > sent - 8)
            await asyncio.sleep(0.06)
            if sent % 10 == 0:
                print(f"sent {sent}", flush=True)
        await take(lambda: len(acknowledged) == sent and len(seen) >= sent)
    numbers = list(range(1, sent + 1))
    print(f"{sent} messages, acknowledged {len(acknowledged)}, delivered {len(seen)}", flush=True)
    sys.exit(0 if acknowledged == numbers and seen == numbers else 1)


asyncio.run(main(*sys.argv[1:]))
