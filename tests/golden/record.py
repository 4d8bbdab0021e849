#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Records anew what ours prints (tests/golden/ours/ and complaints.txt), and shows what changed.

  record.py                   all cases; it takes minutes
  record.py smpquery 'PIR_'   those whose folder or command line one of the regular expressions matches
  record.py --look smpquery   shows what would change, and writes nothing

A new case is a folder with a case.json: {"fabric": "net", "cmd": "ibtool smpquery NI 2"}, and why and man where we differ from
a reference. With an empty file `json` beside it the output of --json is recorded too. Reasons are written by hand. The program
is build/tools/ibtool, or $IBTOOL."""
import argparse
import difflib
import sys

import golden
import simfabric


def text_of(case, part):
    """A part of a case as a list of lines."""
    return (getattr(case, part) or "").split("\n")


def show(before, now):
    """Prints what changed, and returns whether anything did."""
    found = [] if before.rc == now.rc else [f"-status {before.rc}", f"+status {now.rc}"]
    for part in golden.PARTS:
        name = f"{before.name}/{part}"
        found += difflib.unified_diff(text_of(before, part), text_of(now, part), name, name, lineterm="")
    if found:
        print(f"{before.name}: {before.cmd}", *found, sep="\n", flush=True)
    return bool(found)


def folders(cases, args):
    """Records cases of ours/. Returns how many changed, and how many failed."""
    changed, failed = 0, 0
    for case in cases:
        try:
            now = golden.run_ours(case)
        except AssertionError as error:
            print(f"{case.name}: {error}", flush=True)
            failed += 1
            continue
        changed += show(case, now)
        if not args.look:
            now.write()
    return changed, failed


def complaints(cases, args):
    """Records what ours says in cases of recorded.jsonl. Returns how many changed."""
    before = golden.complaints()
    known = {golden.complaint_name(case) for case in golden.recorded() if golden.needs_complaint(case)}
    now = {name: text for name, text in before.items() if name in known}
    for case in cases:
        name = golden.complaint_name(case)
        now[name] = golden.settle(before.get(name), golden.complaint(golden.run(case)))
    changed = [name for name in before.keys() | now.keys() if before.get(name) != now.get(name)]
    for name in sorted(changed):
        print(name, *difflib.ndiff(before.get(name, "").splitlines(), now.get(name, "").splitlines()), sep="\n")
    if changed and not args.look:
        with open(golden.COMPLAINTS, "w", encoding="utf-8") as file:
            file.write("\n\n".join(f"{name}\n{text}" for name, text in sorted(now.items())) + "\n")
    return len(changed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", metavar="REGEX", help="a regular expression on the folder or the command line")
    parser.add_argument("--look", action="store_true", help="write nothing; status 1 if anything would change")
    args = parser.parse_args()
    if simfabric.missing():
        sys.exit("not installed: " + ", ".join(simfabric.missing()))
    cases = [case for case in golden.ours() if golden.matches(case, args.only)]
    failing = [case for case in golden.recorded() if golden.needs_complaint(case) and golden.matches(case, args.only)]
    changed, failed = folders(cases, args)
    changed += complaints(failing, args)
    print(f"{changed} of {len(cases) + len(failing)} cases changed, {failed} could not be recorded")
    return 1 if failed or args.look and changed else 0


if __name__ == "__main__":
    sys.exit(main())
