#!/usr/bin/env python3
"""Downloads what `chirrup import intercom` reads from Intercom's REST API into a folder.

    INTERCOM_TOKEN=… python3 intercom_download.py FOLDER [--since 2026-01-31] [--api https://api.eu.intercom.io]

The token is an access token of an app of your Intercom workspace that may read admins, teams, tags, contacts and
conversations. It needs Python 3.9 and nothing else. Only the members of an object that the import uses are written.

A file has its name when it is whole; until then its name ends in ".part". Run the script again after an interruption,
or to fetch what has changed since: conversations that the folder has already are not fetched again. It waits as the
headers of Intercom's rate limit say, and leaves a tenth of the allowance to others of the workspace.
"""

from __future__ import annotations

import argparse
import calendar
import http.client
import json
import os
import random
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

VERSION = "2.16"  # of the API: the first with macros
PAGE = 150  # the most objects of a page
ATTEMPTS = 8
WAIT_MAX = 60  # seconds, whatever a header says
RESPONSE_MAX = 64 * 1024 * 1024  # bytes
ATTRIBUTES_MAX = 32

PART = ("type", "id", "part_type", "body", "created_at", "author", "attachments", "redacted")
SOURCE = ("type", "body", "subject", "author", "attachments", "url", "redacted")
CONVERSATION = ("type", "id", "title", "created_at", "updated_at", "state", "open", "read", "admin_assignee_id",
                "team_assignee_id", "tags", "conversation_rating", "contacts")
CONTACT = ("type", "id", "external_id", "name", "email", "phone", "created_at", "last_seen_at", "location")
ADMIN = ("type", "id", "name", "email")
TEAM = ("type", "id", "name", "admin_ids")
TAG = ("type", "id", "name")
MACRO = ("type", "id", "name", "body", "body_text")


class Failure(Exception):
    """What the administrator can mend."""


class Refused(Failure):
    pass


class NotFound(Refused):
    pass


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """The token goes to the address that was given, and to no other."""

    def redirect_request(self, *_):
        return None


class Intercom:
    """The API, at the pace that its headers allow."""

    def __init__(self, address: str, token: str) -> None:
        url = urllib.parse.urlsplit(address)
        if url.scheme != "https" and url.hostname not in ("127.0.0.1", "::1"):
            raise Failure("--api must begin with https://, since the token is sent there")
        self.address = address.rstrip("/")
        self.opener = urllib.request.build_opener(NoRedirect)
        self.headers = {"Authorization": f"Bearer {token}", "Accept": "application/json",
                        "Intercom-Version": VERSION, "User-Agent": "chirrup-intercom-download"}

    def get(self, path: str, **query: object) -> dict:
        given = {name: value for name, value in query.items() if value is not None}
        return self.call("GET", path + ("?" + urllib.parse.urlencode(given) if given else ""), None)

    def post(self, path: str, body: dict) -> dict:
        return self.call("POST", path, body)

    def call(self, method: str, path: str, body: dict | None) -> dict:
        reason = ""
        for attempt in range(ATTEMPTS):
            data = None if body is None else json.dumps(body).encode()
            headers = dict(self.headers, **({"Content-Type": "application/json"} if data else {}))
            request = urllib.request.Request(self.address + path, data=data, headers=headers, method=method)
            try:
                with self.opener.open(request, timeout=60) as response:
                    text = response.read(RESPONSE_MAX + 1)
                    if len(text) > RESPONSE_MAX:
                        raise Failure(f"the answer to {path} is longer than {RESPONSE_MAX} bytes")
                    self.pause(response.headers)
                    answer = json.loads(text)
                    if not isinstance(answer, dict):
                        raise Failure(f"the answer to {path} is no JSON object")
                    return answer
            except urllib.error.HTTPError as error:
                reason = f"status {error.code}"
                if error.code in (401, 403):
                    raise Refused(f"Intercom refuses {path} ({reason}): is INTERCOM_TOKEN the token of an app with "
                                  "the permission to read it, and --api the address of its region?") from None
                if error.code == 404:
                    raise NotFound(f"Intercom has no {path}") from None
                if error.code == 429:
                    self.wait(self.reset(error.headers))
                    continue
                if error.code < 500:
                    raise Refused(f"Intercom refuses {path} ({reason})") from None
            except (OSError, http.client.HTTPException, json.JSONDecodeError) as error:
                reason = str(error)
            # Full jitter, so that two downloads do not come at the same moments.
            self.wait(random.uniform(0, min(WAIT_MAX, 2 ** attempt)))
        raise Failure(f"{path} failed {ATTEMPTS} times, at last with: {reason}. Run this again later: it continues")

    def pause(self, headers) -> None:
        """Waits for the next window when nine tenths of the allowance are used."""
        try:
            remaining, limit = int(headers["X-RateLimit-Remaining"]), int(headers["X-RateLimit-Limit"])
        except (TypeError, ValueError):
            return
        if remaining <= limit // 10:
            self.wait(self.reset(headers))

    @staticmethod
    def reset(headers) -> float:
        """Seconds until the window ends; 10, the length of one, if no header says it."""
        try:
            return int(headers["X-RateLimit-Reset"]) - time.time()
        except (TypeError, ValueError):
            return 10

    @staticmethod
    def wait(seconds: float) -> None:
        time.sleep(max(0.1, min(WAIT_MAX, seconds)))

    def pages(self, path: str, key: str):
        """The objects of a list, page by page."""
        cursor = None
        while True:
            answer = self.get(path, per_page=PAGE, starting_after=cursor)
            yield from answer.get(key) or []
            cursor = next_cursor(answer)
            if not cursor:
                return

    def conversations(self, since: int):
        """The conversations that have changed since, without their parts."""
        cursor = None
        while True:
            page = {"per_page": PAGE, **({"starting_after": cursor} if cursor else {})}
            query = {"field": "updated_at", "operator": ">", "value": since}
            answer = self.post("/conversations/search", {"query": query, "pagination": page})
            yield from answer.get("conversations") or []
            cursor = next_cursor(answer)
            if not cursor:
                return


