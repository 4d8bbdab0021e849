# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""health on all of our network files, each a healthy fabric: no error, and the warnings and infos that are listed here."""
import collections
import json
import os
import unittest

import case
import simfabric

TESTS = os.path.join(case.HERE, "..")
LIDS = {"cluster16": case.CLUSTER_LIDS}
INFOS = {  # besides sm-no-standby, which each of them has once
    "back_to_back": {"link-misconfigured": 1},
    "chassis": {"link-misconfigured": 19},
    "cluster16": {"link-misconfigured": 2},
    "directors": {"link-misconfigured": 4, "description-default": 1, "description-duplicate": 1},
    "fattree": {"link-misconfigured": 4, "counter-stuck": 1},
    "fdr10": {"link-misconfigured": 4},
    "hdr": {"link-misconfigured": 4, "description-default": 1},
    "large": {"link-misconfigured": 6, "description-default": 1},
    "lmc": {"link-misconfigured": 7},
    "loops": {"link-misconfigured": 3, "description-default": 1},
    "mixed": {"link-misconfigured": 6, "description-default": 1, "description-duplicate": 1},
    "names": {"link-misconfigured": 6},
    "net": {"link-misconfigured": 1},
    "qlogic": {"link-misconfigured": 10},
    "speeds": {"link-misconfigured": 8},
    "states": {"link-misconfigured": 2},
    "unmanaged": {"link-misconfigured": 2},
    "voltaire": {"link-misconfigured": 13},
}
WARNINGS = {
    "hdr": {("link-misconfigured", "MF0;ib-leaf-r01:MQM8700/U1", 4)},  # the only one of its leaf's hosts at EDR: the others are at HDR
    "lmc": {("link-misconfigured", "leaf00", 6)},  # its two ends allow different widths
}


class Nets(unittest.TestCase):
    """One method for each file: see the end."""

    def judge(self, path):
        name = os.path.basename(path).removesuffix(".net")
        with simfabric.Fabric(path, lids=LIDS.get(name)) as fabric:
            done = fabric.run([case.IBTOOL, "health", "--json", "--interval", "0.3"])
        found = json.loads(done.stdout)
        told = {(of["check"], of["ends"][0]["node_description"], of["ends"][0]["port_num"])
                for of in found["findings"] if of["level"] != "info"}
        self.assertEqual(told, WARNINGS.get(name, set()), done.stderr)
        self.assertEqual(found["verdict"], "findings" if name in WARNINGS else "healthy", done.stderr)
        infos = collections.Counter(of["check"] for of in found["findings"] if of["level"] == "info")
        self.assertEqual(infos, {"sm-no-standby": 1, **INFOS[name]})


def add(path):
    name = os.path.basename(path).removesuffix(".net")
    setattr(Nets, f"test_{name}", lambda self: self.judge(path))


for folder in ("fabric", "golden", "beside"):
    for entry in sorted(os.listdir(os.path.join(TESTS, folder))):
        if entry.endswith(".net"):
            add(os.path.join(TESTS, folder, entry))


if __name__ == "__main__":
    case.main()
