"""Table H: handshakes and HTTP heads that are slow, large, malformed or misplaced."""

import json
import time

from harness.frames import BINARY, TEXT, frame
from harness.peer import Failure, Gone
from harness.registry import counts, fault, row

from .common import KIB, MIB

WS, ECHO = "/api/v1/ws", "/debug/echo"
KEY = "dGhlIHNhbXBsZSBub25jZQ=="


def ask(t, data, within=None, **options):
    """Returns the response to these bytes; None if the connection ended without one."""
    peer = t.peer(**options)
    peer.send(data)
    try:
        return peer, peer.response(within)
    except Gone:
        return peer, None


def request(line="GET /healthz HTTP/1.1", *fields):
    return ("\r\n".join([line, "Host: localhost", *fields]) + "\r\n\r\n").encode("latin-1")


def answers(t, data, *statuses, is_closed=True):
    """Checks that the response has one of these statuses (None: no response), and that the connection ends after it."""
    peer, response = ask(t, data)
    status = response.status if response else None
    if status not in statuses:
        raise Failure(f"answered {status} and not {statuses}")
    if response and is_closed:
        peer.expect_gone()
    if response and status >= 400 and response.get("content-type") != "application/problem+json":
        raise Failure(f"{status} comes as {response.get('content-type')}")
    return response


def handshake(t, headers=(), drop=(), path=ECHO):
    return t.peer().handshake_bytes(path, headers, drop=drop)


