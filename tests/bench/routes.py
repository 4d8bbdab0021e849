#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`ibtool check_routes` on routed fat trees, from files: reading and analysis apart, and beside ibdmchk where that is installed.

The trees and their tables are written by this program, without a simulator: up to a spine and a core that the destination chooses, and down
again. ibdmchk reads the same topology and tables in the forms that opensm writes. All files are in memory. Ours runs several times, and the
best time counts; ibdmchk runs once, and not above --ibdmchk nodes: its time grows with the pairs. Nothing here passes or fails on a time.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "support"), os.path.join(os.path.dirname(HERE), "peers")]

import fattree  # noqa: E402
import simfabric  # noqa: E402

RADIX = {702: (2, 36), 4176: (3, 24), 13284: (3, 36)}
STAGES = simfabric.built("IBTEST_BENCH_ROUTES", "tests/bench/bench-routes")


def levels(tree):
    """GUID of a switch → its level: 0 for those with hosts."""
    level = {node.guid: 0 for node in tree.nodes if node.kind == "Switch" and any(peer.kind == "Ca" for peer, _ in node.links.values())}
    rest = [node for node in tree.nodes if node.kind == "Switch" and node.guid not in level]
    while rest:
        found = {node.guid: min(level[peer.guid] for peer, _ in node.links.values() if peer.guid in level) + 1 for node in rest
                 if any(peer.guid in level for peer, _ in node.links.values())}
        level.update(found)
        rest = [node for node in rest if node.guid not in level]
    return level


