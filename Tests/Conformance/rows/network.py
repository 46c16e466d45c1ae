"""Table N: peers that disappear, flood, read slowly or stop reading."""

import json
import os
import random
import resource
import signal
import socket
import statistics
import subprocess
import sys
import threading
import time

from harness.frames import BINARY, TEXT, frame
from harness.gateway import set_loopback
from harness.peer import Failure, Gone, Peer
from harness.registry import closed, counts, fault, row

from .common import KIB, MIB


@row("N01", "thousands of silent connections: cheap, closed after 10 s, and other clients are served meanwhile",
     counts("accepted", 5_000), seconds=24, memory=16 * MIB)
def silent(t):
    count = 5_000 if t.gateway.is_sanitized else 15_000
    memory, crowd = t.gateway.memory(), []
    try:
        begin = time.monotonic()
        for number in range(count):
            one = socket.socket()
            # More than one address: the kernel has 28,000 ports for each.
            one.bind((f"127.0.0.{2 + number % 4}", 0))
            one.connect(t.gateway.address)
            crowd.append(one)
            if number % 100 == 0:
                # Connected, and reset at once.
                Peer(t.gateway.address).reset()
        took = time.monotonic() - begin
        # Short waits: on a slow machine the first connections are closed before the last ones are open.
        while t.gateway.figure("sockets") < count and time.monotonic() - begin < 9:
            time.sleep(0.1)
        each = (t.gateway.memory() - memory) / count
        waits = []
        while time.monotonic() - begin < 8 or len(waits) < 3:
            start = time.monotonic()
            peer = Peer(t.gateway.address)
            peer.upgrade()
            peer.echo()
            waits.append(time.monotonic() - start)
            peer.close()
            time.sleep(0.1)
        t.note(f"{count} connections in {took:.1f} s, {each:.0f} bytes each")
        t.note(f"a real client waits {statistics.median(waits) * 1000:.1f} ms, at most {max(waits) * 1000:.1f} ms")
        t.check(min(waits) < 0.1 * t.scale, "real clients wait too long")
        if not t.gateway.is_sanitized:
            t.check(each < 4096, f"each costs {each:.0f} bytes")
        last = crowd[-1]
        last.settimeout(60 * t.scale)
        t.check(last.recv(1) == b"", "the last one is not dropped")
        t.note(f"the last was dropped after {time.monotonic() - begin - took:.0f} s")
        t.check(time.monotonic() - begin - took < 40 * t.scale, f"dropped after {time.monotonic() - begin:.0f} s")
    finally:
        for one in crowd:
            one.close()


@row("N02a", "logins without a free descriptor: each gets a response, and the process does not end",
     counts("http_requests", 20), seconds=8, memory=160 * MIB)
