# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""The example programs of ibtool-library(7) do what they say, beside ibtool and Debian's programs."""
import os
import re
import socket

import case
import simfabric

EXAMPLES = simfabric.built("EXAMPLES", "tests/examples")


def example_file(name):
    return os.path.join(EXAMPLES, name)


class Examples(case.FabricCase):
    def example(self, name, *words, status=0, **env):
        done = self.run_ours([example_file(name), *words], **env)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def test_list_devices(self):
        lines = self.example("list_devices").stdout.splitlines()
        self.assertRegex(lines[0], r"^ibsim0 node GUID [0-9a-f:]{19}$")
        gid = re.search(r"GID (\S+)", self.ibtool("ibaddr").stdout)[1]
        self.assertRegex(lines[1], r"^  ibsim0/1 ACTIVE, LID 7, GID " + gid + "$")

    def test_port_info(self):
        """Field by field what smpquery shows, of this port and of another."""
        for words in ([], ["9"]):
            lines = self.example("port_info", *words).stdout.splitlines()
            self.assertEqual(lines[0], "The subnet manager is at LID 7")
            theirs = self.ibtool("smpquery", "--int-names", "PI", *(words or ["-D", "0,"])).stdout.splitlines()
            self.assertEqual(lines[1:], theirs[1:])
        error = self.example("port_info", "999", status=1).stderr
        self.assertRegex(error, r"^No answer from LID 999 about PortInfo \(4 tries in ")

    def test_walk_fabric(self):
        found = re.findall(r"^([0-9a-f:]{19}) (.+) with (\d+) ports$", self.example("walk_fabric").stdout, re.M)
        nodes = {case.guid_of(guid): int(ports) for guid, _, ports in found}
        self.assertEqual(nodes, {guid: ports for guid, (_, ports, _) in self.ours().nodes.items()})
        self.assertEqual({kind for _, kind, _ in found}, {"Switch", "Channel Adapter"})

    def test_ask_sa(self):
        """The path has the SL of Debian's saquery, the switches are those of the fabric as far as tables come whole here."""
        done = self.example("ask_sa", "9").stdout
        switches = {case.guid_of(guid) for guid in re.findall(r"^switch (\S+) LID", done, re.M)}
        known = {guid for guid, (kind, _, _) in self.ours().nodes.items() if kind == "Switch"}
        self.assertTrue(switches)
        self.assertLessEqual(switches, known)
        if switches != known:
            self.assertIn("The path to the SA cuts long tables: there may be more.", done)
        self.assertRegex(done, r"(?m)^Path 7 -> 9 SL=0 PKey=0xffff DQPN=1, rate code \d+$")
        self.assertRegex(self.example("ask_sa", "999", status=1).stderr, r"^Nobody is there: .*The SA has no PathRecord that matches$")


class ServePings(case.ServingCase):
    def test_serve_pings(self):
        """Our ibping and ibsysstat and Debian's have their answers, and what it refuses is refused with the IBA's status."""
        lid = self.serve([example_file("serve_pings")], self.answered("ibping", "-f", "-c", "1"))
        for protocol in ("ibsysstat", "ibping"):
            done = self.ibtool("ibping", "-f", "-c", "3", "--protocol", protocol, lid)
            self.assertIn("3 packets transmitted, 3 received, 0% packet loss", done.stdout)
        host = socket.gethostname()
        self.assertIn(f"'{host}'", self.ibtool("ibsysstat", lid, "host").stdout)
        self.assertRegex(self.debian("ibping", "-c", "2", lid).stdout, rf"^Pong from {host}\S* \(Lid {lid}\): time [0-9.]+ ms\nPong")
        self.assertEqual(self.debian("ibsysstat", lid).stdout, "sysstat ping succeeded\n")
        self.assertEqual(self.debian("ibsysstat", lid, "host").stdout, host + "\n")
        for words, status in ((["-a", "1", "VendGet", "OFASysStatHostInfo", lid], "as invalid \\(status 0x1c\\)"),
                              (["VendGet", "OFASysStatCPUInfo", lid], "does not support SysStatCPUInfo \\(status 0xc\\)")):
            self.assertRegex(self.ibtool("query", *words, status=3).stderr, status)


if __name__ == "__main__":
    case.main()
