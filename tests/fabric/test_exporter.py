# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""ibtool exporter on a simulated fabric, scraped over HTTP: what the fabric counts is on the page, a broken cable is told of, clients that
misbehave hurt nobody, signals end it. Pages are read by prometheus_client's parsers where they are installed."""
import concurrent.futures
import contextlib
import gzip
import http.client
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import case

LEAF = "S-b8599f0300a00030"
LEAF_GUID = "0xb8599f0300a00030"
OPENMETRICS = "application/openmetrics-text; version=1.0.0"
SAMPLE = re.compile(r'^([a-z_0-9]+)(?:\{(.*)\})? (\S+)$')


def read_page(text):
    """{(name, frozenset of labels): value} of a page whose labels hold no quotes."""
    samples = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            samples[name, frozenset(re.findall(r'(\w+)="([^"]*)"', labels or ""))] = float(value)
    return samples


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Serving(case.FabricCase):
    """One exporter for all tests, which reads every two seconds."""
    INTERVAL = 3

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.port = free_port()
        cls.process = cls.fabric.start([case.IBTOOL, "exporter", "--listen", f"127.0.0.1:{cls.port}", "--interval", str(cls.INTERVAL),
                                        "--hcas"])
        cls.wait(lambda: cls.status("/-/ready") == 200, 30)

    @classmethod
    def wait(cls, condition, seconds):
        end = time.monotonic() + seconds
        while not condition():
            if cls.process.poll() is not None or time.monotonic() > end:
                raise AssertionError(f"it did not come within {seconds} s (status {cls.process.poll()})")
            time.sleep(0.1)

    @classmethod
    def open(cls, path, **headers):
        request = urllib.request.Request(f"http://127.0.0.1:{cls.port}{path}", headers=headers)
        return urllib.request.urlopen(request, timeout=60)

    @classmethod
    def status(cls, path):
        try:
            with cls.open(path) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        except (urllib.error.URLError, ConnectionError):
            return None

    @classmethod
    def page(cls, path="/metrics", **headers):
        with cls.open(path, **headers) as answer:
            return answer.read().decode()

    def value(self, name, **labels):
        """The one sample of a name that has these labels, or None."""
        found = [value for (known, having), value in read_page(self.page()).items() if known == name and having >= set(labels.items())]
        self.assertLessEqual(len(found), 1, found)
        return found[0] if found else None


