"""Table P: invalid commands of chirrup.v1 and their errors."""

import json
import time
import uuid

from harness.frames import TEXT, frame
from harness.peer import Failure
from harness.registry import closed, counts, fault, refused, row

from .common import MESSAGE_BYTES

#: Limits.swift: the sixteenth closes.
BAD_FRAMES = 16


def closes_after_bad_frames(t, chat, count):
    """Checks that the connection stays open until the sixteenth bad command."""
    for number in range(count, BAD_FRAMES):
        chat.raw("no json")
        chat.expect_error("bad_frame")
    chat.peer.expect_close(4103, then_gone=False)


@row("P01", "messages that are no command: an error each, and the sixteenth closes the connection", refused("bad_frame", 25),
     fault("conversation", "too many commands that cannot be read"), closed(4103))
def no_command(t):
    texts = ["hello", "", "null", "[]", '"x"', "1", "true", "{", '{"type":"pong"', '{"type":"pong"}{"type":"pong"}',
             '\ufeff{"type":"pong"}', '{"type":"pong"} x', "{'type':'pong'}", '{type:"pong"}', '{"type":"pong",}',
             '{"type":"pong"}\x00', '{"a":"\x01"}', '{"a":01}', '{"a":+1}', '{"a":.5}', '{"a":NaN}', '{"a":"\\x"}',
             '{"a":"\\u12"}', "   ", "\n\n"]
    for start in range(0, len(texts), BAD_FRAMES - 1):
        chat = t.chat()
        part = texts[start:start + BAD_FRAMES - 1]
        for text in part:
            chat.raw(text)
            try:
                chat.expect_error("bad_frame")
            except Failure as failure:
                raise Failure(f"{text!r}: {failure}") from None
        t.check(chat.is_open(), "the connection is closed too early")
        if start == 0:
            closes_after_bad_frames(t, chat, len(part))
    # Good commands between bad ones in one message are carried out.
    chat = t.chat()
    chat.raw('{"type":"nothing","ref":1}\nrubbish\n{"type":"nothing","ref":2}')
    for ref, code in ((1, "unknown_type"), (None, "bad_frame"), (2, "unknown_type")):
        chat.expect_error(code, ref=ref)


@row("P02", "a type that is unknown, missing or no string", refused("unknown_type", 5), refused("bad_frame", 5))
def unknown_type(t):
    chat = t.chat()
    for command in ({"type": "shout"}, {"type": ""}, {}, {"type": "Send"}, {"type": "send\u0000"}, {"type": "x" * 9000}):
        chat.say(ref="r", **command)
        chat.expect_error("unknown_type", ref="r")
    for value in (1, 1.5, True, None, ["send"], {"type": "send"}):
        chat.say(ref="r", type=value)
        chat.expect_error("bad_frame", naming="type", ref="r")
    t.check(chat.is_open(), "the connection is closed")


@row("P03", "nesting up to the limit, and much deeper", refused("bad_frame", 5), fault("frame", "message too big"))
def nesting(t):
    chat = t.chat()
    for opening, closing in (("[", "]"), ('{"a":', "}")):
        # The command itself is the first level.
        inner = opening * 15 + "1" + closing * 15
        chat.raw('{"type":"nothing","ref":"deep","x":%s}' % inner)
        chat.expect_error("unknown_type", ref="deep")
        inner = opening * 16 + "1" + closing * 16
        chat.raw('{"type":"nothing","ref":"deeper","x":%s}' % inner)
        chat.expect_error("bad_frame")
        chat.raw(opening * 10_000)
        chat.expect_error("bad_frame")
        chat.raw('{"type":"nothing","x":' + opening * 12_000)
        chat.expect_error("bad_frame")
    t.check(chat.is_open(), "the connection is closed")
    chat.raw("[" * 100_000)
    chat.peer.expect_close(1009)


FIELDS = {
    "ref": "string or number", "session": "id", "id": "id", "kind": "kind", "body": "string", "payload": "object",
    "preview": "string", "epoch": "string", "token": "string", "after": "number", "before": "number", "tail": "number",
    "limit": "number", "seq": "number", "active": "bool", "inbox": "bool", "subscribe": "array",
}
VALUES = {"bool": True, "number": 7, "string": "seven", "array": [7], "object": {"seven": 7}}


