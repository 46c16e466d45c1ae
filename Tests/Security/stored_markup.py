"""Stored markup (XSS): every text of every request body of the document, one by one, is set to markup with a script and to
a script's address; then a real browser opens every page of the console, and the widget.

No page may run it, make an element of it, complain about its content security policy, or link to it. A new text of a
body is attacked by itself, and so is a new page of the settings.
"""

import copy
import json
import re
import time

from playwright.sync_api import Error, expect, sync_playwright

import os
from attacks import WRITES, Tally, begin

gateway, options = begin(__doc__)
tally = Tally("stored markup")
MARKUP = ['"><img src=x onerror=hurt=1>', "</script><svg onload=hurt=1>", "javascript:hurt=1//http://x.example"]
LINK = "http://x.example/?\"><img src=x onerror=hurt=1>"
owner = {"Authorization": "Bearer " + options.owner}
workspace = gateway.sql("SELECT public_key FROM workspaces WHERE name = 'demo'")
stored = 0


def resolved(schema):
    while "$ref" in schema:
        found = gateway.document
        for part in schema["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        schema = found
    return schema


def texts(schema, path=(), depth=0):
    """The paths of the texts in values of a schema, with their longest lengths. Fixed ones are none."""
    schema = resolved(schema)
    for choice in schema.get("anyOf", []) + schema.get("oneOf", []) + schema.get("allOf", []):
        yield from texts(choice, path, depth)
    kind = schema.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    if "string" in kinds and not schema.get("enum") and "const" not in schema:
        yield path, schema.get("maxLength", 4_096)
    if depth < 8:
        for name, part in schema.get("properties", {}).items():
            yield from texts(part, path + (name,), depth + 1)
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            yield from texts(extra, path + ("x",), depth + 1)
        elif extra is not False and "object" in kinds and not schema.get("properties"):
            yield path + ("text",), 4_096
        if isinstance(schema.get("items"), dict):
            yield from texts(schema["items"], path + (0,), depth + 1)


def with_text(body, path, text):
    """The body with a text at a path; what is missing on the way is made."""
    body = copy.deepcopy(body)
    node = body
    for step, after in zip(path[:-1], path[1:]):
        empty = [] if after == 0 else {}
        if isinstance(node, list):
            if not node:
                node.append(empty)
            if not isinstance(node[0], type(empty)):
                node[0] = empty
            node = node[0]
        else:
            if not isinstance(node.get(step), type(empty)):
                node[step] = empty
            node = node[step]
    if isinstance(node, list):
        node[:] = [text]
    else:
        node[path[-1]] = text
    return body


def caller(operation):
    if {"visitor": []} in operation["security"]:
        return {"Authorization": "Bearer " + gateway.seeds["visitor"]}
    return owner if operation["security"] else {"Origin": gateway.url}


def fill():
    """Sends every text of every body; refused ones (of a fixed form) do not count as stored."""
    global stored
    refused, failed = 0, []
    for method, path, operation in gateway.operations:
        if method not in WRITES or "requestBody" not in operation or path.startswith("/api/v1/auth/"):
            continue
        example = gateway.example(method, path)
        if example is None:
            tally.control(f"{method} {path} has an example in openapi_seeds.py", False)
            continue
        content = operation["requestBody"]["content"]
        if "application/json" not in content:
            continue  # a part of a file
        schema = content["application/json"]["schema"]
        for place, length in dict(texts(schema)).items():
            name = f"{method} {path} {'.'.join(map(str, place))}"
            for markup in MARKUP + [LINK]:
                if len(markup) > length:
                    continue
                body = with_text(example["body"] or {}, place, markup)
                if path.endswith("/members") and place != ("email",):
                    body["email"] = f"m{time.time_ns()}@example.com"
                if path.endswith("/intents") and method == "POST" and place != ("name",):
                    body["name"] = f"i{time.time_ns()}"
                answer = gateway.call(method, gateway.address(path, example["parameters"]), body, caller(operation))
                if answer.status < 300:
                    stored += 1
                else:
                    refused += 1
                tally.attack(f"{name}: {markup}", answer.status < 500, f"{answer.status} {answer.text[:120]}")
    print(f"{stored} texts were stored, {refused} refused")
    tally.control("most operations store texts", stored >= 100, stored)


def headers():
    """Texts of headers that are shown: the device of a login, the page of a visitor."""
    for markup in MARKUP:
        password = re.search(r"demo@example\.com / (\S+)", open(options.log, errors="replace").read())[1]
        login = {"email": "demo@example.com", "password": password}
        answer = gateway.call("POST", "/api/v1/auth/login", login, {"User-Agent": f"Mozilla/5.0 {markup} Firefox/1"})
        tally.control("a login with a hostile browser's name", answer.status == 200, answer.text[:120])
        gateway.call(
            "POST", "/api/v1/widget/token", {"workspace": workspace},
            {"Origin": gateway.url, "Referer": f"{gateway.url}/{markup}", "User-Agent": markup, "Accept-Language": markup})


# Elements and links that only an attack makes, in the page and in its shadow trees.
FOUND = """() => {
  const found = [];
  const look = (root) => {
    for (const node of root.querySelectorAll('*')) {
      for (const { name, value } of node.attributes) {
        if (/^on/i.test(name)) found.push(`${node.tagName} ${name}`);
        if (/^(href|src|action|formaction|srcdoc|data|xlink:href)$/i.test(name)
          && /^\\s*(javascript|data:text|vbscript)/i.test(value)) found.push(`${node.tagName} ${name}=${value}`);
      }
      if (node.tagName === 'IMG' && node.getAttribute('src') === 'x') found.push('IMG');
      if (node.shadowRoot) look(node.shadowRoot);
    }
  };
  look(document);
  if (window.hurt !== undefined) found.push('a script ran');
  return found;
}"""
SHOWN = """() => {
  const text = (root) => [...root.querySelectorAll('*')].reduce(
    (all, node) => all + (node.shadowRoot ? text(node.shadowRoot) : '') + (node.value ?? ''), root.textContent ?? '');
  return text(document.body).split('hurt=1').length - 1;
}"""


class Browser:
    def __init__(self, playwright):
        sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
        self.browser = playwright.chromium.launch(executable_path=os.environ.get("CHROMIUM") or None, args=sandbox)
        self.shown, self.complaints = 0, []

    def page(self, width=1440):
        page = self.browser.new_context(viewport={"width": width, "height": 900}, locale="en-GB").new_page()
        page.set_default_timeout(60_000)
        page.add_init_script(
            "addEventListener('securitypolicyviolation', (event) =>"
            " console.error(`CSP ${event.violatedDirective} ${event.blockedURI}`))")
        page.on("dialog", lambda dialog: (self.complaints.append(f"a dialog: {dialog.message}"), dialog.dismiss()))
        page.on("console", lambda line: self.complaints.append(line.text) if "CSP" in line.text or "Content Security" in line.text else None)
        page.on("pageerror", lambda error: self.complaints.append(f"an error of the page: {error}"))
        return page

    def look(self, page, name):
        page.wait_for_timeout(250)
        for frame in page.frames:
            try:
                found, shown = frame.evaluate(FOUND), frame.evaluate(SHOWN)
            except Error:
                if not frame.is_detached():
                    raise
                continue  # A preview was drawn anew: this one shows nothing any more.
            tally.attack(f"{name}: no element, link or script of a text", not found, found[:3])
            self.shown += shown
        complaints, self.complaints = self.complaints, []
        tally.attack(f"{name}: no complaint of the browser", not complaints, complaints[:3])

    def console(self):
        page = self.page()
        page.goto(f"{gateway.url}/console")
        page.get_by_role("button", name="Log in").click()
        expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
        sessions = gateway.sql(
            "SELECT s.id FROM chat_sessions s JOIN workspaces w ON w.id = s.workspace_id WHERE w.name = 'demo'"
            " ORDER BY s.id DESC LIMIT 24").split("\n")
        for session in sessions:
            self.go(page, f"#/inbox/{session}")
            self.look(page, "a conversation")
        for place in ("#/analytics", "#/analytics/30/ratings"):
            self.go(page, place)
            self.look(page, "analytics")
        self.go(page, "#/settings")
        expect(page.get_by_role("heading", name="Settings")).to_be_visible()
        links = page.locator(".settings-nav a").evaluate_all("(links) => links.map((link) => link.getAttribute('href'))")
        tally.control("the settings have pages", len(links) >= 16, links)
        for link in links:
            self.go(page, link)
            expect(page.get_by_text("Loading")).to_have_count(0)
            self.look(page, link)
            inner = page.locator(f"a[href^='{link}/']").evaluate_all("(links) => links.map((link) => link.getAttribute('href'))")
            for item in inner[:4]:
                self.go(page, item)
                self.look(page, f"an item of {link}")
        page.context.close()

    def go(self, page, place):
        page.evaluate("(hash) => { location.hash = hash }", place)

    def widget(self):
        page = self.page(800)
        page.goto(f"{gateway.url}/demo")
        page.locator("chirrup-chat .launcher").click()
        page.wait_for_timeout(1_500)
        self.look(page, "the widget")
        text = page.get_by_role("dialog").locator("textarea")
        if text.count():
            for markup in MARKUP:
                text.first.fill(markup)
                text.first.press("Enter")
            page.wait_for_timeout(1_500)
            self.look(page, "the widget with a conversation")
        page.context.close()


fill()
headers()
with sync_playwright() as playwright:
    browser = Browser(playwright)
    try:
        browser.widget()
        browser.console()
        tally.control("the pages show the texts", browser.shown >= 100, browser.shown)
        # The eyes of this test: an element that a script makes is found.
        page = browser.page()
        page.goto("about:blank")
        page.set_content("<p>x</p>")
        page.evaluate("document.body.innerHTML = '<a href=\"javascript:1\">a</a><img src=x onerror=\"hurt=1\">'")
        page.wait_for_timeout(500)
        tally.control("markup that is not escaped would be found", len(page.evaluate(FOUND)) >= 4, page.evaluate(FOUND))
        print(f"the pages showed {browser.shown} of the texts")
    finally:
        browser.browser.close()
tally.end(at_least=400)
