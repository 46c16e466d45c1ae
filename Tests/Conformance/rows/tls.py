"""Table T: TLS that is old, slow, broken or abused."""

import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

from harness import openssl
from harness.frames import BINARY, TEXT, frame
from harness.peer import Failure, Gone
from harness.registry import counts, fault, row

from .common import MIB
from .http import request

KIB = 1024


def context(**options):
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    for name, value in options.items():
        setattr(made, name, value)
    return made


def secure(t, name="localhost", settings=None, upgrade=True, **options):
    """Opens a WebSocket over TLS."""
    peer = t.peer(address=t.gateway.tls_address, tls=settings or context(), server_name=name, **options)
    if upgrade:
        peer.upgrade(headers=[("X-Canary", t.canary)])
    return peer


def plain(t, **options):
    """Opens a TCP connection to the TLS port."""
    return t.peer(address=t.gateway.tls_address, **options)


def ended(peer, within=30):
    """Checks that the connection ends. Returns the description of the alert, if one came first."""
    deadline, data = time.monotonic() + within, b""
    while True:
        peer.socket.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            more = peer.socket.recv(65536)
        except (TimeoutError, socket.timeout):
            raise Failure(f"not ended; {data[:20]!r} came") from None
        except ConnectionResetError:
            break
        if not more:
            break
        data += more
    return data[6] if len(data) >= 7 and data[0] == 21 else None


def hello_bytes(version=b"\x03\x03", suites=b"\x13\x01\x13\x02\xc0\x2b\xc0\x2f", extensions=b""):
    """Returns the bytes of a ClientHello."""
    body = version + os.urandom(32) + b"\0" + len(suites).to_bytes(2, "big") + suites + b"\x01\0"
    body += len(extensions).to_bytes(2, "big") + extensions
    message = b"\x01" + len(body).to_bytes(3, "big") + body
    return b"\x16\x03\x01" + len(message).to_bytes(2, "big") + message


@row("T01", "SSL 3, TLS 1.0 and 1.1, export ciphers: an alert, and closed", fault("tls", "no shared version", 3),
     fault("tls", "no shared cipher"), profile="tls")
def old(t):
    for name, version, suites in (("SSL 3", b"\x03\x00", b"\x00\x04\x00\x05"), ("TLS 1.0", b"\x03\x01", b"\xc0\x13\x00\x2f"),
                                  ("TLS 1.1", b"\x03\x02", b"\xc0\x13\x00\x2f"), ("export", b"\x03\x03", b"\x00\x03\x00\x06"),
                                  ("NULL", b"\x03\x03", b"\x00\x00\x00\x02"), ("RC4", b"\x03\x03", b"\x00\x05\xc0\x11")):
        peer = plain(t)
        peer.send(hello_bytes(version, suites))
        alert = ended(peer)
        t.check(alert in (40, 70, 71), f"{name}: alert {alert}")
    # SSL 2 is no record at all.
    peer = plain(t)
    peer.send(b"\x80\x2e\x01\x00\x02\x00\x15\x00\x00\x00\x10" + os.urandom(37))
    ended(peer)
    for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
        peer = secure(t, settings=context(minimum_version=version, maximum_version=version))
        peer.echo(os.urandom(100_000))
        t.note(f"{peer.socket.version()} {peer.socket.cipher()[0]}")


@row("T02", "a hello in single bytes; an incomplete one: 10 s in total",
     fault("tls", "handshake not complete in time", 3), profile="tls", seconds=13)
def slow(t):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    peer = plain(t)
    while True:
        try:
            client.do_handshake()
            break
        except ssl.SSLWantReadError:
            peer.send_bytewise(outgoing.read())
            incoming.write(peer.socket.recv(65536))
    peer.send_bytewise(outgoing.read())
    client.write(peer.handshake_bytes())
    peer.send_bytewise(outgoing.read())
    text = b""
    while b"\r\n\r\n" not in text:
        incoming.write(peer.socket.recv(65536))
        try:
            text += client.read(65536)
        except ssl.SSLWantReadError:
            pass
    t.check(text.startswith(b"HTTP/1.1 101"), f"{text[:40]!r}")
    begin = time.monotonic()
    silent, cut, dripping = plain(t), plain(t), plain(t)
    data = hello_bytes()
    cut.send(data[:50])
    for index in range(6):
        dripping.send(data[index:index + 1])
        time.sleep(1)
    for peer in (silent, cut, dripping):
        ended(peer, 60)
    taken = time.monotonic() - begin
    t.check(9 < taken < 40 * t.scale, f"ended after {taken:.1f} s")


