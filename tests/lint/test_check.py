# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The checks themselves, on small trees with one fault each; and the counting of test results."""
import os
import sys
import tempfile
import unittest

import check

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import count  # noqa: E402

GOOD = f"// {check.LICENCE}\n"


def found(what, tree):
    """The complaints of a check about a tree {path: text}."""
    with tempfile.TemporaryDirectory() as source:
        for path, text in tree.items():
            os.makedirs(os.path.dirname(os.path.join(source, path)), exist_ok=True)
            with open(os.path.join(source, path), "w", encoding="utf-8") as file:
                file.write(text)
        return list(what(source))


class Layers(unittest.TestCase):
    def complaint(self, path, include):
        lines = found(check.check_layers, {path: GOOD + f'#include "{include}"\n'})
        self.assertTrue(all(line.startswith(f"{path}:2: ") for line in lines), lines)
        return bool(lines)

    def test_lower_and_own_layers_are_fine(self):
        for path, include in (("lib/mad/rpc.cpp", "base/error.hpp"), ("lib/mad/rpc.cpp", "mad/rpc.hpp"),
                              ("lib/iba/a.cpp", "iba-gen/smp.hpp"), ("tools/cmd/a.cpp", "subnet/subnet.hpp"),
                              ("tools/cmd/a.cpp", "cmd/a.hpp"), ("tools/cmd/a.cpp", "session.hpp"),
                              ("tools/cmd/a_table.cpp", "cmd/a.hpp")):
            self.assertFalse(self.complaint(path, include), (path, include))

    def test_higher_and_sister_layers_are_not(self):
        for path, include in (("lib/base/error.cpp", "iba/types.hpp"), ("lib/iba/types.hpp", "out/sink.hpp"),
                              ("lib/path/path.cpp", "mad/rpc.hpp"), ("lib/sa/client.cpp", "snapshot/file.hpp"),
                              ("lib/async/loop.cpp", "loop.hpp"), ("lib/base/a.cpp", "tools/session.hpp"),
                              ("tools/cmd/a.cpp", "cmd/b.hpp"), ("tools/cmd/ab.cpp", "tools/cmd/a.hpp"),
                              ("lib/magic/a.cpp", "base/error.hpp")):
            self.assertTrue(found(check.check_layers, {path: GOOD + f'#include "{include}"\n'}), (path, include))


class Style(unittest.TestCase):
    def test_a_clean_file(self):
        self.assertEqual(list(check.complaints("a.cpp", GOOD + "int a;\n")), [])

    def test_each_fault_is_named_with_its_line(self):
        for text, line in (("int a;\n", 1), (GOOD + "\tint a;\n", 2), (GOOD + "int a; \n", 2), (GOOD + "// " + "x" * 140 + "\n", 2),
                           (GOOD + "int a;", 2), (GOOD + "\n", 3), (GOOD + "//\n" * 501, 501)):
            complaints = list(check.complaints("a.cpp", text))
            self.assertEqual([entry.split(":")[1] for entry in complaints], [str(line)], complaints)


class Count(unittest.TestCase):
    def test_summaries(self):
        for entry, expected in (
                ({"result": "OK", "stdout": "All tests passed (10 assertions in 3 test cases)\n"}, (3, 0, 0)),
                ({"result": "FAIL", "stdout": "test cases:  5 |  3 passed | 2 failed\n"}, (3, 2, 0)),
                ({"result": "OK", "stdout": "", "stderr": "Ran 7 tests in 0.1s\n\nOK (skipped=2)\n"}, (5, 0, 2)),
                ({"result": "FAIL", "stderr": "Ran 7 tests in 0.1s\n\nFAILED (failures=1, errors=2, skipped=1)\n"}, (3, 3, 1)),
                ({"result": "FAIL", "stdout": "All tests passed (1 assertion in 1 test case)\n"}, (1, 1, 0)),
                ({"result": "TIMEOUT"}, (0, 1, 0)), ({"result": "SKIP"}, (0, 0, 1)), ({"result": "OK"}, (1, 0, 0))):
            self.assertEqual(count.cases(entry), expected)


if __name__ == "__main__":
    unittest.main(verbosity=2)
