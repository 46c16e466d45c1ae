"""Analytics of many conversations in a real browser: the same numbers in the database, in the page and in its files.

Started by analytics.sh, which fills the workspace.
"""

import csv
import re
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from browser_test import begin
from pages_test import PagesRun

SIZES = ((390, 844), (900, 800), (1180, 820), (1440, 900))
#: The conversations that began in the last 30 days, as the tables have them.
SET = """FROM (
  SELECT s.*, (SELECT r.rating FROM csat_responses r WHERE r.session_id = s.id) AS rating,
    (SELECT min(c.created_at) FROM chats c WHERE c.session_id = s.id AND c.kind IN ('text', 'card')) AS began
  FROM chat_sessions s) AS s
WHERE (began AT TIME ZONE 'UTC')::date > (now() AT TIME ZONE 'UTC')::date - 30"""


class AnalyticsRun(PagesRun):
    def run(self) -> None:
        self.base = self.options.base_url
        self.desk = self.context(1440, 900, accept_downloads=True)
        self.admin = page = self.page(self.desk)
        self.count_all()
        page.goto(f"{self.base}/console#/analytics/30")
        page.get_by_role("button", name="Log in").click()
        expect(page.locator(".tiles > div")).to_have_count(6)
        self.one_set()
        self.compared()
        self.files()
        self.targets()
        self.limited()
        self.ratings()
        self.keyboard()
        self.sizes()

    def count_all(self) -> None:
        subprocess.run([self.options.chirrup, "analytics", "count", "--database-url", self.options.database],
                       check=True, capture_output=True)

    def region(self, name: str) -> Locator:
        return self.admin.get_by_role("region", name=name, exact=True)

    def download(self, button: Locator) -> list[dict[str, str]]:
        with self.admin.expect_download() as coming:
            button.click()
        text = Path(coming.value.path()).read_text(encoding="utf-8")
        return list(csv.DictReader(text.splitlines()))

    def one_set(self) -> None:
        page = self.admin
        sessions, messages, closed = self.sql(
            f"SELECT count(*), sum(message_count), count(*) FILTER (WHERE status = 'closed') {SET}").split("|")
        words = self.region("Conversations").locator("p").inner_text().replace(",", "")
        self.promise(f"conversations, messages and closed ones are of one set: {words}",
                     f"{sessions} conversations with {messages} messages; {closed} of them are closed." in words)
        shown = page.locator(".tiles dd").first.inner_text().replace(",", "")
        self.promise("the tile has the same number", shown == sessions)
        for kind, column in (("Operators", "assigned_operator_id"), ("Teams", "team_id")):
            page.get_by_role("group", name="Groups by").get_by_role("button", name=kind).click()
            rows = self.region("Groups").locator("tbody tr")
            counted = sum(int(text.replace(",", "")) for text in rows.locator("td:nth-child(2)").all_inner_texts())
            wanted = self.sql(f"SELECT count(*) {SET} AND {column} IS NOT NULL")
            self.promise(f"{kind.lower()} have as many conversations as the database ({counted})", str(counted) == wanted)
        page.get_by_role("group", name="Groups by").get_by_role("button", name="Channels").click()
        row = self.region("Groups").locator("tbody tr").filter(has_text="Website")
        wanted = self.sql(f"SELECT count(*) {SET} AND channel = 'web'")
        self.promise(f"and so has the website ({wanted})",
                     row.locator("td").first.inner_text().replace(",", "") == wanted)
        page.get_by_role("group", name="Groups by").get_by_role("button", name="Tags").click()
        first = self.region("Groups").locator("tbody tr").first
        tag = first.locator("th").inner_text()
        wanted = self.sql(f"SELECT count(*) {SET} AND EXISTS (SELECT FROM session_tags t WHERE t.session_id = s.id"
                          f" AND t.tag = '{tag}')")
        self.promise(f"and so has the tag {tag}", first.locator("td").first.inner_text().replace(",", "") == wanted)

    def compared(self) -> None:
        """What is better or worse is a word, beside an arrow that only repeats it."""
        page = self.admin
        words = page.locator(".tiles .change").all_inner_texts()
        form = re.compile(r"^((▲|▼)\s)?[\d,]+\s(%|points?) (slower|faster|more|fewer|better|worse)$|^unchanged$")
        self.promise(f"changes are words: {words}", len(words) >= 5 and all(form.match(text) for text in words))
        arrows = page.locator(".tiles .change [aria-hidden=true]").all_inner_texts()
        self.promise("the arrows are for the eye only", len(arrows) > 0 and set("".join(arrows)) <= set("▲▼\u00a0 "))
        page.get_by_role("group", name="Time").get_by_role("button", name="Resolution").click()
        expect(self.region("Groups").locator("tbody .change").first).to_be_visible()
        self.promise("each group is compared too")

    def files(self) -> None:
        """Each table as a file, with the same numbers."""
        page = self.admin
        names = page.locator("section.panel").evaluate_all("(all) => all.map((it) => it.getAttribute('aria-label'))")
        for name in names:
            rows = self.download(page.get_by_role("button", name=f"{name} as CSV"))
            self.promise(f"{name} as CSV ({len(rows)} rows)", len(rows) >= 2 and len(rows[0]) >= 4)
        days = self.download(page.get_by_role("button", name="Export CSV"))
        wanted = self.sql(f"SELECT count(*), sum(message_count), count(rating) {SET}").split("|")
        sums = [str(sum(int(row[key]) for row in days)) for key in ("sessions", "messages", "csat_count")]
        self.promise(f"the days of the file add up to the database's figures ({sums})", sums == wanted and len(days) == 30)

    def targets(self) -> None:
        """Missed targets over time and by group, as the database has them."""
        page = self.admin
        missed, due = self.sql(
            "SELECT count(*) FILTER (WHERE first_response_missed_at IS NOT NULL), count(*) FROM chat_targets"
            " WHERE (first_response_due_at AT TIME ZONE 'UTC')::date > (now() AT TIME ZONE 'UTC')::date - 30"
            " AND first_response_due_at < now()").split("|")
        words = self.region("Missed targets").locator("p").inner_text().replace(",", "")
        self.promise(f"missed targets over time: {words}", f"{missed} of {due} were missed." in words and missed != "0")
        days = self.download(page.get_by_role("button", name="Missed targets as CSV"))
        sums = [str(sum(int(day[f"first_response_targets_{kind}"]) for day in days)) for kind in ("missed", "due")]
        self.promise(f"and so in the file ({sums})", sums == [missed, due])
        page.get_by_role("group", name="Target", exact=True).get_by_role("button", name="Resolution").click()
        focused = page.evaluate("document.activeElement.textContent")
        self.promise(f"the other target is one click away and keeps the focus ({focused})", focused == "Resolution")
        page.get_by_role("group", name="Groups by").get_by_role("button", name="Teams").click()
        rows = self.region("Groups").locator("tbody tr")
        late = [text.split(" of ")[0].replace(",", "") for text in rows.locator("td:last-child").all_inner_texts()]
        wanted = self.sql(
            "SELECT count(*) FROM chat_targets t, LATERAL (VALUES (t.first_response_missed_at),"
            " (t.resolution_missed_at)) AS m (at) WHERE (m.at AT TIME ZONE 'UTC')::date"
            " > (now() AT TIME ZONE 'UTC')::date - 30")
        self.promise(f"the teams together missed as many as the database has ({late})",
                     len(late) == 3 and str(sum(map(int, late))) == wanted)

    def limited(self) -> None:
        """One field limits the whole page, and its files; the address keeps it."""
        page = self.admin
        field = page.get_by_label("Conversations of", exact=True)
        everything = page.locator(".tiles dd").first.inner_text()
        for kind, condition in (("Workshop", "team_id = (SELECT id FROM chat_teams WHERE name = 'Workshop')"),
                                ("Dana", "operator_name = 'Dana'"), ("Website", "channel = 'web'"),
                                ("brakes", "EXISTS (SELECT FROM session_tags t WHERE t.session_id = s.id"
                                           " AND t.tag = 'brakes')")):
            field.focus()
            field.select_option(label=kind)
            wanted = self.sql(f"SELECT count(*) {SET} AND {condition}")
            expect(page.locator(".tiles dd").first).to_have_text(re.compile(f"^{int(wanted):,}$"))
            expect(field).to_be_focused()
            days = self.download(page.get_by_role("button", name="Export CSV"))
            heat = self.download(page.get_by_role("button", name="By weekday and hour as CSV"))
            sums = [sum(int(day["sessions"]) for day in days),
                    sum(int(value) for row in heat for key, value in row.items() if key != "hour")]
            self.promise(f"limited to {kind}: tile, days and hours have {wanted}, and the field keeps the focus", sums == [int(wanted)] * 2)
        page.reload()
        expect(field.locator("option:checked")).to_have_text("brakes")
        expect(page.locator(".tiles dd").first).to_have_text(re.compile(f"^{int(wanted):,}$"))
        page.get_by_role("link", name="Satisfaction").click()
        expect(self.region("Ratings").get_by_role("listitem").first).to_be_visible()
        rated = self.sql(f"SELECT count(rating) {SET} AND {condition}")
        ratings = self.download(page.get_by_role("button", name="Ratings as CSV"))
        self.promise(f"the ratings and their file are limited too ({len(ratings)})", str(len(ratings)) == rated != "0")
        page.get_by_role("link", name="Overview").click()
        field.select_option(label="All conversations")
        expect(page.locator(".tiles dd").first).to_have_text(everything)
        self.promise("and all conversations are back", page.url.endswith("#/analytics/30"))

    def ratings(self) -> None:
        page = self.admin
        page.get_by_role("link", name="Satisfaction").click()
        place = self.region("Ratings")
        expect(place.get_by_role("listitem")).to_have_count(20)
        rated, good = (int(text) for text in self.sql(
            f"SELECT count(rating), count(*) FILTER (WHERE rating >= 4) {SET}").split("|"))
        share = page.locator(".tiles dd").first.inner_text()
        self.promise(f"the share of good ratings is the database's: {share}", share == f"{round(good / rated * 100)}\u00a0%")
        everything = self.download(page.get_by_role("button", name="Ratings as CSV"))
        self.promise(f"the list has as many ratings as the figures ({len(everything)})", len(everything) == rated)
        stars = self.download(page.get_by_role("button", name="Stars as CSV"))
        self.promise("and so has the picture of stars", sum(int(row["ratings"]) for row in stars) == rated)
        place.get_by_label("Rating", exact=True).select_option("5 stars")
        place.get_by_label("Team", exact=True).select_option("Sales")
        expect(place.locator("ol")).not_to_have_attribute("aria-busy", "true")
        narrowed = self.download(page.get_by_role("button", name="Ratings as CSV"))
        wanted = self.sql(f"SELECT count(*) {SET} AND rating = 5 AND team_id = (SELECT id FROM chat_teams"
                          " WHERE name = 'Sales')")
        self.promise(f"filters narrow the list and its file ({len(narrowed)})", str(len(narrowed)) == wanted != "0")
        step = page.get_by_role("group", name="Step")
        step.get_by_role("button", name="Week").click()
        page.get_by_role("button", name="Good ratings over time as a table").click()
        weeks = self.region("Good ratings over time").locator("tbody tr")
        counts = [int(text) for text in weeks.locator("td:nth-child(4)").all_inner_texts()]
        self.promise(f"weeks have the ratings of their days ({counts})", sum(counts) == rated and 5 <= len(counts) <= 6)
        page.get_by_role("button", name="Good ratings over time as a table").click()

    def keyboard(self) -> None:
        """Everything can be reached and used without a pointer."""
        page = self.admin
        page.get_by_role("link", name="Overview").focus()
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("#/analytics/30$"))
        expect(self.region("Groups")).to_be_visible()
        page.get_by_role("link", name="7 days").focus()
        seen = set()
        for _ in range(60):
            page.keyboard.press("Tab")
            seen.add(page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent"))
        wanted = {"Export CSV", "Conversations as a table", "Conversations as CSV", "Teams", "Resolution", "Groups as CSV"}
        self.promise(f"Tab reaches each control ({sorted(wanted - seen)} missing)", wanted <= seen)
        button = page.get_by_role("group", name="Groups by").get_by_role("button", name="Teams")
        button.focus()
        page.keyboard.press("Space")
        expect(button).to_have_attribute("aria-pressed", "true")
        expect(self.region("Groups").get_by_role("rowheader", name="Sales")).to_be_visible()
        head = page.get_by_role("button", name=re.compile("^Messages"))
        head.focus()
        page.keyboard.press("Enter")
        focused = page.evaluate("document.activeElement.textContent")
        self.promise(f"a column is sorted by Enter and keeps the focus ({focused})", focused.startswith("Messages"))

    def sizes(self) -> None:
        page = self.admin
        team = self.sql("SELECT id FROM chat_teams WHERE name = 'Workshop'")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found = []
            for width, height in SIZES:
                page.set_viewport_size({"width": width, "height": height})
                for name in ("analytics/90", "analytics/90/ratings", f"analytics/90/overview/team/{team}"):
                    self.go(name)
                    expect(page.locator(".doc-body:not([aria-busy]) section.panel").first).to_be_visible()
                    if name.endswith("ratings"):
                        expect(self.region("Ratings").get_by_role("listitem")).to_have_count(20)
                    if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                        found.append(f"{name} is wider than {width} px")
                    found += self.axe_findings(page)
                    self.whole(page, f"{name.replace('/', '-')}-{scheme}-{width}")
            self.promise("\n      ".join([f"axe finds nothing, and nothing is cut off, {scheme}", *found]), not found)

    def whole(self, page: Page, name: str) -> None:
        """A picture of the page and all below it."""
        if not self.options.shots:
            return
        size = page.viewport_size
        tall = page.evaluate("Math.max(...[...document.querySelectorAll('.page, .doc')].map((it) => it.scrollHeight))")
        page.set_viewport_size({"width": size["width"], "height": min(tall + 20, 6000)})
        self.shot(page, name)
        page.set_viewport_size(size)


if __name__ == "__main__":
    sys.exit(begin(AnalyticsRun, __doc__, "analytics", ("--database", "--psql", "--chirrup")))
