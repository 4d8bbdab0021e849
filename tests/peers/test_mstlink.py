#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""phy and query beside mstlink and mstreg of Debian 13 on the same answers of devices: what both print is the same, on ports with values
as links have them, on ports with the strangest ones, and in registers of random bytes."""
import json
import os
import random
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "fabric")]
import case  # noqa: E402
import mstflint  # noqa: E402

LEAF = 2  # a LID
LEAF_GUID = 0xb8599f0300a00010
SWITCHES = {1: 0xb8599f0300a00000, 2: LEAF_GUID, 3: 0xb8599f0300a00020, 4: 0xb8599f0300a00030}
PORTS = [1, 3, 19, 21]  # with a link: each label of mstlink's type of switch has two ports, of which it takes the first
FEC = {3: "Standard LL RS-FEC - RS(271,257)", 0: "No FEC"}
PORT_INDEX = "local_port=0x3,pnat=0x1,lp_msb=0x0,port_type=0x0,plane_ind=0x0"
PDDR_INDEX = PORT_INDEX + ",module_ind_type=0x0,page_select="
PPCNT_INDEX = PORT_INDEX + ",swid=0x0,prio_tc=0x0,grp_profile=0x0,lp_gl=0x0,grp="
OF_LATER_VERSIONS = {"hw_num_ports", "els_index"}  # mstflint 4.31 knows 8 of the 12 bits of the first, and has the second elsewhere
# Layouts: the register's name for mstreg, its index there, the index for query, the first byte that is random
LAYOUTS = {
    "PDDROperation": ("PDDR", PDDR_INDEX + "0x0", "local_port=3,pnat=1", 8),
    "PDDRPhy": ("PDDR", PDDR_INDEX + "0x2", "local_port=3,pnat=1", 8),
    "PDDRModule": ("PDDR", PDDR_INDEX + "0x3", "local_port=3,pnat=1", 8),
    "PDDRLinkDown": ("PDDR", PDDR_INDEX + "0x6", "local_port=3,pnat=1", 8),
    "PDDRModuleFlags": ("PDDR", PDDR_INDEX + "0x9", "local_port=3,pnat=1", 8),
    "PPCNTPhysical": ("PPCNT", PPCNT_INDEX + "0x12", "local_port=3,pnat=1", 8),
    "PPCNTStatistics": ("PPCNT", PPCNT_INDEX + "0x16", "local_port=3,pnat=1", 8),
    "PPCNTRetransmission": ("PPCNT", PPCNT_INDEX + "0x22", "local_port=3,pnat=1", 8),
    "PPCNTFecHistogram": ("PPCNT", PPCNT_INDEX + "0x23", "local_port=3,pnat=1", 8),
    "MGIR": ("MGIR", "", "", 0),
    "MTMP": ("MTMP", "sensor_index=0x1,slot_index=0x0,asic_index=0x0,ig=0x0,i=0x0", "sensor_index=1", 4),
    "MTCAP": ("MTCAP", "slot_index=0x0", "", 4),
    "MFCR": ("MFCR", "", "", 0),
    "MFSM": ("MFSM", "tacho=0x0", "", 4),
    "FORE": ("FORE", "", "", 0),
    "PTYS": ("PTYS", "local_port=0x3,lp_msb=0x0,port_type=0x0,plane_ind=0x0,proto_mask=0x1", "local_port=3,proto_mask=1", 4),
    "PMLP": ("PMLP", "local_port=0x3,lp_msb=0x0,plane_ind=0x0", "local_port=3", 4),
    "PPHCR": ("PPHCR", PORT_INDEX + ",hist_type=0x0", "local_port=3,pnat=1", 8),
    "PMDR": ("PMDR", "local_port=0x3,pnat=0x1,lp_msb=0x0,plane_ind=0x0", "local_port=3,pnat=1", 4),
}


def made_up(guid, port, chance):
    """Lines of registers for a port."""
    whole = chance.random() < 0.3  # of what there can be, not only of what links have
    text = "".join(chance.choice("ABCXYZ0123456789-./") for _ in range(chance.randint(1, 16)))
    statistics = {
        "raw_ber_coef": chance.randrange(1, 10), "raw_ber_magnitude": chance.choice([4, 9, 12, 15, 254, 255]),
        "effective_ber_coef": chance.randrange(1, 16), "effective_ber_magnitude": chance.choice([9, 15, 30, 254]),
        "time_since_last_clear": chance.randrange(1, 1 << 40),
        "phy_raw_errors_lane": ",".join(str(chance.randrange(1 << 48)) for _ in range(4)),
    }
    module = {
        "temperature": chance.randrange(1 << 16) if whole else chance.randrange(10 * 256, 80 * 256),
        "voltage": chance.randrange(1 << 16) if whole else chance.randrange(31000, 34000),
        "rx_power": ",".join(str(chance.randrange(-60 if whole else -12, 30 if whole else 6)) for _ in range(4)),
        "tx_power": ",".join(str(chance.randrange(-12, 6)) for _ in range(4)),
        "tx_bias": ",".join(str(chance.randrange(1, 60000)) for _ in range(4)),
        "cable_identifier": chance.choice([0, 1, 7, 8]), "cable_type": chance.choice([1, 2, 3]),
        "cable_length": chance.randrange(256) if whole else chance.randrange(1, 30),
        "vendor_sn": f'"{text}"', "vendor_pn": f'"{text[::-1]}"', "vendor_name": f'"V{text[:9]}"',
        "vendor_rev": f'"{text[:2]}"', "fw_version": chance.randrange(1, 1 << 32),
    }
    trouble = {"monitor_opcode": chance.choice([0, 2, 14, 15, 23, 57, 1024, 1027, 1029]), "status_message": f'"Reason {text}"'}
    return "".join(f"0x{guid:x} {register}[{port}].{field} = {value}\n" for register, fields in
                   (("PPCNTStatistics", statistics), ("PDDRModule", module), ("PDDRTroubleshooting", trouble))
                   for field, value in fields.items())


def numbers(text):
    """The numbers of a list as mstlink prints it, without the limits behind it."""
    return [float(word) for word in text.partition("[")[0].split(",")]


class Mstlink(case.FabricCase):
    def registers(self, lines):
        with open(self.fabric.path("odd.txt"), "w", encoding="ascii") as file:
            file.write(lines)
        return case.simfabric.registers(file.name)

    def test_links(self):
        """mstlink and phy on made-up ports: each field that both print."""
        chance = random.Random(20261128)
        registers = self.registers("".join(made_up(guid, port, chance) for guid in SWITCHES.values() for port in PORTS))
        ports = json.loads(self.ibtool("phy", "--json", **registers).stdout)["ports"]
        ours = {(port["lid"], port["port_num"]): port for port in ports}
        self.compared = 0
        for lid in SWITCHES:
            for port in PORTS:
                with self.subTest(lid=lid, port=port):
                    self.compare(ours[lid, port], mstflint.link(self.fabric, lid, (port + 1) // 2, **registers))
        self.assertGreaterEqual(self.compared, 16 * 14)

    def same(self, ours, theirs, name):
        """Compares a value; nothing where one of them does not know it."""
        if ours is None or theirs is None:
            return
        self.compared += 1
        self.assertEqual(ours, theirs, name)

    def compare(self, port, said):
        counters, module = said["Physical Counters and BER Info"], said["Module Info"]
        known = {key: None if value in ("N/A", "") else value for key, value in module.items()}
        for key, name in (("raw_ber", "Raw Physical BER"), ("effective_ber", "Effective Physical BER")):
            coefficient, magnitude = counters[name].split("E-")
            self.same(port[key], 0 if magnitude in ("254", "255") else float(f"{coefficient}e-{magnitude}"), name)
        self.same(port["raw_errors_per_lane"], numbers(counters["Raw Physical Errors Per Lane"]), "errors of lanes")
        self.same(round(port["seconds_since_clear"] / 60, 1), float(counters["Time Since Last Clear [Min]"]), "time")
        self.same(FEC[port["fec_mode"]], said["Operational Info"]["FEC"], "FEC")
        self.same("IB-" + port["speed_text"], said["Operational Info"]["Speed"], "speed")
        self.same(port["trouble"]["code"], int(said["Troubleshooting Info"]["Status Opcode"]), "reason")
        self.same(port["trouble"]["device_text"], said["Troubleshooting Info"]["Recommendation"], "text of the reason")
        cable = port["module"]
        for key, name in (("vendor", "Vendor Name"), ("part_number", "Vendor Part Number"), ("serial_number", "Vendor Serial Number"),
                          ("hardware_revision", "Rev")):
            self.same(cable[key], known[name], name)
        self.same(cable["identifier_text"].replace("-", "_"), (known["Identifier"] or "").replace("-", "_") or None, "identifier")
        self.same(cable["module_firmware"], known["FW Version"], "firmware of the module")
        for key, name in (("rx_power_dbm", "Rx Power Current [dBm]"), ("tx_power_dbm", "Tx Power Current [dBm]"),
                          ("bias_milliamperes", "Bias Current [mA]")):
            if known[name] is not None:
                for ours, theirs in zip(cable[key], numbers(known[name])):
                    self.same(ours if ours is None else round(ours, 3), theirs, name)
        if known["Temperature [C]"] is not None and cable["temperature_celsius"] is not None:  # whole degrees
            self.same(int(cable["temperature_celsius"]), numbers(known["Temperature [C]"])[0], "temperature")
        if known["Voltage [mV]"] is not None and cable["voltage_millivolts"] is not None:
            self.same(cable["voltage_millivolts"], numbers(known["Voltage [mV]"])[0], "voltage")
        if known["Transfer Distance [m]"] is not None and cable["length_meters"] is not None:
            self.same(cable["length_meters"], float(known["Transfer Distance [m]"].split()[0]), "length")

    def test_registers(self):
        """mstreg and query on registers of random bytes: each field by its name."""
        for seed in (20261128,):
            lines = "".join(f"0x{LEAF_GUID:x} {layout}[*] = random {seed + at} {first}\n"
                            for at, (layout, (_, _, _, first)) in enumerate(LAYOUTS.items()))
            registers = self.registers(lines)
            for layout, (name, index, ours, _) in LAYOUTS.items():
                with self.subTest(layout, seed=seed):
                    words = ["--field", ours] if ours else []
                    data = json.loads(self.ibtool("query", "VendGet", layout, str(LEAF), *words, "--json", **registers).stdout)["data"]
                    theirs = mstflint.register(self.fabric, LEAF, name, index, **registers)
                    both = [(field, value, self.theirs(theirs, field)) for field, value in self.flat(data)]
                    both = [each for each in both if each[2] is not None and each[0] not in OF_LATER_VERSIONS]
                    self.assertEqual([(field, value) for field, value, _ in both], [(field, their) for field, _, their in both])
                    self.assertGreater(len(both), 2, theirs)

    @staticmethod
    def flat(data):
        for field, value in data.items():
            elements = value if isinstance(value, list) else [value]
            for at, element in enumerate(elements):
                number = int(element, 16) if isinstance(element, str) and re.fullmatch("0x[0-9a-f]+", element) else element
                if isinstance(number, int):
                    yield f"{field}[{at}]" if isinstance(value, list) else field, number

    @staticmethod
    def theirs(fields, name):
        """mstreg's value; it prints those of 64 bits in halves, and names of MGIR without the part that they are in."""
        for each in (name, re.sub("^(hw|fw|sw)_", "", name)):
            if each in fields:
                return fields[each]
        base, bracket, rest = name.partition("[")
        high, low = (f"{base}{half}{bracket}{rest}" for half in ("_high", "_low"))
        return fields[high] << 32 | fields[low] if high in fields and low in fields else None

    def test_firmware(self):
        """The PSID, and a temperature."""
        lines = [f'0x{LEAF_GUID:x} {name}.fw_psid = "MT_9876543210"\n' for name in ("MGIR", "IS4GeneralInfo")]
        for prefix in ("MGIR.fw_extended_", "IS4GeneralInfo.ext_"):
            lines += [f"0x{LEAF_GUID:x} {prefix}{part} = {number}\n" for part, number in (("major", 16), ("minor", 35), ("sub_minor", 12))]
        registers = self.registers("".join(lines))
        theirs = mstflint.register(self.fabric, LEAF, "MGIR", "", **registers)
        psid = "".join(chr(theirs[f"psid[{at}]"]) for at in range(16)).rstrip("\0")
        (node,) = json.loads(self.ibtool("firmware", str(LEAF), "--json", **registers).stdout)["nodes"]
        self.assertEqual(node["psid"], psid)
        said = mstflint.link(self.fabric, LEAF, 1, **registers)
        self.assertEqual(node["firmware"], said["Tool Information"]["Firmware Version"])
        (node,) = json.loads(self.ibtool("environment", str(LEAF), "--json", **registers).stdout)["nodes"]
        sensor = mstflint.register(self.fabric, LEAF, "MTMP", LAYOUTS["MTMP"][1], **registers)
        self.assertEqual(node["temperatures"][1]["temperature_celsius"], sensor["temperature"] / 8)


if __name__ == "__main__":
    REASON = mstflint.why_missing()
    if REASON:
        print("skipped: " + REASON)
        # A mirror without Debian 13 is no fault of what is tested; the count says that this was skipped.
        sys.exit(1 if os.environ.get("IBTEST_NO_SKIP") and os.path.exists(mstflint.TREE) else 77)
    case.main()
