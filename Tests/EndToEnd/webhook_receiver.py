"""A receiver of webhooks that fails 30 % of the time, in every way that occurs in practice.

    webhook_receiver.py PORT RECORD [CERTIFICATE]

Each delivery that it has read whole and takes is a line of RECORD: id, event, conversation, number in it, whether the
signature is right, whether a redirect was followed. It may still fail after that: then the delivery comes again. One
delivery fails four times at most, so that the test has an end.
"""

import collections
import hashlib
import hmac
import http.server
import json
import pathlib
import random
import socket
import ssl
import struct
import sys
import threading
import time

record = pathlib.Path(sys.argv[2])
secret_file = record.with_suffix(".secret")
chance = random.Random(1)
failures = collections.Counter()
lock = threading.Lock()
lines = record.open("a", buffering=1)


def is_signed(header, body):
    if not secret_file.exists():
        return False
    fields = dict(part.split("=", 1) for part in header.split(","))
    secret = secret_file.read_text().strip().encode()
    code = hmac.new(secret, fields["t"].encode() + b"." + body, hashlib.sha256).hexdigest()
    return abs(time.time() - int(fields["t"])) < 300 and hmac.compare_digest(code, fields["v1"])


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        name = self.headers["Chirrup-Delivery"]
        with lock:
            fault = "none"
            if chance.random() < 0.3 and failures[name] < 4 and self.path == "/":
                failures[name] += 1
                fault = chance.choice(["500", "reset", "hang", "redirect", "taken and reset", "taken and hang"])
        if fault == "none" or fault.startswith("taken"):
            self.take(name, body)
        elif chance.random() < 0.1:
            time.sleep(0.2)
        if fault.endswith("reset"):
            # Closing with this option sends RST instead of FIN.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
        elif fault.endswith("hang"):
            time.sleep(1.5)
            self.close_connection = True
        elif fault == "redirect":
            self.answer(307, b"", [("Location", "/followed")])
        elif fault == "500":
            self.answer(500, b"x" * 100_000)
        else:
            self.answer(200, b"y" * 10)

    def take(self, name, body):
        event = json.loads(body)
        assert event["id"] == name and event["type"] == self.headers["Chirrup-Event"]
        place = event.get("conversation", {}).get("id", "-")
        number = event.get("message", event.get("event", {})).get("seq", 0)
        signed = is_signed(self.headers["Chirrup-Signature"], body)
        with lock:
            lines.write(f"{name} {event['type']} {place} {number} {signed} {self.path}\n")
            record.with_suffix(".last").write_bytes(self.headers["Chirrup-Signature"].encode() + b"\n" + body)

    def answer(self, status, body, headers=()):
        self.send_response(status)
        for key, value in headers:
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:
            self.close_connection = True

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, address):
        # Disconnected peers are expected; any other error is a fault of this program.
        if not isinstance(sys.exc_info()[1], (OSError, ValueError)):
            super().handle_error(request, address)


server = Server(("127.0.0.1", int(sys.argv[1])), Receiver)
if len(sys.argv) > 3:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[3])
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
