"""The console speaks the operator's language, and none of its texts is forgotten.

Started by languages.sh. The pseudo-language is German with every text in marks: what a page shows without them is data,
or was forgotten.
"""

import json
import re
import sys

from browser_test import Widget
from console_texts import marked, texts_of
from languages_settings import DATA as SETTINGS_DATA, LOOKS, PLACES as SETTINGS_PLACES, TYPED as SETTINGS_TYPED
from playwright.sync_api import Page, Response, expect
from visitor_list_test import VISITORS, VisitorListRun
from widget_test import main

DE, AR = texts_of("de"), texts_of("ar")
FILE = re.compile(r"/assets/console-(work|settings)-de-[0-9a-f]{10}\.js$")
#: What is no text of the console: faces, keys, code, times, names of countries and languages, names of emoji, the
#: words of visitors and operators, and the choice of languages, each under its own name.
DATA = (".avatar, kbd, code, time, .cc, .place, .emoji-kinds button, .emoji-names li, option[lang], .bubble, .day,"
        " .wait, .num > time, [data-since], .link-state .num, dl.facts dd[title], .tags .chip, .choices .chip,"
        " .finder [dir=auto], .views .truncate, #tag option:not([value='']), textarea")
#: What the places type or show as an example, the name of the product, and keys in the titles of buttons.
TYPED = ("/nothing-of-this-name", "plan=pro", "de", "Chirrup", "(Esc)", "demo")
#: The visible texts of the page and the attributes that a screen reader or a pointer shows, without `DATA`.
TEXTS = """(data) => {
  const found = [document.title];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, {
    acceptNode: (node) => (node instanceof Element && (node.matches(data + ', script, style')
      || !node.checkVisibility({ visibilityProperty: true }) && !node.closest('option, optgroup'))
      ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT),
  });
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    if (node instanceof Text) { found.push(node.data); continue; }
    for (const name of ['title', 'aria-label', 'placeholder', 'alt']) {
      if (node.hasAttribute(name)) found.push(node.getAttribute(name));
    }
  }
  return found;
}"""
#: Paths, milliseconds, and the days, months and times of Intl in German.
INTL = re.compile(r"(?<!\w)/[\w/-]+|\d\s?ms\b|\b(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag\b|\bMittwoch\b|"
                  r"\b(?:Mo|Di|Mi|Do|Fr|Sa|So)\b|\b(?:vor|in) \d+ (?:Sekunde|Minute|Stunde|Tag)(?:n|en)?\b|"
                  r"\b(?:jetzt|gestern|morgen)\b|\b(Jan|Feb|März|Apr|Mai|Juni|Juli|Aug|Sept|Okt|Nov|Dez)\w*\b|"
                  r"\b(Uhr|MEZ|MESZ)\b")


