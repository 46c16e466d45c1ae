"""The widget besides the conversation: languages, forms, cards, menu, JavaScript API.

Started by widget.sh. Every promise is printed with its verdict; a message on the page's console, a violated
policy and a finding of axe are broken promises too.
"""

import argparse
import base64
import hashlib
import hmac
import json
import os
import re
import subprocess
import sys
import time
import traceback
import uuid
from pathlib import Path

from browser_test import PATIENCE, SOCKET, Console, Failure, Run, Widget
from playwright.sync_api import Error, Page, expect, sync_playwright
from websockets.sync.client import connect
from widget_texts import EN, texts_of

WORD = "ก" * 10_000
LINKS = "see https://example.com/a?b=1, javascript:alert(1) and https://example.com\u202egnp.exe"
# The longest that the page's main thread was busy at a stretch.
BUSY = """() => { window.busy = []; new PerformanceObserver((list) => window.busy.push(
  ...list.getEntries().map((entry) => entry.duration))).observe({ type: 'longtask', buffered: true }); }"""


class ProcessorTime:
    """The processor time of a page's main thread from now on."""

    def __init__(self, page: Page) -> None:
        self.devtools = page.context.new_cdp_session(page)
        self.devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.begin = self.seconds()

    def seconds(self) -> float:
        found = self.devtools.send("Performance.getMetrics")["metrics"]
        return next(it["value"] for it in found if it["name"] == "TaskDuration")

    def end(self) -> float:
        """Milliseconds."""
        took = 1_000 * (self.seconds() - self.begin)
        self.devtools.detach()
        return took


