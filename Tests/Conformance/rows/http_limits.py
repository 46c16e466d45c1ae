"""Table H: limits by address, proxies, and other protocols on the port."""

import os
import struct
import time

from harness.peer import Failure, Gone
from harness.registry import closed, counts, fault, row

from .http import ask, request

ONE_ADDRESS = fault("connect", "too many connections from one address")


@row("H27", "a forged X-Forwarded-For from an untrusted peer: the socket's address counts", ONE_ADDRESS, profile="limits")
def forged(t):
    for number in range(10):
        peer = t.peer(source="127.0.0.3")
        peer.upgrade(headers=[("X-Forwarded-For", f"203.0.113.{number}"), ("Forwarded", f"for=203.0.113.{number}"),
                              ("X-Real-IP", f"203.0.113.{number}")])
    peer, response = ask(t, t.peer(source="127.0.0.4").handshake_bytes(), source="127.0.0.3")
    t.check(response and response.status == 429, f"the eleventh is answered {response and response.status}")
    # A PROXY header is garbage where none is expected.
    for header in (b"PROXY TCP4 203.0.113.1 127.0.0.1 1 2\r\n", proxy_header()):
        peer, response = ask(t, header + request(), source="127.0.0.4")
        t.check(response is None or response.status == 400, f"a PROXY header is answered {response and response.status}")


def proxy_header(source="203.0.113.7", command=0x21, family=0x11, version=b"\r\n\r\n\0\r\nQUIT\n", extra=b""):
    address = bytes(int(part) for part in source.split(".")) + bytes((127, 0, 0, 1)) + struct.pack("!HH", 4000, 80)
    return version + bytes((command, family)) + struct.pack("!H", len(address + extra)) + address + extra


@row("H27a", "from a trusted proxy X-Forwarded-For names the client: its rightmost untrusted address",
     fault("upgrade", "too many connections from one address"), counts("accepted", 5), profile="proxied")
def forwarded(t):
    for number in range(5):
        # The client wrote the left one itself.
        t.peer(source="127.0.0.8").upgrade(headers=[("X-Forwarded-For", f"198.51.100.{number}, 203.0.113.9")])
    peer = t.peer(source="127.0.0.8")
    peer.send(peer.handshake_bytes(headers=[("X-Forwarded-For", "198.51.100.99, 203.0.113.9")]))
    response = peer.response()
    t.check(response.status == 429 and response.get("retry-after"), f"the sixth is answered {response.status}")
    t.peer(source="127.0.0.8").upgrade(headers=[("X-Forwarded-For", "203.0.113.10")])
    # From anybody else the field is just text.
    t.peer(source="127.0.0.9").upgrade(headers=[("X-Forwarded-For", "203.0.113.9")])


@row("H27b", "the PROXY protocol: version 2 from trusted proxies only, otherwise closed",
     fault("connect", "malformed PROXY header"), fault("connect", "PROXY header of version 1"), ONE_ADDRESS,
     profile="proxyheader")
def proxy_protocol(t):
    def opened(header):
        peer = t.peer(source="127.0.0.8")
        peer.send(header)
        return peer

    for _ in range(5):
        opened(proxy_header()).upgrade()
    peer = opened(proxy_header())
    peer.send(peer.handshake_bytes())
    try:
        t.check(peer.response().status == 429, "the sixth of one client is not refused")
    except Gone:
        t.note("the sixth was cut off")
    opened(proxy_header("203.0.113.8", extra=b"\x04\0\x03abc")).upgrade()
    # LOCAL: the proxy's own health check.
    peer = opened(proxy_header(command=0x20))
    peer.send(request())
    t.check(peer.response().status == 200, "the proxy's own request is not answered")
    # In single bytes.
    peer = t.peer(source="127.0.0.8")
    peer.send_bytewise(proxy_header("203.0.113.20") + peer.handshake_bytes(), 0.001)
    peer.check_accept(peer.response())
    for header in (b"PROXY TCP4 203.0.113.1 127.0.0.1 1 2\r\n", request(), os.urandom(40), proxy_header(command=0x31),
                   proxy_header(command=0x2F), proxy_header(version=b"\r\n\r\n\0\r\nQUIT\r"),
                   proxy_header()[:14] + b"\xff\xff" + b"x" * 600, proxy_header()[:14] + b"\0\x04" + b"xxxx"):
        peer = opened(header)
        peer.expect_gone()
    # From other peers it is no HTTP: 400.
    peer, response = ask(t, proxy_header() + request(), source="127.0.0.9")
    t.check(response is None or response.status == 400, "a PROXY header of anybody is taken")


