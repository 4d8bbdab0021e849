# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The checks themselves, on small trees with one fault each; and the counting of test results."""
import os
import sys
import tempfile
import unittest

import check
import coroutines

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


# A file for each rule, none of them with a fault.
CLEAN = {path: GOOD for path in ("lib/base/error.cpp", "tools/main.cpp", "tools/frame/run.cpp", "tools/shared/fabric.cpp",
                                 "tools/saquery/saquery.cpp", "tools/pch/tools.h")}


class Coroutines(unittest.TestCase):
    def complaints(self, body):
        """The rules that a body of a function breaks, one of each co_await in it."""
        tree = {"lib/a.cpp": GOOD + "mad::Task<int> f(const A& a) {\n" + body + "\n}\n"}
        return [line.split(" ")[1] for line in found(coroutines.check_coroutines, tree)]

    def test_what_is_named_first_is_fine(self):
        for body in ("const B b{1}; co_await g(b);", "const auto r = co_await g({}); const auto [x, y] = r;",
                     "if (co_await g()) { h({1}); }", "for (;;) { try { co_await g(); } catch (E&) {} }",
                     "co_await each(all, [&a](B b) -> mad::Task<> { B c{1}; co_await g(b); });",
                     'co_await g("{1}");  // co_await g(B{1})', "co_await g(R\"({1})\", '{'); h(B{1});",
                     "const int x = co_await g(); CHECK(x == 1);"):
            self.assertEqual(self.complaints(body), [], body)

    def test_braces_in_the_operand(self):
        for body in ("co_await g(B{1});", "co_await g(a, {1, 2});", "if (co_await g({1})) h();", "co_await g(\n  B{\n1});"):
            self.assertEqual(self.complaints(body), ["R1:"], body)

    def test_co_await_in_braces_and_assertions(self):
        for body in ("const B b{co_await g()};", "h({1, co_await g()});", "co_return {co_await g()};", "CHECK(co_await g() == 1);",
                     "REQUIRE_FALSE(h(co_await g()));"):
            self.assertEqual(self.complaints(body), ["R5:"], body)

    def test_structured_bindings(self):
        for body in ("const auto [x, y] = co_await g();", "auto& [x] = co_await g();", "auto&& [x,\n y] =\n co_await g();"):
            self.assertEqual(self.complaints(body), ["R7:"], body)

    def test_a_tree_without_coroutines_is_a_complaint(self):
        self.assertIn("no co_await", "".join(found(coroutines.check_coroutines, {"lib/a.cpp": GOOD})))


