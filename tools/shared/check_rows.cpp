// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/check_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "subnet/model/names.hpp"

namespace ib::tools {
namespace {

using subnet::Mismatch;
using subnet::NodeKind;
using subnet::PortIndex;
using enum report::JsonType;

constexpr std::string_view red = "1;31", green = "1;32", blue = "1;34";
constexpr std::string_view kind_words[] = {"node", "port", "errors"};
constexpr CheckKind kinds[] = {CheckKind::node, CheckKind::port, CheckKind::errors};

std::string_view relation_words(Mismatch::Relation relation) {
  constexpr std::string_view words[] = {"equal", "not_equal", "at_most"};
  return words[static_cast<unsigned>(relation)];
}

std::string_view verdict_of(const CheckRow& row) { return row.failed() ? "failed" : row.findings.empty() ? "ok" : "warning"; }

void visit_findings(report::Sink& sink, std::string_view key, const subnet::Mismatches& findings) {
  sink.objects(key, findings, [&](const Mismatch& finding) {
    sink.value("severity", finding.error ? "error" : "warning");
    sink.value("message", finding.sentence());
    sink.text_or_null("field", finding.field);
    sink.text_or_null("found", finding.found);
    sink.text_or_null("relation", finding.field.empty() ? "" : relation_words(finding.relation));
    sink.text_or_null("expected", finding.expected);
  });
}

report::Cell findings_cell(const CheckLine& line) {
  std::string words;
  for (const Mismatch& finding : line.row->findings) words += (words.empty() ? "" : "; ") + finding.sentence();
  return report::Nested{std::move(words),
                        [&line](report::Sink& sink, std::string_view key) { visit_findings(sink, key, line.row->findings); }};
}

report::Cell port_num_cell(const CheckLine& line) {
  return line.row->all_ports ? report::Cell() : report::Cell(std::uint64_t{line.fabric->subnet.port(line.port).number});
}

std::vector<report::Column<CheckLine>> all_check_columns() {
  std::vector<report::Column<CheckLine>> columns{
      {{.key = "check",
        .heading = "CHECK",
        .usual = true,
        .meaning = "What a check looks at: node (what the SA says of it), port, or errors (counters); of health the name of the check: "
                   "link-slow.",
        .type = text},
       [](const CheckLine& line) { return report::Cell(kind_words[static_cast<unsigned>(line.row->kind)]); }},
      {{.key = "verdict",
        .heading = "VERDICT",
        .usual = true,
        .meaning = "What a check comes to: ok, warning or failed; on credit loops free, free_for_used_sls, possible, found or not_read; of "
                   "health healthy, findings or unknown.",
        .type = text},
       [](const CheckLine& line) { return report::Cell(verdict_of(*line.row)); }}};
  const auto of_port = listed_columns_of<CheckLine>({"node_description", "lid", "port_num"});
  for (const std::string_view key : {"node_guid", "node_type", "node_description", "node_name", "lid", "port_num"})
    columns.push_back(*std::ranges::find(of_port, key, &report::ColumnInfo::key));
  columns.back().get = port_num_cell;
  columns.push_back({{.key = "findings",
                      .heading = "FINDINGS",
                      .usual = true,
                      .meaning = "What a check found to be wrong.",
                      .type = object,
                      .is_list = true},
                     findings_cell});
  return columns;
}

}  // namespace

std::span<const report::Column<CheckLine>> check_columns() {
  static const std::vector<report::Column<CheckLine>> columns = all_check_columns();
  return columns;
}

bool CheckRow::failed() const {
  if (kind == CheckKind::errors) return !findings.empty();
  return std::ranges::any_of(findings, &Mismatch::error);
}

void CheckReport::add(CheckRow row) {
  if (!row.all_ports) count(row);
  show(std::move(row));
}

void CheckReport::count(const CheckRow& row) {
  has_[static_cast<unsigned>(row.kind)] = true;
  ++counts(row.kind).checked;
  if (row.failed()) ++counts(row.kind).bad;
}

void CheckReport::show(CheckRow row) {
  if (verbose || !row.findings.empty()) rows_.push_back(std::move(row));
}

Exit CheckReport::status() const {
  const bool any = std::ranges::any_of(rows_, [](const CheckRow& row) { return !row.findings.empty(); });
  return any ? Exit::findings : FabricReport::status();
}

std::string CheckReport::place(const CheckRow& row) const {
  const unsigned lid = fabric.subnet.lid(row.port).value;
  return row.all_ports ? fmt::format("lid {} all ports", lid) : fmt::format("lid {} port {}", lid, fabric.subnet.port(row.port).number);
}

std::string CheckReport::header(const CheckRow& row) const {
  const subnet::Subnet& subnet = fabric.subnet;
  const subnet::Port& port = subnet.port(row.port);
  const subnet::Node& node = subnet.node(port.node);
  const unsigned lid = subnet.lid(row.port).value;
  if (row.kind == CheckKind::node) {
    const std::string number = node.kind() == NodeKind::sw ? "" : fmt::format(" port {}", port.number);
    const std::string_view type = smp::to_text(node.info.node_type);
    return fmt::format("# Checking {}: nodeguid {} lid {}{}\nNode check lid {}:", type.empty() ? "Node" : type, to_text(node.guid()), lid,
                       number, lid);
  }
  const std::string_view called = subnet::name_of(node, &fabric.names);
  const std::string description = describes && !called.empty() ? fmt::format(" ({})", escaped(called)) : "";
  const std::string number = row.all_ports ? "all ports" : fmt::format("port {}", port.number);
  return fmt::format("{} check lid {}{} {}:", row.kind == CheckKind::port ? "Port" : "Error", lid, description, number);
}

std::string CheckReport::coloured(std::string_view code, std::string text) const {
  return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
}

void CheckReport::text(TextOut& out) const {
  for (const CheckRow& row : rows_) {
    const std::string verdict = row.failed()           ? coloured(red, "FAILED")
                                : row.findings.empty() ? coloured(green, "OK")
                                                       : coloured(blue, "WARNING");
    out.print("{} {}\n", header(row), verdict);
    const std::string where = row.kind == CheckKind::node ? "" : ": " + place(row);
    for (const Mismatch& finding : row.findings) {
      if (finding.error && one) continue;
      const std::string line = fmt::format("{}: {}{}", finding.error ? "#error" : "#warn", finding.sentence(), where);
      out.print("{}\n", coloured(finding.error ? red : blue, line));
    }
  }
  if (one) return;
  const Counts& nodes = counts(CheckKind::node);
  out.print("## Summary: {} nodes checked, {} bad nodes found\n", nodes.checked, nodes.bad);
  const Counts& ports = counts(CheckKind::port);
  if (has_[1]) out.print("##          {} ports checked, {} ports with bad state found\n", ports.checked, ports.bad);
  const Counts& errors = counts(CheckKind::errors);
  if (has_[2]) out.print("##          {} ports checked, {} ports have errors beyond threshold\n", errors.checked, errors.bad);
}

std::vector<CheckLine> CheckReport::lines() const {
  std::vector<CheckLine> lines;
  for (const CheckRow& row : rows_) lines.push_back({{&fabric, row.port}, &row});
  return lines;
}

void CheckReport::emit(Emit& emit, const TableOptions& options, std::FILE* file) const {
  if (!options.given()) return emit(*this);
  emit(TableReport<CheckLine>(fabric, "checks", table_of<CheckLine>(check_columns(), options), lines(), file));
  emit.raise(status());
}

void CheckReport::visit(report::Sink& sink) const {
  report::Table<CheckLine>(check_columns()).visit(sink, "checks", lines());
  sink.array("summary", kinds, [&](CheckKind kind) {
    if (!has_[static_cast<unsigned>(kind)]) return;
    sink.begin_object();
    sink.value("check", kind_words[static_cast<unsigned>(kind)]);
    sink.value("checked", counts(kind).checked);
    sink.value("bad", counts(kind).bad);
    sink.end_object();
  });
  visit_failures(sink);
}

}  // namespace ib::tools
