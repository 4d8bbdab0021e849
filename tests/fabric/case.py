# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What the tests on simulated fabrics share: running ours and Debian's programs, reading a topology listing, writing
small network files. A test file is a unittest program; Meson runs each as one test, in parallel with others."""
import os
import re
import signal
import stat
import sys
import tempfile
import time
import unittest
from dataclasses import dataclass, field

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "support"))
import simfabric  # noqa: E402

CLUSTER = os.path.join(HERE, "cluster16.net")
CLUSTER_LIDS = os.path.join(HERE, "cluster16.guid2lid")
IBTOOL, DELAY = simfabric.IBTOOL, simfabric.DELAY
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # under nohup, programs that take care of it would not: whoever started them ignores it


@dataclass
class Topology:
    """nodes: GUID → (kind, ports, description); links: {(GUID, port), (GUID, port)} → speed; lids: end port → (LID, LMC)."""
    nodes: dict = field(default_factory=dict)
    links: dict = field(default_factory=dict)
    lids: dict = field(default_factory=dict)

    def guid(self, description):
        """The GUID of the node whose description begins so."""
        return next(guid for guid, (_, _, text) in self.nodes.items() if text.startswith(description))


NODE = re.compile(r'^(Switch|Ca|Rt)\s+(\d+)\s+"[A-Z]-([0-9a-f:]+)"\s*(?:#\s*"(.*)")?(.*)$')
LINK = re.compile(r'^\[(\d+)\](?:\([0-9a-f:]+\))?\s+"[A-Z]-([0-9a-f:]+)"\[(\d+)\]\s*(?:\([0-9a-f:]+\))?\s*(?:#\s*(.*))?$')


def open_full_disk():
    """A file that refuses each byte with ENOSPC: the device /dev/full. A plain file of that name would fill the real disk."""
    found = os.stat("/dev/full")
    if not stat.S_ISCHR(found.st_mode) or found.st_rdev != os.makedev(1, 7):
        raise RuntimeError("/dev/full is not the device that refuses each byte (character device 1:7)")
    return open("/dev/full", "wb")


def guid_of(text):
    return int(text.replace(":", ""), 16)


def read_topology(text):
    """Reads the output of ibnetdiscover, ours or Debian's, or an ibsim network file in that form."""
    topology, node = Topology(), None
    for line in text.splitlines():
        match = NODE.match(line)
        if match:
            kind, ports, guid, description, rest = match.groups()
            node = guid_of(guid)
            topology.nodes[node] = (kind, int(ports), description or "")
            lid = re.search(r"lid (\d+) lmc (\d+)", rest)
            if kind == "Switch" and lid:
                topology.lids[node, 0] = int(lid[1]), int(lid[2])
            continue
        match = LINK.match(line)
        if match and node is not None:
            port, peer, peer_port, comment = match.groups()
            speed = re.search(r" (\d+x\w+)$", comment or "")
            topology.links[frozenset({(node, int(port)), (guid_of(peer), int(peer_port))})] = speed[1] if speed else ""
            lid = re.match(r"lid (\d+) lmc (\d+) ", comment or "")
            if lid:
                topology.lids[node, int(port)] = int(lid[1]), int(lid[2])
    return topology


def strings(value):
    """Every string in a JSON document."""
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


