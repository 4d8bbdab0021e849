#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the compiler does not check: the order of the layers, licence lines, file lengths, stray characters.

    check.py layers|style [SOURCE]

layers: a file includes its own or a lower layer only, and no command includes another command (smpquery_tables.cpp
        belongs to smpquery).
style:  every source file names its licence in the first lines, has no tabs, trailing blanks or lines over 140 columns,
        ends with a newline, and is at most 500 lines long (XML may be longer and wider, manual pages wider); clang-format agrees
        where it is installed.
Each complaint is one line `file:line: text`.
"""
import os
import re
import shutil
import subprocess
import sys

# The layers of lib/ and their height; what is on one height is mutually invisible. out knows the types of iba,
# and mad has a channel over verbs.
LEVELS = {"base": 0, "iba": 1, "iba-gen": 1, "async": 1, "out": 1.5, "sys": 2, "path": 3, "verbs": 3.5, "mad": 4, "sa": 5, "subnet": 6,
          "formats": 7, "routing": 7, "snapshot": 7, "tools": 8}
LICENCE = "SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB"
LONGEST_FILE, LONGEST_LINE = 500, 140
# Files that are data, or whose text is not ours.
EXEMPT = re.compile(r"^(LICENSE|subprojects/.*|.*\.(net|guid2lid|jsonl|json|csv|txt|out|map|conf|md)|tests/.*/data/.*|tests/golden/ours/.*"
                    r"|tests/.*/inputs/.*|\.git.*|debian/.*|meson_options\.txt)$")
CXX = (".hpp", ".cpp")


def files(source):
    """The project's files: what git knows, or where there is no git all but what tools made."""
    command = ["git", "-C", source, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    known = subprocess.run(command, capture_output=True, check=False).stdout if shutil.which("git") else b""
    if known:
        names = known.decode().split("\0")
    else:
        names = [os.path.relpath(os.path.join(where, name), source) for where, directories, found in os.walk(source) for name in found
                 if not re.search(r"(^|/)(build[^/]*|\.git|__pycache__)(/|$)", os.path.relpath(where, source))]
    return sorted(name for name in names if name and os.path.isfile(os.path.join(source, name)))


def layer(path):
    """The layer that a file belongs to, or None."""
    match = re.match(r"(?:lib/(?P<lib>[\w-]+)|(?P<tools>tools))/", path)
    return (match["lib"] or match["tools"]) if match else None


def check_layers(source):
    for path in files(source):
        mine = layer(path)
        if mine is None or not path.endswith(CXX):
            continue
        if mine not in LEVELS:
            yield f"{path}:1: layer {mine} has no place in tests/lint/check.py"
            continue
        with open(os.path.join(source, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = re.match(r'\s*#\s*include\s*"([^"]+)"', line)
                if match:
                    complaint = judge(path, mine, match[1])
                    if complaint:
                        yield f"{path}:{number}: {complaint}"


def judge(path, mine, included):
    """What is wrong with including this, or None."""
    if mine == "tools":
        own, other = (os.path.splitext(name)[0].split("/")[-1] + "_" for name in (path, included))
        if path.startswith("tools/cmd/") and "cmd/" in included and not own.startswith(other):
            return f"a command includes another: {included}"
        return None
    other = included.split("/")[0] if "/" in included else None
    if other is None:
        return f'includes are relative to lib/: "{mine}/{included}"'
    if other not in LEVELS:
        return f"{included} is in no known layer"
    if {mine, other} <= {"iba", "iba-gen"}:
        return None
    if other != mine and LEVELS[other] >= LEVELS[mine]:
        return f"{mine} must not include {other} "
    return None


def check_style(source):
    cxx = []
    for path in files(source):
        if EXEMPT.match(path):
            continue
        with open(os.path.join(source, path), "rb") as file:
            data = file.read()
        if not data:
            continue
        try:
            text = data.decode()
        except UnicodeDecodeError as error:
            yield f"{path}:{data[:error.start].count(10) + 1}: not UTF-8"
            continue
        yield from complaints(path, text)
        if path.endswith(CXX):
            cxx.append(path)
    yield from clang_format(source, cxx)


def complaints(path, text):
    lines = text.split("\n")
    if LICENCE not in "\n".join(lines[:4]):
        yield f"{path}:1: no licence line"
    xml = path.endswith(".xml")
    if len(lines) > LONGEST_FILE + 1 and not xml:
        yield f"{path}:{LONGEST_FILE + 1}: {len(lines) - 1} lines, more than {LONGEST_FILE}"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield f"{path}:{len(lines)}: ends without a newline, or with empty lines"
    for number, line in enumerate(lines, 1):
        if "\t" in line and not path.startswith("man/"):  # manual pages show what is printed
            yield f"{path}:{number}: a tab"
        if line != line.rstrip():
            yield f"{path}:{number}: blanks at the end"
        if len(line) > LONGEST_LINE and not xml and not path.startswith("man/"):
            yield f"{path}:{number}: {len(line)} columns, more than {LONGEST_LINE}"


def clang_format(source, paths):
    program = shutil.which("clang-format-14") or shutil.which("clang-format")
    if not program:
        print("clang-format is not installed: not asked")
        return
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    if " 14." not in version:
        print(f"clang-format 14 is the judge, this is {version.strip()}: not asked")
        return
    done = subprocess.run([program, "--dry-run", *paths], cwd=source, capture_output=True, text=True, check=False)
    yield from re.findall(r"^\S+?:\d+:\d+: .*", done.stderr, re.MULTILINE)


def main():
    what = sys.argv[1]
    source = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    found = list({"layers": check_layers, "style": check_style}[what](source))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
