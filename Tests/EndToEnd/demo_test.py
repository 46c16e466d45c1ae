"""A new demo shows what the product is for. Started by demo.sh."""

import re
import sys

from browser_test import Console, Widget
from playwright.sync_api import expect
from widget_test import WidgetRun, main
from widget_texts import EN

#: The rows of pages of the settings, by the page's name.
LISTS = {
    "replies": ["delivery", "return", "workshop", "hose", "bye"],
    "intents": ["Opening hours", "Delivery times", "A person"],
    "menus": ["Main menu"],
    "members": ["Noor"],
}


class DemoRun(WidgetRun):
    def run(self) -> None:
        desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        desk.login()
        tabs = desk.page.get_by_role("navigation", name="Views", exact=True)
        for tab, count in (("Waiting", "1"), ("Mine", "3")):
            expect(tabs.get_by_role("button", name=tab)).to_contain_text(count)
        expect(desk.rows).to_have_count(4)
        self.promise("one conversation waits, and three are the owner's")
        desk.rows.first.click()
        expect(desk.theirs.first).to_be_visible()
        self.shot(desk.page, "demo-console")
        for name, wanted in LISTS.items():
            desk.page.goto(f"{self.options.base_url}/console#/settings/{name}")
            for words in wanted:
                expect(desk.page.locator("main.pane").get_by_text(words).first).to_be_visible()
            self.promise(f"the settings list {', '.join(wanted)}")
        desk.page.goto(f"{self.options.base_url}/console#/analytics")
        tile = desk.page.locator(".tiles").first
        expect(tile).to_contain_text(re.compile(r"^Conversations[1-9]"))
        self.promise(f"the analytics have the conversations of the demo: {tile.inner_text().split()[:3]}")
        widget = Widget(self.page(self.context()), self.options.base_url).open()
        widget.panel.get_by_text(EN["menu"], exact=True).click()
        widget.panel.get_by_role("button", name="Opening hours").click()
        expect(widget.theirs.last).to_contain_text("The shop is open from Monday to Friday")
        self.shot(widget.page, "demo-widget")
        self.promise("the menu's first item is answered by a rule")


if __name__ == "__main__":
    sys.exit(main(DemoRun, "demo"))
