"""Measures idle connections with `chirrup-load idle` against a private gateway; started by idle.sh."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from harness.cluster import Cluster  # noqa: E402
from harness.gateway import Gateway  # noqa: E402

KINDS = {"plain": ("ws", []), "tls": ("wss", ["--insecure"]), "deflate": ("ws", ["--deflate"]),
         "tls-deflate": ("wss", ["--insecure", "--deflate"])}
CONNECTIONS = 10_000


#: The scenes: the echo, for the cost of the transport alone, and a chat after its hello.
PATHS = {"echo": "/debug/echo", "chat": "/api/v1/ws"}


def measure(kind, name, build, cluster, folder):
    """Starts a gateway for each measurement: memory freed by an earlier one would hide the next growth."""
    scheme, options = KINDS[kind]
    gateway = Gateway(os.path.join(build, "chirrup"), cluster, folder, "tls" if scheme == "wss" else "plain",
                      f"{kind}-{name}")
    gateway.start()
    address = gateway.tls_address if scheme == "wss" else gateway.address
    if name == "chat":
        tokens = os.path.join(folder, "tokens")
        with open(tokens, "w") as file:
            subprocess.run([gateway.binary, "token", "visitor", "--workspace", "demo", "--count", str(CONNECTIONS),
                            "--database-url", cluster.url(gateway.database)], stdout=file, check=True)
        options = [*options, "--tokens", tokens]
    try:
        print(f"== {kind}, {name}", flush=True)
        subprocess.run([os.path.join(build, "chirrup-load"), "idle", f"{scheme}://127.0.0.1:{address[1]}{PATHS[name]}",
                        "--pid", str(gateway.pid), "--connections", str(CONNECTIONS), *options], check=True)
    finally:
        gateway.stop()


def main():
    build = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), ".build/release")
    kinds = sys.argv[1:] or list(KINDS)
    if set(kinds) - set(KINDS):
        raise SystemExit(f"usage: idle.sh [{'|'.join(KINDS)}]…")
    folder = tempfile.mkdtemp(prefix="chirrup-idle.", dir="/tmp")
    os.chmod(folder, 0o711)
    cluster = Cluster(folder)
    try:
        cluster.start()
        for kind in kinds:
            for name in PATHS:
                measure(kind, name, build, cluster, folder)
    finally:
        cluster.stop()
    shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
