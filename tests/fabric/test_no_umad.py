# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""By the legacy names on a host without ib_umad and without a device, and through links of other names: what is said on which stream, and
with what status. Debian's programs are compared where the host of the test is such a host; without SYSFS_PATH ours look at the same."""
import os
import re
import subprocess
import tempfile
import unittest

import case
import simfabric
from bounds import stands_for

NO_ABI = ("ibwarn: [PID] get_abi_version: can't read ABI version from /sys/class/infiniband_mad/abi_version (No such file or directory): "
          "is ib_umad module loaded?\n")
OPEN = "mad_rpc_open_port" if simfabric.diags_version() == "44.0" else "mad_rpc_open_port2"
NO_PORT = NO_ABI + f"ibwarn: [PID] {OPEN}: can't open UMAD port ((null):0)\n"
NO_SA = "ibwarn: [PID] sa_get_handle: No SM/SA found on port (null):0\nibpanic: [PID] main: Failed to bind to the SA: Success\n"
NO_DUMP = NO_ABI + "ibpanic: [PID] main: can't open UMAD port ((null):0): No such file or directory\n"
LINES = {
    "perfquery": NO_PORT, "perfquery -C x": NO_PORT.replace("(null)", "x"), "ibaddr": NO_PORT,
    "smpquery ni 1": NO_PORT, "smpquery -D ni 0": NO_PORT, "smpdump 1 0x11": NO_DUMP, "sminfo": NO_PORT, "ibroute 1": NO_PORT,
    "ibtracert 1 2": NO_PORT, "ibportstate 1 1": NO_PORT, "vendstat -N 1": NO_PORT, "ibping 1": NO_PORT, "ibping -S": NO_PORT,
    "ibsysstat 1": NO_PORT, "ibccquery CongestionInfo 1": NO_PORT, "ibqueryerrors": NO_PORT,
    "iblinkinfo": NO_PORT + "Failed to open (null) port 0\n", "ibnetdiscover": NO_PORT,
    "ibnetdiscover -C x": NO_PORT.replace("(null)", "x"), "ibhosts": NO_PORT, "ibswitches": NO_PORT, "ibrouters": NO_PORT,
    "ibnodes": NO_PORT + NO_PORT, "dump_fts": NO_PORT + "Failed to discover fabric\n",
    "dump_lfts": NO_PORT + "Failed to discover fabric\n", "dump_mfts": NO_PORT + "Failed to discover fabric\n",
    "saquery": NO_SA, "saquery PR": NO_SA, "saquery -N": NO_SA,
    "saquery -C x": NO_SA.replace("(null)", "").replace("Success", "No such file or directory"), "ibstat": "", "ibstat -l": "",
}


def comparable(text):
    return re.sub(r"\[(pid )?\d+\]", "[PID]", text)


class NoUmad(unittest.TestCase):
    maxDiff = None

    def ran(self, program, words, **env):
        done = subprocess.run(words, executable=program, capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8", timeout=60,
                              env=dict(os.environ, **env), check=False)
        return comparable(done.stdout), comparable(done.stderr), done.returncode

    def test_streams_and_status(self):
        with tempfile.TemporaryDirectory() as empty:
            for line, said in LINES.items():
                with self.subTest(line):
                    words = line.split()
                    out, err, status = self.ran(case.IBTOOL, words, SYSFS_PATH=empty)
                    self.assertEqual(err, said)
                    self.assertNotEqual(status, 2)
                    if words[0] == "saquery":
                        self.assertEqual((out, status), ("", 255))

    def test_as_debians(self):
        if os.path.exists("/sys/class/infiniband") or os.path.exists("/sys/class/infiniband_mad"):
            self.skipTest("this host has InfiniBand, which tests leave alone")
        for line in LINES:
            program = simfabric.find_program(line.split()[0])
            if not program:
                continue
            with self.subTest(line):
                (out, err, status), theirs = self.ran(case.IBTOOL, line.split()), self.ran(program, line.split())
                self.assertEqual((out, status), (theirs[0], theirs[2]))
                self.assertTrue(stands_for(err, theirs[1]), err)


class Names(unittest.TestCase):
    """What is meant by a name that is not known."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.at = lambda name: os.path.join(folder.name, name)
        os.symlink(os.path.abspath(case.IBTOOL), self.at("ibstat"))

    def is_ibstat(self, path, words):
        # Where subprocess can call posix_spawn(), Python 3.13 refuses an empty name; it cannot change the folder with it.
        done = subprocess.run(words + ["--nonsense"], executable=path, cwd="/", capture_output=True, encoding="utf-8", check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("Usage: ", done.stderr)
        self.assertIn("--list_of_cas", done.stderr)

    def test_links_endings_and_no_name(self):
        os.symlink("ibstat", self.at("topo"))
        os.symlink("topo", self.at("further"))
        os.symlink(os.path.abspath(case.IBTOOL), self.at("ibstat.distrib"))
        os.symlink("ibstat.distrib", self.at("diverted"))
        for name in ("ibstat", "topo", "further", "ibstat.distrib", "diverted"):
            with self.subTest(name):
                self.is_ibstat(self.at(name), [self.at(name)])
        for name in ("x", "", "-x"):
            with self.subTest(argv0=name):
                self.is_ibstat(self.at("ibstat"), [name])

    def test_ibtool_by_another_name(self):
        os.symlink(os.path.abspath(case.IBTOOL), self.at("ib"))
        for path, name in ((self.at("ib"), "ib"), (case.IBTOOL, "x"), (case.IBTOOL, "")):
            with self.subTest(path=path, argv0=name):
                done = subprocess.run([name, "--version"], executable=path, cwd="/", capture_output=True, encoding="utf-8", check=False)
                self.assertRegex(done.stdout, r"^ibtool \d")

    def test_a_name_that_nothing_explains(self):
        with open(case.IBTOOL, "rb") as ours, open(self.at("unknown"), "wb") as copy:
            copy.write(ours.read())
        os.chmod(self.at("unknown"), 0o755)
        done = subprocess.run([self.at("unknown")], capture_output=True, encoding="utf-8", check=False)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("does not know what to do by the name of 'unknown'", done.stderr)


if __name__ == "__main__":
    case.main()
