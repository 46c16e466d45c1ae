"""Table D: permessage-deflate (RFC 7692), offered and used in every wrong way."""

import json
import os
import random
import time
import zlib

from harness.chat import Chat
from harness.frames import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, frame
from harness.gateway import PROFILES
from harness.peer import Failure
from harness.registry import closed, counts, fault, row

from .common import HELLO_BYTES, KIB, MESSAGE_BYTES, MIB

NAME = "Sec-WebSocket-Extensions"
PLAIN = "permessage-deflate"
TAIL = b"\x00\x00\xff\xff"
#: Set in the first byte of a deflated message.
RSV1 = 4

PROFILES["takeover"] = (["--debug-echo"], {
    "CHIRRUP_COMPRESSION_CONTEXT_TAKEOVER": "true", "CHIRRUP_COMPRESSION_WINDOW_BITS": "12",
    "CHIRRUP_COMPRESSION_THRESHOLD_BYTES": "64"})


def deflated(data, bits=15, level=6, deflater=None):
    """The payload of a deflated message (§7.2.1)."""
    deflater = deflater or zlib.compressobj(level, zlib.DEFLATED, -bits)
    out = deflater.compress(data) + deflater.flush(zlib.Z_SYNC_FLUSH)
    assert out.endswith(TAIL)
    return out[:-4]


def inflated(data):
    return zlib.decompressobj(-15).decompress(data + TAIL)


def agree(t, offer=PLAIN, path="/debug/echo", **options):
    """Opens a WebSocket with this offer; `.answer` is the extension that the server accepted."""
    peer = t.peer(**options)
    response = peer.upgrade(path, [(NAME, value) for value in ([offer] if isinstance(offer, str) else offer)]
                            + [("X-Canary", t.canary)])
    peer.answer = response.get(NAME)
    peer.deflate = peer.answer is not None
    return peer


def echoes(peer, data, opcode=BINARY, payload=None):
    """Checks that a deflated message comes back unchanged, deflated or not."""
    peer.send(frame(opcode, deflated(data) if payload is None else payload, rsv=RSV1))
    found, back, _, rsv = peer.frame()
    if rsv:
        back = inflated(back)
    if (found, back) != (opcode, data):
        raise Failure(f"{len(data)} bytes came back as opcode {found} with {len(back)} bytes")


def parameters(answer):
    return [part.strip() for part in answer.split(";")]


@row("D01", "offers and their answers", counts("frames_received", 8))
def offers(t):
    cases = [
        (PLAIN, []), (f"{PLAIN}; client_max_window_bits", []), (f"{PLAIN};server_no_context_takeover", []),
        (f"{PLAIN}; client_max_window_bits=10", []), (f"{PLAIN}; server_max_window_bits=10", ["server_max_window_bits=10"]),
        (f"{PLAIN}; server_max_window_bits=9, {PLAIN}", ["server_max_window_bits=9"]),
        (f"{PLAIN}; unknown, {PLAIN}; server_max_window_bits=11", ["server_max_window_bits=11"]),
        (f"x-other, {PLAIN}", []), ([f"{PLAIN}; nonsense=1", PLAIN], []),
    ]
    for offer, wanted in cases:
        peer = agree(t, offer)
        if not t.check(peer.answer, f"{offer} is declined"):
            continue
        found = parameters(peer.answer)
        t.check(found[0] == PLAIN and {"server_no_context_takeover", "client_no_context_takeover"} <= set(found[1:]),
                f"{offer}: {peer.answer}")
        named = [part for part in found[1:] if part.startswith("server_max")]
        t.check(named == wanted, f"{offer}: {peer.answer}")
        if "client_max_window_bits" not in str(offer):
            t.check("client_max_window_bits" not in peer.answer, f"{offer}: {peer.answer}")
        echoes(peer, b"hello " * 100)
        peer.close()
    t.check(agree(t, []).answer is None, "an answer without an offer")


