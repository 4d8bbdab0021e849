#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What a round of the exporter costs on simulated fat trees, step by step, and a reading beside Debian's ibqueryerrors.

The steps are those of `ibtool exporter --hcas`, done once in a process of their own (exporter.cpp): time, CPU and heap of each, by port.
Two readings are held, as in the exporter. ibqueryerrors runs as guilbaults' exporter calls it for each scrape, and with --load-cache, which
leaves its counters alone. Nothing here passes or fails on a time: the numbers are for reading, beside what is wanted of them.
"""
import argparse
import json
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

SIZES = {702: (2, 36), 13284: (3, 36)}
# Of guilbaults' infiniband-exporter 0.0.6.
SCRAPE = ["--verbose", "--details", "--suppress-common", "--data", "--report-port", "--switch", "--ca"]
MOST_BYTES, MOST_TIME = 300, 0.2  # a port and reading; of the time of ibqueryerrors


def steps(fabric, program, **env):
    done = fabric.run([program], timeout=3600, **env)
    if done.returncode != 0:
        raise simfabric.FabricError(f"{program}: status {done.returncode}\n{done.stderr}")
    return {step["step"]: step for step in map(json.loads, done.stdout.splitlines())}


def scrape(fabric, program, *words, **env):
    """Wall time and CPU of ibqueryerrors. Errors that were counted (status 1) are no failure."""
    run = discovery.measure(fabric, [program, *SCRAPE, *words], **env)
    if run.status not in (0, 1):
        raise simfabric.FabricError(f"{program}: status {run.status}\n{run.errors}")
    return run.wall, run.cpu


def tell(done, label):
    ports = done["first reading"]["count"]
    print(f"  {label}: {ports} ports with counters", flush=True)
    print(f"  {'':<18}{'wall s':>10}{'CPU s':>10}{'CPU µs/port':>13}{'heap MiB':>10}{'heap B/port':>13}{'MADs':>9}{'count':>11}")
    for name, step in done.items():
        print(f"  {name:<18}{step['wall']:>10.3f}{step['cpu']:>10.3f}{step['cpu'] / ports * 1e6:>13.2f}{step['heap'] / 2**20:>10.2f}"
              f"{step['heap'] / ports:>13.1f}{step['mads']:>9}{step['count']:>11}", flush=True)
    print(f"  heap of the second reading: {done['second reading']['heap'] / ports:.0f} bytes a port, wanted at most {MOST_BYTES}")


def compare(fabric, args, theirs, label, **env):
    done = steps(fabric, args.program, **env)
    tell(done, label)
    reading = done["second reading"]
    whole = scrape(fabric, theirs, **env)
    counters = scrape(fabric, theirs, "--load-cache", fabric.path("fabric.cache"), **env)
    for name, (wall, cpu) in (("whole", whole), ("with --load-cache", counters)):
        print(f"  reading beside ibqueryerrors, {name}: wall {reading['wall']:.3f} / {wall:.3f} s = {reading['wall'] / wall:.3f}, "
              f"CPU {reading['cpu']:.3f} / {cpu:.3f} s = {reading['cpu'] / cpu:.3f}, wanted at most {MOST_TIME}", flush=True)


def bench(nodes, args):
    levels, radix = SIZES[nodes]
    tree = (fattree.two_levels if levels == 2 else fattree.three_levels)(radix)
    theirs = {name: simfabric.theirs(name) for name in ("ibnetdiscover", "ibqueryerrors")}
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
            compare(fabric, args, theirs["ibqueryerrors"], "without delay")
            compare(fabric, args, theirs["ibqueryerrors"], f"{args.delay} µs a MAD", preload=[args.delay_lib], IBTEST_DELAY_US=args.delay)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--nodes", type=int, nargs="*", choices=sorted(SIZES), default=sorted(SIZES))
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
        args.program = os.path.abspath(discovery.built("IBTEST_BENCH_EXPORTER", args.build, "tests/bench/bench-exporter"))
        args.delay_lib = os.path.abspath(discovery.built("IBTEST_DELAY_LIB", args.build, "tests/support/ibtest-delay.so"))
        for nodes in args.nodes:
            bench(nodes, args)
    except simfabric.FabricError as error:
        print(f"E: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
