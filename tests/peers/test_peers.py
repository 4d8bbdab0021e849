#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`ibtool check_routes` beside ibdmchk on fabrics that opensm has routed, one engine after another: they agree on the pairs that arrive,
the histogram of their hops, the LIDs over each port between switches, the multicast groups that are whole, and on credit loops.

    test_peers.py FABRIC [-v] [Peers.test_ENGINE…]      a fabric of nets.py, or `damaged`: tables with one wrong entry of each kind
"""
import json
import os
import re
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "support")]
import ibdmchk  # noqa: E402
import nets  # noqa: E402
import routed  # noqa: E402
import simfabric  # noqa: E402

FREE = {"free", "free_for_used_sls"}


def guid_of(text):
    return int(text.replace(":", "").removeprefix("0x"), 16)


def hops_of(found):
    return {row["hop_count"]: row["pair_count"] for row in found["hop_histogram"]}


def lids_of(found):
    """(switch GUID, port) → LIDs, of ports between switches that carry any."""
    return {(guid_of(link["node_guid"]), link["port_num"]): link["lid_count"] for link in found["load"]["links"]
            if link["link_kind"] == "switch" and link["lid_count"] > 0}


class Case(unittest.TestCase):
    maxDiff = None

    def check_routes(self, fabric, *words, live=False):
        """The JSON of check_routes on the fabric, or on its files."""
        argv = [simfabric.IBTOOL, "check_routes", "--json", *words]
        done = fabric.fabric.run(argv, cwd=fabric.directory) if live else run_offline(fabric, argv)
        self.assertIn(done.returncode, (0, 1, 4), f"{' '.join(argv)}\n{done.stderr}")
        found = json.loads(done.stdout)
        found["status"] = done.returncode
        return found

    def assert_same_ways(self, found, opinion):
        self.assertGreater(opinion.pairs, 0, opinion.text)
        self.assertEqual((found["unicast"]["pair_count"], found["unicast"]["arrived_count"]), (opinion.pairs, opinion.arrived))
        self.assertEqual(hops_of(found), opinion.hops)
        self.assertEqual(lids_of(found), opinion.lids)


def run_offline(fabric, argv):
    """A program on the files of a fabric. It has no InfiniBand."""
    return subprocess.run(argv, cwd=fabric.directory, check=False, capture_output=True, encoding="utf-8", errors="replace", timeout=60)


class Peers(Case):
    """Has a test for each engine: see add_tests()."""
    fabric_name = None

    def agree(self, engine):
        with routed.Routed(self.fabric_name, engine) as fabric:
            one_sl = ibdmchk.look(fabric.directory)
            live = self.check_routes(fabric, "--load", "--ask-sa", live=True)
            self.assert_same_ways(live, one_sl)
            self.assertEqual(live["unicast"]["findings"], [])
            self.assertEqual(live["unicast"]["arrived_count"], live["unicast"]["pair_count"])
            self.forms_agree(fabric, live)
            self.credit_loops_agree(fabric, one_sl, live)
            self.groups_agree(one_sl, live)
            self.multicast_loops_agree(fabric)

    def forms_agree(self, fabric, live):
        """Tables from files, in each of their forms, give what those of the fabric give."""
        fabric.write("dump_lfts", fabric.run("dump_lfts"))
        legacy = fabric.fabric.run(["dump_fts"], executable=simfabric.find_program("dump_fts"))
        fabric.write("dump_fts", legacy.stdout)
        for form in ("opensm.fdbs", "opensm-lfts.dump", "dump_lfts", "dump_fts"):
            with self.subTest(form):
                stored = self.check_routes(fabric, "--unicast", "--load", "--topology", "topology", "--lfts", form)
                for key in ("unicast", "hop_histogram", "load"):
                    self.assertEqual(stored[key], live[key])

    def credit_loops_agree(self, fabric, one_sl, live):
        self.assertIsNotNone(one_sl.loop, one_sl.text)
        # With one SL ibdmchk looks at ports alone; `free` says that these have no cycle.
        alone = self.check_routes(fabric, "--unicast", "--topology", "topology", "--lfts", "opensm.fdbs")["credit_loops"]["verdict"]
        self.assertEqual(alone == "free", not one_sl.loop, f"{alone}\n{one_sl.text}")
        self.assertEqual(live["credit_loops"]["verdict"] == "free", not one_sl.loop)
        given = ibdmchk.look(fabric.directory, "-c", "psl", "-d", "slvl") if fabric.uses_sls() else one_sl
        self.assertIsNotNone(given.loop, given.text)
        by_file = self.check_routes(fabric, "--psl", "psl", live=True)
        for found in (live, by_file):
            verdict = found["credit_loops"]["verdict"]
            self.assertIn(verdict, FREE | {"found"})
            self.assertEqual(verdict in FREE, not given.loop, f"{verdict}\n{given.text}")
            self.assertEqual(bool(found["credit_loops"]["loops"]), given.loop)
        self.assert_real_loops(fabric, live["credit_loops"]["loops"])

    def assert_real_loops(self, fabric, loops):
        """The channels of a loop follow each other over links of the fabric, and the last of them leads to the first."""
        name = {guid: name for name, guid in fabric.guids.items()}
        links = nets.ports(fabric.links)
        for loop in loops:
            channels = [(name[guid_of(channel["node_guid"])], channel["port_num"]) for channel in loop["channels"]]
            self.assertEqual(len(channels), len(set(map(tuple, map(dict.items, loop["channels"])))))
            for (node, port), (following, _) in zip(channels, channels[1:] + channels[:1]):
                self.assertEqual(links[node][port][0], following)
            self.assertEqual(len(loop["witnesses"]), len(channels))

    def groups_agree(self, one_sl, live):
        self.assertEqual(set(one_sl.groups), {0xc000, 0xc001}, one_sl.text)
        self.assertEqual(live["multicast"]["mlid_count"], len(one_sl.groups))
        self.assertEqual({mlid for finding in live["multicast"]["findings"] for mlid in finding["lids"]}, one_sl.broken_groups)
        self.assertEqual(one_sl.broken_groups, set())

    def multicast_loops_agree(self, fabric):
        """With the trees of groups: on SL 0, which is all that ibdmchk knows of them."""
        with_trees = ibdmchk.look(fabric.directory, "-M")
        self.assertIsNotNone(with_trees.loop, with_trees.text)
        found = self.check_routes(fabric, "--sl", "0", live=True)["multicast"]["credit_loops"]
        self.assertEqual(found["verdict"] in FREE, not with_trees.loop, f"{found}\n{with_trees.text}")

    def lmc(self):
        """ibdmchk sees base LIDs alone, and so do we where the topology says LMC 0."""
        with routed.Routed(self.fabric_name, "minhop", lmc=1) as fabric:
            opinion = ibdmchk.look(fabric.directory)
            files = ("--unicast", "--load", "--topology", "topology", "--lfts", "opensm-lfts.dump")
            whole = self.check_routes(fabric, *files)
            self.assertEqual(whole["unicast"]["pair_count"], 2 * opinion.pairs)
            self.assertEqual(whole["unicast"]["arrived_count"], 2 * opinion.pairs)
            fabric.write("topology", re.sub(r" lmc \d", " lmc 0", fabric.read("topology")))
            self.assert_same_ways(self.check_routes(fabric, *files), opinion)


class Damaged(Case):
    """One wrong entry of each kind: what ibdmchk counts as lost we count too, and name the entry."""

    def test_each_kind_of_fault(self):
        with routed.Routed("fat_tree", "minhop") as fabric:
            changed = damage(fabric)
            opinion = ibdmchk.look(fabric.directory)
            self.assertLess(opinion.arrived, opinion.pairs)
            for form in ("opensm.fdbs", "opensm-lfts.dump"):
                found = self.check_routes(fabric, "--unicast", "--load", "--topology", "topology", "--lfts", form)
                self.assertEqual(found["status"], 1)
                self.assert_same_ways(found, opinion)
                findings = found["unicast"]["findings"]
                self.assertEqual(sum(finding["pair_count"] for finding in findings), opinion.pairs - opinion.arrived)
                named = {(finding["fault"], finding["node_guid"] and guid_of(finding["node_guid"]), tuple(finding["lids"]))
                         for finding in findings if finding["fault"] != "loop"}
                self.assertEqual(named, {(fault, guid, lids) for fault, guid, lids in changed if fault != "loop"})
                loops = [set(map(guid_of, cycle_of(finding))) for finding in findings if finding["fault"] == "loop"]
                self.assertEqual(loops, [guids for fault, guids, _ in changed if fault == "loop"])

    def test_multicast(self):
        """A group with a second way, and one whose tree lacks a switch."""
        with routed.Routed("fat_tree", "minhop") as fabric:
            damage_groups(fabric)
            opinion = ibdmchk.look(fabric.directory)
            self.assertEqual(opinion.broken_groups, {0xc000, 0xc001}, opinion.text)
            found = self.check_routes(fabric, "--multicast", "--topology", "topology", "--lfts", "opensm.mcfdbs")
            self.assertEqual(found["status"], 1)
            self.assertEqual({mlid for finding in found["multicast"]["findings"] for mlid in finding["lids"]}, opinion.broken_groups)


def cycle_of(finding):
    return [step["node_guid"] if isinstance(step, dict) else step for step in finding["cycle"]]


def damage(fabric):
    """Spoils entries in both forms of the tables. Returns what should be found: (fault, GUID, LIDs), of a loop all its GUIDs."""
    guid, links = fabric.guids, nets.ports(fabric.links)
    rows = re.findall(r"^0x(\w+) \d+ # Channel Adapter portguid \w+: '(.*)'", fabric.read("opensm-lfts.dump"), re.MULTILINE)
    lid = {name: int(value, 16) for value, name in rows}
    up = next(port for port in range(5, 9) if links["leaf0"][port][0] == "spine0")
    back = links["leaf0"][up][1]
    host = nets.host
    change = {(guid["leaf1"], lid[host(0)]): None, (guid["leaf2"], lid[host(1)]): 11, (guid["leaf2"], lid[host(2)]): 11,
              (guid["leaf3"], lid[host(3)]): 1, (guid["leaf3"], lid[host(4)]): 0,
              (guid["leaf0"], lid[host(15)]): up, (guid["spine0"], lid[host(15)]): back}
    for name in ("opensm.fdbs", "opensm-lfts.dump"):
        fabric.write(name, spoiled(fabric.read(name), change))
    return [("no_entry", guid["leaf1"], (lid[host(0)],)), ("dead_port", guid["leaf2"], tuple(sorted((lid[host(1)], lid[host(2)])))),
            ("wrong_node", guid["leaf3"], (lid[host(3)],)), ("wrong_node", guid["leaf3"], (lid[host(4)],)),
            ("loop", {guid["leaf0"], guid["spine0"]}, (lid[host(15)],))]


def spoiled(text, change):
    """The tables with other output ports; None leaves the row out."""
    lines, switch = [], None
    for line in text.splitlines(keepends=True):
        heading = re.search(r"[Ss]witch .*?0x([0-9a-f]{16})", line) if not line.startswith("0x") else None
        row = re.match(r"(0x([0-9a-fA-F]{4}) (?:: )?)(\d{3})", line)
        if heading:
            switch = int(heading[1], 16)
        elif row and (switch, int(row[2], 16)) in change:
            port = change[switch, int(row[2], 16)]
            line = "" if port is None else f"{row[1]}{port:03}{line[row.end():]}"
        lines.append(line)
    return "".join(lines)


def damage_groups(fabric):
    """Gives 0xc000 a second way between two leaves, over the spine that it does not use, and takes a leaf out of 0xc001."""
    guid, links = fabric.guids, nets.ports(fabric.links)
    table = {}
    for heading, rows in re.findall(r"Switch 0x(\w+)\nLID .*\n((?:0x.*\n)*)", fabric.read("opensm.mcfdbs")):
        table[int(heading, 16)] = {int(row[:6], 16): {int(port, 16) for port in row[8:].split()} for row in rows.splitlines()}
    used = next(name for name in ("spine0", "spine1") if table.get(guid[name], {}).get(0xc000))
    other = "spine1" if used == "spine0" else "spine0"
    for leaf in ("leaf0", "leaf1"):
        port, (_, there) = next(item for item in sorted(links[other].items()) if item[1][0] == leaf)
        table.setdefault(guid[other], {}).setdefault(0xc000, set()).add(port)
        table[guid[leaf]][0xc000].add(there)
    spine = next(name for name in ("spine0", "spine1") if len(table.get(guid[name], {}).get(0xc001, ())) > 1)
    table[guid[spine]][0xc001].remove(max(table[guid[spine]][0xc001]))
    text = ""
    for switch, groups in table.items():
        members = {mlid: "  ".join(f"0x{port:03X}" for port in sorted(ports)) for mlid, ports in sorted(groups.items())}
        rows = "".join(f"0x{mlid:04X} : {ports} \n" for mlid, ports in members.items())
        text += f"\nSwitch 0x{switch:016x}\nLID    : Out Port(s)\n{rows}"
    fabric.write("opensm.mcfdbs", text)


def add_tests(name):
    """Peers gets a test for each engine that routes the fabric, and one for LMC."""
    Peers.fabric_name = name
    for engine in nets.ENGINES[name]:
        setattr(Peers, f"test_{engine.replace('-', '_')}", lambda self, engine=engine: self.agree(engine))
    Peers.test_lmc = Peers.lmc


def main():
    name = sys.argv.pop(1) if len(sys.argv) > 1 else "fat_tree"
    if name == "damaged":
        del globals()["Peers"]
    else:
        del globals()["Damaged"]
        add_tests(name)
    if not simfabric.find_program("ibdmchk"):
        print("skipped, not installed: ibdmchk of ibutils")
        sys.exit(1 if os.environ.get("IBTEST_NO_SKIP") else 77)
    simfabric.run_tests()


if __name__ == "__main__":
    main()
