#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The physical layer on a fabric whose devices answer the vendor's class: phy, modules, environment and firmware, and what they make of
devices that answer wrongly, or not at all."""
import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import time

import case
import play

README = os.path.join(case.HERE, "..", "..", "README.md")

LEAF1, LEAF4, SPINE1, SPINE2 = 0xb8599f0300a00000, 0xb8599f0300a00030, 0xb8599f0300a00040, 0xb8599f0300a00050
LOGIN, COMPUTE1 = 0x506b4b0300100000, 0x506b4b0300100004
GENERAL_INFO, ACCESS_REGISTER = 0x17, 0x51
PDDR, PPCNT = 0x5031, 0x5008
LINK_ENDS = 64  # 16 hosts with a cable each, and 16 cables between switches
ODD = """
{leaf4} PPCNTStatistics[22].raw_ber_coef = 3          # an optic that dies
{leaf4} PPCNTStatistics[22].raw_ber_magnitude = 5
{leaf4} PPCNTStatistics[22].effective_ber_coef = 2
{leaf4} PPCNTStatistics[22].effective_ber_magnitude = 9
{leaf4} PDDRModule[22].temperature = 78.5*256
{leaf4} PDDRModule[22].rx_power = -9,-2,-2,-2
{leaf4} PDDRModule[22].vendor_sn = "MT1942VS01234"
{spine2} PDDRModule[8].vendor_sn = "MT1942VS01234"
{leaf1} PDDRModule[7].cable_type = 3                 # a cable that the port does not take
{leaf1} PDDRModule[7].vendor_name = "Other"
{leaf1} PDDRModule[7].vendor_sn = "X17"
{leaf1} PDDRTroubleshooting[7].monitor_opcode = 1029
{leaf1} PDDRTroubleshooting[7].status_message = "Unsupported \x1b[31mcable"
{spine1} MTMP[0].temperature = 107*8
{spine1} FORE.fan_under_limit = 2
{compute1} IS4GeneralInfo.ext_sub_minor = 1000
""".format(leaf1=hex(LEAF1), leaf4=hex(LEAF4), spine1=hex(SPINE1), spine2=hex(SPINE2), compute1=hex(COMPUTE1))


class Base(case.FabricCase):
    def setUp(self):
        self.log = self.fabric.path("registers.log")
        if os.path.exists(self.log):
            os.unlink(self.log)

    def devices(self, odd=ODD):
        """The environment in which devices answer."""
        with open(self.fabric.path("odd.txt"), "w", encoding="ascii") as file:
            file.write(odd)
        return case.simfabric.registers(file.name, log=self.log)

    def on_devices(self, *words, odd=ODD, status=0, **env):
        return self.ibtool(*words, status=status, **self.devices(odd), **env)

    def json(self, *words, **options):
        return json.loads(self.on_devices(*words, "--json", **options).stdout)

    def requests(self, guid=None):
        """What reached devices, or one: (GUID, attribute, modifier, index)."""
        if not os.path.exists(self.log):
            return []
        with open(self.log, encoding="ascii") as log:
            lines = [[int(word, 0) for word in line.split()] for line in log]
        self.assertTrue(all(method == 1 for _, _, method, _, _, _ in lines), "only Gets")
        return [(node, attribute, modifier, index) for node, _, _, attribute, modifier, index in lines if guid in (None, node)]


class Phy(Base):
    # -- a fabric that answers ---------------------------------------------------------------------------------------
    def test_links(self):
        """Each end of each link has a row, the worst link first; six Gets a port and one a device."""
        text = self.on_devices("phy").stdout.splitlines()
        self.assertEqual(len(text), 1 + LINK_ENDS)
        self.assertRegex(text[1], r"^MF0;leaf04:SB7800/U1 +22 +MF0;spine02:SB7800/U1 +8 +EDR +LL RS\(271,257\) +3e-05 +2e-09$")
        self.assertEqual(len(self.requests()), 22 + 6 * LINK_ENDS)
        ports = self.json("phy")["ports"]
        worst = ports[0]
        self.assertEqual((worst["raw_ber"], worst["effective_ber"], worst["symbol_ber"]), (3e-05, 2e-09, 0))
        self.assertEqual(worst["module"]["temperature_celsius"], 78.5)
        self.assertEqual(worst["module"]["rx_power_dbm"], [-9, -2, -2, -2])
        self.assertEqual(worst["peer"]["node_description"], "MF0;spine02:SB7800/U1")
        self.assertEqual({port["seconds_since_clear"] for port in ports}, {864000})

    def test_rows(self):
        """CSV has the numbers of JSON."""
        rows = list(csv.DictReader(io.StringIO(self.on_devices("phy", "--format", "csv").stdout)))
        ports = self.json("phy")["ports"]
        self.assertEqual(len(rows), LINK_ENDS)
        for row, port in zip(rows, ports):
            self.assertEqual((row["node_description"], int(row["port_num"])), (port["node_description"], port["port_num"]))
            self.assertEqual(float(row["raw_ber"]), port["raw_ber"])
            self.assertEqual(row["module.serial_number"], port["module"]["serial_number"])

    def test_down(self):
        """Why a port is down, in the words of the device, which are no terminal codes; empty cages are not listed."""
        done = self.on_devices("phy", "--down")
        self.assertRegex(done.stdout.splitlines()[1], r"^MF0;leaf01:SB7800/U1 +7 +unsupported cable or module +1029 .* X17$")
        self.assertEqual(len(done.stdout.splitlines()), 2)
        (port,) = self.json("phy", "--down")["ports"]
        self.assertEqual(port["trouble"]["code"], 1029)
        everything = self.on_devices("phy", "--down", "--columns", "all").stdout
        self.assertIn("Unsupported", everything)
        self.assertNotIn("\x1b", everything)

    def test_modules(self):
        modules = self.json("modules")["modules"]
        (cable,) = [module for module in modules if module["serial_number"] == "MT1942VS01234"]
        self.assertEqual([(end["node_description"], end["port_num"]) for end in cable["ends"]],
                         [("MF0;spine02:SB7800/U1", 8), ("MF0;leaf04:SB7800/U1", 22)])
        self.assertEqual(sum(len(module["ends"]) for module in modules), LINK_ENDS + 1)
        self.assertRegex(self.on_devices("modules").stdout, r"(?m)^QSFP28 +Mellanox +MMA1B00-E100 +MT1942VS01234 ")

    def test_environment(self):
        text = self.on_devices("environment").stdout
        self.assertRegex(text, r"(?m)^MF0;spine01:SB7800/U1 +asic +107 +58 +105 +- +hot$")
        self.assertRegex(text, r"(?m)^MF0;spine01:SB7800/U1 +fan 1 +- +- +- +8600 +slow$")
        self.assertEqual(text.count(" hot\n") + text.count(" slow\n"), 2)
        nodes = self.json("environment")["nodes"]
        self.assertEqual([len(node["temperatures"]) for node in nodes], [3] * 6)
        self.assertEqual([len(node["fans"]) for node in nodes], [4] * 6)

    def test_firmware(self):
        text = self.on_devices("firmware").stdout
        self.assertRegex(text, r"(?m)^ *4119 +MT_0000000008 +16\.35\.1000 +1 +odd +compute01 mlx5_0$")
        self.assertRegex(text, r"(?m)^ *4119 +MT_0000000008 +16\.35\.4030 +15 ")
        self.assertEqual(len(self.requests()), 22)
        nodes = self.json("firmware")["nodes"]
        self.assertEqual({node["firmware"] for node in nodes}, {"15.2010.5042", "16.35.4030", "16.35.1000"})
        self.assertEqual({node["uptime_seconds"] for node in nodes}, {1728000})

    def test_query(self):
        """Registers that phy reads only where that is wanted, and attributes of the SMA, by LID and by directed route."""
        bins = self.on_devices("query", "VendGet", "PPCNTFecHistogram", "1", "--field", "local_port=1,pnat=1").stdout
        self.assertIn("16400000000000", bins)
        odd = f"0x{LEAF1:x} SMPMlnxExtNodeInfo[0].asic_max_planes = 4\n"
        for target in (["1"], ["-D", "0,1"]):
            self.assertRegex(self.on_devices("query", "SubnGet", "SMPMlnxExtNodeInfo", *target, odd=odd).stdout, r"ASICMaxPlanes\W+4\b")
        self.on_devices("query", "SubnGet", "SMPMlnxExtNodeInfo", "2", odd=odd, status=3)

    # -- devices that do not answer as they should -------------------------------------------------------------------
    def test_silent(self):
        """A device that is silent gets no further request in this run; others are read."""
        for fault in ("silent", "vs_key 0x1234"):
            with self.subTest(fault):
                self.setUp()
                done = self.on_devices("phy", "--retries", "1", odd=f"0x{COMPUTE1:x} {fault}\n", status=4)
                self.assertEqual(self.requests(COMPUTE1), [(COMPUTE1, GENERAL_INFO, 0, 0)] * 2)
                self.assertIn("No answer from 506b:4b03:0010:0004 'compute01 mlx5_0'", done.stderr)
                self.assertEqual(len(done.stdout.splitlines()), 1 + LINK_ENDS - 1)

    def test_silent_about_registers(self):
        done = self.on_devices("phy", "--retries", "1", odd=f"0x{LEAF1:x} silent PDDR\n", status=4)
        self.assertEqual(self.requests(LEAF1), [(LEAF1, GENERAL_INFO, 0, 0)] + [(LEAF1, ACCESS_REGISTER, PDDR, 1)] * 2)
        self.assertIn("No answer from b859:9f03:00a0:0000 'MF0;leaf01:SB7800/U1' about PDDR page 0", done.stderr)

    def with_keys(self, text):
        with open(self.fabric.path("guid2vskey"), "w", encoding="ascii") as file:
            file.write(text)
        return file.name

    def test_vs_key(self):
        """A protected device is read with its key, from a file as opensm has it or from the terminal; no trace or complaint shows it."""
        odd = f"0x{COMPUTE1:x} vs_key 0x1122334455667788\n"
        shown = re.compile("1122.?3344.?5566.?7788|1234605616436508552")
        keys = self.with_keys(f"0x{LEAF1:016x} 0x0000000000000000\n\n0x{COMPUTE1:016x} 0x1122334455667788\n\n")
        done = self.on_devices("phy", "-dd", "--vskey", keys, odd=odd)
        self.assertEqual(len(done.stdout.splitlines()), 1 + LINK_ENDS)
        self.assertEqual(len(self.requests(COMPUTE1)), 1 + 6)
        self.assertIn("PDDR", done.stderr)
        self.assertNotRegex(done.stdout + done.stderr, shown)
        done = self.on_devices("firmware", "compute01 mlx5_0", "--vskey", "-", odd=odd, stdin="0x1122334455667788\n")
        self.assertEqual(len(done.stdout.splitlines()), 2)
        for keys in ("0x1122334455667788", self.with_keys("0x1122334455667788 1\n1122334455667788\n"), self.with_keys(""), "absent"):
            with self.subTest(keys):
                done = self.on_devices("phy", "--vskey", keys, odd=odd, status=2)
                self.assertEqual(len(done.stderr.splitlines()), 1)
                self.assertNotRegex(done.stderr, shown)
        keys = self.with_keys(f"0x{COMPUTE1:016x} 0x1122334455667788\n")
        words = ["query", "VendGet", "PDDRModule", "compute01 mlx5_0", "--field", "local_port=1,pnat=1", "-vv"]
        done = self.on_devices(*words, "--vskey", keys, odd=odd)
        self.assertIn("cable_length=5", done.stdout)
        self.assertNotRegex(done.stdout + done.stderr, shown)
        self.on_devices("query", "VendGet", "PDDRModule", "1", "--field", "vs_key=5", status=2)
        self.on_devices("query", "SubnGet", "NodeInfo", "1", "--vskey", keys, status=2)
        keys = self.with_keys(f"0x{COMPUTE1:016x} 1\n")
        self.on_devices("phy", "compute01 mlx5_0", "--retries", "0", "--vskey", keys, odd=odd, status=4)

    def test_unsupported(self):
        """A register that a device does not have is no failure, and is requested once of devices of its type."""
        ports = self.json("phy", odd="switch unsupported PPCNT\n")["ports"]
        switches = [port for port in ports if port["node_description"].startswith("MF0;")]
        self.assertEqual({port["raw_ber"] for port in switches}, {None})
        self.assertEqual({port["fec_mode"] for port in switches}, {3})
        self.assertEqual({port["raw_ber"] for port in ports if port not in switches}, {0})
        asked = [request for request in self.requests() if request[0] >> 40 == LEAF1 >> 40 and request[2] == PPCNT]
        self.assertLessEqual(len(asked), 2 * 6)

    def test_busy(self):
        """A device that is busy is waited for."""
        self.assertEqual(len(self.on_devices("phy", "login01 mlx5_0", odd=f"0x{LOGIN:x} busy 1\n").stdout.splitlines()), 2)
        self.assertEqual(len(self.requests(LOGIN)), 1 + 6 + 1)

    def test_false_answers(self):
        """An answer of another register, of another port, or that is cut: what it says is not shown."""
        for fault in ("wrong_register MTMP", "wrong_port", "short PDDR"):
            with self.subTest(fault):
                done = self.on_devices("phy", "login01 mlx5_0", odd=f"0x{LOGIN:x} {fault}\n", status=4)
                self.assertIn("login01 mlx5_0", done.stderr)
                self.assertNotIn("LL RS", done.stdout)

    def test_all_faults_at_once(self):
        """What is known is shown, and each kind of fault has one line, however many devices and ports have it."""
        faults = {2: ["busy 100000"], 3: ["silent"], 4: ["short PDDR"], 5: ["wrong_register MTMP"],
                  6: ["vs_key 0x1234"], 7: ["silent PPCNT"], 9: ["short PPCNT"], 10: ["wrong_port"],
                  8: [f"{page}[1] = random {seed} 8" for seed, page in enumerate(("PDDROperation", "PDDRModule", "PPCNTPhysical"))]}
        odd = "switch unsupported PPCNT\n"  # no fault: the type does not have it
        odd += "".join(f"0x{LOGIN + 4 * host:x} {fault}\n" for host, of in faults.items() for fault in of)
        done = self.on_devices("phy", "--retries", "1", "--json", odd=odd, status=4)
        rows = {row["node_description"]: row for row in json.loads(done.stdout)["ports"]}
        host = "compute{:02} mlx5_0".format
        self.assertEqual({number for number in faults if host(number) not in rows}, {2, 3, 5, 6, 10})
        known = {4: (None, 0, None), 7: (3, None, "QSFP28"), 9: (3, None, "QSFP28"), 11: (3, 0, "QSFP28")}
        for number, values in known.items():
            row = rows[host(number)]
            self.assertEqual((row["fec_mode"], row["raw_ber"], row["module"]["identifier_text"]), values, number)
        self.assertEqual((rows["MF0;leaf01:SB7800/U1"]["fec_mode"], rows["MF0;leaf01:SB7800/U1"]["raw_ber"]), (3, None))
        self.assertEqual([re.sub("[0-9a-f:]{19}", "GUID", line) for line in done.stderr.splitlines()],
                         ["E: GUID 'compute02 mlx5_0' stays busy, and does not report its PDDR page 0, operation.",
                          "E: No answer about GeneralInfo from 2 nodes: GUID 'compute03 mlx5_0', GUID 'compute06 mlx5_0'.",
                          "E: 2 nodes: GUID 'compute04 mlx5_0', GUID 'compute09 mlx5_0': The answer is cut.",
                          "E: 2 nodes: GUID 'compute05 mlx5_0', GUID 'compute10 mlx5_0': The answer is of another register or index.",
                          "E: No answer from GUID 'compute07 mlx5_0' about PPCNT group 0x12, physical layer."])

    def test_twins(self):
        """Two ports with one LID: neither is read, since it is not known which one answers. Two nodes with one GUID: each is read."""
        self.fabric.opensm.send_signal(signal.SIGSTOP)
        self.addCleanup(self.fabric.opensm.send_signal, signal.SIGCONT)
        fourth = f"H-{LOGIN + 16:x}"
        self.change(f'Baselid "{fourth}"[1] 10', undo=f'Baselid "{fourth}"[1] 11')
        for words in (["phy"], ["modules"], ["firmware"]):
            done = self.on_devices(*words, "--skip-sl", status=4)
            self.assertNotRegex(done.stdout, "compute0[34] mlx5_0 +1 +MF")
            self.assertRegex(done.stderr, "compute03 mlx5_0.*compute04 mlx5_0.*Not read: 2 ports claim LID 10")
        self.change(f'Baselid "{fourth}"[1] 11', undo=f'Baselid "{fourth}"[1] 11')
        self.change(f'Guid "{fourth}" 0x{LOGIN + 12:x}', undo=f'Guid "{fourth}" 0x{LOGIN + 16:x}')
        done = self.on_devices("phy", "--skip-sl", status=4)
        self.assertRegex(done.stdout, r"(?m)^compute03 mlx5_0 +1 +MF0;leaf01")
        self.assertRegex(done.stdout, r"(?m)^compute04 mlx5_0 +1 +MF0;leaf02")
        self.assertRegex(done.stderr, "compute04 mlx5_0.*Another node claims the same GUID")

    def test_late(self):
        """An answer that comes in a later try is taken; those that come after the last one are nobody's."""
        odd = f"0x{LOGIN + 12:x} PPCNTStatistics[1].raw_ber_coef = 4\n0x{LOGIN + 12:x} PPCNTStatistics[1].raw_ber_magnitude = 12\n"
        self.on_devices("snapshot", "fabric.ibss", "--only", "ports", odd=odd)
        words = ["phy", "--load-cache", "fabric.ibss", "--skip-sl", "-t", "100"]
        devices = self.devices(odd)
        slow = devices | {"preload": [*devices["preload"], case.DELAY], "IBTEST_DELAY_US": "150000"}
        done = self.ibtool(*words, "--retries", "0", status=4, **slow)
        self.assertEqual(len(done.stdout.splitlines()), 1)
        self.assertIn("No answer about GeneralInfo from 22 nodes", done.stderr)
        self.assertLessEqual(len(self.requests()), 22)
        done = self.ibtool(*words, "--retries", "3", "--format", "csv", "--columns", "node_description,raw_ber", "--top", "2", **slow)
        self.assertEqual(done.stdout.splitlines()[1], '"compute03 mlx5_0",4e-12')
        self.assertNotIn("compute03", done.stdout.splitlines()[2])

    def test_busy_for_ever(self):
        """A device that stays busy gets no further request after the tries of one, and the others are shown."""
        done = self.on_devices("phy", odd=f"0x{LEAF1:x} busy 100000\n", status=4)
        self.assertLessEqual(len(self.requests(LEAF1)), 1 + 5 * 4)  # four tries each
        self.assertIn("MF0;leaf01", done.stderr)
        self.assertNotRegex(done.stdout, r"(?m)^MF0;leaf01")
        self.assertRegex(done.stdout, r"(?m)^MF0;leaf02")

    def test_interrupted(self):
        """Ctrl-C prints what was read so far, and says that it is not all."""
        where = {"env": self.fabric.env(**self.devices()), "cwd": self.fabric.dir, "encoding": "utf-8"}
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        with subprocess.Popen([case.IBTOOL, "phy", "--rate", "30"], **where, **pipes) as child:
            end = time.monotonic() + 60
            while len(self.requests()) < 150 and time.monotonic() < end and child.poll() is None:
                time.sleep(0.05)
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
        self.assertEqual(child.returncode, 4, err)
        self.assertIn("Interrupted", err)
        self.assertGreater(len(out.splitlines()), 10)
        self.assertLess(len(out.splitlines()), 1 + LINK_ENDS)

    def test_no_general_info(self):
        done = self.on_devices("firmware", odd=f"0x{LOGIN:x} no_general_info\n")
        self.assertIn("Registers of 1 of 22 devices are not read: they refuse GeneralInfo", done.stderr)

    # -- a fabric that is not well -----------------------------------------------------------------------------------
    def test_without_subnet_manager(self):
        """The subnet manager does not answer, but stands."""
        self.fabric.opensm.send_signal(signal.SIGSTOP)
        self.addCleanup(self.fabric.opensm.send_signal, signal.SIGCONT)
        done = self.on_devices("phy", "-t", "200", "--retries", "0", status=None)
        self.assertEqual(len(done.stdout.splitlines()), 1 + LINK_ENDS)


