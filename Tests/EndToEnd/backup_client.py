"""A visitor who writes during a backup, and reconnects to the restored database.

backup_client.py write URL VISITOR LEDGER: sends until SIGTERM; a line of LEDGER is an acknowledgement with its time.
backup_client.py return URL VISITOR LEDGER BEFORE: compares; BEFORE is the time that the backup has printed.
VISITOR is a line of `chirrup token`.
"""

import asyncio
import datetime
import json
import signal
import sys
import time
import uuid

from client_websockets import Client
from websockets.asyncio.client import connect

# Below the limit of a visitor's rate.
PAUSE_SECONDS = 0.15


def dial(url):
    return connect(url, subprotocols=["chirrup.v1"], max_size=1 << 20)


async def write(url, visitor, ledger):
    stopped = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopped.set)
    async with dial(url) as socket:
        client = Client(socket)
        _, subscribed = await client.hello(visitor["token"], visitor["session"], 0)
        number = 0
        while not stopped.is_set():
            number += 1
            body = f"message {number}"
            ack = await client.send(visitor["session"], body)
            line = {"at": time.time(), "seq": ack["seq"], "id": ack["id"], "body": body, "epoch": subscribed["epoch"]}
            ledger.write(json.dumps(line) + "\n")
            ledger.flush()
            await asyncio.sleep(PAUSE_SECONDS)


async def resync(url, visitor, **position):
    """Reconnects at a position of before the restore. The answer must be `resync`, before any message."""
    async with dial(url) as socket:
        client = Client(socket)
        subscription = {"session": visitor["session"], **position}
        await client.say(type="hello", ref="h", token=visitor["token"], subscribe=[subscription])
        await client.until("welcome", ref="h")
        while (frame := await client.next())["type"] not in ("resync", "message", "live"):
            # The session in the gateway's memory may be older than the client's, until it has asked the database.
            if frame["type"] == "error":
                assert frame["retry"], frame
                await asyncio.sleep(0.1)
                await client.say(type="subscribe", ref="s", **subscription)
        assert frame["type"] == "resync", f"{position} is answered by {frame}"
        return frame


async def log(client, session, head):
    """The whole log, page by page."""
    entries = []
    while len(entries) < head:
        await client.say(type="history", ref=f"p{len(entries)}", session=session, after=len(entries), limit=200)
        page = (await client.until("ok", ref=f"p{len(entries)}"))["messages"]
        assert page, f"the log ends at {len(entries)} of {head}"
        entries += page
    return entries


async def come_back(url, visitor, acks, before):
    session, old = visitor["session"], acks[-1]
    lost = [ack for ack in acks if ack["at"] >= before]
    assert len(acks) - len(lost) >= 10, f"{len(acks) - len(lost)} messages before the backup's end prove nothing"
    for position in ({"after": old["seq"], "epoch": old["epoch"]}, {"after": 1, "epoch": old["epoch"]}):
        frame = await resync(url, visitor, **position)
        assert frame["reason"] == "epoch" and frame["epoch"] != old["epoch"], frame
        assert frame["head"] < old["seq"], frame
    frame = await resync(url, visitor, after=old["seq"])
    assert frame["reason"] == "ahead", frame

    async with dial(url) as socket:
        client = Client(socket)
        _, subscribed = await client.hello(visitor["token"], session, 0)
        entries = await log(client, session, subscribed["head"])
        assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1)), "a hole in the log"
        stored = {entry["id"]: (entry["seq"], entry["body"]) for entry in entries}
        for ack in acks:
            found = stored.get(ack["id"])
            assert found in (None, (ack["seq"], ack["body"])), f"{ack} is stored as {found}"
            assert found or ack["at"] >= before, f"{ack} was acknowledged before {before} and is missing"
        gone = [ack for ack in acks if ack["id"] not in stored]
        assert gone, "nothing was sent after the backup: the restore proves nothing"

        # The next message gets a number that another message had, under another epoch.
        ack = await client.send(session, "after the restore")
        assert ack["seq"] == len(entries) + 1, ack
        assert any(other["seq"] == ack["seq"] for other in gone), "no number was given twice"
        assert subscribed["epoch"] != old["epoch"], "two messages have one number in one epoch"
        # A client whose outbox still has a lost message sends it again, and it is stored once.
        for _ in range(2):
            ack = await client.send(session, gone[0]["body"], id=gone[0]["id"])
            assert ack["seq"] == len(entries) + 2, ack
    print(f"{len(stored)} of {len(acks)} acknowledged messages are in the backup, {len(gone)} came after it")


async def main(way, url, visitor, path, *rest):
    visitor = json.loads(visitor)
    if way == "write":
        with open(path, "w", encoding="utf-8") as ledger:
            await write(url, visitor, ledger)
        return
    with open(path, encoding="utf-8") as ledger:
        acks = [json.loads(line) for line in ledger]
    await come_back(url, visitor, acks, datetime.datetime.fromisoformat(rest[0].replace("Z", "+00:00")).timestamp())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
