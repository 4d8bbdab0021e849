# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""CSV and tab-separated values of the real program, read by Python's csv module, hold the rows of its JSON."""
import csv
import io
import json

import case
from sample_lines import commands_with, sample_lines


def rows_of(document, path):
    """The rows at a place such as "nodes.ports": a list of dictionaries for each, the row itself last."""
    rows = [[document]]
    for key in path.split("."):
        below = []
        for row in rows:
            value = row[-1][key]
            below += [row + [element] for element in (value if isinstance(value, list) else [value] if value else [])]
        rows = below
    return [row[1:] for row in rows]


def member(element, column):
    """The value of a column such as peer.lid; KeyError where the element has no such member."""
    if column in element:
        return element[column]
    key, dot, rest = column.partition(".")
    if not dot or key not in element:
        raise KeyError(column)
    return None if element[key] is None else member(element[key], rest)


def value_of(row, path, column):
    """The value of a column of a row: a member of the row, or of what is around it."""
    for element in reversed(row):
        try:
            return member(element, column)
        except KeyError:
            continue
    for element, key in zip(row, path.split(".")):
        if column.startswith(key + "."):
            return member(element, column[len(key) + 1:])
    raise KeyError(column)


def cell_of(value):
    """What a cell holds of a value."""
    if value is None:
        return ""
    if isinstance(value, (bool, list)):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, str):
        return "'" + value if value[:1] in tuple("=+-@'\t\r\n") and value else value
    return str(value)


HOSTS = """vendid=0x2c9
devid=0x1017
sysimgguid=0x506b4b0300100000
caguid=0x506b4b0300100000
Ca\t1 "H-506b4b0300100000"\t\t# "one"
[1](506b4b0300100001) \t"H-506b4b0300100004"[1] (506b4b0300100005) \t\t# lid 1 lmc 0 "two" lid 2 4xEDR

vendid=0x2c9
devid=0x1017
sysimgguid=0x506b4b0300100004
caguid=0x506b4b0300100004
Ca\t1 "H-506b4b0300100004"\t\t# "two"
[1](506b4b0300100005) \t"H-506b4b0300100000"[1] (506b4b0300100001) \t\t# lid 2 lmc 0 "one" lid 1 4xEDR
"""
SWITCH = """vendid=0x2c9
devid=0xcb20
sysimgguid=0xb8599f0300a00000
switchguid=0xb8599f0300a00000(b8599f0300a00000)
Switch\t4 "S-b8599f0300a00000"\t\t# "alone" base port 0 lid 1 lmc 0
"""


