"""The widget in Firefox: a visitor opens it, talks to an operator, reloads; the page replaces its body and opens a dialog (X13,
X14).

Started by firefox.sh. Debian's Firefox speaks WebDriver BiDi (https://w3c.github.io/webdriver-bidi/) over a WebSocket, so
neither playwright's own Firefox nor geckodriver is needed. Keys and presses are those of a person.
"""

import argparse
import base64
import json
import re
import subprocess
import sys
import time
import urllib.request
import uuid
from contextlib import ExitStack
from pathlib import Path

from browser_test import Failure, foreign_server
from websockets.sync.client import connect
from widget_texts import EN

PATIENCE = 60  # seconds, on a busy machine
ENTER, ESCAPE = "\ue007", "\ue00c"  # WebDriver, Keyboard actions
ROOT = "document.querySelector('chirrup-chat')?.shadowRoot"
PANEL = f"{ROOT}.querySelector('dialog')"


class Firefox:
    """One tab of a Firefox without windows. A message on a page's console is a complaint."""

    def __init__(self, binary: str, profile: Path) -> None:
        profile.mkdir(parents=True)
        self.process = subprocess.Popen(
            [binary, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0",
             "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.complaints: list[str] = []
        self.number = 0
        try:
            for line in self.process.stderr:
                if address := re.search(r"BiDi listening on (ws://\S+)", line):
                    break
            else:
                raise Failure("Firefox does not listen")
            self.open_socket = ExitStack()
            self.socket = self.open_socket.enter_context(connect(address[1] + "/session", max_size=1 << 26))
            self.ask("session.new", capabilities={})
            self.ask("session.subscribe", events=["log.entryAdded"])
            self.tab = self.ask("browsingContext.getTree")["contexts"][0]["context"]
            self.ask("browsingContext.setViewport", context=self.tab, viewport={"width": 1280, "height": 860})
        except BaseException:
            self.process.kill()
            raise

    def ask(self, method: str, **params):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv(timeout=PATIENCE))
            if answer.get("method") == "log.entryAdded":
                entry = answer["params"]
                if entry["level"] in ("error", "warn"):
                    self.complaints.append(f"{entry['level']}: {entry['text']}")
            if answer.get("id") == self.number:
                if answer["type"] == "error":
                    raise Failure(f"{method}: {answer['message']}")
                return answer["result"]

    def open(self, url: str) -> None:
        self.ask("browsingContext.navigate", context=self.tab, url=url, wait="complete")

    def reload(self) -> None:
        self.ask("browsingContext.reload", context=self.tab, wait="complete")

    def value(self, expression: str):
        """The value of an expression, which may be a promise."""
        answer = self.ask(
            "script.evaluate", expression=f"(async () => JSON.stringify(await ({expression}) ?? null))()",
            target={"context": self.tab}, awaitPromise=True)
        if answer["type"] != "success":
            raise Failure(f"{expression}: {answer['exceptionDetails']['text']}")
        return json.loads(answer["result"]["value"])

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
                         f" {element}.getBoundingClientRect())")
        x, y = (round(box[start] + box[size] / 2) for start, size in (("x", "width"), ("y", "height")))
        self.ask("input.performActions", context=self.tab, actions=[{"type": "pointer", "id": "mouse", "actions": [
            {"type": "pointerMove", "x": x, "y": y}, {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0}]}])

    def type(self, text: str) -> None:
        keys = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self.ask("input.performActions", context=self.tab, actions=[{"type": "key", "id": "keys", "actions": keys}])

    def picture(self) -> bytes:
        return base64.b64decode(self.ask("browsingContext.captureScreenshot", context=self.tab)["data"])

    def close(self) -> None:
        self.open_socket.close()
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Run:
    def __init__(self, firefox: Firefox, options: argparse.Namespace) -> None:
        self.firefox = firefox
        self.options = options
        self.count = 0

    def promise(self, words: str, holds=True) -> None:
        self.count += 1
        if self.firefox.complaints:
            holds = False
            words += "".join(f"\n      {complaint}" for complaint in self.firefox.complaints)
        print(f"{'PASS' if holds else 'FAIL'}  {words}", flush=True)
        if not holds:
            raise Failure(words)

    def shot(self, name: str) -> None:
        if self.options.shots:
            folder = Path(self.options.shots)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"firefox-{name}.png").write_bytes(self.firefox.picture())

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
        return f"[...{PANEL}?.querySelectorAll('.say.{side} .bubble:not(.pending, .typing)') ?? []].map((it) => it.textContent)"

    def run(self) -> None:
        firefox, base = self.firefox, self.options.base_url
        demo = urllib.request.urlopen(f"{base}/demo", timeout=PATIENCE).read().decode()
        key = re.search('data-workspace="([^"]+)"', demo).group(1)
        server = foreign_server(
            "<!doctype html><html lang=en><title>A shop</title><link rel=icon href=data:,>"
            "<body style='transform: translateX(0); height: 3000px; margin: 0'>"
            "<dialog id=terms><button id=ask onclick='chirrup.open()'>Ask us</button></dialog>"
            "<button id=read onclick='terms.showModal()'>Terms</button>"
            f"<script src={base}/widget.js data-workspace={key}></script>", "object-src 'none'")
        launcher = f"{ROOT}.querySelector('.launcher')"
        text = f"{PANEL}?.querySelector('.compose textarea')"
        focused = f"!!{text} && {ROOT}.activeElement === {text}"
        firefox.open(f"http://127.0.0.1:{server.server_port}/")
        corner = firefox.value(f"((it) => [document.documentElement.clientWidth - it.right, innerHeight - it.bottom])"
                               f"({launcher}.getBoundingClientRect())")
        self.promise(f"the launcher is in the window's corner, though the body has a transform: {corner}",
                     [round(it) for it in corner] == [20, 20])
        firefox.press(launcher)
        firefox.until(focused)
        firefox.type("Hello from Firefox" + ENTER)
        firefox.until(f"{self.texts('out')}.includes('Hello from Firefox')")
        self.shot("message")
        self.promise("a message is written, sent and committed")
        session = firefox.value(f"JSON.parse(localStorage['chirrup:{key}']).session")
        self.reply(session, "Hello visitor\n    indented")
        firefox.until(f"{self.texts('in')}.includes('Hello visitor\\n    indented')")
        self.promise("the operator's reply appears")
        firefox.type("half a sen")
        firefox.reload()
        firefox.until(f"{text}?.value === 'half a sen' && {self.texts('out')}.length === 1")
        self.promise("after a reload the chat is open, with its history and the draft")
        firefox.value("(document.body.replaceWith(document.createElement('body')), 1)")
        firefox.press(text)
        firefox.type("tence" + ENTER)
        firefox.until(f"{self.texts('out')}.includes('half a sentence')")
        self.promise("it lives on when the page replaces its body")
        firefox.type(ESCAPE)
        firefox.until(f"!{PANEL}.open")
        self.reply(session, "The hose of your brake has arrived. " * 12)
        firefox.until(f"{launcher}.textContent === '1' && document.title === '(1) A shop'")
        self.shot("teaser")
        firefox.press(launcher)
        firefox.until(f"document.title === 'A shop' && {focused}")
        self.promise("a message that arrives while it is closed is counted until it is opened")
        firefox.type(ESCAPE)
        firefox.open(f"http://127.0.0.1:{server.server_port}/")
        firefox.press("document.querySelector('#read')")
        firefox.press("document.querySelector('#ask')")
        firefox.until(focused)
        firefox.type("What are the terms?" + ENTER)
        firefox.until(f"{self.texts('out')}.includes('What are the terms?')")
        self.shot("dialog")
        firefox.type(ESCAPE)
        firefox.until(f"!{PANEL}.open && document.querySelector('#terms').open")
        firefox.type(ESCAPE)
        firefox.until("!document.querySelector('#terms').open")
        self.promise("a modal dialog of the page opens it, and remains below it")
        firefox.until(f"({launcher}.ariaLabel ?? {launcher}.getAttribute('aria-label')) === {json.dumps(EN['open'])}")
        self.promise(f"the launcher has a name again: {EN['open']}")
        server.shutdown()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    for name in ("base-url", "firefox", "operator-token"):
        options.add_argument(f"--{name}", required=True)
    options.add_argument("--profile", type=Path, required=True, help="a folder that does not exist")
    options.add_argument("--shots", help="a folder for pictures")
    arguments = options.parse_args()
    arguments.operator_token = json.loads(arguments.operator_token)["token"]
    firefox = Firefox(arguments.firefox, arguments.profile)
    run = Run(firefox, arguments)
    try:
        run.run()
    except Failure as failure:
        print(f"FAIL  {failure}", *firefox.complaints, sep="\n      ")
        return 1
    finally:
        firefox.close()
    print(f"the widget in Firefox: {run.count} promises kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
