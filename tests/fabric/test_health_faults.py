# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""health with all of its checks on simulated fabrics that have faults: each is found once, at its place, and nothing else is."""
import json
import re

import case

LEAF, SPINE = 0xb8599f0300a00030, 0xb8599f0300a00050
HOST, HOST_LID = 0x506b4b0300100030, "19"  # at port 1 of the leaf
NEXT_HOST = HOST + 4                       # at port 2 of the leaf
LEAF_PATH = "0,1,19,7"                     # directed routes, which do not depend on LIDs: to the leaf,
HOST_PATH, NEXT_HOST_PATH = LEAF_PATH + ",1", LEAF_PATH + ",2"
OTHER_HOST = 0x506b4b0300100004            # on another leaf


class Base(case.FabricCase):
    def health(self, *words, status=1, **env):
        return json.loads(self.ibtool("health", "--json", *words, status=status, **env).stdout)

    def faults(self, *words, status=1, **env):
        """What is found but infos, as (check, ends), in any order."""
        found = self.health(*words, status=status, **env)
        return sorted((finding["check"], sorted(self.place(end) for end in finding["ends"]))
                      for finding in found["findings"] if finding["level"] != "info")

    def place(self, end):
        return (case.guid_of(end["node_guid"]) if end["node_guid"] else 0, end["port_num"] or 0)

    def snapshot(self, name="before.ibss"):
        path = self.fabric.path(name)
        self.ibtool("snapshot", path, "--only", "topology,counters,details")
        return path

    def count(self, node, port, **counters):
        for name, value in counters.items():
            command = f'PerformanceSet "{node}"[{port}] PortCounters.{name}='
            self.change(f"{command}{value}", undo=f"{command}0")

    def set(self, attribute, target, value, undo, *words):
        self.addCleanup(lambda: self.ibtool("query", "SubnSet", attribute, target, "-f", undo, *words))
        self.ibtool("query", "SubnSet", attribute, target, "-f", value, *words)


class Faults(Base):
    def test_counters_of_a_channel_adapter(self):
        before = self.snapshot()
        self.count("H-506b4b0300100030", 1, SymbolErrorCounter=300)
        self.assertEqual(self.faults("--since", before), [("symbol-errors", [(HOST, 1), (LEAF, 1)])])

    def test_several_at_once(self):
        before = self.snapshot()
        self.count("S-b8599f0300a00030", 22, SymbolErrorCounter=300)
        self.count("S-b8599f0300a00050", 8, PortRcvErrors=7)
        self.count("S-b8599f0300a00000", 1, ExcessiveBufferOverrunErrors=15)
        self.count("S-b8599f0300a00010", 2, PortRcvConstraintErrors=2)
        found = self.faults("--since", before)
        self.assertEqual([check for check, _ in found], ["buffer-overrun", "constraint-errors", "symbol-errors"])
        self.assertEqual(found[2][1], [(LEAF, 22), (SPINE, 8)])

    def test_two_ports_with_one_lid(self):
        # At last, for ibsim forgets whose LID it was when the other one gives it back.
        self.addCleanup(lambda: self.ibtool("query", "SubnSet", "SMPPortInfo", NEXT_HOST_PATH, "-f", "LID=20"))
        self.set("SMPPortInfo", HOST_PATH, "LID=20", f"LID={HOST_LID}")
        self.assertEqual(self.faults("--interval", "0"), [("lid-duplicate", [(HOST, 1), (NEXT_HOST, 1)])])
        text = self.ibtool("health", "--interval", "0", status=1).stdout
        self.assertNotIn("at the other end", text)

    def test_a_partition_that_no_switch_enforces(self):
        self.set("SMPPKeyTable", HOST_LID, "pKeyBlock[1]=32773", "pKeyBlock[1]=0")  # 0x8005
        self.assertEqual(self.faults("--interval", "0", status=0), [])

    def test_a_partition_that_the_switch_does_not_let_pass(self):
        enforcing = {"preload": [case.DELAY], "IBTEST_ENFORCES": 1}
        self.assertEqual(self.faults("--interval", "0", status=0, **enforcing), [])
        self.set("SMPPKeyTable", HOST_LID, "pKeyBlock[3]=32773", "pKeyBlock[3]=0")  # 0x8005
        self.assertEqual(self.faults("--interval", "0", **enforcing), [("pkey-mismatch", [(HOST, 1), (LEAF, 1)])])
        self.set("SMPPKeyTable", LEAF_PATH, "pKeyBlock[3]=32773", "pKeyBlock[3]=0", "-a", "0x10000")  # of its port 1
        self.assertEqual(self.faults("--interval", "0", status=0, **enforcing), [])

    def test_an_armed_port_of_a_host(self):
        """Requests by LID do not pass the link: that is part of the finding."""
        self.set("SMPPortInfo", HOST_PATH, "portState=3", "portState=4")
        self.assertEqual(self.faults("--interval", "0"), [("port-armed", [(HOST, 1), (LEAF, 1)])])

    def test_an_armed_port_between_switches(self):
        self.set("SMPPortInfo", LEAF_PATH, "portState=3", "portState=4", "-a", "22")
        self.assertEqual(self.faults("--interval", "0"), [("port-armed", [(LEAF, 22), (SPINE, 8)])])

    def test_rounds(self):
        done = self.ibtool("health", "--repeat", "--count", "3", "--interval", "0.3", "--format", "jsonl")
        rounds = [json.loads(line)["item"] for line in done.stdout.splitlines() if '"verdict"' in line]
        self.assertEqual([found["verdict"] for found in rounds], ["healthy"] * 3)
        self.assertIsNone(rounds[0]["window_seconds"])
        self.assertGreater(rounds[2]["window_seconds"], 0)

    def test_the_link_of_a_host_whose_neighbour_is_silent_takes_eight_mads(self):
        done = self.ibtool("health", "--port", "local", "--state", self.fabric.path("state"), "--stats", status=1,
                           preload=[case.DELAY], IBTEST_SILENT="1")
        self.assertLessEqual(int(re.search(r"mads sent: (\d+)", done.stderr)[1]), 8)
        self.assertIn("node-silent", done.stdout)


