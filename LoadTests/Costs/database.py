#!/usr/bin/env python3
"""What a login that owns nothing, and the row security that binds it, cost PostgreSQL for a message.

PostgreSQL runs under Callgrind, and a gateway writes messages one after the other with three logins: a superuser; one
that owns nothing (config/DATABASE.md) with BYPASSRLS, so that no policy is added to its statements; the same without
BYPASSRLS. Counted are the instructions of the PostgreSQL process that stores the messages. A connection's first
messages cost more, since its statements are planned; so each login is counted with FEW and with MANY messages, and the
difference is the cost of the messages between.
"""

import argparse
import os
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from stage import BINARY, Stage  # noqa: E402
from scenes import Stream, command, connect_chat  # noqa: E402

FEW, MANY = 60, 160
LOGINS = {"a superuser": "chirrup", "an unbound login": "chirrup_free", "a bound login": "chirrup_app"}
ROLES = """
CREATE ROLE chirrup_reader NOLOGIN;
CREATE ROLE chirrup_gateway NOLOGIN NOINHERIT IN ROLE chirrup_reader;
CREATE ROLE chirrup_app LOGIN IN ROLE chirrup_gateway;
CREATE ROLE chirrup_free LOGIN BYPASSRLS IN ROLE chirrup_gateway;
"""
#: Only batches of messages end with these statements: under locks, and fenced.
WRITER = ("SELECT pid FROM pg_stat_activity WHERE usename = '{}' "
          "AND (query = 'COMMIT' OR left(query, 10) = 'WITH moved')")


def write(stage, login, count):
    """The process of PostgreSQL that has stored `count` messages."""
    stage.cluster.login = login
    gateway = stage.start({"CHIRRUP_MIGRATIONS_URL": stage.owner})
    visitor, operator = gateway.token("visitor"), gateway.token("operator")
    chats = [connect_chat(gateway, account=account, session=visitor["session"], tail=1)
             for account in (visitor, operator)]
    for chat in chats:
        chat.until("live", within=120)
    streams = [Stream(chat.peer) for chat in chats]
    for _ in range(count):
        streams[0].send(command(visitor["session"], "x" * 128))
        streams[0].take_marks(ack=1, message=1)
        streams[1].take_marks(message=1)
        # A connection may send 20 messages a second.
        time.sleep(0.05)
    found = stage.cluster.query(WRITER.format(login))
    if len(found) != 1:
        raise SystemExit(f"not one process of {login} stores messages, but {found}")
    gateway.stop()
    return found[0][0]


def instructions(path):
    with open(path) as file:
        for line in file:
            if line.startswith("summary:"):
                return int(line.split()[1])
    raise SystemExit(f"Callgrind has not finished {path}")


def run(binary):
    with Stage(binary) as stage:
        cluster = stage.cluster
        stage.owner = cluster.url("postgres")
        cluster.query(ROLES)
        # New statistics would have statements planned again.
        cluster.query("ALTER SYSTEM SET autovacuum = off")
        stage.start({})
        stage.gateway.stop()
        cluster.process.send_signal(signal.SIGINT)
        cluster.process.wait(120)
        counts = os.path.join(cluster.folder, "counts")
        os.mkdir(counts)
        os.chmod(counts, 0o777)
        # Each connection's process writes a file of its own when it ends.
        cluster.launch("valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={counts}/%p")
        processes = {name: [write(stage, login, count) for count in (FEW, MANY)] for name, login in LOGINS.items()}
        cluster.process.send_signal(signal.SIGINT)
        cluster.process.wait(120)
        return {name: [instructions(os.path.join(counts, process)) for process in found]
                for name, found in processes.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=BINARY, help="a release build of the gateway")
    options = parser.parse_args()
    costs = {}
    for name, (few, many) in run(options.binary).items():
        costs[name] = (many - few) / (MANY - FEW)
        print(f"{name:17} {costs[name]:12,.0f} instructions a message; {FEW} messages {few:,}, {MANY} {many:,}")
    superuser, unbound, bound = costs.values()
    print(f"the checks of privileges, which a superuser does not have, cost {100 * (unbound / superuser - 1):+.1f} %")
    print(f"row security costs {100 * (bound / unbound - 1):+.1f} %")


if __name__ == "__main__":
    main()