class LanguagesRun(VisitorListRun):
    PARTS = ("choice", "pseudo", "german", "arabic", "looks")

    def run(self) -> None:
        self.begin()
        self.watch_visitors(True)
        # One login for all: the hash of a password takes long in a debug build.
        self.first.goto(f"{self.options.base_url}/console")
        self.first.locator(".login [type=submit]").click()
        expect(self.first.locator(".row").first).to_be_visible()
        self.login = self.first.context.storage_state()
        self.first.context.close()
        self.first = self.page(self.context())
        self.parts(self.PARTS)

    # MARK: helpers

    def crowd(self) -> None:
        """Visitors on the site; they leave if they are not heard of."""
        for number, page, title, seconds, visits, referrer, campaign, language in VISITORS:
            self.come(number, language, age=seconds, visits=visits, referrer=referrer, campaign=campaign, trail=[
                {"page": f"https://shop.example{page}", "title": title, "age": min(seconds, 65)}])

    def desk_in(self, locale: str, width=1440, height=900) -> Page:
        page = self.page(self.context(width, height, locale=locale, storage_state=self.login))
        page.goto(f"{self.options.base_url}/console")
        expect(page.locator(".row").first).to_be_visible()
        return page

    def root(self, page: Page) -> tuple[str, str]:
        return tuple(page.evaluate("[document.documentElement.lang, document.documentElement.dir]"))

    def write(self, words: str) -> tuple[Widget, str]:
        """A conversation that a visitor has begun."""
        widget = self.visitor().open()
        widget.say(words)
        widget.committed()
        return widget, self.session(widget.page)

    # MARK: choice

    def choice(self) -> None:
        page = self.page(self.context(locale="de-AT"))
        page.goto(f"{self.options.base_url}/console")
        expect(page.get_by_role("button", name=DE["Log in"], exact=True)).to_be_visible()
        self.promise("the login speaks the language of the browser", self.root(page) == ("de", "ltr"))
        page.get_by_role("combobox", name=DE["Language"]).select_option("ar")
        expect(page.get_by_role("button", name=AR["Log in"], exact=True)).to_be_visible()
        self.promise("another can be chosen there, from right to left", self.root(page) == ("ar", "rtl"))
        page.reload()
        expect(page.get_by_role("button", name=AR["Log in"], exact=True)).to_be_visible()
        self.promise("it holds after a reload", self.root(page) == ("ar", "rtl"))
        page.context.close()
        page = self.desk_in("de-AT")
        page.locator(".rail .me").click()
        page.get_by_role("combobox", name=DE["Language"]).select_option("ja")
        expect(page.locator("html[lang=ja]")).to_be_attached()
        expect(page.locator(".row").first).to_be_visible()
        self.promise("the operator's settings change it", self.root(page) == ("ja", "ltr"))
        page.locator(".rail .me").click()
        page.locator(".you .language select").select_option("")
        expect(page.locator("html[lang=de]")).to_be_attached()
        self.promise("and give it back to the browser")
        page.context.close()
        other = self.page(self.context(locale="fr-FR"))
        other.goto(f"{self.options.base_url}/console")
        expect(other.get_by_role("button", name="Log in", exact=True)).to_be_visible()
        self.promise("a language that the console lacks is English", self.root(other) == ("en", "ltr"))
        other.context.close()
        lost = self.page(self.context(locale="th-TH"))
        self.watch.expected = re.compile("chirrup|ERR_FAILED|Failed to load")
        lost.route(re.compile("/assets/console-work-th"), lambda route: route.abort())
        lost.goto(f"{self.options.base_url}/console")
        expect(lost.get_by_role("button", name="Log in", exact=True)).to_be_visible()
        self.watch.expected = re.compile(r"$^")
        self.promise("without the file of its language it works in English")
        lost.context.close()

    # MARK: pseudo

    def pseudo(self) -> None:
        """Visits every page of `PLACES` and looks at its texts."""
        self.known: set[str] = {*json.dumps(VISITORS, ensure_ascii=False).split('"'), *TYPED,
                                *SETTINGS_TYPED}
        self.widget, self.id = self.write("Is the hose long enough?")
        context = self.context(1440, 900, locale="de-DE")
        page = self.page(context)
        context.on("response", self.learn)
        page.route(FILE, lambda route: route.fulfill(
            content_type="text/javascript; charset=utf-8",
            body="export default " + json.dumps({
                key: marked(key) for name in ("work", "settings")[:2 if "settings" in route.request.url else 1]
                for key in texts_of("de", name)})))
        # Countries and languages have their names from Intl.
        self.known |= set(page.evaluate("""(tags) => tags.flatMap((tag) => ['region', 'language'].map((type) => (
          new Intl.DisplayNames('de', { type }).of(type === 'region' ? tag.split('-')[1] ?? 'GB' : tag))))""",
                                        [*(it[-1] for it in VISITORS), "en-GB"]))
        forgotten = {}
        for name, visit in PLACES.items():
            visit(self, page)
            left = self.unmarked(page)
            if left:
                forgotten[name] = left
            self.shot(page, f"pseudo-{name}")
            page.keyboard.press("Escape")
        self.promise("\n      ".join([f"{len(PLACES)} places show translated texts only", *(
            f"{name}: {', '.join(map(repr, texts))}" for name, texts in forgotten.items())]), not forgotten)
        context.close()
        self.widget.page.context.close()

    def learn(self, answer: Response) -> None:
        """The texts of the API's answers are data."""
        if "/api/" not in answer.url or "json" not in answer.headers.get("content-type", ""):
            return
        stack = [answer.json()]
        while stack:
            value = stack.pop()
            if isinstance(value, dict):
                stack += [*value.values(), *value]
            elif isinstance(value, list):
                stack += value
            # "closed" is a word of the protocol: the console has its own for it
            elif isinstance(value, str) and not re.fullmatch("[a-z_]+", value):
                self.known.add(value)

    def unmarked(self, page: Page) -> list[str]:
        page.wait_for_timeout(300)  # what loads by itself
        known = sorted((it for it in self.known if len(it) > 1), key=len, reverse=True)
        left = set()
        for text in page.evaluate(TEXTS, f"{DATA}, {SETTINGS_DATA}"):
            rest = text.replace("\u2068", "").replace("\u2069", "")
            while (less := re.sub(r"⟦[^⟦⟧]*⟧", " ", rest)) != rest:
                rest = less
            for value in known:
                rest = rest.replace(value, " ") if len(value) > 3 or rest == value else rest
            rest = INTL.sub(" ", BIRDS.sub(" ", rest))
            if re.search(r"[^\W\d_]{2}", rest):
                left.add(text.strip())
        return sorted(left)

    # MARK: one conversation from its beginning to its end

    def german(self) -> None:
        widget, session = self.write("Passt der Schlauch?")
        page = self.desk_in("de-DE")
        page.locator(f".row[data-id='{session}']").click()
        page.get_by_role("button", name=DE["Claim"], exact=True).click()
        expect(page.locator(".pane .bar .chip")).to_have_text(DE["Assigned to you"])
        page.get_by_label(DE["Message"], exact=True).fill("Ja, er passt.")
        page.keyboard.press("Enter")
        expect(widget.theirs.last).to_have_text("Ja, er passt.")
        expect(page.locator(".log .say.out .state").last).to_contain_text(DE["Read"])
        self.shot(page, "german-thread")
        page.get_by_role("button", name=DE["Close"], exact=True).click()
        expect(page.get_by_text(DE["You closed this conversation"])).to_be_visible()
        expect(page.locator(".undo")).to_contain_text(DE["Undo"])
        self.promise("a conversation in German: claimed, answered, closed",
                     self.sql(f"SELECT status FROM chat_sessions WHERE id = '{session}'") == "closed")
        self.promise("and the title of the window is German", DE["Chirrup console"] in page.title())
        self.accessible(page, "the console in German")
        for it in (page, widget.page):
            it.context.close()

    def arabic(self) -> None:
        widget, session = self.write("هل الخرطوم مناسب؟")
        page = self.desk_in("ar-EG")
        page.locator(f".row[data-id='{session}']").click()
        page.get_by_role("button", name=AR["Claim"], exact=True).click()
        page.get_by_label(AR["Message"], exact=True).fill("نعم.")
        page.keyboard.press("Enter")
        expect(widget.theirs.last).to_have_text("نعم.")
        boxes = {name: page.locator(name).bounding_box() for name in (".rail", ".list", ".thread", ".visitor")}
        order = sorted(boxes, key=lambda name: -boxes[name]["x"])
        self.promise(f"in Arabic the columns stand from right to left: {', '.join(order)}",
                     order == [".rail", ".list", ".thread", ".visitor"])
        own = page.locator(".log .say.out .bubble").last.bounding_box()
        theirs = page.locator(".log .say.in .bubble").last.bounding_box()
        self.promise("own messages are at the left, theirs at the right", own["x"] < theirs["x"])
        send, text = (page.locator(it).bounding_box() for it in (".compose .send", ".compose textarea"))
        self.promise("the button that sends is left of the text", send["x"] + send["width"] / 2 < text["x"] + text["width"] / 2)
        digits = page.locator(".tabs").inner_text()
        self.promise("digits are the same as in all other texts", re.search("[٠-٩]", digits) is None)
        self.accessible(page, "the console in Arabic")
        self.pictures(page, "arabic-thread")
        page.set_viewport_size({"width": 390, "height": 844})
        for name in ("", session, "/visitors"):
            page.goto(f"{self.options.base_url}/console#{name}")
            page.wait_for_timeout(500)
            self.promise(f"no page of a phone scrolls sideways: {name or 'the list'}", self.fits(page))
        for it in (page, widget.page):
            it.context.close()

    @staticmethod
    def fits(page: Page) -> bool:
        return page.evaluate("document.documentElement.scrollWidth <= innerWidth && document.body.scrollWidth <= innerWidth")

    def looks(self) -> None:
        """No label of a button is cut, in any language, on a phone and a desktop."""
        widget, session = self.write("How long is it?")
        self.crowd()
        for locale in ("de-DE", "es-ES", "th-TH", "ar-EG", "ja-JP"):
            page = self.desk_in(locale)
            cut = {}
            for width, height in ((390, 844), (1440, 900)):
                page.set_viewport_size({"width": width, "height": height})
                for name, place in (("list", ""), ("thread", session), ("visitors", "/visitors"), *LOOKS):
                    page.goto(f"{self.options.base_url}/console#{place}")
                    page.wait_for_timeout(400)
                    found = page.evaluate(CUT)
                    if found or not self.fits(page):
                        cut[f"{name} {width}"] = found
                    self.shot(page, f"{locale[:2]}-{name}-{width}")
            self.promise(f"in {locale[:2]} no button is cut and nothing scrolls sideways: {cut}", not cut)
            page.context.close()
        widget.page.context.close()


