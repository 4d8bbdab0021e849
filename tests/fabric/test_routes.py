# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""check_routes on a simulated fabric that opensm routes: live, from a snapshot, from the files of dump_lfts, ours and Debian's; with
entries that are broken on purpose, and with a credit loop."""
import json
import os
import re
import shutil
import tempfile

import case

README = os.path.join(case.HERE, "..", "..", "README.md")
LEAF, BLOCK = "4", "SMPLinearForwardingTable"


class Base(case.FabricCase):
    def check(self, *words, status=0):
        return json.loads(self.ibtool("check_routes", "--json", *words, status=status).stdout)

    def broken(self, lid, port):
        """Sets an entry of leaf04, until the test ends."""
        before = json.loads(self.ibtool("query", "SubnGet", BLOCK, LEAF, "--json").stdout)
        entry = before["data"]["port_block"][lid]
        self.addCleanup(self.set_entry, lid, entry)
        return self.set_entry(lid, port)

    def set_entry(self, lid, port):
        return self.ibtool("query", "SubnSet", BLOCK, LEAF, "-f", f"portBlock[{lid}]={port}")

    def stored(self, name, text):
        path = self.fabric.path(name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path


class Routes(Base):
    def test_the_lines_of_the_readme(self):
        with open(README, encoding="utf-8") as file:
            shown = re.search(r"\$ ibtool query SubnSet (.*?) >before\n    (.*?)\n    \$ ibtool check_routes\n(.*?)\n\n", file.read(), re.S)
        self.assertIn(shown[2] + "\n", self.broken(22, 255).stderr)
        words = shown[1].replace("'", "").split()
        self.assertEqual(words, [BLOCK, LEAF, "-f", "portBlock[22]=255"])
        printed = self.ibtool("check_routes", status=1).stdout.splitlines()
        lines = [line[4:] for line in shown[3].splitlines() if line.strip() != "…"]
        self.assertEqual(len(lines), 6)
        self.assertEqual([line for line in printed if line in lines], lines)

    def test_healthy(self):
        found = self.check("--load")
        self.assertEqual(found["unicast"]["pair_count"], 16 * 15)
        self.assertEqual(found["unicast"]["arrived_count"], 16 * 15)
        self.assertEqual(found["credit_loops"]["verdict"], "free")
        self.assertEqual(len(found["load"]["links"]), 2 * len(self.ours().links))
        self.assertEqual(self.check("--switches")["unicast"]["pair_count"], 22 * 21)

    def test_a_loop_and_a_wrong_node(self):
        self.broken(21, 4)  # LID 22's port
        (finding,) = self.check(status=1)["unicast"]["findings"]
        self.assertEqual((finding["fault"], finding["port_num"], finding["lids"]), ("wrong_node", 4, [21]))
        self.broken(20, 19)  # back to the spine
        faults = {row["fault"]: row for row in self.check(status=1)["unicast"]["findings"]}
        self.assertEqual(len(faults["loop"]["cycle"]), 2)
        self.assertEqual(faults["loop"]["lids"], [20])

    def test_files_say_what_the_fabric_says(self):
        self.broken(22, 255)
        live = self.check("--load", status=1)
        topologies = [self.stored("ours.net", self.ibtool("ibnetdiscover").stdout),
                      self.stored("theirs.net", self.debian("ibnetdiscover").stdout)]
        tables = [self.stored("ours.lfts", self.ibtool("dump_lfts").stdout), self.stored("theirs.lfts", self.debian("dump_lfts").stdout)]
        for topology, lfts in zip(topologies, tables):
            stored = self.check("--load", "--topology", topology, "--lfts", lfts, status=1)
            for key in ("unicast", "hop_histogram", "load", "credit_loops"):
                self.assertEqual(stored[key], live[key], (lfts, key))

    def test_a_snapshot_says_what_the_fabric_says(self):
        self.broken(22, 255)
        file = self.fabric.path("routes.ibss")
        self.ibtool("snapshot", file, "--only", "topology,lft,mft,sl2vl")
        live, stored = self.check("--load", status=1), self.check("--load", "--from", file, status=1)
        for key in ("unicast", "hop_histogram", "load", "credit_loops"):
            self.assertEqual(stored[key], live[key], key)


class Ring(Base):
    """Five switches in a ring, two hosts on each: minhop's ways close a credit loop."""
    lids = None

    @classmethod
    def setUpClass(cls):
        cls.netfile = cls.write_ring()
        super().setUpClass()

    @classmethod
    def write_ring(cls):
        directory = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, directory)
        lines = []
        for at in range(5):
            lines += [f'Switch 6 "S-{0x10 + at:016x}" # "ring{at}"', f'[1] "S-{0x10 + (at + 1) % 5:016x}"[2]',
                      f'[2] "S-{0x10 + (at + 4) % 5:016x}"[1]', f'[3] "H-{0x100 + 16 * at:016x}"[1]',
                      f'[4] "H-{0x108 + 16 * at:016x}"[1]', ""]
            for host in (0x100 + 16 * at, 0x108 + 16 * at):
                lines += [f'Hca 1 "H-{host:016x}" # "host{host:x}"', f'[1] "S-{0x10 + at:016x}"[{3 if host & 8 == 0 else 4}]', ""]
        path = os.path.join(directory, "ring.net")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(lines))
        return path

    def test_one_sl_has_a_credit_loop(self):
        found = self.check("--unicast", "--sl", "0", status=1)
        self.assertEqual(found["unicast"]["arrived_count"], 90)
        self.assertEqual(found["credit_loops"]["verdict"], "found")
        for loop in found["credit_loops"]["loops"]:
            self.assertEqual((loop["channel_count"], len(loop["channels"]), len(loop["witnesses"])), (5, 5, 5))
            for held, wanted, pair in zip(loop["channels"], loop["channels"][1:] + loop["channels"][:1], loop["witnesses"]):
                self.assert_on_the_way(pair, held, wanted)
        self.assertEqual(self.check("--unicast", "--ask-sa", status=1)["credit_loops"]["verdict"], "found")

    def assert_on_the_way(self, pair, held, wanted):
        """Whether ibtracert finds both ports on the way of the pair, one after the other."""
        trace = self.ibtool("ibtracert", "--json", str(pair["slid"]), str(pair["dlid"])).stdout
        names = [channel["node_guid"] for channel in (held, wanted)]
        self.assertLess(trace.index(names[0]), trace.rindex(names[1]))


if __name__ == "__main__":
    case.main()
