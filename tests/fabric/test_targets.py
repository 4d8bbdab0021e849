# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Each command of `ibtool help` that takes a TARGET takes it in each form, on a fabric with a real SA; -D, -L and -G check the
form; and what is no target is refused in one line."""
import re

import case
import simfabric
from sample_lines import sample_lines


def samples(*kinds):
    """Command lines with TARGET, by what that is: a switch, a subnet manager, a host, a device with vendor MADs, one with a PMA. Those for
    `any` are run where all forms are refused: what they print runs, or is nothing, or findings."""
    return [" ".join(words) for (kind,), words in sample_lines("target") if not kinds or kind in kinds]


COMMANDS = samples()
NO_TARGETS = ["", "zzz", "0", "0xc000", "65536", "-1", "1,2", "0,255", "0,1,x", "0,1:2", "0x12345678901234567", "b859:9f03:00a0",
              "fe80::1::2", "fe80::1%nowhere/1", "IBPath(DLID=zzz)", "IBPath(DLID=1", "IBNoPath()", "1 2", "\x1b[31m"]


class Targets(case.ServingCase):
    def forms(self, lid, guid, route):
        """option that fits → targets, for one end port."""
        words = f"{guid:016x}"
        colons = ":".join(words[at:at + 4] for at in range(0, 16, 4))
        gid = "fe80::" + ":".join(f"{int(part, 16):x}" for part in colons.split(":"))
        return {"-L": [str(lid), hex(lid), f"IBPath(DLID={lid})"],
                "-G": [gid, f"{gid}%ibsim0/1", colons, "0x" + words, words, f"IBPath(DGID={gid})"],
                "-D": [route, route.rstrip(",") + ",", f"IBDRPath(drPath={route.rstrip(',').replace(',', ':')}:)"]}

    def forms_of_host(self, lid):
        """Of a host at the first switch, as serve() chooses them."""
        file, leaf = self.file(), self.file().guid("MF0;leaf01")
        guid = next(node for (node, _), (known, _) in self.ours().lids.items() if known == int(lid))
        port = next(port for link in file.links for node, port in link if node == leaf and (guid, 1) in link)
        return self.forms(int(lid), guid + 1, f"0,1,{port}")

    def command_line(self, command, target, option):
        """ibaddr has a use of its own for -L, perfquery for -D."""
        words = [word.replace("TARGET", target) for word in command.split()]
        options = {"": [], "-L": ["--Lid"], "-D": ["--Direct"]}.get(option, [option])
        return [words[0], *options, *words[1:]]

    def answer(self, command, target, option=""):
        done = self.ibtool(*self.command_line(command, target, option))
        self.assertRegex(done.stderr, r"\A(Set \w+ of '.*' [\da-f:]{19} port \d+\n)?\Z")
        # What repeats the target, the direction bit of answers to directed routes, what time and other programs change.
        volatile = r"\A# .*\n|of switch .*? '|^SMP status: 0x[08]000\n|time [\d.]+ ?ms|^rtt .*\n|count \d+"
        return re.sub(volatile, "", done.stdout, flags=re.M)

    def all_alike(self, commands, forms):
        for command in commands:
            wanted = self.answer(command, forms["-L"][0])
            self.assertTrue(wanted)
            for option, targets in forms.items():
                for target in targets:
                    with self.subTest(command=command, target=target):
                        self.assertEqual(self.answer(command, target), wanted)
                with self.subTest(command=command, target=targets[0], option=option):
                    self.assertEqual(self.answer(command, targets[0], option), wanted)

    def refused(self, command, target, option, reason):
        with self.subTest(command=command, target=target, option=option):
            done = self.ibtool(*self.command_line(command, target, option), status=2)
            self.assertEqual(done.stdout, "")
            self.assertRegex(done.stderr, r"\AE: Invalid command line argument #\d '.* - " + reason + r"\n\Z")
            self.assertNotIn("\x1b", done.stderr)

    def test_all_that_take_a_target(self):
        names = re.findall(r"^  ([a-z_]\w+)", self.ibtool("help", "--all").stdout, re.M)
        taking = {name for name in names if re.search(r"^Usage:.*TARGET", self.ibtool("help", name).stdout, re.M)}
        self.assertEqual(taking, {command.split()[0] for command in COMMANDS})

    def test_switches(self):
        leaf = self.file().guid("MF0;leaf01")
        self.all_alike(samples("switch"), self.forms(1, leaf, "0,1"))

    def test_the_subnet_manager(self):
        here = self.file().guid("login01")
        self.all_alike(samples("manager"), self.forms(7, here + 1, "0,"))

    def test_hosts(self):
        lid = self.serve([case.IBTOOL, "ibsysstat", "-S"], self.answered("ibping", "-f", "-c", "1"))
        self.all_alike(samples("host"), self.forms_of_host(lid))

    def test_devices(self):
        lid = self.serve([simfabric.PROGRAMS, "serve-vendor", "53000"], self.answered("vendstat", "-N"))
        self.all_alike(samples("device"), self.forms_of_host(lid))
        self.all_alike(samples("pma"), self.forms_of_host(lid))

    def test_number_zero_is_a_route(self):
        """With -D a number is the first port of a route, of which there is but one."""
        self.assertEqual(self.answer("smpquery ND TARGET", "0", "-D"), self.answer("smpquery ND TARGET", "7"))
        self.refused("smpquery ND TARGET", "1", "-D", r"Invalid DR path specification '1,'")

    def test_the_form_is_checked(self):
        leaf = self.file().guid("MF0;leaf01")
        refusals = {"-D": "Not a directed route", "-L": "Not a LID", "-G": "Not a GUID"}
        # A number fits each of the three.
        targets = {"-L": "IBPath(DLID=1)", "-G": self.forms(1, leaf, "0,1")["-G"][1], "-D": "0,1"}
        for number, command in enumerate(COMMANDS):  # by turns the one and the other that does not fit
            for option, refusal in refusals.items():
                others = [target for fits, target in targets.items() if fits != option]
                self.refused(command, others[number % 2], option, refusal)

    def test_what_is_no_target(self):
        for command in COMMANDS:
            for target in NO_TARGETS if command.startswith(("ibaddr", "set_port_state")) else NO_TARGETS[1:4]:
                self.refused(command, target, "", r".*")

    def test_words_that_are_no_text(self):
        """Whoever passes on what a node calls itself must not have it written to the terminal as it is."""
        word = "\x1b]0;title\x07\x7f\u009b31m"
        for words in ([word], ["help", word], ["ibaddr", "-" + word], ["ibaddr", "--" + word], ["ibaddr", "--json=" + word],
                      ["ibaddr", "-t", word], ["ibaddr", "-C", word], ["ibaddr", "-P", word], ["ibaddr", "-P", "ibsim0/" + word],
                      ["ibhosts", "--discovery", word], ["smpquery", word, "1"], ["query", word, "x"], ["ibportstate", "1", "1", word],
                      ["ibaddr", "--sa-path", word], ["ibprintca", word]):
            with self.subTest(words):
                done = self.ibtool(*words, status=2)
                self.assertRegex(done.stderr, r"\AE: [^\x00-\x09\x0b-\x1f\x7f-\x9f]*\n\Z")
                self.assertEqual(done.stderr.count("\n"), 1)

    def test_node_guids(self):
        """What names a node and no port."""
        for name, node in (("ibprintca", "login01"), ("ibprintswitch", "MF0;leaf01")):
            guid = self.file().guid(node)
            forms = self.forms(1, guid, "0,1")["-G"]
            colons, *others = [form for form in forms if re.fullmatch(r"(0x)?[0-9a-f]{16}|[0-9a-f]{4}(:[0-9a-f]{4}){3}", form)]
            wanted = self.answer(name + " TARGET", colons)
            self.assertIn(node, wanted)
            for target in others:
                self.assertEqual(self.answer(name + " TARGET", target), wanted)
            self.refused(name + " TARGET", "zzz", "", r"no node is called 'zzz'")
            self.assertIn("No port, no node and no system has the GUID", self.ibtool(name, "fe80::1", status=3).stderr)


if __name__ == "__main__":
    case.main()
