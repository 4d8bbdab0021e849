# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The scripts of `ibtool completion` in the shells themselves: bash completes what is typed, with nothing of the package bash-completion;
zsh and fish read their scripts, and fish completes. A shell that is not installed is a skipped test, which says so."""
import os
import re
import shlex
import shutil
import sys
import unittest

from shells import ShellCase


class Shells(ShellCase):
    # -- bash --------------------------------------------------------------------------------------------------------
    def reply(self, line, point=None, **env):
        """What bash would offer for the line, with the cursor at `point`."""
        point = len(line) if point is None else point
        script = (f". {shlex.quote(self.script('bash'))}; COMP_LINE={shlex.quote(line)} COMP_POINT={point}; "
                  'COMP_WORDBREAKS=$\' \\t\\n"\\\'@><=;|&(:\'; _ibtool; printf "%s\\n" "${COMPREPLY[@]}"')
        return [word for word in self.run_shell(["bash", "--norc", "--noprofile", "-c", script], **env).split("\n") if word]

    def test_bash_words(self):
        self.assertEqual(self.reply("ibtool ibsw"), ["ibswitches", "ibswportwatch"])
        self.assertEqual(self.reply("ibtool smpquery --tim"), ["--timeout="])
        self.assertEqual(self.reply("ibtool smpquery Po"), ["PortInfo", "PortInfoExtended"])
        self.assertEqual(self.reply("ibtool ibsw foo", point=len("ibtool ibsw")), ["ibswitches", "ibswportwatch"])
        self.assertEqual(self.reply("ibtool nosuch "), [])
        self.assertIn("smpquery", self.reply("ibtool "))

    def test_bash_replaces_what_is_behind_the_last_break(self):
        self.assertEqual(self.reply("ibtool ibnetdiscover --discovery=D"), ["DR"])
        self.assertEqual(self.reply("ibtool ibnetdiscover --discovery="), ["LID", "DR", "SA"])
        self.assertEqual(self.reply("ibtool query SubnGet SMPPortInfo -f linkWidthA"), ["linkWidthActive="])
        self.assertEqual(self.reply("ibtool query SubnGet SMPPortInfo --field=linkWidthA"), ["linkWidthActive="])

    def test_bash_files(self):
        with open(os.path.join(self.dir, "a snapshot.ibss"), "w", encoding="ascii"):
            pass
        self.assertEqual(self.reply("ibtool smpquery --from a"), ["a snapshot.ibss"])
        self.assertEqual(self.reply("ibtool smpquery --from=a"), ["a snapshot.ibss"])

    def test_bash_quotes_names(self):
        env = {"IBTOOL_FROM": self.store_names()}
        names = ["MF0;leaf@1:SB7800/U1", "host with blanks", "it's here"]
        self.assertEqual(sorted(self.reply("ibtool smpquery NI ", **env)), sorted(re.sub(r"([; '])", r"\\\1", name) for name in names))
        self.assertEqual(self.reply(r"ibtool smpquery NI MF0\;leaf@1:SB", **env), ["SB7800/U1"])
        self.assertEqual(self.reply(r"ibtool smpquery NI host\ wi", **env), [r"host\ with\ blanks"])
        self.assertEqual(self.reply("ibtool smpquery NI 'host wi", **env), ["'host with blanks'"])
        self.assertEqual(self.reply("ibtool smpquery NI \"it's", **env), ["\"it's here\""])
        self.assertEqual(self.reply("ibtool smpquery NI 'it'\\''s", **env), ["'s here'"])
        self.assertEqual(self.reply("ibtool smpquery NI hos't wi", **env), ["'t with blanks'"])

    def test_bash_offers_nothing_where_it_can_not_know(self):
        env = {"IBTOOL_FROM": self.store_names()}
        for line in ("ibtool smpquery NI $HOS", "ibtool smpquery NI \"$(h", "ibtool smpquery NI `h", "ibtool smpquery NI 'host 'w",
                     "ibtool smpquery NI $'\\x41\\q", "ibtool smpquery NI > h"):
            self.assertEqual(self.reply(line, **env), [], line)

    def test_bash_in_a_terminal(self):
        terminal = self.open_terminal("bash")
        self.assertEqual(terminal.words("ibtool smpq\tPortInfoE\t0 --js\t=li\t"), ["smpquery", "PortInfoExtended", "0", "--json=lines"])

    # -- zsh, fish ---------------------------------------------------------------------------------------------------
    def test_zsh_reads_its_script(self):
        self.needs("zsh")
        self.run_shell(["zsh", "-f", "-n", self.script("zsh")])
        shown = self.run_shell(["zsh", "-f", "-c", f"autoload -U compinit; compinit -u -D; . {shlex.quote(self.script('zsh'))}; "
                                "print -r -- $_comps[ibtool]"])
        self.assertEqual(shown, "_ibtool\n")

    def test_zsh_in_a_terminal(self):
        self.needs("zsh")
        terminal = self.open_terminal("zsh")
        self.assertEqual(terminal.words("ibtool smpq\tPortInfoE\t0 --js\t=li\t"), ["smpquery", "PortInfoExtended", "0", "--json=lines"])

    def test_fish_completes(self):
        self.needs("fish")
        self.run_shell(["fish", "--no-config", "--no-execute", self.script("fish")])
        for line, expected in (("ibtool ibsw", ["ibswitches", "ibswportwatch"]), ("ibtool smpquery Po", ["PortInfo", "PortInfoExtended"]),
                               ("ibtool ibnetdiscover --discovery=D", ["--discovery=DR"])):
            shown = self.run_shell(["fish", "--no-config", "-c", f"source {shlex.quote(self.script('fish'))}; "
                                    f"complete -C {shlex.quote(line)}"])
            self.assertEqual([word.split("\t")[0] for word in shown.splitlines()], expected)


if __name__ == "__main__":
    if not shutil.which("bash"):
        print("skipped, not installed: bash")
        sys.exit(1 if os.environ.get("IBTEST_NO_SKIP") else 77)
    unittest.main(verbosity=2)
