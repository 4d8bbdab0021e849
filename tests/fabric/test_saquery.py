# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""saquery and query on opensm's database, beside Debian's saquery."""
import ipaddress
import json
import re

import case

HOST = 7  # LID of the host, where opensm runs


class Saquery(case.FabricCase):
    def json(self, *words, status=0):
        return json.loads(self.ibtool(*words, "--json", status=status).stdout)

    def test_the_same_nodes_as_debian(self):
        for lid in range(1, 25):
            theirs = self.debian("saquery", "NR", str(lid)).stdout
            ours = self.json("saquery", "NR", str(lid))["records"]
            self.assertEqual(len(ours), theirs.count("NodeRecord dump"), lid)
            for record in ours:
                info = record["node_info"]
                numbers = {"lid": record["lid"], "num_ports": info["num_ports"], "port_num": info["local_port_num"]}
                for name, value in numbers.items():
                    self.assertRegex(theirs, rf"\t{name}\.+{value}\n")
                for name in ("node_guid", "port_guid"):
                    self.assertRegex(theirs, rf"\t{name}\.+0x{case.guid_of(info[name]):016x}\n")
                self.assertIn("NodeDescription........." + record["node_description"]["node_string"] + "\n", theirs)

    def test_the_same_links_and_paths_as_debian(self):
        for lid in (2, HOST, 9, 16):
            for port in (1, 2):
                theirs = self.debian("saquery", "LR", f"{lid}/{port}").stdout
                theirs = re.findall(r"FromLID\.+(\d+)\n.*\.(\d+)\n.*\.(\d+)\n.*\.(\d+)", theirs)
                ours = self.json("saquery", "LR", f"{lid}/{port}")["records"]
                self.assertEqual([tuple(str(link[key]) for key in ("from_lid", "from_port", "to_port", "to_lid")) for link in ours], theirs)
            theirs = self.debian("saquery", "-p", "--slid", str(HOST), "--dlid", str(lid)).stdout
            ours = self.json("saquery", "-p", "--slid", str(HOST), "--dlid", str(lid))["records"]
            self.assertEqual([path["dgid"] for path in ours], re.findall(r"dgid\.+(\S+)", theirs))

    def test_every_record(self):
        """Text and JSON tell of as many; what opensm has no record of is a timeout or an error of its own."""
        help_text = self.ibtool("saquery", "--help").stdout
        names = re.findall(r"^    ([A-Z]\w+)( [A-Z0-9]+)?(?:  .*)?$", help_text, re.M)
        self.assertGreater(len(names), 15)
        for name, _ in names:
            done = self.run_ours([case.IBTOOL, "saquery", name, "-t", "100", "--retries", "0"])
            if done.returncode == 3:
                self.assertRegex(done.stderr, "^E: (The SA |LID 7, |No subnet)")
                continue
            self.assertIn(done.returncode, (0, 4), name)
            parsed = self.json("saquery", name, status=done.returncode)
            self.assertEqual(parsed["complete"], done.returncode == 0)
            headings = re.findall(r"^\S.*:$", done.stdout, re.M)
            self.assertEqual(len(headings), len(parsed["records"]), name)

    def test_names(self):
        node = self.json("saquery", "NR", str(HOST))["records"][0]
        name = node["node_description"]["node_string"]
        port_guid, node_guid = node["node_info"]["port_guid"], node["node_info"]["node_guid"]
        for option, word, expected in (("-l", name, HOST), ("-L", name, HOST), ("-O", str(HOST), name), ("-G", name, port_guid),
                                       ("-U", port_guid, name), ("-U", node_guid, name)):
            self.assertEqual(self.ibtool("saquery", option, word).stdout, f"{expected}\n", option)
        self.assertEqual(self.json("saquery", "NR", name)["records"], [node])
        self.assertIn("knows no node 'nobody'", self.ibtool("saquery", "-l", "nobody", status=3).stderr)
        self.assertIn("no node is called 'nobody'", self.ibtool("saquery", "NR", "nobody", status=2).stderr)
        path = self.json("saquery", "--src-to-dst", f"{name}:2")
        self.assertEqual((path["records"][0]["slid"], path["records"][0]["dlid"]), (HOST, 2))

    def test_the_managers(self):
        ports = self.json("saquery", "-s")
        self.assertEqual([port["endport_lid"] for port in ports["is_sm"]], [HOST])

    def test_another_way_to_the_sa(self):
        plain = self.ibtool("saquery", "NR", str(HOST)).stdout
        for words in (("--sa",), ("--sa-path", str(HOST)), ("-t", "500")):
            self.assertEqual(self.ibtool("saquery", "NR", str(HOST), *words).stdout, plain)

    def test_query(self):
        for words in (("SubnGet", "SMPNodeInfo", "2"), ("SubnGet", "nodeinfo", "2")):
            self.assertEqual(self.json("query", *words)["data"]["node_type"], 2)
        direct = self.json("query", "SubnGet", "SMPPortInfo", "2", "-a", "1")["data"]
        from_sa = self.json("query", "--sa", "SubnGet", "SMPPortInfo", "2", "-a", "1")["data"]
        self.assertEqual(direct["link_width_active"], from_sa["link_width_active"])
        record = self.json("query", "SubnAdmGet", "SANodeRecord", "-f", f"LID={HOST}")["data"]
        self.assertEqual(record, self.json("saquery", "NR", str(HOST))["records"][0])
        self.assertEqual(self.json("query", "PerformanceGet", "PMPortCounters", "2", "-f", "portSelect=1")["data"]["port_select"], 1)

    def gids(self):
        """Of all end ports, by LID."""
        ports = self.json("saquery", "NR")["records"]
        return {port["lid"]: str(ipaddress.IPv6Address(0xfe80 << 112 | case.guid_of(port["node_info"]["port_guid"]))) for port in ports}

    def test_paths_between_many_ends(self):
        """A MultiPathRecord is answered with the paths that PathRecords tell one by one; more GIDs than fit into one MAD reach
        opensm, which takes notice of the first 11."""
        gids = self.gids()
        lids = sorted(gids)

        def ends(sources, destinations):
            return [f"SGID={gids[lid]}" for lid in sources] + [f"DGID={gids[lid]}" for lid in destinations]
        paths = self.json("saquery", "MultiPathRecord", *ends(lids[:2], lids[2:5]))["records"]
        self.assertEqual({(path["slid"], path["dlid"]) for path in paths}, {(s, d) for s in lids[:2] for d in lids[2:5]})
        for path in paths:
            alone = self.json("saquery", "PR", f"SLID={path['slid']}", f"DLID={path['dlid']}")["records"]
            self.assertEqual([path], alone)
        many = self.json("saquery", "MPR", *ends([HOST], lids[:20]))["records"]
        self.assertEqual([path["dlid"] for path in many], lids[:10])
        fields = [word for end in ends([HOST], lids[:20]) for word in ("-f", end)]
        self.assertEqual(self.json("query", "SubnAdmGetMulti", "SAMultiPathRecord", *fields)["records"], many)
        self.assertEqual(self.json("saquery", "MPR", f"DGID={gids[9]}")["records"][0]["slid"], HOST)

    def test_what_opensm_makes_of_wrong_ends(self):
        self.assertIn("The SA knows no such GID (MultiPathRecord)", self.ibtool("saquery", "MPR", "DGID=fe80::dead", status=3).stderr)
        self.assertIn("The SA rejects the request for MultiPathRecord as invalid", self.ibtool("saquery", "MPR", status=3).stderr)
        self.assertIn("does not answer TraceRecord",
                      self.ibtool("saquery", "TraceRecord", "DLID=2", "-t", "100", "--retries", "0", status=3).stderr)

    def test_a_set_changes_the_port_that_is_named(self):
        def state():
            return self.json("query", "SubnGet", "SMPPortInfo", "2", "-a", "1")["data"]["port_physical_state_text"]
        before = state()
        self.addCleanup(lambda: self.ibtool("query", "SubnSet", "SMPPortInfo", "2", "-a", "1", "-f", "portPhysicalState=Polling"))
        self.ibtool("query", "SubnSet", "SMPPortInfo", "2", "-a", "1", "-f", "portPhysicalState=Disabled")
        self.assertNotEqual(state(), before)
        done = self.ibtool("query", "SubnSet", "SMPPortInfo", "2", "-a", "99", "-f", "LMC=1", status=3)
        self.assertIn("'MF0;leaf02:SB7800/U1' (LID 2) has ports 0 to 36, and no port 99", done.stderr)


if __name__ == "__main__":
    case.main()
