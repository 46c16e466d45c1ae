"""Limits, texts and messages that several tables use."""

from harness.frames import BINARY, CLOSE, CONTINUATION, PING, PONG, TEXT
from harness.registry import fault

KIB, MIB = 1024, 1 << 20
#: Limits.swift
HELLO_BYTES, MESSAGE_BYTES, MESSAGE_FRAGMENTS = 8 * KIB, 64 * KIB, 128
ECHO_BYTES, ECHO_FRAGMENTS = 16 * MIB, 65_537
OPCODES = (CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG)


def broken(reason, least=1):
    """Returns the counter of a FrameFault."""
    return fault("frame", reason, least)


def command_of(size, ref):
    """Returns a command of exactly this many bytes; its answer proves that it was read."""
    head = f'{{"type":"unknown","ref":"{ref}","pad":"'
    return (head + "x" * (size - len(head) - 2) + '"}').encode()


INVALID = [
    b"\x80", b"\xbf", b"\x80\xbf\x80", b"\xc0\xaf", b"\xc1\xbf", b"\xe0\x80\xaf", b"\xe0\x9f\xbf", b"\xf0\x80\x80\xaf",
    b"\xf0\x8f\xbf\xbf", b"\xf8\x88\x80\x80\x80", b"\xfc\x84\x80\x80\x80\x80", b"\xfe", b"\xff", b"\xed\xa0\x80",
    b"\xed\xbf\xbf", b"\xed\xa0\x80\xed\xb0\x80", b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xc3(", b"\xe2\x82(",
    b"\xe2(\xa1", b"\xf0\x9f(\x80", b"\xf0\x9f\x92(",
]
TRUNCATED = [b"\xc3", b"\xe2", b"\xe2\x82", b"\xf0", b"\xf0\x9f", b"\xf0\x9f\x92"]
