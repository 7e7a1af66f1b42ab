# SPDX-License-Identifier: Apache-2.0
"""What the tests of the program share: a folder of their own for each test, scripted models, and a pseudo-terminal."""
import fcntl
import json
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

PROGRAM = os.environ["TOMBOLA_PROGRAM"]
SKIPPED = 77
WAIT = 30  # seconds; only a hang takes that long

# Every printable ASCII character is a token, so that any ASCII prompt can be asked; words and pieces follow.
SPECIAL = ["<eos>", "<|im_start|>", "<|im_end|>"]
LETTERS = [chr(c) for c in range(32, 127)] + ["\n"]


def vocabulary(*pieces):
    """Tokens: the special ones, the letters, then `pieces` (text, or bytes for what is no text)."""
    return SPECIAL + LETTERS + [p if isinstance(p, str) else {"hex": p.hex()} for p in pieces]


def ids(*pieces):
    """The ids that `pieces` have in vocabulary(*pieces)."""
    start = len(SPECIAL) + len(LETTERS)
    return list(range(start, start + len(pieces)))


class Case(unittest.TestCase):
    """A test with a home of its own, which nothing of the user's home reaches."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tombola-cli-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.environment = {
            "HOME": self.folder, "PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8", "TERM": "xterm",
            "TOMBOLA_CACHE": os.path.join(self.folder, "cache")}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "TOMBOLA_CPU"):
            if name in os.environ:
                self.environment[name] = os.environ[name]

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
        return self.path(name)

    def script(self, *pieces, name="model.json", template="chatml", **members):
        """Writes a scripted model that says `pieces` one after the other; returns the name to give to --model."""
        model = {"vocab": vocabulary(*pieces), "special": [0, 1, 2], "end": [0, 2], "steps": ids(*pieces)}
        if template:
            model["template"] = template
        model.update(members)
        return "script:" + self.write(name, json.dumps(model))

    def call(self, *arguments, stdin=b"", environment=None, program=PROGRAM):
        """Runs the program to its end; stdout and stderr are bytes."""
        if isinstance(stdin, str):
            stdin = stdin.encode()
        return subprocess.run([program, *arguments], input=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env={**self.environment, **(environment or {})}, cwd=self.folder, timeout=WAIT * 4)

    def check(self, result, status, stdout=None, *on_stderr):
        """The status, the whole of stdout (None: whatever it is), and what stderr must contain."""
        shown = f"stdout: {result.stdout!r}\nstderr: {result.stderr!r}"
        self.assertEqual(result.returncode, status, shown)
        if stdout is not None:
            self.assertEqual(result.stdout, stdout if isinstance(stdout, bytes) else stdout.encode(), shown)
        for text in on_stderr:
            self.assertIn(text, result.stderr.decode("utf-8", "replace"), shown)

    def check_refused(self, arguments, status, *on_stderr):
        """One line on stderr, nothing on stdout."""
        result = self.call(*arguments)
        self.check(result, status, b"", *on_stderr)
        self.assertEqual(result.stderr.count(b"\n"), 1, result.stderr)
        self.assertTrue(result.stderr.startswith(b"tombola: "), result.stderr)

    def terminal(self, *arguments, **options):
        if not has_terminals():
            self.skipTest("this machine has no pseudo-terminals")
        terminal = Terminal(self, arguments, **options)
        self.addCleanup(terminal.close)
        return terminal


class Terminal:
    """The program under a pseudo-terminal. `stdout`: a file in place of the terminal for standard output."""

    def __init__(self, case, arguments, stdout=None, environment=None):
        self.case = case
        self.seen = b""
        self.status = None
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        self.process = subprocess.Popen(
            [PROGRAM, *arguments], stdin=slave, stdout=stdout or slave, stderr=slave, cwd=case.folder,
            env={**case.environment, **(environment or {})}, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        os.close(slave)

    def read(self, seconds):
        """Takes what comes within that time; False when the other side is closed."""
        ready, _, _ = select.select([self.master], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.master, 65536)
        except OSError:  # Linux says EIO once the last process has closed the terminal
            data = b""
        self.seen += data
        return bool(data)

    def expect(self, text, since=None):
        """Waits until `text` shows up after position `since` (or after what was expected last)."""
        text = text.encode() if isinstance(text, str) else text
        start = self.mark if since is None else since
        end = time.monotonic() + WAIT
        while text not in self.seen[start:]:
            if not self.read(0.05) and text not in self.seen[start:]:
                self.case.fail(f"the program ended before {text!r} came; seen: {self.seen!r}")
            if time.monotonic() > end:
                self.case.fail(f"{text!r} did not come; seen: {self.seen!r}")
        self.mark = self.seen.index(text, start) + len(text)

    mark = 0

    def type(self, text):
        os.write(self.master, text if isinstance(text, bytes) else text.encode())

    def wait(self):
        """The exit status; a negative number is a signal's."""
        end = time.monotonic() + WAIT
        while self.process.poll() is None:
            self.read(0.05)
            if time.monotonic() > end:
                self.case.fail(f"the program did not end; seen: {self.seen!r}")
        while self.read(0) and select.select([self.master], [], [], 0)[0]:
            pass
        return self.process.returncode

    def echoes(self):
        """Whether the terminal is in its usual mode."""
        return bool(termios.tcgetattr(self.master)[3] & termios.ECHO)

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)  # the group that start_new_session made
            self.process.wait()
        os.close(self.master)


def has_terminals():
    """Whether a pseudo-terminal can be opened; a bare root without /dev/pts has none."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError:
        return False
    return True


def main():
    unittest.main(verbosity=1)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)
