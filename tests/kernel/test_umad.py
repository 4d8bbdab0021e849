# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""umad on a real kernel: every case of umad.cpp is a test here, by its own process in the guest; those about permission as a
user who has none, those about a port that goes away at the end."""
import os
import re
import shlex
import unittest

import guest

HERE = os.path.dirname(os.path.abspath(__file__))
AS_USER = "/usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups "  # by path: busybox has one that knows less


def cases():
    """The names of the test cases of umad.cpp."""
    with open(os.path.join(HERE, "umad.cpp"), encoding="utf-8") as source:
        return re.findall(r'^TEST_CASE\("(.*)"\)', source.read(), re.MULTILINE)


def key(case):
    return re.sub(r"[^a-z0-9]+", "_", case.lower()).strip("_")


def command(case):
    run = "umad " + shlex.quote(case.replace(",", "\\,"))  # a comma would part two patterns
    return AS_USER + run if case.startswith("permission:") else run


def commands():
    ordered = sorted(cases(), key=lambda case: case.startswith("gone:"))
    return {key(case): command(case) for case in ordered}


class Umad(guest.GuestCase):
    programs = {"umad": os.environ["KERNEL_UMAD"]}
    commands = commands() | {"kernel_log": "dmesg"}

    def test_kernel_is_well(self):
        log = self.result("kernel_log").out
        self.assertIn("rdma_rxe: loaded", log)
        self.assertNotRegex(log, r"BUG:|Oops|WARNING:|general protection")


def add(case):
    def test(self):
        done = self.result(key(case))
        self.assertIn("All tests passed", done.out)
        self.assertIn("in 1 test case", done.out)
    test.__doc__ = case
    setattr(Umad, "test_" + key(case), test)


for name in cases():
    add(name)


class Found(unittest.TestCase):
    def test_cases_are_found(self):
        self.assertGreater(len(cases()), 10)
        self.assertEqual(len(commands()), len(cases()))


if __name__ == "__main__":
    guest.main()
