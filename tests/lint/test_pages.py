#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The manual pages on a terminal: none has a line of more than 80 columns.

    test_pages.py PAGE
PAGE is one of the finished pages; all of its folder are looked at."""
import glob
import os
import re
import shutil
import subprocess
import sys
import unittest

FOLDER = os.path.dirname(os.path.abspath(sys.argv[1]))
COLUMNS = 80


def rendered(page):
    """The lines of a page as `man` shows them, without overstrikes."""
    env = {**os.environ, "MANWIDTH": str(COLUMNS), "LC_ALL": "C.UTF-8"}
    text = subprocess.run(["man", "-l", "-Tutf8", page], env=env, capture_output=True, encoding="utf-8", check=True).stdout
    return re.sub("\x1b\\[[0-9;]*m|.\b", "", text).splitlines()


class Pages(unittest.TestCase):
    def test_no_line_is_wider_than_a_terminal(self):
        pages = sorted(glob.glob(os.path.join(FOLDER, "*.[157]")))
        self.assertGreater(len(pages), 70)
        for page in pages:
            lines = rendered(page)
            with self.subTest(os.path.basename(page)):
                self.assertGreater(len(lines), 10)
                self.assertEqual([line for line in lines if len(line) > COLUMNS], [])


if __name__ == "__main__":
    if shutil.which("man") is None:
        print("man is not installed")
        sys.exit(77)
    unittest.main(argv=sys.argv[:1], verbosity=2)
