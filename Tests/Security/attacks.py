"""What the attack classes share: the gateway under attack, its operations by its own OpenAPI document, existing objects
of each operation (Tests/EndToEnd/openapi_seeds.py), and the count of attacks.

An operation is attacked as soon as the document has it. One without an example in openapi_seeds.py fails.
"""

import argparse
import http.client
import json
import re
import subprocess
import sys
import urllib.parse

WRITES = ("POST", "PUT", "PATCH", "DELETE")


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): response.getheader(name) for name, _ in response.getheaders()}
        self.text = response.read().decode(errors="replace")

    def json(self):
        return json.loads(self.text)


class Gateway:
    def __init__(self, options):
        self.url = options.url
        self.host = urllib.parse.urlsplit(options.url).netloc
        self.psql, self.database, self.chirrup = options.psql, options.database, options.chirrup
        self.log = options.log
        seeds = json.load(open(options.seeds))
        self.seeds, self.examples = seeds, seeds["examples"]
        member = self.examples["PATCH /api/v1/admin/members/{id}"]["parameters"]
        console = {"Cookie": "chirrup_session=" + seeds["cookie"]}
        login = self.call("GET", "/api/v1/auth/sessions", None, console).json()["sessions"][0]["id"]
        passkey = self.sql(f"""
            INSERT INTO passkeys (operator_id, relying_party, credential_id, public_key, algorithm, sign_count, is_synced,
              name, created_at)
            VALUES ('{member["id"]}', 'localhost', sha256(gen_random_uuid()::text::bytea), '', -7, 0, false, 'seed', now())
            RETURNING id""")
        self.examples |= {
            "POST /api/v1/auth/second-factor/passkeys/{id}/remove": {
                "parameters": {"id": passkey}, "body": {"current": "correct horse"}},
            "POST /api/v1/admin/members/{id}/reset-second-factor": {"parameters": member, "body": {}},
            "DELETE /api/v1/auth/sessions/{id}": {"parameters": {"id": login}, "body": None},
        }
        self.document = self.call("GET", "/api/v1/openapi.json").json()
        self.operations = [
            (method.upper(), path, operation)
            for path, item in sorted(self.document["paths"].items())
            for method, operation in sorted(item.items())
        ]

    def call(self, method, path, body=None, headers=None):
        """One request on a connection of its own."""
        connection = http.client.HTTPConnection(self.host, timeout=60)
        try:
            text = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
            given = {"Content-Type": "application/json"} if text is not None else {}
            connection.request(method, path, text, given | (headers or {}))
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def sql(self, text):
        done = subprocess.run(
            [self.psql, self.database, "-qtAX", "-v", "ON_ERROR_STOP=1"],
            input=text, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def command(self, *arguments, text=None):
        done = subprocess.run(
            [self.chirrup, *arguments, "--database-url", self.database],
            input=text, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"chirrup {' '.join(arguments)}: {done.stderr.strip()}")
        return done.stdout.strip()

    def address(self, path, parameters=None):
        """The path with the example's objects; query parameters follow."""
        rest = dict(parameters or {})
        for name in re.findall(r"{(\w+)}", path):
            value = str(rest.pop(name, "00000000-0000-7000-8000-000000000000"))
            path = path.replace("{" + name + "}", urllib.parse.quote(value, safe=""))
        return path + ("?" + urllib.parse.urlencode(rest) if rest else "")

    def example(self, method, path):
        """The parameters and the body of an operation that succeeds; None: there is none."""
        found = self.examples.get(f"{method} {path}")
        if found is None and "{" not in path:
            return {"parameters": {}, "body": None}
        return found


#: The beginnings of paths whose requests are right by themselves, whoever sends them: by the link of an e-mail or of a
#: file, or by a platform's signature.
PROVEN = ("/api/v1/auth/password-", "/api/v1/mail/", "/api/v1/attachments/{id}", "/api/v1/channels/")


class Tally:
    """Counts the attacks of a class. Prints those that succeeded, and the sum for the table of run.sh."""

    def __init__(self, name):
        self.name, self.attacks, self.faults = name, 0, []

    def attack(self, what, held, detail=""):
        self.attacks += 1
        if not held:
            self.faults.append(f"{what}: {detail}"[:400])

    def control(self, what, works, detail=""):
        """What must work, so that the attacks could succeed. Not an attack."""
        if not works:
            self.faults.append(f"control: {what}: {detail}"[:400])

    def end(self, at_least):
        if self.attacks < at_least:
            self.faults.append(f"only {self.attacks} attacks, of {at_least}")
        for fault in self.faults[:20]:
            print("FAIL ", fault)
        print(f"RESULT {self.name}\t{self.attacks}\t{len(self.faults)}")
        sys.exit(bool(self.faults))


def arguments(doc):
    parser = argparse.ArgumentParser(description=doc)
    for name in "url", "database", "psql", "chirrup", "seeds", "owner", "log":
        parser.add_argument("--" + name, required=True)
    return parser.parse_args()


def begin(doc):
    options = arguments(doc)
    return Gateway(options), options
