"""One client of config/examples and the gateway that it talks to, both of which are killed. Started by examples.sh."""

import argparse
import contextlib
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

PATIENCE = 120  # seconds for a busy machine


class Relay:
    """TCP between client and gateway. While it is `deaf`, answers of the gateway are lost."""

    def __init__(self, target):
        self.target, self.deaf, self.sockets = target, False, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client, _ = self.listener.accept()
            try:
                gateway = socket.create_connection(self.target)
            except OSError:  # the gateway is down
                client.close()
                continue
            self.sockets += [client, gateway]
            threading.Thread(target=self.pump, args=(client, gateway, False), daemon=True).start()
            threading.Thread(target=self.pump, args=(gateway, client, True), daemon=True).start()

    def pump(self, source, sink, is_answer):
        with contextlib.suppress(OSError):
            while data := source.recv(65_536):
                if not (is_answer and self.deaf):
                    sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def cut(self):
        for end in self.sockets:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self.sockets.clear()


class Client:
    """The client's process, and the lines that it has printed."""

    def __init__(self, options, relay):
        self.process = subprocess.Popen(
            [*shlex.split(options.client), relay.url, options.workspace, options.state],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    def say(self, *texts):
        self.process.stdin.write("".join(f"{text}\n" for text in texts))
        self.process.stdin.flush()

    def kill(self):
        self.process.kill()
        self.process.wait()


class Gateway:
    def __init__(self, options):
        self.options = options
        self.start()

    def start(self):
        with open(self.options.log, "ab") as log:
            self.process = subprocess.Popen(shlex.split(self.options.gateway), stdout=log, stderr=log)
        until("a gateway that is ready", self.is_ready)

    def is_ready(self):
        try:
            with urllib.request.urlopen(self.options.url + "/readyz", timeout=5):
                return True
        except (OSError, urllib.error.URLError):
            assert self.process.poll() is None, "the gateway has ended"
            return False

    def kill(self):
        self.process.kill()
        self.process.wait()

    def restart(self):
        self.kill()
        self.start()


def until(what, holds):
    deadline = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"not after {PATIENCE} s: {what}")
        time.sleep(0.05)


def main(options):
    def call(method, path, body=None):
        request = urllib.request.Request(
            options.url + "/api/v1/admin/live-chat/conversations/" + session() + path,
            None if body is None else json.dumps(body).encode(),
            {"Authorization": "Bearer " + options.operator, "Content-Type": "application/json"}, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def session():
        return json.load(open(options.state))["session"]

    def outbox():
        return json.load(open(options.state))["outbox"]

    def log():
        entries, after = [], 0
        while True:
            page = call("GET", f"/messages?limit=200&after={after}")
            entries += page["messages"]
            if not page["more"]:
                return entries
            after = entries[-1]["seq"]

    def stored():
        return [entry["body"] for entry in log() if entry["sender"]["kind"] == "visitor"]

    def is_stored(expected):
        def holds():
            found = stored()
            assert found == expected[:len(found)], f"{len(found)} stored, {found[-5:]}; {len(expected)} expected, {expected[-5:]}"
            return len(found) == len(expected)
        return holds

    gateway = Gateway(options)
    place = urllib.parse.urlsplit(options.url)
    relay = Relay((place.hostname, place.port))
    client = Client(options, relay)
    try:
        said = [f"line {number}" for number in range(20)]
        client.say(*said)
        until("a visit", lambda: os.path.exists(options.state) and session())
        until("twenty lines", is_stored(said))
        call("POST", "/messages", {"body": "an answer"})
        until("the answer", lambda: any(line.endswith("operator: an answer") for line in client.lines))
        print("PASS  lines are stored in order, and an answer arrives")

        relay.deaf = True
        said += [f"unanswered {number}" for number in range(5)]
        client.say(*said[-5:])
        until("lines whose acks are lost", is_stored(said))
        relay.cut()
        relay.deaf = False
        client.say("answered")
        said.append("answered")
        until("the next line", is_stored(said))
        until("an empty outbox", lambda: not outbox())
        assert is_stored(said)(), "a line twice"
        print("PASS  lines whose acks are lost go out again under the same ids, and are stored once")

        for kill in range(3):
            more = [f"line {kill}.{number}" for number in range(30)]
            said += more
            client.say(*more)
            time.sleep(0.05 * kill)  # at another moment each time
            gateway.restart()
        until("all lines", is_stored(said))
        print("PASS  a gateway that is killed three times: every line is stored once, in order")

        gateway.kill()
        said += ["kept 1", "kept 2", "kept 3"]
        client.say(*said[-3:])
        # Lines before may still be in it: they are stored, but the gateway was killed before its answer came.
        until("an outbox", lambda: [item["body"] for item in outbox()][-3:] == said[-3:])
        last = int(client.lines[-1].split()[0])
        client.kill()
        gateway.start()
        call("POST", "/messages", {"body": "while away"})
        client = Client(options, relay)
        until("what was kept", is_stored(said))
        until("what was missed", lambda: any("while away" in line for line in client.lines))
        first = int(client.lines[0].split()[0])
        assert last <= first <= last + 1, f"printed up to {last}, then from {first} on"
        print("PASS  a client that is killed sends what it kept, and gets what it missed and nothing twice")

        client.say("x" * 20_000)
        until("a refusal", lambda: any(line.startswith("failed: ") for line in client.lines))
        assert client.lines[-1].endswith(" too_large"), client.lines[-1]
        client.say("afterwards")
        said.append("afterwards")
        until("the next line", is_stored(said))
        print("PASS  a message that cannot be stored is reported, and holds nothing up")

        client.kill()
        state = json.load(open(options.state))
        json.dump(state | {"seq": 10**6}, open(options.state, "w"))
        client = Client(options, relay)
        head = log()[-1]["seq"]
        until("the log again", lambda: client.lines and client.lines[-1].startswith(f"{head} "))
        assert client.lines[0] == "reset", client.lines[0]
        numbers = [int(line.split()[0]) for line in client.lines[1:]]
        assert numbers == list(range(numbers[0], head + 1)), f"not in order: {numbers}"
        client.say("the end")
        said.append("the end")
        until("the last line", is_stored(said))
        print("PASS  after a resync it drops its copy and reads the log again")
        gateway.process.send_signal(signal.SIGTERM)
        assert gateway.process.wait(60) == 0, "the gateway's status"
    except AssertionError as failure:
        print(f"FAIL  {failure}")
        print("\n".join(client.lines[-5:]))
        return 1
    finally:
        client.kill()
        gateway.kill()
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("url", "workspace", "operator", "state", "client", "gateway", "log"):
        parser.add_argument(f"--{name}", required=True)
    sys.exit(main(parser.parse_args()))
