"""Makes the pictures of the README from a fresh `chirrup serve --demo`: pictures.py BASE_URL FOLDER."""

import os
import sys
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

SHOP = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:145.0) Gecko/20100101 Firefox/145.0"


def visitor(browser, base: str, texts: list[str], **more) -> Page:
    context = browser.new_context(
        viewport={"width": 1280, "height": 860},
        device_scale_factor=2,
        user_agent=SHOP,
        **{"locale": "en-GB", "timezone_id": "Europe/Berlin", **more},
    )
    page = context.new_page()
    page.goto(f"{base}/demo")
    page.get_by_role("button", name="Open chat").click()
    for text in texts:
        say(page, text)
        page.wait_for_timeout(300)
    expect(page.get_by_role("dialog").locator(".bubble.pending")).to_have_count(0)
    return page


def say(page: Page, text: str) -> None:
    page.get_by_label("Message", exact=True).fill(text)
    page.get_by_label("Message", exact=True).press("Enter")


def main(base: str, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(
            executable_path=os.environ.get("CHROMIUM") or None, args=sandbox
        )
        shopper = visitor(
            browser,
            base,
            [
                "Hello, the hose of my new brake is about 10 cm too short for a cargo bike. Order 20418.",
                "Can I swap it without sending this one back first?",
            ],
        )
        for texts, locale in (
            (["مرحبًا، أين طلبي رقم 20533؟"], "ar"),
            (["返品の方法を教えてください"], "ja"),
            (["สวัสดีค่ะ", "ขอใบกำกับภาษีได้ไหมคะ"], "th"),
        ):
            visitor(browser, base, texts, locale=locale)
        desk = browser.new_context(
            viewport={"width": 1440, "height": 900}, device_scale_factor=2, locale="en-GB"
        )
        console = desk.new_page()
        console.goto(f"{base}/console")
        console.get_by_role("button", name="Log in").click()
        expect(console.locator(".row")).to_have_count(4)
        console.keyboard.press("n")
        expect(console.get_by_text("Assigned to you", exact=True)).to_be_visible()
        say(console, "Hi, yes. I see it was delivered on Tuesday with the 900 mm hose.")
        console.get_by_role("button", name="Note", exact=True).click()
        say(console, "The long hose is out in Hamburg, 14 left in Rotterdam. Ship from there.")
        say(console, "The 1,600 mm one is in Rotterdam and has the same M8 fitting.")
        console.get_by_label("Message", exact=True).press_sequentially(
            "Your parcel leaves today", delay=10
        )
        shopper.get_by_label("Message", exact=True).press_sequentially(
            "And could it arrive before Friday? We leave on", delay=40
        )
        expect(console.locator(".bubble.preview")).to_contain_text("We leave on")
        console.get_by_label("Message", exact=True).press("End")
        console.get_by_label("Message", exact=True).press_sequentially(" and", delay=10)
        expect(shopper.locator(".bubble.typing")).to_be_visible()
        for scheme in ("light", "dark"):
            for name, page in (("console", console), ("widget", shopper)):
                page.emulate_media(color_scheme=scheme)
                page.mouse.move(700, 5)
                page.screenshot(
                    path=folder / f"{name}-{scheme}.png", animations="disabled", scale="css"
                )
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
