"""One TCP connection to the gateway that can send anything, and verifies the responses strictly."""

import base64
import hashlib
import os
import socket
import struct
import time

from . import frames


class Failure(Exception):
    """An expectation was not met."""


class Gone(Failure):
    """The connection ended."""


class Response:
    """An HTTP response: its status, its fields in their order, and its body."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def get(self, name):
        """Returns the value of the first field with this name, in any case; None without one."""
        found = [value for key, value in self.headers if key.lower() == name.lower()]
        return found[0] if found else None


class Peer:
    """A client of the gateway on one TCP or TLS connection. Every wait has a time limit and ends in a `Failure`."""

    def __init__(self, address, timeout=30, source=None, receive_buffer=None, send_buffer=None, tls=None,
                 segment=None, server_name="localhost"):
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if send_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, send_buffer)
        if segment:
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment)
        if source:
            self.socket.bind((source, 0))
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls:
            self.socket = tls.wrap_socket(self.socket, server_hostname=server_name)
        self.timeout = timeout
        self.buffer = bytearray()
        self.host = f"{address[0]}:{address[1]}"
        #: Set when permessage-deflate was agreed on: RSV1 may then be set by the server.
        self.deflate = False

    # Bytes

    def send(self, data):
        """Sends bytes unchanged. Returns False if the gateway has closed; its output can still be read."""
        try:
            self.socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def send_bytewise(self, data, pause=0, pausing_for=None):
        """Sends single bytes, each followed by a pause during the first `pausing_for` seconds.

        A busy machine lengthens every pause, so the bound keeps the whole below the gateway's time limit. Returns False
        if the gateway has closed.
        """
        begin = time.monotonic()
        for index in range(len(data)):
            if not self.send(data[index:index + 1]):
                return False
            if pause and (pausing_for is None or time.monotonic() - begin < pausing_for):
                time.sleep(pause)
        return True

    def _fill(self, deadline):
        """Reads once into the buffer. Raises `Gone` at the end of the stream and `Failure` after the deadline."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise Failure("no bytes in time")
        self.socket.settimeout(left)
        try:
            data = self.socket.recv(262144)
        except (socket.timeout, TimeoutError):
            raise Failure("no bytes in time") from None
        except (ConnectionResetError, BrokenPipeError):
            raise Gone("the connection was reset") from None
        finally:
            self.socket.settimeout(self.timeout)
        if not data:
            raise Gone("the connection was closed")
        self.buffer += data

    def take(self, count, deadline):
        """Returns the next `count` bytes."""
        while len(self.buffer) < count:
            self._fill(deadline)
        data = bytes(self.buffer[:count])
        del self.buffer[:count]
        return data

    def is_silent(self, seconds):
        """Returns whether no byte arrives within this time and the connection stays open."""
        if self.buffer:
            return False
        try:
            self._fill(time.monotonic() + seconds)
        except Gone:
            return False
        except Failure:
            return True
        return False

    def expect_gone(self, within=None):
        """Checks that the stream ends without another byte."""
        deadline = time.monotonic() + (within or self.timeout)
        try:
            self._fill(deadline)
        except Gone:
            if self.buffer:
                raise Failure(f"{len(self.buffer)} bytes before the end") from None
            return
        raise Failure(f"bytes instead of the end: {bytes(self.buffer[:80])!r}")

    def wait_gone(self, within=None):
        """Reads and drops everything up to the end of the stream. Returns the seconds until then."""
        begin = time.monotonic()
        while True:
            self.buffer.clear()
            try:
                self._fill(begin + (within or self.timeout))
            except Gone:
                return time.monotonic() - begin

    def close(self):
        """Closes the connection with FIN."""
        try:
            self.socket.close()
        except OSError:
            pass

    def reset(self):
        """Closes the connection with RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    # HTTP

    def response(self, within=None, head=False):
        """Returns the next HTTP response. `head`: the request was HEAD, so no body follows."""
        deadline = time.monotonic() + (within or self.timeout)
        while b"\r\n\r\n" not in self.buffer:
            self._fill(deadline)
        end = self.buffer.index(b"\r\n\r\n")
        lines = bytes(self.buffer[:end]).decode("latin-1").split("\r\n")
        del self.buffer[:end + 4]
        version, _, rest = lines[0].partition(" ")
        if version != "HTTP/1.1" or not rest[:3].isdigit():
            raise Failure(f"not a status line: {lines[0]!r}")
        headers = []
        for line in lines[1:]:
            name, colon, value = line.partition(":")
            if not colon or not name or name != name.strip():
                raise Failure(f"not a field: {line!r}")
            headers.append((name, value.strip()))
        status = int(rest[:3])
        response = Response(status, headers, b"")
        length = response.get("content-length")
        if not head and status not in (101, 100, 204, 304) and length:
            response.body = self.take(int(length), deadline)
        return response

    def handshake_bytes(self, path="/debug/echo", headers=(), key=None, drop=()):
        """Returns the bytes of an opening handshake, without the fields in `drop` and with those in `headers`."""
        self.key = key or base64.b64encode(os.urandom(16)).decode()
        usual = [("Host", self.host), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
                 ("Sec-WebSocket-Key", self.key), ("Sec-WebSocket-Version", "13")]
        lines = [f"GET {path} HTTP/1.1"]
        replaced = {name.lower() for name, _ in headers}
        lines += [f"{name}: {value}" for name, value in usual
                  if name.lower() not in replaced and name.lower() not in drop]
        lines += [f"{name}: {value}" for name, value in headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")

    def check_accept(self, response):
        """Checks that the response accepts the upgrade with the digest of the sent key (RFC 6455 §4.2.2)."""
        digest = hashlib.sha1((self.key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
        if response.status != 101:
            raise Failure(f"the upgrade was answered {response.status} {response.body[:200]!r}")
        if response.get("sec-websocket-accept") != base64.b64encode(digest).decode():
            raise Failure("Sec-WebSocket-Accept does not match the key")

    def upgrade(self, path="/debug/echo", headers=()):
        """Performs the opening handshake and returns its response."""
        self.send(self.handshake_bytes(path, headers))
        response = self.response()
        self.check_accept(response)
        return response

    # WebSocket

    def frame(self, within=None):
        """Returns the next frame as (opcode, payload, is final, reserved bits).

        Checks that the server masks nothing, sets no reserved bit without an extension, encodes lengths minimally, and
        keeps control frames short and whole (RFC 6455 §5).
        """
        deadline = time.monotonic() + (within or self.timeout)
        first, second = self.take(2, deadline)
        opcode, rsv = first & 0x0F, first >> 4 & 7
        if second & 0x80:
            raise Failure("the server masked a frame")
        if rsv not in ((0, 4) if self.deflate and opcode < 8 else (0,)):
            raise Failure(f"the server set the reserved bits {rsv}")
        if opcode not in (0, 1, 2, 8, 9, 10):
            raise Failure(f"the server sent the opcode {opcode}")
        length = second & 0x7F
        if length == 126:
            length = struct.unpack("!H", self.take(2, deadline))[0]
            if length < 126:
                raise Failure("the server's length is not minimal")
        elif length == 127:
            length = struct.unpack("!Q", self.take(8, deadline))[0]
            if length < 65536:
                raise Failure("the server's length is not minimal")
        if opcode >= 8 and (length > 125 or not first & 0x80):
            raise Failure("the server's control frame is too long or fragmented")
        return opcode, self.take(length, deadline), bool(first & 0x80), rsv

    def message(self, within=None):
        """Returns the opcode and the whole payload of the next text or binary message."""
        opcode, payload, is_final, _ = self.frame(within)
        if opcode == frames.CLOSE:
            raise Gone(f"closed with {describe(payload)}")
        while not is_final:
            _, more, is_final, _ = self.frame(within)
            payload += more
        return opcode, payload

    def expect(self, opcode, payload, within=None):
        """Checks that the next frame is final and has this opcode and payload."""
        if isinstance(payload, str):
            payload = payload.encode()
        found = self.frame(within)
        if found[:3] != (opcode, payload, True):
            raise Failure(f"got opcode {found[0]} with {describe_bytes(found[1])}, "
                          f"wanted {opcode} with {describe_bytes(payload)}")

    def expect_close(self, code, within=None, then_gone=True):
        """Skips frames up to the close frame, checks its code (or that it is one of several), and the end after it.

        Returns the reason.
        """
        codes = code if isinstance(code, (tuple, list, set)) else (code,)
        while True:
            opcode, payload, _, _ = self.frame(within)
            if opcode == frames.CLOSE:
                break
        found, reason = close_of(payload)
        if found not in codes:
            raise Failure(f"closed with {found} {reason!r} instead of {code}")
        if then_gone:
            self.expect_gone()
        return reason

    def echo(self, payload=b"are you there", within=None):
        """Sends a binary message to the echo endpoint and checks that it comes back."""
        self.send(frames.frame(frames.BINARY, payload))
        self.expect(frames.BINARY, payload, within)


def close_of(payload):
    """Returns the code and the reason of a close frame; a reason is at most 123 bytes of UTF-8 (RFC 6455 §5.5.1)."""
    if not payload:
        return None, ""
    if len(payload) < 2 or len(payload) > 125:
        raise Failure(f"a close frame of {len(payload)} bytes")
    try:
        return struct.unpack("!H", payload[:2])[0], payload[2:].decode()
    except UnicodeDecodeError:
        raise Failure(f"a close reason that is not UTF-8: {payload!r}") from None


def describe(payload):
    """Returns the code and the reason of a close frame as text."""
    code, reason = close_of(payload)
    return f"{code} {reason!r}"


def describe_bytes(data):
    """Returns bytes as text, shortened if there are more than 60."""
    return repr(data) if len(data) <= 60 else f"{len(data)} bytes {data[:30]!r}…"
