"""How operators log in, in real browsers: their devices, and the second factor (issue 17.2).

Started by signin.sh; needs a gateway with --demo and its database.
"""

import re
import subprocess
import sys
import time
import uuid

import pyotp
from playwright.sync_api import Page, expect

from browser_test import Run, begin

IPHONE = ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
          "Version/18.0 Mobile/15E148 Safari/604.1")
# Errors that the test itself causes, as the browser reports them.
REFUSALS = re.compile(r"the server responded with a status of (401|403|404|429)")


class SigninRun(Run):
    def run(self) -> None:
        self.watch.expected = REFUSALS
        self.base = self.options.base_url
        self.email, self.password = self.account()
        self.devices()
        self.second_factor()
        self.recovery()
        self.passkeys()
        self.required()

    # Steps

    def account(self, role="agent") -> tuple[str, str]:
        email, password = f"noa{uuid.uuid4().hex[:8]}@example.com", f"violet {uuid.uuid4().hex}"
        subprocess.run(
            [self.options.chirrup, "operator", "create", "--workspace", "demo", "--email", email, "--name", "Noa",
             "--role", role, "--password", password, "--keep-password", "--database-url", self.options.database],
            check=True, capture_output=True)
        return email, password

    def enter(self, page: Page, password: str | None = None) -> Page:
        """Fills the form of the login and sends it."""
        page.goto(f"{self.base}/console#/settings/security")
        self.fill(page, password)
        return page

    def fill(self, page: Page, password: str | None = None) -> None:
        page.get_by_label("Email").fill(self.email)
        page.get_by_label("Password", exact=True).fill(password or self.password)
        page.get_by_role("button", name="Log in").click()

    def looks(self, page: Page, name: str) -> None:
        """axe, and the width of the page, in light, dark and on a phone."""
        for scheme, width in (("light", 1440), ("dark", 1440), ("light", 390)):
            page.set_viewport_size({"width": width, "height": 900 if width > 400 else 844})
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found = self.axe_findings(page)
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.append("wider than the screen")
            self.shot(page, f"{name}-{scheme}-{width}")
            self.promise("\n      ".join([f"axe finds nothing: {name}, {scheme}, {width} px", *found]), not found)
        page.set_viewport_size({"width": 1440, "height": 900})
        page.emulate_media(color_scheme="light")

    # Promises

    def devices(self) -> None:
        desk = self.enter(self.page(self.context(1440, 900)))
        expect(desk.get_by_role("heading", name="Security", exact=True)).to_be_visible()
        phone = self.enter(self.page(self.context(390, 844, user_agent=IPHONE)))
        expect(phone.get_by_role("heading", name="Security", exact=True)).to_be_visible()
        desk.reload()
        rows = desk.locator(".devices li")
        expect(rows).to_have_count(2)
        expect(rows.nth(0)).to_contain_text("this one")
        expect(rows.nth(0)).to_contain_text("on Linux")
        expect(rows.nth(1)).to_contain_text("Safari on iPhone")
        self.promise("the devices are listed in words, and this one is marked")
        self.looks(desk, "security-devices")
        desk.get_by_role("button", name="End the session: Safari on iPhone").click()
        expect(rows).to_have_count(1)
        expect(phone.get_by_text("Your session ended.")).to_be_visible()
        self.promise("a session that is ended elsewhere is over at once, and its page says so")
        expect(desk.get_by_role("heading", name="Logged-in devices")).to_be_focused()
        self.promise("the focus goes to the list's heading")
        self.fill(phone)
        expect(phone.get_by_role("heading", name="Security", exact=True)).to_be_visible()
        desk.reload()
        desk.get_by_role("button", name="End all other sessions").click()
        expect(phone.get_by_text("Your session ended.")).to_be_visible()
        expect(rows).to_have_count(1)
        expect(desk.get_by_role("button", name="End all other sessions")).to_be_hidden()
        self.promise("all others end with one button")
        for page in (desk, phone):
            page.context.close()


    def code(self, page: Page) -> None:
        """Enters a code that was not used yet, of an implementation of others (pyotp)."""
        while (step := int(time.time()) // 30) <= self.step:
            page.wait_for_timeout(500)
        self.step = step
        page.get_by_role("textbox").last.fill(self.app.now())

    def enrol(self, page: Page, name: str) -> list[str]:
        """From the picture to the recovery codes."""
        expect(page.get_by_role("img", name="QR code of the key")).to_be_visible()
        self.app = pyotp.TOTP(page.get_by_label("Key", exact=True).inner_text().replace(" ", ""))
        self.step = 0
        self.looks(page, f"{name}-picture")
        page.get_by_label("Enter the 6 digits it shows").fill(str((int(self.app.now()) + 1) % 1_000_000).zfill(6))
        page.get_by_role("button", name="Turn on").click()
        expect(page.get_by_text("Wrong code. Enter the one that the app shows now.")).to_be_visible()
        self.code(page)
        page.get_by_role("button", name="Turn on").click()
        rows = page.get_by_role("list", name="Recovery codes").get_by_role("listitem")
        expect(rows).to_have_count(10)
        self.looks(page, f"{name}-codes")
        codes = rows.all_inner_texts()
        page.get_by_role("button", name="I have saved them").click()
        return codes

    def second_factor(self) -> None:
        other = self.enter(self.page(self.context(1440, 900)))
        expect(other.get_by_role("heading", name="Security", exact=True)).to_be_visible()
        page = self.desk = self.enter(self.page(self.context(1440, 900)))
        expect(page.get_by_role("button", name="End all other sessions")).to_be_visible()
        panel = page.get_by_role("region", name=re.compile("^Two-factor login"))
        expect(panel).to_contain_text("Off")
        panel.get_by_role("button", name="Set up").click()
        page.get_by_label("Your password").fill("not it at all")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("The current password is wrong.")).to_be_visible()
        page.get_by_label("Your password").fill(self.password)
        page.get_by_role("button", name="Continue").click()
        self.codes = self.enrol(page, "security-factor")
        expect(panel).to_contain_text("On")
        expect(panel).to_contain_text("Recovery codes left: 10")
        expect(page.locator(".devices li")).to_have_count(1)
        self.promise("a second factor is set up with the app of others, after a wrong code was refused")
        expect(other.get_by_text("Your session ended.")).to_be_visible()
        self.promise("sessions that were made without it end")
        other.context.close()
        phone = self.enter(self.page(self.context(390, 844, user_agent=IPHONE)))
        expect(phone.get_by_role("heading", name="Enter your code")).to_be_visible()
        self.looks(phone, "login-code")
        used = self.app.at(self.step * 30)
        phone.get_by_label("Code", exact=True).fill(used)
        phone.get_by_role("button", name="Log in").click()
        expect(phone.get_by_text("Wrong code, or one that was used before.")).to_be_visible()
        self.promise("a code that was used is refused")
        self.code(phone)
        phone.get_by_role("button", name="Log in").click()
        expect(phone.get_by_role("heading", name="Security", exact=True)).to_be_visible()
        self.promise("a new code logs in")
        phone.context.close()

    def recovery(self) -> None:
        phone = self.enter(self.page(self.context(390, 844)))
        phone.get_by_role("button", name="Use a recovery code").click()
        phone.get_by_label("Recovery code", exact=True).fill(self.codes[0].lower().replace("-", " "))
        phone.get_by_role("button", name="Log in").click()
        expect(phone.get_by_text("Recovery codes left: 9")).to_be_visible()
        self.promise("a recovery code logs in, once")
        phone.context.close()
        page = self.desk
        page.get_by_role("button", name="Turn off").click()
        page.get_by_label("Your password").fill(self.password)
        page.get_by_label("Code of the app, or a recovery code").fill(self.codes[0])
        page.locator("form.step").get_by_role("button", name="Turn off").click()
        expect(page.get_by_text("was used before. Enter the current one.")).to_be_visible()
        page.get_by_label("Code of the app, or a recovery code").fill(self.codes[1])
        page.locator("form.step").get_by_role("button", name="Turn off").click()
        expect(page.get_by_role("button", name="Set up")).to_be_visible()
        self.promise("it is turned off with the password and an unused code")
        page.context.close()

    def authenticator(self, page: Page):
        """A device with a fingerprint reader, which Chromium simulates. Returns its session and id."""
        session = page.context.new_cdp_session(page)
        session.send("WebAuthn.enable")
        options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
                   "isUserVerified": True, "automaticPresenceSimulation": True}
        return session, session.send("WebAuthn.addVirtualAuthenticator", {"options": options})["authenticatorId"]

    def passkeys(self) -> None:
        """Made in the settings, used instead of the password and after it, and removed."""
        at_address = self.page(self.context(1440, 900))
        at_address.goto(f"{self.base}/console")
        expect(at_address.get_by_role("button", name="Log in")).to_be_visible()
        expect(at_address.get_by_role("button", name="Use a passkey")).to_have_count(0)
        self.promise("at an address, where browsers have no passkeys, the login offers none")
        at_address.context.close()
        before = self.base, self.email, self.password
        self.base = self.base.replace("127.0.0.1", "localhost")
        self.email, self.password = self.account()
        page = self.page(self.context(1440, 900))
        device, number = self.authenticator(page)
        self.enter(page)
        page.get_by_role("button", name="Add a passkey").click()
        page.get_by_label("Name of the device").fill("Work laptop")
        page.get_by_label("Your password").fill("not it at all")
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("The current password is wrong.")).to_be_visible()
        page.get_by_label("Your password").fill(self.password)
        self.looks(page, "security-passkey")
        page.get_by_role("button", name="Continue").click()
        codes = page.get_by_role("list", name="Recovery codes").get_by_role("listitem")
        expect(codes).to_have_count(10)
        code = codes.first.inner_text()
        page.get_by_role("button", name="I have saved them").click()
        panel = page.get_by_role("region", name="Passkeys")
        expect(panel.get_by_text("Work laptop")).to_be_visible()
        expect(page.get_by_role("region", name=re.compile("^Two-factor login"))).to_contain_text("On")
        self.looks(page, "security-passkeys")
        self.promise("a passkey is made in the settings, after a wrong password was refused")
        panel.get_by_role("button", name="Add a passkey").click()
        page.get_by_label("Name of the device").fill("Again")
        page.get_by_label("Your password").fill(self.password)
        page.get_by_role("button", name="Continue").click()
        expect(page.get_by_text("This device already has a passkey for your account.")).to_be_visible()
        page.get_by_role("button", name="Cancel").click()
        self.promise("a device gets one only")
        self.leave(page)
        self.looks(page, "login-passkey")
        device.send("WebAuthn.setUserVerified", {"authenticatorId": number, "isUserVerified": False})
        page.get_by_role("button", name="Use a passkey").click()
        expect(page.get_by_text("No passkey was used. Try again, or use another way.")).to_be_visible()
        self.promise("a finger that the device does not know logs nobody in")
        device.send("WebAuthn.setUserVerified", {"authenticatorId": number, "isUserVerified": True})
        page.get_by_role("button", name="Use a passkey").click()
        expect(page.get_by_role("heading", name="Security", exact=True)).to_be_visible()
        self.promise("the passkey logs in without address and password")
        self.leave(page)
        self.fill(page)
        expect(page.get_by_role("heading", name="Enter your code")).to_be_visible()
        self.looks(page, "login-second-passkey")
        page.get_by_role("button", name="Use a passkey").click()
        expect(page.get_by_role("heading", name="Security", exact=True)).to_be_visible()
        self.promise("after the password it is the second step")
        self.leave(page)
        self.fill(page)
        page.get_by_label("Recovery code", exact=True).fill(code)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_text("Recovery codes left: 9")).to_be_visible()
        self.promise("a recovery code replaces it")
        panel.get_by_role("button", name="Remove the passkey: Work laptop").click()
        page.get_by_label("Your password").fill(self.password)
        page.get_by_role("button", name="Remove passkey", exact=True).click()
        expect(panel.get_by_text("Work laptop")).to_have_count(0)
        expect(page.get_by_role("region", name=re.compile("^Two-factor login"))).to_contain_text("Off")
        self.leave(page)
        page.get_by_role("button", name="Use a passkey").click()
        expect(page.get_by_text("The passkey was not accepted: it is unknown here")).to_be_visible()
        self.promise("it is removed, and logs nobody in any longer")
        page.context.close()
        self.base, self.email, self.password = before

    def leave(self, page: Page) -> None:
        """Ends the session, and opens the login of the page “Security”."""
        page.evaluate("fetch('/api/v1/auth/logout', { method: 'POST' })")
        page.goto(f"{self.base}/console#/settings/security")
        page.reload()
        expect(page.get_by_label("Email")).to_be_visible()

    def required(self) -> None:
        """An owner requires it: the next login sets it up first. The owner resets it, and so does the command line."""
        member, secret = self.email, self.password
        self.email, self.password = self.account("owner")
        boss = self.enter(self.page(self.context(1440, 900)))
        boss.get_by_label("Require two-factor login").check(force=True)
        boss.get_by_role("button", name="Save", exact=True).click()
        expect(boss.locator(".save > p").filter(has_text="Saved")).to_be_visible()
        expect(boss.get_by_text("Your workspace requires it at your next login.")).to_be_visible()
        self.looks(boss, "security-owner")
        self.email, self.password = member, secret
        page = self.enter(self.page(self.context(1440, 900)))
        expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
        self.promise("a reload does not skip the step")
        page.get_by_label("Your password").fill(self.password)
        page.get_by_role("button", name="Continue").click()
        self.enrol(page, "login-factor")
        expect(page.get_by_role("heading", name="Security", exact=True)).to_be_visible()
        expect(page.get_by_text("Recovery codes left: 10")).to_be_visible()
        expect(page.get_by_role("button", name="Turn off")).to_have_count(0)
        self.promise("who logs in without one sets it up first, and cannot turn it off")
        boss.evaluate("location.hash = '#/settings/members'")
        boss.get_by_role("link", name=re.compile(re.escape(member))).click()
        boss.get_by_role("button", name="Reset two-factor login").first.click()
        boss.locator(".sure").get_by_role("button", name="Reset two-factor login").click()
        expect(page.get_by_text("Your session ended.")).to_be_visible()
        self.promise("an owner resets it, and the member's sessions end")
        self.fill(page)
        expect(page.get_by_role("heading", name="Set up a second factor")).to_be_visible()
        self.enrol(page, "login-again")
        expect(page.get_by_role("heading", name="Security", exact=True)).to_be_visible()
        subprocess.run([self.options.chirrup, "operator", "reset-second-factor", "--email", member, "--database-url",
                        self.options.database], check=True, capture_output=True)
        expect(page.get_by_text("Your session ended.")).to_be_visible()
        self.promise("so does the command line")
        base, self.base = self.base, self.base.replace("127.0.0.1", "localhost")
        other = self.page(self.context(1440, 900))
        device, number = self.authenticator(other)
        self.enter(other)
        expect(other.get_by_role("img", name="QR code of the key")).to_be_visible()
        self.looks(other, "login-passkey-offered")
        device.send("WebAuthn.setUserVerified", {"authenticatorId": number, "isUserVerified": False})
        other.get_by_role("button", name="Use a passkey instead").click()
        expect(other.get_by_text("No passkey was used. Try again, or use another way.")).to_be_visible()
        device.send("WebAuthn.setUserVerified", {"authenticatorId": number, "isUserVerified": True})
        other.get_by_role("button", name="Use a passkey instead").click()
        expect(other.get_by_role("list", name="Recovery codes").get_by_role("listitem")).to_have_count(10)
        other.get_by_role("button", name="I have saved them").click()
        expect(other.get_by_role("heading", name="Security", exact=True)).to_be_visible()
        expect(other.get_by_role("region", name="Passkeys").get_by_role("listitem")).to_have_count(1)
        self.base = base
        self.promise("at a host name the page offers a passkey as well, which is enough")
        found = self.sql("SELECT string_agg(actor || ' ' || action, ', ' ORDER BY id) FROM audit_log WHERE target_id = "
                         f"(SELECT id FROM operators WHERE email = '{member}') AND action LIKE 'second_factor%'")
        self.promise(f"the audit log has it all ({found})", found == (
            "operator second_factor.added, operator second_factor.removed, operator second_factor.added, "
            "operator second_factor.reset, operator second_factor.added, command second_factor.reset"))
        for each in (page, boss, other):
            each.context.close()

    def sql(self, text: str) -> str:
        done = subprocess.run([self.options.psql, self.options.database, "-AtXqc", text], check=True,
                              capture_output=True, text=True)
        return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(begin(SigninRun, __doc__, "signin", ("--database", "--psql", "--chirrup")))
