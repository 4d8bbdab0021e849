# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A snapshot is written whole or not at all: killed and interrupted writers, two writers, a full disk, places where nothing can be written,
and files that are something else. Nobody but its owner reads it."""
import contextlib
import os
import random
import resource
import signal
import sqlite3
import stat
import subprocess
import time

import case
import simfabric

KILLS, KILLS_AT_ONCE = 200, 8
PARTS = ("--only", "lft,pkeys")  # short runs: most of the time then is the writing


def limit_files(size):
    """For preexec_fn: no file of this process may grow beyond `size`; a write beyond fails as on a full disk."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


class Files(case.FabricCase):
    def setUp(self):
        self.directory = self.fabric.path(self._testMethodName)
        os.mkdir(self.directory)
        self.file = os.path.join(self.directory, "one")

    def start(self, *words, parts=PARTS, **how):
        return subprocess.Popen([case.IBTOOL, "snapshot", *parts, *words], env=self.fabric.env(), cwd=self.fabric.dir,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, **how)

    def take(self):
        self.ibtool("snapshot", *PARTS, self.file)
        with open(self.file, "rb") as file:
            return file.read()

    def content(self):
        with open(self.file, "rb") as file:
            return file.read()

    def from_file(self):
        return self.ibtool("iblinkinfo", "--from", self.file).stdout

    def one_line(self, done, *status):
        """The run ended with such a status and one line; the line."""
        error = "".join(line + "\n" for line in done.stderr.splitlines() if "sim_connect" not in line)
        self.assertEqual(1, error.count("\n"), error)
        self.assertIn(done.returncode, status, error)
        return error

    @contextlib.contextmanager
    def other_fabric(self):
        """The same fabric without a subnet manager. ibsim never forgets clients that were killed, and has room for ten."""
        before = self.fabric
        with simfabric.Fabric(case.CLUSTER, sm=False) as self.fabric:
            yield
        self.fabric = before

    def test_killed_at_any_moment(self):
        with self.other_fabric():
            old = self.take()
            right = self.from_file()
            self.assertEqual(self.ibtool("iblinkinfo").stdout, right)
            begin = time.monotonic()
            self.take()
            self.length = time.monotonic() - begin
        self.whole = self.killed = self.leftovers = 0
        self.moments = random.Random(16)
        while self.killed < KILLS and self.whole < KILLS:
            with self.other_fabric():
                end = self.killed + KILLS_AT_ONCE
                while self.killed < end and self.whole < KILLS:
                    self.kill_one()
            self.assertEqual(right, self.from_file())
        print(f"\n{self.killed} runs of {self.length:.2f} s killed, {self.whole} whole; "
              f"{self.leftovers} times a FILE.new was left", flush=True)
        self.assertGreaterEqual(self.killed, KILLS)
        self.assertTrue(self.leftovers, "no kill hit the writing")
        # A leftover is in nobody's way.
        os.makedirs(self.file + ".new", 0o700, exist_ok=True)
        with open(self.file + ".new/snapshot", "wb") as leftover:
            leftover.write(old[:5000])
        with self.other_fabric():
            self.take()
        self.assertEqual(["one"], os.listdir(self.directory))
        self.assertEqual(right, self.from_file())

    def kill_one(self):
        """Begins a snapshot and kills it at some moment. The file is there, and nothing but it and FILE.new."""
        before = os.stat(self.file).st_mtime_ns
        begin = time.monotonic()
        child = self.start(self.file)
        try:
            child.wait(self.moments.uniform(0, self.length))
            self.assertEqual(0, child.returncode)
            self.length = min(self.length, time.monotonic() - begin)
        except subprocess.TimeoutExpired:
            child.kill()
            self.killed += 1
        child.stderr.close()
        child.wait()
        self.whole += os.stat(self.file).st_mtime_ns != before
        self.leftovers += os.path.exists(self.file + ".new")
        self.assertLessEqual(set(os.listdir(self.directory)), {"one", "one.new"})
        with contextlib.closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)) as database:
            self.assertEqual([("ok",)], database.execute("PRAGMA integrity_check").fetchall())

    def is_begun(self):
        """Whether a writer has its lock: it writes nothing before."""
        try:
            return os.path.getsize(self.file + ".new/snapshot") > 0
        except FileNotFoundError:
            return False

    def wait_until_begun(self):
        end = time.monotonic() + 20
        while not self.is_begun() and time.monotonic() < end:
            time.sleep(0.001)

    def test_interrupted(self):
        with self.other_fabric():
            old = self.take()
            for number in (signal.SIGINT, signal.SIGTERM):
                child = self.start(self.file, parts=())
                self.wait_until_begun()
                child.send_signal(number)
                child.communicate(timeout=60)
                self.assertEqual(-number, child.returncode)
                self.assertEqual(["one"], os.listdir(self.directory))
                self.assertEqual(old, self.content())

    def test_two_writers(self):
        self.take()
        first = self.start(self.file, parts=())  # takes longer
        self.addCleanup(first.stderr.close)
        self.addCleanup(first.wait)
        self.addCleanup(first.kill)
        self.wait_until_begun()
        first.send_signal(signal.SIGSTOP)
        try:
            self.assertIsNone(first.poll())
            error = self.one_line(self.run_ours([case.IBTOOL, "snapshot", self.file]), 3)
        finally:
            first.send_signal(signal.SIGCONT)
        self.assertIn("is being written by another process", error)
        self.assertEqual(0, first.wait())
        self.assertEqual(["one"], os.listdir(self.directory))
        self.from_file()

    def test_full_disk(self):
        """Both in the midst of it and near its end: the next file may be some pages shorter."""
        old = self.take()
        for size in (0, 1000, 20000, len(old) // 2, len(old) * 9 // 10):
            with self.subTest(size):
                child = self.start(self.file, preexec_fn=limit_files(size))
                _, error = child.communicate(timeout=60)
                done = subprocess.CompletedProcess([], child.returncode, "", error)
                self.assertIn("one", self.one_line(done, 3))
                self.assertEqual(old, self.content())
                self.assertEqual(["one"], os.listdir(self.directory))

    def test_read_only_directory(self):
        """Who may write anywhere (root) is refused where nobody may: in /proc."""
        self.take()
        places = ["/proc/one"]
        if os.geteuid() != 0:
            os.chmod(self.directory, 0o500)
            self.addCleanup(os.chmod, self.directory, 0o700)
            places.append(self.file)
        for place in places + [os.path.join(self.directory, "none", "one")]:
            self.one_line(self.run_ours([case.IBTOOL, "snapshot", place]), 2, 3)

    def test_what_is_something_else(self):
        """It is not replaced, and no command answers from it."""
        def text():
            with open(self.file, "w", encoding="ascii") as file:
                file.write("my thesis\n" * 100)
            return self.content

        def database():
            with open(self.file, "wb") as file:
                file.write(b"SQLite format 3\0" + bytes(4080))
            return self.content

        def directory():
            os.mkdir(self.file)
            return lambda: stat.S_ISDIR(os.lstat(self.file).st_mode)

        def fifo():
            os.mkfifo(self.file)
            return lambda: stat.S_ISFIFO(os.lstat(self.file).st_mode)

        for make in (text, database, directory, fifo):
            with self.subTest(make.__name__):
                look = make()
                before = look()
                self.one_line(self.run_ours([case.IBTOOL, "snapshot", self.file]), 2, 3)
                self.one_line(self.run_ours([case.IBTOOL, "iblinkinfo", "--from", self.file]), 2, 3)
                self.assertEqual(before, look())
                self.assertEqual(["one"], os.listdir(self.directory))
                (os.rmdir if make is directory else os.unlink)(self.file)

    def test_what_stands_at_the_new_name(self):
        """A link there is not followed."""
        other = os.path.join(self.directory, "other")
        with open(other, "w", encoding="ascii") as file:
            file.write("mine")
        os.symlink(other, self.file + ".new")
        self.one_line(self.run_ours([case.IBTOOL, "snapshot", self.file]), 2, 3)
        with open(other, encoding="ascii") as file:
            self.assertEqual("mine", file.read())

    def test_mode(self):
        """0600, whatever the umask is and whatever the old file's mode was."""
        for mask in (0o000, 0o777):
            child = self.start(self.file, preexec_fn=lambda mask=mask: os.umask(mask))
            _, error = child.communicate(timeout=60)
            self.assertEqual(0, child.returncode, error)
            self.assertEqual(0o600, stat.S_IMODE(os.stat(self.file).st_mode))
            os.chmod(self.file, 0o644)

    def test_the_subnet_manager_lives_on(self):
        """What ibsim can not answer itself it hands to the programs on a host: opensm, which has no agent for it, gets none of it."""
        self.ibtool("snapshot", self.file)
        refused = self.ibtool("perfquery", "--rcvsl", status=3)  # of this host
        self.assertIn("does not support PortRcvDataSL", refused.stderr)
        self.ibtool("ibccquery", "ClassPortInfo", "7", status=3)
        self.assertIsNone(self.fabric.opensm.poll())
        self.ibtool("saquery", "NodeRecord")


if __name__ == "__main__":
    case.main()
