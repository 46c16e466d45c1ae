"""A visitor and an operator talk through the gateway, in real browsers.

Started by browser.sh; needs a gateway with --demo. Every promise is printed with its verdict, the first one that
is broken ends the run. A message on the page's console, a violated content security policy and a finding
of axe are broken promises too.
"""

import argparse
import os
import re
import sys
import threading
import time
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Error, Page, WebSocketRoute, expect, sync_playwright
from widget_texts import EN

THAI = "สวัสดีค่ะ สายเบรกสั้นไปประมาณ 10 ซม."
ARABIC = "مرحبًا، خرطوم الفرامل Magura HS33 أقصر بنحو 10 سم."
EMOJI = "🙏🏽 👩‍👩‍👧‍👦 🇩🇪 ok"
LONG = ("Quite a long story about a brake hose. " * 110)[:4096].strip()
HOSTILE = [
    "<script>window.hurt = 1</script>",
    "<img src=x onerror='window.hurt = 1'>",
    "</textarea><svg onload='window.hurt = 1'>",
    "javascript:window.hurt=1 &lt;b&gt; ${7*7} {{PUBLIC_KEY}}",
]
SOCKET = re.compile(r"/api/v1/ws$")
# The time limit of a page in milliseconds, on a busy machine.
PATIENCE = 60_000


class Failure(Exception):
    pass


class Watch:
    """Returns the errors of the pages, without the `expected` ones that the test causes."""

    expected = re.compile(r"$^")

    def __init__(self) -> None:
        self.complaints: list[str] = []

    def page(self, page: Page) -> Page:
        page.set_default_timeout(PATIENCE)
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (event) =>"
            " console.error(`CSP ${event.violatedDirective} ${event.blockedURI}`))"
        )
        page.on(
            "pageerror", lambda error: self.complaints.append(f"{page.url}: {error.stack or error}")
        )
        page.on("dialog", lambda dialog: self.complaints.append(f"{page.url}: a dialog: {dialog.message}"))
        page.on("console", lambda message: self.heard(page, message))
        return page

    def heard(self, page: Page, message) -> None:
        # Only a test itself takes the network away.
        is_offline = "net::ERR_INTERNET_DISCONNECTED" in message.text
        if message.type in ("error", "warning") and not is_offline and not self.expected.search(message.text):
            self.complaints.append(f"{page.url}: {message.type}: {message.text} {message.location.get('url', '')}")


class Widget:
    def __init__(self, page: Page, base: str, path="/demo") -> None:
        self.page = page
        self.sockets: list[str] = []
        page.on("websocket", lambda socket: self.sockets.append(socket.url))
        page.goto(base + path)
        self.launcher = page.locator("chirrup-chat .launcher")
        self.panel = page.get_by_role("dialog")
        self.text = self.panel.get_by_label(EN["message"], exact=True)
        self.own = self.panel.locator(".say.out")
        self.theirs = self.panel.locator(".say.in .bubble:not(.typing)")

    def open(self) -> "Widget":
        self.launcher.click()
        expect(self.text).to_be_focused()
        return self

    def say(self, text: str) -> None:
        self.text.fill(text)
        self.text.press("Enter")
        expect(self.own.last.locator(".bubble")).to_have_text(text)

    def texts(self) -> list[str]:
        return self.own.locator(".bubble").all_text_contents()

    def committed(self) -> None:
        expect(self.panel.locator(".bubble.pending")).to_have_count(0)


class Console:
    def __init__(self, page: Page, base: str, email: str | None, password: str | None) -> None:
        self.page = page
        page.goto(f"{base}/console")
        expect(page.get_by_role("heading", name="Log in to the console")).to_be_visible()
        if email:
            page.get_by_label("Email").fill(email)
            page.get_by_label("Password", exact=True).fill(password or "")
        self.thread = page.get_by_role("main")
        self.text = page.get_by_label("Message", exact=True)
        self.rows = page.locator(".row")
        self.theirs = page.locator(".log .say.in .bubble")
        self.own = page.locator(".log .say.out:not(.noted)")

    def login(self) -> None:
        self.page.get_by_role("button", name="Log in").click()
        expect(self.page.get_by_role("heading", name="Inbox")).to_be_visible()

    def say(self, text: str) -> None:
        self.text.fill(text)
        self.text.press("Enter")


