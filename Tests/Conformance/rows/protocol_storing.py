"""Table P: texts that must come back unchanged, and texts that must never reach the database."""

import json
import threading
import time
import uuid

from harness.registry import counts, refused, row

BODY_BYTES, PAYLOAD_BYTES = 16_384, 8_192


def given_back(t, texts, **fields):
    """Checks that every text is acked, delivered to an operator, read by a later client, and stored unchanged."""
    chat = t.chat()
    watcher = t.chat("operator", session=chat.session, after=0)
    for text in texts:
        ack = chat.send(chat.session, text, **fields)
        shown = watcher.until("message", seq=ack["seq"])
        t.check(shown["body"] == text, f"{text[:30]!r} is shown as {shown['body'][:30]!r}")
        time.sleep(0.02)
    chat.say(type="history", ref="all", session=chat.session, after=0, limit=200)
    read = [entry["body"] for entry in chat.until("ok", ref="all")["messages"]]
    t.check(read == texts, "the history is not what was sent")
    # In hexadecimal, since psql leaves out U+10FFFF.
    stored = [bytes.fromhex(line[0]).decode() for line in t.gateway.cluster.query(
        f"SELECT encode(convert_to(content, 'UTF8'), 'hex') FROM chats WHERE session_id = '{chat.session}' ORDER BY seq")]
    odd = [(ours, theirs) for ours, theirs in zip(texts, stored) if ours != theirs]
    t.check(stored == texts, f"the table does not hold what was sent: {len(stored)} rows, {odd}")
    return chat


@row("P07", "U+0000 and unpaired surrogates are refused; every other character is returned unchanged", counts("committed", 20),
     refused("rejected", 6))
def characters(t):
    texts = ["".join(chr(code) for code in range(1, 0x20)), "\x7f\x80\x9f", "\ufffe\uffff", "\u202etfel ot thgir\u202c",
             "e" + "\u0301" * 100, "\u200b\u200d\u2060\ufeff", "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0010ffff",
             "\\u0000", "\\", '"', "/", "\b\f\n\r\t", " ", "\n", "\u2028\u2029", "ﷺ" * 100, "𝕿𝖍𝖊", "\ud7ff\ue000",
             "a" + "\u0301\u0302" * 50]
    chat = given_back(t, texts)
    for escape in ("\\u0000", "x\\u0000y", "\\ud800", "\\udc00", "\\ud800x", "\\ud800\\ud800", "\\udc00\\ud800"):
        for field in ('"body":"%s"', '"body":"x","payload":{"a":"%s"}', '"body":"x","payload":{"%s":1}'):
            chat.raw('{"type":"send","ref":"no","session":"%s","id":"%s",%s}'
                     % (chat.session, uuid.uuid4(), field % escape))
            chat.expect_error("rejected", ref="no")
    # Escapes of what is fine are fine.
    chat.raw('{"type":"send","ref":"yes","session":"%s","id":"%s","body":"\\ud83d\\ude42\\u00e9\\/"}'
             % (chat.session, uuid.uuid4()))
    chat.until("ack", ref="yes")
    chat.until("message", body="🙂é/")


@row("P08", "a body and a payload at the limit in bytes, and one byte more", counts("committed", 5),
     refused("too_large", 5), memory=2 << 20)
