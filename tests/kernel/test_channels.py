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


TARGET = "fe80::ff:fe00:2"  # rxe1, where the servers are
# Commands that ask by GMPs, where umad can not be opened but by the servers, and what must stand in their output.
ASKED = {
    "smpquery": (f"smpquery -C rxe0 --sa-path {TARGET} nodeinfo 1234", r"PortGuid:\.*0002:c903:0000:04d2\n"),
    "saquery": (f"saquery -C rxe0 --sa-path {TARGET} NR 1234", r"NodeDescription\.*node 1234\n"),
    "saquery_all": (f"saquery -C rxe0 --sa-path {TARGET} NR", r"(?s)^(?=.*node 2000\n)(NodeRecord dump:\n(\t\t[^\n]*\n)+){2000}$"),
    "saquery_multi": (f"saquery -C rxe0 --sa-path {TARGET} MPR -n 127" + "".join(f" DGID=fe80::{i}" for i in range(1, 31)),
                      r"(?s)^(PathRecord dump:\n(\t\t[^\n]*\n)+){30}$"),
    "query_pm": (f"query -C rxe0 PerformanceGet PMPortCounters {TARGET}", "[xX]mit[dD]ata.*123456789"),
    "query_sa": (f"query -C rxe0 --sa-path {TARGET} SubnAdmGet SANodeRecord -f LID=1234", "node 1234"),
    "ibping": (f"ibping -C rxe0 -c 2 {TARGET}", "2 packets transmitted, 2 received, 0% packet loss"),
    "ibsysstat": (f"ibsysstat -C rxe0 {TARGET} ping", "Cookie"),
}
CLOSED = "mv /dev/infiniband/umad0 /dev/infiniband/away; {}; status=$?; mv /dev/infiniband/away /dev/infiniband/umad0; exit $status"


def ibtool_commands():
    """{name: command}: each as root with umad closed and as a user with CAP_NET_RAW; the first also where it must fail."""
    commands_in_order = {
        "serve_pings": "ibtool ibping -S -C rxe1 --gmp verbs >/tmp/pings 2>&1 & echo $! >/tmp/pinged; sleep 1; cat /tmp/pings",
        "serve": "programs serve-guest >/tmp/serve 2>&1 & echo $! >/tmp/server; "
                 "for try in $(seq 100); do [ -s /tmp/serve ] && break; usleep 100000; done; cat /tmp/serve"}
    for name, (words, _) in ASKED.items():
        run = f"ibtool {words} --gmp "
        commands_in_order[f"closed_{name}"] = CLOSED.format(run + "verbs")
        commands_in_order[f"capable_{name}"] = AS["with CAP_NET_RAW"] + run + "auto"
    run = f"ibtool {next(iter(ASKED.values()))[0]} --gmp "
    return commands_in_order | {
        "closed_auto": CLOSED.format(run + "auto"), "closed_umad": CLOSED.format(run + "umad"), "user_auto": USER + run + "auto",
        "user_verbs": USER + run + "verbs",
        "closed_serve": CLOSED.format("ibtool ibping -S -C rxe0 --gmp verbs"),
        "capable_serve": AS["with CAP_NET_RAW"] + "ibtool ibsysstat -S -C rxe0", "serve_no_more": "kill $(cat /tmp/server /tmp/pinged)"}


def commands():
    ordered = sorted(cases().items(), key=lambda case: case[0].startswith("umad, at the end:"))
    return {key(case): command(case, program) for case, program in ordered}


class Channels(guest.GuestCase):
    programs = {name: os.environ["KERNEL_" + name.upper()] for name in PROGRAMS} | {
        "programs": os.environ["IBTEST_PROGRAMS"], "ibtool": os.environ["IBTOOL"]}
    commands = ibtool_commands() | commands() | {"kernel_log": "dmesg"}

    def test_kernel_is_well(self):
        log = self.result("kernel_log").out
        self.assertIn("rdma_rxe: loaded", log)
        self.assertNotRegex(log, r"BUG:|Oops|WARNING:|general protection")

    def test_verbs_commands_without_umad(self):
        self.assertEqual(self.result("serve").out, "serving\n")
        for name, (_, shown) in ASKED.items():
            for how in (f"closed_{name}", f"capable_{name}"):
                with self.subTest(how):
                    done = self.result(how)
                    self.assertRegex(done.out, shown)
                    self.assertEqual(done.err, "")
        self.assertEqual(self.result("closed_auto").out, self.result("closed_" + next(iter(ASKED))).out)

    def test_umad_commands_without_umad(self):
        self.assertRegex(self.result("closed_umad", status=3).err,
                         "^E: There is no /dev/infiniband/umad0, though the kernel module ib_umad is loaded")
        self.assertRegex(self.result("user_auto", status=3).err, "^E: No permission to use /dev/infiniband/umad0: run as root")

    def test_serving_without_umad(self):
        refusal = r"^E: rxe0/1 cannot serve: requests come to its QP1, which only umad reaches\. "
        done = self.result("closed_serve", status=3)
        self.assertRegex(done.err, refusal + r"There is no /dev/infiniband/umad0, though the kernel module ib_umad is loaded.*\n$")
        self.assertEqual(done.out, "")
        done = self.result("capable_serve", status=3)
        self.assertRegex(done.err, refusal + r"No permission to use /dev/infiniband/umad0: run as root.*\n$")
        self.assertEqual(done.out, "")

    def test_verbs_commands_as_a_user(self):
        self.assertRegex(self.result("user_verbs", status=3).err,
                         r"^E: rxe0/1 cannot send GMPs by verbs: the kernel grants .* CAP_NET_RAW.*\n$")


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
