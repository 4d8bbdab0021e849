#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Our ibnetdiscover and Debian's in turn on simulated fat trees: wall time, CPU, peak memory, MADs, and their ratios.

ibsim answers directed routes without a subnet manager, so none runs. Both programs run the same number of times,
alternately; the best time counts. A first run of each behind the preload counts MADs and measures memory; the timed
runs without delay do without it. With a delay every MAD takes that long on its way, overlapping where the program
lets it. Nothing here passes or fails on a time: the numbers are for reading.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
# meson says where these are; called by hand it has no PYTHONPATH.
sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(HERE), "support"))

import fattree  # noqa: E402
import simfabric  # noqa: E402

SIZES = {702: (2, 36), 13284: (3, 36), 52983: (3, 58)}


class Run:
    """What one run of a program cost."""

    def __init__(self, wall, usage, status, errors):
        self.wall, self.status, self.errors = wall, status, errors
        self.user, self.system = usage.ru_utime, usage.ru_stime

    @property
    def cpu(self):
        return self.user + self.system


def measure(fabric, argv, output=None, **env):
    """Runs a program on the fabric to its end, its output into a file: `output`, if it is to be kept."""
    with tempfile.TemporaryFile() as scratch, tempfile.TemporaryFile("w+", errors="replace") as err:
        start = time.perf_counter()
        child = subprocess.Popen(argv, env=fabric.env(**env), cwd=fabric.dir, stdin=subprocess.DEVNULL,
                                 stdout=output or scratch, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.perf_counter() - start
        child.returncode = os.waitstatus_to_exitcode(status)
        err.seek(0)
        return Run(wall, usage, child.returncode, err.read())


def census(fabric, argv, delay_lib):
    """(peak memory in KiB, MADs sent, MADs by class/attribute, stderr) of one run."""
    count = fabric.path("count")
    if os.path.exists(count):
        os.remove(count)
    run = measure(fabric, argv, preload=[delay_lib], IBTEST_COUNT_FILE=count)
    if not os.path.exists(count):
        raise simfabric.FabricError(f"{argv[0]} sent nothing, status {run.status}:\n{run.errors}")
    with open(count, encoding="ascii") as file:
        counted = json.loads(file.readline())
    return counted["peak_kib"], counted["sent"], counted["attributes"], run.errors


def expected(tree):
    """The most MADs a sweep needs: 1 + C + L + 2C + S(P+3)."""
    cas = tree.counts["Ca"]
    switches = [node for node in tree.nodes if node.kind == "Switch"]
    links = sum(peer.kind == "Switch" for node in switches for peer, _ in node.links.values()) // 2
    return 1 + cas + links + 2 * cas + sum(node.ports + 3 for node in switches)


def row(name, ours, theirs, unit="", digits=3):
    ratio = f"{ours / theirs:8.2f}" if theirs else "       -"
    print(f"  {name:<34}{ours:>12.{digits}f}{theirs:>12.{digits}f}{ratio}  {unit}", flush=True)


def alternate(fabric, programs, rounds, **env):
    """The best wall and CPU of each program, run in turn."""
    best = [[float("inf"), float("inf")] for _ in programs]
    for _ in range(rounds):
        for i, argv in enumerate(programs):
            run = measure(fabric, argv, **env)
            if run.status != 0:
                raise simfabric.FabricError(f"{' '.join(argv)}: status {run.status}\n{run.errors}")
            best[i] = [min(best[i][0], run.wall), min(best[i][1], run.cpu)]
    return best


def bench(nodes, args, ibtool, debian, delay_lib):
    levels, radix = SIZES[nodes]
    tree = (fattree.two_levels if levels == 2 else fattree.three_levels)(radix)
    with tempfile.NamedTemporaryFile("w", suffix=".net", encoding="ascii") as net:
        fattree.write_net(tree, net)
        net.flush()
        print(f"\n{nodes} nodes: {tree.counts['Ca']} hosts, {tree.counts['Switch']} switches of {radix} ports", flush=True)
        # -I: GUIDs are not compared in pairs while loading, which would take minutes.
        with simfabric.Fabric(net.name, sm=False, options=["-I"], load_timeout=900) as fabric:
            measure_size(fabric, tree, args, [ibtool, "ibnetdiscover"], [debian], delay_lib)


def measure_size(fabric, tree, args, ours, theirs, delay_lib):
    nodes = len(tree.nodes)
    print(f"  {'':<34}{'ibtool':>12}{'Debian':>12}{'ratio':>8}")
    rounds = args.rounds if nodes < 50000 else 1
    (wall, cpu), (wall2, cpu2) = alternate(fabric, [ours, theirs], rounds)
    row("wall", wall, wall2, "s")
    row("CPU (user + system)", cpu, cpu2, "s")
    row("CPU per node", cpu / nodes * 1e6, cpu2 / nodes * 1e6, "µs", 1)
    peak, sent, attributes, errors = census(fabric, ours + ["--stats"], delay_lib)
    peak2, sent2, attributes2, _ = census(fabric, theirs, delay_lib)
    row("peak memory", peak / 1024, peak2 / 1024, "MiB", 1)
    row("peak memory per node", peak * 1024 / nodes, peak2 * 1024 / nodes, "bytes", 0)
    row("MADs sent", sent, sent2, "", 0)
    bound = expected(tree)
    print(f"  {'1 + C + L + 2C + S(P+3)':<34}{bound:>12}  ibtool sent {sent - bound:+d}, Debian {sent2 - bound:+d}")
    print(f"  by class/attribute: ibtool {attributes}\n{'':>22}Debian {attributes2}")
    for line in re.findall(r"^mads .*$", errors, re.MULTILINE):
        print(f"  ibtool: {line}")
    if nodes > args.delay_up_to:
        return
    env = {"preload": [delay_lib], "IBTEST_DELAY_US": args.delay}
    for options in ([], ["-o", "32"]):
        (wall, cpu), (wall2, cpu2) = alternate(fabric, [ours, theirs + options], 1 if nodes > 5000 else rounds, **env)
        label = f"{args.delay} µs a MAD, Debian {' '.join(options) or 'at defaults'}"
        row(label, wall, wall2, "s wall")


def built(variable, build, place):
    """What the benchmark needs of a build: named by meson in the environment, else looked for in a build directory."""
    path = os.environ.get(variable) or os.path.join(build, place)
    if not os.path.exists(path):
        raise simfabric.FabricError(f"{path} does not exist: build first (meson setup build && ninja -C build), or name --build DIRECTORY")
    return path


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, nargs="*", choices=sorted(SIZES), default=sorted(SIZES))
    parser.add_argument("--rounds", type=int, default=3, help="runs of each program (1 at the largest size)")
    parser.add_argument("--delay", type=int, default=200, metavar="µS", help="time that a MAD takes in the delayed runs")
    parser.add_argument("--delay-up-to", type=int, default=13284, metavar="NODES", help="largest size to run delayed")
    parser.add_argument("--build", default=os.path.join(SOURCE, "build"), metavar="DIRECTORY",
                        help="where the project is built (default: build in the clone; by `meson test --benchmark` what it builds)")
    args = parser.parse_args()
    lacking = simfabric.missing() + [name for name in ("ibnetdiscover",) if not simfabric.find_program(name)]
    if lacking:
        print("skipped, not installed: " + ", ".join(lacking))
        return 77
    try:
        ibtool = built("IBTOOL", args.build, "tools/ibtool")
        delay_lib = built("IBTEST_DELAY_LIB", args.build, "tests/support/ibtest-delay.so")
        for nodes in args.nodes:
            bench(nodes, args, ibtool, simfabric.find_program("ibnetdiscover"), delay_lib)
    except simfabric.FabricError as error:
        print(f"E: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
