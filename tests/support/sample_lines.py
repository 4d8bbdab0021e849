# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The sample lines of commands, for what is tested of all of them: the files of tests/lines, whose README says what each property means."""
import glob
import os
import shlex

DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lines")


def read_lines(wanted):
    """The lines of a property as (arguments, words), file by file."""
    for name in sorted(glob.glob(os.path.join(DIRECTORY, "*.txt"))):
        with open(name, encoding="utf-8") as file:
            for line in file:
                head, _, rest = line.rstrip("\n").partition(": ")
                word, *arguments = shlex.split(head)
                if word == wanted:
                    yield arguments, shlex.split(rest)


def sample_lines(wanted, **places):
    """The lines of a property. `{NAME}` in a word is the place of that name."""
    return [(arguments, [word.format(**places) for word in words]) for arguments, words in read_lines(wanted)]


def commands_with(wanted):
    """The commands that have a line of a property."""
    return {words[0] for _, words in read_lines(wanted)}
