#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What makes a program slow to start, and is seen in its file: libraries that it loads, and tables that the loader has to relocate.

    check_start.py PROGRAM OBJECTS LIBRARY…

PROGRAM loads no other libraries than those whose names begin as LIBRARY… do, and next to nothing is relocated in the generated tables of
descriptors, whose object is alone in the directory OBJECTS. Each complaint is one line.
"""
import glob
import os
import re
import subprocess
import sys

# The places of the tables themselves; there were 13,000 when the tables held pointers.
MOST_RELOCATIONS = 100


def readelf(what, path):
    return subprocess.run(["readelf", "-W", what, path], capture_output=True, text=True, check=True).stdout


def main():
    program, objects, allowed = sys.argv[1], sys.argv[2], tuple(sys.argv[3:])
    tables, = glob.glob(os.path.join(glob.escape(objects), "*.o"))
    loaded = re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", program))
    complaints = [f"{program} loads {name}" for name in loaded if not name.startswith(allowed)]
    if not loaded:
        complaints.append(f"{program} loads nothing at all")
    sections = re.findall(r"Relocation section '(\.rela?\.\S+)' at offset \S+ contains (\d+) entr", readelf("-r", tables))
    if not sections:
        complaints.append(f"{tables} has no relocations at all")
    for section, count in sections:
        if "data" in section and "rodata" not in section and int(count) > MOST_RELOCATIONS:
            complaints.append(f"{tables}: {count} relocations in {section}, more than {MOST_RELOCATIONS}")
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
