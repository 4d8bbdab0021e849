// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What counts as an error, and the text, in the layout of infiniband-diags. DiagsErrorReport puts its own forms of GUIDs and names in it.
#include "tools/ibqueryerrors/ibqueryerrors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <span>
#include <utility>

#include "base/escape.hpp"
#include "base/file.hpp"
#include "base/parse.hpp"
#include "iba-gen/pm.hpp"
#include "iba/dialects.hpp"
#include "iba/text.hpp"
#include "report/sink.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/options.hpp"
#include "tools/shared/diags_fabric.hpp"
#include "tools/shared/fabric_report.hpp"

namespace ib::tools::ibqueryerrors {
namespace {

/// " [PortInactiveDiscards == 3]" for each counter of details that is not zero.
std::string details_text(const counters::CounterRow& row, counters::Source source) {
  std::string text;
  for (std::size_t column = 0; column < counters::columns.size(); ++column) {
    if (counters::columns[column].source == source && row.value(column) != 0)
      text += fmt::format(" [{} == {}]", dialects_of(row.field(column)).libibmad, row.value(column));
  }
  return text;
}

constexpr std::size_t longest_file = std::size_t{1} << 20;  // bytes
constexpr std::size_t most_suppressed = 64;

/// Whether infiniband-diags has a field of PortCounters of that name. QP1Dropped stands elsewhere in its table.
bool names_field(std::string_view name) {
  return std::ranges::any_of(pm::PortCounters::info().fields, [name](const FieldInfo& field) {
    return !field.reserved && field.name != "qp1_dropped" && dialects_of(field).libibmad == name;
  });
}

using Kind = counters::CounterChange::Kind;

/// The counters of errors, which come first.
std::span<const counters::CounterChange> errors_in(const counters::PortChanges& port) {
  const auto is_traffic = [](const counters::CounterChange& of) {
    return counters::columns[counters::column_of(of.counter->name)].is_traffic();
  };
  return {port.changes.begin(), std::ranges::find_if(port.changes, is_traffic)};
}

}  // namespace

const std::vector<const counters::CounterInfo*>& error_counters() {
  static const std::vector<const counters::CounterInfo*> counters = [] {
    std::vector<const counters::CounterInfo*> found;
    for (const counters::CounterInfo& counter : counters::counter_infos()) {
      if (!counter.traffic && counter.narrow != nullptr && counter.name != "qp1_dropped") found.push_back(&counter);
    }
    return found;
  }();
  return counters;
}

std::string_view counter_name(const counters::CounterInfo& counter) {
  return dialects_of(counter.narrow != nullptr ? *counter.narrow : *counter.wide).libibmad;
}

bool ErrorRules::read_thresholds(const std::string& file) {
  std::string text;
  try {
    text = read_regular_file(file, longest_file);
  } catch (const Error&) {
    return false;
  }
  SettingLines lines(text);
  while (const auto line = lines.next()) {
    for (const counters::CounterInfo* counter : error_counters()) {
      // Blanks before the name, or between it and '=', make the line one of another name.
      if (!line->whole.starts_with(fmt::format("{}=", counter_name(*counter)))) continue;
      set_threshold(*counter, c_number(std::string(line->value)));
    }
  }
  return true;
}

void ErrorRules::take(const counters::ErrorThresholds& thresholds) {
  for (const auto& [counter, value] : thresholds.all()) {
    if (std::ranges::find(error_counters(), counter) != error_counters().end()) set_threshold(*counter, value);
  }
}

void ErrorRules::set_threshold(const counters::CounterInfo& counter, std::uint64_t value) {
  text_ += fmt::format("[{} = {}]", counter_name(counter), value);
  thresholds_.set(counter, value);
}

void ErrorRules::suppress(std::string_view name) {
  if (name.empty() || !names_field(name)) return;
  (suppressed_.size() < most_suppressed ? suppressed_ : skipped_).emplace_back(name);
}

bool ErrorRules::is_suppressed(const counters::CounterInfo& counter) const {
  return std::ranges::find(suppressed_, counter_name(counter)) != suppressed_.end();
}

std::vector<std::size_t> ErrorRules::errors_of(const counters::CounterRow& row) const {
  std::vector<std::size_t> errors;
  for (const counters::CounterInfo* counter : error_counters()) {
    const std::uint64_t value = row.count(counter->column).value_or(0);
    if (value != 0 && value > threshold_of(counter->name) && !is_suppressed(*counter)) errors.push_back(counter->column);
  }
  return errors;
}

std::string human_count(std::uint64_t value, bool data) {
  constexpr std::array<const char*, 7> units{"", "K", "M", "G", "T", "P", "E"};
  unsigned unit = 0;
  std::uint64_t divisor = 1;
  for (std::uint64_t rest = value / 1024; rest != 0; rest /= 1024) {
    ++unit;
    divisor *= 1024;
  }
  auto shown = static_cast<float>(value);
  if (data) {
    shown *= 4;
    if (shown / static_cast<float>(divisor) > 1024) {
      ++unit;
      divisor *= 1024;
    }
  }
  return fmt::format("{:5.3f}{}{}", static_cast<double>(shown / static_cast<float>(divisor)), units.at(unit), data ? "B" : "");
}

void Summary::text(TextOut& out) const {
  out.print("\n## Summary: {} nodes checked, {} bad nodes found\n", nodes, bad_nodes);
  out.print("##          {} ports checked, {} ports have errors beyond threshold\n", ports, bad_ports);
}

std::string ErrorReport::quoted_name(subnet::NodeIndex node) const {
  return in_quotes(node == subnet::none ? std::string() : subnet::name_of(fabric.subnet.node(node), &fabric.names));
}

std::string ErrorReport::guid(Guid value) const { return to_text(value); }

Exit ErrorReport::status() const { return summary.bad_ports != 0 ? Exit::findings : FabricReport::status(); }

bool ErrorReport::is_reported(const counters::PmaReading& reading) const {
  return reading.known() && (wanted.data_only || has_errors(reading));
}

void ErrorReport::group_ports() { grouping = subnet::group(fabric.subnet, subnet::breadth_first(fabric.subnet)); }

void ErrorReport::count(const counters::PmaNode& node) {
  ++summary.nodes;
  bool bad = false;
  const auto failed = [this](const counters::PmaProblem& problem) { failed_queries += problem.set ? 0 : 1; };
  if (node.problem) failed(*node.problem);
  const auto take = [&](const counters::PmaReading& reading) {
    std::ranges::for_each(reading.problems, failed);
    if (wanted.data_only || !has_errors(reading)) return false;
    return bad = true;
  };
  if (node.all) take(*node.all);
  if (node.ports.empty() && node.all) summary.ports += fabric.subnet.node(node.node).info.num_ports;
  summary.ports += node.ports.size();
  for (const counters::PmaReading& reading : node.ports) summary.bad_ports += take(reading) ? 1 : 0;
  summary.bad_nodes += bad ? 1 : 0;
}

void ErrorReport::header(TextOut& out, const counters::PmaNode& node) const {
  const subnet::Node& of = fabric.subnet.node(node.node);
  if (wanted.data_only) {
    out.print("Data Counters for {} {}\n", guid(of.guid()), quoted_name(node.node));
  } else if (of.kind() == subnet::NodeKind::sw) {
    out.print("Errors for {} {}\n", guid(fabric.subnet.port_guid(of.first_port)), quoted_name(node.node));
  } else {
    out.print("Errors for {}\n", quoted_name(node.node));
  }
}

std::string ErrorReport::errors_text(const counters::PmaReading& reading) const {
  std::string text;
  const counters::CounterRow& row = reading.row;
  for (const std::size_t error : rules.errors_of(row)) {
    text += fmt::format(" [{} == {}", dialects_of(row.named_field(error)).libibmad, row.value(error));
    text += row.field(error).bits == 64 ? fmt::format(" ({})]", human_count(row.value(error), false)) : "]";
    if (counters::columns[error].field == "port_xmit_discards") text += details_text(row, counters::Source::discard_details);
    if (counters::columns[error].field == "port_rcv_errors") text += details_text(row, counters::Source::error_details);
  }
  return text;
}

std::string ErrorReport::traffic_text(const counters::PmaReading& reading, bool with_zeros) const {
  std::string text;
  for (const counters::CounterInfo& counter : counters::counter_infos()) {
    if (!counter.traffic) continue;
    const std::optional<std::uint64_t> value = reading.row.count(counter.column);
    if (!value || (*value == 0 && !with_zeros)) continue;
    text += fmt::format(" [{} == {} ({})]", counter_name(counter), *value, human_count(*value, counter.octets != 0));
  }
  return text;
}

void ErrorReport::reading_text(TextOut& out, const counters::PmaNode& node, const counters::PmaReading& reading) const {
  const subnet::Node& of = fabric.subnet.node(node.node);
  const bool all = reading.select == subnet::all_ports;
  if (all && of.kind() != subnet::NodeKind::sw) return;
  const Guid at = wanted.data_only ? of.guid() : fabric.subnet.port_guid(reading.port);
  const std::string select = all ? "ALL" : std::to_string(reading.select);
  const std::string counts =
      wanted.data_only ? traffic_text(reading, true) : errors_text(reading) + (wanted.data ? traffic_text(reading, false) : std::string());
  out.print("   GUID {} port {}:{}\n", guid(at), select, counts);
  if (wanted.report_port && !all) link_text(out, reading.port);
}

std::string ErrorReport::external(subnet::PortIndex port) const {
  const unsigned number = grouping.external_port.empty() ? 0 : grouping.external_port[port];
  return number == 0 ? std::string() : std::to_string(number);
}

std::string ErrorReport::far_end(subnet::PortIndex at) const {
  const subnet::Subnet& subnet = fabric.subnet;
  const subnet::PortIndex peer = subnet.port(at).peer;
  if (peer == subnet::none) return fmt::format("           [  ] {} ( )\n", quoted_name(peer));
  return fmt::format("{} {:6} {:4}[{:>2}] {} ({})\n", guid_of_far_end(subnet.port_guid(peer)), subnet.lid(peer).value,
                     subnet.port(peer).number, external(peer), quoted_name(subnet.port(peer).node), diags_could_be(subnet, at));
}

void ErrorReport::link_text(TextOut& out, subnet::PortIndex at) const {
  const subnet::Subnet& subnet = fabric.subnet;
  out.print("       Link info: {:6}{:4}[{:>2}] =={}==>  {}", subnet.lid(at).value, subnet.port(at).number, external(at),
            diags_link_text(subnet, at), far_end(at));
}

void ErrorReport::node_text(TextOut& out, const counters::PmaNode& node) const {
  bool headed = false;
  const auto print = [&](const counters::PmaReading& reading) {
    if (!is_reported(reading)) return;
    if (!std::exchange(headed, true)) header(out, node);
    reading_text(out, node, reading);
  };
  if (node.all) print(*node.all);
  std::ranges::for_each(node.ports, print);
}

std::string ErrorReport::thresholds_text() const { return "Thresholds: " + rules.thresholds_text(); }

void ErrorReport::text(TextOut& out) const {
  summary.text(out);
  out.print("## {}\n", thresholds_text());
  if (failed_queries != 0) out.print("##          {} PMA query failures\n", failed_queries);
  out.write("## Suppressed:");
  for (const std::string& counter : rules.suppressed()) out.print(" {}", counter);
  out.write("\n");
}

counters::PortChanges GrowthReport::changes_of(const counters::RowDifference& difference) const {
  counters::PortChanges traffic = difference.traffic();
  if (wanted_.data_only) return traffic;
  counters::PortChanges port;
  port.port = traffic.port;
  port.seconds = difference.error_seconds();
  for (const counters::CounterInfo* counter : error_counters()) {
    const counters::CounterChange change = difference.change(counters::column_of(counter->name));
    const bool is_unclear = change.kind == Kind::reset || change.kind == Kind::implausible;
    const bool is_beyond = is_unclear || change.delta.value_or(0) > rules_.threshold_of(counter->name);
    if (is_beyond && !rules_.is_suppressed(*counter)) port.changes.push_back(change);
  }
  if (wanted_.data) std::ranges::move(traffic.changes, std::back_inserter(port.changes));
  return port;
}

void GrowthReport::take(const counters::PmaNode& node, counters::CounterHistory& history, TextOut* out) {
  ++summary_.nodes;
  bool is_bad = false, has_heading = false;
  for (const counters::PmaReading& reading : node.ports) {
    ++summary_.ports;
    if (!reading.known()) continue;
    const counters::CounterKey key = counters::counter_key(fabric.subnet, node.node, reading.select);
    const std::optional<counters::CounterRow> before = history.take(key, reading.row);
    if (!before) continue;
    const counters::RowDifference difference(&*before, reading.row, counters::octets_per_second(fabric.subnet, reading.port));
    counters::PortChanges port = changes_of(difference);
    const auto errors = errors_in(port);
    const bool has_counted = std::ranges::any_of(errors, [](const counters::CounterChange& error) { return error.delta.has_value(); });
    summary_.bad_ports += has_counted ? 1 : 0;
    is_bad = is_bad || has_counted;
    if (errors.empty() && !wanted_.data_only) continue;
    if (out == nullptr) {
      grown_ports_.push_back(std::move(port));
      continue;
    }
    if (!std::exchange(has_heading, true)) {
      const subnet::Node& of = fabric.subnet.node(node.node);
      out->print("{} for {} {}\n", wanted_.data_only ? "Data Counters" : "Errors", to_text(of.guid()),
                 in_quotes(subnet::name_of(of, &fabric.names)));
    }
    port_text(*out, port);
  }
  summary_.bad_nodes += is_bad ? 1 : 0;
}

void GrowthReport::port_text(TextOut& out, const counters::PortChanges& port) const {
  std::string words;
  for (const counters::CounterChange& change : port.changes) words += growth_words(dialects_of(*change.counter).libibmad, change);
  out.print("   GUID {} port {}:{}\n", to_text(fabric.subnet.port_guid(port.port)), fabric.subnet.port(port.port).number, words);
}

void GrowthReport::text(TextOut& out) const { summary_.text(out); }

void GrowthReport::visit(report::Sink& sink) const {
  if (!fabric.subnet.ports().empty()) {
    counters::PortChanges example;
    example.port = 0;
    for (const FieldInfo* counter : {&error_counters().front()->field(), counters::find_counter("port_xmit_data")->narrow})
      example.changes.push_back({.counter = counter});
    report::announce(sink, [&](report::Sink& to) { visit(to, {example}); });
  }
  visit(sink, grown_ports_);
}

void GrowthReport::visit(report::Sink& sink, const std::vector<counters::PortChanges>& ports) const {
  begin_round(sink, round);
  sink.objects("ports", ports, [&](const counters::PortChanges& port) {
    visit_names(sink, fabric.subnet.port(port.port).node);
    visit_port_members(sink, port.port);
    sink.value("seconds", port.seconds);
    const auto errors = errors_in(port);
    if (!wanted_.data_only) {
      sink.array("errors", errors, [&](const counters::CounterChange& error) {
        visit_growth(sink, error, {.threshold = rules_.threshold_of(error.counter->name)});
      });
    }
    if (!wanted_.data && !wanted_.data_only) return;
    sink.array("traffic", std::span(port.changes).subspan(errors.size()),
               [&](const counters::CounterChange& change) { visit_growth(sink, change); });
  });
  summary_.visit(sink);
  visit_failures(sink);
  sink.end_object();
}

}  // namespace ib::tools::ibqueryerrors