#: Buttons, tabs and headings of columns whose text is wider than they are, or that leave the window.
CUT = """() => [...document.querySelectorAll('button, a.button, .tabs button, h1, h2, h3, label')].filter((node) => (
  node.checkVisibility({ visibilityProperty: true })
  && !node.closest('[dir=auto], .row, .sr-only, .vis-tabs, .vis-filters, .scroll')
  && (node.scrollWidth > node.clientWidth + 1 && getComputedStyle(node).display !== 'inline'
    && getComputedStyle(node).overflowX !== 'visible'
    || node.getBoundingClientRect().right > innerWidth + 1 || node.getBoundingClientRect().left < -1)
)).map((node) => node.textContent.trim() || node.getAttribute('aria-label'))"""

#: Generated names of visitors, which every operator sees in the same language.
BIRDS = re.compile("|".join(re.findall(r"'([A-Z][a-zA-Z -]+)'", (
    __import__("console_texts").SCRIPT.parents[1] / "Sources/WebAssets/console/visitor/visitor-name.js").read_text())))


# MARK: the places of the pseudo-language; settings, analytics and setup have theirs in the same form

def at(place: str):
    """A place of the console by its address."""
    def visit(run: LanguagesRun, page: Page) -> None:
        page.goto(f"{run.options.base_url}/console#{place.replace('ID', run.id)}")
        page.wait_for_timeout(400)
    return visit


