#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Lists of commands are made from the program's own table, or hold what it holds: manual pages, help, completions, README.

    test_lists.py SOURCE IBTOOL TABLES PAGE
TABLES is the table as man/option_tables.cpp prints it, PAGE the finished page ibtool.1."""
import json
import os
import re
import subprocess
import sys
import unittest

SOURCE, IBTOOL, TABLES, PAGE = (os.path.abspath(word) for word in sys.argv[1:5])


def read(*names):
    with open(os.path.join(SOURCE, *names), encoding="utf-8") as file:
        return file.read()


def printed(*words):
    env = {name: value for name, value in os.environ.items() if not name.startswith("IBTOOL_")}
    return subprocess.run([IBTOOL, *words], env=env, capture_output=True, text=True, check=True).stdout


class Lists(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.tables = json.loads(read(TABLES))
        cls.names = sorted(command["name"] for command in cls.tables["commands"])

    def test_the_table_has_commands_in_groups_that_have_headings(self):
        self.assertGreater(len(self.names), 50)
        for command in self.tables["commands"]:
            self.assertIn(command["group"], self.tables["groups"], command["name"])

    def test_the_page_of_the_program_lists_each_command_once(self):
        section = re.search(r"^\.SH COMMANDS\n(.*?)^\.SH ", read(PAGE), re.DOTALL | re.MULTILINE).group(1)
        listed = re.findall(r"^\.TP\n\\fB(.*)\\fR$", section, re.MULTILINE)
        self.assertEqual(sorted(listed), self.names)
        self.assertEqual(re.findall(r"^\.SS (.*)$", section, re.MULTILINE), self.tables["groups"])

    def test_each_command_has_a_page_and_each_page_a_command(self):
        pages = [re.fullmatch(r"ibtool-(.*)\.1\.in", name) for name in os.listdir(os.path.join(SOURCE, "man", "pages"))]
        self.assertEqual(sorted(page.group(1) for page in pages if page), self.names)

    def test_help_lists_each_command_once(self):
        self.assertEqual(sorted(re.findall(r"^  (\S+)", printed("help", "--all"), re.MULTILINE)), self.names)
        groups = printed("help").split("\n\n")[2]
        self.assertEqual(sorted(re.findall(r"\b([a-z]\w+)(?= \*|,|$)", re.sub(r"^(?:  )?[A-Z].*?: ", "", groups, flags=re.MULTILINE),
                                           re.MULTILINE)), self.names)

    def test_completion_offers_each_command_once(self):
        offered = printed("completion", "--words", "--", "").splitlines()
        self.assertEqual(sorted(line.split("\t")[0] for line in offered), self.names)

    def test_what_readme_and_pages_call_is_a_command(self):
        pages = os.listdir(os.path.join(SOURCE, "man", "pages"))
        sources = [("README.md",), ("tests", "README.md"), *(("man", "pages", name) for name in pages)]
        called = set()
        for source in sources:
            text = read(*source).replace("\\-", "-")
            # `ibtool NAME` in Markdown, a line of a session, and what roff shows in bold.
            for name in re.findall(r"""(?:`|^\$ |^    |^\.B "?|^\.BR "|fB)ibtool ([a-z_]\w+)""", text, re.MULTILINE):
                called.add((source[-1], name))
        self.assertGreater(len(called), len(self.names) // 2)
        self.assertEqual(sorted(call for call in called if call[1] not in self.names), [])

    def test_the_page_of_health_has_a_paragraph_for_each_check(self):
        checks = {line.split("\t")[0] for line in printed("completion", "--words", "--", "health", "--only", "").splitlines()}
        self.assertIn("link-slow", checks)
        section = re.search(r"^\.SH CHECKS\n(.*?)^\.SH ", read("man", "pages", "ibtool-health.1.in"), re.DOTALL | re.MULTILINE).group(1)
        heads = re.findall(r"^\.TP\n\.BR (.*)$", section.replace("\\-", "-"), re.MULTILINE)
        self.assertEqual(checks - set(re.findall(r"[a-z][\w-]+", " ".join(heads))), set())

    def test_sample_lines_stand_in_files_of_rooms(self):
        rooms = set(re.findall(r"^  '(\w+)': \{", read("tools", "meson.build"), re.MULTILINE))
        files = {name.removesuffix(".txt") for name in os.listdir(os.path.join(SOURCE, "tests", "lines")) if name.endswith(".txt")}
        self.assertEqual(files, rooms)

    def test_pages_refer_to_pages_that_there_are(self):
        names = os.listdir(os.path.join(SOURCE, "man", "pages"))
        there = {name.removesuffix(".in") for name in names}
        for name in names:
            text = read("man", "pages", name).replace("\\-", "-")
            for page, section in re.findall(r"\b(ibtool(?:-\w+)?) ?\((\d)\)", text):
                self.assertIn(f"{page}.{section}", there, name)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
