// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/check_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/text.hpp"
#include "subnet/model/names.hpp"
#include "tools/frame/emit.hpp"

namespace ib::tools {
namespace {

using subnet::Mismatch;
using subnet::NodeKind;
using subnet::PortIndex;

constexpr std::string_view red = "1;31", green = "1;32", blue = "1;34";
constexpr std::string_view kind_words[] = {"node", "port", "errors"};
constexpr std::string_view relation_words[] = {"equal", "not_equal", "at_most"};

std::string_view verdict_of(const CheckRow& row) { return row.failed() ? "failed" : row.findings.empty() ? "ok" : "warning"; }

void visit_findings(report::Sink& sink, std::string_view key, const subnet::Mismatches& findings) {
  sink.objects(key, findings, [&](const Mismatch& finding) {
    sink.value("severity", finding.error ? "error" : "warning");
    sink.value("message", finding.sentence());
    sink.text_or_null("field", finding.field);
    sink.text_or_null("found", finding.found);
    sink.text_or_null("relation", finding.field.empty() ? "" : relation_words[static_cast<unsigned>(finding.relation)]);
    sink.text_or_null("expected", finding.expected);
  });
}

report::Cell findings_cell(const CheckLine& line) {
  std::string words;
  for (const Mismatch& finding : line.row->findings) add_part(words, finding.sentence(), "; ");
  return report::Nested{std::move(words),
                        [&line](report::Sink& sink, std::string_view key) { visit_findings(sink, key, line.row->findings); }};
}

std::vector<report::Column<CheckLine>> all_check_columns() {
  std::vector<report::Column<CheckLine>> columns{
      {{.key = "check", .heading = "CHECK", .usual = true},
       [](const CheckLine& line) { return kind_words[static_cast<unsigned>(line.row->kind)]; }},
      {{.key = "verdict", .heading = "VERDICT", .usual = true}, [](const CheckLine& line) { return verdict_of(*line.row); }}};
  auto of_port = listed_columns_of<CheckLine>({"node_description", "lid", "port_num"},
                                              {"node_guid", "node_type", "node_description", "node_name", "lid", "port_num"});
  of_port.back().get = [](const CheckLine& line) {
    return line.row->all_ports ? report::Cell() : std::uint64_t{line.fabric->subnet.port(line.port).number};
  };
  std::ranges::move(of_port, std::back_inserter(columns));
  columns.push_back({{.key = "findings", .heading = "FINDINGS", .usual = true}, findings_cell});
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
  RowCounts& counts = counts_.at(static_cast<std::size_t>(row.kind));
  ++counts.checked;
  if (row.failed()) ++counts.bad;
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
  const auto& [nodes, ports, errors] = counts_;
  out.print("## Summary: {} nodes checked, {} bad nodes found\n", nodes.checked, nodes.bad);
  if (ports.checked != 0) out.print("##          {} ports checked, {} ports with bad state found\n", ports.checked, ports.bad);
  if (errors.checked != 0) out.print("##          {} ports checked, {} ports have errors beyond threshold\n", errors.checked, errors.bad);
}

std::vector<CheckLine> CheckReport::lines() const {
  std::vector<CheckLine> lines;
  for (const CheckRow& row : rows_) lines.push_back({{&fabric, row.port}, &row});
  return lines;
}

void CheckReport::emit(Emit& emit, const TableOptions& options) const {
  if (!options.given()) return emit(*this);
  emit(TableReport<CheckLine>(fabric, "checks", report::Table<CheckLine>(check_columns(), options), lines()));
  emit.raise(status());
}

void CheckReport::visit(report::Sink& sink) const {
  report::Table<CheckLine>(check_columns()).visit(sink, "checks", lines());
  sink.begin_array("summary");
  for (std::size_t kind = 0; kind < counts_.size(); ++kind) {
    if (counts_[kind].checked == 0) continue;
    sink.begin_object();
    sink.value("check", kind_words[kind]);
    sink.value("checked", counts_[kind].checked);
    sink.value("bad", counts_[kind].bad);
    sink.end_object();
  }
  sink.end_array();
  visit_failures(sink);
}

}  // namespace ib::tools
