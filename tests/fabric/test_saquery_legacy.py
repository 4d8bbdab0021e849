# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""saquery by infiniband-diags' name: what it prints and its exit status are those of Debian's saquery, and stderr has what stands for its
lines (../support/bounds.py). The usage text is our own."""
import re

import case
from bounds import stands_for

COMMANDS = """
NR
NR 7
NR 200
NR 0x7
-p
-p --slid 7 --dlid 2
PR --sgid fe80::506b:4b03:10:1 --dgid fe80::506b:4b03:10:1
LR
LR 2/1
LR 2/1 7
-c
CPI
-s
-S
-I
IIR ::1
-g
-m 0xc000
MCMR
MCMR --mlid 0xc000
SL2VL
SL2VL 2/1/2
VLAR
VLAR 7
PKTR 7
GIR
LFTR
LFTR 2/0
MFTR 2
SWIR 2
PIR
PIR 2/1
PIR 7
NR /1
-l
-O
-O 0
--src-to-dst 7:2
--src-to-dst 7
--sgid-to-dgid x
-p --slid 65536
--pkey 0x10000 MCMR
-J 256 MCMR
-M 256 MCMR
-H 255 MCMR
-H 255 -p --slid 7
--sl -1 -p --slid 7
--sl 255 MCMR
-F 256 MCMR
PIR 2/511
PIR 2/1/-1
LFTR 2/65535
--sgid fe80::1 --sgid :: -p --slid 7
-c -p --slid 7
-N -c
-D -N
-L -c
-O -N 7
-O -m 7
-O -m
--nosuch
-h
""".strip().splitlines()


def comparable(text):
    text = re.sub(r"^Usage: saquery .*", "Usage: saquery", text, flags=re.M | re.S)
    lines = [line for line in text.splitlines() if "sim_connect" not in line]
    return re.sub(r"ibwarn: \[\d+\]", "ibwarn: [PID]", "\n".join(lines))


class LegacyCase(case.FabricCase):
    def compare(self, command):
        words = command.split()
        ours, theirs = self.legacy("saquery", *words), self.debian("saquery", *words)
        self.assertEqual(comparable(ours.stdout), comparable(theirs.stdout))
        self.assertTrue(stands_for(comparable(ours.stderr), comparable(theirs.stderr)), ours.stderr)
        self.assertEqual(ours.returncode, theirs.returncode)


class WrongKey(LegacyCase):
    """Debian's program prints memory as records where the simulator does RMPP and opensm refuses a key."""
    rmpp = False

    def test_the_same_as_debian(self):
        self.compare("--smkey 5 NR 2")


class Legacy(LegacyCase):
    def test_the_same_as_debian(self):
        for command in COMMANDS:
            with self.subTest(command):
                self.compare(command)

    def test_names_of_a_site(self):
        path = self.fabric.path("names")
        with open(path, "w", encoding="utf-8") as file:
            file.write('0x506b4b0300100000 "the place of node 7"\n')
        for words in (["NR", "7"], ["-D"], ["-O", "7"]):
            ours = self.legacy("saquery", "--node-name-map", path, *words)
            self.assertIn("the place of node 7", ours.stdout)
            self.assertEqual(ours.stdout, self.debian("saquery", "--node-name-map", path, *words).stdout)


if __name__ == "__main__":
    case.main()
