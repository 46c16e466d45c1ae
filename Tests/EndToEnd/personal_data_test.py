"""A visitor's data are exported and erased in the console, by those whose role allows it.

Started by personal_data.sh. The operator of the demo is an owner, until the test makes them an agent.
"""

import json
import sys
from pathlib import Path

from browser_test import Console
from playwright.sync_api import expect
from widget_test import WidgetRun, main

SECRET = "my street is Lange Gasse 7"


class PersonalDataRun(WidgetRun):
    def run(self) -> None:
        self.widget = self.visitor().open()
        self.widget.say(SECRET)
        self.widget.committed()
        self.desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        self.desk.login()
        self.part = self.desk.page.locator(".visitor .data")
        self.open()
        for part in (self.exported, self.cancelled, self.refused, self.erased):
            part()

    def open(self) -> None:
        self.desk.rows.first.click()
        expect(self.desk.page.locator(".log")).to_contain_text(SECRET)

    def exported(self) -> None:
        page = self.desk.page
        with page.expect_download() as download:
            self.part.get_by_role("link", name="Download").click()
        copy = json.loads(Path(download.value.path()).read_text())
        bodies = [message["body"] for session in copy["sessions"] for message in session["messages"]]
        self.promise("an owner downloads all data of a visitor as a file",
                     SECRET in bodies and download.value.suggested_filename.startswith("visitor-"))
        self.promise("the audit log has the export, by the operator",
                     self.audited("visitor.exported") == "operator")

    def audited(self, action: str) -> str:
        return self.sql(f"SELECT actor FROM audit_log WHERE action = '{action}' AND actor_id IS NOT NULL")

    def cancelled(self) -> None:
        page = self.desk.page
        self.part.get_by_role("button", name="Erase…").focus()
        page.keyboard.press("Enter")
        question = self.part.locator("#erasure")
        expect(question).to_contain_text("erased for good")
        expect(question).to_contain_text("one conversation")
        expect(self.part.get_by_role("button", name="Erase for good")).to_be_focused()
        self.shots("ask")
        self.accessible(page, "the question before an erasure")
        self.part.get_by_role("button", name="Cancel").click()
        expect(question).to_have_count(0)
        self.promise("the question says what is erased, and Cancel keeps it",
                     self.sql(f"SELECT count(*) FROM chats WHERE content = '{SECRET}'") == "1")

    def shots(self, name: str) -> None:
        page = self.desk.page
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            # In one step, since what is new of the visitor may draw the part anew.
            self.part.evaluate("(node) => node.scrollIntoView()")
            self.shot(page, f"personal-data-{name}-{scheme}-1440")
        page.emulate_media(color_scheme="light")

    def role(self, role: str) -> None:
        self.sql(f"UPDATE memberships SET role = '{role}'")
        self.desk.page.reload()
        self.open()

    def refused(self) -> None:
        self.role("agent")
        expect(self.desk.page.locator(".visitor")).to_contain_text("Block visitor")
        self.promise("an agent is not offered export and erasure", self.part.count() == 0)
        visitor = self.sql("SELECT id FROM visitors")
        answer = self.desk.page.request.get(f"{self.options.base_url}/api/v1/admin/visitors/{visitor}/export")
        self.promise("and the gateway refuses them", answer.status == 403)
        self.role("owner")

    def erased(self) -> None:
        page = self.desk.page
        self.part.get_by_role("button", name="Erase…").click()
        self.part.get_by_role("button", name="Erase for good").click()
        expect(page.locator(".visitor")).to_contain_text("The personal data are erased.")
        expect(self.part).to_have_count(0)
        expect(page.locator(".log")).to_contain_text("[erased]")
        expect(page.locator(".log")).not_to_contain_text(SECRET)
        expect(page.locator("body")).not_to_contain_text("Lange Gasse")
        self.shot(page, "personal-data-erased")
        left = self.sql(
            f"SELECT (SELECT count(*) FROM chats WHERE content LIKE '%{SECRET}%') + (SELECT count(*) FROM visitors)"
            f" + (SELECT count(*) FROM chat_sessions WHERE last_message_preview LIKE '%{SECRET}%')")
        self.promise("after the confirmation the texts and the visitor are gone, and the thread shows it", left == "0")
        self.promise("the audit log has the erasure, by the operator", self.audited("visitor.erased") == "operator")


if __name__ == "__main__":
    sys.exit(main(PersonalDataRun, "personal data"))
