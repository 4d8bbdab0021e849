# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""--sa: the same answers from opensm's database as from the nodes themselves, and no SMP."""
import json
import os
import re

import case

GOLDEN = os.path.join(case.HERE, "..", "golden")
SM_LID = 7  # of the host, where opensm runs


class FromSa(case.FabricCase):
    netfile, lids = case.CLUSTER, case.CLUSTER_LIDS

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.topology = None

    def targets(self):
        """The LID of one node of each kind."""
        kinds = {}
        if self.topology is None:
            type(self).topology = self.ours()
        for (node, _), (lid, _) in self.topology.lids.items():
            kinds.setdefault(self.topology.nodes[node][0], str(lid))
        return kinds

    def same(self, *words):
        with self.subTest(" ".join(words)):
            direct = self.ibtool(*words)
            from_sa = self.ibtool(*words, "--sa", "-d")
            self.assertEqual(direct.stdout, from_sa.stdout)
            self.assertIn("SAFormat", from_sa.stderr)
            self.assertNotIn("SMPFormat", from_sa.stderr)

    def test_the_nodes_say_the_same(self):
        kinds = self.targets()
        self.assertLessEqual({"Switch", "Ca"}, set(kinds))
        for kind, lid in kinds.items():
            for operation in ("NI", "ND", "PKeys", "GI"):
                self.same("smpquery", operation, lid)
            self.same("smpdump", lid, "0x11")
            self.same("smpdump", "-s", lid, "0x10")
            self.same("ibaddr", lid)
        self.same("smpquery", "SI", kinds["Switch"])
        self.same("smpquery", "--json", "NI", kinds["Switch"])

    def test_a_port_and_its_peer(self):
        done = self.ibtool("ibportstate", self.targets()["Switch"], "1", "query", "--sa", "-d")
        self.assertIn("(peer is '", done.stdout)
        self.assertIn("SAFormat", done.stderr)
        self.assertNotIn("SMPFormat", done.stderr)

    def test_directed_routes(self):
        self.same("smpquery", "-D", "NI", "0,")
        for route in ("0,", "0,1", "0,1,2"):  # not NI: its LocalPort is the port of entry, which no record knows
            self.same("smpquery", "-D", "ND", route)
            self.same("ibaddr", "-D", route)

    def test_ports(self):
        """PortInfo of port 0 is the right one of each kind of node; counters in it may move meanwhile."""
        for lid in self.targets().values():
            for port in ("0", "1"):
                direct = json.loads(self.ibtool("smpquery", "--json", "PI", lid, port).stdout)["data"]
                from_sa = json.loads(self.ibtool("smpquery", "--json", "--sa", "PI", lid, port).stdout)["data"]
                for key in ("lid", "lmc", "port_state", "guid_cap", "capability_mask", "link_width_active", "mtu_cap"):
                    self.assertEqual(direct[key], from_sa[key], (lid, port, key))

    def test_forwarding(self):
        """What opensm has set is in its records; the blocks beyond are zeros there, 255 in the switch."""
        switch = self.targets()["Switch"]
        direct = json.loads(self.ibtool("smpquery", "--json", "LFT", switch).stdout)
        from_sa = json.loads(self.ibtool("smpquery", "--json", "--sa", "LFT", switch).stdout)
        top = direct["top"]
        self.assertEqual(direct["port_by_lid"][:top + 1], from_sa["port_by_lid"][:top + 1])
        self.assertEqual(direct["capacity"], from_sa["capacity"])

    def test_nobody_there(self):
        for words in (("ibaddr", "--sa", "999"), ("smpquery", "--sa", "NI", "999"), ("smpdump", "--sa", "999", "0x19")):
            done = self.ibtool(*words, status=3)
            self.assertRegex(done.stderr, r"^E: The SA has no \w+Record that matches\n$")

    def test_what_no_record_holds(self):
        done = self.ibtool("smpquery", "--sa", "MEPI", self.targets()["Switch"], status=3)
        self.assertIn("The SA has no record that answers", done.stderr)

    def test_the_path_to_the_sa(self):
        lid = self.targets()["Switch"]
        self.assertEqual(self.ibtool("ibaddr", "--sa-path", str(SM_LID), lid).stdout, self.ibtool("ibaddr", lid).stdout)
        # A port without an SA does not answer; that it was asked shows that the path is in use.
        done = self.ibtool("ibaddr", "--sa-path", lid, lid, "-d", "--retries", "0", "-t", "100", status=3)
        self.assertIn(f"-> {lid} ", done.stderr)
        self.assertRegex(self.ibtool("ibaddr", "--sa-path", "zzz", lid, status=2).stderr, "^E: Invalid --sa-path .?zzz.? - ")
        self.assertIn("directed route", self.ibtool("ibaddr", "--sa-path", "0,1", lid, status=2).stderr)

    def test_the_sm_key(self):
        done = self.ibtool("ibaddr", "--sa", "-v", "-K", "--smkey", "0x77", "999", status=3)
        self.assertTrue(re.search(r"SMKey=119\b|SMKey=0x77\b", done.stderr), done.stderr)
        self.assertNotIn("SMKey", self.ibtool("ibaddr", "--sa", "-v", "--smkey", "0x77", "999", status=3).stderr)


