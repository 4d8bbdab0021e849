# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""ibccquery and ibccconfig beside Debian's, against agents for congestion control of ours."""
import json
import re

import case
import simfabric

SERVER = simfabric.built("IBTEST_CC", "tests/fabric/serve-cc")
QUERIES = ["ClassPortInfo", "CongestionInfo", "congestionkeyinfo", "CL", "SwitchCongestionSetting", "CACongestionSetting",
           "CongestionControlTable", "ti"]
KEY = "0x1122334455667788"


class Congestion(case.ServingCase):
    def agent(self, kind):
        return self.serve(["serve-cc", kind], SERVER, self.answered("ibccquery", "CI"))

    def alike(self, name, *words, **env):
        """Debian's and ours under that name say the same; returns the text."""
        theirs, ours = (run(name, *words, **env) for run in (self.debian, self.legacy))
        without_pid = lambda text: re.sub(r"\[\d+\]", "[pid]", text)  # noqa: E731
        self.assertEqual((theirs.returncode, theirs.stdout, without_pid(theirs.stderr)),
                         (ours.returncode, ours.stdout, without_pid(ours.stderr)), words)
        return ours.stdout

    def data(self, attribute, lid, block=0):
        """An attribute as the agent holds it."""
        return json.loads(self.ibtool("query", "--json", "CCGet", attribute, lid, "-a", str(block)).stdout)["data"]

    def test_queries(self):
        for kind in ("switch", "ca"):
            lid = self.agent(kind)
            for operation in QUERIES:
                self.assertGreater(len(self.alike("ibccquery", operation, lid)), 30, operation)
            self.alike("ibccquery", "SP", lid)  # it is no switch
            self.alike("ibccquery", "SP", lid, "3")
            self.alike("ibccquery", "nosuch", lid)
            log = json.loads(self.ibtool("ibccquery", "--json", "CL", lid).stdout)
            self.assertEqual((log["attribute"], log["data"]["log_type"]),
                             ("CCCongestionLogSwitch", 1) if kind == "switch" else ("CCCongestionLogCA", 2))
            table = json.loads(self.ibtool("ibccquery", "--json", "CT", lid).stdout)
            self.assertEqual(len(table["records"]), 3)  # entries 0 to 130

    def test_settings(self):
        """What Debian's program sets, ours sets too."""
        lid = self.agent("ca")
        for attribute, block, words in (
                ("CCSwitchCongestionSetting", 0, ["SS", lid, "0x1F", "0x1FFFFFFFFF", "1", "0xF", "8", "0", "2:5", "513"]),
                ("CCSwitchCongestionSetting", 0, ["SS", lid, "3", "abc", "0x", "0x1F", "300", "17", "3:16383", "65537"]),
                ("CCCACongestionSetting", 0, ["CS", lid, "1", "0x8003", "150", "1", "7", "9"]),
                ("CCCongestionControlTable", 1, ["CT", lid, "65", "1", "1:64", "3:65"]),
                ("CCCongestionControlTable", 0, ["congestioncontroltable", lid, "0", "0", "1:1"])):
            held = []
            for run in (self.debian, self.legacy):
                self.legacy("ibccconfig", "SS", lid, "0", "0", "0", "0", "0", "0", "0:0", "0")
                self.legacy("ibccconfig", "CS", lid, "0", "0xffff", "1", "1", "1", "1")
                self.legacy("ibccconfig", "CT", lid, "0", str(block), "3:1")
                done = run("ibccconfig", *words)
                self.assertEqual((done.returncode, done.stdout), (0, ""), words)
                held.append(self.data(attribute, lid, block))
            self.assertEqual(held[0], held[1], words)

    def test_wrong_words(self):
        lid = self.agent("ca")
        for words in (["CK", lid, "1", "0", "0"], ["CK", lid, "1", "2", "0", "0"], ["CK", lid, "1", "0", "65536", "0"],
                      ["CK", lid, "z", "0", "0", "0"], ["CK", lid, "0x10000000000000000", "0", "0", "0"], ["SS", lid, "1"],
                      ["SS", lid, "1", "0xg", "0", "0", "0", "0", "0:0", "0"], ["SS", lid, "1", "f" * 65, "0", "0", "0", "0", "0:0", "0"],
                      ["SS", lid, "1", "0", "0", "0", "0", "0", "0", "0"], ["CS", lid, "1"], ["CT", lid, "1"], ["CT", lid, "63", "0", "0:0"],
                      ["SP", lid, "1", "1"], ["SP", lid, "1", "1", "0", "15", "8", "1"], ["nosuch", lid]):
            self.assertIn("iberror", self.alike("ibccconfig", *words))
        self.assertIn("takes CC_KEY PROTECT_BIT LEASE_PERIOD VIOLATIONS", self.ibtool("ibccconfig", "CK", lid, "1", status=2).stderr)
        self.assertIn("has 4 bits", self.ibtool("ibccconfig", "SS", lid, "1", "0", "0", "16", "0", "0", "0:0", "0", status=2).stderr)

    def test_keys(self):
        lid = self.agent("ca")
        self.alike("ibccconfig", "CK", lid, KEY, "1", "30", "1")
        self.assertIn(KEY, self.alike("ibccquery", "-c", KEY, "CK", lid))
        self.assertIn("query failed", self.alike("ibccquery", "-t", "50", "CK", lid))
        self.assertIn("query failed", self.alike("ibccquery", "-t", "50", "-c", "5", "CK", lid))
        shown = self.ibtool("ibccquery", "-c", KEY, "CK", lid).stdout
        self.assertNotIn(KEY, shown)
        self.assertIn("-K shows it", shown)
        self.assertIn(KEY, self.ibtool("ibccquery", "-K", "-c", KEY, "CK", lid).stdout)
        self.assertIsNone(json.loads(self.ibtool("ibccquery", "--json", "-c", KEY, "CK", lid).stdout)["data"]["cc_key"])
        self.ibtool("ibccconfig", "-c", KEY, "CK", lid, "0", "0", "0", "1")
        self.alike("ibccquery", "CK", lid)

    def test_nobody_serves(self):
        lid = self.lid_of(self.hosts()[-1])
        for operation in ("CP", "CK", "CT"):
            self.alike("ibccquery", "-t", "50", operation, lid)
        self.assertEqual(self.alike("ibccquery", "CI"), "")  # no address


if __name__ == "__main__":
    case.main()
