"""One WebSocket with a token: keys_client.py try|hold URL TOKEN.

`try` prints `welcome`, or the code with which the gateway closes. `hold` prints `welcome`, stays, and prints the code.
"""

import asyncio
import json
import sys

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed


async def main(way, url, token):
    async with connect(url, subprotocols=["chirrup.v1"]) as socket:
        await socket.send(json.dumps({"type": "hello", "ref": 1, "token": token}))
        try:
            while True:
                message = await asyncio.wait_for(socket.recv(), 300)
                kinds = [json.loads(line)["type"] for line in message.split("\n")]
                if "ping" in kinds:
                    await socket.send(json.dumps({"type": "pong"}))
                if "welcome" in kinds:
                    print("welcome", flush=True)
                    if way == "try":
                        return
        except ConnectionClosed as closed:
            print(closed.rcvd.code if closed.rcvd else "lost", flush=True)


asyncio.run(main(*sys.argv[1:]))
