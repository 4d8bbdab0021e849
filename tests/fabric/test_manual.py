# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The examples of the manual hold: each session in man/pages/ is run on the example cluster and must print what the page
shows. A line "..." in a page stands for any lines. Dates and transaction IDs are not compared."""
import glob
import os
import re
import shlex
import unittest

import case
import play
import spoiled_tables

PAGES = os.path.join(case.HERE, "..", "..", "man", "pages")


def legacy_names():
    """The names by which the program is installed in place of infiniband-diags."""
    with open(os.path.join(case.HERE, "..", "..", "tools", "meson.build"), encoding="utf-8") as file:
        rooms = re.findall(r"'legacy': \[(.*?)\]", file.read())
    return re.findall(r"'(\w+)'", " ".join(rooms))


LEGACY = legacy_names()


def examples(text):
    """(command line, lines shown) of each session between @example and @end."""
    for block in re.findall(r"^@example\n(.*?)^@end$", text, re.M | re.S):
        for session in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, shown = session.partition("\n")
            yield command, shown.splitlines()


def comparable(line):
    line = re.sub(r"generated on .*", "generated on DATE", line)
    line = re.sub(r"activity count \d+", "activity count N", line)
    line = re.sub(r"transactionID=\d+", "transactionID=N", line)
    # With IsVendorClassSupported, which the ports of ibsim 0.12 lack in sysfs.
    line = re.sub(r"^(Capability mask: )(0x[0-9a-f]{8})$", lambda match: f"{match[1]}{int(match[2], 16) | 1 << 20:#010x}", line)
    line = re.sub(r"(, )[\d,]+ [kMG]B\b|(, )[\d.]+ s$", r"\1\2N", line)  # a size, a time
    return re.sub(r"^(  8| 12) [0-9A-F]{8}", r"\1 TID", line).rstrip()


def fits(shown, printed):
    """Whether the printed lines are the shown ones, where "..." may be any number of lines."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(fits(shown[1:], printed[i:]) for i in range(len(printed) + 1))
    return bool(printed) and comparable(shown[0]) == comparable(printed[0]) and fits(shown[1:], printed[1:])


# Examples that run until they are ended, which other tests start; those that need a verbs device (tests/kernel), and those that need an
# agent of vendor MADs, which no simulated node has (test_vendstat.py).
NOT_RUN = {"ibtool exporter --listen 127.0.0.1:9315", "ibtool ibping -S", "ibtool ibsysstat -S", "ibtool rdma_bw",
           "ibtool rdma_bw compute01"}


def tried(text):
    """The command lines between @try and @end, which `ibtool help NAME` prints."""
    for block in re.findall(r"^@try\n(.*?)^@end$", text, re.M | re.S):
        for line in block.splitlines():
            yield line.partition("  # ")[0]


class Examples(unittest.TestCase):
    def test_what_fits(self):
        self.assertTrue(fits(["a", "...", "c"], ["a", "b", "b", "c"]))
        self.assertTrue(fits(["a", "..."], ["a"]))
        self.assertFalse(fits(["a"], ["a", "b"]))
        self.assertFalse(fits(["a", "...", "d"], ["a", "b", "c"]))
        self.assertFalse(fits([], ["a"]))


class Manual(case.FabricCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        tables = spoiled_tables.Tables(lambda *words: cls.fabric.run([case.IBTOOL, *words]).stdout)
        tables.write(cls.fabric.dir)

    def output(self, command):
        """Both streams of a session's command line, as a user sees them; a word before a pipe is its input."""
        words = shlex.split(command)
        stdin = None
        if "|" in words:
            at = words.index("|")
            self.assertEqual(words[0], "echo")
            stdin, words = " ".join(words[1:at]) + "\n", words[at + 1:]
        if words[0] == "ibtool":
            done = self.run_ours([case.IBTOOL, *words[1:]], **({"stdin": stdin} if stdin else {}))
        else:
            self.assertIn(words[0], LEGACY)
            done = self.legacy(*words)
        noise = [line for line in done.stderr.splitlines() if "sim_connect" not in line]
        return done.stdout.splitlines() + noise

    def test_pages(self):
        count = 0
        for page in sorted(glob.glob(os.path.join(PAGES, "*.in"))):
            with open(page, encoding="utf-8") as file:
                text = file.read()
            for command, shown in examples(text):
                count += 1
                with self.subTest(f"{os.path.basename(page)}: {command}"):
                    printed = self.output(command)
                    self.assertTrue(shown, "the page shows no output")
                    self.assertTrue(fits(shown, printed), "\n".join(["the page shows", *shown, "but it prints", *printed[:60]]))
        self.assertGreater(count, 25)


class Help(case.FabricCase):
    """On a fabric of its own: a host that runs a server seems to have a subnet manager."""

    def test_examples(self):
        """Each example of help works: it is a right command line (2), and neither the fabric nor the system fails it (3)."""
        self.fabric.start([case.IBTOOL, "ibsysstat", "-S"], host="H-506b4b030010002c")
        for name in ("now", "good", "monday"):
            self.ibtool("snapshot", "--only", "counters,lft,mft", f"{name}.ibss")
        self.legacy("ibnetdiscover", "--cache", "a")
        lines = []
        for page in sorted(glob.glob(os.path.join(PAGES, "*.in"))):
            with open(page, encoding="utf-8") as file:
                lines += tried(file.read())
        self.assertGreater(len(lines), 120)
        self.assertLessEqual(NOT_RUN, set(lines))
        for line in lines:
            if line in NOT_RUN:
                continue
            with self.subTest(line):
                devices = play.registers(self.fabric) if line.startswith("ibtool vendstat") else {}
                done = self.run_ours([case.IBTOOL, *shlex.split(line)[1:]], **devices)
                self.assertIn(done.returncode, (0, 1, 4), done.stderr)


if __name__ == "__main__":
    case.main()
