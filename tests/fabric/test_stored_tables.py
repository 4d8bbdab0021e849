# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Stored tables of the subnet administrator answer queries for what records hold as opensm does: each query is asked twice by
stored-tables, live and of the tables that it has read before. Both answers have the same records in the same order, or the same status."""
import collections
import ipaddress
import os

import case
import simfabric

GOLDEN = os.path.join(case.HERE, "..", "golden")
GROUP, GROUPS = "ff12:401b:ffff::ffff:ffff", ("ff12:1::", "ff12:2::1")
OURS, OTHER, SECOND, SWITCH = "fe80::2:c903:0:1491", "fe80::2:c903:0:14d1", "fe80::2:c903:0:14c2", "fe80::2:c902:40:100"
NOBODY = "fe80::99"
MEMBERS = (("H-0002c903000014d0", OTHER), ("H-0002c903000014e0", "fe80::2:c903:0:14e1"), (None, OURS))


def both_methods(*words, key=0):
    return [f"{key} {method} {' '.join(word for word in words if word)}" for method in ("get", "table")]


class SaCase(case.FabricCase):
    """A fabric whose SA has groups, members, services and subscribers."""
    netfile, lids = os.path.join(GOLDEN, "fattree.net"), os.path.join(GOLDEN, "fattree.guid2lid")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for host, gid in MEMBERS:
            cls.set(host, "SAMCMemberRecord", f"MGID={GROUP}", f"portGID={gid}", "joinState=1")
        for at, (host, gid) in enumerate(MEMBERS):
            for low in range(2):
                cls.set(host, "SAMCMemberRecord", f"MGID=ff12:{at + 1}::{low}", f"portGID={gid}", "joinState=1", "QKey=0x12",
                        "PKey=0xffff", f"SL={low}", "flowLabel=5", "TClass=0")
        cls.set(MEMBERS[1][0], "SAMCMemberRecord", "MGID=ff12:1::", f"portGID={MEMBERS[1][1]}", "joinState=4")
        for at in range(3):
            cls.set(None, "SAServiceRecord", f"serviceID={at + 1}", f"serviceGID={OURS}", "servicePKey=0xffff", f"serviceName=serve {at}",
                    f"serviceData8[0]={at}", f"serviceKey=::{at}")
        for host, trap in ((None, 64), (None, 65), (MEMBERS[0][0], 64)):
            cls.set(host, "MADInformInfo", "subscribe=1", "isGeneric=1", f"trapNumber={trap}", "type=4", "LIDRangeBegin=0xffff",
                    "producerType=4")
    @classmethod
    def set(cls, host, record, *members):
        words = [word for member in members for word in ("-f", member)]
        done = cls.fabric.run([case.IBTOOL, "query", "SubnAdmSet", record, *words], host=host)
        assert done.returncode == 0, done.stderr

    def lid(self, gid):
        """The first LID of the port with that GID."""
        guid = int(ipaddress.ip_address(gid)) & (1 << 64) - 1
        with open(self.lids, encoding="ascii") as lids:
            return next(int(line.split()[1], 16) for line in lids if line.strip() and int(line.split()[0], 16) == guid)


class Stored(SaCase):
    def ask(self, queries, *options):
        """What the program says of the tables, and of each query."""
        done = self.run_ours([simfabric.PROGRAMS, "stored-tables", *options], stdin="".join(query + "\n" for query in queries), timeout=240)
        self.assertEqual("", done.stderr)
        self.assertEqual(0, done.returncode)
        lines = done.stdout.splitlines()
        tables = [line for line in lines if line.startswith(("kept ", "failed "))]
        return tables, lines[len(tables):]

    def compare(self, queries, not_stored=()):
        """All answers are the same; for the reasons `not_stored` the tables have none."""
        _, said = self.ask(queries, "--with-keys")
        self.assertEqual(len(queries), len(said))
        reasons = set()
        for query, line in zip(queries, said):
            if line.startswith("not stored: "):
                reasons.add(line.split(": ", 1)[1])
            else:
                self.assertTrue(line.startswith("same "), f"{query}\n{line}")
        self.assertEqual(set(not_stored), reasons)
        return collections.Counter(said)

    # -- the queries ---------------------------------------------------------------------------------------------------
    def test_ends_of_paths(self):
        ours, other, switch = self.lid(OURS), self.lid(OTHER), self.lid(SWITCH)
        queries = []
        for to in ("", f"DGID={OTHER}", f"DGID={SECOND}", f"DGID={SWITCH}", f"DGID={OURS}", f"DGID={NOBODY}", f"DLID={other}",
                   f"DLID={switch}", "DLID=500", f"DGID={OTHER} DLID={other}"):
            for start in (f"SGID={OURS}", f"SLID={ours}", f"SGID={OURS} SLID={ours}"):
                for more in ("", "reversible=1", "MTU=1", "rate=3"):
                    queries += both_methods("PathRecord", start, to, more)
                queries += [f"0 table PathRecord {start} {to} numbPath={count}".replace("  ", " ") for count in (1, 2, 7, 127)]
        self.compare(queries)

    def test_paths_that_no_table_has(self):
        only = f"Only paths from {OURS} were read."
        for words, why in ((f"SGID={OTHER}", only), (f"SGID={NOBODY}", only), (f"DGID={OTHER}", only), (f"SGID={OTHER} DGID={OURS}", only),
                           ("", only),
                           (f"SGID={OURS} DGID=2001::1", "Paths to other subnets were not read."),
                           (f"SGID={OURS} DGID={GROUP}", "Paths to multicast groups were not read."),
                           (f"SGID={OURS} SL=3", "Paths were read without a service level: what they are on SL 3 is not known."),
                           (f"SGID={OURS} PKey=0x8001", "Paths were read without a P_Key: what they are with P_Key 0x8001 is not known.")):
            self.compare(both_methods("PathRecord", words), {why})

    def test_every_lid(self):
        queries = []
        for lid in range(1, 80):
            for words in (f"NodeRecord LID={lid}", f"PIR endportLID={lid}", f"SwitchInfoRecord LID={lid}", f"LFTR LID={lid}",
                          f"MFTR LID={lid}", f"GIR LID={lid}", f"SMIR LID={lid}", f"LR fromLID={lid}", f"PIR endportLID={lid} portNum=1",
                          f"LFTR LID={lid} blockNum=0", f"LR fromLID={lid} fromPort=1"):
                queries += both_methods(words, key=1)
        said = self.compare(queries)
        self.assertGreater(said["same status 0x0300"], 400)
        self.assertGreater(said["same status 0x0400"], 20)

    def test_capabilities_texts_and_groups(self):
        queries = ["1 table PKTR", "0 table ClassPortInfo", "0 get ClassPortInfo", "0 table PIR", "1 table PIR"]
        for mask in ("0", "0x2", "0x400", "0x2400000", "0x02510868", "0x02510a68", "0xffffffff"):
            for modifier in ("", "@0x80000000"):
                queries.append(f"0 table{modifier} PIR portInfo.capabilityMask={mask}")
        for text in ("leaf~1;~Infiniscale-IV", "leaf-2", "leaf", "node01~HCA-1", "Spine~A", "Spine~A~"):
            queries += both_methods(f"NodeRecord nodeDescription.nodeString={text}")
        for text in ("serve~0", "serve~1", "serve", "serve~11"):
            queries += both_methods(f"ServiceRecord serviceName={text}", key=1)
        queries += both_methods("ServiceRecord serviceKey=::1", key=1)
        for group in ("", *(f"MGID={gid}" for gid in (GROUP, *GROUPS, "ff12::9"))):
            for words in ("", "PKey=0xffff", "SL=0", "SL=1", "flowLabel=5", "MTUSelector=2 MTU=4", "MTUSelector=1 MTU=5",
                          "rateSelector=1 rate=6", "rateSelector=2 rate=3", "MTU=1", "QKey=0x12"):
                queries += both_methods("MCMR", group, words, key=1)
        self.compare(queries)
        self.compare(["0 table MCMR joinState=1"],
                     {"The join states of multicast groups were not read: only those of their members, which takes an SM_Key."})

    def test_without_keys(self):
        """Keys are zero; a query by a key has no answer then."""
        _, said = self.ask(["1 table ServiceRecord serviceKey=::1", "0 table ServiceRecord", "0 table PIR"])
        self.assertEqual("not stored: The keys of ServiceRecords were not read.", said[0])
        self.assertEqual("same 3", said[1])
        self.assertTrue(said[2].startswith("same "))


if __name__ == "__main__":
    case.main()