@row("T03", "unknown, missing and known server names; ALPN", fault("tls", "no shared application protocol"), profile="tls")
def names(t):
    def subject(name):
        peer = secure(t, name=name, upgrade=False)
        return peer.socket.getpeercert(True)

    first, second = (ssl.PEM_cert_to_DER_cert(open(path).read()) for path in t.gateway.certificates)
    for name, wanted in (("localhost", first), ("second.example", second), ("SECOND.example", second),
                         ("unknown.example", first), (None, first), ("x" * 60 + ".example", first)):
        t.check(subject(name) == wanted, f"{name} gets another certificate")

    def offers(*protocols):
        settings = context()
        settings.set_alpn_protocols(list(protocols))
        return secure(t, settings=settings).socket.selected_alpn_protocol()

    t.check(offers("http/1.1") == "http/1.1" and offers("h2", "http/1.1") == "http/1.1", "http/1.1 is not agreed on")
    try:
        offers("h2")
        t.check(False, "h2 alone is accepted")
    except ssl.SSLError as error:
        t.check("NO_APPLICATION_PROTOCOL" in str(error).upper().replace(" ", "_"), f"{error}")


HANDSHAKES = """
import socket, ssl, sys
if sys.argv[1] == "burn":
    while True:
        pass
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
while True:
    try:
        with socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5) as one:
            context.wrap_socket(one).close()
    except OSError:
        pass
"""


@row("T04", "a flood of handshakes: open connections are served", counts("tls_handshakes", 100), profile="tls",
     seconds=18, memory=8 * MIB)
def flood(t):
    peers = [secure(t) for _ in range(8)]

    def slowest(what):
        processes = [subprocess.Popen([sys.executable, "-c", HANDSHAKES, what]) for _ in range(2)]
        try:
            time.sleep(0.5)
            waits = []
            for turn in range(300):
                begin = time.monotonic()
                peers[turn % 8].echo(b"x" * 100)
                waits.append(time.monotonic() - begin)
                time.sleep(0.004)
            return sorted(waits)[int(len(waits) * 0.99)]
        finally:
            for process in processes:
                process.kill()
                process.wait()

    # As in N10: compared with processes that take the same cores without a handshake.
    flooded, busy = [], []
    for _ in range(6):
        begin, before = time.monotonic(), t.gateway.figure("tls_handshakes_total")
        flooded.append(slowest(str(t.gateway.tls_address[1])))
        rate = (t.gateway.figure("tls_handshakes_total") - before) / (time.monotonic() - begin)
        busy.append(slowest("burn"))
        t.note(f"99 % within {flooded[-1] * 1000:.1f} ms beside {rate:.0f} handshakes/s; "
               f"{busy[-1] * 1000:.1f} ms beside busy processes")
        if min(flooded) < max(2 * max(busy), 0.03 * t.scale):
            return
    t.check(False, f"99 % of echoes take {min(flooded) * 1000:.1f} ms, {max(busy) * 1000:.1f} ms beside busy processes")


def raw(t, version):
    peer = plain(t)
    client = openssl.Raw(peer.socket, version)
    if not client.connect():
        raise Failure("no handshake")
    client.write(peer.handshake_bytes())
    if not (client.read() or b"").startswith(b"HTTP/1.1 101"):
        raise Failure("no upgrade")
    return peer, client


@row("T05a", "the same with compact records", fault("tls", "too many key updates"), profile="compact")
@row("T05", "renegotiation is refused, key updates are limited", fault("tls", "renegotiation"),
     fault("tls", "too many key updates"), profile="tls")
def updates(t):
    peer, client = raw(t, openssl.TLS12)
    t.check(not client.renegotiate(), "a renegotiation succeeds")
    client.free()
    # A few key updates are fine, and everything goes on.
    peer, client = raw(t, openssl.TLS13)
    for number in range(10):
        t.check(client.update_key(), "no key update")
        client.write(frame(TEXT, f"after {number}"))
        answer = client.read()
        t.check(answer and answer.endswith(f"after {number}".encode()), f"{answer!r} after a key update")
    client.free()
    peer, client = raw(t, openssl.TLS13)
    peer.socket.settimeout(None)
    count = 0
    while count < 10_000 and client.update_key():
        count += 1
    t.note(f"{count} key updates in a row were taken by the kernel")
    t.check(client.read() is None, "it goes on after 10,000 key updates")
    client.free()


@row("T06", "thousands of full and resumed handshakes leave no memory", counts("tls_handshakes", 800), profile="tls",
     seconds=20, memory=3 * MIB)
