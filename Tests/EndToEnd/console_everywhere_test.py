"""The console on slow, lost and foreign networks, and as an installed application.

Started by console_everywhere.sh; needs a gateway with --demo and some hundred conversations. Bytes are those on the
wire, as Chromium counts them; the slow network is Chromium's emulation.
"""

import re
import sys
import time

from browser_test import Console, Failure, Widget
from playwright.sync_api import Page, expect
from widget_test import WidgetRun, main
from widget_texts import EN

LIST = "/api/v1/admin/live-chat/conversations"
ROUND_TRIP = 150  # ms
BYTES_PER_SECOND = 1_600_000 / 8
#: From the navigation to the first row, of a browser that knows neither the files nor the gateway, in times that a bare
#: transfer of the same answers over the same line takes.
FIRST_LIST = 2
#: The same in milliseconds, on a machine that has nothing else to do.
FIRST_LIST_MS = 1_200
#: Until a silent connection is reported: two seconds, in ticks of a timer of the page itself, so that a busy machine
#: does not decide.
TICK = 100  # ms
SILENCE = 20
FILES_MAX = 6
LIST_BYTES_MAX = 31_000  # of which 240 rows have their channel


class Traffic:
    """The requests of a page and the bytes of their answers on the wire, head and body."""

    def __init__(self, page: Page) -> None:
        self.cdp = page.context.new_cdp_session(page)
        self.paths: dict[str, str] = {}
        self.bytes: dict[str, int] = {}
        self.cdp.on("Network.requestWillBeSent", self.sent)
        self.cdp.on("Network.loadingFinished", self.finished)
        self.cdp.send("Network.enable")

    def sent(self, event) -> None:
        url = event["request"]["url"]
        if not url.startswith("data:"):
            self.paths[event["requestId"]] = re.sub(r"^\w+://[^/]+", "", url)

    def finished(self, event) -> None:
        self.bytes[event["requestId"]] = int(event["encodedDataLength"])

    def rows(self) -> list[tuple[str, int]]:
        return [(path, self.bytes.get(request, 0)) for request, path in self.paths.items()]

    def slow(self) -> None:
        self.cdp.send("Network.setCacheDisabled", {"cacheDisabled": True})
        self.cdp.send("Network.emulateNetworkConditions", {
            "offline": False, "latency": ROUND_TRIP, "downloadThroughput": BYTES_PER_SECOND,
            "uploadThroughput": BYTES_PER_SECOND})


