"""Outgoing e-mail of a gateway, as mail servers and recipients get it.

Started by mail.sh, with Exim running. Starts the gateway by itself, with one mail server after another.
"""

import argparse
import email
import email.policy
import json
import os
import re
import signal
import subprocess
import time
import urllib.error
import urllib.request
import uuid
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import Path

from mail_server import Server
from websockets.sync.client import connect

ADMIN = "/api/v1/admin"
TALK = ADMIN + "/live-chat/conversations"
LIMIT = 60  # s; of waiting for what must come
HOSTILE = "Zoë \"Z\" <eve@example.net>\r\nBcc: eve@example.net 林🚲"


class Failure(Exception):
    pass


def parse(content: bytes):
    """A message; Python finds no defect in it, and each line is as long as RFC 5322 allows."""
    message = email.message_from_bytes(content, policy=email.policy.default)
    for part in message.walk():
        if part.defects:
            raise Failure(f"defects: {part.defects}")
    for name, value in message.items():
        if value.defects:
            raise Failure(f"{name} has defects: {value.defects}")
    if max(map(len, content.splitlines())) > 998:
        raise Failure("a line is too long")
    if message.get_content_type() != "multipart/alternative" or message["Auto-Submitted"] != "auto-generated":
        raise Failure("the form of the message")
    if abs(parsedate_to_datetime(message["Date"]).timestamp() - time.time()) > 600:
        raise Failure(f"the date: {message['Date']}")
    kinds = [part.get_content_type() for part in message.iter_parts()]
    if kinds != ["text/plain", "text/html"]:
        raise Failure(f"the parts: {kinds}")
    return message


def plain(message) -> str:
    return message.get_body(("plain",)).get_content()


def html(message) -> str:
    return message.get_body(("html",)).get_content()


def recipient(message) -> str:
    return message["To"].addresses[0].addr_spec


class Visitor:
    def __init__(self, run: "Mail", name: str, address: str) -> None:
        self.run = run
        made = run.ask("POST", "/api/v1/widget/token", {"workspace": run.key, "context": {
            "page": "https://shop.example/cart?a=1&b=2", "title": "Cart"}})
        self.token, self.session = made["token"], made["session"]
        run.ask("PUT", "/api/v1/widget/profile", {"name": name, "email": address}, token=self.token)
        self.address = address
        self.talk("send", body="Do you have HB-240 freehubs?", id=str(uuid.uuid4()))

    def talk(self, kind: str, **members) -> None:
        with connect(self.run.base.replace("http", "ws", 1) + "/api/v1/ws", subprotocols=["chirrup.v1"]) as socket:
            socket.send(json.dumps({"type": "hello", "ref": 1, "token": self.token,
                                    "subscribe": [{"session": self.session, "tail": 50}]}))
            socket.send(json.dumps({"type": kind, "ref": 2, "session": self.session, **members}))
            if kind == "read":  # has no answer of its own
                self.run.until("the mark", lambda: self.run.sql(
                    f"SELECT 1 FROM read_marks WHERE session_id = '{self.session}' AND role = 'visitor'"
                    f" AND read_seq >= {members['seq']}"))
                return
            while True:
                for line in socket.recv(timeout=30).splitlines():
                    frame = json.loads(line)
                    if frame["type"] == "error":
                        raise Failure(f"refused: {line}")
                    if frame["type"] == "ack":
                        return

    def answer(self, body: str) -> int:
        sent = self.run.ask("POST", f"{TALK}/{self.session}/messages", {"id": str(uuid.uuid4()), "body": body})
        return sent.get("seq") or sent["message"]["seq"]


