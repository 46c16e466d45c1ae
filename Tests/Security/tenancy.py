"""Tenancy: every operation of the document with the objects of another workspace, by eight kinds of callers.

The objects are those of openapi_seeds.py, in the demo workspace; the callers belong to another one, or to nobody, or are
a visitor of the demo with another conversation. Whoever has no right to an object gets the answer as if it did not exist.
No row of the demo workspace may change, and no answer may contain a mark of it.
"""

import json
import re

from attacks import PROVEN, WRITES, Tally, begin

gateway, options = begin(__doc__)
tally = Tally("tenancy")
HERE = "tenancy"
gateway.command("workspace", "create", HERE)


def operator(role):
    email = f"{role}@tenancy.example"
    gateway.command("operator", "create", "--workspace", HERE, "--email", email, "--name", role, "--role", role, text="a password of a test 41\n")
    return json.loads(gateway.command("token", "operator", "--workspace", HERE, "--email", email))["token"]


bearers = {role: operator(role) for role in ("owner", "admin", "agent")}
owner = {"Authorization": "Bearer " + bearers["owner"]}
scopes = sorted({o["x-scope"] for _, _, o in gateway.operations if o.get("x-scope")})
key = gateway.call("POST", "/api/v1/admin/api-keys", {"name": "k", "scopes": scopes}, owner).json()["key"]
visitor = json.loads(gateway.command("token", "visitor", "--workspace", HERE))["token"]
neighbour = json.loads(gateway.command("token", "visitor", "--workspace", "demo"))["token"]
# A login of this workspace by cookie, as browsers send it.
password = "an own password of 41"
made = gateway.call(
    "POST", "/api/v1/admin/members",
    {"email": "browser@tenancy.example", "name": "B", "role": "admin", "password": "a given password 1"}, owner)
login = gateway.call(
    "POST", "/api/v1/auth/login", {"email": "browser@tenancy.example", "password": "a given password 1"})
cookie = re.search("chirrup_session=[^;]+", login.headers["set-cookie"])[0]
same = {"Origin": f"http://{gateway.host}", "Sec-Fetch-Site": "same-origin", "Cookie": cookie}
changed = gateway.call("POST", "/api/v1/auth/password", {"current": "a given password 1", "new": password}, same)
tally.control("the callers are made", (made.status, login.status, changed.status) == (201, 200, 204), f"{made.status} {login.status} {changed.status}")

NEIGHBOUR = "a visitor with another conversation"
CALLERS = {
    "a stranger": {},
    "a visitor of another workspace": {"Authorization": "Bearer " + visitor},
    NEIGHBOUR: {"Authorization": "Bearer " + neighbour},
    "an agent of another workspace": {"Authorization": "Bearer " + bearers["agent"]},
    "an administrator of another workspace": {"Authorization": "Bearer " + bearers["admin"]},
    "an owner of another workspace": owner,
    "an API key of another workspace": {"Authorization": "Bearer " + key},
    "a console of another workspace": same,
}
# These name a thing of the caller's own workspace, and create or delete that.
OWN_NAMES = re.compile("/(tags|reply-objects|credentials)/{")
MARKS = [value for value in gateway.sql(
    "SELECT s.id FROM chat_sessions s JOIN workspaces w ON w.id = s.workspace_id WHERE w.name = 'demo'"
    " UNION SELECT v.id FROM visitors v JOIN workspaces w ON w.id = v.workspace_id WHERE w.name = 'demo'"
    " UNION SELECT m.operator_id FROM memberships m JOIN workspaces w ON w.id = m.workspace_id WHERE w.name = 'demo'"
    " UNION SELECT id FROM workspaces WHERE name = 'demo'").split("\n")]


