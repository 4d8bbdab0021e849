# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What is written to a file of ours/ is read back the same, whatever it holds, and what stands in it is never two things."""
import dataclasses
import itertools
import json
import random
import unittest

import recordings
from recordings import Case

# Lines that look like the file's own, and what a terminal does not show.
LINES = ["", " ", "# why x", "# --json", "$ [net] ibtool x", "| x", "! x", ". x: 1", "= [net] x", "status 1",
         "\\", "\\c", "\\n", "\\x41", "a\\c", "a\tb", "\t", "a ", "a\t", "a\r",
         "\x00", "\x1b[31m", "\x7f", "\x85", "\xa0", "\xe9", "\u2028", "\ufeff", "\U0001f600"]
DOCUMENTS = [{}, {"a": 1}, {"a": -1.5, "b": None, "c": [], "d": {}, "e": [1, "x, y *2", "-"]}, {"rows": []}, {"rows": [{}]},
             {"rows": [{"a": 1, "b": "x"}, {"b": "x", "a": 1}]}, {"rows": [{"a": 1}, {"b": 2}, {"a": None, "b": 3}]},
             {"odd key: [1]": {"x": {"y": [{"z": 1}]}}},
             {"rows": [{"in": [{"a": 1}, {"a": 2}]}, {"in": []}, {"in": [{"a": 2}]}]}, {"rows": [{"in": [{"a": 1}]}, {"in": None}]},
             {"rows": [{"text": "a sentence that is as long as a sentence may be, and then some " + str(at)} for at in range(4)]},
             {"text": "\n\r\x00\x7f \u2028 \\ \" "}, [1], "x", 1]


def pretty(value):
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


class Text(unittest.TestCase):
    def test_any_line_is_read_back(self):
        for line, ends in itertools.product(LINES, (True, False)):
            with self.subTest(line, ends=ends):
                quoted = recordings.quote("|", line, ends)
                self.assertNotIn("\n", quoted)
                self.assertEqual(quoted, quoted.rstrip())
                self.assertEqual(recordings.unquote(quoted), (line, ends))

    def test_any_text_is_read_back(self):
        chance = random.Random(1)
        for _ in range(2000):
            text = "\n".join(chance.choices(LINES, k=chance.randrange(5)))
            self.assertEqual(recordings.joined(recordings.text_lines("|", text)), text)


class Json(unittest.TestCase):
    def test_any_document_is_read_back(self):
        for value in DOCUMENTS:
            with self.subTest(value):
                lines = recordings.json_lines(pretty(value))
                text = recordings.document(lines) if lines and lines[0][0] == "." else recordings.joined(lines)
                self.assertEqual(text, pretty(value))

    def test_what_is_not_as_we_indent_it_stays_as_it_is(self):
        for text in ('{"a": 1}\n', '{"a":1}\n{"a":2}\n', pretty({"a": 1})[:-1], "{}\n",
                     '{\n  "a": 1.0e0\n}\n', "no JSON\n", '{\n  "a": 1,\n  "a": 1\n}\n'):
            with self.subTest(text):
                lines = recordings.json_lines(text)
                self.assertEqual({line[0] for line in lines}, {"|"})
                self.assertEqual(recordings.joined(lines), text)

    def test_a_new_key_of_every_row_is_a_new_line(self):
        rows = [{"lid": lid, "port_num": lid % 3, "ends": [{"guid": end} for end in range(lid)]} for lid in range(40)]
        now = [{**row, "ends": [{"guid": end["guid"], "new": end["guid"] + lid} for end in row["ends"]]} for lid, row in enumerate(rows)]
        before, after = (recordings.json_lines(pretty({"schema": 3, "rows": value})) for value in (rows, now))
        self.assertEqual([line for line in after if line not in before][0][:12], ".     new: 1")
        self.assertEqual([line for line in after if not line.startswith(".     new: ")], before)


