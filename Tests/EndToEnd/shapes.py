"""The databases of Tests/Fixtures/legacy/shapes move in and out through the real binary, and are killed meanwhile.

    shapes.py --server FOLDER --chirrup FILE [--shape NAME]… [--owner] [--kills N] [--every] [--record FILE]

Each shape that Chirrup adopts goes through plan, rehearse, up, the statements of the old application, verify and down;
afterwards pg_dump must print the same. Then `up` is killed with SIGKILL at N of its commits (before or after it,
exactly: see wire.py): one copy of what is left is completed by `up` and must equal the database that was not killed,
another is reverted by `down`. `down` is killed in the same way and run again. With --owner the tables belong to a role
that is no superuser. --record writes the table for administrators.
"""

import argparse
import concurrent.futures
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

from wire import Gate, Proxy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEGACY = ROOT + "/Tests/Fixtures/legacy"
ROWS = 300
PATIENCE = 240
COLUMNS = ["plan", "rehearse", "up", "old application", "verify", "down", "dump equal", "killed", "down killed"]
EVERYDAY = [
    "SELECT id, role, content, created_at FROM chats WHERE workspace_id = '10000000-0000-4000-8000-000000000001' "
    "ORDER BY created_at",
    "INSERT INTO workspaces (user_id, name) VALUES ('a0000000-0000-4000-8000-000000000001', 'W')",
    "DELETE FROM workspaces WHERE name = 'W'",
]


class Shape:
    def __init__(self, name, is_owner=False):
        self.name = name
        self.script = f"{LEGACY}/shapes/{name}.sql"
        with open(self.script, encoding="utf-8") as file:
            self.text = file.read()
        self.base = (self.values("base") or ["workspace_chat"])[0]
        refusals = self.values("expect-owner") if is_owner else []
        self.refusal = (refusals + self.values("expect") + [None])[0]
        lines = self.text.splitlines()
        #: Chirrup's tables stand in this schema; all others of search_path are the application's.
        self.schema = (self.values("schema") or [None])[0]
        #: The workspace into which the LINE back end is imported.
        self.importing = (self.values("import") or [None])[0]
        headers = r"-- (base|expect|expect-owner|old|schema|import): "
        self.title = next(
            (line[3:] for line in lines if line.startswith("-- ") and not re.match(headers, line)), name
        ).split(". ")[0].split(": ")[0].rstrip(".:")
        everyday = ["SELECT * FROM messages, intents LIMIT 1"] if name.startswith("line_") else EVERYDAY
        self.old = self.values("old") + everyday

    def values(self, key):
        return re.findall(rf"^-- {key}: (.*)$", self.text, re.MULTILINE)


