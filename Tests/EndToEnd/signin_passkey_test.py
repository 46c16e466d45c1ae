"""Passkeys at the real gateway (issue 17.2): an authenticator of our own, which can also lie, made with an
implementation of others (python-fido2). signin_browser_test.py uses a browser's.

Started by signin.sh. Every promise is printed with its verdict; the first broken one ends the run.
"""

import hashlib
import json
import sys
import uuid

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from fido2.cose import ES256, RS256
from fido2.utils import websafe_decode, websafe_encode
from fido2.webauthn import (
    AttestedCredentialData, AuthenticatorData, CollectedClientData, PublicKeyCredentialCreationOptions,
    PublicKeyCredentialRequestOptions)

from signin_test import Answer, SignIn, begin

FACTOR = "/api/v1/auth/second-factor"
PASSKEYS = f"{FACTOR}/passkeys"
FLAG = AuthenticatorData.FLAG


class Authenticator:
    """One passkey. The members of `lies` change what it states before it signs."""

    def __init__(self, algorithm: int, host: str, origin: str) -> None:
        self.algorithm, self.host, self.origin = algorithm, host, origin
        self.id = uuid.uuid4().bytes + uuid.uuid4().bytes
        self.key = ec.generate_private_key(ec.SECP256R1()) if algorithm == -7 else rsa.generate_private_key(65537, 2048)
        self.count = 0
        self.user = b""

    def spki(self, key=None) -> bytes:
        return (key or self.key).public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)

    def client(self, kind: str, challenge: str, lies: dict) -> bytes:
        stated = json.loads(CollectedClientData.create(
            lies.get("type", kind), websafe_decode(lies.get("challenge", challenge)),
            lies.get("origin", self.origin)))
        return json.dumps(stated | lies.get("client", {})).encode()

    def host_hash(self, lies: dict) -> bytes:
        return hashlib.sha256(lies.get("host", self.host).encode()).digest()

    def register(self, options: dict, **lies) -> dict:
        """RegistrationResponseJSON."""
        read = PublicKeyCredentialCreationOptions.from_dict(options)
        assert self.algorithm in [each.alg for each in read.pub_key_cred_params]
        assert read.rp.id == self.host and read.authenticator_selection.user_verification == "required"
        self.user = read.user.id
        cose = (ES256 if self.algorithm == -7 else RS256).from_cryptography_key(self.key.public_key())
        flags = FLAG.UP | FLAG.UV | FLAG.AT
        data = bytearray(AuthenticatorData.create(
            self.host_hash(lies), flags, self.count,
            AttestedCredentialData.create(bytes(16), lies.get("attested", self.id), cose)))
        data[32] = lies.get("flags", flags)
        return {"id": websafe_encode(self.id), "rawId": websafe_encode(self.id), "type": "public-key",
                "clientExtensionResults": {}, "response": {
                    "clientDataJSON": websafe_encode(self.client("webauthn.create", options["challenge"], lies)),
                    "authenticatorData": websafe_encode(lies.get("data", bytes(data))),
                    "publicKey": websafe_encode(lies.get("spki", self.spki())),
                    "publicKeyAlgorithm": lies.get("algorithm", self.algorithm),
                    "transports": ["internal", "carrier-pigeon"]}}

    def login(self, options: dict, **lies) -> dict:
        """AuthenticationResponseJSON."""
        PublicKeyCredentialRequestOptions.from_dict(options)
        self.count += 1
        flags = lies.get("flags", FLAG.UP | FLAG.UV)
        data = self.host_hash(lies) + bytes([flags]) + lies.get("count", self.count).to_bytes(4) + lies.get("more", b"")
        client = self.client("webauthn.get", options["challenge"], lies)
        signed = data + hashlib.sha256(client).digest()
        key = lies.get("key", self.key)
        signature = (key.sign(signed, ec.ECDSA(hashes.SHA256())) if isinstance(key, ec.EllipticCurvePrivateKey)
                     else key.sign(signed, lies.get("padding", padding.PKCS1v15()), hashes.SHA256()))
        response = {"clientDataJSON": websafe_encode(client), "authenticatorData": websafe_encode(data),
                    "signature": websafe_encode(lies.get("change", lambda each: each)(signature)),
                    "userHandle": websafe_encode(self.user)} | lies.get("response", {})
        return {"id": websafe_encode(lies.get("id", self.id)), "type": "public-key", "clientExtensionResults": {},
                "response": {name: value for name, value in response.items() if value is not None}}


def raw(signature: bytes) -> bytes:
    """As JOSE has it."""
    return b"".join(part.to_bytes(32) for part in decode_dss_signature(signature))


