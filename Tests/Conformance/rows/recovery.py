"""Table R: PostgreSQL starts late, stops, hangs, is down for long; the gateway is killed or terminated."""

import socket
import threading
import time

from harness import effort
from harness.audit import judge
from harness.crowd import Crowd
from harness.peer import Failure, Peer
from harness.registry import counts, refused, row

from .common import KIB, MIB

SEARCH = "/api/v1/admin/live-chat/messages/search?q=hello"


def crowded(t, sessions=8, rate=40, **options):
    """Clients under load, which are closed when the row ends."""
    crowd = Crowd(t.gateway, sessions, t.canary, **options)
    t.peers.append(crowd)
    crowd.rate = rate
    crowd.wait_acks(2 * sessions, 60 * t.scale)
    return crowd


def lines_since(t, start, text):
    return t.gateway.log_text(start).count(text)


class Doorman:
    """Listens at PostgreSQL's address, counts the connections and closes each at once."""

    def __init__(self, store):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(f"{store.folder}/.s.PGSQL.5432")
        self.socket.listen(64)
        self.times = []
        threading.Thread(target=self._answer, daemon=True).start()

    def _answer(self):
        try:
            while True:
                visitor, _ = self.socket.accept()
                self.times.append(time.monotonic())
                visitor.close()
        except OSError:
            pass

    def close(self):
        # A thread that waits in accept keeps the socket alive until it is shut down.
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


@row("R01", "PostgreSQL starts after the gateway: it reports why it is not ready, and retries with growing pauses",
     counts("committed", 1), profile="stage", seconds=14)
def late(t):
    gateway, store = t.gateway, t.gateway.store
    account = gateway.token("visitor")
    gateway.stop()
    start = len(gateway.log_text())
    doorman = Doorman(store)
    gateway.launch()
    t.restarted()
    try:
        gateway.wait_ready(503)
        t.check("PostgreSQL" in gateway.readiness()[1], f"/readyz returns {gateway.readiness()[1]}")
        t.check(gateway.get("/healthz").status == 200, "/healthz is not 200")
        peer = t.peer()
        peer.send(peer.handshake_bytes("/api/v1/ws"))
        answer = peer.response()
        t.check(answer.status == 503 and answer.get("retry-after"), f"a client is answered {answer.status}")
        end = time.monotonic() + 60 * t.scale
        while len(doorman.times) < 5 and time.monotonic() < end:
            time.sleep(0.05)
    finally:
        doorman.close()
    gaps = [later - first for first, later in zip(doorman.times, doorman.times[1:])]
    t.note(f"knocked after {' '.join(f'{gap:.2f}' for gap in gaps)} s")
    t.check(len(gaps) >= 4 and gaps[-1] > 2 * gaps[0], f"the pauses do not grow: {gaps}")
    said = lines_since(t, start, "waiting for the database")
    t.check(1 <= said <= 3, f"the log has {said} lines of waiting")
    store.launch()
    gateway.wait_ready(200)
    chat = t.chat(account=account)
    t.check(chat.send(chat.session, t.canary)["seq"] == 1, "the first message has another number")


@row("R02", "PostgreSQL is stopped without a checkpoint under load and restarted: acked messages are stored once, in order",
     counts("committed", 50), profile="stage", seconds=18, memory=4 * MIB)
def stopped(t):
    gateway, store = t.gateway, t.gateway.store
    crowd, start = crowded(t), len(gateway.log_text())
    for _ in range(2):
        store.crash()
        gateway.wait_ready(503, 20 * t.scale)
        time.sleep(1.5)
        store.launch()
        gateway.wait_ready(200, 30 * t.scale)
        crowd.wait_acks(40, 60 * t.scale)
    judge(t, crowd, store)
    t.check(crowd.reconnects == 0, f"{crowd.reconnects} connections were lost")
    # One for each of the loops and stops; a recovering server has another reason.
    said = lines_since(t, start, "PostgreSQL does not answer")
    t.check(2 <= said <= 16, f"the log has {said} lines of an unavailable PostgreSQL")


@row("R03", "the gateway is killed with -9 under load and restarted: acked messages are stored, clients resume without a hole",
     counts("committed", 20), profile="stage", seconds=14, memory=8 * MIB)
