"""Login and settings of an administrator in the console, in a real browser.

Started by pages.sh; needs a gateway with --demo and its database. A check for each promise to a user;
axe checks every page in light, in dark and at 390 px.
"""

import base64
import hmac
import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request

from playwright.sync_api import Page, expect

from browser_test import Run, begin

PAGES = [
    "appearance", "members", "members/new", "teams", "teams/new", "single-sign-on", "hours", "queue", "visitors",
    "deleted", "replies", "macros", "macros/new", "intents", "menus", "proactive", "proactive/new", "messages",
    "webhooks", "keys", "identity", "credentials", "audit", "connections", "account", "notifications", "security",
]
# Errors that the test itself causes, as the browser reports them.
REFUSALS = re.compile(r"the server responded with a status of (401|403|404|409|422|429)")


class PagesRun(Run):
    def run(self) -> None:
        self.watch.expected = REFUSALS
        self.base = self.options.base_url
        self.desk = self.context(1440, 900)
        self.desk.grant_permissions(["clipboard-read", "clipboard-write"])
        self.admin = self.page(self.desk)
        self.login()
        self.appearance()
        self.unsaved()
        self.members()
        self.hours_and_queue()
        self.answers()
        self.keys()
        self.identity()
        self.single_sign_on()
        self.audit()
        self.looks()
        self.ended()

    # Steps

    def go(self, path: str, page: Page | None = None) -> Page:
        page = page or self.admin
        page.evaluate("(hash) => { location.hash = hash }", f"#/{path}")
        return page

    def setting(self, name: str, heading: str, page: Page | None = None) -> Page:
        page = self.go(f"settings/{name}", page)
        expect(page.get_by_role("heading", name=heading, exact=True).first).to_be_visible()
        return page

    def make(self, name: str, heading: str) -> None:
        self.go(f"settings/{name}/new")
        expect(self.admin.get_by_role("heading", name=heading, exact=True)).to_be_visible()

    def save(self, page: Page, verb="Save", words: str | re.Pattern = re.compile("^Saved")) -> None:
        page.get_by_role("button", name=verb, exact=True).click()
        expect(page).not_to_have_url(re.compile("/new$"))  # what is made has its own address
        expect(page.locator(".save > p").filter(has_text=words)).to_be_visible()

    def sql(self, text: str, **values: str) -> str:
        command = [self.options.psql, self.options.database, "-qtAX", "-v", "ON_ERROR_STOP=1"]
        for name, value in values.items():
            command += ["-v", f"{name}={value}"]
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise AssertionError(done.stderr.strip())
        return done.stdout.strip()

    def api(self, path: str, key: str) -> int:
        request = urllib.request.Request(
            f"{self.base}/api/v1/{path}", headers={"Authorization": f"Bearer {key}"}
        )
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def config(self) -> dict:
        key = self.sql("SELECT public_key FROM workspaces ORDER BY created_at LIMIT 1")
        with urllib.request.urlopen(
            f"{self.base}/api/v1/widget/config?workspace={key}", timeout=20
        ) as answer:
            return json.load(answer)

    # Promises

    def login(self) -> None:
        page = self.admin
        page.goto(f"{self.base}/console#/settings/queue")
        secret = page.get_by_label("Password", exact=True)
        right = secret.input_value()
        secret.fill("not it")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text("Incorrect email or password. Try again.")).to_be_visible()
        self.promise("a wrong password gets a sentence, and the field is marked",
                     secret.get_attribute("aria-invalid") == "true")
        secret.dispatch_event("keydown", {"key": "A", "modifierCapsLock": True})
        expect(page.get_by_text("Caps Lock is on.")).to_be_visible()
        self.promise("Caps Lock is noticed")
        self.accessible(page, "the login with a refusal")
        secret.fill(right)
        secret.press("Enter")
        expect(page.get_by_role("heading", name="Queue", exact=True)).to_be_visible()
        self.promise("after the login the requested page opens")

    def appearance(self) -> None:
        page = self.setting("appearance", "Appearance")
        widget = page.frame_locator("iframe.preview-frame.ready")
        name = page.get_by_label("Name in the header")
        name.fill("Wheels and more")
        expect(widget.get_by_role("heading", name="Wheels and more")).to_be_visible()
        expect(name).to_be_focused()
        self.promise("the preview is the widget itself and follows the input")
        accent = page.get_by_label("Accent colour as a hex code")
        accent.fill("#f2c14e")
        expect(page.get_by_text("Visitors see the default colour")).to_be_visible()
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text(re.compile("contrast of 1.6.*Choose a darker colour"))).to_be_visible()
        expect(accent).to_be_focused()
        self.promise("an accent colour with too little contrast is refused, with the figure")
        self.accessible(page, "a refusal under its field")
        page.get_by_label("Harbour").check(force=True)
        page.get_by_label("Text below the greeting").fill("We answer within the hour.")
        page.get_by_text("Left", exact=True).click()
        self.shot(page, "settings-appearance")
        self.save(page)
        config = self.config()
        self.promise(
            "visitors get the saved settings",
            (config["workspace"]["name"], config["accent"], config["greeting"]["text"])
            == ("Wheels and more", "#1f4b7f", "We answer within the hour."),
        )
        page.get_by_role("button", name="Copy snippet").click()
        expect(page.get_by_text("Copied")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
        key = self.sql("SELECT public_key FROM workspaces ORDER BY created_at LIMIT 1")
        self.promise("the snippet can be copied", key in copied and "/widget.js" in copied)

    def unsaved(self) -> None:
        page = self.setting("appearance", "Appearance")
        name = page.get_by_label("Name in the header")
        name.fill("Half a name")
        expect(page.get_by_text("1 unsaved change")).to_be_visible()
        page.get_by_label("Inbox").first.click()
        expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
        expect(page.get_by_role("link", name="Settings, 1 unsaved change")).to_be_visible()
        self.setting("queue", "Queue")
        self.setting("appearance", "Appearance")
        self.promise("unsaved input remains on other pages", name.input_value() == "Half a name")
        page.once("dialog", lambda dialog: dialog.accept())
        page.reload()
        expect(name).to_have_value("Half a name")
        asked = [complaint for complaint in self.watch.complaints if "a dialog" in complaint]
        self.watch.complaints = [it for it in self.watch.complaints if it not in asked]
        self.promise("and after a reload, before which the browser asks", len(asked) == 1)
        page.get_by_role("button", name="Discard").click()
        expect(name).to_have_value("Wheels and more")
        expect(page.get_by_role("link", name="Settings", exact=True)).to_be_visible()
        self.promise("until it is discarded")

    def members(self) -> None:
        page = self.setting("members", "Members")
        self.make("members", "Invite a member")
        page.get_by_label("Name", exact=True).fill("Noor Haddad")
        page.get_by_label("Email").fill("noor")
        page.get_by_role("button", name="Invite", exact=True).click()
        expect(page.get_by_text("Enter a valid email address.")).to_be_visible()
        page.get_by_label("Email").fill("noor@example.com")
        page.get_by_role("button", name="Invite", exact=True).click()
        password = page.get_by_label("Password").inner_text()
        self.shot(page, "settings-members-invited")
        self.accessible(page, "a password that is shown once")
        page.get_by_role("button", name="I have copied it").click()
        expect(page.get_by_text(password)).to_have_count(0)
        self.promise("a member can be invited, with a password that is shown once", len(password) > 15)
        self.agent(password)
        page.get_by_text("Administrator", exact=True).last.click()
        self.save(page)
        role = "SELECT m.role FROM memberships m JOIN operators o ON o.id = m.operator_id WHERE o.email = 'noor@example.com'"
        self.promise("a role can be changed", self.sql(role) == "admin")
        page.get_by_label("Can log in").uncheck()
        self.save(page)
        expect(self.noor.get_by_role("heading", name=re.compile("Log in to"))).to_be_visible()
        self.promise("a disabled member is logged out at once")
        page.locator(".item", has_text="(you)").click()
        expect(page.get_by_text("make someone else an owner first")).to_be_visible()
        self.promise("the last owner remains an owner, and the page shows the reason")

    def agent(self, password: str) -> None:
        self.noor = page = self.page(self.context(1280, 800))
        page.goto(f"{self.base}/console#/settings/hours")
        page.get_by_label("Email").fill("noor@example.com")
        page.get_by_label("Password", exact=True).fill(password)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Choose your password")).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", name="Choose your password")).to_be_visible()
        self.promise("an initial password opens only the form for a new one")
        self.accessible(page, "the form for the new password")
        own = "a sentence of my own"
        self.passwords = (password, own)
        page.get_by_label("Current password").fill(password)
        for words, label, text in (
            ("Use at least 10 characters.", "New password", "short"),
            ("Choose a password that is not your current one.", "New password", password),
            ("The passwords do not match.", "Repeat new password", "something else"),
        ):
            page.get_by_label(label, exact=True).fill(text)
            if text != "short" and label == "Repeat new password":
                page.get_by_label("New password", exact=True).fill(own)
            page.get_by_role("button", name="Change password").click()
            expect(page.get_by_text(words)).to_be_visible()
            expect(page.get_by_label(label, exact=True)).to_have_attribute("aria-invalid", "true")
        self.shot(page, "own-password")
        page.get_by_label("Repeat new password").fill(own)
        page.get_by_role("button", name="Change password").click()
        expect(page.get_by_text("Administrators and owners can change this.")).to_be_visible()
        self.promise("with the new password the requested page opens")
        self.promise("an agent sees the settings and the reason why they cannot be changed",
                     page.get_by_role("radio").first.is_disabled())
        self.go("settings/keys", page)
        expect(page.get_by_text(re.compile("administrators only|Administrators and owners"))
               .or_(page.get_by_role("heading", name="API keys")).first).to_be_visible()
        self.promise("and cannot create a key", page.get_by_role("link", name="New key").count() == 0)

    def hours_and_queue(self) -> None:
        page = self.setting("hours", "Business hours")
        page.get_by_text("At set hours").click()
        page.get_by_role("combobox", name="Time zone").select_option("Asia/Bangkok")
        for day in ("Monday", "Saturday"):
            page.get_by_role("checkbox", name=day).check()
        page.get_by_label("Saturday, to", exact=True).fill("13:00")
        page.get_by_role("button", name="Add a day off").click()
        page.get_by_label("Date").fill("2030-12-25")
        expect(page.locator(".meaning")).to_contain_text(re.compile(r"It is \d\d:\d\d there"))
        self.save(page)
        stored = json.loads(self.sql("SELECT value FROM system_settings WHERE key = 'hours'"))
        self.promise("hours are saved as shown", stored["days"] == [
            {"day": 1, "from": "09:00", "to": "17:00"}, {"day": 6, "from": "09:00", "to": "13:00"},
        ] and stored["holidays"] == ["2030-12-25"] and stored["time_zone"] == "Asia/Bangkok")
        page.get_by_text("Always open").click()
        self.save(page)
        page = self.setting("queue", "Queue")
        page.get_by_label("Conversations per operator").fill("0")
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("Enter a whole number from 1 to 1000.")).to_be_visible()
        page.get_by_label("Conversations per operator").fill("3")
        page.get_by_text("Least busy operator").click()
        page.keyboard.press("Control+s")
        expect(page.locator(".save > p")).to_have_text("Saved")
        stored = json.loads(self.sql("SELECT value FROM system_settings WHERE key = 'queue'"))
        self.promise("capacity and assignment of the queue are saved",
                     (stored["capacity"], stored["assign"]) == (3, "least_busy"))

    def answers(self) -> None:
        page = self.setting("replies", "Canned replies")
        self.make("replies", "New reply")
        page.get_by_role("textbox", name="Shortcut").fill("thanks")
        page.get_by_role("textbox", name="Text").fill("Thank you, ")
        page.get_by_role("button", name="Visitor’s name").click()
        expect(page.locator(".reply-peek")).to_contain_text("Thank you, Noor")
        self.save(page)
        expect(page.locator(".items").get_by_text("/thanks")).to_be_visible()
        self.promise("a canned reply is written, with a preview of its placeholders")
        self.intents()
        page = self.setting("menus", "Menus")
        for name, choice in (("Main", "Track an order"), ("Christmas", "Gift cards")):
            self.make("menus", "New menu")
            page.get_by_label("Name", exact=True).fill(name)
            page.get_by_role("textbox", name="Label", exact=True).fill(choice)
            self.save(page)
            page.get_by_role("button", name="Publish").click()
            expect(page.get_by_text("Visitors see this menu.")).to_be_visible()
        menu = self.config().get("menu") or {}
        self.promise("visitors see the menu that was published last",
                     [action["label"] for action in menu.get("actions", [])] == ["Gift cards"])
        page = self.setting("messages", "Messages and forms")
        page.get_by_label("Pre-chat form").check()
        page.get_by_role("button", name="Save", exact=True).click()
        expect(page.get_by_text("Add a question, or switch the form off.")).to_be_visible()
        page.get_by_role("button", name="Add a question").click()
        page.get_by_label("Required").check()
        self.save(page)
        prechat = json.loads(self.sql("SELECT value FROM system_settings WHERE key = 'prechat'"))
        self.promise("the form before the chat is saved", prechat["enabled"]
                     and [field["key"] for field in prechat["fields"]] == ["name"])

    def intents(self) -> None:
        page = self.setting("intents", "Auto-reply rules")
        for name, words, answer in (
            ("Order", "order", "Which number has it?"), ("Where", "where is my order", "On its way."),
        ):
            self.make("intents", "New rule")
            page.get_by_label("Name", exact=True).fill(name)
            page.get_by_role("textbox", name="Words to match", exact=True).fill(words)
            page.get_by_role("textbox", name="Text").fill(answer)
            self.save(page)
        self.setting("intents", "Auto-reply rules")
        attempt = page.get_by_role("textbox", name="Try it")
        attempt.fill("Hello, WHERE is my order?")
        expect(page.locator(".verdict-line")).to_contain_text("Which number has it?")
        page.get_by_role("button", name=re.compile("^Move Where.* up$")).click()
        expect(page.locator(".verdict-line")).to_contain_text("On its way.")
        names = self.sql("SELECT string_agg(name, ' ' ORDER BY position) FROM intents")
        self.promise("intents answer in the chosen order, and can be tested", names == "Where Order")

    def keys(self) -> None:
        page = self.setting("keys", "API keys")
        self.make("keys", "New key")
        page.get_by_label("Name", exact=True).fill("Warehouse")
        page.get_by_role("button", name="Create key").click()
        key = page.get_by_label("Key", exact=True).inner_text()
        page.get_by_role("button", name="I have copied it").click()
        works = self.api("admin/live-chat/conversations", key)
        other = self.api("admin/audit-log", key)
        self.promise("a key gives access to its scopes only", (works, other) == (200, 403))
        page.get_by_role("button", name="Revoke", exact=True).click()
        page.get_by_role("group").get_by_role("button", name="Revoke", exact=True).click()
        expect(page.get_by_text("No keys yet")).to_be_visible()
        self.promise("and is revoked at once", self.api("admin/live-chat/conversations", key) == 401)

    def visitor(self, secret: str) -> int:
        """The status of a visitor whose identity the website has signed with the secret."""
        part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=")
        signed = part({"alg": "HS256"}) + b"." + part({"sub": "7", "exp": int(time.time()) + 600})
        code = hmac.digest(secret.encode(), signed, "sha256")
        token = (signed + b"." + base64.urlsafe_b64encode(code).rstrip(b"=")).decode()
        key = self.sql("SELECT public_key FROM workspaces ORDER BY created_at LIMIT 1")
        request = urllib.request.Request(
            f"{self.base}/api/v1/widget/token", headers={"Content-Type": "application/json"},
            data=json.dumps({"workspace": key, "identity": token}).encode())
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def new_identity_secret(self, overlap: str) -> str:
        page = self.admin
        self.make("identity", "New secret")
        page.get_by_label("Other secrets").select_option(label=overlap)
        page.get_by_role("button", name="Create secret").click()
        secret = page.get_by_label("Secret", exact=True).inner_text()
        self.accessible(page, "a new identity secret")
        self.shot(page, "settings-identity-new")
        page.get_by_role("button", name="I have copied it").click()
        return secret

    def identity(self) -> None:
        page = self.setting("identity", "Identity secrets")
        first = self.new_identity_secret("Accepted for 1 day")
        second = self.new_identity_secret("Accepted for 1 day")
        self.promise("an identity secret is accepted beside the one that it replaces",
                     (self.visitor(first), self.visitor(second)) == (200, 200))
        self.go("settings/identity")
        expect(page.get_by_text("In use", exact=True)).to_have_count(1)
        expect(page.get_by_text(re.compile("^Ends "))).to_have_count(1)
        self.shot(page, "settings-identity-two")
        self.promise("the list has both, and neither secret",
                     not any(secret in page.content() for secret in (first, second)))
        third = self.new_identity_secret("End at once")
        self.promise("without an overlap the others end at once",
                     [self.visitor(secret) for secret in (first, second, third)] == [403, 403, 200])
        page.get_by_role("button", name="End", exact=True).click()
        page.get_by_role("group").get_by_role("button", name="End", exact=True).click()
        expect(page.get_by_text("No secrets yet")).to_be_visible()
        self.promise("and one is ended by hand", self.visitor(third) == 403)
        self.passwords += (first, second, third)

    def single_sign_on(self) -> None:
        page = self.setting("single-sign-on", "Single sign-on")
        switch = page.get_by_role("switch", name=re.compile("^Single sign-on"))
        expect(switch).to_be_disabled()
        expect(page.get_by_text("Fill in the provider and save it, then switch it on")).to_be_visible()
        self.promise("before there is a provider, its switch is off and says why", not switch.is_checked())
        page = self.setting("webhooks", "Webhooks")
        button = page.get_by_role("link", name="New webhook").bounding_box()
        rows = page.locator(".items").bounding_box()
        self.promise("the button that makes an object ends where the list ends",
                     abs(button["x"] + button["width"] - rows["x"] - rows["width"]) < 2)

    def audit(self) -> None:
        page = self.setting("audit", "Audit log")
        table = page.get_by_role("table")
        expect(table).to_contain_text("Member added")
        expect(table).to_contain_text("Settings changed")
        expect(table).to_contain_text("Password changed")
        words = table.inner_text()
        self.promise("the audit log has actors and actions, and no password",
                     "Noor Haddad" in words and not any(password in words for password in self.passwords))

    def looks(self) -> None:
        page = self.admin
        variants = (("light", 1440), ("dark", 1440), ("light", 390))
        for scheme, width in variants:
            page.set_viewport_size({"width": width, "height": 900 if width > 400 else 844})
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found = []
            for name in (f"settings/{name}" for name in PAGES):
                self.go(name)
                expect(page.locator(":is(main, aside, .editor):visible").first).to_be_visible()
                expect(page.get_by_text("Try again")).to_have_count(0)
                found += self.axe_findings(page)
                if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                    found.append(f"{name} is wider than the screen")
                self.shot(page, f"{name.replace('/', '-')}-{scheme}-{width}")
            self.promise("\n      ".join(
                [f"axe finds nothing on any page, {scheme}, {width} px", *found]), not found)
        page.set_viewport_size({"width": 1440, "height": 900})

    def ended(self) -> None:
        page = self.setting("hours", "Business hours")
        page.get_by_text("At set hours").click()
        # The gateway notifies the page; the page waits for no response.
        self.sql("DELETE FROM operator_sessions")
        expect(page.get_by_text("Your session ended.")).to_be_visible()
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text("1 unsaved change")).to_be_visible()
        self.promise("unsaved input remains after the session has ended")


if __name__ == "__main__":
    sys.exit(begin(PagesRun, __doc__, "pages", ("--database", "--psql")))
