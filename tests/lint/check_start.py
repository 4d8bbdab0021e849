#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What makes a program slow to start, and is seen in its file: the libraries that it loads.

    check_start.py PROGRAM LIBRARY…

PROGRAM loads no other libraries than those whose names begin as LIBRARY… do. Each complaint is one line.
"""
import re
import subprocess
import sys


def main():
    program, allowed = sys.argv[1], tuple(sys.argv[2:])
    dynamic = subprocess.run(["readelf", "-W", "-d", program], capture_output=True, text=True, check=True).stdout
    loaded = re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)
    complaints = [f"{program} loads {name}" for name in loaded if not name.startswith(allowed)]
    if not loaded:
        complaints.append(f"{program} loads nothing at all")
    for complaint in complaints:
        print(complaint)
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