class FabricCase(unittest.TestCase):
    """A test class with one fabric for all its tests. Attributes say which; `change` the fabric only to undo it."""
    netfile, lids, lmc, options, sm, rmpp = CLUSTER, CLUSTER_LIDS, 0, (), True, True
    maxDiff = None
    fabric = None

    @classmethod
    def make_net(cls):
        """The network file's text where the class makes its own, else None."""
        return None

    @classmethod
    def setUpClass(cls):
        text = cls.make_net()
        netfile, lids = cls.netfile, cls.lids
        if text is not None:
            with tempfile.NamedTemporaryFile("w", suffix=".net", delete=False, encoding="latin-1") as net:
                net.write(text)
            cls.addClassCleanup(os.unlink, net.name)
            netfile, lids = net.name, None
        cls.fabric = simfabric.Fabric(netfile, lids=lids, lmc=cls.lmc, options=cls.options, sm=cls.sm, rmpp=cls.rmpp)
        cls.enterClassContext_(cls.fabric)

    @classmethod
    def enterClassContext_(cls, context):  # unittest has it from Python 3.11
        cls.addClassCleanup(context.__exit__, None, None, None)
        context.__enter__()

    # -- running -----------------------------------------------------------------------------------------------------
    def run_ours(self, argv, **env):
        done = self.fabric.run(argv, **env)
        self.assertNotIn("AddressSanitizer", done.stderr)
        self.assertNotIn("runtime error", done.stderr)
        self.assertGreaterEqual(done.returncode, 0, f"{argv} died of signal {-done.returncode}\n{done.stderr}")
        return done

    def ibtool(self, *words, status=0, **env):
        """Runs `ibtool WORDS`, checks its exit status, returns what it did."""
        done = self.run_ours([IBTOOL, *words], **env)
        if status is not None:
            self.assertEqual(done.returncode, status, f"ibtool {' '.join(words)}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done

    def legacy(self, name, *words, **env):
        """Runs our binary under a legacy name; any status."""
        return self.run_ours([name, *words], executable=IBTOOL, **env)

    def debian(self, name, *words, **env):
        """Runs Debian's program; any status."""
        return self.fabric.run([name, *words], executable=simfabric.theirs(name), **env)

    def ours(self, *words, status=0, **env):
        """Our view of the fabric."""
        return read_topology(self.ibtool("ibnetdiscover", *words, status=status, **env).stdout)

    def theirs(self, **env):
        """Debian's view of the fabric."""
        return read_topology(self.debian("ibnetdiscover", **env).stdout)

    def file(self):
        with open(CLUSTER, encoding="ascii") as net:
            return read_topology(net.read())

    def assert_same_fabric(self, one, other, descriptions=True):
        strip = (lambda nodes: nodes) if descriptions else (lambda nodes: {guid: node[:2] for guid, node in nodes.items()})
        self.assertEqual(strip(one.nodes), strip(other.nodes))
        self.assertEqual(one.links, other.links)
        self.assertEqual(one.lids, other.lids)

    def change(self, command, undo=None):
        """Gives ibsim's console a command, and another one when the test ends."""
        if undo:
            self.addCleanup(self.fabric.console, undo)
        answer = self.fabric.console(command)
        self.assertNotIn("# ", answer, command)

    def unlink(self, node, port):
        """Takes a cable away, and puts it back when the test ends. Waits each time until the subnet manager has set up ports and routes:
        before that, requests by LID are lost on the cable, and ports that come back are in Initialize."""
        self.addCleanup(self._change_links, f'Relink "{node}"[{port}]')
        self._change_links(f'Unlink "{node}"[{port}]')

    def _change_links(self, command):
        self.change(command)
        end = time.monotonic() + 60
        while self.run_ours([IBTOOL, "check_routes"]).returncode != 0:
            self.assertLess(time.monotonic(), end, f"the subnet manager has not set up the routes after {command}")


class ServingCase(FabricCase):
    """A test class whose tests run servers on other hosts of the cluster."""
    next_host = 0  # ibsim needs a while to forget a server: each gets a host of its own

    @staticmethod
    def hosts():
        """The node ids of the hosts, in the order of the file."""
        with open(CLUSTER, encoding="latin-1") as net:
            return [line.split('"')[1] for line in net if line.startswith(("Hca", "Ca"))]

    def serve(self, argv, ready, issm=False):
        """Starts a server on another host and returns that host's LID once `ready(LID)` holds.
        issm: without it the simulator gives requests to none but programs that ask for that themselves, as ours do."""
        ServingCase.next_host += 1
        host = self.hosts()[ServingCase.next_host]
        env = {"SIM_SET_ISSM": 1} if issm else {}
        lid = self.lid_of(host)
        for _ in range(5):  # ibsim's client dies if a MAD comes before there is an agent for it
            server = self.fabric.start(argv, host=host, **env)
            self.addCleanup(self.end, server)
            for _ in range(40):
                if server.poll() is not None:
                    break
                if ready(lid):
                    self.server = server
                    return lid
                time.sleep(0.1)
        self.fail(f"{argv} does not serve")

    def end(self, server):
        server.kill()
        server.wait()
        self.assertNotIn("Sanitizer", server.stderr.read().decode(errors="replace"))
        server.stderr.close()

    def lid_of(self, host):
        guid = int(host.split("-")[1], 16)
        lids = self.ours().lids
        return str(next(lid for (node, _), (lid, _) in lids.items() if node == guid))

    def answered(self, *words):
        """Whether `ibtool WORDS LID` gets its answer, for serve()."""
        return lambda lid: self.run_ours([IBTOOL, *words, "--retries", "0", lid]).returncode == 0


def node(kind, nodeid, links, description=None, guid=None, ports=None):
    """A node of an ibsim network file. links: {port: (node id, port)}."""
    lines = []
    if guid is not None:
        lines.append(f"{'switchguid' if kind == 'Switch' else 'caguid'}=0x{guid:x}")
    comment = f'\t# "{description}"' if description is not None else ""
    lines.append(f'{kind}\t{ports or max(links, default=1)} "{nodeid}"{comment}')
    lines += [f'[{port}]\t"{peer}"[{peer_port}]' for port, (peer, peer_port) in sorted(links.items())]
    return "\n".join(lines) + "\n\n"


main = simfabric.run_tests
