"""Visitors of a site at two gateways on one database. Started by watching.sh.

Beacons are sent by hand: the browser's part is in visitors_test.py. Who sends from 127.0.0.2 is the trusted proxy.
"""

import argparse
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from urllib.parse import urlsplit

VISIT = "/api/v1/widget/visit"
VISITORS = "/api/v1/admin/live-chat/visitors"
PROXY = "127.0.0.2"
#: APIOptions.Rates.beacons
OF_ADDRESS = 600


class Run:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.failures = 0
        self.number = 0
        self.token = json.loads(options.operator_token)["token"]
        self.key = self.sql("SELECT public_key FROM workspaces LIMIT 1")

    def promise(self, name: str, kept: bool) -> None:
        print(f"  {'ok' if kept else 'BROKEN'}  {name}", flush=True)
        self.failures += not kept

    def sql(self, statement: str) -> str:
        return subprocess.run(
            [self.options.psql, "--no-psqlrc", "--tuples-only", "--no-align", "--command", statement,
             self.options.database], check=True, capture_output=True, text=True).stdout.strip()

    def send(self, gateway: str, method: str, path: str, body=None, headers=None, source: str = "127.0.0.1"):
        """The status, the JSON of the response, and its header fields."""
        where = urlsplit(gateway)
        connection = http.client.HTTPConnection(where.hostname, where.port, timeout=20, source_address=(source, 0))
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        connection.request(method, path, data, headers or {})
        response = connection.getresponse()
        text = response.read()
        connection.close()
        return response.status, json.loads(text) if text else None, response.headers

    def call(self, gateway: str, method: str, path: str, body=None):
        fields = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        return self.send(gateway, method, path, body, fields)

    def beacon(self, gateway: str, secret: str = "", headers=None, source: str = "127.0.0.1", page: str = "/", **members):
        """A beacon with a visit, of a new browser unless a secret is given."""
        self.number += 1
        visit = {"trail": [{"page": f"https://shop.example{page}", "title": page, "age": 1}]}
        body = {"workspace": self.key, "secret": secret or f"browser-number-{self.number:06}", "tab": "a",
                "visit": visit, **members}
        return self.send(gateway, "POST", VISIT, body, {"Content-Type": "text/plain", **(headers or {})}, source)

    def listed(self, gateway: str) -> dict[str, dict]:
        """The visitors on the site as operators at this gateway see them, by page."""
        _, answer, _ = self.call(gateway, "GET", VISITORS)
        return {urlsplit(it["page"]).path: it for it in answer["visitors"]}

    def await_listed(self, gateway: str, *pages: str) -> dict[str, dict]:
        limit = time.monotonic() + 15
        while set(pages) - set(found := self.listed(gateway)) and time.monotonic() < limit:
            time.sleep(0.2)
        return found

    def await_none(self, gateway: str, seconds: float) -> bool:
        limit = time.monotonic() + seconds
        while self.listed(gateway) and time.monotonic() < limit:
            time.sleep(0.5)
        return not self.listed(gateway)

    # MARK: parts

    def run(self) -> int:
        status, answer, _ = self.call(
            self.options.first, "PATCH", "/api/v1/admin/settings", {"settings": {"watching": {"enabled": True}}})
        self.promise(f"the workspace watches visitors: {status} {'' if status == 200 else answer}", status == 200)
        time.sleep(2.1)  # SettingsCache.secondsMax: the other gateway may answer by the old ones until then
        self.elsewhere()
        self.crossing()
        self.countries()
        self.bad()
        self.floods()
        self.killed()
        return min(self.failures, 1)

    def elsewhere(self) -> None:
        first, second = self.options.first, self.options.second
        secret = "the-browser-of-the-first"
        begin = time.monotonic()
        status, _, _ = self.beacon(first, secret, page="/hose")
        found = self.await_listed(second, "/hose")
        self.promise(f"a visitor at one gateway is in the list of the other after {time.monotonic() - begin:.1f} s",
                     status == 200 and set(found) == {"/hose"})
        one = found["/hose"]
        status, answer, _ = self.call(
            second, "POST", f"{VISITORS}/{one['id']}/conversation", {"body": "Can I help you?"})
        self.promise(f"an operator there begins a conversation: {status}", status == 201)
        limit = time.monotonic() + 15
        invitation = None
        while not invitation and time.monotonic() < limit:
            _, heartbeat, _ = self.beacon(first, secret, page="/hose")
            invitation = heartbeat.get("invitation")
            time.sleep(1)
        self.promise("which a later beacon at the first gateway is answered with",
                     invitation is not None and invitation["session"] == answer["conversation"]["id"]
                     and invitation["body"] == "Can I help you?")
        # The browser's next page is loaded from the other gateway: it is one visitor, on that page.
        self.beacon(second, secret, page="/cart")
        found = self.await_listed(first, "/cart")
        self.promise("a browser that two gateways know is one visitor, on the newest page", set(found) == {"/cart"})
        self.beacon(second, secret, state="gone")
        self.beacon(first, secret, state="gone")
        self.promise("and leaves the list when its tab is closed", self.await_none(first, 15))

    def crossing(self) -> None:
        """The next page is loaded from the other gateway, which may tell PostgreSQL before the first one does."""
        first, second = self.options.first, self.options.second
        secrets = [f"a-browser-that-crosses-{number:02}" for number in range(10)]
        for number, secret in enumerate(secrets):
            self.beacon(first, secret, page=f"/before-{number}")
            time.sleep(0.02)  # the times of pages have milliseconds
            self.beacon(second, secret, page=f"/after-{number}")
            time.sleep(0.25)  # at different moments of the exchanges with PostgreSQL, which are 2 s apart
        time.sleep(2.5)
        pages = {f"/after-{number}" for number, _ in enumerate(secrets)}
        found = set(self.await_listed(second, *pages))
        self.promise("a browser is on the page that it opened last, whichever gateway tells PostgreSQL first"
                     f" {sorted(found - pages) or ''}", found == pages)
        for gateway in (first, second):
            for secret in secrets:
                self.beacon(gateway, secret, state="gone")
        self.promise("and they leave", self.await_none(first, 15))

    def countries(self) -> None:
        first, second = self.options.first, self.options.second
        by_proxy = {"X-Forwarded-For": "203.0.113.9", "CF-IPCountry": "NL", "Accept-Language": "de-AT"}
        self.beacon(first, page="/proxy", headers=by_proxy, source=PROXY)
        self.beacon(first, page="/forged", headers=by_proxy)
        self.beacon(first, page="/unknown", headers={**by_proxy, "CF-IPCountry": "XX"}, source=PROXY)
        self.beacon(first, page="/odd", headers={**by_proxy, "CF-IPCountry": "<b>"}, source=PROXY)
        self.beacon(first, page="/none", headers={"Accept-Language": "en"})
        pages = ["/proxy", "/forged", "/unknown", "/odd", "/none"]
        found = self.await_listed(second, *pages)
        countries = [found.get(page, {}).get("country", "missing") for page in pages]
        self.promise(f"the proxy's country counts, a forged, unknown or malformed one does not: {countries}",
                     countries == ["NL", "AT", "AT", "AT", None])
        languages = [found.get(page, {}).get("language") for page in ("/proxy", "/none")]
        self.promise(f"the language is that of the browser: {languages}", languages == ["de-AT", "en"])
        status, answer, _ = self.beacon(first, page="/private", headers={"Sec-GPC": "1"})
        time.sleep(2.5)  # longer than an exchange with PostgreSQL
        self.promise("a browser that objects to tracking is not listed", status == 200
                     and answer == {"enabled": False} and "/private" not in self.listed(first))

    def bad(self) -> None:
        first = self.options.first
        before = len(self.listed(first))
        plain = {"Content-Type": "text/plain"}
        good = {"workspace": self.key, "secret": "x" * 24, "tab": "a"}
        statuses = {
            name: self.send(first, "POST", VISIT, body, plain)[0]
            for name, body in {
                "no JSON": b"{", "an array": b"[]", "no UTF-8": b'{"workspace":"\xff"}',
                "deep": b"[" * 3_000, "another workspace": {**good, "workspace": "pk_none"},
                "no secret": {**good, "secret": None}, "a short secret": {**good, "secret": "x"},
                "a long secret": {**good, "secret": "x" * 65}, "no tab": {**good, "tab": ""},
                "a state": {**good, "state": "up"}, "an empty visit": {**good, "visit": {}},
                "steps": {**good, "visit": {"trail": [{}] * 21}},
                "an age": {**good, "visit": {"trail": [{"age": -1}]}},
                "a huge age": {**good, "visit": {"trail": [{"age": 1e300}]}},
                "a message": {**good, "show": "first"}, "large": {**good, "x": "x" * 9_000},
            }.items()
        }
        wanted = {name: 400 for name in statuses} | {"another workspace": 404, "a long secret": 413, "large": 413}
        different = {name: status for name, status in statuses.items() if status != wanted[name]}
        self.promise(f"{len(statuses)} bad beacons are refused {different or ''}", not different)
        status, _, fields = self.send(first, "GET", VISIT)
        self.promise(f"another method is refused: {status}", status == 405 and "POST" in (fields["Allow"] or ""))
        time.sleep(2.5)
        self.promise("and leave nothing behind", len(self.listed(first)) == before)

    def floods(self) -> None:
        first = self.options.first
        secret = "a-browser-that-cannot-stop"
        answers = [self.beacon(first, secret, page="/flood") for _ in range(40)]
        refused = [(answer, fields) for status, answer, fields in answers if status == 429]
        self.promise(f"a browser that sends 40 beacons at once gets 429 for some: {len(refused)}", bool(refused)
                     and all(answer["limit"] == "visitor" and fields["Retry-After"] for answer, fields in refused))
        client = {"X-Forwarded-For": "203.0.113.77"}
        refused = []
        for _ in range(OF_ADDRESS * 2):
            status, answer, fields = self.beacon(first, page="/address", headers=client, source=PROXY)
            if status == 429:
                refused.append((answer, fields))
                break
        self.promise("an address that sends too many gets 429 with the time to wait", bool(refused)
                     and all(answer["limit"] == "address" and fields["Retry-After"] for answer, fields in refused))
        status, _, _ = self.beacon(first, page="/neighbour", headers={"X-Forwarded-For": "203.0.113.78"}, source=PROXY)
        self.promise("another address is served", status == 200)

    def killed(self) -> None:
        second = self.options.second
        self.promise("the killed gateway had visitors", bool(self.listed(second)))
        os.kill(self.options.first_pid, signal.SIGKILL)
        begin = time.monotonic()
        # GatewayProcess.silenceSeconds, and the renewal of the row.
        have_left = self.await_none(second, 25)
        self.promise(f"they leave the other's list after {time.monotonic() - begin:.0f} s", have_left)
        self.beacon(second, "the-browser-of-the-first", page="/again")
        self.promise("a browser that goes on at the other one is listed",
                     set(self.await_listed(second, "/again")) == {"/again"})


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    for name in ("--first", "--second", "--database", "--psql", "--operator-token"):
        options.add_argument(name, required=True)
    options.add_argument("--first-pid", type=int, required=True)
    return Run(options.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
