#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""What is installed for the exporter: the unit before systemd-analyze, the example configuration and rules before promtool, and each alert
on series that give reason for it, and on those of a fabric in health."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import prometheus  # noqa: E402
import promtool  # noqa: E402

SERVICE = promtool.simfabric.built("IBTEST_SERVICE", "tools/exporter/installed/ibtool-exporter.service")
PORT = 'guid="0x1",port="1"'
HEALTHY = {
    'up{job="infiniband",instance="x"}': "1x120",
    'infiniband_exporter_reading_timestamp_seconds{instance="x"}': "0+60x120",
    'infiniband_switch_up{guid="0x1",switch="leaf"}': "1x120",
    f'infiniband_switch_port_state{{{PORT},switch="leaf"}}': "1x120",
    'infiniband_switch_port_state{guid="0x1",port="2",switch="leaf"}': "0x120",
    f'infiniband_switch_uplink_info{{{PORT},switch="leaf",uplink="spine",uplink_port="4"}}': "1x120",
    f"infiniband_switch_port_link_downed_total{{{PORT}}}": "3x120",
    f"infiniband_switch_port_symbol_error_total{{{PORT}}}": "0+3x120",
    f"infiniband_switch_port_receive_errors_total{{{PORT}}}": "9x120",
    'infiniband_sm_state_id{instance="x",guid="0x5"}': "3x120",
    'infiniband_sm_state_id{instance="x",guid="0x6"}': "2x120",
}
# For each alert a series that is another one then.
REASONS = {
    "InfinibandExporterDown": ('up{job="infiniband",instance="x"}', "1x50 0x70"),
    "InfinibandNotRead": ('infiniband_exporter_reading_timestamp_seconds{instance="x"}', "0+60x50 _x70"),
    "InfinibandSwitchDown": ('infiniband_switch_up{guid="0x1",switch="leaf"}', "1x50 0x70"),
    "InfinibandLinkDown": (f'infiniband_switch_port_state{{{PORT},switch="leaf"}}', "1x50 0x70"),
    "InfinibandLinkFlaps": (f"infiniband_switch_port_link_downed_total{{{PORT}}}", "3x50 3+1x70"),
    "InfinibandSymbolErrors": (f"infiniband_switch_port_symbol_error_total{{{PORT}}}", "0x50 0+7x70"),
    "InfinibandReceiveErrors": (f"infiniband_switch_port_receive_errors_total{{{PORT}}}", "9x50 9+1x70"),
    "InfinibandNoMaster": ('infiniband_sm_state_id{instance="x",guid="0x5"}', "3x50 2x70"),
    "InfinibandDuplicateGuid": ('infiniband_duplicate_guid{guid="0x9"}', "_x50 1x70"),
}


class Installed(unittest.TestCase):

    def test_configuration(self):
        promtool.promtool("check", "config", os.path.join(prometheus.EXAMPLES, "prometheus.yml"))
        promtool.promtool("check", "rules", os.path.join(prometheus.EXAMPLES, "infiniband.rules.yml"))

    def test_each_alert(self):
        names = re.findall(r"- alert: (\w+)", prometheus.example("infiniband.rules.yml"))
        self.assertEqual(set(names), set(REASONS))
        tests = [self.case(HEALTHY, names, None)]
        for name, (series, values) in REASONS.items():
            tests.append(self.case(HEALTHY | {series: values}, [name], name))
        with tempfile.TemporaryDirectory(prefix="ibtool-rules.") as folder:
            shutil.copy(os.path.join(prometheus.EXAMPLES, "infiniband.rules.yml"), folder)
            promtool.write(folder, "test.yml", {"rule_files": ["infiniband.rules.yml"], "evaluation_interval": "1m", "tests": tests})
            promtool.promtool("test", "rules", os.path.join(folder, "test.yml"))

    @staticmethod
    def case(series, names, firing):
        """promtool's test: after 100 minutes the alerts `names` fire as many series as they should."""
        inputs = [{"series": name, "values": values} for name, values in series.items()]
        queries = [{"expr": f'count(ALERTS{{alertname="{name}",alertstate="firing"}}) or vector(0)', "eval_time": "100m",
                    "exp_samples": [{"labels": "{}", "value": int(name == firing)}]} for name in names]
        return {"interval": "1m", "input_series": inputs, "promql_expr_test": queries}

    def test_dashboard(self):
        """Panels have a place of their own, and name the data source that the user chose."""
        panels = json.loads(prometheus.example("dashboard.json"))["panels"]
        self.assertEqual(len({panel["id"] for panel in panels}), len(panels))
        cells = [(x, y) for panel in panels for at in [panel["gridPos"]]
                 for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])]
        self.assertEqual(len(set(cells)), len(cells))
        self.assertLess(max(x for x, _ in cells), 24)
        self.assertEqual({panel["datasource"]["uid"] for panel in panels if panel["type"] != "row"}, {"${datasource}"})

    def test_unit(self):
        """With a program that is there: ours is not installed. 2.0 is what systemd calls OK."""
        promtool.simfabric.need("systemd-analyze")
        with open(SERVICE, encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn("@", re.sub(r"@(system-service|privileged|resources)\b", "", text))
        with tempfile.TemporaryDirectory(prefix="ibtool-unit.") as folder:
            unit = os.path.join(folder, "ibtool-exporter.service")
            with open(unit, "w", encoding="utf-8") as file:
                file.write(re.sub(r"^ExecStart=\S+", "ExecStart=/bin/true", text, flags=re.MULTILINE))
            for words in (["verify", "--man=no"], ["security", "--offline=yes", "--threshold=20", "--no-pager"]):
                done = subprocess.run(["systemd-analyze", *words, unit], capture_output=True, text=True, check=False, timeout=60)
                self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
                self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    promtool.run_tests()
