"""The widget's conversation within the pages of its hosts: teaser, hint at new messages, drafts, a signed visitor's devices,
identities that are refused, cards, handover, sounds, a device that sleeps.

Started by widget_talk.sh.
"""

import glob
import os
import re
import signal
import sys
import time
import uuid

from playwright.sync_api import expect
from widget_host_test import ROOT, HostRun
from widget_test import main
from widget_texts import EN

#: How a text that has no room is cut: the visible text, and the height of the last line that is only partly visible.
TEASED = """() => {
  const teaser = %s.querySelector('.teaser');
  const text = teaser.querySelector('p');
  const box = teaser.getBoundingClientRect();
  const inner = text.getBoundingClientRect();
  const lines = new Map();
  const walk = document.createTreeWalker(text, NodeFilter.SHOW_TEXT);
  for (let node; (node = walk.nextNode());) {
    for (let at = 0; at < node.length; at += 1) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const { top, bottom, width } = range.getBoundingClientRect();
      if (width) lines.set(Math.round(top), { bottom, text: (lines.get(Math.round(top))?.text ?? '') + node.data[at] });
    }
  }
  const edge = Math.min(box.bottom, inner.bottom) + .5;
  const all = [...lines].map(([top, line]) => ({ top, ...line }));
  return {
    name: text.querySelector('b').textContent,
    shown: all.filter((it) => it.bottom <= edge).map((it) => it.text).join(' '),
    halves: all.filter((it) => it.top < edge - 1 && it.bottom > edge).map((it) => it.text),
    outside: box.left < 0 || box.right > innerWidth || box.top < 0,
  };
}""" % ROOT


#: Counts the tones that a page plays.
TONES = """window.tones = 0; const { start } = OscillatorNode.prototype;
OscillatorNode.prototype.start = function (...at) { window.tones += 1; return start.apply(this, at); };"""
#: Longer than the gateway waits for a client that sends nothing, not even the answer to its ping, in seconds.
SLEEP = 45


def descendants(parent: int) -> list[tuple[int, str]]:
    """All processes below this one, each with its name."""
    children: dict[int, list[tuple[int, str]]] = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                pid, name, _, ppid = re.match(r"(\d+) \((.*)\) (\S) (\d+)", file.read()).groups()
        except OSError:
            continue
        children.setdefault(int(ppid), []).append((int(pid), name))
    found = []
    waiting = [parent]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += [pid for pid, _ in below]
    return found


