"""Two operators and a visitor in the console, with hundreds of older conversations.

Started by console.sh, which creates the second operator and the conversations. Every promise is printed with its
verdict; a message on the page's console, a violated policy and a finding of axe are broken promises too.
"""

import argparse
import os
import re
import sys
import traceback

from browser_test import PATIENCE, Console, Failure, Run, Widget
from playwright.sync_api import Error, Page, expect, sync_playwright

# Records the page's desktop notifications, and simulates a page without the focus.
NOTES = """
window.notes = [];
window.away = false;
document.hasFocus = () => !window.away;
window.Notification = class extends Notification {
  constructor(title, more) { super(title, more); window.notes.push({ title, body: more.body, note: this }); }
};
"""
HURT = "<img src=x onerror='window.hurt = 1'>"
LIST = "/api/v1/admin/live-chat/conversations"


class Desk(Console):
    """A console with the controls that an operator uses."""

    def __init__(self, page: Page, base: str, email=None, password=None) -> None:
        super().__init__(page, base, email, password)
        self.base = base
        self.strip = page.locator(".collision")
        self.login()
        expect(page.locator(".link-state")).to_contain_text("Live")
        expect(self.rows.first).to_be_visible()

    def rest(self, method: str, path: str, body=None):
        """Sends a request as the page does, with its cookie."""
        return self.page.evaluate(
            "async ([method, path, body]) => { const answer = await fetch(path, { method,"
            " ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }) });"
            " return { status: answer.status, body: await answer.json().catch(() => null) }; }",
            [method, path, body],
        )

    def open(self, words: str) -> None:
        self.rows.filter(has_text=words).first.click()
        expect(self.page.locator(".log")).to_contain_text(words)

    def keys(self, *keys: str) -> None:
        self.page.locator(".log").focus()
        for key in keys:
            # Letters do nothing for a moment after the view has changed by itself.
            expect(self.page.locator(".app:not([data-guarded])")).to_have_count(1)
            self.page.keyboard.press(key)

    def button(self, name: str):
        return self.page.get_by_role("button", name=name, exact=True)


