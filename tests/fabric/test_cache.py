# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""--cache keeps what a command reads, and the next one takes it from there."""
import os
import re
import tempfile

import case


class Cache(case.FabricCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.file = os.path.join(directory.name, "cache")

    def sent(self, *words, **env):
        """What `ibtool WORDS` prints, and how many MADs it sends."""
        done = self.run_ours([case.IBTOOL, *words, "--stats"], **env)
        self.assertEqual(0, done.returncode, done.stderr)
        return re.sub("generated on .*", "", done.stdout), int(re.search(r"^mads sent: (\d+)$", done.stderr, re.M)[1])

    def test_the_second_run_asks_nobody(self):
        first, mads = self.sent("ibnetdiscover", "--cache", self.file)
        self.assertGreater(mads, 100)
        self.assertEqual((first, 0), self.sent("ibnetdiscover", "--cache", self.file))
        self.assertEqual((first, mads), self.sent("ibnetdiscover", "--cache", self.file, "--refresh-cache"))
        self.assertEqual(0o600, os.stat(self.file).st_mode & 0o777)

    def test_what_is_missing_is_added(self):
        live, _ = self.sent("dump_lfts")
        self.sent("iblinkinfo", "--cache", self.file)
        tables, mads = self.sent("dump_lfts", "--cache", self.file)
        self.assertEqual(live, tables)
        self.assertGreater(mads, 0)
        # Each switch says once who it is.
        switches = self.run_ours([case.IBTOOL, "ibswitches"]).stdout.count("\n")
        self.assertEqual((live, switches), self.sent("dump_lfts", "--cache", self.file))
        self.assertEqual(live, self.sent("dump_lfts", "--from", self.file)[0])

    def test_a_command_for_one_node_keeps_the_fabric_and_finds_it_there(self):
        switch = self.run_ours([case.IBTOOL, "ibswitches"]).stdout.split(" lid ")[1].split()[0]
        host = self.run_ours([case.IBTOOL, "ibaddr", "-l"]).stdout.split()[-1]
        for words in (["iblinkinfo", switch], ["ibroute", switch], ["ibtracert", host, switch]):
            live, _ = self.sent(*words)
            kept, mads = self.sent(*words, "--cache", self.file)
            self.assertEqual(live, kept)
            self.assertGreater(mads, 100)
            stored, mads = self.sent(*words, "--cache", self.file)
            self.assertEqual(live, stored, words)
            self.assertLess(mads, 30)  # each node that is asked says once who it is
            self.assertEqual((live, 0), self.sent(*words, "--from", self.file), words)
            os.remove(self.file)

    def test_options_that_go_together(self):
        self.sent("ibnetdiscover", "--cache", self.file)
        for words in (["--refresh-cache"], ["--from", self.file, "--cache", self.file + "2"], ["--cache", ""]):
            done = self.run_ours([case.IBTOOL, "ibhosts", *words])
            self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)

    def test_counters_are_always_asked(self):
        self.sent("ibnetdiscover", "--cache", self.file)
        self.assertGreater(self.sent("ibdatacounters", "--cache", self.file)[1], 0)

    def test_names_and_the_environment(self):
        self.sent("ibnetdiscover", "--cache", os.path.join(self.directory, "$C-$P-$A-${CA}${PORT}"))
        self.assertEqual(["ibsim0-1-ibsim0-1-ibsim01"], os.listdir(self.directory))
        self.sent("ibnetdiscover", IBTOOL_CACHE=self.file)
        self.assertEqual(0, self.sent("ibnetdiscover", IBTOOL_CACHE=self.file)[1])

    def test_a_snapshot_is_not_taken_from_a_cache(self):
        self.sent("ibnetdiscover", "--cache", self.file)
        taken = os.path.join(self.directory, "taken")
        self.assertGreater(self.sent("snapshot", "--only", "topology", taken, IBTOOL_CACHE=self.file)[1], 100)

    def test_what_is_told_of_it(self):
        done = self.run_ours([case.IBTOOL, "ibhosts", "--cache", self.file])
        self.assertNotIn("W:", done.stderr)
        done = self.run_ours([case.IBTOOL, "ibhosts", "--cache", self.file])
        self.assertRegex(done.stderr, r"(?m)^W: fabric as of 20\d\d-.* from " + re.escape(self.file) + "$")

    def test_subnet_diff_reads_one(self):
        self.sent("ibnetdiscover", "--cache", self.file)
        self.assertEqual(0, self.run_ours([case.IBTOOL, "subnet_diff", self.file]).returncode)

    def test_a_file_that_is_no_snapshot_is_left_alone(self):
        with open(self.file, "w", encoding="ascii") as file:
            file.write("thesis\n")
        for words in (["--cache", self.file], ["--cache", self.file, "--refresh-cache"]):
            done = self.run_ours([case.IBTOOL, "ibnetdiscover", *words])
            self.assertEqual((2, "", 1), (done.returncode, done.stdout, done.stderr.count("\n")), done.stderr)
        with open(self.file, encoding="ascii") as file:
            self.assertEqual("thesis\n", file.read())


if __name__ == "__main__":
    case.simfabric.run_tests()
