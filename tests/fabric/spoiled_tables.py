# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Forwarding tables of the example cluster in files, with wrong entries in them: what the examples in ibtool-check_routes(1) read.

    topology        the fabric as ibnetdiscover prints it
    wrong.lfts      one entry of each kind that loses packets
    cut.lfts        without the table of one switch
    twice.lfts      a switch whose LIDs stand twice
    turns.lfts      all packets arrive, but on two ways they turn at leaves and wait for each other
    groups.mfts     three groups, one with a way in a circle, one that forgets a switch, one that forgets a leaf
"""
import re


class Tables:
    """The tables of a running cluster; `run` gives the output of an ibtool command."""

    def __init__(self, run):
        self.topology, self.text = run("ibnetdiscover"), run("dump_lfts")
        self.lid, self.guid, self.port = {}, {}, {}
        node = None
        for line in self.topology.splitlines():
            heading = re.match(r'(?:Switch|Ca)\s+\d+\s+"\w-([0-9a-f:]+)"\s+# "(?:MF0;)?(\w+)[^"]*"(?:.* lid (\d+) )?', line)
            link = re.match(r'\[(\d+)\].*?"\w-[0-9a-f:]+"\[\d+\].*?# (?:lid (\d+) lmc \d )?"(?:MF0;)?(\w+)', line)
            if heading:
                node = heading[2]
                self.guid[node] = int(heading[1].replace(":", ""), 16)
                if heading[3]:
                    self.lid[node] = int(heading[3])
            elif link:
                self.port.setdefault((node, link[3]), int(link[1]))
                if link[2]:
                    self.lid[node] = int(link[2])

    def changed(self, entries):
        """The tables with other entries: {(switch, name of the owner of the LID): port, or None for a missing row}."""
        lines, switch = [], None
        wanted = {(at, self.lid[owner]): port for (at, owner), port in entries.items()}
        for line in self.text.splitlines(keepends=True):
            heading, row = re.match(r"Unicast lids .*'MF0;(\w+)", line), re.match(r"( *(\d+)) \d{3}( : .*\n)", line)
            if heading:
                switch = heading[1]
            if row and (switch, int(row[2])) in wanted:
                port = wanted.pop((switch, int(row[2])))
                line = "" if port is None else f"{row[1]} {port:03}{row[3]}"
            lines.append(line)
        assert not wanted, wanted
        return "".join(lines)

    def wrong(self):
        port = self.port
        return self.changed({("spine01", "compute12"): None, ("leaf01", "compute13"): 36,
                             ("leaf02", "storage01"): port["leaf02", "compute04"], ("leaf03", "compute02"): port["leaf03", "spine01"],
                             ("spine01", "compute02"): port["spine01", "leaf03"]})

    def cut(self):
        """Without the table of leaf04."""
        return re.sub(r"Unicast lids [^\n]*'MF0;leaf04.*?lids dumped\n", "", self.text, flags=re.DOTALL)

    def twice(self):
        """The table of leaf01, and once more."""
        table = re.search(r"Unicast lids [^\n]*'MF0;leaf01.*?lids dumped\n", self.text, re.DOTALL)[0]
        return table + table

    def turns(self):
        """Packets to compute04 go over leaf03, packets to compute12 over leaf01."""
        port, entries = self.port, {}
        for owner, way in (("compute04", ("leaf01", "spine01", "leaf03", "spine02", "leaf02")),
                           ("compute12", ("leaf03", "spine02", "leaf01", "spine01", "leaf04"))):
            entries.update({(at, owner): port[at, to] for at, to in zip(way, way[1:])})
        return self.changed(entries)

    def groups(self):
        """0xc000 goes from leaf01 to leaf02 over both spines; leaf04 has no entry of 0xc001, and spine01 one without a link; spine01
        sends nothing of 0xc002 to leaf02."""
        port = self.port
        both = {"leaf01": [port["leaf01", name] for name in ("login01", "spine01", "spine02")],
                "leaf02": [port["leaf02", name] for name in ("compute04", "spine01", "spine02")],
                "spine01": [port["spine01", name] for name in ("leaf01", "leaf02")],
                "spine02": [port["spine02", name] for name in ("leaf01", "leaf02")]}
        one = {"leaf01": [port["leaf01", name] for name in ("login01", "spine01")], "spine01": [port["spine01", "leaf01"],
               port["spine01", "leaf04"], 36]}
        half = {"leaf01": one["leaf01"], "leaf02": [port["leaf02", name] for name in ("compute04", "spine01")],
                "spine01": [port["spine01", "leaf01"]]}
        text = ""
        for switch, guid in sorted(self.guid.items()):
            if not switch.startswith(("leaf", "spine")):
                continue
            rows = [(mlid, ports[switch]) for mlid, ports in ((0xc000, both), (0xc001, one), (0xc002, half)) if switch in ports]
            text += f"\nSwitch 0x{guid:016x}\nLID    : Out Port(s)\n"
            text += "".join(f"0x{mlid:04X} : {'  '.join(f'0x{port:03X}' for port in sorted(ports))} \n" for mlid, ports in rows)
        return text

    def write(self, directory):
        files = {"topology": self.topology, "wrong.lfts": self.wrong(), "cut.lfts": self.cut(), "twice.lfts": self.twice(),
                 "turns.lfts": self.turns(), "groups.mfts": self.groups()}
        for name, text in files.items():
            with open(f"{directory}/{name}", "w", encoding="utf-8") as file:
                file.write(text)
