# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the tests with recorded command lines share: the fabrics, the cases, and when two outputs count as the same.

recorded.jsonl   what python-rdma's ibtool and infiniband-diags 44 printed for a command line on one of the two fabrics here
deviations.jsonl command lines that we answer differently on purpose: what we print, why, and the manual page that says so

A case: {"fabric", "ref", "cmd", "stdin", "rc", "out"}. cmd begins with "ibtool", or with the legacy name of a tool."""
import json
import os
import re
import shlex
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


def open_fabric(name):
    path = os.path.join(HERE, name)
    return simfabric.Fabric(path + ".net", host=HOSTS[name], lids=path + ".guid2lid")


def run(fabric, case):
    """Runs ours as the case says."""
    words = shlex.split(case["cmd"])
    stdin = ""
    if case.get("stdin"):
        with open(os.path.join(HERE, case["stdin"]), encoding="ascii") as text:
            stdin = text.read()
    return fabric.run(words, executable=IBTOOL, stdin=stdin, COLUMNS=80)


class FabricCases(unittest.TestCase):
    """The cases of one fabric, in one fabric: they only look at it."""
    fabric_name, cases = None, ()
    maxDiff = 4000

    @classmethod
    def setUpClass(cls):
        cls.fabric = open_fabric(cls.fabric_name)
        cls.addClassCleanup(cls.fabric.close)
        cls.fabric.__enter__()
