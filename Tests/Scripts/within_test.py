"""Tests of scripts/within with misbehaving processes. Times are upper limits, not expected durations."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts/within")
#: The script with shorter waiting times.
SHORTER = f"""
import importlib.machinery, importlib.util, sys
loader = importlib.machinery.SourceFileLoader("within", {SCRIPT!r})
within = importlib.util.module_from_spec(importlib.util.spec_from_loader("within", loader))
loader.exec_module(within)
within.GRACE_SECONDS, within.LEFT_SECONDS = 2, 5
sys.exit(within.main())
"""
#: Seconds; far more than any test takes.
PATIENCE = 300


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class WithinTest(unittest.TestCase):
    def within(self, *arguments):
        return subprocess.run([sys.executable, "-B", "-c", SHORTER, *map(str, arguments)], stdout=subprocess.PIPE,
                              text=True, timeout=PATIENCE)

    def shell(self, seconds, line, options=(), arguments=()):
        return self.within(*options, seconds, "the step", "bash", "-c", line, *arguments)

    def assertGone(self, output):
        """The processes in lines `pid NUMBER` must have ended."""
        pids = [int(line.split()[1]) for line in output.splitlines() if line.startswith("pid ")]
        self.assertTrue(pids)
        for pid in pids:
            self.assertFalse(lives(pid), f"{pid} is running: {output}")

    def test_status_and_output_are_the_commands(self):
        done = self.shell(PATIENCE, "echo one; echo two >&2; exit 3")
        self.assertEqual((done.returncode, done.stdout), (3, "one\ntwo\n"))
        self.assertEqual(self.shell(PATIENCE, "kill -9 $$").returncode, 128 + 9)
        done = self.within(PATIENCE, "the step", "no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("no-such-program", done.stdout)

    def test_a_large_output_arrives_whole(self):
        done = self.shell(PATIENCE, "seq 200000")
        self.assertEqual(done.stdout.splitlines(), [str(number) for number in range(1, 200_001)])

    def test_hanging_processes_are_listed_and_ended(self):
        done = self.shell(4, "echo pid $$; echo the last line; sleep 3333; true")
        self.assertEqual(done.returncode, 124)
        self.assertIn("the step has not ended within its 4 s", done.stdout)
        self.assertRegex(done.stdout, r"\n    \d+ S for \d+ s, waits in .*: sleep 3333\n")
        self.assertRegex(done.stdout, r"the last lines:\n  pid \d+\n  the last line\n")
        self.assertGone(done.stdout)

    def test_endless_output_is_ended(self):
        reader, writer = os.pipe()
        process = subprocess.Popen([sys.executable, "-B", SCRIPT, "1", "the step", "yes"], stdout=writer)
        os.close(writer)
        with open(reader, "rb") as file:
            while file.read(1 << 20):
                pass
        self.assertEqual(process.wait(PATIENCE), 124)

    def test_ignored_sigterm_leads_to_sigkill(self):
        done = self.shell(4, "trap '' TERM; echo pid $$; while :; do sleep 0.1; done")
        self.assertEqual(done.returncode, 124)
        self.assertGone(done.stdout)

    def test_a_daemon_is_found_and_ended(self):
        """In another session, with its parent ended, and without the output pipe."""
        daemon = "setsid bash -c '(exec sleep 3334 </dev/null >/dev/null 2>&1) & echo pid $!'"
        done = self.shell(PATIENCE, daemon)
        self.assertEqual(done.returncode, 123)
        self.assertIn("has ended (status 0) and left these processes behind", done.stdout)
        self.assertIn(": sleep 3334\n", done.stdout)
        self.assertGone(done.stdout)

    def test_an_orphan_with_the_output_pipe_does_not_block(self):
        """A PostgreSQL that outlived its test process once blocked the reader of its output."""
        done = self.shell(PATIENCE, "sleep 3335 & echo pid $!; kill -9 $$")
        self.assertEqual(done.returncode, 128 + 9)
        self.assertRegex(done.stdout, r"holds the output: sleep 3335")
        self.assertGone(done.stdout)

    def test_a_process_that_ends_soon_after_is_no_failure(self):
        done = self.shell(PATIENCE, "sleep 0.3 & echo pid $!")
        self.assertEqual(done.returncode, 0)
        self.assertGone(done.stdout)

    def test_a_hanging_test_is_named_within_its_own_limit(self):
        lines = ["◇ Test run started.", "◇ Suite ATests started.", '◇ Test "A hangs" started.',
                 "◇ Test b() started.",
                 "✔ Test b() passed after 0.001 seconds.", "◇ Test c(number:) started.",
                 "◇ Test case passing 1 argument number → 1 to c(number:) started.",
                 "✘ Test c(number:) failed after 0.01 seconds with 1 issue.", "➜ Test d() skipped."]
        script = "printf '%s\\n' " + " ".join(f"'{line}'" for line in lines) + "; sleep 3336"
        done = self.shell(PATIENCE, script, options=["--each-test", 1])
        self.assertEqual(done.returncode, 124)
        self.assertIn('the step: the test "A hangs" has not ended within its 1 s', done.stdout)
        for other in ("b()", "c(number:)", "run"):
            self.assertNotIn(f"  {other}, for ", done.stdout)

    def test_a_signal_ends_all_processes(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            process = subprocess.Popen([sys.executable, "-B", SCRIPT, str(PATIENCE), "the step", "bash", "-c",
                                        "sleep 3337 & echo pid $!; wait"], stdout=subprocess.PIPE, text=True)
            line = process.stdout.readline()
            process.send_signal(number)
            self.assertEqual(process.wait(PATIENCE), 128 + number)
            self.assertGone(line)
            process.stdout.close()

    def test_sigkill_ends_the_command_too(self):
        """Nested: the outer process adopts the remaining processes."""
        with tempfile.TemporaryDirectory(prefix="chirrup-within.") as folder:
            pids = f"{folder}/pids"
            inner = f"{{ echo pid $$; sleep 3338 & echo pid $!; }} >{pids}.new; mv {pids}.new {pids}; wait"
            done = self.shell(
                PATIENCE, f'{sys.executable} -B {SCRIPT} {PATIENCE} inner bash -c "$0" & '
                f"until [ -e {pids} ]; do sleep 0.1; done; kill -9 $!; wait", arguments=[inner])
            self.assertNotEqual(done.returncode, 124)
            with open(pids) as file:
                self.assertGone(file.read())

    def test_it_ends_when_its_parent_is_killed(self):
        command = "bash -c 'echo pid $$; sleep 3339; true'; true"
        process = subprocess.Popen(
            ["bash", "-c", f"{sys.executable} -B {SCRIPT} {PATIENCE} step {command}"],
            stdout=subprocess.PIPE, text=True)
        line = process.stdout.readline()
        process.kill()
        # End of file: no writer is left.
        process.stdout.read()
        process.stdout.close()
        process.wait(PATIENCE)
        deadline = time.monotonic() + PATIENCE
        while lives(int(line.split()[1])) and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertGone(line)


if __name__ == "__main__":
    unittest.main()
