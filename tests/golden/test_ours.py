# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What we print is what the folders of ours/ hold, and where we differ from the references, a manual page tells of it."""
import json
import os
import re
import subprocess
import unittest

import golden
import simfabric

# Commands that print no JSON on these fabrics: they have no router, no vendor's MADs and no verbs. `help` has none anywhere.
WITHOUT_JSON = {"help", "ibprintrt", "rdma_bw", "vendstat"}
PAGES = os.path.join(golden.HERE, "..", "..", "man", "pages")
CASES = golden.ours()


def page_file(man):
    """`ibtool-ibaddr(1)` → its source."""
    name, section = man.rstrip(")").split("(")
    return os.path.join(PAGES, f"{name}.{section}.in")


class Folders(unittest.TestCase):
    def test_a_case_is_there_for_a_difference_or_for_its_json(self):
        for case in CASES:
            with self.subTest(case.name):
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
            with self.subTest(case.name):
                self.assertGreater(len(case.why), 20)
                with open(page_file(case.man), encoding="utf-8") as page:
                    self.assertIn(".SH DIFFERENCES", page.read())

    def test_a_difference_is_no_agreement(self):
        theirs = {case.key() for case in golden.recorded()}
        self.assertEqual([case.name for case in CASES if case.why and case.key() in theirs], [])

    def test_no_case_stands_twice(self):
        names = {}
        for case in CASES:
            names.setdefault(case.key(), []).append(case.name)
        self.assertEqual([twins for twins in names.values() if len(twins) > 1], [])

    def test_the_first_folder_is_the_command(self):
        for case in CASES:
            with self.subTest(case.name):
                command = re.match(r"ibtool \w+|\w+", case.cmd)[0]
                self.assertEqual(case.name.split("/")[:-1], [command.replace(" ", "-")])

    def test_there_is_nothing_else(self):
        for folder, folders, files in os.walk(golden.OURS):
            if files:
                self.assertLessEqual({"case.json"}, set(files), folder)
                self.assertLessEqual(set(files), {"case.json", *golden.PARTS}, folder)
            else:
                self.assertTrue(folders, f"{folder} is empty")


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
