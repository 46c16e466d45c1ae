"""The gateway under test: the real binary as a process, with its metrics, log, descriptors and memory."""

import ctypes
import fcntl
import json
import os
import re
import resource
import signal
import socket
import struct
import subprocess
import threading
import time

from . import openssl
from .chat import Chat
from .peer import Failure, Peer
from .ports import free_port

#: Profiles: arguments and settings (as environment) of the gateways that rows ask for.
PROFILES = {
    "plain": (["--debug-echo"], {}),
    # Without the echo, as in production.
    "production": ([], {}),
    # The same, and TLS on another port.
    "tls": (["--debug-echo"], {}),
    # The same with records of TLS 1.3 that the gateway seals itself.
    "compact": (["--debug-echo"], {"CHIRRUP_TLS_COMPACT_RECORDS": "true"}),
    # In a network namespace of its own, whose only interface can be taken down.
    "isolated": (["--debug-echo"], {}),
    # With a PostgreSQL of its own, both anew for each row (harness/stage.py).
    "stage": ([], {}),
    # With a database of its own, which can be taken away.
    "alone": (["--debug-echo"], {}),
    # Small limits, which do not concern the harness itself: it comes from 127.0.0.1, rows from other addresses.
    "limits": (["--debug-echo"], {
        "CHIRRUP_LIMITS_CONNECTIONS": "60", "CHIRRUP_LIMITS_CONNECTIONS_PER_ADDRESS": "10",
        "CHIRRUP_LIMITS_CONNECTS_PER_ADDRESS": "40", "CHIRRUP_LIMITS_HELLOS_PER_ADDRESS": "8",
        "CHIRRUP_LIMITS_TOKENS_PER_ADDRESS": "6", "CHIRRUP_LIMITS_CONNECTIONS_PER_VISITOR": "3",
        "CHIRRUP_LIMITS_EXEMPT_ADDRESSES": "127.0.0.1"}),
    # Behind proxies at 127.0.0.8, with and without the PROXY protocol.
    "proxied": (["--debug-echo"], {
        "CHIRRUP_TRUSTED_PROXIES": "127.0.0.8", "CHIRRUP_LIMITS_CONNECTIONS_PER_ADDRESS": "5",
        "CHIRRUP_LIMITS_EXEMPT_ADDRESSES": "127.0.0.1"}),
    "proxyheader": (["--debug-echo"], {
        "CHIRRUP_TRUSTED_PROXIES": "127.0.0.8", "CHIRRUP_PROXY_PROTOCOL": "true",
        "CHIRRUP_LIMITS_CONNECTIONS_PER_ADDRESS": "5", "CHIRRUP_LIMITS_EXEMPT_ADDRESSES": "127.0.0.1"}),
    # Only pages of some sites.
    "origins": (["--debug-echo"], {
        "CHIRRUP_ALLOWED_ORIGINS": "https://good.com,http://shop.example:8080,https://xn--bcher-kva.example"}),
    "required": (["--debug-echo"], {"CHIRRUP_ALLOWED_ORIGINS": "https://good.com", "CHIRRUP_REQUIRE_ORIGIN": "true"}),
}

#: The time limits of a start and an end in seconds, on a busy machine.
START_SECONDS, STOP_SECONDS = 180, 60

FIGURE = re.compile(r"^(\w+)(?:\{(.*)\})? (\S+)$")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


