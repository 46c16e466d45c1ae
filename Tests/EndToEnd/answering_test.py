"""Text typed after a claim is a reply, also while the gateway's responses are delayed.

Started by answering.sh. Responses are delayed until everything is typed, so the speed of the machine does not matter.
"""

import re
import sys

from browser_test import SOCKET, Run
from console_test import LIST, Desk, main
from playwright.sync_api import expect

WORDS = "Hello there, I can help"
#: Types a letter at the moment at which the view changes by itself.
AT_ONCE = """(letter) => {
  const app = document.querySelector('.app');
  new MutationObserver((_, observer) => {
    if (!app.hasAttribute('data-guarded')) return;
    observer.disconnect();
    document.body.dispatchEvent(new KeyboardEvent('keydown', { key: letter, bubbles: true, cancelable: true }));
    window.tried = (window.tried ?? 0) + 1;
  }).observe(app, { attributeFilter: ['data-guarded'] });
}"""


class Late:
    """Delays the gateway's responses to one page."""

    def __init__(self, page) -> None:
        self.page = page
        self.held: list = []
        self.isHolding = False
        self.holdsRequests = True
        page.route_web_socket(SOCKET, self.connect)
        page.route(re.compile(rf"{LIST}/|/live-chat/next"), self.request)

    def connect(self, socket) -> None:
        server = socket.connect_to_server()
        server.on_message(lambda text: self.later(lambda: socket.send(text)))

    def request(self, route) -> None:
        self.later(route.continue_) if self.holdsRequests else route.continue_()

    def later(self, act) -> None:
        self.held.append(act) if self.isHolding else act()

    def release(self) -> None:
        self.isHolding = False
        held, self.held = self.held, []
        for act in held:
            act()


