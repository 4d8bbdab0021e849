# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""health where one cable has a fault: the fault is found once, with both ends of the cable, and is not taken for something harmless."""
import json
import re
import time

import case

LEAF, SPINE = 0xb8599f0300a00030, 0xb8599f0300a00050  # joined by port 22 of the leaf and port 8 of the spine
LEAF_NAME, SPINE_NAME = f"S-{LEAF:016x}", f"S-{SPINE:016x}"
CABLE = {(LEAF, 22), (SPINE, 8)}
LEAF_LID, SPINE_LID = "4", "6"


class Base(case.FabricCase):
    def told(self, *words, status=1):
        """The findings that are no infos."""
        found = json.loads(self.ibtool("health", "--json", *words, status=status).stdout)
        return [finding for finding in found["findings"] if finding["level"] != "info"]

    def ends(self, finding):
        return {(end["node_guid"] and case.guid_of(end["node_guid"]), end["port_num"]) for end in finding["ends"]}

    def only(self, *words):
        """The one finding, as (check, level, also); its cable is the one between the leaf and the spine."""
        told = self.told(*words)
        self.assertEqual(len(told), 1, told)
        self.assertEqual(self.ends(told[0]), CABLE)
        return told[0]["check"], told[0]["level"], told[0]["also"]

    def snapshot(self, *parts):
        path = self.fabric.path("before.ibss")
        self.ibtool("snapshot", path, *parts)
        return path

    def count(self, node, port, counter, value, undo=0):
        line = f'PerformanceSet "{node}"[{port}] PortCounters.{counter}='
        self.change(f"{line}{value}", undo=f"{line}{undo}")


class Cables(Base):
    FIELDS = {"width": "LinkWidthEnabled", "espeed": "LinkSpeedExtEnabled"}

    def lower(self, lid, port, option, value, undo):
        self.addCleanup(self.set_port, lid, port, option, undo)
        self.set_port(lid, port, option, value)

    def set_port(self, lid, port, option, value):
        """Sets an option of a port, and again until it stays: opensm writes back what it read where its sweep began before."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            self.ibtool("ibportstate", lid, port, option, value)
            settled = time.monotonic() + 1.5  # opensm sweeps each second
            shown = rf"^{self.FIELDS[option]}\.+.* \({value}\)$"
            while re.search(shown, self.ibtool("ibportstate", lid, port, "query").stdout, re.MULTILINE):
                if time.monotonic() > settled:
                    return
                time.sleep(0.1)
        self.fail(f"port {port} of LID {lid} does not keep {option} {value}")

    def test_a_speed_that_was_lowered_at_one_port(self):
        self.lower(LEAF_LID, "22", "espeed", "1", undo="3")
        check, level, _ = self.only("--interval", "0")
        self.assertEqual((check, level), ("link-misconfigured", "warning"))

    def test_a_width_that_was_lowered_at_both_ports(self):
        """Of 32 ports between switches: the other 30 have the width that ibsim gives them."""
        for lid, port in ((LEAF_LID, "22"), (SPINE_LID, "8")):
            self.lower(lid, port, "width", "1", undo="3")
        told = self.told("--interval", "0")
        self.assertEqual([(f["check"], f["level"], self.ends(f)) for f in told], [("link-misconfigured", "warning", CABLE)])
        self.assertEqual([(e["field"], e["which_end"], e["value_after"], e["limit"]) for e in told[0]["evidence"]],
                         [("linkWidthEnabled", 0, 1, 4), ("linkWidthEnabled", 1, 1, 4)])

    def test_a_cable_between_switches_that_died(self):
        before = self.snapshot()
        for node, port in ((LEAF_NAME, 22), (SPINE_NAME, 8)):
            self.count(node, port, "LinkDownedCounter", 1)
        self.unlink(LEAF_NAME, 22)
        self.assertEqual(self.only("--since", before), ("link-flap", "error", ["sibling-ports"]))

    def test_a_cable_of_a_host_that_died(self):
        before = self.snapshot()
        self.count(LEAF_NAME, 1, "LinkDownedCounter", 1)
        self.unlink(LEAF_NAME, 1)
        told = self.told("--since", before)
        self.assertEqual([(f["check"], f["level"], f["confidence"], self.ends(f)) for f in told],
                         [("link-flap", "warning", "possible", {(LEAF, 1)})])

    def test_a_flap_behind_a_counter_that_is_full(self):
        self.count(LEAF_NAME, 22, "LinkDownedCounter", 255)
        before = self.snapshot()
        self.count(SPINE_NAME, 8, "LinkDownedCounter", 3)
        self.assertEqual(self.only("--since", before), ("link-flap", "warning", ["counter-stuck"]))

    def test_errors_after_somebody_cleared_the_counter(self):
        self.count(LEAF_NAME, 22, "SymbolErrorCounter", 65535)
        before = self.snapshot()
        self.count(LEAF_NAME, 22, "SymbolErrorCounter", 60000)
        self.assertEqual(self.only("--since", before), ("symbol-errors", "error", ["counter-cleared"]))

    def test_a_cable_that_is_gone_is_not_missed_by_siblings_besides(self):
        before = self.snapshot()
        self.unlink(LEAF_NAME, 22)
        check, level, also = self.only("--baseline", before, "--interval", "0")
        self.assertEqual((check, level), ("link-gone", "error"))
        self.assertIn("sibling-ports", also)


class Reset(Base):
    """ibsim does not bring such a link back: the fabric is of no further use."""
    def test_a_link_that_is_up_and_passes_nothing(self):
        self.ibtool("ibportstate", LEAF_LID, "22", "reset")
        check, level, also = self.only("--interval", "0")
        self.assertEqual((check, level), ("node-silent", "error"))
        self.assertIn("sibling-ports", also)


if __name__ == "__main__":
    case.main()
