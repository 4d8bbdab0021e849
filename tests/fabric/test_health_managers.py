# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""health where a real opensm hangs, and where a part of the fabric is cut off: who is to blame, and what is no remedy."""
import json
import os
import signal

import case

LEAF = "S-b8599f0300a00030"
UPLINKS = (19, 20, 21, 22)


class Managers(case.FabricCase):
    def health(self, *words, status=1):
        return json.loads(self.ibtool("health", "--json", "-t", "200", "--retries", "1", *words, status=status).stdout)

    def worst(self, *words):
        return [finding for finding in self.health(*words)["findings"] if finding["level"] != "info"]

    def hang(self):
        os.kill(self.fabric.opensm.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, self.fabric.opensm.pid, signal.SIGCONT)

    def cut(self, *ports):
        for port in ports:
            self.change(f'Unlink "{LEAF}"[{port}]', undo=f'Relink "{LEAF}"[{port}]')

    def test_opensm_that_hangs(self):
        self.hang()
        # Links that another test cut and linked again are in Initialize until a manager looks.
        found = [finding for finding in self.worst("--interval", "0") if finding["check"] != "port-init"]
        self.assertEqual([finding["check"] for finding in found], ["sm-silent"])
        self.assertIn("restart that one", found[0]["remedy"])
        self.assertIn("its subnet administrator does not answer either", found[0]["text"])

    def test_packets_that_go_by_a_dead_port(self):
        self.hang()
        self.cut(*UPLINKS[:3])  # the entries of the switches lead to them still
        found = self.worst("--interval", "0.5")
        self.assertIn("sm-silent", [finding["check"] for finding in found])
        self.assertIn("way-broken", [finding["check"] for finding in found])
        self.assertNotIn("node-partial", [finding["check"] for finding in found])

    def test_a_part_that_is_cut_off_is_one_finding(self):
        before = self.fabric.path("before.ibss")
        self.ibtool("snapshot", before, "--only", "topology")
        self.hang()
        self.cut(*UPLINKS)
        gone = ("region-gone", "node-gone")
        found = [finding for finding in self.worst("--interval", "0", "--baseline", before) if finding["check"] in gone]
        self.assertEqual([finding["check"] for finding in found], ["region-gone"])
        ends = [(end["node_guid"], end["port_num"]) for end in found[0]["ends"]]
        self.assertEqual(sorted(port for _, port in ends[1::2]), list(UPLINKS))
        self.assertIn("1 switch and 4 adapters", found[0]["text"])


if __name__ == "__main__":
    case.main()
