#!/usr/bin/env python3
"""Sends the worst inputs of each bound and reads how long a turn held a loop."""

import argparse
import concurrent.futures
import http.client
import json
import os
import random
import re
import string
import subprocess
import sys
import time
import uuid
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../Conformance"))

from harness import frames  # noqa: E402
from harness.chat import Chat  # noqa: E402
from harness.peer import Failure, Gone, Peer  # noqa: E402

ADMIN = "/api/v1/admin"
#: Posted by a loop twice a second.
POSTED = 0.8
#: The texts of a visit that are stored, each cut to 2,048 bytes.
CONTEXT = ("page", "referrer", "title", "locale", "timezone", "user_agent", "screen")


class Gateway:
    def __init__(self, options):
        self.host, port = options.url.removeprefix("http://").split(":")
        self.address = (self.host, int(port))
        self.operator = json.loads(options.operator)["token"]
        self.options = options
        page = open(options.log, errors="replace").read()
        self.key = re.search(r'data-workspace="(pk_[^"]+)"', page)[1]
        self.workspace = self.sql(f"SELECT id FROM workspaces WHERE public_key = '{self.key}'")

    def sql(self, text):
        done = subprocess.run(
            [self.options.psql, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1",
             self.options.database], input=text, capture_output=True, text=True)
        if done.returncode:
            raise Failure(done.stderr)
        return done.stdout.strip()

    def ask(self, method, path, body=None, token=None, accept=(200, 201, 204), coding=None):
        """Returns the body of the response. With `accept` None, any status is accepted. `coding` is the content coding
        that is asked for, and that the response must have."""
        connection = http.client.HTTPConnection(*self.address, timeout=60)
        headers = {"Content-Type": "application/json"}
        if coding:
            headers["Accept-Encoding"] = coding
        if token != "":
            headers["Authorization"] = "Bearer " + (token or self.operator)
        if not isinstance(body, (bytes, type(None))):
            body = json.dumps(body).encode()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        if accept and answer.status not in accept:
            raise Failure(f"{method} {path[:80]}: {answer.status} {text[:300]!r}")
        if answer.getheader("Content-Encoding") != coding:
            raise Failure(f"{method} {path[:80]}: {len(text)} bytes have no coding {coding}")
        return text

    def many(self, count, *arguments, at_once=32, **options):
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            waiting = [pool.submit(self.ask, *arguments, **options) for _ in range(count)]
            return [done.result() for done in waiting]

    def visitor(self):
        return json.loads(self.ask("POST", "/api/v1/widget/token", {"workspace": self.key}, token=""))

    def chat(self, visit, deflate=False, tail=0):
        peer = Peer(self.address)
        headers = [("Sec-WebSocket-Protocol", "chirrup.v1")]
        if deflate:
            headers.append(("Sec-WebSocket-Extensions", "permessage-deflate"))
        peer.upgrade("/api/v1/ws", headers)
        peer.deflate = deflate
        chat = Chat(peer)
        chat.hello(visit["token"], visit["session"], tail=tail)
        return chat

    def fill(self, session, count, body):
        """Inserts messages of a visitor, with this SQL expression as their text."""
        self.sql(f"""
            INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, content_hash, created_at)
            SELECT gen_random_uuid(), '{self.workspace}', '{session}', s.last_seq + n, 'visitor', 'text', {body},
              sha256('x'), now()
            FROM chat_sessions s, generate_series(1, {count}) AS n WHERE s.id = '{session}';
            UPDATE chat_sessions SET last_seq = last_seq + {count} WHERE id = '{session}'""")

    def stalls(self):
        """Of each limit in seconds, how many turns took longer, and the longest turn, in processor time."""
        text = self.ask("GET", "/metrics", token="").decode()
        upto, count = {}, 0
        for limit, value in re.findall(
                r'chirrup_loop_stall_processor_seconds_bucket\{loop="\d+",le="([^"]+)"\} (\d+)', text):
            upto[float(limit)] = upto.get(float(limit), 0) + int(value)
        count = upto[float("inf")]
        longest = max(float(value) for value in re.findall(
            r'chirrup_loop_stall_processor_longest_seconds\{loop="\d+"\} (\S+)', text))
        return {limit: count - value for limit, value in upto.items()}, longest