class ConsoleRun(Run):
    def run(self) -> None:
        base = self.options.base_url
        self.desk = self.context(1440, 900)
        self.mika = Desk(self.page(self.desk), base)
        self.dana = Desk(
            self.page(self.context(1440, 900)), base, "dana@example.com", "two in one thread"
        )
        self.visitor = Widget(self.page(self.context()), base).open()
        self.arrival_and_race()
        self.under_the_pointer()
        self.collision()
        self.transfer()
        self.notes_and_drafts()
        self.canned()
        self.tags()
        self.search()
        self.visitor_panel()
        self.hostile()
        self.end_and_again()
        self.keyboard()
        self.notifications()
        self.looks()

    def arrival_and_race(self) -> None:
        mika, dana = self.mika, self.dana
        waiting = int(
            re.search(
                r"\d+", mika.page.get_by_role("button", name=re.compile("^Waiting")).inner_text()
            )[0]
        )
        for desk in (mika, dana):
            desk.keys("g", "w") if desk.page.locator(".log").is_visible() else desk.page.get_by_role(
                "button", name=re.compile("^Waiting")
            ).click()
        self.visitor.say("The hose is too short. " + HURT)
        self.visitor.committed()
        for desk in (mika, dana):
            expect(desk.rows.filter(has_text="The hose is too short")).to_be_visible()
            expect(desk.page.get_by_role("button", name=f"Waiting {waiting + 1}")).to_be_visible()
            desk.open("The hose is too short")
        self.promise("a new conversation appears in every inbox, with its count")
        held = []
        dana.page.route("**/claim", lambda route: held.append(route))
        dana.button("Claim").click()
        dana.page.wait_for_timeout(50)
        mika.button("Claim").click()
        expect(mika.page.get_by_text("Assigned to you", exact=True)).to_be_visible()
        while not held:
            dana.page.wait_for_timeout(20)
        self.watch.expected = re.compile("409")
        held[0].continue_()
        expect(dana.strip).to_contain_text("Mika claimed this conversation first")
        self.shot(dana.page, "console-claim-lost")
        dana.page.unroute("**/claim")
        expect(dana.strip.get_by_role("button", name="Claim next")).to_be_visible()
        expect(dana.page.locator(".pane .chip").first).to_have_text("With Mika")
        self.watch.expected = re.compile(r"$^")
        dana.strip.get_by_role("button", name="Stay here").click()
        expect(dana.strip).to_be_hidden()
        self.promise("one of two concurrent claims wins; the other operator sees the winner and the next conversation")

    def under_the_pointer(self) -> None:
        mika, dana = self.mika, self.dana
        mika.page.get_by_role("button", name=re.compile("^Waiting")).click()
        places = "() => [...document.querySelectorAll('.row')].map((row) => [row.dataset.id, row.getBoundingClientRect().y])"
        first = mika.rows.first.get_attribute("data-id")
        mika.rows.nth(2).hover()
        before = mika.page.evaluate(places)
        claimed = dana.rest("POST", f"{LIST}/{first}/claim")
        if claimed["status"] != 200:
            raise Failure(f"no claim: {claimed}")
        row = mika.page.locator(f".row[data-id='{first}']")
        expect(row.locator(".wait")).to_have_count(0)
        held = mika.page.evaluate(places)
        mika.page.mouse.move(900, 300)
        expect(row).to_have_count(0)
        dana.rest("POST", f"{LIST}/{first}/close")
        self.promise(
            "a row claimed by a colleague shows that, and disappears when the pointer leaves it", before == held
        )

    def collision(self) -> None:
        mika, dana = self.mika, self.dana
        expect(mika.page.locator(".faces")).to_contain_text("is viewing")
        mika.text.press_sequentially("One moment", delay=20)
        expect(dana.strip).to_contain_text("Mika is also writing a reply")
        self.shot(dana.page, "console-collision")
        mika.text.fill("")
        expect(dana.strip).to_be_hidden()
        mika.keys("g", "m")
        self.visitor.text.press_sequentially("And could it", delay=20)
        expect(mika.page.locator(".bubble.preview")).to_have_text("And could it")
        expect(mika.rows.filter(has_text="typing: And could it")).to_be_visible()
        self.visitor.text.fill("")
        expect(mika.page.locator(".bubble.preview")).to_have_count(0)
        self.promise("operators see who else views and writes, and what the visitor types")
        for desk in (mika, dana):
            self.promise(
                "no name and no text becomes an element or a script",
                desk.page.evaluate(
                    "() => window.hurt === undefined && !document.querySelector('.bubble *, .names h2 *, .row img, .faces b')"
                ),
            )

    def transfer(self) -> None:
        mika, dana = self.mika, self.dana
        mika.keys("t")
        sheet = mika.page.get_by_role("form", name="Transfer to")
        sheet.get_by_role("radio", name="Dana <b>K</b>").check()
        sheet.get_by_label("Reason").fill("Ships from Rotterdam")
        self.shot(mika.page, "console-transfer")
        self.accessible(mika.page, "the transfer")
        sheet.get_by_role("button", name="Transfer", exact=True).click()
        expect(dana.page.get_by_text("Assigned to you", exact=True)).to_be_visible()
        expect(dana.page.locator(".log")).to_contain_text("Ships from Rotterdam")
        expect(sheet).to_be_hidden()
        self.promise(
            "a transfer reaches the colleague with its reason, which the visitor does not see",
            self.visitor.panel.get_by_text("Ships from Rotterdam").count() == 0,
        )

    def notes_and_drafts(self) -> None:
        dana = self.dana
        page = dana.page
        dana.keys("i")
        page.keyboard.type("only for us")
        page.keyboard.press("Enter")
        expect(page.locator(".say.noted .bubble:not(.pending)").last).to_have_text("only for us")
        expect(self.mika.page.locator(".say.noted").last).to_contain_text("only for us")
        dana.keys("r")
        page.keyboard.type("half a thought")
        here = page.url
        page.keyboard.press("Alt+ArrowDown")
        expect(page).not_to_have_url(here)
        expect(dana.text).not_to_have_value("half a thought")
        page.goto(here)
        page.reload()
        expect(dana.text).to_have_value("half a thought")
        dana.text.fill("")
        self.promise(
            "visitors do not see notes; a draft belongs to its conversation and remains after a reload",
            self.visitor.panel.get_by_text("only for us").count() == 0,
        )

    def canned(self) -> None:
        dana = self.dana
        page = dana.page
        for name, text in (
            ("ship", "Hello {{visitor.name}}, parcel {{parcel}} leaves {{city}} today. {{operator.name}}"),
            ("shop", "We open at nine."),
        ):
            put = self.mika.rest(
                "PUT",
                f"/api/v1/admin/reply-objects/{name}",
                {"object_type": "text", "payload": {"text": text}, "alt_text": name, "shortcut": name},
            )
            if put["status"] >= 300:
                raise Failure(f"no canned reply: {put}")
        dana.text.press_sequentially("/sh", delay=20)
        options = page.get_by_role("option")
        expect(options).to_have_count(2)
        page.keyboard.press("ArrowDown")
        expect(options.nth(1)).to_have_attribute("aria-selected", "true")
        page.keyboard.press("ArrowUp")
        self.shot(page, "console-canned")
        self.accessible(page, "the canned replies")
        page.keyboard.press("Enter")
        expect(dana.text).to_have_value(re.compile(r"parcel \{\{parcel\}\} leaves .* Dana <b>K</b>$"))
        page.keyboard.type("Ada")  # the visitor gave no name
        page.keyboard.press("Enter")
        expect(page.locator(".modes")).to_contain_text("Fill in the selected field first")
        page.keyboard.type("771")
        page.keyboard.press("Tab")
        page.keyboard.type("Rotterdam")
        page.keyboard.press("Enter")
        expect(self.visitor.theirs.last).to_contain_text("parcel 771 leaves Rotterdam today")
        dana.text.press_sequentially("/nothing", delay=5)
        expect(page.locator(".canned")).to_contain_text("No canned reply matches /nothing")
        dana.text.fill("")
        self.promise("a slash finds canned replies, fills known placeholders and selects the next one")

    def tags(self) -> None:
        dana, mika = self.dana, self.mika
        dana.keys("l")
        dana.page.get_by_label("Add a tag").fill("cargo bike")
        dana.page.keyboard.press("Enter")
        dana.page.get_by_role("button", name="Save tags").click()
        expect(dana.page.locator("aside .chip", has_text="cargo bike")).to_be_visible()
        expect(mika.page.locator("aside .chip", has_text="cargo bike")).to_be_visible()
        mika.page.get_by_role("button", name=re.compile("^All")).click()
        mika.page.get_by_role("button", name="Filter", exact=True).click()
        mika.page.get_by_label("Tag", exact=True).select_option("cargo bike")
        expect(mika.rows).to_have_count(1)
        mika.page.get_by_role("button", name="Filter", exact=True).click()
        expect(mika.rows.nth(3)).to_be_visible()
        self.promise("all operators see the tags, and the list can be filtered by one")

    def search(self) -> None:
        mika = self.mika
        page = mika.page
        page.keyboard.press("Control+k")
        field = page.get_by_role("combobox", name="Search and commands")
        field.fill("hose is too short")
        hit = page.get_by_role("option").filter(has_text="hose is too short").first
        expect(hit).to_be_visible()
        self.shot(page, "console-search")
        self.accessible(page, "the search")
        hit.click()
        expect(page.locator(".say.hit")).to_contain_text("The hose is too short")
        self.far_back(field)
        page.keyboard.press("Control+k")
        field.fill("closed conv")
        page.keyboard.press("Enter")
        expect(page.get_by_role("button", name=re.compile("^Closed"))).to_have_attribute(
            "aria-current", "page"
        )
        self.promise("one field finds messages, opens them, and runs commands")

    def far_back(self, field) -> None:
        """Opens a message that is not loaded yet."""
        page = self.mika.page
        session = page.url.split("#")[1].split("/")[0]
        told = page.evaluate(
            "async (path) => { for (let n = 1; n <= 130; n += 1) { const answer = await fetch(path, { method: 'POST',"
            " headers: { 'content-type': 'application/json' },"
            " body: JSON.stringify({ kind: 'note', body: `line ${n} of the log` }) });"
            " if (!answer.ok) return answer.status; } return 0; }",
            f"{LIST}/{session}/messages",
        )
        if told:
            raise Failure(f"a note was refused: {told}")
        # the address still names the hit, around which a reload would open
        page.evaluate("(session) => { location.hash = session; }", session)
        page.reload()
        expect(page.locator(".bubble").last).to_have_text("line 130 of the log")
        page.keyboard.press("Control+k")
        field.fill("line 7 of the log")
        page.get_by_role("option").filter(has_text="line 7 of the log").first.click()
        expect(page.locator(".say.hit")).to_contain_text("line 7 of the log")
        expect(self.mika.strip).to_contain_text("You are viewing older messages")
        self.shot(page, "console-excerpt")
        self.mika.strip.get_by_role("button", name="Jump to latest").click()
        expect(page.locator(".bubble").last).to_have_text("line 130 of the log")
        expect(page.locator(".log").get_by_text("line 7 of the log", exact=True)).to_have_count(0)

    def visitor_panel(self) -> None:
        dana, page = self.dana, self.dana.page
        panel = page.locator("aside.visitor")
        expect(panel).to_contain_text("Local time")
        panel.get_by_role("button", name="Block visitor").click()
        panel.get_by_role("button", name="Block", exact=True).click()
        expect(panel).to_contain_text("Blocked")
        self.shot(page, "console-blocked")
        panel.get_by_role("button", name="Unblock").click()
        expect(panel.get_by_role("button", name="Block visitor")).to_be_visible()
        self.promise("the visitor's context is beside the thread, and the visitor can be blocked")

    def hostile(self) -> None:
        """Shows the context that a hostile page sends about its visitor (X01, X02, X04)."""
        mika, page = self.mika, self.mika.page
        demo = page.request.get(f"{mika.base}/demo").text()
        key = re.search('data-workspace="([^"]+)"', demo).group(1)
        hurt = HURT + "\u202e\u200b</textarea><script>window.hurt = 1</script>"
        made = mika.rest(
            "POST",
            "/api/v1/widget/token",
            {
                "workspace": key,
                "context": {
                    "page": "javascript:window.hurt=1",
                    "title": hurt,
                    "referrer": hurt,
                    "locale": hurt[:20],
                    "timezone": "<b>",
                    "user_agent": hurt,
                },
                "attributes": {"<b>plan</b>": hurt[:40], "word": "w" * 200},
            },
        )
        if made["status"] >= 300:
            raise Failure(f"no token: {made}")
        given = page.evaluate(
            "async ([token, name]) => (await fetch('/api/v1/widget/profile', { method: 'PUT', headers:"
            " { authorization: `Bearer ${token}`, 'content-type': 'application/json' },"
            " body: JSON.stringify({ name, email: 'a@b.example' }) })).status",
            [made["body"]["token"], HURT],
        )
        if given >= 300:
            raise Failure(f"no profile: {given}")
        session = made["body"]["session"]
        page.goto(f"{mika.base}/console#{session if isinstance(session, str) else session['id']}")
        expect(page.locator("aside.visitor")).to_contain_text("<b>plan</b>")
        expect(page.locator(".names h2")).to_have_text(HURT)
        self.shot(page, "console-hostile")
        links = page.evaluate(
            "() => [...document.links].map(({ protocol }) => protocol).filter((it) => !['http:', 'https:', 'mailto:'].includes(it))"
        )
        self.promise(
            "the context of a hostile page is text, and fits",
            not links
            and self.fits(page)
            and page.evaluate("() => window.hurt === undefined && !document.querySelector('.app img')"),
        )

    def end_and_again(self) -> None:
        dana, page = self.dana, self.dana.page
        dana.keys("e")
        sheet = page.get_by_role("form", name="Close this conversation")
        sheet.get_by_label("Reason").fill("solved by the long hose")
        page.keyboard.press("Control+Enter")
        expect(dana.button("Reopen")).to_be_visible()
        expect(page.locator(".say.noted").last).to_contain_text("solved by the long hose")
        dana.keys("o")
        expect(dana.text).to_be_visible()
        dana.text.fill("And once more.")
        dana.text.press("Control+Enter")
        expect(sheet.get_by_label("Reason")).to_be_focused()
        page.keyboard.press("Control+Enter")
        expect(dana.button("Reopen")).to_be_visible()
        before = page.url
        dana.keys("n")
        expect(page).not_to_have_url(before)
        expect(page.get_by_text("Assigned to you", exact=True)).to_be_visible()
        self.promise("closed with a reason, reopened, sent and closed at once, and on to the next")

    def keyboard(self) -> None:
        mika, page = self.mika, self.mika.page
        page.get_by_role("button", name=re.compile("^All")).click()
        page.locator(".rows .row").first.click()
        here = page.url
        mika.keys("j")
        expect(page).not_to_have_url(here)
        mika.keys("k")
        expect(page).to_have_url(here)
        mika.keys("?")
        help = page.get_by_role("dialog", name="Keyboard")
        expect(help).to_be_visible()
        self.shot(page, "console-keys")
        page.keyboard.press("Escape")
        expect(help).to_be_hidden()
        page.locator(".me").click()
        page.get_by_role("switch", name=re.compile("Single-letter")).uncheck()
        self.shot(page, "console-you")
        self.accessible(page, "an operator's own settings")
        page.keyboard.press("Escape")
        mika.keys("j")
        page.wait_for_timeout(100)
        expect(page).to_have_url(here)
        page.locator(".me").click()
        page.get_by_role("switch", name=re.compile("Single-letter")).check()
        page.keyboard.press("Escape")
        for _ in range(4):
            page.keyboard.press("F6")
        self.promise("the keyboard reaches everything, and single-key shortcuts can be disabled")

    def notifications(self) -> None:
        base = self.options.base_url
        context = self.context(1440, 900, permissions=["notifications"])
        context.add_init_script(NOTES)
        page = self.page(context)
        Desk(page, base)
        waiting = page.get_by_role("button", name=re.compile("^Waiting"))
        count = int(re.search(r"\d+", waiting.inner_text())[0])
        page.evaluate("() => { window.away = true; }")
        Widget(self.page(self.context()), base).open().say("Is it waterproof?")
        expect(page.get_by_role("button", name=f"Waiting {count + 1}")).to_be_visible()
        # The count may come before the row, and the row brings the alert.
        expect(page.locator(".row", has_text="Is it waterproof?")).to_be_visible()
        silent = page.evaluate("() => window.notes.length")
        page.locator(".me").click()
        page.get_by_role("switch", name=re.compile("[Nn]otifications")).check()
        page.keyboard.press("Escape")
        Widget(self.page(self.context()), base).open().say("Can it freeze? " + HURT)
        page.wait_for_function("() => window.notes.length > 0")
        given = page.evaluate("() => window.notes.map(({ title, body }) => [title, body])")
        self.promise(
            f"a desktop notification names the waiting visitor and the reason, if enabled: {silent} {given}",
            silent == 0 and len(given) == 1 and given[0][0] == "A visitor is waiting"
            and "Can it freeze? " + HURT in given[0][1])
        page.evaluate("() => { window.away = false; window.notes[0].note.onclick(); }")
        expect(page.locator(".log")).to_contain_text("Can it freeze?")
        self.promise("a click on the notification opens the conversation")
        context.close()

    def looks(self) -> None:
        mika, page = self.mika, self.mika.page
        self.shot(page, "console-light")
        self.accessible(page, "the console")
        page.emulate_media(color_scheme="dark", reduced_motion="reduce")
        self.shot(page, "console-dark")
        self.accessible(page, "the dark console")
        page.emulate_media(color_scheme="light", reduced_motion="no-preference")
        for width, height in ((1180, 800), (899, 800), (390, 844), (320, 640)):
            page.set_viewport_size({"width": width, "height": height})
            self.shot(page, f"console-{width}")
            self.promise(f"no horizontal scrolling at {width} px", self.fits(page))
        page.set_viewport_size({"width": 390, "height": 844})
        self.accessible(page, "the thread on a phone")
        page.get_by_label("Back to the list").click()
        expect(mika.rows.first).to_be_visible()
        self.shot(page, "console-390-list")
        self.accessible(page, "the list on a phone")


def main(description: str, name: str, kind: type[Run]) -> int:
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--base-url", required=True)
    options.add_argument("--shots", help="a folder for pictures")
    options.add_argument("--chromium", default=os.environ.get("CHROMIUM") or None)
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        arguments = options.parse_args()
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # does not work for root in a container
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=sandbox)
        run = kind(browser, arguments)
        try:
            run.run()
        except (Failure, AssertionError, Error) as failure:
            if not isinstance(failure, Failure):
                frames = traceback.extract_tb(failure.__traceback__)
                script = os.path.basename(sys.argv[0])
                lines = [frame.lineno for frame in frames if os.path.basename(frame.filename) == script]
                words = str(failure).strip().splitlines() or [type(failure).__name__]
                print(f"FAIL  {words[0]} (lines {lines})", *words[1:12], *run.watch.complaints, sep="\n      ")
            for number, context in enumerate(browser.contexts):
                for page in context.pages:
                    run.shot(page, f"failed-{name}-{number}")
            return 1
        finally:
            browser.close()
    print(f"{name}: {run.count} promises kept")
    return 0


if __name__ == "__main__":
    sys.exit(main(__doc__, "console", ConsoleRun))
