"""Webhooks and identity providers in the gateway's own network (SSRF), with the whole address space on this machine: in
a network namespace, whose every address is local, a gateway sends requests to a receiver that listens at all of them.

No address that is not globally reachable may get a connection: given as a number in any notation, by a name, or by the
redirection of a public server. A public address gets its delivery.
"""

import http.client
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from attacks import Tally, arguments, begin

IPV4 = """0.0.0.0 0.1.2.3 10.0.0.1 10.255.255.255 100.64.0.1 100.100.100.200 127.0.0.1 127.1.2.3 127.255.255.255 168.63.129.16
169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255 192.0.0.1 192.0.0.192 192.0.2.1 192.168.0.1
192.168.255.255 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255""".split()
IPV6 = """:: ::1 ::7f00:1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254 ::ffff:0:7f00:1 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe
64:ff9b:1::1 100::1 2001::1 2001:db8::1 2002:7f00:1:: 2002:a00:1:: fc00::1 fd00:ec2::254 fd12::1 fe80::1 fec0::1 ff02::1""".split()
NOTATIONS = """2130706433 0x7f000001 017700000001 0177.0.0.1 0x7f.0.0.1 127.1 127.0.1 127.0.0.1. 2852039166 0xa9fea9fe 0251.0376.0251.0376
localhost LOCALHOST localhost. 8.8.8.8@127.0.0.1 %31%32%37.0.0.1 [::ffff:7f00:1] [0:0:0:0:0:0:0:1] ①27.0.0.1 127。0。0。1""".split()
NAMES = {
    "inner.test": "10.0.0.1", "loop.test": "127.0.0.1", "meta.test": "169.254.169.254", "wire.test": "168.63.129.16",
    "six.test": "fd00:ec2::254", "mapped.test": "::ffff:10.0.0.1",
}
PUBLIC, PUBLIC6 = "8.8.8.8", "2600::1"