def drain(peer, seconds):
    """Reads until nothing arrives for this time, or the connection is closed."""
    try:
        while True:
            peer.buffer.clear()
            peer._fill(time.monotonic() + seconds)
    except (Failure, OSError):
        return


# The inputs. Each gets the gateway, and is named by the first line of its docstring.

def openapi(g):
    """the OpenAPI document, for the first time and 200 times"""
    g.many(200, "GET", "/api/v1/openapi.json", token="")


def figures(g):
    """/metrics, 32 connections with 64 requests in a row each"""
    peers = [Peer(g.address) for _ in range(32)]
    for peer in peers:
        peer.send(f"GET /metrics HTTP/1.1\r\nHost: {g.host}\r\n\r\n".encode() * 64)
    for peer in peers:
        for _ in range(64):
            peer.response()
        peer.close()


def patterns(g):
    """patterns that unfold: the largest, and groups that emit nothing (issue: one tenant stops all)"""
    texts = ["(((((){200}){200}){200}){200}){200}", "((((a{9}){9}){9}){9}){9}", "(a|b|c|d){199}", "(" * 31 + ")" * 31,
             "[" + "a-cd-fx-z" * 50 + "]{200}"]
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        for done in [pool.submit(g.ask, "POST", ADMIN + "/intents", {
                "name": f"e{number}", "keyword": text, "match_kind": "regex", "replies": [{"text": "x"}]}, accept=None)
                for number, text in enumerate(texts * 2)]:
            done.result()


def matching(g):
    """messages of visitors against the slowest patterns"""
    for number in range(20):
        g.ask("POST", ADMIN + "/intents", {
            "name": f"slow{number}", "keyword": r"(\w|[a-fg-lm-rs-z]|x){1,60}!", "match_kind": "regex",
            "replies": [{"text": "x"}]})
    visit = g.visitor()
    chat = g.chat(visit)
    for _ in range(8):
        chat.send(visit["session"], "abcdefghij" * 1_600)
    chat.peer.close()


def nested(depth, width):
    value = "x"
    for _ in range(depth):
        value = {f"k{number}": value if number == 0 else [number] * 3 for number in range(width)}
    return value


def bodies(g):
    """bodies of 64 KiB: nested, wide, escaped, to every route that takes JSON"""
    payloads = [
        json.dumps({"payload": nested(14, 40), "object_type": "text"}).encode()[:65_000],
        (b'{"a":' + b"[" * 15 + b'"' + b"\\u00e9" * 10_000 + b'"' + b"]" * 15 + b"}"),
        b'{"name":"' + b"\\n" * 32_000 + b'"}',
        b"{" + b",".join(b'"%d":%d' % (number, number) for number in range(6_000)) + b"}",
        b'{"replies":[' + b",".join([b'{"text":"x"}'] * 4_900) + b"]}",
        b'{"settings":{"hours":{"holidays":[' + b",".join([b'"2026-12-25"'] * 4_900) + b"]}}}",
        b'{"payload":{"cards":[' + b",".join([b'{"title":"x"}'] * 4_000) + b"]}}",
        b'{"a":"' + b"\xc3\xa9" * 32_000 + b'"}',
        b"[" * 65_000,
    ]
    routes = [("POST", "/intents"), ("PUT", "/reply-objects/r"), ("POST", "/rich-menus"), ("PATCH", "/settings"),
              ("POST", "/webhooks"), ("POST", "/members"), ("PUT", "/credentials/c"), ("POST", "/api-keys")]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for done in [pool.submit(g.ask, method, ADMIN + path, body, accept=None)
                     for body in payloads for method, path in routes for _ in range(3)]:
            done.result()
        for done in [pool.submit(g.ask, "POST", path, body, token="", accept=None) for body in payloads
                     for path in ("/api/v1/widget/token", "/api/v1/widget/offline", "/api/v1/auth/login")]:
            done.result()


