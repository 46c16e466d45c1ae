#!/usr/bin/env python3
"""Measures one workspace while an agent of another one sends many searches at once."""

import argparse
import http.client
import json
import multiprocessing
import os
import statistics
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Conformance"))

from harness.chat import Chat  # noqa: E402
from harness.peer import Failure, Peer  # noqa: E402

ADMIN = "/api/v1/admin/live-chat"
#: Requests of the loud agent at once.
PARALLEL = 64
#: Seconds of one quiet or loud time; the first part of each is not measured.
SECONDS, LEAD = 5.0, 0.7
#: Of the loud median to the quiet one. Those of acknowledgements differ by this much between two quiet times.
WORST = {"a REST request": 2.0, "a visitor's token": 2.0, "an acknowledgement": 1.5}


class Client:
    """One kept connection."""

    def __init__(self, address, token=None):
        self.connection = http.client.HTTPConnection(*address, timeout=60)
        self.headers = {"Content-Type": "application/json"}
        if token:
            self.headers["Authorization"] = "Bearer " + token

    def ask(self, method, path, body=None):
        self.connection.request(method, path, body and json.dumps(body), self.headers)
        answer = self.connection.getresponse()
        return answer, answer.read()

    def expect(self, *arguments):
        answer, text = self.ask(*arguments)
        if answer.status not in (200, 201):
            raise Failure(f"{arguments[:2]}: {answer.status} {text[:300]!r}")
        return json.loads(text)


def shout(address, token, is_loud, counts):
    """The loud agent: while `is_loud` is set, 64 requests at once, without a pause after an answer."""
    kinds = (f"{ADMIN}/conversations?q=zzznothing&status=all", f"{ADMIN}/conversations?q=parcel&status=closed",
             f"{ADMIN}/messages/search?q=zzznothing")

    def run(number):
        client = Client(address, token)
        turn = number
        while True:
            is_loud.wait()
            turn += 1
            try:
                answer, text = client.ask("GET", kinds[turn % len(kinds)])
            except (OSError, http.client.HTTPException):
                client = Client(address, token)
                continue
            with counts.get_lock():
                counts[0 if answer.status == 200 else 1 if answer.status == 429 else 2] += 1
            if answer.status == 429:
                # As a client does that reads Retry-After, only less patient.
                if json.loads(text)["limit"] not in ("expensive", "member"):
                    raise Failure(f"another limit: {text!r}")
                time.sleep(0.1 * float(answer.headers["Retry-After"]))

    for number in range(PARALLEL):
        threading.Thread(target=run, args=(number,), daemon=True).start()
    threading.Event().wait()


class Quiet:
    """The quiet workspace: its operator, visitors who open the widget, and one who writes."""

    def __init__(self, address, options):
        self.key = json.load(open(options.workspace))["public_key"]
        token = json.load(open(options.operator))["token"]
        self.clients = {name: Client(address, token if name == "a REST request" else None)
                        for name in ("a REST request", "a visitor's token")}
        visit = self.visit()
        self.session = visit["session"]
        self.chat = Chat(Peer(address))
        self.chat.peer.upgrade("/api/v1/ws", [("Sec-WebSocket-Protocol", "chirrup.v1")])
        self.chat.hello(visit["token"], self.session, tail=0)

    def visit(self):
        return self.clients["a visitor's token"].expect("POST", "/api/v1/widget/token", {"workspace": self.key})

    def rest(self):
        self.clients["a REST request"].expect("GET", f"{ADMIN}/conversations/{self.session}")

    def acknowledged(self):
        self.chat.send(self.session, "Hello")

    def measure(self, seconds, into):
        """One after the other, so that they do not wait for each other."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for name, action in (("a REST request", self.rest), ("a visitor's token", self.visit),
                                 ("an acknowledgement", self.acknowledged)):
                begin = time.perf_counter()
                action()
                if into is not None:
                    into[name].append(1000 * (time.perf_counter() - begin))
                # At most 16 of each a second: a visitor may send 20 messages, a member ask 1,200 times a minute.
                time.sleep(0.02)


def main():
    parser = argparse.ArgumentParser()
    for name in ("url", "workspace", "operator", "loud"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    host, port = options.url.removeprefix("http://").split(":")
    address = (host, int(port))

    is_loud = multiprocessing.Event()
    counts = multiprocessing.Array("q", 3)
    agent = multiprocessing.Process(
        target=shout, args=(address, json.load(open(options.loud))["token"], is_loud, counts), daemon=True)
    agent.start()
    quiet = Quiet(address, options)
    quiet.measure(LEAD, None)
    times = {False: {name: [] for name in WORST}, True: {name: [] for name in WORST}}
    for _ in range(options.rounds):
        for loud in (False, True):
            if loud:
                is_loud.set()
            else:
                is_loud.clear()
                time.sleep(1.5)
            quiet.measure(LEAD, None)
            quiet.measure(SECONDS, times[loud])
    is_loud.clear()
    done, refused, failed = counts
    agent.terminate()

    print(f"the loud agent: {done} searches answered, {refused} refused with 429, {failed} with another status")
    bad = failed
    for name, worst in WORST.items():
        before, after = (statistics.median(times[loud][name]) for loud in (False, True))
        last = [statistics.quantiles(times[loud][name], n=20)[-1] for loud in (False, True)]
        ratio = after / before
        bad += ratio >= worst
        print(f"{name}: p50 {before:.2f} ms quiet, {after:.2f} ms loud, {ratio:.2f} x (less than {worst}); "
              f"p95 {last[0]:.2f} and {last[1]:.2f} ms")
    if done < options.rounds:
        print("the searches did not run")
        bad += 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
