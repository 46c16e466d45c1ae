"""The widget's main path (other_browsers.py; X13, X14) in Firefox. Started by firefox.sh.

Debian's Firefox speaks WebDriver BiDi (https://w3c.github.io/webdriver-bidi/) over a WebSocket, so neither playwright's
own Firefox nor geckodriver is needed.
"""

import base64
import json
import re
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

from browser_test import Failure
from other_browsers import PATIENCE, Browser, main
from websockets.sync.client import connect


class Firefox(Browser):
    """One tab of a Firefox without windows. A message on a page's console is a complaint."""

    name = "Firefox"

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
        answer = self.ask(
            "script.evaluate", expression=f"(async () => JSON.stringify(await ({expression}) ?? null))()",
            target={"context": self.tab}, awaitPromise=True)
        if answer["type"] != "success":
            raise Failure(f"{expression}: {answer['exceptionDetails']['text']}")
        return json.loads(answer["result"]["value"])

    def act(self, kind: str, actions: list[dict]) -> None:
        self.ask("input.performActions", context=self.tab, actions=[{"type": kind, "id": kind, "actions": actions}])

    def picture(self) -> bytes:
        return base64.b64decode(self.ask("browsingContext.captureScreenshot", context=self.tab)["data"])

    def close(self) -> None:
        self.open_socket.close()
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


if __name__ == "__main__":
    sys.exit(main(lambda options: Firefox(options.program, options.profile)))
