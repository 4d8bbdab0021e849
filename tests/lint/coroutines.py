#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The rules for expressions with co_await, which g++ 12 compiles wrongly or which read as what they are not.

    coroutines.py [SOURCE]

R1  No braces with values in the operand of a co_await: g++ 12 destroys the aggregate twice if a member has a destructor. Name it first.
R5  No co_await in braces that initialise something, or in a test's assertion, which Catch2 may evaluate several times.
R7  No structured binding of a co_await: bind the result first.
Each complaint is one line `file:line: text`. That no co_await was judged is a complaint, too.
"""
import os
import re
import sys

import check

OPEN, CLOSE = "([{", ")]}"
# What stands before the brace of a block; before any other brace stands what is initialised.
BLOCK = re.compile(r"(?:[;{}):\]]|\b(?:else|do|try|const|noexcept|mutable|override|final))$")
RETURN_TYPE = re.compile(r"->\s*[\w:<>,\s*&]+$")  # of a lambda
ASSERTION = re.compile(r"\b(?:CHECK|REQUIRE)\w*$")
BINDING = re.compile(r"\bauto\s*&{0,2}\s*\[[^\]]*\]\s*=\s*$")


def blank(match):
    """As many blanks and line ends as the text has."""
    return re.sub(r"[^\n]", " ", match[0])


def code_of(text):
    """The text without comments, and with empty strings; each character stands where it stood."""
    text = re.sub(r"//[^\n]*|/\*.*?\*/|R\"(\w*)\(.*?\)\1\"|'(?:\\.|[^'\\\n]){1,4}'", blank, text, flags=re.DOTALL)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', blank, text)


def is_block(before):
    """Whether a brace behind this text begins a block of statements."""
    before = before.rstrip()
    return bool(BLOCK.search(before) or RETURN_TYPE.search(before[-200:]))


def matching(code, at):
    """Where the bracket that opens at `at` closes, or the end."""
    depth = 0
    for end in range(at, len(code)):
        depth += (code[end] in OPEN) - (code[end] in CLOSE)
        if depth == 0:
            return end
    return len(code)


def has_value_in_braces(code, at):
    """Whether the operand that begins at `at` has braces with something in them that are not a block."""
    while at < len(code) and code[at] not in ";" + CLOSE:
        if code[at] == "{":
            end = matching(code, at)
            if is_block(code[:at]):
                at = end  # the body of a lambda has statements of its own; behind if (co_await f()) the operand is over
            elif code[at + 1:end].strip():
                return True
        if code[at] in "([":
            end = matching(code, at)
            if has_value_in_braces(code, at + 1):
                return True
            at = end
        at += 1
    return False


def complaints(code):
    """(offset, what is wrong) of each co_await that breaks a rule, and (offset, None) of the others."""
    opened = []  # where the brackets around the place opened
    at = 0
    for token in re.finditer(r"[()\[\]{}]|(?<!operator )\bco_await\b", code):
        at = token.start()
        if token[0] in OPEN:
            opened.append(at)
        elif token[0] in CLOSE:
            del opened[-1:]
        else:
            yield at, complaint(code, at, opened)


def complaint(code, at, opened):
    around = []
    for bracket in reversed(opened):
        if code[bracket] == "{" and is_block(code[:bracket]):
            break
        around.append(bracket)
    if any(code[bracket] == "{" for bracket in around):
        return "R5: a co_await in braces: name its result first"
    if any(ASSERTION.search(code[:bracket].rstrip()) for bracket in around):
        return "R5: a co_await in an assertion: name its result first"
    if BINDING.search(code[:at]):
        return "R7: a structured binding of a co_await: bind its result to one name first"
    if has_value_in_braces(code, at + len("co_await")):
        return "R1: braces with values in the operand of a co_await: name the value first"
    return None


def check_coroutines(source):
    judged = 0
    for path in check.files(source):
        if not path.endswith(check.CXX) or not path.startswith(("lib/", "tools/", "tests/")):
            continue
        with open(os.path.join(source, path), encoding="utf-8") as file:
            code = code_of(file.read())
        for at, text in complaints(code):
            judged += 1
            if text:
                yield f"{path}:{code.count(chr(10), 0, at) + 1}: {text}"
    if judged == 0:
        yield "tests/lint/coroutines.py:1: no co_await was judged"


if __name__ == "__main__":
    sys.exit(check.report(check_coroutines, sys.argv[1:]))
