"""Forged tokens over REST and over the WebSocket: bent, unsigned, signed with other keys or algorithms, with false claims,
expired, and every credential in the place of another. The conformance suite has the close codes.

The test signs with the real key, which it reads from the database, so that only the named part of a token is false.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import time

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from attacks import Tally, begin

gateway, options = begin(__doc__)
tally = Tally("forged tokens")
key = bytes.fromhex(gateway.sql("SELECT encode(secret, 'hex') FROM signing_keys WHERE id = 'tokens'"))
workspace = gateway.sql("SELECT public_key FROM workspaces WHERE name = 'demo'")


def encode(value):
    value = value if isinstance(value, bytes) else json.dumps(value).encode()
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def decode(part):
    return json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


def signed(header, claims, secret, digest=hashlib.sha256):
    text = f"{encode(header)}.{encode(claims)}"
    return f"{text}.{encode(hmac.new(secret, text.encode(), digest).digest())}"


async def hello(token):
    """`welcome`, or the code with which the gateway closes."""
    address = gateway.url.replace("http", "ws", 1) + "/api/v1/ws"
    async with connect(address, subprotocols=["chirrup.v1"], origin=gateway.url) as socket:
        try:
            await socket.send(json.dumps({"type": "hello", "ref": 1, "token": token}))
            while True:
                message = await asyncio.wait_for(socket.recv(), 60)
                if any(json.loads(line)["type"] == "welcome" for line in message.split("\n")):
                    return "welcome"
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else "lost"


CALLS = {
    "operator": ("GET", "/api/v1/admin/live-chat/conversations?limit=1", None),
    "visitor": ("PUT", "/api/v1/widget/profile", {}),
}


def status(kind, token):
    method, path, body = CALLS[kind]
    return gateway.call(method, path, body, {"Authorization": f"Bearer {token}"}).status


def forgeries(token):
    head, body, signature = token.split(".")
    header, claims, now = decode(head), decode(body), int(time.time())
    other = {"chirrup:operator": "chirrup:visitor", "chirrup:visitor": "chirrup:operator"}[claims["aud"]]
    fresh = "01900000-0000-7000-8000-000000000000"
    raised = claims | {"role": "owner", "aud": "chirrup:operator", "exp": now + 10**6}
    # Signed with the real key, but with a claim that is wrong.
    for name, change in {
        "expired": {"exp": now - 10}, "not yet valid": {"nbf": now + 3_600}, "another issuer": {"iss": "somebody"},
        "no audience": {"aud": None}, "a list of audiences": {"aud": [claims["aud"]]}, "the other audience": {"aud": other},
        "nobody": {"sub": fresh}, "a subject that is no id": {"sub": "' OR 1=1 --"}, "no subject": {"sub": None},
        "an unknown workspace": {"wks": fresh, "ws": fresh, "tid": fresh, "workspace": fresh},
        "an end of 10^30": {"exp": 10**30}, "a negative end": {"exp": -1}, "an end in words": {"exp": "tomorrow"},
        "no end": {"exp": None}, "an end of a float": {"exp": 1e300},
    }.items():
        forged = {k: v for k, v in (claims | change).items() if v is not None}
        if name == "an unknown workspace":
            forged = {k: fresh if v == claims_workspace(claims) else v for k, v in claims.items()}
        yield name, signed(header, forged, key)
    # The right claims, but wrongly signed.
    for name in "none", "None", "NONE", "nOnE", "":
        yield f"alg {name!r}", f"{encode({'alg': name})}.{body}."
        yield f"alg {name!r} with the signature", f"{encode({'alg': name})}.{body}.{signature}"
    for name, digest in ("HS384", hashlib.sha384), ("HS512", hashlib.sha512), ("RS256", hashlib.sha256), ("ES256", hashlib.sha256):
        yield name, signed(header | {"alg": name}, claims, key, digest)
    for name, secret in {
        "an empty key": b"", "a foreign key": b"x" * 32, "zeros": bytes(32), "the key in hexadecimal": key.hex().encode(),
        "the key in base64": base64.b64encode(key), "half of the key": key[:16], "the workspace's key": workspace.encode(),
    }.items():
        yield name, signed(header, claims, secret)
        yield name + ", as an owner", signed(header, raised, secret)
    own = {"kty": "oct", "k": encode(b"x" * 32)}
    for name, extra in {
        "a kid that is a file": {"kid": "../../../../dev/null"}, "a kid with SQL": {"kid": "' UNION SELECT 'x' --"},
        "an unknown kid": {"kid": "key-unknown"}, "a key of its own": {"jwk": own}, "a key elsewhere": {"jku": "http://127.0.0.1:1/"},
        "a certificate elsewhere": {"x5u": "http://127.0.0.1:1/"},
    }.items():
        yield name, signed(header | extra, claims, b"x" * 32)
        yield name + ", empty key", signed(header | extra, claims, b"")
    yield "a critical extension", signed(header | {"crit": ["b64"], "b64": False}, claims, key)
    yield "raised, with the old signature", f"{head}.{encode(raised)}.{signature}"
    yield "two parts", f"{head}.{body}"
    yield "four parts", token + ".x"
    yield "no signature", f"{head}.{body}."
    yield "padding", token + "=="
    yield "another text of the same signature", token[:-1] + chr(ord(token[-1]) + 1)
    yield "arrays", signed([], [], key)
    yield "5 KiB", "x" * 5_000
    yield "a zero byte", token[:20] + "%00" + token[20:]
    # A letter in each place, of all three parts.
    for index, letter in enumerate(token):
        if letter != ".":
            yield f"letter {index}", token[:index] + ("A" if letter != "A" else "B") + token[index + 1:]


def claims_workspace(claims):
    return gateway.sql("SELECT id FROM workspaces WHERE name = 'demo'")


async def main():
    visit = gateway.call("POST", "/api/v1/widget/token", {"workspace": workspace}, {"Origin": gateway.url}).json()
    tokens = {"operator": options.owner, "visitor": visit["token"]}
    for kind, token in tokens.items():
        tally.control(f"the {kind}'s token over REST", status(kind, token) == 200, status(kind, token))
        found = await hello(token)
        tally.control(f"the {kind}'s token over the WebSocket", found == "welcome", found)
        for name, forged in forgeries(token):
            answer = status(kind, forged)
            tally.attack(f"{kind}: {name}, REST", answer in (400, 401, 403), answer)
            if not name.startswith("letter") or int(name.split()[1]) % 16 == 0:
                found = await hello(forged)
                tally.attack(f"{kind}: {name}, WebSocket", found in (4202, 4203, 4204, 1009), found)
    # Each credential in the place of another.
    credentials = {
        "a visitor's token": tokens["visitor"], "an API key": gateway.seeds["key"], "a cookie's secret": gateway.seeds["cookie"],
        "a refresh secret": visit["refresh"], "a workspace's public key": workspace, "an empty text": "", "null": "null",
        "an id of an operator": gateway.sql("SELECT id FROM operators LIMIT 1"),
    }
    for name, secret in credentials.items():
        if name != "an API key":
            answer = status("operator", secret)
            tally.attack(f"{name} as an operator's token", answer in (401, 403), answer)
        if name != "a visitor's token":
            answer = status("visitor", secret)
            tally.attack(f"{name} as a visitor's token", answer in (401, 403), answer)
            found = await hello(secret)
            tally.attack(f"{name} over the WebSocket", found in (4202, 4203), found)
        answer = gateway.call("GET", CALLS["operator"][1], None, {"Cookie": f"chirrup_session={secret}"}).status
        tally.attack(f"{name} as a cookie", answer == (200 if name == "a cookie's secret" else 401), answer)
        if name != "a refresh secret":
            answer = gateway.call("POST", "/api/v1/widget/token", {"workspace": workspace, "refresh": secret}, {"Origin": gateway.url})
            again = answer.status == 200 and answer.json()["visitor"]["id"] == visit["visitor"]["id"]
            tally.attack(f"{name} as a refresh secret", not again and answer.status < 500, answer.text[:120])
    identities()


def identities():
    """Identities that the host site signs."""
    admin = {"Authorization": "Bearer " + options.owner}
    ended = gateway.call("POST", "/api/v1/admin/identity-secrets", {"overlap_hours": 0}, admin).json()["secret"].encode()
    secret = gateway.call("POST", "/api/v1/admin/identity-secrets", {"overlap_hours": 0}, admin).json()["secret"].encode()
    header, claims, now = {"alg": "HS256"}, {"sub": "customer 7", "exp": int(time.time()) + 600}, int(time.time())

    def answer(token):
        return gateway.call("POST", "/api/v1/widget/token", {"workspace": workspace, "identity": token}, {"Origin": gateway.url}).status

    right = signed(header, claims, secret)
    tally.control("a signed identity", answer(right) == 200, answer(right))
    cases = {
        "an ended secret": signed(header, claims, ended), "an empty secret": signed(header, claims, b""),
        "the key of tokens": signed(header, claims, key), "the public key": signed(header, claims, workspace.encode()),
        "alg none": f"{encode({'alg': 'none'})}.{encode(claims)}.", "HS512": signed({"alg": "HS512"}, claims, secret, hashlib.sha512),
        "expired": signed(header, claims | {"exp": now - 10}, secret), "no end": signed(header, {"sub": "7"}, secret),
        "no subject": signed(header, {"exp": now + 60}, secret), "an empty subject": signed(header, claims | {"sub": ""}, secret),
        "not yet valid": signed(header, claims | {"nbf": now + 600}, secret),
        "a critical extension": signed(header | {"crit": ["x"]}, claims, secret), "a visitor's token": gateway.seeds["visitor"],
        "another subject": right.split(".")[0] + "." + encode(claims | {"sub": "customer 8"}) + "." + right.split(".")[2],
    }
    for name, token in cases.items():
        tally.attack(f"identity: {name}", answer(token) == 403, answer(token))


asyncio.run(main())
tally.end(at_least=900)
