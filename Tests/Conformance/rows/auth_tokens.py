"""Table A: tokens that are forged, old, revoked or wanted by the thousand."""

import base64
import hashlib
import hmac
import json
import statistics
import time
import uuid

from harness.frames import TEXT, frame
from harness.peer import Gone
from harness.registry import closed, counts, fault, refused, row, skip

from .auth import CONVERSATIONS, login, make_workspace

skip("A13", "identities of the host site, signed wrongly",
     "the gateway reads no signed identities yet, so an unsigned one gives nothing to anybody")
skip("A14", "the time of comparing an identity's code", "as A13; tokens are compared by HMAC in constant time (OpenSSLTests)")


def encode(data):
    if not isinstance(data, bytes):
        data = json.dumps(data, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def signed(header, claims, key):
    text = f"{encode(header)}.{encode(claims)}"
    return f"{text}.{encode(hmac.new(key, text.encode(), hashlib.sha256).digest())}"


@row("A15", "tokens that are forged, mixed, early, late or bent", refused("unauthenticated", 15), closed(4203, 15), closed(4202))
def forged(t):
    account = t.gateway.token("visitor")
    key = bytes.fromhex(t.gateway.cluster.value(
        "SELECT encode(secret, 'hex') FROM signing_keys ORDER BY created_at DESC LIMIT 1", t.gateway.database))
    head, body, signature = account["token"].split(".")
    header, claims, now = decode(head), decode(body), int(time.time())
    t.check(signed(header, claims, key).split(".")[2] and header["alg"] == "HS256", "the test cannot sign")

    def hello(token):
        peer = t.hello_less()
        peer.send(frame(TEXT, json.dumps({"type": "hello", "ref": "h", "token": token})))
        event = json.loads(peer.message()[1])
        if event["type"] == "welcome":
            return 0
        opcode, payload, _, _ = peer.frame()
        peer.close()
        return int.from_bytes(payload[:2], "big")

    t.check(hello(signed(header, claims, key)) == 0, "a good token is refused")
    none = encode({"alg": "none", "typ": "JWT"})
    operator = claims | {"aud": "chirrup:operator", "role": "owner"}
    cases = [
        ("alg none", f"{none}.{body}."), ("alg none, signed", f"{none}.{body}.{signature}"),
        ("alg None", f"{encode({'alg': 'None'})}.{body}."), ("no signature", f"{head}.{body}."),
        ("HS384", signed(header | {"alg": "HS384"}, claims, key)), ("RS256", signed(header | {"alg": "RS256"}, claims, key)),
        ("a foreign key", signed(header, claims, b"x" * 32)), ("an empty key", signed(header, claims, b"")),
        ("kid of a file", signed(header | {"kid": "../../../../dev/null"}, claims, b"")),
        ("jwk in the header", signed(header | {"jwk": {"kty": "oct", "k": encode(b"x" * 32)}}, claims, b"x" * 32)),
        ("not before the future", signed(header, claims | {"nbf": now + 3600}, key)),
        ("another issuer", signed(header, claims | {"iss": "somebody"}, key)),
        ("another audience", signed(header, claims | {"aud": "chirrup:server"}, key)),
        ("no sessions", signed(header, {name: value for name, value in claims.items() if name != "ses"}, key)),
        ("a session that is no id", signed(header, claims | {"ses": ["x' OR 1=1"]}, key)),
        ("claims of an operator, body bent", f"{head}.{encode(operator)}.{signature}"),
        ("four parts", account["token"] + ".x"), ("two parts", f"{head}.{body}"), ("5 KiB", "x" * 5_000),
        ("an end of 10^30", signed(header, claims | {"exp": 10 ** 30}, key)),
        ("an end of a float", signed(header, claims | {"exp": 1e300}, key)),
        ("arrays", signed([], [], key)), ("padding", account["token"] + "=="),
    ]
    for name, token in cases:
        # Signed with the real key it would be a secret: none of these is good for anything.
        code = hello(token)
        if name in ("not before the future", "another issuer", "HS384", "RS256", "alg none"):
            t.check(code == 4203, f"{name}: {code or 'welcome'}")
        else:
            t.check(code in (4203, 4202, 1009), f"{name}: {code or 'welcome'}")
    t.check(hello(signed(header, claims | {"exp": now - 10}, key)) == 4202, "an expired token is not told so")
    # Every bit of the signature, and some of the rest.
    bent = 0
    for index in range(len(head) + 1, len(account["token"]), 9):
        letter = account["token"][index]
        other = "A" if letter != "A" else "B"
        if letter != ".":
            code = hello(account["token"][:index] + other + account["token"][index + 1:])
            t.check(code == 4203, f"letter {index}: {code or 'welcome'}")
            bent += 1
    t.note(f"{len(cases)} forgeries, {bent} bent letters")


@row("A15a", "a token whose login has ended", closed(4204), fault("conversation", "the login has ended"), memory=70 << 20)
def logged_out(t):
    place = make_workspace(t)
    _, token, cookie = login(t, place)
    chat = t.chat("operator", account={"token": token})
    own = f"http://127.0.0.1:{t.gateway.address[1]}"
    t.check(t.gateway.ask("POST", "/api/v1/auth/logout", [("Cookie", cookie), ("Origin", own)], {}).status == 204, "no logout")
    begin = time.monotonic()
    chat.peer.expect_close(4204, 8 * t.scale, then_gone=False)
    t.note(f"closed after {time.monotonic() - begin:.1f} s")
    answer = t.gateway.ask("POST", "/api/v1/auth/token", [("Cookie", cookie), ("Origin", own)], {})
    t.check(answer.status == 401, f"the old cookie gets a token: {answer.status}")


@row("A16", "an operator is disabled, gets another password, another role: closed within 5 s", closed(4204, 3),
     fault("conversation", "the login has ended", 3), memory=100 << 20, seconds=20)
def revoked(t):
    def ends(what, act):
        place = make_workspace(t)
        _, token, _ = login(t, place)
        chat = t.chat("operator", account={"token": token})
        chat.say(type="watch", ref="w", inbox=True)
        chat.until("ok", ref="w")
        act(place)
        begin = time.monotonic()
        chat.peer.expect_close(4204, 10 * t.scale, then_gone=False)
        taken = time.monotonic() - begin
        t.note(f"{what}: closed after {taken:.1f} s")
        t.check(taken < 5 * t.scale, f"{what}: closed after {taken:.1f} s")
        status = t.gateway.ask("GET", CONVERSATIONS, [("Authorization", f"Bearer {token}")]).status
        t.check(status in (401, 403) or what == "role", f"{what}: the REST API still answers {status}")

    def sql(statement):
        return lambda place: t.gateway.cluster.query(statement.format(**place), t.gateway.database)

    ends("disabled", lambda place: t.gateway.command("operator", "disable", "--email", place["email"]))
    ends("role", sql("UPDATE memberships SET role = 'admin' WHERE operator_id = '{operator}'"))
    ends("password", sql("UPDATE operators SET password_hash = 'x' WHERE id = '{operator}'"))
    ends("left", sql("DELETE FROM memberships WHERE operator_id = '{operator}'"))


@row("A17", "a token that ends while its connection lives: a warning, 30 s of grace, 4202", closed(4202),
     refused("token_expired"), seconds=38)
def expires(t):
    account = t.gateway.token("visitor", lifetime=4)
    chat, begin = t.chat(account=account, timeout=60 * t.scale), time.monotonic()
    chat.until("token_expiring", 5 * t.scale)
    renewed = t.chat(account=t.gateway.token("visitor", lifetime=4), timeout=60 * t.scale)
    renewed.until("token_expiring", 5 * t.scale)
    chat.expect_error("token_expired", within=45 * t.scale)
    chat.peer.expect_close(4202, then_gone=False)
    taken = time.monotonic() - begin
    t.note(f"closed after {taken:.0f} s with a token of 4 s")
    t.check(30 < taken < 60 * t.scale, f"closed after {taken:.0f} s")


@row("A18", "guessed passwords, floods of tokens and hellos: 429", counts("http_requests", 40), profile="limits",
     memory=160 << 20)
def guessing(t):
    place = make_workspace(t)
    statuses = []
    for number in range(14):
        answer, _, _ = login(t, place, password=f"wrong {number}", source="127.0.5.1")
        statuses.append(answer.status)
    t.note(f"wrong passwords: {statuses}")
    t.check(statuses[0] == 401 and statuses[-1] == 429 and statuses.count(401) <= 11, f"{statuses}")
    # The right one must wait too, from wherever it comes.
    answer, _, _ = login(t, place, source="127.0.5.2")
    t.check(answer.status == 429 and int(answer.get("retry-after")) > 0, f"the account is open: {answer.status}")
    statuses = [t.gateway.ask("POST", "/api/v1/widget/token", body={"workspace": place["public_key"]},
                              source="127.0.5.3").status for _ in range(9)]
    t.check(statuses[:6] == [200] * 6 and statuses[6:] == [429] * 3, f"tokens: {statuses}")
    account = t.gateway.token("visitor")
    codes = []
    for _ in range(11):
        peer = t.peer(source="127.0.5.4")
        peer.upgrade("/api/v1/ws")
        peer.send(frame(TEXT, json.dumps({"type": "hello", "ref": "h", "token": account["token"] + "x"})))
        try:
            peer.message()
            codes.append(int.from_bytes(peer.frame()[1][:2], "big"))
        except Gone:
            codes.append(None)
        peer.close()
    t.check(codes[:8] == [4203] * 8 and codes[9:] == [4103] * 2, f"hellos: {codes}")


@row("A19", "an unknown account and a wrong password: the same answer after the same time", counts("http_requests", 8),
     memory=70 << 20)
def enumeration(t):
    place = make_workspace(t)
    times, texts = {}, {}
    for turn in range(4):
        for known in (True, False):
            email = place["email"] if known else f"{uuid.uuid4().hex[:8]}@example.com"
            begin = time.monotonic()
            answer, _, _ = login(t, place, password="wrong " + "x" * 20, email=email, within=30)
            times.setdefault(known, []).append(time.monotonic() - begin)
            texts.setdefault(known, set()).add((answer.status, answer.body))
    t.check(texts[True] == texts[False] and len(texts[True]) == 1, f"{texts}")
    known, unknown = min(times[True]), min(times[False])
    t.note(f"{known * 1000:.0f} ms for a known account, {unknown * 1000:.0f} ms for none")
    t.check(abs(known - unknown) < 0.35 * max(known, unknown), f"{known:.3f} s against {unknown:.3f} s")
    t.check(statistics.median(times[True]) < 5 * t.scale, "a login takes too long")
