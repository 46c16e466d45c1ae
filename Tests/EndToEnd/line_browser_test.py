"""LINE as operators see it: credentials and their test, a conversation in the list and the thread, and what did not reach
the person. Started by line_browser.sh.
"""

import sys

from attachments_test import Client, Place, png
from browser_test import PATIENCE, Console
from line_platform import Platform
from playwright.sync_api import expect
from widget_test import WidgetRun, main

ADMIN = "/api/v1/admin"
CONVERSATIONS = ADMIN + "/live-chat/conversations"


class LineRun(WidgetRun):
    def run(self) -> None:
        host, port = self.options.base_url.removeprefix("http://").split(":")
        self.operator = Client((host, int(port)), self.options.operator_token)
        self.platform = Platform(int(self.options.platform_port), "secret-of-line", "token-of-line")
        key = self.sql("SELECT w.public_key FROM workspaces w JOIN memberships m ON m.workspace_id = w.id LIMIT 1")
        self.platform.webhook = f"{self.options.base_url}/api/v1/channels/line/{key}/webhook"
        self.desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        self.desk.login()
        self.credentials()
        self.arrival()
        self.picture()
        self.answers()
        self.again()
        self.blocked()

    def ask(self, method: str, path: str, body=None):
        status, answer = self.operator.ask(method, path, body)
        if status >= 300:
            self.promise(f"{method} {path} succeeds: {status} {answer}", False)
        return answer

    def credentials(self) -> None:
        page = self.desk.page
        page.goto(f"{self.options.base_url}/console#/settings/credentials")
        line = page.get_by_role("region", name="LINE")
        expect(line.get_by_text("channel_secret, channel_access_token")).to_be_visible()
        expect(line.get_by_role("button", name="Test", exact=True)).to_be_disabled()
        self.promise("the page says which credentials are missing")
        for name, secret in (("channel_secret", self.platform.secret), ("channel_access_token", self.platform.token)):
            self.ask("PUT", f"{ADMIN}/credentials/line", {"name": name, "secret": secret})
        page.reload()
        expect(line.get_by_text(self.platform.webhook.removeprefix(self.options.base_url))).to_be_visible()
        line.get_by_role("button", name="Test", exact=True).click()
        expect(line.get_by_text("It works. The account is “Shop bot”.")).to_be_visible()
        title, hint = line.get_by_role("heading").bounding_box(), line.get_by_text("Both credentials").bounding_box()
        self.promise("with both there is the address of the webhook, and a test finds the account",
                     title["y"] + title["height"] <= hint["y"])
        expect(line.get_by_text("Messages of this month: 0, without a limit")).to_be_visible()
        self.platform.quota, self.platform.pushed = 200, 12
        page.reload()
        expect(line.get_by_text("Messages of this month: 12 of 200")).to_be_visible()
        self.promise("the page says what is used of the month's messages")
        self.accessible(page, "the credentials of LINE")
        self.shot(page, "line-credentials")
        self.platform.token, token = "another", self.platform.token
        page.reload()
        expect(line.get_by_text("The quota of messages cannot be read: LINE answered 401: Authentication failed.")
               ).to_be_visible()
        self.platform.token, self.platform.quota = token, None
        self.promise("or why it does not know")

    def arrival(self) -> None:
        page = self.desk.page
        page.goto(f"{self.options.base_url}/console#/inbox")
        self.friend = self.platform.friend("Mali Suksan")
        self.platform.tell(self.platform.text(self.friend, "Is the blue jacket in stock?"))
        row = page.locator("a.row")
        expect(row).to_contain_text("Mali Suksan · LINE")
        expect(row).to_contain_text("Is the blue jacket in stock?")
        self.promise("the list says that the person is on LINE, and not that they have left a page",
                     "left the page" not in row.inner_text())
        row.click()
        expect(page.locator("header.bar .meta")).to_have_text("LINE")
        expect(page.locator(".channel-line")).to_have_text("Replies go to LINE")
        self.session = row.get_attribute("data-id")
        self.promise("so does the thread, and where a reply goes")

    def picture(self) -> None:
        page = self.desk.page
        event = self.platform.message(self.friend, "image", contentProvider={"type": "line"})
        self.platform.contents.put(event, png(300, 200), "image/png")
        self.platform.tell(event)
        image = page.locator(".say.in img")
        expect(image).to_be_visible()
        page.wait_for_function("() => document.querySelector('.say.in img')?.naturalWidth > 0")
        self.promise("a picture of the person is shown in the thread")
        expect(page.get_by_role("heading", name="From LINE", exact=True)).to_be_visible()
        self.platform.tell(self.platform.message(self.friend, "image", contentProvider={"type": "line"}))
        expect(page.locator(".say.in .missing")).to_have_text("The file could not be fetched. LINE has deleted it.")
        self.promise("one that LINE has no longer is a line that says why")
        self.promise("what the visitor column has from LINE is not called from the site",
                     page.get_by_text("From your site").count() == 0)

    def answers(self) -> None:
        page = self.desk.page
        self.desk.say("Yes, in all sizes.")
        expect(page.locator(".channel-line")).to_have_text("Sent to LINE")
        place = Place(self.operator, f"{CONVERSATIONS}/{self.session}")
        place.say([place.upload("jacket.png", png(60, 40))[1]["id"]])
        expect(page.locator(".say.out img")).to_be_visible()
        for _ in range(PATIENCE // 100):
            if len(self.friend.came) == 2:
                break
            page.wait_for_timeout(100)
        expect(page.locator(".channel-line")).to_have_text("Sent to LINE")
        self.promise("an answer and a picture are sent", [it["type"] for _, it in self.friend.came] == ["text", "image"])
        self.friend.refusals = [(400, "Failed to send messages")]
        self.refused = self.ask(
            "POST", f"{CONVERSATIONS}/{self.session}/messages", {"body": "Anything else?"})["id"]
        refused = page.locator(".say.out").filter(has_text="Anything else?")
        expect(refused.locator(".state")).to_have_text(
            "Not sent to LINE: LINE answered 400: Failed to send messagesSend again")
        expect(refused.locator(".bubble")).to_have_class("bubble failed")
        self.promise("a message that LINE refuses has the reason below it, and no tick of a sent one")
        page.reload()
        expect(refused.locator(".state")).to_have_text(
            "Not sent to LINE: LINE answered 400: Failed to send messagesSend again")
        self.promise("also after a reload")
        self.accessible(page, "a conversation on LINE")
        self.shot(page, "line-thread")

    def again(self) -> None:
        page = self.desk.page
        refused = page.locator(".say.out").filter(has_text="Anything else?")
        self.platform.quota, self.platform.pushed = 10, 10
        refused.get_by_role("button", name="Send again").click()
        expect(refused.locator(".state")).to_contain_text(
            "Not sent to LINE: LINE answered 429: You have reached your monthly limit.")
        self.promise("a message that is sent again may fail again, with the new reason: the quota is used")
        self.shot(page, "line-again")
        page.emulate_media(color_scheme="dark")
        self.shot(page, "line-again-dark")
        page.emulate_media(color_scheme="light")
        self.platform.quota = None
        refused.get_by_role("button", name="Send again").focus()
        page.keyboard.press("Enter")
        expect(refused.locator(".bubble")).not_to_have_class("bubble failed")
        expect(page.locator(".channel-line")).to_have_text("Sent to LINE")
        self.promise("once the platform takes it, the reason is gone, without a reload",
                     self.friend.texts.count("Anything else?") == 1 and refused.get_by_text("Not sent").count() == 0)
        status, _ = self.operator.ask(
            "POST", f"{CONVERSATIONS}/{self.session}/deliveries/{self.refused}/send-again", {})
        self.promise(f"a message that was sent is not sent again: {status}", status == 409)

    def blocked(self) -> None:
        self.platform.tell(self.platform.event(self.friend, "unfollow"))
        expect(self.desk.page.locator(".channel-line")).to_have_text("The person has blocked your account at LINE.")
        self.promise("the composer says that the person has blocked the account")


if __name__ == "__main__":
    sys.exit(main(LineRun, "LINE", "platform-port"))
