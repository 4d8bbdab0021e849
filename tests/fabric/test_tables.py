# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Whole tables from opensm: RMPP between its preload and our own engine, and with Debian's programs on the same preload.
Without that preload a table that does not come whole is an error to a program on the library that wants it whole."""
import json
import os
import re

import case
import simfabric



class Tables(case.FabricCase):
    netfile, lids = case.CLUSTER, case.CLUSTER_LIDS

    def ask(self, **env):
        """What the program says, by its first words; of tables (count, whole) or why not."""
        done = self.run_ours([simfabric.PROGRAMS, "tables"], **env)
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
        count = self.fabric.path("count")
        said = self.ask(preload=[case.DELAY], IBTEST_DROP=0.3, IBTEST_COUNT_FILE=count)
        self.assertEqual((str(ends * ends), "whole"), said["paths"])
        with open(count, encoding="ascii") as file:
            counted = json.loads(file.read().splitlines()[-1])
        self.assertGreater(counted["lost_acks"], 0)

    def test_debians(self):
        ends, links = self.ports_and_links()
        for option, record, count in (("-N", "Node", ends), ("-x", "Link", links), ("-p", "Path", ends * ends)):
            done = self.debian("saquery", option)
            self.assertEqual(count, done.stdout.count(f"{record}Record dump"), option + done.stderr)


class OurSa(case.ServingCase):
    """An SA of ours at another port: requests and answers in segments, and our own protocol on both sides."""

    def test_requests_and_answers_in_segments(self):
        lid = self.serve([simfabric.PROGRAMS, "serve-sa"], self.answered("query", "-t", "100", "-f", "LID=3", "SubnAdmGet", "SANodeRecord"))
        ends = [word for i in range(1, 61) for word in ("-f", f"DGID=fe80::{i:x}")]
        for env in ({}, {"preload": [case.DELAY], "IBTEST_DROP": 0.05}):
            done = self.ibtool("query", "SubnAdmGetMulti", "SAMultiPathRecord", lid, "--json", "-t", "300", "--retries", "9",
                               "-f", "numbPath=100", "-f", "SGID=fe80::abc", *ends, **env)
            records = json.loads(done.stdout)["records"]
            self.assertEqual([record["dgid"] for record in records], [f"fe80::{i:x}" for i in range(1, 61)])
            self.assertEqual({record["sgid"] for record in records}, {"fe80::abc"})
        error = self.ibtool("query", "SubnAdmGetTraceTable", "SATraceRecord", lid, status=3).stderr
        self.assertIn("does not support", error)


class Cut(Tables):
    rmpp = False

    def test_a_table_without_its_end_is_refused_to_a_program_that_wants_it_whole(self):
        said = self.ask()
        for table in ("nodes", "links", "paths"):
            self.assertEqual(("refused", *"The SA's table came without its end".split()), said[table])
        self.assertEqual(("1", "whole"), said["mine"])
        self.assertEqual(("0", "whole"), said["nobody"])


if __name__ == "__main__":
    case.main()
