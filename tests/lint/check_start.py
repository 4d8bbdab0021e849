#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What makes a program slow to start, and is seen in its file: libraries that it loads, and addresses that the loader has to relocate.

    check_start.py PROGRAM LIBRARY…

PROGRAM loads no other libraries than those whose names begin as LIBRARY… do, and the generated tables of descriptors hold no addresses.
Each complaint is one line.
"""
import re
import subprocess
import sys

# There are 11,000; the tables had 13,000 more when they held pointers.
MOST_RELOCATIONS = 16000


def readelf(what, path):
    return subprocess.run(["readelf", "-W", what, path], capture_output=True, text=True, check=True).stdout


def main():
    program, allowed = sys.argv[1], tuple(sys.argv[2:])
    loaded = re.findall(r"\(NEEDED\).*\[(.+)\]", readelf("-d", program))
    complaints = [f"{program} loads {name}" for name in loaded if not name.startswith(allowed)]
    if not loaded:
        complaints.append(f"{program} loads nothing at all")
    relocations = len(re.findall(r"^[0-9a-f]{16}\b", readelf("-r", program), re.MULTILINE))
    if not 0 < relocations <= MOST_RELOCATIONS:
        complaints.append(f"{program} has {relocations} relocations, not 1 to {MOST_RELOCATIONS}")
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
