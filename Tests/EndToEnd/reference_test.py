"""The API reference in a real browser.

Started by reference.sh; needs a gateway with --demo and its log. A check for each promise to a developer.
"""

import json
import re
import sys
import urllib.request

from playwright.sync_api import Page, expect

from browser_test import Run, begin

MESSAGES = "post_admin_live_chat_conversations_id_messages"
LIST = "get_admin_live_chat_conversations"
SIZES = [(320, 568), (390, 844), (900, 900), (1180, 900), (1440, 900)]
# Answers that the test itself asks for, as the browser reports them.
REFUSALS = re.compile(r"the server responded with a status of (401|404)")


class ReferenceRun(Run):
    def run(self) -> None:
        self.watch.expected = REFUSALS
        self.base = self.options.base_url
        with urllib.request.urlopen(f"{self.base}/api/v1/openapi.json", timeout=20) as answer:
            document = json.load(answer)
        self.operations = {operation["operationId"]: operation
                           for item in document["paths"].values() for operation in item.values()}
        self.session = json.loads(self.options.visitor)["session"]
        self.key = self.request("POST", "/api/v1/admin/api-keys", {
            "name": "reference", "scopes": ["conversations:read", "conversations:write"]})["key"]
        desk = self.context(1440, 900)
        desk.grant_permissions(["clipboard-read", "clipboard-write"])
        self.api = self.page(desk)
        self.opens()
        self.search()
        self.keyboard()
        self.every_operation()
        self.requests()
        self.secret()
        self.phone()
        self.looks()

    def request(self, method: str, path: str, body: dict | None = None) -> dict:
        request = urllib.request.Request(
            self.base + path, None if body is None else json.dumps(body).encode(),
            {"Authorization": f"Bearer {self.options.operator_token}", "Content-Type": "application/json"},
            method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def go(self, id: str, page: Page | None = None) -> Page:
        page = page or self.api
        page.evaluate("(hash) => { location.hash = hash }", id)
        title = self.operations[id]["summary"] if id in self.operations else None
        if title:
            expect(page.get_by_role("heading", level=1)).to_have_text(title)
        return page

    # Promises

    def opens(self) -> None:
        page = self.api
        answer = page.goto(f"{self.base}/api#{MESSAGES}")
        policy = answer.headers["content-security-policy"]
        self.promise("the page has a policy without inline scripts and styles",
                     "unsafe-inline" not in policy and "script-src 'self'" in policy)
        expect(page.get_by_role("heading", level=1)).to_have_text("Send a message")
        expect(page).to_have_title("Send a message · Chirrup API")
        current = page.locator(".api-nav [aria-current=page]")
        expect(current).to_have_text(re.compile("Send a message"))
        self.promise("a link with #operation opens the operation, and the list shows where it is")
        links = page.locator(".api-nav li a").evaluate_all("(all) => all.map((a) => a.hash.slice(1))")
        self.promise("every operation of the document is in the list once",
                     sorted(links) == sorted(self.operations))
        expect(page.locator(".sample-bar").first).to_contain_text("curl")
        page.get_by_text("Python", exact=True).first.click()
        expect(page.locator("pre:visible").first).to_contain_text("requests.post(")
        page.get_by_role("button", name="Copy", exact=True).first.click()
        expect(page.get_by_role("button", name="Copied")).to_be_visible()
        copied = page.evaluate("navigator.clipboard.readText()")
        self.promise("examples can be copied, with the address of this server",
                     "requests.post(" in copied and f"{self.base}/api/v1/admin/" in copied)
        page.evaluate("location.hash = 'no-such-operation'")
        expect(page.get_by_role("heading", level=1)).to_have_text("Getting started")
        self.promise("an unknown operation leads to the beginning")

    def search(self) -> None:
        page = self.api
        page.keyboard.press("/")
        field = page.get_by_role("searchbox")
        expect(field).to_be_focused()
        field.fill("rating_comment")
        found = page.locator(".api-nav li:visible a")
        ids = found.evaluate_all("(all) => all.map((a) => a.hash.slice(1))")
        self.promise("the search finds operations by members of their answers",
                     LIST in ids and len(ids) < len(self.operations))
        expect(page.locator(".found")).to_have_text(f"{len(ids)} operations")
        field.fill("nothing has these words")
        expect(page.locator(".found")).to_have_text("0 operations")
        field.fill("tags replace")
        field.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text(
            self.operations["put_admin_live_chat_conversations_id_tags"]["summary"])
        self.promise("Enter opens the first hit")
        field.focus()
        field.press("Escape")
        expect(field).to_have_value("")
        expect(page.locator(".found")).to_have_text("")
        self.promise("Escape ends the search")

    def keyboard(self) -> None:
        page = self.api
        page.reload()
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        page.keyboard.press("Tab")
        expect(page.get_by_text("Skip to the content")).to_be_focused()
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        self.promise("the first key press leads past the list")
        field = page.get_by_role("searchbox")
        field.fill("webhook")
        field.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_be_focused()
        second = page.locator(".api-nav li:visible a").nth(1).get_attribute("href")
        self.promise("arrow keys walk through the hits, and the heading gets the focus",
                     page.url.endswith(second))
        field.fill("")

    def every_operation(self) -> None:
        for id, operation in self.operations.items():
            page = self.go(id)
            where = page.locator("main")
            for heading in ("Request", "Answer", "Errors"):
                expect(where.get_by_role("heading", name=heading, exact=True)).to_be_visible()
            names = where.locator(".params").first.locator("dt b").all_inner_texts()
            wanted = {parameter["name"] for parameter in operation["parameters"]}
            if not wanted <= set(names):
                self.promise(f"{id}: parameters are missing: {wanted - set(names)}", False)
            text = where.inner_text()
            if "undefined" in text or "[object" in text:
                self.promise(f"{id}: a value is not shown", False)
        self.promise(f"all {len(self.operations)} operations are shown with parameters, examples and errors")

    def requests(self) -> None:
        page = self.go(LIST)
        requests = []
        page.on("request", lambda request: requests.append(request))
        send = page.get_by_role("button", name="Send the request")
        answer = page.get_by_role("status", name="Answer")
        send.click()
        expect(answer.locator(".stat")).to_have_text("401")
        expect(answer).to_contain_text("urn:chirrup:problem:unauthenticated")
        self.promise("a request without a key shows the problem document")
        page.get_by_label("API key").fill(self.key)
        page.get_by_label("limit").fill("1")
        send.click()
        expect(answer.locator(".stat")).to_have_text("200")
        expect(answer).to_contain_text('"conversations"')
        sent = requests[-1]
        self.promise("with a key it shows the answer, and sends the parameters and no cookie",
                     sent.url.endswith("/api/v1/admin/live-chat/conversations?limit=1")
                     and sent.header_value("authorization") == f"Bearer {self.key}"
                     and sent.header_value("cookie") is None)
        page = self.go(MESSAGES)
        expect(page.get_by_label("API key")).to_have_value(self.key)
        page.get_by_role("button", name="Send the request").click()
        field = page.get_by_label("id path")
        expect(field).to_be_focused()
        expect(page.get_by_text("Enter a value.")).to_be_visible()
        field.fill(self.session)
        page.get_by_label("Body JSON").fill("{")
        page.get_by_role("button", name="Send the request").click()
        expect(page.get_by_text("This is not JSON. Check its syntax.")).to_be_visible()
        self.accessible(page, "a form with a fault")
        self.promise("what cannot be sent is marked at its field")
        page.get_by_label("Body JSON").fill('{"body": "Written in the reference"}')
        page.get_by_role("button", name="Send the request").click()
        expect(page.get_by_role("status", name="Answer").locator(".stat")).to_have_text("201")
        stored = self.request("GET", f"/api/v1/admin/live-chat/conversations/{self.session}/messages")
        self.promise("a write is carried out once, under the key's name",
                     [(it["body"], it["sender"]["kind"]) for it in stored["messages"]]
                     == [("Written in the reference", "bot")])
        self.shot(page, "reference-answer")

    def secret(self) -> None:
        page = self.api
        field = page.get_by_label("API key")
        expect(field).to_have_attribute("type", "password")
        page.get_by_role("button", name="Show the key").click()
        expect(field).to_have_attribute("type", "text")
        kept = page.evaluate("""async () => JSON.stringify([
          {...localStorage}, {...sessionStorage}, document.cookie, history.state, location.href,
          await indexedDB.databases(), await caches.keys(),
        ])""")
        self.promise("the key is in no storage, cookie, database or address", self.key not in kept)
        page.reload()
        expect(page.get_by_label("API key")).to_have_value("")
        self.promise("it is gone with the page")
        with open(self.options.log, encoding="utf-8", errors="replace") as log:
            self.promise("and in no line of the gateway's log", self.key not in log.read())

    def phone(self) -> None:
        page = self.page(self.context(390, 844, has_touch=True))
        page.goto(f"{self.base}/api#{MESSAGES}")
        expect(page.locator(".api-nav a:visible")).to_have_count(1)
        page.get_by_role("button", name="All routes").click()
        page.locator(".api-nav summary", has_text=re.compile(r"^Visitors\s*\d")).click()
        page.get_by_role("link", name="Get a visitor").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Get a visitor")
        expect(page.locator(".api-nav a:visible")).to_have_count(1)
        self.promise("on a phone the list opens and closes")
        page.get_by_role("button", name="Find a route or a word").click()
        field = page.get_by_role("searchbox")
        expect(field).to_be_focused()
        field.fill("audit log")
        page.get_by_role("link", name=re.compile("List the changes")).click()
        expect(page.get_by_role("heading", level=1)).to_have_text("List the changes in the workspace, newest first")
        self.promise("and the search works there")

    def looks(self) -> None:
        for scheme in ("light", "dark"):
            page = self.page(self.context(1440, 900, color_scheme=scheme))
            page.goto(f"{self.base}/api#{MESSAGES}")
            found = []
            for width, height in SIZES:
                page.set_viewport_size({"width": width, "height": height})
                for id in ("errors", MESSAGES, "patch_admin_settings"):
                    self.go(id, page)
                    found += [f"{width} px: {fault}" for fault in self.axe_findings(page)]
                    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                        found.append(f"{id} is wider than {width} px")
                    self.shot(page, f"reference-{id}-{scheme}-{width}")
            self.promise("\n      ".join([f"axe finds nothing at any size, {scheme}", *found]), not found)


if __name__ == "__main__":
    sys.exit(begin(ReferenceRun, __doc__, "reference", ("--log", "--operator-token", "--visitor")))
