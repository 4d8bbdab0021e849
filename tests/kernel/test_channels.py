# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""umad and verbs on a real kernel: every case of umad.cpp and verbs.cpp is a test here, by its own process in the guest. The
name of a case begins with its channel, and says whether it runs as a user of some kind, or at the end because it takes a
port away."""
import os
import re
import shlex
import unittest

import guest

HERE = os.path.dirname(os.path.abspath(__file__))
USER = "/usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups "  # by path: busybox has one that knows less
AS = {"as a user": USER, "with CAP_NET_RAW": USER + "--inh-caps +net_raw --ambient-caps +net_raw "}


def cases():
    """{name of a test case: the program that has it}"""
    found = {}
    for program in ("umad", "verbs"):
        with open(os.path.join(HERE, program + ".cpp"), encoding="utf-8") as source:
            found |= {name: program for name in re.findall(r'^TEST_CASE\("(.*)"\)', source.read(), re.MULTILINE)}
    return found


def key(case):
    return re.sub(r"[^a-z0-9]+", "_", case.lower()).strip("_")


def command(case, program):
    words, how = shlex.quote(case.replace(",", "\\,")), case.split(":")[0].partition(", ")[2]  # a comma would part two patterns
    return AS.get(how, "") + f"{program} {words}"


def commands():
    ordered = sorted(cases().items(), key=lambda case: case[0].startswith("umad, at the end:"))
    return {key(case): command(case, program) for case, program in ordered}


class Channels(guest.GuestCase):
    programs = {"umad": os.environ["KERNEL_UMAD"], "verbs": os.environ["KERNEL_VERBS"]}
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
    setattr(Channels, "test_" + key(case), test)


for name in cases():
    add(name)


class Found(unittest.TestCase):
    def test_cases_are_found(self):
        self.assertEqual(set(cases().values()), {"umad", "verbs"})
        self.assertGreater(len(cases()), 25)
        self.assertEqual(len(commands()), len(cases()))
        self.assertEqual({case.split(":")[0].split(",")[0] for case in cases()}, {"umad", "verbs"})


if __name__ == "__main__":
    guest.main()
