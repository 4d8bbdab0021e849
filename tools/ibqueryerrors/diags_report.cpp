// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What infiniband-diags' ibqueryerrors prints on stderr of requests to PMAs that failed, and its words for names and GUIDs.
#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/pm.hpp"
#include "tools/ibqueryerrors/report.hpp"
#include "tools/shared/diags_fabric.hpp"

namespace ib::tools::ibqueryerrors {
namespace {

/// How its source calls an attribute.
std::string_view word_for(std::uint16_t attribute) {
  switch (attribute) {
    case pm::PortCountersExt::attribute_id:
      return "IB_GSI_PORT_COUNTERS_EXT";
    case pm::PortXmitDiscardDetails::attribute_id:
      return "PortXmitDiscardDetails";
    case pm::PortRcvErrorDetails::attribute_id:
      return "PortRcvErrorDetails";
    default:
      return "IB_GSI_PORT_COUNTERS";
  }
}

bool is_details(std::uint16_t attribute) {
  return attribute == pm::PortXmitDiscardDetails::attribute_id || attribute == pm::PortRcvErrorDetails::attribute_id;
}

}  // namespace

void DiagsErrorReport::report_problem(std::string_view function, std::string_view what, const counters::PmaNode& node,
                                      subnet::PortIndex port, unsigned select) const {
  warn(host_.world(), function,
       fmt::format("{} query failed on {}, Lid {} port {}", what, diags_node_name(fabric.subnet.node(node.node), fabric.names),
                   fabric.subnet.lid(port).value, select));
}

void DiagsErrorReport::report_clear(const counters::PmaProblem& problem, const counters::PmaNode& node, subnet::PortIndex port,
                                    unsigned select) const {
  const std::string who = diags_node_name(fabric.subnet.node(node.node), fabric.names);
  const bool extended = problem.attribute == pm::PortCountersExt::attribute_id;
  print_on_stderr(host_.world(), extended ? fmt::format("Failed to reset extended data counters {}, Lid {} port {}\n", who,
                                                        fabric.subnet.lid(port).value, select)
                                          : fmt::format("Failed to reset errors {} port {}\n", who, select));
}

void DiagsErrorReport::report_reading(const counters::PmaNode& node, const counters::PmaReading& reading) const {
  for (const counters::PmaProblem& problem : reading.problems) {
    const std::string_view function = is_details(problem.attribute) ? "query_and_dump"
                                      : wanted.data_only            ? "print_data_cnts"
                                                                    : "print_errors";
    if (problem.set && problem.whose && !node.clear_problems.empty()) continue;  // the node's one Set was not sent
    if (problem.set) {
      report_clear(problem, node, reading.port, reading.select);
    } else {
      report_problem(function, word_for(problem.attribute), node, reading.port, reading.select);
    }
  }
  // What could not be read was not cleared either.
  if (!wanted.clears() || reading.known() || reading.problems.empty() || reading.problems.back().set) return;
  counters::PmaProblem clear = reading.problems.back();
  clear.attribute = pm::PortCounters::attribute_id;
  report_clear(clear, node, reading.port, reading.select);
}

void DiagsErrorReport::print_node(TextOut& out, const counters::PmaNode& node) const {
  if (node.problem) report_problem("query_cap_mask", "classportinfo", node, node.first, fabric.subnet.port(node.first).number);
  if (node.all) report_reading(node, *node.all);
  for (const counters::PmaReading& reading : node.ports) report_reading(node, reading);
  for (const counters::PmaProblem& problem : node.clear_problems) report_clear(problem, node, node.first, subnet::all_ports);
  node_text(out, node);
}

std::string DiagsErrorReport::quoted_name(subnet::NodeIndex node) const {
  return '"' + (node == subnet::none ? std::string() : diags_node_name(fabric.subnet.node(node), fabric.names)) + '"';
}

std::string DiagsErrorReport::guid(Guid value) const { return fmt::format("0x{:x}", value.value); }
std::string DiagsErrorReport::guid_of_far_end(Guid value) const { return fmt::format("0x{:016x}", value.value); }

std::string DiagsErrorReport::far_end(subnet::PortIndex port) const {
  constexpr std::size_t most = 255;  // what infiniband-diags has room for
  return ErrorReport::far_end(port).substr(0, most);
}

// C prints a null pointer so.
std::string DiagsErrorReport::thresholds_text() const { return has_thresholds ? ErrorReport::thresholds_text() : "(null)"; }

}  // namespace ib::tools::ibqueryerrors
