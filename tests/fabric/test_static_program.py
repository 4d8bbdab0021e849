# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""ibtool as one static file: in a root that holds nothing else it prints what the shared one prints."""
import json
import os
import shutil
import subprocess
import tempfile
import unittest

import case
import simfabric

STATIC = simfabric.built("IBTOOL_STATIC", "tools/ibtool-static")
LINES = (
    ("ibtool", "help"), ("ibtool", "help", "smpquery"), ("ibtool", "ibstat"),
    ("ibtool", "iblinkinfo", "--from", "/fabric.ibss"), ("ibtool", "health", "--from", "/fabric.ibss", "--json"),
    ("ibtool", "check_routes", "--from", "/fabric.ibss"), ("ibtool", "saquery", "--from", "/fabric.ibss", "NR"),
    ("ibtool", "snapshot", "--from", "/no-such-file.ibss"), ("ibtool", "decode_mad", "01010181" + "00" * 20),
    ("ibnetdiscover", "--load-cache", "/fabric.cache"), ("iblinkinfo", "--load-cache", "/fabric.cache"),
)


class StaticProgram(case.FabricCase):
    """The root of the static program has two files of a fabric; that of the shared one its libraries, too."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.root = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.root)
        shutil.copy(STATIC, cls.root)
        for name, argv in (("fabric.ibss", [case.IBTOOL, "snapshot"]), ("fabric.cache", ["ibnetdiscover", "--cache"])):
            done = cls.fabric.run([*argv, os.path.join(cls.root, name)])
            if done.returncode != 0:
                raise AssertionError(f"{argv}: {done.stderr}")

    def run_in(self, root, words):
        """Runs the static program, called words[0], with `root` as its root."""
        enter = [shutil.which("chroot", path="/usr/sbin:/usr/bin:/sbin:/bin")]
        if os.getuid() != 0:
            enter = [shutil.which("unshare"), "--map-root-user", *enter]
        link = os.path.join(self.root, words[0])
        if not os.path.lexists(link):
            os.symlink("ibtool-static", link)
        return subprocess.run([*enter, root, "/" + words[0], *words[1:]], capture_output=True, text=True, check=False, env={})

    def run_shared(self, words):
        """Runs the shared program on the same files."""
        words = [os.path.join(self.root, word[1:]) if word.startswith("/fabric.") else word for word in words]
        done = subprocess.run(words, executable=case.IBTOOL, capture_output=True, text=True, check=False, env={})
        done.stdout, done.stderr = done.stdout.replace(self.root, ""), done.stderr.replace(self.root, "")
        return done

    def test_file_needs_nothing(self):
        headers = subprocess.run(["readelf", "-W", "-l", STATIC], capture_output=True, text=True, check=True).stdout
        self.assertNotIn("INTERP", headers)
        self.assertNotIn("DYNAMIC", headers)

    def test_in_an_empty_root(self):
        for words in LINES:
            with self.subTest(" ".join(words)[:70]):
                ours, shared = self.run_in(self.root, words), self.run_shared(words)
                self.assertEqual((ours.returncode, ours.stderr), (shared.returncode, shared.stderr))
                self.assertEqual(ours.stdout, shared.stdout)
        self.assertIn("leaf01", self.run_in(self.root, LINES[3]).stdout)
        self.assertTrue(json.loads(self.run_in(self.root, LINES[4]).stdout)["checks"])

    def test_it_says_what_it_lacks(self):
        version = self.run_in(self.root, ["ibtool", "--version"])
        self.assertEqual(version.stdout.splitlines()[1:],
                         ["Static: without the HTTP server of ibtool exporter (--once and --textfile work)."])
        self.assertEqual(len(self.run_shared(["ibtool", "--version"]).stdout.splitlines()), 1)

    def test_on_a_fabric(self):
        """Nothing can be preloaded into a static program, so that it has no simulated devices: it says that it has none."""
        done = self.run_in(self.root, ["ibtool", "ibhosts"])
        self.assertEqual((done.returncode, done.stdout, len(done.stderr.splitlines())), (3, "", 1))


if __name__ == "__main__":
    unittest.main()
