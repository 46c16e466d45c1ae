"""Conversations are titled, deleted and restored; follow events are shown.

Started by deletion.sh. The operator of the demo is an owner; Dana is an agent.
"""

import re
import sys

from browser_test import Console, Widget
from playwright.sync_api import Page, expect
from widget_test import WidgetRun, main

TITLE = "Brake hose for a Magura HS33"


class DeletionRun(WidgetRun):
    def run(self) -> None:
        base = self.options.base_url
        self.visitor_one = self.visitor().open()
        self.visitor_one.say("my brake hose is too short")
        self.visitor_one.committed()
        self.desk = Console(self.page(self.context(1280, 860)), base, None, None)
        self.desk.login()
        self.other = Console(self.page(self.context(1280, 860)), base, None, None)
        self.other.login()
        for part in (self.titled, self.followed, self.deleted, self.undone, self.at_once, self.restored, self.menus):
            part()

    def row(self, console: Console, words: str):
        return console.rows.filter(has_text=words)

    def open_first(self, console: Console, words: str) -> None:
        self.row(console, words).first.click()
        expect(console.page.locator(".log")).to_contain_text(words)

    def more(self, name: str) -> None:
        self.desk.page.get_by_role("button", name="More actions").click()
        self.desk.page.get_by_role("menuitem", name=name).click()

    def shots(self, page: Page, name: str) -> None:
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width, height in ((1280, 860), (390, 844)):
                page.set_viewport_size({"width": width, "height": height})
                page.wait_for_timeout(150)
                self.shot(page, f"{name}-{scheme}-{width}")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1280, "height": 860})

    def titled(self) -> None:
        page = self.desk.page
        self.open_first(self.desk, "brake hose")
        page.get_by_role("button", name="Add a title").click()
        field = page.get_by_role("textbox", name="Title of the conversation")
        expect(field).to_be_focused()
        field.fill("draft")
        field.press("Escape")
        expect(page.get_by_role("button", name="Add a title")).to_be_focused()
        page.keyboard.press("Enter")
        field.fill(TITLE)
        field.press("Enter")
        button = page.get_by_role("button", name=f"Title: {TITLE}. Edit")
        expect(button).to_be_visible()
        expect(button).to_be_focused()
        expect(self.row(self.desk, TITLE)).to_have_count(1)
        expect(self.row(self.other, TITLE)).to_have_count(1)
        self.promise("a title is set in the head by keyboard, Escape keeps the old one, and lists show it",
                     self.sql("SELECT title FROM chat_sessions WHERE last_seq > 0") == TITLE)
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Search and commands").fill("magura")
        expect(page.locator(".found", has_text=TITLE)).to_be_visible()
        self.promise("search finds the title")
        page.keyboard.press("Escape")
        self.shots(page, "title")
        self.accessible(page, "the thread with a title")

    def followed(self) -> None:
        self.sql("INSERT INTO friend_events (workspace_id, visitor_id, channel, event) SELECT workspace_id, user_id,"
                 " 'line', 'unfollow' FROM chat_sessions WHERE last_seq > 0")
        page = self.desk.page
        page.reload()
        self.open_first(self.desk, "brake hose")
        contact = page.locator(".follows li")
        expect(contact).to_have_count(2)
        expect(contact.first).to_contain_text("Unfollowed")
        expect(contact.first).to_contain_text("LINE")
        expect(contact.last).to_contain_text("First contact")
        self.shots(page, "follows")
        self.promise("the visitor's panel shows follow events, newest first")

    def deleted(self) -> None:
        self.open_first(self.other, "brake hose")
        self.more("Delete")
        for console in (self.desk, self.other):
            expect(self.row(console, "brake hose")).to_have_count(0)
        expect(self.other.page.locator(".collision")).to_contain_text("This conversation was deleted")
        expect(self.desk.page.locator(".undo")).to_contain_text("deleted")
        self.shots(self.desk.page, "deleted-undo")
        self.promise("a deletion empties every list at once, is shown to operators who view it, and can be undone",
                     self.sql("SELECT count(*) FROM chat_sessions WHERE deleted_at IS NOT NULL") == "1")
        widget = self.visitor_one
        expect(widget.panel.locator(".say")).to_have_count(0)
        widget.say("is anybody there?")
        widget.committed()
        expect(self.row(self.desk, "is anybody there?")).to_have_count(1)
        self.promise("the visitor's next message begins a new conversation, without an error",
                     widget.panel.get_by_role("alert").count() == 0
                     and self.sql("SELECT count(*) FROM chat_sessions WHERE last_seq > 0") == "2")
        widget.page.reload()
        expect(widget.panel.locator(".say.out .bubble")).to_have_text(["is anybody there?"])
        self.promise("after a reload the widget shows the new conversation only")

    def undone(self) -> None:
        self.desk.page.reload()
        self.open_first(self.desk, "is anybody there?")
        # By keyboard: the search offers the command. No single letter deletes.
        self.desk.page.keyboard.press("Control+k")
        self.desk.page.get_by_role("combobox", name="Search and commands").fill("delete this")
        self.desk.page.keyboard.press("Enter")
        self.desk.page.locator(".undo").get_by_role("button", name="Undo").click()
        expect(self.row(self.desk, "is anybody there?")).to_have_count(1)
        expect(self.desk.page.locator(".log")).to_contain_text("is anybody there?")
        self.promise("undo restores it and opens it again",
                     self.sql("SELECT count(*) FROM chat_sessions WHERE deleted_at IS NOT NULL") == "1")

    def at_once(self) -> None:
        """Sends messages while the conversation is deleted."""
        widget = self.visitor()
        widget.open()
        widget.say("to be deleted")
        widget.committed()
        session = self.sql("SELECT id FROM chat_sessions WHERE last_message_preview = 'to be deleted'")
        widget.page.context.set_offline(True)
        widget.say("written while offline")
        self.desk.page.request.delete(
            f"{self.options.base_url}/api/v1/admin/live-chat/conversations/{session}",
            headers={"authorization": f"Bearer {self.options.operator_token}"})
        widget.page.context.set_offline(False)
        widget.committed()
        expect(widget.own.last.locator(".bubble")).to_have_text("written while offline")
        found = self.sql("SELECT count(*) FROM chats c JOIN chat_sessions s ON s.id = c.session_id"
                         " WHERE c.content = 'written while offline' AND s.deleted_at IS NULL")
        self.promise("a message that was written before the deletion is sent in the new conversation",
                     found == "1" and widget.panel.get_by_role("alert").count() == 0)

    def restored(self) -> None:
        page = self.desk.page
        page.goto(f"{self.options.base_url}/console#/settings/deleted")
        expect(page.get_by_role("heading", name="Deleted conversations")).to_be_visible()
        expect(page.locator(".deleted li")).to_have_count(2)
        expect(page.locator(".deleted li", has_text=TITLE)).to_contain_text("erased on")
        self.shots(page, "deleted-list")
        self.accessible(page, "the list of deleted conversations")
        page.get_by_role("button", name=f"Restore {TITLE}").click()
        expect(page.locator(".deleted li")).to_have_count(1)
        days = page.get_by_label("Erase deleted conversations after")
        days.fill("7")
        page.get_by_role("button", name=re.compile("^Save")).click()
        expect(page.get_by_role("button", name=re.compile("^Save"))).to_be_disabled()
        expect(page.get_by_text("Saved", exact=True)).to_be_visible()
        self.promise("an administrator restores it in the settings, and sets for how long that is possible",
                     self.sql("SELECT value::jsonb ->> 'deleted_days' FROM system_settings WHERE key = 'retention'")
                     == "7")
        page.goto(f"{self.options.base_url}/console#")
        expect(self.row(self.desk, TITLE)).to_have_count(1)
        self.promise("the restored conversation is in the list again")

    def menus(self) -> None:
        page = self.desk.page
        page.request.post(f"{self.options.base_url}/api/v1/admin/rich-menus", data={
            "name": "Start", "actions": [{"label": "Hours", "type": "message", "value": "Hours?"}]},
            headers={"authorization": f"Bearer {self.options.operator_token}"})
        page.goto(f"{self.options.base_url}/console#/settings/menus")
        page.get_by_text("Start", exact=True).first.click()
        expect(page.get_by_text("LINE does not show this menu.", exact=True)).to_be_visible()
        self.shots(page, "menu")
        self.promise("a menu says that LINE does not show it")


if __name__ == "__main__":
    sys.exit(main(DeletionRun, "deletion"))