def exhausted_logins(t):
    peer = t.open()
    # One address each, since 20 tries a minute are allowed to one.
    clients = [Peer(t.gateway.address, source=f"127.0.7.{1 + number}") for number in range(8)]
    for client in clients:
        # Until it is accepted, it has no descriptor.
        client.send(f"GET /healthz HTTP/1.1\r\nHost: {client.host}\r\n\r\n".encode())
        client.response()
    old = t.gateway.leave_no_descriptor()
    answers, broken = [], []

    def guess(client, number):
        try:
            for trial in range(20):
                body = json.dumps({"email": f"{number}-{trial}@nowhere.example", "password": "wrong"}).encode()
                client.send(f"POST /api/v1/auth/login HTTP/1.1\r\nHost: {client.host}\r\nContent-Type: application/json\r\n"
                            f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
                answers.append(client.response(120 * t.scale).status)
                if len(answers) >= 20 and time.monotonic() - begin > 4:
                    return
        except (Failure, OSError) as failure:
            broken.append(f"{len(answers)} answers, then: {failure}")

    begin = time.monotonic()
    guessing = [threading.Thread(target=guess, args=pair) for pair in zip(clients, range(len(clients)))]
    try:
        for thread in guessing:
            thread.start()
        while any(thread.is_alive() for thread in guessing) and t.gateway.is_alive:
            peer.echo()
            time.sleep(0.05)
        for thread in guessing:
            thread.join()
    finally:
        if t.gateway.is_alive:
            t.gateway.limit_descriptors(old)
    t.check(t.gateway.is_alive, f"the gateway ended with status {t.gateway.process.poll()}")
    t.check(not broken and set(answers) <= {401, 429} and 401 in answers, f"{broken} {set(answers)}")
    t.note(f"{answers.count(401)} passwords checked and {answers.count(429)} turned away in {time.monotonic() - begin:.1f} s")
    names = t.gateway.thread_names()
    t.note(f"threads: {' '.join(names)}")
    # A thread of a library's pool bears the name of the process, as the first one does.
    t.check(names.count(names[0]) == 1, f"somebody else's threads run in the gateway: {names}")
    for client in clients:
        client.close()


@row("N02b", "no descriptors left: no busy loop, open connections stay, and it recovers",
     fault("connect", "no descriptors or memory left"), seconds=8)
def exhausted(t):
    peer = t.open()
    old = t.gateway.limit_descriptors(t.gateway.descriptors() + 8)
    crowd = []
    try:
        for _ in range(40):
            one = socket.socket()
            one.connect(t.gateway.address)
            crowd.append(one)
        time.sleep(0.5)
        before, begin = t.gateway.processor_seconds(), time.monotonic()
        for _ in range(20):
            peer.echo()
            time.sleep(0.1)
        spent, taken = t.gateway.processor_seconds() - before, time.monotonic() - begin
        t.note(f"{spent:.2f} s of processor time in {taken:.1f} s without descriptors")
        t.check(spent < 0.2 * t.scale * taken, f"{spent:.2f} s of processor time in {taken:.1f} s: it spins")
    finally:
        t.gateway.limit_descriptors(old)
    begin = time.monotonic()
    t.open().echo()
    t.note(f"the next client was served {time.monotonic() - begin:.1f} s after the limit was lifted")
    for one in crowd:
        one.close()


@row("N02c", "a limit of descriptors below the minimum: refused at the start, with the remedy")
def too_few_descriptors(t):
    done = subprocess.run(
        [t.gateway.binary, "serve", "--listen", "127.0.0.1:0", "--database-url", t.gateway.cluster.url(t.gateway.database)],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)), stdin=subprocess.DEVNULL,
        capture_output=True, timeout=60 * t.scale)
    said = done.stderr.decode()
    t.note(said.strip())
    t.check(done.returncode > 0 and "the system allows 64 open descriptors" in said and "ulimit -n" in said,
            f"status {done.returncode}: {said[:300]}")


@row("N03", "resets before, during and after the handshake, SIGSTOP and SIGCONT: ignored, and all is freed",
     counts("accepted", 500), closed(1006, 100))
def resets(t):
    for _ in range(200):
        Peer(t.gateway.address).reset()
    for _ in range(100):
        peer = Peer(t.gateway.address)
        peer.send(peer.handshake_bytes()[:random.randrange(1, 150)])
        peer.reset()
    for _ in range(100):
        peer = Peer(t.gateway.address)
        peer.send(peer.handshake_bytes())
        peer.reset()
    for _ in range(100):
        # Behind the 101, with an answer on its way that nobody will read: EPIPE, and no SIGPIPE.
        peer = Peer(t.gateway.address)
        peer.upgrade()
        peer.send(frame(BINARY, b"x" * 60_000))
        peer.reset()
    # Interrupted system calls.
    peer = t.open()
    for _ in range(20):
        os.kill(t.gateway.pid, signal.SIGSTOP)
        peer.send(frame(BINARY, b"while it sleeps"))
        os.kill(t.gateway.pid, signal.SIGCONT)
        peer.expect(BINARY, b"while it sleeps")


@row("N04", "a subscriber that stops reading: its queue is bounded, it is closed with 4101, others are not affected",
     closed(4101), counts("slow_consumers"), fault("conversation", "output is read too slowly"), seconds=48,
     memory=8 * MIB)
