# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Odd fabrics: hostile descriptions, the largest switch, a chain longer than directed routes reach, one GUID for two
nodes, several LIDs a port."""
import json

import case
import simfabric

HOSTILE = {
    "escape": "\x1b[31mred\x1b[0m \x07bell",
    "tabs": "tab\there",
    "latin": "caf\xe9 \xff\xfe",
    "quote": "back\\slash 'quote' `tick` $(touch /tmp/x)",
    "blank": " ",
    "json": "{}[],:</script>&amp;",
    "control": "\x01\x02\x03\x7f\x80\x9b31m",
    "long": "x" * 63,
}


def star(descriptions):
    """A switch with one host per description; the hosts' node ids are host1, host2 …"""
    text = ""
    links = {}
    for port, description in enumerate(descriptions, 1):
        text += case.node("Ca", f"host{port}", {1: ("switch", port)}, description, guid=0x1000 + 4 * port)
        links[port] = (f"host{port}", 1)
    return text + case.node("Switch", "switch", links, "the switch", guid=0x2000, ports=36)


class HostileDescriptions(case.FabricCase):
    @classmethod
    def make_net(cls):
        return star(["plain", *HOSTILE.values()])

    def test_every_node_is_there_and_nothing_reaches_the_terminal(self):
        for words in (["ibnetdiscover"], ["ibhosts"], ["ibnodes"], ["iblinkinfo"], ["ibnetdiscover", "-l"]):
            with self.subTest(words[0]):
                text = self.ibtool(*words).stdout
                bad = [hex(ord(char)) for char in text if ord(char) < 32 and char not in "\t\n" or 0x7F <= ord(char) < 0xA0]
                self.assertEqual(bad, [])
        self.assertEqual(self.ours().links, self.theirs().links)
        self.assertEqual(len(self.ours().nodes), len(HOSTILE) + 2)

    def test_under_the_legacy_name_too(self):
        text = self.legacy("ibnetdiscover").stdout
        self.assertNotIn("\x1b", text)
        self.assertEqual(len(case.read_topology(text).nodes), len(HOSTILE) + 2)

    def test_json_stays_json(self):
        for words in (["ibnetdiscover"], ["ibhosts"], ["iblinkinfo"]):
            with self.subTest(words[0]):
                text = self.ibtool(*words, "--json").stdout
                json.loads(text)
                self.assertNotIn("\x1b", text)
        self.assertIn(HOSTILE["quote"], case.strings(json.loads(self.ibtool("ibhosts", "--json").stdout)))

    def test_64_bytes_without_a_terminator(self):
        full = {"preload": [case.DELAY], "IBTEST_FULL_DESCRIPTION": 1}
        ours = self.ours(**full)
        self.assertEqual(len(ours.nodes), len(HOSTILE) + 2)
        self.assertEqual(ours.nodes[0x1004][2], "plain" + "~" * 59)
        self.assertEqual(ours.links, self.theirs(**full).links)
        self.assertIn("~" * 59, self.ibtool("smpquery", "nodedesc", "-D", "0", **full).stdout)


class LargestSwitch(case.FabricCase):
    @classmethod
    def make_net(cls):
        hosts = {1: ("host1", 1), 128: ("host128", 1), 253: ("host253", 1), 254: ("host254", 1)}
        text = "".join(case.node("Ca", nodeid, {1: ("switch", port)}, nodeid) for port, (nodeid, _) in hosts.items())
        return text + case.node("Switch", "switch", hosts, "254 ports", ports=254)

    def test_254_ports(self):
        ours = self.ours()
        self.assertEqual(len(ours.nodes), 5)
        self.assertEqual(next(ports for kind, ports, _ in ours.nodes.values() if kind == "Switch"), 254)
        self.assertEqual(len(ours.links), 4)
        self.assert_same_fabric(ours, self.theirs())

    def test_its_last_port_answers(self):
        self.assertRegex(self.ibtool("smpquery", "portinfo", "-D", "0,1", "254").stdout, r"PhysLinkState:\.+(5|LinkUp)")

    def test_there_is_no_port_255(self):
        self.ibtool("smpquery", "portinfo", "-D", "0,1", "255", status=3)

    def test_linkinfo_lists_all_ports(self):
        lines = [line for line in self.ibtool("iblinkinfo").stdout.splitlines() if "==" in line]
        self.assertGreaterEqual(len(lines), 254)


