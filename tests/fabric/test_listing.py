# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""A healthy fabric: what we list is what the network file says, and what Debian's programs list."""
import json
import os
import re

import case
import simfabric


def guids(text):
    """The GUID of each line of ibhosts, ibswitches and their like."""
    return sorted(case.guid_of(guid) for guid in re.findall(r"^\w+\s*: (?:0x)?([0-9a-f:]+) ports", text, re.MULTILINE))


class Listing(case.FabricCase):
    def test_lists_what_the_network_file_says(self):
        ours, file = self.ours(), self.file()
        self.assertEqual(ours.nodes, file.nodes)
        self.assertEqual(ours.links, file.links)
        self.assertEqual(len(ours.nodes), 22)

    def test_lids_are_the_pinned_ones(self):
        lids = self.ours().lids
        self.assertEqual(sorted(lid for lid, _ in lids.values()), list(range(1, 23)))

    def test_agrees_with_debian(self):
        self.assert_same_fabric(self.ours(), self.theirs())

    def test_agrees_with_debian_from_another_host(self):
        host = f"H-{self.file().guid('storage02'):016x}"
        self.assert_same_fabric(self.ours(host=host), self.theirs(host=host))

    def test_finds_the_same_over_lids(self):
        # ibsim refuses combined LID and directed routes: the sweep must fall back by itself.
        self.assert_same_fabric(self.ours("--discovery=LID"), self.theirs())

    def test_lists_the_same_twice(self):
        def listing():
            return [line for line in self.ibtool("ibnetdiscover").stdout.splitlines() if "generated on" not in line]
        self.assertEqual(listing(), listing())

    def test_ibsim_loads_the_listing_of_the_legacy_name(self):
        listing = os.path.join(self.fabric.dir, "listed.net")
        with open(listing, "w", encoding="utf-8") as file:
            file.write(self.legacy("ibnetdiscover").stdout)
        with simfabric.Fabric(listing, sm=False) as again:
            found = again.run([case.IBTOOL, "ibnetdiscover", "--discovery=DR"])
        loaded, ours = case.read_topology(found.stdout), self.ours()
        self.assertEqual(loaded.nodes, ours.nodes)
        self.assertEqual(loaded.links, ours.links)

    def test_hosts_switches_nodes(self):
        for name, count in (("ibhosts", 16), ("ibswitches", 6), ("ibnodes", 22), ("ibrouters", 0)):
            with self.subTest(name):
                ours = guids(self.ibtool(name).stdout)
                self.assertEqual(ours, guids(self.debian(name).stdout))
                self.assertEqual(len(ours), count)

    def test_short_lists(self):
        for option, count in (("-l", 22), ("-H", 16), ("-S", 6), ("-R", 0)):
            with self.subTest(option):
                lines = [line for line in self.ibtool("ibnetdiscover", option).stdout.splitlines() if " ports " in line]
                self.assertEqual(len(lines), count)

    def test_linkinfo_names_every_active_link_from_both_sides(self):
        text = self.ibtool("iblinkinfo").stdout
        active = [line for line in text.splitlines() if re.search(r"4x EDR\s+Active/", line, re.IGNORECASE)]
        switch_ports = sum(len(link & {(guid, port) for guid, port in link if self.file().nodes[guid][0] == "Switch"})
                           for link in self.file().links)
        self.assertGreaterEqual(len(active), switch_ports)

    def test_json_is_json(self):
        for words in (["ibnetdiscover"], ["ibnetdiscover", "-l"], ["ibhosts"], ["ibswitches"], ["ibnodes"], ["iblinkinfo"],
                      ["smpquery", "nodeinfo", "1"], ["smpquery", "portinfo", "1", "1"], ["smpquery", "nodedesc", "1"], ["ibstat"]):
            with self.subTest(" ".join(words)):
                self.assertTrue(json.loads(self.ibtool(*words, "--json").stdout))

    def test_json_has_every_node(self):
        found = set(case.strings(json.loads(self.ibtool("ibnetdiscover", "--json").stdout)))
        for _, _, description in self.file().nodes.values():
            self.assertIn(description, found)


class Query(case.FabricCase):
    """smpquery, by LID and by directed route, against Debian's."""

    def values(self, text):
        return dict(re.findall(r"^(\w+):\.*(.*)$", text, re.MULTILINE))

    def test_node_info_has_debians_values(self):
        for lid in (1, 5, 7, 22):
            with self.subTest(lid=lid):
                ours = self.values(self.ibtool("smpquery", "nodeinfo", str(lid)).stdout)
                theirs = self.values(self.debian("smpquery", "nodeinfo", str(lid)).stdout)
                self.assertEqual(set(ours), set(theirs))
                for name in ("NumPorts", "PartCap", "LocalPort", "BaseVers", "ClassVers"):
                    self.assertEqual(ours[name], theirs[name])
                for name in ("DevId", "Revision", "VendorId"):
                    self.assertEqual(int(ours[name], 16), int(theirs[name], 16))
                for name in ("SystemGuid", "Guid", "PortGuid"):
                    self.assertEqual(case.guid_of(ours[name]), int(theirs[name], 16))

    def test_two_ways_to_the_same_port(self):
        def body(*words):
            text = self.ibtool("smpquery", "portinfo", *words).stdout.split("\n", 1)[1]
            return re.sub(r"LocalPort:.*", "", text)  # that is where the request came in
        by_lid = body("1", "19")
        self.assertEqual(body("-D", "0,1", "19"), by_lid)

    def test_description(self):
        self.assertRegex(self.ibtool("smpquery", "nodedesc", "7").stdout, r"Node Description:\W+login01 mlx5_0\b")


if __name__ == "__main__":
    case.main()
