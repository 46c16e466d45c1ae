"""private_database.py kill DATA URL COUNT | options DATA: what private_database.sh does to the private PostgreSQL.

kill: ends the server COUNT times, by SIGQUIT and SIGKILL in turn, each time at another moment of the load, and
measures how long /readyz is bad. options: fails if the gateway's connections have settings of libpq's variables."""

import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

# Much longer than usual (below 3 s on an idle machine), since recovery waits for the disk, which others may use.
LIMIT_SECONDS = float(os.environ.get("LIMIT_SECONDS", "30"))
GIVE_UP_SECONDS = 60.0


def postmaster(data):
    with open(f"{data}/postgres/data/postmaster.pid") as file:
        lines = file.read().split("\n")
    return int(lines[0]), lines[4]


def readiness(url):
    try:
        with urllib.request.urlopen(url + "/readyz", timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def await_readiness(url, status, since):
    while (passed := time.monotonic() - since) < GIVE_UP_SECONDS:
        if readiness(url) == status:
            return time.monotonic() - since
        time.sleep(0.01)
    sys.exit(f"/readyz is not {status} after {passed:.0f} s")


def kill(data, url, count):
    times = []
    for number in range(count):
        time.sleep(random.uniform(0.5, 1.5))
        process, _ = postmaster(data)
        begin = time.monotonic()
        os.kill(process, signal.SIGQUIT if number % 2 == 0 else signal.SIGKILL)
        await_readiness(url, 503, begin)
        times.append(await_readiness(url, 200, begin))
        if postmaster(data)[0] == process:
            sys.exit("it is the same process as before")
    print("ready again after " + " ".join(f"{value:.2f}" for value in times) + f" s, at most {max(times):.2f} s")
    slow = sum(value >= LIMIT_SECONDS for value in times)
    if slow:
        sys.exit(f"{slow} of {count} took {LIMIT_SECONDS:.0f} s or longer")


def options(data):
    _, socket = postmaster(data)
    query = """SELECT count(*) FILTER (WHERE usename = 'chirrup_gateway' AND datname = 'chirrup'), count(*)
        FROM pg_stat_activity WHERE application_name = 'chirrup'"""
    command = ["psql", "-XAtF", " ", "-h", socket, "-p", "5432", "-U", "chirrup", "-d", "chirrup", "-c", query]
    own, all_of_them = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    if own == 0 or own != all_of_them:
        sys.exit(f"{own} of {all_of_them} connections are chirrup's own")


if __name__ == "__main__":
    if sys.argv[1] == "kill":
        kill(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        options(sys.argv[2])