def login(run: LanguagesRun, page: Page) -> None:
    page.goto(f"{run.options.base_url}/console")
    page.locator("#email").fill("nobody")
    page.locator(".login [type=submit]").click()


def sign_on(run: LanguagesRun, page: Page) -> None:
    run.watch.expected = re.compile("status of 404")
    page.goto(f"{run.options.base_url}/console?workspace=none")
    page.locator(".login [type=submit]").click()
    expect(page.locator(".error")).to_be_visible()
    run.watch.expected = re.compile(r"$^")


def inbox(run: LanguagesRun, page: Page) -> None:
    page.context.add_cookies(run.login["cookies"])
    for origin in run.login["origins"]:
        for entry in origin["localStorage"]:
            page.evaluate("([name, value]) => { localStorage[name] = value; }", [entry["name"], entry["value"]])
    page.goto(f"{run.options.base_url}/console")
    expect(page.locator(".row").first).to_be_visible()


def pressed(*keys: str, place="ID", shows=""):
    """What a shortcut opens."""
    def visit(run: LanguagesRun, page: Page) -> None:
        at(place)(run, page)
        page.locator(".log" if place == "ID" else ".rows").focus()
        expect(page.locator(".app:not([data-guarded])")).to_have_count(1)
        for key in keys:
            page.keyboard.press(key)
            page.wait_for_timeout(150)
        if shows:
            expect(page.locator(shows)).to_be_visible()
    return visit


