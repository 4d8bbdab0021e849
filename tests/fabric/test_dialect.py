# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Called by a legacy name, the program answers as Debian's does on the same fabric: text and exit status, byte for byte
but for the date and the process id."""
import os
import re

import case



def comparable(text):
    text = re.sub(r"generated on .*", "generated on DATE", text)
    return re.sub(r"\[\d+\]", "[PID]", text) if "ibwarn" in text else text


class Dialect(case.FabricCase):
    def same(self, name, *words, stderr=False):
        with self.subTest(f"{name} {' '.join(words)}"):
            ours, theirs = self.legacy(name, *words), self.debian(name, *words)
            self.assertEqual(comparable(ours.stdout), comparable(theirs.stdout))
            self.assertEqual(ours.returncode, theirs.returncode)
            if stderr:
                self.assertEqual(comparable(ours.stderr), comparable(theirs.stderr))

    def test_through_a_link_as_it_is_installed(self):
        link = self.fabric.path("ibstat")
        os.symlink(os.path.abspath(case.IBTOOL), link)
        self.assertEqual(self.run_ours([link, "-l"]).stdout, self.debian("ibstat", "-l").stdout)

    def test_ibnetdiscover(self):
        for words in ((), ("-l",), ("-H",), ("-S",), ("-R",), ("-p",), ("-f",), ("-o", "8"), ("--hops",), ("--max_hops",), ("-s",)):
            self.same("ibnetdiscover", *words)

    def test_ibstat(self):
        for words in ((), ("-l",), ("-s",), ("-p",), ("ibsim0",), ("ibsim0", "1"), ("nosuch",), ("-V",)):
            self.same("ibstat", *words)

    def test_ibaddr(self):
        for words in ((), ("-g",), ("-l",), ("-L",), ("7",), ("-g", "7"), ("-D", "0,1"), ("999",)):
            self.same("ibaddr", *words)

    def test_smpquery_by_lid(self):
        for op in ("nodeinfo", "nodedesc", "portinfo", "switchinfo", "pkeys", "sl2vl", "vlarb", "guids"):
            for lid in ("1", "7", "22"):
                self.same("smpquery", op, lid)

    def test_smpquery_in_other_ways(self):
        self.same("smpquery", "-D", "nodeinfo", "0,1,19")
        self.same("smpquery", "portinfo", "1", "19")
        self.same("smpquery", "-c", "nodeinfo", "7", "0,1")
        self.same("smpquery", "nodeinfo", "999")
        self.same("smpquery", "nosuchop", "1")
        self.same("smpquery")


if __name__ == "__main__":
    case.main()
