"""A conversation is rated: the form in the widget at many sizes, and its comment in the console.

Started by rating.sh. A control counts as reachable if what a visitor can scroll brings it into the window, whole, and a
press on its middle or near its corners meets it and nothing else.
"""

import csv
import io
import re
import sys
from pathlib import Path

from browser_test import Console, Widget
from playwright.sync_api import Page, expect
from widget_test import WidgetRun, main
from widget_texts import EN, texts_of

#: Width, height, and whether everything is in view without any scrolling.
SIZES = (
    (2560, 1440, True), (1920, 1080, True), (1280, 860, True), (1280, 800, True), (1280, 600, True),
    (1024, 480, False), (844, 390, False), (667, 375, False), (568, 320, False), (640, 400, False),
    (390, 844, True), (360, 640, True), (320, 568, True), (390, 420, False), (320, 256, False),
    (280, 400, False), (320, 200, False),
)
#: The sizes for one language at a time and for larger text.
SOME = ((1280, 800), (667, 375), (320, 568), (280, 400), (320, 200))
#: Doubles the text size, as a browser's or a phone's setting does.
LARGE = """() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(`dialog { font-size: ${innerWidth > 480 && innerHeight > 480 ? 28 : 32}px !important }`);
  document.querySelector('chirrup-chat').shadowRoot.adoptedStyleSheets.push(sheet);
}"""
#: Returns the elements that cover each control; an empty list means that the form can be used.
PROBLEMS = """async (whole) => {
  const root = document.querySelector('chirrup-chat').shadowRoot;
  const panel = root.querySelector('dialog');
  await Promise.all(panel.getAnimations().map((it) => it.finished));
  const form = root.querySelector('form');
  const close = panel.querySelector('.head button:last-of-type');
  const controls = [...form.querySelectorAll('input, textarea, button'), form.parentNode.parentNode.querySelector(
    'dialog > .again'), close];
  const problems = [];
  const name = (it) => it.value || it.title || it.textContent || it.name;
  const inside = ({ left, top, right, bottom }, box) => left >= box.left - 1 && top >= box.top - 1
    && right <= box.right + 1 && bottom <= box.bottom + 1;
  const screen = { left: 0, top: 0, right: innerWidth, bottom: innerHeight };
  const chain = (it) => it && it !== panel.parentNode ? [it, ...chain(it.parentNode)] : [];
  const text = (box) => [box.left, box.top, box.right, box.bottom].map(Math.round).join(' ');
  const look = (it, when) => {
    const box = it.getBoundingClientRect();
    if (!box.width || !box.height) return problems.push(`${name(it)} ${when}: has no size`);
    if (!inside(box, screen)) problems.push(`${name(it)} ${when}: ${text(box)} is outside the window`);
    for (const around of chain(it.parentNode)) {
      if (getComputedStyle(around).overflowY !== 'visible' && !inside(box, around.getBoundingClientRect())) {
        problems.push(`${name(it)} ${when}: ${text(box)} is cut off by ${text(around.getBoundingClientRect())}`);
      }
    }
    for (const [x, y] of [[.5, .5], [.15, .15], [.85, .15], [.15, .85], [.85, .85]]) {
      const hit = root.elementFromPoint(box.left + box.width * x, box.top + box.height * y);
      if (!hit || !(it.contains(hit) || it.closest('label')?.contains(hit))) {
        problems.push(`${name(it)} ${when}: a press at ${x} ${y} meets ${hit?.className ?? 'nothing'}`);
      }
    }
  };
  const home = () => chain(form).forEach((it) => { it.scrollTop = 0; it.scrollLeft = 0; });
  home();
  if (whole) {
    for (const it of [form.querySelector('h3'), ...form.querySelectorAll('label'), ...controls]) look(it, 'at once');
  }
  for (const it of controls) {
    home();
    it.scrollIntoView({ block: 'nearest', inline: 'nearest' });
    for (const around of chain(it.parentNode)) {
      if (around.scrollTop && !/auto|scroll/.test(getComputedStyle(around).overflowY) || around.scrollLeft) {
        problems.push(`${name(it)}: no visitor can scroll ${around.className} that way`);
      }
    }
    look(it, 'scrolled to');
  }
  home();
  for (const it of [panel, ...panel.querySelectorAll('*')]) {
    if (it.closest('svg') || it.matches('.sr-only, [class~=sr-only]') || getComputedStyle(it).clipPath !== 'none') continue;
    if (it.scrollWidth > it.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(it).overflowX)) {
      problems.push(`${it.tagName} ${it.className} is wider than its place: ${it.scrollWidth} > ${it.clientWidth}`);
    }
  }
  if (document.scrollingElement.scrollTop) problems.push('the page behind it has been scrolled');
  return problems;
}"""
HOSTILE = "<img src=x onerror='window.hurt = 1'>\u202e<b>https://example.com/" + "x" * 300 + "\nsecond line, \"quoted\""
#: Returns the focused element, and whether it is in view.
FOCUS = """() => {
  const it = document.querySelector('chirrup-chat').shadowRoot.activeElement;
  const box = it?.getBoundingClientRect();
  return [it && (it.type === 'radio' ? `face ${it.value}` : it.role ?? it.name ?? it.title) || it?.textContent || null,
    !!box && box.top >= -1 && box.bottom <= innerHeight + 1 && box.left >= -1 && box.right <= innerWidth + 1];
}"""


