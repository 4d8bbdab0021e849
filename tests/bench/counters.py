#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Our ibqueryerrors and Debian's in turn on simulated fat trees: wall time, CPU, MADs, and their ratios.

opensm gives the LIDs, answers for the service levels and sweeps no more; its table of LIDs is kept in --keep, so that the next run begins
at once. Our preloads do for both programs what a kernel does, so that the table of paths arrives; each MAD costs the time of two more
libraries. Each program is measured whole, with
--load-cache of a file that Debian's ibnetdiscover wrote, and after discovery: whole without what the ibnetdiscover of the same program
takes. The plan of MADs behind discovery is one table of paths (SubnAdmGetTable), a ClassPortInfo a node, and a PortCounters a node that
has AllPortSelect or a port of one that has not; what is sent beyond it is printed by its reason. Nothing here passes or fails on a time:
the numbers are for reading.

--before names the ibtool of another build: the sweep with --load-cache of both, in turn, the CPU in its parts. Most of the system's part
is what the simulator's libraries do for a MAD; the part of the user is nearly all ours. Of a stored fabric each node is requested for its
NodeInfo, since its LIDs may be those of others by now: a build that does not do so sends a third fewer MADs.
"""
import argparse
import os
import re
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
from discovery import row  # noqa: E402

SIZES = {702: (2, 36), 4752: (2, 96), 13284: (3, 36)}


def checked(fabric, argv, **env):
    """Runs a program once. Errors that were counted (status 1) are no failure."""
    run = discovery.measure(fabric, argv, **env)
    if run.status < 0:  # the stock umad2sim now and then ends a program that ends
        print(f"  {argv[0]} died of signal {-run.status}: run again", flush=True)
        run = discovery.measure(fabric, argv, **env)
    if run.status not in (0, 1):
        raise simfabric.FabricError(f"{' '.join(argv)}: status {run.status}\n{run.errors}")
    return run


def alternate(fabric, programs, rounds, **env):
    """The best wall and CPU of each program, run in turn."""
    best = [[float("inf"), float("inf")] for _ in programs]
    for _ in range(rounds):
        for i, argv in enumerate(programs):
            run = checked(fabric, argv, **env)
            best[i] = [min(best[i][0], run.wall), min(best[i][1], run.cpu)]
    return best


def programs(args, folder):
    """(ours, Debian's) by the names of what they do. Ours go by the legacy names: both print the same."""
    links = {name: os.path.join(folder, name) for name in ("ibqueryerrors", "ibnetdiscover")}
    for link in links.values():
        os.symlink(args.ibtool, link)
    theirs = {name: simfabric.find_program(name) for name in links}
    return links, theirs


def measure(fabric, args, nodes, ours, theirs, label, **env):
    """Prints the table of one delay."""
    rounds = args.rounds if nodes < 5000 else 1
    cache = fabric.path("fabric.cache")
    print(f"  {label:<34}{'ibtool':>12}{'Debian':>12}{'ratio':>8}")
    queries = [[ours["ibqueryerrors"]], [theirs["ibqueryerrors"]]]
    whole, whole2 = alternate(fabric, queries, rounds, **env)
    swept, swept2 = alternate(fabric, [[ours["ibnetdiscover"]], [theirs["ibnetdiscover"]]], rounds, **env)
    loaded, loaded2 = alternate(fabric, [argv + ["--load-cache", cache] for argv in queries], rounds, **env)
    for name, a, b in (("whole", whole, whole2), ("discovery alone", swept, swept2), ("with --load-cache", loaded, loaded2)):
        row(f"{name}: wall", a[0], b[0], "s")
        row(f"{name}: CPU", a[1], b[1], "s")
    row("after discovery: wall", whole[0] - swept[0], whole2[0] - swept2[0], "s")


def compare(fabric, args, ours, folder):
    """Prints the CPU of the sweep of two builds, with --load-cache: the best of each part."""
    before = os.path.join(folder, "before", "ibqueryerrors")
    os.makedirs(os.path.dirname(before))
    os.symlink(os.path.abspath(args.before), before)
    argvs = [[program, "--load-cache", fabric.path("fabric.cache")] for program in (ours["ibqueryerrors"], before)]
    runs = [[], []]
    for _ in range(args.rounds):
        for argv, of_program in zip(argvs, runs):
            of_program.append(checked(fabric, argv))
    print(f"  {'with --load-cache':<34}{'ibtool':>12}{'before':>12}{'ratio':>8}")
    best = {part: [min(getattr(run, part) for run in of_program) for of_program in runs] for part in ("user", "system", "cpu")}
    for part, seconds in best.items():
        row("CPU" if part == "cpu" else f"CPU: {part}", *seconds, "s")
    mads = [discovery.census(fabric, argv, args.delay_lib)[1] for argv in argvs]
    row("CPU of a MAD", *(seconds / sent * 1e6 for seconds, sent in zip(best["cpu"], mads)), "µs")
    print(f"  MADs: {mads}", flush=True)


def census(fabric, args, tree, ours, theirs):
    """Prints the MADs of each program, by class and attribute, and ours beyond the plan."""
    hosts, switches = tree.counts["Ca"], tree.counts["Switch"]
    plan = 1 + (hosts + switches) + (hosts + switches)  # SA table; ClassPortInfo; counters: hosts have one port, switches AllPortSelect
    for name, argv in (("ibtool", [ours["ibqueryerrors"]]), ("Debian", [theirs["ibqueryerrors"]])):
        peak, sent, attributes, _ = discovery.census(fabric, argv, args.delay_lib)
        print(f"  {name}: {sent} MADs, {peak / 1024:.1f} MiB, by class/attribute: {attributes}")
    ours_sent = discovery.census(fabric, [ours["ibqueryerrors"], "--load-cache", fabric.path("fabric.cache")], args.delay_lib)[1]
    print(f"  plan of counters: {plan} MADs; with --load-cache ibtool sent {ours_sent}, {ours_sent - plan:+d}")
    stats = discovery.measure(fabric, [args.ibtool, "ibqueryerrors", "--stats"])
    for line in re.findall(r"^mads .*$", stats.errors, re.MULTILINE):
        print(f"  ibtool: {line}")


def bench(nodes, args, folder):
    levels, radix = SIZES[nodes]
    tree = (fattree.two_levels if levels == 2 else fattree.three_levels)(radix)
    ours, theirs = programs(args, folder)
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
            made = fabric.run([theirs["ibnetdiscover"], "--cache", fabric.path("fabric.cache")], timeout=3600)
            if made.returncode != 0:
                raise simfabric.FabricError(f"ibnetdiscover --cache: status {made.returncode}\n{made.stderr}")
            if args.before:
                compare(fabric, args, ours, folder)
                return
            census(fabric, args, tree, ours, theirs)
            measure(fabric, args, nodes, ours, theirs, "without delay")
            delayed = {"preload": [args.delay_lib], "IBTEST_DELAY_US": args.delay}
            measure(fabric, args, nodes, ours, theirs, f"{args.delay} µs a MAD", **delayed)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nodes", type=int, nargs="*", choices=sorted(SIZES), default=sorted(SIZES))
    parser.add_argument("--rounds", type=int, default=9, help="runs of each program, of which the best counts (1 at the largest size)")
    parser.add_argument("--before", metavar="FILE", help="the ibtool of another build: only it is compared with")
    parser.add_argument("--delay", type=int, default=200, metavar="µS", help="time that a MAD takes in the delayed runs")
    parser.add_argument("--keep", default=os.path.join(tempfile.gettempdir(), "ibtool-bench"), metavar="DIRECTORY",
                        help="where tables of LIDs are kept for the next run")
    parser.add_argument("--build", default=os.path.join(SOURCE, "build"), metavar="DIRECTORY",
                        help="where the project is built (default: build in the clone; by `meson test --benchmark` what it builds)")
    args = parser.parse_args()
    lacking = simfabric.missing() + [name for name in ("ibqueryerrors", "ibnetdiscover") if not simfabric.find_program(name)]
    if lacking:
        print("skipped, not installed: " + ", ".join(lacking))
        return 77
    try:
        args.ibtool = os.path.abspath(discovery.built("IBTOOL", args.build, "tools/ibtool"))
        args.delay_lib = os.path.abspath(discovery.built("IBTEST_DELAY_LIB", args.build, "tests/support/ibtest-delay.so"))
        for nodes in args.nodes:
            with tempfile.TemporaryDirectory() as folder:
                bench(nodes, args, folder)
    except simfabric.FabricError as error:
        print(f"E: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
