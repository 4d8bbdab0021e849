// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which nodes infiniband-diags' ibqueryerrors checks, what it prints on stderr meanwhile, and its words for names and GUIDs.
#include <fmt/format.h>

#include <tuple>

#include "iba-gen/pm.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"
#include "tools/ibqueryerrors/ibqueryerrors.hpp"
#include "tools/shared/diags_fabric.hpp"
#include "tools/shared/fabric_source.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools::ibqueryerrors {

using subnet::NodeIndex;

namespace {

/// How its source calls an attribute.
std::string_view word_for(std::uint16_t attribute) {
  if (attribute == pm::PortXmitDiscardDetails::attribute_id) return "PortXmitDiscardDetails";
  if (attribute == pm::PortRcvErrorDetails::attribute_id) return "PortRcvErrorDetails";
  return attribute == pm::PortCountersExt::attribute_id ? "IB_GSI_PORT_COUNTERS_EXT" : "IB_GSI_PORT_COUNTERS";
}

bool is_details(std::uint16_t attribute) {
  return attribute == pm::PortXmitDiscardDetails::attribute_id || attribute == pm::PortRcvErrorDetails::attribute_id;
}

}  // namespace

void DiagsNodes::prepare(Stack& stack) {
  if (route && discovery.load_cache) throw DiagsExit(diags_failed, "Cannot specify cache and direct route path\n");
  target_.word = route ? route : guid;
  try {
    std::ignore = stack.lowest_transactor();
  } catch (const DiagsFailure&) {
    throw DiagsFailure(fmt::format("Failed to open port; {}\n", diags_port(stack.host().options())));
  }
}

async::Task<std::vector<NodeIndex>> DiagsNodes::find(Session& session, LibibnetdiscFabric& fabric) {
  NodeIndex node = subnet::none;
  bool found = false;
  if (target_.given() && !discovery.load_cache) {
    try {
      if (route) {
        node = co_await discover_at_route(session, fabric);
      } else {
        const DiscoveryOptions options = libibnetdisc_discovery(session.host());
        node = co_await discover_around(session, options, target_, fabric);
      }
      libibnetdisc_failures(session.host(), fabric, false);
      found = true;
    } catch (const DiagsFailure&) {
      warn(session.host().world(), "main", fmt::format("Failed to resolve {}; attempting full scan", target_.text()));
    } catch (const mad::MadError& error) {
      session.manners().report_failure(error);
      found = true;
    }
  }
  if (!found) {
    try {
      co_await discover_as_libibnetdisc(session, discovery, fabric);
    } catch (const CannotLoad&) {
      throw DiagsExit(diags_failed, "loading cached fabric failed\n");
    } catch (const mad::MadError&) {
      throw DiagsExit(diags_failed, "discover failed\n");
    }
  }
  if (route && node == subnet::none) throw DiagsExit(0, "Failed to query local Node Info\n");
  if (!target_.given()) co_return wanted.wanted_of(fabric, fabric.order);
  named_ = node;
  if (!route) {  // a node that a GUID names is looked for in what was discovered
    const subnet::PortIndex port = fabric.subnet.find_port(Guid{c_number(*guid)});
    named_ = port == subnet::none ? port : fabric.subnet.port(port).node;
  }
  std::vector<NodeIndex> nodes;
  if (named_ != subnet::none) nodes.push_back(named_);
  if (nodes.empty()) print_on_stderr(session.host().world(), fmt::format("Failed to find node: {}\n", target_.text()));
  co_return wanted.wanted_of(fabric, std::move(nodes));
}

/// The node of -D, with those ports of it that libibnetdisc finds. A directed route to a host ends there: for the other end of its link,
/// and for its other ports, the discovery begins at the node before it.
async::Task<NodeIndex> DiagsNodes::discover_at_route(Session& session, LibibnetdiscFabric& fabric) const {
  const Destination destination = co_await session.manners().smp_node(target_);
  const mad::Result<smp::NodeInfo> info = co_await session.stack().lowest_transactor().try_subn_get<smp::NodeInfo>(destination.path);
  if (!info) info.error().raise();
  path::IbDrPath start = *destination.path.directed();
  subnet::KnownNode known{*info};
  if (begins_before(session.host(), *info, start.hops)) known.beyond = start.retreat();
  co_await discover_part_as_libibnetdisc(session, start, 1, fabric, known);
  NodeIndex node = fabric.subnet.find_node(info->node_guid);
  if (node == subnet::none && known.beyond != 0) {
    fabric = LibibnetdiscFabric();
    co_await discover_part_as_libibnetdisc(session, destination.path, 1, fabric, subnet::KnownNode{*info});
    node = fabric.subnet.find_node(info->node_guid);
  }
  if (start.hops == 0 && known.beyond == 0) co_await read_link_back(session.stack(), fabric, start, 1);
  co_return node;
}

/// Whether the discovery begins at the node before the one with that NodeInfo, which a route of that length leads to.
bool DiagsNodes::begins_before(Host& host, const smp::NodeInfo& info, unsigned hops) const {
  if (info.node_type == smp::NodeType::switch_ || hops == 0) return false;
  if (wanted.report_port) return true;
  if (info.num_ports < 2 || hops < 2) return false;
  // From another port of this host libibnetdisc does not find the port that the route leaves by.
  return hops > 2 || info.node_guid != host.end_port().device->node_guid || info.local_port_num == host.end_port().number;
}

async::Task<bool> DiagsNodes::find_paths(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric,
                                         const std::vector<NodeIndex>& nodes) const {
  if (stack.host().options().skip_sl) co_return true;
  if (!target_.given()) {
    co_await stack.read_service_levels(paths);
  } else if (const NodeIndex node = route ? named_ : nodes.empty() ? subnet::none : nodes.front(); node != subnet::none) {
    PathQuery query;
    query.of_this_port = query.until_failure = route.has_value();
    query.plain_if_none = true;  // it queries by a table, which may be empty
    if (guid) {
      const GidPrefix prefix = stack.host().end_port().default_gid().prefix();
      query.known = Gid::from(prefix.value != 0 ? prefix : link_local_prefix, Guid{c_number(*guid)});
    }
    co_await stack.prepare_sa();
    co_await find_paths_to(stack, paths, fabric, node, query);
  }
  if (paths.why_sl_0().empty() || paths.has_service_levels() || guid || (route && named_ == subnet::none)) co_return true;
  if (stack.transactor().sa_path().ib().dlid == Lid{}) {
    warn(stack.host().world(), "sa_get_handle", fmt::format("No SM/SA found on port {}", diags_port(stack.host().options())));
  } else {
    print_on_stderr(stack.host().world(), fmt::format("Query SA failed: {}; sa call path_query failed\n", paths.why_sl_0()));
  }
  co_return false;
}

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