class World:
    """One PostgreSQL, and the binary that is tested."""

    def __init__(self, server, chirrup, is_owner):
        self.server = server
        self.chirrup = chirrup
        self.is_owner = is_owner
        self.folder = tempfile.mkdtemp(prefix="shapes", dir=server)
        self.creating = threading.Lock()
        #: The schema of Chirrup by shape, where it is not the application's.
        self.schemas = {}

    def url(self, database, role=None, host=None):
        role = role or (self.role(database) if self.is_owner else "chirrup")
        return f"postgresql://{role}@/{database}?host={host or self.server}"

    def chirrup_url(self, database, host=None):
        schema = self.schemas.get(database.split("__")[0])
        path = f"&options=-csearch_path%3D{schema},public" if schema else ""
        return self.url(database, host=host) + path

    def role(self, database):
        return "owner_" + database.split("__")[0]

    def psql(self, database, *options, script=None, role="chirrup"):
        ended = subprocess.run(
            ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", *options, self.url(database, role)],
            input=script, capture_output=True, text=True, timeout=PATIENCE)
        if ended.returncode:
            raise RuntimeError(ended.stderr.strip()[-600:])
        return ended.stdout.strip()

    def load(self, shape):
        role = self.role(shape.name)
        with self.creating:
            if self.is_owner:
                self.psql("postgres", script=f"CREATE ROLE {role} LOGIN SUPERUSER;")
                self.psql("postgres", script=f"CREATE DATABASE {shape.name} OWNER {role};")
            else:
                self.psql("postgres", script=f"CREATE DATABASE {shape.name};")
        user = role if self.is_owner else "chirrup"
        self.psql(shape.name, "-v", f"rows={ROWS}", "-f", f"{LEGACY}/{shape.base}.sql", role=user)
        with self.creating:  # Shapes create the same roles.
            self.psql(shape.name, "-f", shape.script, role=user)
            if self.is_owner:
                self.psql("postgres", script=f"ALTER ROLE {role} NOSUPERUSER; GRANT chirrup_reader, chirrup_gateway TO {role};")
                # Supabase's role postgres is no superuser, and a member of its three.
                for name in self.psql("postgres", script="""SELECT rolname FROM pg_roles
                  WHERE rolname IN ('anon', 'authenticated', 'service_role', 'shapes_app');""").split():
                    self.psql("postgres", script=f"GRANT {name} TO {role};")
        if shape.schema:
            self.schemas[shape.name] = shape.schema
            self.psql(shape.name, script=f"CREATE SCHEMA {shape.schema};", role=user)

    def copy(self, database, name):
        owner = f" OWNER {self.role(database)}" if self.is_owner else ""
        for attempt in range(100):
            try:
                with self.creating:
                    self.psql("postgres", script=f"CREATE DATABASE {name} TEMPLATE {database}{owner};")
                return name
            except RuntimeError as error:
                # The backend of a client that was killed may still be ending.
                if attempt == 99 or "being accessed" not in str(error):
                    raise
                time.sleep(0.1)

    def drop(self, *names):
        for name in names:
            self.psql("postgres", script=f"DROP DATABASE IF EXISTS {name} WITH (FORCE);")

    def migrate(self, database, *arguments, host=None):
        return self.command(database, "migrate", *arguments, host=host)

    def command(self, database, *arguments, host=None):
        ended = subprocess.run(
            [self.chirrup, *arguments, "--database-url", self.chirrup_url(database, host)],
            capture_output=True, text=True, timeout=PATIENCE, cwd=self.folder)
        return ended.returncode, ended.stdout + ended.stderr

    def dump(self, database, option):
        text = subprocess.run(
            ["pg_dump", option, self.url(database, "chirrup")], capture_output=True, text=True, check=True,
            timeout=PATIENCE).stdout
        # A sequence goes on after a statement that was rolled back.
        lines = [line for line in text.split("\n") if not re.match(r"\\(un)?restrict|SELECT pg_catalog\.setval", line)]
        return "\n".join(lines if option == "--schema-only" else sorted(lines))

    def dumps(self, database):
        return self.dump(database, "--schema-only"), self.dump(database, "--data-only")

    def state(self, database):
        """The schema, and everything in the tables that does not depend on the time or on random keys."""
        schema = self.schemas.get(database.split("__")[0], "public")
        script = f"SET search_path = {schema}, public;" + """
          SELECT format('SELECT %L, count(*) FROM %s', c.oid::regclass, c.oid::regclass) FROM pg_class c
          JOIN pg_namespace n ON n.oid = relnamespace
          WHERE relkind = 'r' AND nspname NOT IN ('pg_catalog', 'information_schema') ORDER BY c.oid::regclass::text
          \\gexec
          SELECT format($$SELECT md5(string_agg(concat_ws('|', id, seq, role, kind, content, payload, content_hash,
            created_at), '/' ORDER BY id)) FROM chats$$) WHERE to_regclass('chats') IS NOT NULL \\gexec
          SELECT format($$SELECT workspace_id, title, status, channel, last_seq, message_count, last_message_preview,
            last_message_at FROM chat_sessions ORDER BY workspace_id, last_seq, title, last_message_at$$)
          WHERE to_regclass('chat_sessions') IS NOT NULL \\gexec
          SELECT revision, checksum, parent FROM chirrup_migrations ORDER BY revision;
          SELECT relation, kind, name, definition FROM chirrup_adoptions ORDER BY 1, 2, 3;
          """
        return self.dump(database, "--schema-only"), self.psql(database, script=script)

    def through_gate(self, database, gate, *arguments):
        """Runs a migration through a proxy; kills it at the gate. Returns its exit code, None if it was killed."""
        folder = tempfile.mkdtemp(prefix="p", dir=self.folder)
        proxy = Proxy(folder, self.server, gate)
        try:
            process = subprocess.Popen(
                [self.chirrup, "migrate", *arguments, "--database-url", self.chirrup_url(database, folder)],
                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            deadline = time.monotonic() + PATIENCE
            while process.poll() is None and not gate.reached.wait(0.01):
                if time.monotonic() > deadline:
                    process.kill()
                    raise RuntimeError(f"{arguments} takes longer than {PATIENCE} s")
            if process.poll() is not None:
                return process.returncode
            process.send_signal(signal.SIGKILL)
            process.wait()
            return None
        finally:
            proxy.close()


def moments(commits, count):
    """`count` of the commits, spread evenly, alternately after and before it."""
    return [(1 + round((commits - 1) * (k + 0.5) / count), k % 2 == 1) for k in range(count)]


class Trial:
    """One shape, from plan to the last kill."""

    def __init__(self, world, shape, kills, is_every):
        self.world, self.shape, self.kills, self.is_every = world, shape, kills, is_every
        self.row, self.faults = {}, []

    def note(self, column, is_good, word, reason=""):
        self.row[column] = word if is_good else "FAILS"
        if not is_good:
            self.faults.append(f"{self.shape.name}: {column}: {reason.strip()[-700:]}")

    def run(self):
        world, shape, name = self.world, self.shape, self.shape.name
        try:
            world.load(shape)
            world.copy(name, name + "__pure")
            self.before = world.dumps(name)
            old = world.folder + f"/{name}.sql"
            with open(old, "w", encoding="utf-8") as file:
                file.write(";\n".join(shape.old) + ";\n")
            code, text = world.migrate(name, "plan")
            refused = shape.refusal is not None
            self.note("plan", code == (1 if refused else 2) and (not refused or shape.refusal in text),
                      "refused" if refused else "adopted", f"exit {code}: {text}")
            code, text = world.migrate(name, "plan", "--rehearse", "--statements", old)
            self.note("rehearse", code == (1 if refused else 2), "refused" if refused else "yes", f"exit {code}: {text}")
            code, text = world.migrate(name, "up")
            self.note("up", code == (1 if refused else 0), "refused" if refused else "yes", f"exit {code}: {text}")
            if not refused and code == 0:
                self.adopted()
            self.equal("dump equal", name)
            if not refused and not self.faults:
                self.killed()
        except (RuntimeError, subprocess.SubprocessError) as error:
            self.faults.append(f"{name}: {error}")
        finally:
            world.drop(name, name + "__pure", name + "__up")
        return self

    def equal(self, column, database, word="yes"):
        after = self.world.dumps(database)
        for a, b in zip(self.before, after):
            if a != b:
                a, b = set(a.split("\n")), set(b.split("\n"))
                return self.note(column, False, "", f"lost {sorted(a - b)[:5]}, added {sorted(b - a)[:5]}")
        self.note(column, True, word)
        return None

    def adopted(self):
        world, name = self.world, self.shape.name
        try:
            world.psql(name, script="BEGIN;\n" + ";\n".join(self.shape.old) + ";\nROLLBACK;",
                       role=world.role(name) if world.is_owner else "chirrup")
            self.note("old application", True, "yes")
        except RuntimeError as error:
            self.note("old application", False, "", str(error))
        code, text = world.migrate(name, "verify")
        self.note("verify", code == 0, "yes", text)
        world.copy(name, name + "__up")
        self.state = world.state(name)
        if self.shape.importing:
            self.imported(self.shape.importing)
        code, text = world.migrate(name, "down", "--to", "none", "--yes")
        self.note("down", code == 0, "yes", text)

    def imported(self, workspace):
        for arguments in (
            ("workspace", "create", workspace), ("import", "line-oa", "--workspace", workspace, "--yes"),
            ("migrate", "verify"),
        ):
            code, text = self.world.command(self.shape.name, *arguments)
            if code:
                self.faults.append(f"{self.shape.name}: {' '.join(arguments)}: {text}")
        messages = "SELECT count(*) FROM {}"
        script = f"{messages.format('public.messages')}; {messages.format(self.world.schemas[self.shape.name] + '.chats')};"
        there, here = self.world.psql(self.shape.name, script=script).split()
        if there != here:
            self.faults.append(f"{self.shape.name}: {here} of {there} messages are imported")

    def killed(self):
        for column, source, arguments, check in [
            ("killed", "__pure", ["up"], self.after_up),
            ("down killed", "__up", ["down", "--to", "none", "--yes"], self.after_down),
        ]:
            if not self.kills and not self.is_every:
                continue
            name = self.shape.name
            count = Gate()
            trial = self.world.copy(name + source, name + "__trial")
            code = self.world.through_gate(trial, count, *arguments)
            self.world.drop(trial)
            if code != 0:
                return self.note(column, False, "", f"not killed, it ends with {code}")
            chosen = moments(count.commits, self.kills)
            if self.is_every:
                chosen = [(n, before) for n in range(1, count.commits + 1) for before in (True, False)]
            for number, before in chosen:
                place = f"{'before' if before else 'after'} commit {number} of {count.commits}"
                trial = self.world.copy(name + source, name + "__trial")
                code = self.world.through_gate(trial, Gate(number, before), *arguments)
                if code is not None:
                    self.note(column, False, "", f"{place}: ended with {code} before the kill")
                else:
                    check(column, trial, place)
                self.world.drop(trial, name + "__trial2")
                if self.row[column] == "FAILS":
                    break
            else:
                self.row[column] = f"{len(chosen)} of {len(chosen)}"
        return None

    def after_up(self, column, trial, place):
        world = self.world
        world.copy(trial, self.shape.name + "__trial2")
        code, text = world.migrate(trial, "up")
        if code:
            return self.note(column, False, "", f"{place}: up again: {text}")
        state = world.state(trial)
        if state != self.state:
            lines = [set(part.split("\n")) for part in ("\n".join(state), "\n".join(self.state))]
            return self.note(column, False, "", f"{place}: {lines[0] ^ lines[1]}")
        return self.after_down(column, self.shape.name + "__trial2", place)

    def after_down(self, column, trial, place):
        code, text = self.world.migrate(trial, "down", "--to", "none", "--yes")
        if code:
            return self.note(column, False, "", f"{place}: down: {text}")
        self.equal(column, trial)
        if self.row[column] == "FAILS":
            self.faults[-1] += f" ({place}, then down)"
        return None


def table(trials):
    rows = [["database", *COLUMNS]] + [
        [f"{t.shape.title} (`{t.shape.name}`)", *(t.row.get(c, "–") for c in COLUMNS)] for t in trials]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--chirrup", required=True)
    parser.add_argument("--shape", action="append")
    parser.add_argument("--owner", action="store_true")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--record")
    options = parser.parse_args()
    world = World(options.server, options.chirrup, options.owner)
    if options.owner:
        # As config/DATABASE.md asks of a superuser, where the owner may create no roles.
        world.psql("postgres", script="CREATE ROLE chirrup_reader NOLOGIN; "
                                      "CREATE ROLE chirrup_gateway NOLOGIN NOINHERIT IN ROLE chirrup_reader;")
    names = options.shape or sorted(f[:-4] for f in os.listdir(LEGACY + "/shapes") if f.endswith(".sql"))
    trials = [Trial(world, Shape(name, options.owner), options.kills, options.every) for name in names]
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        # The role chirrup_reader belongs to the whole server: a rehearsal that makes it holds up all others.
        first = trials[0].run()
        for trial in itertools.chain([first], pool.map(Trial.run, trials[1:])):
            words = ", ".join(f"{c}: {trial.row[c]}" for c in COLUMNS if c in trial.row)
            print(f"{'FAIL' if trial.faults else 'PASS'}  {trial.shape.name}: {words}", flush=True)
            for fault in trial.faults:
                print(f"      {fault}", flush=True)
    print(f"{len(trials)} databases within {time.monotonic() - began:.0f} s")
    if options.record:
        with open(options.record, encoding="utf-8") as file:
            head, _, tail = re.split(r"(<!-- shapes:.*?-->\n.*?<!-- end -->\n)", file.read(), flags=re.DOTALL)
        mark = "<!-- shapes: written by Tests/EndToEnd/shapes.sh --record -->\n\n"
        with open(options.record, "w", encoding="utf-8") as file:
            file.write(head + mark + table(trials) + "\n<!-- end -->\n" + tail)
    return 1 if any(trial.faults for trial in trials) else 0


if __name__ == "__main__":
    sys.exit(main())
