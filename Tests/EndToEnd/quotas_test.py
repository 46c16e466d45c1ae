#!/usr/bin/env python3
"""Exceeds each quota of a visitor and reads the answers. The limits are those of quotas.sh."""

import argparse
import http.client
import json
import os
import re
import sys
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
    for number in range(20):
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
    world = World(parser.parse_args())
    bad = 0
    for test in (messages, stored, conversations, requests, settings, visitors):
        try:
            print(f"{test.__name__}: {test(world)}")
        except (Failure, OSError, KeyError) as failure:
            print(f"{test.__name__}: FAILED: {failure!r}")
            bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
