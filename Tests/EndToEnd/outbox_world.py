"""The fixture of outbox_test.py: a gateway and a browser that can be killed, a switch for the sockets, and
PostgreSQL for the comparison.
"""

import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from playwright.sync_api import BrowserContext, Page, WebSocketRoute, expect

from browser_test import SOCKET, Widget

# Watches over the pages' own promise: when a frame goes out, its item has been committed to IndexedDB.
DURABLE = """
window.early = [];
const done = new Set();
const put = IDBObjectStore.prototype.put;
IDBObjectStore.prototype.put = function (item) {
  this.transaction.addEventListener('complete', () => done.add(item.id));
  return put.call(this, item);
};
const send = WebSocket.prototype.send;
WebSocket.prototype.send = function (data) {
  const { type, id } = JSON.parse(data);
  if (type === 'send' && !done.has(id)) window.early.push(id);
  return send.call(this, data);
};
"""


PATIENCE = 60_000  # ms; the limit for any step on a busy machine


def wait_for(what: str, condition, seconds: float = 60):
    limit = time.monotonic() + seconds
    while not (value := condition()):
        if time.monotonic() > limit:
            raise AssertionError(f"not after {seconds} s: {what}")
        time.sleep(0.05)
    return value


class Gateway:
    def __init__(self, options, patience: float = 60) -> None:
        self.options = options
        self.patience = patience
        self.base = f"http://127.0.0.1:{options.port}"
        self.log = open(Path(options.folder) / "gateway.log", "ab")
        self.process: subprocess.Popen | None = None

    def start(self) -> None:
        options = self.options
        self.process = subprocess.Popen(
            [options.chirrup, "serve", "--demo", "--listen", f"127.0.0.1:{options.port}",
             "--database-url", options.database],
            stdout=self.log, stderr=self.log,
        )  # fmt: skip
        wait_for("a gateway that is ready", self.answers, self.patience)

    def answers(self) -> bool:
        try:
            return urllib.request.urlopen(f"{self.base}/readyz", timeout=2).status == 200
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(40)
            except subprocess.TimeoutExpired:
                self.kill()

    def stored(self, prefix: str) -> list[str]:
        """The messages with this prefix, in the order of the log."""
        query = (
            "SELECT content FROM chats c JOIN chat_sessions s ON s.id = c.session_id"
            f" WHERE content LIKE '{prefix} %' ORDER BY s.created_at, c.seq"
        )
        answer = subprocess.run(
            [self.options.psql, "--dbname", self.options.database, "-XAtc", query],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return answer.stdout.split("\n")[:-1]


def postgres(command: str) -> None:
    """start_cluster or stop_cluster of lib.sh."""
    subprocess.run(["bash", "-c", command], check=True, stdout=subprocess.DEVNULL)


class Switch:
    """All sockets of a context: open, closed, or deaf (the gateway's output is lost)."""

    def __init__(self, context: BrowserContext) -> None:
        self.mode = "open"
        self.routes: list[WebSocketRoute] = []
        context.route_web_socket(SOCKET, self.through)

    def through(self, route: WebSocketRoute) -> None:
        if self.mode == "shut":
            route.close(code=4101, reason="shut by the test")
            return
        server = route.connect_to_server()
        server.on_message(lambda message: self.mode == "open" and route.send(message))
        self.routes.append(route)

    def shut(self) -> None:
        self.mode = "shut"
        for route in self.routes:
            route.close(code=4101, reason="shut by the test")
        self.routes.clear()

    def open(self, *pages: Page) -> None:
        self.mode = "open"
        for page in pages:  # the end of the wait between two attempts, whenever it begins
            page.evaluate("setInterval(() => dispatchEvent(new Event('online')), 700)")


class Place:
    """One visitor's browser profile with its pages."""

    def __init__(self, world, init: str = "", **more) -> None:
        self.world = world
        self.context = world.browser.new_context(
            viewport={"width": 1280, "height": 860}, locale="en-GB", **more
        )
        if init:
            self.context.add_init_script(init)
        self.switch = Switch(self.context)

    def widget(self) -> Widget:
        page = self.world.watch.page(self.context.new_page())
        page.set_default_timeout(PATIENCE)
        return Widget(page, self.world.gateway.base).open()

    def started(self, word: str) -> Widget:
        """A widget with an open conversation."""
        widget = self.widget()
        widget.say(word)
        widget.committed()
        return widget

    def close(self) -> None:
        self.context.close()


def states(widget: Widget) -> list[str]:
    """The status of each own message; '' where the next one has the same."""
    return [
        re.sub(r"^\d+:\d+(\s[AP]M)? · ", "", text) if shown else ""
        for text, shown in zip(
            widget.own.locator(".state").all_text_contents(),
            [it.is_visible() for it in widget.own.locator(".state").all()],
        )
    ]


class KilledBrowser:
    """A separate Chromium, whose profile outlives it."""

    def __init__(self, world, profile: Path) -> None:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        executable = os.environ.get("CHROMIUM") or world.playwright.chromium.executable_path
        port_file = profile / "DevToolsActivePort"
        port_file.unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [executable, "--headless=new", "--remote-debugging-port=0", "--no-first-run",
             f"--user-data-dir={profile}", *sandbox, "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        wait_for("a browser", lambda: port_file.exists() and port_file.read_text().count("\n"))
        port = port_file.read_text().split("\n")[0]
        self.browser = world.playwright.chromium.connect_over_cdp(f"http://127.0.0.1:{port}")
        self.context = self.browser.contexts[0]
        self.switch = Switch(self.context)

    def kill(self) -> None:
        """Kills all its processes at once."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def leave(self) -> None:
        """Closes it as a person does."""
        self.browser.new_browser_cdp_session().send("Browser.close")
        self.process.wait(20)