class Chain(case.FabricCase):
    """70 switches in a row. A directed route has at most 63 hops (IBA 14.2.1.2): the rest cannot be seen from an end."""
    sm = False

    @classmethod
    def make_net(cls):
        text = case.node("Ca", "host1", {1: ("sw1", 1)}, "first") + case.node("Ca", "host2", {1: ("sw70", 2)}, "last")
        for i in range(1, 71):
            text += case.node("Switch", f"sw{i}", {1: (f"sw{i - 1}", 2) if i > 1 else ("host1", 1),
                                                   2: (f"sw{i + 1}", 1) if i < 70 else ("host2", 1)}, f"switch {i}")
        return text

    def test_the_sweep_goes_as_far_as_routes_reach_and_says_so(self):
        done = self.ibtool("ibnetdiscover", status=4)
        found = case.read_topology(done.stdout)
        names = {description for _, _, description in found.nodes.values()}
        self.assertEqual(names, {"first"} | {f"switch {i}" for i in range(1, 64)})
        self.assertRegex(done.stderr, r"(?i)hop")

    def test_sees_what_debian_sees(self):
        self.assertEqual(self.ours(status=4).nodes, self.theirs().nodes)

    def test_a_route_of_63_hops_answers_and_of_64_is_refused(self):
        route = "0,1" + ",2" * 62
        self.assertIn("switch 63", self.ibtool("smpquery", "nodedesc", "-D", route).stdout)
        self.ibtool("smpquery", "nodedesc", "-D", route + ",2", status=2)


class DuplicateGuids(case.FabricCase):
    options = ("-I",)
    sm = False

    @classmethod
    def make_net(cls):
        return star(["one", "two", "three"])

    def test_the_sweep_finishes_and_names_the_guid(self):
        self.change('Guid "host3" 0x1008', undo='Guid "host3" 0x100c')
        done = self.ibtool("ibnetdiscover", status=4)
        self.assertRegex(done.stderr, r"(?i)duplicate|same GUID")
        self.assertRegex(done.stderr, r"1008")
        self.assertIn("one", done.stdout)
        self.assertIn("two", done.stdout)

    def test_without_duplicates_it_is_content(self):
        self.assertEqual(len(self.ours().nodes), 4)


class SeveralLids(case.FabricCase):
    lmc, lids = 2, None

    def test_lmc_is_shown_as_debian_shows_it(self):
        ours = self.ours()
        self.assert_same_fabric(ours, self.theirs())
        self.assertIn(2, {lmc for _, lmc in ours.lids.values()})

    def test_every_lid_of_a_port_answers(self):
        host = self.ours()
        lid = next(lid for (guid, _), (lid, _) in host.lids.items() if guid == host.guid("storage02"))
        for i in range(4):
            self.assertIn("storage02", self.ibtool("smpquery", "nodedesc", str(lid + i)).stdout)


class BackToBack(case.FabricCase):
    """Two hosts and a cable, no switch."""
    @classmethod
    def make_net(cls):
        return case.node("Ca", "host1", {1: ("host2", 1)}, "one") + case.node("Ca", "host2", {1: ("host1", 1)}, "two", ports=2)

    def test_both_are_found(self):
        self.assertEqual(len(self.ours().nodes), 2)
        self.assert_same_fabric(self.ours(), self.theirs())


class Alone(case.FabricCase):
    """A host whose cable is unplugged: infiniband-diags 44 still sees itself, 56.1 nothing, and ibtool says why it sees nothing."""
    sm = False

    @classmethod
    def make_net(cls):
        return star(["one", "two"])

    def test_it_sees_itself(self):
        self.change('Unlink "host1"', undo='ReLink "host1"')
        seen = case.read_topology(self.legacy("ibnetdiscover").stdout).nodes
        self.assertEqual(len(seen), 1 if simfabric.diags_version().startswith("44.") else 0)
        self.assertEqual(seen, self.theirs().nodes)
        self.assertIn("ibsim0/1 is Down", self.ibtool("ibnetdiscover", status=3).stderr)


if __name__ == "__main__":
    case.main()
