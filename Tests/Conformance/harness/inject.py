"""Makes system calls of running processes fail, by strace."""

import os
import shutil
import signal
import subprocess
import threading

from .registry import Skip


class Injection:
    """Attaches strace to processes, with the faults `wish` (the value of strace's -e inject=), until `stop`."""

    def __init__(self, folder, pids, wish):
        program = shutil.which("strace")
        if not program:
            raise Skip("strace is not installed")
        self.path = os.path.join(folder, f"strace.{os.urandom(6).hex()}")
        calls = wish.partition(":")[0]
        places = [word for pid in pids for word in ("-p", str(pid))]
        self.process = subprocess.Popen(
            [program, "-f", "-o", self.path, "-e", f"trace={calls}", "-e", f"inject={wish}", "-e", "signal=none",
             *places], stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
        first = self.process.stderr.readline()
        if "attached" not in first:
            self.process.wait(10)
            raise Skip(f"strace may not attach: {first.strip()}")
        # It prints a line for every thread.
        self.reader = threading.Thread(target=self._drain, daemon=True)
        self.reader.start()

    def _drain(self):
        for _ in self.process.stderr:
            pass

    def count(self):
        """Returns how many calls have failed by it."""
        with open(self.path, errors="replace") as file:
            return file.read().count("(INJECTED)")

    def stop(self):
        """Detaches from the processes. Returns how many calls have failed."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.reader.join(10)
        self.process.stderr.close()
        return self.count()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