def flipped(signature: bytes) -> bytes:
    return signature[:-1] + bytes([signature[-1] ^ 1])


class Passkeys(SignIn):
    def run(self) -> None:
        self.host, self.origin = "localhost", f"http://localhost:{self.address.port}"
        self.number = 0
        self.boss: dict[str, str] = {}
        self.registration()
        self.registration_attacks()
        self.login_attacks()
        self.two_steps()
        self.removal()
        self.elsewhere()
        self.records()

    # Requests as of the console's page.

    def page(self, path: str, body: dict, **headers: str) -> Answer:
        """From a new address each time, so that limits do not stop the attacks."""
        self.number += 1
        source = f"127.0.{10 + self.number // 200}.{1 + self.number % 200}"
        own = {"Host": f"{self.host}:{self.address.port}", "Origin": self.origin}
        return self.ask("POST", path, body, source, **own | headers)

    def password_login(self) -> Answer:
        return self.page("/api/v1/auth/login", {"email": self.email, "password": self.password})

    def bearer(self, answer: Answer) -> dict[str, str]:
        return {"Authorization": f"Bearer {answer.json['token']}"}

    def me(self, **headers: str) -> int:
        return self.ask("GET", "/api/v1/auth/me", **headers).status

    def begin_passkey(self) -> dict:
        answer = self.page(PASSKEYS, {"current": self.password}, **self.own)
        assert answer.status == 200, answer.json
        return answer.json

    def add(self, passkey: Authenticator, begun: dict | None = None, name="Key", **lies) -> Answer:
        begun = begun or self.begin_passkey()
        credential = passkey.register(begun["public_key"], **lies)
        body = {"challenge": begun["challenge"], "name": name, "credential": credential}
        return self.page(f"{PASSKEYS}/confirm", body, **self.own)

    def wanted(self, **body: str) -> dict:
        answer = self.page("/api/v1/auth/login/passkey/options", body)
        assert answer.status == 200, answer.json
        return answer.json

    def enter(self, passkey: Authenticator, begun: dict | None = None, login: str | None = None, **lies) -> Answer:
        begun = begun or self.wanted(**({"login": login} if login else {}))
        credential = passkey.login(begun["public_key"], **lies)
        body = {"challenge": lies.get("token", begun["challenge"]), "credential": credential, "login": login}
        return self.page("/api/v1/auth/login/passkey", body)

    def new(self, algorithm=-7) -> Authenticator:
        return Authenticator(algorithm, self.host, self.origin)

    # Promises

    def registration(self) -> None:
        self.email, self.password = self.account()
        other = self.password_login()
        self.own = self.bearer(self.password_login())
        found = self.page(PASSKEYS, {"current": "not it at all"}, **self.own)
        self.promise("a passkey needs the password", (found.status, found.json["type"][-14:]) == (403, "wrong_password"))
        self.es = self.new()
        added = self.add(self.es, name="Laptop")
        self.promise(f"the first passkey is added, with ten recovery codes ({added.status})",
                     added.status == 201 and len(added.json["recovery_codes"]) == 10)
        self.codes = added.json["recovery_codes"]
        self.promise("the account's other login has ended, this one has not",
                     (self.me(**self.bearer(other)), self.me(**self.own)) == (401, 200))
        self.rs = self.new(-257)
        added = self.add(self.rs, name="Old key")
        self.promise("so is one of RS256, without new codes", added.status == 201 and "recovery_codes" not in added.json)
        state = self.ask("GET", FACTOR, **self.own).json
        self.promise(f"both are listed ({[each['name'] for each in state['passkeys']]})",
                     [each["name"] for each in state["passkeys"]] == ["Laptop", "Old key"]
                     and (state["enabled"], state["app"], state["recovery_codes_left"]) == (True, False, 10))
        for name, passkey in (("ES256", self.es), ("RS256", self.rs)):
            found = self.enter(passkey)
            self.promise(f"a passkey of {name} logs in without the password ({found.status})",
                         found.status == 200 and self.me(**self.bearer(found)) == 200)

    def registration_attacks(self) -> None:
        small, wrong_curve = rsa.generate_private_key(65537, 1024), ec.generate_private_key(ec.SECP384R1())
        flags = FLAG.UP | FLAG.UV | FLAG.AT
        attacks: dict[str, dict] = {
            "a page of another site": {"origin": "https://evil.example"},
            "another port of this host": {"origin": f"http://localhost:{self.address.port + 1}"},
            "a subdomain": {"origin": f"http://a.localhost:{self.address.port}"},
            "no origin": {"origin": "null"},
            "a passkey of another host": {"host": "evil.example"},
            "an embedded page": {"client": {"crossOrigin": True}},
            "a page in another's frame": {"client": {"topOrigin": "https://evil.example"}},
            "the response of a login": {"type": "webauthn.get"},
            "another challenge": {"challenge": websafe_encode(bytes(32))},
            "an unverified user": {"flags": flags & ~FLAG.UV},
            "an absent user": {"flags": flags & ~FLAG.UP},
            "no new key": {"flags": flags & ~FLAG.AT},
            "another id in the signed data": {"attested": bytes(32)},
            "cut data": {"data": bytes(36)},
            "a key of P-384": {"spki": self.es.spki(wrong_curve)},
            "an RSA key as ES256": {"spki": self.es.spki(self.rs.key)},
            "a P-256 key as RS256": {"algorithm": -257},
            "an algorithm of others": {"algorithm": -8},
            "no algorithm": {"algorithm": 0},
            "a byte after the key": {"spki": self.es.spki() + b"\0"},
            "no key": {"spki": b"\x30\x03\x02\x01\x01"},
            "an RSA key of 1,024 bits": {"spki": self.es.spki(small), "algorithm": -257},
        }
        for words, lies in attacks.items():
            found = self.add(self.new(), **lies)
            self.promise(f"refused: a passkey with {words} ({found.status})",
                         (found.status, found.json["type"]) == (403, "urn:chirrup:problem:wrong_passkey"))
        begun = self.begin_passkey()
        found = self.add(self.es, begun)
        self.promise(f"refused: the same passkey twice ({found.status})", found.status == 409)
        email, password, own = self.email, self.password, self.own
        self.email, self.password = self.account()
        self.own = self.bearer(self.password_login())
        stranger = self.new()
        found = self.add(stranger, begun)
        self.promise(f"refused: the challenge of another account ({found.status})", found.status == 409)
        self.stranger = self.new()
        self.promise("another account has a passkey too", self.add(self.stranger).status == 201)
        self.email, self.password, self.own = email, password, own

    def login_attacks(self) -> None:
        flags = FLAG.UP | FLAG.UV
        attacks: dict[str, dict] = {
            "a page of another site": {"origin": "https://evil.example"},
            "another port of this host": {"origin": f"http://localhost:{self.address.port + 1}"},
            "a subdomain": {"origin": f"http://a.localhost:{self.address.port}"},
            "a passkey of another host": {"host": "evil.example"},
            "an embedded page": {"client": {"crossOrigin": True}},
            "the response of a registration": {"type": "webauthn.create"},
            "another challenge": {"challenge": websafe_encode(bytes(32))},
            "an unverified user": {"flags": FLAG.UP},
            "an absent user": {"flags": FLAG.UV},
            "a backup of a key that has none": {"flags": flags | FLAG.BS},
            "bytes after the data": {"more": b"\0"},
            "extensions that are not there": {"flags": flags | FLAG.ED},
            "a key in a login": {"flags": flags | FLAG.AT, "more": bytes(17) + b"\x01" + bytes(4)},
            "the key of another": {"key": self.stranger.key},
            "a changed signature": {"change": flipped},
            "the signature as JOSE has it": {"change": raw},
            "the account of another": {"response": {"userHandle": websafe_encode(self.stranger.user)}},
            "no account": {"response": {"userHandle": None}},
            "an unknown id": {"id": bytes(32)},
            "the id of another passkey of the account": {"id": self.rs.id},
            "a counter that stands still": {"count": 1},
            "a counter that ends": {"count": 0},
        }
        for words, lies in attacks.items():
            found = self.enter(self.es, **lies)
            self.promise(f"refused: a login with {words} ({found.status})",
                         (found.status, found.json["type"]) == (401, "urn:chirrup:problem:wrong_passkey")
                         and not found.cookies)
        pss = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)
        found = self.enter(self.rs, padding=pss)
        self.promise(f"refused: RSA with another padding ({found.status})", found.status == 401)
        begun = self.wanted()
        self.promise("a challenge logs in", self.enter(self.es, begun).status == 200)
        found = self.enter(self.es, begun)
        self.promise(f"refused: the same challenge again, newly signed ({found.status})", found.status == 401)
        found = self.enter(self.rs, begun)
        self.promise(f"refused: and by another passkey ({found.status})", found.status == 401)
        credential = self.es.login(self.wanted()["public_key"])
        for words, token in (("of a registration", self.begin_passkey()["challenge"]), ("that is forged", "signing.AAAA"),
                             ("of another login", self.wanted()["challenge"])):
            body = {"challenge": token, "credential": credential}
            found = self.page("/api/v1/auth/login/passkey", body).status
            self.promise(f"refused: a challenge {words} ({found})", found == 401)
        found = self.page("/api/v1/auth/login/passkey/options", {}, Origin="https://evil.example").status
        self.promise(f"refused: a request of a foreign page ({found})", found == 403)
        named = [each["id"] for each in self.wanted()["public_key"]["allowCredentials"]]
        self.promise("the options name no passkey before the first step", named == [])
        self.promise("the passkey still logs in", self.enter(self.es).status == 200)

    def two_steps(self) -> None:
        step = self.password_login()
        self.promise(f"the password alone is one step now ({step.json.get('methods')})",
                     "token" not in step.json and not step.cookies
                     and step.json["methods"] == ["passkey", "recovery_code"])
        login = step.json["challenge"]
        named = [each["id"] for each in self.wanted(login=login)["public_key"]["allowCredentials"]]
        self.promise("the options of the second step name the account's passkeys",
                     named == [websafe_encode(self.es.id), websafe_encode(self.rs.id)])
        found = self.enter(self.stranger, login=login)
        self.promise(f"refused: the passkey of another account ({found.status})", found.status == 401)
        found = self.enter(self.es, login=login, response={"userHandle": None})
        self.promise(f"the passkey is the second step ({found.status})", found.status == 200)
        code = {"challenge": self.password_login().json["challenge"], "code": self.codes[0]}
        found = [self.page("/api/v1/auth/login/code", code).status for _ in range(2)]
        self.promise(f"a recovery code replaces it, once ({found})", found == [200, 401])

    def removal(self) -> None:
        rows = self.ask("GET", FACTOR, **self.own).json["passkeys"]
        first, second = (f"{PASSKEYS}/{each['id']}/remove" for each in rows)
        found = self.page(first, {"current": "not it at all"}, **self.own).status
        self.promise(f"a passkey is not removed without the password ({found})", found == 403)
        other_email, other_password = self.account()
        login = self.page("/api/v1/auth/login", {"email": other_email, "password": other_password})
        found = self.page(first, {"current": other_password}, **self.bearer(login)).status
        self.promise(f"nor by another operator ({found})", found == 404)
        found = self.page(first, {"current": self.password}, **self.own).status
        self.promise(f"it is with it ({found})", found == 204)
        self.promise("a removed passkey logs nobody in", self.enter(self.es).status == 401)
        self.required(True)
        found = self.page(second, {"current": self.password}, **self.own).status
        self.promise(f"the last factor stays while the workspace requires one ({found})", found == 409)
        self.required(False)
        found = self.page(second, {"current": self.password}, **self.own).status
        self.promise(f"else it is removed ({found})", found == 204)
        self.promise("the password is enough again", "token" in self.password_login().json)

    def required(self, yes: bool) -> None:
        if not self.boss:
            email, password = self.account("owner")
            self.boss = self.bearer(self.page("/api/v1/auth/login", {"email": email, "password": password}))
        settings = {"settings": {"security": {"require_second_factor": yes}}}
        assert self.ask("PATCH", "/api/v1/admin/settings", settings, **self.boss).status == 200

    def elsewhere(self) -> None:
        self.own = self.bearer(self.password_login())
        own = {"Host": f"127.0.0.1:{self.address.port}", "Origin": f"http://127.0.0.1:{self.address.port}"}
        found = self.page(PASSKEYS, {"current": self.password}, **self.own | own)
        self.promise(f"at an address there are no passkeys, with the reason ({found.status})",
                     found.status == 409 and "host name" in found.json["detail"])
        found = self.page("/api/v1/auth/login/passkey/options", {}, **own).status
        self.promise(f"also for a login ({found})", found == 409)
        self.promise("a passkey by command reset is gone", self.reset())

    def reset(self) -> bool:
        passkey = self.new()
        assert self.add(passkey).status == 201
        self.command("operator", "reset-second-factor", "--email", self.email)
        return self.enter(passkey).status == 401 and "token" in self.password_login().json

    def records(self) -> None:
        with open(self.options.log) as file:
            log = file.read()
        reasons = ["passkey_wrong_origin", "passkey_wrong_host", "passkey_user_not_verified", "passkey_wrong_signature",
                   "passkey_replayed", "passkey_counter", "passkey_wrong_account", "passkey_unknown", "passkey_wrong_key"]
        missing = [reason for reason in reasons if f"reason={reason}" not in log]
        self.promise(f"the log names the reason of each refusal (missing: {missing})", not missing)
        secrets = [self.password, *self.codes, websafe_encode(self.es.id), websafe_encode(self.rs.id)]
        self.promise("and has no secret and no id of a passkey", not any(secret in log for secret in secrets))


if __name__ == "__main__":
    sys.exit(begin(Passkeys, __doc__))
