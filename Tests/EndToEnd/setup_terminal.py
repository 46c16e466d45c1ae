"""`chirrup setup` in a pseudo terminal, for a script, and on a gateway with an owner. Started by setup.sh:
setup_terminal.py taken|terminal|script CHIRRUP OPTION…"""

import json
import os
import pty
import select
import subprocess
import sys
import termios
import time

PASSWORD = "a sentence of my own"
TIMEOUT = 60  # s


class Terminal:
    """A child process in a pseudo terminal, of which the test reads and writes the other end."""

    def __init__(self, command):
        self.pid, self.descriptor = pty.fork()
        if self.pid == 0:
            os.execv(command[0], command)
        self.seen = ""
        self.place = 0  # where the last expected text ended

    def expect(self, text):
        deadline = time.monotonic() + TIMEOUT
        while text not in self.seen[self.place:]:
            assert time.monotonic() < deadline, f"{text!r} did not come; the terminal shows:\n{self.seen}"
            if not select.select([self.descriptor], [], [], 1)[0]:
                continue
            try:
                part = os.read(self.descriptor, 4096)
            except OSError:  # the child has closed its end
                part = b""
            assert part, f"{text!r} did not come; the terminal shows:\n{self.seen}"
            self.seen += part.decode()
        self.place = self.seen.index(text, self.place) + len(text)

    def answer(self, question, text, echo=True):
        self.expect(question)
        # An answer may follow at once: whatever is typed after the question counts, and a password is not echoed.
        echoes = bool(termios.tcgetattr(self.descriptor)[3] & termios.ECHO)
        assert echoes == echo, f"after {question!r} the terminal {'echoes' if echoes else 'does not echo'}"
        os.write(self.descriptor, (text + "\n").encode())

    def end(self):
        deadline = time.monotonic() + TIMEOUT
        while True:
            assert time.monotonic() < deadline, f"the command does not end; the terminal shows:\n{self.seen}"
            if not select.select([self.descriptor], [], [], 1)[0]:
                continue
            try:
                part = os.read(self.descriptor, 4096)
            except OSError:
                break
            if not part:
                break
            self.seen += part.decode()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def terminal(chirrup, options):
    shell = Terminal([chirrup, "setup", *options])
    shell.answer("Your name: ", "Ada")
    shell.answer("Email: ", "nobody")
    shell.expect("give an address like")
    shell.answer("Email: ", "ada@example.com")
    shell.answer("company or team: ", "Tidewater Cycles")
    shell.answer("Colour of the widget [#0b6e63]: ", "#1f4b7f")
    shell.answer("Hours (always, or Mon-Fri 09:00-17:00) [always]: ", "Mon-Fri 09:00-17:00, Sat 10:00-14:00")
    shell.answer("Time zone [UTC]: ", "Europe/Nowhere")
    shell.expect("does not know the time zone")
    shell.answer("Time zone [UTC]: ", "Europe/Berlin")
    shell.answer("at least 10 characters: ", "tidewater", echo=False)
    shell.expect("needs at least 10 characters")
    shell.answer("at least 10 characters: ", PASSWORD, echo=False)
    shell.answer("Repeat the password: ", PASSWORD, echo=False)
    # No gateway runs.
    shell.answer("Send a test message, while chirrup serve runs [yes]: ", "")
    shell.expect("cannot be reached")
    shell.answer("Send a test message, while chirrup serve runs [yes]: ", "no")
    status = shell.end()
    assert status == 0, (status, shell.seen)
    assert PASSWORD not in shell.seen, "the password was echoed"
    assert "Tidewater Cycles is set up." in shell.seen and 'data-workspace="pk_' in shell.seen, shell.seen


def run(command, answer=""):
    return subprocess.run(command, input=answer, capture_output=True, text=True, timeout=TIMEOUT)


def script(chirrup, options):
    names = ["--name", "Ada", "--email", "ada@example.com", "--workspace", "Tidewater Cycles"]
    for missing in ("--name", "--email", "--workspace"):
        at = names.index(missing)
        done = run([chirrup, "setup", *options, *names[:at], *names[at + 2:]], PASSWORD + "\n")
        assert done.returncode == 1 and missing in done.stderr, done
    for wrong in (["--hours", "sometimes"], ["--time-zone", "Nowhere"], ["--colour", "blue"], ["--email", "x"]):
        done = run([chirrup, "setup", *options, *names, *wrong], PASSWORD + "\n")
        assert done.returncode != 0 and wrong[0] in done.stderr, done
    done = run([chirrup, "setup", *options, *names], "short\n")
    assert done.returncode == 1 and "at least 10 characters" in done.stderr, done
    done = run([chirrup, "setup", *options, *names, "--test-message"], PASSWORD + "\n")
    assert done.returncode == 0, done
    assert "The test message was stored after" in done.stderr, done
    answer = json.loads(done.stdout)
    assert answer["name"] == "Tidewater Cycles" and answer["public_key"] in done.stderr, done
    taken(chirrup, options)


def taken(chirrup, options):
    done = run([chirrup, "setup", *options, "--name", "Eve", "--email", "eve@example.com", "--workspace", "Eve"],
               PASSWORD + "\n")
    assert done.returncode == 1, done
    assert "is set up already" in done.stderr and "chirrup operator create" in done.stderr, done


if __name__ == "__main__":
    {"terminal": terminal, "script": script, "taken": taken}[sys.argv[1]](sys.argv[2], sys.argv[3:])
