"""Two visitors are merged in the console while both write; their browsers go on, before and after a reload.

Started by merge.sh.
"""

import re
import sys

from browser_test import Console
from playwright.sync_api import expect
from widget_test import WidgetRun, main


class MergeRun(WidgetRun):
    def run(self) -> None:
        first = self.page(self.context())
        demo = first.request.get(f"{self.options.base_url}/demo").text()
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        self.phone, self.laptop = self.visitor(), self.visitor()
        for widget, words in ((self.phone, "from the phone"), (self.laptop, "from the laptop")):
            widget.open()
            widget.say(words)
            widget.committed()
        self.sessions = [self.session(widget.page) for widget in (self.phone, self.laptop)]
        for session, name, mail, plan in zip(self.sessions, ("Ada", "Ada Lovelace"), ("ada@example.com", None),
                                             ("basic", "pro")):
            self.sql(f"UPDATE visitors v SET name = '{name}', email = nullif('{mail}', 'None'),"
                     f" attributes = '{{\"plan\": \"{plan}\"}}' FROM chat_sessions s WHERE s.id = '{session}'"
                     " AND v.id = s.user_id")
        self.ids = [self.owner(session) for session in self.sessions]
        self.desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        self.desk.login()
        self.panel = self.desk.page.get_by_role("complementary", name="Visitor")
        self.dialog = self.desk.page.get_by_role("dialog", name="Merge visitors")
        for part in (self.search, self.preview, self.merge, self.talk, self.reload, self.identities):
            part()

    def owner(self, session: str) -> str:
        return self.sql(f"SELECT user_id FROM chat_sessions WHERE id = '{session}'")

    def open(self, session: str) -> None:
        self.desk.page.goto(f"{self.options.base_url}/console#{session}")
        self.panel.get_by_role("button", name="Merge with…").wait_for()

    def search(self) -> None:
        page = self.desk.page
        self.open(self.sessions[1])
        self.panel.get_by_role("button", name="Merge with…").focus()
        page.keyboard.press("Enter")
        field = self.dialog.get_by_label("Who is the same person")
        expect(field).to_be_focused()
        field.fill("nobody at all")
        expect(self.dialog.get_by_text("No other visitor found.")).to_be_visible()
        field.fill("ada")
        found = self.dialog.get_by_role("listitem")
        expect(found).to_have_count(1)
        expect(found).to_contain_text("ada@example.com, 1 conversation")
        self.pictures(page, "merge-search")
        self.accessible(page, "the search for the other visitor")
        page.keyboard.press("Escape")
        expect(self.dialog).to_have_count(0)
        expect(self.panel.get_by_role("button", name="Merge with…")).to_be_focused()
        self.promise("an operator finds the other visitor by name, and Escape changes nothing",
                     self.owner(self.sessions[0]) == self.ids[0])

    def choose(self, words: str) -> None:
        self.panel.get_by_role("button", name="Merge with…").click()
        self.dialog.get_by_label("Who is the same person").fill(words)
        self.dialog.get_by_role("listitem").get_by_role("button").first.click()

    def preview(self) -> None:
        page = self.desk.page
        self.choose(self.ids[0])
        expect(self.dialog).to_contain_text("2 conversations")
        expect(self.dialog).to_contain_text("Not kept: plan basic.")
        expect(self.dialog).to_contain_text("ada@example.com")
        expect(self.dialog.get_by_role("radio", name="Ada Lovelace", exact=True)).to_be_checked()
        self.pictures(page, "merge-preview")
        self.accessible(page, "the preview of a merge")
        self.promise("the preview shows what holds, what is lost, and asks where both have a value",
                     self.owner(self.sessions[0]) == self.ids[0])

    def merge(self) -> None:
        self.dialog.get_by_role("radio", name="Ada", exact=True).check()
        self.dialog.get_by_role("button", name="Merge", exact=True).click()
        expect(self.dialog).to_have_count(0)
        expect(self.panel.locator(".past")).to_contain_text("from the phone")
        expect(self.panel.locator(".mail")).to_have_text("ada@example.com")
        expect(self.panel.locator(".person h2")).to_have_text("Ada")
        self.pictures(self.desk.page, "merge-done")
        self.promise("after the confirmation one visitor has both conversations and the chosen name",
                     {self.owner(session) for session in self.sessions} == {self.ids[1]})
        self.promise("the audit log has the merge, by the operator", self.sql(
            "SELECT actor || ' ' || (details ->> 'merged') FROM audit_log WHERE action = 'visitor.merged'"
        ) == f"operator {self.ids[0]}")

    def talk(self) -> None:
        sockets = [len(widget.sockets) for widget in (self.phone, self.laptop)]
        for widget, session, name in ((self.phone, self.sessions[0], "phone"), (self.laptop, self.sessions[1], "laptop")):
            widget.say(f"again from the {name}")
            widget.committed()
            self.open(session)
            expect(self.desk.theirs.last).to_have_text(f"again from the {name}")
            self.desk.say(f"to the {name}")
            expect(widget.theirs.last).to_have_text(f"to the {name}")
        self.promise("both go on without a new connection",
                     sockets == [len(widget.sockets) for widget in (self.phone, self.laptop)])

    def reload(self) -> None:
        for widget, session, name in ((self.phone, self.sessions[0], "phone"), (self.laptop, self.sessions[1], "laptop")):
            widget.page.reload()
            if not widget.panel.is_visible():
                widget.launcher.click()
            expect(widget.own).to_have_count(2)
            expect(widget.own.first).to_contain_text(f"from the {name}")
            expect(widget.theirs.last).to_have_text(f"to the {name}")
            widget.say("after the reload")
            widget.committed()
            self.promise(f"after a reload the {name} has its own conversation, each message once",
                         self.session(widget.page) == session)
        bodies = self.sql("SELECT count(*) FROM chats WHERE content = 'after the reload'")
        self.promise("and its messages arrive", bodies == "2")

    def identities(self) -> None:
        self.sql(f"UPDATE visitors SET external_id = 'customer-1' WHERE id = '{self.ids[1]}'")
        other = self.sql("INSERT INTO visitors (workspace_id, external_id, name) SELECT id, 'customer-2', 'Bert'"
                         " FROM workspaces RETURNING id")
        self.watch.expected = re.compile(r"\b409\b")
        self.choose("Bert")
        expect(self.dialog).to_contain_text("two customers")
        self.pictures(self.desk.page, "merge-refused")
        self.promise("two customers of the site are not merged, and the dialog says why",
                     self.sql(f"SELECT merged_into IS NULL FROM visitors WHERE id = '{other}'") == "t")


if __name__ == "__main__":
    sys.exit(main(MergeRun, "merge"))
