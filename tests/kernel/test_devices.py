# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The devices of a real kernel: ibstat, ibstatus and ibv_devices beside Debian's, and SMP commands on a host with RoCE only."""
import ipaddress
import json
import os
import re
import unittest

import guest

SMP_COMMANDS = {
    "nodeinfo": "smpquery nodeinfo 1", "nodeinfo_dr": "smpquery -D nodeinfo 0", "discover": "ibnetdiscover", "hosts": "ibhosts",
    "linkinfo": "iblinkinfo", "nodeinfo_gid": "smpquery nodeinfo fe80::ff:fe00:2", "dump": "smpdump -D 0 0x11",
    "other_port": "ibnetdiscover -C rxe1",
}
COMMANDS = {
    "ibstat_json": "ibtool ibstat --json", "ibstat_debian": "ibstat", "ibstat_legacy": "ln -s /usr/bin/ibtool /tmp/ibstat && /tmp/ibstat",
    "names": "ibtool ibstat -l", "names_debian": "ibstat -l", "guids": "ibtool ibstat -p", "guids_debian": "ibstat -p",
    "ibstatus": "ibtool ibstatus", "ibstatus_debian": "ibstatus rxe0; ibstatus rxe1",
    "static_ibstat": "ibtool-static ibstat", "shared_ibstat": "ibtool ibstat",
    "static_nodeinfo": "ibtool-static smpquery nodeinfo 1", "static_devices": "ibtool-static ibv_devices",
    "ibv_devices": "ibtool ibv_devices", "ibv_devices_debian": "ibv_devices", "ibv_devinfo": "ibv_devinfo",
    "down_debian": "/usr/bin/ip link set veth1 down; sleep 1; ibstat rxe1 1",
    "down_json": "ibtool ibstat --json rxe1 1", "down_legacy": "/tmp/ibstat rxe1 1; /usr/bin/ip link set veth1 up",
}


def number(guid):
    """A GUID in any of the tools' forms."""
    return int(guid.replace(":", ""), 16)


def fields(text):
    """The lines `name: value` of a tool's text, with their number of tabs left out."""
    return dict(match.groups() for match in re.finditer(r"^\s*([^:\n]+):[ \t]*(.*?)[ \t]*$", text, re.MULTILINE))


