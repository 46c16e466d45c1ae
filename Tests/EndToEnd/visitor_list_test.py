"""The console's list of who is on the site: filters with counts, order, keyboard, phone, and pages that mean harm.

Started by visitor_list.sh. The visitors are beacons as the widget sends them, with the headers of different browsers.
"""

import json
import sys
import threading
import time
import urllib.request

from playwright.sync_api import Locator, expect
from visitors_test import VISIT, VisitorsRun
from widget_test import main

#: number, page, title, seconds on the site, visits, referrer, campaign, language
VISITORS = [
    (1, "/cart", "Your basket", 700, 1, "https://search.example/?q=bikes", "", "de-DE"),
    (2, "/repair/book", "Book a workshop slot", 245, 5, "", "Newsletter", "nl-NL"),
    (3, "/brakes/hydraulic/hose-kits", "Hydraulic hose kits", 1_102, 4, "https://search.example/", "", "fr-FR"),
    (4, "/cart", "Your basket", 40, 1, "", "", "de-AT"),
    (5, "/bikes/kids-20", "دراجات الأطفال", 312, 1, "", "", "ar-MA"),
    (6, "/saddles/touring", "ツーリングサドル", 67, 2, "https://gravelnotes.example/long/way", "", "ja-JP"),
    (7, "/", "Home", 20, 1, "", "", "en"),
]


