"""A Chatwoot account moves in beside a running gateway, with an import that is killed again and again.

Started by import.sh. The result must equal that of an import into another database that was not killed.
"""

import json
import random
import re
import subprocess
import sys
import time
import uuid

from browser_test import Console, Widget, begin
from playwright.sync_api import expect
from widget_test import WidgetRun
from wire import Gate, Proxy

COMMITS = (1, 2, 4, 7, 10, 13)  # at which a run is killed, in its own count
KILLS = 3  # at random moments
PATIENCE = 30_000
OF_CHATWOOT = "s.context ? 'chatwoot'"
#: All that an import stores, as text: with ids, numbers and times.
CONTENTS = [
    f"SELECT to_jsonb(c) FROM chats c JOIN chat_sessions s ON s.id = c.session_id WHERE {OF_CHATWOOT}"
    " ORDER BY c.session_id, c.seq",
    f"SELECT to_jsonb(s) - 'updated_at' FROM chat_sessions s WHERE {OF_CHATWOOT} ORDER BY id",
    f"SELECT to_jsonb(v) FROM visitors v WHERE id IN (SELECT user_id FROM chat_sessions s WHERE {OF_CHATWOOT})"
    " ORDER BY id",
    "SELECT to_jsonb(m) - 'updated_at' FROM read_marks m JOIN chat_sessions s ON s.id = m.session_id"
    f" WHERE {OF_CHATWOOT} ORDER BY m.session_id, m.person_id",
    f"SELECT to_jsonb(t) - 'created_at' FROM session_tags t JOIN chat_sessions s ON s.id = t.session_id"
    f" WHERE {OF_CHATWOOT} ORDER BY t.session_id, t.tag",
    "SELECT to_jsonb(r) FROM csat_responses r ORDER BY session_id",
]


