# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""health on all of our network files, each a healthy fabric: no error and no warning."""
import json
import os
import unittest

import case
import simfabric

TESTS = os.path.join(case.HERE, "..")
LIDS = {"cluster16": case.CLUSTER_LIDS}


class Nets(unittest.TestCase):
    """One method for each file: see the end."""

    def judge(self, path):
        name = os.path.basename(path).removesuffix(".net")
        with simfabric.Fabric(path, lids=LIDS.get(name)) as fabric:
            done = fabric.run([case.IBTOOL, "health", "--json", "--interval", "0.3"])
        found = json.loads(done.stdout)
        told = {(of["check"], of["ends"][0]["node_description"], of["ends"][0]["port_num"])
                for of in found["findings"] if of["level"] != "info"}
        self.assertEqual(told, set(), done.stderr)
        self.assertEqual(found["verdict"], "healthy", done.stderr)


def add(path):
    name = os.path.basename(path).removesuffix(".net")
    setattr(Nets, f"test_{name}", lambda self: self.judge(path))


for folder in ("fabric", "golden", "beside"):
    for entry in sorted(os.listdir(os.path.join(TESTS, folder))):
        if entry.endswith(".net"):
            add(os.path.join(TESTS, folder, entry))


if __name__ == "__main__":
    case.main()
