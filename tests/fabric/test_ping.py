# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""ibping and ibsysstat: our servers and clients beside Debian's, on two hosts of one fabric."""
import json
import os
import signal
import subprocess
import time

import case
import simfabric


def hosts():
    """The node ids of the hosts, in the order of the file."""
    with open(case.CLUSTER, encoding="latin-1") as net:
        return [line.split('"')[1] for line in net if line.startswith(("Hca", "Ca"))]


class Ping(case.FabricCase):
    next_host = 0  # ibsim needs a while to forget a server: each gets a host of its own

    def serve(self, argv, executable, ready):
        """Starts a server on another host and returns that host's LID once `ready(LID)` holds."""
        Ping.next_host += 1
        host = hosts()[Ping.next_host]
        env = self.fabric.env(host=host)
        if executable != case.IBTOOL:
            env["SIM_SET_ISSM"] = "1"
        lid = self.lid_of(host)
        for _ in range(5):  # ibsim's client dies if a MAD comes before there is an agent for it
            server = subprocess.Popen(argv, executable=os.path.abspath(executable), env=env, cwd=self.fabric.dir,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
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
        return lambda lid: self.run_ours([case.IBTOOL, *words, lid]).returncode == 0

    def ours_serves(self, *words):
        ready = self.answered("ibping", "-f", "-c", "1", "--retries", "0")
        return self.serve(["ibtool", *words], case.IBTOOL, ready)

    def theirs_serves(self, name, *words):
        return self.serve([name, "-S"], simfabric.find_program(name), self.answered("ibping", "-f", "-c", "1", "--retries", "0", *words))

    def test_our_ibsysstat_serves_both(self):
        lid = self.ours_serves("ibsysstat", "-S")
        host = self.ibtool("ibsysstat", lid, "host").stdout
        self.assertRegex(host, r"^Data_str\.+'[^']+'\n$")
        self.assertEqual("Cookie...........................0\n", self.ibtool("ibsysstat", lid, "ping").stdout)
        self.assertIn("RespTimeValue....................16\n", self.ibtool("ibsysstat", lid, "cpi").stdout)
        name = host.split("'")[1]
        self.assertEqual(self.debian("ibsysstat", lid, "host").stdout, name + "\n")
        self.assertEqual(self.debian("ibsysstat", lid).stdout, "sysstat ping succeeded\n")
        self.assertTrue(self.debian("ibsysstat", lid, "cpu").stdout.startswith("cpu 0: model "))
        self.assertEqual(self.legacy("ibsysstat", lid, "host").stdout, name + "\n")
        self.assertEqual(self.legacy("ibsysstat", lid).stdout, "sysstat ping succeeded\n")

    def test_their_ibsysstat(self):
        lid = self.theirs_serves("ibsysstat")
        self.assertRegex(self.ibtool("ibsysstat", lid, "host").stdout, r"^Data_str\.+'[^']+'\n$")
        self.assertEqual("Cookie...........................0\n", self.ibtool("ibsysstat", lid, "ping").stdout)
        self.assertEqual(self.legacy("ibsysstat", lid, "host").stdout, self.debian("ibsysstat", lid, "host").stdout)

    def test_our_ibping_serves_both(self):
        lid = self.ours_serves("ibping", "-S")
        self.assertRegex(self.debian("ibping", "-c", "2", lid).stdout, rf"^Pong from \S+ \(Lid {lid}\): time [0-9.]+ ms\nPong")
        self.assertIn("2 packets transmitted, 2 received, 0% packet loss", self.legacy("ibping", "-f", "-c", "2", lid).stdout)
        lines = self.ibtool("ibping", "--protocol", "ibping", "--json=lines", "-f", "-c", "3", lid).stdout.splitlines()
        self.assertEqual(json.loads(lines[3])["received"], 3)
        self.assertTrue(json.loads(lines[0])["host"])

    def test_their_ibping(self):
        lid = self.theirs_serves("ibping", "--protocol", "ibping")
        self.assertRegex(self.legacy("ibping", "-c", "1", lid).stdout,
                         rf"^Pong from \S+ \(Lid {lid}\): time [0-9.]+ ms\n\n--- \S+ \(Lid {lid}\) ibping statistics ---\n1 packets")

    def test_nobody_serves(self):
        lid = self.lid_of(hosts()[-1])
        done = self.ibtool("ibping", "-f", "-c", "2", "-t", "50", "--retries", "0", lid, status=1)
        self.assertIn("2 packets transmitted, 0 received, 100% packet loss", done.stdout)
        theirs, ours = (run("ibping", "-c", "1", lid) for run in (self.debian, self.legacy))
        strip = lambda text: [line.split(", time")[0] for line in text.splitlines()]  # noqa: E731
        self.assertEqual((theirs.returncode, strip(theirs.stdout)), (ours.returncode, strip(ours.stdout)))
        theirs, ours = (run("ibsysstat", lid) for run in (self.debian, self.legacy))
        self.assertEqual((theirs.returncode, theirs.stdout), (ours.returncode, ours.stdout))

    def test_ctrl_c_prints_the_summary(self):
        lid = self.ours_serves("ibsysstat", "-S")
        ping = subprocess.Popen([case.IBTOOL, "ibping", lid], env=self.fabric.env(), cwd=self.fabric.dir, stdout=subprocess.PIPE, text=True)
        self.assertTrue(ping.stdout.readline().startswith("Ping reply, "))
        ping.send_signal(signal.SIGINT)
        rest = ping.communicate(timeout=30)[0]
        self.assertIn(" received, 0% packet loss", rest)
        self.assertEqual(ping.returncode, 0)

    def test_a_server_survives_what_others_ask(self):
        lid = self.ours_serves("ibsysstat", "-S")
        self.run_ours([case.IBTOOL, "ibsysstat", "-o", "0x123456", "-t", "50", "--retries", "0", lid, "ping"])
        self.ibtool("ibsysstat", lid, "ping")
        self.assertIsNone(self.server.poll())


if __name__ == "__main__":
    case.main()