def killed(t):
    gateway = t.gateway
    crowd = crowded(t)
    for _ in range(3):
        gateway.kill()
        gateway.launch()
        begin = time.monotonic()
        gateway.wait_ready(200)
        t.note(f"ready again after {time.monotonic() - begin:.2f} s")
        crowd.wait_acks(40, 60 * t.scale)
        crowd.wait(lambda: all(client.phase == "open" for client in crowd.clients), 60 * t.scale, "all are back")
    t.restarted()
    judge(t, crowd, gateway.store)
    t.check(crowd.reconnects >= 3 * len(crowd.clients), f"only {crowd.reconnects} reconnects: it was not felt")


@row("R04", "a backend is terminated, another killed with -9: the batch is repeated with the same ids",
     counts("committed", 50), profile="stage", seconds=16, memory=4 * MIB)
def backends(t):
    gateway, store = t.gateway, t.gateway.store
    crowd = crowded(t, rate=80)
    for _ in range(6):
        ended = len(store.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                "WHERE application_name = 'chirrup'"))
        t.check(ended >= 2, f"only {ended} backends of the gateway were there")
        crowd.wait_acks(10, 60 * t.scale)
    t.check(crowd.count("unavailable") == 0, "clients get errors for a terminated backend")
    # All others are reset with it, and PostgreSQL recovers.
    victims = store.writers() or store.backends()
    store.kill_process(victims[0])
    crowd.wait_acks(60, 60 * t.scale)
    t.check(store.said("reinitializing") == 1, "PostgreSQL did not notice the kill")
    judge(t, crowd, store)
    t.check(crowd.reconnects == 0, f"{crowd.reconnects} connections were lost")


@row("R06", "PostgreSQL is stopped with SIGSTOP: sends are refused after 5 s, all else works, then all arrive in order",
     counts("committed", 50), refused("unavailable", 8), profile="stage", seconds=effort.STILL_SECONDS + 14,
     memory=4 * MIB)
def standstill(t):
    gateway, store = t.gateway, t.gateway.store
    crowd = crowded(t)
    silent = t.chat()
    writer, reader = t.chat(), None
    reader = t.chat("operator", session=writer.session, after=0, timeout=60 * t.scale)
    memory, connected = gateway.memory(), crowd.reconnects
    store.freeze()
    begin = time.monotonic()
    try:
        crowd.wait(lambda: crowd.count("unavailable") > 0, 30 * t.scale, "a client is refused")
        first = time.monotonic() - begin
        t.note(f"the first answer came after {first:.1f} s")
        t.check(first > 3, f"refused after {first:.1f} s: a short pause would be visible")
        turns = pings = 0
        while time.monotonic() - begin < effort.STILL_SECONDS:
            turns += 1
            writer.say(type="typing", session=writer.session, active=turns % 2 == 1)
            reader.until("typing", 5 * t.scale, active=turns % 2 == 1)
            # Silent clients still get pings, and answer.
            if not silent.peer.is_silent(0.01):
                silent.say(type="pong")
                silent.peer.message(5 * t.scale)
                pings += 1
            t.check(t.gateway.figure("queued_records") <= 2 * 8_192, "the queue has no bound")
            time.sleep(0.5)
        t.check(t.gateway.readiness()[0] == 503, "/readyz does not say 503")
        grown = gateway.memory() - memory
        t.note(f"{grown / 1024:.0f} KiB more after {time.monotonic() - begin:.0f} s, {turns} times typing shown, "
               f"{pings} pings answered")
        t.check(grown < 4 * MIB + (320 * MIB if gateway.is_sanitized else 0), f"{grown} bytes more")
    finally:
        store.thaw()
    judge(t, crowd, store, seconds=90)
    t.check(crowd.reconnects == connected, "connections were lost")
    waits = [wait for client in crowd.clients for wait in client.waits]
    t.check(waits and min(waits) >= 250 and max(waits) <= 8_000, f"retry_after_ms {sorted(waits)[:3]}")
    silent.send(silent.session, t.canary)