def declined(t, offer):
    """Checks that the offer is declined and the connection works without compression."""
    peer = agree(t, offer)
    if peer.answer is not None:
        raise Failure(f"answered {peer.answer}")
    peer.echo()
    peer.send(frame(BINARY, deflated(b"x"), rsv=RSV1))
    peer.expect_close(1002)


@row("D02", "parameters that are unknown, repeated, or have an invalid value", fault("frame", "reserved bits set", 7))
def parameters_wrong(t):
    t.each([f"{PLAIN}; unknown", f"{PLAIN}; server_no_context_takeover; server_no_context_takeover",
            f"{PLAIN}; server_no_context_takeover=1", f"{PLAIN}; client_no_context_takeover=true",
            f"{PLAIN}; client_max_window_bits; client_max_window_bits=15",
            f"{PLAIN}; server_max_window_bits=10; server_max_window_bits=10", f"{PLAIN}; server_max_window_bits",
            f"{PLAIN}; =", f"{PLAIN}=1", "permessage-deflat"], lambda offer: declined(t, offer))


@row("D03", "invalid window bits", fault("frame", "reserved bits set", 20))
def window_bits(t):
    t.each([f"{PLAIN}; {side}_max_window_bits={value}" for side in ("server", "client")
            for value in ("7", "16", "08", "015", "1e1", '"16"', '"1\\"5"', "-1", "+9", "0", "", '""', "15.0", "99999999999",
                          "9" * 400, "0x0f", "a")], lambda offer: declined(t, offer))


@row("D04", "a window of 256 bytes: declined for the server, accepted for the client", counts("frames_received", 2))
def smallest_window(t):
    declined(t, f"{PLAIN}; server_max_window_bits=8")
    peer = agree(t, f"{PLAIN}; server_max_window_bits=8, {PLAIN}")
    t.check(peer.answer and "max_window_bits" not in peer.answer, f"{peer.answer}")
    echoes(peer, b"the second offer")
    peer = agree(t, f"{PLAIN}; client_max_window_bits=8")
    t.check(peer.answer, "declined")
    echoes(peer, b"x" * 5_000, payload=deflated(b"x" * 5_000, bits=9))


@row("D05", "RSV1 where it has no meaning", fault("frame", "reserved bits set", 4), closed(1002))
def misplaced(t):
    def refused(data):
        peer = agree(t)
        peer.send(data)
        peer.expect_close(1002)

    payload = deflated(b"hello")
    t.each([("continuation", frame(TEXT, payload[:2], fin=False, rsv=RSV1) + frame(CONTINUATION, payload[2:], rsv=RSV1)),
            ("continuation of a plain message", frame(TEXT, b"x", fin=False) + frame(CONTINUATION, b"y", rsv=RSV1)),
            ("ping", frame(PING, b"x", rsv=RSV1)), ("pong", frame(PONG, b"x", rsv=RSV1)),
            ("close", frame(CLOSE, b"\x03\xe8", rsv=RSV1)), ("RSV2", frame(TEXT, payload, rsv=6))], refused)


@row("D06", "plain messages between deflated ones, and deflated empty ones", counts("frames_received", 8))
def mixed(t):
    peer = agree(t)
    for data in (b"", b"x", b"hello " * 1_000, os.urandom(70_000)):
        echoes(peer, data)
        peer.send(frame(BINARY, data))
        found, back, _, rsv = peer.frame()
        t.check((inflated(back) if rsv else back) == data, "a plain message comes back different")
    for payload in (b"\x00", b"", b"\x02\x00", b"\x00\x00\x00\xff\xff\x00"):
        try:
            echoes(peer, b"", TEXT, payload)
        except Failure as failure:
            t.check(payload == b"", f"{payload!r}: {failure}")
            peer = agree(t)
    peer = agree(t)
    payload = deflated("καλημέρα ".encode() * 50)
    for index, part in enumerate(payload[start:start + 3] for start in range(0, len(payload), 3)):
        peer.send(frame(TEXT if index == 0 else CONTINUATION, part, fin=False, rsv=RSV1 if index == 0 else 0))
        if index == 2:
            peer.send(frame(PING, b"between"))
            peer.expect(PONG, b"between")
    peer.send(frame(CONTINUATION, b""))
    found, back, _, rsv = peer.frame()
    t.check((inflated(back) if rsv else back).decode() == "καλημέρα " * 50, "fragments come back different")