class Discovery(case.FabricCase):
    """The topology that the SA tells is the one that a sweep finds."""
    neighbour = ("1", "0,1")  # LID and route of a switch

    def topology_text(self, *words):
        """Without the date, and the diagnostics of the run."""
        done = self.ibtool(*words)
        return re.sub("generated on .*", "", done.stdout), done.stderr

    def test_the_fabric(self):
        for words in (["ibnetdiscover"], ["iblinkinfo", "-l", "-g"], ["ibhosts"], ["ibswitches"], ["ibrouters"], ["ibnodes"],
                      ["ibprintca", "-l"]):
            with self.subTest(" ".join(words)):
                swept, _ = self.topology_text(*words, "--discovery=DR")
                told, diagnostics = self.topology_text(*words, "--discovery=SA", "-d")
                self.assertEqual(swept, told)
                self.assertNotIn("SMPFormat", diagnostics)

    def test_a_neighbourhood(self):
        swept, _ = self.topology_text("iblinkinfo", "--discovery=DR", self.neighbour[1])
        for target in self.neighbour:
            told, diagnostics = self.topology_text("iblinkinfo", "--sa", "-d", target)
            self.assertEqual(swept, told)
            self.assertNotIn("SMPFormat", diagnostics)

    def test_modes_that_contradict(self):
        self.assertIn("Can't combine --sa with discovery mode 'DR'", self.ibtool("ibhosts", "--sa", "--discovery=DR", status=2).stderr)


class RoundedLids(Discovery):
    """With LMC 2: opensm rounds down the LIDs of the switches too where it is asked for their links, and does not find those of
    LID 9, 17 and 18."""
    netfile, lids = os.path.join(GOLDEN, "fattree.net"), os.path.join(GOLDEN, "fattree.lmc2.guid2lid")
    lmc = 2
    neighbour = ("17", "0,1,8")

    def test_opensm_does_round(self):
        for lid, records in (("16", 6), ("17", 0)):
            self.assertEqual(self.debian("saquery", "LR", f"{lid}/").stdout.count("LinkRecord dump"), records)

    def test_directed_routes(self):
        for route, name in (("0,1,8", "Spine B / ISR9024D"), ("0,1,8,2", "leaf-2"), ("0,1,8,3,7,4,2", "node12 with a rather")):
            done = self.ibtool("smpquery", "--sa", "-d", "ND", route)
            self.assertIn(name, done.stdout)
            self.assertNotIn("SMPFormat", done.stderr)

    def test_a_port_and_its_peer(self):
        peer = json.loads(self.ibtool("ibportstate", "--json", "--sa", "17", "2", "query").stdout)["peer"]
        self.assertEqual((peer["path"]["slid"], peer["path"]["dlid"], peer["port_num"]), (4, 16, 8))


if __name__ == "__main__":
    case.main()
