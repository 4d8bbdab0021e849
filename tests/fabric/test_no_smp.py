# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""With --sa no SMP leaves this host: counted on the simulator's socket, for each command of `ibtool help` that knows --sa. A
new command is run with what its usage line says; one that needs other words says which in WORDS."""
import json
import os
import re

import case

SWITCH, HOST, PORT = "1", "9", "19"
# What stands for the words of usage lines.
FILL = {"TARGET": SWITCH, "PORTNUM": PORT, "PORT": PORT, "TARGET@PORT_NUM": f"{SWITCH}@{PORT}", "COUNT": "1", "REFERENCE": case.CLUSTER}
# The operands, with their options, of commands whose usage line does not tell enough.
WORDS = {
    "health": [["--interval", "0"], ["--interval", "0", SWITCH]],
    "ibccconfig": [],  # SETS
    "ibccquery": [["SP", SWITCH], ["CK", HOST]],
    "ibcheckerrs": [[SWITCH], [SWITCH, PORT]],
    "ibclearcounters": [],  # SETS
    "ibclearerrors": [],  # SETS
    "ibdatacounts": [[SWITCH], [SWITCH, PORT]],
    "ibping": [["-c", "1", HOST], ["-c", "1", "--protocol", "ibping", HOST]],
    "ibportstate": [[SWITCH, PORT, "query"], ["0,1", PORT, "query"], [HOST, "1", "query"]],
    "ibprintca": [["-l"], ["506b:4b03:0010:0000"]],
    "ibprintrt": [["-l"]],
    "ibprintswitch": [["-l"], ["b859:9f03:00a0:0000"]],
    "ibswportwatch": [["-n", "1", SWITCH, PORT]],
    "ibsysstat": [[HOST, "ping"], [HOST, "host"]],
    "ibtracert": [[HOST], [SWITCH, HOST]],
    "init_all_ports": [],  # SETS
    "perfquery": [[SWITCH], ["-a", SWITCH]],
    "query": [],  # test_every_attribute
    "saquery": [[], ["NR"], ["-x"], ["--src-to-dst", f"7:{HOST}"], ["SMIR"]],
    "set_guid": [[HOST, "1", "0x1234"], ["0,1,2", "1", "0x1234"]],
    "set_port_state": [],  # SETS
    "sminfo": [[], ["7"], ["--all"]],
    "smpdump": [[SWITCH, f"{attribute:#x}"] for attribute in (*range(0x10, 0x21), 0x30, 0x31, 0xff)],
    "smpquery": [],  # test_every_operation
    "vendstat": [["-N", SWITCH], ["-N", HOST], ["-i", HOST, "1"]],
}
# SMPs are what these are for: the SA sets nothing, and a set begins with what the node itself says: at least who it is. The man pages say
# so. The first of them read the topology, or paths, from the SA.
FROM_SA = (["ibclearcounters"], ["init_all_ports"], ["set_port_state"], ["query", "PerformanceSet"], ["ibccconfig"])
SETS = [["ibportstate", SWITCH, PORT, "--dry-run", "arm"], ["set_port_state", "--dry-run", "--init", f"{SWITCH}@{PORT}"],
        ["set_port_state", f"{SWITCH}@{PORT}"], ["query", "SubnSet", "SMPPortInfo", "-a", PORT, SWITCH], ["sminfo", "7", "0"],
        ["query", "PerformanceSet", "PMPortCounters", SWITCH], ["ibccconfig", "SP", SWITCH, PORT, "1", "1", "15", "8", "513"],
        ["ibclearcounters", "--yes"], ["ibclearcounters", SWITCH], ["init_all_ports", "--dry-run"]]
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
        self.assertLessEqual(set(longest), set(FILL), f"usage '{usage}': say in FILL or WORDS what stands for these")
        return [[FILL[word] for word in words] for words in (shortest, longest)]

    def test_every_command(self):
        commands = self.commands()
        self.assertGreater(len(commands), 15)
        self.assertLessEqual(set(WORDS), set(commands))
        for name, usage in commands.items():
            for words in WORDS[name] if name in WORDS else self.usual_words(usage):
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
                continue  # SETS: before a Set the node at the end of its path is requested to say who it is
            self.asks_the_sa_alone("query", method, attributes[0], SWITCH if sets else "0,1,2")

    def test_what_has_to_send_smps(self):
        """The list is no longer than it need be."""
        for words in SETS:
            with self.subTest(" ".join(words)):
                done, sent = self.sent(*words, "--sa", "--timeout", "100", "--retries", "0")
                self.assertTrue(set(SMP_CLASSES) & set(sent), sent)
                # The error of a Set that is refused names the node, which the SA knows.
                if done.returncode != 3 and not any(words[:len(first)] == first for first in FROM_SA):
                    self.assertNotIn(SA_CLASS, sent)

    def test_smps_are_counted(self):
        for words, mgmt_class in ((["ibaddr", HOST], "0x01"), (["ibaddr", "0,1"], "0x81")):
            done, sent = self.sent(*words)
            self.assertEqual((done.returncode, set(sent)), (0, {mgmt_class}))


if __name__ == "__main__":
    case.main()
