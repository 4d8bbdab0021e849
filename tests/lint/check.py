#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the compiler does not check: the order of the layers, licence lines, file lengths, stray characters.

    check.py layers|style [SOURCE]

layers: a file includes its own or a lower layer only. In tools/ these are frame/, shared/ and the rooms of the commands, of which
        none includes another. The environment, the clocks and the standard streams are used by World and the clock only. No text in
        lib/ has a command line of ibtool.
style:  every source file names its licence in the first lines, has no tabs, trailing blanks or lines over 140 columns,
        ends with a newline, and is at most 500 lines long (XML and manual pages may be longer and wider); what uses fmt::join
        includes its header; clang-format agrees where it is installed.
Each complaint is one line `file:line: text`. A rule that judged no file is a complaint, too: its folder has moved.
"""
import os
import re
import shutil
import subprocess
import sys

# The layers of lib/ and their height; what is on one height is mutually invisible. report knows the types of iba,
# and mad has a channel over verbs. A layer that is not there yet has its height already. pch has the precompiled header: what is below
# it changes seldom enough to stand there.
LEVELS = {"base": 0, "iba": 1, "iba-gen": 1, "async": 1, "report": 1.5, "http": 2, "sys": 2, "path": 3, "pch": 3.5, "verbs": 3.5,
          "mad": 4, "sa": 5, "subnet": 6, "formats": 7, "counters": 7, "routing": 7, "phy": 7,
          "health": 8, "metrics": 8, "snapshot": 8}
# The folders of tools/ that are not the room of a command; main.cpp is above all rooms.
FRAME, SHARED, MAIN, PCH = "tools/frame", "tools/shared", "tools/main.cpp", "tools/pch"
TOOLS_RULES = {FRAME: {FRAME}, SHARED: {FRAME, SHARED}, MAIN: {FRAME}, PCH: {FRAME}}
PCH_OF_LIB = "../../lib/pch/lib.h"  # as the one of tools/ includes it, and nothing else does
# What a run has from outside comes from World, and time from the clock of its loop.
OUTSIDE = re.compile(r"\b(?:secure_)?getenv\b|\benviron\b|\bstd(?:in|out|err)\b|\bstd::(?:cin|cout|cerr|clog)\b|\b(?:perror|puts|putchar)\("
                     r"|\bstd::printf\(|\b(?:system|steady|high_resolution)_clock::now\b|\b(?:clock_gettime|gettimeofday)\b"
                     r"|(?<![\w.>])(?:std::)?time\((?:nullptr|NULL|0|&\w+)\)")
OUTSIDE_HOMES = {"tools/frame/world.hpp", "tools/frame/world.cpp", "lib/async/clock.hpp",
                 "lib/sys/sysfs.cpp"}  # SYSFS_PATH, which libibverbs reads by itself: both must see one tree
# lib/ does not know what a program calls an action. A file that was made by a command may name this command.
COMMAND_LINE = re.compile(r'"(?:\\.|[^"\\])*\bibtool (?:-|(?:(?!is\b)[a-z_]+))(?:\\.|[^"\\])*"')
COMMAND_LINE_HOMES = {"lib/snapshot/cache.cpp", "lib/snapshot/stored_fabric.cpp", "lib/sys/device.cpp"}
LICENCE = "SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB"
LONGEST_FILE, LONGEST_LINE = 500, 140
# Files that are data, or whose text is not ours.
EXEMPT = re.compile(r"^(LICENSE|subprojects/.*|.*\.(net|guid2lid|jsonl|json|csv|txt|out|map|conf|md)|tests/.*/data/.*|tests/golden/ours/.*"
                    r"|tests/.*/inputs/.*|tools/completion/(ibtool\.\w+|_ibtool)|\.git.*|debian/.*|meson_options\.txt)$")
CXX = (".hpp", ".h", ".cpp")


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


def home(path):
    """What a file of lib/ or tools/ belongs to: lib/LAYER, tools/ROOM, or itself if it is in no folder there."""
    words = path.split("/")
    return "/".join(words[:2])


def rule_of(place):
    """The rule by which the files of a place are judged."""
    return "lib" if place.startswith("lib/") else place if place in TOOLS_RULES else "rooms"


def check_layers(source):
    judged = dict.fromkeys(["lib", *TOOLS_RULES, "rooms"], 0)
    known = files(source)
    made = {path[:-len(".in")] for path in known if path.endswith(".hpp.in")}  # headers that Meson makes
    for path in known:
        if not path.endswith(CXX) or not path.startswith(("lib/", "tools/")):
            continue
        place = home(path)
        if place == path and path != MAIN or place.startswith("lib/") and place[len("lib/"):] not in LEVELS:
            yield f"{path}:1: {place} has no place in tests/lint/check.py"
            continue
        judged[rule_of(place)] += 1
        with open(os.path.join(source, path), encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                match = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
                complaint = (match and judge(place, match[1] or match[2], match[1] is not None, made) or judge_seam(path, line)
                             or judge_words(path, line))
                if complaint:
                    yield f"{path}:{number}: {complaint}"
    for rule, count in judged.items():
        if count == 0:
            yield f"tests/lint/check.py:1: the rule for {rule} judged no file"


def judge(place, included, quoted, made):
    """What is wrong with a file of this place including that, or None. What is quoted is the project's, and nothing else is."""
    if place == PCH and quoted and included == PCH_OF_LIB:
        return None
    first = included.split("/")[0]
    if (first in LEVELS or first == "tools") and included.endswith(".hpp"):
        if not quoted:
            return f'the project\'s own headers stand in "": <{included}>'
    else:
        return f'no path from lib/ or from the root: "{included}"' if quoted else None
    if place.startswith("lib/"):
        return judge_layer(place[len("lib/"):], first)
    if first != "tools":
        return None
    other = home(included)
    if other == included:  # a header that Meson makes of one in a folder of tools/, and puts into tools/
        other = next((home(path) for path in made if path.split("/")[-1] == included.split("/")[-1]), included)
    if other in TOOLS_RULES.get(place, {FRAME, SHARED, place}):
        return None
    return f"{place} must not include {other}"


