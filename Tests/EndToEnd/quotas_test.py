#!/usr/bin/env python3
"""Exceeds each quota of a visitor and reads the answers. The limits are those of quotas.sh."""

import argparse
import http.client
import json
import os
import re
import sys
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Conformance"))

from harness.chat import Chat  # noqa: E402
from harness.peer import Failure, Peer  # noqa: E402


class World:
    def __init__(self, options):
        host, port = options.url.removeprefix("http://").split(":")
        self.address = (host, int(port))
        self.operator = json.load(open(options.operator))["token"]
        self.key = re.search(r'data-workspace="(pk_[^"]+)"', open(options.log, errors="replace").read())[1]

    def ask(self, method, path, body=None, token=None):
        connection = http.client.HTTPConnection(*self.address, timeout=30)
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = "Bearer " + token
        connection.request(method, path, body and json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, answer.headers, json.loads(text) if text else None

    def visit(self, **fields):
        status, _, visit = self.ask("POST", "/api/v1/widget/token", {"workspace": self.key, **fields})
        expect(status == 200, f"a visit: {status} {visit}")
        return visit

    def chat(self, token, session):
        chat = Chat(Peer(self.address))
        chat.peer.upgrade("/api/v1/ws", [("Sec-WebSocket-Protocol", "chirrup.v1")])
        chat.hello(token, session, tail=0)
        return chat


def expect(is_true, what):
    if not is_true:
        raise Failure(what)


def flood(chats, session, most, **fields):
    """Sends in turns until a message is refused. Returns the number of acknowledged ones and the refusal."""
    for number in range(most):
        chat = chats[number % len(chats)]
        ref = uuid.uuid4().hex[:8]
        chat.say(type="send", ref=ref, session=session, id=str(uuid.uuid4()), **fields)
        while True:
            event = chat.next()
            if event["type"] in ("ack", "error") and event.get("ref") == ref:
                break
        if event["type"] == "error":
            return number, event
    raise Failure(f"{most} messages, and none was refused")


def loop_of(session):
    """The loop of a conversation, of two: `Engine.owner`. A visitor's connection moves there after `hello`."""
    word = uuid.UUID(session).int
    mixed = ((word ^ word >> 64) & (1 << 64) - 1) * 0x9E3779B97F4A7C15 & (1 << 64) - 1
    return (mixed >> 33) % 2


def expect_between(count, quota, begin, what):
    """The whole quota of a minute was used, and no more than the part that has come back since."""
    most = quota + (time.monotonic() - begin) * quota / 60 + 1
    expect(quota <= count <= most, f"{what}: {count} messages were acknowledged instead of {quota} to {most:.0f}")


def messages(world):
    visit = world.visit()
    chats = [world.chat(visit["token"], visit["session"]) for _ in range(4)]
    count, refusal = flood(chats, visit["session"], 150, body="Hello")
    # A message comes back every second.
    expect(60 <= count <= 90, f"{count} messages were acknowledged instead of 60")
    expect(refusal["code"] == "rate_limited" and refusal["message"].startswith("This visitor sends too many messages"),
           f"{refusal}")
    expect(0 < refusal["retry_after_ms"] <= 1_000, f"{refusal}")
    other = world.visit()
    world.chat(other["token"], other["session"]).send(other["session"], "Hello")
    mika = world.chat(world.operator, visit["session"])
    for _ in range(40):
        mika.send(visit["session"], "Hello")
    return f"{count} messages over 4 sockets, then: {refusal['message']}"


def loops(world):
    """One visitor with a conversation on each loop."""
    places = {}
    for _ in range(12):  # All on one loop each time: one case of 4 ** 12.
        visit = world.visit()
        places = {loop_of(visit["session"]): visit}
        for _ in range(2):
            visit = world.visit(refresh=visit["refresh"], new_session=True)
            places.setdefault(loop_of(visit["session"]), visit)
        if len(places) == 2:
            break
    sockets = [([world.chat(visit["token"], visit["session"])], visit["session"]) for visit in places.values()]
    expect(len(sockets) == 2, f"one loop has all conversations: {places}")
    begin = time.monotonic()
    for _ in range(10):  # Both loops have allowances then.
        for chats, session in sockets:
            chats[0].send(session, "Hello")
    counts = [flood(chats, session, 150, body="Hello")[0] for chats, session in sockets]
    expect_between(20 + sum(counts), 60, begin, "over both loops")
    return f"10 messages over each of 2 loops, then {counts[0]} over one and {counts[1]} over the other"


def workspace(world):
    """Three visitors: two on one loop, the third on the other one."""
    places = {0: [], 1: []}
    for _ in range(30):
        visit = world.visit()
        places[loop_of(visit["session"])].append(visit)
        if all(places.values()) and max(map(len, places.values())) > 1:
            break
    same, other = sorted(places.values(), key=len, reverse=True)
    expect(len(same) > 1 and other, f"one loop has nearly all conversations: {places}")
    begin, counts = time.monotonic(), []
    for visit in (*same[:2], other[0]):
        count, refusal = flood([world.chat(visit["token"], visit["session"])], visit["session"], 150, body="Hello")
        counts.append(count)
        if len(counts) == 2:
            expect_between(sum(counts), 100, begin, "over one loop")
    expect(refusal["message"].startswith("Visitors of this workspace send too many messages"), f"{refusal}")
    expect_between(sum(counts), 100, begin, "over both loops")
    return f"{counts[0]} and {counts[1]} messages of two visitors of one loop, and {counts[2]} over the other one"


def stored(world):
    visit = world.visit()
    chats = [world.chat(visit["token"], visit["session"]) for _ in range(4)]
    # 24 KiB a message: the rate of messages is not reached.
    count, event = flood(chats, visit["session"], 60, body="x" * 16_000, payload={"text": "y" * 8_000})
    expect("stored as much as a day allows" in event["message"], f"{count}: {event}")
    expect(count == 1_024 // 24, f"{count} messages of 24 KiB were stored in 1 MiB")
    # 1 MiB a day is 12 bytes a second.
    expect(event["retry_after_ms"] > 600_000, f"{event}")
    return f"{count} messages of 24 KiB, then: {event['message']} ({event['retry_after_ms'] // 60_000} minutes)"


def conversations(world):
    visit = world.visit()
    refresh = visit["refresh"]
    for _ in range(2):
        refresh = world.visit(refresh=refresh, new_session=True)["refresh"]
    status, headers, problem = world.ask(
        "POST", "/api/v1/widget/token", {"workspace": world.key, "refresh": refresh, "new_session": True})
    expect(status == 429 and problem["limit"] == "conversations" and headers["Retry-After"], f"{status} {problem}")
    again = world.visit(refresh=refresh, session=visit["session"])
    expect(again["session"] == visit["session"], "the first conversation is lost")
    return problem["detail"]


def requests(world):
    visit = world.visit()
    for number in range(8):
        status, headers, problem = world.ask("PUT", "/api/v1/widget/profile", {"name": "Ada"}, visit["token"])
        expect(headers["RateLimit-Policy"] == '"visitor";q=5;w=60', f"{status} {headers}")
        if status == 429:
            break
    expect(number == 5 and problem["limit"] == "visitor", f"request {number}: {status} {problem}")
    return problem["detail"]


def visitors(world):
    for number in range(60):
        status, headers, problem = world.ask("POST", "/api/v1/widget/token", {"workspace": world.key})
        if status == 429:
            break
    expect(status == 429 and problem["limit"] == "workspace", f"{status} {problem}")
    return f"after {number} more: {problem['detail']}"


def settings(world):
    status, headers, answer = world.ask("GET", "/api/v1/admin/settings", token=world.operator)
    limits = {limit["name"]: limit for limit in answer["limits"]}
    expect(limits["sends_per_visitor"] == {"name": "sends_per_visitor", "amount": 60, "seconds": 60}, f"{limits}")
    expect(limits["sends_per_workspace"]["amount"] is None, f"{limits}")
    expect(limits["conversations_per_visitor"] == {"name": "conversations_per_visitor", "amount": 3, "seconds": None},
           f"{limits}")
    expect(headers["RateLimit"].startswith('"member";r=11'), f"{headers}")
    return f"{len(limits)} limits"


def main():
    parser = argparse.ArgumentParser()
    for name in ("url", "log", "operator"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("part", nargs="?")
    options = parser.parse_args()
    world = World(options)
    bad = 0
    tests = [workspace] if options.part else [messages, loops, stored, conversations, requests, settings, visitors]
    for test in tests:
        try:
            print(f"{test.__name__}: {test(world)}")
        except (Failure, OSError, KeyError) as failure:
            print(f"{test.__name__}: FAILED: {failure!r}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
