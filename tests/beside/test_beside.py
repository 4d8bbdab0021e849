# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Debian's infiniband-diags and ours print the same on fabrics of all sorts, on stdout and stderr, but for what differences.txt lists.

All lines of lines.txt but those marked `hand` run on two fabrics, those marked `each` on all. A difference that is not listed fails, and
so does a listed one that is no longer there. Words on the command line are names of fabrics: only those run."""
import os
import re
import sys
import unittest
from dataclasses import dataclass, field

import beside
import simfabric

DIFFERENCES = os.path.join(beside.HERE, "differences.txt")
WHOLE = ("mixed", "states")
STEP = int(os.environ.get("IBTEST_GOLDEN_STEP", "1"))  # where each run takes long, under sanitizers: every so many lines


@dataclass
class Difference:
    """A block of differences.txt: why, the (fabric, line) that differ, and expressions for lines of their diff, `-` Debian's, `+` ours.
    The fabric `*` is each one on which the line runs; the line `*` is any line, of which one at least differs."""
    why: str = ""
    places: list = field(default_factory=list)
    expressions: list = field(default_factory=list)

    def is_about(self, fabric, line):
        return any(there in ("*", fabric) and which in ("*", line) for there, which in self.places)


def read(text):
    """The blocks of a text like differences.txt."""
    blocks = []
    for block in re.split(r"\n\s*\n", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)):
        found = Difference()
        for line in block.strip("\n").split("\n"):
            word, _, rest = line.partition(" ")
            if word == "why":
                found.why = rest
            elif word == "on":
                fabrics, _, command = rest.partition(" ")
                found.places += [(fabric, command) for fabric in fabrics.split(",")]
            elif line[:1] in ("-", "+"):
                found.expressions.append(re.compile(re.escape(line[0]) + line[1:]))
            else:
                found.why += " " + line.strip()
        blocks.append(found)
    return blocks


class Judge:
    """Takes the differences that are found, and says what is wrong with them, and in the end with the list."""

    def __init__(self, listed):
        self.listed = listed
        self.seen = {}  # (fabric, line) → whether it differed
        self.crashed = set()  # lines of which this release of Debian's program crashes
        self.used = set()

    def judge(self, fabric, line, changed):
        """The lines of a diff that no block allows."""
        about = [block for block in self.listed if block.is_about(fabric, line)]
        self.seen[fabric, line] = bool(changed)
        left = []
        for text in changed:
            allowing = [(block, expression) for block in about for expression in block.expressions if expression.fullmatch(text)]
            self.used.update((id(block), what) for block, expression in allowing for what in (expression, fabric))
            if not allowing:
                left.append(text)
        return left

    def stale(self):
        """What the list names and did not appear, after all lines ran on all fabrics."""
        for block in self.listed:
            if block.places and {line for _, line in block.places} <= self.crashed:
                continue
            for fabric, line in block.places:
                ran = [place for place in self.seen if fabric in ("*", place[0]) and line in ("*", place[1])]
                if not ran and line not in self.crashed:
                    yield f"{fabric} {line}: does not run"
                elif line == "*" and (id(block), fabric) not in self.used:
                    yield f"{fabric}: no line differs any more: {block.why}"
                yield from (f"{there} {which}: is the same now" for there, which in ran if line != "*" and not self.seen[there, which])
            yield from (f"{expression.pattern}: matches nothing" for expression in block.expressions
                        if (id(block), expression) not in self.used)


def fabrics():
    """The files of the fabrics, by name."""
    names = sorted(name[:-len(".net")] for name in os.listdir(beside.HERE) if name.endswith(".net"))
    return {name: os.path.join(beside.HERE, name + ".net") for name in names}


class Beside(unittest.TestCase):
    maxDiff = None
    only = ()

    def test_what_differs_is_listed_and_what_is_listed_differs(self):
        with open(DIFFERENCES, encoding="utf-8") as file:
            judge = Judge(read(file.read()))
        for name, netfile in fabrics().items():
            if not self.only or name in self.only:
                self.run_on(name, netfile, judge)
        if STEP == 1 and not self.only:
            self.assertEqual(list(judge.stale()), [])

    @staticmethod
    def differences(bench, words):
        """What differs; a program of Debian's that crashes, which some do at times, runs again."""
        for _ in range(3):
            found = bench.differences(words, with_stderr=True, context=0)
            if found is not None:
                return found
        return ["-does not end, or crashes"]

    def run_on(self, name, netfile, judge):
        lines = [line for mark, line in beside.lines_of_file() if mark == "each" or mark == "" and name in WHOLE]
        with beside.Bench(netfile) as bench:
            for line in lines[::STEP]:
                words = beside.fill(line, bench.values)
                if words is None:
                    continue
                if simfabric.crashes(words):
                    judge.crashed.add(line)
                    continue
                found = self.differences(bench, words)
                left = judge.judge(name, line, [text for text in found if text[:1] in ("-", "+")])
                with self.subTest(fabric=name, line=line):
                    self.assertEqual(left, [], "\n".join(found[:40]))


class Judging(unittest.TestCase):
    """The judge itself."""
    LIST = "# no\nwhy A reason\n  of two lines.\non mixed ibstat\non * ibaddr\n-theirs \\d+\n+ours\n\nwhy Any.\non chassis *\n-slot\n"

    def judge(self, *found):
        judge = Judge(read(self.LIST))
        left = [judge.judge(*each) for each in found]
        return left, list(judge.stale())

    def test_what_is_listed_passes(self):
        both = ["-theirs 1", "+ours"]
        self.assertEqual(read(self.LIST)[0].why, "A reason of two lines.")
        self.assertEqual(self.judge(("mixed", "ibstat", both), ("mixed", "ibaddr", both), ("chassis", "ibaddr", [*both, "-slot"]),
                                    ("mixed", "sminfo", [])), ([[], [], [], []], []))

    def test_what_is_not_listed_is_named(self):
        left, _ = self.judge(("states", "ibstat", ["+ours"]), ("mixed", "ibstat", ["-ours", "+ours more", "+ours"]),
                             ("mixed", "ibaddr", ["-slot"]))
        self.assertEqual(left, [["+ours"], ["-ours", "+ours more"], ["-slot"]])

    def test_what_crashes_is_not_stale(self):
        judge = Judge(read("why A crash.\non * ibtracert -m 1\n-theirs\n"))
        self.assertEqual(list(judge.stale()), ["* ibtracert -m 1: does not run", "\\-theirs: matches nothing"])
        judge.crashed.add("ibtracert -m 1")
        self.assertEqual(list(judge.stale()), [])

    def test_what_is_the_same_now_is_named(self):
        both = ["-theirs 1", "+ours"]
        for found, said in (([("mixed", "ibstat", []), ("mixed", "ibaddr", both)], "mixed ibstat: is the same now"),
                            ([("mixed", "ibstat", both), ("mixed", "ibaddr", both), ("states", "ibaddr", [])],
                             "states ibaddr: is the same now"),
                            ([("mixed", "ibstat", both)], "* ibaddr: does not run"),
                            ([("mixed", "ibstat", ["+ours"]), ("mixed", "ibaddr", ["+ours"])], "\\-theirs \\d+: matches nothing"),
                            ([("mixed", "ibstat", both), ("chassis", "ibaddr", both)], "chassis: no line differs any more: Any.")):
            with self.subTest(said):
                self.assertIn(said, self.judge(*found)[1])


if __name__ == "__main__":
    Beside.only = tuple(word for word in sys.argv[1:] if not word.startswith("-"))
    simfabric.run_tests(argv=sys.argv[:1])
