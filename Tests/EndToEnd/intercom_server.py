"""An Intercom REST API with a small workspace, for config/intercom_download.py.

    intercom_server.py PORT RECORD

Answers as https://developers.intercom.com/docs/references/2.16/rest-api says: bearer token, cursors, conversations without
parts in lists, X-RateLimit headers. A window has 30 requests and lasts a second. Its faults come once each: a 429, a 500
and a connection that ends in the middle of an answer. Each request is a line of RECORD: status, method, path. A file
RECORD.changed makes conversation 3 newer, with one more part.
"""

import collections
import http.server
import json
import pathlib
import sys
import time
import urllib.parse

TOKEN = "it is secret"
WINDOW, LIMIT = 1, 30
BEGIN = 1_709_251_200
CONVERSATIONS, CONTACTS = 60, 40

record = pathlib.Path(sys.argv[2])
lines = record.open("a", buffering=1)
windows = collections.Counter()
faults = {"/conversations/5": 429, "/conversations/9": 500, "/conversations/12": "cut"}


def author(kind, number):
    names = {"admin": {"1": "Dana", "2": "Omar Haddad", "4": "Gone Before"}, "bot": {"9": "Fin"}}
    id = f"contact{number}" if kind == "user" else str(number)
    return {"type": kind, "id": id, "name": names.get(kind, {}).get(str(number), f"Contact {number}"),
            "email": f"{kind}{number}@bikes.example"}


def part(id, kind, body, at, by, **more):
    return {"type": "conversation_part", "id": str(id), "part_type": kind, "body": body, "created_at": at, "updated_at": at,
            "notified_at": at, "assigned_to": None, "author": by, "attachments": [], "external_id": None, "redacted": False,
            **more}


def parts(number):
    begin = BEGIN + number * 3600
    contact = author("user", number % CONTACTS)
    values = [
        part(number * 100 + 1, "comment", f"<p>line 2 of {number} &amp; more</p>", begin + 60, author("admin", 1)),
        part(number * 100 + 2, "note", f"<p>note of {number}</p>", begin + 120, author("admin", 2)),
        part(number * 100 + 3, "assignment", None, begin + 180, author("admin", 1),
             assigned_to={"type": "admin", "id": "2"}),
        part(number * 100 + 4, "comment", f"<p>answer of {number}</p>", begin + 240, author("bot", 9)),
        part(number * 100 + 5, "conversation_attribute_updated_by_admin", None, begin + 241, author("admin", 1)),
        part(number * 100 + 6, "comment", f"<p>line 6 of {number}</p>", begin + 300, contact),
    ]
    if number == 1:
        values += [
            part(190, "comment", '<p>See <a href="https://shop.example/a?b=1&amp;c=2">the page</a><br>and</p><ul><li>one'
                 '</li></ul><img src="https://cdn.example/i.png">', begin + 310, author("admin", 4),
                 attachments=[{"type": "upload", "name": "receipt.pdf", "url": "https://cdn.example/receipt.pdf",
                               "content_type": "application/pdf", "filesize": 48210}]),
            part(191, "comment", "<p>gone</p>", begin + 311, contact, redacted=True),
            part(192, "assignment", "<p>for Omar's eyes</p>", begin + 312, author("admin", 1)),
        ]
    if number % 10 < 6:
        values.append(part(number * 100 + 7, "close", None, begin + 600, author("admin", 1)))
    if number == 3 and record.with_suffix(".changed").exists():
        values.append(part(399, "comment", "<p>late</p>", begin + 9_000, contact))
    return values


def conversation(number, is_whole):
    begin = BEGIN + number * 3600
    state = "closed" if number % 10 < 6 else "snoozed" if number % 10 == 6 else "open"
    values = parts(number)
    value = {
        "type": "conversation", "id": str(number), "title": None, "created_at": begin, "updated_at": values[-1]["created_at"],
        "waiting_since": None, "snoozed_until": None, "open": state != "closed", "state": state, "read": number % 2 == 0,
        "priority": "not_priority", "admin_assignee_id": {0: None, 1: 1, 2: 2, 3: 4}[number % 4],
        "team_assignee_id": "11" if number % 2 else None, "custom_attributes": {},
        "source": {"type": "email" if number == 4 else "conversation", "id": str(number), "delivered_as": "customer_initiated",
                   "subject": "", "body": f"<p>line 1 of {number}</p>", "author": author("user", number % CONTACTS),
                   "attachments": [], "url": "https://shop.example/cart", "redacted": False},
        "contacts": {"type": "contact.list",
                     "contacts": [{"type": "contact", "id": f"contact{number % CONTACTS}", "external_id": None}]},
        "tags": {"type": "tag.list", "tags": [{"type": "tag", "id": "21", "name": "refund"}] if number == 2 else []},
        "conversation_rating": {"rating": 4, "remark": "Kind", "created_at": begin, "updated_at": begin + 700,
                                "teammate": {"type": "admin", "id": "1"}} if number == 1 else None,
    }
    if is_whole:
        value["conversation_parts"] = {"type": "conversation_part.list", "conversation_parts": values,
                                       "total_count": len(values) + (number == 7)}
    return value