class Pulled(Base):
    def test_cable_pulled(self):
        """A port that has lost its link is listed only while a module is in its cage."""
        self.unlink("S-b8599f0300a00010", 19)
        self.assertNotIn("leaf02", self.on_devices("phy", "--down").stdout)
        plugged = "0xb8599f0300a00010 PDDRModule[19].cable_type = 1\n0xb8599f0300a00010 PDDRTroubleshooting[19].monitor_opcode = 57\n"
        self.assertRegex(self.on_devices("phy", "--down", odd=plugged).stdout, r"leaf02:SB7800/U1 +19 +no signal detected +57 ")


class Readme(case.FabricCase):
    """The example cluster as tests/shell and tests/demo have it."""

    def test_the_lines_of_the_readme(self):
        with open(README, encoding="utf-8") as file:
            shown = re.search(r"which module is in that cage.*?\n\n(.*?)\n\n", file.read(), re.S)[1]
        self.assertLessEqual(len(shown.splitlines()), 20)
        for part in shown.split("    $ ")[1:]:
            command, *lines = part.splitlines()
            printed = self.ibtool(*shlex.split(command)[1:], **play.registers(self.fabric)).stdout.splitlines()
            lines = [line[4:] for line in lines if line.strip() != "…"]
            self.assertEqual([line.rstrip() for line in printed if line.rstrip() in lines], lines, command)

    def test_cables(self):
        """Each cable has one serial number at both ends, but for the two that lead nowhere."""
        modules = json.loads(self.ibtool("modules", "--json", **play.registers(self.fabric)).stdout)["modules"]
        self.assertEqual(sorted(len(module["ends"]) for module in modules), [1, 1] + [2] * (LINK_ENDS // 2))

    def test_hints(self):
        """What the shell offers works there."""
        for words in re.findall(r"ibtool (phy(?: --down)?|environment)\b", play.WELCOME):
            self.assertGreater(len(self.ibtool(*words.split(), **play.registers(self.fabric)).stdout.splitlines()), 2)


class OwnCable(case.FabricCase):
    def test_own_cable_out(self):
        """Nothing is sent to anybody."""
        self.change('Unlink "S-b8599f0300a00000"[1]', 'Relink "S-b8599f0300a00000"[1]')
        log = self.fabric.path("registers.log")
        for words in (["phy"], ["phy", "--down"], ["modules"], ["environment"], ["firmware"]):
            with self.subTest(words):
                done = self.ibtool(*words, status=3, **case.simfabric.registers(log=log))
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertEqual(done.stdout, "")
        self.assertFalse(os.path.exists(log))


if __name__ == "__main__":
    case.main()
