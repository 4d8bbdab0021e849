# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What we print is what the files of ours/ hold, and where we differ from the references, a manual page tells of it."""
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest

import golden
import recordings
import simfabric

# Commands that print no JSON on these fabrics: they have no router, no vendor's MADs and no verbs. `help` has none anywhere.
WITHOUT_JSON = {"help", "ibprintrt", "rdma_bw", "vendstat"}
PAGES = os.path.join(golden.HERE, "..", "..", "man", "pages")
CASES = golden.ours()


def page_file(man):
    """`ibtool-ibaddr(1)` → its source."""
    name, section = man.rstrip(")").split("(")
    return os.path.join(PAGES, f"{name}.{section}.in")


class Files(unittest.TestCase):
    def test_a_case_is_there_for_a_difference_or_for_its_json(self):
        for case in CASES:
            with self.subTest(case.title()):
                self.assertTrue(case.why or case.json or "--json" in case.cmd)

    def test_each_command_has_its_json_recorded(self):
        text = subprocess.run([simfabric.IBTOOL, "help", "--all"], check=True, capture_output=True, encoding="utf-8").stdout
        commands = set(re.findall(r"^  ([a-z_]\w*)  ", text, re.MULTILINE))
        self.assertIn("smpquery", commands)
        recorded = {case.cmd.split()[1] for case in CASES if case.json}
        self.assertEqual(commands - WITHOUT_JSON - recorded, set())

    def test_every_difference_has_a_reason_and_a_page(self):
        for case in CASES:
            if not case.why and not case.man:
                continue
            with self.subTest(case.title()):
                self.assertGreater(len(case.why), 20)
                with open(page_file(case.man), encoding="utf-8") as page:
                    self.assertIn(".SH DIFFERENCES", page.read())

    def test_a_difference_is_no_agreement(self):
        theirs = {case.key() for case in golden.recorded()}
        self.assertEqual([case.title() for case in CASES if case.why and case.key() in theirs], [])

    def test_no_case_stands_twice(self):
        names = {}
        for case in CASES:
            names.setdefault(case.key(), []).append(case.title())
        self.assertEqual([twins for twins in names.values() if len(twins) > 1], [])

    def test_a_case_stands_in_the_file_of_its_command(self):
        for case in CASES:
            with self.subTest(case.title()):
                self.assertEqual(case.name, recordings.file_name(case))

    def test_files_are_as_the_recorder_writes_them(self):
        for name in os.listdir(recordings.OURS):
            with self.subTest(name), open(os.path.join(recordings.OURS, name), encoding="utf-8", newline="") as file:
                self.assertTrue(name.endswith(recordings.SUFFIX))
                self.assertEqual(file.read(), recordings.text_of([case for case in CASES if case.name + recordings.SUFFIX == name]),
                                 "tests/golden/record.py --sort writes it")

    def test_deviations_are_lines_of_json(self):
        with tempfile.TemporaryDirectory() as directory:
            file = os.path.join(directory, "deviations")
            subprocess.run([sys.executable, os.path.join(golden.HERE, "record.py"), "--deviations", file], check=True)
            with open(file, encoding="utf-8") as lines:
                found = [json.loads(line) for line in lines]
        wanted = {case.key(): case for case in CASES if case.why}
        for line in found:
            case = golden.Case(**{name: line[name] for name in ("fabric", "cmd", "prep", "lmc", "stdin") if name in line})
            same = [known for known in wanted.values() if known.key()[2:6] == case.key()[2:6] and known.fabric == case.fabric]
            self.assertIn((line["rc"], line["out"], line["why"], line["man"]), [(at.rc, at.out or "", at.why, at.man) for at in same])
        self.assertEqual(len(found), len(wanted))


class Ours(golden.FabricCases):
    def check(self, case):
        now = golden.run_ours(case)
        self.assertEqual(now.rc, case.rc, now.err)
        for part in golden.PARTS:
            self.assertEqual(getattr(now, part), getattr(case, part), part)
        if case.json is not None:
            json.loads(case.json)


if __name__ == "__main__":
    golden.main(Ours, CASES)
