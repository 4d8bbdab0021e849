#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Records anew what ours prints (tests/golden/ours/ and complaints.txt), and shows what changed.

  record.py                     all cases; it takes minutes
  record.py smpquery 'NI 2$'    those whose file or command line one of the regular expressions matches
  record.py --look smpquery     shows what would change, and writes nothing
  record.py --sort smpquery     runs nothing: writes the files as they are to be written
  record.py --deviations FILE   runs nothing: writes to FILE what differs from a reference, with the reason, a line of JSON a case

A new case is a line `$ [net] ibtool smpquery NI 2` in ours/ibtool-smpquery.txt, between empty lines: below its reason where we differ
from a reference, else at the top. If it stands below `# --json` too, the output of --json is recorded besides. Reasons are written by
hand. recordings.py describes the files. The program is build/tools/ibtool, or $IBTOOL."""
import argparse
import difflib
import itertools
import sys

import golden
import recordings
import simfabric


def text_of(case, part):
    """A part of a case as a list of lines."""
    return (getattr(case, part) or "").split("\n")


def show(before, now):
    """Prints what changed, and returns whether anything did."""
    found = [] if before.rc == now.rc else [f"-status {before.rc}", f"+status {now.rc}"]
    for part in golden.PARTS:
        found += difflib.unified_diff(text_of(before, part), text_of(now, part), part, part, lineterm="")
    if found:
        print(f"{before.name}{recordings.SUFFIX}: {before.title()}", *found, sep="\n", flush=True)
    return bool(found)


def files(cases, args):
    """Records those cases of ours/ that are meant, and writes a file as soon as all of its cases have run. Returns how many were run, how
    many changed, and how many failed."""
    ran, changed, failed = 0, 0, 0
    for _, members in itertools.groupby(cases, lambda case: case.name):
        members = list(members)
        meant = [case for case in members if golden.matches(case, args.only)]
        ran += len(meant)
        for case, recorded in golden.side_by_side(golden.run_ours, meant):
            try:
                now = recorded()
            except AssertionError as error:
                print(f"{case.title()}: {error}", flush=True)
                failed += 1
                continue
            changed += show(case, now)
            members = [now if member is case else member for member in members]
        if not args.look and meant:
            recordings.write_all(members)
    return ran, changed, failed


def complaints(cases, args):
    """Records what ours says in cases of recorded.jsonl. Returns how many changed."""
    before = golden.complaints()
    known = {golden.complaint_name(case) for case in golden.recorded() if golden.needs_complaint(case)}
    now = {name: text for name, text in before.items() if name in known}
    for case, done in golden.side_by_side(golden.run, cases):
        name = golden.complaint_name(case)
        now[name] = golden.settle(before.get(name), golden.complaint(done()))
    changed = [name for name in before.keys() | now.keys() if before.get(name) != now.get(name)]
    for name in sorted(changed):
        print(name, *difflib.ndiff(before.get(name, "").splitlines(), now.get(name, "").splitlines()), sep="\n")
    if changed and not args.look:
        with open(golden.COMPLAINTS, "w", encoding="utf-8") as file:
            file.write("\n\n".join(f"{name}\n{text}" for name, text in sorted(now.items())) + "\n")
    return len(changed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", metavar="REGEX", help="a regular expression on the file or the command line")
    parser.add_argument("--look", action="store_true", help="write nothing; status 1 if anything would change")
    parser.add_argument("--sort", action="store_true", help="only sort the files and write them in their form")
    parser.add_argument("--deviations", metavar="FILE", help="only write what differs from a reference to FILE")
    args = parser.parse_args()
    cases = golden.ours()
    if args.deviations:
        with open(args.deviations, "w", encoding="utf-8") as file:
            file.write(recordings.deviations(case for case in cases if golden.matches(case, args.only)))
        return 0
    if args.sort:
        names = {case.name for case in cases if golden.matches(case, args.only)}
        recordings.write_all([case for case in cases if case.name in names])
        return 0
    if simfabric.missing():
        sys.exit("not installed: " + ", ".join(simfabric.missing()))
    failing = [case for case in golden.recorded() if golden.needs_complaint(case) and golden.matches(case, args.only)]
    ran, changed, failed = files(cases, args)
    changed += complaints(failing, args)
    print(f"{changed} of {ran + len(failing)} cases changed, {failed} could not be recorded")
    return 1 if failed or args.look and changed else 0


if __name__ == "__main__":
    sys.exit(main())
