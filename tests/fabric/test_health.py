# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""health on simulated fabrics: healthy ones have nothing to be told, errors are found once with the right cable, and links that broke."""
import json
import os
import re
import shlex

import case

LEAF, SPINE = 0xb8599f0300a00030, 0xb8599f0300a00050  # joined by port 22 of the leaf and port 8 of the spine
COUNTERS = 'PerformanceSet "S-b8599f0300a00030"[22] PortCounters.'
LEAF_LID, HOST, HOST_LID = "4", 0x506b4b0300100030, "19"  # the host at port 1 of the leaf
HOST_PATH = "0,1,19,7,1"  # a directed route to that host, which does not depend on its LID
SILENT = ":".join(f"1,{up},{down},1@{HOST_LID}" for up in (19, 20, 21, 22) for down in (7, 8))  # all shortest routes to it
GOLDEN = os.path.join(case.HERE, "..", "golden")
README = os.path.join(case.HERE, "..", "..", "README.md")


class Base(case.FabricCase):
    def health(self, *words, status=0):
        return json.loads(self.ibtool("health", "--json", *words, status=status).stdout)

    def snapshot(self, name="before.ibss"):
        path = self.fabric.path(name)
        self.ibtool("snapshot", path, "--only", "topology,counters,details")
        return path

    def count(self, **counters):
        """Has the port of the leaf count, until the test ends."""
        for name, value in counters.items():
            self.change(f"{COUNTERS}{name}={value}", undo=f"{COUNTERS}{name}=0")

    def ends(self, finding):
        return {(case.guid_of(end["node_guid"]), end["port_num"]) for end in finding["ends"]}


class Healthy:
    """ibsim says that all ports support all widths and speeds, and lets its links have less: a decision, told once for each device."""
    expected_infos = {"link-misconfigured", "sm-no-standby"}

    def test_no_error_and_no_warning(self):
        found = self.health("--interval", "0.5")
        self.assertEqual(found["verdict"], "healthy")
        self.assertEqual((found["levels"]["error"], found["levels"]["warning"]), (0, 0))
        self.assertEqual({finding["check"] for finding in found["findings"]}, self.expected_infos)
        self.assertGreaterEqual(found["window_seconds"], 0.5)
        self.assertLess(found["provable_error_ratio"], 1e-8)
        not_given = {"needs --phy", "no --baseline is given"}
        left = {check["check"]: check["reason"] for check in found["checks"] if check["check_state"] != "done"}
        self.assertEqual([check for check, reason in left.items() if reason not in not_given],
                         ["fec-mismatch", "fec-uncorrectable", "sm-stuck", "routes"])
        self.assertLessEqual(not_given, set(left.values()))

    def test_one_reading_judges_states(self):
        found = self.health("--interval", "0")
        self.assertEqual(found["verdict"], "healthy")
        self.assertIsNone(found["window_seconds"])
        states = {check["check"]: check["check_state"] for check in found["checks"]}
        self.assertEqual((states["symbol-errors"], states["counter-stuck"], states["link-slow"]), ("skipped", "done", "done"))


