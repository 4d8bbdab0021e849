# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The queries of ibtool-snapshot(5) on a snapshot of a fabric with a silent host, a slow link, a pulled cable and counted errors, beside
what the commands print."""
import contextlib
import json
import os
import re
import sqlite3
import time

import case

README = os.path.join(case.HERE, "..", "..", "README.md")
PAGE = os.path.join(case.HERE, "..", "..", "man", "pages", "ibtool-snapshot.5.in")
MEMBERS = {"login01 mlx5_0": 0x506b4b0300100001, "compute01 mlx5_0": 0x506b4b0300100005}  # of a multicast group


def examples(kind):
    """name → text of the page's examples: SQL of the kind "query", what sqlite3 -header prints of the kind "answer"."""
    with open(PAGE, encoding="utf-8") as file:
        found = re.findall(rf'^\.\\" {kind} (\w+)\n\.EX\n(.*?)^\.EE$', file.read(), re.M | re.S)
    return {name: text.replace("\\-", "-") for name, text in found}


class Base(case.FabricCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sql, cls.answers = examples("query"), examples("answer")

    def snapshot(self, *words, status=0):
        file = self.fabric.path(self.id())
        self.ibtool("snapshot", file, *words, status=status)
        return file

    def rows(self, file, name):
        """The rows of a query of the page, as dicts."""
        return self.select(file, self.sql[name])

    def select(self, file, sql):
        with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            return [dict(row) for row in database.execute(sql)]

    def lines(self, command, *words, status=0):
        return self.ibtool(command, *words, status=status).stdout.splitlines()


class PulledCable(Base):
    def test_links_that_are_down_or_slow(self):
        leaf = next(guid for guid, node in self.ours().nodes.items() if node[2].startswith("MF0;leaf01"))
        self.change(f'Unlink "S-{leaf:016x}"[19]', undo=f'ReLink "S-{leaf:016x}"[19]')
        file = self.snapshot("--only", "topology")
        printed = self.lines("iblinkinfo")
        down = sum(1 for line in printed if re.search(r"==\(Down/", line))
        rows = self.rows(file, "down")
        self.assertEqual(down, sum(row["ports"] for row in rows))
        self.assertEqual(29, {row["description"]: row["ports"] for row in rows}["MF0;leaf01:SB7800/U1"])
        # A link between switches has two lines.
        known = {node[2]: node[0] for node in self.ours().nodes.values()}
        slow = self.select(file, "SELECT * FROM slow_links")
        twice = sum(1 for row in slow if known[row["node_description"]] == known[row["peer_node_description"]] == "Switch")
        self.assertEqual(sum("Could be" in line for line in printed if "==(" in line), len(slow) + twice)
        self.assertEqual([len(slow)], [row["links"] for row in self.rows(file, "slow")])


class Widths(Base):
    netfile, lids = os.path.join(case.HERE, "..", "beside", "speeds.net"), None

    def test_the_query_of_the_readme_finds_the_links_of_other_widths(self):
        with open(README, encoding="utf-8") as file:
            sql = re.search(r'sqlite3 now\.ibss "(.*)"', file.read())[1]
        rows = self.select(self.snapshot("--only", "topology"), sql)
        links = self.ours().links.values()
        narrow = sorted(text.partition("x")[0] + "x" for text in links if not text.startswith("4x"))
        self.assertTrue(0 < len(narrow) < len(links))
        self.assertEqual(narrow, sorted(row["width"] for row in rows))


class Queries(Base):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.join_group()

    @classmethod
    def join_group(cls):
        """Two hosts join a multicast group, which is routed when this returns."""
        for guid in MEMBERS.values():
            host = f"H-{guid - 1:016x}"
            gid = f"fe80::{guid >> 48:x}:{guid >> 32 & 65535:x}:{guid >> 16 & 65535:x}:{guid & 65535:x}"
            words = ["MGID=ff12:1::", f"portGID={gid}", "joinState=1", "QKey=0x12", "PKey=0xffff", "SL=0", "flowLabel=5", "TClass=0"]
            done = cls.fabric.run([case.IBTOOL, "query", "SubnAdmSet", "SAMCMemberRecord", *(w for word in words for w in ("-f", word))],
                                  host=host)
            assert done.returncode == 0, done.stderr
        end = time.monotonic() + 30
        while "0 valid mlids" in cls.fabric.run([case.IBTOOL, "ibroute", "-M", "1"]).stdout and time.monotonic() < end:
            time.sleep(0.2)

    def test_nodes_links_and_time(self):
        begin = time.time()
        file = self.snapshot("--only", "topology")
        (taken,) = self.rows(file, "taken")
        self.assertRegex(taken["begun"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$")
        (told,) = self.select(file, "SELECT value FROM facts WHERE name = 'begun'")
        self.assertLess(abs(int(told["value"]) / 1000 - begin), 60)
        self.assertTrue(0 <= taken["seconds"] < 60)
        fabric = self.ours()
        switches = {guid for guid, node in fabric.nodes.items() if node[0] == "Switch"}
        found = {row["type"]: row for row in self.rows(file, "types")}
        self.assertEqual({"Switch": len(switches), "Channel Adapter": len(fabric.nodes) - len(switches)},
                         {kind: row["nodes"] for kind, row in found.items()})
        self.assertRegex(found["Switch"]["vendor"], r"^0x[0-9a-f]{6}$")
        guids = {row["node"]: case.guid_of(row["guid"]) for row in self.select(file, "SELECT node, guid FROM nodes")}
        links = {frozenset({(guids[row["node_a"]], row["port_a"]), (guids[row["node_b"]], row["port_b"])}): f"{row['width']}{row['speed']}"
                 for row in self.select(file, "SELECT * FROM links")}
        self.assertEqual(fabric.links, links)
        self.assertEqual(sum(1 for link in links if all(guid in switches for guid, _ in link)),
                         sum(row["cables"] for row in self.rows(file, "trunks")))
        lids = {(guids[row["node"]], row["port"]): (row["lid"], row["lmc"]) for row in
                self.select(file, "SELECT node, port, lid, lmc FROM ports WHERE lid <> 0")}
        self.assertEqual(fabric.lids, lids)

    def test_errors(self):
        leaf = next(guid for guid, node in self.ours().nodes.items() if node[2].startswith("MF0;leaf01"))
        for setting in ("SymbolErrorCounter=12", "PortXmitDiscards=3"):
            name = setting.partition("=")[0]
            self.change(f'PerformanceSet "S-{leaf:016x}"[2] PortCounters.{setting}',
                        undo=f'PerformanceSet "S-{leaf:016x}"[2] PortCounters.{name}=0')
        file = self.snapshot("--only", "counters")
        self.assertEqual([("MF0;leaf01:SB7800/U1", 2, 12, 0, "compute01 mlx5_0", 1)],
                         [tuple(row.values()) for row in self.rows(file, "errors")])
        (row,) = self.select(file, "SELECT port_xmit_discards, vl15_dropped FROM ports_with_errors")
        self.assertEqual((3, 0), tuple(row.values()))
        printed = self.ibtool("perfquery", "1", "2").stdout
        self.assertRegex(printed, r"SymbolErrors:\.+12\n")
        self.assertRegex(printed, r"XmtDiscards:\.+3\n")

    def test_tables(self):
        file = self.snapshot("--only", "lft,mft,pkeys,sl2vl")
        routes = {row["description"]: row["out_port"] for row in self.rows(file, "route")}
        switches = self.select(file, "SELECT description, lid FROM nodes WHERE type = 'Switch'")
        for switch in switches:
            printed = re.search(r"^ *9 (\d+) :", self.ibtool("ibroute", str(switch["lid"])).stdout, re.M)
            self.assertEqual(int(printed[1]), routes[switch["description"]])
        self.assertEqual(len(switches), len(routes))
        one = switches[0]
        lids = re.findall(r"^ *(\d+) (\d+) :", self.ibtool("ibroute", str(one["lid"])).stdout, re.M)
        self.assertEqual([(int(lid), int(port)) for lid, port in lids],
                         [(row["lid"], row["out_port"]) for row in self.select(
                             file, f"SELECT lft.lid, out_port FROM lft JOIN nodes USING(node) WHERE nodes.lid = {one['lid']} "
                                   "AND out_port <> 255 ORDER BY lft.lid")])
        partitions = self.rows(file, "partitions")
        adapters = [node for node in self.ours().nodes.values() if node[0] == "Ca"]
        self.assertEqual([("0x7fff", 1, len(adapters))], [tuple(row.values()) for row in partitions])
        copies = self.rows(file, "multicast")
        printed = [line for switch in switches for line in self.lines("ibroute", "-M", str(switch["lid"])) if re.match(r"0xc0", line)]
        self.assertEqual(sorted({line.split()[0] for line in printed}), sorted({row["mlid"] for row in copies}))
        self.assertEqual(set(MEMBERS), {row["description"] for row in copies})
        shared = self.rows(file, "lanes")
        text = self.ibtool("smpquery", "SL2VL", str(one["lid"]), "1").stdout
        self.assertTrue(shared and text)
        self.assertEqual({str(sl) for sl in range(16)},
                         {sl for row in shared if row["description"] == one["description"] and row["out_port"] == 1
                          for sl in row["sls"].split(",")})

    def test_what_did_not_answer(self):
        with open(case.CLUSTER, encoding="latin-1") as net:
            host = [line.split('"')[1] for line in net if line.startswith(("Hca", "Ca"))][-1]
        self.change(f'Error "{host}" 100 16', undo=f'Error "{host}" 0')  # NodeDescription is dropped
        file = self.snapshot("--only", "congestion", status=4)
        rows = self.rows(file, "missing")
        guid = case.guid_of(host.split("-")[1])
        number = {case.guid_of(row["guid"]): row["node"] for row in self.select(file, "SELECT node, guid FROM nodes")}[guid]
        self.assertTrue(self.select(file, f"SELECT 1 FROM failures WHERE node = {number} AND attribute LIKE '%NodeDescription%'"))
        self.assertIn("ClassPortInfo", {row["attribute"] for row in rows if row["why"] == "no answer"})
        self.assertTrue(all(re.match(r"\d{4}-", row["last"]) for row in rows))

    def test_what_was_not_read_is_not_well(self):
        """A host that does not answer for its port, and counters that were left out."""
        host = "H-506b4b030010002c"
        self.change(f'Error "{host}" 100 21', undo=f'Error "{host}" 0')  # PortInfo is dropped
        file = self.snapshot("--only", "topology", status=4)
        (unread,) = self.select(file, "SELECT * FROM links_not_read")
        self.assertIn("compute11 mlx5_0", (unread["node_description"], unread["peer_node_description"]))
        self.assertFalse(self.select(file, f"SELECT * FROM slow_links WHERE node = {unread['node']} AND port_num = {unread['port_num']}"))
        self.assertEqual([1], [row["links"] for row in self.rows(file, "slow") if row["best_width_text"] is None])
        links = len(self.select(file, "SELECT * FROM cables"))
        self.assertEqual(2 * links, len(self.select(file, "SELECT * FROM counters_not_read")))
        rows = self.rows(file, "errors")
        self.assertEqual(2 * links, len(rows))
        self.assertEqual({None}, {row["symbol_error_counter"] for row in rows})
        self.assertEqual([(None, None, 16)], [tuple(row.values()) for row in self.rows(file, "partitions")])
        self.assertEqual({None}, {row["out_port"] for row in self.rows(file, "route")})
        self.assertEqual({None}, {row["routed_lids"] for row in self.rows(file, "load")})

    def test_the_page_has_the_answers(self):
        self.change('PerformanceSet "S-b8599f0300a00030"[22] PortCounters.SymbolErrorCounter=27',
                    undo='PerformanceSet "S-b8599f0300a00030"[22] PortCounters.SymbolErrorCounter=0')
        file = self.snapshot("--only", "counters,lft,pkeys")
        self.assertEqual(10, len(self.answers))
        for name, answer in self.answers.items():
            with self.subTest(name), contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
                found = database.execute(self.sql[name])
                lines = [[column[0] for column in found.description], *found]
                printed = "".join("|".join("" if cell is None else str(cell) for cell in line) + "\n" for line in lines)
                self.assertEqual(answer, printed)

    def test_what_switches_carry_is_what_check_lft_balance_counts(self):
        file = self.snapshot("--only", "lft")
        loads = {(row["node_guid"], row["port_num"]): row["routed_lids"] for row in self.select(file, "SELECT * FROM switch_load")}
        document = json.loads(self.ibtool("check_lft_balance", "--json").stdout)
        counted = {(switch["node_guid"], port["port_num"]): port["routed_lids"]
                   for switch in document["switches"] for port in switch["ports"]}
        self.assertTrue(counted)
        self.assertEqual(counted, {place: loads[place] for place in counted})

    def test_every_query_has_a_test(self):
        with open(__file__, encoding="utf-8") as source:
            tested = set(re.findall(r'self\.rows\(.*"(\w+)"\)', source.read()))
        self.assertEqual(set(self.sql), tested | set(self.answers))

    def test_every_table_can_be_read(self):
        """No view or table is broken, and the list of the page is the list of the file."""
        file = self.snapshot()
        names = [row["name"] for row in self.select(file, "SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")]
        for name in names:
            with self.subTest(name):
                self.select(file, f'SELECT * FROM "{name}" LIMIT 3')
        with open(PAGE, encoding="utf-8") as page:
            text = page.read()
        for name in names:  # a table of an attribute has the name of its structure
            columns = [row["name"] for row in self.select(file, f"PRAGMA table_info('{name}')")]
            is_attribute = columns[:3] == ["node", "port", "time"] or columns[:2] == ["node", "time"]
            self.assertTrue(name in text or is_attribute, f"{name} is not in the page")
        self.assertLessEqual({"led_info", "mlnx_ext_port_info", "sm_info", "congestion_info", "general_info"}, set(names))
        counters = json.loads(self.ibtool("perfquery", "--json", "--from", file, "1", "1").stdout)
        (row,) = self.select(file, "SELECT c.* FROM port_counters c JOIN nodes USING(node) WHERE lid = 1 AND port = 1")
        self.assertIn(f'"symbol_error_counter": {row["symbol_error_counter"]}', json.dumps(counters))


if __name__ == "__main__":
    case.main()