def await_room(t):
    """Waits until the gateway has noticed that its connections are closed; a full gateway refuses this request too."""
    def is_room():
        try:
            return t.gateway.figure("sockets") <= 5
        except (Failure, OSError):
            return False

    if not t.eventually(is_room):
        raise Failure("closed connections are still counted")


def fill(t):
    """Connects from new addresses until the full gateway refuses one. Returns the number of admitted ones.

    Earlier refused connections count until the gateway has noticed their end, so the refusal may come early; it never
    comes later than the limit.
    """
    held = 0
    for number in range(20):
        peer = t.peer(source=f"127.0.2.{number}")
        peer.send(peer.handshake_bytes())
        response = peer.response()
        if response.status == 101:
            held += 1
        elif t.check(response.status == 503 and int(response.get("retry-after")) > 0,
                     f"127.0.2.{number} is answered {response.status} {response.headers}"):
            return held
    return held


def hurry(t):
    """Connects from one address, and disconnects at once, until the address is refused for its rate.

    A connection counts until the gateway has noticed its end. Ten that still count cause another refusal, with five
    seconds to wait, which this function ignores.
    """
    admitted = 0
    for _ in range(400):
        peer = t.peer(source="127.0.4.1")
        peer.send(peer.handshake_bytes())
        try:
            response = peer.response()
        except Gone:
            # The gateway resets the connections of an address that ignores all refusals.
            return admitted, None
        finally:
            peer.close()
        if response.status == 101:
            admitted += 1
        elif response.status != 429 or response.get("retry-after") != "5":
            return admitted, response
        else:
            time.sleep(0.2)
        time.sleep(0.005)
    return admitted, None


@row("H28", "too many connections: 429 and 503 with Retry-After, before the upgrade", ONE_ADDRESS,
     fault("connect", "too many connections in all"), fault("connect", "connects too fast from one address"),
     closed(4103), profile="limits")
def too_many(t):
    def refused(source, status):
        peer, response = ask(t, t.peers[0].handshake_bytes(), source=source)
        if response is None:
            raise Failure(f"{source} is cut off without an answer")
        t.check(response.status == status and int(response.get("retry-after")) > 0,
                f"{source} is answered {response.status} {response.headers}")
        peer.close()

    # One address, then the next, until the gateway is full.
    for number in range(5):
        for _ in range(10):
            t.peer(source=f"127.0.1.{number}").upgrade()
        refused(f"127.0.1.{number}", 429)
    t.each(["not blocked"], lambda _: t.gateway.get("/healthz"))
    held = fill(t)
    t.check(2 <= held <= 10, f"{50 + held} connections where 60 are allowed")
    for peer in t.peers:
        peer.close()
    t.peers.clear()
    await_room(t)
    admitted, response = hurry(t)
    t.check(admitted >= 30 and response and response.status == 429 and int(response.get("retry-after")) > 0,
            f"{admitted} in a row, then {response and response.status}")
    # One visitor in too many tabs.
    account = t.gateway.token("visitor")
    tabs = [t.chat(account=account) for _ in range(3)]
    peer = t.hello_less()
    peer.send(tabs[0].peer.handshake_bytes()[:0])
    fourth = type(tabs[0])(peer)
    fourth.say(type="hello", ref="h", token=account["token"])
    peer.expect_close(4103, then_gone=False)
    t.check(tabs[0].is_open(), "an older tab was closed")


@row("H29", "TLS on the plain port", fault("http", "control character in the head"))
def tls_hello(t):
    hello = bytes.fromhex("1603010200010001fc0303") + os.urandom(32) + b"\x20" + os.urandom(460)
    quickest = None
    for _ in range(5):
        begin = time.monotonic()
        peer, response = ask(t, hello)
        t.check(response is None or response.status == 400, "TLS is answered")
        peer.wait_gone()
        taken = time.monotonic() - begin
        quickest = taken if quickest is None else min(quickest, taken)
    # At once, and not when the time for a head is over.
    t.check(quickest < 3 * t.scale, f"it is not ended at once, but after {quickest:.1f} s")
    for data in (b"SSH-2.0-x\r\n", b"\x80\x2e\x01\x00\x02", b"\x05\x01\x00", b"EHLO x\r\n\r\n", b"\x00" * 100):
        peer, response = ask(t, data + b"\r\n" if data.startswith(b"SSH") else data)
        t.check(response is None or response.status == 400, f"{data[:10]!r} is answered")