class Tables:
    """The output port of each switch for each host's LID: down where the host is below, else up by the number of the host."""

    def __init__(self, tree):
        self.tree, self.lids, self.level = tree, fattree.lids_of(tree), levels(tree)
        self.hosts = [node.guid for node in tree.nodes if node.kind == "Ca"]
        self.number = {guid: number for number, guid in enumerate(self.hosts)}
        self.below_ = {}

    def below(self, node):
        """Host → port, of the hosts below a switch."""
        if node.guid not in self.below_:
            found = {}
            for port, (peer, _) in node.links.items():
                if peer.kind == "Ca":
                    found[peer.guid] = port
                elif self.level[peer.guid] < self.level[node.guid]:
                    found.update(dict.fromkeys(self.below(peer), port))
            self.below_[node.guid] = found
        return self.below_[node.guid]

    def ports(self, node):
        """The output ports for all hosts, in the order of the tree."""
        down, level = self.below(node), self.level[node.guid]
        up = sorted(port for port, (peer, _) in node.links.items() if peer.kind != "Ca" and self.level[peer.guid] > level)
        spread = max(1, len(up)) ** level
        return [down[guid] if guid in down else up[number // spread % len(up)] for number, guid in enumerate(self.hosts)]

    def switches(self):
        return [node for node in self.tree.nodes if node.kind == "Switch"]

    def write_dump(self, out):
        """As ibroute -n prints them."""
        rows = [f"0x{self.lids[guid]:04x} " for guid in self.hosts]
        texts = [f"{port:03} \n" for port in range(256)]
        top = max(self.lids.values())
        for node in self.switches():
            out.write(f"Unicast lids [0x0-0x{top:x}] of switch Lid {self.lids[node.guid]} guid 0x{node.guid:016x} ({node.desc}):\n"
                      "  Lid  Out   Destination\n       Port     Info \n")
            out.write(f"0x{self.lids[node.guid]:04x} 000 \n")
            out.write("".join([row + texts[port] for row, port in zip(rows, self.ports(node))]))
            out.write(f"{len(rows) + 1} valid lids dumped \n")

    def write_fdbs(self, out):
        """As opensm writes opensm.fdbs."""
        rows = [f"0x{self.lids[guid]:04X} : " for guid in self.hosts]
        texts = [f"{port:03}  : 01   : yes\n" for port in range(256)]
        for node in self.switches():
            out.write(f"dump_ucast_routes: Switch 0x{node.guid:016x}\nLID    : Port : Hops : Optimal\n")
            out.write(f"0x{self.lids[node.guid]:04X} : 000  : 00   : yes\n")
            out.write("".join([row + texts[port] for row, port in zip(rows, self.ports(node))]))
            out.write("\n")

    def write_subnet(self, out):
        """As opensm writes opensm-subnet.lst."""
        def end(node, port):
            kind, guid = ("SW", node.guid) if node.kind == "Switch" else ("CA", node.guid + port)
            # ibdmchk knows hosts by HCA-n behind their name, and takes the first word for the system
            name = node.desc if kind == "SW" else node.desc.replace("mlx5_0", "HCA-1")
            return (f"{{ {kind} Ports:{node.ports:02X} SystemGUID:{node.guid:016x} NodeGUID:{node.guid:016x} PortGUID:{guid:016x} "
                    f"VenID:0002C9 DevID:CF08 Rev:000000A1 {{{name}}} LID:{self.lids[node.guid]:04X} PN:{port:02X} }}")
        for node in self.tree.nodes:
            for port, (peer, peer_port) in sorted(node.links.items()):
                out.write(f"{end(node, port)} {end(peer, peer_port)} PHY=4x LOG=ACT SPD=10\n")


def write_all(tables, directory):
    def write_topology(out):
        out.write("#\n")
        fattree.write_net(tables.tree, out, tables.lids)
    for name, write in (("topology", write_topology), ("lfts", tables.write_dump), ("opensm.fdbs", tables.write_fdbs),
                        ("opensm-subnet.lst", tables.write_subnet), ("opensm.mcfdbs", lambda out: None)):
        with open(os.path.join(directory, name), "w", encoding="ascii") as out:
            write(out)


class Run:
    """The time that a program took, its exit status, and what it printed."""

    def __init__(self, argv, directory):
        with tempfile.TemporaryFile("w+", errors="replace") as out:
            start = time.perf_counter()
            done = subprocess.run(argv, cwd=directory, check=False, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)
            self.wall, self.status = time.perf_counter() - start, done.returncode
            out.seek(0)
            self.text = out.read()


def best(runs):
    return min(runs, key=lambda run: run.wall)


def row(name, seconds, peak=None, other=None):
    ratio = f"{seconds / other:>10.4f}" if other else f"{'':>10}"
    memory = f"{peak:>10.0f}" if peak else f"{'':>10}"
    print(f"  {name:<52}{seconds:>10.3f}{memory}{ratio}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, choices=sorted(RADIX), default=4176)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ibdmchk", type=int, default=4176, metavar="NODES", help="the largest fabric that ibdmchk gets")
    args = parser.parse_args()
    depth, radix = RADIX[args.nodes]
    tree = fattree.two_levels(radix) if depth == 2 else fattree.three_levels(radix)
    tables = Tables(tree)
    directory = tempfile.mkdtemp(prefix="ibtool-routes-", dir=simfabric.memory_dir())
    try:
        write_all(tables, directory)
        measure(args, tables, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def measure(args, tables, directory):
    pairs = len(tables.hosts) * (len(tables.hosts) - 1)
    print(f"{len(tables.tree.nodes)} nodes, {tables.tree.counts['Switch']} of them switches, {pairs} pairs")
    print(f"  {'':<52}{'s':>10}{'MiB':>10}{'ratio':>10}")
    theirs = None
    if args.nodes <= args.ibdmchk and simfabric.find_program("ibdmchk"):
        theirs = Run(["ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs"], directory)
        if f"Scanned:{pairs} CA to CA" not in theirs.text:
            sys.exit("ibdmchk did not check all pairs:\n" + theirs.text[-2000:])
        row("ibdmchk, whole", theirs.wall)
    whole = best([Run([simfabric.IBTOOL, "check_routes", "--unicast", "--json", "--topology", "topology", "--lfts", "lfts"], directory)
                  for _ in range(args.rounds)])
    found = json.loads(whole.text)["unicast"]
    if whole.status != 0 or found["arrived_count"] != pairs:
        sys.exit(f"check_routes did not find all pairs to arrive, status {whole.status}")
    row("ibtool check_routes, whole", whole.wall, other=theirs and theirs.wall)
    runs = [json.loads(Run([STAGES, "topology", "lfts"], directory).text) for _ in range(args.rounds)]
    stages = min(runs, key=lambda run: run["analysis"])
    row("  reading the topology", min(run["topology"] for run in runs), stages["topology_mib"])
    row("  reading the tables", min(run["tables"] for run in runs), stages["tables_mib"])
    row("  analysis: ways, hops, load, channels, loops", stages["analysis"], stages["analysis_mib"], theirs and theirs.wall)


if __name__ == "__main__":
    main()