def many(t):
    settings = context()
    count = 1_500 if not t.gateway.is_sanitized else 500

    def handshakes(number, session=None):
        for _ in range(number):
            with socket.create_connection(t.gateway.tls_address, 60) as one:
                client = settings.wrap_socket(one, server_hostname="localhost", session=session)
                if session and not client.session_reused:
                    raise Failure("a session is not resumed")
                client.close()

    handshakes(count // 3)
    memory = t.gateway.memory()
    handshakes(count)
    twelve = context(maximum_version=ssl.TLSVersion.TLSv1_2)
    with socket.create_connection(t.gateway.tls_address, 60) as one:
        client = twelve.wrap_socket(one, server_hostname="localhost")
        session = client.session
        client.close()
    settings = twelve
    handshakes(count // 3, session)
    grown = t.gateway.memory() - memory
    t.note(f"{grown / KIB:.0f} KiB more after {count + count // 3} handshakes")
    if not t.gateway.is_sanitized:
        t.check(grown < 2 * MIB, f"{grown / KIB:.0f} KiB")


@row("T07a", "the same with compact records", fault("tls", "record that cannot be decrypted"), profile="compact")
@row("T07", "malformed hellos and records: an alert or closed, and no endless loop", fault("tls", "record that cannot be decrypted"),
     counts("accepted", 40), profile="tls")
def malformed(t):
    good = hello_bytes()
    cases = [
        ("length of 0", b"\x16\x03\x01\0\0"), ("many of length 0", b"\x16\x03\x01\0\0" * 2_000),
        ("record of 16 KiB + 1", b"\x16\x03\x01\x40\x01" + b"\x01" * 16_385), ("record of 64 KiB", b"\x16\x03\x01\xff\xff" + b"x" * 300),
        ("type 99", b"\x63\x03\x01\0\x05hello"), ("an alert first", b"\x15\x03\x01\0\x02\x02\x28"),
        ("data first", b"\x17\x03\x03\0\x05hello"), ("change of ciphers first", b"\x14\x03\x03\0\x01\x01" * 50),
        ("a hello cut", good[:5] + good[5:9] + b"\xff" * 200), ("a hello of 16 MiB", b"\x16\x03\x01\0\x04\x01\xff\xff\xff" + b"\0" * 500),
        ("another message", b"\x16\x03\x01\0\x04\x02\0\0\0"), ("two hellos", good + good), ("random", os.urandom(300)),
        ("zeros", b"\0" * 300), ("extensions cut", hello_bytes(extensions=b"\0\x2b\xff\xff")),
    ]
    spent = t.gateway.processor_seconds()
    for name, data in cases:
        peer = plain(t)
        peer.send(data)
        try:
            peer.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        try:
            ended(peer)
        except Failure as failure:
            t.failures.append(f"{name}: {failure}")
    spent = t.gateway.processor_seconds() - spent
    t.check(spent < 2 * t.scale, f"it loops: {spent:.1f} s of processor time")
    # Behind a good handshake: records that are not what they should be.
    for name, data in (("bent", None), ("random", b"\x17\x03\x03\0\x40" + os.urandom(64)), ("empty", b"\x17\x03\x03\0\0"),
                       ("short", b"\x17\x03\x03\0\x05hello"), ("too long", b"\x17\x03\x03\x48\x01" + os.urandom(18_433)),
                       ("plain alert", b"\x15\x03\x03\0\x02\x01\0"), ("plain hello", good), ("type 99", b"\x63\x03\x03\0\x05hello"),
                       ("longest", b"\x17\x03\x03\xff\xff" + os.urandom(100)), ("old version", b"\x17\x02\0\0\x20" + os.urandom(32))):
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            peer, client, outgoing = memory_client(t, version)
            if data is None:
                client.write(frame(TEXT, "hello"))
                bent = bytearray(outgoing.read())
                bent[-1] ^= 1
                peer.send(bytes(bent))
            else:
                peer.send(data)
            try:
                ended(peer)
            except Failure as failure:
                t.failures.append(f"{name} in {version.name}: {failure}")
            peer.close()


def memory_client(t, version):
    """Performs a handshake and an upgrade in memory, so that the row can cut and change their bytes."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = context(minimum_version=version, maximum_version=version).wrap_bio(incoming, outgoing)
    peer = plain(t)
    while True:
        try:
            client.do_handshake()
            break
        except ssl.SSLWantReadError:
            peer.send(outgoing.read())
            incoming.write(peer.socket.recv(65536))
    client.write(peer.handshake_bytes())
    peer.send(outgoing.read())
    while True:
        incoming.write(peer.socket.recv(65536))
        try:
            if client.read(65536).startswith(b"HTTP/1.1 101"):
                return peer, client, outgoing
        except ssl.SSLWantReadError:
            pass


@row("T08a", "the same with compact records", fault("tls", "ended without close_notify", 2), profile="compact", seconds=8,
     memory=6 * MIB)
@row("T08", "connections cut without close_notify; large echoes through small windows", fault("tls", "ended without close_notify", 2),
     counts("frames_received", 10), profile="tls", seconds=8, memory=6 * MIB)
def cut(t):
    for end in ("close", "reset"):
        peer = secure(t)
        peer.send(frame(TEXT, "half")[:5])
        inner = peer.socket.detach()
        bare = socket.socket(fileno=inner)
        if end == "reset":
            bare.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        bare.close()
    # Writes that must wait while reads come, and the other way round.
    peer = secure(t, receive_buffer=4096, timeout=60 * t.scale)
    payloads = [os.urandom(size) for size in (300_000, 1, 16_384, 16_385, 100_000)]
    for payload in payloads:
        peer.send(frame(BINARY, payload)[:70_000])
        peer.send(frame(BINARY, payload)[70_000:])
        peer.expect(BINARY, payload, 60 * t.scale)
    for _ in range(5):
        peer.echo(os.urandom(65_536), 60 * t.scale)


@row("T09", "SIGHUP replaces a certificate; an invalid one is not used, and the log reports it", counts("tls_handshakes", 4),
     profile="tls")
def reload(t):
    certificate, key = t.gateway.certificates[0], t.gateway.keys[0]
    keep = secure(t)
    saved = [(path, open(path).read()) for path in (certificate, key)]

    def served():
        return secure(t, upgrade=False).socket.getpeercert(True)

    def hang_up(is_done):
        os.kill(t.gateway.pid, signal.SIGHUP)
        t.eventually(is_done)

    old = served()
    fresh, fresh_key = openssl.make_certificate(os.path.dirname(certificate), "fresh", "localhost")
    try:
        shutil.copy(fresh, certificate)
        shutil.copy(fresh_key, key)
        hang_up(lambda: served() != old)
        new = served()
        t.check(new != old and new == ssl.PEM_cert_to_DER_cert(open(fresh).read()), "the new certificate is not served")
        keep.echo(b"still open")
        for text in ("broken", saved[0][1], ""):
            start = os.path.getsize(t.gateway.log)
            with open(certificate, "w") as file:
                file.write(text)

            def logged():
                with open(t.gateway.log, "rb") as log:
                    log.seek(start)
                    return b"error" in log.read()

            hang_up(logged)
            t.check(logged(), "a broken certificate is not in the log")
            t.check(served() == new, "a broken certificate is served")
        keep.echo(b"still open")
    finally:
        for path, text in saved:
            with open(path, "w") as file:
                file.write(text)
        hang_up(lambda: served() == old)


@row("T10", "a key readable by others: a warning; an expired certificate or a mismatched key: refused at the start",
     counts("accepted"), profile="tls")
def start(t):
    folder = os.path.dirname(t.gateway.certificates[0])
    certificate, key = openssl.make_certificate(folder, "start", "localhost")
    other, _ = openssl.make_certificate(folder, "other", "localhost")

    def starts(certificate, key, until=None):
        """Returns the exit status and the output of a gateway; None if it runs and has printed the expected text."""
        process = subprocess.Popen(
            [t.gateway.binary, "serve", "--listen", "none", "--tls-listen", "127.0.0.1:0", "--tls-certificates", certificate,
             "--tls-keys", key, "--drain-seconds", "0", "--database-url", t.gateway.cluster.url(t.gateway.database)],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
        ending = threading.Timer(90, process.terminate)
        ending.start()
        text = ""
        for line in process.stdout:
            text += line.decode()
            if until and until in text:
                process.terminate()
        # Not its time to end by itself any more: it was asked to.
        is_running = not ending.is_alive() or until and until in text
        ending.cancel()
        return None if is_running else process.wait(), text

    os.chmod(key, 0o644)
    warning = "is readable by other users"
    status, text = starts(certificate, key, until=warning)
    t.check(warning in text, f"a key for everybody: {status} {text[-200:]}")
    os.chmod(key, 0o600)
    for name, pair in (("another key", (other, key)), ("no file", (certificate + ".none", key)), ("no key", (certificate, certificate))):
        status, text = starts(*pair)
        t.check(status not in (None, 0), f"{name}: {status} {text[-200:]}")
    expired, expired_key = openssl.make_certificate(folder, "expired", "localhost", days=-1)
    status, text = starts(expired, expired_key)
    t.check(status not in (None, 0) and "expired" in text, f"an expired certificate: {status} {text[-200:]}")


@row("H29a", "HTTP on the TLS port", fault("tls", "plain HTTP on the TLS port"), profile="tls")
def http(t):
    peer = plain(t)
    peer.send(request())
    try:
        t.check(peer.response().status == 400, "plain HTTP is answered")
        peer.expect_gone()
    except Gone:
        pass
    for data in (b"SSH-2.0-x\r\n", b"\0" * 40, os.urandom(100)):
        peer = plain(t)
        peer.send(data)
        peer.socket.shutdown(socket.SHUT_WR)
        ended(peer)
