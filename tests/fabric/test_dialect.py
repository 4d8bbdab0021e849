# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Called by a legacy name, the program answers as Debian's does on the same fabric: text and exit status, byte for byte
but for what differs from run to run, and stderr by what stands for it (../support/bounds.py)."""
import os
import re
import shlex
import subprocess

import case
import simfabric
from bounds import settle, stands_for

PACKETS = 2000  # the second program that asks finds counted what the first has sent


def comparable(text):
    return re.sub(r"sim_connect: attached as client \d+", "sim_connect: attached as client N", text)


# Command lines whose stderr must agree too: what getopt says, usage texts, warnings.
WITH_STDERR = """
ibstat -h
ibstat --foo
ibstat --p ibsim0
ibstat ibsim0 2
ibstat nosuch
ibstat ibsim0 -- -1
ibaddr -h
ibaddr --lid
ibaddr -K
ibaddr -l -L
ibaddr -g -L 2
ibaddr 2 99
ibaddr -e 2 99
ibaddr -P 1
ibaddr -P 2
ibaddr -C foo
ibaddr 0xc000
ibaddr -D ''
smpquery
smpquery -h
smpquery -V
smpquery zz
smpquery --ver
smpquery --Ca
smpquery --show=3 NI 1
smpquery -Z
smpquery PI 2 -1
smpquery -t 0 NI 1
smpquery -e NI 200
smpquery -t 50 -e NI 200
smpquery -e PI 2 99
smpquery -C foo NI 1
smpquery -P 3 NI 1
smpquery -C ibsim0 -P 1 NI 1
smpquery -K PI 1 1
smpquery -x PI 1 1
smpquery -D NI 0,1x
smpquery -D NI ''
smpquery -G NI 0x77
smpquery -G NI 0
smpquery -s zz -G NI 1
smpquery -DLG NI 0xb8599f0300a00000
smpquery -G -D NI 0,1
smpquery -c -D NI 0,1
smpquery NI -- -3
smpquery NI 70000
smpquery -z /nonexistent NI 1
smpquery --node-name-map /nonexistent ND 1
smpquery PIE 1 1
smpquery MEPI 1 1
smpquery PI 0x2 0x1
smpquery GI 1 x
smpquery SL2VL 1 2
smpquery SL2VL 1 99
smpquery PKeys 1 99
smpquery VLArb 1 99
smpquery SI 200
ibportstate
ibportstate 1
ibportstate -h
ibportstate -V
ibportstate -D 0,1 19
ibportstate -D 0, 1
ibportstate -D 0,1 18 query
ibportstate 1 99
ibportstate -e 1 99
ibportstate 200 1
ibportstate 1 -1
ibportstate 1 19 speed
ibportstate 1 19 speed 16
ibportstate 1 19 espeed 32
ibportstate 1 19 fdr10 2
ibportstate 1 19 width 32
ibportstate 1 19 vls 0
ibportstate 1 19 mtu 6
ibportstate 1 19 lid 0
ibportstate 1 19 smlid 0xc000
ibportstate 1 19 lmc 8
ibportstate 1 19 mkeylease 65536
ibportstate 1 19 mkeyprot 4
ibportstate 1 19 mkeyprot 1
ibportstate 1 19 query down
ibportstate 1 19 on
ibportstate -G 0x77 2
ibportstate -G 0xb8599f0300a00000 18
sminfo
sminfo 7
sminfo -D 0
sminfo -D 0,1
sminfo -e 8
sminfo -G 0x506b4b0300100001
sminfo -G 0x77
sminfo -h
sminfo -V
sminfo -s
sminfo -s 3 -p 5 7 0
sminfo -a 7 7
sminfo 0
sminfo -C foo
sminfo 70000
smpdump
smpdump -h
smpdump -V
smpdump 1
smpdump 1 0x11
smpdump 1 0x15 1
smpdump 1 0x15 99
smpdump -s 1 0x10
smpdump -D -s 0,1 16
smpdump -L -t 50 1 0x11
smpdump -D '' 0x11
smpdump -G 1 0x11
smpdump -C foo 1 0x11
smpdump -P 7 1 0x11
vendstat
vendstat -h
vendstat -V
vendstat 1
vendstat -D 1
vendstat -c 1 1
vendstat -R x 1
vendstat -N 70000
vendstat -C foo -N 1
vendstat -G -N 0x77
"""

def before_usage(text):
    """What stands before a usage text."""
    return text.partition("\nUsage: ")[0]


class Dialect(case.FabricCase):
    def assert_same(self, ours, theirs):
        """Fails unless our text is Debian's, but for what differs from run to run."""
        ours, theirs = comparable(ours), comparable(theirs)
        self.assertEqual(settle(theirs, ours, PACKETS), theirs)

    def same(self, name, *words, stderr=False):
        with self.subTest(f"{name} {' '.join(words)}"):
            ours, theirs = self.legacy(name, *words), self.debian(name, *words)
            self.assert_same(ours.stdout, theirs.stdout)
            self.assertEqual(ours.returncode, theirs.returncode)
            if stderr:  # usage texts are our own
                now, then = (before_usage(comparable(done.stderr)) for done in (ours, theirs))
                now = settle(then, now)
                if not stands_for(now, then):
                    self.assertEqual(now, then)
                self.assertEqual("\nUsage: " in ours.stderr, "\nUsage: " in theirs.stderr)

    def test_through_a_link_as_it_is_installed(self):
        link = self.fabric.path("ibstat")
        os.symlink(os.path.abspath(case.IBTOOL), link)
        self.assertEqual(self.run_ours([link, "-l"]).stdout, self.debian("ibstat", "-l").stdout)

    def test_streams(self):
        for line in WITH_STDERR.strip().splitlines():
            self.same(*shlex.split(line), stderr=True)

    def test_node_name_maps(self):
        for name, text in (("good", '0xb8599f0300a00000 "rack 1"\n'), ("bad", "0xb8599f0300a00000 a\nno guid\n")):
            with open(self.fabric.path(name), "w", encoding="utf-8") as file:
                file.write(text)
            self.same("smpquery", "--node-name-map", self.fabric.path(name), "ND", "1", stderr=True)

    def test_ibnetdiscover(self):
        for words in ((), ("-l",), ("-H",), ("-S",), ("-R",), ("-p",), ("-f",), ("-o", "8"), ("--hops",), ("--max_hops",), ("-s",)):
            self.same("ibnetdiscover", *words)

    def test_ibstat(self):
        for words in ((), ("-l",), ("-s",), ("-p",), ("ibsim0",), ("ibsim0", "1"), ("nosuch",), ("-V",)):
            self.same("ibstat", *words)

    def test_ibstatus(self):
        # Debian's is a shell script, which does not see the simulator's sysfs: both read one made for the purpose.
        root = self.fabric.path("sysfs")
        attributes = {"gids/0": "fe80:0000:0000:0000:0002:c903:0000:1491", "lid": "0x1f", "sm_lid": "0x1", "state": "4: ACTIVE",
                      "phys_state": "5: LinkUp", "rate": "40 Gb/sec (4X QDR)"}
        for port in "mlx5_2/ports/1", "mlx5_2/ports/10", "mlx5_2/ports/2", "mlx5_10/ports/1":
            directory = os.path.join(root, "class/infiniband", port)
            os.makedirs(os.path.join(directory, "gids"))
            for name, text in attributes.items():
                if (port, name) != ("mlx5_2/ports/10", "rate"):
                    with open(os.path.join(directory, name), "w", encoding="ascii") as file:
                        file.write(text + "\n")
        with open(os.path.join(root, "class/infiniband/mlx5_10/ports/1/link_layer"), "w", encoding="ascii") as file:
            file.write("Ethernet\n")
        with open(simfabric.find_program("ibstatus"), encoding="utf-8") as file:
            script = file.read().replace("/sys/class/infiniband", f"{root}/class/infiniband")
        theirs_file = self.fabric.path("ibstatus")
        with open(theirs_file, "w", encoding="utf-8") as file:
            file.write(script)
        for words in ([], ["mlx5_2"], ["mlx5_2:2"], ["mlx5_10:1", "mlx5_2:1"], ["mlx5_2:9"], ["mlx5_2:"], ["mlx5_2", "nosuch", "mlx5_10"],
                      ["nosuch:1"], [""], ["mlx5_10", "", "nosuch"]):
            with self.subTest(words):
                theirs = subprocess.run(["sh", theirs_file, *words], capture_output=True, encoding="utf-8", check=False)
                ours = self.legacy("ibstatus", *words, SYSFS_PATH=root)
                self.assertEqual((ours.stdout, ours.returncode), (theirs.stdout, theirs.returncode))
        empty = self.legacy("ibstatus", SYSFS_PATH=self.fabric.path("nosuch"))
        self.assertEqual((empty.stdout, empty.returncode), ("Fatal error:  No devices\n", 255))
        self.assertIn("Infiniband device 'ibsim0' port 1 status:\n", self.legacy("ibstatus").stdout)

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
