"""Writes a conversation in which PostgreSQL refuses every message with the text "forbidden".

client_poison.py URL VISITOR FILE: writes the ids of the refused ones into the file, one a line.
"""

import asyncio
import json
import sys
import uuid

from websockets.asyncio.client import connect


async def main(url, visitor, file):
    session = visitor["session"]
    bodies = [f"forbidden {n // 4}" if n % 4 == 0 and n else f"allowed {n}" for n in range(13)]
    ids = [str(uuid.uuid4()) for _ in bodies]
    async with connect(url, subprotocols=["chirrup.v1"]) as socket:
        await socket.send(json.dumps({"type": "hello", "ref": "h", "token": visitor["token"],
                                      "subscribe": [{"session": session, "after": 0}]}))
        # All are sent at once, so that they share a batch.
        waiting = []

        async def until(kinds):
            while True:
                while not waiting:
                    message = await asyncio.wait_for(socket.recv(), 20)
                    waiting.extend(json.loads(line) for line in message.split("\n"))
                frame = waiting.pop(0)
                if frame["type"] in kinds:
                    return frame

        await until(["live"])
        await socket.send("\n".join(
            json.dumps({"type": "send", "ref": n, "session": session, "id": ids[n], "body": body})
            for n, body in enumerate(bodies)))
        seqs = {}
        for _ in bodies:
            frame = await until(["ack", "error"])
            n = frame["ref"]
            if bodies[n].startswith("forbidden"):
                assert frame["type"] == "error" and frame["code"] == "rejected", frame
                assert frame["retry"] is False, frame
            else:
                assert frame["type"] == "ack", frame
                seqs[n] = frame["seq"]
        allowed = [n for n, body in enumerate(bodies) if body.startswith("allowed")]
        assert [seqs[n] for n in allowed] == list(range(1, len(allowed) + 1)), seqs
    with open(file, "w") as output:
        output.writelines(f"{ids[n]}\n" for n, body in enumerate(bodies) if n not in seqs)


asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3]))
