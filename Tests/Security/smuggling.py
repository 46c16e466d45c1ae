"""Request smuggling behind a real nginx, with the shipped config/nginx.conf, and a real HAProxy, which reuse connections
to the gateway.

Both refuse one path. Each attack hides a request for that path in another one, in a form on whose end proxy and gateway
might disagree. The hidden request has an owner's token and would store a tag, which the database would show. After each
attack other clients of the proxy must get their own answers.
"""

import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from attacks import Tally, begin

gateway, options = begin(__doc__)
tally = Tally("request smuggling")
SECRET_PATH = "/api/v1/admin/tags/"
root = Path(__file__).resolve().parents[2]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def nginx(folder, port):
    text = (root / "config/nginx.conf").read_text()
    text = re.sub(r"\n\s*ssl_certificate\S*\s.*;", "", text).replace("listen 443 ssl;", f"listen 127.0.0.1:{port};")
    text = text.replace("server 127.0.0.1:8080;", f"server {gateway.host};").replace("server_name chat.example.com;", "server_name _;")
    text = text.replace("location / {", f"location {SECRET_PATH} {{ return 403; }}\n  location / {{")
    assert f"listen 127.0.0.1:{port}" in text and gateway.host in text and SECRET_PATH in text
    (folder / "nginx.conf").write_text(
        f"pid {folder}/pid; error_log {folder}/error.log; worker_processes 1; events {{}}\n"
        f"http {{ access_log off; client_body_temp_path {folder}/a; proxy_temp_path {folder}/b; fastcgi_temp_path {folder}/c;"
        f" uwsgi_temp_path {folder}/d; scgi_temp_path {folder}/e;\n{text}\n}}\n")
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf"), "-g", "daemon off; master_process off;"]


def haproxy(folder, port):
    (folder / "haproxy.cfg").write_text(f"""
defaults
  mode http
  timeout connect 5s
  timeout client 20s
  timeout server 20s
  http-reuse always
frontend public
  bind 127.0.0.1:{port}
  http-request deny if {{ path_beg {SECRET_PATH} }}
  default_backend chirrup
backend chirrup
  server one {gateway.host}
""")
    return ["haproxy", "-db", "-f", str(folder / "haproxy.cfg")]


def exchange(port, data, patience=0.4):
    """What comes back within the time, or until the end of the connection."""
    found = b""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as peer:
        try:
            peer.sendall(data)
            peer.settimeout(patience)
            while part := peer.recv(65_536):
                found += part
        except (TimeoutError, ConnectionError):
            pass
    return found


def hidden(name):
    return (
        f"PUT {SECRET_PATH}{name} HTTP/1.1\r\nHost: {gateway.host}\r\nAuthorization: Bearer {options.owner}\r\n"
        "Content-Type: application/json\r\nContent-Length: 20\r\n\r\n" + '{"colour":"#336699"}').encode()


def outer(headers, body, method="POST", path="/api/v1/widget/token", version="HTTP/1.1", end=b"\r\n"):
    lines = [f"{method} {path} {version}".encode(), b"Host: " + gateway.host.encode(), b"Content-Type: application/json"]
    return end.join(lines + [line if isinstance(line, bytes) else line.encode() for line in headers]) + end + end + body


CODINGS = [
    b"Transfer-Encoding: chunked", b"Transfer-Encoding: xchunked", b"Transfer-Encoding : chunked", b"Transfer-Encoding:\tchunked",
    b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity", b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
    b"Transfer-Encoding: identity, chunked", b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding: chunked,",
    b"Transfer-Encoding: \x0bchunked", b"Transfer-Encoding: chunked\x00", b"Transfer-Encoding: \"chunked\"", b"Transfer-Encoding: CHUNKED ",
    b"X: x\r\n Transfer-Encoding: chunked", b"Transfer-Encoding:\r\n chunked", b"X: x\nTransfer-Encoding: chunked",
    b"X: x\rTransfer-Encoding: chunked", b"Transfer_Encoding: chunked", b"Transfer-Encoding\x00: chunked", b"\x20Transfer-Encoding: chunked",
    b"Content-Encoding: chunked", b"Connection: Transfer-Encoding\r\nTransfer-Encoding: chunked", b"TE: chunked\r\nTransfer-Encoding: gzip, chunked",
]


