"""Saved views: an operator saves filters, a colleague sees the shared one, and both follow without a reload.

Started by views.sh. Pages and sockets are real; conversations are made by REST, as a server would begin them.
"""

import sys

from browser_test import Console
from playwright.sync_api import expect
from widget_test import WidgetRun, main

LIST = "/api/v1/admin/live-chat/conversations"


class ViewRun(WidgetRun):
    def run(self) -> None:
        self.mika = self.console()
        self.colleague = self.console()
        self.sessions = [self.conversation(n) for n in range(8)]
        self.saving()
        self.living()
        self.waiting()
        self.attributes()
        self.changing()
        self.targets()

    def console(self) -> Console:
        desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        desk.login()
        return desk

    def conversation(self, number: int) -> str:
        body = {"visitor": {"name": f"Visitor {number:02}"}, "title": f"Order {number:02}"}
        return self.rest("POST", LIST, body)["conversation"]["id"]

    def rest(self, method: str, path: str, body=None):
        answer = self.mika.page.evaluate(
            "async ([method, path, body]) => { const answer = await fetch(path, { method,"
            " ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }) });"
            " return [answer.status, await answer.json().catch(() => null)]; }",
            [method, path, body],
        )
        if answer[0] >= 300:
            self.promise(f"{method} {path} succeeds: {answer}", False)
        return answer[1]

    def tags(self, session: str, *tags: str) -> None:
        self.rest("PUT", f"{LIST}/{session}/tags", {"tags": list(tags)})

    def chip(self, desk: Console, name: str):
        return desk.page.locator(".views button").filter(has_text=name)

    def number(self, desk: Console, name: str):
        return self.chip(desk, name).locator(".number")

    def button(self, name: str):
        return self.mika.page.get_by_role("button", name=name, exact=True)

    def save(self, name: str, shared: bool) -> None:
        page = self.mika.page
        page.get_by_label("Name", exact=True).fill(name)
        page.get_by_label("Shared with all operators").set_checked(shared)

    # The parts

    def saving(self) -> None:
        page = self.mika.page
        self.tags(self.sessions[0], "billing")
        self.tags(self.sessions[1], "billing")
        self.button("Filter").click()
        for channel, count in (("Website", len(self.sessions)), ("LINE", 0), ("All", len(self.sessions))):
            page.get_by_label("Channel", exact=True).select_option(channel)
            expect(self.mika.rows).to_have_count(count)
        self.promise("the channel is a filter")
        page.get_by_label("Tag", exact=True).select_option("billing")
        expect(self.mika.rows).to_have_count(2)
        self.button("Save as view").click()
        self.save("Billing questions", True)
        self.pictures(page, "views-save")
        self.button("Save view").click()
        expect(self.number(self.mika, "Billing")).to_have_text("2")
        expect(self.chip(self.mika, "Billing")).to_be_focused()
        self.promise("filters are saved as a view, with its count")
        self.accessible(page, "the list with a saved view")
        self.button("Filter").click()
        expect(self.mika.rows).to_have_count(2)
        self.pictures(page, "views")
        self.colleague.page.reload()
        self.chip(self.colleague, "Billing").click()
        expect(self.colleague.rows).to_have_count(2)
        self.promise("a colleague has the shared view")

    def living(self) -> None:
        self.tags(self.sessions[2], "billing")
        expect(self.colleague.rows).to_have_count(3)
        expect(self.number(self.colleague, "Billing")).to_have_text("3")
        self.tags(self.sessions[0])
        expect(self.colleague.rows).to_have_count(2)
        self.rest("POST", f"{LIST}/{self.sessions[1]}/close", {})
        expect(self.colleague.rows).to_have_count(1)
        expect(self.number(self.colleague, "Billing")).to_have_text("1")
        self.promise("its rows and its count follow tags and the end of conversations without a reload")
        self.chip(self.colleague, "Billing").click()
        expect(self.colleague.rows).to_have_count(7)
        self.promise("its button leaves it again")

    def waiting(self) -> None:
        page = self.mika.page
        self.chip(self.mika, "Billing").click()
        self.button("Filter").click()
        page.get_by_label("Waits at least").select_option("2")
        self.button("Save as view").click()
        self.save("Long waits", False)
        self.button("Save view").click()
        expect(self.number(self.mika, "Long waits")).to_have_text("0")
        expect(page.locator(".list .empty b")).to_have_text("No conversations match")
        # Nothing is sent about it: time alone makes it match.
        self.sql(
            "UPDATE chat_sessions SET waiting_since = now() - interval '3 minutes'"
            f" WHERE id = '{self.sessions[4]}'"
        )
        expect(self.mika.rows).to_have_count(1, timeout=15_000)
        expect(self.number(self.mika, "Long waits")).to_have_text("1", timeout=15_000)
        self.promise("a conversation joins a view by waiting, without any event")
        self.colleague.page.reload()
        expect(self.chip(self.colleague, "Billing")).to_be_visible()

    def attributes(self) -> None:
        page = self.mika.page
        self.button("Clear").click()
        page.get_by_label("Attribute").fill("plan=pro")
        expect(page.locator(".list .empty b")).to_have_text("No conversations match")
        visitor = self.sql(f"SELECT user_id FROM chat_sessions WHERE id = '{self.sessions[5]}'")
        self.sql(f"""UPDATE visitors SET attributes = '{{"plan":"pro"}}' WHERE id = '{visitor}'""")
        self.rest("POST", f"{LIST}/{self.sessions[5]}/messages", {"body": "Which plan do you have?"})
        expect(self.mika.rows).to_have_count(1)
        self.promise("a list by an attribute follows events, although they do not have attributes")
        self.button("Clear").click()

    def changing(self) -> None:
        page = self.mika.page
        self.chip(self.mika, "Billing").click()
        page.get_by_label("Operator").select_option("none")
        self.button("Save changes").click()
        expect(self.button("Save changes")).to_be_hidden()
        self.button("Rename").click()
        self.save("Billing, free", True)
        self.button("Save").click()
        expect(self.chip(self.mika, "Billing, free")).to_be_visible()
        self.pictures(page, "views-filters")
        self.rest("POST", f"{LIST}/{self.sessions[6]}/claim", {})
        expect(self.chip(self.colleague, "Billing, free")).to_be_visible()
        self.promise("a view is changed and renamed, and colleagues follow")
        self.button("Delete").click()
        self.button("Delete view").click()
        expect(self.chip(self.mika, "Billing, free")).to_have_count(0)
        expect(self.mika.rows).to_have_count(7)
        left = self.sql("SELECT string_agg(name, ',') FROM saved_views")
        self.promise(f"a deleted view is gone, and the list is whole again ({left})", left == "Long waits")

    def targets(self) -> None:
        page = self.mika.page
        self.button("Filter").click()
        self.rest("PATCH", "/api/v1/admin/settings", {"settings": {"queue": {"first_response_minutes": 90}}})
        for session in self.sessions[2:4]:
            self.rest("POST", f"{LIST}/{session}/claim", {})
        # Also those that waited or were claimed before, and have no answer yet.
        expect(page.locator(".row .due")).to_have_count(4, timeout=15_000)
        expect(page.locator(".row .due").first).to_contain_text("1")
        self.sql(
            "UPDATE chat_targets SET first_response_due_at = now() - interval '3 minutes'"
            f" WHERE session_id = '{self.sessions[2]}'"
        )
        late = page.locator(f'.row[data-id="{self.sessions[2]}"]')
        expect(late.locator(".due")).to_contain_text("over", timeout=15_000)
        self.promise("a missed target appears in the list by itself, after the time that is left to the others")
        late.click()
        expect(page.locator(".pane")).to_contain_text("Target overdue by 3")
        self.pictures(page, "targets")
        self.button("Filter").click()
        page.get_by_label("Due within").select_option("0")
        expect(self.mika.rows).to_have_count(1)
        self.accessible(page, "the list with a target that was missed")
        figures = self.rest("GET", "/api/v1/admin/live-chat/analytics")
        missed, due = figures["missed_targets"], figures["due_targets"]
        self.promise(f"the analytics count it ({missed}, due {due})",
                     missed == {"first_response": 1, "resolution": 0} and due == missed)
        self.rest("POST", f"{LIST}/{self.sessions[2]}/messages", {"body": "Here I am"})
        expect(self.mika.rows).to_have_count(0)
        self.promise("an answer ends the target, and the row leaves the filter")
        self.button("Clear").click()
        page.goto(f"{self.options.base_url}/console#/settings/queue")
        expect(page.get_by_label("Target for the first response")).to_have_value("90")
        self.pictures(page, "targets-settings")


if __name__ == "__main__":
    sys.exit(main(ViewRun, "views"))