class AnsweringRun(Run):
    def run(self) -> None:
        base = self.options.base_url
        page = self.page(self.context(1440, 900))
        self.late = Late(page)
        self.mika = Desk(page, base)
        self.mika.rest("PATCH", "/api/v1/admin/settings", {"settings": {"queue": {"capacity": 100}}})
        self.dana = Desk(self.page(self.context(1440, 900)), base, "dana@example.com", "two in one thread")
        for isLate in (False, True):
            for way in (self.key, self.take, self.claim, self.row):
                self.answers(way, isLate)
        self.claims_by_reply()
        self.nobody()
        self.moved()
        self.closing()
        self.colleague()

    # The four ways to claim a conversation

    def leave(self) -> None:
        page = self.mika.page
        page.get_by_role("link", name=re.compile("^Inbox")).click()
        expect(page.locator(".pane")).to_be_hidden()
        page.get_by_role("button", name=re.compile("^Waiting")).click()
        self.calm(page)

    def calm(self, page) -> None:
        """Checks that letters are shortcuts again."""
        expect(page.locator(".app:not([data-guarded])")).to_have_count(1)

    def key(self) -> None:
        """N, with nothing open"""
        self.mika.page.keyboard.press("n")

    def take(self) -> None:
        """the button for the next one"""
        self.mika.button("Claim next N").click()

    def claim(self) -> None:
        """Claim"""
        self.mika.button("Claim").click()

    def row(self) -> None:
        """a click on a row"""
        self.first_waiting().click()

    def first_waiting(self):
        return self.mika.rows.filter(has=self.mika.page.locator(".wait")).first

    def answers(self, way, isLate: bool) -> None:
        page = self.mika.page
        self.leave()
        if way == self.claim:
            self.first_waiting().click()
            expect(self.mika.button("Claim")).to_be_visible()
            page.locator(".log").focus()
            self.calm(page)
        self.late.isHolding = isLate
        way()
        page.keyboard.type(WORDS)
        page.keyboard.press("Enter")
        self.late.release()
        expect(self.mika.own.last.locator(".bubble")).to_have_text(WORDS)
        expect(self.mika.own.last.locator(".state")).to_contain_text(re.compile("Sent|Delivered|Read"))
        expect(page.locator(".pane .chip").first).to_have_text("Assigned to you")
        row = self.conversation()
        self.promise(
            f"{way.__doc__}, then words and Enter, {'before any answer' if isLate else 'at once'}: a reply, and nothing else",
            row["status"] == "active" and row["last_message"]["preview"] == WORDS
            and page.locator(".sheet:visible").count() == 0 and self.mika.text.input_value() == "",
        )

    def conversation(self) -> dict:
        id = self.mika.page.evaluate("location.hash.slice(1)")
        return self.mika.rest("GET", f"{LIST}/{id}")["body"]["conversation"]

    def claims_by_reply(self) -> None:
        self.leave()
        self.first_waiting().click()
        self.mika.say("A reply is a claim")
        expect(self.mika.page.locator(".log")).to_contain_text("You claimed this conversation")
        self.promise("a reply to a waiting visitor claims the conversation",
                     (self.conversation()["assignee"] or {}).get("name") == "Mika")

    def nobody(self) -> None:
        page = self.mika.page
        self.leave()
        self.watch.expected = re.compile("404")
        page.route("**/live-chat/next", lambda route: self.late.later(lambda: route.fulfill(
            status=404, content_type="application/problem+json",
            body='{"type":"urn:chirrup:problem:queue_empty","title":"Nobody waits","detail":"Nobody waits."}')))
        self.late.isHolding = True
        self.key()
        page.keyboard.type(WORDS)
        page.keyboard.press("Enter")
        self.late.release()
        expect(self.mika.strip).to_contain_text("The queue is empty.")
        expect(self.mika.text).to_have_value(WORDS)
        page.unroute("**/live-chat/next")
        self.watch.expected = re.compile(r"$^")
        self.promise("if the conversation cannot be claimed the text remains")
        self.leave()
        self.key()
        expect(page.locator(".pane .chip").first).to_have_text("Assigned to you")
        expect(self.mika.text).to_have_value(WORDS)
        expect(self.mika.text).to_be_focused()
        self.mika.text.fill("")
        self.promise("and is sent with the next attempt")

    def moved(self) -> None:
        page = self.mika.page
        id = page.evaluate("location.hash.slice(1)")
        reopened: list[str] = []
        page.on("request", lambda request: reopened.append(request.url) if "/reopen" in request.url else None)
        page.locator(".log").focus()
        self.calm(page)
        page.evaluate(AT_ONCE, "o")
        self.dana.rest("POST", f"{LIST}/{id}/close")
        expect(page.locator(".pane .chip").first).to_have_text("Closed")
        page.wait_for_function("window.tried === 1")
        self.calm(page)
        self.promise("a key has no effect at the moment at which the view changes", not reopened)
        with page.expect_request("**/reopen"):
            page.keyboard.press("o")
        expect(page.locator(".pane .chip").first).to_have_text("Assigned to you")
        self.promise("and has its effect afterwards", len(reopened) == 1)

    def closing(self) -> None:
        page = self.mika.page
        self.mika.say("Goodbye then")
        expect(self.mika.own.last.locator(".state")).to_contain_text(re.compile("Sent|Delivered|Read"))
        page.locator(".log").focus()
        self.calm(page)
        page.keyboard.press("e")
        page.keyboard.type("llo, I can help")
        page.keyboard.press("Enter")
        expect(page.locator("#reason")).to_have_value("llo, I can help\n")
        self.promise("Enter with a reason typed closes nothing", self.conversation()["status"] == "active")
        page.evaluate("""() => {
          const bar = document.querySelector('.undo');
          let from = 0;
          new MutationObserver(() => {
            if (!bar.hidden) from = performance.now(); else window.stood = performance.now() - from;
          }).observe(bar, { attributeFilter: ['hidden'] });
        }""")
        page.keyboard.press("Control+Enter")
        undo = page.locator(".undo")
        expect(undo).to_contain_text("closed.")
        self.accessible(page, "the bar with Undo")
        self.shot(page, "answering-undo")
        self.promise("Ctrl Enter in the sheet closes", self.conversation()["status"] == "closed")
        before = self.conversation()
        # The list gets its response before the thread.
        self.late.isHolding, self.late.holdsRequests = True, False
        with page.expect_response("**/reopen"):
            undo.get_by_role("button", name="Undo").click()
        page.evaluate("() => new Promise((done) => setTimeout(done, 300))")
        self.late.release()
        self.late.holdsRequests = True
        expect(page.locator(".pane .chip").first).to_have_text("Assigned to you")
        expect(self.mika.text).to_be_focused()
        after = self.conversation()
        self.promise("Undo reopens it, for the same operator", after["status"] == "active"
                     and after["assignee"] == before["assignee"] and after["claimed_at"] == before["claimed_at"]
                     and after["closed_at"] is None and undo.is_hidden())
        self.mika.button("Close").click()
        expect(undo).to_be_visible()
        expect(undo).to_be_hidden()
        self.promise("the bar is shown for ten seconds", page.evaluate("window.stood") > 9_500)

    def colleague(self) -> None:
        page = self.mika.page
        self.leave()
        id = self.first_waiting().get_attribute("data-id")
        self.dana.rest("POST", f"{LIST}/{id}/claim")
        page.evaluate("(id) => { location.hash = id; }", id)
        expect(page.locator(".pane .chip").first).to_have_text("With Dana")
        self.mika.text.fill("Not mine")
        self.mika.text.press("Enter")
        expect(self.mika.strip).to_contain_text("assigned to Dana. Your message was not sent.")
        self.shot(page, "answering-colleague")
        self.promise("nothing is sent into a colleague's conversation by accident",
                     self.mika.text.input_value() == "Not mine" and self.mika.own.filter(has_text="Not mine").count() == 0)
        self.mika.strip.get_by_role("button", name="Send anyway").click()
        expect(self.mika.own.last.locator(".bubble")).to_have_text("Not mine")
        expect(self.mika.own.last.locator(".state")).to_contain_text(re.compile("Sent|Delivered|Read"))
        self.promise("and only on purpose", self.conversation()["assignee"]["name"] == "Dana")


if __name__ == "__main__":
    sys.exit(main(__doc__, "answering", AnsweringRun))
