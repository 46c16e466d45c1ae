"""Incomplete TLS handshakes, and visitors who connect meanwhile.

    tls_flood.py flood PORT COUNT ADDRESS     opens them, prints `open`, and holds them until its input ends
    tls_flood.py visit PORT COUNT ADDRESS     that many handshakes with a request each, one after the other

ADDRESS is the client's own, one of 127.0.0.0/8: each has ports of its own.

A third of the flood sends nothing, a third sends five bytes, a third a whole ClientHello and no more.
"""

import resource
import socket
import ssl
import sys

MODE, PORT, COUNT, ADDRESS = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
CONTEXT = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
CONTEXT.check_hostname = False
CONTEXT.verify_mode = ssl.CERT_NONE


def make_hello():
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        CONTEXT.wrap_bio(incoming, outgoing, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        return outgoing.read()


def connect():
    return socket.create_connection(("127.0.0.1", PORT), timeout=120, source_address=(ADDRESS, 0))


def flood():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    hello = make_hello()
    held = []
    for number in range(COUNT):
        one = connect()
        try:
            one.sendall((b"", hello[:5], hello)[number % 3])
        except ConnectionError:
            pass
        held.append(one)
    print("open", flush=True)
    sys.stdin.read()


def visit():
    for _ in range(COUNT):
        with connect() as plain:
            with CONTEXT.wrap_socket(plain, server_hostname="localhost") as secure:
                secure.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                answer = b""
                while part := secure.recv(4096):
                    answer += part
                assert answer.startswith(b"HTTP/1.1 200"), answer


flood() if MODE == "flood" else visit()