def blocks(text, pattern):
    """{name: text} for the blocks of `text` that begin with a line that `pattern` finds the name in."""
    parts = re.split(pattern, text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


class Devices(guest.GuestCase):
    programs = guest.IBTOOLS
    commands = COMMANDS | {"smp_" + name: "ibtool " + words for name, words in SMP_COMMANDS.items()}

    def ours(self):
        """{device: its part of ibstat --json}"""
        devices = {device["device"]: device for device in json.loads(self.result("ibstat_json").out)["devices"]}
        self.assertEqual(sorted(devices), ["rxe0", "rxe1"])
        return devices

    def assert_port(self, port, debian):
        self.assertEqual(port["link_layer"], debian["Link layer"])
        self.assertEqual(port["state_text"].lower(), debian["State"].lower())
        self.assertEqual(port["phys_state_text"].replace(" ", "").lower(), debian["Physical state"].lower())
        self.assertEqual(re.match(r"[\d.]+", port["sysfs_rate"])[0], re.match(r"[\d.]+", debian["Rate"])[0])
        numbers = (port["lid"] or 0, port["lmc"], port["sm_lid"] or 0)
        self.assertEqual(numbers, tuple(int(debian[name]) for name in ("Base lid", "LMC", "SM lid")))
        self.assertEqual(port["capability_mask"], int(debian["Capability mask"], 16))
        self.assertEqual(number(port["port_guid"]), int(debian["Port GUID"], 16))

    def test_ibstat_facts(self):
        theirs = blocks(self.result("ibstat_debian").out, r"^CA '(\S+)'")
        self.assertEqual(sorted(theirs), sorted(self.ours()))
        for name, device in self.ours().items():
            debian = fields(theirs[name])
            self.assertEqual(number(device["node_guid"]), int(debian["Node GUID"], 16))
            self.assertEqual(number(device["system_image_guid"]), int(debian["System image GUID"], 16))
            self.assertEqual(len(device["ports"]), int(debian["Number of ports"]))
            self.assert_port(device["ports"][0], debian)

    @unittest.skipUnless("ibtool-static" in guest.IBTOOLS, "the build has no static program")
    def test_static_program(self):
        for static, shared in (("static_ibstat", "shared_ibstat"), ("static_devices", "ibv_devices")):
            self.assertEqual(self.result(static).out, self.result(shared).out)
            self.assertIn("rxe1", self.result(static).out)
        shared = self.results["smp_nodeinfo"]
        self.assertEqual((self.results["static_nodeinfo"].status, self.results["static_nodeinfo"].err), (shared.status, shared.err))

    def test_ibstat_by_its_old_name(self):
        self.assertEqual(self.result("ibstat_legacy").out, self.result("ibstat_debian").out)

    def test_port_that_is_down(self):
        debian = self.result("down_debian").out
        self.assertIn("State: Down", debian)
        self.assertEqual(self.result("down_legacy").out, debian)
        self.assert_port(json.loads(self.result("down_json").out)["devices"][0]["ports"][0], fields(debian))

    def test_ibstat_lists(self):
        self.assertEqual(self.result("names").out, self.result("names_debian").out)
        self.assertEqual([number(guid) for guid in self.result("guids").out.split()],
                         [int(guid, 16) for guid in self.result("guids_debian").out.split()])

    def test_ibstatus_facts(self):
        ours, theirs = (blocks(self.result(name).out, r"^Infiniband device '(\S+)' port 1 status:")
                        for name in ("ibstatus", "ibstatus_debian"))
        self.assertEqual(sorted(ours), ["rxe0", "rxe1"])
        self.assertEqual(sorted(ours), sorted(theirs))
        for name, text in ours.items():
            mine, debian = fields(text), fields(theirs[name])
            self.assertEqual(ipaddress.ip_address(mine["default gid"]), ipaddress.ip_address(debian["default gid"]))
            for lid in ("base lid", "sm lid"):
                self.assertEqual(int(mine[lid]), int(debian[lid], 16))
            self.assertEqual((mine["state"], mine["rate"]), (debian["state"], debian["rate"]))
            self.assertEqual(mine["phys state"].split(":")[0], debian["phys state"].split(":")[0])

    def test_ibv_devices_facts(self):
        ours, theirs = ({name: number(guid) for name, guid in re.findall(r"^\s+(\w+)\s+([0-9a-f:]+)$", self.result(tool).out, re.MULTILINE)}
                        for tool in ("ibv_devices", "ibv_devices_debian"))
        self.assertEqual(sorted(ours), ["rxe0", "rxe1"])
        self.assertEqual(ours, theirs)

    def test_verbs_says_the_same(self):
        theirs = blocks(self.result("ibv_devinfo").out, r"^hca_id:\s*(\S+)")
        self.assertEqual(sorted(theirs), sorted(self.ours()))
        for name, device in self.ours().items():
            debian, port = fields(theirs[name]), device["ports"][0]
            self.assertEqual(number(device["node_guid"]), number(debian["node_guid"]))
            self.assertEqual(number(device["system_image_guid"]), number(debian["sys_image_guid"]))
            self.assertEqual(len(device["ports"]), int(debian["phys_port_cnt"]))
            self.assertEqual(f"({port['state']})", debian["state"].split()[-1])
            self.assertEqual((port["lid"] or 0, port["sm_lid"] or 0), (int(debian["port_lid"]), int(debian["sm_lid"])))

    def test_smp_commands_say_what_works(self):
        for name in SMP_COMMANDS:
            with self.subTest(name):
                done = self.result("smp_" + name, status=3)
                self.assertEqual(len(done.err.splitlines()), 1, done.err)
                device = "rxe1" if name == "other_port" else "rxe0"
                self.assertRegex(done.err, rf"^E: {device}/1 is a RoCE port .* has no SMPs")
                self.assertRegex(done.err, r"GMPs and verbs work there.* ibstat")
                self.assertLess(done.seconds, 10)


if __name__ == "__main__":
    guest.main()
