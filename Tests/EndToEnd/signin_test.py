"""Signing in, against the real gateway: who guesses is limited, and nobody locks an owner out (issue 17.2).

Started by signin.sh. Every promise is printed with its verdict; the first broken one ends the run.
"""

import argparse
import http.client
import json
import subprocess
import sys
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
        email, password = f"admin{uuid.uuid4().hex[:8]}@example.com", f"violet {uuid.uuid4().hex[:12]}"
        self.command("operator", "create", "--workspace", "demo", "--email", email, "--name", "Noa", "--role", role,
                     "--password", password, "--keep-password")
        return email, password

    def limits(self) -> None:
        email, password = self.account()
        first = self.login(email, password, "127.0.9.1")
        self.promise("a right login is taken", first.status == 200)
        found = [self.login(email, "wrong", "127.0.9.2").status for _ in range(12)]
        self.promise(f"ten guesses from one address, then 429 ({found})", found == [401] * 10 + [429] * 2)
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
