"""Emoji in the console's composer are found by name, by arrows and after a colon, and inserted at the cursor.

Started by console.sh.
"""

import re
import sys

from browser_test import Run, Widget, begin
from console_test import Desk
from playwright.sync_api import expect


class EmojiRun(Run):
    def run(self) -> None:
        base = self.options.base_url
        self.visitor = Widget(self.page(self.context()), base).open()
        self.visitor.say("Do you like emoji?")
        self.visitor.committed()
        self.desk = Desk(self.page(self.context(1440, 900)), base)
        page = self.desk.page
        page.get_by_role("button", name=re.compile("^Waiting")).click()
        self.desk.open("Do you like emoji?")
        self.desk.button("Claim").click()
        expect(page.get_by_text("Assigned to you", exact=True)).to_be_visible()
        self.picker = page.get_by_role("dialog", name="Emoji")
        self.field = self.picker.get_by_label("Search emoji by name")
        self.last = self.picker.get_by_role("group", name="Recently used").get_by_role("button")
        self.caret()
        self.escape()
        self.names()
        self.reload()
        self.looks()

    def emoji(self, name: str):
        return self.picker.get_by_role("button", name=name, exact=True)

    def caret(self) -> None:
        text, page = self.desk.text, self.desk.page
        text.fill("Thanks all")
        text.press("Home")
        for _ in "Thanks":
            text.press("ArrowRight")
        text.press("Control+.")
        expect(self.field).to_be_focused()
        page.keyboard.type("party")
        expect(self.picker.get_by_role("status")).to_have_text("1 found")
        page.keyboard.press("Enter")
        expect(self.picker).to_be_hidden()
        text.press("Control+.")
        page.keyboard.press("ArrowDown")
        expect(self.emoji("party popper").first).to_be_focused()
        for key, name in (
            ("ArrowDown", "slightly smiling face"),
            ("ArrowRight", "grinning face"),
            ("ArrowDown", "thumbs down"),
            ("ArrowUp", "grinning face"),
        ):
            page.keyboard.press(key)
            expect(self.emoji(name)).to_be_focused()
        page.keyboard.press("Space")
        page.keyboard.type("!")
        expect(text).to_have_value("Thanks🎉😀! all")
        text.press("Control+a")
        self.desk.button("Emoji").click()
        self.emoji("red heart").click()
        expect(text).to_be_focused()
        expect(text).to_have_value("❤️")
        self.promise("emoji are inserted at the caret or replace the selection, by key and by pointer")
        text.press("Enter")
        expect(self.visitor.theirs.last).to_have_text("❤️")
        self.promise("a message of emoji arrives unchanged")

    def escape(self) -> None:
        page = self.desk.page
        here = page.url
        self.desk.button("Emoji").click()
        page.keyboard.press("ArrowDown")
        page.keyboard.type("jnw")  # letters that lead elsewhere outside fields
        expect(self.field).to_have_value("jnw")
        expect(self.picker.get_by_role("status")).to_have_text("None found")
        page.keyboard.press("Escape")
        expect(self.picker).to_be_hidden()
        expect(self.desk.button("Emoji")).to_be_focused()
        self.promise(
            "letters search, Escape closes and restores the focus",
            page.url == here and self.desk.text.input_value() == "",
        )

    def names(self) -> None:
        text, page = self.desk.text, self.desk.page
        options = page.get_by_role("option")
        for words in ("at 10:30", "http://ok", "note:ok", ":o", ":zzz"):
            text.fill("")
            text.press_sequentially(words)
            expect(options).to_have_count(0)
        text.fill("")
        text.press_sequentially("/ok")
        expect(page.locator(".canned")).to_contain_text("No canned reply matches /ok")
        text.fill("at 10:30 :THumbs_")
        expect(options).to_have_count(2)
        page.keyboard.press("ArrowDown")
        self.shot(page, "console-emoji-names")
        self.accessible(page, "emoji after a colon")
        page.keyboard.press("Enter")
        expect(text).to_have_value("at 10:30 👎")
        page.keyboard.type(" :thanks")
        page.keyboard.press("Tab")
        expect(text).to_have_value("at 10:30 👎 🙏")
        expect(text).to_be_focused()
        self.promise("a name after a colon becomes an emoji; times, addresses and a slash stay unchanged")

    def reload(self) -> None:
        page = self.desk.page
        page.reload()
        expect(self.desk.text).to_have_value("at 10:30 👎 🙏")
        self.desk.text.press("Control+.")
        expect(self.last.first).to_be_visible()
        names = self.last.evaluate_all("(all) => all.map((it) => it.ariaLabel)")
        self.promise(
            f"the draft remains after a reload, and recently used emoji come first: {', '.join(names)}",
            names == ["folded hands", "thumbs down", "red heart", "grinning face", "party popper"],
        )

    def looks(self) -> None:
        page = self.desk.page
        for name, width, scheme in (
            ("light", 1440, "light"), ("dark", 1440, "dark"), ("390", 390, "light")
        ):
            page.set_viewport_size({"width": width, "height": 844})
            page.emulate_media(color_scheme=scheme)
            self.shot(page, f"console-emoji-{name}")
            self.accessible(page, f"the emoji ({name})")
            self.promise(f"they fit ({name})", self.fits(page))
        page.set_viewport_size({"width": 1440, "height": 900})
        page.evaluate("() => { document.documentElement.dir = 'rtl'; }")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowLeft")
        self.shot(page, "console-emoji-rtl")
        expect(self.last.nth(1)).to_be_focused()
        self.promise("right to left, the left key moves forward", self.fits(page))


if __name__ == "__main__":
    sys.exit(begin(EmojiRun, __doc__, "emoji"))
