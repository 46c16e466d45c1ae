"""Large data in the console: a long list, a long log, long words, two operators who write at once.

Started by list.sh. How quick it is stands in the output; what is tested does not depend on the machine: how many nodes
a frame of scrolling makes and moves, how often it lays out, how many answers a screenful needs, and that what is in
the page stays as much however long one reads.
"""

import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from playwright.sync_api import Page, expect

from browser_test import Failure, Run, begin
from console_test import LIST, Desk

MESSAGES = 10_000
# Scrolls a list by a number of px per frame, and returns the changes of the document in each frame.
SCROLL = """([steps, px]) => new Promise((done) => {
  const box = document.querySelector('.rows');
  const frames = [], made = [], moved = [];
  let added = 0, back = 0, left = steps, most = 0;
  const gone = new Set();
  const watch = new MutationObserver((records) => {
    for (const { addedNodes, removedNodes } of records) {
      for (const node of removedNodes) gone.add(node);
      for (const node of addedNodes) { added += 1; if (gone.has(node)) back += 1; }
    }
  });
  watch.observe(document.querySelector('.space'), { childList: true });
  let last = performance.now();
  const step = () => {
    const now = performance.now();
    frames.push(now - last); last = now;
    made.push(added); moved.push(back); added = back = 0; gone.clear();
    most = Math.max(most, document.querySelectorAll('.row').length);
    if (left-- > 0) { box.scrollTop += px; requestAnimationFrame(step); return; }
    watch.disconnect();
    frames.splice(0, 2); frames.sort((a, b) => a - b);
    done({ frames, rows: most, top: box.scrollTop, made: Math.max(...made), moved: Math.max(...moved) });
  };
  requestAnimationFrame(step);
})"""
# Scrolls to the end of the loaded rows, which loads more, until that many px are above.
DOWN = """(wanted) => {
  const box = document.querySelector('.rows');
  box.scrollTop = box.scrollHeight;
  return box.scrollTop > wanted;
}"""
# Scrolls the thread upwards until that many pages were requested, or its start is reached.
READ = """async (pages) => {
  const log = document.querySelector('.log');
  let most = 0;
  for (let page = 0; page < pages && !/Opened/.test(log.textContent); page += 1) {
    const first = log.querySelector('.say')?.textContent;
    log.scrollTop = 0;
    const until = performance.now() + 20000;
    while (log.querySelector('.say')?.textContent === first && performance.now() < until) {
      await new Promise((done) => setTimeout(done, 10));
      if (log.scrollTop > 0) log.scrollTop = 0;
    }
    most = Math.max(most, log.querySelectorAll('.say').length);
  }
  return most;
}"""