class VisitorListRun(VisitorsRun):
    PARTS = ("narrowed", "held", "keyboard", "phone", "harmless", "taken", "full")

    def run(self) -> None:
        self.begin()
        self.watch_visitors(True)
        for number, page, title, seconds, visits, referrer, campaign, language in VISITORS:
            self.come(number, language, age=seconds, visits=visits, referrer=referrer, campaign=campaign,
                      trail=[{"page": "https://shop.example/", "title": "Home", "age": seconds},
                             {"page": f"https://shop.example{page}", "title": title, "age": min(seconds, 65)}])
        self.beacon(7, state="away")
        threading.Thread(target=self.stay, daemon=True).start()
        self.desk = self.console()
        self.list_page = self.desk.page
        self.rows = self.list_page.locator(".vis-row")
        expect(self.rows).to_have_count(len(VISITORS))
        self.parts(self.PARTS)

    # MARK: helpers

    def beacon(self, number: int, language: str = "en", **members) -> None:
        body = {"workspace": self.key, "secret": f"browser-number-{number:08}", "tab": "a", "state": "here", **members}
        request = urllib.request.Request(self.options.base_url + VISIT, json.dumps(body).encode(), {
            "Content-Type": "text/plain", "Accept-Language": language, "Origin": self.options.base_url})
        # A refusal is an exception.
        urllib.request.urlopen(request).close()

    def stay(self) -> None:
        """The heartbeats of those who look at a page."""
        while True:
            time.sleep(8)
            for number, *_ in VISITORS[:-1]:
                self.beacon(number)

    def come(self, number: int, language: str, **visit) -> None:
        self.beacon(number, language, visit=visit)

    def pick(self, name: str) -> Locator:
        return self.list_page.get_by_role("combobox", name=name)

    def options_of(self, name: str) -> list[str]:
        return self.pick(name).locator("option").all_inner_texts()

    def titles(self) -> list[str]:
        return self.list_page.locator(".vis-row .vis-on > :first-child").all_inner_texts()

    # MARK: parts

    def narrowed(self) -> None:
        page = self.list_page
        self.shots(page, "list-all")
        self.accessible(page, "the list of visitors")
        first = self.titles()[0]
        self.promise(f"nobody waits, so the longest on the site stands first: {first}", first == "Hydraulic hose kits")
        tabs = page.get_by_role("group", name="State").get_by_role("button").all_inner_texts()
        self.promise(f"the states have counts: {tabs}",
                     [" ".join(it.split()) for it in tabs]
                     == ["Everyone 7", "Waiting 0", "In a conversation 0", "Browsing 6", "Away 1"])
        pages = self.options_of("Page")
        self.promise(f"so have the pages: {pages}", pages[:2] == ["any", "/cart (2)"] and len(pages) == 7)
        sources = self.options_of("Came from")
        self.promise(f"and the sources: {sources}", sources == [
            "anywhere", "Direct (3)", "search.example (2)", "Newsletter (1)", "gravelnotes.example (1)"])
        self.pick("Page").select_option("/cart")
        expect(self.rows).to_have_count(2)
        countries = self.options_of("Country")
        self.promise(f"a filter narrows the list, and the counts of the others: {countries}",
                     countries == ["any", "Austria (1)", "Germany (1)"])
        self.pick("Country").select_option("AT")
        expect(self.rows).to_have_count(1)
        self.shots(page, "list-filtered")
        page.get_by_role("button", name="Clear filters").click()
        expect(self.rows).to_have_count(7)
        self.pick("Visit").select_option("returning")
        expect(self.rows).to_have_count(3)
        self.pick("On site").select_option("300")
        expect(self.rows).to_have_count(1)
        self.promise("returning visitors, and those who are there for some minutes")
        page.get_by_role("button", name="Waiting").click()
        expect(page.get_by_text("Nobody matches")).to_be_visible()
        self.shots(page, "list-nobody")
        page.get_by_role("button", name="Show everyone").click()
        expect(self.rows).to_have_count(7)
        self.promise("a list without anybody offers the way back to everyone")
        self.pick("Order").select_option("newest")
        expect(self.rows.first).to_contain_text("Home")
        self.pick("Order").select_option("waiting")
        expect(self.rows.first).to_contain_text("Hydraulic hose kits")
        page.get_by_role("searchbox").fill("basket")
        expect(self.rows).to_have_count(2)
        page.get_by_role("searchbox").fill("")
        expect(self.rows).to_have_count(7)
        clock = self.rows.first.locator("time").first
        before = clock.inner_text()
        expect(clock).not_to_have_text(before)
        self.promise(f"the time on the page runs: {before}, then {clock.inner_text()}")

    def held(self) -> None:
        """A newcomer would stand first, but rows do not move under the pointer."""
        page = self.list_page
        before = self.titles()
        self.rows.nth(2).hover()
        self.come(8, "en", age=5_000, trail=[{"page": "https://shop.example/new", "title": "Newcomer", "age": 5}])
        expect(self.rows).to_have_count(8)
        held = self.titles()
        self.promise("rows keep their places under the pointer", held == [*before, "Newcomer"])
        page.mouse.move(720, 20)
        expect(self.rows.first).to_contain_text("Newcomer")
        self.promise("and take their places when it has left")
        self.beacon(8, state="gone")
        expect(self.rows).to_have_count(7)

    def keyboard(self) -> None:
        page = self.list_page
        self.pick("Page").focus()
        page.keyboard.press("ArrowDown")
        expect(self.rows).to_have_count(2)
        page.keyboard.press("ArrowUp")
        expect(self.rows).to_have_count(7)
        self.rows.first.focus()
        page.keyboard.press("ArrowDown")
        expect(self.rows.nth(1)).to_be_focused()
        name = self.rows.nth(1).evaluate("it => it.innerText.replace(/\\s+/g, ' ')")
        self.promise(f"a row says who, where, state and times: {name}",
                     all(word in name for word in ("Your basket", "/cart", "Browsing", "on page", "on site", "pages", "New")))
        page.keyboard.press("Enter")
        detail = page.get_by_role("complementary", name="Visitor")
        expect(detail.get_by_role("heading", name="Pages, the newest first")).to_be_visible()
        expect(detail.locator(".vis-trail li")).to_have_count(2)
        expect(detail.locator(".vis-trail li").first).to_contain_text("so far")
        self.shots(page, "list-chosen")
        self.accessible(page, "a chosen visitor")
        detail.get_by_label("First message").focus()
        page.keyboard.press("Escape")
        expect(detail).to_be_hidden()
        expect(self.rows.nth(1)).to_be_focused()
        self.promise("filters, rows, the visitor and the way back work by keyboard")

    def phone(self) -> None:
        page = self.list_page
        page.set_viewport_size({"width": 390, "height": 844})
        wide = page.evaluate("document.documentElement.scrollWidth")
        self.promise(f"on a phone nothing is wider than the screen: {wide}", wide <= 390)
        self.accessible(page, "the list on a phone")
        self.rows.nth(1).click()
        button = page.get_by_role("button", name="Start a conversation")
        expect(button).to_be_in_viewport(ratio=1)
        box = button.bounding_box()
        self.promise(f"the button is within reach of the thumb: {box}",
                     box is not None and box["y"] > 600 and box["height"] >= 44)
        expect(page.get_by_role("heading", level=2)).to_be_focused()
        self.accessible(page, "a visitor on a phone")
        page.get_by_role("link", name="Close").click()
        expect(self.rows.nth(1)).to_be_focused()
        page.set_viewport_size({"width": 1440, "height": 900})

    def harmless(self) -> None:
        """Addresses and titles are text, whatever they contain."""
        page = self.list_page
        page.get_by_role("searchbox").focus()
        self.come(9, "en", age=9_000, referrer="javascript:alert(1)", trail=[
            {"page": "javascript:alert(2)", "title": "<img src=x onerror=alert(3)>", "age": 9},
            {"page": "https://shop.example/‮gnp.exe", "title": "‮gnp.exe‬ ⁦" + "W" * 7_000, "age": 8}])
        expect(self.rows.first).to_contain_text("gnp.exe")
        self.rows.first.click()
        detail = page.get_by_role("complementary", name="Visitor")
        expect(detail.locator(".vis-trail li").last).to_contain_text("<img src=x onerror=alert(3)>")
        links = page.locator(".vis a").evaluate_all("all => all.map((it) => it.getAttribute('href'))")
        others = [it for it in links if not it.startswith("#")]
        self.promise(f"no address of a visitor becomes a link: {others}", links and not others)
        controls = page.locator(".vis").evaluate("it => /[\\u202a-\\u202e\\u2066-\\u2069]/.test(it.textContent)")
        wide = page.evaluate("document.documentElement.scrollWidth")
        self.promise(f"no text turns the direction of another one, or widens the page: {wide}",
                     not controls and wide <= 1440)
        self.shots(page, "list-hostile")
        page.keyboard.press("Escape")
        self.beacon(9, state="gone")
        expect(self.rows).to_have_count(7)

    def taken(self) -> None:
        """A conversation begins while the operator still writes the first words."""
        page = self.list_page
        page.get_by_role("searchbox").focus()
        self.rows.filter(has_text="/saddles/touring").click()
        detail = page.get_by_role("complementary", name="Visitor")
        draft = detail.get_by_label("First message")
        draft.fill("Hello, a question?")
        answer = self.first.request.post(
            f"{self.options.base_url}/api/v1/admin/live-chat/visitors/{page.url.rpartition('/')[2]}/conversation",
            headers={"authorization": f"Bearer {self.options.operator_token}"}, data={"body": "Can I help you?"})
        expect(detail.get_by_role("alert")).to_contain_text("was first. Your message was not sent.")
        expect(draft).to_have_value("Hello, a question?")
        expect(draft).not_to_be_editable()
        expect(detail.get_by_role("button", name="Start a conversation")).to_be_hidden()
        expect(detail.get_by_role("link", name="Open the conversation")).to_be_visible()
        expect(self.rows.filter(has_text="/saddles/touring")).to_contain_text("In a conversation with You")
        self.shots(page, "list-taken")
        self.promise("who was slower keeps the draft and a way to the conversation", answer.ok)
        page.get_by_role("link", name="Close").click()
        expect(detail).to_be_hidden()

    def full(self) -> None:
        page = self.list_page
        # As another gateway stores them.
        self.sql("""INSERT INTO gateways (id, seen_at) VALUES ('00000000-0000-4000-8000-000000000001', now() + '1 day');
            INSERT INTO watched_visitors (workspace_id, watcher, gateway_id, secret_hash, state, visit)
            SELECT workspace_id, gen_random_uuid(), '00000000-0000-4000-8000-000000000001', secret_hash, state, visit
            FROM (SELECT * FROM watched_visitors LIMIT 1) AS one, generate_series(1, 14100)""")
        expect(page.get_by_text("more visitors than a gateway keeps")).to_be_attached(timeout=20_000)
        expect(self.rows).to_have_count(500)
        page.locator(".vis-more").scroll_into_view_if_needed()
        self.shots(page, "list-full")
        count = page.get_by_role("status").filter(has_text="on your site now").inner_text()
        self.promise(f"a full list says so: {count}", "14,107" in count)


if __name__ == "__main__":
    sys.exit(main(VisitorListRun, "visitor-list"))
