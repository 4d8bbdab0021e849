# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""With --sa no SMP leaves this host: counted on the simulator's socket, for each command of `ibtool help` that knows --sa. A
command is run with its sample lines, or with what its usage line says."""
import json
import os
import re

import case
from sample_lines import commands_with, sample_lines

SWITCH, HOST, PORT = "1", "9", "19"
# What stands for the words of usage lines.
FILL = {"TARGET": SWITCH, "PORTNUM": PORT, "PORT": PORT, "TARGET@PORT_NUM": f"{SWITCH}@{PORT}", "COUNT": "1", "REFERENCE": case.CLUSTER}
PLACES = {"switch": SWITCH, "host": HOST, "port": PORT}
# What has a test of its own here.
APART = {"query", "smpquery"}
SMP_CLASSES, SA_CLASS = ("0x01", "0x81"), "0x03"


class NoSmp(case.FabricCase):
    def sent(self, *words):
        """What `ibtool WORDS` did, and what it sent: class → MADs."""
        count = self.fabric.path("count")
        if os.path.exists(count):
            os.unlink(count)
        done = self.run_ours([case.IBTOOL, *words], preload=[case.DELAY], IBTEST_COUNT_FILE=count)
        self.assertNotEqual(done.returncode, 2, f"{words}\n{done.stderr}")
        by_class = {}
        if os.path.exists(count):
            with open(count, encoding="ascii") as lines:
                for attribute, mads in json.load(lines)["attributes"].items():
                    mgmt_class = attribute.split("/")[0]
                    by_class[mgmt_class] = by_class.get(mgmt_class, 0) + mads
        return done, by_class

    def asks_the_sa_alone(self, name, *words):
        with self.subTest(" ".join((name, *words))):
            done, sent = self.sent(name, "--sa", "--timeout", "100", "--retries", "0", *words)
            for mgmt_class in SMP_CLASSES:
                self.assertNotIn(mgmt_class, sent)
            if "The SA has no record that answers" not in done.stderr:
                self.assertIn(SA_CLASS, sent, done.stderr)

    def help_of(self, *words):
        return self.ibtool("help", *words).stdout

    def commands(self):
        """name → usage line of the commands that know --sa."""
        helps = {name: self.help_of(name) for name in re.findall(r"^  ([a-z_]\w+)", self.help_of("--all"), re.M)}
        return {name: re.search(r"^Usage: ibtool \w+ ?(.*)$", text, re.M)[1] for name, text in helps.items() if re.search(r" --sa ", text)}

    def usual_words(self, usage):
        """The shortest and the longest operands that a usage line allows: "[TARGET [ATTR_MOD]]" → [] and [TARGET]."""
        shortest = re.sub(r"\[.*\](\+|\.\.\.)?", "", usage).split()
        longest = [word for word in re.sub(r"\[-\w+\]|[\[\]+]|\.\.\.", "", usage).split() if word in FILL or word in shortest]
        self.assertLessEqual(set(longest), set(FILL), f"usage '{usage}': say in FILL, or in a sample line, what stands for these")
        return [[FILL[word] for word in words] for words in (shortest, longest)]

    def test_every_command(self):
        commands = self.commands()
        self.assertGreater(len(commands), 15)
        lines = {}
        for _, (name, *words) in sample_lines("no-smp", **PLACES):
            lines.setdefault(name, []).append(words)
        sets = commands_with("needs-smps")
        self.assertLessEqual({*lines, *sets, *APART}, set(commands))
        for name, usage in commands.items():
            if name not in lines:
                lines[name] = [] if name in sets | APART else self.usual_words(usage)
            for words in lines[name]:
                self.asks_the_sa_alone(name, *words)

    def test_every_operation(self):
        operations = re.findall(r"^    (\w+) \w+$", self.help_of("smpquery"), re.M)
        self.assertIn("PortInfo", operations)
        for operation in operations:
            for target in (SWITCH, "0,1,2"):
                self.asks_the_sa_alone("smpquery", operation, target)
        self.asks_the_sa_alone("smpquery", "-c", "NodeInfo", SWITCH, "0,2")

    def test_every_attribute(self):
        """Of SubnGet all; of classes that are not SMPs one each: the way to the target is what could need an SMP."""
        text = self.help_of("query")
        methods = {method: names.split() for method, names in re.findall(r"^    (\w+)\n((?:       \w+\n)+)", text, re.M)}
        self.assertIn("SMPPortInfo", methods["SubnGet"])
        for attribute in methods["SubnGet"]:
            self.asks_the_sa_alone("query", "SubnGet", attribute, SWITCH)
        for method, attributes in methods.items():
            if method.startswith("Subn") and not method.startswith("SubnAdm"):
                continue
            sets = method.endswith(("Set", "Delete"))
            if sets and not method.startswith("SubnAdm"):
                continue  # before a Set the node at the end of its path is requested to say who it is
            self.asks_the_sa_alone("query", method, attributes[0], SWITCH if sets else "0,1,2")

    def test_what_has_to_send_smps(self):
        """SMPs are what these are for: the SA sets nothing, and a set begins with what the node itself says: at least who it is. The man
        pages say so. Some read the topology, or paths, from the SA first. There are no more such lines than need be."""
        for arguments, words in sample_lines("needs-smps", **PLACES):
            with self.subTest(" ".join(words)):
                done, sent = self.sent(*words, "--sa", "--timeout", "100", "--retries", "0")
                self.assertTrue(set(SMP_CLASSES) & set(sent), sent)
                # The error of a Set that is refused names the node, which the SA knows.
                if done.returncode != 3 and arguments != ["sa"]:
                    self.assertNotIn(SA_CLASS, sent)

    def test_smps_are_counted(self):
        for words, mgmt_class in ((["ibaddr", HOST], "0x01"), (["ibaddr", "0,1"], "0x81")):
            done, sent = self.sent(*words)
            self.assertEqual((done.returncode, set(sent)), (0, {mgmt_class}))


if __name__ == "__main__":
    case.main()
