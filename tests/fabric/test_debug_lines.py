# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What ibtracert and ibqueryerrors print with -d and -v by their legacy names is what Debian's print, on both streams: the search through
a multicast tree with circles, requests that are not answered, and each request to a PMA."""
import os
import re
import sys

import case
from bounds import settle

sys.path[:0] = [os.path.join(case.HERE, "..", folder) for folder in ("beside", "golden")]
import beside  # noqa: E402

PACKETS = 1000  # that one run sends and the next one counts, on a port

TRACES = """
ibtracert -d {host} {host2}
ibtracert -d -v -n {switch} {host2}
ibtracert -d -G {host_port_guid} {host2_port_guid}
ibtracert -d -t 30 {host} {none}
ibtracert -d -f -t 30 {host} {none}
ibtracert -d -m 0xc000 {host} {host2}
ibtracert -d -v -m 0xc000 {host} {host2}
ibtracert -vv -m 0xc000 {host2} {host}
ibtracert -d -v -n -m 0xc000 {switch} {host2}
ibtracert -d -v -m 0xc000 {switch3} {switch}
ibtracert -d -v -m 0xc000 {host} {host}
ibtracert -d -v -m 0xc001 {host} {host2}
ibtracert -d -v -t 30 -m 0xc000 {host} {none}
"""

COUNTERS = """
ibqueryerrors -d
ibqueryerrors -d --skip-sl --switch --details
ibqueryerrors -d --counters --ca
ibqueryerrors -d --data
"""

AT_ROUTE = """
ibqueryerrors -d -D 0
ibqueryerrors -d -D 0 --details -r
ibqueryerrors -d -D 0,1
ibqueryerrors -d -D 0,1,1
"""

# Hosts behind switches, one with two ports. The sweep goes back from them to the switch, and finds them once more.
AT_HOSTS = """
ibqueryerrors -d -D 0,1,3
ibqueryerrors -d -D 0,1,2,2
ibqueryerrors -d -D 0,1,2,3
ibqueryerrors -d -r -D 0,1,2,3
ibqueryerrors -d -D 0,1,1
ibqueryerrors -d -D 0,1,4
ibqueryerrors -D 0,1,3
ibqueryerrors -D 0,1,2,3
ibqueryerrors -D 0,1,1
iblinkinfo -D 0,1,1
"""

# As AT_HOSTS. Which port of the switch is printed: DIFFERENCES of ibtool-iblinkinfo(1).
LINKS_AT_HOSTS = """
iblinkinfo -D 0,1,3
iblinkinfo -D 0,1,2,3
iblinkinfo -a -D 0,1,3
"""

# With a host that does not answer.
AT_SILENCE = """
ibqueryerrors -d -t 100 -D 0,1,2
ibqueryerrors -d -t 100 -D 0,1,2,3
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

# Of the sweep for -G nothing is printed: DIFFERENCES of ibtool-ibqueryerrors(1).
BY_GUID = """
ibqueryerrors -d -G {host_port_guid}
"""

CLEARS = """
ibqueryerrors -d -k
ibqueryerrors -d -K --details --ca
ibqueryerrors -d -k -K --details --switch
ibqueryerrors -d -k --counters --ca
"""


class Compared(case.FabricCase):
    def compare(self, lines, with_stdout=True):
        values = beside.names(self.fabric)
        for line in lines.strip().splitlines():
            with self.subTest(line=line):
                words = beside.fill(line, values)
                self.assertIsNotNone(words)
                theirs, ours = self.debian(*words), self.legacy(*words)
                self.assertEqual(settle(theirs.stderr, ours.stderr), theirs.stderr)
                if with_stdout:
                    self.assertEqual(settle(theirs.stdout, ours.stdout, PACKETS), theirs.stdout)
                    self.assertEqual(ours.returncode, theirs.returncode)


class DebugLines(Compared):
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
        search = self.debian("ibtracert", "-d", "-v", "-m", "0xc000", "1", "20").stdout
        for words in ("found target", "ERR: circle discovered", "already exists", "is forwarded to port"):
            self.assertIn(words, search)
        self.compare(TRACES)

    def test_ibqueryerrors(self):
        self.compare(COUNTERS)
        self.compare(AT_ROUTE)
        self.compare(BY_GUID, with_stdout=False)

    def test_ibqueryerrors_resets(self):
        self.debian("ibqueryerrors", "-k")  # so that both find the same
        self.compare(CLEARS)
        self.assertIn("performance_reset_via", self.legacy("ibqueryerrors", "-d", "-k").stderr)


class Hosts(Compared):
    @classmethod
    def make_net(cls):
        return TWO_PORTS

    def test_found_again(self):
        self.assertEqual(self.debian("ibqueryerrors", "-D", "0,1,3").stderr.count("Duplicate Port"), 1)
        self.compare(AT_HOSTS)
        self.compare(LINKS_AT_HOSTS, with_stdout=False)

    def test_silence(self):
        self.change('Error "H-500"[1] 100', 'Error "H-500"[1] 0')
        self.assertIn("bad status 110", self.debian("ibqueryerrors", "-t", "100", "-D", "0,1,2").stderr)
        self.compare(AT_SILENCE)


if __name__ == "__main__":
    case.main()
