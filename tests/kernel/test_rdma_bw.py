# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""rdma_bw between the guest's two ports: both ends of it run in the guest, as root and as a user who has no more than
verbs; and what it says where the other end is none, or none any more."""
import json
import os
import re
import shlex

import guest

AS_USER = "/usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups "
WAIT = "tries=0; while ! netstat -ltn | grep -q ':{port} '; do tries=$((tries + 1)); [ $tries -lt 50 ] || exit 99; usleep 100000; done; "
PORTS = iter(range(5001, 5100))


def pair(client, server="", host="localhost", run=""):
    """A command that runs the server on rxe1 and the client on rxe0; the server's output is under a line `-- server STATUS`."""
    port = next(PORTS)
    return (f"{run}ibtool rdma_bw -C rxe1 -p {port} {server} >/tmp/{port} 2>&1 & server=$!; " + WAIT.format(port=port) +
            f"{run}ibtool rdma_bw -C rxe0 -p {port} {client} {host}; status=$?; [ $status = 0 ] || kill $server; "
            f"wait $server; echo \"-- server $?\"; cat /tmp/{port}; exit $status")


def against(client, reply):
    """The client against a program that answers with the bytes of `reply` (printf)."""
    port = next(PORTS)
    return (f"(printf {shlex.quote(reply)}; sleep 2) | nc -l -p {port} >/tmp/{port} & " + WAIT.format(port=port) +
            f"ibtool rdma_bw -C rxe0 -p {port} {client} 127.0.0.1; status=$?; wc -c </tmp/{port}; exit $status")


def sent_to_server(data):
    """The server, and a program that sends it the bytes `data` (printf)."""
    port = next(PORTS)
    return (f"ibtool rdma_bw -C rxe1 -p {port} & server=$!; " + WAIT.format(port=port) +
            f"printf {shlex.quote(data)} | timeout 5 nc 127.0.0.1 {port} >/dev/null; wait $server")


SMALL = "-s 20000 -n 40"
HUGE = "IBTRDMBW\\000\\001\\001\\000" + "\\000\\000\\000\\021" * 5 + "\\377" * 96
COMMANDS = {
    "plain": pair(SMALL),
    "user": pair(SMALL, run=AS_USER),
    "static": pair(SMALL).replace("ibtool rdma_bw -C rxe0", "ibtool-static rdma_bw -C rxe0"),
    "both_ways": pair(SMALL + " -b --json", "--json"),
    "both_ways_asked_by_server": pair(SMALL + " --json", "-b --json"),
    "pieces": pair("-s 10001 -n 30 -e 7 -t 3 --json"),
    "tiny": pair("-s 1 -n 1 -e 5 --json"),
    "default_size": pair("-n 20 -t 4"),
    "ipv6": pair(SMALL, "-6", "::1"),
    "ipv4": pair(SMALL, "", "127.0.0.1"),
    "own_port": pair(SMALL + " -C rxe1"),
    "too_many_pieces": "ibtool rdma_bw -C rxe0 -e 1000 localhost",
    "nobody_listens": "ibtool rdma_bw -C rxe0 -p 4999 127.0.0.1",
    "no_such_host": "ibtool rdma_bw -C rxe0 no-such-host.invalid",
    "port_taken": f"nc -l -p 5100 >/dev/null & {WAIT.format(port=5100)} ibtool rdma_bw -p 5100; status=$?; kill $!; exit $status",
    "stranger_answers": against(SMALL, "HTTP/1.1 400 Bad Request\\r\\n\\r\\n" + "x" * 200),
    "server_leaves": against(SMALL, "").replace("sleep 2", "true").replace("nc -l", "timeout 6 nc -l"),
    "newer_server": against(SMALL, "IBTRDMBW\\000\\002" + "\\000" * 118),
    "rude_refusal": against(SMALL, "IBTRDMBW\\000\\001\\005\\000\\000\\000\\000\\000no\\033[2J" + "\\000" * 200),
    "stranger_asks": sent_to_server("GET / HTTP/1.1\\r\\n\\r\\n" + "x" * 200),
    "stranger_leaves": sent_to_server("IBT"),
    "absurd_offer": sent_to_server(HUGE),
    "no_verbs": "chmod 0 /dev/infiniband/uverbs0; " + AS_USER + "ibtool rdma_bw -C rxe0 localhost; status=$?; "
                "chmod 666 /dev/infiniband/uverbs0; exit $status",
    "server_dies": "ibtool rdma_bw -C rxe1 -p 5200 & server=$!; " + WAIT.format(port=5200) +
                   "(sleep 1; kill -9 $server) & ibtool rdma_bw -C rxe0 -p 5200 -n 4000000 -s 1000 localhost",
    "kernel_log": "dmesg",
}