def next_cursor(answer: dict) -> str | None:
    following = (answer.get("pages") or {}).get("next")
    return following.get("starting_after") if isinstance(following, dict) else None


def kept(value: dict, members: tuple) -> dict:
    return {name: value[name] for name in members if name in value}


def reduced(conversation: dict) -> dict:
    parts = (conversation.get("conversation_parts") or {}).get("conversation_parts") or []
    return {**kept(conversation, CONVERSATION), "source": kept(conversation.get("source") or {}, SOURCE),
            "conversation_parts": {"conversation_parts": [kept(part, PART) for part in parts]}}


def reduced_contact(contact: dict) -> dict:
    given = contact.get("custom_attributes") or {}
    simple = [(name, value) for name, value in given.items() if isinstance(value, (str, int, float, bool))]
    return {**kept(contact, CONTACT), "custom_attributes": dict(simple[:ATTRIBUTES_MAX])}


def line(value: dict) -> bytes:
    # An unpaired surrogate is no text.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def write_list(folder: str, name: str, values) -> int:
    path = os.path.join(folder, name)
    count = 0
    with open(path + ".part", "wb") as file:
        for value in values:
            file.write(line(value))
            count += 1
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)
    print(f"{name}: {count}", flush=True)
    return count


def known_conversations(path: str) -> dict:
    """When each conversation of the file had changed. A line that was not written whole is cut off."""
    known = {}
    end = 0
    if not os.path.exists(path):
        return known
    with open(path, "rb+") as file:
        for text in file:
            try:
                value = json.loads(text)
            except ValueError:
                break
            if not text.endswith(b"\n"):
                break
            known[value["id"]] = value.get("updated_at")
            end += len(text)
        file.truncate(end)
    return known


def write_conversations(folder: str, api: Intercom, since: int) -> None:
    path = os.path.join(folder, "conversations.jsonl")
    if os.path.exists(path):
        os.replace(path, path + ".part")
    known = known_conversations(path + ".part")
    fetched = shortened = gone = 0
    with open(path + ".part", "ab") as file:
        for found in api.conversations(since):
            if known.get(found["id"]) == found.get("updated_at") is not None:
                continue
            try:
                whole = api.get("/conversations/" + urllib.parse.quote(str(found["id"]), safe=""))
            except NotFound:
                gone += 1
                continue
            parts = whole.get("conversation_parts") or {}
            shortened += (parts.get("total_count") or 0) > len(parts.get("conversation_parts") or [])
            file.write(line(reduced(whole)))
            known[whole["id"]] = whole.get("updated_at")
            fetched += 1
            if fetched % 100 == 0:
                file.flush()
                print(f"conversations.jsonl: {fetched} so far", flush=True)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".part", path)
    print(f"conversations.jsonl: {len(known)}, of which {fetched} were fetched now", flush=True)
    if shortened:
        print(f"{shortened} conversations have more parts than Intercom returns (500): the oldest are missing")
    if gone:
        print(f"{gone} conversations were deleted meanwhile")


def begin_of(day: str) -> int:
    try:
        return calendar.timegm(time.strptime(day, "%Y-%m-%d"))
    except ValueError:
        raise Failure("--since must be a day like 2026-01-31") from None


def download(options: argparse.Namespace) -> None:
    token = os.environ.get("INTERCOM_TOKEN", "").strip()
    if not token:
        raise Failure("set INTERCOM_TOKEN to the access token of an app of your Intercom workspace")
    since = begin_of(options.since) if options.since else 0
    os.umask(0o077)
    os.makedirs(options.folder, exist_ok=True)
    api = Intercom(options.api, token)
    write_list(options.folder, "admins.jsonl", (kept(it, ADMIN) for it in api.get("/admins").get("admins") or []))
    write_list(options.folder, "teams.jsonl", (kept(it, TEAM) for it in api.get("/teams").get("teams") or []))
    write_list(options.folder, "tags.jsonl", (kept(it, TAG) for it in api.get("/tags").get("data") or []))
    try:
        write_list(options.folder, "macros.jsonl", (kept(it, MACRO) for it in api.pages("/macros", "data")))
    except Refused as failure:
        print(f"macros are left out: {failure}", flush=True)
    write_list(options.folder, "contacts.jsonl", (reduced_contact(it) for it in api.pages("/contacts", "data")))
    write_conversations(options.folder, api, since)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="for the files; it is made if it does not exist")
    parser.add_argument("--since", metavar="yyyy-mm-dd",
                        help="only conversations that have changed since this day (UTC)")
    parser.add_argument("--api", default="https://api.intercom.io", metavar="URL",
                        help="of your region: https://api.intercom.io, https://api.eu.intercom.io or "
                             "https://api.au.intercom.io")
    try:
        download(parser.parse_args())
    except Failure as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; run it again to continue", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
