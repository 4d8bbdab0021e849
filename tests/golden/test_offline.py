# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a command prints from a snapshot is what it prints on the fabric: the cases of recorded.jsonl and ours/ again, on no fabric at
all, each from one snapshot of the fabric that they were recorded on."""
import dataclasses
import os
import re
import shlex
import subprocess
import tempfile
import unittest

import golden
import simfabric
from sample_lines import commands_with

# What changes, serves, pings or watches a fabric.
NEEDS_FABRIC = re.compile(
    r"ibtool (ibportstate .*--and-reset|sminfo \d+ \d)|"
    rf"(ibtool )?({'|'.join(sorted(commands_with('needs-fabric')))})\b|.*--interval\b"
    r"|(ibtool )?perfquery .*-\w*[rR]|(ibtool )?ibqueryerrors .*-[kK]\b")
# What the simulator, or opensm, answers otherwise than a fabric would: combined routes, a wrong SM_Key; paths from other ports than ours.
NOT_KEPT = re.compile(r"smpquery -c|ibportstate \d+ \d+ query|saquery --smkey 5|ibtool saquery PR --dgid \S+ --get")
# What opensm makes of a query besides comparing the components that its mask names (ibtool-saquery(1), DIFFERENCES): it refuses P_Keys to
# those without the SM_Key, and offers a path with less than its rate.
OF_OPENSM = re.compile(r"saquery PKTR\b|ibtool saquery -p -R 3$")
# What does not look at the fabric, or is about how it was asked: devices of this host, packets, traces, statistics.
OF_THE_HOST = re.compile(r"(ibtool )?(ibstat|ibstatus|ibv_devices|decode_mad|help|ibcacheedit|saquery -dd|smpdump -p)\b"
                         r"|.* (-d+|-v+|-e|--stats)\b|.*(--sa-path|--cache|--discovery|--load-cache|-C |-P |--gmp)")


def is_offline(case):
    return not (case.prep or case.lmc or case.loss or not case.rmpp or NEEDS_FABRIC.match(case.cmd) or OF_THE_HOST.match(case.cmd)
                or NOT_KEPT.match(case.cmd) or OF_OPENSM.match(case.cmd))


def cases():
    """All cases that a snapshot can answer, theirs first."""
    return [case for case in golden.recorded() + golden.ours() if is_offline(case)]


class Refused(unittest.TestCase):
    def test_what_needs_a_fabric_is_one_line_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as directory, golden.open_fabric("net") as fabric:
            file = os.path.join(directory, "snapshot")
            fabric.run(["ibtool", "snapshot", file], executable=simfabric.IBTOOL)
            for line in ("ibtool ibping 2", "ibtool ibping -S", "ibtool perfquery -R 2 1", "ibtool perfquery -r 2 1",
                         "ibtool ibportstate 2 5 disable", "ibtool set_port_state 2@5 --down", "ibtool ibclearcounters",
                         "ibtool perfquery --interval 1 2 1", "ibping 2",
                         "ibportstate 2 5 disable", "perfquery -R 2 1", "ibsysstat 2"):
                with self.subTest(line):
                    done = subprocess.run(line.split(), executable=simfabric.IBTOOL, env=dict(os.environ, IBTOOL_FROM=file), timeout=60,
                                          check=False, capture_output=True, encoding="utf-8")
                    self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                    self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)

    def test_what_was_not_read_names_its_part(self):
        with tempfile.TemporaryDirectory() as directory, golden.open_fabric("net") as fabric:
            file = os.path.join(directory, "snapshot")
            fabric.run(["ibtool", "snapshot", "--skip", "lft", file], executable=simfabric.IBTOOL)
            done = subprocess.run(["ibtool", "ibroute", "--from", file, "2"], executable=simfabric.IBTOOL, check=False, capture_output=True,
                                  encoding="utf-8")
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("--skip lft", done.stderr)


class Offline(golden.FabricCases):
    @classmethod
    def setUpClass(cls):
        directory = tempfile.TemporaryDirectory()
        cls.addClassCleanup(directory.cleanup)
        cls.file = os.path.join(directory.name, "snapshot")
        with golden.open_fabric(cls.fabric_name, cls.rmpp) as fabric:
            done = fabric.run(["ibtool", "snapshot", cls.file], executable=simfabric.IBTOOL)
        if done.returncode != 0:
            raise AssertionError(f"ibtool snapshot: status {done.returncode}\n{done.stderr}")

    def offline(self, case, *options):
        """The run of a case on the snapshot, without any fabric."""
        stdin = ""
        if case.stdin:
            with open(os.path.join(golden.HERE, case.stdin), encoding="ascii") as text:
                stdin = text.read()
        words = [word.replace("inputs/", os.path.join(golden.HERE, "inputs", "")) for word in shlex.split(case.cmd)]
        program, more = golden.program_of(case)
        env = dict(os.environ, IBTOOL_FROM=self.file, COLUMNS="80", LANG="C.UTF-8", SYSFS_PATH="/nonexistent", **more)
        done = subprocess.run([*words, *options], executable=program, env=env, input=stdin, timeout=60, check=False,
                              capture_output=True, encoding="utf-8", errors="backslashreplace", cwd=os.path.dirname(self.file))
        self.assertNotIn("AddressSanitizer", done.stderr)
        return done

    def check(self, case):
        done = self.offline(case)
        # The snapshot was taken by more packets than the case has sent.
        case = dataclasses.replace(case, traffic=5000)
        if case.ref:
            self.assert_as_recorded(case, done)
        else:
            self.assertEqual(done.returncode, case.rc, done.stderr)
            self.assertEqual(golden.settle(case.out, done.stdout, case.traffic), case.out or "")
        if int(case.rc) == 0:  # what failed on the fabric fails here since it is not in the file, which is another reason
            self.assert_err(case, done)
        if case.json is not None:
            self.assertEqual(golden.settle(case.json, self.offline(case, "--json").stdout, case.traffic), case.json)


if __name__ == "__main__":
    golden.main(Offline, cases())
