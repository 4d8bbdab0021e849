# SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
"""CSV and tab-separated values of the real program, read by Python's csv module, hold the rows of its JSON."""
import csv
import io
import json

import case


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


class Formats(case.FabricCase):
    LINES = (("ibhosts", "nodes"), ("ibswitches", "nodes"), ("iblinkinfo", "nodes.ports"), ("ibnetdiscover", "nodes.ports"),
             ("ibnetdiscover -l", "nodes"), ("ibroute 4", "switches.routes"), ("dump_fts", "switches.routes"),
             ("ibtracert 7 22", "traces.hops"),
             ("saquery NR", "records"), ("saquery PIR 4", "records"), ("saquery -D", "nodes"), ("smpquery NI 4", "data"),
             ("smpquery PI 4 22", "data"), ("query SubnGet SMPSwitchInfo 4", "data"), ("ibstat", "devices.ports"),
             ("check_lft_balance -a", "switches.ports"), ("ibcheckstate -v", "checks"))

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
        for line in ("ibaddr 4", "smpquery PKeys 4", "saquery -s", "ibportstate 4 22 query", "smpdump 4 0x11", "vendstat -N 4"):
            for form in ("csv", "tsv"):
                with self.subTest(line, form=form):
                    done = self.ibtool(*line.split(), "--format", form, status=2)
                    self.assertEqual(done.stdout, "")
                    self.assertEqual(done.stderr, f"E: --format {form}: what {line.split()[0]} prints here is no table; there are text, "
                                                  "json and jsonl\n")

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