class ListRun(Run):
    def run(self) -> None:
        base = self.options.base_url
        self.mika = Desk(self.page(self.context(1440, 900)), base)
        self.dana = Desk(
            self.page(self.context(1440, 900)), base, "dana@example.com", "two in one thread"
        )
        self.long_list()
        self.long_log()
        self.long_words()
        self.both_write()

    def sql(self, text: str) -> str:
        done = subprocess.run(
            [self.options.psql, self.options.database, "-qtAX", "-v", "ON_ERROR_STOP=1"],
            input=text, capture_output=True, text=True, check=False,
        )
        if done.returncode:
            raise Failure(done.stderr.strip())
        return done.stdout.strip()

    def long_list(self) -> None:
        mika, page = self.mika, self.mika.page
        asked: list[str] = []
        page.on("request", lambda request: LIST in request.url and asked.append(request.url))
        answer = mika.rest("GET", f"{LIST}?status=closed&limit=1")["body"]
        tab = page.get_by_role("button", name=re.compile("^Closed"))
        expect(tab).to_contain_text(f"{answer['closed_count']:,}")
        tab.click()
        expect(page.locator(".space")).to_have_attribute("data-height", re.compile(r"\d{4,}"))
        asked.clear()
        counter = page.context.new_cdp_session(page)
        counter.send("Performance.enable")

        def counts() -> dict[str, float]:
            return {it["name"]: it["value"] for it in counter.send("Performance.getMetrics")["metrics"]}

        for steps, px in ((60, 100), (60, 400)):
            before = counts()
            seen = page.evaluate(SCROLL, [steps, px])
            after = counts()
            frames = seen["frames"]
            cost = {
                name: (after[name] - before[name]) * 1000 / steps
                for name in ("ScriptDuration", "RecalcStyleDuration", "LayoutDuration", "TaskDuration")
            }
            layouts = (after["LayoutCount"] - before["LayoutCount"]) / steps
            print(
                f"      {px} px a frame: interval {frames[len(frames) // 2]:.1f} ms,"
                f" P95 {frames[len(frames) * 95 // 100]:.1f} ms; main thread {cost['TaskDuration']:.1f} ms a frame, of it"
                f" script {cost['ScriptDuration']:.1f}, style {cost['RecalcStyleDuration']:.1f},"
                f" layout {cost['LayoutDuration']:.1f}"
            )
            self.promise(
                f"at {px} px a frame only visible rows are created, and no remaining row is moved"
                f" ({seen['made']} made, {seen['moved']} moved, {layouts:.1f} layouts)",
                seen["rows"] <= 36
                and 0 < seen["made"] <= px / 60 + 3
                and seen["moved"] == 0
                and layouts <= 3,
            )
        page.wait_for_function(DOWN, arg=30_000)
        rows = page.evaluate("() => document.querySelector('.space').offsetHeight / 60")
        self.promise(
            f"{rows:.0f} rows took {len(asked)} requests of 100",
            rows > 500 and 0 < len(asked) <= rows / 100 + 1,
        )
        shown = page.evaluate(
            "() => [...document.querySelectorAll('.row')].map((row) => [row.dataset.id, row.getBoundingClientRect().y])"
        )
        self.promise(
            "no row is duplicated, and the document's order is the visual one",
            len({row for row, _ in shown}) == len(shown) > 10 and shown == sorted(shown, key=lambda it: it[1]),
        )
        self.shot(page, "list-closed")
        page.get_by_role("button", name=re.compile("^All")).click()

    def long_log(self) -> None:
        """X04 of the issue: 10,000 messages in one conversation."""
        mika, page = self.mika, self.mika.page
        session = self.sql(f"""
            WITH one AS (SELECT id, workspace_id, user_id, last_seq FROM chat_sessions
              WHERE status = 'closed' ORDER BY closed_at DESC LIMIT 1), more AS (
            INSERT INTO chats (workspace_id, session_id, seq, role, kind, content, user_id, content_hash, created_at)
            SELECT workspace_id, id, last_seq + n, 'visitor', 'text', 'line ' || n || ' of the log', user_id,
              sha256(convert_to(E'text\\n\\nline ' || n || ' of the log', 'UTF8')), now() - interval '1 s' * ({MESSAGES} - n)
            FROM one, generate_series(1, {MESSAGES}) AS n RETURNING 1)
            UPDATE chat_sessions s SET last_seq = s.last_seq + {MESSAGES}, message_count = message_count + {MESSAGES}
            FROM one WHERE s.id = one.id RETURNING s.id""")
        asked: list[str] = []
        page.on("request", lambda request: f"{session}/messages" in request.url and asked.append(request.url))
        mika.page.goto(f"{mika.base}/console#{session}")
        last = page.locator(".log .bubble").last
        expect(last).to_have_text(f"line {MESSAGES} of the log")
        bubbles = page.locator(".log .say")
        self.promise("a conversation of 10,000 messages opens at its end", bubbles.count() <= 60)
        most = page.evaluate(READ, 24)
        expect(page.locator(".collision")).to_contain_text("You are viewing older messages")
        first = page.locator(".log .say .bubble").first.inner_text()
        number = int(re.search(r"\d+", first)[0])
        self.promise(
            f"scrolling up shows {MESSAGES - number:,} of them with {most} in the page",
            number < MESSAGES - 1_000 and 100 < most <= 400,
        )
        texts = page.locator(".log .say .bubble").all_inner_texts()
        numbers = [int(re.search(r"\d+", text)[0]) for text in texts]
        self.promise("without a hole or a duplicate", numbers == list(range(numbers[0], numbers[0] + len(numbers))))
        middle = page.locator(".log .say").nth(60)
        middle.evaluate("(node) => node.scrollIntoView()")
        page.wait_for_timeout(200)
        place = "() => { const log = document.querySelector('.log').getBoundingClientRect();" \
            " const node = document.elementFromPoint(log.left + 40, log.top + 90).closest('.log > *');" \
            " return [node.textContent, Math.round(node.getBoundingClientRect().y)]; }"
        before = page.evaluate(place)
        page.evaluate("() => { const log = document.querySelector('.log'); log.dispatchEvent(new Event('scroll')); }")
        page.wait_for_timeout(300)
        self.promise("the visible messages do not move", page.evaluate(place) == before)
        # Downwards again: the pages that were released at that end are loaded again.
        lowest = f"() => {{ const log = document.querySelector('.log'); log.scrollTop = log.scrollHeight;" \
            f" return +/\\d+/.exec([...log.querySelectorAll('.bubble')].at(-1).textContent)[0] > {numbers[-1]}; }}"
        page.wait_for_function(lowest)
        self.promise("scrolling down continues too", bubbles.count() <= 400)
        page.get_by_role("button", name="Jump to latest").click()
        expect(last).to_have_text(f"line {MESSAGES} of the log")
        self.promise("and the end is one click away", bubbles.count() <= 400)
        self.shot(page, "list-long-log")

    def long_words(self) -> None:
        """X04 of the table: directions, invisible signs, look-alikes, a word of 10,000 letters, 5,000 emoji."""
        mika, page = self.mika, self.mika.page
        session = page.url.split("#")[1].split("/")[0]
        mika.rest("POST", f"{LIST}/{session}/reopen")
        hosts = "https://example.com\u202emoc.live//:sptth and https://\u0430pple.com/ and https://right.example/a_b"
        for body in ("w" * 10_000, "\U0001f642" * 3_500, "a\u202eb\u200bc", hosts):
            told = mika.rest("POST", f"{LIST}/{session}/messages", {"body": body})
            if told["status"] >= 300:
                raise Failure(f"not taken: {told}")
        expect(page.locator(".log .bubble").last).to_contain_text("right.example")
        links = page.locator(".log .bubble a").evaluate_all(
            "(all) => all.map((link) => { const at = (from) => { const range = document.createRange();"
            " range.setStart(link.firstChild, from); range.setEnd(link.firstChild, from + 1);"
            " return range.getBoundingClientRect().left; };"
            " return [new URL(link.href).host, link.textContent, link.rel, at(0) < at(6)]; })"
        )
        plain = all(
            host in text and text.isascii() and "noopener" in rel and forward
            for host, text, rel, forward in links
        )
        self.promise(
            f"links show their host, look-alikes are no links ({len(links)})",
            plain and ["right.example", "https://right.example/a_b", "noopener", True] in links
            and all("pple" not in host for host, *_ in links),
        )
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 900})
            inside = page.evaluate(
                "() => { const log = document.querySelector('.log'); return log.scrollWidth <= log.clientWidth"
                " && document.documentElement.scrollWidth <= innerWidth; }"
            )
            self.shot(page, f"list-long-words-{width}")
            self.promise(f"a word of 10,000 letters and 3,500 emoji fit into {width} px", inside)
        page.set_viewport_size({"width": 1440, "height": 900})

    def both_write(self) -> None:
        mika, dana = self.mika, self.dana
        session = mika.page.url.split("#")[1].split("/")[0]
        dana.page.goto(f"{dana.base}/console#{session}")
        expect(dana.page.locator(".log .bubble").last).to_contain_text("right.example")
        # The demo operator who has claimed it returns it first.
        mika.rest("POST", f"{LIST}/{session}/transfer", {"to": None})
        mika.rest("POST", f"{LIST}/{session}/claim")
        expect(dana.page.locator(".pane .chip").first).to_have_text("With Mika")
        for number in range(8):
            for desk, name in ((mika, "Mika"), (dana, "Dana")):
                desk.text.fill(f"{name} says {number}")
                desk.text.press("Enter")
                if desk == dana and number == 0:
                    dana.strip.get_by_role("button", name="Send anyway").click()
        both = re.compile("says 7$")
        shown = []
        for desk in (mika, dana):
            own = desk.page.locator(".log .bubble:not(.pending)").filter(has_text=re.compile(r"says \d$"))
            expect(own).to_have_count(16)
            shown.append(own.all_inner_texts())
        stored = self.sql(
            f"SELECT string_agg(content, '|' ORDER BY seq) FROM chats WHERE session_id = '{session}' AND content ~ 'says .$'"
        ).split("|")
        self.promise("two operators who write at once see the same thread, in the stored order",
                     shown == [stored, stored] and len(set(stored)) == 16)
        # Each on their own row of the list at the same moment: one claim wins.
        waiting = mika.rest("GET", f"{LIST}?status=waiting&limit=1")["body"]["conversations"][0]["id"]
        ask = "async (path) => { const answer = await fetch(path, { method: 'POST' }); return answer.status; }"
        verdicts = []
        for desk in (mika, dana):
            desk.page.evaluate(
                f"(path) => {{ window.raced = ({ask})(path); }}", f"{LIST}/{waiting}/claim"
            )
        self.watch.expected = re.compile("409")
        verdicts = sorted(desk.page.evaluate("() => window.raced") for desk in (mika, dana))
        self.promise("one of two claims of a conversation wins", verdicts == [200, 409])
        self.watch.expected = re.compile(r"$^")


if __name__ == "__main__":
    sys.exit(begin(ListRun, __doc__, "list", ("--database", "--psql")))
