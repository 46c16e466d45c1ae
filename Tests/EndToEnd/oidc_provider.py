"""An identity provider of our own that can also lie: discovery, code with PKCE, keys and signed tokens, made with
an implementation of others (cryptography). oidc_glewlwyd_test.py uses one that we did not write.
"""

import base64
import hashlib
import hmac
import json
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, parse_qsl, unquote, urlsplit

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature


def encode(data: bytes | int | dict) -> str:
    if isinstance(data, dict):
        data = json.dumps(data).encode()
    if isinstance(data, int):
        data = data.to_bytes((data.bit_length() + 7) // 8)
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


class Key:
    def __init__(self, name: str, algorithm="RS256") -> None:
        self.name, self.algorithm = name, algorithm
        self.key = (rsa.generate_private_key(65537, 2048) if algorithm == "RS256"
                    else ec.generate_private_key(ec.SECP256R1()))

    @property
    def public(self) -> dict:
        numbers = self.key.public_key().public_numbers()
        shape = {"kid": self.name, "alg": self.algorithm, "use": "sig"}
        if self.algorithm == "RS256":
            return shape | {"kty": "RSA", "n": encode(numbers.n), "e": encode(numbers.e)}
        return shape | {"kty": "EC", "crv": "P-256", "x": encode(numbers.x.to_bytes(32)),
                        "y": encode(numbers.y.to_bytes(32))}

    @property
    def pem(self) -> bytes:
        return self.key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)

    def sign(self, data: bytes) -> bytes:
        if self.algorithm == "RS256":
            return self.key.sign(data, padding.PKCS1v15(), hashes.SHA256())
        r, s = decode_dss_signature(self.key.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32) + s.to_bytes(32)


class Provider:
    client, secret = "chirrup:demo", "wet paint & 100 % dry"

    def __init__(self) -> None:
        self.keys = [Key("r1"), Key("e1", "ES256")]
        self.codes: dict[str, dict] = {}
        self.requests: list[str] = []
        self.document: dict = {}  # members that replace those of the discovery document
        self.body_of: dict[str, bytes] = {}  # other answers, by path
        self.refused: list[str] = []
        provider = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                provider.answer(self, urlsplit(self.path).path, None)

            def do_POST(self) -> None:
                provider.answer(self, self.path, self.rfile.read(int(self.headers["Content-Length"])))

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.issuer = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    # HTTP

    def answer(self, request: BaseHTTPRequestHandler, path: str, body: bytes | None) -> None:
        self.requests.append(path)
        status, headers = 200, {"Content-Type": "application/json"}
        if path in self.body_of:
            text = self.body_of[path]
            if text == b"slow":
                time.sleep(20)
            if text == b"redirect":
                status, headers = 302, {"Location": f"{self.issuer}/keys"}
        elif path == "/.well-known/openid-configuration":
            text = json.dumps(self.discovery() | self.document).encode()
        elif path == "/keys":
            text = json.dumps({"keys": [key.public for key in self.keys]}).encode()
        elif path == "/token" and body is not None:
            status, shape = self.token(dict(parse_qsl(body.decode())), request.headers["Authorization"] or "")
            text = json.dumps(shape).encode()
        elif path == "/me":
            text = json.dumps(self.codes[request.headers["Authorization"].removeprefix("Bearer ")]["me"]).encode()
        else:
            status, text = 404, b"{}"
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(text)))
        request.end_headers()
        request.wfile.write(text)

    def discovery(self) -> dict:
        return {"issuer": self.issuer, "authorization_endpoint": f"{self.issuer}/authorize",
                "token_endpoint": f"{self.issuer}/token", "jwks_uri": f"{self.issuer}/keys",
                "userinfo_endpoint": f"{self.issuer}/me", "code_challenge_methods_supported": ["S256"],
                "authorization_response_iss_parameter_supported": True}

    def token(self, form: dict, authorization: str) -> tuple[int, dict]:
        grant = self.codes.pop(form.get("code", ""), None)
        pair = base64.b64decode(authorization.removeprefix("Basic ")).decode().split(":")
        verifier = encode(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        wrong = [name for name, is_right in (
            ("client", [unquote(part) for part in pair] == [self.client, self.secret]),
            ("grant", grant is not None and form["grant_type"] == "authorization_code"),
            ("redirect", grant is not None and form["redirect_uri"] == grant["asked"]["redirect_uri"]),
            ("verifier", grant is not None and verifier == grant["asked"]["code_challenge"])) if not is_right]
        if wrong:
            self.refused += wrong
            return 400, {"error": "invalid_grant", "error_description": "secret words"}
        access = uuid.uuid4().hex
        self.codes[access] = grant
        return 200, {"access_token": access, "token_type": "Bearer", "id_token": self.id_token(grant)}

    # Tokens

    def authorize(self, url: str, person: dict, lies: dict) -> dict:
        """The answer in the browser's address after a login of this person."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256", asked
        code = uuid.uuid4().hex
        self.codes[code] = {"asked": asked, "person": person, "lies": lies, "me": lies.get("me", {})}
        return {"state": asked["state"], "code": code, "iss": self.issuer} | lies.get("answer", {})

    def id_token(self, grant: dict) -> str:
        now, lies = int(time.time()), grant["lies"]
        claims = {"iss": self.issuer, "aud": self.client, "nonce": grant["asked"]["nonce"], "iat": now,
                  "exp": now + 300} | grant["person"] | lies.get("claims", {})
        key = lies.get("key", self.keys[0])
        header = {"alg": key.algorithm, "kid": key.name} | lies.get("header", {})
        signed = f"{encode(header)}.{encode(claims)}"
        signature = b"" if header["alg"] == "none" else (
            hmac.digest(lies["hmac"], signed.encode(), "sha256") if "hmac" in lies else key.sign(signed.encode()))
        if lies.get("swap"):
            signed = f"{encode(header)}.{encode(claims | lies['swap'])}"
        return f"{signed}.{encode(signature)}"