class Run:
    def __init__(self, browser: Browser, options: argparse.Namespace) -> None:
        self.browser = browser
        self.options = options
        self.watch = Watch()
        self.count = 0

    def context(self, width=1280, height=860, **more):
        return self.browser.new_context(
            viewport={"width": width, "height": height}, locale="en-GB", **more
        )

    def page(self, context) -> Page:
        return self.watch.page(context.new_page())

    def promise(self, words: str, holds=True) -> None:
        self.count += 1
        if self.watch.complaints:
            holds = False
            words += "".join(f"\n      {complaint}" for complaint in self.watch.complaints)
        print(f"{'PASS' if holds else 'FAIL'}  {words}", flush=True)
        if not holds:
            raise Failure(words)

    def shot(self, page: Page, name: str) -> None:
        if not self.options.shots:
            return
        folder = Path(self.options.shots)
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"{name}.png", animations="disabled")

    def axe_findings(self, page: Page) -> list[str]:
        for pause in (500, 2_000, 0):
            found = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
            if not found or not pause:
                break
            page.wait_for_timeout(pause)  # What is fading in has less contrast.
        return [f"{page.url}: {it['impact']} {it['id']}: {it['nodes'][0]['html'][:160]}" for it in found]

    def accessible(self, page: Page, what: str) -> None:
        found = self.axe_findings(page)
        self.promise(
            "\n      ".join([f"axe finds nothing in {what}", *found]), not found
        )

    # The steps, in order. Each one continues with the pages as the previous one left them.

    def run(self) -> None:
        base = self.options.base_url
        self.visitor = self.context()
        self.widget = Widget(self.page(self.visitor), base)
        self.desk = self.context(1440, 900)
        self.console = Console(
            self.page(self.desk), base, self.options.console_email, self.options.console_password
        )
        self.first_words()
        self.claim()
        self.both_ways()
        self.typing()
        self.reload_and_second_tab()
        self.notes_and_unread()
        self.lost_connection()
        self.foreign_site()
        self.looks()
        self.closing()

    def first_words(self) -> None:
        widget = self.widget.open()
        self.shot(widget.page, "widget-greeting")
        self.promise("the widget opens without a socket", not widget.sockets)
        for text in (THAI, ARABIC, EMOJI, LONG, *HOSTILE):
            widget.say(text)
        widget.committed()
        expect(widget.own.last.locator(".state")).to_contain_text(EN["sent"])
        self.promise(
            "a visitor's message is shown unchanged, and filled when it is stored",
            widget.texts() == [THAI, ARABIC, EMOJI, LONG, *HOSTILE],
        )
        self.promise("one socket is used", len(widget.sockets) == 1)

    def claim(self) -> None:
        console = self.console
        self.accessible(console.page, "the login")
        self.shot(console.page, "console-login")
        console.login()
        expect(console.rows.first).to_be_visible()
        expect(console.page.locator(".link-state")).to_contain_text("Live")
        self.shot(console.page, "console-queue")
        console.page.keyboard.press("n")
        expect(console.page.get_by_text("Assigned to you", exact=True)).to_be_visible()
        expect(console.page.get_by_role("button", name="Waiting 0")).to_be_visible()
        expect(console.page.get_by_role("button", name="Mine 1")).to_be_visible()
        expect(console.theirs).to_have_count(8)
        self.promise(
            "the console shows the same texts in the same order",
            console.theirs.all_text_contents() == [THAI, ARABIC, EMOJI, LONG, *HOSTILE],
        )
        for page in (console.page, self.widget.page):
            self.promise(
                "no text becomes an element or a script",
                page.evaluate(
                    "() => window.hurt === undefined && [document, document.querySelector('chirrup-chat')?.shadowRoot]"
                    ".every((root) => !root?.querySelector('.bubble:not(.typing) *'))"
                ),
            )
        expect(self.widget.panel.get_by_text(EN["here"].format("Mika"))).to_be_visible()
        self.promise("the visitor sees the assigned operator")

    def both_ways(self) -> None:
        console, widget = self.console, self.widget
        console.say("Hello, I see the order.")
        expect(widget.theirs.last).to_have_text("Hello, I see the order.")
        expect(widget.own.last.locator(".state")).to_contain_text(EN["read"])
        expect(console.own.last.locator(".state")).to_contain_text("Read")
        self.promise("a reply arrives, and both sides show it as read")

    def typing(self) -> None:
        console, widget = self.console, self.widget
        widget.text.press_sequentially("And could it arrive", delay=30)
        expect(console.page.locator(".bubble.preview")).to_have_text("And could it arrive")
        expect(widget.panel.locator(".bubble.typing")).to_have_count(0)
        console.text.press_sequentially("Yes", delay=30)
        expect(widget.panel.locator(".bubble.typing")).to_be_visible()
        self.shot(console.page, "console-typing")
        self.shot(widget.page, "widget-typing")
        self.promise("each sees the other type; the operator sees the text")
        widget.text.fill("")
        expect(console.page.locator(".bubble.preview")).to_have_count(0)
        console.text.fill("")
        self.promise("deleted text is not shown")

    def reload_and_second_tab(self) -> None:
        console, widget = self.console, self.widget
        widget.page.reload()
        expect(widget.own.last).to_be_visible()
        expect(widget.theirs.last).to_have_text("Hello, I see the order.")
        self.promise(
            "after a reload the same conversation is open, once",
            widget.texts() == [THAI, ARABIC, EMOJI, LONG, *HOSTILE],
        )
        self.tab = Widget(self.page(self.visitor), self.options.base_url).open()
        expect(self.tab.own).to_have_count(8)
        self.tab.say("from the second tab")
        expect(widget.own.last.locator(".bubble")).to_have_text("from the second tab")
        widget.say("from the first tab")
        expect(self.tab.own.last.locator(".bubble")).to_have_text("from the first tab")
        console.say("I hear both.")
        expect(self.tab.theirs.last).to_have_text("I hear both.")
        expect(widget.theirs.last).to_have_text("I hear both.")
        expect(console.theirs.last).to_have_text("from the first tab")
        self.promise(
            "two tabs are one visitor",
            widget.texts() == self.tab.texts() and console.theirs.count() == 10,
        )
        console.page.reload()
        expect(console.theirs).to_have_count(10)
        self.promise("a reloaded console is logged in and finds its conversation")

    def notes_and_unread(self) -> None:
        console, widget = self.console, self.widget
        self.tab.page.close()
        widget.panel.get_by_label(EN["close"]).click()
        expect(widget.launcher).to_be_focused()
        console.page.get_by_role("button", name="Note", exact=True).click()
        console.say("only for us")
        expect(console.page.locator(".say.noted .bubble:not(.pending)")).to_have_text("only for us")
        console.say("It leaves today.")
        expect(widget.launcher.locator(".count")).to_have_text("1")
        expect(widget.page.locator("chirrup-chat .teaser")).to_contain_text("It leaves today.")
        expect(console.own.last.locator(".state")).to_contain_text("Delivered")
        self.shot(widget.page, "widget-unread")
        widget.open()
        expect(widget.theirs.last).to_have_text("It leaves today.")
        expect(widget.launcher.locator(".count")).to_be_hidden()
        expect(console.own.last.locator(".state")).to_contain_text("Read")
        self.promise(
            "only operators see a note; an unread reply is counted until it is seen",
            widget.panel.get_by_text("only for us").count() == 0,
        )

    def lost_connection(self) -> None:
        """The connection breaks between send and ack, for longer than the 3 s that stay silent."""
        console = self.console
        page = self.page(self.context())
        routes: list[WebSocketRoute] = []
        cut = {"now": False}

        def through(route: WebSocketRoute) -> None:
            if cut["now"]:
                route.close(code=4101, reason="cut by the test")
                return
            server = route.connect_to_server()
            # While cut, the visitor's messages are stored but their acks are lost.
            server.on_message(lambda message: None if cut["now"] else route.send(message))
            routes.append(route)

        page.route_web_socket(SOCKET, through)
        widget = Widget(page, self.options.base_url).open()
        widget.say("before")
        widget.committed()
        cut["now"] = True
        widget.say("acked into the void")
        time.sleep(0.4)
        routes[-1].close(code=4101, reason="cut by the test")
        for word in ("one", "two", "three"):
            widget.say(word)
        expect(widget.panel.get_by_role("status").first).to_contain_text(EN["out"].format(4))
        expect(widget.panel.locator(".bubble.pending")).to_have_count(4)
        self.shot(page, "widget-offline")
        self.promise("without a connection messages can be written, and are shown as waiting")
        cut["now"] = False
        page.evaluate("dispatchEvent(new Event('online'))")
        widget.committed()
        expected = ["before", "acked into the void", "one", "two", "three"]
        self.promise(
            "after a reconnect all are stored, once and in order", widget.texts() == expected
        )
        row = console.rows.filter(has_text="three")
        row.click()
        expect(console.theirs).to_have_count(5)
        self.promise(
            "and the operator sees the same", console.theirs.all_text_contents() == expected
        )
        page.close()
        console.page.go_back()
        expect(console.theirs).to_have_count(10)

    def foreign_site(self) -> None:
        """Another origin with a strict policy, whose code and styles conflict with the widget's (X07)."""
        base = self.options.base_url
        page = self.page(self.context())
        demo = page.request.get(f"{base}/demo").text()
        key = re.search('data-workspace="([^"]+)"', demo).group(1)
        policy = (
            f"default-src 'none'; img-src data:; script-src {base} 'nonce-1'; style-src 'nonce-1';"
            f" connect-src {base} {base.replace('http', 'ws', 1)};"
            " require-trusted-types-for 'script'"
        )
        body = (
            "<!doctype html><html lang=en><title>A shop</title><link rel=icon href=data:,><p>A shop"
            "<style nonce=1>body * { display: none !important; color: red !important }</style>"
            "<script nonce=1>Object.prototype.each = Array.prototype.each = () => {}</script>"
            f"<script src='{base}/widget.js' data-workspace='{key}' async></script>"
        )
        server = foreign_server(body, policy)
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.get_by_role("button", name=EN["open"]).click()
        page.get_by_label("Message", exact=True).fill("from another site")
        page.get_by_label("Message", exact=True).press("Enter")
        expect(page.get_by_role("dialog").locator(".say.out .state")).to_contain_text("Sent")
        self.shot(page, "widget-foreign")
        page.close()
        server.shutdown()
        self.promise(
            "on another site it works under a strict policy, hostile styles and prototypes"
        )

    def looks(self) -> None:
        """Light, dark, narrow and right-to-left pages are checked by axe and kept as pictures."""
        console, widget = self.console, self.widget
        self.accessible(widget.page, "the widget")
        self.accessible(console.page, "the console")
        for name, page in (("widget", widget.page), ("console", console.page)):
            self.shot(page, f"{name}-light")
            page.emulate_media(color_scheme="dark", reduced_motion="reduce")  # no colour half-way
            self.shot(page, f"{name}-dark")
            self.accessible(page, f"the dark {name}")
            page.emulate_media(color_scheme="light", reduced_motion="no-preference")
        for width, height in ((1180, 800), (900, 800), (390, 844)):
            console.page.set_viewport_size({"width": width, "height": height})
            self.shot(console.page, f"console-{width}")
            self.promise(
                f"the console does not scroll horizontally at {width} px", self.fits(console.page)
            )
        console.page.get_by_label("Back to the list").click()
        expect(console.rows.first).to_be_visible()
        self.shot(console.page, "console-390-list")
        console.rows.first.click()
        console.page.set_viewport_size({"width": 1440, "height": 900})
        widget.page.set_viewport_size({"width": 390, "height": 844})
        self.shot(widget.page, "widget-phone")
        box = widget.panel.bounding_box()
        self.promise(
            "on a phone the widget has the whole screen",
            box["width"] == 390 and box["height"] == 844,
        )
        widget.page.set_viewport_size({"width": 1280, "height": 860})
        widget.page.evaluate("document.documentElement.dir = 'rtl'")
        self.shot(widget.page, "widget-rtl")
        box = widget.panel.bounding_box()
        self.promise("on a right-to-left page it is at the left", box["x"] < 100)
        widget.page.evaluate("document.documentElement.dir = 'ltr'")

    @staticmethod
    def fits(page: Page) -> bool:
        return page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")

    def closing(self) -> None:
        console, widget = self.console, self.widget
        console.rows.filter(has_text="It leaves today").click()
        expect(console.theirs).to_have_count(10)
        console.page.get_by_role("button", name="Close", exact=True).click()
        expect(console.page.get_by_role("button", name="Reopen")).to_be_visible()
        again = widget.panel.get_by_role("button", name=EN["again"])
        expect(again).to_be_visible()
        self.shot(widget.page, "widget-closed")
        self.promise("both sides see that the conversation is closed")
        again.click()
        widget.say("Something else")
        widget.committed()
        self.promise("the visitor can start a new conversation", widget.texts() == ["Something else"])
        row = console.rows.filter(has_text="Something else")
        expect(row).to_be_visible()
        expect(row.locator(".wait")).to_be_visible()
        console.page.get_by_role("button", name="Reopen").click()
        expect(console.text).to_be_visible()
        self.promise("it waits in the console, and the former one can be reopened")
        console.page.get_by_label("Log out").click()
        expect(console.page.get_by_text("You are logged out.")).to_be_visible()
        self.promise("the operator can log out")


