// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What infiniband-diags says on stderr of requests that failed: libibmad's line, and its own of whom and what it asked.
#include <fmt/format.h>

#include <algorithm>

#include "iba-gen/mad.hpp"
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
void tell_request(const Session& session, const counters::PmaProblem& problem, Lid lid) {
  if (problem.error) {
    session.tell_failure(*problem.error);
  } else {
    session.diags_warning("mad_rpc", fmt::format("_do_madrpc failed; dport (Lid {})", lid.value));
  }
}

}  // namespace

void ErrorReport::tell_problem(const Session& session, const counters::PmaNode& node, const counters::PmaReading& reading,
                               const counters::PmaProblem& problem) const {
  const Lid lid = fabric.subnet.lid(reading.port);
  if (problem.set) return tell_clear(session, node, problem, reading.port, reading.select);
  tell_request(session, problem, lid);
  const std::string_view function = is_details(problem.attribute) ? "query_and_dump"
                                    : wanted.data_only            ? "print_data_cnts"
                                                                  : "print_errors";
  session.diags_warning(function, fmt::format("{} query failed on {}, Lid {} port {}", word_for(problem.attribute),
                                              diags_node_name(fabric.subnet.node(node.node), fabric.names), lid.value, reading.select));
}

void ErrorReport::tell_clear(const Session& session, const counters::PmaNode& node, const counters::PmaProblem& problem,
                             subnet::PortIndex port, unsigned select) const {
  const Lid lid = fabric.subnet.lid(port);
  tell_request(session, problem, lid);
  const std::string who = diags_node_name(fabric.subnet.node(node.node), fabric.names);
  const bool extended = problem.attribute == pm::PortCountersExt::attribute_id;
  tell(session.world().err, extended ? fmt::format("Failed to reset extended data counters {}, Lid {} port {}\n", who, lid.value, select)
                                     : fmt::format("Failed to reset errors {} port {}\n", who, select));
}

void ErrorReport::tell_problems(const Session& session, const counters::PmaNode& node) const {
  if (node.problem) {
    const Lid lid = fabric.subnet.lid(node.first);
    tell_request(session, *node.problem, lid);
    session.diags_warning("query_cap_mask", fmt::format("classportinfo query failed on {}, Lid {} port {}",
                                                        diags_node_name(fabric.subnet.node(node.node), fabric.names), lid.value,
                                                        fabric.subnet.port(node.first).number));
  }
  const auto tell_all = [&](const counters::PmaReading& reading) {
    for (const counters::PmaProblem& problem : reading.problems) tell_problem(session, node, reading, problem);
    // What could not be read was not cleared either.
    if (wanted.clears() && !reading.known() && !reading.problems.empty()) {
      counters::PmaProblem clear = reading.problems.back();
      clear.attribute = pm::PortCounters::attribute_id;
      tell_clear(session, node, clear, reading.port, reading.select);
    }
  };
  if (node.all) tell_all(*node.all);
  std::ranges::for_each(node.ports, tell_all);
  for (const counters::PmaProblem& problem : node.clear_problems) tell_clear(session, node, problem, node.first, subnet::all_ports);
}

}  // namespace ib::tools::ibqueryerrors
