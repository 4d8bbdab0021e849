// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/route_analysis.hpp"

#include <fmt/format.h>

#include <utility>

#include "health/check_functions.hpp"

namespace ib::health {
namespace {

using routing::Fault;
using routing::Network;

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

RouteFault circle_of(const Network& network, const routing::CreditLoop& loop) {
  RouteFault fault;
  fault.is_sure = false;
  for (const routing::LoopChannel& channel : loop.cycle) fault.ends.push_back(place_of(network.subnet(), network.port_of(channel.place)));
  fault.detail =
      fmt::format("{} ports can wait for each other in a circle, if their packets use the same virtual lane.", loop.cycle.size());
  return fault;
}

}  // namespace

async::Task<std::vector<RouteFault>> analyse_routes(const Network& network, const routing::LinearTables& tables, routing::Pause pause) {
  const std::vector<routing::DestinationLid> destinations = network.destinations(false);
  routing::Ways ways(network, tables, false);
  routing::Unicast unicast(network, destinations);
  routing::Channels channels(network);
  const routing::UseWays use = [&](const routing::Ways& to, std::size_t) {
    unicast.add(to);
    channels.add(to);
  };
  co_await routing::each_destination(ways, destinations, false, use, pause);
  std::vector<RouteFault> faults;
  for (const routing::Cause* cause : unicast.findings()) faults.push_back(fault_of(network, *cause));
  routing::LoopSearch search(tables, destinations, false, channels, nullptr);
  const routing::ServiceLevels levels;
  const bool is_unread = !unicast.not_read().empty();
  const routing::CreditLoops loops = co_await search.judge(is_unread, nullptr, levels, pause);
  for (const routing::CreditLoop& loop : loops.loops) faults.push_back(circle_of(network, loop));
  co_return faults;
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
    if (!fault.is_sure) {
      finding.level = Level::info;
      finding.confidence = Confidence::possible;
    }
    finding.detail = fault.detail;
    findings.push_back(std::move(finding));
  }
}

}  // namespace ib::health