class Cluster(Healthy, Base):
    def test_errors_since_a_snapshot_are_one_finding_of_the_cable(self):
        before = self.snapshot()
        self.count(SymbolErrorCounter=27, PortRcvErrors=5, LocalLinkIntegrityErrors=1)
        found = self.health("--since", before, status=1)
        told = [finding for finding in found["findings"] if finding["level"] != "info"]
        self.assertEqual(len(told), 1, told)
        self.assertEqual((found["verdict"], found["levels"]["error"]), ("findings", 1))
        self.assertEqual(self.ends(told[0]), {(LEAF, 22), (SPINE, 8)})
        deltas = {row["counter"]: row["delta"] for row in told[0]["evidence"]}
        self.assertEqual(deltas, {"symbol_error_counter": 27, "port_rcv_errors": 5, "local_link_integrity_errors": 1})
        text = self.ibtool("health", "--since", before, status=1).stdout.splitlines()
        self.assertTrue(text[0].startswith("1 error, "), text[0])
        self.assertIn("SymbolErrorCounter +27 (limit 3) in ", "\n".join(text))

    def test_two_snapshots_without_a_fabric(self):
        before = self.snapshot()
        self.count(ExcessiveBufferOverrunErrors=2)
        after = self.snapshot("after.ibss")
        found = self.health("--from", after, "--since", before, status=1)
        self.assertEqual([finding["check"] for finding in found["findings"] if finding["level"] == "error"], ["buffer-overrun"])
        alone = self.health("--from", after)
        self.assertEqual(alone["verdict"], "healthy")
        self.assertIn("--since", next(check["reason"] for check in alone["checks"] if check["check"] == "symbol-errors"))

    def test_what_was_cleared_is_told_and_no_error(self):
        self.count(SymbolErrorCounter=27)
        before = self.snapshot()
        self.change(COUNTERS + "SymbolErrorCounter=0")
        found = self.health("--since", before)
        self.assertEqual(found["verdict"], "healthy")
        cleared = next(finding for finding in found["findings"] if finding["check"] == "counter-cleared")
        self.assertEqual(self.ends(cleared), {(LEAF, 22)})

    def faults(self, *words, status=1, **env):
        """The findings of one reading that are no infos, as (check, ends)."""
        found = json.loads(self.ibtool("health", "--json", "--interval", "0", *words, status=status, **env).stdout)
        return [(finding["check"], {(end["node_guid"] and case.guid_of(end["node_guid"]), end["port_num"]) for end in finding["ends"]})
                for finding in found["findings"] if finding["level"] != "info"]

    def set(self, attribute, target, value, undo):
        self.addCleanup(lambda: self.ibtool("query", "SubnSet", attribute, target, "-f", undo))
        self.ibtool("query", "SubnSet", attribute, target, "-f", value)

    def test_a_link_that_broke_is_missed_by_both_switches_once(self):
        self.unlink("S-b8599f0300a00030", 22)
        self.assertEqual(self.faults(), [("sibling-ports", {(LEAF, None), (SPINE, None)})])

    def test_a_node_that_is_silent(self):
        found = self.faults("--only", "node-silent,node-partial,sibling-ports", preload=[case.DELAY], IBTEST_SILENT=SILENT)
        self.assertEqual(found, [("node-silent", {(LEAF, 1), (None, None)})])

    def test_two_ports_with_one_lid(self):
        self.set("SMPPortInfo", HOST_PATH, "LID=20", f"LID={HOST_LID}")
        found = self.faults("--only", "lid-duplicate,lid-zero,sm-lid-differs")
        self.assertEqual(found, [("lid-duplicate", {(HOST, 1), (HOST + 4, 1)})])

    def test_a_partition_of_limited_members(self):
        self.set("SMPPKeyTable", HOST_LID, "pKeyBlock[1]=5", "pKeyBlock[1]=0")
        self.assertEqual(self.faults(), [("pkey-no-full-member", {(HOST, 1)})])
        self.set("SMPPKeyTable", "20", "pKeyBlock[1]=32773", "pKeyBlock[1]=0")  # 0x8005
        self.assertEqual(self.faults(status=0), [])

    def test_an_entry_of_a_forwarding_table_is_missing(self):
        before = self.ibtool("ibroute", LEAF_LID).stdout
        self.assertEqual(self.faults("--routes", status=0), [])
        port = next(int(line.split()[1]) for line in before.splitlines() if line.split()[:1] == ["22"])
        self.set("SMPLinearForwardingTable", LEAF_LID, "portBlock[22]=255", f"portBlock[22]={port}")
        found = self.faults("--routes", "--only", "routes")
        self.assertEqual(found, [("routes", {(LEAF, None)})])

    def test_an_entry_of_a_group_leads_to_a_port_without_a_link(self):
        self.set("SMPMulticastForwardingTable", LEAF_LID, "portMaskBlock[0]=32768", "portMaskBlock[0]=0")  # port 15, of MLID 0xc000
        expected = [("routes", {(LEAF, 15)})]
        self.assertEqual(self.faults("--routes", "--only", "routes"), expected)
        file = self.fabric.path("groups.ibss")
        self.ibtool("snapshot", file, "--only", "topology,lft,mft")
        self.assertEqual(self.faults("--from", file, "--only", "routes"), expected)

    def test_one_node(self):
        before = self.snapshot()
        self.count(SymbolErrorCounter=27)
        self.assertEqual(len([f for f in self.health("4", "--since", before, status=1)["findings"] if f["level"] == "error"]), 1)
        self.assertEqual(self.health("1", "--since", before)["levels"]["error"], 0)

    def test_one_job(self):
        before = self.snapshot()
        self.count(SymbolErrorCounter=27)
        hurt = self.health("--nodes", "login01,storage[02-02]", "--since", before, status=1)
        self.assertEqual([self.ends(f) for f in hurt["findings"] if f["level"] == "error"], [{(LEAF, 22), (SPINE, 8)}])
        self.assertEqual(self.health("--nodes", "login01,compute01", "--since", before)["levels"]["error"], 0)
        gone = self.health("--nodes", "login01,nobody", "--since", before, status=4)
        self.assertIn("nobody", json.dumps(gone["unreachable"]))

    def test_the_link_of_one_host_takes_eight_mads(self):
        state = self.fabric.path("state")
        for window in (None, 0):
            done = self.ibtool("health", "--port", "local", "--state", state, "--json", "--stats")
            self.assertLessEqual(int(re.search(r"mads sent: (\d+)", done.stderr)[1]), 8)
            found = json.loads(done.stdout)
            self.assertEqual((found["verdict"], found["link_count"]), ("healthy", 1))
            self.assertEqual(found["window_seconds"] is None, window is None)


