// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The report as JSON.
#include <variant>

#include "health/checks.hpp"
#include "health/finding_text.hpp"
#include "phy/report.hpp"
#include "report/member_names.hpp"
#include "subnet/port_label.hpp"
#include "tools/health/report.hpp"

namespace ib::tools::health {

using ib::health::CheckResult;
using ib::health::Evidence;
using ib::health::Finding;
using ib::health::Level;
using ib::health::Place;

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

/// What the window proves on the link of a finding of error ratios; absent for others.
std::optional<double> provable_ratio_of(const Finding& finding) {
  for (const Evidence& evidence : finding.evidence) {
    const std::string_view check = evidence.check->id;
    if (evidence.provable_ratio && (check == "symbol-errors" || check == "receive-errors")) return evidence.provable_ratio;
  }
  return std::nullopt;
}

Finding any_finding() {
  Finding any;
  any.check = &ib::health::all_checks().front();
  any.level = Level::info;
  return any;
}

}  // namespace

void HealthReport::visit(report::Sink& sink) const { visit(sink, diagnosis_.findings); }

void HealthReport::visit_example(report::Sink& sink) const { visit(sink, {any_finding()}); }

void HealthReport::visit(report::Sink& sink, const ib::health::Findings& findings) const {
  sink.value("verdict", name(verdict()));
  sink.begin_object("levels");
  for (const Level level : {Level::error, Level::warning, Level::info}) sink.value(name(level), diagnosis_.count(level));
  sink.end_object();
  sink.value("host_count", host_count());
  sink.value("switch_count", switch_count());
  sink.value("link_count", link_count());
  sink.value("window_seconds", diagnosis_.window_seconds);
  sink.value("provable_error_ratio", diagnosis_.provable_ratio);
  sink.value("implausible_count", diagnosis_.implausible);
  sink.objects("coverage", diagnosis_.coverage, [&](const ib::health::Coverage& of) {
    sink.value("covered", ib::health::name_of_covered(of.source));
    sink.value("nodes_read", of.nodes.read);
    sink.value("nodes_wanted", of.nodes.of);
    sink.value("ports_read", of.ports.read);
    sink.value("ports_wanted", of.ports.of);
  });
  sink.begin_array("findings");
  report::announce(sink, [this](report::Sink& to) { visit_finding(to, any_finding()); });
  for (const Finding& finding : findings) {
    sink.begin_object();
    visit_finding(sink, finding);
    sink.end_object();
  }
  sink.end_array();
  visit_checks(sink);
  visit_failures(sink);
}

void HealthReport::visit_finding(report::Sink& sink, const Finding& finding) const {
  sink.value("check", finding.check->id);
  sink.array("also", finding.also, [&](const ib::health::Check* check) { sink.value({}, check->id); });
  sink.value("level", name(*finding.level));
  sink.value("confidence", name(finding.confidence));
  const std::string seen = words().seen(finding);
  sink.value("text", seen + (seen.empty() ? "" : " ") + std::string(finding.check->text));
  sink.value("remedy", finding.what_to_do());
  sink.value("provable_error_ratio", provable_ratio_of(finding));
  sink.objects("ends", finding.ends, [&](const Place& place) { visit_end(sink, place, finding.subject == Finding::Subject::manager); });
  sink.objects("evidence", finding.evidence, [&](const Evidence& evidence) { visit_evidence(sink, evidence); });
}

/// Writes an end of a finding. With `is_manager` the end is a subnet manager: the port is only the place where it runs, and is not written.
void HealthReport::visit_end(report::Sink& sink, const Place& place, bool is_manager) const {
  if (place.node == subnet::none) {
    for (const char* key : {"node_guid", "node_description", "node_name", "port_num", "port_label", "lid"}) sink.null(key);
    sink.no_symbol("node_type");
    sink.null("phy");
    return;
  }
  const subnet::Subnet& subnet = fabric_of(place).subnet;
  const HealthReport before(fabric_of(place), nullptr, wanted_, diagnosis_, how_);
  before.visit_names(sink, place.node);
  const bool is_port = place.port != subnet::none;
  is_port && !is_manager ? sink.value("port_num", subnet.port(place.port).number) : sink.null("port_num");
  sink.text_or_null("port_label", is_port && !is_manager ? subnet::port_label(subnet, place.port) : std::string());
  const subnet::Node& node = subnet.node(place.node);
  const subnet::PortIndex of_node = node.kind() == subnet::NodeKind::sw ? node.first_port : node.first_port + node.entry_port;
  const Lid lid = subnet.lid(is_port ? place.port : of_node);
  sink.lid_or_null("lid", lid);
  const phy::PortRow* row = is_port && !place.is_before && how_.phy != nullptr ? how_.phy->find(place.port) : nullptr;
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