class Network:
    """A page's socket, of which the network may lose all that the gateway sends; nobody reports it."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.lost = False
        self.sockets = 0
        self.probes: list[str] = []
        page.route_web_socket(re.compile("/api/v1/ws$"), self.relay)

    def relay(self, socket) -> None:
        server = socket.connect_to_server()
        self.sockets += 1
        server.on_message(lambda text: None if self.lost else socket.send(text))

        def forward(text) -> None:
            self.probes.extend(re.findall('"pong"', text))
            server.send(text)

        socket.on_message(forward)

    def observe(self) -> None:
        self.page.evaluate(f"window.ticks = 0; setInterval(() => {{ window.ticks += 1; }}, {TICK})")

    def lose(self, act) -> tuple[float, int]:
        """Returns after how many milliseconds and ticks the page shows it."""
        before, ticks = self.page.evaluate("delete seen.lost, delete seen.back, [performance.now(), ticks]")
        self.lost = True
        act()
        limit = time.monotonic() + 30
        while not self.page.evaluate("window.seen.lost"):
            if time.monotonic() > limit:
                raise Failure("the page never shows that the gateway is silent")
            self.page.wait_for_timeout(20)
        took, after = self.page.evaluate("[seen.lost, ticks]")
        return took - before, after - ticks


class Everywhere(WidgetRun):
    def run(self) -> None:
        self.base = self.options.base_url
        for part in (self.weight, self.first_list, self.upgraded, self.offline, self.silent, self.silent_visitor,
                     self.installed):
            if not self.options.only or part.__name__ in self.options.only.split(","):
                part()

    def desk(self, width=1440, height=900, **more) -> Console:
        desk = Console(self.page(self.context(width, height, **more)), self.base, None, None)
        desk.login()
        expect(desk.rows.first).to_be_visible()
        return desk

    def until(self, page: Page, expression: str) -> None:
        """Waits; the policy of the pages forbids the browser's own way, which evaluates a text."""
        limit = time.monotonic() + 30
        while not page.evaluate(expression):
            if time.monotonic() > limit:
                raise Failure(f"never {expression}")
            page.wait_for_timeout(50)

    # The parts

    def weight(self) -> None:
        desk = self.desk()
        page = self.page(desk.page.context)
        traffic = Traffic(page)
        traffic.cdp.send("Network.setCacheDisabled", {"cacheDisabled": True})
        page.goto(f"{self.base}/console")
        expect(page.locator(".row").first).to_be_visible()
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        page.wait_for_timeout(1_000)
        rows = traffic.rows()
        files = [row for row in rows if not row[0].startswith("/api/")]
        lists = [row for row in rows if row[0].startswith(LIST)]
        for path, count in rows:
            print(f"      {count:7,} bytes  {path}")
        self.promise(f"a start loads {len(files)} files of {sum(it[1] for it in files):,} bytes",
                     len(files) <= FILES_MAX)
        self.promise(f"and lists of {sum(it[1] for it in lists):,} bytes",
                     lists and 0 < sum(it[1] for it in lists) < LIST_BYTES_MAX)
        self.promise("no source map is served", "sourceMappingURL" not in "".join(
            page.request.get(self.base + path).text() for path, _ in files))
        desk.page.context.close()

    def first_list(self) -> None:
        desk = self.desk()
        best = None
        for _ in range(6):  # the emulation is exact, but the machine may be busy
            page = self.page(desk.page.context)
            traffic = Traffic(page)
            traffic.slow()
            page.add_init_script("""new MutationObserver(() => {
              if (!window.firstRow && document.querySelector('.row')) window.firstRow = performance.now();
            }).observe(document, { childList: true, subtree: true });""")
            page.goto(f"{self.base}/console", wait_until="commit")
            expect(page.locator(".row").first).to_be_visible()
            took = page.evaluate("window.firstRow")
            page.wait_for_timeout(1_000)  # what else the page loads
            rows = [row for row in traffic.rows() if not row[0].startswith("/api/") or row[0].startswith(LIST)]
            paths = [path for path, _ in rows]
            bare = page.evaluate("""async (paths) => {
              const began = performance.now();
              await Promise.all(paths.map(async (path) => (await fetch(path, { cache: 'no-store' })).arrayBuffer()));
              return performance.now() - began;
            }""", paths)
            # What the transfer takes by the emulation alone; the rest of it is what else the machine has to do.
            alone = ROUND_TRIP + 1_000 * sum(count for _, count in rows) / BYTES_PER_SECOND
            here = (took / bare, took, took * min(1, alone / bare))
            best = min(best or here, here)
            print(f"      {took:.0f} ms, a bare transfer of the {len(paths)} answers {bare:.0f} ms, {alone:.0f} expected")
            page.close()
            if best[0] < FIRST_LIST and best[2] < FIRST_LIST_MS:
                break
        self.promise(f"the first list of a cold start at {ROUND_TRIP} ms and 1.6 Mbit/s takes {best[0]:.2f} times as long"
                     f" as the transfer ({best[1]:.0f} ms)", best[0] < FIRST_LIST)
        self.promise(f"on a machine that has nothing else to do: {best[2]:.0f} ms", best[2] < FIRST_LIST_MS)
        desk.page.context.close()

    def upgraded(self) -> None:
        """The open console is of a version before that of the gateway."""
        desk = self.desk()
        page = self.page(desk.page.context)
        is_old = True

        def older(route) -> None:
            answer = route.fetch()
            text = answer.text()
            build = re.search(r'\.build[!=]=="([0-9a-f]{10})"', text).group(1)
            text = text.replace(build, "0" * 10)
            text = re.sub(r"console-pages-[0-9a-f]{10}", "console-pages-0000000000", text)
            route.fulfill(response=answer, body=text if is_old else answer.text())

        page.route(re.compile(r"/assets/console-[0-9a-f]{10}\.js$"), older)
        page.goto(f"{self.base}/console")
        expect(page.locator(".row").first).to_be_visible()
        is_old = False
        page.get_by_role("link", name="Settings").click()
        expect(page.get_by_role("heading", name="Settings", exact=True)).to_be_visible()
        self.promise("after an upgrade an open console reloads itself and opens the page",
                     page.evaluate("performance.getEntriesByType('navigation')[0].type") == "reload")
        # Gateways of both versions answer: the page of one gets the file of the other again and again.
        is_old = True
        page = self.page(desk.page.context)
        page.route(re.compile(r"/assets/console-[0-9a-f]{10}\.js$"), older)
        loads = []
        page.on("load", lambda it: loads.append(it))
        self.watch.expected = re.compile("Outdated|chirrup")
        page.goto(f"{self.base}/console#/settings")
        expect(page.get_by_text("A new version of the console is here")).to_be_visible()
        page.wait_for_timeout(1_000)
        self.shot(page, "outdated")
        self.promise(f"between two versions it reloads once, then says so ({len(loads)} loads)", len(loads) == 2)
        self.watch.expected = re.compile(r"$^")
        desk.page.context.close()

    #: Times in ms: when the event came, and when the element that reports it appeared.
    OBSERVE = """(words) => {
      const seen = window.seen = {};
      addEventListener('offline', () => { seen.offline = performance.now(); });
      addEventListener('online', () => { seen.online = performance.now(); });
      const all = (root) => [...root.querySelectorAll("*")].flatMap(
        (it) => [it, ...it.shadowRoot ? all(it.shadowRoot) : []]);
      const shown = () => all(document).some((it) => it.checkVisibility()
        && [...it.childNodes].some((part) => part.nodeType === 3 && part.data.includes(words)));
      (function look() {
        if (shown()) seen.lost ??= performance.now(); else if (seen.lost) seen.back ??= performance.now();
        requestAnimationFrame(look);
      })();
    }"""

    def offline(self) -> None:
        self.watch.expected = re.compile("ERR_INTERNET_DISCONNECTED")
        desk = self.desk()
        widget = self.visitor().open()
        widget.say("Hello")
        widget.committed()
        for name, page, words in (
            ("operator", desk.page, "Connection lost."), ("visitor", widget.page, EN["reconnecting"])):
            page.wait_for_timeout(500)
            page.evaluate(self.OBSERVE, words)
            page.context.set_offline(True)
            self.until(page, "window.seen.lost && window.seen.offline")
            took = page.evaluate("seen.lost - seen.offline")
            self.shot(page, f"offline-{name}")
            self.promise(f"the {name} sees the loss of the network after {took:.0f} ms", took <= 2_000)
            page.context.set_offline(False)
            self.until(page, "window.seen.back && window.seen.online")
            took = page.evaluate("seen.back - seen.online")
            self.promise(f"and its return after {took:.0f} ms", took <= 10_000)
        self.watch.expected = re.compile(r"$^")
        desk.page.context.close()
        widget.page.context.close()

    def silent(self) -> None:
        """The network loses all that the gateway sends, and nobody reports it."""
        desk = self.desk()
        page = self.page(desk.page.context)
        network = Network(page)
        probes = network.probes
        page.goto(f"{self.base}/console")
        banner = page.locator(".banner")
        expect(page.get_by_text("Live", exact=True)).to_be_visible()

        def probed(seconds: int) -> int:
            probes.clear()
            page.wait_for_timeout(seconds * 1_000)
            return len(probes)

        # Nobody uses the console: it is at rest.
        count = probed(6)
        self.promise(f"at rest a silent connection is probed every second ({count} in 6 s)",
                     4 <= count <= 8 and banner.is_hidden())
        for value in ("{ saveData: true }", "{ type: 'cellular' }"):
            page.evaluate(f"Object.defineProperty(navigator, 'connection', {{ configurable: true, value: {value} }})")
            count = probed(13)
            self.promise(f"with {value} every ten seconds ({count} in 13 s)",
                         1 <= count <= 2 and banner.is_hidden())
        page.evaluate("delete navigator.connection")
        page.evaluate("Object.defineProperty(document, 'visibilityState', { configurable: true, value: 'hidden' })")
        page.wait_for_timeout(1_500)
        count = probed(6)
        self.promise(f"and not while the tab is hidden ({count} in 6 s)", count == 0)
        page.evaluate("delete document.visibilityState")
        page.evaluate(self.OBSERVE, "The server does not answer.")
        network.observe()

        def lose(act) -> None:
            took, ticks = network.lose(act)
            self.shot(page, "silent")
            self.promise(f"and then silence is reported after {took:.0f} ms", ticks <= SILENCE)
            network.lost = False
            page.get_by_role("button", name="Try now").click()
            expect(banner).to_be_hidden()
            expect(page.get_by_text("Live", exact=True)).to_be_visible()

        lose(lambda: None)
        self.promise("at rest, too")
        page.wait_for_timeout(4_000)  # for 3 s a connection that is being made counts as live, too
        lose(page.locator(".row").first.click)
        probes.clear()
        page.mouse.move(300, 300)
        page.wait_for_timeout(6_000)
        self.promise(f"one who is there has it checked every second ({len(probes)} in 6 s)",
                     4 <= len(probes) <= 8 and banner.is_hidden())
        lose(lambda: None)
        self.promise("“Try now” connects again")
        desk.page.context.close()

    def silent_visitor(self) -> None:
        page = self.page(self.context())
        network = Network(page)
        widget = Widget(page, self.base).open()
        widget.say("Is it there?")
        widget.committed()
        probes = network.probes

        def probed(seconds: int) -> int:
            probes.clear()
            page.wait_for_timeout(seconds * 1_000)
            return len(probes)

        count = probed(6)
        self.promise(f"an open chat at rest is probed every second ({count} in 6 s)", 4 <= count <= 8)
        page.evaluate(self.OBSERVE, EN["reconnecting"])
        network.observe()
        for _ in range(2):
            took, ticks = network.lose(lambda: None)
            self.shot(page, "silent-visitor")
            self.promise(f"the visitor sees silence after {took:.0f} ms", ticks <= SILENCE)
            network.lost = False
            self.until(page, "window.seen.back")
            page.wait_for_timeout(2_000)
        network.lose(lambda: None)
        page.wait_for_timeout(4_000)
        self.promise("it stays visible until the connection is back", page.evaluate("!window.seen.back"))
        sockets = network.sockets
        limit = time.monotonic() + 30
        while network.sockets == sockets and time.monotonic() < limit:
            page.wait_for_timeout(100)
        network.lost = False
        self.until(page, "window.seen.back")
        widget.say("Yes, it is.")
        widget.committed()
        self.promise("a connection that stays silent is made anew", network.sockets > sockets)
        page.get_by_role("button", name=EN["close"]).first.click()
        page.wait_for_timeout(1_500)
        count = probed(4)
        self.promise(f"a closed chat is not probed ({count} in 4 s)", count == 0)
        page.context.close()

    def installed(self) -> None:
        context = self.context(390, 844, has_touch=True, is_mobile=True)
        context.grant_permissions(["notifications"], origin=self.base)
        context.add_init_script("""navigator.setAppBadge = async (count) => { window.badge = count; };
          // as Chromium on Android: a page may not make a notification; another application is in front
          Notification = class { static permission = 'granted'; constructor() { throw new TypeError('Illegal'); } };
          document.hasFocus = () => false;
          localStorage['chirrup:console:alerts'] = '{"desktop":true}';""")
        desk = Console(self.page(context), self.base, None, None)
        page = desk.page
        cdp = context.new_cdp_session(page)
        desk.login()
        expect(desk.rows.first).to_be_visible()
        page.evaluate("navigator.serviceWorker.ready.then(() => 1)")
        manifest = cdp.send("Page.getAppManifest")
        errors = [it["errorId"] for it in cdp.send("Page.getInstallabilityErrors")["installabilityErrors"]]
        # A context of the test is a private window, where Chromium offers no installation.
        self.promise(f"Chromium finds nothing that hinders the installation {errors}",
                     not manifest["errors"] and "Chirrup console" in manifest["data"]
                     and set(errors) <= {"in-incognito"})
        waiting = int(self.sql("SELECT count(*) FROM chat_sessions WHERE status = 'waiting' AND deleted_at IS NULL"))
        self.until(page, f"window.badge >= {waiting}")
        self.promise(f"the icon has a badge ({page.evaluate('window.badge')}, {waiting} of them wait)", waiting > 0)
        self.notified(page)
        self.shot(page, "phone")
        page.get_by_role("button", name=re.compile("Your settings$")).click()
        leave = page.get_by_role("dialog").get_by_role("button", name="Log out")
        expect(leave).to_be_in_viewport()
        self.shot(page, "phone-settings")
        leave.click()
        expect(page.get_by_role("heading", name=re.compile("^Log in to"))).to_be_visible()
        left = page.evaluate("""async () => ({
          caches: (await caches.keys()).length,
          notes: (await (await navigator.serviceWorker.ready).getNotifications()).length, badge: window.badge })""")
        self.promise(f"a phone can log out, which leaves nothing behind {left}",
                     left == {"caches": 0, "notes": 0, "badge": 0})
        self.watch.expected = re.compile("ERR_INTERNET_DISCONNECTED|503")
        context.set_offline(True)
        page.goto(f"{self.base}/console")
        expect(page.get_by_role("heading", name="No connection to the server")).to_be_visible()
        self.promise("without a network the application says so")
        context.set_offline(False)
        expect(page.get_by_role("heading", name=re.compile("^Log in to"))).to_be_visible()
        self.promise("and opens by itself once the network is back")
        self.watch.expected = re.compile(r"$^")
        context.close()

    def notified(self, page: Page) -> None:
        """A notification of a phone: by the worker, since the page may not make one."""
        widget = self.visitor().open()
        widget.say("Is anybody there?")
        widget.committed()
        notes = """async () => (await (await navigator.serviceWorker.ready).getNotifications())
          .map((it) => it.title)"""
        limit = time.monotonic() + 30
        while not (shown := page.evaluate(notes)) and time.monotonic() < limit:
            page.wait_for_timeout(100)
        self.promise(f"a phone gets a notification of a new conversation {shown}", shown == ["A visitor is waiting"])
        widget.page.context.close()


if __name__ == "__main__":
    sys.exit(main(Everywhere, "console everywhere"))
