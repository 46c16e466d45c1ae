"""A separate PostgreSQL for one row, which can be stopped, frozen, killed, and its disk filled."""

import ctypes
import glob
import os
import shutil
import signal
import subprocess
import threading
import time

from .cluster import Cluster

#: The catalogue and the schema are made once for a run, and copied.
_template_lock = threading.Lock()


class Store(Cluster):
    """A private PostgreSQL server with faults."""

    def __init__(self, folder, name, options=None, data_bytes=0, log_bytes=0):
        """`data_bytes` and `log_bytes` put the data or the write-ahead log on a file system of that size."""
        self.home = os.path.join(folder, name)
        os.mkdir(self.home)
        os.chmod(self.home, 0o711)
        super().__init__(self.home)
        self.data = os.path.join(self.folder, "data")
        self.log = os.path.join(self.folder, "server.log")
        self.options = {"fsync": "off", "max_connections": "60", "shared_buffers": "16MB",
                        "listen_addresses": "", **(options or {})}
        self.sizes = {self.data: data_bytes, os.path.join(self.folder, "wal"): log_bytes}
        self.mounted = []
        #: Where the gateway looks for the socket, when something stands between.
        self.front = None

    # Life

    def prepare(self, template):
        """Copies the template's data into the folder."""
        for place, size in self.sizes.items():
            if size:
                os.mkdir(place)
                self.mount(place, size)
        subprocess.run(["cp", "-a", template + "/.", self.data], check=True)
        wal = os.path.join(self.folder, "wal")
        if self.sizes[wal]:
            inside = os.path.join(self.data, "pg_wal")
            subprocess.run(["cp", "-a", inside + "/.", wal], check=True)
            shutil.rmtree(inside)
            os.symlink(wal, inside)

    def mount(self, place, size):
        """Mounts a small file system in a mount namespace of the calling thread, which ends with its processes."""
        library = ctypes.CDLL(None, use_errno=True)
        new_mounts, private = 0x00020000, (1 << 14) | (1 << 18)
        if library.unshare(new_mounts) or library.mount(b"none", b"/", None, private, None) \
                or library.mount(b"tmpfs", place.encode(), b"tmpfs", 0, f"size={size},mode=0700".encode()):
            raise PermissionError(ctypes.get_errno(), "no permission for a file system")
        self.mounted.append(place)
        if self.account:
            os.chown(place, self.account["user"], self.account["group"])

    def launch(self, **options):
        """Starts the server, perhaps with other settings than before, and returns when it answers."""
        self.options |= options
        settings = [word for name, value in self.options.items() for word in ("-c", f"{name}={value}")]
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [os.path.join(self.programs, "postgres"), "-D", self.data, "-k", self.folder, *settings],
                cwd=self.folder, stdout=log, stderr=log, start_new_session=True, **self.account)
        self.wait_answer(60)

    def wait_answer(self, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                self.query("SELECT 1")
                return
            except RuntimeError as failure:
                last = failure
            if self.process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError(f"PostgreSQL does not start: {last}")

    def crash(self):
        """`pg_ctl stop --mode immediate`: no checkpoint, no notice to the clients."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(30)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.thaw()
        super().stop()
        for place in self.mounted:
            subprocess.run(["umount", "--lazy", place], check=False)
        self.mounted.clear()

    # Its processes

    def children(self):
        found = []
        for path in glob.glob("/proc/[0-9]*/stat"):
            try:
                with open(path) as file:
                    fields = file.read()
            except OSError:
                continue
            if int(fields.rpartition(")")[2].split()[1]) == self.process.pid:
                found.append(int(path.split("/")[2]))
        return found

    def _signal(self, number):
        # The postmaster first, so that it starts nobody meanwhile.
        for pid in (self.process.pid, *self.children()):
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def freeze(self):
        self._signal(signal.SIGSTOP)

    def thaw(self):
        self._signal(signal.SIGCONT)

    def kill_process(self, pid):
        os.kill(pid, signal.SIGKILL)

    def backends(self, kind="client backend"):
        """Returns the ids of the backends, without that of this query; the gateway's application name is chirrup."""
        name = "AND application_name = 'chirrup'" if kind == "client backend" else ""
        return [int(line[0]) for line in self.query(
            f"SELECT pid FROM pg_stat_activity WHERE backend_type = '{kind}' {name} AND pid <> pg_backend_pid()")]

    def writers(self):
        """Returns the gateway's connections that have prepared a batch."""
        return [int(line[0]) for line in self.query(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'chirrup' "
            "AND (query IN ('COMMIT', 'ROLLBACK') OR left(query, 10) = 'WITH moved')")]

    def said(self, text):
        with open(self.log, "rb") as file:
            return file.read().count(text.encode())

    # As the gateway sees it

    def url(self, database):
        return f"postgresql://chirrup@/{database}?host={self.front or self.folder}"


class Stranger:
    """The connection of another client, with a transaction that may stay open: psql on pipes."""

    def __init__(self, store, database="postgres"):
        self.process = subprocess.Popen(
            [os.path.join(store.programs, "psql"), "--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--host",
             store.folder, "--username", "chirrup", "--dbname", database],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, bufsize=1)

    def begin(self, statement):
        """Sends statements without waiting for the response."""
        self.process.stdin.write(statement + ";\n\\echo done\n")

    def finish(self):
        """Waits for the response, and returns the output since `begin`."""
        lines = []
        for line in self.process.stdout:
            if line.strip() == "done":
                return lines
            lines.append(line.strip())
        raise RuntimeError(f"the other client has ended: {lines}")

    def run(self, statement):
        self.begin(statement)
        return self.finish()

    def close(self):
        if self.process.poll() is None:
            self.process.terminate()
            self.process.wait(20)
        for pipe in (self.process.stdin, self.process.stdout):
            try:
                pipe.close()
            except BrokenPipeError:
                pass


def template(folder, binary, make_gateway):
    """Returns the folder of a stopped cluster with the gateway's schema."""
    with _template_lock:
        place = os.path.join(folder, "template")
        store_data = os.path.join(place, "postgres", "data")
        if os.path.exists(os.path.join(place, "made")):
            return store_data
        store = Store(folder, "template")
        # Small segments: a disk that is full is full soon.
        store._run("initdb", "--no-sync", "--encoding", "UTF8", "--locale", "C.UTF-8", "--auth", "trust",
                   "--username", "chirrup", "--wal-segsize", "1", "--pgdata", store.data)
        store.launch()
        try:
            gateway = make_gateway(binary, store, folder, "production", "template")
            gateway.start()
            gateway.stop()
        finally:
            store.process.send_signal(signal.SIGINT)
            store.process.wait(30)
        open(os.path.join(place, "made"), "w").close()
        return store_data
