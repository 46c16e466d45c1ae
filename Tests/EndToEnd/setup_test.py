"""The first hour in a browser: the link of an empty gateway, its page, and the first message in the console.

Started by setup.sh; needs a gateway without an operator, and the link that it printed.
"""

import re
import sys

from browser_test import Run, begin
from playwright.sync_api import expect

PASSWORD = "a sentence of my own"
SIZES = ((390, 844), (900, 900), (1440, 900))


class SetupRun(Run):
    def run(self) -> None:
        # Chromium reports each refusal that the test causes.
        self.watch.expected = re.compile("status of (403|409|422)")
        self.strangers()
        page = self.page(self.context(1440, 900, timezone_id="Europe/Berlin",
                                      permissions=["clipboard-read", "clipboard-write"]))
        self.owner(page)
        self.look(page)
        self.hours(page)
        self.snippet(page)
        self.inbox(page)
        self.afterwards(page)

    def looks(self, page, name: str) -> None:
        """Pictures and axe, at each size, in light and dark."""
        found = []
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            for width, height in SIZES:
                page.set_viewport_size({"width": width, "height": height})
                self.shot(page, f"setup-{name}-{scheme}-{width}")
                found += self.axe_findings(page)
                if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    found.append(f"wider than the window at {width} px")
        page.emulate_media(color_scheme="light")
        page.set_viewport_size({"width": 1440, "height": 900})
        self.promise("\n      ".join([f"axe finds nothing in {name}", *found]), not found)

    def fill(self, page, **values) -> None:
        for label, value in values.items():
            page.get_by_label(label.replace("_", " "), exact=True).fill(value)

    def create(self, page) -> None:
        page.get_by_role("button", name="Create the owner").click()

    # The steps, in order.

    def strangers(self) -> None:
        page = self.page(self.context())
        page.goto(f"{self.options.base_url}/setup")
        expect(page.get_by_role("heading", name="Create the owner")).to_be_visible()
        self.fill(page, Setup_link="signing.AQID", Your_name="Eve", Email="eve@example.com", Password=PASSWORD,
                  Workspace="Mine")
        self.create(page)
        expect(page.get_by_role("status").first).to_contain_text("not one of this gateway")
        self.promise("without the link's code nobody becomes the owner, and the page says so")
        page.context.close()

    def owner(self, page) -> None:
        page.goto(self.options.link)
        heading = page.get_by_role("heading", name="Create the owner")
        expect(heading).to_be_focused()
        self.create(page)
        expect(page.get_by_label("Your name")).to_be_focused()
        expect(page.get_by_text("Enter your name.")).to_be_visible()
        self.promise("an empty field is refused below it, and gets the focus")
        self.fill(page, Your_name="Ada Lovelace", Email="ada@example.com", Password="tidewater cycles",
                  Workspace="Tidewater Cycles")
        expect(page.get_by_text("16 of at least 10 characters.")).to_be_visible()
        self.create(page)
        expect(page.get_by_text("is made of your name, address or workspace")).to_be_visible()
        self.promise("a password of the account's own words is refused")
        self.fill(page, Password=PASSWORD)
        page.get_by_role("button", name="Show password").click()
        expect(page.get_by_label("Password", exact=True)).to_have_attribute("type", "text")
        page.get_by_role("button", name="Show password").click()
        self.looks(page, "owner")
        # By keyboard only.
        page.get_by_label("Workspace", exact=True).press("Enter")
        expect(page.get_by_role("heading", name="Name and colours")).to_be_focused()
        self.promise("the owner is created", page.url == f"{self.options.base_url}/setup")

    def look(self, page) -> None:
        frame = page.frame_locator("iframe.preview-frame.ready")
        page.get_by_label("Greeting", exact=True).fill("Hello. How can we help?")
        expect(frame.locator("chirrup-chat").get_by_text("Hello. How can we help?")).to_be_visible()
        field = page.get_by_label("Accent colour as a hex code")
        field.fill("#ffee00")
        page.get_by_role("button", name="Save and go on").click()
        expect(page.get_by_text("Choose a darker colour")).to_be_visible()
        self.promise("a colour without contrast is refused")
        field.fill("#1f4b7f")
        page.wait_for_timeout(1_000)  # until the preview is drawn anew
        expect(frame.locator("chirrup-chat").get_by_text("Hello. How can we help?")).to_be_visible()
        self.promise("the preview follows what is typed")
        self.looks(page, "colours")
        page.reload()
        expect(page.get_by_role("heading", name="Name and colours")).to_be_visible()
        self.promise("a reload goes on with the second step, with the owner's login")
        page.get_by_label("Greeting", exact=True).fill("Hello. How can we help?")
        page.get_by_label("Accent colour as a hex code").fill("#1f4b7f")
        page.get_by_role("button", name="Save and go on").click()

    def hours(self, page) -> None:
        expect(page.get_by_role("heading", name="When do you answer?")).to_be_focused()
        expect(page.get_by_label("Time zone")).to_have_value("Europe/Berlin")
        expect(page.get_by_label("Monday, from")).to_have_value("09:00")
        page.get_by_label("Monday, to").fill("18:00")
        self.looks(page, "hours")
        page.get_by_role("button", name="Back").click()
        expect(page.get_by_label("Accent colour as a hex code")).to_have_value("#1f4b7f")
        self.promise("Back shows what was saved")
        page.get_by_role("button", name="Save and go on").click()
        page.get_by_role("button", name="Save and go on").click()

    def snippet(self, page) -> None:
        expect(page.get_by_role("heading", name="Put it on your site")).to_be_visible()
        text = page.locator("pre.code").inner_text()
        self.key = re.search('data-workspace="(pk_[^"]+)"', text).group(1)
        self.promise("the snippet has this gateway's address", f'src="{self.options.base_url}/widget.js"' in text)
        page.get_by_role("button", name="Copy snippet").click()
        expect(page.get_by_text("Copied")).to_be_visible()
        self.promise("the snippet is copied", page.evaluate("navigator.clipboard.readText()") == text)
        config = page.request.get(f"{self.options.base_url}/api/v1/widget/config?workspace={self.key}").json()
        self.promise("its key is the workspace's, with what was entered",
                     config["accent"] == "#1f4b7f" and config["workspace"]["name"] == "Tidewater Cycles"
                     and config["greeting"]["title"] == "Hello. How can we help?")
        for text in ("Hello, this is a test.", "And a second one."):
            page.get_by_label("Send yourself a message, as a visitor").fill(text)
            page.get_by_role("button", name="Send test").click()
            expect(page.get_by_text(re.compile(r"Stored after \d+"))).to_be_visible()
        self.looks(page, "snippet")

    def inbox(self, page) -> None:
        page.get_by_role("link", name="Open the conversation").click()
        expect(page.locator(".log .say.in .bubble")).to_have_text(["Hello, this is a test.", "And a second one."])
        self.promise("the console is open, logged in, with the test messages as one conversation")
        page.get_by_role("button", name="Claim", exact=True).click()
        page.get_by_label("Message", exact=True).fill("I see it.")
        page.get_by_label("Message", exact=True).press("Enter")
        expect(page.locator(".log .say.out:not(.noted) .bubble")).to_have_text("I see it.")
        self.promise("the owner answers it")
        page.goto(f"{self.options.base_url}/console#/settings/members")
        expect(page.get_by_text("ada@example.com")).to_be_visible()
        self.shot(page, "setup-members")

    def afterwards(self, page) -> None:
        page.goto(f"{self.options.base_url}/setup")
        expect(page.get_by_role("heading", name="Name and colours")).to_be_visible()
        self.promise("the owner's /setup shows the settings again")
        stranger = self.page(self.context())
        stranger.goto(self.options.link)
        self.fill(stranger, Your_name="Eve", Email="eve@example.com", Password=PASSWORD, Workspace="Mine")
        self.create(stranger)
        expect(stranger.get_by_role("status").first).to_contain_text("This gateway has an owner. Log in to the console.")
        self.promise("the link works once")


if __name__ == "__main__":
    sys.exit(begin(SetupRun, __doc__, "setup", ("--link",)))
