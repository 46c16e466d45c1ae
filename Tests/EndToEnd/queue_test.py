"""What visitors see of the queue, and of the operator who has their conversation, is true.

Started by queue.sh. Pages and sockets are real; SQL writes settings, and the waits of conversations before the test.
"""

import re
import sys
import time

from browser_test import Console, Failure, Widget
from playwright.sync_api import expect
from widget_talk_test import TONES
from widget_test import WidgetRun, main
from widget_texts import EN

#: The gateways trust absences ten seconds after their start, and look every two seconds.
PATIENCE = 30_000


class QueueRun(WidgetRun):
    def run(self) -> None:
        first = self.page(self.context())
        demo = first.request.get(f"{self.options.base_url}/demo").text()
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        self.config = f"{self.options.base_url}/api/v1/widget/config?workspace={self.key}"
        for part in (self.honest, self.away, self.requeued, self.visitor_state, self.unseen, self.unread,
                     self.resting, self.blocked, self.sounds):
            if not self.options.only or part.__name__ in self.options.only.split(","):
                part(first)

    def queue(self, page, **values) -> None:
        """Writes the setting, and waits until the gateway answers by it."""
        minutes = values.get("close_after_minutes", 60)
        self.set(page, lambda it: it["queue"]["close_after_minutes"] == minutes, queue=values)

    def console(self) -> Console:
        desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        desk.login()
        return desk

    def head(self, widget: Widget):
        return widget.panel.locator(".who p")

    def state(self, session: str) -> str:
        return self.sql(f"SELECT status FROM chat_sessions WHERE id = '{session}'")

    def conversation(self, desk: Console) -> tuple[Widget, str]:
        """A visitor's conversation that the operator has claimed and answered."""
        widget = self.visitor().open()
        widget.say("Is anybody there?")
        widget.committed()
        session = self.session(widget.page)
        self.claimed(desk, widget)
        return widget, session

    def claimed(self, desk: Console, widget: Widget) -> None:
        desk.page.goto(f"{self.options.base_url}/console#{self.session(widget.page)}")
        desk.page.get_by_role("button", name="Claim", exact=True).click()
        desk.say("I am")
        expect(widget.theirs.last).to_have_text("I am")

    # The parts

    def honest(self, page) -> None:
        widget = self.visitor().open()
        widget.say("Hello")
        widget.committed()
        place = widget.panel.get_by_text(EN["place"])
        widget.page.wait_for_timeout(3_000)
        self.promise("nobody is there: no position", place.count() == 0)
        desk = self.console()
        expect(place).to_be_visible(timeout=PATIENCE)
        self.promise("an operator comes: the visitor sees the position, without an estimate",
                     "Estimated" not in widget.panel.locator(".queue").inner_text())
        # Each of the last conversations waited two minutes, with one before it.
        self.sql(
            "INSERT INTO chat_sessions (workspace_id, status, queued_at, claimed_at, closed_at)"
            " SELECT id, 'closed', now() - n * interval '1 minute' - interval '2 minutes',"
            " now() - n * interval '1 minute', now() FROM workspaces, generate_series(3, 9) n"
        )
        second = self.visitor().open()
        second.say("Hello, too")
        second.committed()
        expect(second.panel.locator(".queue strong")).to_have_text("2", timeout=PATIENCE)
        # Two minutes for two positions.
        expect(second.panel.locator(".queue")).to_contain_text("Estimated wait: 2 minutes", timeout=PATIENCE)
        self.promise("the estimate is what the last conversations waited")
        self.pictures(second.page, "queue-estimate")
        self.set(page, lambda it: not it["hours"]["is_open"], hours={"always": False, "days": []})
        expect(second.panel.locator(".queue")).to_have_count(0, timeout=PATIENCE)
        self.promise("after the business hours there is neither position nor estimate")
        self.set(page, lambda it: it["hours"]["is_open"], hours={"always": True})
        for it in (widget, second, desk):
            it.page.context.close()

    def away(self, page) -> None:
        desk = self.console()
        widget, session = self.conversation(desk)
        name = self.sql(f"SELECT operator_name FROM chat_sessions WHERE id = '{session}'")
        here = EN["here"].replace("{}", name)
        gone = EN["gone"].replace("{}", name)
        expect(self.head(widget)).to_have_text(here)
        widget.page.wait_for_timeout(10_000)  # The gateway has seen its operators for that long.
        desk.page.reload()
        expect(desk.page.get_by_role("heading", name="Inbox")).to_be_visible()
        widget.page.wait_for_timeout(9_000)
        self.promise("a console that reloads is not away", self.head(widget).inner_text() == here)
        desk.page.context.close()
        began = time.monotonic()
        expect(self.head(widget)).to_have_text(gone, timeout=PATIENCE)
        seconds = time.monotonic() - began
        self.promise(f"the console has gone: the visitor sees it after {seconds:.1f} s", seconds <= 10)
        self.accessible(widget.page, "the widget of an operator who is away")
        self.pictures(widget.page, "operator-away")
        widget.page.reload()
        expect(self.head(widget)).to_have_text(gone, timeout=PATIENCE)
        self.promise("… also after a reload of the page")
        desk = self.console()
        expect(self.head(widget)).to_have_text(here, timeout=PATIENCE)
        self.promise("the operator is back: the visitor sees that, too")
        for it in (widget, desk):
            it.page.context.close()

    def requeued(self, page) -> None:
        self.queue(page, assign="off", reassign_after_seconds=20)
        desk = self.console()
        widget, session = self.conversation(desk)
        # One who has just claimed keeps the conversation.
        self.sql(f"UPDATE chat_sessions SET claimed_at = now() - interval '1 hour' WHERE id = '{session}'")
        desk.page.context.close()
        began = time.monotonic()
        while self.state(session) != "waiting":
            if time.monotonic() - began > 90:
                raise Failure("the conversation of an operator who has gone stays with them")
            time.sleep(0.5)
        seconds = time.monotonic() - began
        self.promise(f"without automatic assignment it is back in the queue after {seconds:.0f} s, not before 15",
                     seconds >= 14)
        expect(self.head(widget)).not_to_contain_text("Chatting")
        widget.page.context.close()

    def visitor_state(self, page) -> None:
        self.queue(page, capacity=5)
        desk = self.console()
        widget, session = self.conversation(desk)
        name = desk.page.locator(".names h2").inner_text()
        other = self.console()
        expect(other.page.locator(f".row[data-id='{session}'] b")).to_have_text(f"{name} · /demo")
        self.promise(
            "a visitor without a name has the same generated name for all, and the row shows the page",
            re.fullmatch(r"[A-Z][a-z]+(-[a-z]+)?( [A-Z][a-z]+)*", name) is not None,
        )
        other.page.context.close()
        row = desk.page.locator(f".row[data-id='{session}'] .preview")
        desk.page.goto(f"{self.options.base_url}/console#")
        expect(desk.page.locator(".pane")).to_be_hidden()
        desk.page.wait_for_timeout(1_500)
        widget.text.press_sequentially("I have a quest", delay=60)
        expect(row).to_have_text("typing: I have a quest")
        self.promise("the list shows what a visitor types in a conversation that is not open")
        self.pictures(desk.page, "list-typing")
        widget.text.fill("")
        expect(row).to_have_text("You: I am")
        widget.page.goto("about:blank")
        expect(row).to_have_text("left the page · You: I am")
        self.promise("the list shows that the visitor has left the page")
        self.pictures(desk.page, "list-left")
        desk.page.goto(f"{self.options.base_url}/console#{session}")
        expect(desk.page.locator(".bar .meta").first).to_contain_text("left the page")
        self.promise("the thread shows it, too")
        widget.page.goto(f"{self.options.base_url}/demo")
        expect(desk.page.locator(".bar .meta").first).not_to_contain_text("left the page")
        desk.page.goto(f"{self.options.base_url}/console#")
        expect(row).to_have_text("You: I am")
        self.promise("the visitor is back: list and thread show that")
        # The visitor has the page open, and not the chat.
        widget.page.get_by_role("button", name=EN["close"]).first.click()
        desk.page.goto(f"{self.options.base_url}/console#{session}")
        desk.say("Are you still there?")
        expect(desk.page.locator(".bar .meta").first).to_contain_text("away", timeout=120_000)
        desk.page.goto(f"{self.options.base_url}/console#")
        expect(row).to_have_text("away · You: Are you still there?")
        self.promise("who has not looked at the chat for a minute is away")
        self.accessible(desk.page, "the list")
        self.pictures(desk.page, "list-away")
        for it in (widget, desk):
            it.page.context.close()

    def unseen(self, page) -> None:
        """The live preview is switched off: operators see that somebody types, and no word of it is sent."""
        self.set(page, lambda it: it["preview"] is False, widget={"preview": False})
        desk = self.console()
        visitor = self.page(self.context())
        sent: list[str] = []
        visitor.on("websocket", lambda socket: socket.on("framesent", lambda text: sent.append(str(text))))
        widget = Widget(visitor, self.options.base_url).open()
        widget.say("Is anybody there?")
        widget.committed()
        visitor.reload()
        expect(widget.own.last.locator(".bubble")).to_have_text("Is anybody there?")
        desk.page.goto(f"{self.options.base_url}/console#{self.session(visitor)}")
        expect(desk.theirs.last).to_have_text("Is anybody there?")
        widget.text.press_sequentially("a half thought", delay=60)
        expect(desk.page.locator(".bubble.preview")).to_have_text("…")
        self.promise("without the live preview operators see that a visitor types",
                     any('"typing"' in it for it in sent))
        self.promise("and nothing of the text leaves the visitor's browser",
                     not any("half" in it for it in sent) and "half" not in desk.page.content())
        widget.text.fill("")
        self.set(page, lambda it: it["preview"], widget={"preview": True})
        for it in (widget, desk):
            it.page.context.close()

    def unread(self, page) -> None:
        desk = self.console()
        widget = self.visitor().open()
        widget.say("One")
        widget.committed()
        session = self.session(widget.page)
        row = desk.page.locator(f".row[data-id='{session}']")
        expect(row.locator(".count")).to_contain_text("1")
        self.tell(session, kind="note", body="Do not forget")
        desk.page.wait_for_timeout(1_000)
        self.promise("a note behind the visitor's message is not counted as unread",
                     row.locator(".count").inner_text().startswith("1"))
        desk.page.goto(f"{self.options.base_url}/console#{session}")
        expect(widget.own.last).to_contain_text(EN["read"])
        desk.page.goto(f"{self.options.base_url}/console#")
        expect(row.locator(".count")).to_have_count(0)
        self.tell(session, kind="note", body="Nor this")
        desk.page.wait_for_timeout(1_000)
        self.promise("nor after the message was read", row.locator(".count").count() == 0)
        desk.page.goto(f"{self.options.base_url}/console#/settings/queue")
        expect(desk.page.get_by_label("Close conversations without messages")).to_have_value("60")
        self.promise("the settings show after which time conversations are closed")
        self.pictures(desk.page, "settings-queue")
        for it in (widget, desk):
            it.page.context.close()

    def resting(self, page) -> None:
        self.queue(page, capacity=1, close_after_minutes=1)
        desk = self.console()
        self.sql("UPDATE chat_sessions SET status = 'closed', closed_at = now() WHERE status <> 'closed'")
        widget, session = self.conversation(desk)
        line = widget.panel.locator(".status")
        expect(line).to_be_hidden()
        expect(line).to_have_text(EN["closing"].replace("{}", "1 minute"), timeout=70_000)
        self.promise("the widget announces the end of a conversation that rests")
        self.accessible(widget.page, "the announcement")
        self.pictures(widget.page, "closing-soon")
        widget.say("Wait")
        widget.committed()
        expect(line).to_be_hidden()
        self.promise("a message takes the announcement away")
        expect(widget.panel.get_by_text(EN["closed"]).first).to_be_visible(timeout=120_000)
        self.promise("a conversation that rests is closed", self.state(session) == "closed")
        lines = self.sql(f"SELECT count(*) FROM chats WHERE session_id = '{session}' AND payload ->> 'rule' = 'resting'")
        self.promise("… once, with a line of its log that says so", lines == "1")
        rest = self.sql(
            "SELECT extract(epoch FROM max(created_at) FILTER (WHERE payload ->> 'rule' = 'resting')"
            " - max(created_at) FILTER (WHERE kind = 'text')) >= 60"
            f" FROM chats WHERE session_id = '{session}'"
        )
        self.promise("… not before a minute after the last message", rest == "t")
        expect(desk.page.locator(".log")).to_contain_text("nobody wrote any more")
        self.pictures(widget.page, "closed-by-rest")
        self.conversation(desk)
        self.promise("the operator, whose capacity is 1, may take the next one")

    def blocked(self, page) -> None:
        desk = self.console()
        widget = self.visitor().open()
        widget.say("Buy this")
        widget.committed()
        session = self.session(widget.page)
        row = desk.page.locator(f".row[data-id='{session}']")
        expect(row).to_be_visible()
        desk.page.goto(f"{self.options.base_url}/console#{session}")
        card = desk.page.get_by_role("complementary", name="Visitor")
        card.get_by_role("button", name="Block visitor").click()
        self.watch.expected = re.compile("status of 403")  # the browser notes refused requests
        begin = time.monotonic()
        card.get_by_role("button", name="Block", exact=True).click()
        expect(card).to_contain_text("Blocked")
        took = time.monotonic() - begin
        # Nothing tells the visitor; the messages wait in the page until it gives up.
        for number in range(8):
            widget.text.fill(f"and this, {number}")
            widget.text.press("Enter")
        widget.page.wait_for_timeout(3_000)
        stored = self.sql(f"SELECT count(*) FROM chats WHERE session_id = '{session}' AND role = 'visitor'")
        self.promise(f"a visitor is blocked within {took:.1f} s, and none of eight messages is stored then: {stored}",
                     stored == "1")
        expect(row).to_have_count(0)
        self.promise(f"the conversation waits no longer: {self.state(session)}", self.state(session) == "closed")
        widget.page.reload()
        widget.page.wait_for_timeout(2_000)
        stored = self.sql(f"SELECT count(*) FROM chats WHERE session_id = '{session}' AND role = 'visitor'")
        self.promise("nor after a reload of the page", stored == "1")
        self.watch.expected = re.compile(r"$^")
        self.pictures(widget.page, "queue-blocked")
        for it in (widget, desk):
            it.page.context.close()

    def sounds(self, page) -> None:
        self.queue(page, capacity=5)
        context = self.context(1440, 900)
        context.add_init_script(TONES)
        desk = Console(self.page(context), self.options.base_url, None, None)
        desk.login()
        tones = lambda: desk.page.evaluate("tones")

        def comes(words: str) -> Widget:
            widget = self.visitor().open()
            widget.say(words)
            widget.committed()
            expect(desk.page.locator(f".row[data-id='{self.session(widget.page)}']")).to_be_visible()
            return widget

        first = comes("Hello")
        self.promise(f"a new conversation makes two tones: {tones()}", tones() == 2)
        desk.page.wait_for_timeout(1_600)  # of the quiet time between two sounds
        self.claimed(desk, first)
        first.say("Are you there?")
        expect(desk.theirs.last).to_have_text("Are you there?")
        self.promise("a message of the open conversation makes none", tones() == 2)
        desk.page.get_by_role("link", name="Analytics").first.click()
        first.say("Hello?")
        first.committed()
        desk.page.wait_for_timeout(1_000)
        self.promise(f"one of another conversation makes one: {tones()}", tones() == 3)
        desk.page.wait_for_timeout(1_600)
        desk.page.evaluate("""localStorage['chirrup:console:alerts'] = JSON.stringify({ sound: false })""")
        desk.page.goto(f"{self.options.base_url}/console")
        desk.page.reload()
        expect(desk.rows.first).to_be_visible()
        desk.page.keyboard.press("Shift")
        second = comes("Hello again")
        desk.page.wait_for_timeout(500)
        self.promise("none with sounds off", tones() == 0)
        for it in (first, second, desk):
            it.page.context.close()


if __name__ == "__main__":
    sys.exit(main(QueueRun, "queue"))