class ImportRun(WidgetRun):
    def run(self) -> None:
        first = self.page(self.context())
        demo = first.request.get(f"{self.options.base_url}/demo").text()
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        self.config = f"{self.options.base_url}/api/v1/widget/config?workspace={self.key}"
        # As the guide says, until the operators have moved, too.
        self.set(first, lambda it: it["queue"]["close_after_minutes"] == 0,
                 queue={"assign": "off", "close_after_minutes": 0, "reassign_after_seconds": 0})
        self.whole()
        desk = Console(self.page(self.context(1440, 900)), self.options.base_url, None, None)
        desk.login()
        widget = self.visitor().open()
        self.said: list[str] = []
        self.say(widget)
        self.killed(widget)
        finished = self.importing(self.options.database)
        self.say(widget)
        if finished.wait() != 0:
            self.promise("the last run succeeds", False)
        self.compare()
        self.seen(desk, widget)

    def of(self, database: str) -> str:
        return f"postgresql://chirrup@/{database}?host={self.options.cluster}"

    def rows(self, database: str, statement: str) -> list[str]:
        return subprocess.run(
            [self.options.psql, "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--set", "ON_ERROR_STOP=1",
             "--command", statement, database], check=True, capture_output=True, text=True).stdout.splitlines()

    def importing(self, target: str) -> subprocess.Popen:
        return subprocess.Popen(
            [self.options.chirrup, "import", "chatwoot", "--database-url", target, "--from", self.of("chatwoot"),
             "--account", "7", "--workspace", "demo", "--batch", "40", "--yes"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def whole(self) -> None:
        """An import that is not killed, into a workspace of the same id."""
        id = self.sql("SELECT id FROM workspaces WHERE name = 'demo'")
        self.rows(self.of("whole"), f"INSERT INTO workspaces (id, name) VALUES ('{id}', 'demo')")
        status = self.importing(self.of("whole")).wait()
        self.promise("an import that is not killed succeeds", status == 0)

    def say(self, widget: Widget) -> None:
        self.said.append(f"message {len(self.said) + 1}")
        widget.say(self.said[-1])

    def killed(self, widget: Widget) -> None:
        folder = f"{self.options.folder}/proxy"
        reached = 0
        for place, number in enumerate(COMMITS):
            gate = Gate(number, before=place % 2 == 0)
            proxy = Proxy(folder, self.options.cluster, gate)
            process = self.importing(f"postgresql://chirrup@/postgres?host={folder}")
            try:
                while process.poll() is None and not gate.reached.wait(0.01):
                    pass
                reached += gate.reached.is_set()
                self.say(widget)
            finally:
                process.kill()
                process.wait()
                proxy.close()
        self.promise(f"it is killed at {reached} of its commits, before or after PostgreSQL executes them",
                     reached == len(COMMITS))
        seed = random.randrange(1 << 32)
        moments = random.Random(seed)
        for _ in range(KILLS):
            process = self.importing(self.options.database)
            time.sleep(moments.uniform(0.05, 1.5))
            self.say(widget)
            process.kill()
            process.wait()
        self.promise(f"… and {KILLS} times at random moments (seed {seed})")

    def compare(self) -> None:
        wrong, total = [], 0
        for statement in CONTENTS:
            here, there = (self.rows(database, statement) for database in (self.options.database, self.of("whole")))
            total += len(there)
            # Accounts of members have their ids from the address, so they are the same in both databases.
            if here != there:
                differing = [pair for pair in zip(here, there) if pair[0] != pair[1]][:1]
                wrong.append(f"{statement[:60]}: {len(here)} and {len(there)} rows, {differing}")
        self.promise("\n      ".join([f"all {total} rows equal those of the import that was not killed", *wrong]),
                     not wrong and total > 5_000)
        verified = subprocess.run([self.options.chirrup, "migrate", "verify", "--database-url", self.options.database],
                                  capture_output=True, text=True)
        self.promise(f"every check of the data passes {verified.stderr if verified.returncode else ''}",
                     verified.returncode == 0)

    def seen(self, desk: Console, widget: Widget) -> None:
        """What the console and the visitor saw meanwhile, without a reload."""
        widget.committed()
        self.promise("the visitor's messages went on, once and in order", widget.texts() == self.said)
        page = desk.page
        for tab, condition in (("All", "status <> 'closed'"), ("Closed", "status = 'closed'")):
            count = self.sql(f"SELECT count(*) FROM chat_sessions WHERE message_count > 0 AND {condition}")
            expect(page.locator(".tabs button", has_text=tab).locator("span")).to_have_text(count, timeout=PATIENCE)
        self.promise("the console counts the imported conversations, without a reload")
        session, texts = self.sql(
            "SELECT s.id || ' ' || (SELECT json_agg(content ORDER BY seq) FROM chats c WHERE c.session_id = s.id"
            " AND kind IN ('text', 'note')) FROM chat_sessions s JOIN visitors v ON v.id = s.user_id"
            " WHERE v.external_id IS NOT NULL AND s.context ? 'chatwoot' AND s.message_count < 20 ORDER BY s.id LIMIT 1"
        ).split(" ", 1)
        page.goto(f"{self.options.base_url}/console#{uuid.UUID(session)}")
        expect(page.locator(".log .say").first).to_be_visible()
        expect(page.locator(".log .say .bubble")).to_have_text(json.loads(texts))
        expect(page.locator(".visitor .person")).to_contain_text("not verified")
        self.promise("it shows an imported conversation; its external id, which nobody has signed, is not verified",
                     page.get_by_text("Identity verified").count() == 0)
        self.accessible(page, "an imported conversation")
        self.pictures(page, "imported")
        # Conversations of channels that the gateway does not have.
        for channel, line in (("email", None), ("whatsapp", "Nothing is sent to whatsapp.")):
            session = self.sql(
                "UPDATE chat_sessions SET channel = '" + channel + "' WHERE id = (SELECT id FROM chat_sessions"
                " WHERE context ? 'chatwoot' AND message_count > 0 AND channel <> 'whatsapp' ORDER BY id DESC LIMIT 1)"
                " RETURNING id")
            page.goto(f"{self.options.base_url}/console#{uuid.UUID(session)}")
            # The console may have the row from before that statement: no gateway tells it of a changed channel.
            page.reload()
            expect(page.locator(".log .say").first).to_be_visible()
            where = page.locator(".channel-line")
            if line:
                expect(where).to_contain_text(line)
            page.wait_for_timeout(500)
            self.promise(f"one that came by {channel}: {line or 'no line of a channel'}",
                         bool(line) == where.is_visible())


if __name__ == "__main__":
    sys.exit(begin(ImportRun, __doc__, "import",
                   ("--database", "--psql", "--operator-token", "--chirrup", "--cluster", "--folder")))