class RdmaBw(guest.GuestCase):
    programs = guest.IBTOOLS
    commands = COMMANDS

    def ends(self, name):
        """The text of the client and of the server of a run that went well."""
        done = self.result(name)
        self.assertEqual(done.err, "")
        client, separator, server = done.out.partition("-- server 0\n")
        self.assertTrue(separator, done)
        return client, server

    def complaint(self, name, status=3):
        """The one line on stderr of a run that failed."""
        done = self.result(name, status)
        self.assertEqual(len(done.err.splitlines()), 1, done)
        self.assertLess(done.seconds, 15)
        self.assertTrue(done.err.startswith("E: "))
        self.assertNotIn("\x1b", done.err)
        return done.err

    def assert_text(self, text, size, iterations, measured):
        pattern = (r"path to peer IBPath\(.*DGID=.*\)\nMR peer raddr=[0-9a-f]+ peer rkey=[0-9a-f]+\n"
                   rf"{iterations} iterations of {size} is {size * iterations} bytes\n" + (r"\d+\.\d MB/sec\n" if measured else ""))
        self.assertRegex(text, "^" + pattern + "$")

    def test_text(self):
        for name in ("plain", "user", "static", "ipv6", "ipv4", "own_port"):
            with self.subTest(name):
                if name == "static" and "ibtool-static" not in self.programs:
                    self.skipTest("the build has no static program")
                client, server = self.ends(name)
                self.assert_text(client, 20000, 40, True)
                self.assert_text(server, 20000, 40, False)

    def test_defaults(self):
        client, _ = self.ends("default_size")
        self.assert_text(client, 1 << 20, 20, True)

    def test_both_ways(self):
        for name in ("both_ways", "both_ways_asked_by_server"):
            with self.subTest(name):
                client, server = (json.loads(text) for text in self.ends(name))
                self.assertEqual((client["role"], client["path"]["end_port"]), ("client", "rxe0/1"))
                self.assertEqual((server["role"], server["path"]["end_port"]), ("server", "rxe1/1"))
                for end in (client, server):
                    self.assertTrue(end["bidirectional"])
                    self.assertEqual((end["message_bytes"], end["iterations"], end["bytes"]), (20000, 40, 800000))
                    for way in ("outgoing", "incoming"):
                        self.assertGreater(end[way]["time_ms"], 0)
                        self.assertAlmostEqual(end[way]["megabytes_per_second"] * end[way]["time_ms"], 800, places=0)
                self.assertEqual(client["outgoing"], server["incoming"])
                self.assertEqual(client["incoming"], server["outgoing"])

    def test_pieces(self):
        self.assertIsNone(json.loads(self.ends("pieces")[0])["incoming"])
        self.assertEqual(json.loads(self.ends("pieces")[0])["bytes"], 300030)
        self.assertEqual(json.loads(self.ends("tiny")[0])["bytes"], 1)
        self.assertRegex(self.complaint("too_many_pieces", 2), r"rxe0 takes at most \d+ pieces a write, not 1000")

    def test_nobody_there(self):
        self.assertIn("connect to 127.0.0.1 port 4999: Connection refused", self.complaint("nobody_listens"))
        self.assertIn("No address of 'no-such-host.invalid' is known", self.complaint("no_such_host"))
        self.assertIn("port 5100: Address already in use", self.complaint("port_taken"))

    def test_strangers(self):
        self.assertIn("127.0.0.1 sent something that is not a message of rdma_bw", self.complaint("stranger_answers"))
        self.assertIn("127.0.0.1 closed the connection", self.complaint("server_leaves"))
        self.assertIn("speaks version 2 of rdma_bw's protocol, this program version 1", self.complaint("newer_server"))
        self.assertIn(r"127.0.0.1 gave up: no\x1b[2J", self.complaint("rude_refusal"))
        self.assertIn("sent something that is not a message of rdma_bw", self.complaint("stranger_asks"))
        self.assertIn("closed the connection", self.complaint("stranger_leaves"))
        self.assertIn("sent an rdma_bw message with", self.complaint("absurd_offer"))

    def test_no_permission(self):
        done = self.result("no_verbs", 3)
        self.assertIn("No permission to use /dev/infiniband/uverbs0", done.err)

    def test_server_dies_on_the_way(self):
        done = self.result("server_dies", 3)
        self.assertRegex(done.err, r"(?m)^E: .*(closed the connection|Connection reset|failed: )")

    def test_kernel_is_well(self):
        self.assertNotRegex(self.result("kernel_log").out, r"BUG:|Oops|WARNING:|general protection")


if __name__ == "__main__":
    guest.main()