def judge_seam(path, line):
    """What is wrong with a line of C++ that reaches outside, or None."""
    code = re.sub(r'"(?:\\.|[^"\\])*"|//.*', "", line)
    match = path not in OUTSIDE_HOMES and OUTSIDE.search(code)
    return f"{match[0].strip('(')} only through World or the loop's clock" if match else None


def judge_words(path, line):
    """What is wrong with the texts in a line of C++ in lib/, or None."""
    if not path.startswith("lib/") or path in COMMAND_LINE_HOMES or line.lstrip().startswith("//"):
        return None
    return "a command line in lib/: the tools have its words" if COMMAND_LINE.search(line) else None


def judge_layer(mine, other):
    """The same for two layers of lib/, or a layer and tools."""
    if other == mine or {mine, other} == {"iba", "iba-gen"}:
        return None
    if other == "tools" or LEVELS[other] >= LEVELS[mine]:
        return f"{mine} must not include {other}"
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
    is_long = path.endswith(".xml") or path.startswith("man/pages/")
    if len(lines) > LONGEST_FILE + 1 and not is_long:
        yield f"{path}:{LONGEST_FILE + 1}: {len(lines) - 1} lines, more than {LONGEST_FILE}"
    if not text.endswith("\n") or text.endswith("\n\n"):
        yield f"{path}:{len(lines)}: ends without a newline, or with empty lines"
    joins = next((number for number, line in enumerate(lines, 1) if "fmt::join(" in line), 0)
    if path.endswith(CXX) and joins and "#include <fmt/ranges.h>" not in lines:
        yield f"{path}:{joins}: fmt::join stands in <fmt/ranges.h> from fmt 11 on"
    for number, line in enumerate(lines, 1):
        if "\t" in line and not path.startswith("man/"):  # manual pages show what is printed
            yield f"{path}:{number}: a tab"
        if line != line.rstrip():
            yield f"{path}:{number}: blanks at the end"
        if len(line) > LONGEST_LINE and not is_long:
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


def report(what, arguments):
    """Prints the complaints about a tree, this one if no other is named. The exit status."""
    source = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    found = list(what(source))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(report({"layers": check_layers, "style": check_style}[sys.argv[1]], sys.argv[2:]))
