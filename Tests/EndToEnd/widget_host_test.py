"""The widget within the pages of its hosts: what they do to the document, and what the visitor's browser does to them.

Started by widget_host.sh. The pages are made here, and each has an origin of its own.
"""

import base64
import re
import sys

from browser_test import Widget, foreign_server
from playwright.sync_api import Page, expect
from widget_test import WidgetRun, main
from widget_texts import EN, texts_of

LANGUAGES = ("en", "de", "es", "th", "ar", "ja")
#: The element of the widget, and its parts by a selector.
ROOT = "document.querySelector('chirrup-chat').shadowRoot"
#: Without the top layer's popovers, as browsers before 2024.
OLD = "delete HTMLElement.prototype.showPopover; delete HTMLElement.prototype.popover;"
#: The number of colours of a picture that at least 1 % of its pixels have, without gradations of edges.
COLOURS = """async (picture) => {
  const bytes = Uint8Array.from(atob(picture), (it) => it.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const canvas = new OffscreenCanvas(image.width, image.height).getContext('2d');
  canvas.drawImage(image, 0, 0);
  const { data } = canvas.getImageData(0, 0, image.width, image.height);
  const counts = new Map();
  for (let at = 0; at < data.length; at += 4) {
    const colour = data.slice(at, at + 3).map((it) => it >> 5).join(' ');
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  return [...counts.values()].filter((it) => it > data.length / 400).length;
}"""
#: The parts of the header that are cut off or overlap another.
CLIPPED = """() => {
  const panel = %s.querySelector('dialog');
  const head = panel.querySelector('.head');
  const parts = [...head.querySelectorAll('h2, .who p, button, .mark')].filter((it) => it.checkVisibility());
  const around = head.getBoundingClientRect();
  const problems = [];
  if (around.top < -1 || around.right > innerWidth + 1) problems.push('the header is outside the window');
  for (const it of [head, ...parts]) {
    const box = it.getBoundingClientRect();
    const isCut = it.scrollHeight > it.clientHeight + 1 || it.scrollWidth > it.clientWidth + 1;
    if (isCut && !it.matches('.mark')) {
      problems.push(`${it.tagName} ${it.title}: the text is cut off`);
    }
    if (box.top < around.top - 1 || box.bottom > around.bottom + 1 || box.left < around.left - 1
        || box.right > around.right + 1) problems.push(`${it.tagName} ${it.title}: is outside the header`);
    for (const other of parts) {
      const two = other.getBoundingClientRect();
      if (it !== head && it !== other && !it.contains(other) && !other.contains(it) && box.left < two.right - 1
          && two.left < box.right - 1 && box.top < two.bottom - 1 && two.top < box.bottom - 1) {
        problems.push(`${it.tagName} ${it.title} overlaps ${other.tagName} ${other.title}`);
      }
    }
  }
  return problems;
}""" % ROOT

