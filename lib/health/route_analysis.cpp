// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/route_analysis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "health/checks/check_functions.hpp"
#include "routing/multicast_channels.hpp"
#include "routing/unicast.hpp"
#include "routing/ways.hpp"

namespace ib::health {
namespace {

using routing::Fault;
using routing::GroupFault;
using routing::Network;

// The subnet manager has set these routes: a sweep sets them again.
constexpr std::string_view circle_remedy =
    "See ibtool check_routes; have the subnet manager use a routing engine, or SLs, without such circles.";

std::string_view what_happens(Fault fault) {
  switch (fault) {
    case Fault::no_entry:
      return "The switch has no entry for";
    case Fault::dead_port:
      return "The switch sends by this port, which has no Active link, to";
    case Fault::loop:
      return "These switches send in a circle to";
    default:
      return "The switch sends by this port, whose other end does not have the LID, to";
  }
}

RouteFault fault_of(const Network& network, const routing::Cause& cause) {
  RouteFault fault;
  const subnet::Subnet& subnet = network.subnet();
  if (cause.fault == Fault::loop) {
    for (const routing::SwitchIndex at : cause.cycle) fault.ends.push_back({network.switches()[at].node, subnet::none});
  } else {
    const Place port = place_of(subnet, network.port_of(cause.place));
    fault.is_port = cause.fault != Fault::no_entry;
    fault.ends.push_back(fault.is_port ? port : Place{port.node, subnet::none});
  }
  fault.detail = fmt::format("{} {}: {} pair{} lost, for example LID {} to LID {}.", what_happens(cause.fault),
                             cause.lids.size() == 1 ? fmt::format("LID {}", cause.lids.front()) : fmt::format("{} LIDs", cause.lids.size()),
                             cause.pairs, cause.pairs == 1 ? "" : "s", cause.example.slid.value, cause.example.dlid.value);
  return fault;
}

std::string mlids_text(const std::vector<std::uint16_t>& mlids) {
  return mlids.size() == 1 ? fmt::format("MLID {:#x}", mlids.front()) : fmt::format("{} MLIDs from {:#x} on", mlids.size(), mlids.front());
}

std::string detail_of(const routing::GroupCause& cause) {
  const std::string groups = mlids_text(cause.mlids);
  switch (cause.fault) {
    case GroupFault::loop:
      return fmt::format("The entries of these switches for {} make no tree: packets arrive twice, or go round for ever.", groups);
    case GroupFault::dead_port:
      return fmt::format("The switch sends by this port, which has no Active link, to {}.", groups);
    case GroupFault::no_entry:
      if (cause.missing_port)
        return fmt::format("An entry of the switch for {} names port {}, which the switch does not have.", groups, *cause.missing_port);
      return fmt::format("Packets to {} come to the switch, which has no entry for them.", groups);
    default:
      return fmt::format("Members of {} get nothing, this one first: {} pair{} lost, for example LID {} to it.", groups, cause.pairs,
                         cause.pairs == 1 ? "" : "s", cause.example ? cause.example->slid.value : 0);
  }
}

RouteFault fault_of(const Network& network, const routing::GroupCause& cause) {
  RouteFault fault;
  fault.detail = detail_of(cause);
  if (cause.fault == GroupFault::loop) {
    for (const routing::SwitchIndex at : cause.cycle) fault.ends.push_back({network.switches()[at].node, subnet::none});
    return fault;
  }
  const Place port = place_of(network.subnet(), network.port_of(cause.place));
  fault.is_port = cause.fault == GroupFault::dead_port;
  fault.ends.push_back(cause.fault == GroupFault::no_entry ? Place{port.node, subnet::none} : port);
  return fault;
}

/// Channels that wait for each other. `is_found`: with the SLs that packets have; else with some SLs.
RouteFault circle_of(const Network& network, const routing::CreditLoop& loop, bool is_found) {
  RouteFault fault;
  fault.is_sure = is_found;
  fault.is_circle = true;
  fault.needs_aggregation = loop.needs_aggregation;
  for (const routing::LoopChannel& channel : loop.cycle) fault.ends.push_back(place_of(network.subnet(), network.port_of(channel.place)));
  const routing::Pair& pair = loop.witnesses.front();
  const std::string to = pair.dlid.is_multicast() ? fmt::format("MLID {:#x}", pair.dlid.value) : fmt::format("LID {}", pair.dlid.value);
  fault.detail = fmt::format("Packets can wait for each other in a circle at these {} ports{}, for example LID {} to {}.",
                             loop.cycle.size(), is_found ? "" : ", if they use SLs that are not known", pair.slid.value, to);
  if (loop.needs_aggregation) fault.detail += " Without the routes between Aggregation Nodes there would be no circle.";
  return fault;
}

}  // namespace

async::Task<RouteAnalysis> analyse_routes(const RouteTables& tables, routing::ReadLanes read_lanes, routing::Pause pause) {
  RouteAnalysis analysis;
  const Network& network = tables.network;
  const std::vector<routing::DestinationLid> destinations = network.destinations(false);
  routing::Ways ways(network, tables.linear, false);
  routing::Unicast unicast(network, destinations);
  routing::Channels channels(network);
  const routing::UseWays use = [&](const routing::Ways& to, std::size_t) {
    unicast.add(to);
    channels.add(to);
  };
  co_await routing::each_destination(ways, destinations, false, use, pause);
  for (const routing::Cause* cause : unicast.findings()) analysis.faults.push_back(fault_of(network, *cause));
  routing::Multicast multicast(network, tables.multicast, [&tables](Lid mlid) { return tables.groups.find(mlid); });
  if (tables.has_multicast) {
    const std::vector<Lid> groups = groups_in_use(tables.multicast, tables.groups);
    const std::function<void(Lid)> judge = [&multicast](Lid mlid) { multicast.add(mlid); };
    co_await routing::each_group(groups, judge, pause);
  }
  for (const routing::GroupCause* cause : multicast.findings()) analysis.faults.push_back(fault_of(network, *cause));
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
    RouteFault circle = circle_of(network, loop, is_found);
    const auto has_ports = [&circle](const RouteFault& known) { return known.ends == circle.ends; };
    if (std::ranges::none_of(analysis.faults, has_ports)) analysis.faults.push_back(std::move(circle));  // each port on several VLs
  }
  co_return analysis;
}

void find_route_faults(const Input& input, Findings& findings) {
  for (const RouteFault& fault : input.route_faults) {
    Finding finding;
    if (fault.is_port) {
      finding = on_cable(input.subnet, fault.ends.front().port);
    } else {
      finding.subject = Finding::Subject::place;
      finding.ends = fault.ends;
    }
    if (fault.is_circle) finding.remedy = circle_remedy;
    if (fault.needs_aggregation) finding.level = fault.is_sure ? Level::warning : Level::info;
    if (!fault.is_sure) {
      if (!finding.level) finding.level = Level::warning;
      finding.confidence = Confidence::possible;
    }
    finding.detail = fault.detail;
    findings.push_back(std::move(finding));
  }
}

}  // namespace ib::health