GARBAGE = [
    ("random", bytes([0x07]) + b"\xa5" * 60), ("a reserved block type", b"\x06"), ("a reserved block type, last", b"\x07\xff"),
    ("stored, its length not twice", b"\x00\x05\x00\x00\x00hello"), ("cut in a stored block", b"\x00\xff\x00\x00\xffhello"),
    ("too many lengths", b"\xfc\xff\xff"), ("cut in the middle", deflated(b"hello, this is rather long " * 5)[:9]),
]


@row("D07", "data that are not DEFLATE: 1007, and no memory stays", closed(1007, 6))
def garbage(t):
    zdict = b"the quick brown fox jumps over the lazy dog " * 3
    far = zlib.compressobj(9, zlib.DEFLATED, -15, zdict=zdict)
    far = far.compress(zdict) + far.flush(zlib.Z_SYNC_FLUSH)

    def refused(payload, opcode=BINARY):
        peer = agree(t)
        peer.send(frame(opcode, payload, rsv=RSV1))
        peer.expect_close((1007, 1002))

    t.each([*GARBAGE, ("a distance too far", far[:-4])], refused)
    t.each([("text that is not UTF-8", deflated(b"ok \xff")), ("a character cut", deflated(b"ok \xe2\x82"))],
           lambda payload: refused(payload, TEXT))
    # Random bytes, often: some of them may be right by chance.
    seed = int.from_bytes(os.urandom(4), "big")
    rolls = random.Random(seed)
    t.note(f"seed {seed}")
    for _ in range(200):
        peer = agree(t)
        peer.send(frame(BINARY, rolls.randbytes(rolls.randrange(1, 400)), rsv=RSV1))
        opcode, _, _, _ = peer.frame()
        t.check(opcode in (BINARY, CLOSE), f"opcode {opcode} of seed {seed}")
        peer.close()
        t.peers.clear()