class Layers(unittest.TestCase):
    def complaint(self, path, include):
        """What the check says of one include in a file, where all else is fine."""
        tree = CLEAN | {"tools/frame/build_info.hpp.in": GOOD, path: GOOD + f"#include {include}\n"}
        lines = found(check.check_layers, tree)
        self.assertLessEqual(len(lines), 1, lines)
        return "".join(lines)

    def test_lower_and_own_layers_are_fine(self):
        for path, include in (("lib/mad/rpc/rpc.cpp", "base/error.hpp"), ("lib/mad/rpc/rpc.cpp", "mad/rpc/rpc.hpp"),
                              ("lib/iba/a.cpp", "iba-gen/smp.hpp"), ("lib/health/a.cpp", "counters/a.hpp"),
                              ("tools/saquery/a.cpp", "subnet/subnet.hpp"), ("tools/saquery/a.cpp", "tools/saquery/saquery.hpp"),
                              ("tools/saquery/a.cpp", "tools/shared/a.hpp"), ("tools/saquery/a.cpp", "tools/frame/session.hpp"),
                              ("tools/shared/a.cpp", "tools/shared/b.hpp"), ("tools/shared/a.cpp", "tools/frame/a.hpp"),
                              ("tools/frame/a.cpp", "tools/frame/b.hpp"), ("tools/frame/a.cpp", "tools/build_info.hpp"),
                              ("tools/main.cpp", "tools/frame/run.hpp"), ("tools/main.cpp", "mad/channel/simulator.hpp")):
            self.assertEqual(self.complaint(path, f'"{include}"'), "", (path, include))
        self.assertEqual(self.complaint("lib/sys/a.cpp", "<sys/stat.h>"), "")
        self.assertEqual(self.complaint("lib/base/a.cpp", "<nlohmann/json.hpp>"), "")

    def test_higher_and_sister_layers_are_not(self):
        for path, include in (("lib/base/a.cpp", "iba/types.hpp"), ("lib/iba/types.hpp", "report/sink.hpp"),
                              ("lib/path/path.cpp", "mad/rpc/rpc.hpp"), ("lib/sa/client.cpp", "snapshot/file.hpp"),
                              ("lib/routing/a.cpp", "counters/a.hpp"), ("lib/base/a.cpp", "tools/frame/session.hpp")):
            self.assertRegex(self.complaint(path, f'"{include}"'), f"^{path}:2: .* must not include ", (path, include))

    def test_frame_is_below_shared_and_that_below_the_rooms(self):
        for path, include in (("tools/frame/a.cpp", "tools/shared/fabric.hpp"), ("tools/frame/a.cpp", "tools/saquery/saquery.hpp"),
                              ("tools/shared/a.cpp", "tools/saquery/saquery.hpp"), ("tools/sminfo/a.cpp", "tools/saquery/saquery.hpp"),
                              ("tools/saquery2/a.cpp", "tools/saquery/saquery.hpp"), ("tools/shared/a.cpp", "tools/a.hpp"),
                              ("tools/main.cpp", "tools/shared/fabric.hpp"), ("tools/main.cpp", "tools/saquery/saquery.hpp")):
            self.assertRegex(self.complaint(path, f'"{include}"'), f"^{path}:2: .* must not include ", (path, include))

    def test_precompiled_headers_are_judged(self):
        for path, include in (("lib/pch/lib.h", "path/path.hpp"), ("tools/pch/tools.h", "tools/frame/session.hpp"),
                              ("tools/pch/tools.h", "../../lib/pch/lib.h"), ("tools/pch/tools.h", "sa/records.hpp")):
            self.assertEqual(self.complaint(path, f'"{include}"'), "", (path, include))
        for path, include in (("lib/pch/lib.h", "mad/rpc/rpc.hpp"), ("lib/pch/lib.h", "tools/frame/session.hpp"),
                              ("tools/pch/tools.h", "tools/shared/fabric.hpp"), ("tools/pch/tools.h", "tools/saquery/saquery.hpp"),
                              ("tools/saquery/a.h", "tools/sminfo/sminfo.hpp"), ("lib/base/a.h", "iba/types.hpp")):
            self.assertRegex(self.complaint(path, f'"{include}"'), f"^{path}:2: .* must not include ", (path, include))
        for path, include in (("tools/saquery/a.cpp", "../../lib/pch/lib.h"), ("lib/mad/a.cpp", "pch/lib.h")):
            self.assertRegex(self.complaint(path, f'"{include}"'), f"^{path}:2: no path from lib/", (path, include))

    def test_a_path_begins_at_lib_or_at_the_root(self):
        for path, include in (("lib/async/loop.cpp", '"loop.hpp"'), ("tools/saquery/a.cpp", '"saquery.hpp"'),
                              ("tools/frame/a.cpp", '"../shared/fabric.hpp"'), ("tools/frame/a.cpp", '"shared/fabric.hpp"'),
                              ("tools/frame/a.cpp", "<tools/shared/fabric.hpp>"), ("lib/base/a.cpp", "<iba/types.hpp>")):
            self.assertRegex(self.complaint(path, include), f"^{path}:2: ", (path, include))

    def test_only_world_and_the_clock_reach_outside(self):
        for line in ('std::getenv("TERM");', "std::fputs(text, stderr);", "std::chrono::system_clock::now();", "std::time(nullptr);",
                     "std::chrono::steady_clock::now();", 'secure_getenv("A");', "std::cout << 1;", "time(nullptr);", "time(&now);",
                     'std::printf("%d", 1);', "perror(name);", "::clock_gettime(CLOCK_REALTIME, &now);"):
            for path in ("lib/mad/a.cpp", "tools/saquery/a.cpp", "tools/frame/a.hpp", "tools/main.cpp"):
                lines = found(check.check_layers, CLEAN | {path: GOOD + line + "\n"})
                self.assertRegex("".join(lines), f"^{path}:2: .* only through World", line)
            for path in check.OUTSIDE_HOMES:
                self.assertEqual(found(check.check_layers, CLEAN | {path: GOOD + line + "\n"}), [], path)
        for line in ("int end;  // stderr gets it", 'print("no stdout");', "loop.clock().wall_time();", "wall_time(now);", "row.time(0);",
                     "std::chrono::system_clock::time_point time(when);"):
            self.assertEqual(found(check.check_layers, CLEAN | {"lib/mad/a.cpp": GOOD + line + "\n"}), [], line)

    def test_lib_names_no_command_line(self):
        for line in ('"Clear them: ibtool ibclearerrors."', 'fmt::format("(ibtool --from {})", file)', '"\\"x\\" ibtool ibportstate -D 0"'):
            self.assertRegex("".join(found(check.check_layers, CLEAN | {"lib/health/a.cpp": GOOD + f"f({line});\n"})),
                             "^lib/health/a.cpp:2: a command line in lib/", line)
            for path in ("tools/saquery/a.cpp", *check.COMMAND_LINE_HOMES):
                self.assertEqual(found(check.check_layers, CLEAN | {path: GOOD + f"f({line});\n"}), [], path)
        for line in ('f("made by a newer ibtool (format 3)");', 'f("This ibtool is a static program");',
                     'f("Clear them: {clear_counters}.");', '// "ibtool health" begins with it'):
            self.assertEqual(found(check.check_layers, CLEAN | {"lib/health/a.cpp": GOOD + line + "\n"}), [], line)

    def test_a_folder_without_a_place_is_named(self):
        for path in ("lib/magic/a.cpp", "lib/a.cpp", "tools/a.cpp"):
            self.assertRegex(self.complaint(path, '"base/error.hpp"'), f"^{path}:1: .* has no place", path)

    def test_a_rule_that_judges_nothing_fails(self):
        self.assertEqual(found(check.check_layers, CLEAN), [])
        for path in CLEAN:
            lines = found(check.check_layers, {other: text for other, text in CLEAN.items() if other != path})
            self.assertEqual(len(lines), 1, lines)
            self.assertIn("judged no file", lines[0])
        self.assertEqual(len(found(check.check_layers, {"lib/base/README.md": "\n"})), len(CLEAN))


class Style(unittest.TestCase):
    def test_a_clean_file(self):
        self.assertEqual(list(check.complaints("a.cpp", GOOD + "int a;\n")), [])

    def test_join_has_its_header(self):
        text = GOOD + "auto a = fmt::join(b, c);\n"
        self.assertRegex("".join(check.complaints("a.cpp", text)), rf"^a.cpp:{len(text.splitlines())}: fmt::join ")
        self.assertEqual(list(check.complaints("a.cpp", GOOD + "#include <fmt/ranges.h>\nauto a = fmt::join(b, c);\n")), [])
        self.assertEqual(list(check.complaints("a.py", text)), [])

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
