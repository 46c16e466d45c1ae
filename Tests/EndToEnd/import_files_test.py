"""An export of Live Helper Chat or of Intercom moves in beside a running gateway, and is killed on the way.

Started by import_live_helper_chat.sh and import_intercom.sh. EXPECTED has what the other system has: a line of JSON for each
message that must have become one, as conversation, seconds since 1970, role, kind and text.
"""

import json
import pathlib
import re
import subprocess
import sys
import time

from browser_test import Console, begin
from playwright.sync_api import expect
from widget_test import WidgetRun

PATIENCE = 30_000
#: Everything that an import stores, and what another one must not change.
STORED = ("chats", "chat_sessions", "visitors", "memberships", "chat_teams", "chat_team_members", "tags", "session_tags",
          "csat_responses", "reply_objects", "read_marks")
#: An open conversation of a visitor whom the host site knows.
CUSTOMER, NUMBER = "customer-27", "27"


class ImportFilesRun(WidgetRun):
    def run(self) -> None:
        self.word = self.options.system.replace("-", "_")
        first = self.page(self.context())
        demo = first.request.get(f"{self.options.base_url}/demo").text()
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        self.config = f"{self.options.base_url}/api/v1/widget/config?workspace={self.key}"
        self.set(first, lambda it: it["queue"]["close_after_minutes"] == 0,
                 queue={"assign": "off", "close_after_minutes": 0, "reassign_after_seconds": 0})
        desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        desk.login()
        self.refused()
        self.moved()
        self.goes_on()
        self.seen(desk)

    def importing(self, *more: str, source: str | None = None) -> subprocess.CompletedProcess:
        return subprocess.run(self.command(*more, source=source), capture_output=True, text=True, timeout=120)

    def command(self, *more: str, source: str | None = None) -> list[str]:
        identity = ["--identity", "customer"] if self.options.system == "live-helper-chat" else []
        return [self.options.chirrup, "import", self.options.system, "--database-url", self.options.database, "--from",
                source or self.options.source, "--workspace", "demo", *identity, *more]

    def stored(self) -> str:
        return self.sql("SELECT concat_ws(' ', " + ", ".join(f"(SELECT count(*) FROM {table})" for table in STORED) + ")")

    def refused(self) -> None:
        """A file that lacks its end, or has a line that is damaged."""
        before = self.stored()
        source = pathlib.Path(self.options.source)
        whole = source if source.is_file() else source / "conversations.jsonl"
        folder = pathlib.Path(self.options.folder) / "damaged"
        folder.mkdir()
        if source.is_dir():
            for name in ("admins.jsonl", "contacts.jsonl"):
                (folder / name).write_bytes((source / name).read_bytes())
        damaged = folder / whole.name
        lines = whole.read_bytes().splitlines(keepends=True)
        for wrong, words in ((lines[:7] + [lines[7][:-20]], f"{damaged.name}, line 8"),
                             (lines[:7] + [b"NULL\n"] + lines[8:], f"{damaged.name}, line 8")):
            damaged.write_bytes(b"".join(wrong))
            done = self.importing("--yes", source=str(folder if source.is_dir() else damaged))
            self.promise(f"a damaged export is refused: {done.stderr.strip()[-110:]}", done.returncode == 1
                         and words in done.stderr and "Nothing was imported" in done.stderr and self.stored() == before)

    def moved(self) -> None:
        before = self.stored()
        plan = self.importing("--json")
        planned = json.loads(plan.stdout.splitlines()[-1] if plan.returncode == 0 else "{}")
        self.promise(f"a dry run only counts: {planned} {plan.stderr[-300:]}",
                     planned.get("done") is False and self.stored() == before)
        # Killed in the middle of its transactions, and started again.
        for _ in range(2):
            process = subprocess.Popen(self.command("--batch", "10", "--yes"), stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            limit = time.monotonic() + 60
            count = f"SELECT count(*) FROM chat_sessions WHERE context ? '{self.word}'"
            begun = int(self.sql(count))
            while process.poll() is None and int(self.sql(count)) <= begun and time.monotonic() < limit:
                pass
            process.kill()
            process.wait()
        done = self.importing("--yes")
        self.promise(f"after two runs that were killed it is imported {done.stderr[-300:] if done.returncode else ''}",
                     done.returncode == 0)
        self.compare(planned)
        after = self.stored()
        again = self.importing("--json", "--yes")
        counts = json.loads(again.stdout.splitlines()[-1])
        self.promise(f"another run imports nothing: {counts}", self.stored() == after and not any(
            value for name, value in counts.items() if name != "done"))

    def compare(self, planned: dict) -> None:
        """Counts and contents, with what the other system has."""
        rows = self.sql(
            f"SELECT coalesce(json_agg(json_build_array(s.context #>> '{{{self.word},number}}',"
            " extract(epoch FROM c.created_at)::bigint, c.role, c.kind, c.content)), '[]') FROM chats c"
            f" JOIN chat_sessions s ON s.id = c.session_id WHERE s.context ? '{self.word}'")
        here = sorted(tuple(row) for row in json.loads(rows))
        there = sorted(tuple(json.loads(line)) for line in pathlib.Path(self.options.expected).read_text().splitlines())
        differing = sorted(set(here) ^ set(there))[:3]
        self.promise(f"all {len(there)} messages have author, time, kind and text of the other system; "
                     f"differing: {differing}", here == there and planned["messages"] == len(there) > 300)
        wrong = self.sql(
            "SELECT count(*) FROM (SELECT seq, row_number() OVER (PARTITION BY session_id ORDER BY c.created_at, seq) AS n"
            f" FROM chats c JOIN chat_sessions s ON s.id = session_id WHERE s.context ? '{self.word}') AS r WHERE seq <> n")
        self.promise("they are numbered by time", wrong == "0")
        verified = subprocess.run([self.options.chirrup, "migrate", "verify", "--database-url", self.options.database],
                                  capture_output=True, text=True)
        self.promise(f"every check of the data passes {verified.stdout if verified.returncode else ''}",
                     verified.returncode == 0)

    def imported(self) -> str:
        return self.sql("SELECT id FROM chat_sessions WHERE context #>> " f"'{{{self.word},number}}' = '{NUMBER}'")

    def goes_on(self) -> None:
        """The host site signs who its visitor is: the open conversation is theirs."""
        session = self.imported()
        before = self.sql(f"SELECT last_seq FROM chat_sessions WHERE id = '{session}'")
        widget = self.visitor()
        widget.page.evaluate("(jwt) => { chirrup.identify(jwt); chirrup.open(); }", self.identity(CUSTOMER, "Noor"))
        # Those of the visitor, among them the first.
        expect(widget.own.first).to_contain_text(f"line 1 of {NUMBER}", timeout=PATIENCE)
        whispers = widget.page.get_by_text(re.compile(rf"(whisper|note) .*of {NUMBER}")).count()
        self.promise("the visitor sees the imported messages, and no note", whispers == 0)
        self.pictures(widget.page, f"visitor-{self.options.system}")
        widget.say("Hello again")
        widget.committed()
        last = self.sql(f"SELECT seq || ' ' || content FROM chats WHERE session_id = '{session}' ORDER BY seq DESC LIMIT 1")
        self.promise(f"the visitor's next message lands in the imported conversation: {last}",
                     last == f"{int(before) + 1} Hello again")
        done = self.importing("--yes")
        self.promise("and another run leaves it there", done.returncode == 0 and last == self.sql(
            f"SELECT seq || ' ' || content FROM chats WHERE session_id = '{session}' ORDER BY seq DESC LIMIT 1"))

    def seen(self, desk: Console) -> None:
        page = desk.page
        page.goto(f"{self.options.base_url}/console#{self.imported()}")
        expect(page.locator(".log .say .bubble", has_text=f"line 1 of {NUMBER}")).to_be_visible(timeout=PATIENCE)
        self.promise("the console shows it", page.locator(".log .say .bubble").count() > 4)
        self.accessible(page, "an imported conversation")
        self.pictures(page, f"console-{self.options.system}")


if __name__ == "__main__":
    sys.exit(begin(ImportFilesRun, __doc__, "import of files",
                   ("--database", "--psql", "--operator-token", "--chirrup", "--folder", "--system", "--source",
                    "--expected")))