def bomb(size):
    deflater = zlib.compressobj(9, zlib.DEFLATED, -15)
    parts = [deflater.compress(b"\0" * MIB) for _ in range(size // MIB)]
    return b"".join(parts) + deflater.flush(zlib.Z_SYNC_FLUSH)[:-4]


TOO_BIG = fault("deflate", "inflated message too big")


@row("D08", "64 KiB that inflate to 64 MiB: closed when the output passes the limit", TOO_BIG, closed(1009, 2), memory=34 * MIB)
def zip_bomb(t):
    data = bomb(60 * MIB)
    for name, peer, limit, sent in (
            ("before hello", agree(t, path="/api/v1/ws"), HELLO_BYTES, data[:HELLO_BYTES - 100]),
            ("echo", agree(t), 16 * MIB, data)):
        memory, before = t.gateway.memory(), t.gateway.processor_seconds()
        peer.send(frame(TEXT if name != "echo" else BINARY, sent, rsv=RSV1))
        peer.expect_close(1009)
        grown, spent = t.gateway.memory() - memory, t.gateway.processor_seconds() - before
        # The same zlib, here: it inflates as much as the gateway may.
        begin = time.thread_time()
        zlib.decompressobj(-15).decompress(sent, limit)
        ours = time.thread_time() - begin
        t.note(f"{name}: {len(sent)} bytes sent, {grown / KIB:.0f} KiB, {spent * 1000:.0f} ms, here {ours * 1000:.0f} ms")
        if not t.gateway.is_sanitized:
            t.check(grown < 2 * limit + MIB, f"{name}: {grown / KIB:.0f} KiB")
            # The kernel counts in hundredths of a second.
            t.check(spent < 0.1 + 8 * ours, f"{name}: {spent:.2f} s, and {ours:.2f} s here")
    # Behind hello: the limit is the message's.
    peer = agree(t, path="/api/v1/ws")
    chat = Chat(peer)
    account = t.gateway.token("visitor")
    chat.hello(account["token"])
    peer.send(frame(TEXT, data[:MESSAGE_BYTES - 100], rsv=RSV1))
    peer.expect_close(1009)


@row("D09", "the bomb in 100 fragments, with pings between", TOO_BIG, closed(1009), memory=34 * MIB)
def fragmented_bomb(t):
    data, memory = bomb(60 * MIB), t.gateway.memory()
    step = len(data) // 99
    peer = agree(t)
    for index in range(0, len(data), step):
        if not peer.send(frame(BINARY if index == 0 else CONTINUATION, data[index:index + step],
                               fin=index + step >= len(data), rsv=RSV1 if index == 0 else 0)
                         + frame(PING, b"between")):
            break
    peer.expect_close(1009)
    if not t.gateway.is_sanitized:
        t.check(t.gateway.memory() - memory < 34 * MIB, "memory grows with the bomb")


@row("D10", "a bomb from each of 1,000 clients before hello: others are served", TOO_BIG, closed(1009, 900), memory=12 * MIB)
def bombs(t):
    data = frame(TEXT, bomb(8 * MIB)[:HELLO_BYTES - 100], rsv=RSV1)
    memory = t.gateway.memory()
    waits, most = [], 0
    # A connection without hello is closed after ten seconds: a hundred at once are ready in time on any machine.
    for _ in range(10):
        peers = [agree(t, path="/api/v1/ws") for _ in range(100)]
        for index, peer in enumerate(peers):
            peer.send(data)
            if index % 10 == 0:
                waits.append(t.witness.answer(30 * t.scale))
        most = max(most, t.gateway.memory() - memory)
        for peer in peers:
            peer.expect_close(1009, then_gone=False)
    waits.sort()
    t.note(f"{most / KIB:.0f} KiB for 1,000 bombs; half of the others' echoes in {waits[len(waits) // 2] * 1000:.1f} ms")
    t.check(waits[len(waits) // 4] < 0.1 * t.scale, "others wait")
    if not t.gateway.is_sanitized:
        t.check(most < 1_000 * HELLO_BYTES * 2, f"{most / KIB:.0f} KiB")


@row("D11", "a last block, several blocks, stored blocks, flushes in the middle (§7.2.3)", counts("frames_received", 5))
def blocks(t):
    text = b"hello, this is a text of some length. " * 20
    last = zlib.compressobj(6, zlib.DEFLATED, -15)
    final = last.compress(text) + last.flush(zlib.Z_FINISH) + b"\x00"
    several = zlib.compressobj(6, zlib.DEFLATED, -15)
    pieces = b"".join(several.compress(text[start:start + 50]) + several.flush(zlib.Z_SYNC_FLUSH)
                      for start in range(0, len(text), 50))[:-4]
    full = zlib.compressobj(6, zlib.DEFLATED, -15)
    flushed = b"".join(full.compress(text[start:start + 90]) + full.flush(zlib.Z_FULL_FLUSH)
                       for start in range(0, len(text), 90))[:-4]
    fixed = zlib.compressobj(6, zlib.DEFLATED, -15, 8, zlib.Z_FIXED)
    fixed = (fixed.compress(text) + fixed.flush(zlib.Z_SYNC_FLUSH))[:-4]
    stored = b"\x00" + len(text).to_bytes(2, "little") + (len(text) ^ 0xFFFF).to_bytes(2, "little") + text + b"\x00"
    peer = agree(t)
    t.each([("last block", final), ("sync flushes", pieces), ("full flushes", flushed), ("fixed codes", fixed),
            ("stored", stored), ("level 0", deflated(text, level=0)), ("level 9", deflated(text, level=9))],
           lambda payload: echoes(peer, text, payload=payload))


@row("D12", "10,000 messages with context on both sides, then without", counts("frames_received", 10_000),
     profile="takeover", memory=3 * MIB)
def context(t):
    peer = agree(t, f"{PLAIN}; client_max_window_bits")
    t.check("no_context_takeover" not in peer.answer, f"{peer.answer}")
    t.note(peer.answer)
    bits = 15
    for part in parameters(peer.answer):
        if part.startswith("client_max_window_bits="):
            bits = int(part.split("=")[1])
    deflater = zlib.compressobj(6, zlib.DEFLATED, -bits)
    inflater = zlib.decompressobj(-15)
    rolls = random.Random(7)
    words = [rolls.randbytes(rolls.randrange(1, 20)) for _ in range(200)]
    batch = []
    for number in range(10_000):
        text = b" ".join(rolls.choices(words, k=rolls.randrange(0, 30))) + b"%d" % number
        batch.append(text)
        peer.send(frame(BINARY, deflated(text, deflater=deflater), rsv=RSV1))
        if len(batch) == 50:
            for wanted in batch:
                _, back, _, rsv = peer.frame()
                back = inflater.decompress(back + TAIL) if rsv else back
                if back != wanted:
                    raise Failure(f"message {number} comes back different")
            batch.clear()
    without = f"{PLAIN}; server_no_context_takeover; client_no_context_takeover"
    for offer in (without, f"{without}; server_max_window_bits=9"):
        peer = agree(t, offer)
        for number in range(50):
            echoes(peer, b"again and again " * number)


@row("D13", "2,000 idle connections that have sent deflated messages keep no zlib state", counts("accepted", 2_000), seconds=12,
     memory=12 * MIB)
def idle(t):
    memory = t.gateway.memory()
    # The echo has no time for a hello to keep.
    peers = [agree(t) for _ in range(2_000)]
    payload = frame(TEXT, deflated(b"the same again, " * 8), rsv=RSV1)
    for peer in peers:
        peer.send(payload)
    for peer in peers:
        peer.message()
    each = (t.gateway.memory() - memory) / len(peers)
    t.note(f"{each:.0f} bytes for each connection")
    if not t.gateway.is_sanitized:
        t.check(each < 4 * KIB, f"{each:.0f} bytes for each connection")


@row("D14", "secrets are never deflated together with a peer's text", counts("committed"))
def secrets(t):
    peer = agree(t, path="/api/v1/ws")
    chat = Chat(peer)
    account = t.gateway.token("visitor")
    kinds = {}

    def listen(until):
        while True:
            opcode, payload, _, rsv = peer.frame()
            text = inflated(payload) if rsv else payload
            for line in text.decode().split("\n"):
                event = json.loads(line)
                kinds.setdefault(event["type"], set()).add(bool(rsv))
                t.check(account["token"] not in line, "a token is sent")
            if event["type"] == until:
                return

    chat.say(type="hello", ref="h", token=account["token"], subscribe=[{"session": account["session"]}])
    listen("live")
    body = (t.canary + " ") * 60
    for number in range(3):
        chat.say(type="send", ref=number, session=account["session"], id=f"0198f0a0-0000-7000-8000-{os.urandom(6).hex()}",
                 body=body)
        listen("message")
    chat.say(type="history", ref="x", session=account["session"], after=0)
    listen("ok")
    t.note(f"deflated: {kinds}")
    t.check(kinds["message"] == {True}, "long messages are not deflated")
    for kind in ("welcome", "subscribed", "ack"):
        t.check(True not in kinds.get(kind, set()), f"{kind} is deflated")
