#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""Debian's prometheus scrapes `ibtool exporter` on a simulated fabric: its queries give what was injected, also while cables break, the
subnet manager moves, and a switch dies and comes back. It is configured as our examples say."""
import json
import math
import os
import re
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "fabric")]
import case  # noqa: E402
import prometheus  # noqa: E402
import promtool  # noqa: E402

LEAF, PORT = "S-b8599f0300a00030", 22
OF_PORT = f'guid="0xb8599f0300a00030",port="{PORT}"'
SYMBOLS = f"infiniband_switch_port_symbol_error_total{{{OF_PORT}}}"


class Scraped(prometheus.ScrapedCase):

    def test_a_rate_is_what_was_injected(self):
        """Seven errors a second for 25 seconds, in the form that recording rules have."""
        rate, began = 7, time.monotonic()
        self.addCleanup(self.inject, "SymbolErrorCounter", 0)
        while time.monotonic() - began < 25:
            self.inject("SymbolErrorCounter", int(rate * (time.monotonic() - began)))
            time.sleep(0.2)
        join = "* on(guid,port) group_left(switch, host, uplink, uplink_port) infiniband_switch_uplink_info"
        found = self.prometheus.query(f"rate(infiniband_switch_port_symbol_error_total[15s]) {join}")
        self.assertEqual(len(found), 48, "a series for each port with a link")
        by_port = {(row["metric"]["guid"], row["metric"]["port"]): row for row in found}
        here = by_port.pop(("0xb8599f0300a00030", str(PORT)))
        self.assertAlmostEqual(float(here["value"][1]), rate, delta=rate / 4)  # a reading may come 2 s later than another one
        self.assertEqual(here["metric"]["switch"], "MF0;leaf04:SB7800/U1")
        self.assertEqual(here["metric"]["uplink"], "MF0;spine02:SB7800/U1")
        self.assertEqual({float(row["value"][1]) for row in by_port.values()}, {0.0})
        self.wait(lambda: self.value(SYMBOLS) == int(self.injected), 10)
        self.wait(lambda: self.value(f"infiniband:switch_port_symbol_error:rate5m{{{OF_PORT}}}") > 0, 10)

    def inject(self, counter, count):
        self.change(f'PerformanceSet "{LEAF}"[{PORT}] PortCounters.{counter}={count}')
        self.injected = count

    def test_a_broken_cable(self):
        state = 'infiniband_switch_port_state{guid="0xb8599f0300a00030",port="1"}'
        uplink = 'infiniband_switch_uplink_info{guid="0xb8599f0300a00030",port="1"}'
        self.assertEqual((self.value(state), self.value(uplink)), (1, 1))
        self.change(f'Unlink "{LEAF}"[1]', f'ReLink "{LEAF}"[1]')
        self.wait(lambda: self.value(state) == 0, 17)
        self.wait(lambda: self.value(uplink) is None, 20)
        lost = self.prometheus.query("infiniband_switch_port_state == 0 and max_over_time(infiniband_switch_port_state[1d]) == 1")
        self.assertEqual([row["metric"]["port"] for row in lost], ["1"])
        alerts = 'ALERTS{alertname="InfinibandLinkDown"}'
        self.wait(lambda: [row["metric"]["port"] for row in self.prometheus.query(alerts)] == ["1"], 5)
        self.fabric.console(f'ReLink "{LEAF}"[1]')
        self.wait(lambda: self.value(state) == 1 and self.value(uplink) == 1, 40)

    def test_each_panel_has_samples(self):
        dashboard = json.loads(prometheus.example("dashboard.json"))
        expressions = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())]
        self.assertGreater(len(expressions), 20)
        self.wait(lambda: self.value("count_over_time(infiniband_exporter_mads_sent_total[5m])") > 2, 10)
        for expression in expressions:
            with self.subTest(expression):
                found = self.prometheus.query(expression.replace("$switch", ".*"))
                self.assertTrue(found)
                self.assertFalse([row for row in found if math.isnan(float(row["value"][1]))])


class Disturbed(prometheus.ScrapedCase):
    """What happens to the fabric costs no reading that would be due, and puts no wrong sample among the right ones."""
    interval = 10
    words = ("--interval", str(interval))

    def assert_steady(self, seconds):
        """Every scrape of the last `seconds` found a reading, no older than two intervals; no counter went backwards."""
        window = f"[{int(seconds)}s]"
        scrapes = int(self.value(f"count_over_time(up{window})"))
        self.assertEqual(self.value(f"sum_over_time(up{window})"), scrapes)
        found = self.prometheus.query(f"infiniband_exporter_reading_timestamp_seconds{window}")
        self.assertEqual(len(found), 1)
        times = found[0]["values"]
        self.assertGreaterEqual(len(times), scrapes - 1)
        ages = [float(at) - float(value) for at, value in times]
        self.assertLess(max(ages), 2 * self.interval + 1)
        self.assertGreater(len({value for _, value in times}), seconds / self.interval / 2)
        counters = self.prometheus.query(f'{{__name__=~"infiniband_switch_port_.*_total"}}{window}')
        self.assertGreater(len(counters), 48)
        for row in counters:
            values = [float(value) for _, value in row["values"]]
            self.assertEqual(values, sorted(values), row["metric"])

    def test_a_switch_dies_and_comes_back(self):
        began = time.monotonic()
        self.change('PerformanceSet "S-b8599f0300a00020"[2] PortCounters.SymbolErrorCounter=27')
        other = 'infiniband_switch_port_symbol_error_total{guid="0xb8599f0300a00020",port="2"}'
        self.wait(lambda: self.value(other) == 27, 2 * self.interval)
        up = 'infiniband_switch_up{guid="0xb8599f0300a00030"}'
        self.assertEqual(self.value(up), 1)
        links = self.value('count(infiniband_switch_uplink_info{guid="0xb8599f0300a00030"})')
        self.change(f'Clear "{LEAF}"', f'ReLink "{LEAF}"')
        died = time.monotonic()
        self.wait(lambda: self.value(up) == 0, 35)
        of_it = '{__name__=~"infiniband_switch_port_.*_total|infiniband_switch_uplink_info|infiniband_switch_port_state",' \
                'guid="0xb8599f0300a00030"}'
        time.sleep(2)
        self.assertEqual(self.prometheus.query(of_it), [])
        time.sleep(max(0, 25 - (time.monotonic() - died)))
        self.assertEqual(self.prometheus.query(of_it), [])
        self.fabric.console(f'ReLink "{LEAF}"')
        self.wait(lambda: self.value(up) == 1, 35)
        self.wait(lambda: self.value('count(infiniband_switch_uplink_info{guid="0xb8599f0300a00030"})') == links, 35)
        seconds = time.monotonic() - began
        self.assert_steady(seconds)
        self.assertEqual(self.prometheus.query(f"{other} offset 1s != 27"), [])
        self.assertEqual(self.value(f"min_over_time({other}[{int(time.monotonic() - died)}s])"), 27)

    def test_the_subnet_manager_moves(self):
        """The host of the old one goes on without it, so that it has no sample any more; another host has the new one."""
        began = time.monotonic()
        master = "infiniband_sm_state_id == 3"
        self.assertEqual([row["metric"]["node"] for row in self.prometheus.query(master)], ["login01 mlx5_0"])
        self.fabric.opensm.kill()
        self.wait(lambda: self.prometheus.query("infiniband_sm_state_id") == [], 20)
        words = ["opensm", "-f", self.fabric.path("opensm2.log"), "-s", "1", "-d", "2"]
        self.fabric.start(words, executable=case.simfabric.find_program("opensm"), host=case.ServingCase.hosts()[3],
                          OSM_CACHE_DIR=self.fabric.dir, OSM_TMP_DIR=self.fabric.dir)
        self.wait(lambda: [row["metric"]["node"] for row in self.prometheus.query(master)] == ["compute03 mlx5_0"], 60)
        time.sleep(self.interval)
        self.assert_steady(time.monotonic() - began)


class Readme(case.FabricCase):

    def test_the_lines_of_the_readme(self):
        """From a shell on the fabric to a query, with other ports."""
        with open(os.path.join(HERE, "..", "..", "README.md"), encoding="utf-8") as file:
            section = re.search(r"^### In Prometheus$(.*?)^## ", file.read(), re.MULTILINE | re.DOTALL)[1]
        lines = [line[4:] for line in section.splitlines() if line.startswith("    ")]
        self.assertLessEqual(len(lines), 10)
        script = "\n".join(lines).replace("9315", str(prometheus.free_port())).replace("9090", str(prometheus.free_port()))
        target = re.search(r'targets: \["(.*?)"', script)[1]
        script = script.replace("exporter --interval", f"exporter --listen {target} --interval")
        path = ":".join([os.path.dirname(case.IBTOOL), os.path.join(HERE, "..", "support", "bin"), case.simfabric.path_with_sbin()])
        done = self.fabric.run(["bash", "-mc", script], PATH=path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout.splitlines()[-1], r'^\{guid="0xb8599f0300a00030", .*port="22"\} => [1-9][\d.]* @')
        self.assertEqual(done.stdout.count(" => "), 1, "one port has counted")


if __name__ == "__main__":
    promtool.run_tests()
