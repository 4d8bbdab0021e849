# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""umad and verbs on a real kernel: every case of umad.cpp, verbs.cpp and sa.cpp is a test here, by its own process in the guest. The
name of a case begins with its channel, and says whether it runs as a user of some kind, or at the end because it takes a
port away."""
import os
import re
import shlex
import unittest

import guest

HERE = os.path.dirname(os.path.abspath(__file__))
USER = "/usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups "  # by path: busybox has one that knows less
PROGRAMS = ("umad", "verbs", "sa")
AS = {"as a user": USER, "with CAP_NET_RAW": USER + "--inh-caps +net_raw --ambient-caps +net_raw "}


def cases():
    """{name of a test case: the program that has it}"""
    found = {}
    for program in PROGRAMS:
        with open(os.path.join(HERE, program + ".cpp"), encoding="utf-8") as source:
            found |= {name: program for name in re.findall(r'^TEST_CASE\("(.*)"\)', source.read(), re.MULTILINE)}
    return found


def key(case):
    return re.sub(r"[^a-z0-9]+", "_", case.lower()).strip("_")


def command(case, program):
    words, how = shlex.quote(case.replace(",", "\\,")), case.split(":")[0].partition(", ")[2]  # a comma would part two patterns
    return AS.get(how, "") + f"{program} {words}"


# Commands that ask by GMPs, on a host where umad can not be opened but by the server at the other port; `{}` is replaced.
ASKED = {"smpquery": "smpquery {} -C rxe0 --sa-path fe80::ff:fe00:2 nodeinfo 1234"}
CLOSED = "mv /dev/infiniband/umad0 /dev/infiniband/away; {}; status=$?; mv /dev/infiniband/away /dev/infiniband/umad0; exit $status"


def ibtool_commands():
    """{name: command}: as root with umad closed, as users with and without CAP_NET_RAW."""
    all_of_them = {"serve": "serve >/tmp/serve 2>&1 & echo $! >/tmp/server; "
                             "for try in $(seq 100); do [ -s /tmp/serve ] && break; usleep 100000; done; cat /tmp/serve"}
    for name, words in ASKED.items():
        for carrier in ("verbs", "auto", "umad"):
            run = "ibtool " + words.format("--gmp " + carrier)
            all_of_them |= {f"closed_{name}_{carrier}": CLOSED.format(run), f"capable_{name}_{carrier}": AS["with CAP_NET_RAW"] + run,
                            f"user_{name}_{carrier}": USER + run}
    return all_of_them | {"serve_no_more": "kill $(cat /tmp/server)"}


def commands():
    ordered = sorted(cases().items(), key=lambda case: case[0].startswith("umad, at the end:"))
    return {key(case): command(case, program) for case, program in ordered}


class Channels(guest.GuestCase):
    programs = {name: os.environ["KERNEL_" + name.upper()] for name in (*PROGRAMS, "serve")} | {"ibtool": os.environ["IBTOOL"]}
    commands = ibtool_commands() | commands() | {"kernel_log": "dmesg"}

    def test_kernel_is_well(self):
        log = self.result("kernel_log").out
        self.assertIn("rdma_rxe: loaded", log)
        self.assertNotRegex(log, r"BUG:|Oops|WARNING:|general protection")

    def test_verbs_commands_without_umad(self):
        self.assertEqual(self.result("serve").out, "serving\n")
        for name in ASKED:
            for kind in ("closed", "capable"):
                for carrier in ("verbs", "auto"):
                    with self.subTest(name, kind=kind, carrier=carrier):
                        done = self.result(f"{kind}_{name}_{carrier}")
                        self.assertIn("0002:c903:0000:04d2", done.out)
                        self.assertEqual(done.err, "")

    def test_umad_commands_without_umad(self):
        for name in ASKED:
            done = self.result(f"closed_{name}_umad", status=3)
            self.assertRegex(done.err, "^E: There is no /dev/infiniband/umad0: load the kernel module ib_umad")
            for kind, carrier in (("capable", "umad"), ("user", "umad"), ("user", "auto")):
                done = self.result(f"{kind}_{name}_{carrier}", status=3)
                self.assertRegex(done.err, "^E: No permission to use /dev/infiniband/umad0: run as root")

    def test_verbs_commands_as_a_user(self):
        for name in ASKED:
            done = self.result(f"user_{name}_verbs", status=3)
            self.assertRegex(done.err, r"^E: rxe0/1 can not send GMPs by verbs: the kernel grants .* CAP_NET_RAW.*\n$")


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
        self.assertEqual(set(cases().values()), set(PROGRAMS))
        self.assertGreater(len(cases()), 25)
        self.assertEqual(len(commands()), len(cases()))
        self.assertEqual({case.split(":")[0].split(",")[0] for case in cases()}, {"umad", "verbs"})


if __name__ == "__main__":
    guest.main()
