"""“Try it”: one request to the saved endpoint of Assist, and what the settings say about its faults. A part of
assist_test.py.
"""

import json
import socket
import time

from assist_endpoint import MODEL
from browser_test import Failure
from playwright.sync_api import expect

SETTINGS = "/api/v1/admin/assist"
LIMIT = 60  # s; of waiting for what must come


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Trials:
    def tried(self, **changes) -> dict:
        self.set_assist(**changes)
        limit = time.monotonic() + LIMIT
        while (answer := self.request("POST", f"{SETTINGS}/trial", {}, (200, 409, 429))).status == 429:
            if time.monotonic() > limit:  # this test is faster than an operator
                raise Failure(f"a trial: {answer.text()}")
            time.sleep(1)
        return answer.json()

    def trial(self) -> None:
        page = self.console.page
        page.goto(f"{self.base}/console#/settings/assist")
        page.reload()
        button = self.button("Try it")
        expect(button).to_be_enabled()
        known = "SELECT (SELECT count(*) FROM chats) || ' ' || (SELECT count(*) FROM audit_log)"
        before, spent = self.sql(known), self.request("GET", SETTINGS).json()["tokens_today"]
        self.endpoint.order(text="I am ready.")
        button.click()
        expect(page.get_by_text("The endpoint works: the first text came after")).to_contain_text("“I am ready.”")
        self.promise("a trial stores nothing but its tokens", self.sql(known) == before
                     and self.request("GET", SETTINGS).json()["tokens_today"] > spent)
        self.accessible(page, "a trial")
        self.pictures(page, "assist-trial")
        if self.options.shots:
            before = page.viewport_size
            for width in (390, 1440):
                page.set_viewport_size({"width": width, "height": 900})
                page.get_by_role("heading", name="Limits").scroll_into_view_if_needed()
                self.shot(page, f"assist-automatic-{width}")
            page.set_viewport_size(before)
        page.get_by_label("Model").fill("another")
        expect(button).to_be_disabled()
        expect(page.get_by_text("Save first.")).to_be_visible()
        page.get_by_label("Model").fill(MODEL)
        expect(button).to_be_enabled()
        secure = self.endpoint.base.replace("http:", "https:")
        for name, words, order, changes in (
                ("endpoint_unauthorized", "refused the API key", {}, {"api_key": "sk-wrong"}),
                ("endpoint_not_found", "model_not_found", {}, {"model": "unknown"}),
                ("endpoint_rate_limited", "HTTP 429", {"status": 429}, {}),
                ("endpoint_unreachable", "could not be reached", None, {"endpoint": f"http://127.0.0.1:{free_port()}/v1"}),
                ("endpoint_unreachable", "SSL", None, {"endpoint": secure}),
                ("endpoint_too_slow", "in time", {"delay": 9}, {"timeout_seconds": 5})):
            if order:
                self.endpoint.order(**order)
            answer = self.tried(**changes)
            self.promise(f"{name}: {answer.get('detail')}", answer["works"] is False and answer["problem"] == name
                         and words in answer["detail"] and "VERYSECRET" not in json.dumps(answer))
        self.set_assist()
