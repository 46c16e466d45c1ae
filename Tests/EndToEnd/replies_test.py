"""Replies of visitors by e-mail, from a real mailbox into conversations.

Started by replies.sh with the configuration of Dovecot. Starts Dovecot and the gateway by itself, and kills both.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request

import replies_shapes as shapes
from mailbox_proxy import ProxyWithoutMove
from mail_server import Server
from mail_test import ADMIN, Failure, Mail, TALK, Visitor, html, parse, plain

REPLIES = 100  # in the part with kill -9
KILLS = 12


class Replies(Mail):
    def __init__(self, options) -> None:
        super().__init__(options)
        self.box_folder = f"{options.folder}/box"
        self.dovecot = None
        self.delivered = 0
        self.server = Server(options.smtp_port)

    # Programs

    def start_dovecot(self) -> None:
        self.dovecot = subprocess.Popen([f"{self.options.folder}/dovecot"])
        self.until("Dovecot", lambda: subprocess.run(
            ["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{self.options.imap}"],
            stderr=subprocess.DEVNULL).returncode == 0)

    def stop_dovecot(self) -> None:
        self.dovecot.terminate()
        self.dovecot.wait(30)

    def values(self, authority="ours", password=None, **settings) -> dict:
        values = dict(smtp_url=f"smtp://127.0.0.1:{self.options.smtp_port}", starttls="off", imap_user="chat",
                      imap_url=f"imaps://localhost:{self.options.imaps}/INBOX",
                      ca_file=f"{self.options.folder}/{authority}-ca.pem",
                      imap_password_file=password or self.options.secret)
        return {**values, **settings}

    def gateway_with(self, **settings) -> None:
        self.start(**self.values(**settings))

    def doctor(self, what: str, state: str, words: str, **settings) -> None:
        # Dovecot delays its refusal of a password, more each time.
        settings = {"timeout_seconds": 20, **settings}
        environment = {f"CHIRRUP_MAIL_{name.upper()}": str(value)
                       for name, value in self.values(**settings).items()}
        said = subprocess.run(
            [self.options.chirrup, "doctor", "--only", "mailbox", "--listen", f"127.0.0.1:{self.options.port}",
             "--database-url", self.options.database], env={**os.environ, **environment},
            capture_output=True, text=True).stdout
        lines = [line for line in said.splitlines() if " mailbox: " in line]
        self.promise(f"doctor, {what}: {lines}", len(lines) == 1 and lines[0].startswith(state) and words in lines[0]
                     and "pass word" not in said)

    # The mailbox

    def deliver(self, content: bytes) -> None:
        self.delivered += 1
        name = f"{int(time.time())}.M{self.delivered:08d}.test"
        path = f"{self.box_folder}/tmp/{name}"
        with open(path, "wb") as file:
            file.write(content)
        shutil.chown(path, "nobody", "nogroup")
        os.rename(path, f"{self.box_folder}/new/{name}")

    def inbox(self) -> int:
        return sum(len(os.listdir(f"{self.box_folder}/{folder}")) for folder in ("new", "cur"))

    def processed(self) -> int:
        folder = f"{self.box_folder}/.Processed"
        return sum(len(os.listdir(f"{folder}/{name}")) for name in ("new", "cur")) if os.path.isdir(folder) else 0

    def settled(self) -> bool:
        return self.inbox() == 0 and self.sql("SELECT count(*) FROM mail_received WHERE state = 'pending'") == "0"

    # Conversations

    def replies(self, session: str) -> list:
        """Text and payload of the visitor's messages by e-mail."""
        rows = self.sql("SELECT coalesce(json_agg(json_build_array(content, payload) ORDER BY seq), '[]') FROM chats "
                        f"WHERE session_id = '{session}' AND role = 'visitor' AND payload::text LIKE '%\"email\"%'")
        return json.loads(rows)

    def refusals(self) -> dict:
        rows = self.sql("SELECT json_object_agg(reason, n) FROM (SELECT reason, count(*) AS n FROM mail_received "
                        "WHERE state = 'refused' GROUP BY 1) AS t")
        return json.loads(rows or "null") or {}

    def answered(self, name: str, address: str, count=1):
        """A visitor who has got an answer by e-mail; the message, and the address for replies."""
        visitor = Visitor(self, name, address)
        seen = len(self.server.box.taken)
        for _ in range(count):
            visitor.answer("We have two in Rotterdam.")
        self.until("the answers by e-mail", lambda: len(self.server.box.taken) > seen)
        message = parse(self.server.box.taken[-1][1])
        visitor.reply_to = message["Reply-To"].addresses[0].addr_spec
        return visitor, message

    # Parts

    def outgoing(self) -> None:
        self.visitor, message = self.answered("Ada", "ada@example.org")
        local = self.visitor.reply_to.split("@")[0]
        self.promise("the message asks for replies to a token of the conversation",
                     local.startswith("replies+r.") and len(local) <= 64
                     and self.visitor.reply_to == self.visitor.reply_to.lower())
        self.promise("the message has the line above which a reply stands",
                     plain(message).startswith(shapes.MARKER) and shapes.MARKER in html(message))
        self.message_id = message["Message-ID"]

    def shapes(self) -> None:
        # Of several conversations, because of their limit per hour.
        cases = shapes.shapes(self.visitor.reply_to)
        for _, content, _ in cases:
            self.deliver(content)
        self.until("all are settled", self.settled)
        found = [text for text, _ in self.replies(self.visitor.session)]
        for name, _, texts in cases:
            holds = all(text in found for text in texts)
            self.promise(f"a reply: {name}", holds)
            if not holds:
                print("      wanted", [text[:300] for text in texts])
        wanted = [text for _, _, texts in cases for text in texts]
        self.promise("each once, in the order of the mailbox", found == wanted)
        if found != wanted:
            print("      found", [text[:120] for text in found], self.refusals())
        self.promise("the mailbox's messages are in the other folder", self.processed() == len(cases))
        self.promise("nothing was refused", self.refusals() == {})

    def sender(self) -> None:
        visitor, _ = self.answered("Eve", "eve@example.org")
        passed = "mx.gateway.example; dkim=pass header.d=example.org; spf=pass; dmarc=pass header.from=example.org"
        for number, author, results in (
                ("v1", "eve@example.org", passed), ("v2", "eve@example.org", passed.replace("mx.", "evil.")),
                ("v3", "eve@example.org", passed.replace("=pass", "=fail")), ("v4", "other@example.org", passed),
                ("v5", "eve@example.org", None), ("v6", "eve@example.org>, Mallory <m@evil.example", passed)):
            self.deliver(shapes.plain(visitor.reply_to, number, number, author=author, Authentication_Results=results))
        self.until("all are settled", self.settled)
        found = [payload["email"] for _, payload in self.replies(visitor.session)]
        self.promise("only the visitor's address with a verdict of our server is verified",
                     [one["verified"] for one in found] == [True, False, False, False, False, False])
        self.promise("the message says who has written, in short", found[0] == {
            "from": "e…@example.org", "verified": True, "dmarc": "pass", "dkim": "pass", "spf": "pass"}
            and found[3]["from"] == "o…@example.org" and found[2].get("dmarc") == "fail" and "dmarc" not in found[1])

        shown = self.ask("GET", f"{TALK}/{visitor.session}/mail")["replies"]
        self.promise("the console gets the verdicts, the newest first", [
            (one["author"], one["is_verified"], one["verdict"]) for one in shown] == [
            ("e…@example.org", False, "spf=pass dkim=pass dmarc=pass"),
            ("e…@example.org", False, ""), ("o…@example.org", False, "spf=pass dkim=pass dmarc=pass"),
            ("e…@example.org", False, "spf=fail dkim=fail dmarc=fail"), ("e…@example.org", False, ""),
            ("e…@example.org", True, "spf=pass dkim=pass dmarc=pass")])
        if len(shown) != 6:
            print("      found", shown)
        first = self.sql(f"SELECT id FROM chats WHERE session_id = '{visitor.session}' AND content = 'v1'")
        self.promise("each by its message", shown[-1]["message_id"] == first)

    def refused(self) -> None:
        visitor, message = self.answered("Bob", "bob@example.org")
        to, mine = visitor.reply_to, "bob@example.org"
        gone, _ = self.answered("Gone", "gone@example.org")
        banned, _ = self.answered("Bad", "bad@example.org")
        erased, _ = self.answered("Forgotten", "forgotten@example.org")
        person = self.sql("SELECT id FROM visitors WHERE email = 'forgotten@example.org'")
        self.ask("DELETE", f"{ADMIN}/visitors/{person}")
        self.sql(f"UPDATE chat_sessions SET deleted_at = now() WHERE id = '{gone.session}'")
        self.sql("UPDATE visitors SET banned_at = now() WHERE email = 'bad@example.org'")
        forged = to.replace(to[12], "a" if to[12] != "a" else "b")
        code = to.split("@")[0][-2]
        forged_code = to.replace(f"{code}{to.split('@')[0][-1]}@", f"{'a' if code != 'a' else 'b'}a@")
        thread = dict(In_Reply_To=message["Message-ID"], References="<x@y> " + message["Message-ID"])
        before, sent = self.metric("mail_received_total"), len(self.server.box.taken)
        cases = [
            ("automatic", shapes.plain(to, "r1", "away", Auto_Submitted="auto-replied")),
            ("automatic", shapes.plain(to, "r2", "list", List_Id="<list.example.org>")),
            ("automatic", shapes.plain(to, "r3", "bulk", Precedence="bulk")),
            ("automatic", b"Return-Path: <>\r\n" + shapes.plain(to, "r4", "bounce")),
            ("automatic", shapes.plain(to, "r5", "away", X_Auto_Response_Suppress="All")),
            ("automatic", shapes.plain(to, "r5b", "undeliverable", author="MAILER-DAEMON@example.org")),
            ("automatic", shapes.head(to, "r6", Content_Type='multipart/report; boundary="b"')
             + b"\r\n--b\r\n\r\nx\r\n--b--"),
            ("own", shapes.plain(to, "r7", "own", author="chat@gateway.example")),
            ("own", shapes.plain(to, "r8", "own", author=to)),
            ("own", shapes.plain(to, "r9", "own", Message_ID=message["Message-ID"])),
            ("unknown", shapes.plain("replies@gateway.example", "r10", "no token")),
            ("unknown", shapes.plain(forged, "r11", "another conversation")),
            ("unknown", shapes.plain(forged_code, "r12", "another code")),
            ("unknown", shapes.plain("replies@gateway.example", "r13", "stranger", author="eve@example.org", **thread)),
            ("deleted", shapes.plain(gone.reply_to, "r14", "gone")),
            ("deleted", shapes.plain(erased.reply_to, "r14b", "erased")),
            ("blocked", shapes.plain(banned.reply_to, "r15", "banned")),
            ("empty", shapes.plain(to, "r16", " \n \n")),
            ("empty", shapes.deep(to, "r17")),
            ("too_large", shapes.plain(to, "r18", "large\n" * 5_000_000)),
        ]
        for _, content in cases:
            self.deliver(content)
        self.until("all are settled", self.settled, seconds=120)
        wanted = {reason: sum(1 for one, _ in cases if one == reason) for reason, _ in cases}
        self.promise("what is no reply is stored with its reason", self.refusals() == wanted)
        if self.refusals() != wanted:
            print("      found", self.refusals(), "wanted", wanted)
        time.sleep(2)  # answers that nobody has read are sent after a second
        self.promise("none of these is answered: no loop begins", len(self.server.box.taken) == sent)
        self.promise("none of these is in a conversation",
                     all(self.replies(one.session) == [] for one in (visitor, gone, banned)))
        # A turn's figures are shown after its pause.
        self.until("they are counted", lambda: self.metric("mail_received_total") - before == len(cases))
        self.promise("they are counted, by reason",
                     self.metric('mail_received_refused_total{reason="automatic"}') == wanted["automatic"])
        self.deliver(shapes.plain("replies@gateway.example", "r19", "the reply of a thread", author=mine, **thread))
        self.until("a reply without the token", self.settled)
        self.promise("without the token, the visitor's own address and our Message-ID lead to the conversation",
                     [text for text, _ in self.replies(visitor.session)] == ["the reply of a thread"])
        self.deliver(shapes.plain("replies@gateway.example", "r19", "the reply of a thread", author=mine, **thread))
        self.until("the same again", self.settled)
        self.promise("a message that comes again is stored once", len(self.replies(visitor.session)) == 1)
        for number in range(35):
            self.deliver(shapes.plain(to, f"m{number}", f"many {number}", author=mine))
        self.until("all are settled", self.settled)
        self.promise("a conversation takes 30 replies in an hour", len(self.replies(visitor.session)) == 30
                     and self.refusals().get("too_many") == 6)

    def files(self) -> None:
        """Files of replies are attachments, within the limits of the workspace."""
        visitor, _ = self.answered("Fay", "fay@example.org")
        many = [(f"{number}.txt", f"text {number}".encode()) for number in range(12)]
        cases = [
            ("f1", "two files", [("plan.pdf", shapes.PDF), ("plan.png", shapes.PNG)]),
            ("f2", " ", [("only.pdf", shapes.PDF)]),
            ("f3", "twelve files", many),
            ("f4", "no programs", [("a.exe", b"MZ" + bytes(400)), ("../b.pdf", b"MZ" + bytes(400)),
                                   ("c.pdf", shapes.PDF)]),
            ("f5", "a large one", [("large.txt", b"large text\n" * 100_000)]),
        ]
        self.ask("PATCH", ADMIN + "/settings", {"settings": {"attachments": {"bytes_max": 1_048_576}}})
        for number, text, named in cases:
            self.deliver(shapes.files(visitor.reply_to, number, visitor.address, text, *named))
            self.until("it is settled", self.settled)
        found = self.replies(visitor.session)
        wanted = ["two files", "📎 only.pdf", "twelve files\n\n[2 files were left out: 10.txt, 11.txt]",
                  "no programs\n\n[2 files were left out: a.exe, b.pdf]",
                  "a large one\n\n[1 file was left out: large.txt]"]
        self.promise("files that are not taken are counted in the message", [text for text, _ in found] == wanted)
        if [text for text, _ in found] != wanted:
            print("      found", [text for text, _ in found])
        names = [[item["name"] for item in payload.get("attachments", [])] for _, payload in found]
        self.promise("the others are attachments of the message", names == [
            ["plan.pdf", "plan.png"], ["only.pdf"], [name for name, _ in many[:10]], ["c.pdf"], []]
            and [payload.get("caption") for _, payload in found] == [True, False, True, True, None]
            and all(payload["email"]["from"] == "f…@example.org" for _, payload in found))
        ids = [item["id"] for item in found[0][1]["attachments"]]
        links = self.ask("POST", f"{TALK}/{visitor.session}/attachments/links", {"ids": ids})["links"]
        url = next(link["url"] for link in links if link["id"] == ids[0])
        with urllib.request.urlopen(self.base + url, timeout=30) as answer:
            self.promise("their bytes are those of the e-mail", answer.read() == shapes.PDF)
        self.promise("a picture was cleaned, and has its size", found[0][1]["attachments"][1].get("width") == 8)

        self.ask("PATCH", ADMIN + "/settings", {"settings": {"attachments": {"enabled": False}}})
        self.deliver(shapes.files(visitor.reply_to, "f6", visitor.address, "turned off", ("d.pdf", shapes.PDF)))
        self.until("it is settled", self.settled)
        self.ask("PATCH", ADMIN + "/settings", {"settings": {"attachments": {"enabled": True}}})
        self.promise("a workspace without attachments gets none",
                     self.replies(visitor.session)[-1][0] == "turned off\n\n[1 file was left out: d.pdf]")

        uploads = os.path.join(self.options.files, "uploads")
        os.rename(uploads, uploads + "-away")
        open(uploads, "w").close()
        self.deliver(shapes.files(visitor.reply_to, "f7", visitor.address, "it waits", ("e.pdf", shapes.PDF)))
        self.deliver(shapes.plain(visitor.reply_to, "f8", "it does not wait", author=visitor.address))
        self.until("the other one", lambda: self.replies(visitor.session)[-1][0] == "it does not wait")
        waits = self.inbox() == 1
        os.remove(uploads)
        os.rename(uploads + "-away", uploads)
        self.until("it is settled", self.settled, seconds=180)
        text, payload = self.replies(visitor.session)[-1]
        self.promise("a reply whose file cannot be stored waits in the mailbox, others do not",
                     waits and text == "it waits" and payload["attachments"][0]["name"] == "e.pdf")

        self.ask("POST", f"{TALK}/{visitor.session}/close", {})
        self.deliver(shapes.files(visitor.reply_to, "f9", visitor.address, "moved", ("f.pdf", shapes.PDF)))
        self.until("it is settled", self.settled)
        session = self.sql("SELECT session_id FROM chats WHERE content = 'moved'")
        item = self.replies(session)[0][1]["attachments"][0]["id"]
        self.promise("a file goes with its reply to another conversation", session != visitor.session
                     and self.sql(f"SELECT session_id FROM chat_attachments WHERE id = '{item}'") == session
                     and self.ask("POST", f"{TALK}/{session}/attachments/links", {"ids": [item]})["links"])
        self.promise("no file is left that is in no message", self.sql(
            "SELECT count(*) FROM chat_attachments WHERE state IN ('uploading', 'stored')") == "0")

    def closed(self) -> None:
        visitor, _ = self.answered("Carl", "carl@example.org")
        self.ask("POST", f"{TALK}/{visitor.session}/close", {})
        for number in range(2):
            self.deliver(shapes.plain(
                visitor.reply_to, f"c{number}", f"after the end {number}", author=visitor.address))
            self.until("it is settled", self.settled)
        session = self.sql("SELECT DISTINCT session_id FROM chats WHERE content LIKE 'after the end%'")
        self.promise("a reply to a closed conversation begins one new conversation of the visitor",
                     session != visitor.session and [text for text, _ in self.replies(session)]
                     == ["after the end 0", "after the end 1"])
        self.promise("and is marked there", len(self.ask("GET", f"{TALK}/{session}/mail")["replies"]) == 2
                     and self.ask("GET", f"{TALK}/{visitor.session}/mail")["replies"] == [])

    def killed(self) -> None:
        visitors = [self.answered(f"K{number}", f"k{number}@example.org")[0] for number in range(5)]
        for number in range(REPLIES):
            visitor = visitors[number % 5]
            self.deliver(shapes.files(visitor.reply_to, f"k{number}", visitor.address, f"reply {number}",
                                      *([("k.pdf", shapes.PDF + b"%d" % number)] if number % 4 == 0 else [])))
        kills = 0
        while not self.settled() and kills < KILLS:
            # The gateway is killed while it works: not before it has moved something, and at another place each time.
            left = self.inbox()
            self.until("the mailbox is read", lambda: self.inbox() < left or self.settled())
            time.sleep(0.013 * kills % 0.3)
            if self.settled():
                break
            self.kill()
            kills += 1
            self.gateway_with()
        self.until("all are settled", self.settled, seconds=180)
        wanted = [[f"reply {number}" for number in range(place, REPLIES, 5)] for place in range(5)]
        found = [[text for text, _ in self.replies(visitor.session)] for visitor in visitors]
        print(f"      killed {kills} times")
        self.promise(f"kill -9 in the midst of {REPLIES} replies, {kills} times: 0 lost, 0 doubled, in order",
                     kills >= 3 and found == wanted)
        if found != wanted:
            print("      found", found)
        carried = [[len(payload.get("attachments", [])) for _, payload in self.replies(visitor.session)]
                   for visitor in visitors]
        self.promise("each has its file", carried == [
            [int(number % 4 == 0) for number in range(place, REPLIES, 5)] for place in range(5)])

    def stored_and_not_moved(self) -> None:
        """kill -9 between the commit and the move, which a folder that cannot be written holds open."""
        visitor, _ = self.answered("Last", "last@example.org")
        self.stop()
        place = f"{self.box_folder}/.Processed"
        os.rename(place, place + "-away")
        open(place, "w").close()  # Dovecot can neither create the folder nor use it
        self.deliver(shapes.plain(visitor.reply_to, "last", "the reply of the last", author=visitor.address))
        before = self.log_lines("the mailbox cannot be read")
        self.gateway_with()
        self.until("it is stored", lambda: len(self.replies(visitor.session)) == 1)
        time.sleep(8)
        stays = self.inbox() == 1
        reasons = self.lines("the mailbox cannot be read")[before:]
        self.promise(f"a refusal of the server is in the log once, with its words{reasons[0]}",
                     reasons[0].startswith(": NO ") and len(reasons) == 1)
        self.kill()
        os.remove(place)
        os.rename(place + "-away", place)
        self.gateway_with()
        self.until("it is moved", self.settled)
        self.promise("kill -9 after the commit and before the move: found again, and stored once",
                     stays and len(self.replies(visitor.session)) == 1)

    def lines(self, text: str) -> list:
        """What follows the text in the lines of the log that have it."""
        with open(self.options.log, encoding="utf-8", errors="replace") as log:
            return [line.split(text, 1)[1].strip() for line in log if text in line]

    def log_lines(self, text: str) -> int:
        return len(self.lines(text))

    def away(self) -> None:
        visitor, _ = self.answered("Way", "way@example.org")
        before = self.log_lines("the mailbox cannot be read")
        self.stop_dovecot()
        self.until("a log line", lambda: self.log_lines("the mailbox cannot be read") > before)
        self.deliver(shapes.plain(visitor.reply_to, "away", "the reply of patience", author=visitor.address))
        time.sleep(8)
        reasons = self.lines("the mailbox cannot be read")[before:]
        self.start_dovecot()
        self.until("the reply comes", lambda: self.settled() and self.replies(visitor.session))
        # The first attempt may meet a server that is just ending.
        self.promise(f"a server that is away: one log line for a reason, and nothing is lost {reasons}",
                     len(reasons) in (1, 2) and len(set(reasons)) == len(reasons)
                     and self.log_lines("the mailbox is read again") >= 1
                     and [text for text, _ in self.replies(visitor.session)] == ["the reply of patience"])
        self.stop()

    def wrong(self, what: str, words: str, **settings) -> None:
        before, logged = self.log_lines(words), self.dovecot_logins()
        self.gateway_with(**settings)
        self.until(f"a log line about {what}", lambda: self.log_lines(words) > before)
        time.sleep(6)
        attempts = self.dovecot_logins() - logged
        self.promise(f"{what}: one log line, {attempts} attempts in 6 s",
                     self.log_lines(words) == before + 1 and attempts <= 6)
        self.stop()
        self.doctor(what, "FAIL", words.removeprefix("the mailbox cannot be read: "), **settings)

    def dovecot_logins(self) -> int:
        with open(f"{self.options.folder}/dovecot.log", encoding="utf-8", errors="replace") as log:
            return sum("imap-login: " in line for line in log)

    def starttls(self) -> None:
        self.gateway_with(starttls="required", imap_url=f"imap://localhost:{self.options.imap}")
        self.deliver(shapes.plain(self.visitor.reply_to, "starttls", "the reply over STARTTLS", List_Id="<no.reply>"))
        self.until("it is settled", self.settled)
        with open(f"{self.options.folder}/dovecot.log", encoding="utf-8", errors="replace") as log:
            secure = [line for line in log if "imap-login: Info: Login: user=<chat>" in line][-1]
        self.promise("imap:// turns to TLS", ", TLS," in secure)
        self.stop()

    def without_move(self) -> None:
        """Copied and marked as deleted; what is marked does not come again."""
        own = f"{self.options.folder}/ours"
        proxy = ProxyWithoutMove(self.options.imap, f"{own}.pem", f"{own}.key")
        self.gateway_with(imap_url=f"imaps://localhost:{proxy.port}/INBOX")
        before = self.processed()
        visitor, _ = self.answered("Copy", "copy@example.org")
        for number in range(3):
            self.deliver(shapes.plain(visitor.reply_to, f"copy {number}", f"the reply number {number}",
                                      author=visitor.address))
        self.until("they are stored", lambda: len(self.replies(visitor.session)) == 3)
        self.until("they are copied", lambda: self.processed() == before + 3)
        time.sleep(4)  # some rounds
        flags = [name.rsplit(",", 1)[-1] for name in os.listdir(f"{self.box_folder}/cur")]
        self.promise(f"a server without MOVE: copied once, marked as deleted: {flags}",
                     self.processed() == before + 3 and len(flags) == 3 and all("T" in word for word in flags)
                     and proxy.moves >= 3 and proxy.commands.count(b"UID COPY") == 3
                     and len(self.replies(visitor.session)) == 3)
        self.stop()
        self.doctor("a mailbox with messages that are marked as deleted", "PASS", "can be read, 0 messages wait")
        proxy.close()

    def run(self) -> int:
        self.server.start()
        self.start_dovecot()
        self.gateway_with()
        self.settings()
        for part in (self.outgoing, self.shapes, self.sender, self.refused, self.closed, self.files, self.killed,
                     self.stored_and_not_moved, self.away):
            part()
        wrong = f"{self.options.folder}/wrong"
        with open(wrong, "w", encoding="utf-8") as file:
            file.write("wrong\n")
        self.wrong("a wrong password", "Authentication failed", password=wrong)
        self.wrong("a certificate that is not trusted", "the mailbox cannot be read: SSL peer certificate",
                   authority="other")
        self.doctor("a server that does not listen", "FAIL", "Couldn't connect", imap_url="imaps://localhost:1/INBOX")
        self.starttls()
        self.without_move()
        return self.failures


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("chirrup", "database", "port", "psql", "log", "folder", "files", "imap", "imaps", "secret",
                 "smtp-port"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    options.smtp_port, options.box = int(options.smtp_port), ""
    run = Replies(options)
    try:
        raise SystemExit(1 if run.run() else 0)
    finally:
        for process in (run.gateway, run.dovecot):
            if process and process.poll() is None:
                process.send_signal(signal.SIGTERM if process is run.dovecot else signal.SIGKILL)
                process.wait(30)


if __name__ == "__main__":
    main()
