#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Checks the XML definitions and writes the C++ and the reference page made from them.

generate.py [--out DIR] [--headers] [--only NAME]... XML...
Without --out it only checks. Errors go to stderr as `file:line: error: text`; exit code 1.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402
import cpp  # noqa: E402
import model as definitions  # noqa: E402
import reference  # noqa: E402
import registers  # noqa: E402
import tables  # noqa: E402


def outputs(model):
    """The output files: name → function that makes the text."""
    out = {f"{ns}.hpp": (lambda ns=ns: cpp.header(model, ns)) for ns in cpp.namespaces(model)}
    out["codec.cpp"] = lambda: cpp.codec(model)
    out["tables.cpp"] = lambda: tables.tables(model)
    out["round_trip.cpp"] = lambda: cpp.round_trip(model)
    out["reference.md"] = lambda: reference.page(model)
    return out


def write_if_changed(path, text):
    """Writes `text` unless the file has it already, so that files that include it are not compiled again."""
    try:
        with open(path, encoding="utf-8") as f:
            if f.read() == text:
                return
    except OSError:
        pass
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--only", action="append", default=[], help="write this output; without it and --headers, all")
    parser.add_argument("--headers", action="store_true", help="write the headers")
    parser.add_argument("xml", nargs="+")
    options = parser.parse_args()
    try:
        model = definitions.read(options.xml)
        check.check(model)
        registers.add_heads(model)
    except definitions.Bad as e:
        print(e, file=sys.stderr)
        return 1
    if options.out:
        made = outputs(model)
        wanted = options.only + [name for name in made if options.headers and name.endswith(".hpp")]
        for name in wanted or made:
            write_if_changed(os.path.join(options.out, name), made[name]())
    return 0


if __name__ == "__main__":
    sys.exit(main())
