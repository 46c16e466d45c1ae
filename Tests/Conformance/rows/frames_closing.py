"""Table F: how connections end."""

import time

from harness import frames as f
from harness.frames import BINARY, CLOSE, PING, TEXT, frame, header
from harness.peer import Failure, close_of
from harness.registry import closed, counts, row

from .common import INVALID, TRUNCATED, broken


@row("F23", "a close frame with one byte", broken("close payload of one byte"), closed(1002))
def short_close(t):
    t.refuses(frame(CLOSE, b"\x03"), 1002)


@row("F24", "close codes that may not be sent", broken("close code forbidden", 20), closed(1002))
def forbidden_codes(t):
    codes = [0, 1, 999, 1004, 1005, 1006, 1015, 1016, 1100, 1999, 2000, 2998, 2999, 5000, 5001, 9999, 32767, 32768,
             65534, 65535]
    t.each([(f"code {code}", f.close(code, reason)) for code in codes for reason in (b"", b"bye")],
           lambda data: t.refuses(data, 1002))


@row("F25", "valid close frames are answered, and the server closes the connection",
     *[closed(code) for code in (1000, 1001, 1005, 1014, 3000, 4999)])
def good_closes(t):
    codes = [1000, 1001, 1002, 1003, *range(1007, 1015), 3000, 3999, 4000, 4999]

    def answered(code, reason):
        peer = t.open()
        peer.send(f.close(code, reason))
        peer.expect_close(code if code else (None, 1000))

    t.each([(f"code {code}, {len(reason)} bytes", code, reason)
            for code in codes for reason in (b"", b"x" * 123, "é".encode() * 61)] + [("empty", None, b"")], answered)


@row("F26", "a close reason that is not UTF-8", broken("close reason is not UTF-8", 20), closed(1007))
def invalid_reason(t):
    t.each([(text.hex(), text) for text in INVALID + TRUNCATED],
           lambda text: t.refuses(f.close(1000, b"bye " + text), 1007))


@row("F28", "frames after a close frame are ignored", counts("frames_received"), closed(1000, 3))
def behind_close(t):
    for rest in (frame(TEXT, b"more"), frame(PING, b"ping"), f.close(1001), frame(TEXT, b"x", mask=None), b"\xff" * 50):
        peer = t.open()
        peer.send(f.close(1000, b"bye") + rest)
        peer.expect_close(1000)
    # The server has closed first: a ping gets no pong any more.
    peer = t.hello_less()
    peer.send(frame(BINARY, b"wrong"))
    peer.expect_close(1003, then_gone=False)
    peer.send(frame(PING, b"ping") + frame(TEXT, b'{"type":"pong"}'))
    try:
        peer.frame(1)
        t.check(False, "an answer behind the close frame")
    except Failure:
        # No bytes, or the end of the stream.
        pass
    peer.send(f.close(1003))
    peer.expect_gone()


@row("F29", "the server sends a close frame and the client never answers", closed(1003), seconds=9)
def unanswered_close(t):
    begin = time.monotonic()
    peer = t.hello_less()
    peer.send(frame(BINARY, b"wrong"))
    peer.expect_close(1003, then_gone=False)
    closed_at = time.monotonic()
    peer.expect_gone()
    now = time.monotonic()
    t.check(now - begin >= 4.5 and now - closed_at <= 20 * t.scale, f"the end came after {now - closed_at:.1f} s, not 5")
    # The socket itself is gone at most 2 s later, although this side stays open: see the descriptors.
    t.check(t.eventually(lambda: t.gateway.lasting_descriptors() <= t.descriptors), "the socket is not closed")


@row("F30", "the end of the stream without a close frame, a reset inside a frame", closed(1006, 6))
def without_close(t):
    for end in ("close", "reset"):
        for data in (b"", header(0x81, 100) + b"half", frame(TEXT, b"a", fin=False)):
            peer = t.open()
            peer.send(data)
            getattr(peer, end)()
    chat = t.chat()
    chat.peer.send(header(0x81, 100) + b"half")
    chat.peer.reset()
    t.check(t.eventually(lambda: t.gateway.figure("connections") == 1), "the connections are not freed")

    def lines():
        with open(t.gateway.log, "rb") as log:
            log.seek(t.log_start)
            return log.read().count(b"code=1006")

    t.check(t.eventually(lambda: lines() >= 7), f"the log has 1006 only {lines()} times")


@row("F33", "a close reason is the gateway's own text, at most 123 bytes", closed(1002), closed(4203), closed(1009))
def reasons(t):
    secret = t.canary.encode()
    for data, code, path in (
            (frame(TEXT, secret * 3, mask=None), 1002, "/debug/echo"),
            (f.close(1004, secret), 1002, "/debug/echo"),
            (frame(TEXT, b'{"type":"hello","token":"%s"}' % secret), 4203, "/api/v1/ws"),
            (frame(TEXT, secret * 400), 1009, "/api/v1/ws")):
        peer = t.open(path)
        peer.send(data)
        while True:
            opcode, payload, _, _ = peer.frame()
            if opcode == CLOSE:
                break
        found, reason = close_of(payload)
        t.check(found == code, f"closed with {found} and not with {code}")
        t.check(reason and reason.isascii() and t.canary not in reason, f"the reason is {reason!r}")
    # A long reason of the peer is not given back.
    peer = t.open()
    peer.send(f.close(1000, secret[:30] * 4))
    reason = peer.expect_close(1000)
    t.check(not reason, f"the peer's reason came back as {reason!r}")
