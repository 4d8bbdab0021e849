#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Writes a fat tree as an ibsim network file, and its pinned LIDs.

A fat tree of two levels with radix K has K leaf switches of K/2 hosts and K/2 uplinks, and K/2 spines: 702 nodes at
K = 36. One of three levels is the classic one: K pods of K/2 leaf and K/2 spine switches, and K²/4 core switches:
13,284 nodes at K = 36, 52,983 at K = 58. Every link is there once and every port of every switch is used.
"""
import argparse
import sys
from dataclasses import dataclass, field

HOST_GUID = 0x506B4B0300100000
SWITCH_GUID = 0xB8599F0300A00000


@dataclass
class Node:
    """A node of the tree: its kind ("Switch" or "Ca"), its GUID, its description and its ports {number: (node, port)}."""
    kind: str
    guid: int
    desc: str
    ports: int
    links: dict = field(default_factory=dict)

    @property
    def nodeid(self):
        return f"{'S' if self.kind == 'Switch' else 'H'}-{self.guid:016x}"


class Tree:
    """Nodes in the order of the file; the first host comes first, for ibsim attaches clients there."""

    def __init__(self):
        self.nodes = []
        self.counts = {"Switch": 0, "Ca": 0}

    def add(self, kind, desc, ports):
        step = 16 if kind == "Switch" else 4
        base = SWITCH_GUID if kind == "Switch" else HOST_GUID
        node = Node(kind, base + step * self.counts[kind], desc, ports)
        self.counts[kind] += 1
        self.nodes.append(node)
        return node

    @staticmethod
    def link(a, port_a, b, port_b):
        a.links[port_a] = (b, port_b)
        b.links[port_b] = (a, port_a)


def two_levels(radix):
    tree, half = Tree(), radix // 2
    hosts = [tree.add("Ca", f"node{i + 1:05d} mlx5_0", 1) for i in range(radix * half)]
    leaves = [tree.add("Switch", f"MF0;leaf{i + 1:02d}:SB7800/U1", radix) for i in range(radix)]
    spines = [tree.add("Switch", f"MF0;spine{i + 1:02d}:SB7800/U1", radix) for i in range(half)]
    for i, host in enumerate(hosts):
        tree.link(host, 1, leaves[i // half], i % half + 1)
    for i, leaf in enumerate(leaves):
        for j, spine in enumerate(spines):
            tree.link(leaf, half + j + 1, spine, i + 1)
    return tree


def three_levels(radix):
    tree, half = Tree(), radix // 2
    hosts = [tree.add("Ca", f"node{i + 1:05d} mlx5_0", 1) for i in range(radix * half * half)]
    cores = [tree.add("Switch", f"MF0;core{i + 1:04d}:SB7800/U1", radix) for i in range(half * half)]
    for pod in range(radix):
        leaves = [tree.add("Switch", f"MF0;p{pod + 1:02d}leaf{i + 1:02d}:SB7800/U1", radix) for i in range(half)]
        spines = [tree.add("Switch", f"MF0;p{pod + 1:02d}spine{i + 1:02d}:SB7800/U1", radix) for i in range(half)]
        for i, leaf in enumerate(leaves):
            for j in range(half):
                tree.link(hosts[(pod * half + i) * half + j], 1, leaf, j + 1)
                tree.link(leaf, half + j + 1, spines[j], i + 1)
        for i, spine in enumerate(spines):
            for j in range(half):
                tree.link(spine, half + j + 1, cores[i * half + j], pod + 1)
    return tree


def small_cluster():
    """Four leaf and two spine switches of 36 ports, 16 hosts, two cables between each leaf and each spine."""
    tree = Tree()
    names = ["login01"] + [f"compute{i:02d}" for i in range(1, 14)] + ["storage01", "storage02"]
    hosts = [tree.add("Ca", f"{name} mlx5_0", 1) for name in names]
    leaves = [tree.add("Switch", f"MF0;leaf{i + 1:02d}:SB7800/U1", 36) for i in range(4)]
    spines = [tree.add("Switch", f"MF0;spine{i + 1:02d}:SB7800/U1", 36) for i in range(2)]
    for i, host in enumerate(hosts):
        tree.link(host, 1, leaves[i // 4], i % 4 + 1)
    for i, leaf in enumerate(leaves):
        for j, spine in enumerate(spines):
            for k in range(2):
                tree.link(leaf, 19 + 2 * j + k, spine, 2 * i + k + 1)
    return tree


def lids_of(tree):
    """GUID of a node → its LID: from 1, switches first."""
    return {node.guid: lid for lid, node in enumerate(sorted(tree.nodes, key=lambda n: (n.kind != "Switch", n.guid)), 1)}


def write_net(tree, out, lids=None):
    """Writes the file that ibsim reads (the form in which ibnetdiscover prints a fabric). lids: those of its nodes, which ibsim does not
    want to know."""
    lid_of = lids or dict.fromkeys((node.guid for node in tree.nodes), 0)
    for node in tree.nodes:
        switch = node.kind == "Switch"
        out.write(f"vendid=0x2c9\ndevid={'0xcf08' if switch else '0x1017'}\nsysimgguid=0x{node.guid:x}\n")
        out.write(f"{'switchguid' if switch else 'caguid'}=0x{node.guid:x}\n")
        base = (" base port 0" + (f" lid {lid_of[node.guid]} lmc 0" if lids else "")) if switch else ""
        out.write(f'{node.kind}\t{node.ports} "{node.nodeid}"\t\t# "{node.desc}"{base}\n')
        for port, (peer, peer_port) in sorted(node.links.items()):
            own = f"({node.guid + port:x})" if not switch else ""
            remote = f"({peer.guid + peer_port:x})" if peer.kind != "Switch" else ""
            own_lid = f"lid {lid_of[node.guid]} lmc 0 " if not switch else ""
            out.write(f'[{port}]{own}\t"{peer.nodeid}"[{peer_port}]{remote}\t\t# {own_lid}"{peer.desc}" lid {lid_of[peer.guid]} 4xEDR\n')
        out.write("\n")


def write_lids(tree, out):
    """Writes opensm's guid2lid: LIDs from 1, switches first, so that they are the same in every run."""
    switches = tree.counts["Switch"]
    for node_guid, lid in lids_of(tree).items():
        guid = node_guid if lid <= switches else node_guid + 1
        out.write(f"0x{guid:016x} 0x{lid:04x} 0x{lid:04x}\n\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--levels", type=int, choices=(2, 3), default=2)
    parser.add_argument("--radix", type=int, default=36, help="ports of a switch (even)")
    parser.add_argument("--cluster", action="store_true", help="the small example: 4 leaf, 2 spine switches, 16 hosts")
    parser.add_argument("--guid2lid", metavar="FILE", help="also write the pinned LIDs")
    parser.add_argument("--count", action="store_true", help="print the number of nodes only")
    args = parser.parse_args()
    tree = small_cluster() if args.cluster else (two_levels if args.levels == 2 else three_levels)(args.radix)
    if args.count:
        print(len(tree.nodes))
        return
    write_net(tree, sys.stdout)
    if args.guid2lid:
        with open(args.guid2lid, "w", encoding="ascii") as out:
            write_lids(tree, out)


if __name__ == "__main__":
    main()
