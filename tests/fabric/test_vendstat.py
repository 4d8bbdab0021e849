# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""vendstat beside Debian's, against devices that answer in Mellanox' vendor class."""
import json
import re

import case
import simfabric

INFINISCALE3, SWITCH_IB2 = 47396, 0xcf08


class Vendstat(case.ServingCase):
    def device(self, device_id):
        return self.serve([simfabric.PROGRAMS, "serve-vendor", str(device_id)], self.answered("vendstat", "-N"))

    def alike(self, *words):
        """Debian's and ours under that name say the same; returns the text."""
        theirs, ours = (run("vendstat", *words) for run in (self.debian, self.legacy))
        without_pid = lambda text: re.sub(r"\[\d+\]", "[pid]", text)  # noqa: E731
        self.assertEqual((theirs.returncode, theirs.stdout, without_pid(theirs.stderr)),
                         (ours.returncode, ours.stdout, without_pid(ours.stderr)), words)
        return theirs.stdout

    def answer(self, *words):
        return json.loads(self.ibtool("vendstat", "--json", *words).stdout)

    def test_general_information(self):
        for device, version in ((INFINISCALE3, "07.04.02"), (SWITCH_IB2, "27.2010.5042")):
            lid = self.device(device)
            self.assertIn(f"hw_dev_id:   {device:#06x}\nhw_uptime:   0x000151bd\nfw_version:  {version}\n", self.alike("-N", lid))
            data = self.answer("-N", lid)["data"]
            self.assertEqual((data["device_id"], data["uptime"], data["fw_build_id"]), (device, 86461, 0xbeef))
            self.assertEqual(data.get("ext_minor"), 2010 if device == SWITCH_IB2 else None)
            self.assertIn(f"Device_id................{device}\n", self.ibtool("vendstat", "-N", lid).stdout)

    def test_an_infiniscale3(self):
        lid = self.device(INFINISCALE3)
        waits = self.alike("-w", lid)
        self.assertEqual(waits.count("PortXmitWait"), 12)
        self.assertEqual(self.ibtool("vendstat", "-w", lid).stdout, waits)
        self.assertEqual(self.alike("-N", "-w", lid), self.alike("-N", lid) + waits)

    def test_a_device_without_xmit_wait(self):
        lid = self.device(SWITCH_IB2)
        self.alike("-w", lid)
        self.assertIn("Unsupported device ID 0xcf08", self.ibtool("vendstat", "-w", lid, status=3).stderr)

    def test_counter_groups(self):
        lid = self.device(SWITCH_IB2)
        groups = self.alike("-i", lid, "12")
        self.assertEqual(groups.splitlines()[-2:], ["group3 mask 0x80000001", "group4 mask 0x7"])
        self.assertEqual(self.ibtool("vendstat", "-i", lid, "12").stdout, groups)
        self.alike("-i", lid, "99")  # no such port
        self.assertRegex(self.ibtool("vendstat", "-i", lid, "99", status=3).stderr, r"no port 99$|\(status 0x1c\)$")
        self.assertEqual(self.ibtool("vendstat", "-c", "2,8", lid, "12").stdout, "counter_groups_config: configured group0 2 group1 8\n")
        self.assertIn("configuring group0 3 group1 9", self.alike("-c", "3,9", lid, "12"))
        query = ["query", "--json", "VendGet", "MlxConfigCounterGroups", lid]
        for port, selected in (("12", [3, 9]), ("13", [0, 0])):
            data = json.loads(self.ibtool(*query, "-a", port).stdout)["data"]
            self.assertEqual([group["group_select"] for group in data["group_selects"]], selected)

    def test_the_configuration_space(self):
        lid = self.device(SWITCH_IB2)
        self.assertEqual(self.ibtool("vendstat", "-W", "0x20,12345678", lid).stdout, "Config space record at 0x20: 0x12345678\n")
        self.assertEqual(self.alike("-R", "20", lid), "Config space record at 0x20: 0x12345678\n")
        self.assertEqual(self.alike("-W", "0x20,0xff,0xf", lid), "Config space record at 0x20: 0xf\n")
        words = ["-R", "20,ffff", "-R", "0x10113c", "-R", "24"]
        records = self.alike(*words, lid)
        self.assertEqual(records, "Config space record at 0x20: 0x567f\nConfig space record at 0x10113c: 0x111\n"
                                  "Config space record at 0x24: 0x0\n")
        self.assertEqual(self.ibtool("vendstat", *words, lid).stdout, records)
        all_of_them = [word for place in range(18) for word in ("-R", f"{0x10013c + (place << 12):x}")]
        self.assertEqual(self.alike(*all_of_them, lid), self.ibtool("vendstat", *all_of_them, lid).stdout)

    def test_nobody_serves(self):
        self.alike("-N", self.lid_of(self.hosts()[-1]))


if __name__ == "__main__":
    case.main()