class WidgetRun(Run):
    def context(self, width=1280, height=860, **more):
        size = {"width": width, "height": height}
        return self.browser.new_context(viewport=size, **{"locale": "en-GB", **more})

    def sql(self, statement: str) -> str:
        told = subprocess.run(
            [self.options.psql, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set",
             "ON_ERROR_STOP=1", "--command", statement, self.options.database],
            check=True, capture_output=True, text=True,
        )
        return told.stdout.strip()

    def pictures(self, page: Page, name: str) -> None:
        """Pictures of a page on a phone, a tablet and desktops, light and dark, if asked for."""
        if not self.options.shots:
            return
        before = page.viewport_size
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width, height in ((390, 844), (900, 900), (1180, 860), (1440, 900)):
                page.set_viewport_size({"width": width, "height": height})
                self.shot(page, f"{name}-{scheme}-{width}")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(before)

    def set(self, page: Page, wanted=lambda config: True, **settings) -> None:
        """Writes settings, and waits until the gateway answers by them."""
        for key, value in settings.items():
            text = json.dumps(value).replace("'", "''")
            self.sql(
                f"INSERT INTO system_settings (workspace_id, key, value) SELECT id, '{key}', '{text}'"
                " FROM workspaces"
                " ON CONFLICT (workspace_id, key) DO UPDATE SET value = EXCLUDED.value"
            )
        limit = time.monotonic() + 30
        while not wanted(page.request.get(self.config).json()):
            if time.monotonic() > limit:
                raise Failure(f"the gateway does not take up {settings}")
            time.sleep(0.2)

    def visitor(self, **context) -> Widget:
        return Widget(self.page(self.context(**context)), self.options.base_url)

    def tell(self, session: str, **message) -> None:
        """Sends one message as an operator, over a socket without a browser."""
        url = self.options.base_url.replace("http", "ws", 1) + "/api/v1/ws"
        with connect(url, subprotocols=["chirrup.v1"]) as socket:
            subscribe = [{"session": session, "tail": 1}]
            socket.send(json.dumps({"type": "hello", "ref": 1, "token": self.options.operator_token,
                                    "subscribe": subscribe}))
            while True:
                for line in socket.recv(timeout=30).splitlines():
                    frame = json.loads(line)
                    if frame["type"] == "error":
                        self.promise(f"an operator's message is acknowledged: {line}", False)
                    if frame["type"] == "ack":
                        return
                    if frame["type"] == "live":
                        send = {"type": "send", "ref": 2, "session": session, "id": str(uuid.uuid4())}
                        socket.send(json.dumps({**send, **message}))

    def identity(self, subject: str, name: str, seconds: int = 600) -> str:
        """A JWT by which the page says who its visitor is."""
        secret = self.sql("UPDATE workspaces SET identity_secret = 'is_of_the_page' RETURNING identity_secret")
        part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")
        signed = part({"alg": "HS256", "typ": "JWT"}) + b"." + part(
            {"sub": subject, "name": name, "exp": int(time.time()) + seconds})
        seal = base64.urlsafe_b64encode(hmac.digest(secret.encode(), signed, hashlib.sha256)).rstrip(b"=")
        return (signed + b"." + seal).decode()

    def session(self, page: Page) -> str:
        known = page.evaluate(f"JSON.parse(localStorage['chirrup:{self.key}']).session")
        if not known:
            raise Failure("the widget has no session: its first message is not committed yet")
        return known

    def run(self) -> None:
        first = self.page(self.context())
        demo = first.request.get(f"{self.options.base_url}/demo").text()
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        self.config = f"{self.options.base_url}/api/v1/widget/config?workspace={self.key}"
        look = {"locale": "auto", "greeting": {"title": "Hello", "text": "Ask us."}}
        self.set(first, lambda it: it["locale"] == "auto", widget=look)
        first.goto(f"{self.options.base_url}/demo")
        for part in (self.quiet, self.languages, self.offers, self.closing, self.forms, self.script,
                     self.hostile, self.long, self.looks):
            if not self.options.only or part.__name__ in self.options.only.split(","):
                part(first)

    def quiet(self, page: Page) -> None:
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.add_init_script(f"({BUSY})()")
        widget = Widget(page, self.options.base_url)
        expect(widget.launcher).to_be_visible()
        ours = [url for url in asked if "widget" in url]
        self.promise(f"before a click the widget is one request: {len(ours)}", len(ours) == 1)
        time = ProcessorTime(page)
        widget.open()
        self.promise("opening it needs no socket", not widget.sockets)
        # Time of the processor, since this machine may be busy with other parts.
        took = time.end()
        print(f"      longest task: {page.evaluate('Math.max(0, ...window.busy)'):.0f} ms")
        self.promise(f"opening it takes the page {took:.0f} ms of processor time", 5 < took < 250)

    def languages(self, page: Page) -> None:
        widget = self.visitor(locale="th-TH").open()
        for code in ("de", "es", "th", "ar", "ja", "en"):
            texts = texts_of(code)
            widget.page.evaluate("(code) => chirrup.setLocale(code)", code)
            expect(widget.panel.get_by_placeholder(texts["write"])).to_be_visible()
            expect(widget.launcher).to_have_attribute("aria-label", texts["close"])
            direction = "rtl" if code == "ar" else "ltr"
            expect(widget.panel).to_have_attribute("dir", direction)
            if code == "ar":
                widget.panel.locator("textarea").fill("مرحبًا، رقم الطلب 20418")
                widget.panel.locator("textarea").press("Enter")
                expect(widget.own.locator(".state")).to_contain_text(texts["sent"])
                self.shot(widget.page, "widget-arabic")
                self.accessible(widget.page, "the widget from right to left")
        expect(widget.own.locator(".state")).to_contain_text(EN["sent"])
        self.promise("six languages, changed while it is open, also for earlier messages")
        auto = self.page(self.context(locale="th-TH"))
        auto.add_init_script("addEventListener('DOMContentLoaded', () => { document.documentElement.lang = ''; })")
        thai = texts_of("th")
        Widget(auto, self.options.base_url).launcher.click()
        expect(auto.get_by_placeholder(thai["write"])).to_be_focused()
        self.promise("a page without a language speaks the browser's")
        for it in (widget.page, auto):
            it.close()

    def offers(self, page: Page) -> None:
        self.sql(
            "INSERT INTO rich_menus (workspace_id, name, actions, status) SELECT id, 'Bar', '["
            '{"label": "Track an order", "type": "message", "value": "Where is my order?"},'
            '{"label": "Spare parts", "type": "url", "value": "https://example.com/parts"},'
            '{"label": "Not a link", "type": "url", "value": " java\\nscript:alert(1)"},'
            '{"label": "Talk to us", "type": "operator", "value": ""}]\', \'published\''
            " FROM workspaces"
        )
        widget = self.visitor().open()
        panel = widget.panel
        panel.get_by_text(EN["menu"], exact=True).click()
        expect(panel.get_by_role("link", name="Spare parts")).to_have_attribute("rel", "noopener")
        expect(panel.get_by_text("Not a link")).to_have_count(0)
        self.shot(widget.page, "widget-menu")
        panel.get_by_role("button", name="Track an order").click()
        expect(widget.own.locator(".bubble")).to_have_text("Where is my order?")
        widget.committed()
        self.promise("the menu shows its actions, and has no unsafe link")
        session = self.session(widget.page)

        self.tell(session, kind="card", body="Brake hose", payload={
            "title": "Brake hose, 1,600 mm", "text": "14 in Rotterdam",
            "buttons": [{"label": "Hold it for me", "type": "reply", "value": "hold"},
                        {"label": "Evil", "type": "url", "value": "javascript:alert(1)"}]})
        expect(panel.locator(".card h3")).to_have_text("Brake hose, 1,600 mm")
        expect(panel.get_by_text("Evil")).to_have_count(0)
        self.tell(session, body="Is it about an order?", payload={
            "quick_replies": [{"label": "Yes", "value": "y"}, {"label": "No", "value": "n"}]})
        expect(panel.locator(".reply")).to_have_count(2)
        self.shot(widget.page, "widget-offers")
        self.accessible(widget.page, "cards and quick replies")
        panel.get_by_role("button", name="Yes").click()
        expect(panel.locator(".reply")).to_have_count(0)
        panel.get_by_role("button", name="Hold it for me").click()
        expect(widget.own.locator(".bubble").last).to_have_text("Hold it for me")
        widget.committed()
        kept = self.sql(
            "SELECT string_agg(content || ' ' || (payload->'reply'->>'value'), ',' ORDER BY seq) FROM chats"
            f" WHERE session_id = '{session}' AND payload ? 'reply'"
        )
        self.promise(f"a choice is sent as a message with its text: {kept}", kept == "Yes y,Hold it for me hold")
        self.sql("UPDATE rich_menus SET status = 'inactive'")
        widget.page.close()

    def closing(self, page: Page) -> None:
        it = self.page(self.context(accept_downloads=True))

        def through(route) -> None:
            """That one waits no longer may come late, or not at all."""
            server = route.connect_to_server()
            server.on_message(lambda frames: [
                route.send(frame) for frame in frames.splitlines() if '"position":0' not in frame
            ])

        it.route_web_socket(SOCKET, through)
        # Without an operator visitors have no place in the queue.
        desk = Console(self.page(self.context()), self.options.base_url, None, None)
        desk.login()
        widget = Widget(it, self.options.base_url).open()
        widget.say("Thank you")
        widget.committed()
        with widget.page.expect_download() as download:
            widget.panel.get_by_role("button", name=EN["transcript"]).click()
        text = Path(download.value.path()).read_text()
        self.promise("the transcript is a file with what was said", "Thank you" in text)
        session = self.session(widget.page)
        place = widget.panel.get_by_text(EN["place"])
        expect(place).to_be_visible(timeout=30_000)
        status = desk.page.evaluate(
            "async (session) => (await fetch(`/api/v1/admin/live-chat/conversations/${session}/close`,"
            " { method: 'POST' })).status",
            session,
        )
        desk.page.close()
        self.promise(f"an operator closes the conversation ({status})", status < 300)
        expect(widget.panel.get_by_text(EN["how"])).to_be_visible()
        self.promise("who closed it left no place in the queue behind", place.count() == 0)
        widget.panel.get_by_text(EN["good"], exact=True).click()
        widget.panel.get_by_label(EN["better"]).fill("Nothing")
        self.shot(widget.page, "widget-rating")
        self.accessible(widget.page, "the rating")
        widget.panel.locator("form").get_by_role("button", name=EN["send"]).click()
        expect(widget.panel.get_by_text(EN["thanks"]).first).to_be_visible()
        kept = self.sql(f"SELECT rating || comment FROM csat_responses WHERE session_id = '{session}'")
        self.promise("a closed conversation can be rated", kept == "4Nothing")
        widget.panel.get_by_role("button", name=EN["again"]).click()
        widget.say("One more thing")
        widget.committed()
        self.promise("and a new one begun", self.session(widget.page) != session)
        widget.page.close()

    def forms(self, page: Page) -> None:
        hours = {"always": False, "time_zone": "UTC", "days": [], "holidays": []}
        self.set(page, lambda it: it["offline"]["enabled"] and not it["hours"]["is_open"], hours=hours,
                 offline={"enabled": True, "text": "We answer by email."})
        widget = self.visitor()
        widget.launcher.click()
        panel = widget.panel
        panel.get_by_label(EN["email"]).fill("amelie@example.com")
        panel.locator(".page textarea").fill("The hose of my brake is too short.")
        self.shot(widget.page, "widget-away")
        self.accessible(widget.page, "the form outside hours")
        self.watch.expected = re.compile("Failed to load resource")
        widget.page.route("**/widget/profile", lambda route: route.abort())
        panel.get_by_role("button", name=EN["leave"]).click()
        expect(panel.get_by_role("alert")).to_have_text(EN["failed"])
        self.shot(widget.page, "widget-away-failed")
        widget.page.unroute("**/widget/profile")
        self.watch.expected = re.compile(r"$^")
        panel.get_by_role("button", name=EN["leave"]).click()
        expect(widget.own.locator(".bubble")).to_have_text("The hose of my brake is too short.")
        widget.committed()
        kept = self.sql("SELECT count(*) FROM chats WHERE content = 'The hose of my brake is too short.'")
        self.promise("outside hours the visitor leaves a message; a failed request is shown and repeated", kept == "1")
        widget.page.reload()
        expect(widget.own.locator(".bubble")).to_have_text("The hose of my brake is too short.")
        self.promise("… and finds it again")
        widget.page.close()
        fields = [{"key": "name", "label": "Your name", "type": "text", "required": True},
                  {"key": "topic", "label": "Topic", "type": "select", "required": True, "options": ["Order", "Repair"]}]
        self.set(page, lambda it: it["prechat"]["enabled"] and it["hours"]["is_open"],
                 hours={"always": True}, offline={"enabled": False, "text": ""},
                 prechat={"enabled": True, "fields": fields})
        widget = self.visitor()
        widget.launcher.click()
        panel = widget.panel
        panel.get_by_role("button", name=EN["start"]).click()
        expect(panel.get_by_label("Your name")).to_be_focused()
        panel.get_by_label("Your name").fill("Amélie")
        panel.get_by_label("Topic").select_option("Repair")
        self.shot(widget.page, "widget-before")
        self.accessible(widget.page, "the form before the chat")
        panel.get_by_role("button", name=EN["start"]).click()
        expect(widget.text).to_be_focused()
        widget.say("Hello")
        widget.committed()
        kept = self.sql("SELECT name || ' ' || (attributes->>'topic') FROM visitors WHERE name = 'Amélie'")
        self.promise(f"what is asked before the chat is known to operators: {kept}", kept == "Amélie Repair")
        self.set(page, lambda it: not it["prechat"]["enabled"], prechat={"enabled": False, "fields": []})
        widget.page.close()

    def script(self, page: Page) -> None:
        widget = self.visitor()
        page_of = widget.page
        page_of.evaluate(
            "() => { window.seen = []; for (const name of ['ready', 'open', 'close', 'message', 'unread', 'status'])"
            " chirrup.on(name, (detail) => seen.push([name, detail?.body ?? detail])); }"
        )
        expect(widget.panel).to_be_hidden()
        page_of.evaluate("(jwt) => { chirrup.identify(jwt); chirrup.setAttributes({ plan: 'pro' }); }",
                         self.identity("customer-7", "Noor"))
        page_of.evaluate("chirrup.open()")
        expect(widget.text).to_be_focused()
        widget.say("who am I")
        widget.committed()
        kept = self.sql("SELECT name || ' ' || (attributes->>'plan') FROM visitors WHERE external_id = 'customer-7'")
        self.promise(f"who the page vouches for is known: {kept}", kept == "Noor pro")
        page_of.evaluate("chirrup.close()")
        expect(widget.panel).to_be_hidden()
        self.tell(self.session(page_of), body="You are Noor.")
        expect(widget.launcher.locator(".count")).to_have_text("1")
        expect(page_of).to_have_title(re.compile(r"^\(1\) "))
        page_of.evaluate("chirrup.toggle()")
        expect(page_of).not_to_have_title(re.compile(r"^\("))
        seen = [name for name, _ in page_of.evaluate("seen")]
        missing = {"ready", "open", "close", "message", "unread", "status"} - set(seen)
        self.promise(f"the page hears of everything; the title counts what is unread {missing or ''}", not missing)
        times = widget.own.last.locator("xpath=..").inner_text()
        mute = widget.panel.get_by_role("button", name=EN["mute"])
        mute.click()
        page_of.reload()
        page_of.evaluate("chirrup.open()")
        expect(mute).to_have_attribute("aria-pressed", "true")
        self.promise(f"it stays mute over a refresh; the time is written as in Britain: {times!r}",
                     re.search(r"\b\d\d:\d\d\b", times) and not re.search("[AP]M", times))
        mute.click()
        expect(mute).to_have_attribute("aria-pressed", "false")
        page_of.evaluate("chirrup.destroy()")
        expect(page_of.locator("chirrup-chat")).to_have_count(0)
        types = page.request.get(f"{self.options.base_url}/widget.d.ts")
        self.promise("it can be taken away, and its types are served", "interface Chirrup" in types.text())
        page_of.close()

    def hostile(self, page: Page) -> None:
        """A server that sends what it should not, marks without an end, and words that would break a layout (X02, X03,
        X04, X08)."""
        it = self.page(self.context())
        frames = ["not json", '{"type":"nothing","html":"<b>"}', '[1,2]', "null", '{"type":"message"}']

        def through(route) -> None:
            server = route.connect_to_server()
            server.on_message(lambda message: [route.send(message), *map(route.send, frames[1:])])

        it.route_web_socket(SOCKET, through)
        widget = Widget(it, self.options.base_url).open()
        marks = "*[_" * 2600
        for text in (marks, WORD[:5000], LINKS):
            widget.say(text)
        widget.committed()
        self.promise("marks of other languages stay what they are", marks in widget.own.first.inner_text())
        links = widget.own.last.locator("a").all_text_contents()
        self.promise(f"only addresses that look like what they are become links: {links}",
                     links[0] == "https://example.com/a?b=1" and not any("\u202e" in link for link in links)
                     and not any("script" in link for link in links))
        wide = it.evaluate(
            "() => { const log = document.querySelector('chirrup-chat').shadowRoot.querySelector('.log');"
            " return log.scrollWidth - log.clientWidth; }")
        self.promise("a word of 5,000 letters stays inside, frames of nonsense do no harm", wide <= 0)
        widget.say("\u0645\u0631\u062d\u0628\u0627 https://example.com/a/?b=1/")
        widget.committed()
        straight = widget.own.last.locator("a").evaluate(
            "(link) => { const at = (from) => { const range = document.createRange();"
            " range.setStart(link.firstChild, from); range.setEnd(link.firstChild, from + 1);"
            " return range.getBoundingClientRect().left; };"
            " return at(0) < at(8) && at(8) < at(link.textContent.length - 1); }")
        self.promise("an address among Arabic words is not turned", straight)
        self.shot(it, "widget-hostile")
        it.close()

    def long(self, page: Page) -> None:
        """More of one day than is loaded at first."""
        widget = self.visitor().open()
        widget.say("Hello")
        widget.committed()
        session = self.session(widget.page)
        for number in range(110):
            self.tell(session, body=f"line {number}")
        widget.page.reload()
        log = widget.panel.get_by_role("log")
        expect(log.locator(".say")).to_have_count(50)
        expect(log.locator(".say").last).to_contain_text("line 109")
        # In one go: where it stands before the earlier ones come, and after.
        moved = log.evaluate("""async (log) => {
          const frame = () => new Promise(requestAnimationFrame);
          log.scrollTop = 120;
          const first = log.querySelector('.say');
          const place = () => first.getBoundingClientRect().top;
          const before = place();
          while (log.querySelector('.say') === first) await frame();
          return place() - before;
        }""")
        expect(log.locator(".say")).to_have_count(100)
        self.promise(f"the visible messages do not move while earlier messages come ({moved} px)", abs(moved) < 2)
        widget.page.close()

    def looks(self, page: Page) -> None:
        for scheme in ("light", "dark"):
            for size, (width, height) in {"desktop": (1280, 860), "phone": (390, 844)}.items():
                widget = self.visitor(width=width, height=height, color_scheme=scheme)
                widget.launcher.click()
                expect(widget.panel.get_by_text("Ask us.")).to_be_visible()
                self.accessible(widget.page, f"the greeting, {scheme}, {size}")
                widget.text.fill("Hello")
                widget.text.press("Enter")
                widget.committed()
                self.shot(widget.page, f"widget-{scheme}-{size}")
                self.accessible(widget.page, f"a conversation, {scheme}, {size}")
                if size == "phone":
                    box = widget.panel.bounding_box()
                    self.promise("it fills a phone", (box["width"], box["height"]) == (390, 844))
                widget.page.close()


