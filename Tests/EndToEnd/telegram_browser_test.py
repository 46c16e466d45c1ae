"""Telegram as operators see it: its credentials and their test, a conversation, and what did not reach the person, or
perhaps not. Started by telegram_browser.sh.
"""

import sys

import telegram_library
from attachments_test import Client
from browser_test import Console
from line_browser_test import ADMIN, CONVERSATIONS, LineRun
from playwright.sync_api import Page, expect
from telegram_platform import Platform
from widget_test import main


class TelegramRun(LineRun):
    def run(self) -> None:
        host, port = self.options.base_url.removeprefix("http://").split(":")
        self.operator = Client((host, int(port)), self.options.operator_token)
        self.platform = Platform(int(self.options.platform_port))
        self.platform.check_update = telegram_library.check_update
        key = self.sql("SELECT w.public_key FROM workspaces w JOIN memberships m ON m.workspace_id = w.id LIMIT 1")
        self.platform.webhook = f"{self.options.base_url}/api/v1/channels/telegram/{key}/webhook"
        self.platform.secret = "secret-of-telegram"
        self.desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        self.desk.login()
        self.credentials()
        self.conversation()

    def both(self, page: Page, name: str) -> None:
        self.accessible(page, name)
        for scheme in ("dark", "light"):
            page.emulate_media(color_scheme=scheme)
            self.shot(page, f"telegram-{name.split()[-1]}-{scheme}")

    def credentials(self) -> None:
        page = self.desk.page
        page.goto(f"{self.options.base_url}/console#/settings/credentials")
        box = page.get_by_role("region", name="Telegram")
        expect(box.get_by_text("webhook_secret, bot_token")).to_be_visible()
        expect(box.get_by_role("button", name="Test", exact=True)).to_be_disabled()
        for name, secret in (("webhook_secret", self.platform.secret), ("bot_token", self.platform.token)):
            self.ask("PUT", f"{ADMIN}/credentials/telegram", {"name": name, "secret": secret})
        page.reload()
        expect(box.get_by_text(self.platform.webhook.removeprefix(self.options.base_url))).to_be_visible()
        expect(box.get_by_text("It tells neither who is writing nor what was read.")).to_be_visible()
        box.get_by_role("button", name="Test", exact=True).click()
        expect(box.get_by_text("It works. The account is “@shop_bot”.")).to_be_visible()
        self.promise("the page has both channels; with its credentials there is a webhook, and a test finds the bot",
                     page.get_by_role("region", name="LINE").is_visible())
        self.both(page, "Telegram's credentials")

    def conversation(self) -> None:
        page = self.desk.page
        page.goto(f"{self.options.base_url}/console#/inbox")
        person = self.platform.person("Mali")
        self.platform.tell(self.platform.text(person, "Is the blue jacket in stock?"))
        row = page.locator("a.row")
        expect(row).to_contain_text("Mali Suksan · Telegram")
        row.click()
        expect(page.locator("header.bar .meta")).to_have_text("Telegram")
        self.desk.say("Yes, in all sizes.")
        expect(page.locator(".channel-line")).to_have_text("Sent to Telegram")
        self.promise("a person on Telegram is named so, and an answer is sent", person.texts == ["Yes, in all sizes."])
        person.refusals = ["lose", (400, "Bad Request: chat not found", None)]
        for text in ("Shall I put one aside?", "Or two?"):
            self.ask("POST", f"{CONVERSATIONS}/{row.get_attribute('data-id')}/messages", {"body": text})

        def state(text: str):
            return page.locator(".say.out").filter(has_text=text).locator(".state")

        expect(state("Or two?")).to_have_text(
            "Not sent to Telegram: Telegram answered 400: Bad Request: chat not foundSend again")
        expect(state("Shall I")).to_contain_text("Perhaps not sent to Telegram: Telegram's answer is missing: ")
        self.promise("a refused message has the reason, and one without an answer was perhaps not sent")
        self.both(page, "a conversation on Telegram, its thread")
        state("Shall I").get_by_role("button", name="Send again").click()
        expect(state("Shall I")).not_to_contain_text("Perhaps")
        for _ in range(100):
            if person.texts.count("Shall I put one aside?") == 2:
                break
            page.wait_for_timeout(100)
        self.promise("a message that was perhaps not sent is sent again if the operator wants it",
                     person.texts.count("Shall I put one aside?") == 2)
        self.platform.tell(self.platform.member(person, "member", "kicked"))
        expect(page.locator(".channel-line")).to_have_text("The person has blocked your account at Telegram.")
        self.promise("the composer says that the person has blocked the bot")


if __name__ == "__main__":
    sys.exit(main(TelegramRun, "Telegram", "platform-port"))
