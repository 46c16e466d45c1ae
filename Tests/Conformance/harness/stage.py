"""A gateway with a separate PostgreSQL, for one row, which can stop and restart both."""

import os
import subprocess
import time

from .gateway import Gateway
from .peer import Failure
from .ports import free_port
from .store import Store, template

#: Seconds a gateway may take to say that it is ready, on any machine.
READY_SECONDS = 60


class Staged(Gateway):
    """A gateway with its `store`. `stage` is the row's: the Store's options and sizes, the gateway's `arguments` and
    `settings`, and `front`, a function that returns a proxy between the two."""

    def __init__(self, binary, folder, name, stage):
        self.stage = stage
        store = Store(folder, name, stage.get("options"), stage.get("data_bytes", 0), stage.get("log_bytes", 0))
        super().__init__(binary, store, folder, "stage", name)
        self.store = store
        self.folder = folder
        self.address = ("127.0.0.1", free_port())
        self.front = None

    def start(self):
        self.store.prepare(template(self.folder, self.binary, Gateway))
        if front := self.stage.get("front"):
            self.front = front(self.store)
        self.store.launch()
        self.launch()
        self.wait_ready()

    def launch(self):
        """The process, on the same port as before; it may not be ready yet."""
        environment = {key: value for key, value in os.environ.items() if not key.startswith("CHIRRUP_")}
        environment |= self.stage.get("settings", {}) | {"SWIFT_BACKTRACE": "enable=no", "CHIRRUP_ADMIN_LISTEN": "listen",
                                                           "CHIRRUP_DEMO_CONTENT": "false",
                                                           "ASAN_OPTIONS": "detect_leaks=0"}
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [self.binary, "serve", "--demo", "--debug-echo", "--log-level", "debug", "--drain-seconds",
                 str(self.stage.get("drain", 0)), "--listen", f"127.0.0.1:{self.address[1]}", "--database-url",
                 self.cluster.url(self.database), *self.stage.get("arguments", ())],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True)
        self.pid = self.process.pid

    def readiness(self):
        """The status of /readyz (200, 503, or 0 without a listener) and the body."""
        try:
            answer = self.get("/readyz", 5)
            return answer.status, answer.body.decode()
        except (OSError, Failure):
            return 0, ""

    def wait_ready(self, status=200, seconds=READY_SECONDS):
        deadline = time.monotonic() + seconds
        while self.readiness()[0] != status:
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise Failure(f"/readyz returns {self.readiness()} instead of {status}")
            time.sleep(0.05)

    def quit(self):
        """Stops the process with SIGTERM; PostgreSQL keeps running."""
        return super().stop()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def log_text(self, start=0):
        with open(self.log, "rb") as file:
            file.seek(start)
            return file.read().decode(errors="replace")

    def stop(self):
        try:
            return super().stop()
        finally:
            if self.front:
                self.front.close()
            self.store.stop()
