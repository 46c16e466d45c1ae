"""A push service (RFC 8030) for tests, and the browser behind it: it decrypts what it gets with http-ece, and verifies
the sender with py-vapid. Both are implementations of others.
"""

import base64
import json
import os
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import http_ece
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from py_vapid import Vapid02


def text_of(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def data_of(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


@dataclass
class Push:
    """A request that the service has read."""

    at: float
    status: int
    headers: dict
    message: dict
    #: The claims of the sender's token, whose signature is right.
    claims: dict
    #: The sender's public key.
    key: str


@dataclass
class Browser:
    """A subscription, and what came for it. `answers` are the statuses of the next requests, with headers; then 201."""

    name: str
    secret: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: bytes = field(default_factory=lambda: os.urandom(16))
    answers: list = field(default_factory=list)
    pushes: list = field(default_factory=list)
    faults: list = field(default_factory=list)
    #: While it is clear, answers wait.
    may_answer: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self):
        self.may_answer.set()

    def point(self) -> bytes:
        return self.secret.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)


class Service:
    def __init__(self) -> None:
        self.browsers: dict[str, Browser] = {}
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                browser = service.browsers.get(self.path.rpartition("/")[2])
                status, headers = 404, {}
                if browser:
                    status, headers = browser.answers.pop(0) if browser.answers else (201, {})
                    try:
                        browser.pushes.append(service.read(browser, self.headers, body, status))
                    except Exception as fault:  # noqa: BLE001: reported by the test
                        browser.faults.append(f"{type(fault).__name__}: {fault}")
                    browser.may_answer.wait(60)
                try:
                    self.send_response(status)
                    for name, value in {"Content-Length": "0", **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                except OSError:
                    pass  # the sender is gone

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_):
                pass  # a sender that is killed resets its connection

        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.origin = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def browser(self, name: str, *answers) -> Browser:
        self.browsers[name] = Browser(name, answers=list(answers))
        return self.browsers[name]

    def subscription(self, browser: Browser) -> dict:
        """As `PushSubscription.toJSON()`."""
        return {
            "endpoint": f"{self.origin}/push/{browser.name}", "expirationTime": None,
            "keys": {"p256dh": text_of(browser.point()), "auth": text_of(browser.auth)},
        }

    def read(self, browser: Browser, headers, body: bytes, status: int) -> Push:
        scheme, _, rest = headers["Authorization"].partition(" ")
        fields = dict(part.strip().split("=", 1) for part in rest.split(","))
        assert scheme.lower() == "vapid", scheme
        if not Vapid02.verify(headers["Authorization"]):
            raise ValueError("the token of VAPID has a wrong signature")
        header, claims, _ = fields["t"].split(".")
        assert json.loads(data_of(header))["alg"] == "ES256"
        claims = json.loads(data_of(claims))
        assert claims["aud"] == self.origin, claims
        assert time.time() < claims["exp"] <= time.time() + 86_400, claims
        assert headers["Content-Encoding"] == "aes128gcm" and len(body) <= 4_096
        plain = http_ece.decrypt(body, private_key=browser.secret, auth_secret=browser.auth, version="aes128gcm")
        return Push(time.monotonic(), status, dict(headers.items()), json.loads(plain), claims, fields["k"])


