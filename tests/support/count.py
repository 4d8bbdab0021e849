#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Counts test cases in Meson's testlog.json files: prints `N passed, N failed` (and a line `N skipped` before it where some were).

Catch2 and Python's unittest say how many cases they ran; any other test counts as one case. A program that failed
without saying how (a crash, a time limit) counts as one failed case. Ends with status 1 if a case failed or none ran.
"""
import argparse
import json
import os
import re
import sys


def catch2(text):
    """(passed, failed, skipped) of a Catch2 summary, or None."""
    match = re.search(r"All tests passed \(.* in (\d+) test cases?\)", text)
    if match:
        return int(match.group(1)), 0, 0
    match = re.search(r"^test cases:\s*\d+(.*)$", text, re.MULTILINE)
    if not match:
        return None
    found = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|skipped)", match.group(1))}
    return found.get("passed", 0), found.get("failed", 0), found.get("skipped", 0)


def unittest(text):
    """(passed, failed, skipped) of Python's unittest, or None."""
    match = re.search(r"^Ran (\d+) tests? in ", text, re.MULTILINE)
    if not match:
        return None
    ran, tail = int(match.group(1)), text[match.end():]
    found = {word: int(number) for word, number in re.findall(r"(failures|errors|skipped|unexpected successes)=(\d+)", tail)}
    failed = found.get("failures", 0) + found.get("errors", 0) + found.get("unexpected successes", 0)
    skipped = found.get("skipped", 0)
    return max(0, ran - failed - skipped), failed, skipped


def cases(entry):
    """(passed, failed, skipped) of one Meson test."""
    result = entry["result"]
    text = entry.get("stdout", "") + "\n" + entry.get("stderr", "")
    if result == "SKIP":
        return 0, 0, 1
    counts = catch2(text) or unittest(text) or ((1, 0, 0) if result == "OK" else (0, 1, 0))
    if result != "OK" and counts[1] == 0:
        counts = counts[0], 1, counts[2]
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--failures", type=int, default=0, help="failures of other steps, to be added")
    parser.add_argument("log", nargs="*")
    args = parser.parse_args()
    total = [0, args.failures, 0]
    for name in args.log:
        if not os.path.exists(name):
            print(f"{name} is missing: its tests did not run")
            total[1] += 1
            continue
        with open(name, encoding="utf-8") as log:
            for line in log:
                total = [a + b for a, b in zip(total, cases(json.loads(line)))]
    if total[2]:
        print(f"{total[2]} skipped")
    print(f"{total[0]} passed, {total[1]} failed")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main())