def settings(g):
    """business hours with every opening and holiday that fit, and the widget's settings 300 times"""
    days = [{"day": 1 + number % 7, "from": f"{number % 20:02}:00", "to": f"{number % 20:02}:30"}
            for number in range(42)]
    holidays = [f"2027-{1 + number % 12:02}-{1 + number // 12 % 28:02}" for number in range(336)]
    for zone in ("Asia/Kathmandu", "America/Argentina/ComodRivadavia"):
        g.ask("PATCH", ADMIN + "/settings", {"settings": {"hours": {
            "always": False, "time_zone": zone, "days": days, "holidays": holidays}}})
        g.many(150, "GET", f"/api/v1/widget/config?workspace={g.key}", token="")


def pages(g):
    """200 messages of 16 KiB of control characters, read as a page by 8 operators at once"""
    session = g.visitor()["session"]
    g.fill(session, 400, r"repeat(E'\x01', 16384)")
    g.many(16, "GET", f"{ADMIN}/live-chat/conversations/{session}/messages?limit=200", at_once=8)


def transcripts(g):
    """400 messages of 16 KiB of line feeds, as transcripts for 8 visitors at once"""
    visit = g.visitor()
    g.fill(visit["session"], 400, r"repeat(E'\n', 16384)")
    path = f"/api/v1/widget/sessions/{visit['session']}/transcript"
    g.many(16, "GET", path, token=visit["token"], at_once=8)


def backlog(g):
    """the same conversations over the socket: 32 subscribers of the whole log, and histories of 200"""
    visit = g.visitor()
    g.fill(visit["session"], 400, r"repeat(E'\x01', 16384)")
    chats = [g.chat(visit, deflate=number % 2 == 0, tail=200) for number in range(32)]
    for chat in chats:
        for before in (400, 300, 200):
            chat.say(type="history", ref="h", session=visit["session"], before=before, limit=200)
    for chat in chats:
        drain(chat.peer, 0.5)
        chat.peer.close()


def searches(g):
    """searches through messages and conversations, 64 at once"""
    # A search that waits too long, or beside too many others of the caller, is refused, which other tests check.
    answers = (200, 429, 503)
    g.many(64, "GET", f"{ADMIN}/live-chat/conversations?q=" + "%25" * 60, at_once=64, accept=answers)
    g.many(64, "GET", f"{ADMIN}/live-chat/messages/search?q=" + "x%20" * 40, at_once=64, accept=answers)


def lists(g):
    """lists with the largest rows that are stored: conversations, replies, intents, settings, audit log"""
    for number in range(120):
        attributes = {f"a{index}": '"' * 80 for index in range(16)}
        g.ask("POST", "/api/v1/widget/token", {"workspace": g.key, "attributes": attributes}, token="")
    card = {"title": "t" * 100, "text": '"' * 120}
    for number in range(200):
        g.ask("PUT", f"{ADMIN}/reply-objects/big{number}", {
            "object_type": "carousel", "alt_text": '"' * 600, "payload": {"cards": [card] * 8}})
    for path in ("/reply-objects", "/intents", "/settings", "/audit-log", "/tags", "/members",
                 "/rich-menus", "/webhooks", "/live-chat/conversations"):
        g.many(16, "GET", f"{ADMIN}{path}?limit=100", at_once=16)


def coded(g):
    """the largest lists that are compressed, of texts that zlib takes longest for: few letters, in any order"""
    chance = random.Random(7)
    for letters in ("ab", "abcd", "abcdefgh", string.ascii_letters + string.digits):
        for _ in range(17):
            texts = {name: "".join(chance.choices(letters, k=2_048)) for name in CONTEXT}
            g.ask("POST", "/api/v1/widget/token", {"workspace": g.key, "context": texts}, token="")
        path = f"{ADMIN}/live-chat/conversations?limit=17"
        size = len(g.ask("GET", path))
        if not 200_000 < size < 256 << 10:
            raise Failure(f"a page has {size} bytes: it is not among the largest that are compressed")
        g.many(32, "GET", path, coding="gzip", at_once=8)


def compressed(text):
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (deflater.compress(text) + deflater.flush(zlib.Z_SYNC_FLUSH))[:-4]


