"""What the tests of channels such as LINE have in common: the gateway, what it stores, and the parts of a run."""

import argparse
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request

ADMIN = "/api/v1/admin"
CONVERSATIONS = ADMIN + "/live-chat/conversations"
PUBLIC_URL = "https://chat.example.test"
LIMIT = 60  # s; of waiting for what must come


class Failure(Exception):
    pass


class ChannelRun:
    """A test of one channel. It defines `make_platform`, `conversations` of a person, and `run`."""

    def __init__(self, options) -> None:
        self.options = options
        self.pid = options.gateway
        self.process: subprocess.Popen | None = None
        self.faults = 0
        self.bearer = json.loads(options.operator_token)["token"]
        self.make_platform()

    # Helpers

    def promise(self, name: str, holds: bool = True) -> None:
        print("PASS " if holds else "FAIL ", name, flush=True)
        if not holds:
            raise Failure(name)

    def request(self, method: str, path: str, body=None, expected=(200, 201, 204)):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.options.base_url + path, data, method=method, headers={
            "Authorization": f"Bearer {self.bearer}", "Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as refusal:
            status, text = refusal.code, refusal.read()
        if status not in expected:
            raise Failure(f"{method} {path}: HTTP {status} {text.decode()}")
        return json.loads(text) if text else {}

    def sql(self, statement: str) -> str:
        done = subprocess.run([self.options.psql, "-AtXqc", statement, self.options.database], check=True,
                              capture_output=True, text=True)
        return done.stdout.strip()

    def until(self, what, holds, limit=LIMIT) -> None:
        end = time.monotonic() + limit
        while not holds():
            if time.monotonic() > end:
                self.promise(f"never: {what() if callable(what) else what}", False)
            time.sleep(0.05)

    def metric(self, name: str, url: str | None = None) -> int:
        with urllib.request.urlopen((url or self.options.base_url) + "/metrics", timeout=30) as answer:
            found = re.search(rf"^chirrup_{re.escape(name)} (\d+)", answer.read().decode(), re.MULTILINE)
        return int(found.group(1)) if found else -1

    def messages(self, session: str) -> list[dict]:
        found: list[dict] = []
        while True:
            page = self.request("GET", f"{CONVERSATIONS}/{session}/messages?after={found[-1]['seq'] if found else 0}")
            found += page["messages"]
            if not page["more"]:
                return [it for it in found if it["kind"] != "event"]

    def inbound(self, session: str) -> list[str]:
        return [it["body"] for it in self.messages(session) if it["sender"]["kind"] == "visitor"]

    def answer(self, session: str, body: str, **more) -> str:
        return self.request("POST", f"{CONVERSATIONS}/{session}/messages", {"body": body, **more})["id"]

    def delivery(self, message: str) -> str:
        return self.sql("SELECT concat_ws('|', status, reason) FROM channel_deliveries "
                        f"WHERE message_id = '{message}'")

    # The gateway

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        if self.process:
            self.process.wait()
        self.until("the gateway is gone", lambda: not self.is_ready())

    def is_ready(self, url: str | None = None) -> bool:
        try:
            with urllib.request.urlopen((url or self.options.base_url) + "/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def start(self) -> None:
        with open(self.options.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.options.chirrup, "serve", "--demo", "--listen", self.options.listen, "--database-url",
                 self.options.database], stdout=log, stderr=log)
        self.pid = self.process.pid
        self.until("the gateway is ready", self.is_ready)

    def run_parts(self, names) -> None:
        for name in names:
            try:
                getattr(self, name)()
            except Failure as failure:
                # The other parts do not depend on it.
                self.faults += 1
                print("FAIL ", f"{name}: {failure}", flush=True)


def main(kind, *more: str) -> int:
    """Runs a test with the arguments of its .sh; `more` are those of this test alone."""
    parser = argparse.ArgumentParser(description=kind.__doc__)
    for name in ("base-url", "database", "psql", "operator-token", "chirrup", "listen", "log", *more):
        parser.add_argument(f"--{name}", required=True)
    for name in ("gateway", "platform-port"):
        parser.add_argument(f"--{name}", required=True, type=int)
    run = kind(parser.parse_args())
    try:
        run.run()
    finally:
        if run.process:
            run.process.kill()
    return 1 if run.faults else 0
