# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Whole tables from opensm: RMPP between its preload and our own engine, and with Debian's programs on the same preload.
Without that preload a table that does not come whole is an error to a program on the library, and saquery has it in parts."""
import json
import os
import re
import unittest

import case
import simfabric

TABLES = simfabric.built("IBTEST_TABLES", "tests/fabric/fabric-tables")
SA = simfabric.built("IBTEST_SA", "tests/fabric/serve-sa")


class Tables(case.FabricCase):
    netfile, lids = case.CLUSTER, case.CLUSTER_LIDS

    def ask(self, **env):
        """What the program says, by its first words; of tables (count, whole) or why not."""
        done = self.run_ours([TABLES], **env)
        self.assertEqual("", done.stderr)
        self.assertEqual(0, done.returncode)
        return {words[0]: tuple(words[1:]) for words in map(str.split, done.stdout.splitlines())}

    def ports_and_links(self):
        """End ports (a switch has one) and linked ports of the network file."""
        ends, links, switch = 0, 0, False
        with open(self.netfile, encoding="latin-1") as net:
            for line in net:
                head = re.match(r"(Switch|Hca|Ca|Rt)\b", line)
                if head:
                    switch = head[1] == "Switch"
                    ends += switch
                elif re.match(r"\[\d+\]", line):
                    links += 1
                    ends += not switch
        return ends, links


class Whole(Tables):
    def test_ours(self):
        ends, links = self.ports_and_links()
        said = self.ask()
        self.assertEqual((str(ends), "whole"), said["nodes"])
        self.assertEqual((str(links), "whole"), said["links"])
        self.assertEqual((str(ends * ends), "whole"), said["paths"])
        self.assertEqual(("1", "whole"), said["mine"])
        self.assertEqual(("0", "whole"), said["nobody"])
        self.assertEqual("0", said["sent"][-1], "strays")

    def test_ours_where_acks_get_lost(self):
        ends, _ = self.ports_and_links()
        said = self.ask(preload=[case.DELAY], IBTEST_DROP=0.1)
        self.assertEqual((str(ends * ends), "whole"), said["paths"])
        self.assertGreater(int(said["sent"][2]), 24, "ACKs: as many as without loss")

    def test_debians(self):
        ends, links = self.ports_and_links()
        for option, record, count in (("-N", "Node", ends), ("-x", "Link", links), ("-p", "Path", ends * ends)):
            done = self.debian("saquery", option)
            self.assertEqual(count, done.stdout.count(f"{record}Record dump"), option + done.stderr)


class OurSa(case.ServingCase):
    """An SA of ours at another port: requests and answers in segments, and our own protocol on both sides."""

    def test_requests_and_answers_in_segments(self):
        lid = self.serve(["serve-sa"], SA, self.answered("query", "-t", "100", "-f", "LID=3", "SubnAdmGet", "SANodeRecord"))
        ends = [word for i in range(1, 61) for word in ("-f", f"DGID=fe80::{i:x}")]
        for env in ({}, {"preload": [case.DELAY], "IBTEST_DROP": 0.05}):
            done = self.ibtool("query", "SubnAdmGetMulti", "SAMultiPathRecord", lid, "--json", "-t", "300", "--retries", "9",
                               "-f", "numbPath=100", "-f", "SGID=fe80::abc", *ends, **env)
            records = json.loads(done.stdout)["records"]
            self.assertEqual([record["dgid"] for record in records], [f"fe80::{i:x}" for i in range(1, 61)])
            self.assertEqual({record["sgid"] for record in records}, {"fe80::abc"})
        error = self.ibtool("query", "SubnAdmGetTraceTable", "SATraceRecord", lid, status=3).stderr
        self.assertIn("Unsupported method", error)


class Cut(Tables):
    rmpp = False

    def test_a_table_without_its_end_is_refused(self):
        said = self.ask()
        for table in ("nodes", "links", "paths"):
            self.assertEqual(("refused", *"The answer has lost its end: nobody has cut it into segments".split()), said[table])
        self.assertEqual(("1", "whole"), said["mine"])
        self.assertEqual(("0", "whole"), said["nobody"])

    def test_service_levels_are_not_asked_for_in_parts(self):
        """ibsim looks at no SL: SL 0 does, and there is nothing to say of it."""
        told = self.ibtool("ibqueryerrors", "--stats").stderr
        self.assertRegex(told, r"(?m)^mads planned: ")
        self.assertNotRegex(told, "in parts|SL 0")


class InParts(unittest.TestCase):
    """Without the preload saquery prints what it prints with it, in the same order; with an LMC the order of paths
    differs, and their preference, which opensm counts for each query."""
    QUERIES = ("NR", "NR nodeInfo.nodeType=2", "PIR /1", "PIR {switch}", "LR", "SWI", "GIR", "LFTR", "PKTR", "SL2VL {switch}", "VLAR",
               "VLAR {switch}/1",
               "-p", "-p --src-to-dst {switch}:{host}", "--no-defaults PR", "--no-defaults PR SLID={host}", "-D")
    GOLDEN = os.path.join(case.HERE, "..", "golden")

    @staticmethod
    def without_lmcs_changes(text):
        text = re.sub(r"\tpreference\.+\d+\n", "", text)
        return "".join(sorted(re.split(r"^(?=\S)", text, flags=re.M)))

    def compare(self, lmc, switch, host):
        lids = os.path.join(self.GOLDEN, f"fattree{f'.lmc{lmc}' if lmc else ''}.guid2lid")
        said = []
        for rmpp in (True, False):
            with simfabric.Fabric(os.path.join(self.GOLDEN, "fattree.net"), lids=lids, lmc=lmc, rmpp=rmpp) as fabric:
                said.append([fabric.run([case.IBTOOL, "saquery", *query.format(switch=switch, host=host).split()])
                             for query in self.QUERIES])
        for query, whole, parts in zip(self.QUERIES, *said):
            with self.subTest(query):
                self.assertEqual(0, whole.returncode, whole.stderr)
                self.assertEqual(0, parts.returncode, parts.stderr)
                self.assertEqual("", whole.stderr + parts.stderr)
                keeps_order = lmc == 0 or query == "LR"
                whole, parts = (done.stdout if keeps_order else self.without_lmcs_changes(done.stdout) for done in (whole, parts))
                self.assertEqual(whole, parts)

    def test_debugging_output_tells(self):
        for rmpp in (True, False):
            with simfabric.Fabric(case.CLUSTER, lids=case.CLUSTER_LIDS, rmpp=rmpp) as fabric:
                told = "came back cut" in fabric.run([case.IBTOOL, "saquery", "-d"]).stderr
                self.assertEqual(told, not rmpp)

    def test_every_kind_of_record(self):
        self.compare(0, 2, 4)

    def test_ports_with_several_lids(self):
        self.compare(2, 17, 8)


if __name__ == "__main__":
    case.main()
