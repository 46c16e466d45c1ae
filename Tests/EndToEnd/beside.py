"""Visitors and an operator of the gateway, while another application writes the same tables: see beside.sh.

beside.py URL VISITORS OPERATOR DATABASE SECONDS: the files are what `chirrup token` prints.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
import uuid

from websockets.asyncio.client import connect


async def frames(socket):
    async for message in socket:
        for line in message.split("\n"):
            yield json.loads(line)


async def say(socket, **command):
    await socket.send(json.dumps(command))


class Follower:
    """Subscribes to sessions; checks order at each frame, and keeps what it has seen."""

    def __init__(self, token, starts):
        self.token, self.heads = token, dict(starts)
        self.seen = {session: {} for session in starts}
        self.faults = []

    async def run(self, url, ready):
        async with connect(url, subprotocols=["chirrup.v1"], max_size=1 << 24) as socket:
            await say(socket, type="hello", ref="h", token=self.token, client={"name": "beside.py", "version": "1"},
                      subscribe=[{"session": s, "after": after} for s, after in self.heads.items()])
            live = set()
            async for frame in frames(socket):
                kind, session = frame["type"], frame.get("session")
                if kind in ("error", "resync", "rejected"):
                    self.faults.append(frame)
                if kind == "live":
                    live.add(session)
                    if len(live) == len(self.heads):
                        ready.set()
                if "seq" in frame and kind in ("message", "event", "note", "card") and session in self.heads:
                    if frame["seq"] != self.heads[session] + 1:
                        self.faults.append(f"{session}: {frame['seq']} follows {self.heads[session]}")
                    self.heads[session] = frame["seq"]
                    self.seen[session][frame["seq"]] = (frame.get("id"), frame.get("body"), time.time())


async def visit(url, visitor, end, sent, faults):
    """A visitor who sends ten messages a second and waits for each acknowledgement."""
    async with connect(url, subprotocols=["chirrup.v1"], max_size=1 << 24) as socket:
        session = visitor["session"]
        await say(socket, type="hello", ref="h", token=visitor["token"], client={"name": "beside.py", "version": "1"},
                  subscribe=[{"session": session, "after": 0}])
        stream = frames(socket)
        while time.monotonic() < end:
            key = str(uuid.uuid4())
            await say(socket, type="send", ref=key[:8], session=session, id=key, body="new " + key)
            async for frame in stream:
                if frame["type"] in ("error", "rejected"):
                    faults.append(frame)
                    break
                if frame["type"] == "ack" and frame["id"] == key:
                    sent.append((session, frame["seq"], key))
                    break
            await asyncio.sleep(0.1)


def query(database, sql):
    return subprocess.run(["psql", "-XAtq", "-c", sql, database], check=True, capture_output=True,
                          text=True).stdout.split()


async def main(url, visitors, operator, database, seconds):
    url = url.replace("http", "ws") + "/api/v1/ws"
    with open(visitors, encoding="utf-8") as file:
        visitors = [json.loads(line) for line in file]
    with open(operator, encoding="utf-8") as file:
        operator = json.loads(file.readline())
    legacy = query(database, "SELECT id FROM chat_sessions WHERE channel = 'legacy' AND workspace_id = "
                   "'10000000-0000-4000-8000-000000000001' ORDER BY created_at, id LIMIT 1")[0]
    followed = [legacy] + [v["session"] for v in visitors]
    starts = {s: int(query(database, f"SELECT last_seq FROM chat_sessions WHERE id = '{s}'")[0]) for s in followed}
    follower, ready = Follower(operator["token"], starts), asyncio.Event()
    following = asyncio.create_task(follower.run(url, ready))
    await asyncio.wait_for(ready.wait(), 30)
    sent, faults, end = [], [], time.monotonic() + seconds
    await asyncio.gather(*(visit(url, v, end, sent, faults) for v in visitors))
    # pgbench ends by itself; then the follower has five seconds for the rest.
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        heads = {s: int(query(database, f"SELECT last_seq FROM chat_sessions WHERE id = '{s}'")[0]) for s in followed}
        await asyncio.sleep(2)
        if heads == follower.heads:
            break
    following.cancel()
    faults += follower.faults
    for session in followed:
        stored = query(database, f"SELECT seq || '=' || id FROM chats WHERE session_id = '{session}' "
                       f"AND seq > {starts[session]} ORDER BY seq")
        seen = [f"{seq}={entry[0]}" for seq, entry in follower.seen[session].items()]
        if seen != stored:
            faults.append(f"{session}: {len(seen)} received of {len(stored)}, "
                          f"missing {sorted(set(stored) - set(seen))[:3]}, more {sorted(set(seen) - set(stored))[:3]}")
    times = query(database, "SELECT id || '=' || extract(epoch FROM created_at) FROM chats WHERE content LIKE 'old %'")
    written = dict(line.split("=") for line in times)
    waits = sorted(entry[2] - float(written[entry[0]]) for seen in follower.seen.values() for entry in seen.values()
                   if entry[0] in written)
    if not waits:
        faults.append("no message of the old application arrived")
    else:
        print(f"{len(sent)} messages of the gateway, {len(waits)} of the old application; these arrived within "
              f"{waits[len(waits) // 2]:.2f} s (median), {waits[-1]:.2f} s at the latest")
    if len(sent) < seconds * len(visitors):
        faults.append(f"the gateway took only {len(sent)} messages")
    expected = query(database, "SELECT count(*) FROM chats WHERE content LIKE 'old %' OR content LIKE 'new %'")[0]
    with open(os.path.join(os.path.dirname(sys.argv[2]), "expected"), "w", encoding="utf-8") as file:
        file.write(expected)
    for fault in sorted(faults, key=str, reverse=True)[:10]:
        print("FAULT", fault)
    return 1 if faults else 0


sys.exit(asyncio.run(main(*sys.argv[1:5], int(sys.argv[5]))))
