# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_routes on a live fabric whose tables are spoiled entry by entry: each fault is named by its switch, port, LIDs and pairs."""
import json

import case


class Spoiled(case.FabricCase):
    def setUp(self):
        fabric = self.ours()
        self.guid = {text.partition(" ")[0].partition(":")[0].removeprefix("MF0;"): guid for guid, (_, _, text) in fabric.nodes.items()}
        self.lid = {name: next(lid for (node, _), (lid, _) in fabric.lids.items() if node == guid) for name, guid in self.guid.items()}
        self.links = {end: next(iter(link - {end})) for link in fabric.links for end in link}

    def spoil(self, switch, lid, port):
        """Sets one entry of a switch's table, and back when the test ends."""
        block = json.loads(self.ibtool("query", "SubnGet", "SMPLinearForwardingTable", str(self.lid[switch]), "--json").stdout)
        before = block["data"]["port_block"][lid]
        words = ("query", "SubnSet", "SMPLinearForwardingTable", str(self.lid[switch]), "-f")
        self.addCleanup(self.ibtool, *words, f"portBlock[{lid}]={before}")
        self.ibtool(*words, f"portBlock[{lid}]={port}")

    def check(self, *words, status):
        return json.loads(self.ibtool("check_routes", "--json", *words, status=status).stdout)

    def found(self, *words):
        """(fault, switch, port, LIDs, pairs) of each finding."""
        name = {guid: name for name, guid in self.guid.items()}
        findings = self.check(*words, status=1)["unicast"]["findings"]
        return [(one["fault"], name[case.guid_of(one["node_guid"])], one["port_num"], one["lids"], one["pair_count"]) for one in findings]

    def port_to(self, switch, peer):
        """The lowest port of a switch with a link to another node."""
        return min(port for (guid, port), (other, _) in self.links.items() if (guid, other) == (self.guid[switch], self.guid[peer]))

    def test_a_healthy_fabric(self):
        found = self.check("--ask-sa", "--load", status=0)
        self.assertEqual((found["unicast"]["pair_count"], found["unicast"]["arrived_count"]), (240, 240))
        self.assertEqual({row["hop_count"]: row["pair_count"] for row in found["hop_histogram"]}, {2: 48, 4: 192})
        self.assertEqual(found["credit_loops"]["verdict"], "free")
        sent = sum(link["route_count"] for link in found["load"]["links"] if link["link_kind"] == "host")
        self.assertEqual(sent, 2 * 240)
        self.assertLessEqual(len(self.ibtool("check_routes").stdout.splitlines()), 24)

    def test_an_entry_that_is_missing(self):
        lid = self.lid["compute12"]
        self.spoil("spine01", lid, 255)
        pairs = self.found()[0][4]
        self.assertEqual(self.found(), [("no_entry", "spine01", 0, [lid], pairs)])
        self.assertIn("ibroute 5", self.ibtool("check_routes", status=1).stdout)
        self.spoil("spine01", lid, 200)  # a port that the switch does not have
        self.assertEqual(self.found(), [("no_entry", "spine01", 0, [lid], pairs)])

    def test_a_port_without_a_link(self):
        self.spoil("leaf01", self.lid["compute12"], 36)
        self.assertEqual(self.found(), [("dead_port", "leaf01", 36, [self.lid["compute12"]], 4)])

    def test_another_node(self):
        wrong = self.port_to("leaf01", "login01")
        self.spoil("leaf01", self.lid["compute12"], wrong)
        self.assertEqual(self.found(), [("wrong_node", "leaf01", wrong, [self.lid["compute12"]], 4)])

    def test_a_loop(self):
        lid = self.lid["compute12"]
        up = self.port_to("leaf01", "spine01")
        self.spoil("leaf01", lid, up)
        self.spoil("spine01", lid, self.links[self.guid["leaf01"], up][1])
        (loop,) = self.check(status=1)["unicast"]["findings"]
        self.assertEqual(loop["fault"], "loop")
        self.assertEqual({case.guid_of(step["node_guid"]) for step in loop["cycle"]}, {self.guid["leaf01"], self.guid["spine01"]})
        self.assertGreaterEqual(loop["pair_count"], 4)

    def test_broken_files_are_refused_with_their_place(self):
        pair = f"0x{self.guid['login01']:016x} {self.lid['compute01']} 0\n"
        files = {"net": self.ibtool("ibnetdiscover").stdout, "lfts": self.ibtool("dump_lfts").stdout, "psl": pair}
        broken = {"net": ("#\n\x7fELF=1\n", "line 2: not a line of a listing"), "lfts": (files["lfts"] + "nonsense\n", "not a line of"),
                  "psl": ("0x1 2 16\n", ":1: not a line of NODE_GUID DLID SL")}
        for spoiled, (text, why) in broken.items():
            for name, content in files.items():
                with open(self.fabric.path(name), "w", encoding="latin-1") as file:
                    file.write(text if name == spoiled else content)
            done = self.ibtool("check_routes", "--topology", "net", "--lfts", "lfts", "--psl", "psl", status=2)
            (line,) = [line for line in done.stderr.splitlines() if line.startswith("E: ")]
            self.assertTrue(line.startswith((f"E: {spoiled}:", f"E: '{spoiled}' ")), line)
            self.assertIn(why, line)
            self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    case.main()
