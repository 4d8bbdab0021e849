# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The program on the simulator as Debian has it: libumad2sim.so alone is preloaded. It does no RMPP and passes on the first 224 bytes of
a MAD, so what opensm says in a longer table comes without its end."""
import json
import re
import signal
import subprocess
import time

import case


class Stock(case.FabricCase):
    rmpp = False

    def run_ours(self, argv, **env):
        """libumad2sim.so now and then ends a program by a signal: a packet came for an agent that is gone. That run is repeated."""
        for _ in range(5):
            done = self.fabric.run(argv, **env)
            if done.returncode >= 0:
                break
        self.assertNotIn("AddressSanitizer", done.stderr)
        self.assertGreaterEqual(done.returncode, 0, f"{argv} died of signal {-done.returncode}\n{done.stderr}")
        return done

    def records(self, *words):
        """(How many records the JSON has, whether it says that these are all.)"""
        status = 4 if self.run_ours([case.IBTOOL, *words, "--json"]).returncode == 4 else 0
        report = json.loads(self.ibtool(*words, "--json", status=status).stdout)
        self.assertEqual(report["complete"], status == 0)
        return len(report["records"]), report["complete"]

    def test_none_of_our_preloads_but_that_for_ibsims_release_is_there(self):
        self.assertRegex(self.fabric.env()["LD_PRELOAD"], r"^:*[^:]*/libumad2sim\.so(:[^:]*/ibtest-release\.so)?:*$")

    def test_a_sweep(self):
        for mode in ("DR", "LID"):
            with self.subTest(mode):
                ours, file = self.ours(f"--discovery={mode}"), self.file()
                self.assertEqual((ours.nodes, ours.links), (file.nodes, file.links))

    def test_counters(self):
        self.change('PerformanceSet "S-b8599f0300a00030"[22] PortCounters.SymbolErrorCounter=27',
                    'PerformanceSet "S-b8599f0300a00030"[22] PortCounters.SymbolErrorCounter=0')
        done = self.ibtool("ibqueryerrors", status=1)
        self.assertIn("SymbolErrorCounter == 27", done.stdout)
        self.assertEqual(done.stderr, "W: SL 0 is used: the subnet administrator's table of paths did not arrive whole\n")
        self.assertRegex(self.ibtool("perfquery", "4", "22").stdout, r"SymbolErrors:\.+27\n")
        self.assertNotIn("SymbolErrorCounter == 27", self.ibtool("perfquery", "4", "22").stdout)
        self.assertEqual(self.legacy("ibqueryerrors").stderr, "")

    def test_ctrl_c(self):
        for words in (["ibdatacounters", "--interval", "0.2"], ["ibswportwatch", "-p", "0.2", "4", "22"]):
            with self.subTest(words[0]):
                watch = subprocess.Popen([case.IBTOOL, *words, "--json=lines"], env=self.fabric.env(), cwd=self.fabric.dir, text=True,
                                         stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                         preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
                self.assertIn('"list":"readings"', watch.stdout.readline())
                begin = time.monotonic()
                watch.send_signal(signal.SIGINT)
                rest, errors = watch.communicate(timeout=30)
                self.assertLess(time.monotonic() - begin, 5)
                self.assertEqual(watch.returncode, 0, errors)
                self.assertIn('"status":0', rest)

    def test_a_table_of_one_mad_is_whole(self):
        self.assertEqual(self.records("saquery", "NR", "4"), (1, True))
        self.assertEqual(self.records("saquery", "LR", "4/1"), (1, True))

    def test_what_came_of_a_table_is_printed_and_that_there_is_more_is_said(self):
        for words, count in ((["NR"], 1), (["LR"], 21), (["PIR", "4"], 2), (["-p"], 2), (["query", "SubnAdmGetTable", "SALinkRecord"], 21)):
            with self.subTest(words):
                line = words if words[0] == "query" else ["saquery", *words]
                done = self.ibtool(*line, status=4)
                arrived = "only the first record" if count == 1 else f"only the first {count} records"
                self.assertEqual(done.stderr, f"W: the answer of the SA was cut on its way: {arrived} arrived\n")
                self.assertEqual(self.records(*line), (count, False))

    def test_by_the_legacy_name(self):
        ours, theirs = self.legacy("saquery"), self.debian("saquery")
        self.assertEqual((ours.stdout, ours.returncode), (theirs.stdout, 0))
        said = r"^ibwarn: \[\d+\] sa_query: the answer of the SA was cut on its way: only the first record arrived\n$"
        self.assertRegex(ours.stderr, said)

    def test_a_node_by_its_name(self):
        done = self.ibtool("smpquery", "ND", "leaf04")
        self.assertIn("leaf04", done.stdout)
        self.assertRegex(done.stderr, "^W: the SA's table of nodes came without its end: the fabric is swept for their names\n")

    def test_discovery_from_the_sa(self):
        done = self.ibtool("ibhosts", "--discovery=SA", status=4)
        self.assertEqual(done.stderr, "E: The SA's table of NodeRecords came without its end: 1 arrived.\n")
        self.assertIn("login01", done.stdout)

    def test_a_check_that_compares_with_a_table_of_the_sa(self):
        done = self.ibtool("ibchecknet", status=1)  # there are ports without a link
        self.assertIn("E: The SA's table of NodeRecords came without its end: 1 arrived.\n", done.stderr)

    def test_a_snapshot_says_which_tables_lack_their_end(self):
        file = self.fabric.path("stock.ibss")
        done = self.ibtool("snapshot", "--only", "sa", file, status=4)
        self.assertRegex(done.stderr, "does not give its NodeRecord: only its first record arrived")
        again = self.run_ours([case.IBTOOL, "saquery", "--from", file])
        self.assertEqual(again.returncode, 4)
        self.assertEqual(len(re.findall("^NodeRecord dump", again.stdout, re.M)), 1)


if __name__ == "__main__":
    case.main()
