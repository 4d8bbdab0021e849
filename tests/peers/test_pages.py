#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Pages of metrics before promtool and prometheus_client's strict parser, with names of nodes that would spoil them; and before the
recording rules that users of treydock's exporter have."""
import itertools
import os
import re
import socket
import subprocess
import sys
import time
import unittest
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "fabric")]
import case  # noqa: E402
import promtool  # noqa: E402
import treydock  # noqa: E402

MANUAL = os.path.join(HERE, "..", "..", "man", "pages", "ibtool-exporter.1.in")
OPTIONS = [words for count in range(4) for words in itertools.combinations(("hcas", "details", "runonce"), count)]


def made_page(*words):
    """A page of a fabric in memory: see made_page.cpp. An error if it is not UTF-8."""
    return subprocess.run([promtool.simfabric.PROGRAMS, "made-page", *words], capture_output=True, check=True, timeout=60).stdout.decode()


def counted(families):
    """{name of samples: (type, labels)}."""
    found = {}
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, set()).add((family.type, frozenset(sample.labels)))
    return found


class PagesCase(unittest.TestCase):
    def assert_read(self, text, openmetrics):
        """Both forms of a page are read, and hold the same. Returns the families of the first one."""
        families = promtool.read_text(text)
        strict = promtool.read_openmetrics(openmetrics)
        samples = promtool.read_samples(families)
        self.assertEqual(set(samples.items()) ^ set(promtool.read_samples(strict).items()), set())
        self.assertEqual(counted(families), counted(strict))
        self.assertEqual(len(samples), sum(not line.startswith("#") for line in text.splitlines()))
        ends = [dict(labels) for name, labels in samples if name == "infiniband_switch_uplink_info"]
        self.assertEqual(len({(of["guid"], of["port"]) for of in ends}), len(ends), "one row a port")
        return families


class Made(PagesCase):
    """Pages of a fabric in memory, on which every family is."""

    def test_every_page_is_read(self):
        for names in ((), ("guilbaults",)):
            for options in OPTIONS:
                with self.subTest(" ".join(names + options)):
                    page = made_page(*names, *options)
                    self.assertIn("\ufffd", page)
                    self.assert_read(page, made_page("openmetrics", *names, *options))

    def test_names_labels_and_types_are_those_of_treydock(self):
        """What else there is stands in the manual page."""
        with open(MANUAL, encoding="utf-8") as file:
            manual = file.read().replace("\\-", "-")
        for options in OPTIONS:
            with self.subTest(" ".join(options)):
                found = counted(promtool.read_text(made_page(*options)))
                theirs = treydock.families(hcas="hcas" in options, details="details" in options, run_once="runonce" in options)
                for name, (kind, labels) in theirs.items():
                    self.assertEqual(found.pop(name, None), {(kind, frozenset(labels | {"host"}))}, name)
                for name in found:
                    self.assertRegex(manual, rf"\b{name}\b")

    def test_promtool_complains_where_there_is_reason(self):
        page = made_page().replace("# HELP infiniband_switch_info", "# HELPLESS infiniband_switch_info")
        with self.assertRaises(AssertionError):
            promtool.read_text(page)
        with self.assertRaises(ValueError):
            promtool.read_openmetrics(made_page("openmetrics") + "\n")

    def test_recording_rules(self):
        """Counter n of the list rises by n a second. Each rule gives that for each port, with the names of both of its ends."""
        families = promtool.read_text(made_page("hcas"))
        inputs, ends = [], []
        for family in families:
            for sample in family.samples:
                match = re.fullmatch(r"infiniband_switch_port_(\w+)_total", sample.name)
                step = 60 * (treydock.COUNTERS.index(match[1]) + 1) if match else 0
                inputs.append({"series": series(sample.name, sample.labels), "values": f"{sample.value!r}+{step}x10"})
                if sample.name == "infiniband_switch_uplink_info":
                    ends.append({key: sample.labels[key] for key in ("guid", "port", "switch", "host", "uplink", "uplink_port")})
        self.assertGreater(len(ends), 20)
        rules = treydock.recording_rules()
        self.assertEqual(len(rules), 102)
        expected = [{"expr": f"round({name})", "eval_time": "10m", "exp_samples": expected_samples(name, ends)} for name, _ in rules]
        promtool.test_rules(rules, [{"interval": "1m", "input_series": inputs, "promql_expr_test": expected}])


