# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The own end port that is not Active, on a simulated fabric: what ibtool's commands say of it, and that infiniband-diags' names print what
Debian's programs print."""
import json
import os
import re

import case

HOSTS = [f"H-50000000000000{at}0" for at in (1, 2, 3)]
LEAVES = ["S-6000000000000100", "S-6000000000000200"]
OWN = '"H-5000000000000010"[1]'
DOWN = "ibsim0/1 is Down (physical state Polling): nothing beyond this host can be reached"
OTHER_END = "; it was linked to port 1 of 'leafA' 6000:0000:0000:0100 (in '{}')"


class Base(case.FabricCase):
    """Two leaves. This host and another one are at the first of them."""
    @classmethod
    def make_net(cls):
        net = ""
        for host, name, leaf, port in zip(HOSTS, "ABC", (LEAVES[0], LEAVES[0], LEAVES[1]), (1, 2, 1)):
            net += case.node("Ca", host, {1: (leaf, port)}, f"host{name} HCA-1", int(host[2:], 16))
        ends = {1: (HOSTS[0], 1), 2: (HOSTS[1], 1), 3: (LEAVES[1], 3)}, {1: (HOSTS[2], 1), 3: (LEAVES[0], 3)}
        for leaf, name, links in zip(LEAVES, "AB", ends):
            net += case.node("Switch", leaf, links, f"leaf{name}", int(leaf[2:], 16))
        return net


class Down(Base):
    """The own cable is pulled. The subnet manager runs on the same host."""
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.before = cls.fabric.path("before.ibss")
        done = cls.fabric.run([case.IBTOOL, "snapshot", cls.before, "--only", "topology"])
        assert done.returncode == 0, done.stderr
        cls.fabric.console(f"Unlink {OWN}")

    def test_one_line_and_status_3(self):
        for words in (["iblinkinfo"], ["iblinkinfo", "--down"], ["ibnetdiscover"], ["ibswitches"], ["ibqueryerrors"],
                      ["ibtracert", "1", "4"], ["ibtracert", "hostA", "hostB"], ["saquery", "NR"], ["perfquery", "4"],
                      ["perfquery", "hostB"], ["smpquery", "NI", "4"], ["smpquery", "NI", "hostB"], ["sminfo"], ["check_routes"],
                      ["ibping", "-S"], ["rdma_bw", "-p", "4446"]):
            with self.subTest(" ".join(words)):
                done = self.ibtool(*words, status=3)
                self.assertEqual((done.stdout, done.stderr), ("", f"E: {DOWN}\n"))

    def test_the_other_end_is_named_where_a_cache_knows_it(self):
        done = self.ibtool("ibqueryerrors", "hostB", status=3, IBTOOL_CACHE=self.before)
        self.assertEqual(done.stderr, f"E: {DOWN}{OTHER_END.format(self.before)}\n")

    def test_the_own_node_and_stored_fabrics_are_as_ever(self):
        self.assertIn("Down", self.ibtool("smpquery", "-D", "PI", "0", "1").stdout)
        self.assertIn("Down", self.ibtool("ibportstate", "-D", "0", "1", "query").stdout)
        self.assertIn("State: Down", self.ibtool("ibstat").stdout)
        for words in (["ibaddr"], ["iblinkinfo", "--from", self.before], ["iblinkinfo", "--load-cache", self.before]):
            self.assertNotIn("is Down", self.ibtool(*words).stderr)

    def test_health(self):
        for words in ([], ["hostB"], ["--port", "local", "--state", self.fabric.path("state")], ["--baseline", self.before]):
            with self.subTest(" ".join(words)):
                found = json.loads(self.ibtool("health", "--json", *words, status=1).stdout)
                self.assertEqual([finding["check"] for finding in found["findings"]], ["own-port"])
        self.assertFalse(os.path.exists(self.fabric.path("state")))
        text = self.ibtool("health", "--baseline", self.before, status=1).stdout
        first = f"{DOWN}{OTHER_END.format(self.before)}.\n"
        self.assertTrue(text.startswith(f"{first}error: own-port (sure): 5000:0000:0000:0010 port 1 -- 'leafA' "), text)
        self.assertNotIn("''", text)

    def test_snapshot_keeps_the_file(self):
        with open(self.before, "rb") as file:
            yesterday = file.read()
        self.assertEqual(self.ibtool("snapshot", self.before, status=3).stderr, f"E: {DOWN}{OTHER_END.format(self.before)}\n")
        with open(self.before, "rb") as file:
            self.assertEqual(file.read(), yesterday)

    def test_exporter(self):
        page = self.ibtool("exporter", "--once", status=3).stdout
        self.assertRegex(page, r'(?m)^infiniband_exporter_collect_errors\{collector="ibnetdiscover-runonce"\} 1$')
        self.assertRegex(page, r'(?m)^infiniband_health_findings\{check="own-port",level="error"\} 1$')
        self.assertNotIn('node=""', page)

    def test_legacy_names(self):
        for words in (["iblinkinfo"], ["ibswitches"], ["ibnetdiscover"], ["perfquery", "4"], ["smpquery", "nodeinfo", "4"],
                      ["ibportstate", "-D", "0", "1"]):
            with self.subTest(" ".join(words)):
                ours, theirs = self.legacy(*words), self.debian(*words)
                # A comment has the date. Lines of libibmad on stdout have the PID.
                self.assertEqual(*[re.sub(r"(?m)^# Topology file.*\n|\[\d+\]", "", done.stdout) for done in (ours, theirs)])
                self.assertEqual(ours.returncode, theirs.returncode)
                self.assertNotIn("is Down", ours.stderr)


class Initialize(Base):
    """No subnet manager has ever been there."""
    sm = False
    IS = r"ibsim0/1 is Initialize \(physical state Link UP\): "

    def test_smps_go_on_with_one_line(self):
        for words in (["ibnetdiscover"], ["iblinkinfo"], ["smpquery", "NI", "0,1"], ["smpquery", "NI", "hostB"]):
            with self.subTest(" ".join(words)):
                self.assertRegex(self.ibtool(*words).stderr, rf"^W: {self.IS}nothing but SMPs passes [^\n]*\n$")

    def test_what_needs_lids_is_refused(self):
        for words in (["perfquery", "4"], ["saquery", "NR"], ["iblinkinfo", "--sa"], ["ibping", "-S"]):
            with self.subTest(" ".join(words)):
                done = self.ibtool(*words, status=3)
                self.assertEqual(done.stdout, "")
                self.assertRegex(done.stderr, rf"^E: {self.IS}GMPs, and queries to the SA, need [^\n]*\n$")


if __name__ == "__main__":
    case.main()
