"""The day of a small shop: two operators and three visitors, each in a browser of their own.

Started by day.sh, with the setup link of an empty gateway. After each step all five views are compared with the log in
the database: no message is missing, doubled or out of order, and lists and states say the same. Noor and Ben use the
keyboard only. Waits of hours and minutes are written by SQL; everything else is what people do.
"""

import re
import sys
import time

from browser_test import Console, begin, foreign_server
from day_views import DayViews, Shop
from playwright.sync_api import Page, expect
from widget_texts import EN, texts_of

DE = texts_of("de")
PASSWORD = "a sentence of my own"
POLICY = "default-src * 'unsafe-inline' data: blob:"
#: The gateway looks for absent operators every two seconds, and takes up settings as often.
PATIENCE = 40_000


class DayRun(DayViews):
    def run(self) -> None:
        self.desks: dict[str, Console] = {}
        self.shops: dict[str, Shop] = {}
        self.setup()
        self.second_operator()
        self.prepare()
        self.morning()
        self.claims()
        self.replies()
        self.transfer()
        self.lost_network()
        self.vanished()
        self.bulk()
        self.closing()
        self.evening()
        self.next_morning()

    # The day

    def rest(self, method: str, path: str, body=None):
        answer = self.mara.page.evaluate(
            "async ([method, path, body]) => { const answer = await fetch('/api/v1/admin/' + path, { method,"
            " ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }) });"
            " return [answer.status, await answer.json().catch(() => null)]; }", [method, path, body])
        if answer[0] >= 300:
            self.promise(f"{method} {path}: {answer}", False)
        return answer[1]

    def setup(self) -> None:
        page = self.page(self.context(1440, 900, permissions=["clipboard-read", "clipboard-write"]))
        page.goto(self.options.link)
        for label, value in {"Your name": "Mara", "Email": "mara@tidewater.example", "Password": PASSWORD,
                             "Workspace": "Tidewater Cycles"}.items():
            page.get_by_label(label, exact=True).fill(value)
        page.get_by_role("button", name="Create the owner").click()
        expect(page.get_by_role("heading", name="Name and colours")).to_be_visible()
        page.get_by_label("Greeting", exact=True).fill("Hello. How can we help?")
        page.get_by_role("button", name="Save and go on").click()
        expect(page.get_by_role("heading", name="When do you answer?")).to_be_visible()
        page.get_by_text("Always open").click()
        page.get_by_role("button", name="Save and go on").click()
        expect(page.get_by_role("heading", name="Put it on your site")).to_be_visible()
        snippet = page.locator("pre.code").inner_text()
        self.key = re.search('data-workspace="(pk_[^"]+)"', snippet).group(1)
        page.get_by_role("button", name="Send test").click()
        page.get_by_role("link", name="Open the conversation").click()
        expect(page.locator(".log .say.in .bubble")).to_have_text("Hello, this is a test.")
        page.get_by_role("button", name="Claim", exact=True).click()
        expect(page.get_by_text("Assigned to you", exact=True)).to_be_visible()
        page.get_by_role("button", name="Close", exact=True).click()
        expect(page.locator(".pane .chip").first).to_have_text("Closed")
        self.mara = self.desk("Mara", page)
        self.sites = {language: self.site(language, snippet) for language in ("en", "de")}
        self.config = f"{self.options.base_url}/api/v1/widget/config?workspace={self.key}"
        self.agree("the setup ends with a test message that arrives")

    def site(self, language: str, snippet: str) -> str:
        """The shop's pages of a language, on an origin of their own."""
        server = foreign_server(
            f"<!doctype html><html lang={language}><meta charset=utf-8>"
            "<meta name=viewport content='width=device-width'><title>Tidewater Cycles</title>"
            "<link rel=icon href=data:,>"
            "<style>body { margin: 40px; font: 16px/1.6 sans-serif; background: #f4f1ea; color: #222 }</style>"
            "<main><h1>Brakes that stop a loaded cargo bike</h1>"
            "<p><a href='#parts'>Parts</a> <a href='#about'>About</a></p></main>"
            f"{snippet}", POLICY)
        return f"http://127.0.0.1:{server.server_port}"

    def desk(self, name: str, page: Page) -> Console:
        desk = Console.__new__(Console)
        desk.page = page
        desk.text = page.get_by_label("Message", exact=True)
        desk.rows = page.locator(".row")
        desk.theirs = page.locator(".log .say.in .bubble")
        desk.own = page.locator(".log .say.out:not(.noted)")
        desk.chip = page.locator(".pane .chip").first
        self.desks[name] = desk
        return desk

    def second_operator(self) -> None:
        page = self.mara.page
        page.goto(f"{self.options.base_url}/console#/settings/members")
        page.get_by_role("link", name="Invite a member").click()
        page.get_by_label("Name", exact=True).fill("Noor")
        page.get_by_label("Email").fill("noor@tidewater.example")
        page.get_by_role("button", name="Invite", exact=True).click()
        expect(page.get_by_role("heading", name="Noor can log in now")).to_be_visible()
        self.pictures(page, "day-invited")
        self.accessible(page, "the new member's password")
        given = page.get_by_label("Password", exact=True).inner_text()
        page.goto(f"{self.options.base_url}/console#")
        noor = self.page(self.context(1180, 860))
        noor.goto(f"{self.options.base_url}/console")
        expect(noor.get_by_label("Email")).to_be_focused()
        noor.keyboard.type("noor@tidewater.example")
        self.tab_to(noor, noor.get_by_label("Password", exact=True))
        self.type(noor, given)
        expect(noor.get_by_role("heading", name="Choose your password")).to_be_visible()
        self.tab_to(noor, noor.get_by_label("New password", exact=True))
        noor.keyboard.type(PASSWORD)
        self.tab_to(noor, noor.get_by_label("Repeat new password"))
        self.type(noor, PASSWORD)
        expect(noor.get_by_role("heading", name="Inbox")).to_be_visible()
        self.noor = self.desk("Noor", noor)
        self.pictures(noor, "day-no-conversations")
        self.promise("the second operator is invited, and logs in with the keyboard")

    def prepare(self) -> None:
        self.rest("PUT", "reply-objects/ship", {
            "object_type": "text", "shortcut": "ship",
            "payload": {"text": "Hello {{visitor.name}}, your parcel left us today. It takes one to two days."}})
        self.rest("POST", "macros", {"name": "Solved", "is_shared": True, "actions": [
            {"type": "reply", "text": "Glad that it works."}, {"type": "add_tags", "tags": ["solved"]},
            {"type": "close"}]})
        members = {it["name"]: it["id"] for it in self.rest("GET", "members")["members"]}
        team = self.rest("POST", "teams", {"name": "Workshop", "assign": "off"})["team"]["id"]
        self.rest("PUT", f"teams/{team}/members", {"members": [members["Noor"]]})
        self.rest("PATCH", "settings", {"settings": {
            "queue": {"reassign_after_seconds": 20, "assign": "off"},
            "prechat": {"enabled": True, "fields": [
                {"key": "name", "label": "Your name", "type": "text", "required": True}]}}})

    def visitor_page(self, name: str, texts=EN, **context) -> Shop:
        shop = Shop(self.page(self.context(**context)), self.sites["de" if texts is DE else "en"], texts)
        shop.key = self.key
        self.shops[name] = shop
        return shop

    def morning(self) -> None:
        """Three visitors come and write; both operators see them wait."""
        self.ada = self.visitor_page("Ada", width=1280, height=860)
        self.ben = self.visitor_page("Ben", width=1180, height=860)
        self.jana = self.visitor_page("Jana", DE, width=390, height=844, has_touch=True, locale="de-DE")
        ada, ben, jana = self.ada, self.ben, self.jana
        ada.launcher.click()
        ada.panel.get_by_role("button", name=EN["start"]).click()
        ada.panel.get_by_label("Your name").fill("Ada Okafor")
        ada.panel.get_by_role("button", name=EN["start"]).click()
        ada.say("The hose of my new brake is 10 cm too short.")
        ada.committed()
        expect(ada.place).to_have_text("1", timeout=PATIENCE)
        self.tab_to(ben.page, ben.launcher)
        ben.page.keyboard.press("Enter")
        name = ben.panel.get_by_label("Your name")
        expect(name).to_be_visible()
        self.tab_to(ben.page, name)
        self.type(ben.page, "Ben")
        expect(ben.text).to_be_focused()
        self.type(ben.page, "Where is order 20418?")
        ben.committed()
        jana.launcher.tap()
        jana.panel.get_by_role("button", name=DE["start"]).tap()
        jana.panel.get_by_label("Your name").fill("Jana Özdemir")
        jana.panel.get_by_role("button", name=DE["start"]).tap()
        jana.say("Kann ich den Helm zurückgeben?")
        jana.committed()
        for shop, place in ((ada, "1"), (ben, "2"), (jana, "3")):
            expect(shop.head).to_have_text(shop.words["queued"])
            expect(shop.place).to_have_text(place, timeout=PATIENCE)
        self.agree("three visitors wait")
        for page in (self.mara.page, self.noor.page):
            expect(page.get_by_text("3 visitors are waiting")).to_be_visible()
        self.promise("both operators read that three visitors wait, each visitor reads the position")
        for name, page in (("mara", self.mara.page), ("noor", self.noor.page), ("ada", ada.page), ("jana", jana.page)):
            self.pictures(page, f"day-waiting-{name}")
            self.accessible(page, f"the page of {name}")

    def claims(self) -> None:
        """Mara takes the first by pointer, Noor the next by key."""
        mara, noor = self.mara, self.noor
        mara.page.get_by_role("button", name="Claim next").click()
        expect(mara.chip).to_have_text("Assigned to you")
        expect(mara.theirs).to_have_text("The hose of my new brake is 10 cm too short.")
        expect(self.ada.head).to_have_text(EN["here"].replace("{}", "Mara"))
        expect(self.ben.place).to_have_text("1", timeout=PATIENCE)
        expect(self.jana.place).to_have_text("2", timeout=PATIENCE)
        self.calm(noor.page)
        noor.page.keyboard.press("n")
        expect(noor.chip).to_have_text("Assigned to you")
        expect(noor.text).to_be_focused()
        expect(self.ben.head).to_have_text(EN["here"].replace("{}", "Noor"))
        expect(self.jana.place).to_have_text("1", timeout=PATIENCE)
        self.agree("two are claimed, one waits")

    def replies(self) -> None:
        """A canned reply, both ways, and what each sees of the other's typing."""
        noor, ben = self.noor, self.ben
        noor.page.keyboard.type("/ship")
        expect(noor.page.locator("#canned-list, .canned").get_by_role("option").first).to_be_visible()
        noor.page.keyboard.press("Enter")
        noor.page.keyboard.press("Enter")
        expect(ben.theirs.last).to_have_text("Hello Ben, your parcel left us today. It takes one to two days.")
        expect(noor.own.last.locator(".state")).to_contain_text("Read")
        ben.page.keyboard.type("Thank you. Could it", delay=40)
        expect(noor.page.locator(".bubble.preview")).to_have_text("Thank you. Could it")
        expect(noor.page.locator(".say.typing .state")).to_have_text("Ben is typing (not sent yet)")
        self.promise("a name that was given after the connection began is everywhere",
                     set(noor.page.locator(".log .say.in .avatar").all_text_contents()) == {"BE"})
        noor.page.keyboard.type("It", delay=40)
        expect(ben.panel.locator(".bubble.typing")).to_be_visible()
        self.pictures(noor.page, "day-typing-noor")
        self.pictures(ben.page, "day-typing-ben")
        self.accessible(noor.page, "a conversation with what the visitor types")
        self.type(ben.page, " come on Friday?")
        self.type(noor.page, " will.")
        self.mara.say("Hello Ada, I see your order. Which frame is it?")
        expect(self.ada.theirs.last).to_have_text("Hello Ada, I see your order. Which frame is it?")
        self.ada.say("A long one, from 2021.")
        self.agree("canned reply, typing, answers")

    def transfer(self) -> None:
        """Mara gives Ada's conversation to Noor, with a reason."""
        mara, noor, ada = self.mara, self.noor, self.ada
        mara.page.get_by_role("button", name="Transfer", exact=True).click()
        sheet = mara.page.get_by_role("form", name="Transfer to")
        sheet.locator("label", has_text="Noor").click()
        sheet.get_by_label("Reason").fill("She needs the 1,600 mm hose.")
        self.pictures(mara.page, "day-transfer-mara")
        self.accessible(mara.page, "the sheet of a transfer")
        sheet.get_by_role("button", name="Transfer", exact=True).click()
        expect(mara.chip).to_have_text("With Noor")
        expect(ada.head).to_have_text(EN["here"].replace("{}", "Noor"))
        expect(ada.panel.locator(".event").last).to_have_text(EN["joined"].replace("{}", "Noor"))
        self.promise("the visitor reads who takes over, and not the reason",
                     "1,600" not in ada.panel.inner_text())
        row = noor.rows.filter(has_text="Ada Okafor")
        expect(row).to_be_visible()
        self.calm(noor.page)
        self.walk_to(noor.page, "Ada Okafor")
        expect(noor.page.locator(".log")).to_contain_text("She needs the 1,600 mm hose.")
        self.pictures(noor.page, "day-transferred-noor")
        self.pictures(ada.page, "day-transferred-ada")
        self.whole(noor.page, ".names h2, .names .second > *")
        self.agree("a transfer with a reason")

    def lost_network(self) -> None:
        """Ada's network fails; she goes on writing, and Noor answers meanwhile."""
        ada, noor = self.ada, self.noor
        ada.page.context.set_offline(True)
        self.watch.expected = re.compile("ERR_INTERNET_DISCONNECTED|Failed to load resource|WebSocket connection")
        ada.page.wait_for_timeout(500)
        ada.text.fill("Is it in stock?")
        ada.text.press("Enter")
        ada.text.fill("I leave on Saturday.")
        ada.text.press("Enter")
        self.tab_to(noor.page, noor.text, "F6")
        self.type(noor.page, "The long hose is in stock.")
        line = ada.panel.get_by_role("status").first
        expect(line).to_contain_text(EN["lost"], timeout=PATIENCE)
        expect(line).to_contain_text(EN["out"].replace("{}", "2"))
        self.pictures(ada.page, "day-offline-ada")
        self.pictures(noor.page, "day-offline-noor")
        ada.page.context.set_offline(False)
        ada.committed()
        expect(ada.theirs.last).to_have_text("The long hose is in stock.")
        self.watch.expected = re.compile(r"$^")
        self.agree("a visitor's network is back")

    def vanished(self) -> None:
        """Noor's browser vanishes. After the promised time her visitors wait again."""
        began = time.monotonic()
        self.noor.page.context.close()
        del self.desks["Noor"]
        for shop in (self.ada, self.ben):
            expect(shop.head).to_have_text(EN["gone"].replace("{}", "Noor"), timeout=PATIENCE)
        self.promise(f"both visitors read that Noor is away, after {time.monotonic() - began:.0f} s")
        # One who has just claimed keeps the conversation longer.
        self.sql("UPDATE chat_sessions SET claimed_at = now() - interval '1 hour' WHERE status = 'active'")
        for shop in (self.ada, self.ben):
            expect(shop.head).to_have_text(EN["queued"], timeout=90_000)
        self.promise(f"… and that they are in the queue again, after {time.monotonic() - began:.0f} s")
        self.agree("an operator's browser vanishes")
        expect(self.mara.page.locator(".tabs button", has_text="Waiting")).to_contain_text("3")
        self.pictures(self.ada.page, "day-requeued-ada")
        self.pictures(self.mara.page, "day-requeued-mara")

    def bulk(self) -> None:
        """Mara gives all three to herself at once; Noor comes back on another computer."""
        page = self.mara.page
        page.locator(".tabs button", has_text="Waiting").click()
        page.locator(".row").first.focus()
        self.calm(page)
        page.keyboard.press("Control+a")
        expect(page.locator(".bulk-bar b")).to_have_text("3 selected")
        page.locator(".bulk").get_by_role("button", name="Assign", exact=True).click()
        sheet = page.get_by_role("form", name="Transfer to")
        sheet.locator("label", has_text="Mara (you)").click()
        self.pictures(page, "day-bulk-mara")
        self.accessible(page, "the sheet for many")
        sheet.get_by_role("button", name="Transfer", exact=True).click()
        expect(page.locator(".bulk-report p")).to_contain_text("3 assigned to Mara")
        for shop in (self.ada, self.ben, self.jana):
            expect(shop.head).to_have_text(shop.words["here"].replace("{}", "Mara"), timeout=PATIENCE)
        self.pictures(page, "day-bulk-done-mara")
        page.locator(".bulk").get_by_role("button", name="Dismiss").click()
        noor = self.page(self.context(1180, 860))
        noor.goto(f"{self.options.base_url}/console")
        expect(noor.get_by_label("Email")).to_be_focused()
        noor.keyboard.type("noor@tidewater.example")
        self.tab_to(noor, noor.get_by_label("Password", exact=True))
        self.type(noor, PASSWORD)
        expect(noor.get_by_role("heading", name="Inbox")).to_be_visible()
        self.noor = self.desk("Noor", noor)
        self.agree("all three belong to Mara, and Noor is back")
        noor.keyboard.press("g")
        noor.keyboard.press("a")
        expect(noor.locator(".row")).to_have_count(3)
        self.pictures(noor, "day-back-noor")
        self.agree("Noor sees all of them")

    def closing(self) -> None:
        """Jana's question is solved by a macro; she rates it with a comment."""
        page, jana = self.mara.page, self.jana
        page.locator(".tabs button", has_text="Mine").click()
        self.mara.rows.filter(has_text="Jana").click()
        expect(page.locator(".names h2")).to_have_text("Jana Özdemir")
        self.mara.say("Yes, within 30 days.")
        expect(jana.theirs.last).to_have_text("Yes, within 30 days.")
        page.locator(".log").focus()
        self.calm(page)
        page.keyboard.press("m")
        expect(page.locator(".dock .macros")).to_be_visible()
        self.pictures(page, "day-macro-mara")
        page.locator(".dock").get_by_role("button", name="Run", exact=True).click()
        expect(self.mara.chip).to_have_text("Closed")
        expect(jana.head).to_have_text(DE["closed"])
        panel = jana.panel
        expect(panel.get_by_role("radio").first).to_be_attached()
        self.pictures(jana.page, "day-rating-jana")
        self.accessible(jana.page, "the rating on a phone")
        panel.locator("label", has_text=DE["great"]).tap()
        panel.get_by_label(re.compile(re.escape(DE["better"]))).fill("Schnell und nett.")
        panel.get_by_role("button", name=DE["send"], exact=True).last.tap()
        expect(panel.get_by_text(DE["thanks"]).first).to_be_visible()
        expect(page.locator(".log")).to_contain_text("Schnell und nett.")
        self.noor.page.keyboard.press("g")
        self.noor.page.keyboard.press("c")
        expect(self.noor.rows.filter(has_text="Jana")).to_contain_text("Schnell und nett.")
        self.promise("the comment is in Mara's thread and in Noor's list")
        self.pictures(page, "day-rated-mara")
        self.pictures(self.noor.page, "day-rated-noor")
        self.pictures(jana.page, "day-rated-jana")
        self.agree("a closing with a rating")

    def evening(self) -> None:
        """The shop closes: Jana leaves a message."""
        self.rest("PATCH", "settings", {"settings": {
            "hours": {"always": False, "time_zone": "UTC", "days": [], "holidays": []},
            "offline": {"enabled": True, "text": "We answer by email."},
            "prechat": {"enabled": False, "fields": []}}})
        jana, panel = self.jana, self.jana.panel
        while jana.page.request.get(self.config).json()["hours"]["is_open"]:
            time.sleep(0.2)
        jana.page.reload()
        jana.page.evaluate("chirrup.open()")
        panel.get_by_role("button", name=DE["again"]).tap()
        panel.get_by_label(DE["email"]).fill("jana@example.com")
        panel.locator(".page textarea").fill("Der Helm ist da. Danke.")
        self.pictures(jana.page, "day-offline-form-jana")
        self.accessible(jana.page, "the form outside hours, on a phone")
        panel.get_by_role("button", name=DE["leave"]).tap()
        expect(jana.own.locator(".bubble")).to_have_text("Der Helm ist da. Danke.")
        jana.committed()
        self.pictures(jana.page, "day-left-jana")
        page = self.mara.page
        page.locator(".tabs button", has_text="Waiting").click()
        self.mara.rows.filter(has_text="Der Helm ist da.").click()
        expect(self.mara.theirs.last).to_have_text("Der Helm ist da. Danke.")
        expect(page.get_by_role("link", name="jana@example.com")).to_be_visible()
        expect(page.locator(".names h2")).to_have_text("Jana Özdemir")
        self.promise("the message is the known visitor's, with the new address")
        self.pictures(page, "day-left-mara")
        self.agree("a message that was left in the evening")

    def next_morning(self) -> None:
        """Ada comes back on a new page, and finds the conversation as it was."""
        self.rest("PATCH", "settings", {"settings": {"hours": {"always": True},
                                                     "offline": {"enabled": False, "text": ""}}})
        context = self.ada.page.context
        self.ada.page.close()
        while not self.jana.page.request.get(self.config).json()["hours"]["is_open"]:
            time.sleep(0.2)
        self.ada = Shop(self.page(context), self.sites["en"])
        self.ada.key = self.key
        self.shops["Ada"] = self.ada
        self.ada.launcher.click()
        expect(self.ada.panel.get_by_text("The hose of my new brake is 10 cm too short.")).to_be_visible()
        self.ada.say("It fits. Thank you.")
        self.ada.committed()
        page = self.mara.page
        page.locator(".tabs button", has_text="Mine").click()
        self.mara.rows.filter(has_text="Ada").click()
        expect(self.mara.theirs.last).to_have_text("It fits. Thank you.")
        self.pictures(self.ada.page, "day-returned-ada")
        self.pictures(page, "day-returned-mara")
        self.agree("a visitor returns the next morning")


if __name__ == "__main__":
    sys.exit(begin(DayRun, __doc__, "day", ("--link", "--database", "--psql")))
