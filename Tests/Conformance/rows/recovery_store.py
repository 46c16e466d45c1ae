"""Table R: full disks, failing fsync, no free connections, locks of other clients, and cuts around COMMIT."""

import os
import signal
import threading
import time
import uuid

from harness import effort
from harness.audit import audit, judge, read_log
from harness.inject import Injection
from harness.proxy import CommitProxy
from harness.registry import counts, refused, row
from harness.store import Stranger

from .common import MIB
from .recovery import crowded


class Cutting:
    """Sends through a `CommitProxy` that cuts; remembers what was acked."""

    def __init__(self, t, proxy):
        self.t, self.proxy = t, proxy
        # Several, since each may send 20 a second.
        self.chats = [t.chat(timeout=30 * t.scale) for _ in range(16)]
        self.bodies, self.acks, self.turn, self.unfired = {}, {}, 0, 0
        self.place = {}

    def send(self, direction=None, byte=0):
        """Sends two messages in one batch, whose stream is cut at the byte. Both must be acked nevertheless."""
        self.turn += 1
        chat = self.chats[self.turn % len(self.chats)]
        ids = [str(uuid.uuid4()) for _ in range(2)]
        lines = []
        for id in ids:
            self.bodies[id] = f"{self.t.canary} {direction} {byte} {id}"
            self.place[id] = chat.session
            lines.append(f'{{"type":"send","ref":"{id[:8]}","session":"{chat.session}","id":"{id}",'
                         f'"body":"{self.bodies[id]}"}}')
        if direction:
            self.proxy.arm(direction, byte)
        chat.raw("\n".join(lines))
        for id in ids:
            self.acks[id] = chat.until("ack", ref=id[:8])["seq"]
        if direction and not self.proxy.is_done.is_set():
            self.unfired += 1
            self.proxy.wish = None

    def check(self, store):
        log = read_log(store, [chat.session for chat in self.chats])
        rows = {id: (session, seq) for session, (entries, _) in log.items() for seq, id, _ in entries}
        for text in audit(log, [], self.bodies)[:8]:
            self.t.check(False, text)
        lost = [id for id, seq in self.acks.items() if rows.get(id) != (self.place[id], seq)]
        self.t.check(not lost, f"{len(lost)} acked messages have another seq than their ack")
        self.t.check(rows.keys() == self.acks.keys(), f"{len(rows)} rows for {len(self.acks)} acked messages")


