// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Of requests to PMAs infiniband-diags prints a line with -d, and of those that failed libibmad's line and its own. It reads one attribute
// after another; the lines have its order, whatever was read together, or not at all since nobody looks at it.
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

/// libibmad's line; it would have tried a node that cannot be reached as well.
void report_failed(const Session& session, const counters::PmaProblem& problem, Lid lid) {
  if (problem.error) {
    session.report_failure(*problem.error);
  } else {
    session.diags_warning("mad_rpc", fmt::format("_do_madrpc failed; dport (Lid {})", lid.value));
  }
}

}  // namespace

void DiagsErrorReport::report_problem(const counters::PmaNode& node, const counters::PmaReading& reading,
                                      const counters::PmaProblem& problem) const {
  const Lid lid = fabric.subnet.lid(reading.port);
  report_failed(session_, problem, lid);
  const std::string_view function = is_details(problem.attribute) ? "query_and_dump"
                                    : wanted.data_only            ? "print_data_cnts"
                                                                  : "print_errors";
  session_.diags_warning(function, fmt::format("{} query failed on {}, Lid {} port {}", word_for(problem.attribute),
                                               diags_node_name(fabric.subnet.node(node.node), fabric.names), lid.value, reading.select));
}

void DiagsErrorReport::report_clear(const counters::PmaNode& node, const counters::PmaProblem& problem, subnet::PortIndex port,
                                    unsigned select) const {
  const Lid lid = fabric.subnet.lid(port);
  report_failed(session_, problem, lid);
  const std::string who = diags_node_name(fabric.subnet.node(node.node), fabric.names);
  const bool extended = problem.attribute == pm::PortCountersExt::attribute_id;
  print_on_stderr(session_.world(), extended
                                        ? fmt::format("Failed to reset extended data counters {}, Lid {} port {}\n", who, lid.value, select)
                                        : fmt::format("Failed to reset errors {} port {}\n", who, select));
}

/// Whether a counter of which there are details is in error.
bool DiagsErrorReport::is_details_error(const counters::PmaReading& reading, std::string_view counter) const {
  return wanted.details && reading.known() && rules.is_error(reading, counter);
}

/// The attributes that infiniband-diags reads of a port, in its order.
std::vector<std::uint16_t> DiagsErrorReport::diags_requests(const counters::PmaReading& reading) const {
  std::vector<std::uint16_t> attributes;
  const bool extended = reading.support.extended();
  if (!wanted.data_only || !extended) attributes.push_back(pm::PortCounters::attribute_id);
  if (extended) attributes.push_back(pm::PortCountersExt::attribute_id);
  if (wanted.data_only) return attributes;
  if (is_details_error(reading, "port_rcv_errors")) attributes.push_back(pm::PortRcvErrorDetails::attribute_id);
  if (is_details_error(reading, "port_xmit_discards")) attributes.push_back(pm::PortXmitDiscardDetails::attribute_id);
  return attributes;
}

/// The Sets that reset counters. A port whose counters were not read is not reset.
std::vector<DiagsErrorReport::Reset> DiagsErrorReport::resets(const counters::PmaNode& node) const {
  std::vector<Reset> sent;
  if (!wanted.clears()) return sent;
  const counters::CounterClear masks = counters::clear_of(node.support, wanted.clear());
  const bool by_port = !node.support.all_port_select();
  if (!by_port && (counters::all_ports_read(fabric.subnet, node) || !node.clear_problems.empty())) {
    sent.push_back({nullptr, node.first, subnet::all_ports, masks, node.clear_problems});
    return sent;
  }
  for (const counters::PmaReading& reading : node.ports) {
    if (reading.known()) sent.push_back({by_port ? &reading : nullptr, reading.port, reading.select, masks, reading.problems});
  }
  return sent;
}

void DiagsErrorReport::reset_text(TextOut& out, const std::vector<Reset>& resets, const counters::PmaReading* after) const {
  for (const Reset& reset : resets) {
    if (reset.after != after || reset.masks.port_counters_extended == 0) continue;
    session_.diags_debug(
        out, "reset_pc_ext",
        fmt::format("lid {} port {} mask 0x{:x}", fabric.subnet.lid(reset.port).value, reset.select, reset.masks.port_counters_extended));
  }
}

void DiagsErrorReport::report_request(subnet::PortIndex port, unsigned select) const {
  session_.diags_debug("pma_query_via", fmt::format("lid {} port {}", fabric.subnet.lid(port).value, select));
}

void DiagsErrorReport::report_reading(const counters::PmaNode& node, const counters::PmaReading& reading) const {
  std::vector<const counters::PmaProblem*> left;
  for (const counters::PmaProblem& problem : reading.problems) {
    if (!problem.set) left.push_back(&problem);
  }
  for (const std::uint16_t attribute : diags_requests(reading)) {
    report_request(reading.port, reading.select);
    const auto failed = std::ranges::find(left, attribute, &counters::PmaProblem::attribute);
    if (failed == left.end()) continue;
    report_problem(node, reading, **failed);
    left.erase(failed);
    if (!is_details(attribute)) break;
  }
  for (const counters::PmaProblem* problem : left) report_problem(node, reading, *problem);
  // What could not be read was not cleared either.
  if (wanted.clears() && !reading.known() && !reading.problems.empty()) {
    counters::PmaProblem clear = reading.problems.back();
    clear.attribute = pm::PortCounters::attribute_id;
    report_clear(node, clear, reading.port, reading.select);
  }
}

void DiagsErrorReport::report_reset(const counters::PmaNode& node, const Reset& reset) const {
  const auto sets = [&](std::uint64_t mask) {
    session_.diags_debug("performance_reset_via",
                         fmt::format("lid {} port {} mask 0x{:x}", fabric.subnet.lid(reset.port).value, reset.select, mask));
  };
  const auto report_failure = [&](std::uint16_t attribute) {
    for (const counters::PmaProblem& problem : reset.problems) {
      if (problem.set && problem.attribute == attribute) report_clear(node, problem, reset.port, reset.select);
    }
  };
  if (reset.masks.port_counters != 0) sets(reset.masks.port_counters);
  report_failure(pm::PortCounters::attribute_id);
  if (wanted.clears_details()) {
    sets(counters::all_discard_details);
    sets(counters::all_error_details);
  }
  report_failure(pm::PortCountersExt::attribute_id);
}

void DiagsErrorReport::report_requests(const counters::PmaNode& node, const std::vector<Reset>& sent) const {
  report_request(node.first, fabric.subnet.port(node.first).number);
  if (node.problem) {
    const Lid lid = fabric.subnet.lid(node.first);
    report_failed(session_, *node.problem, lid);
    session_.diags_warning("query_cap_mask", fmt::format("classportinfo query failed on {}, Lid {} port {}",
                                                         diags_node_name(fabric.subnet.node(node.node), fabric.names), lid.value,
                                                         fabric.subnet.port(node.first).number));
  }
  const auto report_resets = [&](const counters::PmaReading* after) {
    for (const Reset& reset : sent) {
      if (reset.after == after) report_reset(node, reset);
    }
  };
  if (node.all) report_reading(node, *node.all);
  for (const counters::PmaReading& reading : node.ports) {
    report_reading(node, reading);
    report_resets(&reading);
  }
  report_resets(nullptr);
}

void DiagsErrorReport::print_node(TextOut& out, const counters::PmaNode& node) const {
  const std::vector<Reset> sent = resets(node);
  report_requests(node, sent);
  node_text(out, node, [&](const counters::PmaReading* reading) { reset_text(out, sent, reading); });
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
