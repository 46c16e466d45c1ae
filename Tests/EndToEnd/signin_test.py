"""Signing in at the real gateway: guesses are limited, and no guess locks an owner out (issue 17.2).

Started by signin.sh. Every promise is printed with its verdict; the first broken one ends the run.
"""

import argparse
import base64
import contextlib
import hashlib
import http.client
import json
import re
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect


class Failure(Exception):
    pass


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        body = response.read()
        self.json = json.loads(body) if body else {}

    @property
    def cookies(self) -> dict[str, str]:
        lines = self.headers.get_all("Set-Cookie") or []
        return dict(line.split(";")[0].split("=", 1) for line in lines)


class SignIn:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.address = urlsplit(options.base_url)
        self.sockets = contextlib.ExitStack()

    def run(self) -> None:
        self.limits()
        self.passwords()
        self.sessions()
        self.command_line()
        self.sockets.close()

    def promise(self, text: str, is_kept: object) -> None:
        print(f"{'PASS' if is_kept else 'FAIL'}  {text}", flush=True)
        if not is_kept:
            raise Failure(text)

    def ask(self, method: str, path: str, body=None, source="127.0.0.1", **headers: str) -> Answer:
        host, port = self.address.hostname, self.address.port
        connection = http.client.HTTPConnection(host, port, timeout=60, source_address=(source, 0))
        try:
            connection.request(
                method, path, None if body is None else json.dumps(body),
                {"Content-Type": "application/json", **headers})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def login(self, email: str, password: str, source="127.0.0.1", **headers: str) -> Answer:
        return self.ask("POST", "/api/v1/auth/login", {"email": email, "password": password}, source, **headers)

    def command(self, *arguments: str) -> str:
        done = subprocess.run(
            [self.options.chirrup, *arguments, "--database-url", self.options.database],
            check=True, capture_output=True, text=True)
        return done.stdout

    def account(self, role="agent") -> tuple[str, str]:
        """Creates an operator of the demo workspace. Returns address and password."""
        email, password = f"admin{uuid.uuid4().hex[:8]}@example.com", f"violet {uuid.uuid4().hex}"
        self.command("operator", "create", "--workspace", "demo", "--email", email, "--name", "Noa", "--role", role,
                     "--password", password, "--keep-password")
        return email, password

    def limits(self) -> None:
        email, password = self.account()
        first = self.login(email, password, "127.0.9.1")
        self.promise("a right login is taken", first.status == 200)
        begin, found = time.monotonic(), []
        while 429 not in found and len(found) < 40:
            found.append(self.login(email, "wrong", "127.0.9.2").status)
        # APIOptions.swift: ten, and six more each minute.
        most = 11 + (time.monotonic() - begin) / 10
        self.promise(f"ten guesses from one address, then 429 ({found})",
                     found[-1] == 429 and 10 <= len(found) - 1 <= most and set(found[:-1]) == {401})
        found = [self.login(email, password, f"127.0.9.{10 + number}").status for number in range(6)]
        self.promise(f"the owner logs in from six other addresses ({found})", found == [200] * 6)
        device = "; ".join(
            f"{name}={value}" for name, value in first.cookies.items() if name.startswith("chirrup_device_"))
        found = [self.login(email, password, "127.0.9.2", Cookie=device).status for _ in range(2)]
        self.promise(f"a known device logs in from the address of the guesses ({found})", found == [200] * 2)
        lookalike = email.replace("i", "\u0130", 1)
        found = self.login(lookalike, password, "127.0.9.3").status
        self.promise("an address with another letter is another address", found == 401)
        found = self.login(email.upper(), password, "127.0.9.3").status
        self.promise("capital letters are the same address", found == 200)

    def passwords(self) -> None:
        email, password = self.account("admin")
        token = self.login(email, password).json["token"]
        admin = {"Authorization": f"Bearer {token}"}
        weak = [
            "123456789", "1234567890", "qwertyuiop", "Password123", " " * 12, "aaaaaaaaaaaaaaaa", email,
            "Noa-demo-2026!", email.split("@")[0] + "123"]
        found = [self.ask("POST", "/api/v1/auth/password", {"current": password, "new": new}, **admin) for new in weak]
        told = [(new, answer.status, answer.json.get("type")) for new, answer in zip(weak, found)]
        self.promise(
            f"weak passwords are refused ({told})",
            all(answer.status in (400, 422) and re.search("assword|10 characters", answer.json["detail"])
                for answer in found))
        member = {"email": f"{uuid.uuid4().hex}@example.com", "name": "Ivo", "password": "qwertyuiop123"}
        found = self.ask("POST", "/api/v1/admin/members", member, **admin)
        self.promise("an administrator gives no weak password either",
                     (found.status, found.json["type"]) == (422, "urn:chirrup:problem:weak_password"))
        refused = subprocess.run(
            [self.options.chirrup, "operator", "password", "--email", email, "--password", "iloveyou123",
             "--database-url", self.options.database], capture_output=True, text=True)
        self.promise(f"nor does the command line ({refused.stderr.strip()})",
                     refused.returncode == 1 and "most common" in refused.stderr)
        self.old_password()

    def old_password(self) -> None:
        """A short password of an older release: it logs in, and must be changed first."""
        email, _ = self.account()
        # scrypt of "sunshine", ln=15, r=8, p=3, as older releases stored it.
        salt = b"0123456789abcdef"
        key = hashlib.scrypt(b"sunshine", salt=salt, n=1 << 15, r=8, p=3, maxmem=1 << 27, dklen=32)
        text = [base64.b64encode(part).decode().rstrip("=") for part in (salt, key)]
        stored = f"$scrypt$ln=15,r=8,p=3${text[0]}${text[1]}"
        self.sql(f"UPDATE operators SET password_hash = '{stored}' WHERE email = '{email}'")
        answer = self.login(email, "sunshine")
        self.promise(f"a short password of an older release logs in ({answer.status})",
                     answer.status == 200 and answer.json["must_change_password"] is True)
        old = {"Authorization": f"Bearer {answer.json['token']}"}
        found = self.ask("GET", "/api/v1/auth/me", **old)
        self.promise("and allows nothing but its change",
                     (found.status, found.json["type"]) == (403, "urn:chirrup:problem:password_change_required"))
        fresh = f"violet {uuid.uuid4().hex}"
        found = self.ask("POST", "/api/v1/auth/password", {"current": "sunshine", "new": fresh}, **old)
        again = self.login(email, fresh)
        self.promise("after which the account works",
                     (found.status, again.status, again.json["must_change_password"]) == (204, 200, False))

    def sessions(self) -> None:
        """A login that is ended elsewhere: after the answer nothing is read or written with it."""
        email, password = self.account("admin")
        firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:141.0) Gecko/20100101 Firefox/141.0"
        stolen = self.login(email, password, "127.0.9.30", **{"User-Agent": firefox})
        own = self.login(email, password, "127.0.9.31", **{"User-Agent": "curl/8.5.0"})
        mine = {"Authorization": f"Bearer {own.json['token']}"}
        theirs = {"Authorization": f"Bearer {stolen.json['token']}"}
        listed = self.ask("GET", "/api/v1/auth/sessions", **mine).json["sessions"]
        self.promise(f"both logins are listed ({[row['device'] for row in listed]})", [
            (row["device"], row["current"]) for row in listed] == [("curl", True), ("Firefox on Linux", False)])
        conversation, told, closed = self.talk(stolen.json["token"])
        answer = self.ask("DELETE", f"/api/v1/auth/sessions/{listed[1]['id']}", **mine)
        count = self.sql(f"SELECT count(*) FROM chats WHERE session_id = '{conversation}'")
        rest = self.ask("GET", "/api/v1/auth/me", **theirs).status
        cookie = {"Cookie": f"chirrup_session={stolen.cookies['chirrup_session']}", "Sec-Fetch-Site": "same-origin"}
        renewed = self.ask("POST", "/api/v1/auth/token", **cookie).status
        again = self.hello(stolen.json["token"])
        closed.wait(30)
        self.promise(f"the ended login was used until then ({len(told)} messages)", len(told) > 5)
        self.promise(f"its token and its cookie open nothing ({answer.status}, {rest}, {renewed}, {again})",
                     (answer.status, rest, renewed, again) == (204, 401, 401, 4204))
        time.sleep(1)
        later = self.sql(f"SELECT count(*) FROM chats WHERE session_id = '{conversation}'")
        self.promise(f"its connection is closed ({told[-1]}), and nothing was stored after the answer",
                     told[-1] == 4204 and count == later)
        self.promise("the other login stays", self.ask("GET", "/api/v1/auth/me", **mine).status == 200)
        self.login(email, "a wrong one", "127.0.9.32")
        rows = self.ask("GET", "/api/v1/admin/audit-log?limit=20", **mine).json["audit_log"]
        found = [row["action"] for row in rows if row["action"].startswith("login.")][:4]
        self.promise(f"the audit log has it ({found})",
                     found == ["login.failed", "login.ended", "login.succeeded", "login.succeeded"])
        log = Path(self.options.log).read_text()
        lines = [line for line in log.splitlines() if " login." in line]
        self.promise("so has the structured log, without secrets",
                     all(any(f" {name} " in line for line in lines) for name in (
                         "login.succeeded", "login.failed", "login.ended", "login.limited"))
                     and any("peer=127.0.9.32" in line and "reason=password" in line for line in lines)
                     and not any(secret in log for secret in (
                         password, own.json["token"], own.cookies["chirrup_session"])))
        third = self.login(email, password, "127.0.9.33")
        ended = self.ask("POST", "/api/v1/auth/sessions/end-others", **mine)
        gone = self.ask("GET", "/api/v1/auth/me", Authorization=f"Bearer {third.json['token']}").status
        stays = self.ask("GET", "/api/v1/auth/me", **mine).status
        self.promise(f"all others end at once ({ended.json}, {gone}, {stays})",
                     (ended.status, ended.json, gone, stays) == (200, {"ended": 1}, 401, 200))

    def talk(self, token: str) -> tuple[str, list, threading.Event]:
        """Sends messages on a connection of its own until it is closed: the conversation, the acknowledgements and
        at last the close code, and the end."""
        key = self.sql("SELECT public_key FROM workspaces WHERE name = 'demo'")
        conversation = self.ask("POST", "/api/v1/widget/token", {"workspace": key}).json["session"]
        claimed = self.ask("POST", f"/api/v1/admin/live-chat/conversations/{conversation}/claim",
                           Authorization=f"Bearer {token}")
        socket = self.socket()
        socket.send(json.dumps({"type": "hello", "ref": 1, "token": token,
                                "subscribe": [{"session": conversation, "tail": 1, "ref": 2}]}))
        if claimed.status != 200 or json.loads(socket.recv(30))["type"] != "welcome":
            raise Failure("a login that holds is not welcome")
        found: list = []
        closed = threading.Event()

        def run() -> None:
            try:
                while True:
                    socket.send(json.dumps({"type": "send", "ref": 3, "session": conversation,
                                            "id": str(uuid.uuid4()), "body": "still here"}))
                    while json.loads(socket.recv(30))["type"] != "ack":
                        pass
                    found.append("ack")
                    time.sleep(0.05)
            except ConnectionClosed as end:
                found.append(end.rcvd.code if end.rcvd else None)
            closed.set()

        threading.Thread(target=run, daemon=True).start()
        while len(found) < 6 and not closed.is_set():
            time.sleep(0.05)
        return conversation, found, closed

    def hello(self, token: str) -> int:
        """The close code of a connection with a token that opens nothing; 0: it is welcome."""
        socket = self.socket()
        socket.send(json.dumps({"type": "hello", "ref": 1, "token": token}))
        try:
            while json.loads(socket.recv(30))["type"] != "welcome":
                pass
        except ConnectionClosed as end:
            return end.rcvd.code
        return 0

    def socket(self):
        url = self.options.base_url.replace("http", "ws", 1) + "/api/v1/ws"
        return self.sockets.enter_context(connect(url, subprotocols=["chirrup.v1"]))

    def command_line(self) -> None:
        """Changes of rights by the command line are in the audit log as well."""
        email, password = self.account()
        self.command("operator", "disable", "--email", email)
        refused = self.login(email, password).status
        self.command("operator", "enable", "--email", email)
        found = self.sql("SELECT string_agg(action || ' ' || details, ', ' ORDER BY id) FROM audit_log WHERE actor = "
                         f"'command' AND target_id = (SELECT id FROM operators WHERE email = '{email}')")
        self.promise(f"the command line's changes are in the audit log ({found})", refused == 401 and found == (
            'member.added {"role": "agent"}, member.changed {"disabled": true}, member.changed {"disabled": false}'))

    def sql(self, text: str) -> str:
        done = subprocess.run([self.options.psql, self.options.database, "-AtXqc", text], check=True,
                              capture_output=True, text=True)
        return done.stdout.strip()


def begin(test: type[SignIn], words: str | None) -> int:
    parser = argparse.ArgumentParser(description=words)
    for name in ("base-url", "database", "psql", "chirrup", "log"):
        parser.add_argument(f"--{name}", required=True)
    try:
        test(parser.parse_args()).run()
    except Failure:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(begin(SignIn, __doc__))
