// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/route_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "health/checks/common.hpp"
#include "routing/credit_loops.hpp"
#include "routing/route_tree.hpp"
#include "routing/unicast.hpp"

namespace ib::health {
namespace {

using routing::Fault;
using routing::Network;

// The subnet manager has set these routes: a sweep sets them again.
constexpr std::string_view circle_remedy =
    "See {check_routes}; have the subnet manager use a routing engine, or SLs, without credit loops.";

std::string_view what_happens(Fault fault) {
  switch (fault) {
    case Fault::no_entry:
      return "The switch has no entry for";
    case Fault::dead_port:
      return "The switch sends by this port, which has no Active link, to";
    case Fault::loop:
      return "These switches forward in a circle to";
    default:
      return "The switch sends by this port, whose other end does not have the LID, to";
  }
}

/// A finding of the cable at a port, of the port, or of its node.
enum class At { cable, port, node };
Finding finding_at(const subnet::Subnet& subnet, subnet::PortIndex port, At at) {
  Place place = place_of(subnet, port);
  if (at == At::node) place.port = subnet::none;
  return on_place(subnet, place, at == At::cable);
}

Finding on_switches(const Network& network, const std::vector<routing::SwitchIndex>& switches) {
  std::vector<subnet::NodeIndex> nodes;
  for (const routing::SwitchIndex at : switches) nodes.push_back(network.switches()[at].node);
  return on_nodes(nodes);
}

Finding finding_of(const Network& network, const routing::Cause& cause) {
  const At at = cause.fault == Fault::no_entry ? At::node : At::cable;
  Finding finding =
      cause.fault == Fault::loop ? on_switches(network, cause.cycle) : finding_at(network.subnet(), network.port_of(cause.port_id), at);
  finding.detail =
      fmt::format("{} {}: {} pair{} lost, for example LID {} to LID {}.", what_happens(cause.fault),
                  cause.lids.size() == 1 ? fmt::format("LID {}", cause.lids.front()) : fmt::format("{} LIDs", cause.lids.size()),
                  cause.pairs, cause.pairs == 1 ? "" : "s", cause.example.slid.value, cause.example.dlid.value);
  return finding;
}

std::string mlids_text(const std::vector<std::uint16_t>& mlids) {
  return mlids.size() == 1 ? fmt::format("MLID {:#x}", mlids.front()) : fmt::format("{} MLIDs from {:#x} on", mlids.size(), mlids.front());
}

std::string detail_of(const routing::GroupCause& cause) {
  const std::string groups = mlids_text(cause.lids);
  switch (cause.fault) {
    case Fault::loop:
      return fmt::format("The entries of these switches for {} form no tree: packets arrive twice, or circulate for ever.", groups);
    case Fault::dead_port:
      return fmt::format("The switch sends by this port, which has no Active link, to {}.", groups);
    case Fault::no_entry:
      if (cause.missing_port)
        return fmt::format("An entry of the switch for {} names port {}, which the switch does not have.", groups, *cause.missing_port);
      return fmt::format("Packets to {} come to the switch, which has no entry for them.", groups);
    default:
      return fmt::format("Members of {} receive nothing, this one first: {} pair{} lost, for example LID {} to it.", groups, cause.pairs,
                         cause.pairs == 1 ? "" : "s", cause.example.slid.value);
  }
}

Finding finding_of(const Network& network, const routing::GroupCause& cause) {
  const At at = cause.fault == Fault::no_entry ? At::node : cause.fault == Fault::dead_port ? At::cable : At::port;
  Finding finding =
      cause.fault == Fault::loop ? on_switches(network, cause.cycle) : finding_at(network.subnet(), network.port_of(cause.port_id), at);
  finding.detail = detail_of(cause);
  return finding;
}

/// Channels that wait for each other. `is_found`: with the SLs that packets have; else with some SLs.
Finding circle_of(const Network& network, const routing::CreditLoop& loop, bool is_found) {
  std::vector<subnet::PortIndex> ports;
  for (const routing::LoopChannel& channel : loop.cycle) ports.push_back(network.port_of(channel.port_id));
  Finding circle = on_ports(network.subnet(), ports);
  circle.remedy = circle_remedy;
  if (loop.needs_aggregation) circle.level = is_found ? Level::warning : Level::info;
  if (!is_found) {
    circle.level = circle.level.value_or(Level::warning);
    circle.confidence = Confidence::possible;
  }
  const routing::Pair& pair = loop.witnesses.front();
  const std::string to = pair.dlid.is_multicast() ? fmt::format("MLID {:#x}", pair.dlid.value) : fmt::format("LID {}", pair.dlid.value);
  circle.detail = fmt::format("Packets can wait for each other in a circle at these {} ports{}, for example LID {} to {}.",
                              loop.cycle.size(), is_found ? "" : ", if they use SLs that are not known", pair.slid.value, to);
  if (loop.needs_aggregation) circle.add_sentence("Without the routes between Aggregation Nodes there would be no circle.");
  return circle;
}

}  // namespace

async::Task<RouteAnalysis> analyse_routes(const RouteTables& tables, routing::ReadLanes read_lanes, routing::Pause pause) {
  RouteAnalysis analysis;
  const Network& network = tables.network;
  const std::vector<routing::DestinationLid> destinations = network.destinations(false);
  routing::RouteTree ways(network, tables.linear, false);
  routing::Unicast unicast(network, destinations);
  routing::Channels channels(network);
  const routing::UseRoutes use = [&](const routing::RouteTree& to, std::size_t) {
    unicast.add(to);
    channels.add(to);
  };
  co_await routing::each_destination(ways, destinations, false, use, pause);
  for (const routing::Cause* cause : unicast.findings()) analysis.findings.push_back(finding_of(network, *cause));
  routing::Multicast multicast(network, tables.multicast, [&tables](Lid mlid) { return tables.groups.find(mlid); });
  if (tables.has_multicast) {
    const std::vector<Lid> groups = groups_in_use(tables.multicast, tables.groups);
    const std::function<void(Lid)> judge = [&multicast](Lid mlid) { multicast.add(mlid); };
    co_await routing::each_group(groups, judge, pause);
  }
  for (const routing::GroupCause* cause : multicast.findings()) analysis.findings.push_back(finding_of(network, *cause));
  routing::MulticastChannels trees(network, tables.multicast, multicast);
  trees.sls_of = [&tables](Lid mlid) { return tables.groups.sls_of(mlid); };
  const std::function<void(Lid)> add = [&trees, &channels](Lid mlid) { trees.add_to(channels, mlid); };
  co_await routing::each_group(trees.groups(), add, pause);
  routing::LoopSearch search(tables.linear, destinations, false, channels, &trees);
  const routing::ServiceLevels levels;
  const bool is_unread = !unicast.not_read().empty() || !multicast.not_read().empty();
  const routing::CreditLoops loops = co_await search.judge(is_unread, read_lanes, tables.lanes, levels, pause);
  analysis.lacks_lanes = loops.verdict == routing::Verdict::not_read && !loops.loops.empty();
  if (analysis.lacks_lanes) co_return analysis;
  const bool is_found = loops.verdict == routing::Verdict::found;
  for (const routing::CreditLoop& loop : loops.loops) {
    Finding circle = circle_of(network, loop, is_found);
    const auto is_same = [&circle](const Finding& known) { return known.subject == circle.subject && known.ends == circle.ends; };
    if (std::ranges::none_of(analysis.findings, is_same)) analysis.findings.push_back(std::move(circle));  // each port on several VLs
  }
  co_return analysis;
}

std::span<const Check> route_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"routes", error, needs(routes), "Packets do not arrive, or can deadlock.",
       "See {check_routes}; have the subnet manager sweep again.",
       [](const Input& input, Findings& findings) { std::ranges::copy(input.route_findings, std::back_inserter(findings)); }},
  };
  return checks;
}

}  // namespace ib::health
