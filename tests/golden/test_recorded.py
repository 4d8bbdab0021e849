# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Ours answers as the programs answered that it takes the place of."""
import re
import subprocess
import unittest

import golden
import simfabric

CASES = golden.recorded()
COMPLAINTS = golden.complaints()


# Programs of infiniband-diags that are scripts which know no -V.
LISTS = ("ibhosts", "ibnodes", "ibrouters", "ibswitches")
# Programs of infiniband-diags that are scripts: what they say of -V.
SCRIPTS = {"check_lft_balance": "^Unknown option: V", "dump_lfts": "^/usr/sbin/dump_fts BUILD VERSION",
           "dump_mfts": "^/usr/sbin/dump_fts BUILD VERSION", "ibfindnodesusing": "^Unknown option: V"}


class Names(unittest.TestCase):
    """A name that the program does not know fails like a wrong option does: that must not pass for an answer."""

    def run_ours(self, *argv):
        return subprocess.run(argv, executable=simfabric.IBTOOL, check=False, capture_output=True, encoding="utf-8")

    def test_each_legacy_name_is_known(self):
        for name in {case.cmd.split()[0] for case in CASES} - {"ibtool", *LISTS}:
            with self.subTest(name):
                self.assertRegex(self.run_ours(name, "-V").stderr, SCRIPTS.get(name, f"^{name} BUILD VERSION"))

    def test_each_list_is_known(self):
        for name in LISTS:
            with self.subTest(name):
                self.assertRegex(self.run_ours(name, "-V").stdout, "^Usage: ib(hosts|routers|switches) ")

    def test_each_command_is_known(self):
        for name in {case.cmd.split()[1] for case in CASES if case.cmd.startswith("ibtool ")} - {"nosuchcommand"}:
            with self.subTest(name):
                self.assertEqual(self.run_ours("ibtool", "help", name).returncode, 0)

    def test_each_complaint_is_one_of_a_case(self):
        self.assertEqual(set(COMPLAINTS), {golden.complaint_name(case) for case in CASES if golden.fails_silently(case)})


class Recorded(golden.FabricCases):
    def check(self, case):
        done = golden.run(self.fabric, case)
        self.assertNotIn("AddressSanitizer", done.stderr)
        if case.ref == "infiniband-diags":
            self.assertEqual(done.returncode, int(case.rc), done.stderr)
        else:  # python-rdma knew one failure, 100, where we tell them apart
            self.assertEqual(done.returncode == 0, case.rc == "0", f"status {done.returncode}\n{done.stderr}")
        if re.search("^[DE]:", case.out, re.MULTILINE):  # there both streams were one
            self.assertEqual(sorted(golden.lines_of(done.stdout + "\n" + done.stderr)), sorted(golden.lines_of(case.out)))
        else:
            self.assertEqual(golden.lines_of(done.stdout), golden.lines_of(case.out))
        if golden.fails_silently(case):
            self.assertEqual(golden.complaint(done), COMPLAINTS[golden.complaint_name(case)])


if __name__ == "__main__":
    golden.main(Recorded, CASES)