def signal_if_there(pid: int, number: signal.Signals) -> None:
    """The browser ends and starts processes at any time."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class TalkRun(HostRun):
    def parts(self) -> tuple:
        return (self.teased, self.scrolled, self.draft, self.devices, self.refused, self.bubbles, self.handover,
                self.full, self.emoji, self.sounds, self.asleep)

    def teased(self) -> None:
        long = "The brake hose of your bicycle has arrived, and we can fit it on Thursday afternoon if that suits you. "
        texts = {
            "short": "We have it.",
            "long": long * 4,
            "one word": "Donaudampfschifffahrtselektrizitäten" * 8,
            "Thai": "สายเบรกของคุณมาถึงแล้ว เราสามารถติดตั้งให้ได้ในบ่ายวันพฤหัสบดีหากคุณสะดวก" * 4,
            "Japanese": "ブレーキホースが届きました。木曜日の午後に取り付けることができます。" * 6,
            "lines": "First\n\n    second\nthird\nfourth\nfifth\nsixth",
        }
        for width in (1280, 320):
            widget = self.host(width=width)
            page = widget.page
            widget.launcher.click()
            session = self.teller(widget)
            page.evaluate("chirrup.close()")
            for name, text in texts.items():
                self.tell(session, body=text)
                teaser = page.locator("chirrup-chat .teaser")
                expect(teaser).to_contain_text(text.split("\n")[0][:20])
                page.wait_for_timeout(300)  # it has risen
                teased = page.evaluate(TEASED)
                self.shot(page, f"host-teaser-{width}-{name}")
                words = set(re.findall(r"\w+", f"{teased['name']} {text}"))
                whole = name in ("one word", "Thai", "Japanese") or not [
                    it for it in re.findall(r"\w+", teased["shown"]) if it not in words]
                if name == "long":
                    whole = whole and teased["shown"].rstrip().endswith("…")
                self.promise(f"a teaser shows whole lines and words at {width} px, {name}: {teased}",
                             not teased["halves"] and not teased["outside"] and whole)
            page.close()

    def scrolled(self) -> None:
        widget = self.host().open()
        page = widget.page
        session = self.teller(widget)
        for number in range(25):
            self.tell(session, body=f"line {number}\nand more")
        expect(widget.theirs).to_have_count(25)
        log = widget.panel.get_by_role("log")
        pill = widget.panel.get_by_role("button", name=EN["news"])
        expect(pill).to_be_hidden()
        box = log.bounding_box()
        page.mouse.move(box["x"] + 50, box["y"] + 50)
        page.mouse.wheel(0, -700)
        page.wait_for_function("(log) => log.scrollHeight - log.scrollTop - log.clientHeight > 500",
                               arg=log.element_handle())
        expect(pill).to_be_hidden()
        at = log.evaluate("(it) => it.scrollTop")
        self.tell(session, body="the newest")
        expect(pill).to_be_visible()
        moved = log.evaluate("(it) => it.scrollTop") - at
        around = log.bounding_box()
        inside = pill.bounding_box()
        self.shot(page, "host-news")
        self.accessible(page, "the hint at a new message")
        self.promise(f"scrolled up, a new message is hinted at, and nothing moves ({moved} px)",
                     moved == 0 and inside["y"] > around["y"]
                     and inside["y"] + inside["height"] <= around["y"] + around["height"])
        kept = widget.panel.evaluate("(it) => it.scrollHeight - it.clientHeight")
        self.promise("the hint takes no room", kept == 0)
        pill.click()
        expect(pill).to_be_hidden()
        expect(widget.theirs.last).to_be_in_viewport()
        expect(widget.text).to_be_focused()
        page.mouse.move(box["x"] + 50, box["y"] + 50)
        page.mouse.wheel(0, -700)
        page.wait_for_function("(log) => log.scrollHeight - log.scrollTop - log.clientHeight > 500",
                               arg=log.element_handle())
        self.tell(session, body="and another")
        expect(pill).to_be_visible()
        page.mouse.wheel(0, 5000)
        expect(pill).to_be_hidden()
        self.promise("it ends at the end of the log, by a click or by scrolling")
        page.close()

    def draft(self) -> None:
        widget = self.host().open()
        page = widget.page
        self.teller(widget)
        widget.text.fill("Two lines\n    of a draft")
        page.reload()
        expect(widget.text).to_have_value("Two lines\n    of a draft")
        widget.text.press("Enter")
        widget.committed()
        expect(widget.own.last).to_contain_text("of a draft")
        page.reload()
        expect(widget.own).to_have_count(2)
        expect(widget.text).to_have_value("")
        self.promise("a draft outlives a reload until it is sent")
        page.evaluate("Object.defineProperty(window, 'sessionStorage', { get() { throw Error('blocked'); } })")
        widget.text.fill("x")
        widget.say("without storage")
        widget.committed()
        self.promise("and where the storage is blocked, the chat works without it")
        page.close()

    def devices(self) -> None:
        jwt = self.identity(str(uuid.uuid4()), "Ines")
        first = self.host()
        first.page.evaluate("(jwt) => { chirrup.identify(jwt); chirrup.open(); }", jwt)
        expect(first.text).to_be_focused()
        first.say("from my phone")
        first.committed()
        second = self.host(attributes=f"data-identity={jwt}")
        self.promise("another device needs no socket before the chat is opened", not second.sockets)
        second.launcher.click()
        expect(second.own.locator(".bubble")).to_have_text("from my phone")
        third = self.host()
        third.open()
        third.page.evaluate("(jwt) => { chirrup.identify(jwt); }", jwt)
        expect(third.own.locator(".bubble")).to_have_text("from my phone")
        self.promise("a signed visitor's other devices show the history at once, also in an open chat")
        third.say("from the third")
        expect(second.own.last.locator(".bubble")).to_have_text("from the third")
        for it in (first, second, third):
            it.page.close()

    def refused(self) -> None:
        """Identities that the gateway does not accept (X15)."""
        self.watch.expected = re.compile("403")
        listen = "window.faults = []; (window.chirrup ||= []).push(['on', 'error', (it) => faults.push([it.reason, it.message])]);"
        for name, jwt in {
            "expired": self.identity("customer-9", "Olu", -60),
            "another secret": self.identity("customer-9", "Olu")[:-6] + "AAAAAA",
            "no JWT": "nonsense",
        }.items():
            for how in ("data-identity", "identify()", "identify() in an open chat"):
                widget = self.host("", listen, f"data-identity={jwt}" if how == "data-identity" else "")
                page = widget.page
                if how == "identify()":
                    page.evaluate("(jwt) => { chirrup.identify(jwt); }", jwt)
                widget.open()
                if how.endswith("open chat"):
                    widget.say("Hi")
                    widget.committed()
                    page.evaluate("(jwt) => { chirrup.identify(jwt); }", jwt)
                page.wait_for_function("faults.length")
                widget.say("I go on without a name")
                widget.committed()
                faults = page.evaluate("faults")
                self.promise(f"an identity that is refused ({name}, {how}) is reported, and the chat goes on: {faults}",
                             len(faults) == 1 and faults[0][0] == "bad_identity" and "identity" in faults[0][1])
                page.close()
        self.watch.expected = re.compile(r"$^")
        # The identity of a page that stays open ends before the visitor does.
        widget = self.host("", listen)
        page = widget.page
        page.evaluate("(jwt) => { chirrup.identify(jwt); chirrup.open(); }", self.identity("customer-10", "Pia", 3))
        expect(widget.text).to_be_focused()
        session = self.teller(widget)
        page.wait_for_timeout(4_000)  # `exp` has passed
        page.evaluate(f"""() => {{
          const key = 'chirrup:{self.key}';
          localStorage[key] = JSON.stringify({{ ...JSON.parse(localStorage[key]), expires_at: '2000-01-01T00:00:00Z' }});
          chirrup.setAttributes({{ plan: 'pro' }});
        }}""")
        widget.say("still Pia")
        widget.committed()
        kept = self.sql("SELECT name FROM visitors v WHERE attributes->>'plan' = 'pro' AND external_id = 'customer-10'")
        self.promise(f"a signed visitor remains so after `exp`: {kept}", kept == "Pia" and page.evaluate("faults") == []
                     and self.session(page) == session)
        page.close()

    def bubbles(self) -> None:
        widget = self.host().open()
        page = widget.page
        session = self.teller(widget)
        code = "if it leaks:\n    tighten\n        twice"
        self.tell(session, body=code)
        drawn = widget.theirs.last
        expect(drawn).to_contain_text("twice")
        lefts = drawn.evaluate("""(it) => {
          const text = it.firstChild;
          return ['if', 'tighten', 'twice'].map((word) => {
            const range = document.createRange();
            range.setStart(text, text.data.indexOf(word));
            range.setEnd(text, text.data.indexOf(word) + 1);
            return range.getBoundingClientRect().left;
          });
        }""")
        self.promise(f"indentation is shown {lefts}", lefts[0] < lefts[1] < lefts[2])
        shop = {"title": "Brake hose", "text": "14 in Rotterdam", "buttons": [{"label": "Hold it", "value": "h"}]}
        self.tell(session, kind="card", body="Brake hose — 14 in Rotterdam", payload=shop)
        self.tell(session, kind="buttons", body="14 in Rotterdam", payload=shop)
        cards = [{**shop, "title": f"Brake hose {number}"} for number in range(4)]
        self.tell(session, kind="carousel", body="Brake hose 0\nBrake hose 1", payload={"cards": cards})
        self.tell(session, kind="card", body="Only the text", payload={"cards": "none"})
        expect(widget.panel.get_by_text("Only the text")).to_be_visible()
        counts = [say.get_by_text(re.compile("14 in Rotterdam")).locator("visible=true").count()
                  for say in widget.panel.locator(".say:has(.card)").all()]
        self.promise(f"the text of a card is there once {counts}", counts == [1, 1, 4])
        row = widget.panel.locator(".cards")
        row.scroll_into_view_if_needed()
        self.shot(page, "host-cards")
        hints = row.evaluate("""(it) => {
          const around = it.getBoundingClientRect();
          const [one, two] = [...it.children].map((card) => card.getBoundingClientRect());
          return [one.right < around.right, around.right - two.left];
        }""")
        self.promise(f"a row of cards shows a part of the next {hints}", hints[0] and hints[1] >= 16)
        self.accessible(page, "a row of cards")
        page.close()

    def handover(self) -> None:
        self.sql("INSERT INTO rich_menus (workspace_id, name, actions, status) SELECT id, 'Bar', '["
                 '{"label": "Talk to us", "type": "operator", "value": ""}]\', \'published\' FROM workspaces')
        widget = self.host().open()
        widget.panel.get_by_text(EN["menu"], exact=True).click()
        widget.panel.get_by_role("button", name="Talk to us").click()
        expect(widget.panel.locator(".event")).to_have_text(EN["asked"])
        self.shot(widget.page, "host-handover")
        self.promise("who asks for a person by the menu reads that the team knows")
        self.sql("UPDATE rich_menus SET status = 'inactive'")
        widget.page.close()

    def full(self) -> None:
        """An outbox with as many messages as it takes, in windows of several sizes."""
        self.watch.expected = re.compile("ERR_INTERNET_DISCONNECTED")  # of the widget's attempts meanwhile
        for width, height in ((1280, 860), (1280, 480), (390, 844), (320, 256)):
            widget = self.host(width=width, height=height)
            page = widget.page
            widget.launcher.click()
            self.teller(widget)
            page.context.set_offline(True)
            widget.panel.get_by_role("log").evaluate("() => 0")
            for number in range(101):
                widget.text.fill(f"unsent {number}")
                widget.text.press("Enter")
            expect(widget.panel.get_by_text(EN["full"])).to_be_visible()
            self.shot(page, f"host-full-{width}x{height}")
            problems = page.evaluate("""() => {
              const panel = %s.querySelector('dialog');
              const parts = [...panel.querySelectorAll('.log, .status, .compose, .foot')];
              const boxes = parts.map((it) => it.getBoundingClientRect());
              return parts.flatMap((it, at) => at && boxes[at].top < boxes[at - 1].bottom - 1
                ? [`${it.className} is over ${parts[at - 1].className}`] : []);
            }""" % ROOT)
            self.promise("\n      ".join([f"nothing covers the composer of a full outbox, {width}×{height}", *problems]),
                         not problems)
            page.context.set_offline(False)
            page.close()
        self.watch.expected = re.compile(r"$^")

    def emoji(self) -> None:
        """With a keyboard and a pointer; a phone's keyboard has its own."""
        widget = self.host().open()
        page = widget.page
        widget.say("Hello")
        widget.committed()
        button = widget.panel.get_by_role("button", name="Emoji", exact=True)
        group = widget.panel.get_by_role("group", name="Emoji")
        expect(button).to_have_attribute("aria-expanded", "false")
        widget.text.fill("Thank you, bye")
        widget.text.press("Home")
        for _ in range(9):
            widget.text.press("ArrowRight")
        button.click()
        expect(group).to_be_visible()
        self.accessible(page, "the emoji")
        self.shot(page, "widget-emoji")
        focused = page.evaluate_handle(f"() => {ROOT}.activeElement")
        keys = [page.evaluate("(it) => it.textContent", focused)]
        for key in ("ArrowRight", "ArrowDown", "ArrowLeft", "ArrowUp", "End", "Home"):
            page.keyboard.press(key)
            keys.append(page.evaluate(f"() => {ROOT}.activeElement.textContent"))
        self.promise(f"arrows, Home and End move through them: {' '.join(keys)}",
                     keys[0] == keys[4] == keys[6] and len(set(keys)) == 5)
        page.keyboard.press("Escape")
        expect(group).to_be_hidden()
        expect(button).to_be_focused()
        self.promise("Escape closes the list, and not the chat", widget.panel.is_visible())
        page.keyboard.press("Enter")
        group.get_by_role("button", name="👍").click()
        expect(group).to_be_hidden()
        expect(widget.text).to_have_value("Thank you👍, bye")
        expect(widget.text).to_be_focused()
        page.keyboard.type("!")
        expect(widget.text).to_have_value("Thank you👍!, bye")
        page.keyboard.press("Enter")
        expect(widget.own.last.locator(".bubble")).to_have_text("Thank you👍!, bye")
        self.promise("one goes to where the caret was, and writing goes on behind it")
        page.evaluate("chirrup.setLocale('ar')")
        expect(widget.panel.get_by_role("button", name="رموز تعبيرية")).to_be_visible()
        self.promise("its name is in the visitor's language")
        page.set_viewport_size({"width": 390, "height": 844})
        expect(widget.panel.locator(".pick")).to_be_hidden()
        self.promise("a phone has no such button")
        page.close()

    def sounds(self) -> None:
        widget = self.host(script=TONES).open()
        page = widget.page
        session = self.teller(widget)
        teaser = page.locator("chirrup-chat .teaser")
        self.tell(session, body="seen at once")
        expect(widget.theirs.last).to_have_text("seen at once")
        self.promise("a message that is seen makes no sound", page.evaluate("tones") == 0)
        page.evaluate("chirrup.close()")
        self.tell(session, body="not seen")
        expect(teaser).to_contain_text("not seen")
        expect(page).to_have_title(re.compile(r"^\(1\) "))
        self.promise("one that is not seen makes one, and the page's title counts it", page.evaluate("tones") == 1)
        widget.open()
        expect(page).to_have_title("A shop")
        widget.panel.get_by_role("button", name=EN["mute"]).click()
        page.evaluate("chirrup.close()")
        self.tell(session, body="muted")
        expect(teaser).to_contain_text("muted")
        self.promise("the visitor can mute it", page.evaluate("tones") == 1)
        page.close()

    def asleep(self) -> None:
        widget = self.host().open()
        page = widget.page
        session = self.teller(widget)
        sockets = len(widget.sockets)
        browser = [pid for pid, name in descendants(os.getpid()) if name.startswith("chrom")]
        for pid in browser:
            signal_if_there(pid, signal.SIGSTOP)
        time.sleep(SLEEP)
        for number in range(3):
            self.tell(session, body=f"while it slept, {number}")
        for pid in browser:
            signal_if_there(pid, signal.SIGCONT)
        expect(widget.theirs).to_have_text([f"while it slept, {number}" for number in range(3)])
        widget.say("Good morning")
        widget.committed()
        stored = self.sql(f"SELECT string_agg(content, ', ' ORDER BY seq) FROM chats WHERE session_id = '{session}'")
        self.promise(f"a device that slept for {SLEEP} s shows what came, once and in order, and goes on: "
                     f"{stored}", len(widget.sockets) > sockets and stored.endswith("slept, 2, Good morning"))
        page.close()


if __name__ == "__main__":
    sys.exit(main(TalkRun, "the widget's conversation in its hosts' pages"))
