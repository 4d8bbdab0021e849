# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What may differ from a recorded text may do so within its bounds only."""
import json
import os
import sys
import textwrap
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from bounds import settle  # noqa: E402


class Bounds(unittest.TestCase):
    def same(self, recorded, now, packets=0):
        return settle(recorded, now, packets) == recorded

    def test_what_changes_from_run_to_run(self):
        for recorded, now in (
                ("# Topology file: generated on Sat Nov 21 03:25:09 2026\n", "# Topology file: generated on Mon Nov  2 12:00:00 2027\n"),
                ('"time": "2026-11-23T23:13:09.826Z",', '"time": "2027-01-01T00:00:00.000Z",'),
                ("ibwarn: [16602] mad_rpc: failed\nibpanic: [16602] main: x\n", "ibwarn: [7] mad_rpc: failed\nibpanic: [7] main: x\n"),
                ("  8 00000000 transactionID=4053512589\n 12 F19BB18D \n", "  8 00000000 transactionID=728682223\n 12 2B6ECEEF \n"),
                ("; linking: 0x2 0x5588d6a93af0->0x5588d6a93cf0:1 and 0x1 0x5588d6a93610->0x5588d6a87910:1\n",
                 "; linking: 0x2 0x000000000002->0x000000000005:1 and 0x1 0x000000000001->0x000000000002:1\n"),
                ("no answer after 4 tries in 0.0 s\n", "no answer after 4 tries in 3.1 s\n"),
                ("time 0.226 ms\ntime 0.379ms\nrtt min/avg/max = 0.226/0.226/0.226 ms\n",
                 "time 1.000 ms\ntime 2.000ms\nrtt min/avg/max = 1.000/2.000/3.000 ms\n"),
                ("XmitData....5616     (+ 1427.372/s)\n", "XmitData....5616     (+ 800.1/s)\n"),
                ("\tCapability mask: 0x0050c04a\n", "\tCapability mask: 0x0040c04a\n"),  # ibsim 0.10 and 0.12
                (' "capability_mask": 5292106,\n "capability_mask_text": "IsSM,IsVendorClassSupported"',
                 ' "capability_mask": 4243530,\n "capability_mask_text": "IsSM"'),
                ('"file_bytes": 241664', '"file_bytes": 237568')):
            with self.subTest(recorded):
                self.assertTrue(self.same(recorded, now))

    def test_what_does_not(self):
        for recorded, now in (
                ("generated on Sat Nov 21 03:25:09 2026\n", "generated on 2026-11-21\n"), ("a\n\nb\n", "a\nb\n"), ("a\n", "a \n"),
                ("a\nb\n", "b\na\n"), ("a\n", "a"), ("ibwarn: [1] x\n", "ibwarn: [] x\n"), ("ibwarn: [1] x\n", "ibpanic: [1] x\n"),
                ("  8 00000000 transactionID=4053512589\n 12 F19BB18D \n", "  8 00000000 transactionID=728682223\n 12 F19BB18D \n"),
                ("tries in 0.0 s", "tries in 60.0 s"), ("(+ 1427.372/s)\n", "(+ 14273.72/s)\n"), ("(+ 1427.372/s)\n", "(+ 0/s)\n"),
                ('"file_bytes": 241664', '"file_bytes": 2416640'), ('"delta": 72', '"delta": 144'),
                ("activity count 86", "activity count 87"), ("Capability mask: 0x0050c04a\n", "Capability mask: 0x0040c048\n"),
                (' "capability_mask_text": "IsSM,IsVendorClassSupported"', ' "capability_mask_text": "IsVendorClassSupported"'),
                ("XmtDiscards:.....................0\n", "XmtDiscards:.....................1\n"),
                ("[SymbolErrorCounter == 25]", "[SymbolErrorCounter == 26]"),
                ("XmtData:.....................720\n", "XmtData:.....................792\n")):
            with self.subTest(recorded):
                self.assertFalse(self.same(recorded, now))

    def test_a_check_that_is_new_and_finds_nothing(self):
        def check(name, count=0):
            members = {"check": name, "check_state": "done", "reason": None, "finding_count": count}
            return textwrap.indent(json.dumps(members, indent=2), "    ")

        def document(*checks):
            return '  "checks": [\n' + ",\n".join(checks) + "\n  ]\n"
        recorded = document(check("a"), check("b", 1), check("c"))
        self.assertTrue(self.same(recorded, document(check("a"), check("new"), check("b", 1), check("c"), check("newer"))))
        for now in (document(check("a"), check("b", 1), check("c"), check("new", 1)), document(check("a"), check("b", 1)),
                    document(check("a"), check("c"), check("b", 1)), document(check("a"), check("b", 1), check("renamed"))):
            self.assertFalse(self.same(recorded, now))
        for more, is_same in (("5", True), ("6", True), ("4", False), ("16", False)):
            self.assertEqual(self.same("a, b and 5 more (no counters); ", f"a, b and {more} more (no counters); "), is_same)

    def test_an_address_is_that_of_one_thing(self):
        recorded = "; linking: 0x2 0x5588d6a93af0->0x5588d6a93cf0:1 and 0x1 0x5588d6a93610->0x5588d6a87910:1\n" * 2
        one = "; linking: 0x2 0x000000000002->0x000000000005:1 and 0x1 0x000000000001->0x000000000002:1\n"
        other = "; linking: 0x2 0x000000000002->0x000000000006:1 and 0x1 0x000000000001->0x000000000002:1\n"
        self.assertTrue(self.same(recorded, one + one))
        self.assertFalse(self.same(recorded, one + other))
        self.assertFalse(self.same(recorded, one.replace("05:", "02:") * 2))

    def test_traffic_where_a_case_allows_it(self):
        for recorded, now in (("activity count 86 priority", "activity count 87 priority"),
                              ("XmtData:....720\nXmtPkts:....10\n", "XmtData:....1440\nXmtPkts:....20\n"),
                              ("portXmitData is '720', expected", "portXmitData is '864', expected"),
                              ('"port_rcv_pkts": 10', '"port_rcv_pkts": 20'),
                              ('x_port_transmit_data_bytes_total{port="1"} 4320', 'x_port_transmit_data_bytes_total{port="1"} 3744'),
                              ('x_port_unicast_receive_packets_total{port="1"} 15', 'x_port_unicast_receive_packets_total{port="1"} 13'),
                              ('"counter": "port_xmit_data",\n  "count": 720', '"counter": "port_xmit_data",\n  "count": 792'),
                              ("[PortXmitData == 11160 (43.594KB)] [PortXmitPkts == 155 (155.000)]",
                               "[PortXmitData == 10584 (41.344KB)] [PortXmitPkts == 147 (147.000)]"),
                              ("[PortRcvPkts == 1020 (1020.000)]", "[PortRcvPkts == 1024 (1.000K)]"),
                              ("[PortRcvData == 288 (1.125KB)]", "[PortRcvData == 216 (864.000B)]")):
            with self.subTest(recorded):
                self.assertFalse(self.same(recorded, now))
                self.assertTrue(self.same(recorded, now, packets=10))
        for now in ("[PortXmitData == 10584 (43.594KB)]", "[PortXmitData == 10584 (41.344MB)]", "[PortXmitData == 11160 (43.595KB)]"):
            self.assertFalse(self.same("[PortXmitData == 11160 (43.594KB)]", now, packets=10))
        self.assertFalse(self.same("XmtDiscards:....1\n", "XmtDiscards:....2\n", packets=10))


if __name__ == "__main__":
    unittest.main(verbosity=2)
