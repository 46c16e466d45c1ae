#!/usr/bin/env python3
"""The gateway's instructions for a heartbeat of a visitor who only watches.

A release gateway with one loop runs under Callgrind, and gets heartbeats as Chromium sends them: each on a connection
of its own, and on connections that stay open. All threads count. What the gateway executes without heartbeats is
measured before and subtracted. The kernel's part, which Callgrind does not see, is in the processor time of
LoadTests/watching.sh.
"""

import argparse
import json
import os
import socket
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from stage import BINARY, Stage  # noqa: E402
from thresholds import Thresholds  # noqa: E402

COLUMNS = ("instructions",)
#: Heartbeats of a count; as many are sent before, so that caches are full.
HEARTBEATS = 600
#: One for each heartbeat of a count: all of a run stay within the 20 that one browser may send at once
#: (WatchTable.Limits.burst), however fast the machine is.
BROWSERS = HEARTBEATS
IDLE_SECONDS = 5

WATCH = """INSERT INTO system_settings (workspace_id, key, value) SELECT id, 'watching', '{"enabled":true}' FROM workspaces
    ON CONFLICT (workspace_id, key) DO UPDATE SET value = excluded.value"""


def request(key, number, full):
    body = {"workspace": key, "secret": f"visitor-{number:08}-{'x' * 12}", "tab": "a", "state": "here"}
    if full:
        body["visit"] = {"age": 5, "pages": 1, "visits": 1, "referrer": "https://search.example/",
                         "trail": [{"page": f"https://shop.example/item/{number}", "title": "A shop", "age": 5}]}
    data = json.dumps(body, separators=(",", ":"))
    return (f"POST /api/v1/widget/visit HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: keep-alive\r\n"
            f"Content-Length: {len(data)}\r\nsec-ch-ua-platform: \"Linux\"\r\nAccept-Language: de-CH,de;q=0.9\r\n"
            "sec-ch-ua: \"Chromium\";v=\"130\", \"Not?A_Brand\";v=\"99\"\r\nContent-Type: text/plain;charset=UTF-8\r\n"
            "sec-ch-ua-mobile: ?0\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)"
            " Chrome/130.0.0.0 Safari/537.36\r\nAccept: */*\r\nOrigin: https://shop.example\r\n"
            "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: cors\r\nSec-Fetch-Dest: empty\r\n"
            f"Referer: https://shop.example/\r\nAccept-Encoding: gzip, deflate, br\r\n\r\n{data}").encode()


def beat(stream, key, number, full=False):
    stream.sendall(request(key, number, full))
    answer = b""
    while not answer.endswith(b"}"):
        part = stream.recv(65_536)
        if not part:
            break
        answer += part
    if not answer.startswith(b"HTTP/1.1 200") or b'"enabled":true' not in answer:
        raise SystemExit(f"a heartbeat is answered with {answer[:400]!r}")


def separate(gateway, key, count, full=False):
    for number in range(count):
        with socket.create_connection(gateway.address) as stream:
            beat(stream, key, number % BROWSERS, full)


def kept(gateway, key, count):
    streams = [socket.create_connection(gateway.address) for _ in range(10)]
    for number in range(count):
        beat(streams[number % len(streams)], key, number % BROWSERS)
    for stream in streams:
        stream.close()


KINDS = {"new-connection": separate, "kept-connection": kept}


def count(binary, keep):
    """The instructions of a heartbeat of each kind."""
    with Stage(binary) as stage:
        counts, program, wrapper = (os.path.join(stage.folder, name) for name in ("counts", "program", "wrapper"))
        # Valgrind does not read the debug information of every compiler.
        subprocess.run(["objcopy", "--strip-debug", "--remove-section=.gnu_debuglink", binary, program], check=True)
        with open(wrapper, "w") as file:
            file.write("#!/bin/sh\nexec valgrind --quiet --tool=callgrind --compress-strings=no --compress-pos=no "
                       f"--callgrind-out-file={counts} {program} \"$@\"\n")
        os.chmod(wrapper, 0o755)
        stage.binary = wrapper
        # With random seeds of hashing, collisions would vary the number of instructions.
        gateway = stage.start({"CHIRRUP_LIMITS_EXEMPT_ADDRESSES": "127.0.0.1", "SWIFT_DETERMINISTIC_HASHING": "1"})
        stage.cluster.query(WATCH)
        key = stage.cluster.query("SELECT public_key FROM workspaces LIMIT 1")[0][0]
        parts = 0

        def measure(action):
            """The instructions since the last dump and the seconds that the action took."""
            nonlocal parts
            parts += 1
            begin = time.monotonic()
            action()
            seconds = time.monotonic() - begin
            subprocess.run(["callgrind_control", "--dump", str(gateway.pid)], check=True, stdout=subprocess.DEVNULL)
            return total(f"{counts}.{parts}"), seconds

        time.sleep(3)  # SettingsCache.secondsMax
        separate(gateway, key, BROWSERS, full=True)
        measure(lambda: separate(gateway, key, HEARTBEATS))
        idle, seconds = measure(lambda: time.sleep(IDLE_SECONDS))
        rest = idle / seconds
        print(f"without heartbeats: {rest / 1e6:.1f} million instructions per second")
        found = {}
        for name, send in KINDS.items():
            measure(lambda: send(gateway, key, HEARTBEATS))
            all_of, seconds = measure(lambda: send(gateway, key, HEARTBEATS))
            found[name] = {"instructions": (all_of - rest * seconds) / HEARTBEATS}
            if keep:
                os.replace(f"{counts}.{parts}", f"{keep}.{name}")
        return found


def total(path):
    with open(path) as file:
        return next(int(line.split()[1]) for line in file if line.startswith(("totals:", "summary:")))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=BINARY, help="the gateway")
    parser.add_argument("--keep", help="keep the profiles, for callgrind_annotate, as files whose names begin with this")
    parser.add_argument("--record", action="store_true", help="record the counts as the new thresholds")
    options = parser.parse_args()
    thresholds = Thresholds(os.path.join(HERE, "heartbeats.txt"), COLUMNS, share=0.1, least=0)
    found = count(options.binary, options.keep)
    if options.record:
        thresholds.record(found)
    raise SystemExit(thresholds.judge(found))


if __name__ == "__main__":
    main()
