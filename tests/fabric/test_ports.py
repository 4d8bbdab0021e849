# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Ports that are shown and set, in both dialects, beside Debian's tools on the same fabric."""
import json
import re
import shlex

import case
from bounds import settle

# Command lines that change a port in the same way each time they are run: on a link between a leaf and a spine.
SETS = """
-D 0,1 20 speed 1
-D 0,1 20 speed 0
-D 0,1 20 width 1
-D 0,1 20 width 2 speed 1
-D 0,1 20 espeed 1
1 20 vls 3
1 20 mtu 3
-D 0,1 20 arm
-D 0,1 20 active
-D 0,1 20 down
8 1 mkeylease 7
8 1 smlid 7
8 1 mkeyprot 0
-D 0,1 20 disable
-D 0,1 20 on
-D 0,1 20 off
-D 0,1 20 enable
"""


class Sets(case.FabricCase):
    def debian_port(self, lid, port, field):
        listing = self.debian("smpquery", "portinfo", str(lid), str(port)).stdout
        return re.search(rf"^{field}:\.+(.*)$", listing, re.M)[1]

    def test_sets_by_the_legacy_name(self):
        for line in SETS.strip().splitlines():
            words = shlex.split(line)
            with self.subTest(line):
                for _ in range(2):  # from here on each set finds what it makes
                    self.debian("ibportstate", *words)
                for _ in range(3):  # the subnet manager may act between the two
                    theirs, ours = self.answer(self.debian, words), self.answer(self.legacy, words)
                    ours = tuple(settle(his, mine) for his, mine in zip(theirs, ours))
                    if ours == theirs:
                        break
                self.assertEqual(ours, theirs)

    @staticmethod
    def answer(run, words):
        done = run("ibportstate", *words)
        return done.stdout, done.stderr, f"status {done.returncode}"

    def set_and_see(self, words, port, field, value):
        for _ in range(3):  # the subnet manager may write back what it read before
            self.ibtool("ibportstate", *words)
            seen = self.debian_port(1, port, field)
            if seen == value:
                break
        self.assertEqual(seen, value, words)

    def test_debian_sees_what_was_set(self):
        self.set_and_see(["1", "21", "width", "1"], 21, "LinkWidthEnabled", "1X")
        self.set_and_see(["-D", "0,1", "21", "width", "2"], 21, "LinkWidthEnabled", "4X")
        self.set_and_see(["1", "22", "disable"], 22, "PhysLinkState", "Disabled")
        self.assertEqual(self.debian_port(1, 22, "Lid"), "0")
        self.set_and_see(["1", "22", "on"], 22, "PhysLinkState", "Polling")


class Links(case.FabricCase):
    def test_the_peer_is_the_one_that_ibnetdiscover_finds(self):
        fabric = self.ours()
        for link in sorted(map(sorted, fabric.links))[:12]:
            for (guid, port), (_, other) in (link, link[::-1]):
                lid, _ = fabric.lids.get((guid, 0)) or fabric.lids[guid, port]
                for words in ((), ("--sa",)):
                    done = json.loads(self.ibtool("ibportstate", *words, "--json", str(lid), str(port), "query").stdout)
                    self.assertEqual((done["port_num"], done["peer"]["port_num"]), (port, other), (words, link))

    def test_a_dry_run_sets_nothing(self):
        before = self.debian("smpquery", "portinfo", "1", "19").stdout
        self.ibtool("ibportstate", "-n", "1", "19", "disable", "speed", "1")
        self.assertEqual(self.debian("smpquery", "portinfo", "1", "19").stdout, before)


if __name__ == "__main__":
    case.main()