class Mail:
    def __init__(self, options) -> None:
        self.options = options
        self.base = f"http://127.0.0.1:{options.port}"
        self.gateway = None
        self.known = set()
        self.failures = 0

    # Requests

    def fetch(self, method: str, path: str, body=None, token="", form=None, headers=None):
        """Status and body."""
        data, sent = None, dict(headers or {})
        if body is not None:
            data, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        if form is not None:
            data, sent["Content-Type"] = form.encode(), "application/x-www-form-urlencoded"
        if token is not None:
            sent["Authorization"] = f"Bearer {token or self.operator_token}"
        url = path if path.startswith("http") else self.base + path
        try:
            with urllib.request.urlopen(urllib.request.Request(url, data, sent, method=method), timeout=30) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def ask(self, method: str, path: str, body=None, token=""):
        status, text = self.fetch(method, path, body, token)
        if status >= 300:
            raise Failure(f"{method} {path}: {status} {text}")
        return json.loads(text) if text else {}

    def sql(self, statement: str) -> str:
        return subprocess.run([self.options.psql, "-XAtc", statement, self.options.database], check=True,
                              capture_output=True, text=True).stdout.strip()

    def settings(self, **members) -> None:
        values = {"answers_after_seconds": 1, "sender_name": "Tidewater Cycles", **members}
        self.ask("PATCH", ADMIN + "/settings", {"settings": {"mail": values}})

    # Gateway and verdicts

    def start(self, **settings) -> None:
        environment = dict(os.environ, **{f"CHIRRUP_MAIL_{name.upper()}": value for name, value in settings.items()})
        with open(self.options.log, "ab") as log:
            self.gateway = subprocess.Popen(
                [self.options.chirrup, "serve", "--demo", "--listen", f"127.0.0.1:{self.options.port}",
                 "--database-url", self.options.database], stdout=log, stderr=log, env=environment)
        self.until("the gateway is ready", self.is_ready, seconds=120)
        token = subprocess.run(
            [self.options.chirrup, "token", "operator", "--workspace", "demo", "--database-url", self.options.database],
            check=True, capture_output=True, text=True, env=environment)
        self.operator_token = json.loads(token.stdout)["token"]
        demo = self.fetch("GET", "/demo", token=None)[1]
        self.key = re.search('data-workspace="([^"]+)"', demo).group(1)

    def is_ready(self) -> bool:
        try:
            return self.fetch("GET", "/readyz", token=None)[0] == 200
        except OSError:
            return False

    def stop(self) -> None:
        self.gateway.terminate()
        if self.gateway.wait(60) != 0:
            raise Failure(f"the gateway ends with {self.gateway.returncode}")

    def kill(self) -> None:
        self.gateway.send_signal(signal.SIGKILL)
        self.gateway.wait(30)

    def exim(self, scheme="smtp", authority="ours") -> None:
        port = self.options.submission if scheme == "smtp" else self.options.implicit
        self.start(smtp_url=f"{scheme}://localhost:{port}", user="chirrup", password_file=self.options.secret,
                   ca_file=f"{self.options.folder}/{authority}-ca.pem")

    def until(self, what: str, condition, seconds=LIMIT):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            found = condition()
            if found:
                return found
            time.sleep(0.2)
        raise Failure(f"not after {seconds} s: {what}")

    def promise(self, what: str, holds) -> None:
        print("PASS " if holds else "FAIL ", what, flush=True)
        self.failures += not holds

    def box(self) -> list:
        """Messages of the Maildir that were not returned before: (envelope's recipient, bytes)."""
        new = os.path.join(self.options.box, "new")
        names = sorted(set(os.listdir(new)) - self.known) if os.path.isdir(new) else []
        self.known.update(names)
        return [open(os.path.join(new, name), "rb").read() for name in names]

    def next_mail(self, what: str):
        return parse(self.until(what, self.box)[0])

    def state(self, session: str) -> dict:
        return self.ask("GET", f"{TALK}/{session}/mail")

    def metric(self, name: str) -> float:
        return float(re.search(rf"^chirrup_{name} (\S+)$", self.fetch("GET", "/metrics", token=None)[1], re.M).group(1))

    # Parts with Exim

    def answers(self) -> None:
        self.settings(reply_to="reply@shop.example")
        visitor = Visitor(self, "Ada", "ada@example.org")
        visitor.answer("We have two in Rotterdam.")
        last = visitor.answer("A long line: " + "größer " * 400 + "\n.\nFrom here <b>on</b>\n")
        waiting = self.state(visitor.session)
        self.promise("the conversation shows where answers go", waiting["recipient"] == "a…@example.org"
                     and waiting["after_seconds"] == 1 and not waiting["stopped"])
        message = self.next_mail("the answers")
        text = plain(message)
        self.promise("both answers are in one message, whole, as text and as HTML",
                     "We have two in Rotterdam." in text and "größer " * 400 + "\n.\nFrom here <b>on</b>\n" in text
                     and "&lt;b&gt;on&lt;/b&gt;" in html(message) and "<b>on</b>" not in html(message))
        self.promise("what was said before stands below, with a link to the page",
                     "Before that" in text and "Do you have HB-240 freehubs?" in text
                     and "https://shop.example/cart?a=1&b=2" in text and "cart?a=1&amp;b=2" in html(message))
        self.promise("sender, reply and thread", parseaddr(message["From"])[1] == "chat@gateway.example"
                     and "Tidewater Cycles" in parseaddr(message["From"])[0]
                     and message["Reply-To"] == "reply@shop.example" and recipient(message) == "ada@example.org"
                     and message["References"] == f"<conversation.{visitor.session}@gateway.example>")
        sent = self.until("the state", lambda: [m for m in self.state(visitor.session)["messages"]
                                                if m["state"] == "sent" and m["last_seq"] == last])
        row = self.sql(f"SELECT id, ciphertext IS NULL FROM mail_outbox WHERE session_id = '{visitor.session}'")
        self.promise("Message-ID is that of the row, whose content is gone", sent and row.split("|")[1] == "t"
                     and message["Message-ID"] == f"<{row.split('|')[0]}@gateway.example>")
        time.sleep(12)
        self.promise("nothing is sent twice", self.box() == [])
        visitor.talk("read", seq=visitor.answer("Seen at once."))
        time.sleep(8)
        self.promise("what the visitor has read is not sent", self.box() == [])
        self.unsubscribed(visitor, message)

    def unsubscribed(self, visitor: Visitor, message) -> None:
        url = message["List-Unsubscribe"].strip("<>")
        self.promise("the one-click header (RFC 8058)", message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
                     and url.startswith(self.base) and url in plain(message))
        self.promise("a GET shows a page and changes nothing", self.fetch("GET", url, token=None)[0] == 200
                     and self.sql("SELECT count(*) FROM mail_stops") == "0")
        forged = url[:-4] + ("AAAA" if url[-4:] != "AAAA" else "BBBB")
        self.promise("a forged link is not found", self.fetch("POST", forged, token=None, form="")[0] == 404)
        status, _ = self.fetch("POST", url, token=None, form="List-Unsubscribe=One-Click")
        visitor.answer("Nobody gets this.")
        time.sleep(8)
        self.promise("one click ends it", status == 200 and self.box() == [] and self.state(visitor.session)["stopped"])

    def hostile(self) -> None:
        visitor = Visitor(self, HOSTILE, "zoe@example.org")
        visitor.answer("We have two.")
        message = self.next_mail("the answer to a hostile name")
        self.promise("a hostile name stays a name", message["Bcc"] is None
                     and "林🚲" in message["To"].addresses[0].display_name
                     and [a.addr_spec for a in message["To"].addresses] == ["zoe@example.org"])
        odd = Visitor(self, "Odd", "ödd@example.org")
        odd.answer("No server takes this.")
        state = self.until("the state", lambda: self.state(odd.session)["messages"])
        self.promise("an address outside ASCII is refused with the reason",
                     state[0]["state"] == "failed" and state[0]["reason"] == "the address is not accepted")
        gone = Visitor(self, "Gone", "nobody-here@example.org")
        gone.answer("The mailbox is gone.")
        state = self.until("the refusal", lambda: [
            m for m in self.state(gone.session)["messages"] if m["state"] == "failed"])
        self.promise("a refusal shows the server's reason", "mailbox unavailable" in state[0]["reason"])
        self.ask("PUT", "/api/v1/widget/profile", {"name": "Gone", "email": "back@example.org"}, token=gone.token)
        self.ask("POST", f"{TALK}/{gone.session}/mail/send-again", {})
        self.promise("with another address they are sent again", recipient(self.next_mail("the answers")) ==
                     "back@example.org" and [it["state"] for it in self.state(gone.session)["messages"]] == ["sent"])
        status, text = self.fetch("POST", f"{TALK}/{gone.session}/mail/send-again", {})
        self.promise("what was sent is not", status == 409 and "no_failed_mail" in text)

    def offline(self) -> None:
        self.settings(offline_to="desk@example.org")
        self.ask("PATCH", ADMIN + "/settings", {"settings": {"offline": {"enabled": True, "text": "Write"}}})
        self.ask("POST", "/api/v1/widget/offline", {"workspace": self.key, "name": HOSTILE.replace("\r\n", " "),
                                                    "email": "kim@example.org", "message": "Call <me>."}, token=None)
        message = self.next_mail("the offline form")
        self.promise("a message of the offline form goes to the desk, and a reply to the visitor",
                     message["To"] == "desk@example.org" and message["Reply-To"] == "kim@example.org"
                     and "Call <me>." in plain(message) and "Call &lt;me&gt;." in html(message))

    def alert(self) -> None:
        self.settings(alert_to="team@example.org", alert_after_seconds=2)
        visitor = Visitor(self, "Ann", "")

        def alerts() -> list:
            return [it for it in map(parse, self.box()) if it["Subject"] == "Ann is waiting"]

        message = self.until("the alert", alerts)[0]
        self.promise("who waits for too long is told to the team, with what they said",
                     recipient(message) == "team@example.org" and "Do you have HB-240 freehubs?" in plain(message)
                     and f"/console#{visitor.session}" in plain(message))
        time.sleep(7)
        self.promise("once", alerts() == [])
        self.settings(alert_to="")  # Other visitors wait too.
        self.until("all are sent", lambda: self.sql("SELECT count(*) FROM mail_outbox WHERE state = 'pending'") == "0")
        self.box()

    def transcript(self) -> None:
        visitor = Visitor(self, "Tam", "tam@example.org")
        path = f"/api/v1/widget/sessions/{visitor.session}/transcript/mail"
        queued = self.ask("POST", path, {}, token=visitor.token)
        message = self.next_mail("the transcript")
        self.promise("a visitor gets the transcript", queued["recipient"] == "t…@example.org"
                     and "Do you have HB-240 freehubs?" in plain(message) and recipient(message) == "tam@example.org")
        statuses = [self.fetch("POST", path, {}, token=visitor.token)[0] for _ in range(3)]
        self.promise("a few times an hour", statuses == [202, 202, 429])
        other = Visitor(self, "Eve", "")
        own = path.replace(visitor.session, other.session)
        self.promise("not of another's conversation, and not without an address",
                     self.fetch("POST", path, {}, token=other.token)[0] in (403, 404)
                     and self.fetch("POST", own, {}, token=other.token)[0] == 409)
        further = []
        self.until("the further transcripts", lambda: further.extend(self.box()) or len(further) == 2)

    def passwords(self) -> None:
        self.ask("POST", ADMIN + "/members", {"email": "Mem.ber@example.org", "name": "Mem <b>", "invite": True})
        message = self.next_mail("the invitation")
        link = re.search(r"http\S+password-link/\S+", plain(message)).group(0)
        self.promise("an invitation has a link, not a password", recipient(message) == "Mem.ber@example.org")
        status, page = self.fetch("GET", link, token=None)
        self.promise("its page asks for a password",
                     status == 200 and 'name="password"' in page and "Mem.ber@example.org" in page)

        def use(link: str, password: str, **more):
            return self.fetch("POST", link, token=None, form="password=" + password.replace(" ", "+"), **more)

        def login(password: str):
            body = {"email": "mem.ber@example.org", "password": password}
            return self.fetch("POST", "/api/v1/auth/login", body, token=None)

        weak = use(link, "password12345")
        self.promise("a weak password is refused, and the link remains",
                     weak[0] == 422 and 'name="password"' in weak[1])
        first, second = "plum carriage 77 loud", "quiet violet anchor 12"
        self.promise("the first one is set", use(link, first)[0] == 200)
        self.promise("a link counts once", use(link, "x")[0] == 404)
        status, answer = login(first)
        token = json.loads(answer)["token"]
        self.promise("the member logs in",
                     status == 200 and self.fetch("GET", "/api/v1/auth/me", token=token)[0] == 200)
        known = self.fetch("POST", "/api/v1/auth/password-reset", {"email": "mem.ber@example.org"}, token=None)
        unknown = self.fetch("POST", "/api/v1/auth/password-reset", {"email": "nobody@example.org"}, token=None)
        link = re.search(r"http\S+password-link/\S+", plain(self.next_mail("the new password"))).group(0)
        self.promise("the answer is the same without an account", known == unknown == (202, "{}"))
        foreign = use(link, "x", headers={"Origin": "https://evil.example"})
        self.promise("another site cannot use a link", foreign[0] == 403)
        self.promise("the link sets a new password", use(link, second)[0] == 200)
        self.promise("which ends the logins", self.fetch("GET", "/api/v1/auth/me", token=token)[0] == 401
                     and login(first)[0] == 401 and login(second)[0] == 200)
        for _ in range(3):
            self.fetch("POST", "/api/v1/auth/password-reset", {"email": "mem.ber@example.org"}, token=None)
        time.sleep(4)
        self.promise("an account gets three such messages an hour", len(self.box()) == 2
                     and self.sql("SELECT count(*) FROM mail_outbox WHERE kind = 'password_reset'") == "3")

    def test_message(self, scheme: str) -> None:
        self.ask("POST", ADMIN + "/mail/test", {})
        message = self.next_mail(f"a test message over {scheme}")
        listed = self.until("the list", lambda: [m for m in self.ask("GET", ADMIN + "/mail/messages")["messages"]
                                                 if m["kind"] == "test" and m["state"] == "sent"])
        self.promise(f"a test message arrives over {scheme}", listed and "demo@example.com" in message["To"])

    def untrusted(self) -> None:
        self.ask("POST", ADMIN + "/mail/test", {})
        row = self.until("the reason", lambda: [m for m in self.ask("GET", ADMIN + "/mail/messages")["messages"]
                                                if m["state"] == "pending" and m["reason"]])[0]
        time.sleep(3)
        self.promise("nothing goes to a server whose certificate is not trusted; the list says why",
                     self.box() == [] and "certificate" in row["reason"].lower() and row["attempts"] == 0
                     and self.metric("mail_unreachable_total") > 0)

    # Parts with faults

    def faulty(self, server: Server, fault: str, address: str):
        """One message under a fault: what the server took, and what it saw."""
        server.box.faults[:] = [fault]
        server.box.taken.clear()
        server.box.seen.clear()
        visitor = Visitor(self, "Fay", address)
        visitor.answer(f"Answer under {fault}")
        ended = self.until(f"the end under {fault}", lambda: [m for m in self.state(visitor.session)["messages"]
                                                              if m["state"] != "pending"])
        return ended[0], list(server.box.taken), list(server.box.seen)

    def faults(self, server: Server) -> None:
        for fault in ("rcpt 451 4.2.0 later", "data 451 4.3.0 later", "rcpt 421 4.3.2 closing"):
            state, taken, _ = self.faulty(server, fault, f"{fault[:8].replace(' ', '-')}@example.org")
            self.promise(f"after “{fault}” the message comes once", state["state"] == "sent" and len(taken) == 1)
        for fault in ("rcpt 550 5.1.1 <x@example.org> no such user", "data 554 5.6.0 spam"):
            state, taken, _ = self.faulty(server, fault, f"{fault[:8].replace(' ', '-')}@example.org")
            self.promise(f"“{fault}” ends it, with the reason and no address", state["state"] == "failed" and not taken
                         and fault.split(" ")[2] in state["reason"] and "@" not in state["reason"])
        for fault in ("slow", "drop"):
            state, taken, seen = self.faulty(server, fault, f"{fault}@example.org")
            self.promise(f"after “{fault}” behind DATA the same bytes are sent again", state["state"] == "sent"
                         and len(seen) >= 2 and len(set(seen)) == 1)

    def killed(self, server: Server) -> None:
        """kill -9 before the 250, and between it and the mark."""
        server.box.taken.clear()
        server.box.seen.clear()
        visitor = Visitor(self, "Kit", "kit@example.org")
        server.box.before_answer = lambda: (self.kill(), setattr(server.box, "before_answer", None))
        visitor.answer("Killed before the 250")
        self.until("the kill", lambda: self.gateway.poll() is not None)
        self.sql("UPDATE mail_outbox SET next_attempt_at = now() WHERE state = 'pending'")
        self.plain_server(server)
        self.until("the second attempt", lambda: self.state(visitor.session)["messages"][0]["state"] == "sent")
        self.promise("after kill -9 between DATA and 250 the same bytes are sent again, and no third time",
                     len(server.box.seen) == 2 and len(set(server.box.seen)) == 1)
        server.box.seen.clear()

        def freeze() -> None:
            """The gateway has the 250 in its socket, and never reads it."""
            server.box.before_answer = None
            self.gateway.send_signal(signal.SIGSTOP)
            # Each thread stops by itself: until then it might still read the 250, and mark the message.
            self.until("the stop", lambda: all(
                (it / "stat").read_text().rpartition(") ")[2][0] == "T"
                for it in Path(f"/proc/{self.gateway.pid}/task").iterdir()))

        server.box.before_answer = freeze
        server.box.taken.clear()
        visitor.answer("Killed before the mark")
        self.until("the 250", lambda: server.box.taken)
        time.sleep(1)
        self.kill()
        self.sql("UPDATE mail_outbox SET next_attempt_at = now() WHERE state = 'pending'")
        self.plain_server(server)
        self.until("the repetition", lambda: len(server.box.seen) > 1 and all(
            it["state"] == "sent" for it in self.state(visitor.session)["messages"]))
        ids = {parse(content)["Message-ID"] for _, content in server.box.seen}
        self.promise(f"after kill -9 between 250 and the mark it is sent again with the same Message-ID: {len(ids)}",
                     len(server.box.seen) == 2 and len(ids) == 1)

    def outage(self, server: Server) -> None:
        server.stop()
        server.box.taken.clear()
        visitors = []
        for number in range(12):
            visitors.append(Visitor(self, f"V{number}", f"v{number}@example.org"))
            visitors[-1].answer(f"Answer {number}")
            self.until("its row", lambda: self.state(visitors[-1].session)["messages"])
        connections = server.box.connections
        server.start()
        self.until("all are sent", lambda: len(server.box.taken) >= 12, seconds=120)
        time.sleep(3)
        self.promise("after an outage all are sent once, in order",
                     [to for to, _ in server.box.taken] == [visitor.address for visitor in visitors])
        self.promise("over one connection", server.box.connections - connections == 1)

    def plain_server(self, server: Server) -> None:
        self.start(smtp_url=f"smtp://127.0.0.1:{server.port}", starttls="off")

    def run(self) -> int:
        self.exim()
        for part in (self.answers, self.hostile, self.offline, self.alert, self.transcript, self.passwords,
                     lambda: self.test_message("STARTTLS")):
            part()
        self.stop()
        self.exim(authority="other")
        self.untrusted()
        self.stop()
        self.exim("smtps")
        self.next_mail("what has waited")
        self.test_message("implicit TLS")
        self.stop()
        server = Server(self.options.fault_port)
        server.start()
        self.plain_server(server)
        self.settings()
        for part in (self.faults, self.killed, self.outage):
            part(server)
        self.stop()
        server.stop()
        return self.failures


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("chirrup", "database", "port", "psql", "log", "box", "folder", "submission",
                 "implicit", "secret", "fault-port"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    options.fault_port = int(options.fault_port)
    run = Mail(options)
    try:
        raise SystemExit(1 if run.run() else 0)
    finally:
        if run.gateway and run.gateway.poll() is None:
            run.gateway.kill()


if __name__ == "__main__":
    main()
