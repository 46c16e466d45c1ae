"""Times of the requests behind the console's lists, searches and reports. Started by reports.sh.

The first request of each is not counted: it fills the caches, as an operator's first look in the morning does, and is
printed beside the others.
"""

import argparse
import http.client
import json
import statistics
import sys
import time
from urllib.parse import quote, urlsplit

CHAT = "/api/v1/admin/live-chat"
LISTS = f"{CHAT}/conversations"
REPORTS = f"{CHAT}/analytics"


class Desk:
    def __init__(self, options: argparse.Namespace) -> None:
        self.connection = http.client.HTTPConnection(urlsplit(options.url).netloc, timeout=60)
        self.head = {"Authorization": f"Bearer {json.loads(options.token)['token']}", "Accept-Encoding": "gzip"}
        self.options = options
        self.slow: list[str] = []

    def ask(self, path: str, coded=True) -> tuple[float, bytes]:
        """The milliseconds until the whole answer is here, and the answer."""
        begin = time.monotonic()
        head = {name: value for name, value in self.head.items() if coded or name != "Accept-Encoding"}
        self.connection.request("GET", path, headers=head)
        answer = self.connection.getresponse()
        body = answer.read()
        took = (time.monotonic() - begin) * 1_000
        if answer.status != 200:
            raise SystemExit(f"{path}: {answer.status} {body.decode()[:300]}")
        return took, body

    def json(self, path: str):
        return json.loads(self.ask(path, coded=False)[1])

    def measure(self, name: str, path: str) -> None:
        first, body = self.ask(path)
        times = sorted(self.ask(path)[0] for _ in range(self.options.requests))
        median = statistics.median(times)
        print(f"{name:38} {first:8.1f} {times[0]:8.1f} {median:8.1f} {times[-1]:8.1f} {len(body):10,}", flush=True)
        if median > self.options.limit:
            self.slow.append(f"{name}: {median:.0f} ms")


def paths(desk: Desk):
    """Names and paths of what the console asks for."""
    for status in ("waiting", "active", "closed", "all"):
        yield f"list, {status}", f"{LISTS}?status={status}&limit=100"
    page = desk.json(f"{LISTS}?status=closed&limit=100")
    for _ in range(20):
        page = desk.json(f"{LISTS}?status=closed&limit=100&cursor={quote(page['next_cursor'])}")
    yield "list, closed, page 22", f"{LISTS}?status=closed&limit=100&cursor={quote(page['next_cursor'])}"
    one = page["conversations"][0]
    yield "list, of one visitor", f"{LISTS}?status=all&visitor={one['visitor']['id']}&limit=100"
    yield "list, mine", f"{LISTS}?status=active&assignee=me&limit=100"
    team = desk.json("/api/v1/admin/teams")["teams"][0]["id"]
    tag = desk.json(f"{REPORTS}/tags?days=90")["tags"][0]["name"]
    yield "list, closed, of a team", f"{LISTS}?status=closed&team={team}&limit=100"
    yield "list, closed, with a tag", f"{LISTS}?status=closed&tag={quote(tag)}&limit=100"
    yield "list, open, in a language", f"{LISTS}?status=open&language=ja&limit=100"
    yield "list, deleted", f"{CHAT}/deleted-conversations?limit=100"
    for words in ("brake", "thursday", "no such word", "サイズ"):
        yield f"search of lists, “{words}”", f"{LISTS}?status=all&q={quote(words)}&limit=50"
        yield f"search of messages, “{words}”", f"{CHAT}/messages/search?q={quote(words)}&limit=50"
    yield "search of visitors", f"/api/v1/admin/visitors?q={quote('an')}&limit=20"
    yield "conversation", f"{LISTS}/{one['id']}"
    yield "its messages", f"{LISTS}/{one['id']}/messages?limit=100"
    for days in (7, 30, 90, 366):
        yield f"report, {days} days", f"{REPORTS}?days={days}"
    yield "report, 90 days, of a team", f"{REPORTS}?days=90&team={team}"
    yield "report, 90 days, of a tag", f"{REPORTS}?days=90&tag={quote(tag)}"
    for kind in ("operators", "teams", "tags", "ratings"):
        yield f"report, 90 days, {kind}", f"{REPORTS}/{kind}?days=90"
    yield "ratings with comments, one star", f"{REPORTS}/ratings?days=90&comments=only&rating=1"
    yield "audit log", "/api/v1/admin/audit-log?limit=100"
    yield "export, a page", f"{CHAT}/export?limit=100"


def main() -> int:
    parser = argparse.ArgumentParser()
    # The token is the output of `chirrup token`.
    for name in ("url", "token"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--requests", type=int, default=20)
    parser.add_argument("--limit", type=float, default=300)
    options = parser.parse_args()
    desk = Desk(options)
    print(f"{'milliseconds':38} {'first':>8} {'least':>8} {'median':>8} {'most':>8} {'bytes':>10}")
    for name, path in paths(desk):
        desk.measure(name, path)
    if desk.slow:
        print("above the limit:", "; ".join(desk.slow))
    return 1 if desk.slow else 0


if __name__ == "__main__":
    sys.exit(main())