@row("P04", "every field with every wrong type: the error names the field", refused("bad_frame", 60))
def wrong_types(t):
    chat, bad = t.chat(), 0
    for field, wanted in FIELDS.items():
        for kind, value in VALUES.items():
            if kind in wanted:
                continue
            if bad == BAD_FRAMES - 2:
                chat, bad = t.chat(), 0
            bad += 1
            command = {"type": "send", "ref": "r", "session": chat.session, "id": str(uuid.uuid4()), "body": "x"}
            chat.say(**(command | {field: value}))
            try:
                chat.expect_error("bad_frame", naming=f"Field: {field}.", ref=None if field == "ref" else "r")
            except Failure as failure:
                t.failures.append(f"{field} as {kind}: {failure}")
    t.check(chat.is_open(), "the connection is closed")


@row("P05", "numbers that are no whole number from 0 to 2^53 - 1", refused("bad_frame", 20), refused("unknown_type", 2))
def numbers(t):
    texts = ["1.5", "1e400", "-0", "-1", "9007199254740992", "9223372036854775807", "9223372036854775808",
             "18446744073709551616", "1e-5", "1e2", "1.0", "9" * 30_000, "0." + "0" * 30_000 + "1"]
    for fields in (("seq", "after"), ("limit", "tail", "before")):
        for field in fields:
            chat = t.chat()
            for text in texts:
                chat.raw('{"type":"nothing","ref":"r","%s":%s}' % (field, text))
                try:
                    chat.expect_error("bad_frame", naming=f"Field: {field}.", ref="r")
                except Failure as failure:
                    raise Failure(f"{field}: {text[:40]}: {failure}") from None
            chat.raw('{"type":"nothing","ref":"most","%s":9007199254740991}' % field)
            chat.expect_error("unknown_type", ref="most")


@row("P06", "duplicate keys, many keys, keys with special names", refused("bad_frame", 2), refused("unknown_type", 4))
def keys(t):
    chat = t.chat()
    # Of equal keys the last one counts.
    chat.raw('{"type":"pong","ref":"first","type":"nothing","ref":"last"}')
    chat.expect_error("unknown_type", ref="last")
    for name in ("__proto__", "constructor", "toString", "", "type\\u0000", "тип"):
        chat.raw('{"%s":{"type":"pong"},"type":"nothing","ref":"odd"}' % name)
        chat.expect_error("unknown_type", ref="odd")
    for count, code in ((62, "unknown_type"), (63, "bad_frame"), (5_000, "bad_frame")):
        more = ",".join(f'"k{number}":1' for number in range(count))
        chat.raw('{"type":"nothing","ref":"many",%s}' % more)
        chat.expect_error(code)
    t.check(chat.is_open(), "the connection is closed")


@row("P09", "sizes of a billion, and negative ones", refused("bad_frame", 3), counts("commands", 8))
def sizes(t):
    chat = t.chat()
    for number in range(5):
        chat.send(chat.session, f"{t.canary} {number}")
    memory = t.gateway.memory()
    for field, value in (("limit", 10 ** 9), ("limit", 0), ("limit", 2 ** 53 - 1)):
        chat.say(type="history", ref="h", session=chat.session, **{field: value})
        page = chat.until("ok", ref="h")
        t.check(len(page["messages"]) == (5 if value else 1), f"{field} {value}: {len(page['messages'])} entries")
    for value in (10 ** 9, 2 ** 53 - 1):
        chat.say(type="subscribe", ref="s", session=chat.session, tail=value)
        t.check(chat.until("subscribed", ref="s")["from"] == 1, f"tail {value}")
        chat.until("live")
    for field in ("limit", "tail", "after"):
        chat.raw('{"type":"history","ref":"h","session":"%s","%s":-1}' % (chat.session, field))
        chat.expect_error("bad_frame", naming=field)
    if not t.gateway.is_sanitized:
        t.check(t.gateway.memory() - memory < 1 << 20, "declared sizes cost memory")


@row("P10", "pages at positions that do not exist, and in foreign sessions", refused("not_subscribed", 3),
     refused("no_such_session", 2))
