# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""mstlink and mstreg of Debian 13, a client of the vendor's class that nobody here wrote, on a simulated fabric. unpack_mstflint.sh brings
them into the user's cache; they run there with their own libraries, and nothing is installed."""
import fcntl
import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))
import simfabric  # noqa: E402

HOME = os.environ.get("HOME") or f"/tmp/ibtool-{os.getuid()}"
TREE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.join(HOME, ".cache"), "ibtool", "mstflint")
WITH_DATABASE = 'mount --bind "$0" /usr/share && exec "$@"'  # of registers, which mstflint looks for there


def why_missing():
    """Unpacks mstflint where that was not done. Returns why it cannot run, or None."""
    os.makedirs(os.path.dirname(TREE), exist_ok=True)
    with open(TREE + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(TREE):
            try:
                done = subprocess.run(["sh", os.path.join(HERE, "unpack_mstflint.sh"), TREE], stdin=subprocess.DEVNULL,
                                      capture_output=True, text=True, check=False, timeout=600)
            except (OSError, subprocess.TimeoutExpired) as error:
                return f"mstflint of Debian 13 was not unpacked: {error}"
            if done.returncode != 0:
                return f"mstflint of Debian 13 was not unpacked: {done.stderr.strip()[-500:]}"
    done = subprocess.run(in_tree("mstlink", "--version"), stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 and "mstflint" in done.stdout else f"mstlink does not run: {done.stderr.strip()[-500:]}"


def in_tree(program, *words, preload=()):
    """The command line of a program of the tree, with its own libraries and data."""
    loader = [f"{TREE}/lib64/ld-linux-x86-64.so.2", "--library-path", glob.glob(f"{TREE}/usr/lib/*-linux-gnu")[0]]
    if preload:
        loader += ["--preload", ":".join(preload)]
    own_view = ["unshare", "-rm", "sh", "-c", WITH_DATABASE, f"{TREE}/usr/share"]
    return [*own_view, *loader, "--argv0", program, f"{TREE}/usr/bin/{program}", *words]


def run(fabric, program, *words, **registers):
    """Runs a program of mstflint on the fabric; returns stdout. Raises AssertionError for another status than 0."""
    env = fabric.env(**registers)
    preload = [glob.glob(f"{TREE}/usr/lib/*/umad2sim/libumad2sim.so")[0] if "umad2sim" in library else library
               for library in env.pop("LD_PRELOAD").split(":")]
    done = subprocess.run(in_tree(program, *words, preload=preload), env=env, cwd=fabric.dir, stdin=subprocess.DEVNULL,
                          capture_output=True, encoding="utf-8", errors="replace", check=False, timeout=120)
    if done.returncode != 0:
        raise AssertionError(f"{program} {' '.join(words)}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def link(fabric, lid, label, **registers):
    """What `mstlink` prints of a port, by the label on the box: the sections of its JSON."""
    text = run(fabric, "mstlink", "-d", f"lid-{lid},ibsim0,1", "-p", str(label), "-m", "-c", "--json", **registers)
    return json.loads(text, strict=False)["result"]["output"]


def register(fabric, lid, name, index, **registers):
    """The fields of a register by `mstreg`: those that it prints once. Several layouts of a register have fields of one name."""
    text = run(fabric, "mstreg", "-d", f"lid-{lid},ibsim0,1", "--reg_name", name, "--get", *(["-i", index] if index else []), **registers)
    fields = re.findall(r"^(\S+) +\| 0x([0-9a-f]{8}) *$", text, re.MULTILINE)
    names = [field for field, _ in fields]
    return {field: int(value, 16) for field, value in fields if names.count(field) == 1}