class Unlinked(Base):
    """A link that is never put back: that would bring the subnet manager to the ports, at a time of its own."""
    def test_a_link_that_both_switches_miss_names_both(self):
        self.change('Unlink "S-b8599f0300a00030"[22]')
        text = self.ibtool("health", "--interval", "0", status=1).stdout
        line = next(line for line in text.splitlines() if "sibling-ports" in line)
        self.assertRegex(line, r"b859:9f03:00a0:0030.* and .*b859:9f03:00a0:0050|b859:9f03:00a0:0050.* and .*b859:9f03:00a0:0030")


class Partitioned(Base):
    """A host is member of another partition than before."""
    def test_changed_pkeys(self):
        before = self.fabric.path("good.ibss")
        self.ibtool("snapshot", before)
        self.set("SMPPKeyTable", HOST_LID, "pKeyBlock[1]=32773", "pKeyBlock[1]=0")
        found = self.health("--baseline", before, "--interval", "0")
        told = [finding for finding in found["findings"] if finding["level"] != "info"]
        self.assertEqual([finding["check"] for finding in told], ["changed"])
        self.assertIn("new 0x8005", told[0]["text"])


class Unmanaged(Base):
    """No subnet manager has ever been there."""
    sm = False

    def test_the_cause_comes_first_and_all_ports_are_one_finding(self):
        found = self.health("--interval", "0")
        errors = [finding["check"] for finding in found["findings"] if finding["level"] == "error"]
        self.assertEqual(errors, ["sm-none", "port-init"])
        text = self.ibtool("health", "--interval", "0", status=1).stdout
        self.assertLess(text.index("error: sm-none"), text.index("error: port-init"))


class Abandoned(Base):
    def test_a_dead_subnet_administrator_is_not_known(self):
        self.fabric.opensm.kill()
        self.fabric.opensm.wait()
        found = self.health("--interval", "0", "--only", "multicast-rate", status=4)
        self.assertEqual(found["verdict"], "unknown")
        self.assertEqual([check["check_state"] for check in found["checks"] if check["check"] == "multicast-rate"], ["not_read"])


class TwoManagers(Base):
    """A second opensm of a lower priority is on standby at another host."""
    def test_a_standby_is_no_finding(self):
        self.fabric.start_opensm("second", f"H-{OTHER_HOST:016x}", "Entering STANDBY state", "-s", "1", "-p", "0")
        found = self.health("--interval", "0", status=0)
        self.assertEqual([finding["check"] for finding in found["findings"] if finding["check"].startswith("sm-")], [])
        self.assertEqual(found["verdict"], "healthy")


class TwoMasters(Base):
    """Two leaves, each with two hosts, had a manager each before a cable joined them. Neither manager sweeps again and sees the other."""
    sm = False
    leaves = (0x6000000000000010, 0x6000000000000020)
    hosts = ((0x5000000000000010, 0x5000000000000020), (0x5000000000000030, 0x5000000000000040))
    cable, cable_paths = 3, ("0,1", "0,1,3")  # the port at both ends, and the ways to these ends from the first host

    @classmethod
    def make_net(cls):
        net = ""
        for leaf, hosts, other in zip(cls.leaves, cls.hosts, reversed(cls.leaves)):
            links = {port: (f"H-{host:016x}", 1) for port, host in enumerate(hosts, 1)}
            for port, host in enumerate(hosts, 1):
                net += case.node("Ca", f"H-{host:016x}", {1: (f"S-{leaf:016x}", port)}, f"n{host & 0xff} mlx5_0", host)
            links[cls.cable] = f"S-{other:016x}", cls.cable
            net += case.node("Switch", f"S-{leaf:016x}", links, f"leaf{leaf & 0xff}", leaf)
        return net

    def test_both_are_named_and_nothing_else(self):
        cable = f'"S-{self.leaves[0]:016x}"[{self.cable}]'
        self.change(f"Unlink {cable}")
        for side, (leaf, hosts) in enumerate(zip(self.leaves, self.hosts)):
            ports = [leaf] + [host + 1 for host in hosts]
            self.fabric.start_opensm(f"sm{side}", f"H-{hosts[0]:016x}", "SUBNET UP", lids=zip(ports, range(10 * side + 1, 10 * side + 4)),
                                     config="sweep_interval 0\nsweep_on_trap FALSE\n")
        self.assertEqual(self.faults("--interval", "0", status=0), [])
        self.change(f"Relink {cable}")
        for state in (3, 4):  # what a manager would do: Armed at both ends, then Active
            for path in self.cable_paths:
                self.ibtool("query", "SubnSet", "SMPPortInfo", path, "-a", str(self.cable), "-f", f"portState={state}")
        self.assertEqual(self.faults("--interval", "0"), [("sm-many-masters", [(hosts[0], 0) for hosts in self.hosts])])


if __name__ == "__main__":
    case.main()
