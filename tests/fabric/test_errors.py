# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Exit codes and messages: 0 fine, 2 usage, 3 fabric or system error, 4 complete but for parts that did not answer
(test_broken.py). Errors are lines on stderr that begin with `E:`; stdout carries results only."""
import glob
import os
import subprocess
import unittest

import case


class Errors(case.FabricCase):
    def refused(self, status, *words):
        done = self.ibtool(*words, status=status)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"(?m)^E: ")
        return done.stderr

    def test_success(self):
        done = self.ibtool("ibnetdiscover")
        self.assertEqual(done.stderr, "")

    def test_wrong_usage(self):
        for words in (("nosuchcommand",), ("ibnetdiscover", "--nosuchoption"), ("ibnetdiscover", "-t"), ("ibnetdiscover", "-t", "soon"),
                      ("smpquery",), ("smpquery", "nosuchop", "1"), ("smpquery", "nodeinfo", "-D", "0,1,x"),
                      ("smpquery", "nodeinfo", "-D", "0,1,999"), ("smpquery", "nodeinfo", "not a target"),
                      ("smpquery", "nodeinfo", "70000"), ("smpquery", "portinfo", "1", "many")):
            with self.subTest(" ".join(words)):
                done = self.run_ours([case.IBTOOL, *words])
                self.assertEqual(done.returncode, 2, done.stderr)

    def test_a_usage_error_is_one_line(self):
        lines = self.refused(2, "ibnetdiscover", "--nosuchoption").splitlines()
        self.assertEqual(len(lines), 1, lines)
        self.assertIn("nosuchoption", lines[0])

    def test_help_is_no_error(self):
        self.assertIn("ibnetdiscover", self.ibtool().stdout)
        self.assertIn("ibnetdiscover", self.ibtool("help").stdout)
        self.assertIn("Usage:", self.ibtool("help", "ibnetdiscover").stdout)
        self.assertIn("Usage:", self.ibtool("ibnetdiscover", "--help").stdout)

    def test_nobody_has_that_lid(self):
        self.assertEqual(self.ibtool("smpquery", "nodeinfo", "999", status=3).stderr,
                         "E: LID 999: no answer; the subnet manager's list (LIDs 1 to 22) does not have it\n")

    def test_a_route_into_nothing(self):
        self.ibtool("smpquery", "nodeinfo", "-D", "0,1,30", status=3)

    def test_no_such_device(self):
        self.assertIn("mlx5_7", self.refused(2, "ibnetdiscover", "-C", "mlx5_7"))

    def test_no_such_port(self):
        self.refused(2, "ibnetdiscover", "-P", "9")

    def test_device_and_port_in_all_forms(self):
        guid, port_guid = "506b:4b03:0010:0000", "506b:4b03:0010:0001"
        for words in (("-C", "ibsim0"), ("-P", "1"), ("-C", "ibsim0", "-P", "1"), ("-P", "ibsim0/1"), ("-C", guid), ("-P", port_guid),
                      ("-P", "fe80::506b:4b03:0010:0001")):
            with self.subTest(" ".join(words)):
                self.assertIn("leaf01", self.ibtool("smpquery", *words, "nodedesc", "-D", "0,1").stdout)

    def test_a_name_that_the_device_does_not_take(self):
        """The simulator's sysfs has no node_desc."""
        before = self.ibtool("set_nodedesc").stdout
        self.assertRegex(self.refused(3, "set_nodedesc", "new name"),
                         r"\AE: Can't set the node description of ibsim0\nE: \+open /sys/\S+/node_desc: No such file or directory\n\Z")
        self.assertEqual(self.ibtool("set_nodedesc").stdout, before)

    def test_verbs_where_there_are_none(self):
        for words in (("rdma_bw",), ("rdma_bw", "localhost")):
            lines = self.refused(3, *words).splitlines()
            self.assertEqual(len(lines), 1, lines)
            self.assertIn("ibsim0 has no verbs device", lines[0])

    def test_what_carries_gmps(self):
        words = ("smpquery", "nodeinfo", "fe80::506b:4b03:10:1")  # the SA is asked for its LID
        done = self.ibtool(*words)
        for carrier in ("umad", "auto"):
            self.assertEqual(self.ibtool(*words, "--gmp", carrier).stdout, done.stdout)
        for status, carrier, text in ((3, "verbs", "ibsim0 has no verbs device"), (2, "pigeon", "--gmp: 'pigeon' is not 'auto', 'umad'")):
            lines = self.refused(status, *words, "--gmp", carrier).splitlines()
            self.assertEqual(len(lines), 1, lines)
            self.assertIn(text, lines[0])

    def test_debug_shows_what_is_sent(self):
        done = self.ibtool("smpquery", "-d", "nodeinfo", "1")
        self.assertRegex(done.stderr, r"(?m)^D: .*SMPNodeInfo")
        self.assertIn("Node info", done.stdout)

    def test_verbose_deepens_the_error(self):
        short = self.ibtool("smpquery", "nodeinfo", "999", status=3).stderr
        deep = self.ibtool("smpquery", "-v", "-v", "nodeinfo", "999", status=3).stderr
        self.assertGreater(len(deep.splitlines()), len(short.splitlines()))

    def test_a_closed_pipe_is_not_a_crash(self):
        with subprocess.Popen([case.IBTOOL, "ibnetdiscover"], env=self.fabric.env(), cwd=self.fabric.dir, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as child:
            child.stdout.close()
            child.stderr.read()
            self.assertIn(child.wait(), (0, 3, -13))

    def test_a_full_disk_is_an_error(self):
        with case.open_full_disk() as full:
            done = subprocess.run([case.IBTOOL, "ibnetdiscover"], env=self.fabric.env(), cwd=self.fabric.dir, stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)

    @unittest.skipIf(glob.glob("/sys/class/infiniband/*"), "this host has InfiniBand hardware")
    def test_a_host_without_infiniband(self):
        for words in (["ibnetdiscover"], ["smpquery", "nodeinfo", "1"]):
            done = subprocess.run([case.IBTOOL, *words], capture_output=True, text=True, check=False,
                                  env={key: value for key, value in os.environ.items() if key != "LD_PRELOAD"})
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertRegex(done.stderr, r"^E: ")


if __name__ == "__main__":
    case.main()
