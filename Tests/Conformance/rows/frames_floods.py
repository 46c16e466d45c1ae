"""Table F: floods, silence and random bytes."""

import os
import random
import socket
import time
from collections import Counter

from harness import frames as f
from harness.frames import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, frame, fragments, header
from harness.peer import Failure, Gone, close_of
from harness.registry import closed, counts, fault, row

from .common import KIB, MESSAGE_BYTES, MESSAGE_FRAGMENTS, MIB, broken, command_of


@row("F12", "a frame header cut after 1 to 13 bytes, then nothing: closed by the timeout of hello or ping",
     fault("conversation", "no hello in time", 13), fault("conversation", "no answer to ping", 13), seconds=46)
def cut_header(t):
    whole = header(0x81, MESSAGE_BYTES)
    begin = time.monotonic()
    chats = [t.chat(timeout=120) for _ in range(1, 14)]
    waiting = []
    for count, chat in enumerate(chats, 1):
        # No token has to be made between a connection and its piece: that could take longer than the hello may.
        waiting.append(t.hello_less(timeout=120))
        waiting[-1].send(whole[:count])
        chat.peer.send(whole[:count])
    opened = time.monotonic()
    memory = t.gateway.memory()
    for peer in waiting:
        peer.expect_close(4201, then_gone=False)
    # From the first to the last: never too early, and late by no more than a busy machine is.
    now = time.monotonic()
    t.check(now - begin >= 9.9 and now - opened <= 30 * t.scale, f"hello timeout after {now - opened:.1f} s")
    for peer in waiting:
        peer.expect_gone()
    for chat in chats:
        chat.peer.expect_close(4102, then_gone=False)
    now = time.monotonic()
    t.check(now - begin >= 34.9 and now - opened <= 60 * t.scale, f"ping timeout after {now - opened:.1f} s")
    if not t.gateway.is_sanitized:
        t.check(t.gateway.memory() - memory < MIB, "memory grows while nothing comes")


def endless(t, peer, payload, most):
    """Sends non-final fragments until the gateway closes. Returns how many it accepted at most."""
    one = frame(CONTINUATION, payload, fin=False)
    sent = 1
    peer.send(frame(TEXT, payload, fin=False))
    while sent < most and peer.send(one * 64):
        sent += 64
    peer.expect_close((1009, 1008), 60 * t.scale)
    return sent


@row("F19", "endless fragments of one byte", broken("too many fragments", 2), closed(1009))
def endless_fragments(t):
    endless(t, t.chat().peer, b" ", 10_000)
    endless(t, t.open(), b" ", 200_000)
    # Exactly so many are allowed.
    chat = t.chat()
    command = command_of(MESSAGE_FRAGMENTS, "many")
    chat.peer.send(b"".join(fragments(TEXT, [command[index:index + 1] for index in range(len(command))])))
    chat.expect_error("unknown_type", ref="many")


@row("F20", "131,073 empty fragments", broken("too many fragments"), closed(1009))
def empty_fragments(t):
    before, memory = t.gateway.processor_seconds(), t.gateway.memory()
    peer = t.open()
    count = endless(t, peer, b"", 131_073)
    spent = t.gateway.processor_seconds() - before
    t.note(f"{count} sent, {spent:.2f} s of processor time")
    t.check(spent < 2 * t.scale, f"{spent:.2f} s of processor time")
    if not t.gateway.is_sanitized:
        t.check(t.gateway.memory() - memory < MIB, "memory grows with empty fragments")


@row("F21", "a message of 64 KiB in frames of one byte, one frame a segment", counts("frames_received"), memory=2 * MIB)
def tiny_frames(t):
    size = 65_535
    peer = t.open(timeout=60 * t.scale)
    memory, before = t.gateway.memory(), t.gateway.processor_seconds()
    payload = os.urandom(size)
    for part in fragments(BINARY, [payload[index:index + 1] for index in range(size)]):
        peer.send(part)
    grown = t.gateway.memory() - memory
    t.check(peer.message()[1] == payload, "the message is not the same")
    t.note(f"{t.gateway.processor_seconds() - before:.2f} s of processor time, {grown / KIB:.0f} KiB")
    if not t.gateway.is_sanitized:
        t.check(grown < 4 * size, f"{grown / KIB:.0f} KiB for a message of 64 KiB")
    peer = t.chat().peer
    for part in fragments(TEXT, [b" "] * 200):
        if not peer.send(part):
            break
    peer.expect_close(1009)


@row("F22", "a message of 1 MiB in segments of one byte costs linear time", counts("frames_received", 2),
     seconds=15, memory=12 * MIB)
def tiny_segments(t):
    def spent(size):
        peer = t.open(timeout=120 * t.scale)
        before = t.gateway.processor_seconds()
        data = frame(BINARY, b"x" * size)
        peer.send_bytewise(data)
        t.check(peer.message()[1] == b"x" * size, "the message is not the same")
        return t.gateway.processor_seconds() - before

    small, large = spent(128 * KIB), spent(MIB)
    t.note(f"128 KiB: {small:.2f} s of processor time, 1 MiB: {large:.2f} s")
    # Eight times the bytes; a quadratic copy would cost 64 times as much, at least 25 s. On a busy machine the gateway
    # finds many segments at once, and the small message costs next to nothing: 0.4 s are 3 µs for each of its segments,
    # what one costs that is read alone.
    t.check(large < 24 * max(small, 0.4), f"{small:.2f} s for 128 KiB, {large:.2f} s for 1 MiB")


