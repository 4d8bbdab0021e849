# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Ours answers as the programs answered that it takes the place of."""
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
        self.assertEqual(set(COMPLAINTS), {golden.complaint_name(case) for case in CASES if golden.needs_complaint(case)})


class Recorded(golden.FabricCases):
    def check(self, case):
        done = golden.run(case, expected=golden.streams(case)[0])
        self.assert_as_recorded(case, done)
        self.assert_err(case, done)
        if golden.needs_complaint(case):
            now, then = golden.complaint(done), COMPLAINTS[golden.complaint_name(case)]
            self.assertEqual(golden.settle(then, now), then)


if __name__ == "__main__":
    golden.main(Recorded, CASES)
