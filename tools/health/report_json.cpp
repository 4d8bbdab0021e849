// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report as JSON.
#include <array>
#include <utility>
#include <variant>

#include "base/split.hpp"
#include "health/checks.hpp"
#include "phy/columns.hpp"
#include "subnet/model/names.hpp"
#include "tools/health/report.hpp"
#include "tools/shared/fabric_columns.hpp"
#include "tools/shared/remedy_text.hpp"

namespace ib::tools::health {

using report::Cell;

namespace {

/// A number as `key`, and its word as `key`_text.
void visit_value(report::Sink& sink, std::string_view key, const ib::health::Value& value) {
  if (const auto* count = std::get_if<std::uint64_t>(&value.number); count != nullptr) {
    sink.symbol(key, *count, value.word);
  } else if (const auto* number = std::get_if<double>(&value.number); number != nullptr) {
    sink.symbol(key, *number, value.word);
  } else {
    sink.no_symbol(key);
  }
}

/// What the window proves on the link of a finding of error ratios; absent for another finding.
std::optional<double> provable_ratio_of(const Finding& finding) {
  for (const Evidence& evidence : finding.evidence) {
    const std::string_view check = evidence.check->id;
    if (evidence.provable_ratio && (check == "symbol-errors" || check == "receive-errors")) return evidence.provable_ratio;
  }
  return std::nullopt;
}

std::vector<FindingLine> lines_of(const HealthReport& report, const Findings& findings) {
  std::vector<FindingLine> lines;
  for (const Finding& finding : findings) lines.push_back({&report, &finding});
  return lines;
}

/// A list of JSON, and its words in a table: what `word` makes of each element.
template <class List, class Word, class Write>
Cell list_cell(const List& list, std::string_view separator, Word word, Write write) {
  std::string words;
  for (const auto& of : list) add_part(words, word(of), separator);
  return report::Nested{std::move(words), write};
}

Cell also_cell(const FindingLine& line) {
  const auto word = [](const Check* check) { return check->id; };
  return list_cell(line.finding->also, ",", word, [&line](report::Sink& sink, std::string_view key) {
    sink.array(key, line.finding->also, [&](const Check* check) { sink.value({}, check->id); });
  });
}
Cell text_cell(const FindingLine& line) {
  const std::string seen = line.report->words().seen(*line.finding);
  return Cell(seen + (seen.empty() ? "" : " ") + std::string(line.finding->check->text));
}
Cell ends_cell(const FindingLine& line) {
  return report::Nested{line.report->words().ends(*line.finding), [&line](report::Sink& sink, std::string_view key) {
                          const bool is_manager = line.finding->subject == Finding::Subject::manager;
                          sink.objects(key, line.finding->ends,
                                       [&](const Place& place) { line.report->visit_end(sink, place, is_manager); });
                        }};
}
Cell evidence_cell(const FindingLine& line) {
  const auto word = [&line](const Evidence& evidence) { return line.report->words().evidence(*line.finding, evidence); };
  return list_cell(line.finding->evidence, "; ", word, [&line](report::Sink& sink, std::string_view key) {
    sink.objects(key, line.finding->evidence, [&](const Evidence& evidence) { HealthReport::visit_evidence(sink, evidence); });
  });
}

// Their words stand in the dictionary of JSON.
constexpr std::array<report::Column<FindingLine>, 9> all_finding_columns{{
    {{.key = "check", .heading = "CHECK", .usual = true}, [](const FindingLine& line) { return Cell(line.finding->check->id); }},
    {{.key = "also", .heading = "ALSO", .is_list = true}, also_cell},
    {{.key = "level", .heading = "LEVEL", .usual = true}, [](const FindingLine& line) { return Cell(name(*line.finding->level)); }},
    {{.key = "confidence", .heading = "CONFIDENCE"}, [](const FindingLine& line) { return Cell(name(line.finding->confidence)); }},
    {{.key = "text", .heading = "TEXT", .usual = true}, text_cell},
    {{.key = "remedy", .heading = "REMEDY"}, [](const FindingLine& line) { return Cell(remedy_text(line.finding->what_to_do())); }},
    {{.key = "provable_error_ratio", .heading = "PROVABLE"},
     [](const FindingLine& line) { return report::cell(provable_ratio_of(*line.finding)); }},
    {{.key = "ends", .heading = "ENDS", .usual = true, .is_list = true}, ends_cell},
    {{.key = "evidence", .heading = "EVIDENCE", .is_list = true}, evidence_cell},
}};

}  // namespace

std::span<const report::Column<FindingLine>> finding_columns() { return all_finding_columns; }

void HealthReport::emit(Emit& emit, const TableOptions& options) const {
  const auto lines = [this] { return lines_of(*this, diagnosis_.findings); };
  emit_either(emit, options, *this, "findings", finding_columns(), lines, out_);
}

void HealthReport::visit(report::Sink& sink) const { visit(sink, diagnosis_.findings); }

void HealthReport::visit_example(report::Sink& sink) const {
  Finding any;
  any.check = &all_checks().front();
  any.level = Level::info;
  visit(sink, {any});
}

void HealthReport::visit(report::Sink& sink, const Findings& findings) const {
  const VerdictFacts of = facts();
  sink.value("verdict", name(of.verdict));
  sink.begin_object("levels");
  for (const Level level : {Level::error, Level::warning, Level::info}) sink.value(name(level), diagnosis_.count(level));
  sink.end_object();
  sink.value("host_count", of.host_count);
  sink.value("switch_count", of.switch_count);
  sink.value("link_count", of.link_count);
  sink.value("window_seconds", diagnosis_.window_seconds);
  sink.value("provable_error_ratio", diagnosis_.provable_ratio);
  sink.value("implausible_count", diagnosis_.implausible);
  sink.objects("coverage", diagnosis_.coverage, [&](const Coverage& covered) {
    sink.value("covered", name_of_covered(covered.source));
    sink.value("nodes_read", covered.nodes.read);
    sink.value("nodes_wanted", covered.nodes.of);
    sink.value("ports_read", covered.ports.read);
    sink.value("ports_wanted", covered.ports.of);
  });
  report::Table<FindingLine>(finding_columns()).visit(sink, "findings", lines_of(*this, findings));
  visit_checks(sink);
  visit_failures(sink);
}

/// Writes an end of a finding. With `is_manager` the end is a subnet manager: the port is only the place where it runs, and is not written.
void HealthReport::visit_end(report::Sink& sink, const Place& place, bool is_manager) const {
  if (place.node == subnet::none) {
    for (const char* key : {"node_guid", "node_description", "node_name", "port_num", "port_label", "lid"}) sink.null(key);
    sink.no_symbol("node_type");
    sink.null("phy");
    return;
  }
  const Fabric& of = place.is_before ? *before_ : fabric;
  const subnet::Subnet& subnet = of.subnet;
  report::write_members(sink, name_columns(), NodeLine{&of, place.node});
  const bool is_port = place.port != subnet::none;
  is_port && !is_manager ? sink.value("port_num", subnet.port(place.port).number) : sink.null("port_num");
  sink.text_or_null("port_label", is_port && !is_manager ? subnet::port_label(subnet, place.port) : std::string());
  const subnet::Node& node = subnet.node(place.node);
  const subnet::PortIndex of_node = node.kind() == subnet::NodeKind::sw ? node.first_port : node.first_port + node.entry_port;
  const Lid lid = subnet.lid(is_port ? place.port : of_node);
  sink.lid_or_null("lid", lid);
  const phy::PortRow* row = is_port && !place.is_before && phy_ != nullptr ? phy_->find(place.port) : nullptr;
  if (row == nullptr) {
    sink.null("phy");
    return;
  }
  sink.begin_object("phy");
  phy::visit(sink, *row);
  sink.end_object();
}

void HealthReport::visit_evidence(report::Sink& sink, const Evidence& evidence) {
  sink.value("check", evidence.check->id);
  sink.text_or_null("counter", evidence.counter != nullptr ? evidence.counter->name : std::string_view());
  sink.text_or_null("field", evidence.field);
  sink.value("which_end", evidence.end);
  visit_value(sink, "value_before", evidence.before);
  visit_value(sink, "value_after", evidence.after);
  sink.value("delta", evidence.delta);
  sink.value("per_second", evidence.per_second());
  sink.value("limit", evidence.limit);
  sink.value("provable_error_ratio", evidence.provable_ratio);
}

void HealthReport::visit_checks(report::Sink& sink) const {
  sink.objects("checks", diagnosis_.checks, [&](const CheckResult& result) {
    sink.value("check", result.check->id);
    sink.value("check_state", name(result.state));
    sink.text_or_null("reason", result.reason);
    sink.value("finding_count", result.finding_count);
    result.ports ? sink.value("ports_read", result.ports->read) : sink.null("ports_read");
    result.ports ? sink.value("ports_wanted", result.ports->of) : sink.null("ports_wanted");
  });
}

}  // namespace ib::tools::health
