#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Records anew what our cases print (tests/golden/ours/), and shows what changed.

  record.py                   all cases; it takes minutes
  record.py smpquery 'json$'  those whose folder or command line one of the regular expressions matches
  record.py --look smpquery   shows what would change, and writes nothing

A new case is a folder with a case.json: {"fabric": "net", "cmd": "ibtool smpquery NI 2"}, and why and man where we differ from a reference. With
an empty file `json` beside it the output of --json is recorded too. Reasons are written by hand. The program is build/tools/ibtool, or $IBTOOL."""
import argparse
import difflib
import sys

import golden
import simfabric


def text_of(case, part):
    """A part of a case as a list of lines."""
    return (getattr(case, part) or "").splitlines()


def show(before, now):
    """Prints what changed, and returns whether anything did."""
    found = [] if before.rc == now.rc else [f"-status {before.rc}", f"+status {now.rc}"]
    for part in golden.PARTS:
        name = f"{before.name}/{part}"
        found += difflib.unified_diff(text_of(before, part), text_of(now, part), name, name, lineterm="")
    if found:
        print(f"{before.name}: {before.cmd}", *found, sep="\n", flush=True)
    return bool(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("only", nargs="*", metavar="REGEX", help="a regular expression on the folder or the command line")
    parser.add_argument("--look", action="store_true", help="write nothing; status 1 if anything would change")
    args = parser.parse_args()
    if simfabric.missing():
        sys.exit("not installed: " + ", ".join(simfabric.missing()))
    cases = [case for case in golden.ours() if golden.matches(case, args.only)]
    changed = 0
    for (name, rmpp), members in golden.by_fabric(cases).items():
        with golden.open_fabric(name, rmpp) as fabric:
            for case in members:
                now = golden.run_ours(fabric, case)
                changed += show(case, now)
                if not args.look:
                    now.write()
    print(f"{changed} of {len(cases)} cases changed")
    return 1 if args.look and changed else 0


if __name__ == "__main__":
    sys.exit(main())
