# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Names of nodes are what somebody wrote into a NodeDescription. Completed at a terminal, in whatever quotes, each of them is one word of
the command, and nothing of it is run."""
import os
import re
import shutil
import sys
import unittest

from shells import ShellCase

# By what is typed of each: its beginning.
NAMES = {"Z00": "Z00$(touch pwn)", "Z01": "Z01`touch pwn`", "Z02": "Z02; touch pwn;", "Z03": "Z03'; touch pwn; '",
         "Z04": 'Z04"; touch pwn; "', "Z05": "Z05\\$(touch pwn)\\", "Z06": "Z06!!!touch", "Z07": "Z07\\ntouch pwn\\n",
         "Z08": "Z08*?[a-z]*", "Z09": "Z09 ~ ~root ~", "~Z10": "~Z10$(touch pwn)", "Z11": "Z11 && touch pwn || touch pwn & touch pwn",
         "Z12": "Z12|touch pwn|", "Z13": "Z13>pwn <pwn", "Z14": "Z14{a,b}{touch pwn}", "'Z15": "'Z15$(touch pwn)'$(touch pwn)",
         '"Z16': '"Z16$(touch pwn)"$(touch pwn)', "!Z17": "!Z17!$(touch pwn)!", "Z18": "Z18(touch pwn)=(touch pwn)",
         "Z19": "Z19 # %n $'\\n' ${IFS}", "Z20": "Z20 e$(touch pwn)", "Z21": "Z21='$(touch pwn)':`touch pwn`@x",
         "Z22": "Z22''\"\"''$(touch pwn)''", "Z23": "Z23=~root:~", "Z24": "Z24[a]=[ ", "`Z25": "`Z25`touch pwn`",
         "$Z26": "$Z26$Z26", "\\Z27": "\\Z27\\'\\\"\\"}
# Two that begin alike: what they share is put in, and the quote stays open.
ALIKE = {"Y0": ("Y0$(touch pwn)a", "Y0$(touch pwn)b"), "Y1": ("Y1`touch pwn` `a", "Y1`touch pwn` `b"),
         "Y2": ("Y2'\"$(touch pwn)\"'a", "Y2'\"$(touch pwn)\"'b")}


def bare(text, _):
    return re.sub(r"([^\w])", r"\\\1", text)


def in_double_quotes(text, shell):
    text = re.sub(r'([\\"$`])' if shell != "fish" else r'([\\"$])', r"\\\1", text)
    return '"' + text.replace("!", {"bash": '"\\!"', "zsh": "\\!", "fish": "!"}[shell])


def in_single_quotes(text, shell):
    if shell == "fish":
        text = text.replace("\\", "\\\\")
    return "'" + text.replace("'", "\\'" if shell == "fish" else "'\\''")


def in_dollar_quotes(text, _):
    return "$'" + text.replace("\\", "\\\\").replace("'", "\\x27").replace("!", "\\x21")


class HostileNames(ShellCase):
    def check(self, shell, *quotings):
        self.needs(shell)
        stored = self.store_names(*NAMES.values(), *(name for pair in ALIKE.values() for name in pair), "-K$(touch pwn)")
        terminal = self.open_terminal(shell, IBTOOL_FROM=stored)
        wrong = []
        for at, quote in enumerate(quotings):
            closing = {bare: "", in_double_quotes: '"'}.get(quote, "'")
            # Each takes half a second: all names where no quote is open, every third one in each kind of quotes.
            names = list(NAMES.items()) if quote is bare else list(NAMES.items())[at % 3::3]
            for typed, name in names:
                if shell == "zsh" and quote in (in_single_quotes, in_dollar_quotes) and typed[0] in "'!":
                    continue  # it offers nothing behind such a beginning
                line = f"ibtool smpquery NI {quote(typed, shell)}\t"
                words = terminal.words(line)
                if words != ["smpquery", "NI", name]:
                    wrong.append((line, words, name))
                self.assertFalse(os.path.exists(os.path.join(terminal.directory, "pwn")), line)
            for typed, names in ALIKE.items():
                line = f"ibtool smpquery NI {quote(typed, shell)}\t{closing}"
                words = terminal.words(line)
                if words != ["smpquery", "NI", os.path.commonprefix(names)]:
                    wrong.append((line, words, os.path.commonprefix(names)))
                self.assertFalse(os.path.exists(os.path.join(terminal.directory, "pwn")), line)
        self.assertEqual(wrong, [])

    def test_bash(self):
        self.check("bash", bare, in_double_quotes, in_single_quotes, in_dollar_quotes)

    def test_zsh(self):
        self.check("zsh", bare, in_double_quotes, in_single_quotes, in_dollar_quotes)

    def test_fish(self):
        self.check("fish", bare, in_double_quotes, in_single_quotes)


if __name__ == "__main__":
    if not shutil.which("bash"):
        print("skipped, not installed: bash")
        sys.exit(1 if os.environ.get("IBTEST_NO_SKIP") else 77)
    unittest.main(verbosity=2)
