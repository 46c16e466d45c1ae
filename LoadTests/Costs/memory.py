#!/usr/bin/env python3
"""The gateway's memory for an idle connection, measured by `chirrup-load idle`."""

import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

from stage import BINARY, Stage  # noqa: E402
from thresholds import Thresholds  # noqa: E402

COLUMNS = ("bytes",)
CONNECTIONS = 4_200

#: Connections of visitors who follow their session, and connections of the echo over TLS.
KINDS = {"plain": ("ws", "chat"), "tls-echo": ("wss", "echo")}


def measure(stage, load, kind):
    """Bytes per connection. Each measurement has its own gateway, since freed memory would hide the next growth."""
    scheme, path = KINDS[kind]
    gateway = stage.start({})
    port = (gateway.tls_address if scheme == "wss" else gateway.address)[1]
    report, tokens = (os.path.join(stage.folder, f"{kind}.{name}") for name in ("json", "tokens"))
    options = []
    if path == "chat":
        with open(tokens, "w") as file:
            subprocess.run([gateway.binary, "token", "visitor", "--workspace", "demo", "--count", str(CONNECTIONS),
                            "--database-url", stage.cluster.url(gateway.database)], stdout=file, check=True)
        options = ["--subscribe", "--tokens", tokens]
    place = {"chat": "/api/v1/ws", "echo": "/debug/echo"}[path]
    done = subprocess.run(
        [load, "idle", f"{scheme}://127.0.0.1:{port}{place}", "--insecure", *options, "--pid", str(gateway.pid),
         "--connections", str(CONNECTIONS), "--seconds", "1", "--json", report],
        capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"chirrup-load idle ends with {done.returncode}: {done.stdout[-500:]} {done.stderr[-500:]}")
    with open(report) as file:
        return {"bytes": figure(json.load(file))}


def figure(report):
    """The figure, at the top level of the report or in its group `figures`."""
    return report.get("bytes_per_connection") or report["figures"]["bytes_per_connection"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=BINARY, help="the gateway, with chirrup-load in the same folder")
    parser.add_argument("--record", action="store_true", help="record the measurements as the new thresholds")
    options = parser.parse_args()
    load = os.path.join(os.path.dirname(options.binary), "chirrup-load")
    with Stage(options.binary) as stage:
        found = {kind: measure(stage, load, kind) for kind in KINDS}
    thresholds = Thresholds(os.path.join(HERE, "memory.txt"), COLUMNS, share=0.1, least=0)
    if options.record:
        thresholds.record(found)
    raise SystemExit(thresholds.judge(found))


if __name__ == "__main__":
    main()