@row("H01", "a handshake in single bytes, with the key of the RFC", counts("http_requests"))
def bytewise(t):
    peer = t.peer()
    peer.send_bytewise(peer.handshake_bytes(ECHO, [("X-Canary", t.canary)], key=KEY), 0.005, pausing_for=4)
    response = peer.response()
    peer.check_accept(response)
    t.check(response.get("sec-websocket-accept") == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=", "not the RFC's answer")
    peer.echo()


@row("H02", "the first frame is in the handshake's segment", counts("frames_received", 3))
def pipelined(t):
    peer = t.peer()
    peer.send(peer.handshake_bytes(ECHO) + frame(TEXT, "at once") + frame(BINARY, b"x" * 70_000))
    peer.check_accept(peer.response())
    peer.expect(TEXT, "at once")
    peer.expect(BINARY, b"x" * 70_000)
    # And a hello: some of these connections move to another loop before the 101 has left.
    for _ in range(8):
        account = t.gateway.token("visitor")
        peer = t.peer()
        peer.send(peer.handshake_bytes(WS) + frame(TEXT, json.dumps({"type": "hello", "token": account["token"]})))
        peer.check_accept(peer.response())
        t.check(b'"welcome"' in peer.message()[1], "no welcome")


@row("H03", "another method than GET", fault("upgrade", "the WebSocket endpoint takes GET", 4))
def methods(t):
    for method in ("POST", "PUT", "DELETE", "HEAD", "PATCH", "BREW"):
        data = handshake(t, path=WS).replace(b"GET", method.encode(), 1)
        peer = t.peer()
        peer.send(data)
        response = peer.response(head=method == "HEAD")
        t.check(response.status == 405 and response.get("allow") == "GET", f"{method}: {response.status}")


@row("H04", "HTTP 1.0, 0.9 and 2", fault("http", "malformed request line"), fault("http", "version not supported"))
def versions(t):
    upgrade = handshake(t)
    answers(t, upgrade.replace(b"HTTP/1.1", b"HTTP/1.0"), 400, 426)
    answers(t, b"GET /\r\n\r\n", 400)
    answers(t, b"GET /healthz\r\n\r\n", 400)
    answers(t, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, 400)
    answers(t, upgrade.replace(b"HTTP/1.1", b"HTTP/2.0"), 505, 400)
    for version in (b"HTTP/1", b"http/1.1", b"HTTP/1.1.1", b"HTTP/11", b"HTTP/ 1.1", b"HTCPCP/1.0"):
        answers(t, upgrade.replace(b"HTTP/1.1", version), 400)


@row("H05", "older and newer versions of WebSocket", fault("upgrade", "WebSocket version 13 only", 5))
def old_versions(t):
    for value in ("0", "7", "8", "12", "14", "13, 8", "", "x"):
        response = answers(t, handshake(t, [("Sec-WebSocket-Version", value)]), 426)
        t.check(response.get("sec-websocket-version") == "13", f"{value}: 13 is not named")
    hixie = handshake(t, [("Sec-WebSocket-Key1", "4 @1  46546xW%0l 1 5"), ("Sec-WebSocket-Key2", "12998 5 Y3 1  .P00")],
                      drop=("sec-websocket-key", "sec-websocket-version")) + b"^n:ds[4U"
    answers(t, hixie, 426)


@row("H06", "a second request after a refused upgrade is never answered", fault("upgrade", "WebSocket version 13 only"))
def smuggled(t):
    peer = t.peer()
    peer.send(peer.handshake_bytes(WS, [("Sec-WebSocket-Version", "7777")])
              + request("GET /healthz HTTP/1.1"))
    t.check(peer.response().status == 426, "not refused")
    peer.expect_gone()


@row("H07", "Host missing, twice, malformed", fault("http", "missing, repeated or malformed host", 5))
def hosts(t):
    cases = ["", "Host: a\r\nHost: a\r\n", "Host: a b\r\n", "Host:\r\n", "Host: a/b\r\n", "Host: a@b\r\n", "Host: a,b\r\n",
             "Host: a\t\tb\r\n"]
    t.each([(repr(case), case) for case in cases],
           lambda case: answers(t, f"GET /healthz HTTP/1.1\r\n{case}\r\n".encode(), 400))


@row("H08", "incomplete upgrades", fault("upgrade", "this endpoint speaks WebSocket", 4))
def no_upgrade(t):
    for headers, drop in (((), ("upgrade",)), ([("Upgrade", "h2c")], ()), ([("Connection", "keep-alive")], ()),
                          ((), ("connection",)), ([("Upgrade", "websocketx")], ()), ([("Connection", "Upgraded")], ())):
        response = answers(t, handshake(t, headers, drop), 426)
        t.check(response.get("upgrade") == "websocket", "426 does not say to what")


@row("H09", "lists, and names in any case", counts("frames_received", 4))
def lenient(t):
    for headers in ([("Connection", "keep-alive, Upgrade")], [("Upgrade", "WebSocket"), ("Connection", "UPGRADE")],
                    [("Upgrade", "h2c, websocket")], [("Connection", ",,upgrade ,")]):
        peer = t.peer()
        peer.upgrade(headers=headers)
        peer.echo()


@row("H10", "invalid keys", fault("upgrade", "missing or malformed Sec-WebSocket-Key", 8))
def keys(t):
    values = ["", "AAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAA=", "dGhlIHNhbXBsZSBub25jZQ==x",
              "dGhlIHNhbXBsZSBub25jZQ== x", "*GhlIHNhbXBsZSBub25jZQ==", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZTE2Yg=="]
    t.each([(value or "empty", value) for value in values],
           lambda value: answers(t, handshake(t, [("Sec-WebSocket-Key", value)]), 400))
    answers(t, handshake(t, drop=("sec-websocket-key",)), 400)
    answers(t, handshake(t, [("Sec-WebSocket-Key", KEY), ("Sec-WebSocket-Key", KEY)]), 400)


@row("H11", "heads that arrive too slowly, or never: 10 s in total", fault("http", "request not complete in time", 100),
     fault("http", "nothing came in time", 50), seconds=16, memory=16 * MIB)
def slowloris(t):
    count = 2_000
    memory = t.gateway.memory()
    begin = time.monotonic()
    slow = [t.peer() for _ in range(count)]
    silent = [t.peer() for _ in range(50)]
    data = handshake(t)
    for peer in slow:
        peer.send(data[:20])
    each = 0
    for turn in range(3):
        time.sleep(2.5)
        for peer in slow:
            # New bytes do not buy new time.
            peer.send(data[20 + turn:21 + turn])
        each = max(each, (t.gateway.memory() - memory) / (count + 50))
    for peer in slow[:100]:
        t.check(peer.response().status == 408, "a slow head is not answered 408")
    for peer in silent:
        peer.expect_gone()
    taken = time.monotonic() - begin
    t.note(f"{each:.0f} bytes each, ended after {taken:.1f} s")
    # Ten seconds; with those that their bytes could buy it would be a minute.
    t.check(9 < taken < 40 * t.scale, f"ended after {taken:.1f} s")
    if not t.gateway.is_sanitized:
        t.check(each < 8 * KIB, f"each costs {each:.0f} bytes")


def pours(t, start, piece, pieces, *statuses):
    """Sends until it is refused. The gateway's counter has the accepted bytes."""
    peer = t.peer()
    peer.send(start)
    sent = 0
    for _ in range(pieces):
        if not peer.send(piece):
            break
        sent += len(piece)
    try:
        t.check(peer.response().status in statuses, f"not one of {statuses}")
    except Gone:
        # The answer was cut off by the reset of a connection that still had input.
        t.note("reset before the answer was read")


@row("H12", "a field of 20 MB, a request line of 1 MB", fault("http", "head too long"), fault("http", "target too long"))
def huge(t):
    memory = t.gateway.memory()
    pours(t, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ", b"x" * 65_536, 320, 431)
    pours(t, b"GET /", b"x" * 65_536, 16, 414, 431)
    answers(t, b"GET /" + b"x" * 9_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414)
    answers(t, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 16_384 + b"\r\n\r\n", 431)
    if not t.gateway.is_sanitized:
        t.check(t.gateway.memory() - memory < MIB, "memory grows with the head")


@row("H13", "a head of 16 KiB in segments of one byte costs linear time", counts("http_requests", 2))
def tiny_segments(t):
    def spent(size):
        data = t.peer().handshake_bytes(ECHO)
        pad = size - len(data) - 40
        fields = [(f"X-{number}", "x" * 150) for number in range(pad // 160)]
        peer = t.peer()
        data = peer.handshake_bytes(ECHO, fields)
        before = t.gateway.processor_seconds()
        peer.send_bytewise(data)
        peer.check_accept(peer.response())
        return t.gateway.processor_seconds() - before

    small, large = spent(4 * KIB), spent(15 * KIB)
    t.note(f"4 KiB: {small * 1000:.0f} ms, 15 KiB: {large * 1000:.0f} ms, most of it the system calls")
    # Four times the bytes; the kernel counts in hundredths of a second. Quadratic, it would be sixteen times as much.
    t.check(large < 0.2 + 8 * small, f"{small:.2f} s of processor time for 4 KiB, {large:.2f} s for 15 KiB")


@row("H14", "2,000 fields, and 101 of one name", fault("http", "too many fields", 2))
def many_fields(t):
    answers(t, request("GET /healthz HTTP/1.1", *[f"A{number}: b" for number in range(101)]), 431)
    answers(t, request("GET /healthz HTTP/1.1", *["A: b"] * 101), 431)
    answers(t, request("GET /healthz HTTP/1.1", *[f"A{number}: b" for number in range(2_000)]), 431)
    answers(t, request("GET /healthz HTTP/1.1", *["A: b"] * 99), 200, is_closed=False)


@row("H15", "ambiguous lines and fields", fault("http", "malformed field", 3),
     fault("http", "control character in the head", 5), fault("http", "folded field"))
def malformed(t):
    head = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
    cases = [
        ("bare LF", b"GET /healthz HTTP/1.1\nHost: localhost\n\n"), ("one bare LF", head + b"A: b\nC: d\r\n\r\n"),
        ("bare CR", head + b"A: b\rC: d\r\n\r\n"), ("NUL", head + b"A: b\0c\r\n\r\n"), ("DEL", head + b"A: b\x7f\r\n\r\n"),
        ("folded", head + b"A: b\r\n c\r\n\r\n"), ("folded by a tab", head + b"A: b\r\n\tc\r\n\r\n"),
        ("space before the colon", head + b"A : b\r\n\r\n"), ("empty name", head + b": b\r\n\r\n"),
        ("no colon", head + b"Abc\r\n\r\n"), ("name with a slash", head + b"A/b: c\r\n\r\n"),
        ("name of UTF-8", head + "Ä: c\r\n\r\n".encode()), ("name in parentheses", head + b"(a): c\r\n\r\n"),
        ("two spaces", b"GET  /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), ("a tab", b"GET\t/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        ("leading space", b" GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"), ("two empty lines", b"\r\n\r\n" + head + b"\r\n"),
        ("method in quotes", b'"GET" /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n'), ("escape", head + b"A: \x1b[31m\r\n\r\n"),
    ]
    t.each(cases, lambda data: answers(t, data, 400))


@row("H16", "bytes above 0x7F in a value are never sent back", counts("http_requests"))
def high_bytes(t):
    for name in ("X-Canary", "Origin", "Sec-WebSocket-Protocol", "User-Agent"):
        peer, response = ask(t, handshake(t, [(name, "\xff\xfe\xe9 " + t.canary)]))
        t.check(response.status in (101, 400, 403), f"{name}: {response.status}")
        text = json.dumps(response.headers) + response.body.decode("latin-1")
        t.check("\\u00ff" not in text and "\xff" not in text and t.canary not in text, f"{name} comes back")


@row("H17", "a GET with a body", fault("upgrade", "body in an opening handshake"),
     fault("http", "malformed or conflicting transfer coding"))
def bodies(t):
    answers(t, handshake(t, [("Content-Length", "5")]) + b"hello", 400)
    answers(t, handshake(t, [("Transfer-Encoding", "chunked")]) + b"5\r\nhello\r\n0\r\n\r\n", 400)
    # A body behind a plain GET belongs to it, and is no second request.
    peer = t.peer()
    peer.send(request("GET /healthz HTTP/1.1", "Content-Length: 41") + b"GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    status = peer.response().status
    t.check(status in (200, 400), f"answered {status}")
    t.check(status == 400 or peer.is_silent(0.3), "the body was read as a request")


@row("H18", "paths outside the root, and invalid targets", fault("http", "malformed target", 4),
     fault("http", "target too long"))
def paths(t):
    for target in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/.%2e/x", "/console/../../x", "/..%2fetc/passwd",
                   "/a%5c..%5cb", "http://x/healthz", "//x/healthz", "x", "", "*", "/a#b", "/%00", "/%zz", "/\x80", "/a\tb",
                   "/%c0%ae%c0%ae/", "/?" + "q" * 100_000, "/healthz?" + "a=1&" * 200, "/widget.js/", "/widget.js%2f",
                   "/./healthz"):
        peer, response = ask(t, request(f"GET {target} HTTP/1.1"))
        status = response.status if response else None
        t.check(status in (400, 404, 414, 431), f"{target[:40]!r} is answered {status}")
        t.check(not response or b"root:" not in response.body, "a file from outside")


@row("H19", "unknown paths, and the echo in production", counts("http_requests", 3), profile="production")
def unknown(t):
    for path in ("/nothing", "/debug/echo", "/debug", "/debug/pprof", "/metricsx", "/.env", "/api/v2/ws"):
        answers(t, request(f"GET {path} HTTP/1.1"), 404, is_closed=False)
    data = t.peer().handshake_bytes(ECHO)
    peer, response = ask(t, data)
    t.check(response.status in (400, 404), f"the echo is answered {response.status}")


def negotiates(t, name, value, wanted, milliseconds=5):
    def once():
        peer, response = ask(t, handshake(t, [(name, value)], path=WS))
        t.check(response.status in (101, 400), f"{value[:30]!r} is answered {response.status}")
        if response.status == 101:
            t.check(response.get(name) == wanted, f"{value[:30]!r} gets {response.get(name)!r}")
        peer.close()
        t.peers.clear()

    # Processor time, which does not depend on what else runs here, in hundredths of a second: so, twenty times.
    before = t.gateway.processor_seconds()
    for _ in range(20):
        once()
    taken = (t.gateway.processor_seconds() - before) * 1000 / 20
    t.check(taken < milliseconds * t.scale, f"{value[:30]!r} takes {taken:.1f} ms")


@row("H20", "lists of subprotocols, long and malformed", counts("http_requests", 20))
def protocols(t):
    name = "Sec-WebSocket-Protocol"
    negotiates(t, name, "b" + " " * 12_000 + "x", None)
    negotiates(t, name, ", ".join(f"p{number}" for number in range(1_000)), None)
    negotiates(t, name, ",".join(["p"] * 1_000 + ["chirrup.v1"]), "chirrup.v1")
    negotiates(t, name, "graphql-ws", None)
    negotiates(t, name, "CHIRRUP.V1", None)
    negotiates(t, name, ",,chirrup.v1,,", "chirrup.v1")
    negotiates(t, name, "chirrup.v1 x", None)


@row("H21", "a quoted string of 15 KB that never ends", counts("http_requests", 5))
def quoted(t):
    negotiates(t, "Sec-WebSocket-Extensions", 'a; b="' + "\\c" * 7_500, None)
    negotiates(t, "Sec-WebSocket-Extensions", "a; b=" + '"' * 15_000, None)


@row("H22", "unknown extensions", counts("http_requests", 20))
def extensions(t):
    for value in ("constructor", "__proto__", ", ".join(f"x{number}" for number in range(1_000)), ",;", ";;;", "=", "a;=b",
                  "x-webkit-deflate-frame", "bbf-usp-protocol; a=1", ", ,"):
        negotiates(t, "Sec-WebSocket-Extensions", value, None)


@row("H23", "an upgrade at every other path", fault("upgrade", "no WebSocket at this path", 3))
def elsewhere(t):
    for path, statuses in (("/healthz", (400, 426)), ("/metrics", (400, 426)), ("/console", (400, 426)), ("/", (400, 426)),
                           ("/widget.js", (400, 426)), ("/api/v1/admin/live-chat/conversations", (401,)),
                           ("/api/v1/widget/config", (400, 422)), ("/nothing", (404,))):
        peer, response = ask(t, handshake(t, path=path))
        t.check(response.status in statuses, f"{path} is answered {response.status}")
        peer.expect_gone()


@row("H24", "bodies with two lengths", fault("http", "malformed or repeated content length", 5),
     fault("http", "malformed or conflicting transfer coding", 4))
def lengths(t):
    post = b"POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    cases = [
        ("both", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", (400,)),
        ("space before the colon", b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", (400,)),
        ("xchunked", b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", (400, 501)),
        ("chunked, identity", b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n", (400, 501)),
        ("twice", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", (400, 501)),
        ("chunked", b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", (400, 501)),
        *[(f"length {value!r}", b"Content-Length: " + value + b"\r\n\r\n{}", (400, 413)) for value in (
            b"2, 2", b"+2", b"-1", b"0x2", b"2 2", b"", b"9" * 30, b"2\r\nContent-Length: 2", b"2\r\nContent-Length: 3",
            b"9223372036854775808", b"999999999999999")],
    ]
    t.each([(name, post + rest, statuses) for name, rest, statuses in cases],
           lambda data, statuses: answers(t, data, *statuses))


@row("H25", "line feeds in values that might be sent back", counts("http_requests", 4))
def injected(t):
    # Marked so that a line of its own would be seen.
    for target in (f"/x%0d%0aX-Injected:{t.canary}", f"/x?q=%0d%0aX-Injected:{t.canary}", f"/x?workspace={t.canary}%0a"):
        for path in (target, "/api/v1" + target, "/api/v1/widget/config" + target[2:]):
            check_not_given_back(t, request(f"GET {path} HTTP/1.1", f"Origin: https://{t.canary}"))
    for name in ("Origin", "Sec-WebSocket-Protocol", "Sec-WebSocket-Extensions", "User-Agent", "Referer"):
        check_not_given_back(t, handshake(t, [(name, f"a\tb{t.canary}")], path=WS))
        check_not_given_back(t, handshake(t, [(name, f"a\r\nX-Injected: {t.canary}")], path=WS))
        check_not_given_back(t, handshake(t, [(name, f"a\nX-Injected: {t.canary}")], path=WS))


def check_not_given_back(t, data):
    peer, response = ask(t, data)
    if response:
        t.check(response.get("x-injected") is None, "a field was injected")
        names = [name for name, value in response.headers
                 if t.canary in value and name.lower() != "access-control-allow-origin"]
        t.check(not names and t.canary not in response.body.decode("latin-1"), f"the peer's text comes back: {names}")


@row("H26", "plain HTTP: probes, HEAD, OPTIONS, and 1,000 requests on one connection", counts("http_requests", 1_000))
def plain(t):
    peer = t.peer()
    for number in range(1_000):
        path = ("/healthz", "/readyz", "/widget.js", "/nothing")[number % 4]
        peer.send(request(f"GET {path} HTTP/1.1", f"X-Canary: {t.canary}"))
        t.check(peer.response().status == (200, 200, 200, 404)[number % 4], f"{path} in turn {number}")
    # Pipelined, in order.
    peer.send(b"".join(request(f"GET {path} HTTP/1.1") for path in ("/healthz", "/nothing", "/readyz") * 10))
    t.check([peer.response().status for _ in range(30)] == [200, 404, 200] * 10, "pipelined answers are out of order")
    length = None
    for method in ("GET", "HEAD"):
        peer.send(request(f"{method} /widget.js HTTP/1.1"))
        response = peer.response(head=method == "HEAD")
        length = length or response.get("content-length")
        t.check(response.status == 200 and response.get("content-length") == length, f"{method}: {response.headers}")
    peer.send(request("OPTIONS /api/v1/widget/config HTTP/1.1", "Origin: https://shop.example",
                      "Access-Control-Request-Method: GET"))
    response = peer.response()
    t.check(response.status == 204 and response.get("access-control-allow-origin") == "https://shop.example"
            and response.get("access-control-allow-credentials") is None, f"{response.status} {response.headers}")
    peer.send(request("GET /healthz HTTP/1.1", "Connection: close"))
    t.check(peer.response().get("connection") == "close", "the end is not announced")
    peer.expect_gone()
    answers(t, b"GET /healthz HTTP/1.0\r\n\r\n", 200)
