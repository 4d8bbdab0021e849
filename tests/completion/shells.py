# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the tests of the completion scripts share: a directory with the program and its scripts, and shells, also at a pseudo terminal."""
import os
import pty
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, "..", "..", "build")
IBTOOL = os.path.abspath(os.environ.get("IBTOOL") or os.path.join(BUILD, "tools", "ibtool"))
PROGRAMS = os.path.abspath(os.environ.get("IBTEST_PROGRAMS") or os.path.join(BUILD, "tests", "programs", "ibtest-programs"))

# How each shell starts, takes its script, and shows the words of a command instead of running the program.
STARTS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"], "fish": ["fish", "--no-config", "-i"]}
POSIX_SHOWS = "ibtool() { printf '%s\\0' \"$@\" > words; echo E''ND; }"
SETUPS = {"bash": f". ../ibtool.bash; {POSIX_SHOWS}",
          "zsh": f"autoload -U compinit; compinit -u -D; . ../ibtool.zsh; {POSIX_SHOWS}",
          "fish": "source ../ibtool.fish; function ibtool; printf '%s\\0' $argv > words; echo E''ND; end"}


class Terminal:
    """A shell at a pseudo terminal, in a directory of its own."""

    def __init__(self, shell, directory, env):
        self.directory = os.path.join(directory, "here")
        os.makedirs(self.directory, exist_ok=True)
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(self.directory)
            os.execve(shutil.which(shell), STARTS[shell], env | {"PS1": "$ ", "INPUTRC": "/dev/null"})
        self.run(f"{SETUPS[shell]}; echo E''ND")

    def run(self, line):
        """Types a line. Returns whether it has run."""
        seen = b""
        os.write(self.terminal, line.encode() + b"\n")
        limit = time.monotonic() + 20
        while b"END\r\n" not in seen and time.monotonic() < limit:
            if select.select([self.terminal], [], [], 1)[0]:
                seen += os.read(self.terminal, 4096)
        if b"END\r\n" in seen:
            return True
        os.write(self.terminal, b"\x03")
        time.sleep(0.5)  # the terminal drops what it gets before that is read
        return False

    def words(self, line):
        """The words of the command `ibtool` that a typed line runs; none if it runs no such command."""
        shown = os.path.join(self.directory, "words")
        if os.path.exists(shown):
            os.remove(shown)
        if not self.run(line) or not os.path.exists(shown):
            return None
        with open(shown, encoding="utf-8") as file:
            return file.read().split("\0")[:-1]

    def close(self):
        os.close(self.terminal)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


class ShellCase(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        # The program is called by its name, and there are devices of which sysfs tells.
        cls.dir = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        os.symlink(IBTOOL, os.path.join(cls.dir, "ibtool"))
        cls.env = {"PATH": cls.dir + ":" + os.environ["PATH"], "HOME": cls.dir, "TERM": "dumb", "LC_ALL": "C.UTF-8",
                   "SYSFS_PATH": os.path.join(cls.dir, "sys")}
        for shell in STARTS:
            done = subprocess.run(["ibtool", "completion", shell], env=cls.env, capture_output=True, text=True, check=True)
            with open(cls.script(shell), "w", encoding="utf-8") as file:
                file.write(done.stdout)

    @classmethod
    def script(cls, shell):
        return os.path.join(cls.dir, "ibtool." + shell)

    def run_shell(self, words, text=None, **env):
        done = subprocess.run(words, input=text, env=self.env | env, cwd=self.dir, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def open_terminal(self, shell, **env):
        terminal = Terminal(shell, self.dir, self.env | env)
        self.addCleanup(terminal.close)
        return terminal

    def needs(self, shell):
        if not shutil.which(shell):
            if os.environ.get("IBTEST_NO_SKIP"):
                self.fail(f"{shell} is not installed")
            self.skipTest(f"{shell} is not installed")

    def store_names(self, *names):
        """A stored fabric, whose hosts have these names beside those that it has anyway."""
        file = os.path.join(self.dir, "names.ibss")
        if os.path.exists(file):
            os.remove(file)
        subprocess.run([PROGRAMS, "stored-names", file, *names], check=True)
        return file