class HostRun(WidgetRun):
    def run(self) -> None:
        first = self.page(self.context())
        demo = first.request.get(f"{self.options.base_url}/demo").text()
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        self.config = f"{self.options.base_url}/api/v1/widget/config?workspace={self.key}"
        look = {"locale": "auto", "greeting": {"title": "Hello", "text": "Ask us."}}
        self.set(first, lambda it: it["locale"] == "auto", widget=look)
        for part in self.parts():
            if not self.options.only or part.__name__ in self.options.only.split(","):
                part()

    def parts(self) -> tuple:
        return self.replaced, self.again, self.layers, self.modal, self.forced, self.printed, self.small

    def host(self, body="<main><h1>A shop</h1></main>", script="", attributes="", **context) -> Widget:
        """A page with the widget and this body; `script` runs before all others."""
        page = self.page(self.context(**context))
        if script:
            page.add_init_script(script)
        server = foreign_server(
            "<!doctype html><html lang=en><title>A shop</title><link rel=icon href=data:,><body>" + body +
            f"<script src={self.options.base_url}/widget.js data-workspace={self.key} {attributes}></script>",
            "object-src 'none'")
        page.on("close", lambda _: server.shutdown())
        return Widget(page, f"http://127.0.0.1:{server.server_port}", "/")

    def teller(self, widget: Widget, words="Hello") -> str:
        """Begins a conversation, and returns its session."""
        widget.say(words)
        widget.committed()
        return self.session(widget.page)

    # The host's document

    def replaced(self) -> None:
        """What Turbo, a router or a view transition does to the body (X13)."""
        widget = self.host()
        page = widget.page
        widget.open()
        self.teller(widget)
        widget.text.fill("half a sentence")
        for name, act in {
            "a body without its children": "document.body.replaceChildren(document.createElement('main'))",
            "another body": "document.body.replaceWith(document.createElement('body'))",
            "a view transition": "document.startViewTransition(() => document.body.replaceWith("
            "document.createElement('body'))).finished",
        }.items():
            page.evaluate(f"async () => {{ await {act}; }}")
            expect(widget.panel).to_be_visible()
            expect(widget.text).to_have_value("half a sentence")
            expect(widget.text).to_be_focused()
            self.promise(f"the open chat lives on, with its draft and the focus: {name}")
        widget.say("still here")
        widget.committed()
        page.evaluate("document.replaceChild(document.documentElement.cloneNode(false), document.documentElement)")
        expect(widget.panel).to_be_visible()
        widget.say("in another document element")
        widget.committed()
        page.evaluate("chirrup.close()")
        expect(widget.panel).to_be_hidden()
        page.evaluate("document.documentElement.replaceChildren(document.createElement('body'))")
        expect(widget.launcher).to_be_visible()
        page.evaluate("chirrup.open()")
        expect(widget.own).to_have_count(3)
        expect(widget.text).to_be_focused()
        self.promise("also when the whole document is replaced; chirrup.open() works afterwards")
        page.set_viewport_size({"width": 390, "height": 844})
        page.evaluate("chirrup.close()")
        page.evaluate("chirrup.open()")
        expect(widget.panel).to_be_visible()
        page.evaluate("document.documentElement.replaceChildren(document.createElement('body'))")
        expect(widget.panel).to_be_visible()
        page.wait_for_function(f"{ROOT}.querySelector('dialog').matches(':modal')")
        self.promise("on a phone the chat is again above everything")
        page.close()

    def again(self) -> None:
        """The script runs again, as Turbo does with those of a new body."""
        widget = self.host()
        page = widget.page
        run = ("() => new Promise((done) => { const it = document.createElement('script');"
               f" it.src = '{self.options.base_url}/widget.js'; it.dataset.workspace = '{self.key}'; it.onload = done;"
               " document.body.append(it); })")
        page.evaluate("window.first = chirrup")
        for _ in range(2):
            page.evaluate(run)
        widget.open()
        page.evaluate(run)
        expect(page.locator("chirrup-chat")).to_have_count(1)
        expect(widget.panel).to_be_visible()
        self.promise("the script that runs again changes nothing", page.evaluate("window.first === chirrup"))
        page.close()
        for opened in (True, False):
            widget = self.host()
            page = widget.page
            if opened:
                widget.open()
            page.evaluate("chirrup.destroy()")
            expect(page.locator("chirrup-chat")).to_have_count(0)
            page.evaluate("() => new Promise((done) => { document.body.replaceChildren();"
                          " requestAnimationFrame(() => requestAnimationFrame(done)); })")
            expect(page.locator("chirrup-chat")).to_have_count(0)
            page.evaluate(run)
            expect(widget.launcher).to_be_visible()
            if not opened:
                widget.open()
            expect(widget.panel).to_be_visible()
            widget.say("again")
            widget.committed()
            self.promise(f"after destroy() it is gone until the script runs again ({'' if opened else 'not '}opened before)")
            page.close()

    def layers(self) -> None:
        """Transforms, stacking contexts and layers of the host's page (X14)."""
        body = (
            "<style>body { margin: 0; transform: translateX(0); filter: opacity(.99); height: 4000px }"
            " .cover { position: fixed; inset: 0; z-index: 2147483647; background: #fffc }</style>"
            "<div id=cover class=cover hidden></div>"
        )
        for script in ("", OLD):
            widget = self.host(body, script, reduced_motion="reduce")
            page = widget.page
            page.mouse.wheel(0, 900)
            page.wait_for_function("scrollY > 500")
            box = widget.launcher.bounding_box()
            self.promise(
                f"a body with a transform: the launcher stays in the window's corner {box} {'(old browser)' if script else ''}",
                (round(box["x"] + box["width"]), round(box["y"] + box["height"])) == (1260, 840))
            widget.open()
            box = widget.panel.bounding_box()
            self.promise(f"and the panel above it {box}", box["y"] > 0 and round(box["y"] + box["height"]) == 768)
            if not script:
                page.evaluate("cover.hidden = false")
                page.evaluate("document.body.append(Object.assign(document.createElement('div'), { className: 'cover' }))")
                widget.say("above")
                widget.panel.get_by_role("button", name=EN["close"]).click()
                widget.launcher.click()
                expect(widget.text).to_be_focused()
                self.promise("no z-index of the page covers it")
            page.close()

        for direction, left in (("ltr", 1204), ("rtl", 20)):
            widget = self.host(f"<script>document.body.dir = '{direction}'</script>")
            box = widget.launcher.bounding_box()
            self.promise(f"the corner is that of the body's direction, {direction} {box}", round(box["x"]) == left)
            widget.page.close()

    def modal(self) -> None:
        """A dialog of the page is modal, so all the rest of the document is inert."""
        body = (
            "<dialog id=terms><p>Terms<p><button id=ask onclick='chirrup.open()'>Ask us</button></dialog>"
            "<button onclick='terms.showModal()'>Terms</button>"
        )
        for script in ("", OLD):
            for within in (False, True):
                shadowed = ("<div id=at></div><script>{ const root = at.attachShadow({ mode: 'open' });"
                            " root.append(terms); globalThis.terms = root.firstChild; } </script>")
                widget = self.host(body + (shadowed if within else ""), script, reduced_motion="reduce")
                page = widget.page
                page.get_by_role("button", name="Terms").click()
                page.get_by_role("button", name="Ask us").click()
                panel = page.locator("chirrup-chat dialog")
                text = panel.get_by_label(EN["message"], exact=True)
                expect(text).to_be_focused()
                page.keyboard.type("What does it mean?")
                page.keyboard.press("Enter")
                expect(panel.locator(".say.out .bubble")).to_have_text("What does it mean?")
                box = panel.bounding_box()
                self.promise(f"opened by a modal dialog it can be used {box}",
                             round(box["x"] + box["width"]) == 1260 and round(box["y"] + box["height"]) == 768)
                self.shot(page, "host-modal")
                page.keyboard.press("Escape")
                expect(panel).to_be_hidden()
                expect(page.get_by_role("button", name="Ask us")).to_be_focused()
                page.keyboard.press("Escape")
                expect(page.get_by_role("button", name="Ask us")).to_be_hidden()
                widget.open()
                self.promise("Escape closes the chat first, then the dialog; then the launcher opens it again")
                page.close()

    # The visitor's browser

    def seen(self, page: Page, it, what: str) -> None:
        """Whether something can be seen within the place of an element."""
        # In one step, since the widget may draw an element anew at any time.
        it.evaluate("(it) => it.scrollIntoView({ block: 'nearest' })")
        box = it.bounding_box()
        clip = {**box, "x": box["x"] - 2, "y": box["y"] - 2, "width": box["width"] + 4, "height": box["height"] + 4}
        picture = base64.b64encode(page.screenshot(clip=clip, animations="disabled")).decode()
        count = self.judge.evaluate(COLOURS, picture)
        if count < 2:
            self.shot(page, "host-forced-invisible")
        self.promise(f"with forced colours one sees {what} ({count} colours)", count >= 2)

    def forced(self) -> None:
        self.judge = self.page(self.context())
        for scheme in ("light", "dark"):
            widget = self.host(forced_colors="active", color_scheme=scheme, reduced_motion="reduce")
            page = widget.page
            expect(widget.launcher).to_be_visible()
            self.seen(page, widget.launcher, f"the launcher before the chat is loaded, {scheme}")
            widget.open()
            session = self.teller(widget)
            self.tell(session, body="Choose", payload={"quick_replies": [{"label": "Yes", "value": "y"}]})
            expect(widget.panel.locator(".reply")).to_be_visible()
            widget.text.fill("x")
            self.seen(page, widget.launcher, "the open launcher")
            for mark in (".mark", ".dot"):
                self.seen(page, widget.panel.locator(mark), mark)
            for button in widget.panel.locator("button:visible, textarea:visible").all():
                name = button.evaluate("(it) => it.title || it.textContent || it.tagName")
                edge = button.evaluate("(it) => it.closest('.compose') ? 1 : parseFloat(getComputedStyle(it).borderTopWidth)")
                self.promise(f"with forced colours a control has an edge: {name} ({edge} px)", edge >= 1)
                self.seen(page, button.locator("xpath=..") if name == "TEXTAREA" else button, name)
            edge = widget.panel.evaluate("(it) => getComputedStyle(it).outline")
            self.promise(f"and the panel ({edge})", "solid 1px" in edge and "rgba" not in edge)
            self.shot(page, f"host-forced-{scheme}")
            page.evaluate("chirrup.close()")
            self.tell(session, body="One more")
            self.seen(page, widget.panel.page.locator("chirrup-chat .teaser"), "the teaser")
            self.seen(page, widget.launcher, "the launcher with a count")
            self.shot(page, f"host-forced-closed-{scheme}")
            page.close()

    def printed(self) -> None:
        widget = self.host().open()
        widget.page.emulate_media(media="print")
        expect(widget.launcher).to_be_hidden()
        expect(widget.panel).to_be_hidden()
        widget.page.emulate_media(media="screen")
        expect(widget.panel).to_be_visible()
        self.promise("the widget does not print")
        widget.page.close()

    def small(self) -> None:
        """Small windows, as 400 % zoom of 1280 × 1024 (320 × 256) or less makes them."""
        name = "Rotterdam Cargo Bike Repair and Spare Parts"
        judge = self.page(self.context())
        self.sql(f"UPDATE workspaces SET name = '{name}'")
        self.set(judge, lambda it: it["workspace"]["name"] == name)
        for width, height in ((320, 568), (320, 256), (320, 200), (280, 400), (481, 481), (1280, 860)):
            widget = self.host(width=width, height=height)
            page = widget.page
            widget.launcher.click()
            widget.say("Hello")
            widget.committed()
            for code in LANGUAGES:
                page.evaluate("(code) => chirrup.setLocale(code)", code)
                expect(widget.panel.get_by_placeholder(texts_of(code)["write"])).to_have_count(1)
                problems = page.evaluate(CLIPPED)
                self.promise("\n      ".join([f"the header is whole at {width}×{height}, {code}", *problems]),
                             not problems)
            self.shot(page, f"host-{width}x{height}")
            page.close()
        self.sql("UPDATE workspaces SET name = 'demo'")
        self.set(judge, lambda it: it["workspace"]["name"] == "demo")


if __name__ == "__main__":
    sys.exit(main(HostRun, "the widget in its hosts' pages"))
