"""Table F: frames that break RFC 6455, or only look as if they did."""

import os
import time

from harness import frames as f
from harness.frames import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT, frame, fragments, header
from harness.registry import closed, counts, fault, row

from .common import (ECHO_BYTES, HELLO_BYTES, INVALID, KIB, MESSAGE_BYTES, MIB, OPCODES, TRUNCATED, broken,
                     command_of)


@row("F01", "an unmasked client frame", broken("frame not masked"), closed(1002))
def unmasked(t):
    t.each([(f"opcode {opcode}, {len(payload)} bytes", frame(opcode, payload, mask=None))
            for opcode in (TEXT, BINARY, CLOSE, PING, PONG) for payload in (b"", b"\x03\xe8hello")],
           lambda data: t.refuses(data, 1002))
    # Two bytes say it already.
    t.refuses(b"\x81\x05", 1002)


@row("F02", "masks of zeros and of ones, and always the same mask", counts("frames_received", 30))
def masks(t):
    peer = t.open()
    for mask in (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\1\2\3\4", b"\1\2\3\4", b"\1\2\3\4"):
        for size in (0, 1, 2, 3, 4, 5, 7, 8, 9, 125, 126, 65535, 65536):
            payload = os.urandom(size)
            peer.send(frame(BINARY, payload, mask=mask))
            peer.expect(BINARY, payload)


@row("F03", "RSV1 without permessage-deflate", broken("reserved bits set"), closed(1002))
def rsv1(t):
    t.each([(f"opcode {opcode}", frame(opcode, b"hello", rsv=4)) for opcode in OPCODES],
           lambda data: t.refuses(data, 1002))


@row("F04", "RSV2 and RSV3 with every opcode", broken("reserved bits set", 30), closed(1002))
def rsv(t):
    t.each([(f"opcode {opcode}, bits {bits}", frame(opcode, b"hello", rsv=bits))
            for opcode in OPCODES for bits in (1, 2, 3, 5, 7)], lambda data: t.refuses(data, 1002))
    t.refuses(frame(TEXT, b"be", fin=False) + frame(CONTINUATION, b"gin", rsv=2), 1002)


@row("F05", "opcodes that do not exist", broken("reserved opcode", 20), closed(1002))
def opcodes(t):
    t.each([(f"opcode {opcode}, FIN {fin}", frame(opcode, b"hello", fin=fin))
            for opcode in (3, 4, 5, 6, 7, 11, 12, 13, 14, 15) for fin in (True, False)],
           lambda data: t.refuses(data, 1002))


@row("F06", "fragmented control frames", broken("fragmented control frame", 3), closed(1002))
def fragmented_control(t):
    t.each([(f"opcode {opcode}", frame(opcode, b"", fin=False)) for opcode in (PING, PONG, CLOSE)],
           lambda data: t.refuses(data, 1002))


@row("F07", "control frames of 126 bytes and more", broken("control frame too long", 9), closed(1002))
def long_control(t):
    t.each([(f"opcode {opcode}, {form} bits", frame(opcode, b"x" * size, form=form))
            for opcode in (PING, PONG, CLOSE) for form, size in ((16, 126), (64, 126), (64, 65536))],
           lambda data: t.refuses(data, 1002))


@row("F08", "lengths that are not minimal", broken("length not minimal", 9), closed(1002))
def not_minimal(t):
    t.each([(f"opcode {opcode}, {size} in {form} bits", frame(opcode, b"x" * size, form=form))
            for opcode in (TEXT, BINARY)
            for form, size in ((16, 0), (16, 5), (16, 125), (64, 5), (64, 126), (64, 65535))],
           lambda data: t.refuses(data, 1002))


def grown_by(t, act):
    """Returns the bytes by which `act` increases the gateway's memory."""
    before = t.gateway.memory()
    act()
    time.sleep(0.2)
    return t.gateway.memory() - before


@row("F09", "a header that declares more than the limit is refused at once; a declared length allocates nothing",
     broken("message too big", 12), closed(1009))
def declared(t):
    sizes = [("2^32", 1 << 32), ("1 GiB", 1 << 30), ("2^63-1", (1 << 63) - 1), ("2^63-15", (1 << 63) - 15)]
    for name, path, limit in (("chat before hello", "/api/v1/ws", HELLO_BYTES), ("echo", "/debug/echo", ECHO_BYTES)):
        t.each([(f"{name}, {size}", header(0x81, value), path)
                for size, value in [("limit + 1", limit + 1), *sizes]],
               lambda data, path: t.refuses(data, 1009, path))
    chat = t.chat()
    chat.peer.send(header(0x81, MESSAGE_BYTES + 1))
    chat.peer.expect_close(1009)
    t.each([("second fragment of 2^63-1", frame(BINARY, b"x" * 100, fin=False) + header(0x80, (1 << 63) - 1))],
           lambda data: t.refuses(data, 1009))
    # 32 connections declare the allowed length and send one byte.
    peers = [t.open() for _ in range(32)]
    grown = grown_by(t, lambda: [peer.send(header(0x82, ECHO_BYTES) + b"x") for peer in peers])
    t.note(f"32 connections that declare 16 MiB each: {grown / KIB:.0f} KiB")
    if not t.gateway.is_sanitized:
        t.check(grown < 64 * KIB * 32, f"declared sizes cost {grown / KIB:.0f} KiB")


@row("F10", "64-bit lengths with the top bit set", broken("length out of range", 9), closed(1002))
def top_bit(t):
    cases = [(f"opcode {opcode}, {value:#x}", header(0x80 | opcode, value, form=64))
             for opcode in (TEXT, BINARY) for value in (1 << 63, (1 << 64) - 1, (1 << 63) + 5, (1 << 64) - 14)]
    # Known at the third byte of the header.
    t.each([*cases, ("three bytes", b"\x82\xff\x80")], lambda data: t.refuses(data, 1002))
    peers = [t.open() for _ in range(32)]
    grown = grown_by(t, lambda: [peer.send(header(0x82, (1 << 64) - 1, form=64)) for peer in peers])
    t.note(f"32 connections that declare 2^64-1: {grown / KIB:.0f} KiB")
    if not t.gateway.is_sanitized:
        t.check(grown < 64 * KIB * 32, f"declared sizes cost {grown / KIB:.0f} KiB")


def accepted_command(t, pieces):
    chat = t.chat()
    for piece in pieces("exact"):
        chat.peer.send(piece)
    chat.expect_error("unknown_type", ref="exact")


@row("F11", "messages of exactly the limit, and one byte more, whole and in fragments",
     broken("message too big", 5), closed(1009), memory=12 * MIB)
def at_the_limit(t):
    thirds = [MESSAGE_BYTES // 3, MESSAGE_BYTES // 3, MESSAGE_BYTES - 2 * (MESSAGE_BYTES // 3)]

    def cut(data):
        parts = [data[:thirds[0]], data[thirds[0]:2 * thirds[0]], data[2 * thirds[0]:]]
        return fragments(TEXT, parts)

    accepted_command(t, lambda ref: [frame(TEXT, command_of(MESSAGE_BYTES, ref))])
    accepted_command(t, lambda ref: cut(command_of(MESSAGE_BYTES, ref)))
    for pieces in ([frame(TEXT, command_of(MESSAGE_BYTES + 1, "x"))], cut(command_of(MESSAGE_BYTES + 1, "x"))):
        chat = t.chat()
        for piece in pieces:
            chat.peer.send(piece)
        chat.peer.expect_close(1009)
    # The hello has a limit of its own.
    account = t.gateway.token("visitor")
    for size, is_accepted in ((HELLO_BYTES, True), (HELLO_BYTES + 1, False)):
        head = f'{{"type":"hello","ref":"h","token":"{account["token"]}","pad":"'
        peer = t.hello_less()
        peer.send(frame(TEXT, head + "x" * (size - len(head) - 2) + '"}'))
        if is_accepted:
            t.check(b'"welcome"' in peer.message()[1], "a hello of 8 KiB is not welcomed")
        else:
            peer.expect_close(1009)
    # And the echo, 16 MiB: on several loops, several times, since each arena may keep free memory.
    for _ in range(4):
        peer = t.open(timeout=60)
        peer.echo(b"x" * ECHO_BYTES)
    for part in fragments(BINARY, [b"x" * (ECHO_BYTES - 1), b"y"]):
        peer.send(part)
    t.check(peer.message()[1] == b"x" * (ECHO_BYTES - 1) + b"y", "fragments at the limit are not whole")
    t.refuses(header(0x82, ECHO_BYTES + 1), 1009)
    t.refuses(frame(BINARY, b"x" * 20, fin=False) + header(0x80, ECHO_BYTES - 19), 1009)


@row("F13", "fragments out of order", broken("continuation without a start", 2),
     broken("message interrupted by another", 4), closed(1002))
def order(t):
    t.each([
        ("continuation without a start", frame(CONTINUATION, b"x")),
        ("continuation without a start or an end", frame(CONTINUATION, b"x", fin=False)),
        ("text inside text", frame(TEXT, b"a", fin=False) + frame(TEXT, b"b")),
        ("binary inside text", frame(TEXT, b"a", fin=False) + frame(BINARY, b"b")),
        ("text inside binary", frame(BINARY, b"a", fin=False) + frame(TEXT, b"b", fin=False)),
        ("text inside an empty start", frame(TEXT, b"", fin=False) + frame(TEXT, b"")),
    ], lambda data: t.refuses(data, 1002))


@row("F14", "pings between fragments are answered at once", counts("frames_received", 6))
def ping_between(t):
    peer = t.open()
    parts = [b"one ", b"two ", b"", b"three ", b"four"]
    for index, part in enumerate(fragments(TEXT, parts)):
        if index:
            peer.send(frame(PING, b"ping %d" % index))
            peer.expect(PONG, b"ping %d" % index)
        peer.send(part)
    peer.expect(TEXT, b"".join(parts))
    # The ping itself in pieces, in the middle of a fragmented message.
    peer.send(frame(TEXT, b"a", fin=False))
    peer.send_bytewise(frame(PING, b"in pieces"), 0.002)
    peer.expect(PONG, b"in pieces")
    peer.send(frame(CONTINUATION, b"b"))
    peer.expect(TEXT, b"ab")


@row("F15", "empty messages and empty fragments", counts("frames_received", 8))
def empty(t):
    peer = t.open()
    for opcode in (TEXT, BINARY):
        for parts in ([b""], [b"", b"x"], [b"x", b""], [b"x", b"", b"y"], [b"", b"", b""]):
            peer.send(b"".join(fragments(opcode, parts)))
            peer.expect(opcode, b"".join(parts))
    # An empty text is no JSON, which does not end the connection.
    chat = t.chat()
    chat.raw("")
    chat.expect_error("bad_frame")
    t.check(chat.is_open(), "the chat does not survive an empty message")


@row("F16", "invalid UTF-8: 1007 at the first impossible byte", broken("text is not UTF-8", 100), closed(1007))
def invalid_text(t):
    cases = [*[(text.hex(), text) for text in INVALID], *[(text.hex() + " at the end", text) for text in TRUNCATED]]
    t.each(cases, lambda text: t.refuses(frame(TEXT, "καλημέρα ".encode() + text), 1007))

    def in_fragments(text):
        parts = [b"ok", *[text[index:index + 1] for index in range(len(text))], b""]
        t.refuses(b"".join(fragments(TEXT, parts)), 1007)

    def in_segments(text):
        peer = t.open()
        peer.send_bytewise(frame(TEXT, b"ok" + text))
        peer.expect_close(1007)

    def first_impossible(text):
        """Checks a refusal at the first impossible byte: the frame declares 1,000 bytes more, which are never sent."""
        for at in (header(0x81, 1002 + len(text)), header(0x01, 1002 + len(text))):
            peer = t.open()
            peer.send(at + f.masked(b"ok" + text, f.MASK))
            peer.expect_close(1007)

    t.each(cases, in_fragments)
    t.each(cases, in_segments)
    t.each(cases[:len(INVALID)], first_impossible)


@row("F17", "valid characters cut at every byte", counts("frames_received", 20))
def split_characters(t):
    text = "é€😀\U0010ffff\u0800\ud7ff\ue000\U00010000".encode()
    peer = t.open()
    for point in range(len(text) + 1):
        peer.send(b"".join(fragments(TEXT, [text[:point], text[point:]])))
        peer.expect(TEXT, text)
    peer.send(b"".join(fragments(TEXT, [text[index:index + 1] for index in range(len(text))])))
    peer.expect(TEXT, text)
    peer.send_bytewise(frame(TEXT, text), 0.001)
    peer.expect(TEXT, text)


@row("F18", "a binary message in the chat", fault("conversation", "chirrup.v1 is text", 2), closed(1003, 2))
def binary(t):
    for peer in (t.hello_less(), t.chat().peer):
        peer.send(frame(BINARY, b'{"type":"pong"}'))
        peer.expect_close(1003, then_gone=False)
        peer.send(f.close(1003))
        peer.expect_gone()
