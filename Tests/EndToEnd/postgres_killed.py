"""Kills PostgreSQL with SIGKILL at commits of `up`: see postgres_killed.sh."""

import argparse
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from shapes import Shape, World, moments
from wire import Gate, Proxy

NAMES = ["plain", "guide_half", "line_plain"]


def kill_server(world, start):
    """SIGKILL to the postmaster; its children notice and end. Then it starts, and recovers."""
    with open(world.server + "/data/postmaster.pid", encoding="utf-8") as file:
        lines = file.read().split("\n")
    pid = int(lines[0])
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True).stdout.split()
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 60
    while any(os.path.exists(f"/proc/{child}") for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--reset-env"] if os.getuid() == 0 else []
    options = f"-k {world.server} -c listen_addresses=''"
    subprocess.run([*user, *shlex.split(start), "--options", options], check=True, timeout=120, cwd=world.server)


def run_until(world, database, gate, kill):
    folder = tempfile.mkdtemp(prefix="p", dir=world.folder)
    proxy = Proxy(folder, world.server, gate)
    process = subprocess.Popen([world.chirrup, "migrate", "up", "--database-url", world.url(database, host=folder)],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not gate.reached.wait(0.01):
        pass
    if process.poll() is None:
        kill()
        proxy.close()
        return process.wait(60)
    proxy.close()
    return None


def main():
    parser = argparse.ArgumentParser()
    for name in ("server", "chirrup", "start"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    world = World(options.server, options.chirrup, False)
    for name in NAMES:
        shape = Shape(name)
        world.load(shape)
        before = world.dumps(name)
        whole = world.copy(name, name + "__whole")
        count = Gate()
        assert world.through_gate(whole, count, "up") == 0
        expected = world.state(whole)
        world.drop(whole)
        for number, is_before in moments(count.commits, 2):
            trial = world.copy(name, name + "__trial")
            code = run_until(world, trial, Gate(number, is_before), lambda: kill_server(world, options.start))
            assert code == 4, f"{name}: up ends with {code} when PostgreSQL is killed at commit {number}"
            second = world.copy(trial, name + "__trial2")
            code, text = world.migrate(trial, "up")
            assert code == 0, text
            assert world.state(trial) == expected, f"{name}: another state after commit {number} of {count.commits}"
            code, text = world.migrate(second, "down", "--to", "none", "--yes")
            assert code == 0, text
            assert world.dumps(second) == before, f"{name}: another dump after commit {number} of {count.commits}"
            world.drop(trial, second)
            print(f"{name}: killed at commit {number} of {count.commits}")
        world.drop(name)
    return 0


sys.exit(main())
