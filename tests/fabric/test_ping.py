# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""ibping and ibsysstat: our servers and clients beside Debian's, on two hosts of one fabric."""
import json
import signal
import subprocess

import case
import simfabric

PING = "ibping", "-f", "-c", "1"


class Ping(case.ServingCase):
    def ours_serves(self, *words):
        return self.serve([case.IBTOOL, *words], self.answered(*PING))

    def theirs_serves(self, name, *words):
        return self.serve([simfabric.find_program(name), "-S"], self.answered(*PING, *words), issm=True)

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
        self.assertTrue(json.loads(lines[0])["item"]["host"])

    def test_their_ibping(self):
        lid = self.theirs_serves("ibping", "--protocol", "ibping")
        self.assertRegex(self.legacy("ibping", "-c", "1", lid).stdout,
                         rf"^Pong from \S+ \(Lid {lid}\): time [0-9.]+ ms\n\n--- \S+ \(Lid {lid}\) ibping statistics ---\n1 packets")

    def test_nobody_serves(self):
        lid = self.lid_of(self.hosts()[-1])
        done = self.ibtool("ibping", "-c", "2", "-t", "50", "--retries", "1", lid, status=1)
        self.assertRegex(done.stdout, r"^No ping reply, '.*': seq=1 waited [0-9.]+ ms, 2 tries\nNo ping reply, '.*': seq=2 waited ")
        self.assertIn("2 packets transmitted, 0 received, 100% packet loss", done.stdout)
        theirs, ours = (run("ibping", "-c", "1", lid) for run in (self.debian, self.legacy))
        strip = lambda text: [line.split(", time")[0] for line in text.splitlines()]  # noqa: E731
        self.assertEqual((theirs.returncode, strip(theirs.stdout)), (ours.returncode, strip(ours.stdout)))
        theirs, ours = (run("ibsysstat", lid) for run in (self.debian, self.legacy))
        self.assertEqual((theirs.returncode, theirs.stdout), (ours.returncode, ours.stdout))

    def test_ctrl_c_prints_the_summary(self):
        lid = self.ours_serves("ibsysstat", "-S")
        # Tests may run in the background, where SIGINT is ignored.
        ping = subprocess.Popen([case.IBTOOL, "ibping", lid], env=self.fabric.env(), cwd=self.fabric.dir, stdout=subprocess.PIPE, text=True,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
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
