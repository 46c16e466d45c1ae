"""Push messages to operators, from the button in the console to the notification.

Started by push.sh; needs two gateways with --demo on one database. Chromium has no push service of its own here: its
PushManager is replaced by one whose subscriptions lead to the service of push_service.py, and what that decrypts is
handed to the real service worker by Chromium's own tools.
"""

import json
import os
import re
import signal
import sys
import time
import uuid

from browser_test import Console, Failure
from playwright.sync_api import Page, expect
from push_service import Browser, Push, Service
from websockets.sync.client import connect
from widget_test import WidgetRun, main

PATH = "/api/v1/auth/push"
LIMIT = 60  # s; of waiting for what must come
#: Longer than a gateway takes to look for events twice.
TURN = 3  # s
MANAGER = """(made) => {
  window.asked = 0;
  const ask = Notification.requestPermission;
  Notification.requestPermission = () => { window.asked += 1; return ask.call(Notification); };
  const known = () => localStorage.pushed ? { toJSON: () => made, unsubscribe: async () => {
    delete localStorage.pushed; return true; } } : null;
  PushManager.prototype.getSubscription = async () => known();
  PushManager.prototype.subscribe = async (options) => {
    window.options = options; localStorage.pushed = 1; return known();
  };
}"""


class Visitor:
    """Writes over a socket, without a browser."""

    def __init__(self, run: "Pushes", name: str, page="My order", session=None) -> None:
        self.run = run
        self.token = run.request("POST", "/api/v1/widget/token", {
            "workspace": run.key, "name": name,
            "context": {"page": "https://shop.example/orders/7", "title": page}})
        self.session = self.token["session"]
        run.sql(f"UPDATE visitors SET name = '{name}' WHERE id = "
                f"(SELECT user_id FROM chat_sessions WHERE id = '{self.session}')")

    def say(self, body: str) -> None:
        url = self.run.options.base_url.replace("http", "ws", 1) + "/api/v1/ws"
        with connect(url, subprotocols=["chirrup.v1"]) as socket:
            send = {"type": "send", "ref": 2, "session": self.session, "id": str(uuid.uuid4()), "body": body}
            socket.send(json.dumps({"type": "hello", "ref": 1, "token": self.token["token"],
                                    "subscribe": [{"session": self.session, "tail": 1}]}))
            socket.send(json.dumps(send))
            while True:
                for line in socket.recv(timeout=30).splitlines():
                    frame = json.loads(line)
                    if frame["type"] == "error":
                        raise Failure(f"a visitor's message is refused: {line}")
                    if frame["type"] == "ack":
                        return


