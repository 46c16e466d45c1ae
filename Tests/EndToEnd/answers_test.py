"""Automatic answers: when there is one, what it is based on, its limits, and its end by an operator or kill -9.

Started by answers.sh.
"""

import argparse
import contextlib
import json
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid

from assist_endpoint import KEY, MODEL, Endpoint
from outbox_world import Gateway, wait_for
from websockets.sync.client import connect

SETTINGS = "/api/v1/admin/assist"
NOTICE = "A machine wrote this."
ANSWER = f"It left Rotterdam today.\n\n{NOTICE}"
#: The time in which an answer would come that must not come: the sweep is of one second.
QUIET = 4  # s


class Visitor:
    def __init__(self, run: "Answers") -> None:
        self.run = run
        self.token = run.request("POST", "/api/v1/widget/token", {"workspace": run.key}, token=None)
        self.session = self.token["session"]

    @contextlib.contextmanager
    def socket(self):
        url = self.run.gateway.base.replace("http", "ws", 1) + "/api/v1/ws"
        with connect(url, subprotocols=["chirrup.v1"]) as socket:
            socket.send(json.dumps({"type": "hello", "ref": 1, "token": self.token["token"],
                                    "subscribe": [{"session": self.session, "tail": 1}]}))
            yield socket

    def say(self, body: str, payload: dict | None = None) -> str:
        """Sends a message; returns its id when it is acknowledged."""
        own = str(uuid.uuid4())
        with self.socket() as socket:
            send = {"type": "send", "ref": 2, "session": self.session, "id": own, "body": body}
            socket.send(json.dumps({**send, **({"payload": payload} if payload else {})}))
            self.frame(socket, lambda frame: frame["type"] == "ack")
        return own

    def frame(self, socket, wanted):
        while True:
            for line in socket.recv(timeout=60).splitlines():
                frame = json.loads(line)
                if frame["type"] == "error":
                    raise AssertionError(line)
                if wanted(frame):
                    return frame

    @property
    def answers(self) -> list[str]:
        return self.run.rows("SELECT content FROM chats WHERE session_id = %s AND role = 'bot' ORDER BY seq", self.session)

    def pending(self) -> bool:
        return bool(self.run.rows("SELECT 1 FROM assist_answers WHERE session_id = %s AND due_at IS NOT NULL", self.session))

    def settled(self) -> None:
        """Waits until the bot has looked at the last message, and no answer is being written."""
        wait_for("the bot looks at the message", lambda: self.run.rows(
            "SELECT 1 FROM bot_progress p JOIN chat_sessions s ON s.id = p.session_id WHERE s.id = %s AND answered_seq >="
            " (SELECT max(seq) FROM chats c WHERE c.session_id = s.id AND role = 'visitor')", self.session))
        wait_for("the answer is sent or given up", lambda: not self.pending())