class Formats(case.FabricCase):
    LINES = (("ibhosts", "nodes"), ("ibswitches", "nodes"), ("iblinkinfo", "nodes.ports"), ("ibnetdiscover", "nodes.ports"),
             ("ibnetdiscover -l", "nodes"), ("ibroute 4", "switches.routes"), ("dump_fts", "switches.routes"),
             ("ibtracert 7 22", "traces.hops"),
             ("saquery NR", "records"), ("saquery PIR 4", "records"), ("saquery -D", "nodes"), ("smpquery NI 4", "data"),
             ("smpquery PI 4 22", "data"), ("query SubnGet SMPSwitchInfo 4", "data"), ("ibstat", "devices.ports"),
             ("check_lft_balance -a", "switches.ports"), ("ibcheckstate -v", "checks"))

    def first_line(self, words, form, *, has_rows):
        """The names of the columns."""
        done = self.run_ours([case.IBTOOL, *words, "--format", form])
        self.assertIn(done.returncode, (0, 1, 4), done.stderr)
        lines = done.stdout.splitlines()
        self.assertGreater(len(lines), 0)
        self.assertEqual(has_rows, len(lines) > 1, lines[:3])
        self.assertGreater(len(lines[0].split("," if form == "csv" else "\t")), 2)
        return lines[0]

    def test_a_table_without_rows_has_the_line_of_one_with_rows(self):
        commands = {line.split("\t")[0] for line in self.ibtool("completion", "--words", "").stdout.splitlines()}
        files = {name: self.fabric.path(name) for name in ("hosts", "switch", "new")}
        pairs = []  # words with which a command prints rows, and none
        for _, words in sample_lines("table", **files):
            at = words.index("/")
            pairs.append([None if side == ["-"] else side for side in (words[:at], words[at + 1:])])
        self.assertEqual(commands, {side[0] for pair in pairs for side in pair if side} | commands_with("no-table"))
        self.change('PerformanceSet "S-b8599f0300a00000"[2] PortCounters.SymbolErrorCounter=12',
                    undo='PerformanceSet "S-b8599f0300a00000"[2] PortCounters.SymbolErrorCounter=0')
        with open(files["hosts"], "w", encoding="ascii") as file:
            file.write(HOSTS)
        with open(files["switch"], "w", encoding="ascii") as file:
            file.write(SWITCH)
        for with_rows, without in pairs:
            for form in ("csv", "tsv"):
                with self.subTest(form=form, with_rows=with_rows, without=without):
                    heads = {self.first_line(words, form, has_rows=words is with_rows) for words in (with_rows, without) if words}
                    self.assertEqual(1, len(heads), heads)

    def table(self, line, form, **options):
        """What csv reads, as dictionaries; and the status."""
        done = self.run_ours([case.IBTOOL, *line.split(), "--format", form])
        return list(csv.DictReader(io.StringIO(done.stdout, newline=""), strict=True, **options)), done

    def test_csv_has_the_rows_of_the_json(self):
        for line, path in self.LINES:
            with self.subTest(line):
                table, done = self.table(line, "csv")
                report = self.run_ours([case.IBTOOL, *line.split(), "--format", "json"])
                self.assertEqual((done.returncode, done.stderr), (report.returncode, report.stderr))
                rows = rows_of(json.loads(report.stdout), path)
                self.assertGreater(len(rows), 0)
                self.assertEqual(len(table), len(rows))
                for cells, row in zip(table, rows):
                    self.assertEqual(cells, {column: cell_of(value_of(row, path, column)) for column in cells})
                    lost = [key for key in row[-1] if not any(column == key or column.startswith(key + ".") for column in cells)]
                    self.assertEqual(lost, [])

    def test_a_table_of_ports_has_what_json_has_in_lists(self):
        self.change('PerformanceSet "S-b8599f0300a00000"[2] PortCounters.SymbolErrorCounter=12',
                    undo='PerformanceSet "S-b8599f0300a00000"[2] PortCounters.SymbolErrorCounter=0')
        report = json.loads(self.run_ours([case.IBTOOL, "ibqueryerrors", "--json"]).stdout)
        counts = {(node["node_guid"], str(port["port_num"])): str(error["count"]) for node in report["nodes"] for port in node["ports"]
                  for error in port["errors"] if error["counter"] == "symbol_error_counter"}
        self.assertEqual(list(counts.values()), ["12"])
        table, _ = self.table("ibqueryerrors --columns node_guid,port_num,symbol_error_counter", "csv")
        self.assertEqual({(row["node_guid"], row["port_num"]): row["symbol_error_counter"] for row in table
                          if row["symbol_error_counter"] != "0"}, counts)
        table, _ = self.table("ibdatacounters --columns lid,port_xmit_pkts", "csv")
        report = json.loads(self.run_ours([case.IBTOOL, "ibdatacounters", "--json"]).stdout)
        self.assertEqual([row["lid"] for row in table], [str(port["lid"]) for port in report["ports"]])
        table, _ = self.table("ibstat --columns end_port,lid", "csv")
        report = json.loads(self.run_ours([case.IBTOOL, "ibstat", "--json"]).stdout)
        self.assertEqual([(row["end_port"], row["lid"]) for row in table],
                         [(port["end_port"], str(port["lid"])) for device in report["devices"] for port in device["ports"]])
        for line in ("ibqueryerrors", "ibdatacounters", "ibstat", "ibcheckstate -v", "check_lft_balance -a", "sminfo --all"):
            with self.subTest(line):
                done = self.run_ours([case.IBTOOL, *line.split(), "--format", "table", "--top", "2"])
                self.assertIn(len(done.stdout.splitlines()), (2, 3), done.stdout)
                self.assertTrue(done.stdout.isascii() and "\x1b" not in done.stdout)

    def test_tabs_hold_the_same(self):
        for line, _ in self.LINES:
            with self.subTest(line):
                table, _ = self.table(line, "csv")
                tabs, done = self.table(line, "tsv", delimiter="\t", quoting=csv.QUOTE_NONE)
                self.assertEqual(tabs, table)
                self.assertNotIn("\r", done.stdout)

    def test_lines_of_csv_end_as_rfc_4180_has_it(self):
        done = self.fabric.run(["sh", "-c", f"'{case.IBTOOL}' ibhosts --format csv | od -An -c | tail -2"])
        self.assertRegex(done.stdout, r"\\r +\\n")

    def test_what_is_no_table(self):
        for line in ("ibaddr 4", "smpquery PKeys 4", "saquery -s", "ibportstate 4 22 query", "smpdump 4 0x11", "vendstat -i 4"):
            for form in ("csv", "tsv"):
                with self.subTest(line, form=form):
                    done = self.ibtool(*line.split(), "--format", form, status=2)
                    self.assertEqual(done.stdout, "")
                    self.assertEqual(done.stderr, f"E: --format {form}: the output of {line.split()[0]} here is not a table: text, "
                                                  "json or jsonl\n")

    def test_a_name_can_not_become_a_formula(self):
        names = self.fabric.path("names")
        with open(names, "w", encoding="utf-8") as file:
            file.write('0x506b4b0300100000 "=cmd|calc"\n0x506b4b0300100004 "-1,\ttwo"\n')
        table, done = self.table(f"ibhosts --node-name-map {names}", "csv")
        cells = {row["node_name"] for row in table}
        self.assertIn("'=cmd|calc", cells)
        self.assertIn("'-1,\ttwo", cells)
        self.assertEqual(done.returncode, 0)

    def test_json_by_both_options(self):
        for option, form in (("--json", "json"), ("--json=lines", "jsonl")):
            self.assertEqual(self.ibtool("ibhosts", option).stdout, self.ibtool("ibhosts", "--format", form).stdout)


if __name__ == "__main__":
    case.main()
