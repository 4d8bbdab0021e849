# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Ours answers as the programs answered that it takes the place of."""
import re
import sys
import unittest

import golden
import simfabric

CASES = golden.load("recorded.jsonl")


class Recorded(golden.FabricCases):
    def check(self, case):
        done = golden.run(self.fabric, case)
        self.assertNotIn("AddressSanitizer", done.stderr)
        if case["ref"] == "infiniband-diags":
            self.assertEqual(done.returncode, int(case["rc"]), done.stderr)
        else:  # python-rdma knew one failure, 100, where we tell them apart
            self.assertEqual(done.returncode == 0, case["rc"] == "0", f"status {done.returncode}\n{done.stderr}")
        if re.search("^[DE]:", case["out"], re.MULTILINE):  # there both streams were one
            self.assertEqual(sorted(golden.normalised(done.stdout + "\n" + done.stderr)), sorted(golden.normalised(case["out"])))
        else:
            self.assertEqual(golden.normalised(done.stdout), golden.normalised(case["out"]))

    def test_cases(self):
        cases = [case for case in CASES if case["fabric"] == self.fabric_name and case.get("rmpp", True) == self.rmpp]
        self.assertTrue(cases or self.fabric_name is None)
        for case in cases:
            with self.subTest(case["cmd"], stdin=case.get("stdin")):
                self.check(case)


class Net(Recorded):
    fabric_name = "net"


class Fattree(Recorded):
    fabric_name = "fattree"


class NetWithoutRmpp(Net):
    rmpp = False


class FattreeWithoutRmpp(Fattree):
    rmpp = False


del Recorded

if __name__ == "__main__":
    if simfabric.missing():
        print("skipped, not installed: " + ", ".join(simfabric.missing()))
        sys.exit(77)
    unittest.main(verbosity=2)
