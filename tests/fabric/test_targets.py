# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Each command that takes a TARGET takes it in each form, on a fabric with a real SA; and -D, -L and -G check the form."""
import re

import case

# Of attributes that do not tell by which port the question came.
COMMANDS = ["ibaddr TARGET", "iblinkinfo --sa TARGET", "smpdump TARGET 0x10", "smpquery SI TARGET"]
SM_COMMANDS = ["sminfo TARGET"]


class Targets(case.FabricCase):
    def forms(self, lid, guid, route):
        """(option that fits, target) for one end port."""
        words = f"{guid:016x}"
        colons = ":".join(words[at:at + 4] for at in range(0, 16, 4))
        gid = "fe80::" + ":".join(f"{int(part, 16):x}" for part in colons.split(":"))
        targets = {"--Lid": [str(lid), hex(lid), f"IBPath(DLID={lid})"],
                   "--Guid": [gid, f"{gid}%ibsim0/1", colons, "0x" + words, f"IBPath(DGID={gid})"],
                   "--Direct": [route, route + ",", f"IBDRPath(drPath={route.replace(',', ':')}:)"]}
        return [(option, target) for option in targets for target in targets[option]]

    def answer(self, command, target, *options, status=0):
        words = [target if word == "TARGET" else word for word in command.split()]
        done = self.ibtool(words[0], *options, *words[1:], status=status)
        # What repeats the target, and the direction bit of answers to directed routes.
        return re.sub(r"\A# .*\n|^SMP status: 0x[08]000\n", "", done.stdout, flags=re.M), done.stderr

    def all_alike(self, commands, forms):
        for command in commands:
            wanted, _ = self.answer(command, forms[0][1])
            self.assertTrue(wanted)
            for option, target in forms:
                with self.subTest(command=command, target=target):
                    answer, errors = self.answer(command, target, option)
                    # The activity count of a subnet manager goes on counting.
                    self.assertEqual(re.sub(r"count \d+", "", answer), re.sub(r"count \d+", "", wanted))
                    self.assertEqual(errors, "")

    def test_every_form(self):
        leaf = self.file().guid("MF0;leaf01")
        self.all_alike(COMMANDS, self.forms(1, leaf, "0,1"))

    def test_the_subnet_manager(self):
        here = self.file().guid("login01")
        self.all_alike(SM_COMMANDS, self.forms(7, here + 1, "0"))

    def test_the_form_is_checked(self):
        leaf = self.file().guid("MF0;leaf01")
        forms = [form for form in self.forms(1, leaf, "0,1") if form[1] in ("IBPath(DLID=1)", "0,1") or "%" in form[1]]
        refusals = {"--Direct": "Not a directed route", "--Lid": "Not a LID", "--Guid": "Not a GUID"}
        for command in COMMANDS + SM_COMMANDS:
            for option, refusal in refusals.items():
                for fits, target in forms:
                    if fits == option:
                        continue
                    with self.subTest(command=command, option=option, target=target):
                        answer, errors = self.answer(command, target, option, status=2)
                        self.assertEqual(answer, "")
                        self.assertRegex(errors, r"\AE: .*" + refusal + r"\n\Z")


if __name__ == "__main__":
    case.main()
