# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""iblinkinfo, the lists of nodes and ibnetdiscover by infiniband-diags' names, beside Debian's programs: without a subnet manager, with
several LIDs a port, and with ports that are down, disabled or silent. Text and exit status are the same but for the date. ../beside does
this on fabrics of all sorts."""
import re

import case

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


class Beside:
    """What is compared; each class below has a fabric for it."""
    def test_lines(self):
        for line in LINES:
            with self.subTest(line):
                name, *words = line.split()
                ours, theirs = self.legacy(name, *words), self.debian(name, *words)
                self.assertEqual(comparable(ours.stdout), comparable(theirs.stdout))
                self.assertEqual(ours.returncode, theirs.returncode)


class NoManager(Beside, case.FabricCase):
    sm = False


class SeveralLids(Beside, case.FabricCase):
    lids, lmc = None, 2


class PortsDown(Beside, case.FabricCase):
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


class Silent(Beside, case.FabricCase):
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
