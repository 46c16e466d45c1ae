"""Races of revocations: while an account, a login, a key or a visitor is shut out, eight clients at once keep asking over
REST and keep connecting over the WebSocket with its credential.

Requests and hellos that begin after the answer to the revocation must be refused. A connection that was open must be
closed within five seconds.
"""

import asyncio
import json
import re
import threading
import time

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from attacks import Tally, begin

gateway, options = begin(__doc__)
tally = Tally("races of revocations")
owner = {"Authorization": "Bearer " + options.owner}
admin = "/api/v1/admin"
same = {"Origin": gateway.url, "Sec-Fetch-Site": "same-origin"}
AFTER = 1.5


def member(name, role="agent"):
    """A member with a login: id, token and cookie."""
    email, given, own = f"{name}@races.example", "a given password 1", "an own password 41"
    made = gateway.call("POST", admin + "/members", {"email": email, "name": name, "role": role, "password": given}, owner)

    def log_in(password):
        answer = gateway.call("POST", "/api/v1/auth/login", {"email": email, "password": password}, same)
        return answer.json(), {"Cookie": re.search("chirrup_session=[^;]+", answer.headers["set-cookie"])[0]}

    _, cookie = log_in(given)
    gateway.call("POST", "/api/v1/auth/password", {"current": given, "new": own}, same | cookie)
    login, cookie = log_in(own)
    return {"id": made.json()["member"]["id"], "token": login["token"], "cookie": cookie}


def visitor():
    workspace = gateway.sql("SELECT public_key FROM workspaces WHERE name = 'demo'")
    visit = gateway.call("POST", "/api/v1/widget/token", {"workspace": workspace}, {"Origin": gateway.url}).json()
    return {"id": visit["visitor"]["id"], "token": visit["token"], "session": visit["session"]}


def own_session(who):
    rows = gateway.call("GET", "/api/v1/auth/sessions", None, who["cookie"]).json()["sessions"]
    return next(row["id"] for row in rows if row.get("current") or row.get("is_current"))


LIST = ("GET", admin + "/live-chat/conversations?limit=1", None)
PROFILE = ("PUT", "/api/v1/widget/profile", {})
# The victim, the revocation, the request by REST, and whether the credential opens a WebSocket.
WAYS = {
    "a disabled member": (lambda: member("disabled"), lambda v: ("PATCH", f"{admin}/members/{v['id']}", {"disabled": True}, owner), LIST, True),
    "a removed member": (lambda: member("removed"), lambda v: ("DELETE", f"{admin}/members/{v['id']}", None, owner), LIST, True),
    "a logout": (lambda: member("logout"), lambda v: ("POST", "/api/v1/auth/logout", {}, same | v["cookie"]), LIST, True),
    "an ended login": (lambda: member("ended"), lambda v: ("DELETE", f"/api/v1/auth/sessions/{own_session(v)}", None, same | v["cookie"]), LIST, True),
    "a demoted administrator": (
        lambda: member("demoted", "admin"), lambda v: ("PATCH", f"{admin}/members/{v['id']}", {"role": "agent"}, owner),
        ("GET", admin + "/api-keys", None), True),
    "a revoked key": (
        lambda: (lambda made: {"id": made["api_key"]["id"], "token": made["key"]})(
            gateway.call("POST", admin + "/api-keys", {"name": "race", "scopes": ["conversations:read"]}, owner).json()),
        lambda v: ("DELETE", f"{admin}/api-keys/{v['id']}", None, owner), LIST, False),
    "a blocked visitor": (visitor, lambda v: ("POST", f"{admin}/visitors/{v['id']}/block", {}, owner), PROFILE, True),
    "an erased visitor": (visitor, lambda v: ("DELETE", f"{admin}/visitors/{v['id']}", None, owner), PROFILE, True),
}


async def hello(token, hold=None):
    """Whether the gateway welcomes the token. With `hold`, the connection is kept and sends until it is closed."""
    address = gateway.url.replace("http", "ws", 1) + "/api/v1/ws"
    try:
        async with connect(address, subprotocols=["chirrup.v1"], origin=gateway.url) as socket:
            await socket.send(json.dumps({"type": "hello", "ref": 1, "token": token}))
            welcome = False
            while True:
                for line in (await asyncio.wait_for(socket.recv(), 30)).split("\n"):
                    kind = json.loads(line)["type"]
                    if kind == "ping":
                        await socket.send(json.dumps({"type": "pong"}))
                    welcome = welcome or kind == "welcome"
                if welcome and hold is None:
                    return True
                if welcome:
                    hold["open"] = True
    except (ConnectionClosed, InvalidStatus, TimeoutError, OSError):
        if hold is not None:
            hold["closed"] = time.monotonic()
        return False


def race(name, make, revocation, request, has_socket):
    victim = make()
    method, path, body = request
    bearer = {"Authorization": f"Bearer {victim['token']}"}
    begun, found, held = threading.Event(), [], {}

    def ask():
        while not begun.is_set():
            at = time.monotonic()
            found.append((at, "REST", gateway.call(method, path, body, bearer).status in (200, 204)))

    async def connecting():
        while not begun.is_set():
            at = time.monotonic()
            found.append((at, "WebSocket", await hello(victim["token"])))

    threads = [threading.Thread(target=ask, daemon=True) for _ in range(4)]
    if has_socket:
        threads += [threading.Thread(target=lambda: asyncio.run(connecting()), daemon=True) for _ in range(4)]
        threading.Thread(target=lambda: asyncio.run(hello(victim["token"], held)), daemon=True).start()
    for thread in threads:
        thread.start()
    time.sleep(0.7)
    call = revocation(victim)
    answer = gateway.call(*call[:3], call[3])
    answered = time.monotonic()
    tally.control(f"{name}: the revocation", answer.status in (200, 204), f"{answer.status} {answer.text[:120]}")
    time.sleep(AFTER)
    begun.set()
    for thread in threads:
        thread.join(60)
    for kind in ("REST", "WebSocket") if has_socket else ("REST",):
        before = [good for at, way, good in found if way == kind and at < answered - 0.2]
        tally.control(f"{name}: {kind} was open before", any(before), before[:5])
        later = [(at - answered, good) for at, way, good in found if way == kind and at > answered]
        tally.control(f"{name}: {kind} was tried afterwards", len(later) >= 3, len(later))
        for delay, good in later:
            tally.attack(f"{name}: {kind} {delay:.3f} s after the answer", not good, "accepted")
    if has_socket:
        end = answered + 5
        while "closed" not in held and time.monotonic() < end:
            time.sleep(0.05)
        tally.control(f"{name}: a connection was open", held.get("open"), held)
        tally.attack(f"{name}: the open connection is closed within 5 s", "closed" in held, held)


for name, way in WAYS.items():
    race(name, *way)
tally.end(at_least=150)
