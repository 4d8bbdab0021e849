# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Each documented deviation is what we print, and a manual page tells of it.

test_deviations.py --update writes what we print now into deviations.jsonl; reasons are written by hand."""
import itertools
import json
import os
import sys
import unittest

import golden
import simfabric

FILE = os.path.join(golden.HERE, "deviations.jsonl")
PAGES = os.path.join(golden.HERE, "..", "..", "man", "pages")
CASES = golden.load("deviations.jsonl")


def page_file(man):
    """`ibtool-ibaddr(1)` → its source."""
    name, section = man.rstrip(")").split("(")
    return os.path.join(PAGES, f"{name}.{section}.in")


class Reasons(unittest.TestCase):
    def test_every_deviation_has_a_reason_and_a_page(self):
        for case in CASES:
            with self.subTest(case["cmd"]):
                self.assertGreater(len(case["why"]), 20)
                with open(page_file(case["man"]), encoding="utf-8") as page:
                    self.assertIn(".SH DIFFERENCES", page.read())

    def test_the_file_is_sorted(self):
        keys = [golden.key(case) for case in CASES]
        self.assertEqual(keys, sorted(keys))
        for one, next_one in zip(keys, keys[1:]):
            self.assertNotEqual(one, next_one)


class Deviations(golden.FabricCases):
    def test_cases(self):
        for case in CASES:
            if case["fabric"] != self.fabric_name or case.get("rmpp", True) != self.rmpp:
                continue
            with self.subTest(case["cmd"], stdin=case.get("stdin"), lmc=case.get("lmc"), prep=case.get("prep")):
                done = golden.run(self.fabric, case)
                self.assertEqual(done.returncode, case["rc"], done.stderr)
                self.assertEqual(golden.normalised(done.stdout), golden.normalised(case["out"]))


class Net(Deviations):
    fabric_name = "net"


class Fattree(Deviations):
    fabric_name = "fattree"


class NetWithoutRmpp(Net):
    rmpp = False


class FattreeWithoutRmpp(Fattree):
    rmpp = False


del Deviations


def update():
    cases = sorted(CASES, key=golden.key)
    for name, rmpp in itertools.product(golden.HOSTS, (True, False)):
        with golden.open_fabric(name, rmpp=rmpp) as fabric:
            for case in cases:
                if case["fabric"] == name and case.get("rmpp", True) == rmpp:
                    done = golden.run(fabric, case)
                    case["rc"], case["out"] = done.returncode, done.stdout
    with open(FILE, "w", encoding="utf-8") as out:
        for case in cases:
            out.write(json.dumps(case, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    if simfabric.missing():
        print("skipped, not installed: " + ", ".join(simfabric.missing()))
        sys.exit(77)
    if "--update" in sys.argv:
        update()
    else:
        unittest.main(verbosity=2)
