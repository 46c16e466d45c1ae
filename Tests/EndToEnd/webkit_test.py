"""The widget's main path (other_browsers.py; X13, X14) in WebKit, the engine of Safari. Started by webkit.sh.

Debian's WebKitGTK has a server for WebDriver (https://www.w3.org/TR/webdriver2/) and a small browser.
"""

import base64
import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from browser_test import Failure
from other_browsers import PATIENCE, Browser, main


class WebKit(Browser):
    """One tab of WebKitGTK's MiniBrowser. The test's page collects its own complaints, since WebDriver has none."""

    name = "WebKit"
    preamble = """<script>
      window.complaints = [];
      for (const name of ['error', 'unhandledrejection', 'securitypolicyviolation']) {
        addEventListener(name, (event) => complaints.push(
          `${name}: ${event.message ?? event.reason ?? event.blockedURI}`));
      }
      for (const name of ['error', 'warn']) {
        console[name] = (...words) => complaints.push(`${name}: ${words.join(' ')}`);
      }
    </script>"""

    def __init__(self, driver: str, browser: str, profile: Path, port: int) -> None:
        profile.mkdir(parents=True)
        self.address = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [driver, f"--port={port}"], env=os.environ | {"HOME": str(profile)}, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        try:
            limit = time.monotonic() + PATIENCE
            while not self.is_ready():
                if time.monotonic() > limit or self.process.poll() is not None:
                    raise Failure("WebKitWebDriver does not answer")
                time.sleep(0.1)
            options = {"webkitgtk:browserOptions": {"binary": browser, "args": ["--automation"]}}
            opened = self.ask("POST", "/session", capabilities={"alwaysMatch": options})
            self.session = f"/session/{opened['sessionId']}"
            self.ask("POST", f"{self.session}/window/rect", width=1280, height=860)
        except BaseException:
            self.process.kill()
            raise

    def is_ready(self) -> bool:
        try:
            return self.ask("GET", "/status")["ready"]
        except OSError:
            return False

    def ask(self, method: str, path: str, **body):
        data = None if method == "GET" else json.dumps(body).encode()
        request = urllib.request.Request(self.address + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=2 * PATIENCE) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise Failure(f"{path}: {json.load(error)['value']['message']}") from error

    @property
    def complaints(self) -> list[str]:
        return self.value("window.complaints")

    def open(self, url: str) -> None:
        self.ask("POST", f"{self.session}/url", url=url)

    def reload(self) -> None:
        self.ask("POST", f"{self.session}/refresh")

    def value(self, expression: str):
        script = ("const done = arguments[0]; (async () => JSON.stringify(await (" + expression + ") ?? null))()"
                  ".then((value) => done({ value }), (error) => done({ error: `${error}` }));")
        answer = self.ask("POST", f"{self.session}/execute/async", script=script, args=[])
        if "error" in answer:
            raise Failure(f"{expression}: {answer['error']}")
        return json.loads(answer["value"])

    def act(self, kind: str, actions: list[dict]) -> None:
        self.ask("POST", f"{self.session}/actions", actions=[{"type": kind, "id": kind, "actions": actions}])

    def picture(self) -> bytes:
        return base64.b64decode(self.ask("GET", f"{self.session}/screenshot"))

    def close(self) -> None:
        try:
            self.ask("DELETE", self.session)
        finally:
            self.process.terminate()
            self.process.wait(20)


def opened(options) -> WebKit:
    driver, browser, port = options.program.split(",")
    return WebKit(driver, browser, options.profile, int(port))


if __name__ == "__main__":
    sys.exit(main(opened))
