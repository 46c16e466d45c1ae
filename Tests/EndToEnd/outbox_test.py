"""Nothing that was written is lost, doubled, reordered or said to be sent when it is not.

Started by outbox.sh; needs PostgreSQL and starts the gateway itself. Every promise is printed with its verdict.
"""

import argparse
import os
import re
import sys
import time
from pathlib import Path

from playwright.sync_api import Error, expect, sync_playwright

from browser_test import Failure, Widget
from outbox_refusals import UNSURE, WAITING, Refusals
from outbox_world import DURABLE, PATIENCE, Gateway, KilledBrowser, Place, states
from widget_texts import EN


class Outboxes(Refusals):
    def __init__(self, playwright, browser, options) -> None:
        super().__init__(browser, options)
        self.playwright = playwright
        self.gateway = Gateway(options)
        # Errors that the test causes: a refused socket, a page without its gateway.
        self.watch.expected = re.compile(r"WebSocket|Failed to load resource|chirrup")

    def run(self) -> None:
        self.gateway.start()
        self.open_desk()
        parts = [
            self.durable_first, self.reload, self.two_tabs, self.crashed_tab, self.killed_browser,
            self.killed_gateway, self.lost_ack, self.no_database, self.silent_database,
            self.full_disk, self.no_storage, self.deleted, self.cleared, self.upgraded,
            self.clocks, self.old, self.too_fast, self.refused, self.closed_meanwhile, self.limits,
            self.migration, self.new_token, self.paused, self.console,
        ]  # fmt: skip
        for part in parts:
            if not self.options.only or part.__name__ in self.options.only.split(","):
                begin = time.monotonic()
                part()
                print(f"      {part.__name__}: {time.monotonic() - begin:.1f} s", flush=True)

    def stored(self, what: str, expected: list[str]) -> None:
        """PostgreSQL is the witness."""
        found = self.when_stored(expected[0].split(" ")[0], len(expected))
        self.promise(what if found == expected else f"{what}: {found}", found == expected)

    def when_stored(self, prefix: str, count: int) -> list[str]:
        limit = time.monotonic() + PATIENCE / 1000
        while len(found := self.gateway.stored(prefix)) < count and time.monotonic() < limit:
            self.desk.page.wait_for_timeout(50)  # the routes of the test run only meanwhile
        return found

    def write_shut(self, widget: Widget, place, *texts: str) -> list[str]:
        place.switch.shut()
        for text in texts:
            widget.say(text)
        return list(texts)

    # The page and its storage.

    def durable_first(self) -> None:
        place = Place(self, DURABLE)
        widget = place.started("durable 0")
        for number in range(1, 6):
            widget.say(f"durable {number}")
        widget.committed()
        early = widget.page.evaluate("window.early")
        self.promise("a message is in IndexedDB before it is sent", early == [])
        place.close()

    def reload(self) -> None:
        place = Place(self)
        widget = place.started("reload 0")
        self.write_shut(widget, place, "reload 1", "reload 2", "reload 3")
        self.kept_again(widget, 3)
        widget.page.reload()
        expect(widget.own).to_have_count(3)
        # The status of the last one, without the time.
        last = widget.own.last.locator(".state")
        expect(last).to_have_text(re.compile(rf"^(\d+:\d+(\s[AP]M)? · )?{WAITING}$"))
        expect(last).to_be_visible()
        self.promise(
            "after a reload without a connection all messages are shown, as waiting",
            widget.texts() == ["reload 1", "reload 2", "reload 3"],
        )
        self.shot(widget.page, "outbox-waiting")
        # The workspace's language arrives after the first drawing, which it repeats.
        fewest = widget.page.evaluate(
            """async () => {
              const { shadowRoot } = document.querySelector('chirrup-chat');
              const count = () => shadowRoot.querySelectorAll('.bubble').length;
              let fewest = count();
              const observer = new MutationObserver(() => { fewest = Math.min(fewest, count()); });
              observer.observe(shadowRoot, { childList: true, subtree: true });
              await chirrup.setLocale('de');
              await new Promise(requestAnimationFrame);
              return fewest;
            }"""
        )
        self.promise("another language is applied at once, and the list is never empty", fewest == 3)
        place.switch.open(widget.page)
        widget.committed()
        self.stored("then it goes out", [f"reload {n}" for n in range(4)])
        place.close()

    def two_tabs(self) -> None:
        place = Place(self)
        one = place.started("tabs 0")
        two = place.widget()
        expect(two.own).to_have_count(1)
        place.switch.shut()
        for number in range(1, 7):
            (one if number % 2 else two).say(f"tabs {number}")
        expected = [f"tabs {n}" for n in range(7)]
        expect(one.own).to_have_count(7)
        expect(two.own).to_have_count(7)
        self.promise(
            "two tabs show the same messages in the same order",
            one.texts() == two.texts() == expected and states(one)[1:] == states(two)[1:],
        )
        place.switch.open(one.page, two.page)
        one.committed()
        two.committed()
        self.stored("and send it once, in that order", expected)
        # The other tab sends the messages of a tab that may not connect.
        one.page.evaluate("() => { window.WebSocket = class { close() {} }; }")
        place.switch.shut()
        place.switch.open(two.page)
        two.say("tabs 7")
        two.committed()  # so it is connected, and nothing but the item of the other tab causes a round
        one.say("tabs 8")
        expect(two.own).to_have_count(9)
        two.committed()
        one.committed()
        self.stored("a tab sends what another cannot", [*expected, "tabs 7", "tabs 8"])
        place.close()

    def crashed_tab(self) -> None:
        place = Place(self)
        widget = place.started("crash 0")
        expected = ["crash 0", *self.write_shut(widget, place, "crash 1", "crash 2")]
        # A message is shown at once, and stored on the device some milliseconds later.
        self.kept_again(widget, 2)
        try:
            widget.page.goto("chrome://crash")
        except Error:
            pass
        place.switch.mode = "open"
        widget = place.widget()
        widget.committed()
        expect(widget.own).to_have_count(3)
        self.stored("after the crash of a tab the next one sends it", expected)
        place.close()

    def killed_browser(self) -> None:
        profile = Path(self.options.folder) / "profile"
        profile.mkdir()
        for number in range(3):
            browser = KilledBrowser(self, profile)
            page = self.watch.page(browser.context.new_page())
            widget = Widget(page, self.gateway.base)
            if number == 2:  # nobody opens the chat
                break
            widget.open()
            if number == 1:
                expect(widget.own).to_have_count(1)
                browser.switch.shut()
            widget.say(f"killed {number}")
            if number == 0:
                widget.committed()
                browser.leave()  # so that it knows the visitor
            else:
                widget.say("killed 2")
                self.kept_again(widget, 2)
                browser.kill()
        self.stored("after kill -9 of the whole browser too", [f"killed {n}" for n in range(3)])
        browser.kill()

    # The gateway and the connection.

    def killed_gateway(self) -> None:
        place = Place(self)
        widget = place.started("gateway 0")
        for number in range(1, 9):
            widget.say(f"gateway {number}")
            if number == 4:
                self.gateway.kill()
        expect(widget.panel.locator(".bubble.pending")).not_to_have_count(0)
        stored = self.gateway.stored("gateway")  # PostgreSQL lives on
        filled = widget.own.locator(".bubble:not(.pending)").all_text_contents()
        self.promise(
            "with a stopped gateway no unstored message is shown as sent", set(filled) <= set(stored)
        )
        self.gateway.start()
        place.switch.open(widget.page)
        widget.committed()
        self.stored("a killed gateway finds it again", [f"gateway {n}" for n in range(9)])
        place.close()

    def lost_ack(self) -> None:
        place = Place(self)
        widget = place.started("ack 0")
        place.switch.mode = "deaf"
        widget.say("ack 1")
        self.when_stored("ack", 2)
        place.switch.shut()
        expect(widget.own.last.locator(".state")).to_contain_text(UNSURE)
        self.shot(widget.page, "outbox-unsure")
        widget.page.reload()
        expect(widget.own.last.locator(".state")).to_contain_text(UNSURE)
        self.promise("a stored message with a lost ack is shown as unconfirmed, also after a reload")
        widget.say("ack 2")
        place.switch.open(widget.page)
        widget.committed()
        expect(widget.own).to_have_count(3)
        expect(widget.own.last.locator(".state")).to_contain_text(EN["sent"])
        self.stored("and then it is there once", ["ack 0", "ack 1", "ack 2"])
        place.close()

    def without(self, name: str, init: str) -> None:
        place = Place(self, init)
        self.stands_in(place.started(f"{name} 0"), place, name)

    def stands_in(self, widget: Widget, place: Place, name: str) -> None:
        self.write_shut(widget, place, f"{name} 1", f"{name} 2")
        # by then all delayed work has run
        expect(widget.panel.get_by_role("status").first).to_contain_text(EN["out"].format(2))
        widget.page.wait_for_function(
            "(name) => Object.values(localStorage).join().includes(name)", arg=f"{name} 2"
        )
        widget.page.reload()
        expect(widget.own).to_have_count(2)
        place.switch.open(widget.page)
        widget.committed()
        self.stored(f"localStorage stands in ({name})", [f"{name} {n}" for n in range(3)])
        place.close()

    def no_database(self) -> None:
        self.without("absent", "Object.defineProperty(window, 'indexedDB', { value: undefined })")

    def silent_database(self) -> None:
        self.without("silent", "IDBFactory.prototype.open = () => ({})")

    def full_disk(self) -> None:
        place = Place(self)
        widget = place.started("quota 0")
        widget.page.evaluate(
            "() => { IDBObjectStore.prototype.put = function () {"
            " try { this.transaction.abort(); } catch { /* it is */ } }; }"
        )
        self.stands_in(widget, place, "quota")

    def no_storage(self) -> None:
        place = Place(
            self,
            "for (const name of ['indexedDB', 'localStorage'])"
            " Object.defineProperty(window, name, { get() { throw new Error('blocked'); } })",
        )
        widget = place.started("memory 0")
        expected = ["memory 0", *self.write_shut(widget, place, "memory 1", "memory 2")]
        expect(widget.panel.get_by_role("status").first).to_contain_text(EN["stay"].format(2))
        self.shot(widget.page, "outbox-memory")
        self.promise("without storage a warning is shown")
        place.switch.open(widget.page)
        widget.committed()
        self.stored("and still sends what the page holds", expected)
        place.close()

    def deleted(self) -> None:
        place = Place(self)
        widget = place.started("deleted 0")
        expected = ["deleted 0", *self.write_shut(widget, place, "deleted 1", "deleted 2")]
        widget.page.evaluate(
            """async () => {
              for (const { name } of await indexedDB.databases()) await new Promise((done, fail) => {
                const request = indexedDB.deleteDatabase(name);
                request.onsuccess = done;
                request.onerror = fail;
              });
            }"""
        )
        self.kept_again(widget, 2)
        widget.page.reload()
        expect(widget.own).to_have_count(2)
        place.switch.open(widget.page)
        widget.committed()
        self.stored("a deleted database is filled again", expected)
        place.close()

    @staticmethod
    def kept_again(widget: Widget, count: int) -> None:
        widget.page.wait_for_function(
            """async (count) => {
              const [{ name }] = await indexedDB.databases();
              const request = indexedDB.open(name);
              await new Promise((done) => { request.onsuccess = done; });
              const shelf = request.result.transaction('items').objectStore('items').count();
              await new Promise((done) => { shelf.onsuccess = done; });
              request.result.close();
              return shelf.result === count;
            }""",
            arg=count,
        )

    def cleared(self) -> None:
        place = Place(self)
        widget = place.started("cleared 0")
        expected = ["cleared 0", *self.write_shut(widget, place, "cleared 1")]
        place.context.new_cdp_session(widget.page).send(
            "Storage.clearDataForOrigin", {"origin": self.gateway.base, "storageTypes": "all"}
        )
        widget.say("cleared 2")
        place.switch.open(widget.page)
        widget.committed()
        self.stored("cleared while it waits: the open page still has it", [*expected, "cleared 2"])
        place.close()

    def upgraded(self) -> None:
        place = Place(self)
        widget = place.started("upgraded 0")
        expected = ["upgraded 0", *self.write_shut(widget, place, "upgraded 1")]
        other = place.context.new_page()
        other.goto(f"{self.gateway.base}/healthz")
        other.evaluate(
            """async () => {
              const [{ name }] = await indexedDB.databases();
              const request = indexedDB.open(name, 2);
              await new Promise((done, fail) => { request.onsuccess = done; request.onerror = fail; });
              request.result.close();
            }"""
        )
        widget.say("upgraded 2")
        self.kept_again(widget, 2)
        place.switch.open(widget.page)
        widget.committed()
        self.stored("an open page makes way for an upgrade and goes on", [*expected, "upgraded 2"])
        place.close()

    def clocks(self) -> None:
        place = Place(
            self,
            "window.shift = 0; const now = Date.now; Date.now = () => now() + window.shift;",
        )
        widget = place.started("clock 0")
        place.switch.shut()
        for number, days in enumerate((0, -3, 3), 1):
            widget.page.evaluate(f"window.shift = {days} * 86400000")
            widget.say(f"clock {number}")
        place.switch.open(widget.page)
        widget.committed()
        self.stored("the order holds when the clock does not", [f"clock {n}" for n in range(4)])
        place.close()

    def old(self) -> None:
        """A message of last week waits for its author."""
        place = Place(self, "window.shift = 0; const now = Date.now; Date.now = () => now() + window.shift;")
        widget = place.started("old 0")
        place.switch.shut()
        widget.say("old 1")
        self.kept_again(widget, 1)
        widget.page.evaluate("window.shift = 8 * 86400000")
        place.switch.open(widget.page)
        failed = widget.own.locator(".state.failed")
        expect(failed).to_have_count(1)
        widget.say("old 2")
        widget.committed()
        self.stored("a message of last week is not sent by itself", ["old 0", "old 2"])
        failed.get_by_role("button", name=EN["retry"]).click()
        expect(failed).to_have_count(0)
        widget.committed()
        self.stored("its author sends it, over the same connection", ["old 0", "old 2", "old 1"])
        place.close()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    for name in ("chirrup", "database", "port", "folder", "psql"):
        options.add_argument(f"--{name}", required=True)
    options.add_argument("--shots", help="a folder for pictures")
    options.add_argument("--only", help="names of parts, with commas between them")
    options.add_argument("--chromium", default=os.environ.get("CHROMIUM") or None)
    run = None
    with sync_playwright() as playwright:
        arguments = options.parse_args()
        expect.set_options(timeout=PATIENCE)
        # Chromium's own sandbox does not work for root in a container.
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=arguments.chromium, args=sandbox)
        run = Outboxes(playwright, browser, arguments)
        try:
            run.run()
        except (Failure, AssertionError, Error) as failure:
            if not isinstance(failure, Failure):
                print(f"FAIL  {failure}", *run.watch.complaints, sep="\n      ")
            for number, context in enumerate(browser.contexts):
                for page in context.pages:
                    run.shot(page, f"failed-{number}")
            return 1
        finally:
            browser.close()
            run.gateway.stop()
    print(f"outbox: {run.count} promises kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
