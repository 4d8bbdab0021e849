# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""ibccquery and ibccconfig beside Debian's: against what ibsim answers, which takes these MADs for SMPs with the same attribute IDs, and
against an agent of ours. What is sent, and agents of switches, are in tests/unit/tools/congestion.cpp."""
import re

import case
import simfabric

PRELOAD = simfabric.built("IBTEST_AGENTS_LIB", "tests/support/ibtest-agents.so")

KEY = "0x1122334455667788"
SWITCH, HOST = "1", "8"


class Alike:
    def alike(self, name, *words, **env):
        """Debian's and ours under that name say the same; returns the text."""
        theirs, ours = (run(name, *words, **env) for run in (self.debian, self.legacy))
        # Debian's alone has lines for a receive that took too long, and for each try.
        debris = r".*( recv failed: |_do_madrpc: retry \d|_do_madrpc: timeout after ).*\n"
        without_pid = lambda text: re.sub(r"\[\d+\]", "[pid]", re.sub(debris, "", text))  # noqa: E731
        self.assertEqual((theirs.returncode, theirs.stdout, without_pid(theirs.stderr)),
                         (ours.returncode, ours.stdout, without_pid(ours.stderr)), words)
        return ours.stdout


class Simulated(Alike, case.FabricCase):
    def test_settings(self):
        """What ibsim says to Debian's program it says to ours.

        Not to CACongestionSetting: it sets P_Keys then, and the host is gone. Nor to SwitchPortCongestionSetting: ibsim takes that for a
        Set of PortInfo whose values the MAD before left in its memory, and before a Set ours asks for the NodeInfo."""
        for words in (["SS", SWITCH, "0x1F", "0x1FFFFFFFFF", "1", "0xF", "8", "0", "2:5", "513"],
                      ["switchcongestionsetting", SWITCH, "3", "abc", "0x", "0x1F", "300", "17", "3:16383", "65537"],
                      ["CK", SWITCH, KEY, "0", "30", "1"],
                      ["CK", HOST, KEY, "0", "30", "1"], ["CT", HOST, "3", "0", "0:1", "1:64", "3:16383", "2:5"]):
            self.alike("ibccconfig", "-e", "-c", KEY, *words)

    def test_queries(self):
        for lid in (SWITCH, HOST):
            for operation in ("CongestionInfo", "congestionkeyinfo", "SS", "SP", "CS", "CongestionControlTable"):
                self.assertNotEqual(self.alike("ibccquery", operation, lid), "")
            self.alike("ibccquery", "SP", lid, "3")
            self.alike("ibccquery", "SP", lid, "99")
            self.alike("ibccquery", "nosuch", lid)

    def test_wrong_words(self):
        for words in (["CK", HOST, "1", "0", "0"], ["CK", HOST, "1", "2", "0", "0"], ["CK", HOST, "1", "0", "65536", "0"],
                      ["CK", HOST, "z", "0", "0", "0"], ["CK", HOST, "0x10000000000000000", "0", "0", "0"], ["SS", HOST, "1"],
                      ["SS", HOST, "1", "0xg", "0", "0", "0", "0", "0:0", "0"],
                      ["SS", HOST, "1", "f" * 65, "0", "0", "0", "0", "0:0", "0"],
                      ["SS", HOST, "1", "0", "0", "0", "0", "0", "0", "0"], ["CS", HOST, "1"], ["CT", HOST, "1"],
                      ["CT", HOST, "63", "0", "0:0"], ["SP", HOST, "1", "1"], ["SP", HOST, "1", "1", "0", "15", "8", "1"],
                      ["SP", SWITCH, "99", "1", "0", "15", "8", "1"], ["nosuch", HOST]):
            self.assertIn("iberror", self.alike("ibccconfig", *words))
        said = self.ibtool("ibccconfig", "CK", HOST, "1", status=2).stderr
        self.assertIn("takes CC_KEY PROTECT_BIT LEASE_PERIOD VIOLATIONS", said)
        self.assertIn("has 4 bits", self.ibtool("ibccconfig", "SS", SWITCH, "1", "0", "0", "16", "0", "0", "0:0", "0", status=2).stderr)

    def test_keys(self):
        self.assertIn("CC_Key:..........................0x0000000000000000", self.alike("ibccquery", "-c", KEY, "CK", SWITCH))
        self.assertNotIn("-K shows it", self.ibtool("ibccquery", "CK", SWITCH).stdout)


class Agent(Alike, case.ServingCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fabric.preload = (*cls.fabric.preload, PRELOAD)

    def agent(self, *key):
        option = ["-c", *key] if key else []
        return self.serve([simfabric.PROGRAMS, "serve-congestion", *key], self.answered("ibccquery", *option, "CongestionInfo"))

    def test_queries(self):
        lid = self.agent()
        for operation in ("CongestionInfo", "CongestionKeyInfo", "CongestionLog", "CACongestionSetting", "CongestionControlTable",
                          "Timestamp"):
            self.assertRegex(self.alike("ibccquery", operation, lid), r"\.\.\.", operation)
        self.assertIn("LogType:.........................2", self.alike("ibccquery", "CL", lid))

    def test_what_was_set_is_told(self):
        lid = self.agent()
        self.alike("ibccconfig", "CS", lid, "1", "0xFFFF", "10", "20", "30", "2")
        self.assertIn("Port_Control:", self.alike("ibccquery", "CS", lid))
        self.alike("ibccconfig", "CT", lid, "3", "0", "0:1", "1:64", "3:16383", "2:5")
        self.assertIn("CCTI_Limit:......................3", self.alike("ibccquery", "CT", lid))

    def test_key(self):
        """Who does not know the key gets no answer."""
        lid = self.agent(KEY)
        self.assertIn("ControlTableCap", self.alike("ibccquery", "-c", KEY, "CI", lid))
        self.alike("ibccquery", "-t", "100", "CI", lid)
        self.alike("ibccquery", "-t", "100", "-c", "1", "CL", lid)


if __name__ == "__main__":
    case.main()
