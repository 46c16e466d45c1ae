"""Drafts for operators, from the settings to the text in the composer, and every limit and fault of the endpoint.

Started by assist.sh; needs a gateway with --demo that allows private networks.
"""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import openai
from assist_endpoint import KEY, MODEL, Endpoint
from assist_trials import LIMIT, SETTINGS, Trials, free_port
from browser_test import Console, Failure, Watch
from playwright.sync_api import Page, expect
from widget_test import WidgetRun, main

SECRETS = ("BANANA-OF-TENANT-B", "CHERRY-OF-TENANT-B")


class Assists(Trials, WidgetRun):
    def run(self) -> None:
        # Refusals that this test causes.
        Watch.expected = re.compile(r"status of (409|429|503)")
        self.base = self.options.base_url
        self.endpoint = Endpoint()
        self.desk = self.context(1440, 900)
        demo = self.desk.request.get(f"{self.base}/demo").text()
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        self.tenants()
        self.console = Console(self.page(self.desk), self.base, None, None)
        self.console.login()
        self.widget = self.visitor().open()
        self.widget.say("Where is my bicycle parcel 20418?")
        self.widget.committed()
        self.id = self.session(self.widget.page)
        self.path = f"/api/v1/admin/live-chat/conversations/{self.id}/assist"
        for part in (self.protocol, self.off, self.settings, self.trial, self.suggests, self.typed_meanwhile, self.stopped,
                     self.summary, self.translation, self.faults, self.slow, self.limits, self.another_server,
                     self.looks):
            if not self.options.only or part.__name__ in ("settings", *self.options.only.split(",")):
                part()
        self.promise("nothing was sent by itself: the visitor has what the operator sent", self.sql(
            f"SELECT string_agg(content, '|' ORDER BY seq) FROM chats WHERE session_id = '{self.id}'"
            " AND role = 'operator' AND kind = 'text'") == self.sent)

    sent = ""

    def tenants(self) -> None:
        """Texts with the same words in two workspaces."""
        self.sql("INSERT INTO workspaces (id, name, public_key) VALUES (gen_random_uuid(), 'Other', 'pk_other')")
        for where, reply, answer in (("name = 'Other'", *SECRETS),
                                     ("name <> 'Other'", "Parcels take two days.", "Your bicycle parcel is in Utrecht.")):
            workspace = self.sql(f"SELECT id FROM workspaces WHERE {where} LIMIT 1")
            self.sql("INSERT INTO reply_objects (workspace_id, object_id, object_type, payload)"
                     f" VALUES ('{workspace}', 'parcel', 'text', '{{\"text\": \"bicycle parcel: {reply}\"}}')")
            session = self.sql("INSERT INTO chat_sessions (workspace_id, status, closed_at, last_seq)"
                               f" VALUES ('{workspace}', 'closed', now(), 3) RETURNING id")
            for seq, role, kind, text in ((1, "visitor", "text", "Where is the bicycle parcel?"),
                                          (2, "operator", "text", answer),
                                          (3, "operator", "note", "SECRET NOTE bicycle")):
                self.sql("INSERT INTO chats (workspace_id, session_id, seq, id, role, kind, content, content_hash) VALUES"
                         f" ('{workspace}', '{session}', {seq}, gen_random_uuid(), '{role}', '{kind}', '{text}', '')")

    # Requests, and waiting

    def request(self, method: str, path: str, body=None, expected=(200, 201, 204)):
        answer = self.desk.request.fetch(
            self.base + path, method=method, headers={"Origin": self.base, "Sec-Fetch-Site": "same-origin"},
            **({"data": body} if body is not None else {}))
        if answer.status not in expected:
            raise Failure(f"{method} {path}: HTTP {answer.status} {answer.text()}")
        return answer

    def set_assist(self, **changes) -> None:
        self.request("PUT", SETTINGS, {
            "enabled": True, "uses": ["suggest", "summary", "translate"], "endpoint": self.endpoint.base,
            "model": MODEL, "api_key": KEY, "tokens_per_day": 1_000_000, "tokens_per_month": 10_000_000,
            "timeout_seconds": 30, **changes})

    def draft(self, wish=None, expected=(200,)) -> tuple[str, dict]:
        """The text of a draft, and its last event with its name."""
        answer = self.request("POST", self.path, wish or {"use": "suggest"}, (*expected, 429))
        if answer.status != 200:
            problem = answer.json()
            if problem.get("limit") == "member":  # this test is faster than an operator
                time.sleep(int(answer.headers["retry-after"]))
                return self.draft(wish, expected)
            if answer.status not in expected:
                raise Failure(f"a draft: {problem}")
            return "", problem
        text, last = "", {}
        for event in answer.text().split("\n\n"):
            lines = dict(line.split(": ", 1) for line in event.split("\n") if ": " in line)
            if not lines:
                continue
            data = json.loads(lines["data"])
            text += data.get("text", "")
            if "event" in lines:
                last = {"event": lines["event"], **data}
        return text, last

    def until(self, what: str, holds) -> None:
        limit = time.monotonic() + LIMIT
        while not holds():
            if time.monotonic() > limit:
                self.promise(f"never: {what}", False)
            self.console.page.wait_for_timeout(50)

    def open(self) -> Page:
        page = self.console.page
        page.goto(f"{self.base}/console#{self.id}")
        page.reload()
        expect(page.get_by_text("Live", exact=True)).to_be_visible()
        expect(self.console.theirs.first).to_be_visible()
        return page

    def button(self, name: str):
        return self.console.page.get_by_role("button", name=name, exact=True)

    # The parts

    def protocol(self) -> None:
        client = openai.OpenAI(base_url=self.endpoint.base, api_key=KEY, max_retries=0)
        ask = {"model": MODEL, "messages": [{"role": "user", "content": "hello"}]}
        self.endpoint.order(text="Grüße, 😀")
        chunks = list(client.chat.completions.create(**ask, stream=True, stream_options={"include_usage": True}))
        text = "".join(it.choices[0].delta.content or "" for it in chunks if it.choices)
        self.promise("the official client reads this test's stream, with its usage",
                     text == "Grüße, 😀" and chunks[-1].usage.total_tokens > 0
                     and chunks[-2].choices[0].finish_reason == "stop")
        self.promise("and an answer without a stream",
                     client.chat.completions.create(**ask).choices[0].message.content.startswith("It left"))
        faults = []
        for status, code, kind in ((401, "invalid_api_key", openai.AuthenticationError),
                                   (404, "model_not_found", openai.NotFoundError),
                                   (429, "insufficient_quota", openai.RateLimitError),
                                   (500, None, openai.InternalServerError)):
            self.endpoint.order(status=status, code=code)
            try:
                client.chat.completions.create(**ask)
            except kind as fault:
                faults.append(fault.code == code)
        self.promise("and its errors", faults == [True] * 4)
        client.close()
        self.endpoint.requests.clear()
        self.endpoint.connections = 0

    def off(self) -> None:
        def shows_nothing(when: str) -> None:
            page = self.open()
            page.wait_for_load_state("networkidle")
            problem = self.draft(expected=(409,))[1]
            self.promise(f"{when}: no button, a clear refusal, and not one connection",
                         self.button("Suggest a reply").count() == 0 and problem["type"].endswith("assist_off")
                         and not self.endpoint.connections)

        shows_nothing("without settings")
        self.set_assist(enabled=False)
        shows_nothing("with settings that are off")
        self.set_assist(uses=["summary"])
        problem = self.draft(expected=(409,))[1]
        self.promise("with another use on: the same", problem["type"].endswith("assist_off")
                     and not self.endpoint.connections)
        self.request("DELETE", SETTINGS)

    def settings(self) -> None:
        page = self.console.page
        page.goto(f"{self.base}/console#/settings/assist")
        expect(page.get_by_role("heading", name="Assist")).to_be_visible()
        page.get_by_label("Address").fill("ftp://nowhere")
        page.get_by_label("Model").fill(MODEL)
        page.get_by_label("API key").fill(KEY)
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("must be an address such as")).to_be_visible()
        self.watch.complaints.clear()  # the refusal
        page.get_by_label("Address").fill(self.endpoint.base)
        page.get_by_text("While it is on").click()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Saved", exact=True)).to_be_visible()
        self.accessible(page, "the settings")
        self.pictures(page, "assist-settings")
        shown = self.request("GET", SETTINGS).text()
        stored = self.sql("SELECT a::text || encode(ciphertext, 'escape') FROM assist_settings a")
        noted = self.sql("SELECT action || details FROM audit_log WHERE action LIKE 'assist%' ORDER BY id DESC LIMIT 1")
        self.promise("the key is in no answer and not readable in the database",
                     '"has_key":true' in shown and "VERYSECRET" not in shown + stored)
        self.promise("the audit log has the change, without the key",
                     noted.startswith("assist.changed") and MODEL in noted and "VERYSECRET" not in noted)
        self.promise("an endpoint with another address does not get the key", not json.loads(self.request(
            "PUT", SETTINGS, {"endpoint": f"{self.endpoint.base}x", "model": MODEL}).text())["assist"]["has_key"])
        self.set_assist()

    def suggests(self) -> None:
        page = self.open()
        page.get_by_role("button", name="Claim", exact=True).click()
        expect(self.button("Suggest a reply")).to_be_visible()
        self.endpoint.order(text="Your parcel left Rotterdam today. Ünïcode 😀.", pace=0.2)
        self.button("Suggest a reply").click()
        expect(self.console.text).to_have_value(re.compile("^Your parcel"))
        self.promise("the text comes in pieces", not self.console.text.input_value().endswith("😀."))
        expect(self.button("Stop")).to_be_visible()
        self.pictures(page, "assist-writing")
        expect(self.console.text).to_have_value("Your parcel left Rotterdam today. Ünïcode 😀.")
        expect(self.button("Undo")).to_be_visible()
        self.accessible(page, "a draft")
        request = self.endpoint.requests[-1]
        self.promise("the endpoint gets key and model, and a limit of tokens",
                     request.authorization == f"Bearer {KEY}" and request.body["model"] == MODEL
                     and request.body["max_tokens"] == 1_024 and request.body["stream"] is True)
        self.promise("and the conversation, canned replies and closed conversations of the workspace",
                     all(it in request.prompt for it in (
                         "Visitor: Where is my bicycle parcel 20418?", "Parcels take two days.",
                         "Operator: Your bicycle parcel is in Utrecht.")))
        self.promise("but nothing of another workspace, and no notes",
                     not any(it in request.prompt for it in (*SECRETS, "SECRET NOTE")))
        self.promise("the draft was not sent", self.sql(
            f"SELECT count(*) FROM chats WHERE session_id = '{self.id}' AND role = 'operator'"
            " AND kind = 'text'") == "0")
        self.button("Undo").click()
        expect(self.console.text).to_have_value("")
        self.button("Suggest a reply").click()
        expect(self.console.text).to_have_value("It left Rotterdam today.")
        self.console.text.press("End")
        self.console.text.type(" Sorry.")
        self.console.text.press("Enter")
        self.sent = "It left Rotterdam today. Sorry."
        expect(self.widget.theirs.last).to_have_text(self.sent)
        self.promise("the operator changes it and sends it; the draft is gone", not self.console.text.input_value())
        expect(self.button("Undo")).to_be_hidden()

    def typed_meanwhile(self) -> None:
        text = self.console.text
        text.fill("Hello,")
        self.endpoint.order(text="one two three four five six", pace=0.4)
        self.button("Suggest a reply").click()
        expect(text).to_have_value(re.compile("one"))
        text.type("MINE", delay=30)
        expect(text).to_have_value(re.compile("six"))
        self.promise(f"what is typed meanwhile stays: {text.input_value()!r}",
                     text.input_value() == "Hello,\none two three four five sixMINE")
        self.button("Undo").click()
        self.promise("undo removes the draft only", text.input_value() == "Hello,MINE")
        text.fill("")
        self.endpoint.order(text="one two three " * 20, pace=0.4)
        self.button("Suggest a reply").click()
        expect(text).to_have_value(re.compile("^one t"))
        text.press("Home")
        text.type("My ")
        self.until("the endpoint's client leaves", lambda: self.endpoint.requests[-1].ended.is_set())
        self.promise("a change of the draft stops it", text.input_value().startswith("My one t")
                     and self.endpoint.requests[-1].left.is_set())
        text.fill("")

    def stopped(self) -> None:
        for way in ("with Stop", "with another conversation"):
            self.endpoint.order(delay=40)
            self.button("Suggest a reply").click()
            count = len(self.endpoint.requests)
            self.until("a request", lambda: len(self.endpoint.requests) > 0
                       and not self.endpoint.requests[-1].ended.is_set())
            if way == "with Stop":
                self.button("Stop").click()
            else:
                self.console.page.goto(f"{self.base}/console#/inbox")
            began = time.monotonic()
            self.until("the endpoint's client leaves", self.endpoint.requests[-1].left.is_set)
            self.promise(f"a draft that ends {way} ends the request: {time.monotonic() - began:.1f} s",
                         time.monotonic() - began < 20 and count)
            self.open()
        expect(self.button("Suggest a reply")).to_be_visible()

    def summary(self) -> None:
        page = self.open()
        expect(self.button("Suggest a reply")).to_be_visible()
        self.endpoint.order(text="They ask for parcel 20418.")
        page.get_by_role("button", name="More actions").click()
        self.pictures(page, "assist-menu")
        page.get_by_role("menuitem", name="Summarize").click()
        expect(self.console.text).to_have_value("They ask for parcel 20418.")
        self.promise("a summary is the draft of a note",
                     page.locator(".compose.noting").count() == 1)
        self.button("Undo").click()
        page.get_by_role("button", name="Reply", exact=True).click()
        self.endpoint.order(text="They ask for parcel 20418. " + "x" * 900)
        page.get_by_role("button", name="Transfer").first.click()
        page.get_by_role("button", name="Summarize the conversation").click()
        expect(page.get_by_label("Reason")).to_have_value(re.compile(f"^They ask.*x{{400}}"))
        self.pictures(page, "assist-transfer")
        self.promise("a summary is the reason of a transfer, within its length",
                     len(page.get_by_label("Reason").input_value()) == 500)
        page.get_by_role("button", name="Cancel").click()

    def translation(self) -> None:
        page = self.console.page
        self.endpoint.order(text="Wo ist mein Paket?")
        self.console.theirs.first.hover()
        page.locator(".say.in .translate button").first.click()
        expect(page.locator(".translation").first).to_have_text("Wo ist mein Paket?")
        body = self.endpoint.requests[-1].body
        self.promise("a received message is translated to the operator's language, in its place",
                     "en-GB" in body["messages"][0]["content"]
                     and body["messages"][1]["content"] == "Where is my bicycle parcel 20418?")
        self.console.text.fill("It is in Utrecht.")
        self.endpoint.order(text="Es ist in Utrecht.")
        page.locator(".assists").get_by_role("button", name="Translate").click()
        self.pictures(page, "assist-languages")
        page.get_by_role("menuitem", name="German").click()
        expect(self.console.text).to_have_value("Es ist in Utrecht.")
        self.promise("a draft is replaced by its translation",
                     self.endpoint.requests[-1].body["messages"][1]["content"] == "It is in Utrecht.")
        self.button("Undo").click()
        expect(self.console.text).to_have_value("It is in Utrecht.")
        self.console.text.fill("")

    def faults(self) -> None:
        chunk = b'data: {"choices":[{"delta":{"content":"some "}}]}\n\n'
        for name, order, words in (
                ("endpoint_unauthorized", {"status": 401, "code": "invalid_api_key"}, "refused the API key"),
                ("endpoint_not_found", {"status": 404, "code": "model_not_found"}, "model_not_found"),
                ("endpoint_rate_limited", {"status": 429, "headers": {"Retry-After": "7"}}, "again in 7 s"),
                ("endpoint_refused", {"status": 400, "code": "context_length_exceeded"}, "context_length_exceeded"),
                ("endpoint_failed", {"status": 500}, "HTTP 500"),
                ("endpoint_incompatible", {"status": 307, "headers": {"Location": "/v1"}}, "redirects"),
                ("endpoint_incompatible", {"raw": b'{"choices":[]}'}, "stream of events"),
                ("endpoint_incompatible", {"raw": b"data: <html>\n\n"}, "no chat completion"),
                ("endpoint_cut_off", {"raw": chunk}, "too early"),
                ("endpoint_cut_off", {"cut_after": 2}, "too early"),
                ("endpoint_incompatible", {"raw": b"x" * 200_000}, "stream of events"),
                ("answer_too_long", {"text": "y" * 20_000}, "too long"),
                ("endpoint_failed", {"raw": chunk + b'data: {"error":{"code":"overloaded"}}\n\n'}, "overloaded")):
            self.endpoint.order(**order)
            text, last = self.draft()
            self.promise(f"{name}: {last.get('detail')}",
                         last.get("event") == "problem" and last["type"].endswith(f":{name}")
                         and words in last["detail"] and "VERYSECRET" not in json.dumps(last)
                         and len(text) <= 16_384)
        page = self.console.page
        self.endpoint.order(status=401)
        self.button("Suggest a reply").click()
        expect(page.get_by_text("refused the API key")).to_be_visible()
        self.pictures(page, "assist-refused")
        self.endpoint.order(cut_after=3)
        self.button("Suggest a reply").click()
        expect(page.get_by_text("ended too early")).to_be_visible()
        self.promise("the console shows it, and keeps the text that came",
                     self.console.text.input_value() == "It left Rotterd")
        self.console.text.fill("")
        self.set_assist(endpoint=f"http://127.0.0.1:{free_port()}/v1")
        text, last = self.draft()
        self.promise(f"an endpoint that is down: {last['detail']}", last["type"].endswith("endpoint_unreachable"))
        self.set_assist(api_key="sk-wrong")
        self.promise("a wrong key is refused by the endpoint", self.draft()[1]["type"].endswith("unauthorized"))
        self.set_assist()

    def slow(self) -> None:
        self.set_assist(timeout_seconds=5)
        for order, name in (({"delay": 30}, "too_slow"), ({"text": "z" * 200, "pace": 1}, "too_slow")):
            self.endpoint.order(**order)
            began = time.monotonic()
            last = self.draft()[1]
            took = time.monotonic() - began
            self.promise(f"{last.get('detail')} ({took:.1f} s)", last["type"].endswith(name) and 4 < took < 15)
        self.set_assist()

    def limits(self) -> None:
        self.sql("DELETE FROM assist_usage")
        spent = [self.draft()[1]["tokens"] for _ in range(3)]
        counted = json.loads(self.request("GET", SETTINGS).text())
        self.promise(f"tokens are counted as the endpoint counts them: {spent}",
                     min(spent) > 0 and sum(spent) == counted["tokens_today"] == counted["tokens_this_month"])
        self.endpoint.order(has_usage=False)
        self.draft()
        estimate = json.loads(self.request("GET", SETTINGS).text())["tokens_today"] - sum(spent)
        self.promise(f"and estimated if it does not: {estimate}", 0 < estimate < 5 * max(spent))
        self.endpoint.order(status=401)
        before = self.sql("SELECT sum(tokens) FROM assist_usage")
        self.draft()
        self.promise("a refused request costs nothing", before == self.sql("SELECT sum(tokens) FROM assist_usage"))
        for period in ("day", "month"):
            self.set_assist(**{f"tokens_per_{period}": sum(spent) + estimate + 10})
            connections = self.endpoint.connections
            problem = self.draft(expected=(429,))[1]
            self.promise(f"the limit of a {period}: {problem['detail']}",
                         problem["limit"] == f"assist_tokens_per_{period}"
                         and self.endpoint.connections == connections)
        page = self.console.page
        self.button("Suggest a reply").click()
        expect(page.get_by_text("tokens that your workspace may spend on drafts")).to_be_visible()
        self.set_assist()
        self.at_once()

    def at_once(self) -> None:
        """One operator has two drafts written at the same time."""
        for _ in range(2):
            self.endpoint.order(delay=8)
        cookies = "; ".join(f"{it['name']}={it['value']}" for it in self.desk.cookies())
        running = [threading.Thread(target=self.in_background, args=(cookies,)) for _ in range(2)]
        count = len(self.endpoint.requests)
        for thread in running:
            thread.start()
        self.until("two requests", lambda: len(self.endpoint.requests) == count + 2)
        problem = self.draft(expected=(429,))[1]
        self.promise("the third draft of an operator at once is refused", problem["limit"] == "drafts")
        for thread in running:
            thread.join()
        self.promise("and the next one is written", self.draft()[1]["event"] == "done")
        written = 0
        while written < 90 and self.request("POST", self.path, {"use": "suggest"}, (200, 429)).status == 200:
            written += 1
        self.promise(f"an operator has a rate: {written} more at once", written < 60)

    def in_background(self, cookies: str) -> None:
        request = urllib.request.Request(
            self.base + self.path, data=b'{"use":"suggest"}', method="POST",
            headers={"Content-Type": "application/json", "Cookie": cookies, "Origin": self.base,
                     "Sec-Fetch-Site": "same-origin"})
        with urllib.request.urlopen(request, timeout=LIMIT) as answer:
            answer.read()

    def another_server(self) -> None:
        """fakellm is a server that others have written. It counts no tokens in a stream."""
        port = free_port()
        program = Path(sys.executable).parent / "fakellm"
        rules = Path(os.environ.get("TMPDIR", "/tmp")) / f"fakellm-{os.getpid()}.yaml"
        rules.write_text('version: 1\nrules:\n  - name: parcel\n    when:\n      messages_contain: "20418"\n'
                         '    respond:\n      content: "The parcel is in Utrecht."\n')
        server = subprocess.Popen([program, "serve", "--host", "127.0.0.1", "--port", str(port), "--config", rules],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.until("fakellm listens", lambda: socket.socket().connect_ex(("127.0.0.1", port)) == 0)
            self.set_assist(endpoint=f"http://127.0.0.1:{port}/v1")
            limit = time.monotonic() + LIMIT
            while (answer := self.request("POST", self.path, {"use": "suggest"}, (200, 429))).status == 429:
                if time.monotonic() > limit:
                    raise Failure("the rate does not come back")
                time.sleep(1)
            text = "".join(json.loads(line[6:]).get("text", "") for line in answer.text().splitlines()
                           if line.startswith("data: "))
            self.promise(f"a server of others writes a draft: {text}",
                         text == "The parcel is in Utrecht." and "event: done" in answer.text())
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait(timeout=20)
            rules.unlink()
        self.set_assist()

    def looks(self) -> None:
        page = self.open()
        expect(self.button("Suggest a reply")).to_be_visible()
        self.pictures(page, "assist-thread")


if __name__ == "__main__":
    sys.exit(main(Assists, "assist"))
