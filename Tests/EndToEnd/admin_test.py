"""The administrator's pages in a real browser: analytics, webhooks, credentials, own account, and each page without a
server. Started by admin.sh, which also runs a receiver of webhooks; the database is compared.
"""

import csv
import json
import re
import socket
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import expect

from browser_test import Failure, begin
from pages_test import PagesRun

FIGURES = "/api/v1/admin/live-chat/analytics"
OFFLINE = re.compile(r"the server responded with a status of (4\d\d)|ERR_INTERNET_DISCONNECTED|chirrup|WebSocket")
SETTINGS = [
    "appearance", "members", "hours", "queue", "replies", "intents", "menus", "messages", "webhooks", "keys",
    "credentials", "audit", "account",
]


class AdminRun(PagesRun):
    def run(self) -> None:
        self.watch.expected = OFFLINE
        self.base = self.options.base_url
        self.desk = self.context(1440, 900, accept_downloads=True)
        self.admin = page = self.page(self.desk)
        page.goto(f"{self.base}/console#/analytics")
        page.get_by_role("button", name="Log in").click()
        self.nothing_yet()
        self.figures()
        self.webhook()
        self.credentials()
        self.forms()
        self.doubles()
        self.away()
        self.account()
        self.pictures()

    # Analytics

    def nothing_yet(self) -> None:
        page = self.admin
        expect(page.get_by_text("No conversations in the last 30 days")).to_be_visible()
        expect(page.get_by_role("button", name="Export CSV")).to_be_disabled()
        self.shot(page, "analytics-empty")
        self.accessible(page, "analytics without a conversation")
        self.promise("without conversations analytics shows that, and links to the snippet",
                     page.get_by_role("link", name="Get the snippet").get_attribute("href") == "#/settings/appearance")
        page.goto(f"{self.base}/console#")
        steps = page.locator(".first-steps a")
        expect(steps).to_have_text(["Put the widget on your site", "Invite a colleague", "Write your first canned reply",
                                    "Set your business hours"])
        self.accessible(page, "the inbox of a new workspace")
        for number, heading in enumerate(("Appearance", "Members", "Canned replies", "Business hours")):
            steps.nth(number).click()
            expect(page.get_by_role("heading", name=heading, exact=True).first).to_be_visible()
            page.goto(f"{self.base}/console#")
        self.promise("the inbox of a new workspace has its first steps, each a link to its page")

    def figures(self) -> None:
        page = self.admin
        subprocess.run(
            [self.options.chirrup, "demo-data", "--database-url", self.options.database, "--conversations", "400"],
            check=True, capture_output=True,
        )
        subprocess.run([self.options.chirrup, "analytics", "count", "--database-url", self.options.database],
                       check=True, capture_output=True)
        self.go("analytics/7")
        self.go("analytics/90")
        tiles = page.locator(".tiles > div")
        expect(tiles).to_have_count(6)
        answer = page.evaluate("async (path) => (await fetch(path)).json()", self.period(90))
        shown = tiles.first.locator("dd").first.inner_text()
        counted = self.sql("SELECT count(*) FROM chat_analytics_sessions WHERE day > (now() AT TIME ZONE 'UTC')::date - 90")
        self.promise("the figures of 90 days are those of the database",
                     (shown, answer["total"]["sessions"]) == (counted, int(counted)))
        charts = page.locator("section.panel")
        names = charts.evaluate_all("(all) => all.map((one) => one.getAttribute('aria-label'))")
        drawings = page.locator("section.panel svg[role=img]").evaluate_all(
            "(all) => all.map((one) => one.getAttribute('aria-label') ?? one.querySelector('title')?.textContent ?? '')"
        )
        self.promise(f"each chart has a text alternative ({len(drawings)})",
                     len(drawings) >= 5 and all(len(words) > 30 for words in drawings))
        for name in names[:-1]:
            page.get_by_role("button", name=f"{name} as a table").click()
        tables = page.locator("section.panel table")
        expect(tables).to_have_count(len(names))
        days = charts.first.locator("tbody tr")
        expect(days).to_have_count(90)
        sums = sum(int(text) for text in days.locator(":nth-child(2)").all_inner_texts())
        self.promise("and a table with the same numbers, one click away", sums == int(counted))
        self.shot(page, "analytics-tables")
        self.accessible(page, "analytics as tables")
        for name in names[:-1]:
            page.get_by_role("button", name=f"{name} as a table").click()
        with page.expect_download() as coming:
            page.get_by_role("button", name="Export CSV").click()
        rows = list(csv.reader(Path(coming.value.path()).read_text(encoding="utf-8-sig").splitlines()))
        self.promise("they can be downloaded as CSV, a line per day", len(rows) == 91)
        people = page.get_by_role("region", name="Groups", exact=True).locator("tbody")
        column = "td:nth-child(2), th:nth-child(2)"
        order = page.get_by_role("button", name=re.compile("^Conversations( .)?$"))
        order.click()
        up = [int(text) for text in people.locator("tr").locator(column).all_inner_texts()]
        order.click()
        down = [int(text) for text in people.locator("tr").locator(column).all_inner_texts()]
        self.promise("operators can be sorted", len(set(up)) > 2 and {str(sorted(up)), str(sorted(up)[::-1])} == {str(up), str(down)})
        page.get_by_role("link", name="7 days").click()
        expect(page).to_have_url(re.compile("#/analytics/7$"))
        week = self.sql("SELECT count(*) FROM chat_analytics_sessions WHERE day > (now() AT TIME ZONE 'UTC')::date - 7")
        expect(tiles.first.locator("dd").first).to_have_text(week)
        page.reload()
        expect(tiles.first.locator("dd").first).to_have_text(week)
        self.promise("the period is in the URL and remains after a reload")
        self.desk.set_offline(True)
        page.get_by_role("link", name="30 days").click()
        expect(page.get_by_text("Analytics could not be loaded")).to_be_visible()
        self.shot(page, "analytics-away")
        self.accessible(page, "analytics without a server")
        self.desk.set_offline(False)
        page.get_by_role("button", name="Try again").click()
        expect(tiles).to_have_count(6)
        self.promise("without a server analytics shows an error, and recovers")

    def period(self, days: int) -> str:
        today = self.sql("SELECT (now() AT TIME ZONE 'UTC')::date")
        first = self.sql(f"SELECT (now() AT TIME ZONE 'UTC')::date - {days - 1}")
        return f"{FIGURES}?from={first}&to={today}"

    # Webhooks

    def taken(self, event: str) -> list[list[str]]:
        record = Path(self.options.taken)
        lines = record.read_text().splitlines() if record.exists() else []
        return [line.split() for line in lines if line.split()[1] == event]

    def webhook(self) -> None:
        page = self.setting("webhooks", "Webhooks")
        expect(page.get_by_text("No webhooks yet")).to_be_visible()
        self.shot(page, "webhooks-empty")
        self.make("webhooks", "New webhook")
        address = page.get_by_label("URL")
        address.fill("shop.example.com/hook")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("Enter a URL that starts with https://.")).to_be_visible()
        expect(address).to_be_focused()
        address.fill("http://user:secret@shop.example.com/")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".field", has=address).locator(".error")).to_be_visible()
        refusal = page.locator(".field", has=address).locator(".error").inner_text()
        self.shot(page, "webhooks-refused")
        self.promise(f"the gateway's refusal is under the field: {refusal}",
                     address.input_value() == "http://user:secret@shop.example.com/" and len(refusal) > 20)
        address.fill(f"{self.options.receiver}/hook")
        page.get_by_label("Conversation closed").check()
        page.get_by_role("button", name="Save", exact=True).click()
        secret = page.get_by_label("Secret", exact=True).inner_text()
        self.shot(page, "webhooks-secret")
        self.accessible(page, "a secret that is shown once")
        Path(self.options.taken).with_suffix(".secret").write_text(secret)
        page.get_by_role("button", name="I have copied it").click()
        expect(page.get_by_text(secret)).to_have_count(0)
        page.reload()
        expect(page.get_by_label("URL")).to_have_value(f"{self.options.receiver}/hook")
        expect(page.get_by_label("Conversation closed")).to_be_checked()
        self.promise("a webhook is saved; its secret is shown once",
                     secret.startswith("whsec_") and secret not in page.content())
        expect(page.get_by_text("No deliveries yet")).to_be_visible()
        page.get_by_role("button", name="Send test").click()
        expect(page.get_by_text("Test queued. Its result appears below.")).to_be_visible()
        log = page.locator(".log-list > li")
        self.until(lambda: self.look() and "Delivered" in log.first.inner_text())
        test = self.taken("webhook.test") or self.taken("test")
        self.promise("a test delivery reaches the receiver, signed with that secret, and is in the log",
                     len(test) == 1 and test[0][4] == "True")
        log.first.get_by_role("button", name=re.compile("^Send .* again$")).click()
        expect(page.get_by_text("Queued again, with the same ID.")).to_be_visible()
        event = test[0][1]
        self.until(lambda: len(self.taken(event)) == 2)
        self.promise("it can be sent again with the same id", len({line[0] for line in self.taken(event)}) == 1)
        self.shot(page, "webhooks-log")
        self.accessible(page, "a webhook with its log")
        with socket.socket() as closed:  # nobody listens on it afterwards
            closed.bind(("127.0.0.1", 0))
            port = closed.getsockname()[1]
        page.get_by_label("URL").fill(f"http://127.0.0.1:{port}/hook")
        self.save(page)
        page.get_by_role("button", name="Send test").click()
        self.until(lambda: self.look() and re.search("attempts", log.first.inner_text()) is not None)
        words = log.first.locator(".item-meta").inner_text()
        self.shot(page, "webhooks-failing")
        self.promise(f"the log has the reason of a failed delivery: {words}", re.search("Pending, .*attempts, .*connect", words) is not None)
        page.get_by_label("Active").uncheck()
        self.save(page)
        page.reload()
        expect(page.get_by_label("Active")).not_to_be_checked()
        page.get_by_role("button", name="Delete", exact=True).click()
        page.get_by_role("group").get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_text("No webhooks yet")).to_be_visible()
        self.promise("it can be disabled and deleted", self.sql("SELECT count(*) FROM webhooks") == "0")

    def look(self) -> bool:
        self.admin.get_by_role("button", name="Refresh").click()
        self.admin.wait_for_timeout(150)
        return self.admin.locator(".log-list > li").count() > 0

    def until(self, holds, seconds=60) -> None:
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise Failure(f"not after {seconds} s")
            time.sleep(0.1)

    # The other pages that pages_test.py does not save

    def credentials(self) -> None:
        page = self.setting("credentials", "Credentials")
        self.make("credentials", "New credential")
        page.get_by_label("Service").fill("Line!")
        page.get_by_label("Secret", exact=True).fill("channel secret 1")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("Use lower-case letters, digits, - and _, starting with a letter.")).to_be_visible()
        page.get_by_label("Service").fill("line")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".items")).to_contain_text("line")
        page.reload()
        expect(page.locator(".items")).to_contain_text("line")
        answer = page.evaluate("async () => (await fetch('/api/v1/admin/credentials')).text()")
        self.make("credentials", "New credential")
        page.get_by_label("Service").fill("line")
        page.get_by_label("Secret", exact=True).fill("another secret")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("This credential already exists.")).to_be_visible()
        page.get_by_role("button", name="Cancel").click()
        self.promise("a credential is saved and cannot be read",
                     "channel secret 1" not in answer + page.content()
                     and self.sql("SELECT count(*) FROM credentials WHERE position('channel'::bytea IN ciphertext) > 0") == "0"
                     and "line" in answer)

    def forms(self) -> None:
        page = self.setting("messages", "Messages and forms")
        for switch, words, label in (
            ("Reply to the first message", "Hello, somebody comes at once.", None),
            ("Away message", "We are back at nine.", None),
        ):
            page.get_by_label(switch).check()
            page.locator("textarea:visible").filter(visible=True).last.fill(words)
        page.get_by_label("Ask for a rating").uncheck()
        self.save(page)
        page.reload()
        expect(page.get_by_label("Reply to the first message")).to_be_checked()
        expect(page.get_by_label("Ask for a rating")).not_to_be_checked()
        texts = [area.input_value() for area in page.locator("textarea:visible").all()]
        self.promise("automatic messages are saved",
                     {"Hello, somebody comes at once.", "We are back at nine."} <= set(texts))
        page = self.setting("appearance", "Appearance")
        sites = page.get_by_label("Allowed sites")
        sites.fill("https://shop.example.com\nnot a site")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("“not” is not a site address. Start with https://.")).to_be_visible()
        self.promise("an invalid site is named, and the input remains",
                     sites.input_value() == "https://shop.example.com\nnot a site")
        page.get_by_role("button", name="Discard").click()

    def doubles(self) -> None:
        """A duplicate is refused by the gateway, under its field."""
        page = self.setting("replies", "Canned replies")
        for turn in (1, 2):
            self.make("replies", "New reply")
            page.get_by_role("textbox", name="Shortcut").fill("hello")
            page.get_by_role("textbox", name="Text").fill(f"Hello {turn}")
            if turn == 1:
                self.save(page)
        page.get_by_role("button", name="Save", exact=True).click()
        problem = page.locator(".editor .error:visible, .editor .trouble:visible").first
        expect(problem).to_be_visible()
        self.shot(page, "settings-double")
        self.promise(f"a duplicate shortcut is refused with a sentence: {problem.inner_text()}",
                     page.get_by_role("textbox", name="Text").input_value() == "Hello 2"
                     and page.locator(".editor .error:visible").count() == 1)
        page.get_by_role("button", name="Cancel").click()
        self.setting("members", "Members")
        self.make("members", "Invite a member")
        page.get_by_label("Name", exact=True).fill("Mika again")
        page.get_by_label("Email").fill("demo@example.com")
        page.get_by_role("button", name="Invite", exact=True).click()
        problem = page.locator(".editor .error:visible, .editor .trouble:visible").first
        expect(problem).to_be_visible()
        self.promise(f"and so is an existing member: {problem.inner_text()}",
                     page.get_by_label("Name", exact=True).input_value() == "Mika again")
        page.get_by_role("button", name="Cancel").click()

    def away(self) -> None:
        """The network fails during a save: the page shows it, keeps the input, and saves later."""
        page = self.setting("queue", "Queue")
        capacity = page.get_by_label("Conversations per operator")
        capacity.fill("7")
        self.desk.set_offline(True)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".save")).to_contain_text("The server is not responding. Nothing is lost")
        self.shot(page, "settings-away")
        self.accessible(page, "a page that could not be saved")
        kept = capacity.input_value()
        self.desk.set_offline(False)
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.locator(".save > p")).to_have_text("Saved")
        self.promise("without a server the input remains, and is saved later",
                     kept == "7" and json.loads(self.sql("SELECT value FROM system_settings WHERE key = 'queue'"))["capacity"] == 7)
        # Each page is opened again, without the gateway's responses.
        fresh = self.page(self.desk)
        failing = re.compile(r"/api/v1/admin/")
        fresh.goto(f"{self.base}/console#/analytics")
        expect(fresh.locator(".tiles")).to_be_visible()
        fresh.route(failing, lambda route: route.abort("internetdisconnected"))
        said = []
        for name in SETTINGS:
            self.go(f"settings/{name}", fresh)
            if name == "account":  # which asks for nothing
                continue
            title = fresh.locator(f'.settings-nav a[href="#/settings/{name}"] span').first.inner_text()
            failed = fresh.locator(f'.set main[aria-label="{title}"]')
            expect(failed.get_by_role("button", name="Try again")).to_be_visible()
            said.append(failed.inner_text())
        self.shot(fresh, "settings-failed")
        self.accessible(fresh, "a page that could not be loaded")
        words = [text for text in said if "The server is not responding" in text]
        self.go("settings/audit", fresh)
        again = fresh.get_by_role("button", name="Try again")
        expect(again).to_be_visible()
        fresh.unroute(failing)
        again.click()
        expect(fresh.get_by_role("table")).to_be_visible()
        self.promise("each page shows that the server does not respond, and retries", len(words) == len(SETTINGS) - 1)
        fresh.close()

    def account(self) -> None:
        page = self.setting("account", "Your account")
        new = "a sentence that is long enough"
        page.get_by_label("Current password").fill("not it")
        for label in ("New password", "Repeat new password"):
            page.get_by_label(label, exact=True).fill(new)
        page.get_by_role("button", name="Change password").click()
        problem = page.locator(".error:visible, .trouble:visible").first
        expect(problem).to_be_visible()
        self.shot(page, "settings-account-refused")
        self.promise(f"a wrong password is reported at its field: {problem.inner_text()}",
                     page.locator(".field", has=page.get_by_label("Current password")).locator(".error:visible").count() == 1
                     and page.get_by_label("New password", exact=True).input_value() == new)
        own = page.evaluate("document.body.dataset.password")
        page.get_by_label("Current password").fill(own)
        page.get_by_role("button", name="Change password").click()
        expect(page.get_by_text("Password changed. Your other devices are logged out.")).to_be_visible()
        page.get_by_role("button", name="Log out").click()
        page.get_by_label("Password", exact=True).fill(new)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Your account")).to_be_visible()
        self.promise("operators can change their own password and log in with the new one")

    def pictures(self) -> None:
        """Analytics and webhooks in each width, light and dark, and from right to left."""
        page = self.admin
        for scheme, width, direction in (
            ("light", 1440, "ltr"), ("dark", 1200, "ltr"), ("light", 800, "rtl"), ("dark", 390, "ltr"), ("light", 390, "rtl"),
        ):
            page.set_viewport_size({"width": width, "height": 900 if width > 400 else 844})
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            page.evaluate("(direction) => { document.documentElement.dir = direction; }", direction)
            found = []
            for name in ("analytics/90", *(f"settings/{name}" for name in SETTINGS)):
                self.go(name)
                expect(page.locator("main:visible").first).to_be_visible()
                if name.startswith("analytics"):
                    expect(page.locator(".tiles")).to_be_visible()
                elif width != 800 and name != "settings/webhooks":
                    continue  # pages_test.py has looked at these from left to right
                found += self.axe_findings(page)
                if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    found.append(f"{name} is wider than the screen")
                self.shot(page, f"admin-{name.replace('/', '-')}-{scheme}-{width}-{direction}")
            self.promise("\n      ".join(
                [f"axe finds nothing, {scheme}, {width} px, {direction}", *found]), not found)


if __name__ == "__main__":
    sys.exit(begin(AdminRun, __doc__, "admin", ("--database", "--psql", "--chirrup", "--taken", "--receiver")))
