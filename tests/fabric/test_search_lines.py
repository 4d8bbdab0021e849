# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What ibtracert prints with -v of its search, and what ibqueryerrors and iblinkinfo find around the end of a route, by their legacy names,
is what Debian's print: the search through a multicast tree with circles, hosts at the end of a route, and one that does not answer."""
import os
import re
import sys

import case
import simfabric
from bounds import settle, stands_for

sys.path[:0] = [os.path.join(case.HERE, "..", folder) for folder in ("beside", "golden")]
import beside  # noqa: E402

PACKETS = 1000  # that one run sends and the next one counts, on a port

TRACES = """
ibtracert -v -n {switch} {host2}
ibtracert -G {host_port_guid} {host2_port_guid}
ibtracert -t 30 {host} {none}
ibtracert -v -m 0xc000 {host} {host2}
ibtracert -vv -m 0xc000 {host2} {host}
ibtracert -v -n -m 0xc000 {switch} {host2}
ibtracert -v -m 0xc000 {switch3} {switch}
ibtracert -v -m 0xc000 {host} {host}
ibtracert -v -m 0xc001 {host} {host2}
ibtracert -v -t 30 -m 0xc000 {host} {none}
"""

# That a LID which nobody has is looked for is a line of its own here too, beside the reason why there is no way.
FORCED = """
ibtracert -f -t 30 {host} {none}
"""

CLEARS = """
ibqueryerrors -k
ibqueryerrors -K --details --ca
ibqueryerrors -k -K --details --switch
ibqueryerrors -k --counters --ca
"""

# Hosts behind switches, one with two ports.
AT_HOSTS = """
ibqueryerrors -D 0,1
ibqueryerrors -D 0,1,2,2
ibqueryerrors -D 0,1,2,3
ibqueryerrors -r -D 0,1,2,3
ibqueryerrors -D 0,1,4
ibqueryerrors -D 0,1,3
ibqueryerrors -D 0,1,1
iblinkinfo -D 0,1,1
"""

# With a host that does not answer.
AT_SILENCE = """
ibqueryerrors -t 100 -D 0,1,2
ibqueryerrors -t 100 -D 0,1,2,3
"""

TWO_PORTS = """
Hca 1 "H-300" # "here"
[1] "S-100"[1]

Switch 4 "S-100" # "one"
[1] "H-300"[1]
[2] "S-200"[1]
[3] "H-400"[1]

Switch 4 "S-200" # "two"
[1] "S-100"[2]
[2] "H-400"[2]
[3] "H-500"[1]

Hca 2 "H-400" # "dual"
[1] "S-100"[3]
[2] "S-200"[2]

Hca 1 "H-500" # "far"
[1] "S-200"[3]
"""


class Compared(case.FabricCase):
    def compare(self, lines, with_stderr=True):
        values = beside.names(self.fabric)
        for line in lines.strip().splitlines():
            with self.subTest(line=line):
                words = beside.fill(line, values)
                self.assertIsNotNone(words)
                if simfabric.crashes(words):
                    continue
                theirs, ours = self.debian(*words), self.legacy(*words)
                self.assertEqual(settle(theirs.stdout, ours.stdout, PACKETS), theirs.stdout)
                self.assertEqual(ours.returncode, theirs.returncode)
                if with_stderr:
                    self.assertTrue(stands_for(settle(theirs.stderr, ours.stderr), theirs.stderr), ours.stderr)


class SearchLines(Compared):
    def flood(self):
        """Has each switch send the first multicast group out of all ports."""
        switches = re.findall(r"^Switch\s.*\slid (\d+) lmc", self.debian("ibnetdiscover").stdout, re.MULTILINE)
        self.assertEqual(len(switches), 6)
        for lid in switches:
            for position in range(3):  # 16 ports each
                self.ibtool("query", "SubnSet", "SMPMulticastForwardingTable", lid, "-a", str(position << 28),
                            "-f", "portMaskBlock[0]=0xffff")

    def test_ibtracert(self):
        self.flood()
        run = self.legacy if simfabric.crashes(["ibtracert", "-m"]) else self.debian
        search = run("ibtracert", "-v", "-m", "0xc000", "1", "20").stdout
        for words in ("found target", "ERR: circle discovered", "is forwarded to port"):
            self.assertIn(words, search)
        self.compare(TRACES)
        self.compare(FORCED, with_stderr=False)

    def test_ibqueryerrors_resets(self):
        self.debian("ibqueryerrors", "-k")  # so that both find the same
        self.compare(CLEARS)


class Hosts(Compared):
    @classmethod
    def make_net(cls):
        return TWO_PORTS

    def test_routes_to_hosts(self):
        """Debian's libibnetdisc goes back from a host to the switch, finds the host once more, and complains of that."""
        if not simfabric.crashes(["ibqueryerrors", "-D"]):
            self.assertEqual(self.debian("ibqueryerrors", "-D", "0,1,3").stderr.count("Duplicate Port"), 1)
        self.compare(AT_HOSTS, with_stderr=False)
        self.assertEqual(self.legacy("ibqueryerrors", "-D", "0,1,3").stderr, "")

    def test_silence(self):
        self.change('Error "H-500"[1] 100', 'Error "H-500"[1] 0')
        if not simfabric.crashes(["ibqueryerrors", "-D"]):
            self.assertIn("bad status 110", self.debian("ibqueryerrors", "-t", "100", "-D", "0,1,2").stderr)
        self.compare(AT_SILENCE)


if __name__ == "__main__":
    case.main()
