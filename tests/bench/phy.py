#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What `ibtool phy` costs for a fat tree: MADs by port and by device, CPU time of a MAD beside that of a counter, memory of a row.

The devices are answered in one process without a simulator, so that only our own work is measured. What was planned is checked: at most
eight MADs a port and one a device, 300 bytes a port. Nothing here passes or fails on a time.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "support"), os.path.join(os.path.dirname(HERE), "peers")]

import fattree  # noqa: E402
import simfabric  # noqa: E402

RADIX = {702: (2, 36), 4176: (3, 24), 13284: (3, 36)}
PROGRAM = simfabric.built("IBTEST_BENCH_PHY", "tests/bench/bench-phy")
MOST_MADS_OF_PORT, MOST_MADS_OF_DEVICE, MOST_BYTES = 8, 1, 300


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, choices=sorted(RADIX), default=702)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    depth, radix = RADIX[args.nodes]
    tree = fattree.two_levels(radix) if depth == 2 else fattree.three_levels(radix)
    directory = tempfile.mkdtemp(prefix="ibtool-phy-", dir=simfabric.memory_dir())
    try:
        topology = os.path.join(directory, "topology")
        with open(topology, "w", encoding="ascii") as out:
            out.write("#\n")
            fattree.write_net(tree, out, fattree.lids_of(tree))
        runs = [json.loads(subprocess.run([PROGRAM, topology], check=True, stdout=subprocess.PIPE).stdout) for _ in range(args.rounds)]
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    report(runs)


def report(runs):
    best = {name: min(runs, key=lambda run: run[name]["cpu_seconds"])[name] for name in ("phy", "counters")}
    nodes, ports, phy = runs[0]["nodes"], runs[0]["ports"], best["phy"]
    print(f"{nodes} nodes, {ports} linked ports")
    print(f"  {'':<12}{'MADs':>10}{'CPU s':>10}{'us a MAD':>12}")
    for name, of in best.items():
        print(f"  {name:<12}{of['mads']:>10}{of['cpu_seconds']:>10.2f}{of['microseconds_per_mad']:>12.2f}")
    of_port, of_device = (phy["mads"] - phy["mads_of_devices"]) / ports, phy["mads_of_devices"] / nodes
    print(f"  phy: {of_port:.2f} MADs a port and {of_device:.2f} a device, {phy['bytes_per_port']:.0f} bytes a port, "
          f"{phy['microseconds_per_mad'] / best['counters']['microseconds_per_mad']:.2f} of the CPU of a MAD of counters")
    if runs[0]["ports_read"] != ports:
        sys.exit(f"only {runs[0]['ports_read']} ports were read")
    if of_port > MOST_MADS_OF_PORT or of_device > MOST_MADS_OF_DEVICE or phy["bytes_per_port"] > MOST_BYTES:
        sys.exit("that is more than planned")


if __name__ == "__main__":
    main()
