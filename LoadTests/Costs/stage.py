"""A private PostgreSQL with gateways, built from the harness of the conformance tests."""

import os
import shutil
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.join(ROOT, ".build/release/chirrup")
#: The same code with a shared Swift runtime and with symbols, so that a preloaded library and the disassembly see the
#: calls of the runtime. `link_shared.py` links it.
SHARED = os.path.join(ROOT, ".build/shared/chirrup")
sys.path.insert(0, os.path.join(ROOT, "Tests/Conformance"))

from harness.cluster import Cluster  # noqa: E402
from harness.gateway import Gateway  # noqa: E402


class Stage:
    def __init__(self, binary):
        self.binary, self.gateway, self.count = binary, None, 0

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="chirrup-costs.", dir="/tmp")
        os.chmod(self.folder, 0o711)
        self.cluster = Cluster(self.folder)
        self.cluster.start()
        return self

    def start(self, environment):
        """Starts a gateway with one loop, the echo and TLS, after stopping the last one."""
        if self.gateway:
            self.gateway.stop()
        self.count += 1
        self.gateway = Gateway(self.binary, self.cluster, self.folder, "tls", f"gateway{self.count}")
        self.gateway.environment = {"CHIRRUP_LOOPS": "1"} | environment
        self.gateway.start()
        return self.gateway

    def __exit__(self, *_):
        if self.gateway:
            self.gateway.stop()
        self.cluster.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
