"""Operators see who is on the site, begin conversations with them, and rules show messages by themselves.

Started by visitors.sh. Pages are made here and have an origin of their own; nothing is sent by hand except SQL for the
settings.
"""

import json
import re
import sys
import time

from browser_test import Console, Widget, foreign_server
from playwright.sync_api import Locator, Page, expect
from widget_test import WidgetRun, main
from widget_texts import EN

SIZES = ((390, 844), (900, 900), (1180, 860), (1440, 900))
#: A page that is long enough to be scrolled, with a router.
SHOP = "<main><h1>A shop</h1><div style='height:4000px'>Bikes</div></main>"
GO = """([path, title]) => { history.pushState({}, '', path); document.title = title; }"""
VISIT = "/api/v1/widget/visit"


class VisitorsRun(WidgetRun):
    def run(self) -> None:
        self.begin()
        self.parts(("quiet", "followed", "joined", "seen", "started", "spoken", "conditioned"))

    def begin(self) -> None:
        first = self.page(self.context())
        demo = first.request.get(f"{self.options.base_url}/demo").text()
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        self.config = f"{self.options.base_url}/api/v1/widget/config?workspace={self.key}"
        self.first = first

    def parts(self, names: tuple[str, ...]) -> None:
        for name in names:
            if not self.options.only or name in self.options.only.split(","):
                getattr(self, name)()

    def watch_visitors(self, enabled: bool) -> None:
        self.set(self.first, watching={"enabled": enabled})
        time.sleep(2.1)  # SettingsCache.secondsMax: the gateway may answer by the old one until then

    def host(self, context=None, attributes="data-watch", path="/", script="") -> tuple[Widget, list[str]]:
        """A page of a shop, and the requests that it sends to the gateway."""
        page = self.page(context or self.context())
        if script:
            page.add_init_script(script)
        requests: list[str] = []
        page.on("request", lambda it: requests.append(it.url) if it.url.startswith(self.options.base_url) else None)
        server = foreign_server(
            "<!doctype html><html lang=en><title>A shop</title><link rel=icon href=data:,><body>" + SHOP +
            f"<script src={self.options.base_url}/widget.js data-workspace={self.key} {attributes}></script>",
            "object-src 'none'")
        page.on("close", lambda _: server.shutdown())
        widget = Widget(page, f"http://127.0.0.1:{server.server_port}", path)
        self.base = f"http://127.0.0.1:{server.server_port}"
        return widget, requests

    def beacons(self, requests: list[str]) -> int:
        return sum(VISIT in it for it in requests)

    def console(self) -> Console:
        desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        desk.login()
        desk.page.get_by_role("link", name="Visitors").first.click()
        expect(desk.page.get_by_role("heading", name="Visitors", exact=True)).to_be_visible()
        return desk

    def shots(self, page: Page, name: str) -> None:
        if not self.options.shots:
            return
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width, height in SIZES:
                page.set_viewport_size({"width": width, "height": height})
                self.shot(page, f"{name}-{scheme}-{width}")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1440, "height": 900})

    # MARK: what a page sends

    def quiet(self) -> None:
        self.watch_visitors(False)
        _, plain = self.host(attributes="")
        objecting, objected = self.host(
            script="Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { value: true })")
        off, asked = self.host()
        off.page.wait_for_timeout(3_000)
        off.page.evaluate(GO, ["/cart", "Cart"])
        off.page.wait_for_timeout(1_000)
        self.promise("a page without data-watch loads the launcher and nothing else", len(plain) == 1)
        self.promise("a browser that objects sends nothing", len(objected) == 1)
        self.promise(
            f"while the workspace does not watch, a page asks once: {asked}",
            self.beacons(asked) == 1 and len(asked) == 3)
        desk = self.console()
        expect(desk.page.get_by_text("You do not see who is on your site yet")).to_be_visible()
        self.shots(desk.page, "visitors-off")
        self.promise("the console says how to turn it on")
        for page in (desk.page, off.page, objecting.page):
            page.close()

    # MARK: the list

    def seen(self) -> None:
        self.watch_visitors(True)
        desk = self.console()
        rows = desk.page.locator(".vis-row")
        expect(desk.page.get_by_text("Nobody is on your site now")).to_be_visible()
        self.shots(desk.page, "visitors-none")
        shopper = self.context()
        widget, requests = self.host(shopper, path="/?utm_source=letter&utm_campaign=spring&secret=1")
        begin = time.monotonic()
        expect(rows).to_have_count(1)
        expect(rows.first).to_contain_text("A shop")
        self.promise(f"a visitor is in the list {time.monotonic() - begin:.1f} s after opening the page")
        expect(rows.first).to_contain_text("GB")
        expect(rows.first).to_contain_text("letter / spring")
        self.promise("with country and campaign, and without the query of the address",
                     "secret" not in self.sql("SELECT visit::text FROM watched_visitors"))
        begin = time.monotonic()
        widget.page.evaluate(GO, ["/brakes/hose", "Brake hose"])
        expect(rows.first).to_contain_text("Brake hose")
        self.promise(f"a navigation within the page is there after {time.monotonic() - begin:.1f} s")
        sent = self.beacons(requests)
        other = self.page(shopper)
        other.goto(widget.page.url)
        other.wait_for_timeout(5_000)
        expect(rows).to_have_count(1)
        self.promise("two tabs of a browser are one visitor")
        other.close()
        desk.page.wait_for_timeout(5_000)
        expect(rows).to_have_count(1)
        self.promise("one closed tab of two takes nobody away")
        rows.first.click()
        detail = desk.page.get_by_role("complementary", name="Visitor")
        expect(detail.locator(".vis-trail li").first).to_contain_text("/brakes/hose")
        expect(detail.locator(".vis-trail li").last).to_contain_text("A shop")
        self.shots(desk.page, "visitors-list")
        self.accessible(desk.page, "the visitors")
        self.promise(
            f"the page has opened no socket, and sends a heartbeat every 10 s: {self.beacons(requests) - sent}",
            not widget.sockets and self.beacons(requests) - sent <= 4)
        steps = detail.locator(".vis-trail li")
        widget.page.evaluate("""() => {
          addEventListener('popstate', () => { document.title = 'A shop'; });
          history.replaceState({}, '', '/brakes/pads');
          document.title = 'Brake pads';
        }""")
        expect(steps.first).to_contain_text("Brake pads")
        widget.page.go_back()
        expect(steps).to_have_count(4)
        trail = steps.locator("[dir=ltr]").all_inner_texts()
        self.promise(f"the trail has pushState, replaceState and the way back: {trail}",
                     trail == ["/", "/brakes/pads", "/brakes/hose", "/"])
        begin = time.monotonic()
        widget.page.close()
        expect(rows).to_have_count(0)
        self.promise(f"a visitor who leaves is gone after {time.monotonic() - begin:.1f} s")
        desk.page.close()

    # MARK: the page of a conversation

    def thread(self, session: str) -> Console:
        desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        desk.login()
        desk.page.goto(f"{self.options.base_url}/console#{session}")
        expect(desk.theirs.first).to_be_visible()
        return desk

    def followed(self) -> None:
        """A conversation has its page without any watching, and without another token."""
        self.watch_visitors(False)
        widget, requests = self.host(attributes="", path="/?secret=1")
        widget.open()
        widget.say("Where is my hose?")
        widget.committed()
        session = self.session(widget.page)
        desk = self.thread(session)
        card = desk.page.get_by_role("complementary", name="Visitor")
        place = desk.page.locator(".thread .bar .meta").first
        row = desk.page.locator(f".row[data-id='{session}'] b")
        pages = card.locator("section", has_text="Pages, the newest first").locator("dd")
        expect(card).to_contain_text("United Kingdom")
        self.promise("the card of a visitor has the country")
        requests.clear()
        begin = time.monotonic()
        widget.page.evaluate(GO, ["/brakes/hose?secret=2", "Brake hose"])
        expect(place).to_contain_text("/brakes/hose")
        expect(row).to_contain_text("/brakes/hose")
        took = time.monotonic() - begin
        expect(pages).to_have_text(["Brake hose", "A shop"])
        self.promise(f"a navigation within the page is in list and thread after {took:.1f} s, and in the trail", took < 8)
        widget.page.goto(f"{self.base}/pads")
        expect(place).to_contain_text("/pads")
        expect(pages).to_have_text(["A shop", "Brake hose", "A shop"])
        self.promise("so is another page", not any(it.endswith("/widget/token") for it in requests))
        expect(desk.page.locator(".log")).to_contain_text(re.compile(r"Started on \S+:\d+/ ·"))
        requests.clear()
        for number in range(30):
            widget.page.evaluate(GO, [f"/quick/{number}", f"Quick {number}"])
            widget.page.wait_for_timeout(100)
        expect(place).to_contain_text("/quick/29")
        sent = sum(it.endswith("/widget/page") for it in requests)
        self.promise(f"30 navigations within 3 s are {sent} requests, and the last one counts", sent <= 3)
        context = self.sql(f"SELECT context::text FROM chat_sessions WHERE id = '{session}'")
        self.promise("no query of an address is stored", "secret" not in context)
        self.shots(desk.page, "visitors-thread")
        self.accessible(desk.page, "a thread with the trail")
        widget.page.context.close()
        desk.page.context.close()
        widget, requests = self.host(
            attributes="", script="Object.defineProperty(Navigator.prototype, 'globalPrivacyControl', { value: true })")
        widget.open()
        widget.say("Hello")
        widget.committed()
        widget.page.evaluate(GO, ["/brakes", "Brakes"])
        widget.page.wait_for_timeout(5_000)
        self.promise("a browser that objects sends no page", not any(it.endswith("/widget/page") for it in requests))
        widget.page.context.close()

    def joined(self) -> None:
        """Where a site watches its visitors, the trail of a conversation begins with the visit before it."""
        self.watch_visitors(True)
        widget, requests = self.host()
        while not self.beacons(requests):  # before it, the page is not followed
            widget.page.wait_for_timeout(100)
        seen = "SELECT count(*) FROM watched_visitors WHERE visit::text LIKE '%Brake hose%'"
        widget.page.evaluate(GO, ["/brakes/hose", "Brake hose"])
        limit = time.monotonic() + 30
        while self.sql(seen) != "1" and time.monotonic() < limit:
            time.sleep(0.2)
        widget.open()
        widget.say("Does it fit?")
        widget.committed()
        desk = self.thread(self.session(widget.page))
        pages = desk.page.get_by_role("complementary", name="Visitor").locator(
            "section", has_text="Pages, the newest first").locator("dd")
        widget.page.evaluate(GO, ["/cart", "Cart"])
        expect(pages).to_have_text(["Cart", "Brake hose", "A shop"])
        self.promise("the trail of a conversation begins with the visit before it")
        widget.page.context.close()
        desk.page.context.close()
        self.watch_visitors(False)

    # MARK: the operator speaks first

    def started(self) -> None:
        self.watch_visitors(True)
        desk = self.console()
        widget, requests = self.host()
        rows = desk.page.locator(".vis-row")
        rows.first.click()
        detail = desk.page.get_by_role("complementary", name="Visitor")
        detail.get_by_label("First message").fill("Can I help you with the brakes?")
        detail.get_by_role("button", name="Start a conversation").click()
        expect(desk.own.last).to_contain_text("Can I help you with the brakes?")
        self.promise("the operator is in the conversation", not widget.sockets)
        begin = time.monotonic()
        teaser = widget.page.locator("chirrup-chat .teaser")
        expect(teaser).to_contain_text("Can I help you with the brakes?")
        expect(widget.launcher.locator(".count")).to_have_text("1")
        self.shot(widget.page, "visitors-invited")
        self.promise(f"the visitor sees the message {time.monotonic() - begin:.1f} s later, within a heartbeat")
        teaser.click()
        expect(widget.theirs).to_have_text(["Can I help you with the brakes?"])
        widget.say("Yes, the hose.")
        expect(desk.theirs.last).to_have_text("Yes, the hose.")
        self.promise("and answers in the same conversation")
        desk.page.get_by_role("link", name="Visitors").first.click()
        expect(rows.first).to_contain_text("In a conversation with You")
        self.promise("the list says that the visitor is in a conversation")
        widget.page.close()
        desk.page.close()

    # MARK: rules

    def rule(self, name: str, body: str, **conditions) -> None:
        answer = self.first.request.post(
            f"{self.options.base_url}/api/v1/admin/proactive-messages",
            headers={"authorization": f"Bearer {self.options.operator_token}"},
            data={"name": name, "body": body, "sender_name": "Mika", "is_enabled": True, "conditions": conditions})
        if not answer.ok:
            self.promise(f"a rule is added: {answer.text()}", False)

    def spoken(self) -> None:
        self.watch_visitors(True)
        self.rule("Pricing", "A question about the price?", path="/pricing*", seconds=1)
        self.rule("Scroll", "Did you find it?", path="/long", scroll_percent=80)
        self.rule("Trial", "Your trial ends soon.", path="/account", attributes={"plan": "trial", "seats": "3"})
        self.rule("Return", "Welcome back.", path="/", audience="returning")
        time.sleep(5)  # WatchedVisitors.placeSeconds
        shopper = self.context()
        widget, requests = self.host(shopper)
        teaser = widget.page.locator("chirrup-chat .teaser")
        widget.page.wait_for_timeout(2_500)
        expect(teaser).to_be_hidden()
        self.promise("no rule of another page, or for returning visitors, speaks")
        widget.page.evaluate(GO, ["/long", "Long"])
        widget.page.wait_for_timeout(2_000)
        expect(teaser).to_be_hidden()
        widget.page.mouse.wheel(0, 9_000)
        expect(teaser).to_contain_text("Did you find it?")
        expect(widget.launcher.locator(".count")).to_have_text("1")
        self.shot(widget.page, "visitors-proactive")
        self.promise("a rule by scrolling speaks, without a socket", not widget.sockets)
        widget.page.reload()
        widget.page.evaluate(GO, ["/long", "Long"])
        widget.page.mouse.wheel(0, 9_000)
        widget.page.wait_for_timeout(3_000)
        expect(teaser).to_be_hidden()
        self.promise("once a visitor")
        widget.page.evaluate("""(key) => {
          localStorage[key] = JSON.stringify({ ...JSON.parse(localStorage[key]), shown: [] });
        }""", f"chirrup:{self.key}:visit")
        with widget.page.expect_response(lambda it: VISIT in it.url and "may_show" in it.text()) as asked:
            widget.page.reload()
            widget.page.mouse.wheel(0, 9_000)
        widget.page.wait_for_timeout(1_500)
        expect(teaser).to_be_hidden()
        self.promise("also if the browser has forgotten it: the gateway refuses",
                     asked.value.json()["may_show"] is False
                     and self.sql("SELECT count(*) FROM proactive_showings") == "1")
        widget.page.evaluate(GO, ["/account", "Account"])
        widget.page.evaluate("chirrup.setAttributes({ plan: 'pro', seats: 3 })")
        widget.page.wait_for_timeout(2_500)
        expect(teaser).to_be_hidden()
        widget.page.evaluate("chirrup.setAttributes({ plan: 'trial' })")
        expect(teaser).to_contain_text("Your trial ends soon.")
        self.promise("a rule by attributes speaks when the page sets them")
        widget.page.reload()
        begin = time.monotonic()
        widget.page.evaluate(GO, ["/pricing/bikes", "Prices"])
        expect(teaser).to_contain_text("A question about the price?")
        self.promise(f"a rule by time speaks after {time.monotonic() - begin:.1f} s of one")
        teaser.click()
        expect(widget.panel).to_contain_text("A question about the price?")
        expect(widget.launcher.locator(".count")).to_be_hidden()
        widget.say("Yes, for the blue one.")
        expect(widget.theirs.first).to_have_text("A question about the price?")
        entries = self.sql(
            "SELECT string_agg(content, ' | ' ORDER BY seq) FROM chats WHERE session_id = "
            "(SELECT session_id FROM chats WHERE content LIKE 'Yes, for the blue%')")
        self.promise(f"the conversation begins with the message, then the reply: {entries}",
                     entries.startswith("A question about the price? | Yes, for the blue one."))
        expect(widget.panel.get_by_text("A question about the price?")).to_have_count(1)
        limit = time.monotonic() + 15
        counts = ""
        while counts != "1 1" and time.monotonic() < limit:
            counts = self.sql("SELECT shown || ' ' || answered FROM proactive_messages WHERE name = 'Pricing'")
            time.sleep(0.5)
        self.promise(f"the message is counted as shown and answered: {counts}", counts == "1 1")
        widget.page.close()
        desk = self.console()
        desk.page.goto(f"{self.options.base_url}/console#/settings/proactive")
        expect(desk.page.get_by_text("1 shown, 1 answered")).to_be_visible()
        self.shots(desk.page, "proactive-list")
        desk.page.get_by_role("link", name="Pricing").click()
        expect(desk.page.get_by_role("textbox", name="Message", exact=True)).to_have_value("A question about the price?")
        self.shots(desk.page, "proactive-rule")
        self.accessible(desk.page, "the proactive messages")
        desk.page.goto(f"{self.options.base_url}/console#/settings/visitors")
        expect(desk.page.get_by_text("Show who is on the site")).to_be_visible()
        self.shots(desk.page, "visitors-settings")
        self.promise("the console lists the rules with their counts")
        desk.page.close()

    def teaser(self, path: str, context=None) -> Locator:
        """The message beside the launcher on a page that is opened now."""
        widget, _ = self.host(context, path=path)
        return widget.page.locator("chirrup-chat .teaser")

    def conditioned(self) -> None:
        """Rules by hours, by operators, and for visitors who return."""
        self.watch_visitors(True)
        self.rule("Open", "We are open.", path="/open", when_open=True)
        self.rule("Staffed", "Somebody is here.", path="/staffed", when_available=True)
        self.rule("First", "Nice to meet you.", path="/first", audience="new")
        self.rule("Again", "Welcome back.", path="/again", audience="returning")
        self.set(self.first, lambda it: not it["hours"]["is_open"], hours={"always": False, "days": []})
        until = time.monotonic() + 120  # the operators of the parts before are there for a while
        while self.first.request.get(self.config).json()["operators_available"]:
            if time.monotonic() > until:
                self.promise("no operator is there any more", False)
            time.sleep(0.5)
        time.sleep(5)  # WatchedVisitors.placeSeconds
        shopper = self.context()
        silent = [self.teaser("/open"), self.teaser("/staffed"), self.teaser("/again", shopper)]
        silent[0].page.wait_for_timeout(2_500)
        for teaser in silent:
            expect(teaser).to_be_hidden()
        self.promise("outside hours, without an operator and on a first visit these rules are silent")
        self.set(self.first, lambda it: it["hours"]["is_open"], hours={"always": True})
        desk = self.console()
        time.sleep(5)
        expect(self.teaser("/open")).to_contain_text("We are open.")
        expect(self.teaser("/staffed")).to_contain_text("Somebody is here.")
        expect(self.teaser("/first")).to_contain_text("Nice to meet you.")
        self.promise("within hours, with an operator and on a first visit they speak")
        desk.page.close()
        silent[2].page.evaluate("""(key) => {
          const visit = JSON.parse(localStorage[key]);
          localStorage[key] = JSON.stringify({ ...visit, last: Date.now() - 3_600_000 });
        }""", f"chirrup:{self.key}:visit")
        silent[2].page.reload()
        expect(silent[2]).to_contain_text("Welcome back.")
        silent[2].page.evaluate(GO, ["/first", "First"])
        silent[2].page.wait_for_timeout(2_500)
        expect(silent[2]).not_to_contain_text("Nice to meet you.")
        self.promise("an hour later the browser is a returning one")
        for teaser in silent:
            teaser.page.close()


if __name__ == "__main__":
    sys.exit(main(VisitorsRun, "visitors"))