def bombs(g):
    """messages that inflate from 100 bytes to 64 KiB, 2,600 at once on 24 connections (RFC 7692)"""
    text = b'{"type":"typing","text":"' + b"a" * 65_000 + b'"}'
    frame = frames.frame(frames.TEXT, compressed(text), rsv=4)
    visits = [g.visitor() for _ in range(24)]
    chats = [g.chat(visit, deflate=True) for visit in visits]
    for chat in chats:
        chat.peer.send(frame * 2_600)
    for chat in chats:
        drain(chat.peer, 0.2)
        chat.peer.close()


def floods(g):
    """256 KiB of the smallest frames and commands, on 32 connections"""
    visit = g.visitor()
    for data in (frames.frame(frames.PING) * 43_000, frames.frame(frames.TEXT, '{"type":"pong"}') * 12_000,
                 frames.frame(frames.TEXT, json.dumps({
                     "type": "history", "ref": "h", "session": visit["session"], "before": 9, "limit": 200})) * 2_000,
                 frames.frame(frames.TEXT, '{"type":"typing","text":"' + "\\u00e9" * 1_000 + '"}') * 40):
        chats = [g.chat(visit) for _ in range(32)]
        for chat in chats:
            chat.peer.send(data)
        for chat in chats:
            drain(chat.peer, 0.1)
            chat.peer.close()


def heads(g):
    """1,000 upgrades at once, with heads of 16 KiB"""
    peers = [Peer(g.address) for _ in range(1_000)]
    padding = [(f"X-{number}", "a" * 100) for number in range(90)]
    for peer in peers:
        peer.send(peer.handshake_bytes("/api/v1/ws", padding))
    for peer in peers:
        try:
            peer.response()
        except Gone:
            pass
        peer.close()


def followers(g):
    """400 operators' connections on one conversation get 60 messages of 16 KiB, and all end at once"""
    visit = g.visitor()
    writer = g.chat(visit)
    operator = {"token": g.operator, "session": visit["session"]}
    chats = [g.chat(operator) for _ in range(400)]
    for number in range(60):
        writer.peer.send(frames.frame(frames.TEXT, json.dumps({
            "type": "send", "ref": number, "session": visit["session"], "id": str(uuid.uuid4()),
            "body": "a" * 16_000})))
        time.sleep(0.02)  # within the rate of one sender
    for chat in chats:
        drain(chat.peer, 0.05)
    for chat in chats:
        chat.peer.close()
    writer.peer.close()


CASES = [openapi, figures, patterns, matching, bodies, settings, pages, transcripts, backlog, searches, lists, coded,
         bombs, floods, heads, followers]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("url", "log", "operator", "psql", "database"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--limit", type=float, default=20, help="milliseconds of processor time (20)")
    parser.add_argument("cases", nargs="*", help=" ".join(case.__name__ for case in CASES))
    options = parser.parse_args()
    gateway = Gateway(options)
    time.sleep(POSTED)
    before, longest = gateway.stalls()
    print(f"{'start':12} longest turn {1000 * longest:6.1f} ms")
    failed = []
    for case in CASES:
        if options.cases and case.__name__ not in options.cases:
            continue
        begin = time.monotonic()
        case(gateway)
        time.sleep(POSTED)
        after, longest_now = gateway.stalls()
        # The longest turn since the start if this input caused it, else the bound of its histogram bucket.
        over = [limit for limit in after if after[limit] > before[limit]]
        at_most = min((limit for limit in after if limit > max(over, default=0)), default=0)
        took = longest_now if longest_now > longest else at_most
        word = "" if longest_now > longest else "at most "
        is_long = over and max(over) * 1000 >= options.limit or longest_now > longest and took * 1000 > options.limit
        print(f"{'FAIL' if is_long else 'ok':4}  {case.__name__:12} longest turn {word}{1000 * took:.1f} ms"
              f"  ({time.monotonic() - begin:.1f} s)  {case.__doc__}", flush=True)
        if is_long:
            failed.append(case.__name__)
        before, longest = after, max(longest, longest_now)
    if failed:
        raise SystemExit(f"held a loop for more than {options.limit} ms of processor time: {', '.join(failed)}")


main()
