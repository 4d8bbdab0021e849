#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Snapshots of simulated fat trees: how fast one is read and printed, what taking it costs, and whether loss leaves a gap in it.

load   ibnetdiscover from a snapshot, in both dialects, beside Debian's ibnetdiscover --load-cache of a file that Debian's wrote. Each
       run prints the whole topology, and all print the same lines.
take   ibtool snapshot beside bench-surveys, which reads the same by the same surveys and keeps nothing (surveys.cpp). Both run behind
       the preload, which counts MADs and measures memory.
loss   ibtool snapshot with a part of its MADs lost, beside one without loss. The rows of both files are compared: the same
       requests with the same outcome and payload, but for what changes by itself.

Programs run alternately; the best time counts. opensm gives the LIDs and sweeps no more; its table of LIDs is kept in --keep, so that
the next run begins at once. Above --whole-up-to none runs, and the snapshot is that of the topology. The program fails on a
difference between two outputs or two files, never on a time: "expected" stands beside the ratios, for reading.
"""
import argparse
import json
import os
import shutil
import sqlite3
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

SIZES = discovery.SIZES
WHAT = ("load", "take", "loss")
# All parts but `details`, `congestion` and `vendor`: ibsim hands requests that it does not know to the program on the host that is asked,
# and Debian's opensm crashes on them, or answers nothing any more.
PARTS = ("sa", "ports", "lft", "mft", "sl2vl", "vlarb", "pkeys", "guids", "sminfo", "counters")
# What changes by itself between two snapshots of an idle fabric, by class and attribute; None is every attribute of a class.
CHANGING = {
    (0x04, None): "counters",
    (0x01, 0x20): "SMInfo: ActCount",
    (0x03, 0x18): "SMInfoRecord: ActCount",
}
SA_CLASS = 0x03
# The byte of LocalPortNum (IBA 14.2.5.3, 14.2.5.6) by class and attribute: where the MAD over the shortest route is lost, a switch is found
# by another one, and tells another port.
LOCAL_PORT_NUM = {(0x01, 0x11): 36, (0x01, 0x15): 28}
# Runs a program and prints its peak memory in KiB. The kernel counts from before exec: a small process must start the program.
PEAK = """
import os, sys
with open(os.devnull, "w") as null:
    child = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, null.fileno(), 1)])
