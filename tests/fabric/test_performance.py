# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""perfquery and ibqueryerrors beside Debian's, against an agent that counts all there is to count: what ibsim's agents do not know."""
import json
import re

import case
import simfabric

PRELOAD = simfabric.built("IBTEST_AGENTS_LIB", "tests/support/ibtest-agents.so")
ALL_COUNTERS = ["-x", "-X", "-S", "-D", "-E", "-T", "--oprcvcounters", "--flowctlcounters", "--vloppackets", "--vlopdata",
                "--vlxmitflowctlerrors", "--vlxmitcounters", "--swportvlcong", "--rcvcc", "--slrcvfecn", "--slrcvbecn", "--xmitcc",
                "--vlxmittimecc", "-c"]


class Performance(case.ServingCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.fabric.preload = (*cls.fabric.preload, PRELOAD)

    def counted(self, *masks):
        return self.serve([simfabric.PROGRAMS, "serve-performance", *masks], self.answered("perfquery"))

    def route_to(self, lid):
        """The directed route to a host, as -D takes it."""
        nodes = json.loads(self.ibtool("ibnetdiscover", "--json").stdout)["nodes"]
        route = next(node["route"] for node in nodes if any(str(port["lid"]) == lid for port in node["ports"]) and node["node_type"] != 2)
        return ",".join(map(str, [0, *route]))

    def alike(self, *words):
        """Debian's and ours under that name say the same; returns the text. Where Debian's is known to crash, that of ours."""
        if simfabric.crashes(words):
            return self.legacy(*words).stdout
        theirs, ours = (run(*words) for run in (self.debian, self.legacy))
        # libibnetdisc tells of ports that it meets twice where it begins at a route.
        told = lambda text: re.sub(r"(?m)^./libibnetdisc/.*\n", "", re.sub(r"\[\d+\]", "[pid]", text))  # noqa: E731
        self.assertEqual((theirs.returncode, theirs.stdout, told(theirs.stderr)), (ours.returncode, ours.stdout, told(ours.stderr)), words)
        return theirs.stdout

    def test_every_attribute(self):
        lid = self.counted()
        for option in ALL_COUNTERS:
            self.assertNotIn(" failed", self.alike("perfquery", option, lid, "1"), option)

    def test_extended_counters_as_far_as_they_go(self):
        for masks in (["0x0200", "0"], ["0x0400", "0"], ["0x1200", "0"], ["0x0200", "2"]):
            lid = self.counted(*masks)
            self.alike("perfquery", "-x", lid, "1")
            self.server.kill()
            self.server.wait()

    def test_errors_of_64_bits(self):
        """ibqueryerrors on the additional part of PortCountersExtended, which ibsim does not have, with data and links."""
        lid = self.counted()
        route = self.route_to(lid)
        for words in ([], ["--data"], ["--data", "-c"], ["--counters"], ["-s", "SymbolErrorCounter,PortXmitWait", "--data"]):
            text = self.alike("ibqueryerrors", "--skip-sl", "-D", route, *words)
            self.assertIn("## Summary: 1 nodes checked", text)
        self.assertRegex(self.legacy("ibqueryerrors", "--skip-sl", "-D", route).stdout, r"\[SymbolErrorCounter == \d+ \(8\.\d+G\)\]")
        # Ours names the port of the switch to which the host is linked; Debian's that by which its own questions come in there.
        number = route.rpartition(",")[2]
        self.assertRegex(self.legacy("ibqueryerrors", "--skip-sl", "-D", route, "-r").stdout, rf"==>  0x\w+ +\d+ +{number}\[  \] \"")

    def test_details(self):
        """Details by their own names, which Debian's program swaps."""
        lid = self.counted("0x0200", "0")
        text = self.legacy("ibqueryerrors", "--skip-sl", "-D", self.route_to(lid), "--details").stdout
        self.assertRegex(text, r"\[PortRcvErrors == \d+\] \[PortLocalPhysicalErrors == \d+\]")
        self.assertRegex(text, r"\[PortXmitDiscards == \d+\] \[PortInactiveDiscards == \d+\]")

    def test_errors_are_cleared(self):
        lid = self.counted()
        route = self.route_to(lid)
        self.assertEqual(self.alike("ibqueryerrors", "--skip-sl", "-D", route, "-s", "nothing"),
                         self.legacy("ibqueryerrors", "--skip-sl", "-D", route, "-k").stdout)
        self.assertIn("1 nodes checked, 0 bad nodes", self.alike("ibqueryerrors", "--skip-sl", "-D", route))


if __name__ == "__main__":
    simfabric.run_tests()