def slow_reader(t):
    slow = t.chat(receive_buffer=131072)
    reader = t.chat("operator", session=slow.session, after=0)
    senders = [t.chat("operator", session=slow.session, tail=1) for _ in range(4)]
    memory, seqs, waits = t.gateway.memory(), [], []
    begin = time.monotonic()

    def drain(chat):
        try:
            while True:
                chat.next(120)
        except (Failure, OSError):
            pass

    def read():
        try:
            while True:
                event = reader.next(120)
                if event["type"] == "message":
                    seqs.append(event["seq"])
        except (Failure, OSError):
            pass

    threads = [threading.Thread(target=read, daemon=True)]
    threads += [threading.Thread(target=drain, args=(chat,), daemon=True) for chat in senders[1:]]
    for thread in threads:
        thread.start()
    # Its queue is full at some time, and thirty seconds later it is closed; the others go on all the while.
    number = grown = 0
    is_closed, look = False, begin
    while not is_closed and time.monotonic() - begin < 150:
        number += 1
        for chat in senders[1:]:
            chat.say(type="send", ref=number, session=slow.session, id=new_id(), body=f"{number} " + "x" * 16_000)
        sent = time.monotonic()
        senders[0].send(slow.session, f"timed {number}")
        waits.append(time.monotonic() - sent)
        time.sleep(0.06)
        if time.monotonic() > look:
            look = time.monotonic() + 1
            grown = max(grown, t.gateway.memory() - memory)
            is_closed = t.gateway.figure("slow_consumers_total") >= 1
    waits.sort()
    t.note(f"{len(seqs)} messages in {time.monotonic() - begin:.0f} s; the ack takes "
           f"{waits[len(waits) // 2] * 1000:.1f} ms, memory + {grown / KIB:.0f} KiB")
    t.check(waits[len(waits) // 4] < 0.1 * t.scale, "the sender waits")
    t.check(seqs == list(range(1, len(seqs) + 1)) and len(seqs) > number, "another subscriber misses something")
    if not t.gateway.is_sanitized:
        t.check(grown < 12 * MIB, f"{grown / KIB:.0f} KiB for one who does not read")
    for chat in [*senders[1:], reader]:
        # Before it is closed: a thread still reads it.
        chat.peer.socket.shutdown(socket.SHUT_RDWR)
    # Earlier output can still be read; the new connection gets the rest, in order, once.
    slow.peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MIB)
    last = 0
    try:
        while True:
            event = slow.next(20)
            if event["type"] == "message":
                t.check(event["seq"] == last + 1, f"{event['seq']} behind {last}")
                last = event["seq"]
    except Failure:
        pass
    total = t.chat("operator", session=slow.session, tail=1).send(slow.session, "the end")["seq"]
    again = t.chat(account=slow.account, after=last, timeout=120)
    while last < total:
        event = again.until("message")
        t.check(event["seq"] == last + 1, f"{event['seq']} behind {last} after the resume")
        last = event["seq"]


def new_id():
    text = os.urandom(16).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


@row("N05", "no network in either direction: freed by the ping timeout, and other clients get no ping", closed(4102, 10),
     profile="isolated", seconds=58)
def half_open(t):
    begin = time.monotonic()
    chats = [t.chat() for _ in range(10)]
    with_witness = t.gateway.descriptors()
    # Its end must arrive before the network goes: an echo has no heartbeat.
    t.witness.close()
    t.witness.peer = None
    while t.gateway.descriptors() >= with_witness:
        time.sleep(0.05)
    idle = t.gateway.lasting_descriptors() - len(chats)
    set_loopback(False)
    try:
        t.eventually(lambda: t.gateway.lasting_descriptors() <= idle, 120 * t.scale)
        taken = time.monotonic() - begin
        t.note(f"freed after {taken:.0f} s")
        t.check(30 < taken < 100 * t.scale, f"freed after {taken:.0f} s")
    finally:
        set_loopback(True)
    t.witness.peer = None
    for chat in chats:
        again = t.chat(account=chat.account, after=0)
        again.until("live")
        again.peer.close()


@row("N09", "partial writes and segments of seven bytes: frames are never cut or mixed", counts("frames_received", 39),
     seconds=20, memory=12 * MIB)
def slices(t):
    peer = t.open(receive_buffer=2304, segment=88, timeout=60 * t.scale)
    sizes = [0, 1, 125, 126, 1000, 65_535, 65_536, 200_000, 3, 7] * 3
    payloads = [os.urandom(size) for size in sizes]
    writer = threading.Thread(target=lambda: [peer.send(frame(BINARY, payload)) for payload in payloads], daemon=True)
    writer.start()
    # Seven bytes at a time at first, then as the kernel has them.
    for _ in range(3_000):
        data = peer.socket.recv(7)
        if not data:
            raise Gone("the connection was closed")
        peer.buffer += data
    for payload in payloads:
        peer.expect(BINARY, payload, 60 * t.scale)
    writer.join(10)
    # And in: every frame in slices of seven bytes.
    peer = t.open(timeout=60 * t.scale)
    for payload in (os.urandom(size) for size in (0, 1, 6, 7, 125, 126, 127, 3_000, 70_000)):
        data = frame(BINARY, payload)
        for start in range(0, len(data), 7):
            peer.send(data[start:start + 7])
        peer.expect(BINARY, payload)


FLOOD = """
import socket, sys, threading
sys.path.insert(0, sys.argv[1])
from harness.peer import Peer
from harness.frames import BINARY, frame
if sys.argv[2] == "burn":
    while True:
        pass
peer = Peer(("127.0.0.1", int(sys.argv[2])))
peer.upgrade()
data = frame(BINARY, b"x" * 60_000) * 8
def read():
    while peer.socket.recv(1 << 20):
        pass
threading.Thread(target=read, daemon=True).start()
while True:
    peer.socket.sendall(data)
"""


@row("N10", "one client floods with valid frames: the others' slowest echoes take at most twice as long as on a busy machine",
     counts("frames_received", 1_000), seconds=18, memory=8 * MIB)
def unfair(t):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    peers = [t.open() for _ in range(8)]

    def slowest(what):
        """Returns the 99th percentile of echoes while a process of this kind runs."""
        process = subprocess.Popen([sys.executable, "-c", FLOOD, root, what])
        try:
            time.sleep(0.4)
            waits = []
            for turn in range(400):
                begin = time.monotonic()
                peers[turn % len(peers)].echo(b"x" * 100)
                waits.append(time.monotonic() - begin)
                time.sleep(0.004)
            return sorted(waits)[int(len(waits) * 0.99)]
        finally:
            process.kill()
            process.wait()

    # The flooding client takes a core as well as the gateway: compared is a process that takes one without flooding.
    # A fault of the gateway is in every round: the best round is compared with the worst one of the machine.
    flooded, busy = [], []
    for _ in range(6):
        bytes_before = t.gateway.figure("received_bytes_total")
        begin = time.monotonic()
        flooded.append(slowest(str(t.gateway.address[1])))
        rate = (t.gateway.figure("received_bytes_total") - bytes_before) / (time.monotonic() - begin) / MIB
        busy.append(slowest("burn"))
        t.note(f"99 % within {flooded[-1] * 1000:.1f} ms under {rate:.0f} MiB/s; {busy[-1] * 1000:.1f} ms beside a busy process")
        if min(flooded) < max(2 * max(busy), 0.02 * t.scale):
            return
    t.check(False, f"99 % of echoes take {min(flooded) * 1000:.1f} ms, {max(busy) * 1000:.1f} ms beside a busy process")


@row("N12", "half-closed with unread output: flushed or closed within 5 s, and freed", closed(1006),
     counts("http_requests", 3), seconds=9, memory=4 * MIB)
def half_closed(t):
    # HTTP: the answer still comes.
    for path in ("/healthz", "/console", "/api/v1/widget/config?workspace=none"):
        peer = t.peer()
        peer.send(f"GET {path} HTTP/1.1\r\nHost: {peer.host}\r\nConnection: close\r\n\r\n".encode())
        time.sleep(0.1)
        peer.socket.shutdown(socket.SHUT_WR)
        t.check(peer.response().status in (200, 404, 400), f"{path} is not answered")
        peer.expect_gone()
    # WebSocket: nobody reads the echo.
    peers = [t.open(receive_buffer=4096) for _ in range(5)]
    for peer in peers:
        peer.send(frame(BINARY, b"x" * 400_000))
        peer.socket.shutdown(socket.SHUT_WR)
    chat = t.chat()
    chat.peer.send(frame(TEXT, '{"type":"nothing","ref":1}'))
    chat.peer.socket.shutdown(socket.SHUT_WR)
    begin = time.monotonic()
    is_freed = t.eventually(lambda: t.gateway.figure("sockets") <= 2)
    taken = time.monotonic() - begin
    t.note(f"freed after {taken:.1f} s")
    # Five seconds, and not the thirty of one who does not read.
    t.check(is_freed and taken < 20 * t.scale, f"half-closed connections are freed after {taken:.1f} s and not 5")