print(os.wait4(child, 0)[2].ru_maxrss)
"""
TRANSACTION_ID = slice(8, 16)  # IBA 13.4.3: of a MAD; tables of the SA are kept with their header


class Cost:
    """The best of several runs of a program, and what the last one printed and sent."""

    def __init__(self):
        self.wall = self.cpu = float("inf")
        self.peak_kib = self.sent = self.lost = 0
        self.output = ""

    def add(self, fabric, argv, count=None, **env):
        """Runs the program once. With `count`, a file, the preload measures memory and counts MADs."""
        if count:
            env |= {"IBTEST_COUNT_FILE": count}
            if os.path.exists(count):
                os.remove(count)
        with tempfile.TemporaryFile("w+", encoding="utf-8", errors="backslashreplace") as output:
            run = discovery.measure(fabric, argv, output, **env)
            output.seek(0)
            self.output = output.read()
        # 1: a node did not answer. What a snapshot then lacks, compare() finds.
        if run.status not in (0, 1):
            raise simfabric.FabricError(f"{' '.join(argv)}: status {run.status}\n{run.errors[-3000:]}")
        self.wall, self.cpu = min(self.wall, run.wall), min(self.cpu, run.cpu)
        if count:
            with open(count, encoding="ascii") as file:
                counted = json.loads(file.readline())
            self.peak_kib, self.sent, self.lost = counted["peak_kib"], counted["sent"], counted["lost"]


def alternate(fabric, programs, rounds, count=None):
    """The Cost of each of [(argv, env)], run in turn."""
    costs = [Cost() for _ in programs]
    for _ in range(rounds):
        for cost, (argv, env) in zip(costs, programs):
            cost.add(fabric, argv, count, **env)
    return costs


def peak(fabric, argv, env):
    """The peak memory in MiB of a program that sends nothing; not below the 10 MiB of the Python that starts it."""
    run = fabric.run([sys.executable, "-I", "-S", "-c", PEAK, *argv], timeout=600, **env)
    if run.returncode != 0:
        raise simfabric.FabricError(f"{' '.join(argv)}: {run.stderr}")
    return int(run.stdout) / 1024


def topology_lines(text):
    """The lines of ibnetdiscover without those that say when and from where it was read."""
    return sorted(line for line in text.splitlines() if not line.startswith("#"))


def head(*names):
    print("  " + " " * 34 + "".join(f"{name:>12}" for name in names) + f"{'ratio':>8}", flush=True)


def ratio(name, ours, theirs, unit, expected=""):
    print(f"  {name:<34}{ours:>12.3f}{theirs:>12.3f}{ours / theirs:8.2f}  {unit}{expected and ', expected ' + expected}", flush=True)


def load(fabric, args, rounds):
    """ibnetdiscover from files."""
    cache = fabric.path("debian.cache")
    theirs = [simfabric.find_program("ibnetdiscover"), "--load-cache", cache]
    made = fabric.run([theirs[0], "--cache", cache], timeout=3600)
    if made.returncode != 0:
        raise simfabric.FabricError(f"ibnetdiscover --cache: status {made.returncode}\n{made.stderr}")
    ours = [args.ibtool, "ibnetdiscover"]
    programs = {
        "--from": (ours + ["--from", args.file], {}),
        "--load-cache": (ours + ["--load-cache", args.file], {}),
        "legacy name, IBTOOL_FROM": ([args.legacy], {"IBTOOL_FROM": args.file}),
    }
    debian, *costs = alternate(fabric, [(theirs, {}), *programs.values()], rounds)
    head("ibtool", "Debian")
    memory = peak(fabric, theirs, {})
    for (name, program), cost in zip(programs.items(), costs):
        ratio(f"{name}: wall", cost.wall, debian.wall, "s", "at most 0.33")
        ratio(f"{name}: CPU", cost.cpu, debian.cpu, "s")
        ratio(f"{name}: peak memory", peak(fabric, *program), memory, "MiB")
    lines = topology_lines(debian.output)
    if topology_lines(costs[-1].output) != lines:
        raise simfabric.FabricError("the legacy name and Debian's print different topologies")
    if costs[0].output.count("\n") < len(lines) // 2 or topology_lines(costs[0].output) != topology_lines(costs[1].output):
        raise simfabric.FabricError("--from and --load-cache print different topologies")
    print(f"  the legacy name printed the same {len(lines)} lines as Debian's", flush=True)


def snapshot_argv(args, file, parts=None):
    return [args.ibtool, "snapshot", file, "--json", "--only", ",".join(parts or args.parts)]


def take(fabric, args, rounds):
    """A snapshot, and the same surveys without a file."""
    count, behind = fabric.path("count"), {"preload": [args.delay_lib]}
    surveys = [args.surveys, *args.parts]
    ours, without = alternate(fabric, [(snapshot_argv(args, args.file), behind), (surveys, behind)], rounds, count)
    head("snapshot", "surveys")
    ratio("wall", ours.wall, without.wall, "s", "at most 1.3")
    ratio("CPU", ours.cpu, without.cpu, "s")
    ratio("peak memory", ours.peak_kib / 1024, without.peak_kib / 1024, "MiB")
    ratio("MADs sent", ours.sent, without.sent, "")
    report, told = json.loads(ours.output), json.loads(without.output)["parts"]
    for part in report["parts"]:
        other = told[part["part"]]
        same = all(part[key] == other[key] for key in ("planned", "answered", "refused", "failures"))
        print(f"    {part['part']:<12}{part['answered']:>10} answered{part['refused']:>10} refused{part['failures']:>6} failed"
              f"{part['elapsed_seconds']:>9.2f} s" + ("" if same else f"  surveys: {other}"), flush=True)
    ports = report["port_count"]
    print(f"  file {report['file_bytes'] / 1e6:.1f} MB, {report['file_bytes'] / ports:.0f} bytes a port; peak memory "
          f"{ours.peak_kib * 1024 / ports:.0f} bytes a port; {report['answers']} answers, {ports} ports, "
          f"{ours.wall / max(report['answers'], 1) * 1e6:.1f} µs an answer", flush=True)


def rows(file):
    """({request: (outcome, payload)}, {port: (GUID, port at the other end)}) of a snapshot, nodes by their GUIDs."""
    database = sqlite3.connect(f"file:{file}?mode=ro", uri=True)
    guids = {-1: None} | dict(database.execute("SELECT node, node_guid FROM node_info"))
    answers = {(mgmt_class, attribute, guids.get(node, node), *rest[:3]): rest[3:] for mgmt_class, attribute, node, *rest
               in database.execute("SELECT mgmt_class, attribute, node, entry_port, modifier, selector, status, payload FROM raw_answer")}
    links = {(guids[node], port): (guid, guids[peer], peer_port) for node, port, guid, peer, peer_port in database.execute(
        "SELECT node, port, guid, peer_node, peer_port FROM raw_port")}
    database.close()
    return answers, links


def is_same(key, before, after):
    """Whether two rows of one request tell the same."""
    if (key[0], None) in CHANGING or key[:2] in CHANGING or before[0] == -1 == after[0]:
        return before[0] == after[0]
    if key[0] == SA_CLASS:
        before, after = ([status, bytearray(payload)] for status, payload in (before, after))
        del before[1][TRANSACTION_ID], after[1][TRANSACTION_ID]
    if key[:2] in LOCAL_PORT_NUM and before[0] == 0 == after[0]:
        before, after = ([status, bytearray(payload)] for status, payload in (before, after))
        before[1][LOCAL_PORT_NUM[key[:2]]] = after[1][LOCAL_PORT_NUM[key[:2]]] = 0
    return before == after


def compare(one, other):
    """The number of answers, and the differences of two snapshots of one fabric: [(what, requests)]."""
    (before, links), (after, other_links) = rows(one), rows(other)
    if links != other_links:
        differ = set(links.items()) ^ set(other_links.items())
        raise simfabric.FabricError(f"{len(differ)} ports or links differ, for instance {min(differ, key=str)}")
    found = {}
    for key in before.keys() | after.keys():
        if key not in after:
            what = "is missing"
        elif key not in before:
            what = "is there with loss only"
        elif not is_same(key, before[key], after[key]):
            what = f"status {before[key][0]}, with loss {after[key][0]}" if before[key][0] != after[key][0] else "has another payload"
        else:
            continue
        found.setdefault(f"class 0x{key[0]:02x} attribute 0x{key[1]:04x} {what}", []).append(key)
    return len(before), sorted(found.items())


def loss(fabric, args, rounds):
    """A snapshot with loss beside one without."""
    count, lossy_file = fabric.path("count"), args.file + ".lossy"
    behind = {"preload": [args.delay_lib], "IBTEST_DELAY_US": args.delay}
    programs = [(snapshot_argv(args, args.file), behind), (snapshot_argv(args, lossy_file), behind | {"IBTEST_DROP": args.loss})]
    without, lossy = alternate(fabric, programs, rounds, count)
    head("with loss", "without")
    ratio(f"{args.loss:.1%} lost, {args.delay} µs a MAD: wall", lossy.wall, without.wall, "s", "at most 1.5")
    ratio("MADs sent", lossy.sent, without.sent, "")
    slower = {part["part"]: part["elapsed_seconds"] for part in json.loads(without.output)["parts"]}
    for part in json.loads(lossy.output)["parts"]:
        print(f"    {part['part']:<12}{part['elapsed_seconds']:>10.2f} s, without loss{slower[part['part']]:>10.2f} s", flush=True)
    answers, differences = compare(args.file, lossy_file)
    for what, keys in differences:
        print(f"  {what}: {len(keys)}, for instance {keys[0][2]} by port {keys[0][3]}, modifier {keys[0][4]}, "
              f"selector {keys[0][5]}", flush=True)
    if differences:
        raise simfabric.FabricError(f"with {lossy.lost} MADs lost, a snapshot is not the same")
    print(f"  {lossy.lost} of {lossy.sent} MADs lost: nothing of {answers} answers is missing", flush=True)


def bench(nodes, args, folder):
    levels, radix = SIZES[nodes]
    tree = (fattree.two_levels if levels == 2 else fattree.three_levels)(radix)
    rounds = args.rounds if nodes < 5000 else 1
    whole = nodes <= args.whole_up_to
    args.parts = args.only or (PARTS if whole else ["topology"])
    args.file = os.path.join(folder, f"{nodes}.snapshot")
    kept = os.path.join(args.keep, f"{nodes}.guid2lid")
    with tempfile.NamedTemporaryFile("w", suffix=".net", encoding="ascii") as net:
        fattree.write_net(tree, net)
        net.flush()
        print(f"\n{nodes} nodes: {tree.counts['Ca']} hosts, {tree.counts['Switch']} switches of {radix} ports; "
              f"{','.join(args.parts)}", flush=True)
        # -I: GUIDs are not compared in pairs while loading, which would take minutes. -s 0: one sweep.
        with simfabric.Fabric(net.name, sm=whole, options=["-I"], lids=kept if os.path.exists(kept) else None, load_timeout=3600,
                              sm_options=["-s", "0"]) as fabric:
            if whole:
                os.makedirs(args.keep, exist_ok=True)
                shutil.copy(fabric.path("guid2lid"), kept)
            if "take" in args.what:
                take(fabric, args, rounds)
            else:
                Cost().add(fabric, snapshot_argv(args, args.file))
            if "load" in args.what:
                load(fabric, args, args.rounds)
            if "loss" in args.what:
                loss(fabric, args, 1)
            if whole and fabric.opensm.poll() is not None:
                raise simfabric.FabricError(f"opensm ended with status {fabric.opensm.returncode}: what was measured lacks its tables")


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nodes", type=int, nargs="*", choices=sorted(SIZES), default=sorted(SIZES))
    parser.add_argument("--what", nargs="*", choices=WHAT, default=WHAT, help="what to measure")
    parser.add_argument("--only", nargs="*", metavar="PART", default=[],
                        help="parts of the snapshot besides the topology (default: all but details)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each program (1 of what reads a large fabric)")
    parser.add_argument("--whole-up-to", type=int, default=13284, metavar="NODES",
                        help="the largest size at which a subnet manager runs and all parts are read")
    parser.add_argument("--loss", type=float, default=0.01, metavar="FRACTION", help="the MADs that are lost")
    parser.add_argument("--delay", type=int, default=200, metavar="µS", help="time that a MAD takes in the runs with loss")
    parser.add_argument("--keep", default=os.path.join(tempfile.gettempdir(), "ibtool-bench"), metavar="DIRECTORY",
                        help="where tables of LIDs are kept for the next run")
    parser.add_argument("--build", default=os.path.join(SOURCE, "build"), metavar="DIRECTORY",
                        help="where the project is built (default: build in the clone; by `meson test --benchmark` what it builds)")
    return parser.parse_args()


def main():
    args = options()
    lacking = simfabric.missing() + [name for name in ("ibnetdiscover",) if not simfabric.find_program(name)]
    if lacking:
        print("skipped, not installed: " + ", ".join(lacking))
        return 77
    try:
        args.ibtool = os.path.abspath(discovery.built("IBTOOL", args.build, "tools/ibtool"))
        args.delay_lib = os.path.abspath(discovery.built("IBTEST_DELAY_LIB", args.build, "tests/support/ibtest-delay.so"))
        args.surveys = os.path.abspath(discovery.built("IBTEST_SURVEYS", args.build, "tests/bench/bench-surveys"))
        for nodes in args.nodes:
            with tempfile.TemporaryDirectory() as folder:
                args.legacy = os.path.join(folder, "ibnetdiscover")
                os.symlink(args.ibtool, args.legacy)
                bench(nodes, args, folder)
    except simfabric.FabricError as error:
        print(f"E: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