class Exporter(Serving):
    """What stands on its pages, and who requests them."""
    def test_counters_are_what_the_fabric_counts(self):
        for counter, count in (("PortXmitDiscards", 3), ("SymbolErrorCounter", 27)):
            command = f'PerformanceSet "{LEAF}"[2] PortCounters.{counter}='
            self.change(f"{command}{count}", f"{command}0")
        name = "infiniband_switch_port_symbol_error_total"
        self.wait(lambda: self.value(name, guid=LEAF_GUID, port="2") == 27, 10)
        self.assertEqual(self.value("infiniband_switch_port_transmit_discards_total", guid=LEAF_GUID, port="2"), 3)

    def test_the_whole_fabric_is_there(self):
        samples = read_page(self.page())
        names = [name for name, _ in samples]
        topology = self.file()
        links = [{guid for guid, _ in link} for link in topology.links]
        switches = {guid for guid, node in topology.nodes.items() if node[0] == "Switch"}
        self.assertEqual(names.count("infiniband_switch_info"), len(switches))
        self.assertEqual(names.count("infiniband_switch_uplink_info"), sum(len(link & switches) for link in links))
        self.assertEqual(names.count("infiniband_hca_uplink_info"), sum(len(link - switches) for link in links))
        self.assertEqual(names.count("infiniband_switch_port_state"), sum(topology.nodes[guid][1] for guid in switches))
        self.assertEqual(samples["infiniband_switch_port_rate_bytes_per_second", frozenset({("guid", LEAF_GUID), ("port", "2")})], 12.5e9)

    def test_uplinks_are_those_of_ibnetdiscover(self):
        theirs = set()
        for line in self.debian("ibnetdiscover", "-p").stdout.splitlines():
            match = re.match(r"(SW|CA)\s+\d+\s+(\d+) (0x\w+) \w+ \w+\s+- (SW|CA|RT)\s+(\d+)\s+(\d+) (0x\w+)", line)
            if match:
                kind, port, guid, far_kind, far_lid, far_port, far_guid = match.groups()
                theirs.add((kind, guid, port, far_kind, far_guid, far_port, far_lid))
        ours = set()
        for (name, labels), _ in read_page(self.page()).items():
            if name.endswith("_uplink_info"):
                of = dict(labels)
                ours.add(("SW" if "switch" in of else "CA", of["guid"], of["port"], of["uplink_type"], of["uplink_guid"],
                          of["uplink_port"], of["uplink_lid"]))
        self.assertEqual(ours, theirs)
        self.assertGreater(len(ours), 40)

    def test_a_broken_cable(self):
        port = {"guid": LEAF_GUID, "port": "1"}
        self.assertEqual(self.value("infiniband_switch_port_state", **port), 1)
        self.change(f'Unlink "{LEAF}"[1]', f'ReLink "{LEAF}"[1]')
        self.wait(lambda: self.value("infiniband_switch_port_state", **port) == 0, 15)
        self.assertIsNone(self.value("infiniband_switch_uplink_info", **port))
        self.assertIsNone(self.value("infiniband_switch_port_link_downed_total", **port))
        self.fabric.console(f'ReLink "{LEAF}"[1]')
        self.wait(lambda: self.value("infiniband_switch_uplink_info", **port) == 1, 35)
        self.assertEqual(self.value("infiniband_switch_port_state", **port), 1)

    def test_both_formats_and_compression(self):
        with self.open("/metrics") as answer:
            self.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
            self.assertNotIn("# EOF", answer.read().decode())
        with self.open("/metrics", Accept=OPENMETRICS + ",text/plain;version=0.0.4;q=0.5", **{"Accept-Encoding": "gzip"}) as answer:
            self.assertEqual(answer.headers["Content-Type"], OPENMETRICS + "; charset=utf-8")
            self.assertEqual(answer.headers["Content-Encoding"], "gzip")
            text = gzip.decompress(answer.read()).decode()
        self.assertTrue(text.endswith("# EOF\n"))
        self.assertEqual(set(read_page(text)), set(read_page(self.page())))

    def test_parsers_of_prometheus_client(self):
        sys.path.append("/usr/lib/python3/dist-packages")  # of Debian's package, where the first python3 of PATH is another one
        try:
            from prometheus_client.openmetrics import parser as openmetrics
            from prometheus_client.parser import text_string_to_metric_families
        except ImportError:
            if os.environ.get("IBTEST_NO_SKIP"):
                raise
            self.skipTest("python3-prometheus-client is not installed")
        families = list(openmetrics.text_string_to_metric_families(self.page(Accept=OPENMETRICS)))
        self.assertGreater(len(families), 60)
        plain = list(text_string_to_metric_families(self.page()))
        count = len(read_page(self.page()))
        for parsed in (families, plain):
            self.assertEqual(sum(len(family.samples) for family in parsed), count)

    def test_shards_are_the_page(self):
        for _ in range(20):  # findings come and go with the readings
            whole = set(read_page(self.page()))
            parts = [set(read_page(self.page(f"/metrics?num_shards=3&shard={shard}"))) for shard in range(3)]
            if set(read_page(self.page())) == whole:
                break
        self.assertEqual(set.union(*parts), whole)
        self.assertEqual(sum(map(len, parts)), len(whole))

    def test_pages_and_statuses(self):
        self.assertEqual(self.status("/"), 200)
        self.assertIn("Counters read", self.page("/"))
        self.assertEqual(self.status("/-/healthy"), 200)
        self.assertEqual(self.status("/nothing"), 404)
        for query in ("num_shards=3&shard=3", "num_shards=0&shard=0", "num_shards=3", "shard=0", "num_shards=x&shard=0", "collect[]=all",
                      "nothing=1", "num_shards=-1&shard=0", "num_shards=99999999999999999999&shard=0", "port=mlx5_9/1"):
            with self.subTest(query):
                self.assertEqual(self.status("/metrics?" + query), 400)
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        self.addCleanup(connection.close)
        connection.request("HEAD", "/metrics")
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.read()), (200, b""))
        connection.request("POST", "/metrics", body=b"x")
        self.assertEqual(connection.getresponse().status, 405)

    def test_clients_that_hurt_nobody(self):
        """A hundred that say nothing, and a hundred that take nothing, while another one scrapes and the fabric is read."""
        name = "infiniband_exporter_reading_timestamp_seconds"
        crowd = []
        self.addCleanup(lambda: [client.close() for client in crowd])
        for number in range(200):
            client = socket.create_connection(("127.0.0.1", self.port), timeout=10)
            crowd.append(client)
            if number % 2:
                client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20)
        before = self.whole_value(name)
        self.wait(lambda: self.whole_value(name) > before, 20)

    def test_a_thousand_clients_of_each_kind(self):
        """A thousand that are idle, a thousand whose request has no end, a thousand that take nothing of many answers, and a thousand
        scrapes meanwhile. The program holds 512 of them at most, so that they cost no more memory than that."""
        self.allow_files(4096)
        most = 512 * (128 + 64) << 10  # what waits for a client to take it, and the buffers of its connection
        self.whole_value("infiniband_exporter_reading_timestamp_seconds")
        before, crowd = self.memory(), []
        self.addCleanup(lambda: [client.close() for client in crowd])
        for said in (b"", b"GET /metrics HTTP/1.1\r\nHo", b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 4):
            for _ in range(1000):
                client = socket.socket()
                crowd.append(client)
                client.settimeout(60)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect(("127.0.0.1", self.port))
                with contextlib.suppress(ConnectionError):  # closed for the ones behind it
                    client.sendall(said)
        with concurrent.futures.ThreadPoolExecutor(100) as scrapers:
            answers = list(scrapers.map(self.status, ["/metrics?collect[]=switch"] * 1000))
        self.assertEqual(answers, [200] * 1000)
        if not self.is_sanitized():
            self.assertLess(self.memory() - before, most)
        name = "infiniband_exporter_reading_timestamp_seconds"
        last = self.whole_value(name)
        self.wait(lambda: self.whole_value(name) > last, 30)

    def allow_files(self, count):
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.assertGreaterEqual(hard, count, "so many files may this process not open")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))

    @staticmethod
    def is_sanitized():
        """Whether the address sanitizer is in the program, which keeps what is freed."""
        with open(case.IBTOOL, "rb") as program:
            return b"__asan_init" in program.read()

    def memory(self):
        """The most that the program has held so far, in bytes."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) << 10

    def whole_value(self, name):
        """A page that takes more than two rounds is cut, as on a machine with a load of ten: then it is fetched again."""
        for _ in range(3):
            try:
                return self.value(name)
            except http.client.IncompleteRead:
                pass
        return self.value(name)

    def test_a_reading_costs_no_more_for_fifty_scrapers(self):
        name = "infiniband_exporter_mads_sent_total"
        began, before = time.monotonic(), self.value(name)
        for _ in range(50):
            self.page()
        ports = sum(1 for key in read_page(self.page()) if key[0] == "infiniband_switch_port_link_downed_total") * 2
        rounds = (time.monotonic() - began) / 2 + 2
        self.assertLess(self.value(name) - before, rounds * (ports * 3 + 300))


class Runs(case.FabricCase):
    """Exporters of their own."""

    def start(self, *words):
        port = free_port()
        process = self.fabric.start([case.IBTOOL, "exporter", "--listen", f"127.0.0.1:{port}", *words])
        end = time.monotonic() + 30
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/-/ready", timeout=5):
                    return process, port
            except (urllib.error.URLError, ConnectionError):
                self.assertIsNone(process.poll(), "it ended")
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)

    def metric(self, port, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            return next(value for (known, _), value in read_page(answer.read().decode()).items() if known == name)

    def test_signals(self):
        process, port = self.start()
        self.assertEqual(self.metric(port, "infiniband_exporter_sweeps_total"), 1)
        process.send_signal(signal.SIGHUP)
        end = time.monotonic() + 60
        while self.metric(port, "infiniband_exporter_sweeps_total") != 2:
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=10), 0)  # a busy machine's second
        self.assertEqual(process.stderr.read().decode(), "")

    def test_names_are_read_again(self):
        names = self.fabric.path("names")
        with open(names, "w", encoding="ascii") as file:
            file.write(f'{LEAF_GUID} "before"\n')
        process, port = self.start("--node-name-map", names)

        def is_called(name):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
                return ("infiniband_switch_info", LEAF_GUID, name) in {
                    (key, dict(labels).get("guid"), dict(labels).get("switch")) for key, labels in read_page(answer.read().decode())}
        self.assertTrue(is_called("before"))
        for text, name in ((f'{LEAF_GUID} "after"\n', "after"), (None, "after")):
            if text:
                with open(names, "w", encoding="ascii") as file:
                    file.write(text)
            else:
                os.unlink(names)  # what cannot be read changes nothing
            sweeps = self.metric(port, "infiniband_exporter_sweeps_total")
            process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 60
            while self.metric(port, "infiniband_exporter_sweeps_total") == sweeps or not is_called(name):
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=10), 0)
        self.assertRegex(process.stderr.read().decode(), r"^W: [^\n]*names[^\n]*; the node names stay as they were\n$")

    def test_local_ports_by_name(self):
        device = self.ibtool("ibstat", "-l").stdout.split()[0]
        _, port = self.start()
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics?port={device}/1", timeout=10) as answer:
            self.assertIn(b"infiniband_switch_info{", answer.read())

    def test_a_limit_of_mads(self):
        _, port = self.start("--max-mads-per-second", "300", "--interval", "1")
        began, before = time.monotonic(), self.metric(port, "infiniband_exporter_mads_sent_total")
        time.sleep(4)
        sent = self.metric(port, "infiniband_exporter_mads_sent_total") - before
        self.assertLess(sent, 300 * (time.monotonic() - began) + 20)
        self.assertGreater(sent, 300)

    def test_a_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            done = self.ibtool("exporter", "--listen", f"127.0.0.1:{taken.getsockname()[1]}", status=3)
        self.assertRegex(done.stderr, r"^E: .*in use\n$")

    def test_once(self):
        page = self.ibtool("exporter", "--once", "--label", "fabric=hpc1").stdout
        samples = read_page(page)
        self.assertTrue(all(("fabric", "hpc1") in labels for _, labels in samples))
        collectors = {value for _, labels in samples for key, value in labels if key == "collector"}
        self.assertEqual(collectors, {"ibnetdiscover-runonce", "switch-runonce"})
        times = [value for (name, _), value in samples.items() if name == "infiniband_exporter_last_execution"]
        self.assertTrue(times and all(abs(value - time.time()) < 60 for value in times))

    def test_textfile(self):
        name = self.fabric.path("infiniband.prom")
        with open(name, "w", encoding="ascii") as old:
            old.write("old\n")
        done = self.ibtool("exporter", "--textfile", name, "--details")
        self.assertEqual(done.stdout, "")
        with open(name, encoding="utf-8") as file:
            samples = read_page(file.read())
        self.assertIn("infiniband_exporter_last_execution", {key[0] for key in samples})
        self.assertEqual(os.stat(name).st_mode & 0o777, 0o644)
        self.assertEqual([other for other in os.listdir(self.fabric.dir) if other.startswith("infiniband.prom.")], [])

    def test_a_page_that_cannot_be_written(self):
        self.ibtool("exporter", "--textfile", "/nowhere/infiniband.prom", status=3)
        with case.open_full_disk() as full:
            done = subprocess.run([case.IBTOOL, "exporter", "--once"], env=self.fabric.env(), cwd=self.fabric.dir, stdout=full,
                                  stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 3, done.stderr)

    def test_wrong_words(self):
        for words in (["--listen", "9315"], ["--listen", "[]:9315"], ["--listen", "::1:9315"], ["--listen", "127.0.0.1:port"],
                      ["--names", "mine"], ["--label", "x"], ["--label", "guid=1"], ["--label", "a-b=1"], ["--interval", "0"],
                      ["--once", "--textfile", "x"], ["--add-port", "mlx5_1"], ["--add-port", "mlx5_1/x"],
                      ["-C", "mlx5_9"], ["-P", "9"], ["-C", self.ibtool("ibstat", "-l").stdout.split()[0], "-P", "9"],
                      ["--once", "--add-port", "mlx5_1/1"], ["--max-mads-per-second", "0"], ["words"]):
            with self.subTest(" ".join(words)):
                done = self.ibtool("exporter", *words, status=2)
                self.assertRegex(done.stderr, r"^E: [^\n]+\n$")


class Moved(Serving):
    """A fabric whose LIDs move, and whose subnet manager does."""
    HOSTS = {"H-506b4b0300100030": "0x506b4b0300100031", "H-506b4b0300100034": "0x506b4b0300100035"}  # and the GUIDs of their ports
    STANDBY = "H-506b4b0300100004"

    def of_host(self, samples, name, node):
        return next((value for (known, labels), value in samples.items() if known == name and ("guid", self.HOSTS[node]) in labels), None)

    def host_lids(self):
        found = {}
        for name, labels in read_page(self.page()):
            if name == "infiniband_hca_info":
                found[dict(labels)["guid"]] = dict(labels)["lid"]
        return [found.get(guid) for guid in self.HOSTS.values()]

    def kill_opensm(self):
        self.fabric.opensm.kill()
        self.fabric.opensm.wait()

    def start_opensm(self, *options):
        """With the table of LIDs that is there."""
        os.unlink(self.fabric.path("opensm.log"))
        self.fabric.sm_options, self.fabric.lids = options, None
        self.fabric._start_opensm()

    def test_hosts_swap_their_lids(self):
        """opensm comes back with another table of LIDs: what one host counts is never told of the other one."""
        name, counts = "infiniband_hca_port_symbol_error_total", dict(zip(self.HOSTS, (27, 5)))
        for node, count in counts.items():
            command = f'PerformanceSet "{node}"[1] PortCounters.SymbolErrorCounter='
            self.change(f"{command}{count}", f"{command}0")
        self.wait(lambda: all(self.of_host(read_page(self.page()), name, node) == count for node, count in counts.items()), 20)
        before = self.host_lids()
        self.kill_opensm()
        table = self.fabric.path("guid2lid")
        with open(table, encoding="ascii") as file:
            lines = file.read()
        rows = [re.search(rf"^{guid} (.*)$", lines, re.MULTILINE)[1] for guid in self.HOSTS.values()]
        for guid, row in zip(self.HOSTS.values(), reversed(rows)):
            lines = re.sub(rf"^{guid} .*$", f"{guid} {row}", lines, flags=re.MULTILINE)
        with open(table, "w", encoding="ascii") as file:
            file.write(lines)
        self.start_opensm("--honor_guid2lid")

        def have_swapped():
            samples = read_page(self.page())
            values = [self.of_host(samples, name, node) for node in counts]
            for value, count in zip(values, counts.values()):
                self.assertIn(value, (None, count))
            return self.host_lids() == before[::-1] and values == list(counts.values())
        self.wait(have_swapped, 60)

    def test_a_standby_takes_over(self):
        """The master dies. The standby is the master then, the dead one has no state, and counters are read all the while."""
        second = self.fabric.start_opensm("second", self.STANDBY, "Entering STANDBY", "-s", "1", "-p", "0",
                                          config="sminfo_polling_timeout 500\npolling_retry_number 3\n")
        states, failed = [], set()

        def look(wanted):
            samples = read_page(self.page())
            for (name, labels), value in samples.items():
                if name in ("infiniband_switch_up", "infiniband_hca_up"):
                    self.assertEqual(value, 1, labels)
                elif name == "infiniband_exporter_failed_rounds_total":
                    failed.add(value)
            states.append(sorted(value for (name, _), value in samples.items() if name == "infiniband_sm_state_id"))
            return states[-1] == wanted
        self.process.send_signal(signal.SIGHUP)  # a subnet manager that comes is seen by the next sweep
        self.wait(lambda: look([2, 3]), 60)
        self.addCleanup(self.start_opensm)
        self.addCleanup(second.wait)
        self.addCleanup(second.kill)
        self.kill_opensm()
        try:
            self.wait(lambda: look([3]), 90)
        except AssertionError as failure:
            with open(self.fabric.path("second/opensm.log"), encoding="utf-8", errors="replace") as log:
                raise AssertionError(f"the last states are {states[-1]}; the standby's log ends:\n{log.read()[-2000:]}") from failure
        known = [value for (name, labels), value in read_page(self.page()).items()
                 if name == "infiniband_sm_state_id" and ("guid", f"0x{int(self.STANDBY[2:], 16) + 1:016x}") in labels]
        self.assertEqual(known, [3])
        self.assertEqual(len(failed), 1)  # no round failed; how fast they follow each other is judged on a fake clock, in tests/unit


if __name__ == "__main__":
    case.main()
