"""The widget's main path in browsers besides Chromium: a visitor opens it, talks to an operator, reloads; the page
replaces its body and opens a dialog. Keys and presses are those of a person.

firefox_test.py and webkit_test.py drive the browsers.
"""

import argparse
import json
import re
import time
import urllib.request
import uuid
from pathlib import Path

from browser_test import Failure, foreign_server
from websockets.sync.client import connect
from widget_texts import EN

PATIENCE = 60  # seconds, on a busy machine
ENTER, ESCAPE = "\ue007", "\ue00c"  # WebDriver, Keyboard actions
ROOT = "document.querySelector('chirrup-chat')?.shadowRoot"
PANEL = f"{ROOT}.querySelector('dialog')"


class Browser:
    """One tab of a browser."""

    name = ""
    #: HTML that the test's page begins with.
    preamble = ""
    #: What the page has complained of.
    complaints: list[str] = []

    def open(self, url: str) -> None:
        raise NotImplementedError

    def reload(self) -> None:
        raise NotImplementedError

    def value(self, expression: str):
        """The value of an expression, which may be a promise."""
        raise NotImplementedError

    def act(self, kind: str, actions: list[dict]) -> None:
        """Moves the "pointer" or uses the "key"s (WebDriver, Actions)."""
        raise NotImplementedError

    def picture(self) -> bytes:
        raise NotImplementedError

    def close(self) -> None:
        raise NotImplementedError

    def until(self, expression: str) -> None:
        limit = time.monotonic() + PATIENCE
        while not self.value(expression):
            if time.monotonic() > limit:
                raise Failure(f"not after {PATIENCE} s: {expression}")
            time.sleep(0.1)

    def press(self, element: str) -> None:
        """Presses the middle of an element, whatever lies over it."""
        self.until(f"!!{element}?.checkVisibility()")
        box = self.value(f"(await Promise.all({element}.getAnimations({{ subtree: true }}).map((it) => it.finished)),"
                         f" {element}.getBoundingClientRect().toJSON())")
        x, y = (round(box[start] + box[size] / 2) for start, size in (("x", "width"), ("y", "height")))
        self.act("pointer", [{"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0},
                             {"type": "pointerUp", "button": 0}])

    def type(self, text: str) -> None:
        self.act("key", [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")])


class Run:
    def __init__(self, browser: Browser, options: argparse.Namespace) -> None:
        self.browser = browser
        self.options = options
        self.count = 0

    def promise(self, words: str, holds=True) -> None:
        self.count += 1
        complaints = self.browser.complaints
        if complaints:
            holds = False
            words += "".join(f"\n      {complaint}" for complaint in complaints)
        print(f"{'PASS' if holds else 'FAIL'}  {words}", flush=True)
        if not holds:
            raise Failure(words)

    def shot(self, name: str) -> None:
        if self.options.shots:
            folder = Path(self.options.shots)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{self.browser.name.lower()}-{name}.png").write_bytes(self.browser.picture())

    def reply(self, session: str, body: str) -> None:
        """Sends one message as an operator."""
        url = self.options.base_url.replace("http", "ws", 1) + "/api/v1/ws"
        with connect(url, subprotocols=["chirrup.v1"]) as socket:
            socket.send(json.dumps({"type": "hello", "ref": 1, "token": self.options.operator_token,
                                    "subscribe": [{"session": session, "tail": 1}]}))
            while True:
                for line in socket.recv(timeout=PATIENCE).splitlines():
                    frame = json.loads(line)
                    if frame["type"] == "live":
                        socket.send(json.dumps({"type": "send", "ref": 2, "session": session,
                                                "id": str(uuid.uuid4()), "body": body}))
                    if frame["type"] == "ack":
                        return
                    if frame["type"] == "error":
                        raise Failure(f"an operator's message is acknowledged: {line}")

    def texts(self, side: str) -> str:
        bubbles = f"{PANEL}?.querySelectorAll('.say.{side} .bubble:not(.pending, .typing)')"
        return f"[...{bubbles} ?? []].map((it) => it.textContent)"

    def run(self) -> None:
        browser, base = self.browser, self.options.base_url
        demo = urllib.request.urlopen(f"{base}/demo", timeout=PATIENCE).read().decode()
        key = re.search('data-workspace="([^"]+)"', demo).group(1)
        server = foreign_server(
            "<!doctype html><html lang=en><title>A shop</title><link rel=icon href=data:,>"
            f"{browser.preamble}"
            "<body style='transform: translateX(0); height: 3000px; margin: 0'>"
            "<dialog id=terms><button id=ask onclick='chirrup.open()'>Ask us</button></dialog>"
            "<button id=read onclick='terms.showModal()'>Terms</button>"
            f"<script src={base}/widget.js data-workspace={key}></script>", "object-src 'none'")
        launcher = f"{ROOT}.querySelector('.launcher')"
        text = f"{PANEL}?.querySelector('.compose textarea')"
        focused = f"!!{text} && {ROOT}.activeElement === {text}"
        hello = f"Hello from {browser.name}"
        browser.open(f"http://127.0.0.1:{server.server_port}/")
        corner = browser.value(f"((it) => [document.documentElement.clientWidth - it.right, innerHeight - it.bottom])"
                               f"({launcher}.getBoundingClientRect())")
        self.promise(f"the launcher is in the window's corner, though the body has a transform: {corner}",
                     [round(it) for it in corner] == [20, 20])
        browser.press(launcher)
        browser.until(focused)
        browser.type(hello + ENTER)
        browser.until(f"{self.texts('out')}.includes('{hello}')")
        self.shot("message")
        self.promise("a message is written, sent and committed")
        session = browser.value(f"JSON.parse(localStorage['chirrup:{key}']).session")
        self.reply(session, "Hello visitor\n    indented")
        browser.until(f"{self.texts('in')}.includes('Hello visitor\\n    indented')")
        self.promise("the operator's reply appears")
        browser.type("half a sen")
        browser.reload()
        browser.until(f"{text}?.value === 'half a sen' && {self.texts('out')}.length === 1")
        self.promise("after a reload the chat is open, with its history and the draft")
        sideways = browser.value("((log) => getComputedStyle(log).overflowX !== 'hidden'"
                                 " && log.scrollWidth > log.clientWidth)"
                                 f"({PANEL}.querySelector('.log'))")
        self.promise("the log cannot be scrolled sideways", not sideways)
        browser.value("(document.body.replaceWith(document.createElement('body')), 1)")
        browser.press(text)
        browser.type("tence" + ENTER)
        browser.until(f"{self.texts('out')}.includes('half a sentence')")
        self.promise("it lives on when the page replaces its body")
        browser.type(ESCAPE)
        browser.until(f"!{PANEL}.open")
        self.reply(session, "The hose of your brake has arrived. " * 12)
        browser.until(f"{launcher}.textContent === '1' && document.title === '(1) A shop'")
        self.shot("teaser")
        browser.press(launcher)
        browser.until(f"document.title === 'A shop' && {focused}")
        self.promise("a message that arrives while it is closed is counted until it is opened")
        browser.type(ESCAPE)
        browser.open(f"http://127.0.0.1:{server.server_port}/")
        browser.press("document.querySelector('#read')")
        browser.press("document.querySelector('#ask')")
        browser.until(focused)
        browser.type("What are the terms?" + ENTER)
        browser.until(f"{self.texts('out')}.includes('What are the terms?')")
        self.shot("dialog")
        browser.type(ESCAPE)
        browser.until(f"!{PANEL}.open && document.querySelector('#terms').open")
        browser.type(ESCAPE)
        browser.until("!document.querySelector('#terms').open")
        self.promise("a modal dialog of the page opens it, and remains below it")
        browser.until(f"({launcher}.ariaLabel ?? {launcher}.getAttribute('aria-label')) === {json.dumps(EN['open'])}")
        self.promise(f"the launcher has a name again: {EN['open']}")
        server.shutdown()


def main(open_browser) -> int:
    """Runs the test in the browser that the function opens with the parsed options."""
    options = argparse.ArgumentParser()
    for name in ("base-url", "program", "operator-token"):
        options.add_argument(f"--{name}", required=True)
    options.add_argument("--profile", type=Path, required=True, help="a folder that does not exist")
    options.add_argument("--shots", help="a folder for pictures")
    arguments = options.parse_args()
    arguments.operator_token = json.loads(arguments.operator_token)["token"]
    browser = open_browser(arguments)
    run = Run(browser, arguments)
    try:
        run.run()
    except Failure as failure:
        print(f"FAIL  {failure}")
        return 1
    finally:
        browser.close()
    print(f"the widget in {browser.name}: {run.count} promises kept")
    return 0
