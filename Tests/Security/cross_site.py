"""Cross-site requests (CSRF, CORS): every operation of the document, as a page of another site lets a browser send it,
with the cookie of an administrator's console.

A write must be refused with 403 and change nothing. An answer must never be readable by the page: only the widget's
routes name an origin, and none allows credentials.
"""

from attacks import PROVEN, WRITES, Tally, begin

gateway, options = begin(__doc__)
tally = Tally("cross-site requests")
cookie = {"Cookie": "chirrup_session=" + gateway.seeds["cookie"]}
EVIL = "https://evil.example"
own = f"http://{gateway.host}"
PAGES = {
    "a foreign page": {"Origin": EVIL, "Sec-Fetch-Site": "cross-site"},
    "a sibling site": {"Origin": f"http://a.{gateway.host}", "Sec-Fetch-Site": "same-site"},
    "a sandboxed frame": {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
    "an older browser": {"Origin": EVIL},
    "no proof at all": {},
    "own host as a prefix": {"Origin": f"{own}.evil.example"},
    "own host as a user": {"Origin": f"http://{gateway.host}@evil.example"},
    "another port": {"Origin": "http://127.0.0.1:1"},
    "own origin, but foreign by the browser": {"Origin": own, "Sec-Fetch-Site": "cross-site"},
}
# What a form or a script sends without a preflight.
TYPES = {"json": "application/json", "text": "text/plain", "form": "application/x-www-form-urlencoded"}
NO_COOKIE = (*PROVEN, "/api/v1/auth/login", "/api/v1/auth/provider", "/api/v1/auth/setup")


def is_unreadable(path, answer, origin):
    """Whether the page of `origin` gets nothing of the answer, or may by design: the widget's routes, without a cookie."""
    if "access-control-allow-credentials" in answer.headers:
        return False
    allowed = answer.headers.get("access-control-allow-origin")
    return allowed is None or path.startswith("/api/v1/widget/") and allowed == origin


# Exports are read by GET and leave a line in the audit log.
TABLES = {
    "workspaces": "w::text", "system_settings": "w::text", "memberships": "w::text", "chats": "id::text || content",
    "visitors": "w::text", "chat_sessions": "w::text", "api_keys": "id::text || revoked_at", "webhooks": "id::text || url",
    "intents": "w::text", "tags": "w::text", "rich_menus": "w::text", "reply_objects": "w::text", "credentials": "w::text",
    "identity_secrets": "w::text", "operators": "id::text || name || password_hash", "operator_sessions": "token_hash::text",
    "audit_log": "CASE WHEN action IN ('visitor.exported', 'conversations.exported') THEN '' ELSE id::text END",
}


def state():
    """A digest of each table."""
    union = " UNION ALL ".join(
        f"SELECT '{table} ' || coalesce(md5(string_agg(x, '' ORDER BY x)), '') FROM (SELECT {text} AS x FROM {table} w) t"
        for table, text in TABLES.items())
    return set(gateway.sql(union).split("\n"))


# The workspace lists the pages that may have the widget: the gateway's own.
listed = gateway.call(
    "PATCH", "/api/v1/admin/settings", {"settings": {}, "allowed_origins": [own]}, {"Authorization": "Bearer " + options.owner})
tally.control("the workspace lists its origins", listed.status == 200, listed.text)
before = state()
for method, path, operation in gateway.operations:
    example = gateway.example(method, path)
    if example is None:
        tally.control(f"{method} {path} has an example in openapi_seeds.py", False)
        continue
    address = gateway.address(path, example["parameters"])
    is_widget = path.startswith("/api/v1/widget/")
    for page, headers in PAGES.items():
        origin = headers.get("Origin")
        if is_widget and origin == own:
            continue  # the page that the workspace lists
        if not headers and path.startswith(NO_COOKIE):
            continue  # these need no cookie: without an Origin the request is that of a program
        for kind, content in TYPES.items() if method in WRITES else [("", None)]:
            body = (example["body"] or {}) if method in WRITES else None
            sent = headers | cookie | ({"Content-Type": content} if content else {})
            answer = gateway.call(method, address, body, sent)
            name = f"{method} {path} from {page} {kind}"
            tally.attack(name, is_unreadable(path, answer, origin) and answer.status < 500, f"{answer.status} {answer.headers}")
            if method in WRITES and not (is_widget and origin is None) and operation["security"] != [{"visitor": []}]:
                # The widget's routes know the workspace by the body, which a form cannot send.
                refusals = (403, 415) if is_widget and kind != "json" else (403,)
                # A page has no signature of a platform, and does not know the secret of an e-mail's link.
                if path.startswith(("/api/v1/channels/", "/api/v1/mail/")):
                    refusals = (401, 404, 429)
                tally.attack(name + ": refused", answer.status in refusals, f"{answer.status} {answer.text[:120]}")
    for page, headers in PAGES.items():
        if "Origin" not in headers:
            continue
        asked = {"Access-Control-Request-Method": method, "Access-Control-Request-Headers": "content-type"}
        answer = gateway.call("OPTIONS", address, None, headers | asked | cookie)
        tally.attack(
            f"preflight of {method} {path} from {page}", is_unreadable(path, answer, headers["Origin"]),
            f"{answer.status} {answer.headers}")
changed = state() - before
tally.attack("nothing has changed", not changed, ", ".join(sorted(changed)))

same = {"Origin": own, "Sec-Fetch-Site": "same-origin"} | cookie
answer = gateway.call("PUT", "/api/v1/admin/tags/cross-site", {"colour": "#336699"}, same)
tally.control("the console's own page may write with the cookie", answer.status in (200, 201), f"{answer.status} {answer.text[:200]}")
tally.control("… which the state shows", state() != before)
tally.end(at_least=2_000)
