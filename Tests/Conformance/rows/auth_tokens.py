"""Table A: tokens that are forged, expired, revoked or requested by the thousand."""

import base64
import hashlib
import hmac
import json
import time
import uuid

from harness.frames import TEXT, frame
from harness.peer import Failure, Gone
from harness.registry import closed, counts, fault, refused, row, skip

from .auth import CONVERSATIONS, login, make_workspace

skip("A13", "identities of the host site, signed wrongly",
     "tried beside the code: Tests/TokensTests/VisitorIdentityTests.swift, Tests/APITests/VisitorTests.swift")
skip("A14", "the time of comparing an identity's code", "tried beside the code: Tests/TokensTests/VisitorIdentityTests.swift")


def encode(data):
    if not isinstance(data, bytes):
        data = json.dumps(data, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))


def signed(header, claims, key):
    text = f"{encode(header)}.{encode(claims)}"
    return f"{text}.{encode(hmac.new(key, text.encode(), hashlib.sha256).digest())}"


@row("A15", "tokens that are forged, mixed, not yet valid, expired or malformed", refused("unauthenticated", 15), closed(4203, 15), closed(4202))
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
    t.check(hello(signed(header, claims | {"exp": now - 10}, key)) == 4202, "an expired token has another close code")
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
    chat.peer.expect_close(4204, then_gone=False)
    t.note(f"closed after {time.monotonic() - begin:.1f} s")
    answer = t.gateway.ask("POST", "/api/v1/auth/token", [("Cookie", cookie), ("Origin", own)], {})
    t.check(answer.status == 401, f"the old cookie gets a token: {answer.status}")


@row("A16", "an operator is disabled, or gets another password or role: closed within 5 s", closed(4204, 3),
     fault("conversation", "the login has ended", 3), memory=100 << 20, seconds=20)
def revoked(t):
    taken = []

    def ends(what, act):
        place = make_workspace(t)
        _, token, _ = login(t, place)
        chat = t.chat("operator", account={"token": token})
        chat.say(type="watch", ref="w", inbox=True)
        chat.until("ok", ref="w")
        act(place)
        begin = time.monotonic()
        chat.peer.expect_close(4204, then_gone=False)
        taken.append(time.monotonic() - begin)
        t.note(f"{what}: closed after {taken[-1]:.1f} s")
        status = t.gateway.ask("GET", CONVERSATIONS, [("Authorization", f"Bearer {token}")]).status
        t.check(status in (401, 403) or what == "role", f"{what}: the REST API still answers {status}")

    def sql(statement):
        return lambda place: t.gateway.cluster.query(statement.format(**place), t.gateway.database)

    ends("disabled", lambda place: t.gateway.command("operator", "disable", "--email", place["email"]))
    ends("role", sql("UPDATE memberships SET role = 'admin' WHERE operator_id = '{operator}'"))
    ends("password", sql("UPDATE operators SET password_hash = 'x' WHERE id = '{operator}'"))
    ends("left", sql("DELETE FROM memberships WHERE operator_id = '{operator}'"))
    # Asked every two seconds: of four one at least meets a machine that is not busy.
    t.check(min(taken) < 5 * t.scale, f"closed after {taken} s")


@row("A17", "a token expires on an open connection: a warning, 30 s of grace, 4202", closed(4202),
     refused("token_expired"), seconds=38)
def expires(t):
    def brief():
        """Returns a chat with a token of 4 s, and the time of its request; on a busy machine a token may expire first."""
        for _ in range(5):
            begin = time.monotonic()
            try:
                return begin, t.chat(account=t.gateway.token("visitor", lifetime=4), timeout=120 * t.scale)
            except Failure as failure:
                t.note(f"{failure}")
        raise Failure("no token of 4 s is good when it is shown")

    begin, chat = brief()
    chat.until("token_expiring")
    _, other = brief()
    other.until("token_expiring")
    chat.expect_error("token_expired")
    chat.peer.expect_close(4202, then_gone=False)
    taken = time.monotonic() - begin
    t.note(f"closed after {taken:.0f} s with a token of 4 s")
    t.check(30 < taken < 90 * t.scale, f"closed after {taken:.0f} s")


@row("A18", "guessed passwords, floods of tokens and hellos: 429", counts("http_requests", 40), profile="limits",
     memory=160 << 20)
def guessing(t):
    def until(what, refusal, good, allowed, a_minute, act):
        """Acts until a refusal. Checks that it does not come early, nor later than the time since the start allows."""
        begin, seen = time.monotonic(), []
        while not seen or seen[-1] != refusal:
            seen.append(act())
            if len(seen) == 200:
                break
        most = allowed + 1 + (time.monotonic() - begin) * a_minute / 60
        t.note(f"{what}: {len(seen) - 1}, then {seen[-1]}")
        t.check(seen[-1] == refusal and set(seen[:-1]) == {good} and allowed <= len(seen) - 1 <= most,
                f"{what}: {seen} where {allowed} are allowed")

    def wrong():
        return login(t, place, password="wrong", source="127.0.5.1")[0].status

    # APIOptions.swift: ten, and six more each minute.
    place = make_workspace(t)
    until("wrong passwords", 429, 401, 10, 6, wrong)
    # The right one from the same address must wait too. After ten seconds another try is due: not in all rounds.
    for _ in range(4):
        answer, _, _ = login(t, place, source="127.0.5.1")
        if answer.status == 429:
            break
        while wrong() != 429:
            pass
    t.check(answer.status == 429 and int(answer.get("retry-after")) > 0, f"the account is open: {answer.status}")
    # Another address is not locked out.
    answer, _, _ = login(t, place, source="127.0.5.2")
    t.check(answer.status == 200, f"another address is refused: {answer.status}")
    until("tokens", 429, 200, 6, 6, lambda: t.gateway.ask(
        "POST", "/api/v1/widget/token", body={"workspace": place["public_key"]}, source="127.0.5.3").status)
    account = t.gateway.token("visitor")

    def hello():
        peer = t.peer(source="127.0.5.4")
        peer.upgrade("/api/v1/ws")
        peer.send(frame(TEXT, json.dumps({"type": "hello", "ref": "h", "token": account["token"] + "x"})))
        try:
            peer.message()
            return int.from_bytes(peer.frame()[1][:2], "big")
        except Gone:
            return None
        finally:
            peer.close()

    until("hellos", 4103, 4203, 8, 8, hello)


@row("A19", "an unknown account and a wrong password: the same response after the same time", counts("http_requests", 8),
     memory=70 << 20)
def enumeration(t):
    place = make_workspace(t)
    times, texts = {}, {}
    # The shortest of several, up to the eight tries that the account has.
    for turn in range(8):
        for known in (True, False):
            email = place["email"] if known else f"{uuid.uuid4().hex[:8]}@example.com"
            begin = time.monotonic()
            answer, _, _ = login(t, place, password="wrong " + "x" * 20, email=email, within=120)
            times.setdefault(known, []).append(time.monotonic() - begin)
            texts.setdefault(known, set()).add((answer.status, answer.body))
        known, unknown = min(times[True]), min(times[False])
        is_alike = abs(known - unknown) < 0.35 * max(known, unknown)
        if is_alike and turn >= 3:
            break
    t.check(texts[True] == texts[False] and len(texts[True]) == 1, f"{texts}")
    t.note(f"{known * 1000:.0f} ms for a known account, {unknown * 1000:.0f} ms for none")
    t.check(is_alike, f"{known:.3f} s against {unknown:.3f} s")
    t.check(min(times[True]) < 5 * t.scale, "a login takes too long")
