# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Small fabrics for the suite peers, as ibsim network files, and what routing engines of opensm want to know of them.

A fabric is a list of links (node, port, node, port). A node whose name has a blank is a host. Such a name ends in `HCA-1`, by which ibdmchk
tells systems from adapters. Its first word is its own, because ibdmchk takes nodes with the same first word for one.
"""
GUID = 0x0002C90200000000
SWITCH_PORTS = 12


def host(number):
    return f"node{number:02d} HCA-1"


def fat_tree():
    """Four leaves with four hosts each, two spines, and two links from each leaf to each spine."""
    links = []
    for leaf in range(4):
        links += [(f"leaf{leaf}", 1 + n, host(4 * leaf + n), 1) for n in range(4)]
        links += [(f"leaf{leaf}", 5 + up, f"spine{up // 2}", 1 + 2 * leaf + up % 2) for up in range(4)]
    return links


def ring():
    """Five switches in a ring, with two hosts each."""
    links = []
    for at in range(5):
        links.append((f"ring{at}", 1, f"ring{(at + 1) % 5}", 2))
        links += [(f"ring{at}", 3 + n, host(2 * at + n), 1) for n in range(2)]
    return links


def torus(width, height):
    """Switches with one host each; ports 1 and 2 lead along x, 3 and 4 along y."""
    links = []
    for x in range(width):
        for y in range(height):
            here = f"torus{x}{y}"
            links.append((here, 1, f"torus{(x + 1) % width}{y}", 2))
            links.append((here, 3, f"torus{x}{(y + 1) % height}", 4))
            links.append((here, 5, host(height * x + y), 1))
    return links


def irregular():
    """A ring of six switches with a chord and a pair of parallel links, a chain of two that hangs off it, a host with two ports and a
    switch without a host."""
    links = [(f"odd{at}", 1, f"odd{(at + 1) % 6}", 2) for at in range(6)]
    links += [("odd0", 3, "odd3", 3), ("odd1", 3, "odd2", 4), ("odd5", 3, "odd6", 1), ("odd6", 2, "odd7", SWITCH_PORTS)]
    number = 0
    for switch, hosts in (("odd0", 2), ("odd1", 1), ("odd2", 3), ("odd4", 2), ("odd5", 1), ("odd6", 1), ("odd7", 3)):
        for port in range(5, 5 + hosts):
            links.append((switch, port, host(number), 1))
            number += 1
    return links + [("odd4", 4, "twoport HCA-1", 1), ("odd7", 3, "twoport HCA-1", 2)]


FABRICS = {"fat_tree": fat_tree, "ring": ring, "torus": lambda: torus(4, 4), "odd_torus": lambda: torus(5, 3), "irregular": irregular}
# The engines that route each fabric; ftree refuses what is no tree, torus-2QoS what is no torus. On the odd torus the SL2VL tables of
# torus-2QoS differ from port to port, and without them its ways would close loops.
ENGINES = {
    "fat_tree": ["minhop", "updn", "ftree", "dor", "lash", "dfsssp", "sssp"],
    "ring": ["minhop", "updn", "dor", "lash", "dfsssp", "sssp"],
    "torus": ["minhop", "updn", "dor", "lash", "torus-2QoS", "dfsssp", "sssp"],
    "odd_torus": ["minhop", "torus-2QoS"],
    "irregular": ["minhop", "updn", "dor", "lash", "dfsssp", "sssp"],
}
# updn finds no root by itself where there are no tiers.
ROOTS = {"ring": "ring0", "torus": "torus00", "irregular": "odd3"}


def is_host(name):
    return " " in name


def guids(links):
    """name → node GUID: switches first, in the order of their names."""
    names = sorted({name for link in links for name in (link[0], link[2])}, key=lambda name: (is_host(name), name))
    return {name: GUID + 0x10 * number for number, name in enumerate(names, 1)}


def ports(links):
    """name → {port: (name, port)}"""
    found = {}
    for one, port, other, peer in links:
        found.setdefault(one, {})[port] = (other, peer)
        found.setdefault(other, {})[peer] = (one, port)
    return found


def netlist(links):
    """The fabric for ibsim; a host comes first, on which the subnet manager runs."""
    guid, text = guids(links), []
    for name, linked in sorted(ports(links).items(), key=lambda item: (not is_host(item[0]), item[0])):
        ours = is_host(name)
        text.append(f"vendid=0x2c9\ndevid=0x{0x1003 if ours else 0xc738:x}\nsysimgguid=0x{guid[name]:x}")
        text.append(f"caguid=0x{guid[name]:x}" if ours else f"switchguid=0x{guid[name]:x}(0x{guid[name]:x})")
        text.append(f'{"Ca" if ours else "Switch"}\t{max(linked) if ours else SWITCH_PORTS} "{node_id(name, guid)}"\t\t# "{name}"')
        text += [f'[{port}]\t"{node_id(peer, guid)}"[{there}]\t\t# "{peer}"' for port, (peer, there) in sorted(linked.items())]
        text.append("")
    return "\n".join(text) + "\n"


def node_id(name, guid):
    return f"{'H' if is_host(name) else 'S'}-{guid[name]:016x}"


def torus_config(links):
    """torus-2QoS wants to know one switch and its neighbours."""
    guid = {name: f"0x{value:x}" for name, value in guids(links).items()}
    width, height = (max(int(name[at]) for name in guid if name.startswith("torus")) + 1 for at in (5, 6))
    neighbours = {"xp": "10", "xm": f"{width - 1}0", "yp": "01", "ym": f"0{height - 1}"}
    lines = [f"torus {width} {height} 1"] + [f"{way}_link {guid['torus00']} {guid['torus' + at]}" for way, at in neighbours.items()]
    return "\n".join(lines) + "\n"
