# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The scripts of `ibtool completion` in the shells themselves: bash completes what is typed, with nothing of the package bash-completion;
zsh and fish read their scripts, and fish completes. A shell that is not installed is a skipped test, which says so."""
import os
import pty
import re
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(HERE, "..", "..", "build")
IBTOOL = os.path.abspath(os.environ.get("IBTOOL") or os.path.join(BUILD, "tools", "ibtool"))
PROGRAMS = os.path.abspath(os.environ.get("IBTEST_PROGRAMS") or os.path.join(BUILD, "tests", "programs", "ibtest-programs"))


class Shells(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        # The program is called by its name, and there are devices of which sysfs tells.
        cls.dir = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.dir)
        os.symlink(IBTOOL, os.path.join(cls.dir, "ibtool"))
        cls.env = {"PATH": cls.dir + ":" + os.environ["PATH"], "HOME": cls.dir, "TERM": "dumb", "LC_ALL": "C.UTF-8",
                   "SYSFS_PATH": os.path.join(cls.dir, "sys")}
        for shell in ("bash", "zsh", "fish"):
            done = subprocess.run(["ibtool", "completion", shell], env=cls.env, capture_output=True, text=True, check=True)
            with open(cls.script(shell), "w", encoding="utf-8") as file:
                file.write(done.stdout)

    @classmethod
    def script(cls, shell):
        return os.path.join(cls.dir, "ibtool." + shell)

    def run_shell(self, words, text=None, **env):
        done = subprocess.run(words, input=text, env=self.env | env, cwd=self.dir, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout

    def needs(self, shell):
        if not shutil.which(shell):
            if os.environ.get("IBTEST_NO_SKIP"):
                self.fail(f"{shell} is not installed")
            self.skipTest(f"{shell} is not installed")

    # -- bash --------------------------------------------------------------------------------------------------------
    def reply(self, line, point=None, **env):
        """What bash would offer for the line, with the cursor at `point`. The words are broken as bash breaks them."""
        point = len(line) if point is None else point
        pieces = re.findall(r"""(?:\\.|'[^']*'?|"[^"]*"?|[^\s=:@\\'"])+|[=:@]+""", line[:point])
        if not line[:point] or line[:point][-1] in " \t":
            pieces.append("")
        script = (f". {shlex.quote(self.script('bash'))}; COMP_WORDS=({' '.join(shlex.quote(piece) for piece in pieces)}) "
                  f"COMP_CWORD={len(pieces) - 1} COMP_LINE={shlex.quote(line)} COMP_POINT={point}; "
                  '_ibtool; printf "%s\\n" "${COMPREPLY[@]}"')
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
        env = {"IBTOOL_FROM": os.path.join(self.dir, "names.ibss")}
        subprocess.run([PROGRAMS, "stored-names", env["IBTOOL_FROM"]], check=True)
        names = ["MF0;leaf@1:SB7800/U1", "host with blanks", "it's here"]
        self.assertEqual(sorted(self.reply("ibtool smpquery NI ", **env)), sorted(re.sub(r"([; '])", r"\\\1", name) for name in names))
        self.assertEqual(self.reply(r"ibtool smpquery NI MF0\;leaf@1:SB", **env), ["SB7800/U1"])
        self.assertEqual(self.reply(r"ibtool smpquery NI host\ wi", **env), [r"host\ with\ blanks"])
        self.assertEqual(self.reply("ibtool smpquery NI 'host wi", **env), ["host with blanks"])

    def type_in(self, shell, setup, keys):
        """The words of the command that a shell runs when `keys` are typed into its terminal."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.dir)
            os.execve(shutil.which(shell[0]), shell, self.env | {"PS1": "$ ", "INPUTRC": "/dev/null"})
        seen = b""

        def read_until(end):
            nonlocal seen
            limit = time.monotonic() + 30
            while end not in seen:
                self.assertLess(time.monotonic(), limit, seen)
                if select.select([terminal], [], [], 1)[0]:
                    seen += os.read(terminal, 4096)

        try:
            # Completions come from the program; what is run in the end is a function that shows its words.
            os.write(terminal, f"{setup}; ibtool() {{ printf '<%s>' \"$@\"; echo END; }}; echo REA''DY\n".encode())
            read_until(b"READY")
            os.write(terminal, keys.encode() + b"\n")
            read_until(b"END\r\n")
        finally:
            os.close(terminal)
            os.waitpid(pid, 0)
        return re.findall(r"(<[^\r\n]*>)END", seen.decode(errors="replace"))[-1]

    def test_bash_in_a_terminal(self):
        self.assertEqual(self.type_in(["bash", "--norc", "--noprofile", "-i"], ". ./ibtool.bash", "ibtool smpq\tPortInfoE\t0 --js\t=li\t"),
                         "<smpquery><PortInfoExtended><0><--json=lines>")

    # -- zsh, fish ---------------------------------------------------------------------------------------------------
    def test_zsh_reads_its_script(self):
        self.needs("zsh")
        self.run_shell(["zsh", "-f", "-n", self.script("zsh")])
        shown = self.run_shell(["zsh", "-f", "-c", f"autoload -U compinit; compinit -u -D; . {shlex.quote(self.script('zsh'))}; "
                                "print -r -- $_comps[ibtool]"])
        self.assertEqual(shown, "_ibtool\n")

    def test_zsh_in_a_terminal(self):
        self.needs("zsh")
        self.assertEqual(self.type_in(["zsh", "-f", "-i"], "autoload -U compinit; compinit -u -D; . ./ibtool.zsh",
                                      "ibtool smpq\tPortInfoE\t0 --js\t=li\t"), "<smpquery><PortInfoExtended><0><--json=lines>")

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
