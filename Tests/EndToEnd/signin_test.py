"""Signing in, against the real gateway: who guesses is limited, and nobody locks an owner out (issue 17.2).

Started by signin.sh. Every promise is printed with its verdict; the first broken one ends the run.
"""

import argparse
import base64
import hashlib
import http.client
import json
import re
import subprocess
import sys
import time
import uuid
from urllib.parse import urlsplit


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

    def run(self) -> None:
        self.limits()
        self.passwords()

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
        """A new operator of the demo workspace: address and password."""
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

    def sql(self, text: str) -> str:
        done = subprocess.run([self.options.psql, self.options.database, "-AtXqc", text], check=True,
                              capture_output=True, text=True)
        return done.stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser()
    for name in ("base-url", "database", "psql", "chirrup"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--shots")
    try:
        SignIn(parser.parse_args()).run()
    except Failure:
        sys.exit(1)


main()