def attacks(name):
    inner = hidden(name)
    size = len(inner)
    chunk = f"{size:x}\r\n".encode() + inner + b"\r\n0\r\n\r\n"
    for coding in CODINGS:
        # The proxy goes by the length, the gateway by the coding, and the other way round.
        yield f"length before {coding!r}", outer([f"Content-Length: {5 + size}", coding], b"0\r\n\r\n" + inner)
        yield f"coding before length, {coding!r}", outer([coding, "Content-Length: 4"], chunk)
    for length in (
        "Content-Length: 0\r\nContent-Length: {0}", "Content-Length: {0}\r\nContent-Length: 0", "Content-Length: {0}, 0", "Content-Length: 0, {0}",
        "Content-Length: +0", "Content-Length: -0", "Content-Length: 0x0", "Content-Length: 00", "Content-Length : 0\r\nContent-Length: {0}",
        "Content-Length: 0\x0b", "Content-Length:\r\n 0", "Content_Length: {0}", "Content-Length: ", "X: x\n\tContent-Length: 0\r\nContent-Length: {0}",
        "Content-Length: 18446744073709551616", "Content-Length: {0}\r\nConnection: Content-Length", "Content-Length: 1e0",
    ):
        yield length, outer([length.format(size)], inner)
    for method in "GET", "HEAD", "OPTIONS", "DELETE", "TRACE":
        yield f"{method} with a body", outer([f"Content-Length: {size}"], inner, method=method, path="/readyz")
        yield f"{method} with a chunked body", outer(["Transfer-Encoding: chunked"], chunk, method=method, path="/readyz")
    for line in ("5;a\n", "0x5", "+5", "-1", "5 ", "FFFFFFFFFFFFFFFF5", "5;\r\r\n", "05\n", "5\x0b", "g", ""):
        yield f"a chunk's size {line!r}", outer(["Transfer-Encoding: chunked"], line.encode() + b"\r\nhello\r\n0\r\n\r\n")
        yield f"a hidden request after a chunk's size {line!r}", outer(
            [f"Content-Length: {len(line) + 2 + size}", "Transfer-Encoding: chunked"], line.encode() + b"\r\n" + inner)
    for version in "HTTP/1.0", "HTTP/0.9", "HTTP/1.2", "HTTP/2.0", "http/1.1":
        yield f"chunked in {version}", outer(["Transfer-Encoding: chunked", f"Content-Length: {5 + size}"], b"0\r\n\r\n" + inner, version=version)
    yield "bare line feeds", outer([f"Content-Length: {size}"], inner, end=b"\n")
    yield "bare carriage returns", outer([f"Content-Length: {size}"], inner, end=b"\r")
    yield "a zero byte in a header", outer([f"Content-Length: {size}", b"X: \x00"], inner)
    yield "a header without a colon", outer(["Transfer-Encoding chunked", f"Content-Length: {size}"], inner)
    yield "an expectation", outer([f"Content-Length: {size}", "Expect: 100-continue"], inner)
    yield "an unknown expectation", outer([f"Content-Length: {size}", "Expect: x"], inner)
    yield "trailers", outer(["Transfer-Encoding: chunked"], b"0\r\nContent-Length: 0\r\nHost: a\r\n\r\n")
    upgrade = ["Connection: Upgrade", "Upgrade: websocket"]
    for change, path in (
        ("Sec-WebSocket-Version: 7", "/api/v1/ws"), ("Sec-WebSocket-Version: 13", "/api/v1/ws"),
        ("Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: x", "/api/v1/ws"), ("Sec-WebSocket-Version: 13", "/readyz"),
    ):
        yield f"a refused upgrade of {path}, {change!r}", outer(upgrade + [change], inner, method="GET", path=path)
    yield "an upgrade to h2c", outer(["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"], inner, method="GET", path="/readyz")
    yield "a path with a line end", b"GET /readyz%0d%0a HTTP/1.1\r\nX: \r\n\r\n" + inner
    yield "a path in absolute form", outer([], b"", method="PUT", path=f"http://{gateway.host}{SECRET_PATH}{name}").replace(
        b"\r\n\r\n", f"\r\nAuthorization: Bearer {options.owner}\r\nContent-Length: 20\r\n\r\n".encode() + b'{"colour":"#336699"}')


def stored(name):
    return gateway.sql(f"SELECT count(*) FROM tags WHERE name = '{name}'") != "0"


def attack(name, port):
    def refused(tag):
        return exchange(port, hidden(tag)).split(b"\r\n")[0]

    tally.control(f"{name} refuses the path", b" 403 " in refused("refused") and not stored("refused"), refused("refused"))
    for number, (what, data) in enumerate(attacks(f"hidden-{name}")):
        exchange(port, data, 0.15)
        for _ in range(2):
            other = exchange(port, f"GET /readyz HTTP/1.1\r\nHost: {gateway.host}\r\nConnection: close\r\n\r\n".encode(), 5)
            tally.attack(f"{name}: {what}: another client", other.startswith(b"HTTP/1.1 200 ") and other.count(b"HTTP/1.") == 1, other[:200])
        tally.attack(f"{name}: {what}", not stored(f"hidden-{name}"), "the hidden request was answered")
        if stored(f"hidden-{name}"):
            gateway.sql(f"DELETE FROM tags WHERE name = 'hidden-{name}'")
    # Two requests at once are no attack: the proxy sees both.
    both = exchange(port, f"GET /readyz HTTP/1.1\r\nHost: {gateway.host}\r\n\r\n".encode() + hidden("pipelined"))
    tally.attack(f"{name}: a request behind another", b" 403 " in both and not stored("pipelined"), both[:200])


direct = exchange(int(gateway.host.split(":")[1]), hidden("direct"))
tally.control("the hidden request works without a proxy", stored("direct"), direct[:200])
for name, make in {"nginx": nginx, "haproxy": haproxy}.items():
    if not shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin"):
        tally.control(f"{name} is installed", False)
        continue
    with tempfile.TemporaryDirectory(prefix=f"chirrup-{name}.") as place:
        port = free_port()
        command = make(Path(place), port)
        command[0] = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin")
        with open(f"{place}/output", "w") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output)
        try:
            for _ in range(100):
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    time.sleep(0.1)
            else:
                sys.exit(f"{name} does not start: {Path(place, 'output').read_text()[-400:]}")
            attack(name, port)
        finally:
            process.terminate()
            process.wait(20)
tally.end(at_least=500)