@row("F27", "pings with unread pongs stop the reading; unsolicited pongs cost nothing",
     fault("conversation", "output is read too slowly"), closed(4101), counts("frames_received", 100_000),
     seconds=44, memory=4 * MIB)
def pings_without_reading(t):
    flat = t.open(timeout=60 * t.scale)
    memory = t.gateway.memory()
    pongs = frame(PONG, b"x" * 20) * 1000
    for _ in range(1000 if not t.gateway.is_sanitized else 200):
        flat.send(pongs)
    flat.echo(b"behind a million pongs", 60 * t.scale)
    grown = t.gateway.memory() - memory
    begin = time.monotonic()
    peer = t.open(receive_buffer=4096)
    # So long nothing is taken only by a gateway that has stopped reading, not by one that waits for its turn.
    peer.socket.settimeout(6)
    ping, sent = frame(PING, b"x" * 125) * 100, 0
    try:
        while sent < 40 * MIB:
            sent += peer.socket.send(ping)
    except (TimeoutError, socket.timeout):
        pass
    waiting = t.gateway.memory() - memory
    t.note(f"{grown / KIB:.0f} KiB after the pongs; {sent / KIB:.0f} KiB of pings were taken; {waiting / KIB:.0f} KiB")
    t.check(sent < 30 * MIB, "the gateway goes on reading from who does not read")
    if not t.gateway.is_sanitized:
        t.check(max(grown, waiting) < 2 * MIB, f"memory grows by {max(grown, waiting) / KIB:.0f} KiB")
    t.eventually(lambda: t.gateway.figure("connections") <= 2, 120)
    taken = time.monotonic() - begin
    t.check(28 <= taken < 80 * t.scale, f"ended after {taken:.0f} s and not after 30 to 36")


@row("F31", "HTTP, TLS and random bytes after the upgrade", broken("reserved bits set"), broken("reserved opcode"),
     closed(1002), memory=6 * MIB)
def noise(t):
    t.refuses(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", 1002)
    t.refuses(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + os.urandom(200), 1002)
    seed = int.from_bytes(os.urandom(4), "big")
    rolls, frames_sent = random.Random(seed), 0
    t.note(f"seed {seed}")
    for number in range(400):
        peer = t.open("/api/v1/ws" if number % 4 == 0 else "/debug/echo")
        for _ in range(rolls.randrange(1, 60)):
            frames_sent += 1
            if not peer.send(random_frame(rolls)):
                break
        if number % 3 == 0:
            peer.reset()
        else:
            peer.close()
        t.peers.clear()
        if not t.gateway.is_alive:
            raise Failure(f"the gateway died of the seed {seed}")
    t.note(f"{frames_sent} frames")


def random_frame(rolls):
    kind = rolls.random()
    payload = rolls.randbytes(rolls.choice((0, 1, 5, 125, 126, 300, 5000)))
    if kind < 0.1:
        return rolls.randbytes(rolls.randrange(1, 200))
    if kind < 0.6:
        return frame(rolls.choice((TEXT, BINARY, CONTINUATION, PING, PONG)), payload, fin=rolls.random() < 0.7)
    first, length = rolls.randrange(256), rolls.choice((0, 5, 125, 126, 65535, 65536, 1 << 31, (1 << 64) - 1))
    form = rolls.choice((7, 16, 64))
    if form == 7 and length > 127 or form == 16 and length > 65535:
        length = rolls.randrange(128)
    return header(first, length, form, rolls.choice((None, f.MASK))) + payload


@row("F32", "flipped bits: only 1002, 1007 and 1009", closed(1002), closed(1007), seconds=10, memory=8 * MIB)
def flipped_bits(t):
    seed = int.from_bytes(os.urandom(4), "big")
    rolls, codes, flips = random.Random(seed), Counter(), 0
    begin = time.monotonic()
    peers = [t.open() for _ in range(100)]
    # Until enough was flipped, which a slow machine takes longer for.
    while (taken := time.monotonic() - begin) < 8 or not (flips > 50 and {1002, 1007} <= set(codes)) and taken < 120:
        for index, peer in enumerate(peers):
            data = bytearray(frame(TEXT, "hello, is anybody there? ".encode() * rolls.randrange(1, 20)))
            is_flipped = rolls.random() < 0.05
            if is_flipped:
                flips += 1
                # A third in the opcode and the length: among all bytes they would be hit too rarely.
                data[rolls.randrange(2 if rolls.random() < 0.3 else len(data))] ^= 1 << rolls.randrange(8)
            peer.send(bytes(data))
            try:
                opcode, payload, _, _ = peer.frame(0.3 if is_flipped else 10)
                if opcode != CLOSE:
                    continue
                codes[close_of(payload)[0]] += 1
            except Gone:
                pass
            except Failure:
                # A frame that has become longer waits for the rest of it; the next ones are swallowed.
                peer.send(frame(TEXT, b"x" * 70_000))
                codes.update(close_codes(peer))
            peer.close()
            peers[index] = t.open()
        t.peers = list(peers)
    t.note(f"seed {seed}, {flips} flips, closes {dict(codes)}")
    t.check(set(codes) <= {1002, 1007, 1009}, f"closes {dict(codes)} of seed {seed}")
    t.check(flips > 50 and {1002, 1007} <= set(codes), f"{flips} flips, {dict(codes)}")


def close_codes(peer):
    """Returns the codes of the close frames that arrive before half a second without a frame, or the end."""
    codes = []
    try:
        while True:
            opcode, payload, _, _ = peer.frame(0.5)
            if opcode == CLOSE:
                codes.append(close_of(payload)[0])
    except Failure:
        return codes