def series(name, labels):
    """As PromQL has it. The lexer of Prometheus 2.42 takes U+FFFD for a byte that is no UTF-8, so all but ASCII is escaped. An empty label
    is none."""
    escaped = {key: re.sub(r'[^ !#-\[\]-~]', lambda found: f"\\U{ord(found[0]):08x}", value) for key, value in labels.items()}
    return name + "{" + ",".join(f'{key}="{value}"' for key, value in escaped.items() if value) + "}"


def expected_samples(name, ends):
    """What round() makes of the rule of that name."""
    counter, function = re.fullmatch(r"infiniband:switch_port_(\w+):(\w+)", name).groups()
    rate = treydock.COUNTERS.index(counter) + 1
    if not function.startswith("switch_"):
        return [{"labels": series("", labels), "value": rate * 300 if function == "delta5m" else rate} for labels in ends]
    switches = {}
    for labels in ends:
        switches.setdefault((labels["guid"], labels["switch"]), []).append(rate)
    return [{"labels": series("", {"guid": guid, "switch": switch}), "value": sum(rates)} for (guid, switch), rates in switches.items()]


class Live(PagesCase, case.FabricCase):
    """Pages of exporters on a simulated fabric whose nodes have such names, over HTTP."""

    @classmethod
    def make_net(cls):
        switch, names = "S-0000000000001000", ["H \\", 'H "quoted" {x="y"} 1', "H \xff\xe9 \x85", "  H  ", "# EOF", "H \x1b[31m"]
        hosts = [f"H-00000000000010{at:02x}" for at in range(16, 16 + len(names))]
        text = case.node("Switch", switch, {at: (host, 1) for at, host in enumerate(hosts, 1)}, "\x80 switch \\n", ports=8)
        return text + "".join(case.node("Hca", host, {1: (switch, at)}, names[at - 1]) for at, host in enumerate(hosts, 1))

    def test_every_page_is_read(self):
        for words in itertools.product(("treydock", "guilbaults"), ((), ("--hcas", "--details", "--label", "site=\\\"\n"))):
            with self.subTest(words):
                text, openmetrics = self.pages("--names", words[0], *words[1])
                families = self.assert_read(text, openmetrics)
                found = {value for family in families for sample in family.samples for value in sample.labels.values()}
                self.assertIn("\ufffd switch \\n", found)

    def pages(self, *words):
        """The page of one reading in both formats."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = self.fabric.start([case.IBTOOL, "exporter", "--listen", f"127.0.0.1:{port}", *words])
        end = time.monotonic() + 30
        while get(port, "/-/ready") is None:
            self.assertIsNone(process.poll(), "it ended")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
        text, openmetrics = get(port, "/metrics"), get(port, "/metrics", Accept=promtool.OPENMETRICS)
        process.terminate()
        self.assertEqual(process.wait(timeout=10), 0)
        return text, openmetrics


class History(case.FabricCase):
    """Snapshots as history: promtool makes blocks of it, and reads back what the fabric had counted."""

    def test_blocks_of_prometheus(self):
        port = '"S-b8599f0300a00030"[22]'
        files = []
        for count in (3, 27):
            self.change(f"PerformanceSet {port} PortCounters.SymbolErrorCounter={count}")
            files.append(self.fabric.path(f"{count}.ibss"))
            self.ibtool("snapshot", "--only", "counters", files[-1])
        for names in ("treydock", "guilbaults"):
            text = self.ibtool("export", "openmetrics", "--timestamps", "--hcas", "--names", names, *reversed(files)).stdout
            # Times in ms: prometheus_client 0.16 takes 2.1 for later than 3.0.
            whole = re.sub(r"\.(\d{3})$", r"\1", text, flags=re.MULTILINE)
            times = {float(sample.timestamp) for family in promtool.read_openmetrics(whole) for sample in family.samples}
            self.assertEqual(len(times), 2)
        text = self.ibtool("export", "openmetrics", "--timestamps", *files).stdout
        with open(self.fabric.path("history.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        blocks = self.fabric.path("blocks")
        os.makedirs(os.path.join(blocks, "wal"))  # a database has one, and promtool reads no other
        promtool.promtool("tsdb", "create-blocks-from", "openmetrics", file.name, blocks)
        dumped, _ = promtool.promtool("tsdb", "dump", "--match", 'infiniband_switch_port_symbol_error_total{port="22"}', blocks)
        values = [float(row.split()[-2]) for row in dumped.splitlines() if 'guid="0xb8599f0300a00030"' in row]
        self.assertEqual(values, [3, 27])


def get(port, path, **headers):
    """The body of a page, or None where there is no such answer."""
    try:
        with urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers), timeout=10) as answer:
            return answer.read().decode()
    except (urllib.error.URLError, ConnectionError):
        return None


if __name__ == "__main__":
    promtool.run_tests()
