# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Runs ibdmchk of Debian's package ibutils on files that opensm wrote, and reads what it prints.

Its exit status says nothing: once it has looked for credit loops it dies behind its last line. It does not look for them where a pair is
lost: `loop` is None then.
"""
import fcntl
import os
import re
import subprocess
from dataclasses import dataclass, field

# The one place where it writes how many LIDs each port of a switch carries.
LIDS_FILE = "/var/cache/ibutils/ibdmchk.sw_out_port_num_dlids"
LOCK = f"/tmp/ibtool-ibdmchk-{os.getuid()}.lock"


@dataclass
class Opinion:
    """What it said. hops: links from port to port → pairs; lids: (switch GUID, port) → LIDs; groups: MLID → (switches, hosts)."""
    pairs: int = 0
    arrived: int = 0
    hops: dict = field(default_factory=dict)
    lids: dict = field(default_factory=dict)
    groups: dict = field(default_factory=dict)
    broken_groups: set = field(default_factory=set)
    loop: bool = None
    text: str = ""


def look(directory, *options):
    """Its opinion on opensm-subnet.lst, opensm.fdbs and opensm.mcfdbs in a directory."""
    argv = ["ibdmchk", "-s", "opensm-subnet.lst", "-f", "opensm.fdbs", "-m", "opensm.mcfdbs", *options]
    if not os.access(os.path.dirname(LIDS_FILE), os.W_OK):  # a user who is not root gets the directory for himself
        shell = f'mount -t tmpfs none {os.path.dirname(LIDS_FILE)} && "$@"; cat {LIDS_FILE} >lids'
        argv = ["unshare", "-rm", "sh", "-c", shell, "sh", *argv]
    lids = os.path.join(directory, "lids")
    with open(LOCK, "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path in (LIDS_FILE, lids):
            if os.path.exists(path):
                os.remove(path)
        done = subprocess.run(argv, cwd=directory, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              encoding="utf-8", errors="replace", timeout=300)
        opinion = understood(done.stdout)
        for path in (LIDS_FILE, lids):
            if os.path.exists(path):
                with open(path, encoding="ascii", errors="replace") as file:
                    opinion.lids = carried(file.read())
    return opinion


def carried(text):
    """Its file: `12 S0002c90200000010/U1/P5` a line; ports that carry nothing are left out here."""
    return {(int(guid, 16), int(port)): int(count) for count, guid, port in re.findall(r"^\s*(\d+) S(\w+)/U1/P(\d+)", text, re.MULTILINE)
            if int(count) > 0}


def understood(text):
    opinion = Opinion(text=text)
    whole, lost = re.search(r"Scanned:(\d+) CA to CA", text), re.search(r"Found (\d+) missing paths out of:(\d+)", text)
    if whole:
        opinion.pairs = opinion.arrived = int(whole[1])
    elif lost:
        opinion.pairs, opinion.arrived = int(lost[2]), int(lost[2]) - int(lost[1])
    histogram = re.search(r"LFT ROUTE HOP HISTOGRAM.*?HOPS NUM-CA-CA-PAIRS\n(.*?)---", text, re.DOTALL)
    if histogram:
        opinion.hops = {int(hops): int(pairs) for hops, pairs in re.findall(r"(\d+)\s+(\d+)\n", histogram[1])}
    for mlid, switches, hosts in re.findall(r"Multicast Group:0x(\w+) has:(\d+) switches and:(\d+) HCAs", text):
        opinion.groups[int(mlid, 16)] = (int(switches), int(hosts))
    opinion.broken_groups = {int(mlid, 16) for mlid in re.findall(r"(?:Found a loop on MLID|in group):0x(\w+)", text)}
    if "credit loops in routing" in text or "no credit loops found" in text:
        opinion.loop = "credit loops in routing" in text
    return opinion
