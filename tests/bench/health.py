#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""`ibtool health --interval 0` on simulated fat trees, beside a sweep and ibqueryerrors of the same program: MADs, time and memory.

opensm gives the LIDs, answers for paths and groups and sweeps no more; its table of LIDs is kept in --keep, so that the next run begins at
once. The bounds that the last column compares with: no more MADs than the sweep and four a port; no more time a MAD than 1.15 times what
ibqueryerrors takes. Memory is the peak of the process, and what it has beyond that of the sweep, by linked port. Nothing here passes or
fails: the numbers are for reading.
"""
import argparse
import os
import shutil
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.append(HERE)
sys.path.append(os.path.join(os.path.dirname(HERE), "support"))

import discovery  # noqa: E402
import fattree  # noqa: E402
import simfabric  # noqa: E402

SIZES = {702: (2, 36), 4752: (2, 96), 13284: (3, 36)}
MADS_A_PORT, TIME_A_MAD = 4, 1.15


def best(fabric, args, commands, rounds):
    """The best wall time of each command, run in turn. Findings (1) and parts that did not answer (4) are no failure of a benchmark."""
    walls = [float("inf")] * len(commands)
    for _ in range(rounds):
        for i, words in enumerate(commands):
            run = discovery.measure(fabric, [args.ibtool, *words])
            if run.status not in (0, 1, 4):
                raise simfabric.FabricError(f"ibtool {' '.join(words)}: status {run.status}\n{run.errors}")
            walls[i] = min(walls[i], run.wall)
    return walls


def linked_ports(tree):
    """Ports of links, at both ends."""
    return sum(len(node.links) for node in tree.nodes)


def line(name, value, bound, unit):
    print(f"  {name:<44}{value:>14,.2f}{bound:>14,.2f}{value / bound:>8.2f}  {unit}", flush=True)


def compare(fabric, args, tree, rounds):
    commands = {"sweep": ["ibnetdiscover"], "health": ["health", "--interval", "0"], "errors": ["ibqueryerrors"]}
    peaks, sent = {}, {}
    for name, words in commands.items():
        peaks[name], sent[name], attributes, _ = discovery.census(fabric, [args.ibtool, *words], args.delay_lib)
        print(f"  {' '.join(words)}: {sent[name]} MADs, peak {peaks[name] / 1024:.1f} MiB, by class/attribute: {attributes}")
    walls = dict(zip(commands, best(fabric, args, list(commands.values()), rounds)))
    ports = linked_ports(tree)
    print(f"  {'':<44}{'health':>14}{'bound':>14}{'ratio':>8}")
    line("MADs", sent["health"], sent["sweep"] + MADS_A_PORT * ports, "")
    line("MADs a linked port, beyond the sweep", (sent["health"] - sent["sweep"]) / ports, MADS_A_PORT, "")
    micro = {name: walls[name] / sent[name] * 1e6 for name in commands}
    line("time a MAD", micro["health"], TIME_A_MAD * micro["errors"], "µs")
    line("wall", walls["health"], walls["errors"], "s (ibqueryerrors)")
    line("memory a linked port, beyond the sweep", (peaks["health"] - peaks["sweep"]) * 1024 / ports, peaks["sweep"] * 1024 / ports,
         "bytes (the sweep's)")


def bench(nodes, args):
    levels, radix = SIZES[nodes]
    tree = (fattree.two_levels if levels == 2 else fattree.three_levels)(radix)
    kept = os.path.join(args.keep, f"{nodes}.guid2lid")
    with tempfile.NamedTemporaryFile("w", suffix=".net", encoding="ascii") as net:
        fattree.write_net(tree, net)
        net.flush()
        print(f"\n{nodes} nodes: {tree.counts['Ca']} hosts, {tree.counts['Switch']} switches of {radix} ports", flush=True)
        # -I: GUIDs are not compared in pairs while loading, which would take minutes. -s 0: one sweep.
        with simfabric.Fabric(net.name, options=["-I"], lids=kept if os.path.exists(kept) else None,
                              load_timeout=3600, sm_options=["-s", "0"]) as fabric:
            os.makedirs(args.keep, exist_ok=True)
            shutil.copy(fabric.path("guid2lid"), kept)
            compare(fabric, args, tree, args.rounds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nodes", type=int, nargs="*", choices=sorted(SIZES), default=sorted(SIZES))
    parser.add_argument("--rounds", type=int, default=5, help="runs of each command, of which the best counts")
    parser.add_argument("--keep", default=os.path.join(tempfile.gettempdir(), "ibtool-bench"), metavar="DIRECTORY",
                        help="where tables of LIDs are kept for the next run")
    parser.add_argument("--build", default=os.path.join(SOURCE, "build"), metavar="DIRECTORY",
                        help="where the project is built (default: build in the clone; by `meson test --benchmark` what it builds)")
    args = parser.parse_args()
    if simfabric.missing():
        print("skipped, not installed: " + ", ".join(simfabric.missing()))
        return 77
    try:
        args.ibtool = os.path.abspath(discovery.built("IBTOOL", args.build, "tools/ibtool"))
        args.delay_lib = os.path.abspath(discovery.built("IBTEST_DELAY_LIB", args.build, "tests/support/ibtest-delay.so"))
        for nodes in args.nodes:
            bench(nodes, args)
    except simfabric.FabricError as error:
        print(f"E: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
