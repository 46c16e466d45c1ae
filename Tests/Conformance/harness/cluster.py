"""A private PostgreSQL that all gateways of a run share, so that rows can look into the tables."""

import glob
import os
import pwd
import signal
import subprocess
import time


class Cluster:
    """initdb and postgres refuse root, so under root they run as the account postgres."""

    def __init__(self, folder):
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb") + glob.glob("/usr/local/pgsql/bin/initdb"))
        if not found:
            raise SystemExit("PostgreSQL is not installed")
        self.programs = os.path.dirname(found[-1])
        self.folder = os.path.join(folder, "postgres")
        os.mkdir(self.folder)
        self.account = {}
        if os.getuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
            self.account = dict(user=owner.pw_uid, group=owner.pw_gid, extra_groups=[])
        self.process = None
        #: The login of gateways.
        self.login = "chirrup"

    def _run(self, program, *arguments):
        done = subprocess.run([os.path.join(self.programs, program), *arguments], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **self.account)
        if done.returncode:
            raise SystemExit(f"{program} failed: {done.stdout.decode(errors='replace')[-500:]}")

    def start(self):
        self._run("initdb", "--no-sync", "--encoding", "UTF8", "--locale", "C.UTF-8", "--auth", "trust",
                  "--username", "chirrup", "--pgdata", os.path.join(self.folder, "data"))
        self.launch()

    def launch(self, *wrapper):
        """Starts the server, as arguments of another program if one is given."""
        log = open(os.path.join(self.folder, "server.log"), "ab")
        self.process = subprocess.Popen(
            [*wrapper, os.path.join(self.programs, "postgres"), "-D", os.path.join(self.folder, "data"),
             "-k", self.folder, "-c", "listen_addresses=", "-c", "max_connections=200", "-c", "fsync=off"],
            cwd=self.folder, stdout=log, stderr=log, start_new_session=True, **self.account)
        for _ in range(1200):
            try:
                self.query("SELECT 1")
                return
            except RuntimeError:
                time.sleep(0.1)
        raise SystemExit("PostgreSQL does not start")

    def url(self, database):
        return f"postgresql://{self.login}@/{database}?host={self.folder}"

    def query(self, statement, database="postgres"):
        """Returns the rows as lists of strings."""
        done = subprocess.run(
            [os.path.join(self.programs, "psql"), "--no-psqlrc", "--quiet", "--tuples-only", "--no-align",
             "--field-separator", "\x1f", "--record-separator", "\x1e", "--host", self.folder,
             "--username", "chirrup", "--dbname", database, "--file", "-"],
            input=statement.encode(), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            # A warning is no failure: a backend that is to be terminated may just have ended by itself.
            env=os.environ | {"PGOPTIONS": "-c client_min_messages=error"})
        if done.returncode or done.stderr:
            raise RuntimeError(done.stderr.decode(errors="replace"))
        text = done.stdout.decode()
        text = text[:-1] if text.endswith("\n") else text
        return [line.split("\x1f") for line in text.split("\x1e") if line]

    def value(self, statement, database="postgres"):
        rows = self.query(statement, database)
        return rows[0][0] if rows else None

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait(120)