def paging(t):
    chat, other = t.chat(), t.chat()
    for number in range(3):
        chat.send(chat.session, f"{t.canary} {number}")
    for place, count in (({"after": 2 ** 53 - 1}, 0), ({"before": 2 ** 53 - 1}, 3), ({"before": 0}, 0),
                         ({"after": 0}, 3), ({"before": 1}, 0), ({"after": 3}, 0)):
        chat.say(type="history", ref="h", session=chat.session, **place)
        page = chat.until("ok", ref="h")
        t.check(len(page["messages"]) == count, f"{place}: {len(page['messages'])} entries and not {count}")
    for session in (chat.session, str(uuid.uuid4()), "00000000-0000-0000-0000-000000000000"):
        other.say(type="history", ref="h", session=session, after=0)
        foreign = other.expect_error("not_subscribed", ref="h")
        other.say(type="subscribe", ref="s", session=session, after=0)
        missing = other.expect_error("no_such_session", ref="s")
        t.check(t.canary not in json.dumps([foreign, missing]), "a foreign text is shown")

    def ahead():
        chat.say(type="subscribe", ref="s", session=chat.session, after=10 ** 6)
        while (event := chat.next(chat.peer.timeout))["type"] not in ("resync", "error"):
            pass
        return event

    # A place ahead of the log begins it again from its tail, after the database was asked.
    answer = ahead()
    if answer.get("code") == "unavailable":
        time.sleep(answer["retry_after_ms"] / 1000)
        answer = ahead()
    t.check(answer.get("reason") == "ahead", f"no resync but {answer}")
    t.check(chat.until("subscribed", ref="s")["from"] == 1, "not from the tail")


@row("P11", "commands before hello, a second hello, expired tokens", refused("unauthenticated", 3),
     refused("token_expired"), refused("bad_frame"), closed(4203, 3), closed(4202))
def hello(t):
    account = t.gateway.token("visitor")

    def first(text, code):
        peer = t.hello_less()
        peer.send(frame(TEXT, text))
        t.check(b'"code":"unauthenticated"' in peer.message()[1], f"no error to {text[:60]}")
        peer.expect_close(code, then_gone=False)

    t.each([(text[:40], text) for text in (
        '{"type":"send","ref":"r","session":"%s","id":"%s","body":"x"}' % (account["session"], uuid.uuid4()),
        '{"type":"pong"}', '{"type":"nothing"}', '{"type":"hello"}', '{"type":"hello","token":""}',
        '{"type":"hello","token":"x.y.z"}', '{"type":"hello","token":"\\ud800"}',
        '{"type":"hello","token":"%s"}' % account["token"][:-1])], lambda text: first(text, 4203))
    chat = t.chat(account=account)
    chat.say(type="hello", ref="again", token=account["token"])
    chat.expect_error("bad_frame", ref="again")
    t.check(chat.is_open(), "a second hello closes")
    chat.say(type="authenticate", ref="a", token=t.gateway.token("visitor")["token"])
    chat.expect_error("unauthenticated", ref="a")
    chat.say(type="authenticate", ref="b", token=account["token"])
    chat.until("ok", ref="b")
    brief = t.gateway.token("visitor", lifetime=1)
    time.sleep(2.1)
    peer = t.hello_less()
    peer.send(frame(TEXT, '{"type":"hello","token":"%s"}' % brief["token"]))
    t.check(b'"code":"token_expired"' in peer.message()[1], "no error to an old token")
    peer.expect_close(4202, then_gone=False)


@row("P15", "10,000 commands at once from one client: refused by the rate limit, then closed", refused("rate_limited", 400),
     fault("conversation", "too many commands", 2), closed(4103, 2), memory=3 << 20)
def flood(t):
    threads, memory = t.gateway.threads(), t.gateway.memory()
    for type in ("send", "nothing"):
        chat = t.chat()
        line = json.dumps({"type": type, "ref": 1, "session": chat.session, "id": str(uuid.uuid4()), "body": "x"})
        batch = frame(TEXT, "\n".join([line] * (MESSAGE_BYTES // (len(line) + 1))))
        for _ in range(10_000 * (len(line) + 1) // MESSAGE_BYTES):
            if not chat.peer.send(batch):
                break
        codes = {}
        try:
            while True:
                event = chat.next()
                if event["type"] == "error":
                    codes[event["code"]] = codes.get(event["code"], 0) + 1
                    if event["code"] == "rate_limited":
                        assert event["retry"] and event["retry_after_ms"] > 0, event
        except Failure as end:
            t.check("4103" in str(end), f"{type}: {end}")
        t.note(f"{type}: {codes}")
        t.check(codes.get("rate_limited", 0) >= 400, f"{type}: {codes}")
        t.check(sum(codes.values()) < 1200, f"{type}: {sum(codes.values())} answers")
    t.check(t.gateway.threads() == threads, "the number of threads changed")
    if not t.gateway.is_sanitized:
        t.check(t.gateway.memory() - memory < 4 << 20, "memory grows with a flood")