class Answers:
    def __init__(self, options) -> None:
        self.options = options
        self.failed = False
        self.gateway = Gateway(options, patience=240)
        self.endpoint = Endpoint()

    def promise(self, words: str, holds=True) -> None:
        print(f"  {'ok  ' if holds else 'FAIL'}  {words}", flush=True)
        self.failed = self.failed or not holds

    def rows(self, statement: str, *values) -> list[str]:
        """The first column; `%s` stands for a value."""
        query = statement % tuple(f"'{value}'" for value in values) if values else statement
        answer = subprocess.run([self.options.psql, "--dbname", self.options.database, "-XqAt0c", query],
                                capture_output=True, text=True, check=True)
        return answer.stdout.split("\0")[:-1]

    do = rows

    def request(self, method: str, path: str, body=None, token="own", expected=(200, 201, 204)):
        headers = {"Content-Type": "application/json"}
        if token:
            headers["Authorization"] = f"Bearer {self.login if token == 'own' else token}"
        request = urllib.request.Request(self.gateway.base + path, method=method, headers=headers,
                                         data=None if body is None else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        if status not in expected:
            raise AssertionError(f"{method} {path}: HTTP {status} {text}")
        return json.loads(text) if text else None

    def set_assist(self, **changes) -> None:
        self.request("PUT", SETTINGS, {
            "enabled": True, "uses": [], "endpoint": self.endpoint.base, "model": MODEL, "api_key": KEY,
            "tokens_per_day": 10_000_000, "tokens_per_month": 100_000_000, "timeout_seconds": 30,
            "automatic": "conversations", "automatic_notice": NOTICE, **changes})
        # The bot reads its rules, and loops learn which workspaces have a bot, within some seconds.
        time.sleep(5)

    def run(self) -> None:
        self.gateway.start()
        self.log_in()
        self.sources()
        for part in (self.off, self.answered, self.unknown, self.attended, self.claimed, self.killed, self.limits):
            if not self.options.only or part.__name__ in self.options.only.split(","):
                part()

    def log_in(self) -> None:
        demo = urllib.request.urlopen(f"{self.gateway.base}/demo").read().decode()
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)
        made = subprocess.run(
            [self.options.chirrup, "token", "operator", "--workspace", "demo", "--database-url", self.options.database],
            capture_output=True, text=True, check=True)
        self.login = json.loads(made.stdout)["token"]

    def sources(self) -> None:
        [workspace] = self.rows("SELECT id FROM workspaces")
        self.workspace = workspace
        self.do("INSERT INTO reply_objects (workspace_id, object_id, object_type, payload)"
                " VALUES (%s, 'parcel', 'text', '{\"text\": \"bicycle parcel: two days\"}')", workspace)
        [session] = self.rows("INSERT INTO chat_sessions (workspace_id, status, closed_at, last_seq)"
                              " VALUES (%s, 'closed', now(), 2) RETURNING id", workspace)
        for seq, role, text in ((1, "visitor", "Where is the bicycle parcel?"), (2, "operator", "In Utrecht.")):
            self.do("INSERT INTO chats (workspace_id, session_id, seq, id, role, content, content_hash)"
                    " VALUES (%s, %s, %s, gen_random_uuid(), %s, %s, '')", workspace, session, seq, role, text)
        self.do("INSERT INTO system_settings (workspace_id, key, value) VALUES"
                " (%s, 'away_message', '{\"enabled\":true,\"text\":\"Nobody is here\"}')", workspace)

    # The parts

    def off(self) -> None:
        visitor = Visitor(self)
        visitor.say("Where is my bicycle parcel?")
        visitor.settled()
        time.sleep(QUIET)
        self.promise("without the setting there is only the away message, and no connection to an endpoint",
                     visitor.answers == ["Nobody is here"] and not self.endpoint.connections)

    def answered(self) -> None:
        self.set_assist()
        visitor = Visitor(self)
        with visitor.socket() as socket:
            visitor.say("Where is my bicycle parcel?")
            frame = visitor.frame(socket, lambda it: "Rotterdam" in it.get("body", ""))
        self.promise("the answer comes over the visitor's socket, from the bot, and says that it is automatic",
                     frame["body"] == ANSWER and frame["sender"]["kind"] == "bot" and frame["payload"]["automatic"] is True)
        prompt = self.endpoint.requests[-1].prompt
        self.promise("it is based on canned replies and closed conversations",
                     all(it in prompt for it in ("bicycle parcel: two days", "Operator: In Utrecht.", "NO_ANSWER")))
        self.promise("the away message comes too", visitor.answers == ["Nobody is here", ANSWER])
        count = len(self.endpoint.requests)
        self.endpoint.order(text="Two days.")
        visitor.say("How long does the parcel take?")
        wait_for("a second answer", lambda: len(visitor.answers) == 3)
        time.sleep(QUIET)
        self.promise("each message gets one answer", len(visitor.answers) == 3 and len(self.endpoint.requests) == count + 1)
        self.set_assist(automatic="replies")
        visitor = Visitor(self)
        visitor.say("Where is my bicycle parcel?")
        wait_for("an answer", lambda: ANSWER in visitor.answers)
        self.promise("with canned replies only, no closed conversation is sent",
                     "two days" in self.endpoint.requests[-1].prompt and "Utrecht" not in self.endpoint.requests[-1].prompt)
        self.set_assist()

    def unknown(self) -> None:
        visitor = Visitor(self)
        count = len(self.endpoint.requests)
        visitor.say("Zebra?")
        visitor.settled()
        self.promise("without a source the endpoint is not called, and the away message stays",
                     len(self.endpoint.requests) == count and visitor.answers == ["Nobody is here"])
        for words, order in (("an answer that the model does not know", {"text": "NO_ANSWER"}),
                             ("a fault of the endpoint", {"status": 500}), ("a cut answer", {"cut_after": 2}),
                             ("an answer that is too long", {"text": "y" * 16_384})):
            self.endpoint.order(**order)
            visitor.say("And the parcel?")
            visitor.settled()
            self.promise(f"{words} is not sent", visitor.answers == ["Nobody is here"])
        visitor.say("An operator for my parcel, please", {"handover": True})
        wait_for("a handover", lambda: self.rows(
            "SELECT 1 FROM bot_progress WHERE session_id = %s AND handed_over_at IS NOT NULL", visitor.session))
        count = len(self.endpoint.requests)
        visitor.say("parcel!")
        time.sleep(QUIET)
        self.promise("after a handover to people there is no answer", len(self.endpoint.requests) == count)

    def attended(self) -> None:
        [operator] = self.rows("SELECT operator_id FROM memberships WHERE workspace_id = %s LIMIT 1", self.workspace)
        self.do("INSERT INTO operator_presence (workspace_id, operator_id, seen_at)"
                " VALUES (%s, %s, now() + interval '1 hour')", self.workspace, operator)
        self.do("UPDATE system_settings SET value = replace(value, 'true', 'false') WHERE key = 'away_message'")
        count = len(self.endpoint.requests)
        visitor = Visitor(self)
        visitor.say("Where is my bicycle parcel?")
        visitor.settled()
        self.promise("while an operator is available there is no answer",
                     not visitor.answers and len(self.endpoint.requests) == count)
        self.do("DELETE FROM operator_presence")

    def claimed(self) -> None:
        visitor = Visitor(self)
        count = len(self.endpoint.requests)
        self.endpoint.order(delay=3)
        visitor.say("Where is my bicycle parcel?")
        wait_for("a request", lambda: len(self.endpoint.requests) > count)
        self.request("POST", f"/api/v1/admin/live-chat/conversations/{visitor.session}/claim")
        wait_for("its end", lambda: self.endpoint.requests[-1].ended.is_set())
        wait_for("it is given up", lambda: not visitor.pending())
        self.promise("a claim during the request wins: nothing is sent", ANSWER not in visitor.answers)
        self.do("DELETE FROM operator_presence")

    def killed(self) -> None:
        visitor = Visitor(self)
        count = len(self.endpoint.requests)
        self.endpoint.order(delay=20)
        visitor.say("Where is my bicycle parcel?")
        wait_for("a request", lambda: len(self.endpoint.requests) > count)
        self.gateway.kill()
        self.gateway.start()
        time.sleep(QUIET)
        self.promise("after kill -9 the lease holds", len(self.endpoint.requests) == count + 1 and visitor.pending())
        self.do("UPDATE assist_answers SET due_at = now() WHERE session_id = %s", visitor.session)
        wait_for("an answer", lambda: ANSWER in visitor.answers)
        # Killed between the answer and whatever follows it, again and again.
        for _ in range(3):
            self.do("UPDATE assist_answers SET due_at = now() WHERE due_at IS NOT NULL")
            self.gateway.kill()
            self.gateway.start()
        time.sleep(QUIET)
        self.promise("then it is sent once", visitor.answers.count(ANSWER) == 1 and not visitor.pending())

    def limits(self) -> None:
        visitor = Visitor(self)
        self.do("DELETE FROM assist_answer_hours")
        for number in range(12):
            visitor.say(f"Where is parcel {number}?")
            visitor.settled()
        answers = [it for it in visitor.answers if NOTICE in it]
        self.promise(f"a conversation gets ten: {len(answers)}", len(answers) == 10)
        self.set_assist(tokens_per_day=1)
        visitor = Visitor(self)
        count = len(self.endpoint.requests)
        visitor.say("Where is my bicycle parcel?")
        visitor.settled()
        self.promise("with the tokens of the day spent there is none, and no request",
                     not visitor.answers and len(self.endpoint.requests) == count)
        metrics = urllib.request.urlopen(f"{self.gateway.base}/metrics").read().decode()
        done = int(re.search(r'chirrup_assist_runs_total\{kind="automatic",outcome="done"\} (\d+)', metrics).group(1))
        tokens = int(re.search(r'chirrup_assist_tokens_total\{kind="automatic"\} (\d+)', metrics).group(1))
        first = int(re.search(r"chirrup_assist_first_text_seconds_count (\d+)", metrics).group(1))
        self.promise(f"the metrics count runs, tokens and first texts: {done}, {tokens}, {first}",
                     done >= 10 and tokens > 0 and first >= done)


def main() -> int:
    parser = argparse.ArgumentParser()
    for name in ("chirrup", "database", "port", "folder", "psql"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--only", default="")
    run = Answers(parser.parse_args())
    try:
        run.run()
    finally:
        run.gateway.stop()
        run.endpoint.close()
    return 1 if run.failed else 0


if __name__ == "__main__":
    sys.exit(main())
