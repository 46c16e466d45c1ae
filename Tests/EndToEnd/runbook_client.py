"""A client for the situations of the runbook; what it says is what the page quotes as `answer`.

runbook_client.py say URL VISITOR TEXT: one message; prints its outcome.
runbook_client.py fill URL VISITOR: long messages until PostgreSQL takes no more; prints the refusal.
runbook_client.py flood URL VISITOR: more messages than are allowed; prints the refusal, then the end of the connection.
runbook_client.py hold URL TOKENS: stays connected with a visitor's or an operator's token; prints the end.
runbook_client.py crowd HOST PORT COUNT: so many idle connections until the end of standard input.
runbook_client.py enrol URL EMAIL PASSWORD: sets an app up as the second factor of an account; prints its secret.
runbook_client.py login URL EMAIL PASSWORD [CODE]: prints the status and the answer of the last step.
runbook_client.py receive PORT: takes every webhook, until it is ended.
TOKENS are a line of `chirrup token`.
"""

import asyncio
import http.server
import json
import secrets
import socket
import sys
import urllib.error
import urllib.request
import uuid

import pyotp
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

LIMIT_SECONDS = 60
# Of a situation as a whole: the end comes from the test.
HOLD_SECONDS = 300
LONG_CHARACTERS = 12_000


class Client:
    def __init__(self, socket, tokens):
        self.socket, self.tokens, self.waiting = socket, tokens, []

    async def say(self, **command):
        await self.socket.send(json.dumps(command))

    async def until(self, *kinds):
        while True:
            while not self.waiting:
                message = await asyncio.wait_for(self.socket.recv(), LIMIT_SECONDS)
                self.waiting = [json.loads(line) for line in message.split("\n")]
            frame = self.waiting.pop(0)
            if frame["type"] in kinds:
                return frame

    async def hello(self):
        session = self.tokens.get("session")
        # The messages of the past are of no interest.
        subscribe = [{"session": session, "tail": 0}] if session else []
        await self.say(type="hello", ref="h", token=self.tokens["token"], subscribe=subscribe)
        await self.until("welcome")
        if session:
            await self.until("live")
        else:
            await self.say(type="available", ref="a", available=True)
            await self.until("ok")

    async def send(self, body):
        await self.say(type="send", ref="s", session=self.tokens["session"], id=str(uuid.uuid4()), body=body)

    async def outcome(self):
        frame = await self.until("ack", "error")
        return "ack" if frame["type"] == "ack" else f"{frame['code']}: {frame['message']}"


async def converse(mode, url, tokens, text):
    async with connect(url, subprotocols=["chirrup.v1"]) as opened:
        client = Client(opened, tokens)
        try:
            await client.hello()
            if mode == "say":
                await client.send(text)
                print(await client.outcome(), flush=True)
            elif mode == "fill":
                while True:
                    await client.send(secrets.token_hex(LONG_CHARACTERS // 2))
                    if (outcome := await client.outcome()) != "ack":
                        print(outcome, flush=True)
                        return
                    # Below the rate of a visitor.
                    await asyncio.sleep(0.05)
            elif mode == "flood":
                refused = "ack"
                while refused == "ack":
                    for _ in range(16):
                        await client.send("buy")
                    outcomes = [await client.outcome() for _ in range(16)]
                    refused = next((outcome for outcome in outcomes if outcome != "ack"), "ack")
                print(refused, flush=True)
            if mode in ("flood", "hold"):
                print("open", flush=True)
                async with asyncio.timeout(HOLD_SECONDS):
                    while True:
                        await opened.recv()
        except ConnectionClosed as closed:
            print(f"closed {closed.rcvd.code if closed.rcvd else 1006}", flush=True)


def crowd(host, port, count):
    sockets = []
    for _ in range(count):
        sockets.append(socket.create_connection((host, port), timeout=LIMIT_SECONDS))
    print("open", flush=True)
    sys.stdin.read()


def post(url, path, body, token=None):
    """The status and the JSON of the answer."""
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(url + path, json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request, timeout=LIMIT_SECONDS) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code, json.load(error)


def log_in(url, email, password, code=None):
    status, answer = post(url, "/api/v1/auth/login", {"email": email, "password": password})
    if status == 200 and code and "challenge" in answer:
        body = {"challenge": answer["challenge"], "code": code}
        status, answer = post(url, "/api/v1/auth/login/code", body)
    return status, answer


def enrol(url, email, password):
    status, answer = log_in(url, email, password)
    assert status == 200, answer
    path = "/api/v1/auth/second-factor/app"
    status, app = post(url, path, {"current": password}, answer["token"])
    assert status == 200, app
    status, codes = post(url, path + "/confirm", {"code": pyotp.TOTP(app["secret"]).now()}, answer["token"])
    assert status == 200, codes
    print(app["secret"])


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


def main():
    mode, *rest = sys.argv[1:]
    if mode == "crowd":
        crowd(rest[0], int(rest[1]), int(rest[2]))
    elif mode == "enrol":
        enrol(*rest)
    elif mode == "login":
        status, answer = log_in(*rest)
        print(status, json.dumps(answer, separators=(",", ":")))
    elif mode == "receive":
        http.server.ThreadingHTTPServer(("127.0.0.1", int(rest[0])), Receiver).serve_forever()
    else:
        asyncio.run(converse(mode, rest[0], json.loads(rest[1]), rest[2] if len(rest) > 2 else ""))


if __name__ == "__main__":
    main()