class Gateway:
    """A gateway process: its start and end, its requests, and the figures that a row compares."""

    def __init__(self, binary, cluster, folder, profile, name):
        self.binary, self.cluster, self.profile, self.name = binary, cluster, profile, name
        self.log = os.path.join(folder, f"{name}.log")
        self.database = "postgres"
        self.process = None
        self.tokens_left = {"visitor": [], "operator": []}
        self.secrets = set()
        #: The arguments that admit the WebSockets of the harness.
        self.headers = []
        #: Variables besides those of its profile.
        self.environment = {}
        self.lock = threading.Lock()
        with open(binary, "rb") as file:
            self.is_sanitized = b"__asan_init" in file.read()

    def start(self):
        if self.profile == "isolated":
            enter_namespace()
        if self.profile == "alone":
            self.database = "alone"
            self.cluster.query("CREATE DATABASE alone")
        arguments, settings = PROFILES[self.profile]
        if self.profile in ("tls", "compact"):
            arguments = [*arguments, *self.prepare_tls()]
        self.address = ("127.0.0.1", free_port())
        environment = {key: value for key, value in os.environ.items() if not key.startswith("CHIRRUP_")}
        environment |= settings | {"SWIFT_BACKTRACE": "enable=no", "CHIRRUP_ADMIN_LISTEN": "listen", "CHIRRUP_DEMO_CONTENT": "false", "ASAN_OPTIONS": "detect_leaks=0"} | self.environment
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--demo", "--log-level", "debug", "--drain-seconds", "0", "--listen",
                 f"127.0.0.1:{self.address[1]}", "--database-url", self.cluster.url(self.database), *arguments],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True)
        self.pid = self.process.pid
        if self.profile == "required":
            self.headers = [("Origin", f"http://127.0.0.1:{self.address[1]}")]
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.get("/readyz").status == 200:
                    return
            except (OSError, Failure):
                pass
            time.sleep(0.05)
        raise SystemExit(f"the gateway does not start, see {self.log}: {' | '.join(self.last_lines(5))}")

    def prepare_tls(self):
        """Creates certificates of localhost and of second.example. Returns the arguments that name them."""
        if not openssl.is_available:
            raise PermissionError(0, "the openssl command makes its certificates")
        folder = os.path.dirname(self.log)
        made = [openssl.make_certificate(folder, f"{self.name}-{host}", host) for host in ("localhost", "second.example")]
        self.certificates, self.keys = zip(*made)
        self.tls_address = ("127.0.0.1", free_port())
        return ["--tls-listen", f"127.0.0.1:{self.tls_address[1]}", "--tls-certificates", ",".join(self.certificates),
                "--tls-keys", ",".join(self.keys)]

    def stop(self):
        """Sends SIGTERM and returns the exit status."""
        if not self.process or self.process.poll() is not None:
            return self.process.returncode if self.process else 0
        self.process.send_signal(signal.SIGCONT)
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()

    def last_lines(self, count):
        """Returns the end of its log."""
        with open(self.log, "rb") as file:
            file.seek(max(0, os.path.getsize(self.log) - 16_384))
            return file.read().decode(errors="replace").splitlines()[-count:]

    @property
    def is_alive(self):
        return self.process.poll() is None

    # Requests

    def get(self, path, within=30, **options):
        return self.ask("GET", path, within=within, **options)

    def ask(self, method, path, headers=(), body=None, within=30, source=None):
        """Sends one request on a separate connection; `body` is sent as JSON."""
        peer = Peer(self.address, within, source=source)
        lines = [f"{method} {path} HTTP/1.1", f"Host: {peer.host}", "Connection: close"]
        lines += [f"{name}: {value}" for name, value in headers]
        data = b"" if body is None else json.dumps(body).encode()
        if body is not None:
            lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
        try:
            peer.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + data)
            return peer.response(within, head=method == "HEAD")
        finally:
            peer.close()

    def command(self, *arguments):
        """Runs a command of the binary on this gateway's database, and returns its output."""
        done = subprocess.run(
            [self.binary, *arguments, "--database-url", self.cluster.url(self.database)], stdout=subprocess.PIPE,
            stdin=subprocess.DEVNULL, check=True,
            env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0", "SWIFT_BACKTRACE": "enable=no"})
        return [json.loads(line) for line in done.stdout.decode().splitlines() if line.startswith("{")]

    def metrics(self):
        response = self.get("/metrics")
        if response.status != 200:
            raise Failure(f"/metrics answers {response.status}")
        figures = {}
        for line in response.body.decode().splitlines():
            if line.startswith("#") or not line:
                continue
            name, labels, value = FIGURE.match(line).groups()
            # A frozen set of pairs that also answers get().
            figures[(name, Labels(LABEL.findall(labels or "")))] = float(value)
        return figures

    def figure(self, name):
        return sum(value for (found, _), value in self.metrics().items() if found == "chirrup_" + name)

    # Data of the kernel

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def lasting_descriptors(self):
        """Returns their number as if the connection for expensive statements was open. Upkeep opens it at some time,
        with a thread, and it stays."""
        tasks = f"/proc/{self.pid}/task"
        names = []
        for task in os.listdir(tasks):
            try:
                with open(f"{tasks}/{task}/comm") as file:
                    names.append(file.read().strip())
            except FileNotFoundError:
                continue  # ended meanwhile
        return self.descriptors() + (0 if "readers" in names else 1)

    def inheritable(self):
        """Returns the descriptors that a started program would inherit (no FD_CLOEXEC), except the standard ones."""
        found = []
        for number in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                target = os.readlink(f"/proc/{self.pid}/fd/{number}")
                with open(f"/proc/{self.pid}/fdinfo/{number}") as file:
                    flags = next(int(line.split()[1], 8) for line in file if line.startswith("flags:"))
            except FileNotFoundError:
                continue  # closed meanwhile
            if int(number) > 2 and not flags & os.O_CLOEXEC:
                found.append(f"{number} ({target})")
        return found

    def threads(self):
        return len(os.listdir(f"/proc/{self.pid}/task"))

    def thread_names(self):
        """Returns the names of its threads, the first thread's first."""
        names = []
        # Not by number alone: the kernel's numbers start again at the bottom.
        threads = map(int, os.listdir(f"/proc/{self.pid}/task"))
        for thread in sorted(threads, key=lambda number: (number != self.pid, number)):
            try:
                with open(f"/proc/{self.pid}/task/{thread}/comm") as file:
                    names.append(file.read().strip())
            except OSError:
                pass  # it has ended
        return names

    def memory(self):
        """Returns the anonymous resident bytes: allocated memory, without the pages of the program."""
        with open(f"/proc/{self.pid}/smaps_rollup") as file:
            for line in file:
                if line.startswith("Anonymous:"):
                    return int(line.split()[1]) * 1024
        raise Failure("the kernel reports no Anonymous memory")

    def processor_seconds(self):
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def limit_descriptors(self, count):
        soft, hard = resource.prlimit(self.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(self.pid, resource.RLIMIT_NOFILE, (count, hard))
        return soft

    def leave_no_descriptor(self):
        """Lowers the limit to the lowest free number, since the kernel limits the numbers. Returns the limit before."""
        used = {int(number) for number in os.listdir(f"/proc/{self.pid}/fd")}
        return self.limit_descriptors(next(number for number in range(len(used) + 1) if number not in used))

    # Credentials

    def token(self, role, lifetime=None, count=20):
        """Returns a token of `chirrup token`, with its session (visitors) or its operator."""
        with self.lock:
            if lifetime is None and self.tokens_left[role]:
                return self.tokens_left[role].pop()
            made = self.make_tokens(role, lifetime or 86400, 1 if lifetime else count)
            if lifetime is None:
                self.tokens_left[role] = made[1:]
            return made[0]

    def make_tokens(self, role, lifetime=86400, count=1, workspace="demo", email=None):
        made = self.command("token", role, "--workspace", workspace, "--count", str(count), "--lifetime", str(lifetime),
                            *(["--email", email] if email else []))
        self.secrets |= {item["token"].encode() for item in made}
        self.secrets |= {item["token"].rpartition(".")[2].encode() for item in made}
        return made


class Labels(tuple):
    """The label pairs of one figure."""

    def __new__(cls, pairs):
        return super().__new__(cls, sorted(pairs))

    def get(self, name):
        return dict(self).get(name)


def enter_namespace():
    """Moves the calling thread, and the processes it starts, into a network with a loopback interface only."""
    if ctypes.CDLL(None, use_errno=True).unshare(0x40000000):
        raise PermissionError(ctypes.get_errno(), "no permission for a network namespace")
    set_loopback(True)


def set_loopback(is_up):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, 0x8914, struct.pack("16sH14x", b"lo", 1 if is_up else 0))


def connect_chat(gateway, role="visitor", account=None, session=None, after=None, tail=None, **options):
    """Returns a chat client that has sent hello, with `.account` and `.session`."""
    account = account or gateway.token(role)
    peer = Peer(gateway.address, **options)
    peer.upgrade("/api/v1/ws", [("Sec-WebSocket-Protocol", "chirrup.v1"), *gateway.headers])
    chat = Chat(peer)
    chat.account = account
    chat.session = session or account.get("session")
    chat.welcome = chat.hello(account["token"], chat.session, after, tail)
    return chat
