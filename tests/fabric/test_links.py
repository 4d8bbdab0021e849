# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""iblinkinfo, the lists of nodes and ibnetdiscover by infiniband-diags' names, beside Debian's programs, on odd fabrics: every generation
of speed, chassis, switches of 65 and 81 ports, routers, self-looped cables, names of any kind; without a subnet manager, with several
LIDs a port, and with ports that are down, disabled or silent. Text and exit status are the same but for the date."""
import os
import re
import unittest

import case

BESIDE = os.path.join(case.HERE, "..", "beside")
LINES = """
iblinkinfo
iblinkinfo -l
iblinkinfo -p
iblinkinfo -d
iblinkinfo -l -d
iblinkinfo --switches-only -l
iblinkinfo --cas-only
iblinkinfo -D 0
iblinkinfo -D 0,1
iblinkinfo -l -D 0,1
iblinkinfo -D 0,1 -a
iblinkinfo -D 0,1 -a -n 2
iblinkinfo -n 1
iblinkinfo -n 2
ibnetdiscover
ibnetdiscover -p
ibnetdiscover -l
ibnetdiscover -g
ibnetdiscover -f
ibnetdiscover -m
ibnetdiscover -s
ibhosts
ibswitches
ibrouters
ibnodes -C ibsim0 -P 1
""".split("\n")[1:-1]


def comparable(text):
    return re.sub(r"generated on .*", "generated on DATE", text)


class Beside(case.FabricCase):
    net = None  # the name of a file of ../beside, for the classes below
    differs = ()  # lines that are not compared: manual pages tell why

    @classmethod
    def setUpClass(cls):
        if cls is Beside:
            raise unittest.SkipTest("no fabric of its own")
        if cls.net:
            cls.netfile, cls.lids = os.path.join(BESIDE, cls.net + ".net"), None
        super().setUpClass()

    def test_lines(self):
        for line in LINES:
            if line in self.differs:
                continue
            with self.subTest(line):
                name, *words = line.split()
                ours, theirs = self.legacy(name, *words), self.debian(name, *words)
                self.assertEqual(comparable(ours.stdout), comparable(theirs.stdout))
                self.assertEqual(ours.returncode, theirs.returncode)


class Speeds(Beside):
    net = "speeds"


class Fdr10(Beside):
    net = "fdr10"


class Large(Beside):
    net = "large"


class Chassis(Beside):
    net = "chassis"
    differs = ("ibnetdiscover -g",)  # a router board


class Names(Beside):
    net = "names"
    differs = ("ibhosts", "ibswitches", "ibrouters", "ibnodes -C ibsim0 -P 1")  # backslashes, and names that look like complaints


class NoManager(Beside):
    sm = False


class SeveralLids(Beside):
    lids, lmc = None, 2


class PortsDown(Beside):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        switches = [guid for guid, (kind, _, _) in cls.fabric_nodes().items() if kind == "Switch"]
        links = [sorted(link) for link in cls.fabric_links()]
        between = [link for link in links if all(guid in switches for guid, _ in link)]
        hosts = [link for link in links if link not in between and cls.fabric.host not in str(link)]
        (guid, port), _ = between[0]
        cls.fabric.console(f'Unlink "S-{guid:016x}"[{port}]')
        for (guid, port), _ in hosts[-2:]:
            cls.fabric.run(["ibportstate", "-G", f"0x{guid:x}", str(port), "disable"])

    @classmethod
    def fabric_nodes(cls):
        with open(cls.netfile, encoding="ascii") as net:
            return case.read_topology(net.read()).nodes

    @classmethod
    def fabric_links(cls):
        with open(cls.netfile, encoding="ascii") as net:
            return case.read_topology(net.read()).links


class Silent(Beside):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        with open(cls.netfile, encoding="ascii") as net:
            hosts = [guid for guid, (kind, _, _) in case.read_topology(net.read()).nodes.items() if kind == "Ca"]
        cls.fabric.console(f'Error "H-{hosts[-1]:016x}"[1] 100')

    def test_how_it_is_told(self):
        ours, theirs = self.legacy("iblinkinfo"), self.debian("iblinkinfo")
        self.assertEqual(ours.stderr, theirs.stderr)
        self.assertRegex(ours.stderr, r"^\./libibnetdisc/query_smp\.c:186; umad \(DR path slid 0; dlid 0; 0,[0-9,]+ Attr 0x11:0\)")


if __name__ == "__main__":
    case.main()
