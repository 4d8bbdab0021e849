# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the SA told, from a snapshot: saquery, query, --sa and the path of ibtracert print with --from FILE what they print live, byte
for byte, with the same exit status, where opensm does what the component mask says (ibtool-saquery(1), DIFFERENCES). Only the number of
MADs that a subnet manager has sent so far changes, and the process in warnings of infiniband-diags."""
import os
import re
import stat
import subprocess

import case
from test_stored_tables import GOLDEN, GROUP, GROUPS, NOBODY, OTHER, OURS, SECOND, SWITCH, SaCase

RECORDS = ("CPI", "NR", "PIR", "SWI", "SMInfo", "LR", "MCMR", "SR", "IIR", "GIR", "LFTR", "MFTR", "SL2VL", "VLAR", "PR")
DIAGS_RECORDS = ("CPI", "NR", "PIR", "SWIR", "SMIR", "LR", "MCMR", "SR", "IIR", "GIR", "LFTR", "MFTR", "SL2VL", "VLAR")


class FromSnapshot(SaCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.file = cls.fabric.path("sa.snapshot")
        done = cls.fabric.run([case.IBTOOL, "snapshot", cls.file, "--only", "sa", "-K"])
        assert done.returncode == 0, done.stdout + done.stderr

    @staticmethod
    def steady(text):
        text = re.sub(r"^ibwarn: \[\d+\]", "ibwarn:", text, flags=re.M)
        return re.sub(r"(act_?count\W*[. ]*)\d+|(\"act_count\": )\d+", r"\1\2N", text, flags=re.I)

    def same(self, *lines):
        """Each line of words does the same with the file as live."""
        for line in lines:
            with self.subTest(line):
                words = [word.replace("~", " ") for word in line.split()]
                live = self.run_ours([case.IBTOOL, *words])
                stored = self.run_ours([case.IBTOOL, words[0], "--from", self.file, *words[1:]])
                self.assertEqual((live.returncode, self.steady(live.stdout), self.steady(live.stderr)),
                                 (stored.returncode, self.steady(stored.stdout), self.steady(stored.stderr)))

    def same_as_diags(self, *lines):
        for line in lines:
            with self.subTest("diags: " + line):
                words = [word.replace("~", " ") for word in line.split()]
                live = self.legacy("saquery", *words)
                stored = self.legacy("saquery", *words, IBTOOL_FROM=self.file)
                self.assertEqual((live.returncode, self.steady(live.stdout), self.steady(live.stderr)),
                                 (stored.returncode, self.steady(stored.stdout), self.steady(stored.stderr)))

    def test_the_file_is_private(self):
        self.assertEqual(0o600, stat.S_IMODE(os.stat(self.file).st_mode))

    def test_every_record(self):
        self.same(*(f"saquery {record}" for record in RECORDS))
        self.same(*(f"saquery {record} --json" for record in RECORDS))
        self.same(*(f"saquery {record} --smkey 1" for record in (*RECORDS, "PKTR")), "saquery PKTR", "saquery", "saquery -D", "saquery -s")

    def test_records_by_address(self):
        lids = [self.lid(gid) for gid in (OURS, OTHER, SECOND, SWITCH)]
        for lid in (*lids, 500):
            for record in ("NR", "PIR", "SWIR", "SMIR", "LR", "LFTR", "MFTR", "SL2VL", "VLAR", "GIR"):
                self.same(f"saquery {record} {lid}")
            self.same(f"saquery PIR {lid}/1", f"saquery LR {lid}/1", f"saquery LFTR {lid}/0", f"saquery GIR {lid}/0", f"saquery -O {lid}")
        switch = lids[-1]
        self.same(f"saquery VLAR {switch}/1/1", f"saquery PKTR {switch}/1/0 --smkey 1", f"saquery LR / {lids[0]}")
        self.same("saquery NR nodeInfo.nodeType=2", "saquery -l leaf-2", "saquery -L nobody", "saquery -G node01~HCA-1",
                  "saquery NR leaf-2",
                  "saquery PIR portInfo.portState=4", "saquery LR fromPort=1", "saquery NR nodeInfo.numPorts=9")

    def test_paths(self):
        for to in (OTHER, SWITCH, OURS, NOBODY):
            self.same(f"saquery PR DGID={to}", f"saquery -p --dgid {to} --sgid {OURS}", f"saquery PR DGID={to} rate=7 --json")
        self.same(f"saquery -p --slid {self.lid(OURS)} --dlid {self.lid(SWITCH)}",
                  f"saquery --src-to-dst {self.lid(OURS)}:{self.lid(OTHER)}", "saquery -p --numb-path 4")
        done = self.ibtool("saquery", "--from", self.file, "PR", f"SGID={OTHER}", status=3)
        self.assertEqual("", done.stdout)
        self.assertIn(f"Only paths from {OURS} were read.", done.stderr)

    def test_groups(self):
        for group in (GROUP, *GROUPS, "ff12::9"):
            for key in ("", " --smkey 1"):
                self.same(f"saquery MCMR MGID={group}{key}", f"saquery MCMR MGID={group} portGID={OTHER}{key}",
                          f"saquery -m --mgid {group} --mtu 4{key}")
        self.same("saquery -g", "saquery -m", "saquery -m --smkey 1", "saquery MCMR PKey=0xffff")

    def test_attributes_by_sa(self):
        switch, ours = self.lid(SWITCH), self.lid(OURS)
        self.same(f"smpquery NI {switch} --sa", f"smpquery PI {switch} 1 --sa", f"smpquery ND {ours} --sa", f"smpquery SI {switch} --sa",
                  f"smpquery PI {ours} --sa", f"query SubnAdmGet SANodeRecord -f LID={ours}",
                  f"query SubnAdmGetTable SANodeRecord -f LID={ours}", "query SubnAdmGet MADClassPortInfo")

    def test_as_infiniband_diags(self):
        lid, switch = self.lid(OTHER), self.lid(SWITCH)
        self.same_as_diags(*DIAGS_RECORDS, "", "-D", "-N", "-c", "-S", "-I", "-x", "-g", "-m", "-s", f"-O {lid}",
                           f"-U {0x2c903000014d1:#x}", "-L leaf-2", "-l leaf-2", "-G leaf-2", "-L nobody",
                           f"NR {switch}", f"PIR {switch}/1", f"LR {switch}/1",
                           f"SL2VL {switch}/1/1", f"VLAR {switch}/1/1", f"LFTR {switch}/0", f"-p --slid {self.lid(OURS)} --dlid {lid}",
                           f"-p --sgid {OURS} --dgid {OTHER}", f"PKTR {lid}/1/0 --smkey 1", "-m --smkey 1", f"--mgid {GROUP} MCMR",
                           "NR 500", f"--src-to-dst {self.lid(OURS)}:{lid}", "ZZ")

    def test_what_was_not_read(self):
        """Paths between other ports, as infiniband-diags asks for them; keys without -K."""
        done = self.legacy("saquery", "-p", IBTOOL_FROM=self.file)
        self.assertEqual("", done.stdout)
        self.assertIn(f"Only paths from {OURS} were read.", done.stderr)
        file = self.fabric.path("without_keys.snapshot")
        self.ibtool("snapshot", file, "--only", "sa")
        done = self.ibtool("saquery", "--from", file, "SR", "serviceKey=::1", status=3)
        self.assertIn("The keys of ServiceRecords were not read.", done.stderr)
        self.assertEqual(3, self.ibtool("saquery", "--from", file, "-K", "SR").stdout.count("ServiceKey...............::\n"))

    def test_no_mad_is_sent(self):
        """The file needs no fabric: neither ibsim nor a device."""
        live = self.ibtool("saquery", "NR").stdout
        env = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "SIM_HOST", "IBSIM_SOCKNAME")}
        done = subprocess.run([case.IBTOOL, "saquery", "--from", self.file, "NR"], env=env, capture_output=True, text=True, check=False)
        self.assertEqual((0, live, ""), (done.returncode, done.stdout, done.stderr))


class SeveralLids(FromSnapshot):
    lids, lmc = os.path.join(GOLDEN, "fattree.lmc2.guid2lid"), 2


if __name__ == "__main__":
    case.main()
