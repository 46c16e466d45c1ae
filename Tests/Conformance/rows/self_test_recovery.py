"""Rows that falsify the tables or a client's events; the audit must find it."""

from harness.audit import judge
from harness.registry import counts, row

from .recovery import crowded

EXPECTED = {
    "Z11": "was acked at .* and is lost", "Z12": "one message has 2 rows", "Z13": "events differ from the table at 1",
    "Z14": "stored in another order", "Z15": "acked at .* and is stored at", "Z16": "no client sent",
}


def tampered(t, tamper):
    """Falsifies the data of a run without faults."""
    crowd = crowded(t, sessions=2, rate=30)
    crowd.wait(lambda: all(len(client.made) > 2 for client in crowd.clients), 30 * t.scale, "all have sent messages")
    crowd.settle(30 * t.scale)
    client = crowd.clients[0]
    entries = t.gateway.store.query(
        f"SELECT seq, id FROM chats WHERE session_id = '{client.session}' ORDER BY seq DESC LIMIT 2")
    tamper(t.gateway.store, client, entries)
    judge(t, crowd, t.gateway.store)


@row("Z11", "an acked row that is lost", counts("committed"), profile="stage", seconds=3)
def lost(t):
    tampered(t, lambda store, client, entries: store.query(
        f"DELETE FROM chats WHERE id = '{entries[0][1]}'; "
        f"UPDATE chat_sessions SET last_seq = last_seq - 1 WHERE id = '{client.session}'"))


def copy(store, client, body):
    store.query(
        f"INSERT INTO chats (id, workspace_id, session_id, seq, role, kind, content, content_hash) SELECT gen_random_uuid(),"
        f" workspace_id, session_id, seq + 1, role, kind, {body}, content_hash FROM chats"
        f" WHERE session_id = '{client.session}' ORDER BY seq DESC LIMIT 1;"
        f"UPDATE chat_sessions SET last_seq = last_seq + 1 WHERE id = '{client.session}'")


@row("Z12", "a duplicated row", counts("committed"), profile="stage", seconds=3)
def doubled(t):
    tampered(t, lambda store, client, entries: copy(store, client, "content"))


@row("Z13", "a hole in a client's events", counts("committed"), profile="stage", seconds=3)
def hole(t):
    def tamper(store, client, entries):
        client.view[0], client.view[1] = client.view[1], client.view[0]
    tampered(t, tamper)


@row("Z14", "messages of one sender in another order", counts("committed"), profile="stage", seconds=3)
def reordered(t):
    def tamper(store, client, entries):
        client.made[0], client.made[1] = client.made[1], client.made[0]
    tampered(t, tamper)


@row("Z15", "an ack with another seq than the row's", counts("committed"), profile="stage", seconds=3)
def wrong_number(t):
    def tamper(store, client, entries):
        client.acks[client.made[0]] += 1
    tampered(t, tamper)


@row("Z16", "a row without a sent message", counts("committed"), profile="stage", seconds=3)
def stranger(t):
    tampered(t, lambda store, client, entries: copy(store, client, "'something else'"))