class Layout:
    """The bytes of the batch that a proxy has seen last, and where it is cut."""

    def __init__(self, t, proxy, statements, commit):
        batch, self.answer = list(proxy.messages), proxy.answer_bytes
        t.check([statement for kind, statement, _, _ in batch if kind == "B"] == statements, f"the batch is {batch}")
        self.whole = batch[-1][3]
        self.commit = next((first for kind, statement, first, _ in batch if commit in (kind, statement)), 0)
        edges = {place for _, _, first, behind in batch for place in (first, first + 1, behind - 1)}
        near = range(self.commit, self.whole, max(1, effort.CUT_STRIDE // 4))
        self.up = sorted(edges | set(range(0, self.whole, effort.CUT_STRIDE)) | set(near))
        self.down = range(0, self.answer, max(1, effort.CUT_STRIDE // 4))

    def __str__(self):
        return (f"{len(self.up)} cuts in {self.whole} bytes of a batch, its commit from {self.commit} on, "
                f"{len(self.down)} in {self.answer} bytes of the answer")


@row("R05", "the connection to PostgreSQL is cut at every byte around COMMIT: no message is lost or duplicated",
     counts("committed", 50), counts("duplicates", 1), profile="stage",
     stage={"front": CommitProxy, "arguments": ["--loops", "1"]}, seconds=30, memory=4 * MIB)
def cut_commit(t):
    proxy = t.gateway.front
    cutting = Cutting(t, proxy)
    # The first entries of a session are stored by another statement.
    for _ in range(len(cutting.chats) + 1):
        cutting.send()
    # A fenced statement is committed at the sync behind it.
    fenced = Layout(t, proxy, ["several"], "S")
    begin = time.monotonic()
    for direction, places in (("up", fenced.up), ("down", fenced.down)):
        for byte in places:
            cutting.send(direction, byte)
    # The run under locks that settles the outcome is cut, too, and the one behind it.
    locked = Layout(t, proxy, ["begin", "lock", "append", "commit"], "commit")
    for direction, places in (("up", locked.up), ("down", locked.down)):
        for byte in places:
            proxy.after = [(direction, byte)]
            cutting.send("down", 0)
    for byte in (locked.commit, locked.whole - 1):
        proxy.after = [("down", 0), ("up", byte)]
        cutting.send("down", 0)
    t.note(f"{fenced}; {locked}; in {time.monotonic() - begin:.1f} s; the writer connected {proxy.accepted} times")
    t.check(cutting.unfired <= 2, f"{cutting.unfired} cuts did not happen")
    cutting.check(t.gateway.store)


def fill(folder, leave=0):
    """Fills the free space of the file system with a file."""
    place = os.path.join(folder, "filler")
    with open(place, "wb", buffering=0) as file:
        try:
            while True:
                file.write(bytes(65_536))
        except OSError:
            pass
        if leave:
            file.truncate(max(0, file.tell() - leave))
    return place


def wait_refused(t, crowd, more=8):
    goal = crowd.count("unavailable") + more
    crowd.wait(lambda: crowd.count("unavailable") >= goal, 60 * t.scale, "sends are refused")


@row("R07", "the disk of the tables is full: sends are refused, nothing is acked, and it recovers when space is free",
     counts("committed", 50), refused("unavailable", 8), profile="stage",
     stage={"data_bytes": 80 * MIB, "log_bytes": 80 * MIB}, seconds=22, memory=6 * MIB)
def full_disk(t):
    gateway, store = t.gateway, t.gateway.store
    crowd = crowded(t)
    # So that a table has to grow soon.
    crowd.pad = "long " * 1_000
    filler = fill(store.data)
    wait_refused(t, crowd)
    t.check(gateway.readiness()[0] == 503, "/readyz does not say 503")
    t.check("No space left" in gateway.log_text(), "the log does not say why")
    acked = crowd.total("acks")
    time.sleep(2)
    t.note(f"{crowd.total('acks') - acked} acks in 2 s on a full disk (rows that fit into pages that are there)")
    os.unlink(filler)
    crowd.pad = ""
    crowd.wait_acks(20, 60 * t.scale)
    gateway.wait_ready(200)
    judge(t, crowd, store, seconds=90)
    t.check(crowd.reconnects == 0, f"{crowd.reconnects} connections were lost")


@row("R07a", "the disk of the write-ahead log is full: PostgreSQL panics; acked messages are stored, and it recovers",
     counts("committed", 50), profile="stage", stage={"log_bytes": 24 * MIB, "data_bytes": 80 * MIB}, seconds=22,
     memory=6 * MIB)
def full_log(t):
    gateway, store = t.gateway, t.gateway.store
    crowd = crowded(t)
    filler = fill(os.path.join(store.folder, "wal"))
    for _ in range(60):
        # Whose write is the one too many is chance: a stranger's here, or the gateway's.
        try:
            store.query("SELECT pg_logical_emit_message(true, 'x', repeat(md5(random()::text), 15000))")
        except RuntimeError:
            break
    crowd.wait(lambda: store.said("PANIC") > 0, 60 * t.scale, "PostgreSQL panics")
    gateway.wait_ready(503)
    os.unlink(filler)
    # If recovery found no space either, the server has ended.
    time.sleep(0.5)
    if store.process.poll() is not None:
        store.launch()
    gateway.wait_ready(200)
    crowd.wait_acks(20, 60 * t.scale)
    judge(t, crowd, store, seconds=90)


@row("R08", "fsync fails in a backend at COMMIT, and in the checkpointer: PostgreSQL recovers; acked messages are stored",
     counts("committed", 50), profile="stage", stage={"options": {"fsync": "on"}}, seconds=20, memory=4 * MIB)
def failing_sync(t):
    gateway, store = t.gateway, t.gateway.store
    crowd = crowded(t)
    for kind, call in (("writer", "fdatasync"), ("checkpointer", "fsync")):
        panics = store.said("PANIC")
        victims = store.writers() if kind == "writer" else store.backends(kind)
        t.check(victims, f"there is no {kind}")
        with Injection(store.home, victims, f"{call}:error=EIO:when=1+"):
            if kind == "checkpointer":
                # It fails with the checkpoint, and perhaps its asker with it.
                threading.Thread(target=checkpoint, args=(store,), daemon=True).start()
            crowd.wait(lambda: store.said("PANIC") > panics, 60 * t.scale, f"PostgreSQL panics by its {kind}")
        store.wait_answer(60 * t.scale)
        crowd.wait_acks(40, 60 * t.scale)
    judge(t, crowd, store)
    t.check(crowd.reconnects == 0, f"{crowd.reconnects} connections were lost")


def checkpoint(store):
    try:
        store.query("CHECKPOINT")
    except RuntimeError:
        pass


@row("R09", "no connections left in PostgreSQL, at the start and at a reconnect: the gateway logs the reason and recovers",
     counts("committed", 5), refused("unavailable", 4), profile="stage", stage={"options": {"max_connections": "12"}},
     seconds=22, memory=4 * MIB)
def no_connections(t):
    gateway, store = t.gateway, t.gateway.store
    account = gateway.token("visitor")
    gateway.quit()
    strangers = fill_connections(store)
    t.peers += strangers
    gateway.launch()
    t.restarted()
    gateway.wait_ready(503)
    t.check("too many clients" in gateway.log_text(), "the log does not say why")
    for stranger in strangers:
        stranger.close()
    gateway.wait_ready(200)
    chat = t.chat(account=account, timeout=30 * t.scale)
    chat.send(chat.session, t.canary)
    # The gateway sleeps while its connections are ended and all places are taken.
    start = len(gateway.log_text())
    os.kill(gateway.pid, signal.SIGSTOP)
    try:
        strangers = [Stranger(store)]
        t.peers.append(strangers[0])
        strangers[0].run("SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'chirrup'")
        strangers += fill_connections(store)
        t.peers += strangers
    finally:
        os.kill(gateway.pid, signal.SIGCONT)
    ids = [str(uuid.uuid4()) for _ in range(4)]
    for id in ids:
        chat.say(type="send", ref=id[:8], session=chat.session, id=id, body=t.canary)
    expect_unavailable(t, chat, ids)
    t.check(gateway.readiness()[0] == 503, "/readyz does not say 503")
    for stranger in strangers:
        stranger.close()
    gateway.wait_ready(200)
    for number, id in enumerate(ids):
        t.check(chat.send(chat.session, t.canary, id=id)["seq"] == number + 2, "the numbers have a hole")
    said = gateway.log_text(start).count("PostgreSQL does not answer")
    t.check(1 <= said <= 2 * (os.cpu_count() or 1), f"the log has {said} lines of an unavailable PostgreSQL")


def expect_unavailable(t, chat, ids):
    """Checks the refusals in any order: the message that waited longest need not be refused first."""
    refs = {id[:8] for id in ids}
    while refs:
        error = chat.expect_error("unavailable")
        t.check(error["retry"] and error["retry_after_ms"] > 0, f"the error is {error}")
        refs.remove(error["ref"])


def fill_connections(store):
    """Opens every free connection, including those reserved for superusers."""
    strangers = []
    while True:
        stranger = Stranger(store)
        try:
            stranger.run("SELECT 1")
        except (RuntimeError, BrokenPipeError):
            stranger.close()
            return strangers
        strangers.append(stranger)


@row("R09a", "another transaction locks a session's row: its senders must retry, all others are served, none is closed",
     counts("committed", 5), refused("unavailable", 1), profile="stage",
     stage={"arguments": ["--loops", "1"], "options": {"deadlock_timeout": "150ms"}}, seconds=14, memory=4 * MIB)
def locks(t):
    gateway, store = t.gateway, t.gateway.store
    chats = sorted((t.chat(timeout=30 * t.scale) for _ in range(2)), key=lambda chat: chat.session)
    first, second = chats
    stranger = Stranger(store)
    t.peers.append(stranger)
    # Longer than lock_timeout and its retries.
    stranger.run(f"BEGIN; SELECT FROM chat_sessions WHERE id = '{first.session}' FOR UPDATE")
    held = str(uuid.uuid4())
    first.say(type="send", ref="held", session=first.session, id=held, body=t.canary)
    ack = second.send(second.session, t.canary)
    t.check(ack["seq"] == 1, f"acked {ack}")
    first.expect_error("unavailable", ref="held")
    t.check(gateway.readiness()[0] == 200, "a row that is held makes the whole gateway unready")
    stranger.run("COMMIT")
    t.check(first.send(first.session, t.canary, id=held)["seq"] == 1, "the held message is not the first")
    # Shorter: nobody hears of it.
    stranger.run(f"BEGIN; SELECT FROM chat_sessions WHERE id = '{first.session}' FOR UPDATE")
    threading.Timer(0.5, stranger.begin, ["COMMIT"]).start()
    t.check(first.send(first.session, t.canary)["seq"] == 2, "a short lock is not waited for")
    stranger.finish()
    deadlock(t, store, stranger, first, second)
    serialization(t, store, stranger, first)


def deadlock(t, store, stranger, first, second):
    """The batch locks the sessions in order; the stranger holds the second and then wants the first."""
    stranger.run("SET deadlock_timeout = '30s'")
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'chirrup' AND wait_event_type = 'Lock'"
    found = 0
    for turn in range(10):
        stranger.run(f"BEGIN; SELECT FROM chat_sessions WHERE id = '{second.session}' FOR UPDATE")
        # The gateway finds both sessions' messages at once, so that they are one batch.
        os.kill(t.gateway.pid, signal.SIGSTOP)
        for ref, chat in enumerate((first, first, second)):
            chat.say(type="send", ref=f"d{turn}-{ref}", session=chat.session, id=str(uuid.uuid4()), body=t.canary)
        os.kill(t.gateway.pid, signal.SIGCONT)
        for _ in range(100):
            if stranger.run(waiting) != ["0"]:
                break
            time.sleep(0.01)
        stranger.run(f"SELECT FROM chat_sessions WHERE id = '{first.session}' FOR UPDATE; COMMIT")
        for ref, chat in enumerate((first, first, second)):
            chat.until("ack", ref=f"d{turn}-{ref}")
        found = store.said("deadlock detected")
        if found:
            break
    t.note(f"a deadlock in round {turn + 1}")
    t.check(found, "there was no deadlock in ten rounds")


def serialization(t, store, stranger, chat):
    """Under REPEATABLE READ the row that a stranger changed cannot be locked any more."""
    store.query("ALTER DATABASE postgres SET default_transaction_isolation = 'repeatable read'")
    store.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'chirrup'")
    chat.send(chat.session, t.canary)
    stranger.run("SET default_transaction_isolation = 'read committed'")
    stranger.run(f"BEGIN; UPDATE chat_sessions SET title = 'changed' WHERE id = '{chat.session}'")
    threading.Timer(0.15, stranger.begin, ["COMMIT"]).start()
    chat.send(chat.session, t.canary)
    stranger.finish()
    store.query("ALTER DATABASE postgres RESET default_transaction_isolation")
    t.note(f"serialization failures: {store.said('could not serialize access')}")


@row("R09b", "a statement takes too long: PostgreSQL cancels it, sends are refused, and it recovers",
     counts("committed", 3), refused("unavailable", 2), profile="stage", seconds=16, memory=4 * MIB)
def slow_statement(t):
    gateway, store = t.gateway, t.gateway.store
    chat = t.chat(timeout=60 * t.scale)
    chat.send(chat.session, t.canary)
    store.query("CREATE FUNCTION sleep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(30); "
                "RETURN NEW; END $$; CREATE TRIGGER slow BEFORE INSERT ON chats FOR EACH ROW EXECUTE FUNCTION sleep()")
    ids = [str(uuid.uuid4()) for _ in range(2)]
    for id in ids:
        chat.say(type="send", ref=id[:8], session=chat.session, id=id, body=t.canary)
    expect_unavailable(t, chat, ids)
    t.check(store.said("statement timeout") > 0, "PostgreSQL ended no statement")
    store.query("DROP TRIGGER slow ON chats")
    deadline = time.monotonic() + 30 * t.scale
    for number, id in enumerate(ids):
        event = {"type": "error"}
        while event["type"] == "error" and time.monotonic() < deadline:
            chat.say(type="send", ref="again", session=chat.session, id=id, body=t.canary)
            event = chat.next()
            while event.get("ref") != "again":
                event = chat.next()
            if event["type"] == "error":
                time.sleep(event["retry_after_ms"] / 1000)
        t.check(event["type"] == "ack" and event["seq"] == number + 2, f"the send is answered {event}")
    stored = store.value(f"SELECT count(*) FROM chats WHERE session_id = '{chat.session}'")
    t.check(stored == "3", f"{stored} rows for three messages")