def contact(number):
    return {"type": "contact", "id": f"contact{number}", "external_id": f"customer-{number}" if number % 5 == 2 else None,
            "workspace_id": "abc", "role": "user", "email": f"c{number}@example.com", "phone": None,
            "name": f"Contact {number}", "created_at": BEGIN - 86_400, "last_seen_at": BEGIN + 86_400,
            "location": {"type": "location", "country": "Belgium", "city": "Ghent"},
            "custom_attributes": {f"k{n}": n for n in range(80)} if number == 7 else {"plan": "gold", "list": [1]}}


LISTS = {
    "/admins": ("admin.list", "admins", [
        {"type": "admin", "id": "1", "name": "Dana", "email": "Dana@bikes.example", "team_ids": [11]},
        {"type": "admin", "id": "2", "name": "Omar Haddad", "email": "omar@bikes.example", "team_ids": []},
        {"type": "admin", "id": "5", "name": "Operator", "email": "operator+abc@intercom.io", "team_ids": []}]),
    "/teams": ("team.list", "teams", [{"type": "team", "id": "11", "name": "Sales", "admin_ids": [1, 2, 99]}]),
    "/tags": ("list", "data", [{"type": "tag", "id": "21", "name": "refund"}, {"type": "tag", "id": "22", "name": "vip"}]),
    "/macros": ("list", "data", [{"type": "macro", "id": "31", "name": "Order status", "body": "<p>Hello</p>",
                                  "body_text": "Hello"}]),
    "/contacts": ("list", "data", [contact(n) for n in range(CONTACTS)]),
}


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, value, cut=False):
        body = json.dumps(value).encode()
        window = int(time.time()) // WINDOW
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-RateLimit-Limit", str(LIMIT))
        self.send_header("X-RateLimit-Remaining", str(max(0, LIMIT - windows[window])))
        self.send_header("X-RateLimit-Reset", str((window + 1) * WINDOW))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        if cut:
            self.close_connection = True
        lines.write(f"{status} {self.command} {self.path}\n")

    def error(self, status, code):
        self.answer(status, {"type": "error.list", "request_id": "r", "errors": [{"code": code, "message": code}]})

    def refused(self):
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return self.error(401, "unauthorized") or True
        if not self.headers["Intercom-Version"]:
            return self.error(400, "intercom_version_invalid") or True
        windows[int(time.time()) // WINDOW] += 1
        if windows[int(time.time()) // WINDOW] > LIMIT:
            return self.error(429, "rate_limit_exceeded") or True
        return False

    def page(self, kind, key, values, size, cursor):
        start = int(cursor or 0)
        pages = {"type": "pages", "page": 1, "per_page": size, "total_pages": -(-len(values) // size)}
        if start + size < len(values):
            pages["next"] = {"per_page": size, "starting_after": str(start + size)}
        self.answer(200, {"type": kind, key: values[start:start + size], "total_count": len(values), "pages": pages})

    def do_GET(self):
        if self.refused():
            return
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        fault = faults.pop(url.path, None)
        if fault == 429:
            self.error(429, "rate_limit_exceeded")
        elif fault == 500:
            self.error(500, "server_error")
        elif url.path in LISTS:
            kind, key, values = LISTS[url.path]
            # As few as make several pages.
            self.page(kind, key, values, min(25, int(query.get("per_page", 50))), query.get("starting_after"))
        elif url.path.startswith("/conversations/") and 0 < int(url.path[15:]) <= CONVERSATIONS:
            self.answer(200, conversation(int(url.path[15:]), True), cut=fault == "cut")
        else:
            self.error(404, "not_found")

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.refused():
            return
        query, page = body["query"], body["pagination"]
        if self.path != "/conversations/search" or (query["field"], query["operator"]) != ("updated_at", ">"):
            return self.error(400, "parameter_invalid")
        found = [conversation(n, False) for n in range(1, CONVERSATIONS + 1)]
        found = [it for it in found if it["updated_at"] > query["value"]]
        self.page("conversation.list", "conversations", found, min(25, page["per_page"]), page.get("starting_after"))


http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