class File(unittest.TestCase):
    THREE = "one\ntwo\nthree\n"
    CASES = [Case("net", "ibtool a 1", name="ibtool-a", out=THREE),
             Case("net", "ibtool a 2", name="ibtool-a", out=THREE, err="E: bad\n", rc=3, why="It is right.", man="ibtool-a(1)"),
             Case("net", "ibtool a 3", name="ibtool-a", out=THREE, why="It is right.", man="ibtool-a(1)"),
             Case("net", "ibtool a 3", name="ibtool-a", prep=["console Unlink \"S\"[1]", "wait 1"], lmc=2, rmpp=False, loss=0.25,
                  err_changes=True, stdin="inputs/a b", why="A long reason. " * 20 + "End.", man="ibtool(1)"),
             Case("net", "ibtool a 'x\ny'", name="ibtool-a", out="\n"),
             Case("fattree", "ibtool a", name="ibtool-a", json=pretty({"command": "a", "schema": 3, "rows": [{"x": 1}]})),
             Case("fattree", "ibtool a -v", name="ibtool-a", json=pretty({"command": "a", "schema": 3, "rows": [{"x": 2}]})),
             Case("fattree", "ibtool a -w", name="ibtool-a", json=pretty({"command": "a", "schema": 3, "rows": [{"x": 2}]})),
             Case("fattree", "ibtool a -x", name="ibtool-a", json="[\n  1\n]\n")]

    def read(self, text):
        return recordings.read(text, "ibtool-a")

    def by_key(self, cases):
        return {case.key(): dataclasses.asdict(case) for case in cases}

    def test_cases_are_read_back(self):
        self.assertEqual(self.by_key(self.read(recordings.text_of(self.CASES))), self.by_key(self.CASES))

    def test_every_text_is_read_back(self):
        chance = random.Random(2)
        for at in range(300):
            texts = ["\n".join(chance.choices(LINES, k=chance.randrange(7))) or None for _ in range(2)]
            case = Case("net", f"ibtool a {at}", name="ibtool-a", out=texts[0], err=texts[1], rc=at % 5)
            self.assertEqual(self.read(recordings.text_of([case])), [case])

    def test_the_order_of_the_cases_does_not_matter(self):
        text = recordings.text_of(self.CASES)
        self.assertEqual(recordings.text_of(self.CASES[::-1]), text)
        self.assertEqual(recordings.text_of(self.read(text)), text)

    def test_what_is_the_same_stands_once(self):
        text = recordings.text_of(self.CASES)
        for once in ("| two", "# why It is right.", ". command: ", ". schema: 3", ".   x: 2"):
            self.assertEqual(text.count(once), 1, once)
        self.assertEqual(text.count("= [net] ibtool a 1\n"), 2)

    def test_a_new_case_has_no_result_yet(self):
        cases = self.read("$ [net] ibtool a\n\n$ [net] ibtool a 1\n| x\nstatus 1\n\n# --json\n\n$ [net] ibtool a\n")
        self.assertEqual([(case.out, case.rc, case.json) for case in cases], [(None, 0, ""), ("x\n", 1, None)])

    def test_what_is_not_of_the_form_is_refused(self):
        one, json_of = "$ [net] a\n", "$ [net] a\n\n# --json\n\n$ [net] a\n"
        for text in ("x\n", "$ ibtool a\n", "$ [] ibtool a\n", "$ [net odd=1] ibtool a\n", "$ [net lmc=x] ibtool a\n", "| x\n",
                     "status 0\n", "+ wait 1\n\n$ [net] a\n", "# because\n", one + "|x\n", one + "| x\n$ [net] b\n", one + "! x\n| x\n",
                     one + "= [net] b\n", one + ". x: 1\n", one + "status x\n", one + "\n# --json\n\n$ [net] b\n. x: 1\n",
                     json_of + ". x 1\n", json_of + ". x: 1, 2\n", json_of + ". x: 01\n", json_of + ". x: 1\n| x\n", json_of + "! x\n"):
            with self.subTest(text), self.assertRaises(ValueError):
                self.read(text)


if __name__ == "__main__":
    unittest.main(verbosity=2)
