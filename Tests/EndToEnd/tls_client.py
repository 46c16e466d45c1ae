"""A WebSocket echo over TLS with nothing but Python's standard library, against the gateway on PORT.

It cuts its bytes in odd places, sends large messages, ends without close_notify, resumes by ticket and sends
garbage in the middle of a connection: the gateway answers each time, or closes and lives.
"""

import base64
import os
import socket
import ssl
import struct
import sys

PORT = int(sys.argv[1])
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CONTEXT.check_hostname = False
CONTEXT.verify_mode = ssl.CERT_NONE


def connect(session=None):
    plain = socket.create_connection(("127.0.0.1", PORT), timeout=60)
    secure = CONTEXT.wrap_socket(plain, server_hostname="localhost", session=session)
    key = base64.b64encode(os.urandom(16)).decode()
    secure.sendall(
        f"GET /debug/echo HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        head += secure.recv(1)
    assert head.startswith(b"HTTP/1.1 101"), head
    return secure


def frame(payload):
    size = len(payload)
    head = bytes([0x82])
    head += bytes([0x80 | size]) if size < 126 else (
        bytes([0xFE]) + struct.pack(">H", size) if size < 65536 else bytes([0xFF]) + struct.pack(">Q", size))
    return head + bytes(4) + payload


def receive(secure, size):
    data = b""
    while len(data) < size:
        part = secure.recv(size - len(data))
        assert part, "closed"
        data += part
    return data


def echo(secure, payload, pieces):
    data = frame(payload)
    step = max(1, len(data) // pieces)
    for start in range(0, len(data), step):
        secure.sendall(data[start:start + step])
    head = receive(secure, 2)
    size = head[1]
    if size == 126:
        size = struct.unpack(">H", receive(secure, 2))[0]
    elif size == 127:
        size = struct.unpack(">Q", receive(secure, 8))[0]
    assert receive(secure, size) == payload


first = connect()
for size in (0, 1, 125, 126, 16_383, 16_384, 16_385, 65_535, 65_536, 1_000_000):
    echo(first, os.urandom(size), pieces=1)
    echo(first, os.urandom(size), pieces=7)
session = first.session

# The gateway frees a connection that ends without close_notify.
first.detach()

again = connect(session)
assert again.session_reused, "no resumption"
echo(again, b"resumed", pieces=1)

# Invalid records get an alert or the end, and never an echo.
descriptor = again.detach()
raw = socket.socket(fileno=descriptor)
raw.settimeout(60)
raw.sendall(b"\x17\x03\x03\x00\x20" + os.urandom(32))
answer = b""
while part := raw.recv(4096):
    answer += part
assert len(answer) < 64, answer

# Records that are empty, too long, or of another kind.
for garbage in (b"\x17\x03\x03\x00\x00", b"\x17\x03\x03\xff\xff" + bytes(100), b"\x14\x03\x03\x00\x01\x01",
                b"\x16\x03\x03\x00\x04\x0e\x00\x00\x00", os.urandom(500)):
    victim = connect()
    raw = socket.socket(fileno=victim.detach())
    raw.settimeout(60)
    raw.sendall(garbage)
    try:
        while raw.recv(4096):
            pass
    except ConnectionResetError:
        pass

last = connect()
echo(last, b"alive", pieces=1)
