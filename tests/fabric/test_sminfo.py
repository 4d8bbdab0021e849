# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""sminfo: opensm as it says it is, asked in every way, and a set that it refuses."""
import json
import re

import case

SM_LID = "7"  # of the host, where opensm runs
LINE = r"sminfo: sm lid 7 sm guid 506b:4b03:0010:0001, activity count \d+ priority \d+ state 3 \(Master\) on 'login01 mlx5_0'\n"


class Sminfo(case.FabricCase):
    def test_the_master(self):
        for words in ((), (SM_LID,), ("-D", "0"), ("506b:4b03:0010:0001",), ("--sa",), ("--sa", SM_LID), ("--sminfo_smkey", "5")):
            self.assertRegex(self.ibtool("sminfo", *words).stdout, "^" + LINE + "$", words)

    def test_json_agrees_with_debian(self):
        done = json.loads(self.ibtool("sminfo", "--json").stdout)
        theirs = re.search(r"sm lid (\d+) sm guid (0x[0-9a-f]+), activity count \d+ priority (\d+) state (\d+)",
                           self.debian("sminfo").stdout)
        self.assertTrue(theirs)
        info = done["data"]
        self.assertEqual((done["lid"], case.guid_of(info["guid"]), info["priority"], info["sm_state"]),
                         (int(theirs[1]), int(theirs[2], 16), int(theirs[3]), int(theirs[4])))

    def test_nobody_there(self):
        self.assertIn("The SA has no SMInfoRecord that matches", self.ibtool("sminfo", "--sa", "8", status=3).stderr)
        self.assertIn("No subnet manager answers at LID 8, 'compute01 mlx5_0' (1 try in ",
                      self.ibtool("sminfo", "8", "-t", "50", "--retries", "0", status=3).stderr)

    def test_a_set_that_is_refused(self):
        """A master takes no handover from one who is none; what it said before stays printed."""
        for words in ((SM_LID, "0"), (SM_LID, "3", "-s", "2")):
            done = self.ibtool("sminfo", *words, status=3)
            self.assertRegex(done.stdout, "^" + LINE + "$")
            self.assertRegex(done.stderr, r"^E: 'login01 mlx5_0' \(LID 7\) re(fus|ject)es the Set of SMInfo")
        self.assertRegex(self.ibtool("sminfo").stdout, LINE)


if __name__ == "__main__":
    case.main()
