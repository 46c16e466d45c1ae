"""E-mail as operators see it. Started by mail_browser.sh, with and without a mail server."""

import argparse
import json
import re
import sys
import uuid

from browser_test import Run, begin
from mail_server import Server
from mail_test import ADMIN, Mail, Visitor, parse, plain, recipient
from playwright.sync_api import Page, expect

DEMO = "demo@example.com"
FORGOT = "Forgot your password?"
#: Color scheme and width of the pictures.
LOOKS = (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390))


class MailRun(Run):
    def run(self) -> None:
        self.rest = Mail(argparse.Namespace(port=int(self.options.base_url.rsplit(":", 1)[1])))
        self.rest.operator_token = json.loads(self.options.operator_token)["token"]
        demo = self.rest.fetch("GET", "/demo", token=None)[1]
        self.rest.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        self.desk = self.page(self.context())
        if self.options.sends == "no":
            return self.without()
        self.server = Server(int(self.options.mail_port))
        self.server.start()
        try:
            self.forgotten()
            self.thread()
            self.replies()
            self.invitation()
            self.settings()
        finally:
            self.server.stop()

    def next_mail(self, what: str):
        """The next message that the server has, of which each is returned once."""
        self.rest.until(what, lambda: self.server.box.taken)
        return parse(self.server.box.taken.pop(0)[1])

    def looks(self, page: Page, name: str) -> None:
        """Pictures in each look; axe finds nothing, and nothing is wider than the screen."""
        found = []
        for scheme, width in LOOKS:
            page.set_viewport_size({"width": width, "height": 860 if width > 400 else 844})
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found += self.axe_findings(page)
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                found.append(f"wider than the screen at {width} px")
            self.shot(page, f"mail-{name}-{scheme}-{width}")
        page.set_viewport_size({"width": 1280, "height": 860})
        page.emulate_media(color_scheme="light")
        self.promise("\n      ".join([f"axe finds nothing: {name}", *found]), not found)

    def go(self, hash_: str) -> None:
        self.desk.evaluate("(hash) => { location.hash = hash; }", hash_)

    def login(self, password="") -> None:
        page = self.desk
        page.goto(self.options.base_url + "/console")
        if password:
            page.get_by_label("Email").fill(DEMO)
            page.get_by_label("Password", exact=True).fill(password)
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Inbox")).to_be_visible()

    # Without a mail server

    def without(self) -> None:
        page = self.desk
        page.goto(self.options.base_url + "/console")
        expect(page.get_by_role("button", name="Log in")).to_be_visible()
        self.promise("the login offers no link for a password", page.get_by_text(FORGOT).count() == 0)
        self.login()
        self.go("#/settings/members/new")
        expect(page.get_by_text("This gateway sends no e-mail, so you pass the login details on yourself.")
               ).to_be_visible()
        self.promise("an invitation says that none is sent",
                     page.get_by_text("Send the invitation by e-mail").count() == 0)
        self.shot(page, "mail-none-members")
        self.go("#/settings/email")
        expect(page.get_by_text("This gateway has no mail server")).to_be_visible()
        self.promise("the settings say that nothing is sent")
        self.shot(page, "mail-none-settings")

    # With one

    def request_password(self, address: str) -> str:
        """What the page says about an address."""
        page = self.desk
        page.goto(self.options.base_url + "/console")
        page.get_by_role("button", name=FORGOT).click()
        expect(page.get_by_role("heading", name=FORGOT)).to_be_visible()
        if address == DEMO:
            self.looks(page, "forgotten")
            page.get_by_label("Email").fill("nobody")
            page.get_by_role("button", name="Send the link").click()
            expect(page.get_by_text("Enter a valid email address.")).to_be_visible()
            self.promise("what is no address is refused at once")
        page.get_by_label("Email").fill(address)
        page.get_by_role("button", name="Send the link").click()
        expect(page.get_by_role("heading", name="Look in your mailbox")).to_be_focused()
        return page.get_by_role("main").inner_text().replace(address, "ADDRESS")

    def forgotten(self) -> None:
        page = self.desk
        page.goto(self.options.base_url + "/console")
        expect(page.get_by_role("button", name=FORGOT)).to_be_visible()
        self.looks(page, "login")
        unknown = self.request_password("nobody@example.org")
        known = self.request_password(DEMO)
        self.looks(page, "requested")
        self.promise("the words are the same without an account", known == unknown)
        message = self.next_mail("the link")
        self.promise("the account gets a link", recipient(message) == DEMO and not self.server.box.taken)
        page.get_by_role("button", name="Back to the login").click()
        expect(page.get_by_role("button", name="Log in")).to_be_visible()
        page.goto(re.search(r"http\S+password-link/\S+", plain(message)).group(0))
        self.looks(page, "password-link")
        page.get_by_label("New password").fill("password12345")
        self.watch.expected = re.compile("422|404")  # Chromium reports such answers
        page.get_by_role("button", name="Set password").click()
        expect(page.get_by_role("alert")).to_be_visible()
        self.looks(page, "password-refused")
        address = page.url
        page.get_by_label("New password").fill("plum carriage 77 loud")
        page.get_by_role("button", name="Set password").click()
        expect(page.get_by_role("heading", name="The password is set")).to_be_visible()
        self.looks(page, "password-set")
        page.goto(address)
        expect(page.get_by_role("heading", name="This link has ended")).to_be_visible()
        self.promise("the link counts once")
        self.login("plum carriage 77 loud")
        self.promise("the operator logs in with the new password")

    def line(self, words: str):
        line = self.desk.locator(".channel-line", has_text=words)
        expect(line).to_be_visible()
        return line

    def thread(self) -> None:
        page = self.desk
        self.rest.settings(answers_after_seconds=300)
        visitor = Visitor(self.rest, "Tam", "tam@example.org")
        self.go(f"#{visitor.session}")
        self.line("A reply goes to t…@example.org by e-mail after 5 minutes, unless it is read in the chat first.")
        self.promise("the composer says where a reply goes when the visitor has left")
        self.looks(page, "thread-before")
        self.rest.settings(answers_after_seconds=1)
        visitor.answer("Yes, eight of them.")
        message = self.next_mail("the answer")
        self.promise("the answer is sent", recipient(message) == visitor.address)
        self.line("Sent by e-mail to t…@example.org, ")
        self.promise("the thread shows that it was sent")
        self.looks(page, "thread-sent")
        self.server.box.faults[:] = ["rcpt 550 5.1.1 no such user"]
        visitor.answer("Shall I put one aside?")
        line = self.line("Not sent by e-mail to t…@example.org: ")
        self.promise(f"and that one was not, with the reason: {line.inner_text()}", "no such user" in line.inner_text())
        self.looks(page, "thread-failed")
        line.get_by_role("button", name="Send again").click()
        self.line("Being sent by e-mail to t…@example.org")
        message = self.next_mail("the answer again")
        self.line("Sent by e-mail to t…@example.org, ")
        self.promise("with Send again it is sent", "Shall I put one aside?" in plain(message))
        self.rest.settings(answers=False)
        other = Visitor(self.rest, "Kim", "kim@example.org")
        with page.expect_response(re.compile(f"{other.session}/mail$")) as answer:
            self.go(f"#{other.session}")
        answer.value.finished()
        page.wait_for_timeout(500)
        self.promise("nothing is said if answers are not sent", page.locator(".channel-line:visible").count() == 0)
        bare = Visitor(self.rest, "Eve", "")
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        self.go(f"#{bare.session}")
        expect(page.locator(".log .say.in .bubble")).to_have_text("Do you have HB-240 freehubs?")
        page.wait_for_timeout(1500)
        self.promise("nothing is asked about a visitor without an address",
                     not [url for url in asked if url.endswith("/mail")])
        self.rest.settings(answers=True)

    def replies(self) -> None:
        """Marks of messages that came by e-mail. replies.sh shows that a mailbox brings them; here the answer of the
        gateway is completed with two, and one message becomes one with a file."""
        page = self.desk
        visitor = Visitor(self.rest, "Rae", "rae@example.org")
        ids = [str(uuid.uuid4()) for _ in range(3)]
        file = {"id": str(uuid.uuid4()), "name": "plan.pdf", "type": "application/pdf", "bytes": 4096}
        for number, message in enumerate(ids):
            more = {"attachments": [file], "caption": True} if number == 1 else {}
            visitor.talk("send", body=f"Reply {number}", id=message, payload={"email": {"verified": True}, **more})
        noted = [{"message_id": message, "author": "r…@example.org", "is_verified": verdict.endswith("dmarc=pass"),
                  "verdict": verdict, "at": "2026-11-27T08:00:00Z"}
                 for message, verdict in zip(ids, ("spf=pass dkim=pass dmarc=pass", "spf=fail dmarc=fail"))]

        def completed(route) -> None:
            answer = route.fetch()
            route.fulfill(response=answer, json={**answer.json(), "replies": noted})

        def with_file(frame) -> str:
            return re.sub(r'^.*"body":"Reply 1".*$', lambda line: line[0].replace('"kind":"text"', '"kind":"file"'),
                          frame, flags=re.MULTILINE) if isinstance(frame, str) else frame

        def joined(socket) -> None:
            gateway = socket.connect_to_server()
            gateway.on_message(lambda frame: socket.send(with_file(frame)))

        page.route(re.compile(f"{visitor.session}/mail$"), completed)
        page.route_web_socket(re.compile("/api/v1/ws"), joined)
        page.reload()
        self.go(f"#{visitor.session}")
        marks = page.locator(".log .by-mail")
        expect(marks.nth(1)).to_have_text(
            "By e-mail from r…@example.org. The sender is not verified: spf=fail dmarc=fail")
        self.promise("a reply by e-mail is marked, with its author and the mail server's verdict", [
            "By e-mail from r…@example.org. The sender is verified."] == marks.all_inner_texts()[:1])
        expect(page.locator(".log .say", has_text="spf=fail")).to_contain_text("plan.pdf")
        self.promise("a message with a file is marked, too")
        self.promise("a payload that a visitor has made verifies nothing", marks.nth(2).inner_text() == "By e-mail")
        self.looks(page, "replies")

    def invitation(self) -> None:
        page = self.desk
        self.go("#/settings/members/new")
        box = page.get_by_label("Send the invitation by e-mail")
        expect(box).to_be_checked()
        page.get_by_label("Name", exact=True).fill("Mem")
        page.get_by_label("Email", exact=True).fill("mem@example.org")
        self.looks(page, "invite")
        page.get_by_role("button", name="Invite", exact=True).click()
        expect(page.get_by_role("heading", name="Mem is invited")).to_be_visible()
        self.looks(page, "invited")
        message = self.next_mail("the invitation")
        self.promise("the new member gets a link by e-mail",
                     recipient(message) == "mem@example.org" and "password-link/" in plain(message))
        page.get_by_role("button", name="Done").click()
        expect(page.get_by_text("No password yet").first).to_be_visible()
        self.promise("and has no password until then")

    def settings(self) -> None:
        page = self.desk
        self.go("#/settings/email")
        page.get_by_role("button", name="Send a test message").click()
        expect(page.get_by_text("Test message · d…@example.com")).to_be_visible()
        self.promise("a test message is listed", recipient(self.next_mail("the test")) == DEMO)
        page.get_by_role("button", name="Refresh").click()
        self.looks(page, "settings")
        for code in ("de", "ar"):
            page.evaluate("(code) => localStorage.setItem('chirrup:console:language', JSON.stringify(code))", code)
            page.reload()
            expect(page.locator(f"html[lang={code}]")).to_be_attached()
            expect(page.locator(".deleted li").first).to_be_visible()
            self.looks(page, f"settings-{code}")


if __name__ == "__main__":
    sys.exit(begin(MailRun, __doc__, "e-mail in a browser", ("--operator-token", "--sends", "--mail-port")))