def clicked(*selectors: str, place="ID"):
    def visit(run: LanguagesRun, page: Page) -> None:
        at(place)(run, page)
        for selector in selectors:
            page.locator(selector).first.click()
            page.wait_for_timeout(150)
    return visit


def claimed(run: LanguagesRun, page: Page) -> None:
    at("ID")(run, page)
    page.locator(".pane .bar .primary").click()
    expect(page.locator(".pane .bar .primary")).to_be_hidden()


def written(words: str):
    """What the composer offers while somebody types."""
    def visit(run: LanguagesRun, page: Page) -> None:
        at("ID")(run, page)
        page.locator("#reply").fill("")
        page.locator("#reply").press_sequentially(words)
        page.wait_for_timeout(600)
        page.locator("#reply").evaluate("(it) => { it.blur(); }")
    return visit


def searched(words: str):
    def visit(run: LanguagesRun, page: Page) -> None:
        pressed("Control+k", shows=".finder")(run, page)
        page.locator("#search").fill(words)
        page.wait_for_timeout(1_200)
    return visit


def selected(run: LanguagesRun, page: Page) -> None:
    page.keyboard.press("Escape")
    at("")(run, page)
    page.locator(".row .pick").first.click()
    expect(page.locator(".bulk-bar")).to_be_visible()


def bulk_close(run: LanguagesRun, page: Page) -> None:
    selected(run, page)
    page.locator(".bulk-tools button").first.click()
    expect(page.locator(".bulk .sheet")).to_be_visible()


def visitors(run: LanguagesRun, page: Page) -> None:
    run.crowd()
    at("/visitors")(run, page)
    expect(page.locator(".vis-row")).to_have_count(len(VISITORS))


def one_visitor(run: LanguagesRun, page: Page) -> None:
    visitors(run, page)
    page.locator(".vis-row").first.click()
    expect(page.locator(".vis-detail h2")).not_to_be_empty()


PLACES = {
    "login": login,
    "sign-on": sign_on,
    "inbox": inbox,
    "nothing": at(""),
    "mine": clicked(".tabs button:nth-child(2)", place=""),
    "closed": clicked(".tabs button:nth-child(4)", place=""),
    "all": clicked(".tabs button:nth-child(3)", place=""),
    "filters": clicked("[aria-controls=filter]", place=""),
    "no-filters": clicked("[aria-controls=filter]", place=""),
    "waiting": at("ID"),
    "claimed": claimed,
    "menu": clicked(".more"),
    "title": pressed("d"),
    "transfer": pressed("t", shows=".pane .sheet"),
    "tags": pressed("l", shows=".pane .sheet"),
    "macros": pressed("m", shows=".pane .sheet"),
    "close": pressed("e", shows=".pane .sheet"),
    "note": pressed("i"),
    "draft": written("A draft"),
    "canned": written("/"),
    "no-canned": written("/nothing-of-this-name"),
    "emoji": clicked("[aria-keyshortcuts='Control+.']"),
    "search": searched(""),
    "found": searched("hose"),
    "found-nothing": searched("zzzzzz"),
    "keyboard": pressed("?", shows=".help"),
    "own-settings": clicked(".rail .me"),
    "connection": clicked(".link-state"),
    "block": clicked(".visitor section:has([data-key=block]) button"),
    "erase": clicked(".visitor .data .quiet"),
    "merge": clicked("[data-key=merge]"),
    "selected": selected,
    "bulk-close": bulk_close,
    "unselected": at(""),
    "no-visitors": at("/visitors"),
    "visitors": visitors,
    "one-visitor": one_visitor,
    **SETTINGS_PLACES,
}


if __name__ == "__main__":
    sys.exit(main(LanguagesRun, "languages"))