def main(kind=WidgetRun, title="widget", *further) -> int:
    """`further` are names of options that this kind of run needs, too."""
    options = argparse.ArgumentParser(description=__doc__)
    for name in ("base-url", "database", "psql", "operator-token", *further):
        options.add_argument(f"--{name}", required=True)
    options.add_argument("--shots", help="a folder for pictures")
    options.add_argument("--only", help="names of parts, separated by commas")
    options.add_argument("--chromium", default=os.environ.get("CHROMIUM") or None)
    arguments = options.parse_args()
    arguments.operator_token = json.loads(arguments.operator_token)["token"]
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        # Chromium's own sandbox does not work for root in a container.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=sandbox)
        run = kind(browser, arguments)
        try:
            run.run()
        except (Failure, AssertionError, Error) as failure:
            if not isinstance(failure, Failure):
                lines = [frame.lineno for frame in traceback.extract_tb(failure.__traceback__)
                         if frame.filename == __file__]
                words = str(failure).strip().splitlines() or [type(failure).__name__]
                print(f"FAIL  {words[0]} (lines {lines})", *words[1:12], *run.watch.complaints, sep="\n      ")
            for number, context in enumerate(browser.contexts):
                for page in context.pages:
                    run.shot(page, f"failed-{number}")
            return 1
        finally:
            browser.close()
    print(f"{title}: {run.count} promises kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
