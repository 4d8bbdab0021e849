# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the devices of a network file answer of their registers: a cable for each link, with the same serial number at both ends. Copper
between a host and a switch, optics between switches. The numbers are made up, and always the same for a file."""
import re

COPPER = """{end} PDDRModule[{port}].cable_type = 3
{end} PDDRModule[{port}].vendor_pn = "MCP1600-E002E30 "
{end} PDDRModule[{port}].vendor_rev = "A3"
{end} PDDRModule[{port}].vendor_sn = "MT1917VS{number:05d}"
{end} PDDRModule[{port}].cable_length = 2
{end} PDDRModule[{port}].fw_version = 0
{end} PDDRModule[{port}].monitor_cap_mask = 0
{end} PDDRModule[{port}].temperature = 0
{end} PDDRModule[{port}].temperature_high_th = 0
{end} PDDRModule[{port}].wavelength = 0
"""
OPTICS = """{end} PDDRModule[{port}].cable_type = 1
{end} PDDRModule[{port}].vendor_pn = "MFA1A00-E010    "
{end} PDDRModule[{port}].vendor_rev = "B2"
{end} PDDRModule[{port}].vendor_sn = "MT1919FT{number:05d}"
{end} PDDRModule[{port}].cable_length = 10
{end} PDDRModule[{port}].temperature = {celsius}*256
"""
ERRORS = """{end} PPCNTStatistics[{port}].raw_ber_coef = {coefficient}
{end} PPCNTStatistics[{port}].raw_ber_magnitude = {magnitude}
{end} PPCNTPhysical[{port}].rs_fec_corrected_blocks = {blocks}
"""


def cables(netfile):
    """The links of a network file, each once: a pair of (GUID, is a switch, port)."""
    guids, links, guid, node = {}, [], None, None
    with open(netfile, encoding="latin-1") as net:
        for line in net:
            if match := re.match(r"(?:ca|switch|rt)guid=0x([0-9a-f]+)", line):
                guid = match[1]
            elif match := re.match(r'(Hca|Ca|Switch|Rt)\s+\d+\s+"([^"]+)"', line):
                node = match[2]
                guids[node] = int(guid or re.sub("[^0-9a-f]", "", node[1:]) or "0", 16), match[1] == "Switch"
                guid = None
            elif match := re.match(r'\[(\d+)\](?:\([0-9a-fx]+\))?\s+"([^"]+)"\[(\d+)\]', line):
                links.append(((node, int(match[1])), (match[2], int(match[3]))))
    once = {tuple(sorted(link)): None for link in links}
    return [tuple((*guids[name], port) for name, port in link) for link in once if all(name in guids for name, _ in link)]


def write(netfile, path):
    """Writes the file of registers for a network file."""
    with open(path, "w", encoding="ascii") as file:
        for number, cable in enumerate(cables(netfile)):
            is_optical = all(is_switch for _, is_switch, _ in cable)
            for side, (guid, _, port) in enumerate(cable):
                spread = (number * 7 + side * 3) % 9
                values = {"end": f"0x{guid:x}", "port": port, "number": 4096 + 13 * number, "celsius": 38 + spread}
                file.write((OPTICS if is_optical else COPPER).format(**values))
                magnitude = 12 - spread % 3 if is_optical else 14
                blocks = (1 + spread) * 10 ** (17 - magnitude)
                file.write(ERRORS.format(coefficient=1 + spread, magnitude=magnitude, blocks=blocks, **values))