def timeless(line):
    """A line without what depends on how long something took."""
    return re.sub(r"\(limit [\d.]+\)|[\d.]+ s\b|\([\d.]+/s|[\d.]+e-\d+ errors", "TIME", line)


class Readme(Base):
    def change_and_wait(self, command):
        """Until the subnet manager has swept, requests by LID are lost on a cable that is gone, and the SA may have no paths."""
        if "link" not in command:
            return self.change(command)
        sweeps = self.fabric.sweeps()
        self._change_links(command)
        return self.fabric.wait_sm(sweeps + 1)

    def test_the_lines_of_the_readme(self):
        with open(README, encoding="utf-8") as file:
            shown = re.search(r"which cable do I pull\?.*?\n\n(.*?)\n\n", file.read(), re.S)[1]
        statuses = iter([0, 1])
        for part in shown.split("    $ ")[1:]:
            command, *lines = part.splitlines()
            program, *words = shlex.split(command)
            if program == "sim-console":
                self.change_and_wait(" ".join(words))
                continue
            status = next(statuses) if "health" in words else 0
            printed = [timeless(line) for line in self.ibtool(*words, status=status).stdout.splitlines()]
            lines = [timeless(line[4:]) for line in lines if line.strip() != "…"]
            self.assertEqual([line for line in printed if line in lines], lines, command)
            self.assertLessEqual(len(lines), 12)
            self.assertLessEqual(len(printed), 16)  # two lines, four an error, one an info, three of what was not looked at
        self.assertIsNone(next(statuses, None))


class Net(Healthy, Base):
    netfile, lids = os.path.join(GOLDEN, "net.net"), None


class Fattree(Healthy, Base):
    """Two counters of it are full from the start."""
    expected_infos = {"link-misconfigured", "counter-stuck", "sm-no-standby"}
    netfile, lids = os.path.join(GOLDEN, "fattree.net"), None


if __name__ == "__main__":
    case.main()