class RatingRun(WidgetRun):
    def run(self) -> None:
        first = self.page(self.context())
        self.key = first.request.get(f"{self.options.base_url}/demo").text().split('data-workspace="')[1].split('"')[0]
        self.config = f"{self.options.base_url}/api/v1/widget/config?workspace={self.key}"
        self.set(first, lambda it: it["locale"] == "auto",
                 widget={"locale": "auto", "greeting": {"title": "Hello", "text": "Ask us."}})
        self.desk = Console(first, self.options.base_url, None, None)
        self.desk.login()
        for part in (self.sizes, self.keyboard, self.wheel, self.colours, self.comments, self.indented):
            if not self.options.only or part.__name__ in self.options.only.split(","):
                part()

    def closed(self, words=("Hello", "My hose is too short."), **context) -> Widget:
        """A visitor whose conversation has just been closed."""
        widget = self.visitor(**context)
        widget.launcher.click()
        for text in words:
            widget.say(text)
        widget.committed()
        self.close(self.session(widget.page))
        expect(widget.panel.locator("form h3")).to_be_visible()
        return widget

    def close(self, session: str) -> None:
        status = self.desk.page.evaluate(
            "async (session) => (await fetch(`/api/v1/admin/live-chat/conversations/${session}/close`,"
            " { method: 'POST' })).status",
            session,
        )
        self.promise(f"an operator closes the conversation ({status})", status < 300)

    def resize(self, page: Page, width: int, height: int) -> None:
        """Opens the form as a returning visitor on such a screen."""
        page.set_viewport_size({"width": width, "height": height})
        page.reload()
        expect(page.get_by_role("dialog").locator("form h3")).to_be_visible()

    def usable(self, page: Page, what: str, whole: bool) -> None:
        problems = page.evaluate(PROBLEMS, whole)
        self.promise("\n      ".join([
            f"the rating {'is completely visible' if whole else 'can be reached'}: {what}", *problems[:12],
        ]), not problems)

    def sizes(self) -> None:
        widget = self.closed([f"Line {number} of a talk about a brake hose" for number in range(8)])
        page = widget.page
        for width, height, whole in SIZES:
            self.resize(page, width, height)
            self.shot(page, f"rating-{width}x{height}")
            self.usable(page, f"{width}×{height}", whole)
        for code in ("ar", "de", "th", "ja"):
            better = texts_of(code)["better"]
            for width, height in SOME:
                self.resize(page, width, height)
                page.evaluate("(code) => chirrup.setLocale(code)", code)
                expect(widget.panel.get_by_label(better)).to_have_count(1)
                self.shot(page, f"rating-{code}-{width}x{height}")
                self.usable(page, f"{width}×{height}, {code}", (width, height) in ((1280, 800), (320, 568)))
        for code in ("en", "ar", "de"):
            for width, height in SOME:
                self.resize(page, width, height)
                page.evaluate("(code) => chirrup.setLocale(code)", code)
                page.evaluate(LARGE)
                self.shot(page, f"rating-large-{code}-{width}x{height}")
                self.usable(page, f"{width}×{height}, text twice as large, {code}", False)
        self.resize(page, 320, 568)
        self.accessible(page, "the rating on a small phone")
        page.context.close()

    def step(self, page: Page, key: str, wanted: str) -> None:
        page.keyboard.press(key)
        focus, in_view = page.evaluate(FOCUS)
        self.promise(f"{key} leads to {wanted}, in view (it is {focus})", focus == wanted and in_view)

    def keyboard(self) -> None:
        """Rates with the keyboard only, in a window that shows a part of the form."""
        for width, height in ((320, 200), (1280, 800)):
            widget = self.closed(width=width, height=height, reduced_motion="reduce")
            page = widget.page
            expect(widget.panel.get_by_role("log")).to_be_focused()
            self.promise("the focus moves from the removed composer to the log")
            self.step(page, "Tab", "face 1")
            group = widget.panel.get_by_role("group", name=EN["how"])
            expect(group.get_by_role("radio", name=EN["great"])).to_have_count(1)
            for face in (2, 3, 4):
                self.step(page, "ArrowRight", f"face {face}")
            self.step(page, "Tab", "comment")
            page.keyboard.type("Quick, and kind.")
            # An on-screen keyboard reduces the visible part.
            page.set_viewport_size({"width": width, "height": max(180, height // 2)})
            self.promise("the field remains visible above an on-screen keyboard",
                         not page.evaluate(PROBLEMS, False))
            page.set_viewport_size({"width": width, "height": height})
            widget.panel.get_by_label(EN["better"]).focus()
            self.step(page, "Tab", EN["send"])
            page.keyboard.press("Shift+Tab")
            self.step(page, "Tab", EN["send"])
            self.shot(page, f"rating-keyboard-{width}")
            self.accessible(page, f"the rating, {width} px wide")
            page.keyboard.press("Enter")
            expect(widget.panel.get_by_text(EN["thanks"]).first).to_be_visible()
            expect(widget.panel.get_by_role("button", name=EN["again"])).to_be_focused()
            kept = self.sql("SELECT rating || ' ' || comment FROM csat_responses WHERE session_id ="
                            f" '{self.session(page)}'")
            self.promise(f"rated by keyboard alone, and the focus is kept ({kept})", kept == "4 Quick, and kind.")
            page.context.close()

    def wheel(self) -> None:
        """Rates with the wheel and taps only; the comment has 2,000 Thai characters."""
        long = "ก" * 2000
        widget = self.closed(width=320, height=240)
        page = widget.page
        page.mouse.move(160, 120)
        better = widget.panel.get_by_label(EN["better"])
        for it, act in (
            (widget.panel.get_by_text(EN["poor"], exact=True), None),
            (better, long),
            (widget.panel.locator("form").get_by_role("button", name=EN["send"]), None),
        ):
            for _ in range(40):
                box = it.bounding_box()
                if box["y"] >= 0 and box["y"] + box["height"] <= 240:
                    break
                page.mouse.wheel(0, 40)
                page.wait_for_timeout(50)
            self.promise("the mouse wheel scrolls it into view", box["y"] >= 0 and box["y"] + box["height"] <= 240)
            page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            if act:
                better.fill(act)
                page.mouse.move(160, 6)
        expect(widget.panel.get_by_text(EN["thanks"]).first).to_be_visible()
        kept = self.sql("SELECT rating || ' ' || char_length(comment) FROM csat_responses WHERE session_id ="
                        f" '{self.session(page)}'")
        self.promise(f"rated by touch alone, with the longest comment ({kept})", kept == "2 2000")
        page.context.close()

    def colours(self) -> None:
        """With forced colours of the system, the chosen face still has a different shape."""
        widget = self.closed(forced_colors="active", color_scheme="dark")
        widget.panel.get_by_text(EN["fair"], exact=True).click()
        widget.panel.get_by_label(EN["better"]).focus()
        widths = widget.panel.locator("form label:has(input)").evaluate_all(
            "(all) => all.map((it) => getComputedStyle(it).borderTopWidth)")
        self.shot(widget.page, "rating-forced-colours")
        self.promise(f"the chosen face has a thicker line: {widths}",
                     widths[2] != widths[0] and len(set(widths)) == 2)
        self.usable(widget.page, "forced colours", True)
        widget.page.context.close()

    # The comment in the console

    def rest(self, method: str, path: str) -> tuple[int, str]:
        return tuple(self.desk.page.evaluate(
            "async ([method, path]) => { const got = await fetch(path, { method });"
            " return [got.status, await got.text()]; }", [method, f"/api/v1/admin/{path}"]))

    def comments(self) -> None:
        page = self.desk.page
        self.watch.expected = re.compile("404")  # an erased visitor is looked for
        page.get_by_role("button", name=re.compile("^Closed")).click()
        widget = self.closed()
        session = self.session(widget.page)
        row = page.locator(f".row[data-id='{session}']")
        expect(row.locator(".preview")).to_contain_text("My hose is too short.")
        widget.panel.get_by_text(EN["poor"], exact=True).click()
        widget.panel.get_by_label(EN["better"]).fill(HOSTILE)
        widget.panel.locator("form").get_by_role("button", name=EN["send"]).click()
        expect(row.get_by_role("img", name="2 of 5 stars")).to_be_visible()
        expect(row.locator(".preview")).to_contain_text(HOSTILE[:100])
        self.promise("the open list shows the stars and the comment's beginning as soon as it is rated")
        self.shot(page, "rating-list")
        self.inside(page, row)
        row.click()
        line = page.locator(".log .event").filter(has=page.locator(".remark"))
        expect(line).to_contain_text("Rated 2 of 5")
        expect(line.locator(".remark")).to_have_text(HOSTILE, use_inner_text=False)
        self.inside(page, line)
        self.shot(page, "rating-thread")
        self.accessible(page, "a thread with a rated conversation")
        page.set_viewport_size({"width": 360, "height": 640})
        self.inside(page, line)
        self.shot(page, "rating-thread-narrow")
        page.set_viewport_size({"width": 1280, "height": 860})
        self.promise("the thread has the complete comment at its place, as text, within its column")
        self.analytics(session)
        self.erased(session)
        widget.page.context.close()

    def indented(self) -> None:
        """Cards, remarks and previews of the console keep lines and spaces, as bubbles do."""
        page = self.desk.page
        text = "if it leaks:\n    tighten\n        twice"
        lefts = """(it) => {
          const all = document.createTreeWalker(it, NodeFilter.SHOW_TEXT);
          let node = all.nextNode();
          while (!node.data.includes('tighten')) node = all.nextNode();
          return ['if', 'tighten', 'twice'].map((word) => {
            const range = document.createRange();
            range.setStart(node, node.data.indexOf(word));
            range.setEnd(node, node.data.indexOf(word) + 1);
            return Math.round(range.getBoundingClientRect().left);
          });
        }"""
        made = page.evaluate(
            """async (text) => (await fetch('/api/v1/admin/reply-objects/leak', { method: 'PUT',
              headers: { 'content-type': 'application/json' }, body: JSON.stringify({ object_type: 'text',
              payload: { text }, alt_text: 'leak', shortcut: 'leak' }) })).status""", text)
        self.promise("a canned reply with lines is stored", made < 300)
        widget = self.visitor().open()
        widget.say("It leaks.")
        widget.committed()
        session = self.session(widget.page)
        self.tell(session, kind="card", body="Brake hose", payload={"title": "Brake hose", "text": text})
        page.goto(f"{self.options.base_url}/console#{session}")
        card = page.locator(".log .card p").last
        expect(card).to_be_visible()
        shown = {"a card": card.evaluate(lefts)}
        page.get_by_label("Message", exact=True).press_sequentially("/leak", delay=20)
        peek = page.locator(".canned .peek p", has_text="tighten")
        expect(peek).to_be_visible()
        shown["the preview of a canned reply"] = peek.evaluate(lefts)
        page.get_by_label("Message", exact=True).fill("")
        page.goto(f"{self.options.base_url}/console#/settings/replies/leak")
        preview = page.locator(".reply-peek .bubble")
        expect(preview).to_contain_text("tighten")
        shown["the preview in the settings"] = preview.evaluate(lefts)
        page.goto(f"{self.options.base_url}/console#")
        style = page.evaluate("""() => {
          const it = document.body.appendChild(document.createElement('span'));
          it.className = 'remark';
          const space = getComputedStyle(it).whiteSpaceCollapse ?? getComputedStyle(it).whiteSpace;
          it.remove();
          return space;
        }""")
        self.promise(f"a rating's comment keeps its spaces ({style})", style in ("preserve", "pre-wrap"))
        for name, (first, second, third) in shown.items():
            self.promise(f"indentation is shown in {name} {first, second, third}", first < second < third)
        widget.page.context.close()

    def inside(self, page: Page, place) -> None:
        wide, elements = place.evaluate(
            "(it) => [document.documentElement.scrollWidth - innerWidth,"
            " [...it.querySelectorAll('img, script, a[href^=http], b:not(.truncate)')].length]")
        hurt = page.evaluate("window.hurt")
        self.promise(f"no comment widens the page or becomes an element ({wide}, {elements}, {hurt})",
                     wide <= 0 and elements == 0 and hurt is None)

    def analytics(self, session: str) -> None:
        page = self.desk.page
        self.sql(f"UPDATE csat_responses SET comment = NULL WHERE session_id <> '{session}'")
        # Forty-five older ones of the same visitor's earlier conversations, the newest of them in Arabic.
        self.sql(
            "WITH made AS (INSERT INTO chat_sessions"
            " (id, workspace_id, user_id, status, closed_at, last_seq, message_count)"
            " SELECT gen_random_uuid(), s.workspace_id, s.user_id, 'closed', now(), 1, 1 FROM chat_sessions s,"
            f" generate_series(1, 45) WHERE s.id = '{session}' RETURNING id, workspace_id, user_id), said AS ("
            "INSERT INTO chats (workspace_id, session_id, seq, role, content, content_hash)"
            " SELECT workspace_id, id, 1, 'visitor', 'Hello', sha256('Hello') FROM made)"
            " INSERT INTO csat_responses (workspace_id, session_id, visitor_id, rating, comment, created_at)"
            " SELECT workspace_id, id, user_id, 1 + n % 5, CASE n WHEN 1 THEN 'كان الرد سريعًا، شكرًا. HS33' ELSE"
            " '=earlier ' || n END, now() - n * interval '1 minute' FROM (SELECT *, row_number() OVER () AS n FROM made) m"
        )
        page.goto(f"{self.options.base_url}/console#/analytics/7/ratings")
        page.reload()
        place = page.get_by_role("region", name="Ratings", exact=True)
        items = place.get_by_role("listitem")
        place.get_by_label("Comment").select_option("With a comment")
        expect(items).to_have_count(20)
        expect(items.first.locator(".remark")).to_have_text(HOSTILE, use_inner_text=False)
        expect(items.first.get_by_role("img", name="2 of 5 stars")).to_be_visible()
        start, end = items.nth(1).locator(".remark").evaluate(
            "(it) => { const range = document.createRange(); const at = (from) => { range.setStart(it.firstChild, from);"
            " range.setEnd(it.firstChild, from + 1); return range.getBoundingClientRect().left; };"
            " return [at(0), at(12)]; }")
        self.promise("an Arabic comment reads from right to left in an English page", start > end)
        self.inside(page, items.first)
        items.first.scroll_into_view_if_needed()
        self.shot(page, "rating-analytics")
        self.accessible(page, "analytics with comments")
        more = place.get_by_role("button", name="Show older ratings")
        for count in (40, 46):
            more.press("Enter")
            expect(items).to_have_count(count)
        expect(more).to_be_hidden()
        expect(items.nth(40).get_by_role("link")).to_be_focused()
        self.promise("older ones are loaded in pages, and the focus moves to the first new one")
        with page.expect_download() as coming:
            place.get_by_role("button", name="Ratings as CSV").click()
        rows = list(csv.DictReader(io.StringIO(Path(coming.value.path()).read_text(encoding="utf-8"), newline="")))
        self.promise(f"all of them can be downloaded as CSV ({len(rows)}), and none is a formula",
                     len(rows) == 46 and rows[0]["comment"] == HOSTILE and rows[0]["session"] == session
                     and all(row["comment"].startswith("'=") for row in rows[2:]))
        page.set_viewport_size({"width": 360, "height": 640})
        self.inside(page, items.first)
        items.first.scroll_into_view_if_needed()
        self.shot(page, "rating-analytics-narrow")
        page.set_viewport_size({"width": 1280, "height": 860})
        page.emulate_media(color_scheme="dark")
        items.first.scroll_into_view_if_needed()
        self.shot(page, "rating-analytics-dark")
        self.accessible(page, "analytics with comments, dark")
        page.emulate_media(color_scheme="light")
        items.first.get_by_role("link").click()
        expect(page.locator(".log .event .remark")).to_have_text(HOSTILE, use_inner_text=False)
        self.promise("each leads to its conversation")

    def erased(self, session: str) -> None:
        page = self.desk.page
        visitor = self.sql(f"SELECT user_id FROM chat_sessions WHERE id = '{session}'")
        status, _ = self.rest("DELETE", f"visitors/{visitor}")
        kept = self.sql("SELECT (SELECT count(*) FROM csat_responses WHERE comment IS NOT NULL AND session_id ="
                        f" '{session}') + (SELECT count(*) FROM chats WHERE session_id = '{session}'"
                        " AND payload::text LIKE '%hurt%')")
        page.reload()
        expect(page.locator(".log .event").filter(has_text="Rated 2 of 5")).to_be_visible()
        gone = page.locator(".remark").count() == 0
        page.goto(f"{self.options.base_url}/console#/analytics/7/ratings")
        page.get_by_label("Comment").select_option("With a comment")
        expect(page.get_by_text("No rating matches these filters.")).to_be_visible()
        self.promise(f"an erased visitor's comments are gone from database, thread and analytics ({status}, {kept})",
                     status == 204 and kept == "0" and gone)


if __name__ == "__main__":
    sys.exit(main(RatingRun, "rating"))