def foreign_server(body: str, policy: str) -> ThreadingHTTPServer:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def begin(kind: type[Run], doc: str | None, name: str, more: tuple[str, ...] = ()) -> int:
    options = argparse.ArgumentParser(description=doc)
    options.add_argument("--base-url", required=True)
    for option in more:
        options.add_argument(option, required=True)
    options.add_argument(
        "--console-email", help="without it the demo's own, which the page carries"
    )
    options.add_argument("--console-password")
    options.add_argument("--shots", help="a folder for pictures")
    options.add_argument("--chromium", default=os.environ.get("CHROMIUM") or None)
    run = None
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        arguments = options.parse_args()
        # Chromium's own sandbox does not work for root in a container.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=sandbox)
        try:
            run = kind(browser, arguments)
            run.run()
        except (Failure, AssertionError, Error) as failure:
            if not isinstance(failure, Failure):
                lines = [frame.lineno for frame in traceback.extract_tb(failure.__traceback__)
                         if frame.filename == sys.modules[kind.__module__].__file__]
                words = str(failure).strip().splitlines() or [type(failure).__name__]
                print(f"FAIL  {words[0]} (lines {lines})", *words[1:12], *run.watch.complaints, sep="\n      ")
            for number, context in enumerate(browser.contexts):
                for page in context.pages:
                    run.shot(page, f"failed-{number}")
            return 1
        finally:
            browser.close()
    print(f"{name}: {run.count} promises kept")
    return 0


if __name__ == "__main__":
    sys.exit(begin(Run, __doc__, "browser"))
