"""Makes one of everything in the demo workspace, for requests that are to succeed:
openapi_seeds.py URL LOG OWNER FILE, with the gateway's log and an owner's token.

Writes into FILE what the hooks need: credentials, and of each operation the values of its parameters and a body.
"""

import base64
import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid

url, log, owner, target = sys.argv[1:5]
admin = "/api/v1/admin"
live = admin + "/live-chat"
talk = live + "/conversations"
password = re.search(r"Log in as\s+demo@example\.com / (\S+)", open(log, errors="replace").read())[1]
workspace = re.search(r'data-workspace="(pk_[^"]+)"', open(log, errors="replace").read())[1]



def ask(method, path, body=None, token=None):
    headers = {"Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
    if path == "/api/v1/widget/visit":
        headers["Origin"] = url  # the workspace may list the origins of its pages
    if token:
        headers["Authorization"] = "Bearer " + token
    request = urllib.request.Request(
        url + path, None if body is None else json.dumps(body).encode(), headers, method=method
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        text = answer.read()
        return json.loads(text) if text else {}


def log_in(email, password):
    """Returns the console's cookie. Earlier parts may have used up the logins of this address."""
    body = json.dumps({"email": email, "password": password}).encode()
    request = urllib.request.Request(url + "/api/v1/auth/login", body, {"Content-Type": "application/json"})
    for _ in range(20):
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return re.match("chirrup_session=([^;]+)", answer.headers["Set-Cookie"])[1]
        except urllib.error.HTTPError as error:
            if error.code != 429:
                raise
            time.sleep(int(error.headers["Retry-After"]))
    sys.exit("the gateway takes no login")


def first_log_in(email, given, own):
    """Returns the cookie of an operator who has changed the initial password."""
    cookie = log_in(email, given)
    request = urllib.request.Request(
        url + "/api/v1/auth/password",
        json.dumps({"current": given, "new": own}).encode(),
        {
            "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin",
            "Cookie": "chirrup_session=" + cookie,
        },
    )
    with urllib.request.urlopen(request, timeout=30):
        return cookie


def made(path, body, kind):
    return ask("POST", admin + path, body, owner)[kind]["id"]


def visit():
    return ask("POST", "/api/v1/widget/token", {"workspace": workspace})


def connection():
    """Returns the id of a visitor's connection, which stays open after this program."""
    holder = subprocess.Popen(
        [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "held_connection.py"), url, visit()["token"]],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return holder.stdout.readline().strip()


def trace_of(connection):
    """Returns the id of an ended trace. Those of an earlier run that nobody reads end within half a minute."""
    for _ in range(30):
        try:
            started = ask("POST", f"{admin}/connections/{connection}/trace", {}, owner)["trace"]["id"]
            ask("DELETE", f"{admin}/connection-traces/{started}", None, owner)
            return started
        except urllib.error.HTTPError as error:
            if error.code != 409:
                raise
            time.sleep(2)
    raise SystemExit("the traces of an earlier run did not end within a minute")


def watched(beacon):
    """Returns the id of a browser on the site. The list has it after some seconds."""
    for _ in range(40):
        ask("POST", "/api/v1/widget/visit", beacon)
        found = ask("GET", f"{live}/visitors?q=" + beacon["visit"]["campaign"], None, owner)["visitors"]
        if found:
            return found[0]["id"]
        time.sleep(0.5)
    raise SystemExit("a visitor on the site was not listed within 20 s")


ask(
    "PATCH",
    admin + "/settings",
    {
        "settings": {
            "queue": {"capacity": 1000}, "offline": {"enabled": True, "text": "Write to us"},
            "watching": {"enabled": True},
        },
        "allowed_origins": None,
    },
    owner,
)
left = {"workspace": workspace, "email": "ada@example.com", "message": "Is anybody there?"}
waiting = [ask("POST", "/api/v1/widget/offline", left)["session"] for _ in range(8)]
visits = [visit() for _ in range(6)]
held = connection()
traced = connection()
trace = trace_of(traced)
# An API key changes and removes agents only.
members = [
    made("/members", {"email": f"m{i}-{waiting[0]}@example.com", "name": "M", "role": "agent"}, "member")
    for i in range(2)
]
# The password of the owner is changed in the run, which ends the owner's logins.
admin_email = f"admin-{waiting[0]}@example.com"
made("/members", {"email": admin_email, "name": "A", "role": "admin", "password": "correct horse"}, "member")
cookies = [first_log_in(admin_email, "correct horse", "battery staple"), log_in(admin_email, "battery staple")]
hook = {"url": "https://hooks.example.com/in", "events": ["message.created"]}
webhooks = [made("/webhooks", hook, "webhook") for _ in range(2)]
delivery = ask("POST", f"{admin}/webhooks/{webhooks[0]}/test", {}, owner)["delivery"]["id"]
menu = {"name": "Menu", "actions": [{"label": "Order", "type": "message", "value": "order"}]}
menus = [made("/rich-menus", menu, "rich_menu") for _ in range(2)]
# A second run of these seeds makes teams and macros of other names.
teams = [made("/teams", {"name": f"T{i} {waiting[0]}"}, "team") for i in range(2)]
tagging = [{"type": "add_tags", "tags": ["kept"]}]
macros = [
    made("/macros", {"name": f"M{i} {waiting[0]}", "actions": tagging, "is_shared": True}, "macro") for i in range(2)
]
# A workspace may have 20 of these; former seeds and generated requests have made some.
for path, kinds in (("/proactive-messages", "proactive_messages"), ("/views", "views")):
    for kept in ask("GET", admin + path, None, owner)[kinds]:
        ask("DELETE", f"{admin}{path}/{kept['id']}", None, owner)
proactive = {"name": "Checkout", "body": "A question?", "conditions": {"path": "/checkout*"}}
proactives = [made("/proactive-messages", proactive, "proactive_message") for _ in range(2)]
# A tab that is hidden sends no heartbeats, so its visitor stays for the whole run.
beacon = {
    "workspace": workspace, "secret": f"seed-of-a-browser-{waiting[0]}", "tab": "a", "state": "away",
    "visit": {"campaign": waiting[0], "trail": [{"page": "https://shop.example/", "title": "Shop", "age": 1}]},
}
watcher = watched(beacon)
views = [
    made("/views", {"name": f"V{i} {waiting[0]}", "filters": {"tag": "kept"}, "is_shared": True}, "view") for i in range(2)
]
intent = {"keyword": "hello", "match_kind": "contains", "replies": [{"text": "Hello"}]}
reply = {"object_type": "text", "payload": {"text": "Hello"}}
credential = {"name": "default", "secret": "s3cret"}
scopes = sorted(
    {
        operation["x-scope"]
        for item in ask("GET", "/api/v1/openapi.json")["paths"].values()
        for operation in item.values()
        if operation.get("x-scope")
    }
)
keys = [
    ask("POST", admin + "/api-keys", {"name": "seed", "scopes": scopes}, owner) for _ in range(2)
]
# The first ends those of earlier runs: a workspace has eight at most.
secrets = [ask("POST", admin + "/identity-secrets", {"overlap_hours": hours}, owner) for hours in (0, 1)]
for name in "kept", "deleted":
    ask("PUT", f"{admin}/tags/{name}", {"colour": "#336699"}, owner)
    ask("PUT", f"{admin}/reply-objects/{name}", reply, owner)
    ask("PUT", f"{admin}/credentials/{name}", credential, owner)
    try:
        ask("POST", admin + "/intents", {"name": name} | intent, owner)
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise
# Conversations on LINE, for whose platform nobody answers here. The second person has blocked the account.
for name, secret in (("channel_secret", "seed"), ("channel_access_token", "seed")):
    ask("PUT", f"{admin}/credentials/line", {"name": name, "secret": secret}, owner)
line_hook = f"/api/v1/channels/line/{workspace}/webhook"


def on_line(user, *kinds):
    """Sends events of a person; the id of the conversation."""
    events = [{"type": kind, "message": {"type": "text", "id": str(time.time_ns()), "text": f"Good day from {user}"},
               "timestamp": 1, "source": {"type": "user", "userId": user}, "webhookEventId": str(time.time_ns())}
              for kind in kinds]
    text = json.dumps({"events": events}).encode()
    signature = base64.b64encode(hmac.new(b"seed", text, hashlib.sha256).digest()).decode()
    with urllib.request.urlopen(urllib.request.Request(
            url + line_hook, text, {"Content-Type": "application/json", "X-Line-Signature": signature}), timeout=30):
        pass
    for _ in range(100):
        found = [it["id"] for it in ask("GET", f"{talk}?status=open&limit=100", None, owner)["conversations"]
                 if it["channel"] == "line" and user in (it["last_message"] or {"preview": ""})["preview"]]
        if found:
            return found[0]
        time.sleep(0.1)
    raise SystemExit(f"no conversation of {user}")


talk_on_line, blocked = on_line("U5eed", "message"), on_line("Ub10c", "message", "unfollow")
failed = ask("POST", f"{talk}/{blocked}/messages", {"body": "Are you there?"}, owner)["id"]
for _ in range(300):
    if any(it["status"] == "failed" for it in ask("GET", f"{talk}/{blocked}/deliveries", None, owner)["deliveries"]):
        break
    time.sleep(0.1)


def uploads(base, token, text="seed of a file"):
    """Returns the ids of a stored file, of one to be removed, and of an upload that waits for its only part."""
    ids = [str(uuid.uuid4()) for _ in range(3)]
    for id in ids:
        ask("POST", base + "/attachments", {"id": id, "name": "seed.txt", "bytes": len(text)}, token)
    for id in ids[:2]:
        headers = {"Content-Type": "application/octet-stream", "Authorization": "Bearer " + token}
        part = urllib.request.Request(f"{url}{base}/attachments/{id}/parts/0", text.encode(), headers, method="PUT")
        urllib.request.urlopen(part, timeout=30).close()
    return ids


def of(**values):
    """Returns parameters and a body; in a second run the intent has another name."""
    return {"body": values.pop("body", None), "parameters": values}


own = f"/api/v1/widget/sessions/{visits[3]['session']}"
files = {
    base: uploads(base, token)
    for base, token in ((own, visits[3]["token"]), (f"{talk}/{waiting[0]}", keys[0]["key"]))
}
link = ask("POST", own + "/attachments/links", {"ids": files[own][:1]}, visits[3]["token"])["links"][0]["url"]
linked = dict(part.split("=", 1) for part in link.split("?")[1].split("&"))
linked["expires"] = int(linked["expires"])


def of_files(pattern, base):
    """The examples of the operations of attachments below a conversation."""
    id = base.split("/")[-1]
    stored, removed, waiting = files[base]
    part = f"{pattern}/attachments/{{attachment}}"
    return {
        f"POST {pattern}/attachments": of(id=id, body={"id": str(uuid.uuid4()), "name": "new.txt", "bytes": 5}),
        f"PUT {part}/parts/{{offset}}": of(id=id, attachment=waiting, offset="0", body="seed of a file"),
        f"GET {part}": of(id=id, attachment=stored),
        f"DELETE {part}": of(id=id, attachment=removed),
        f"POST {pattern}/attachments/links": of(id=id, body={"ids": [stored]}),
    }


examples = {
    **of_files(f"{talk}/{{id}}", f"{talk}/{waiting[0]}"),
    **of_files("/api/v1/widget/sessions/{id}", own),
    "POST /api/v1/widget/sessions/{id}/messages": of(
        id=visits[3]["session"], body={"id": str(uuid.uuid4()), "attachments": files[own][:1]}),
    "GET /api/v1/attachments/{id}": of(id=files[own][0], **linked),
    f"GET {talk}": of(status="open", assignee="none", limit=2, q="a"),
    f"POST {talk}": of(body={
        "title": "Begun", "visitor": {"name": "Ada", "email": "ada@example.com"}, "message": {"body": "Hello"}}),
    f"GET {live}/export": of(limit=2),
    f"GET {talk}/{{id}}": of(id=waiting[0]),
    f"PATCH {talk}/{{id}}": of(id=waiting[0], body={"title": "Brake hose"}),
    f"DELETE {talk}/{{id}}": of(id=waiting[7]),
    f"POST {talk}/{{id}}/restore": of(id=waiting[6], body={}),
    f"GET {live}/deleted-conversations": of(q="a", limit=2),
    f"GET {talk}/{{id}}/mail": of(id=waiting[0]),
    f"POST {talk}/{{id}}/mail/send-again": of(id=waiting[0], body={}),
    f"GET {talk}/{{id}}/messages": of(id=waiting[0], around=1),
    f"GET {live}/messages/search": of(q="anybody"),
    f"POST {talk}/{{id}}/messages": of(id=waiting[0], body={"body": "Yes"}),
    f"POST {talk}/{{id}}/notes": of(id=waiting[0], body={"body": "A note"}),
    f"PUT {talk}/{{id}}/tags": of(id=waiting[0], body={"tags": ["kept"]}),
    f"POST {talk}/{{id}}/read": of(id=waiting[0], body={"seq": 1}),
    f"POST {talk}/{{id}}/claim": of(id=waiting[1], body={}),
    f"POST {live}/next": of(body={}),
    f"POST {talk}/{{id}}/transfer": of(id=waiting[2], body={"reason": "who knows this"}),
    f"POST {talk}/{{id}}/close": of(id=waiting[3], body={"reason": "done"}),
    f"POST {talk}/{{id}}/reopen": of(id=waiting[3], body={}),
    f"GET {live}/analytics": of(),
    f"GET {live}/analytics/operators": of(),
    f"GET {live}/analytics/teams": of(),
    f"GET {live}/analytics/tags": of(),
    f"GET {live}/analytics/channels": of(),
    f"GET {live}/analytics/ratings": of(limit=1),
    f"GET {admin}/visitors": of(q="a", limit=2),
    f"GET {admin}/visitors/{{id}}": of(id=visits[0]["visitor"]["id"]),
    f"GET {admin}/visitors/{{id}}/merge": of(id=visits[0]["visitor"]["id"], visitor=visits[1]["visitor"]["id"]),
    f"POST {admin}/visitors/{{id}}/merge": of(
        id=visits[4]["visitor"]["id"], body={"visitor": visits[5]["visitor"]["id"], "take": ["name"]}),
    f"GET {admin}/visitors/{{id}}/friend-events": of(id=visits[0]["visitor"]["id"], limit=2),
    f"PATCH {admin}/visitors/{{id}}": of(id=visits[0]["visitor"]["id"], body={"name": "Ada"}),
    f"POST {admin}/visitors/{{id}}/block": of(id=visits[1]["visitor"]["id"], body={}),
    f"POST {admin}/visitors/{{id}}/unblock": of(id=visits[1]["visitor"]["id"], body={}),
    f"GET {admin}/visitors/{{id}}/export": of(id=visits[0]["visitor"]["id"]),
    f"DELETE {admin}/visitors/{{id}}": of(id=visits[2]["visitor"]["id"]),
    f"PATCH {admin}/settings": of(body={"settings": {"rating": {"enabled": True}}}),
    f"PATCH {admin}/members/{{id}}": of(id=members[0], body={"name": "Renamed"}),
    f"DELETE {admin}/members/{{id}}": of(id=members[1]),
    f"POST {admin}/members": of(body={"email": f"x-{waiting[1]}@example.com", "name": "X"}),
    f"PUT {admin}/tags/{{name}}": of(name="kept", body={"colour": "#aabbcc"}),
    f"DELETE {admin}/tags/{{name}}": of(name="deleted"),
    f"PUT {admin}/credentials/{{provider}}": of(provider="kept", body=credential),
    f"DELETE {admin}/credentials/{{provider}}": of(provider="deleted"),
    f"POST {admin}/channels/{{channel}}/test": of(channel="line", body={}),
    f"GET {admin}/channels/{{channel}}/quota": of(channel="line"),
    f"POST {talk}/{{id}}/deliveries/{{message}}/send-again": of(id=blocked, message=failed, body={}),
    f"GET {talk}/{{id}}/deliveries": of(id=talk_on_line),
    f"POST {admin}/api-keys": of(body={"name": "another", "scopes": ["audit:read"]}),
    f"DELETE {admin}/api-keys/{{id}}": of(id=keys[1]["api_key"]["id"]),
    f"GET {admin}/connections/{{id}}": of(id=held),
    f"POST {admin}/connections/{{id}}/trace": of(id=traced),
    f"GET {admin}/connection-traces/{{id}}": of(id=trace, after=0),
    f"DELETE {admin}/connection-traces/{{id}}": of(id=trace),
    f"POST {admin}/connections/{{id}}/disconnect": of(id=held, body={"reason": "a test"}),
    # One that is turned off: no request leaves this machine.
    f"PUT {admin}/assist": of(body={"enabled": False, "endpoint": "https://api.example.com/v1", "model": "seed"}),
    f"POST {admin}/live-chat/conversations/{{id}}/assist": of(id=waiting[0], body={"use": "summary"}),
    # One that is turned off need not answer.
    f"PUT {admin}/identity-provider": of(body={
        "enabled": False, "label": "Seed", "issuer": "https://login.example.com", "client_id": "seed",
        "client_secret": "seed"}),
    f"POST {admin}/identity-secrets": of(body={"overlap_hours": 1}),
    f"DELETE {admin}/identity-secrets/{{id}}": of(id=secrets[1]["identity_secret"]["id"]),
    f"PUT {admin}/reply-objects/{{object_id}}": of(object_id="kept", body=reply),
    f"DELETE {admin}/reply-objects/{{object_id}}": of(object_id="deleted"),
    f"POST {admin}/intents": of(body={"name": waiting[0]} | intent),
    f"PUT {admin}/intents/{{name}}": of(name="kept", body=intent),
    f"DELETE {admin}/intents/{{name}}": of(name="deleted"),
    f"POST {admin}/rich-menus": of(body=menu),
    f"PATCH {admin}/rich-menus/{{id}}": of(id=menus[0], body={"status": "published"}),
    f"DELETE {admin}/rich-menus/{{id}}": of(id=menus[1]),
    f"POST {admin}/teams": of(body={"name": f"T {waiting[0]}"}),
    f"PATCH {admin}/teams/{{id}}": of(id=teams[0], body={"overflow_after_minutes": 10}),
    f"PUT {admin}/teams/{{id}}/members": of(id=teams[0], body={"members": [members[0]]}),
    f"DELETE {admin}/teams/{{id}}": of(id=teams[1]),
    f"POST {admin}/macros": of(body={"name": f"M {waiting[0]}", "actions": tagging, "is_shared": True}),
    f"PATCH {admin}/macros/{{id}}": of(id=macros[0], body={"actions": tagging}),
    f"POST {admin}/macros/{{id}}/run": of(id=macros[0], body={"ids": [waiting[4]]}),
    f"DELETE {admin}/macros/{{id}}": of(id=macros[1]),
    f"GET {live}/visitors": of(q="shop", limit=2),
    f"GET {live}/visitors/{{id}}": of(id=watcher),
    f"POST {live}/visitors/{{id}}/conversation": of(id=watcher, body={"body": "Can I help you?"}),
    f"POST {admin}/proactive-messages": of(body=proactive),
    f"PATCH {admin}/proactive-messages/{{id}}": of(id=proactives[0], body={"is_enabled": True}),
    f"DELETE {admin}/proactive-messages/{{id}}": of(id=proactives[1]),
    f"POST {admin}/views": of(body={"name": f"V {waiting[0]}", "filters": {"team": "none"}, "is_shared": True}),
    f"PATCH {admin}/views/{{id}}": of(id=views[0], body={"filters": {"language": "de", "waiting_minutes": 5}}),
    f"DELETE {admin}/views/{{id}}": of(id=views[1]),
    f"POST {live}/bulk": of(body={"ids": [waiting[4], waiting[5]], "actions": tagging}),
    f"POST {admin}/webhooks": of(body=hook),
    f"GET {admin}/webhooks/{{id}}": of(id=webhooks[0]),
    f"PATCH {admin}/webhooks/{{id}}": of(id=webhooks[0], body={"events": []}),
    f"POST {admin}/webhooks/{{id}}/test": of(id=webhooks[0], body={}),
    f"GET {admin}/webhooks/{{id}}/deliveries": of(id=webhooks[0], status="pending"),
    f"POST {admin}/webhooks/{{id}}/deliveries/{{delivery}}/redeliver": of(
        id=webhooks[0], delivery=delivery, body={}
    ),
    f"DELETE {admin}/webhooks/{{id}}": of(id=webhooks[1]),
    "GET /api/v1/widget/config": of(workspace=workspace),
    "POST /api/v1/widget/token": of(body={"workspace": workspace}),
    "POST /api/v1/widget/visit": of(body=beacon),
    "PUT /api/v1/widget/profile": of(body={"name": "Ada", "attributes": {"plan": "pro"}}),
    "PUT /api/v1/widget/page": of(body={"page": "https://www.example.com/brakes", "title": "Brakes"}),
    "POST /api/v1/widget/offline": of(body=left),
    "PUT /api/v1/widget/sessions/{id}/rating": of(id=visits[3]["session"], body={"rating": 5, "comment": "kind"}),
    "GET /api/v1/widget/sessions/{id}/transcript": of(id=visits[3]["session"]),
    "POST /api/v1/widget/sessions/{id}/transcript/mail": of(id=visits[3]["session"], body={}),
    # Links of e-mails: without a mail server there are none.
    "GET /api/v1/auth/password-link/{token}": of(token="none"),
    "POST /api/v1/auth/password-link/{token}": of(token="none", body="password=battery+staple"),
    "GET /api/v1/mail/unsubscribe/{token}": of(token="none"),
    "POST /api/v1/mail/unsubscribe/{token}": of(token="none", body="List-Unsubscribe=One-Click"),
    # Without a platform's signature.
    "POST /api/v1/channels/{channel}/{key}/webhook": of(channel="line", key=workspace, body={"events": []}),
    "POST /api/v1/auth/password-reset": of(body={"email": "nobody@example.com"}),
    "PUT /api/v1/auth/push": of(body={
        "endpoint": "https://push.example.net/s/1", "keys": {
            "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            "auth": "BTBZMqHH6r4Tts7J_aSIgg"}}),
    "POST /api/v1/auth/login": of(body={"email": "demo@example.com", "password": password}),
    "POST /api/v1/auth/password": of(body={"current": password, "new": password}),
}
with open(target, "w") as file:
    json.dump(
        {
            "cookie": cookies[0], "cookie_to_end": cookies[1], "key": keys[0]["key"],
            "visitor": visits[3]["token"], "examples": examples,
        },
        file,
    )
