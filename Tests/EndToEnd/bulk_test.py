"""Operators change many conversations at once, by keys and by pointer, and colleagues see it as it happens.

Started by bulk.sh. Pages and sockets are real; conversations are made by REST, as a server would begin them.
"""

import re
import sys

from browser_test import Console
from playwright.sync_api import expect
from widget_test import WidgetRun, main

LIST = "/api/v1/admin/live-chat/conversations"
MACROS = "/api/v1/admin/macros"
COUNT = 45  # conversations: three requests of a bulk action


class BulkRun(WidgetRun):
    def run(self) -> None:
        self.mika = self.console()
        self.colleague = self.console()
        self.members = [
            self.rest("POST", LIST, {"visitor": {"name": f"Visitor {n:02}"}, "title": f"Order {n:02}"})["conversation"]["id"]
            for n in range(COUNT)
        ]
        expect(self.tab(self.mika, "Waiting")).to_contain_text(str(COUNT))
        self.selecting()
        self.tagging()
        self.closing()
        self.macros()
        self.in_thread()

    def console(self) -> Console:
        desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        desk.login()
        return desk

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

    def tab(self, desk: Console, name: str):
        return desk.page.get_by_role("button", name=re.compile(f"^{name}"))

    def bar(self, desk: Console):
        return desk.page.locator(".bulk-bar b")

    def report(self, desk: Console):
        return desk.page.locator(".bulk-report p")

    def tool(self, name: str):
        return self.mika.page.locator(".bulk").get_by_role("button", name=name, exact=True)

    # The parts

    def selecting(self) -> None:
        page = self.mika.page
        self.tab(self.mika, "Waiting").click()
        page.locator(".row").first.focus()
        page.keyboard.press("x")
        expect(self.bar(self.mika)).to_have_text("1 selected")
        for _ in range(3):
            page.keyboard.press("Shift+ArrowDown")
        expect(self.bar(self.mika)).to_have_text("4 selected")
        self.promise("X selects the row with the focus, Shift and arrows the next ones")
        page.locator(".row .pick").nth(1).click()
        expect(self.bar(self.mika)).to_have_text("3 selected")
        page.locator(".row").nth(6).click(modifiers=["Shift"])
        expect(self.bar(self.mika)).to_have_text("7 selected")
        self.promise("so do the box at a row, and Shift with a click all rows up to it")
        page.mouse.move(900, 500)
        self.accessible(page, "the list with a selection")
        self.pictures(self.mika.page, "bulk-selected")
        page.keyboard.press("Escape")
        expect(page.locator(".bulk")).to_be_hidden()
        self.promise("Escape clears the selection")

    def tagging(self) -> None:
        page = self.mika.page
        page.locator(".row").first.focus()
        page.keyboard.press("x")
        page.locator(".bulk").get_by_role("button", name="Select all shown").click()
        expect(self.bar(self.mika)).to_have_text(f"{COUNT} selected")
        self.tool("Tags").click()
        page.get_by_label("Add a tag").fill("winter")
        page.keyboard.press("Enter")
        page.keyboard.press("Escape")
        warning = page.get_by_role("alert").filter(has_text="Not saved.")
        expect(warning).to_be_visible()
        self.accessible(page, "the tags that are not saved")
        self.shot(page, "tags-not-saved")
        page.get_by_label("Add a tag").press_sequentially("x")
        expect(warning).to_be_hidden()
        page.keyboard.press("Escape")
        expect(warning).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.get_by_label("Add a tag")).to_have_count(0)
        self.promise("Escape does not discard tags without a word, but when it is pressed again",
                     self.sql("SELECT count(*) FROM session_tags WHERE tag = 'winter'") == "0")
        self.tool("Tags").click()
        page.get_by_label("Add a tag").press("Escape")
        expect(page.get_by_label("Add a tag")).to_have_count(0)
        self.tool("Tags").click()
        page.get_by_label("Add a tag").fill("winter")
        self.pictures(self.mika.page, "bulk-tags")
        page.get_by_role("button", name="Save tags").click()
        expect(self.report(self.mika)).to_have_text(f"{COUNT} tagged.")
        tagged = self.sql("SELECT count(*) FROM session_tags WHERE tag = 'winter'")
        self.promise("all shown conversations are tagged, in requests of 20", tagged == str(COUNT))

    def closing(self) -> None:
        page = self.mika.page
        page.locator(".bulk").get_by_role("button", name="Dismiss").click()
        page.locator(".row").first.focus()
        page.keyboard.press("Control+a")
        expect(self.bar(self.mika)).to_have_text(f"{COUNT} selected")
        for session in self.members[:2]:
            self.rest("POST", f"{LIST}/{session}/close", {})
        page.keyboard.press("e")
        expect(page.get_by_role("form", name=f"Close {COUNT} conversations")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("a.row:focus")).to_have_count(1)
        self.promise("a sheet that is left gives the focus back to the row, also one that was drawn anew")
        row = page.locator(f'a.row[data-id="{self.members[2]}"]')
        row.focus()
        page.keyboard.press("e")
        expect(page.get_by_role("form", name=f"Close {COUNT} conversations")).to_be_visible()
        self.rest("POST", f"{LIST}/{self.members[2]}/close", {})
        expect(row).to_have_count(0)
        page.keyboard.press("Escape")
        expect(page.locator("a.row:focus")).to_have_count(1)
        self.promise("to the first row when that row has left the list")
        page.keyboard.press("e")
        page.locator(".bulk").get_by_label("Reason").fill("Answered by mail")
        page.locator(".bulk").get_by_role("button", name="Close conversation").click()
        expect(self.report(self.mika)).to_have_text(re.compile(rf"^{COUNT - 3} closed\. 3 closed already by .+\.$"))
        self.promise("a bulk close says how many were closed, and who had closed the others")
        expect(self.tab(self.colleague, "Closed")).to_contain_text(str(COUNT))
        self.promise("the colleague's list follows without a reload")
        entries = self.sql(
            "SELECT count(DISTINCT session_id) || ' ' || count(DISTINCT (session_id, seq)) FROM chats"
            " WHERE payload ->> 'event' = 'closed'"
        )
        self.promise(f"each has one entry in its log, with a seq ({entries})", entries == f"{COUNT} {COUNT}")
        self.pictures(self.mika.page, "bulk-closed")
        page.get_by_role("button", name=re.compile("^Undo")).click()
        expect(self.report(self.mika)).to_have_text(f"{COUNT - 3} reopened.")
        expect(self.tab(self.colleague, "Waiting")).to_contain_text(str(COUNT - 3))
        self.promise("Undo reopens those that it closed")

    def macros(self) -> None:
        page = self.mika.page
        page.goto(f"{self.options.base_url}/console#/settings/macros/new")
        editor = page.locator(".stage.editor")
        editor.get_by_label("Name").fill("Solved")
        editor.get_by_label("Shared").check(force=True)
        add = editor.get_by_role("button", name="Add an action")
        add.click()
        editor.get_by_label("Text", exact=True).fill("Glad that it works, {{visitor.name}}.")
        add.click()
        editor.get_by_label("Action", exact=True).nth(1).select_option("add_tags")
        editor.get_by_label("Tags, with commas").fill("solved, bikes")
        add.click()
        editor.get_by_label("Action", exact=True).nth(2).select_option("close")
        self.pictures(self.mika.page, "macro-editor")
        editor.locator("button[type=submit]").click()
        expect(page.locator(".items")).to_contain_text("Solved")
        stored = self.rest("GET", MACROS)["macros"]
        self.promise("a macro is made in the settings",
                     [it["type"] for it in stored[0]["actions"]] == ["reply", "add_tags", "close"])
        self.accessible(page, "the page of macros")
        page.goto(f"{self.options.base_url}/console#")
        self.tab(self.mika, "Waiting").click()
        page.locator(".row").first.focus()
        page.keyboard.press("x")
        for _ in range(4):
            page.keyboard.press("Shift+ArrowDown")
        # Letters do nothing for a moment after the view has changed by itself.
        expect(page.locator(".app:not([data-guarded])")).to_have_count(1)
        page.keyboard.press("m")
        expect(page.locator(".bulk .macros")).to_contain_text("Reply “Glad that it works")
        self.pictures(self.mika.page, "macro-run")
        page.locator(".bulk").get_by_role("button", name="Run", exact=True).click()
        expect(self.report(self.mika)).to_have_text("5 changed by “Solved”.")
        sent = self.sql(
            "SELECT count(*) FROM chats c JOIN chat_sessions s ON s.id = c.session_id JOIN visitors v ON v.id = s.user_id"
            " WHERE c.content = 'Glad that it works, ' || v.name || '.' AND s.status = 'closed'"
        )
        self.promise("a macro writes to each visitor by name, tags and closes", sent == "5")

    def in_thread(self) -> None:
        page = self.mika.page
        session = self.members[-1]
        page.goto(f"{self.options.base_url}/console#{session}")
        expect(page.locator(".log")).to_be_visible()
        page.locator(".log").focus()
        expect(page.locator(".app:not([data-guarded])")).to_have_count(1)
        page.keyboard.press("m")
        page.locator(".dock").get_by_role("button", name="Run", exact=True).click()
        expect(page.locator(".log")).to_contain_text("Glad that it works")
        expect(page.get_by_role("button", name="Reopen", exact=True)).to_be_visible()
        self.promise("a macro runs in the open conversation with one key")


if __name__ == "__main__":
    sys.exit(main(BulkRun, "bulk"))