def demo():
    """A digest of each table's rows of the demo workspace, without what background jobs write: analytics, deliveries, how
    far the bot has read, what is due on LINE, who is on the site by beacons that need no login."""
    return set(gateway.sql("""
        SELECT t.name || ' ' || md5(query_to_xml(format(
            'SELECT r::text AS r FROM %s r WHERE %s ORDER BY 1', t.name, t.condition), true, false, '')::text)
        FROM (SELECT c.oid::regclass::text AS name, format('workspace_id = %L',
              (SELECT id FROM workspaces WHERE name = 'demo')) AS condition
            FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
            WHERE a.attname = 'workspace_id' AND NOT a.attisdropped AND c.relkind IN ('r', 'p')
              AND NOT c.relispartition AND c.relnamespace = 'public'::regnamespace
              AND c.relname NOT LIKE 'chat_analytics%' AND c.relname NOT IN ('chat_session_figures', 'webhooks', 'webhook_deliveries',
                'watched_visitors', 'bot_progress', 'channel_menus', 'channel_conversations', 'channel_deliveries', 'channel_people')
            UNION ALL SELECT 'workspaces', 'name = ''demo'''
        ) t UNION ALL SELECT 'webhooks ' || string_agg(id::text || url || is_enabled || events::text, ' ' ORDER BY id)
        FROM webhooks WHERE workspace_id = (SELECT id FROM workspaces WHERE name = 'demo')""").split("\n"))


def is_hidden(answer, sent):
    # What the caller has sent may come back, in a problem or as the name of a thing of their own.
    return not any(mark in answer.text for mark in MARKS if mark not in sent)


# The gateway deletes these once a minute.
gateway.sql("DELETE FROM refresh_tokens WHERE expires_at <= now()")
before = demo()
tally.control("the demo has rows in many tables", len(before) > 15)
# Logins last: a logout ends the caller's own.
operations = sorted(gateway.operations, key=lambda o: o[1].startswith("/api/v1/auth/"))
for method, path, operation in operations:
    if path in ("/api/v1/auth/login", "/api/v1/auth/login/code", "/api/v1/auth/setup", "/api/v1/widget/token", "/api/v1/widget/offline", "/api/v1/widget/config"):
        continue  # open to everybody, by the workspace's public key or a password
    if path.startswith(PROVEN):
        continue
    example = gateway.example(method, path)
    if example is None:
        tally.control(f"{method} {path} has an example in openapi_seeds.py", False)
        continue
    address = gateway.address(path, example["parameters"])
    body = (example["body"] or {}) if method in WRITES else None
    sent = json.dumps([example["parameters"], body])
    for caller, headers in CALLERS.items():
        if caller == NEIGHBOUR and "{" not in path:
            continue  # what a visitor does with the own name belongs to the demo
        answer = gateway.call(method, address, body, headers)
        name = f"{method} {path} by {caller}"
        shown = f"{answer.status} {answer.text[:160]}"
        tally.attack(name, answer.status < 500 and is_hidden(answer, sent), shown)
        if "{" in path and not OWN_NAMES.search(path):
            tally.attack(name + ": refused", answer.status in (401, 403, 404, 422), shown)
# The operations above name a visitor of the demo twice. Here one of the two is the caller's own.
first = "SELECT v.id FROM visitors v JOIN workspaces w ON w.id = v.workspace_id WHERE w.name = '{}' LIMIT 1"
own, theirs = (gateway.sql(first.format(name)) for name in (HERE, "demo"))
tally.control("both workspaces have a visitor", own and theirs)
for role in bearers:
    headers = {"Authorization": "Bearer " + bearers[role]}
    for one, other in ((own, theirs), (theirs, own)):
        path = f"/api/v1/admin/visitors/{one}/merge"
        for method, answer in (("GET", gateway.call("GET", f"{path}?visitor={other}", None, headers)),
                               ("POST", gateway.call("POST", path, {"visitor": other}, headers))):
            whose = "the demo's into the own" if one == own else "the own into the demo's"
            tally.attack(f"{method} {path} by an {role}, {whose}: refused",
                         answer.status in (404, 422) and is_hidden(answer, theirs), f"{answer.status} {answer.text[:160]}")
unmerged = gateway.sql(f"SELECT count(*) FROM visitors WHERE id IN ('{own}', '{theirs}') AND merged_into IS NULL")
tally.attack("neither visitor is merged", unmerged == "2", unmerged)
tally.attack("no row of the demo has changed", not demo() - before, ", ".join(sorted(demo() - before)))
shown = gateway.call("GET", "/api/v1/admin/settings", None, {"Authorization": "Bearer " + options.owner})
tally.control("the demo's own owner sees the demo", shown.status == 200, shown.status)
tally.end(at_least=900)
