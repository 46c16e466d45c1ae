"""Why was this visitor disconnected? The console's page of connections: filters, details, and a kick.

Started by connections.sh. The operator of the demo is an owner.
"""

import re
import sys

from browser_test import Console
from playwright.sync_api import expect
from widget_test import WidgetRun, main


class ConnectionsRun(WidgetRun):
    def run(self) -> None:
        base = self.options.base_url
        self.stays = self.visitor().open()
        self.stays.say("my brake hose is too short")
        self.stays.committed()
        gone = self.visitor().open()
        gone.say("goodbye")
        gone.committed()
        gone.page.close()
        desk = Console(self.page(self.context(1440, 900)), base, None, None)
        desk.login()
        self.page_ = desk.page
        self.page_.goto(f"{base}/console#/settings/connections")
        self.rows = self.page_.locator(".connections tbody tr")
        for part in (self.listed, self.filtered, self.kicked, self.narrow):
            part()

    def pictures(self, name: str) -> None:
        for scheme in ("light", "dark"):
            self.page_.emulate_media(color_scheme=scheme)
            self.page_.wait_for_timeout(150)
            self.shot(self.page_, f"{name}-{scheme}")
        self.page_.emulate_media(color_scheme="light")

    def listed(self) -> None:
        expect(self.page_.get_by_role("heading", name="Connections")).to_be_visible()
        expect(self.rows.filter(has_text="Open")).to_have_count(2)
        expect(self.rows.filter(has_text=re.compile("100[16]"))).to_have_count(1)
        expect(self.rows.filter(has_text="127.0.0.1")).to_have_count(3)
        self.pictures("connections")
        self.accessible(self.page_, "the list of connections")
        self.promise("the page lists the open connections, and the one that ended with its reason")

    def filtered(self) -> None:
        self.page_.get_by_role("button", name="Ended").click()
        expect(self.rows).to_have_count(1)
        self.page_.get_by_role("button", name="All", exact=True).click()
        expect(self.rows).to_have_count(3)
        session = self.sql("SELECT session_id FROM chats WHERE content = 'my brake hose is too short'")
        search = self.page_.get_by_role("searchbox")
        search.fill(session)
        search.press("Enter")
        expect(self.rows).to_have_count(1)
        search.fill("192.0.2.7")
        search.press("Enter")
        expect(self.page_.get_by_text("Nobody matches.")).to_be_visible()
        search.fill(session)
        search.press("Enter")
        expect(self.rows).to_have_count(1)
        self.promise("the list is filtered by state, by the id of a conversation, and by address")

    def kicked(self) -> None:
        self.rows.get_by_role("link").click()
        aside = self.page_.get_by_role("complementary", name="Connection")
        expect(aside.get_by_text("1 in, 1 out")).to_be_visible()
        self.pictures("connection")
        self.traced(aside)
        aside.get_by_label("Reason (for the audit log)").fill("seen twice")
        aside.get_by_role("button", name="Disconnect").click()
        expect(aside.get_by_text("connects again within seconds")).to_be_visible()
        expect(aside.get_by_role("button", name="Cancel")).to_be_focused()
        self.accessible(self.page_, "the question before a kick")
        aside.get_by_role("button", name="Disconnect").click()
        expect(aside.get_by_text("seen twice")).to_be_visible(timeout=15_000)
        expect(aside.get_by_text("4003 Disconnected by an administrator")).to_be_visible()
        self.pictures("connection-ended")
        self.promise("a kick needs a confirmation, and the ended connection shows its reason")
        self.stays.say("still here")
        self.stays.committed()
        self.promise("the client connects again by itself and loses nothing")
        found = self.sql("SELECT details ->> 'reason' FROM audit_log WHERE action = 'connection.disconnected'")
        self.promise("the audit log has the kick", found == "seen twice")

    def traced(self, aside) -> None:
        aside.get_by_role("button", name="Trace", exact=True).click()
        expect(aside.get_by_text("The trace runs.")).to_be_visible()
        lines = aside.get_by_role("log", name="Trace").get_by_role("listitem")
        self.stays.say("words that no trace shows")
        self.stays.committed()
        expect(lines.filter(has_text="Client").filter(has_text="send")).to_have_count(1)
        expect(lines.filter(has_text="Gateway").filter(has_text="ack")).to_have_count(1)
        expect(lines.filter(has_text="words that")).to_have_count(0)
        self.pictures("connection-trace")
        self.accessible(self.page_, "a trace")
        aside.get_by_role("button", name="End trace").click()
        expect(aside.get_by_text("The trace has ended: it was ended.")).to_be_visible()
        self.promise("a trace shows what a client sends and gets, without the text")

    def narrow(self) -> None:
        self.page_.set_viewport_size({"width": 390, "height": 844})
        self.page_.get_by_role("link", name="Back").locator("visible=true").first.click()
        self.pictures("connections-390")
        wide = self.page_.evaluate("document.documentElement.scrollWidth > innerWidth")
        self.promise("a phone shows it without scrolling sideways", not wide)


if __name__ == "__main__":
    sys.exit(main(ConnectionsRun, "connections"))