@row("R06a", "an outage under load: connections stay open, memory is constant, all messages are stored once after it",
     counts("committed", 100), refused("unavailable", 10), profile="stage", seconds=effort.OUTAGE_SECONDS + 24,
     # Each session keeps its recent entries for a minute: 64 KiB, and what the allocator makes of it.
     memory=6 * MIB + effort.OUTAGE_SESSIONS * 96 * KIB)
def outage(t):
    gateway, store = t.gateway, t.gateway.store
    crowd = crowded(t, effort.OUTAGE_SESSIONS, effort.OUTAGE_RATE)
    # Everybody's outbox is full soon: what is measured is the gateway's memory, over the rest of the time.
    begin, memories, start, most_refusals = time.monotonic(), [], len(gateway.log_text()), 0
    store.crash()
    while (passed := time.monotonic() - begin) < effort.OUTAGE_SECONDS:
        if passed > effort.OUTAGE_SECONDS / 3:
            memories.append(gateway.memory())
        most_refusals = max(client.errors["unavailable"] for client in crowd.clients)
        time.sleep(0.5)
    readiness = gateway.readiness()[0]
    t.check(readiness == 503, f"/readyz returns {readiness}")
    t.check(crowd.reconnects == 0, f"{crowd.reconnects} connections were lost in the outage")
    open_now = sum(client.phase == "open" for client in crowd.clients)
    t.check(open_now == len(crowd.clients), f"only {open_now} of {len(crowd.clients)} are connected")
    growth = max(memories) - memories[0]
    held = crowd.total("outbox")
    t.note(f"{effort.OUTAGE_SECONDS} s away: {len(crowd.clients)} connections held {held} messages; the gateway's "
           f"memory was {memories[0] / MIB:.2f} MiB after a third and at most {growth / 1024:.0f} KiB more later; "
           f"at most {most_refusals} answers `unavailable` to one client; the log has "
           f"{lines_since(t, start, 'PostgreSQL does not answer')} lines of it")
    t.check(growth < MIB + (64 * MIB if gateway.is_sanitized else 0), f"memory grew by {growth} bytes in the outage")
    # A window of sends at first, then one at a time, each after its retry_after_ms (250 ms to 8 s).
    most = 8 + 6 + effort.OUTAGE_SECONDS / 4 + 1
    t.check(most_refusals <= most, f"one client was refused {most_refusals} times, at most {most:.0f} are allowed")
    store.launch()
    back = time.monotonic()
    gateway.wait_ready(200, 30 * t.scale)
    t.note(f"ready {time.monotonic() - back:.1f} s after PostgreSQL was")
    judge(t, crowd, store, seconds=120)
    t.note(f"everything was stored and shown {time.monotonic() - back:.1f} s after PostgreSQL was back")
    t.check(crowd.reconnects == 0, f"{crowd.reconnects} connections were lost after the outage")


def ended(t, seconds):
    """Waits for the end of the gateway. Returns its status and the seconds it took."""
    begin = time.monotonic()
    try:
        status = t.gateway.process.wait(seconds)
    except Exception:
        t.gateway.kill()
        raise Failure(f"the gateway did not end in {seconds:.0f} s") from None
    return status, time.monotonic() - begin


@row("R12", "SIGTERM under load: no new connections, clients get a time to reconnect, the batch is stored, status 0",
     counts("committed", 20), profile="stage", stage={"drain": 10}, seconds=22, memory=8 * MIB)
def drained(t):
    gateway = t.gateway
    crowd = crowded(t)
    watcher = t.chat()
    kept = t.peer()
    kept.send(f"GET /healthz HTTP/1.1\r\nHost: {kept.host}\r\n\r\n".encode())
    t.check(kept.response().status == 200, "/healthz is not 200")
    gateway.process.terminate()
    notice = watcher.until("drain", 10 * t.scale)
    t.check(0 <= notice["min_ms"] < notice["max_ms"] <= 10_000, f"reconnect times {notice}")
    kept.send(f"GET /readyz HTTP/1.1\r\nHost: {kept.host}\r\n\r\n".encode())
    answer = kept.response()
    t.check(answer.status == 503 and b"draining" in answer.body, f"/readyz returns {answer.status} {answer.body!r}")
    try:
        late = Peer(gateway.address, 5)
        late.send(late.handshake_bytes())
        t.check(late.response().status == 503, "a new connection is served")
        late.close()
    except (OSError, Failure):
        pass
    status, seconds = ended(t, 30 * t.scale)
    t.note(f"ended after {seconds:.1f} s")
    t.check(status == 0, f"status {status}")
    t.check(seconds < 11 * t.scale, f"it took {seconds:.1f} s")
    t.check(crowd.closes().keys() == {4000}, f"clients were closed with {dict(crowd.closes())}")
    gateway.launch()
    gateway.wait_ready(200)
    t.restarted()
    judge(t, crowd, gateway.store)


