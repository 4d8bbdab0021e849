// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The layout is that of infiniband-diags. DiagsErrorReport puts its own forms of GUIDs and names in it.
#include "tools/ibqueryerrors/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/escape.hpp"
#include "iba-gen/pm.hpp"
#include "iba/dialects.hpp"
#include "iba/generic.hpp"
#include "iba/text.hpp"
#include "subnet/model/names.hpp"
#include "tools/shared/diags_fabric.hpp"

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

}  // namespace

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

std::string ErrorReport::quoted_name(subnet::NodeIndex node) const {
  return in_quotes(node == subnet::none ? std::string() : subnet::name_of(fabric.subnet.node(node), &fabric.names));
}

std::string ErrorReport::guid(Guid value) const { return to_text(value); }

Exit ErrorReport::status() const { return bad_ports != 0 ? Exit::findings : FabricReport::status(); }

bool ErrorReport::is_reported(const counters::PmaReading& reading) const {
  return reading.known() && (wanted.data_only || has_errors(reading));
}

void ErrorReport::count(const counters::PmaNode& node) {
  ++nodes_checked;
  bool bad = false;
  const auto failed = [this](const counters::PmaProblem& problem) { failed_queries += problem.set ? 0 : 1; };
  if (node.problem) failed(*node.problem);
  const auto take = [&](const counters::PmaReading& reading) {
    std::ranges::for_each(reading.problems, failed);
    if (wanted.data_only || !has_errors(reading)) return false;
    return bad = true;
  };
  if (node.all) take(*node.all);
  if (node.ports.empty() && node.all) ports_checked += fabric.subnet.node(node.node).info.num_ports;
  ports_checked += node.ports.size();
  for (const counters::PmaReading& reading : node.ports) bad_ports += take(reading) ? 1 : 0;
  bad_nodes += bad ? 1 : 0;
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
  out.print("\n## Summary: {} nodes checked, {} bad nodes found\n", nodes_checked, bad_nodes);
  out.print("##          {} ports checked, {} ports have errors beyond threshold\n", ports_checked, bad_ports);
  out.print("## {}\n", thresholds_text());
  if (failed_queries != 0) out.print("##          {} PMA query failures\n", failed_queries);
  out.write("## Suppressed:");
  for (const std::string& counter : rules.suppressed()) out.print(" {}", counter);
  out.write("\n");
}

}  // namespace ib::tools::ibqueryerrors
