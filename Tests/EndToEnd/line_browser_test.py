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
        self.answers()
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
        self.accessible(page, "the credentials of LINE")
        self.shot(page, "line-credentials")

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
        self.ask("POST", f"{CONVERSATIONS}/{self.session}/messages", {"body": "Anything else?"})
        refused = page.locator(".say.out").filter(has_text="Anything else?")
        expect(refused.locator(".state")).to_have_text("Not sent to LINE: LINE answered 400: Failed to send messages")
        expect(refused.locator(".bubble")).to_have_class("bubble failed")
        self.promise("a message that LINE refuses has the reason below it, and no tick of a sent one")
        page.reload()
        expect(refused.locator(".state")).to_have_text("Not sent to LINE: LINE answered 400: Failed to send messages")
        self.promise("also after a reload")
        self.accessible(page, "a conversation on LINE")
        self.shot(page, "line-thread")

    def blocked(self) -> None:
        self.platform.tell(self.platform.event(self.friend, "unfollow"))
        expect(self.desk.page.locator(".channel-line")).to_have_text("The person has blocked your account at LINE.")
        self.promise("the composer says that the person has blocked the account")


if __name__ == "__main__":
    sys.exit(main(LineRun, "LINE", "platform-port"))