class Pushes(WidgetRun):
    def run(self) -> None:
        self.base = self.options.base_url
        self.service = Service()
        self.desk = self.context(1440, 900)
        self.desk.grant_permissions(["notifications"], origin=self.base)
        demo = self.desk.request.get(f"{self.base}/demo").text()
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        self.browser_of_mika = self.service.browser("mika")
        for part in (self.turned_on, self.visible, self.hidden, self.worker, self.mine, self.choices, self.repeated,
                     self.paused, self.killed, self.gone, self.shut_out):
            part()

    # Requests, and waiting

    def request(self, method: str, path: str, body: dict | None = None, expected=(200, 201, 204)) -> dict:
        """A request of the console's login."""
        answer = self.desk.request.fetch(
            self.base + path, method=method, headers={"Origin": self.base, "Sec-Fetch-Site": "same-origin"},
            **({"data": body} if body is not None else {}))
        if answer.status not in expected:
            raise Failure(f"{method} {path}: HTTP {answer.status} {answer.text()}")
        return answer.json() if answer.body() else {}

    def subscribe(self, name: str, *answers, **choices) -> Browser:
        """A new browser of the login, in place of the former."""
        browser = self.service.browser(name, *answers)
        self.request("PUT", PATH, {**self.service.subscription(browser), "waiting": True, "messages": True, **choices})
        return browser

    def until(self, what: str, holds) -> None:
        limit = time.monotonic() + LIMIT
        while not holds():
            if time.monotonic() > limit:
                self.promise(f"never: {what}", False)
            time.sleep(0.05)

    def of(self, browser: Browser, visitor: Visitor) -> list[Push]:
        if browser.faults:
            raise Failure("; ".join(browser.faults))
        return [it for it in browser.pushes if it.message["conversation"] == visitor.session]

    def pushed(self, browser: Browser, visitor: Visitor, count=1) -> list[Push]:
        self.until(f"{count} push messages about {visitor.session}: {browser.pushes}",
                   lambda: len(self.of(browser, visitor)) >= count)
        return self.of(browser, visitor)

    def notice(self, visitor: Visitor) -> str:
        """Whether the newest event is sent: `t`, `f`, or nothing."""
        return self.sql(f"SELECT next_attempt_at IS NULL FROM push_notices WHERE session_id = '{visitor.session}'")

    def see(self, page: Page, state: str) -> None:
        """Chromium without a screen hides no page."""
        page.evaluate("""(state) => {
          Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
          document.dispatchEvent(new Event('visibilitychange'));
        }""", state)

    def attended(self) -> None:
        """Returns when the gateways know that a console is visible."""
        self.until("a visible console is noted", lambda: self.sql(
            "SELECT bool_or(active_at > coalesce(hidden_at, '-infinity')) FROM operator_presence") == "t")

    def unattended(self) -> None:
        """Returns when the gateways know that no console is visible: 6 s after it was hidden."""
        self.until("no console is visible", lambda: self.sql(
            "SELECT bool_and(active_at IS NULL OR hidden_at >= active_at AND hidden_at < now() - interval '6 s')"
            " FROM operator_presence") == "t")

    # The parts

    def turned_on(self) -> None:
        page = self.page(self.desk)
        page.add_init_script(f"({MANAGER})({json.dumps(self.service.subscription(self.browser_of_mika))})")
        self.console = Console(page, self.base, None, None)
        self.console.login()
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        page.goto(f"{self.base}/console#/settings/notifications")
        turn_on = page.get_by_role("button", name="Turn on")
        expect(turn_on).to_be_visible()
        self.promise("no page asks for permission by itself", page.evaluate("window.asked") == 0)
        self.pictures(page, "push-off")
        turn_on.click()
        expect(page.get_by_role("button", name="Turn off")).to_be_visible()
        key = self.request("GET", PATH)["public_key"]
        self.promise("the button does, and subscribes with the gateway's key",
                     page.evaluate("window.asked") == 1
                     and page.evaluate("window.options.applicationServerKey") == key
                     and page.evaluate("window.options.userVisibleOnly") is True)
        self.accessible(page, "the page of notifications")
        self.pictures(page, "push-on")
        stored = self.sql("SELECT encode(ciphertext, 'escape') FROM push_subscriptions"
                          " UNION ALL SELECT encode(ciphertext, 'escape') FROM push_keys")
        self.promise("address and keys are stored encrypted",
                     len(stored.splitlines()) >= 2 and "/push/" not in stored and "127.0.0.1" not in stored)
        page.goto(f"{self.base}/console")
        expect(page.get_by_text("Live", exact=True)).to_be_visible()

    def visible(self) -> None:
        self.attended()
        self.early = Visitor(self, "Early")
        self.early.say("Is anybody there?")
        time.sleep(TURN)
        self.promise("an operator who sees a console gets no push message", not self.browser_of_mika.pushes)

    def hidden(self) -> None:
        self.see(self.console.page, "hidden")
        self.unattended()
        ada = self.ada = Visitor(self, "Ada Lovelace")
        ada.say("Is anybody there?")
        push = self.pushed(self.browser_of_mika, ada)[0]
        self.promise(f"one who sees none gets one, which http-ece decrypts: {push.message}", push.message == {
            "conversation": ada.session, "title": "Ada Lovelace is waiting", "body": "My order"})
        self.promise("py-vapid verifies the sender, whose key is that of the subscription",
                     push.key == self.request("GET", PATH)["public_key"])
        headers = push.headers
        self.promise(f"it is urgent, is kept for an hour, and replaces an earlier one {headers['Topic']}",
                     headers["Urgency"] == "high" and 3_500 < int(headers["TTL"]) <= 3_600
                     and re.fullmatch("[A-Za-z0-9_-]{1,32}", headers["Topic"]))
        ada.say("Hello?")
        time.sleep(TURN)
        self.promise("two gateways have sent it once, further messages of one who waits are no news, and what came"
                     " while the console was visible stays away",
                     len(self.of(self.browser_of_mika, ada)) == 1 and not self.of(self.browser_of_mika, self.early))

    def worker(self) -> None:
        """The real worker gets what the browser has decrypted."""
        page = self.console.page
        page.evaluate("navigator.serviceWorker.ready.then(() => 1)")
        cdp = self.desk.new_cdp_session(page)
        registrations = []
        cdp.on("ServiceWorker.workerRegistrationUpdated", lambda it: registrations.extend(
            one["registrationId"] for one in it["registrations"] if one["scopeURL"].endswith("/console")))
        cdp.send("ServiceWorker.enable")
        self.until("a worker", lambda: page.wait_for_timeout(50) or registrations)
        message = json.dumps(self.browser_of_mika.pushes[0].message)
        other = self.page(self.desk)
        other.goto(f"{self.base}/demo")
        shown = """async () => {
          const known = await (await navigator.serviceWorker.getRegistration('/console')).getNotifications();
          return known.map(({ title, body, tag }) => [title, body, tag]);
        }"""

        def deliver() -> None:
            cdp.send("ServiceWorker.deliverPushMessage", {
                "origin": self.base, "registrationId": registrations[0], "data": message})

        page.bring_to_front()
        deliver()
        time.sleep(1)
        self.promise("a console in front shows no notification", other.evaluate(shown) == [])
        # A page elsewhere of the same origin, as that of a widget, is no console.
        page.goto(f"{self.base}/demo")
        deliver()
        self.until("a notification", lambda: other.evaluate(shown))
        deliver()
        other.wait_for_timeout(500)
        self.promise(f"the worker shows the message, once {other.evaluate(shown)}", other.evaluate(shown) == [
            ["Ada Lovelace is waiting", "My order", self.ada.session]])
        # A click on it opens the conversation in the open console.
        page.goto(f"{self.base}/console")
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        self.attended()
        worker = self.desk.service_workers[0]
        self.watch.expected = re.compile("Not allowed to focus a window")
        worker.evaluate("""async () => {
          const [notification] = await registration.getNotifications();
          dispatchEvent(new NotificationEvent('notificationclick', { notification }));
        }""")
        self.until("the conversation is open", lambda: page.evaluate("location.hash") == f"#{self.ada.session}")
        self.promise("a click on it opens the conversation, and closes it", other.evaluate(shown) == [])
        self.watch.expected = re.compile("$^")
        other.close()
        self.see(page, "hidden")
        self.unattended()

    def mine(self) -> None:
        self.request("POST", f"/api/v1/admin/live-chat/conversations/{self.ada.session}/claim", {})
        self.ada.say("My order has not arrived.")
        push = self.pushed(self.browser_of_mika, self.ada, 2)[1]
        self.promise(f"a message in one's own conversation is pushed {push.message}",
                     push.message["title"] == "Ada Lovelace wrote" and "order has" not in json.dumps(push.message))
        self.console.page.close()
        first = Visitor(self, "First")
        first.say("Hello")
        self.pushed(self.browser_of_mika, first)
        self.promise("also after the console is closed")

    def choices(self) -> None:
        browser = self.subscribe("choosy", waiting=False)
        Visitor(self, "Nobody").say("Hello")
        self.ada.say("Still nothing.")
        self.pushed(browser, self.ada)
        self.promise("an operator chooses what is pushed", len(browser.pushes) == 1)

    def repeated(self) -> None:
        browser = self.subscribe("shaky", (500, {}), (502, {}), (503, {}))
        visitor = Visitor(self, "Repeated")
        visitor.say("Hello")
        pushes = self.pushed(browser, visitor, 4)
        pauses = [after.at - before.at for before, after in zip(pushes, pushes[1:])]
        self.until("the notice is settled", lambda: self.notice(visitor) == "t")
        self.promise(f"a failed attempt is repeated, with growing pauses {[round(it, 1) for it in pauses]}",
                     [it.status for it in pushes] == [500, 502, 503, 201]
                     # RetrySchedule: 0.3 s and its multiples by three, less a fifth. A busy machine is later.
                     and all(it >= 0.24 * 3 ** number for number, it in enumerate(pauses)))

    def paused(self) -> None:
        browser = self.subscribe("busy", (429, {"Retry-After": "4"}))
        visitor, other = Visitor(self, "Paused"), Visitor(self, "Other")
        visitor.say("Hello")
        first = self.pushed(browser, visitor)[0]
        other.say("Hello")
        again, later = self.pushed(browser, visitor, 2)[1], self.pushed(browser, other)[0]
        self.promise(f"Retry-After is heeded for everything that the browser gets ({again.at - first.at:.1f} s)",
                     again.at - first.at >= 4 and later.at - first.at >= 4)

    def killed(self) -> None:
        """The push service has the message, and the gateway that sent it does not live to see the answer."""
        browser = self.subscribe("witness")
        browser.may_answer.clear()
        visitor = Visitor(self, "Witnessed")
        visitor.say("Hello")
        self.pushed(browser, visitor)
        lease = self.sql(f"SELECT lease FROM push_notices WHERE session_id = '{visitor.session}'")
        os.kill(int(self.options.other_gateway), signal.SIGKILL)
        browser.may_answer.set()
        self.until("the notice is settled", lambda: self.notice(visitor) == "t")
        sent = self.of(browser, visitor)
        self.promise(f"after kill -9 of a gateway nothing is lost: sent {len(sent)} times, under one topic",
                     lease and 1 <= len(sent) <= 2 and len({it.headers["Topic"] for it in sent}) == 1)
        follower = Visitor(self, "Follower")
        follower.say("Hello")
        self.pushed(browser, follower)
        time.sleep(TURN)
        self.promise("and the other gateway goes on, once each", len(self.of(browser, follower)) == 1
                     and len(self.of(browser, visitor)) == len(sent))

    def gone(self) -> None:
        browser = self.subscribe("gone", (410, {}))
        Visitor(self, "Gone").say("Hello")
        self.until("the subscription is deleted", lambda: self.sql("SELECT count(*) FROM push_subscriptions") == "0")
        self.promise("a browser that has ended the subscription is forgotten", len(browser.pushes) == 1
                     and self.request("GET", PATH)["subscribed"] is False)

    def shut_out(self) -> None:
        for name, end, again in (
            ("a disabled login", "UPDATE operators SET disabled_at = now()", "UPDATE operators SET disabled_at = NULL"),
            ("another password", "UPDATE operators SET password_hash = 'x' || password_hash",
             "UPDATE operators SET password_hash = substr(password_hash, 2)"),
            ("an expired login", "UPDATE operator_sessions SET expires_at = expires_at - interval '1 year'",
             "UPDATE operator_sessions SET expires_at = expires_at + interval '1 year'")):
            browser = self.subscribe(name.replace(" ", "-"))
            self.sql(end)
            Visitor(self, "Outside").say("Hello")
            time.sleep(TURN)
            sent = len(browser.pushes)
            # From then on the message is news again.
            self.sql(again)
            self.promise(f"{name} is sent nothing", not sent)
        browser = self.subscribe("leaver")
        self.request("POST", "/api/v1/auth/logout", {})
        self.promise("a log-out deletes the subscription", self.sql("SELECT count(*) FROM push_subscriptions") == "0"
                     and self.sql("SELECT count(*) FROM push_notices") == "0")
        Visitor(self, "Late").say("Hello")
        time.sleep(TURN)
        self.promise("and nothing is sent any more", not browser.pushes)


if __name__ == "__main__":
    sys.exit(main(Pushes, "push messages", "other-gateway"))
