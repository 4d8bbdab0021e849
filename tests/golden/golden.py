# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the tests with recorded command lines share: the fabrics, the cases, and when two outputs count as the same.

recorded.jsonl   what python-rdma's ibtool and infiniband-diags 44 printed for a command line on one of the two fabrics here
deviations.jsonl command lines that we answer differently on purpose: what we print, why, and the manual page that says so

A case: {"fabric", "ref", "cmd", "stdin", "rc", "out"}. cmd begins with "ibtool", or with the legacy name of a tool. A case that has
"prep" (steps that come before) or "lmc" gets a fabric of its own. A step is `console LINE` of ibsim, `wait SECONDS`, or a command
line. "rmpp": false is for the fabric as Debian has it, where a table ends after one MAD."""
import json
import os
import re
import shlex
import time
import unittest

import simfabric

HERE = os.path.dirname(os.path.abspath(__file__))
IBTOOL = os.path.abspath(os.environ.get("IBTOOL", os.path.join(HERE, "..", "..", "build", "tools", "ibtool")))
HOSTS = {"net": "Hca1", "fattree": "H-0002c90300001490"}


def load(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def normalised(text):
    """The lines of an output without what differs from run to run."""
    text = re.sub(r"generated on .*", "generated on DATE", text)
    text = re.sub(r"\bu('|\")", r"\1", text)                     # Python 2's mark of Unicode strings
    text = re.sub(r"activity count \d+", "activity count N", text)
    text = re.sub(r"transactionID=\d+", "transactionID=N", text)
    text = re.sub(r"(\d{2,3} )0000[0-9A-F]{4}( transactionID)", r"\1TID\2", text)
    return [line.rstrip() for line in text.splitlines() if line.strip()]


def open_fabric(name, lmc=0, rmpp=True):
    path = os.path.join(HERE, name)
    lids = path + (f".lmc{lmc}" if lmc else "") + ".guid2lid"
    return simfabric.Fabric(path + ".net", host=HOSTS[name], lmc=lmc, lids=lids, rmpp=rmpp)


def key(case):
    """What tells a case from all others, as an order: of those with one command line the plain one is the last."""
    special = case.get("lmc", 0), case.get("prep", [])
    return case["cmd"], case["fabric"], case.get("stdin") or "", special == (0, []), special, not case.get("rmpp", True)


def prepare(fabric, step):
    """Does one step of a case's preparation."""
    word, _, rest = step.partition(" ")
    if word == "console":
        fabric.console(rest)
    elif word == "wait":
        time.sleep(float(rest))
    else:
        fabric.run(shlex.split(step), executable=IBTOOL)


CHANGING = re.compile(r"ibtool (ibportstate|init_all_ports|set_guid|set_port_state) ")


def run(fabric, case):
    """Runs ours as the case says: on `fabric`, or on a new one if the case changes it or may do so."""
    if case.get("prep") or case.get("lmc") or CHANGING.match(case["cmd"]):
        with open_fabric(case["fabric"], case.get("lmc", 0), case.get("rmpp", True)) as own:
            for step in case.get("prep", []):
                prepare(own, step)
            return run_line(own, case)
    return run_line(fabric, case)


def run_line(fabric, case):
    """Runs the command line of a case on a fabric that is ready for it."""
    stdin = ""
    if case.get("stdin"):
        with open(os.path.join(HERE, case["stdin"]), encoding="ascii") as text:
            stdin = text.read()
    return fabric.run(shlex.split(case["cmd"]), executable=IBTOOL, stdin=stdin, COLUMNS=80)


class FabricCases(unittest.TestCase):
    """The cases of one fabric, in one fabric: they only look at it."""
    fabric_name, cases, rmpp = None, (), True
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.fabric = open_fabric(cls.fabric_name, rmpp=cls.rmpp)
        cls.addClassCleanup(cls.fabric.close)
        cls.fabric.__enter__()