@row("R12a", "SIGTERM while PostgreSQL is stopped: it ends within its time, and logs the number of unstored messages",
     counts("committed", 20), profile="stage", stage={"drain": 2}, seconds=20, memory=8 * MIB)
def drained_without_store(t):
    gateway, store = t.gateway, t.gateway.store
    crowd, start = crowded(t), len(gateway.log_text())
    frozen = time.monotonic()
    store.freeze()
    try:
        held = crowd.total("acks") + 5
        crowd.wait(lambda: crowd.total("made") > held, 20 * t.scale, "some messages wait for PostgreSQL")
        # The webhooks' thread looks into the outbox every 2 s: by now it waits for PostgreSQL too.
        time.sleep(2.2)
        gateway.process.terminate()
        status, seconds = ended(t, 30 * t.scale)
        frozen = time.monotonic() - frozen
    finally:
        store.thaw()
    t.note(f"ended after {seconds:.1f} s, {frozen:.1f} s after PostgreSQL stood still")
    t.check(status == 0, f"status {status}")
    t.check(seconds < 4 * t.scale, f"it took {seconds:.1f} s where 2 are allowed")
    reported = lines_since(t, start, "not stored")
    # On a busy machine a batch has waited for 5 s before the end, perhaps since before the stop. Then the senders were
    # answered `unavailable`, nothing waits, and the log has the outage instead.
    given_up = frozen > 4 and lines_since(t, start, "PostgreSQL does not answer") > 0
    t.check(1 <= reported <= 8 or reported == 0 and given_up,
            f"the log has {reported} lines of unstored messages, and {'an' if given_up else 'no'} outage")
    gateway.launch()
    gateway.wait_ready(200)
    t.restarted()
    judge(t, crowd, store)


@row("R12b", "no descriptor left: the first search gets a response, and SIGTERM stores the batch, status 0",
     counts("committed", 20), profile="stage", stage={"drain": 4}, seconds=20, memory=8 * MIB)
def drained_without_descriptors(t):
    gateway = t.gateway
    operator = gateway.make_tokens("operator")[0]["token"]
    search = t.peer()
    search.send(f"GET /healthz HTTP/1.1\r\nHost: {search.host}\r\n\r\n".encode())
    t.check(search.response().status == 200, "/healthz is not 200")
    # The first expensive statement starts a thread, which opens a connection to PostgreSQL.
    is_first = "readers" not in gateway.thread_names()
    old = gateway.leave_no_descriptor()
    search.send(f"GET {SEARCH} HTTP/1.1\r\nHost: {search.host}\r\nAuthorization: Bearer {operator}\r\n\r\n".encode())
    answer = search.response(60 * t.scale)
    t.note(f"the {'first' if is_first else 'second'} search returns {answer.status}")
    t.check(answer.status == (503 if is_first else 200), f"the search returns {answer.status} {answer.body!r}")
    gateway.limit_descriptors(old)
    crowd = crowded(t)
    old = gateway.leave_no_descriptor()
    held = crowd.total("acks") + 20
    crowd.wait(lambda: crowd.total("acks") > held, 20 * t.scale, "messages are stored meanwhile")
    gateway.process.terminate()
    status, seconds = ended(t, 30 * t.scale)
    t.note(f"ended after {seconds:.1f} s")
    t.check(status == 0, f"status {status}")
    t.check(crowd.closes().keys() == {4000}, f"clients were closed with {dict(crowd.closes())}")
    gateway.launch()
    gateway.wait_ready(200)
    gateway.limit_descriptors(old)
    t.restarted()
    judge(t, crowd, gateway.store)