class Receiver:
    """Listens at every address. Records which one each connection was made to; redirects if the path says where."""

    def __init__(self):
        self.reached = []
        for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            for port in 80, 443:
                listener = socket.socket(family, socket.SOCK_STREAM)
                listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == socket.AF_INET6:
                    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
                listener.bind((address, port))
                listener.listen(64)
                threading.Thread(target=self.accept, args=(listener,), daemon=True).start()

    def accept(self, listener):
        while True:
            peer, _ = listener.accept()
            self.reached.append(peer.getsockname()[0])
            threading.Thread(target=self.answer, args=(peer,), daemon=True).start()

    def answer(self, peer):
        with peer:
            peer.settimeout(5)
            try:
                line = peer.recv(65_536).split(b"\r\n")[0]
                target = re.search(rb"to=(\S+)", line)
                head = b"302 Found\r\nLocation: http://" + target[1] + b"/" if target else b"200 OK"
                peer.sendall(b"HTTP/1.1 " + head + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            except OSError:
                pass


def inside():
    """The part that runs in the namespace."""
    options = arguments(__doc__)
    tally = Tally("own network")
    database, port = os.environ["INNER_DATABASE"], 18_080
    for command in (
        "ip link set lo up", "ip route add local 0.0.0.0/0 dev lo", "ip -6 route add local ::/0 dev lo",
    ):
        subprocess.run(command.split(), check=True)
    # Names that resolve to inner addresses.
    hosts = "".join(f"{address} {name}\n" for name, address in NAMES.items()) + f"{PUBLIC} public.test\n127.0.0.1 localhost\n"
    with tempfile.NamedTemporaryFile("w", prefix="chirrup-hosts.", delete=False) as file:
        file.write(hosts)
    subprocess.run(["mount", "--bind", file.name, "/etc/hosts"], check=True)
    os.unlink(file.name)
    receiver = Receiver()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CHIRRUP_")}
    environment |= {"CHIRRUP_WEBHOOKS_RETRY_MILLISECONDS": "60000", "CHIRRUP_WEBHOOKS_TIMEOUT_SECONDS": "5",
                    "CHIRRUP_DEMO_CONTENT": "false"}
    with open(os.environ["INNER_LOG"], "w") as log:
        process = subprocess.Popen(
            [options.chirrup, "serve", "--demo", "--listen", f"127.0.0.1:{port}", "--admin-listen", "none", "--database-url", database],
            stdout=log, stderr=log, env=environment)
    try:
        attack(tally, receiver, options, database, port)
    finally:
        process.terminate()
        process.wait(60)
    tally.end(at_least=120)


def attack(tally, receiver, options, database, port):
    def call(method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        text = None if body is None else json.dumps(body).encode()
        connection.request(method, "/api/v1/" + path, text, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        return answer.status, json.loads(text) if text.startswith("{") else text

    token = ""
    for _ in range(600):
        try:
            if call("GET", "widget/config")[0] in (400, 422, 404, 200):
                break
        except OSError:
            pass
        time.sleep(0.1)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CHIRRUP_")}
    made = subprocess.run(
        [options.chirrup, "token", "operator", "--workspace", "demo", "--database-url", database],
        capture_output=True, text=True, check=True, env=environment)
    token = json.loads(made.stdout)["token"]

    def deliver(url):
        """The refusal of the URL, or the delivery's first error; None: delivered."""
        status, made = call("POST", "admin/webhooks", {"url": url})
        if status != 201:
            return f"refused {status}" if 400 <= status < 500 else f"status {status}"
        place = f"admin/webhooks/{made['webhook']['id']}"
        status, test = call("POST", place + "/test", {})
        end = time.monotonic() + 30
        while time.monotonic() < end:
            _, page = call("GET", place + "/deliveries")
            delivery = page["deliveries"][0]
            if delivery["last_error"] or delivery["status"] == "delivered":
                break
            time.sleep(0.1)
        call("DELETE", place)
        if delivery["status"] == "delivered":
            return None
        return delivery["last_error"] or f"no attempt yet: {delivery}"

    # What must work: public addresses, by number and by name.
    for host in PUBLIC, f"[{PUBLIC6}]", "public.test":
        before = len(receiver.reached)
        error = deliver(f"http://{host}/in")
        tally.control(f"a delivery to {host}", error is None and len(receiver.reached) > before, error)
    targets = IPV4 + [f"[{address}]" for address in IPV6] + NOTATIONS + list(NAMES)
    for target in targets:
        before = len(receiver.reached)
        error = deliver(f"http://{target}/in")
        tally.attack(f"http://{target}/", error is not None and receiver.reached[before:] == [], f"{error} {receiver.reached[before:]}")
    # By way of a public server.
    for target in filter(str.isascii, targets):
        before = len(receiver.reached)
        error = deliver(f"http://{PUBLIC}/?to={target}")
        reached = receiver.reached[before:]
        tally.attack(f"a redirection to {target}", error is not None and set(reached) <= {PUBLIC}, f"{error or 'delivered'} {reached}")
        tally.control(f"the public server of the redirection to {target}", PUBLIC in reached, error)
    # The address of an identity provider, which is requested at once.
    provider = {"label": "x", "client_id": "x", "client_secret": "x"}
    for host in [PUBLIC, f"[{PUBLIC6}]", *targets]:
        before = len(receiver.reached)
        status, answer = call("PUT", "admin/identity-provider", provider | {"issuer": f"https://{host}"})
        reached = receiver.reached[before:]
        if PUBLIC in host and "@" not in host or PUBLIC6 in host:
            tally.control(f"the public issuer {host} is requested", reached != [], f"{status} {answer}")
        else:
            tally.attack(f"the issuer https://{host}", status == 400 and reached == [], f"{status} {answer} {reached}")


if os.environ.get("INNER_DATABASE"):
    inside()
else:
    gateway, options = begin(__doc__)
    gateway.sql("CREATE DATABASE inner_network")
    inner = options.database.replace("@/postgres?", "@/inner_network?")
    assert inner != options.database
    log = tempfile.NamedTemporaryFile(prefix="chirrup-inner.", suffix=".log", delete=False).name
    own = [] if os.geteuid() == 0 else ["--map-root-user"]
    try:
        done = subprocess.run(
            ["unshare", *own, "--net", "--mount", sys.executable, *sys.argv],
            env=os.environ | {"INNER_DATABASE": inner, "INNER_LOG": log}, check=False)
        if done.returncode:
            print(Path(log).read_text()[-1_500:])
    finally:
        os.unlink(log)
    sys.exit(done.returncode)
