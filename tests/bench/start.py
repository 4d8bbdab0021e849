#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What it costs to start: small commands of ours by their legacy names and Debian's, in turn, user and system CPU, and their ratios.

The fabric is a small one, as Debian has it, so that next to nothing is asked: what is left is the loader, the tables and sysfs. The part
that the simulator's library takes in each process is the same on both sides; `--version` needs no fabric and is run without it. The mean
of a few hundred runs each, since the kernel counts CPU more coarsely than one run takes. Nothing here passes or fails on a time.
"""
import argparse
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(HERE), "support"))

import simfabric  # noqa: E402

# What is run, whether on the fabric, and the status it ends with. Nobody has LID 99: a line that fails is measured, too.
LINES = [(["ibaddr", "--version"], False, 0), (["ibaddr"], True, 0), (["ibstat"], True, 0), (["ibtracert", "7", "22"], True, 0),
         (["ibtracert", "7", "99"], True, 255)]


def cpu(argv, env, sink, expected):
    """Seconds of CPU of one run, user and system, and its page faults. It must end with the status `expected`."""
    pid = os.posix_spawn(argv[0], argv, env, file_actions=[(os.POSIX_SPAWN_DUP2, sink, 1), (os.POSIX_SPAWN_DUP2, sink, 2)])
    _, status, usage = os.wait4(pid, 0)
    if os.waitstatus_to_exitcode(status) != expected:
        raise simfabric.FabricError(f"{' '.join(argv)}: status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_utime + usage.ru_stime, usage.ru_minflt


def compare(argvs, env, rounds, sink, expected):
    """The mean CPU and page faults of each, run in turn."""
    sums = [[0.0, 0] for _ in argvs]
    for _ in range(rounds):
        for at, argv in enumerate(argvs):
            seconds, faults = cpu(argv, env, sink, expected)
            sums[at][0] += seconds
            sums[at][1] += faults
    return [[value / rounds for value in one] for one in sums]


def bench(args, folder):
    fabric_dir = os.path.join(os.path.dirname(HERE), "fabric")
    sink = os.open(os.devnull, os.O_WRONLY)
    print(f"{'':<24}{'ibtool':>12}{'Debian':>12}{'ratio':>8}   page faults")
    with simfabric.Fabric(os.path.join(fabric_dir, "cluster16.net"), lids=os.path.join(fabric_dir, "cluster16.guid2lid"),
                          rmpp=False) as fabric:
        os.chdir(fabric.dir)  # umad2sim writes into the working directory
        for words, on_fabric, status in LINES:
            ours = os.path.join(folder, words[0])
            if not os.path.exists(ours):
                os.symlink(args.ibtool, ours)
            env = fabric.env() if on_fabric else dict(os.environ)
            argvs = [[program, *words[1:]] for program in (ours, simfabric.find_program(words[0]))]
            (mine, my_faults), (theirs, their_faults) = compare(argvs, env, args.rounds, sink, status)
            print(f"{' '.join(words):<24}{mine * 1e3:>9.2f} ms{theirs * 1e3:>9.2f} ms{mine / theirs:>8.2f}   "
                  f"{my_faults:.0f}, {their_faults:.0f}", flush=True)
        os.chdir(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rounds", type=int, default=300, help="runs of each program")
    parser.add_argument("--ibtool", default=os.environ.get("IBTOOL", os.path.join(SOURCE, "build", "tools", "ibtool")), metavar="FILE")
    args = parser.parse_args()
    lacking = simfabric.missing() + [words[0] for words, _, _ in LINES if not simfabric.find_program(words[0])]
    if lacking:
        print("skipped, not installed: " + ", ".join(lacking))
        return 77
    args.ibtool = os.path.abspath(args.ibtool)
    try:
        with tempfile.TemporaryDirectory() as folder:
            bench(args, folder)
    except simfabric.FabricError as error:
        print(f"E: {error}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