def sizes(t):
    def payload(size):
        return {"x": "y" * (size - 8)}

    chat = t.chat()
    fits = [("x" * BODY_BYTES, None), ("é" * (BODY_BYTES // 2), None), ("🙂" * (BODY_BYTES // 4), None),
            ("\n" * BODY_BYTES, None), ("x", payload(PAYLOAD_BYTES))]
    for body, extra in fits:
        chat.send(chat.session, body, **({"payload": extra} if extra else {}))
        t.check(chat.until("message")["body"] == body, f"{len(body)} characters come back different")
    for body, extra in (("x" * (BODY_BYTES + 1), None), ("é" * (BODY_BYTES // 2) + "x", None),
                        ("🙂" * (BODY_BYTES // 4) + "x", None), ("\n" * (BODY_BYTES + 1), None),
                        ("x", payload(PAYLOAD_BYTES + 1))):
        chat.say(type="send", ref="big", session=chat.session, id=str(uuid.uuid4()), body=body,
                 **({"payload": extra} if extra else {}))
        chat.expect_error("too_large", ref="big")


@row("P12", "the database disappears during a command: retryable errors, no connection closed, then recovery",
     refused("unavailable", 2), counts("committed", 2), profile="alone", seconds=12, memory=2 << 20)
def lost_database(t):
    cluster, name = t.gateway.cluster, t.gateway.database
    chat = t.chat(timeout=60 * t.scale)
    chat.send(chat.session, "before")
    cluster.query(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
    cluster.query(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
    try:
        command = {"type": "send", "session": chat.session, "id": str(uuid.uuid4()), "body": t.canary}
        chat.say(ref="lost", **command)
        error = chat.expect_error("unavailable", ref="lost")
        t.check(error["retry"] and error["retry_after_ms"] > 0, f"the error is {error}")
        chat.say(type="history", ref="history", session=chat.session, after=0)
        chat.expect_error("unavailable", ref="history")
        answer = t.gateway.get("/api/v1/widget/config?workspace=x")
        t.check(answer.status == 503, f"the REST API answers {answer.status}")
        t.check(t.gateway.get("/readyz").status == 503, "/readyz does not say 503")
    finally:
        cluster.query(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    deadline = time.monotonic() + 60
    while True:
        chat.say(ref="again", **command)
        event = chat.next()
        while event.get("ref") != "again":
            event = chat.next()
        if event["type"] == "ack" or time.monotonic() > deadline:
            break
        time.sleep(0.5)
    t.check(event["type"] == "ack" and event["seq"] == 2, f"the send is answered {event}")
    count = cluster.value(f"SELECT count(*) FROM chats WHERE id = '{command['id']}'", name)
    t.check(count == "1", f"{count} rows")


@row("P13", "one unstorable row among 520 sends: it is refused, and all others are stored", counts("committed", 517),
     refused("rejected", 3), memory=3 << 20)
def poison(t):
    chats = [t.chat() for _ in range(40)]
    wrong, expected = [], []
    for number, chat in enumerate(chats):
        lines = []
        for turn in range(13):
            command = {"type": "send", "ref": turn, "session": chat.session, "id": str(uuid.uuid4()),
                       "body": f"{t.canary} {number} {turn}"}
            line = json.dumps(command)
            if (number, turn) in ((3, 5), (17, 0)):
                # Only PostgreSQL can know that this number is too large for its jsonb.
                line = line[:-1] + ',"payload":{"n":1e200000}}'
                wrong.append(command["id"])
            elif (number, turn) == (29, 12):
                line = line.replace(t.canary, "\\u0000")
                wrong.append(command["id"])
            else:
                expected.append(command["id"])
            lines.append(line)
        chat.lines = "\n".join(lines)
    # All at once.
    threads = [threading.Thread(target=chat.raw, args=(chat.lines,)) for chat in chats]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    acked, rejected = set(), []
    for chat in chats:
        answered = 0
        while answered < 13:
            event = chat.next(60 * t.scale)
            if event["type"] == "ack":
                acked.add(event["id"])
                answered += 1
            elif event["type"] == "error":
                rejected.append(event["code"])
                answered += 1
    t.check(rejected == ["rejected"] * 3, f"errors {rejected}")
    t.check(acked == set(expected), f"{len(acked)} of {len(expected)} are acked")
    ids = ",".join(f"'{id}'" for id in expected + wrong)
    stored = {line[0] for line in t.gateway.cluster.query(f"SELECT id FROM chats WHERE id IN ({ids})")}
    t.check(stored == set(expected), f"{len(stored)} of {len(expected)} are stored")


@row("P14", "SQL, markup and scripts in texts are stored unchanged", counts("committed", 10))
def injection(t):
    before = t.gateway.cluster.value("SELECT count(*) FROM workspaces")
    texts = ["'; DROP TABLE chats; --", "\\'; DROP TABLE chats; --", "%s %d %n", "$1 $2 $$", "\\N", "\\.", "E'\\x00'",
             "{1,2}", 'a","b', "NULL", "\\x41", "\t\\t", "{\"a\":1}", "pg_sleep(10)", "(SELECT 1)"]
    chat = given_back(t, texts)
    # In every other string a client has.
    for fields in ({"ref": "'; DROP"}, {"kind": "'; DROP TABLE chats"}, {"session": "'; DROP"}, {"id": "'; DROP"}):
        chat.say(**({"type": "send", "ref": "r", "session": chat.session, "id": str(uuid.uuid4()), "body": "x"} | fields))
        chat.until("ack" if "ref" in fields else "error", ref=fields.get("ref", "r"))
    chat.say(type="subscribe", ref="e", session=chat.session, epoch="' OR 1=1 --")
    chat.until("resync")
    payload = {"'; DROP TABLE chats; --": "$1 %s \\", "a'b": ["'"], "deep": {"\\": "\""}}
    ack = chat.send(chat.session, "with a payload", payload=payload)
    stored = t.gateway.cluster.value(f"SELECT payload FROM chats WHERE id = '{ack['id']}'")
    t.check(json.loads(stored) == payload, "the payload is not what was sent")
    t.check(t.gateway.cluster.value("SELECT count(*) FROM workspaces") == before, "a table is not what it was")


@row("P16", "templates in texts are stored unchanged", counts("committed", 5))
def templates(t):
    given_back(t, ["${7*7}", "{{7*7}}", "#{7*7}", "<%= 7*7 %>", "{% raw %}", "${jndi:ldap://x}", "`id`", "$(id)", "%(x)s",
                   "\\(7*7)", "{0}", "&lt;", "&#x41;"])


@row("P17", "one id sent twice, from two tabs, after a reconnect: stored once", counts("duplicates", 3),
     refused("id_conflict", 3))
def duplicates(t):
    account = t.gateway.token("visitor")
    first, second = t.chat(account=account), t.chat(account=account)
    id = str(uuid.uuid4())
    ack = first.send(first.session, t.canary, id=id)
    # In the same tab, in another one, after a reconnect, and twice in one message.
    third = t.chat(account=account)
    for chat in (first, second, third):
        again = chat.send(chat.session, t.canary, id=id, ref="again")
        t.check(again["seq"] == ack["seq"] and again.get("duplicate") is True, f"acked {again} after {ack}")
    both = str(uuid.uuid4())
    line = json.dumps({"type": "send", "ref": "both", "session": first.session, "id": both, "body": t.canary})
    first.raw(line + "\n" + line)
    seqs = [first.until("ack", ref="both")["seq"] for _ in range(2)]
    t.check(seqs[0] == seqs[1], f"one id got the numbers {seqs}")
    # Other content, another session, another kind of content.
    other = t.chat()
    for chat, body, more in ((first, "something else", {}), (other, t.canary, {}), (first, t.canary, {"payload": {"a": 1}})):
        chat.say(type="send", ref="conflict", session=chat.session, id=id, body=body, **more)
        error = chat.expect_error("id_conflict", ref="conflict")
        t.check(t.canary not in json.dumps(error) and first.session not in json.dumps(error) or chat is first,
                "a conflict tells of the other session")
    count = t.gateway.cluster.value(f"SELECT count(*) FROM chats WHERE id IN ('{id}', '{both}')")
    t.check(count == "2", f"{count} rows for two ids")


@row("P18", "typing and marks 1,000 times a second: never more than one write a second", counts("commands", 300),
     seconds=6)
def typing(t):
    chat = t.chat()
    watcher = t.chat("operator", session=chat.session, after=0)
    stored = t.gateway.figure("committed_total")
    for number in range(3):
        chat.send(chat.session, f"line {number}")
    # Loops post their figures in their own time, all of them at once.
    t.check(t.eventually(lambda: t.gateway.figure("committed_total") >= stored + 3), "three messages are not counted")
    table = f"FROM chats WHERE session_id = '{chat.session}'"
    count, batches = t.gateway.cluster.value(f"SELECT count(*) {table}"), t.gateway.figure("batches_total")
    before = t.gateway.cluster.value("SELECT pg_current_wal_lsn()")
    lines = "\n".join(json.dumps({"type": "typing", "session": chat.session, "active": True, "preview": t.canary})
                      for _ in range(300))
    chat.raw(lines)
    for seq in (1, 2, 3):
        watcher.raw("\n".join(json.dumps({"type": "read", "session": chat.session, "seq": seq}) for _ in range(60)))
        time.sleep(0.1)
    shown = watcher.until("typing", active=True)
    t.check(shown["preview"] == t.canary, f"the preview is {shown.get('preview')!r}")
    t.check(chat.until("mark", read=3)["who"]["kind"] == "operator", "no mark is shown")

    def mark():
        return t.gateway.cluster.value(
            f"SELECT read_seq FROM read_marks WHERE session_id = '{chat.session}' AND read_seq > 0")

    t.check(t.eventually(lambda: mark() == "3"), f"the stored mark is {mark()}")
    time.sleep(1)
    t.check(t.gateway.cluster.value(f"SELECT count(*) {table}") == count, "typing reached the table of messages")
    # 480 commands; each mark that is stored costs a few hundred bytes of log, on a cluster that others use too.
    written = int(t.gateway.cluster.value(f"SELECT pg_current_wal_lsn() - '{before}'::pg_lsn"))
    batches = t.gateway.figure("batches_total") - batches
    t.note(f"{batches:.0f} batches and {written} bytes of write-ahead log meanwhile")
    t.check(batches == 0, f"{batches:.0f} batches were submitted")
    t.check(chat.is_open() and watcher.is_open(), "a connection is closed")


@row("P19", "a client's time and order are ignored; the server's apply", counts("committed", 4))
def clocks(t):
    chat = t.chat()
    begin = time.time()
    acks = []
    for at in ("1970-01-01T00:00:00.000Z", "2999-12-31T23:59:59.999Z", 10 ** 15, None):
        ack = chat.send(chat.session, f"{t.canary} {at}", at=at, seq=10 ** 9, sender={"kind": "operator", "id": "x"},
                        role="operator", created_at=at)
        acks.append(ack)
    t.check([ack["seq"] for ack in acks] == [1, 2, 3, 4], f"numbers {[ack['seq'] for ack in acks]}")
    for ack in acks:
        stamp = time.mktime(time.strptime(ack["at"][:19], "%Y-%m-%dT%H:%M:%S")) - time.timezone
        t.check(abs(stamp - begin) < 60, f"the time is {ack['at']}")
    chat.say(type="history", ref="h", session=chat.session, after=0)
    for entry in chat.until("ok", ref="h")["messages"]:
        t.check(entry["sender"]["kind"] == "visitor", f"the sender is {entry['sender']}")


@row("P20", "more sends at once than in_flight: the further ones learn it, and nothing of an outage", counts("committed", 20),
     refused("rate_limited", 4))
def in_flight(t):
    chat = t.chat()
    ids = [str(uuid.uuid4()) for _ in range(20)]

    def lines(ids):
        chat.raw("\n".join(json.dumps(
            {"type": "send", "ref": id, "session": chat.session, "id": id, "body": f"{t.canary} {id}"}) for id in ids))

    def answers(count):
        found = []
        while len(found) < count:
            event = chat.next()
            if event["type"] in ("ack", "error"):
                found.append(event)
        return found

    # One message: no commit comes between its lines.
    lines(ids)
    first = answers(20)
    refusals = [event for event in first if event["type"] == "error"]
    t.check([event["ref"] for event in refusals] == ids[16:], f"refused: {[event.get('ref') for event in refusals]}")
    for event in refusals:
        t.check(event["code"] == "rate_limited" and event["retry"] and event["retry_after_ms"] > 0
                and "limits.in_flight" in event["message"], f"the error is {event}")
    time.sleep(max(event["retry_after_ms"] for event in refusals) / 1000)
    lines(ids[16:])
    acks = [event for event in first + answers(4) if event["type"] == "ack"]
    t.check([(ack["ref"], ack["seq"]) for ack in acks] == list(zip(ids, range(1, 21))), "order or numbers changed")


@row("P21", "a ref of 64 bytes and one of 65", refused("bad_frame", 1), refused("unknown_type", 2))
def references(t):
    chat = t.chat()
    for ref in (str(uuid.uuid4()), "é" * 32):
        chat.say(type="nothing", ref=ref)
        chat.expect_error("unknown_type", ref=ref)
    chat.say(type="nothing", ref="r" * 65)
    chat.expect_error("bad_frame", naming="Field: ref.")
    t.check(chat.is_open(), "the connection is closed")
