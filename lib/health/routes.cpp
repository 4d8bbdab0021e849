// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/routes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>

#include "health/checks/common.hpp"
#include "mad/error.hpp"
#include "mad/packet.hpp"
#include "routing/tables.hpp"

namespace ib::health {
namespace {

using routing::Fault;
using routing::Network;
using routing::Route;

// The subnet manager has set these routes: a sweep sets them again.
constexpr std::string_view circle_remedy =
    "See {check_routes}; have the subnet manager use a routing engine, or SLs, without credit loops.";

struct FaultWords {
  Fault fault;
  std::string_view of_lids;      ///< begins a sentence that ends with the LIDs
  std::string_view of_requests;  ///< a phrase
};
const FaultWords& words_of(Fault fault) {
  static constexpr FaultWords all[] = {
      {Fault::no_entry, "The switch has no entry for", "the switch has no entry for their LID"},
      {Fault::dead_port, "The switch sends by this port, which has no Active link, to", "the port has no Active link"},
      {Fault::loop, "These switches forward in a circle to", "they circulate"},
      {Fault::wrong_node, "The switch sends by this port, whose other end does not have the LID, to",
       "the port leads to a node that does not have their LID"},
  };
  return *std::ranges::find(all, fault, &FaultWords::fault);
}

std::string lost_text(const routing::Cause& cause) {
  return fmt::format("{} pair{} lost, for example LID {} to", cause.pairs, cause.pairs == 1 ? "" : "s", cause.example.slid.value);
}

std::string detail_of(const routing::Cause& cause) {
  return fmt::format("{} {}: {} LID {}.", words_of(cause.fault).of_lids,
                     cause.lids.size() == 1 ? fmt::format("LID {}", cause.lids.front()) : fmt::format("{} LIDs", cause.lids.size()),
                     lost_text(cause), cause.example.dlid.value);
}

std::string mlids_text(const std::vector<std::uint16_t>& mlids) {
  return mlids.size() == 1 ? fmt::format("MLID {:#x}", mlids.front()) : fmt::format("{} MLIDs from {:#x} on", mlids.size(), mlids.front());
}

std::string group_detail_of(const routing::Cause& cause) {
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
      return fmt::format("Members of {} receive nothing, this one first: {} it.", groups, lost_text(cause));
  }
}

/// Packets circulate between switches, or end at a node without an entry, at a cable, or with `is_of_group` at the port of a member.
Finding finding_of(const Network& network, const routing::Cause& cause, bool is_of_group) {
  Finding finding;
  if (cause.fault == Fault::loop) {
    for (const routing::SwitchIndex at : cause.cycle) finding.ends.push_back({network.switches()[at].node, subnet::none});
    finding.subject = Finding::Subject::place;
  } else {
    Place place = place_of(network.subnet(), network.port_of(cause.port_id));
    if (cause.fault == Fault::no_entry) place.port = subnet::none;
    const bool is_cable = cause.fault == Fault::dead_port || (cause.fault != Fault::no_entry && !is_of_group);
    finding = on_place(network.subnet(), place, is_cable);
  }
  finding.detail = is_of_group ? group_detail_of(cause) : detail_of(cause);
  return finding;
}

/// Channels that wait for each other. `is_found`: with the SLs that packets have; else with some SLs.
Finding circle_of(const Network& network, const routing::CreditLoop& loop, bool is_found) {
  std::vector<PortIndex> ports;
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

const mad::MadError* request_of(const subnet::Failure& failure) {
  const auto* error = dynamic_cast<const mad::MadError*>(failure.error.get());
  return error != nullptr && error->request().size() >= mad::header_size ? error : nullptr;
}

/// Adds a node to those whose requests or answers are lost at the end of a way.
void add_broken_way(const routing::Network& network, const Route& way, bool is_back, NodeIndex node, std::vector<BrokenWay>& ways) {
  const bool is_port = way.fault == Fault::dead_port || way.fault == Fault::wrong_node;
  Place place = way.out != routing::none ? place_of(network.subnet(), network.port_of(way.out))
                                         : Place{network.switches()[way.at].node, subnet::none};
  if (!is_port) place.port = subnet::none;
  const std::string fault(words_of(way.fault).of_requests);
  const auto is_same = [&](const BrokenWay& known) { return known.place == place && known.is_back == is_back && known.fault == fault; };
  auto known = std::ranges::find_if(ways, is_same);
  if (known == ways.end()) known = ways.insert(known, {place, way.fault == Fault::dead_port, is_back, fault, {}});
  if (std::ranges::find(known->nodes, node) == known->nodes.end()) known->nodes.push_back(node);
}

void find_broken_ways(const Input& input, Findings& findings) {
  for (const BrokenWay& way : input.broken_ways) {
    Finding& finding = findings.emplace_back(on_place(input.subnet, way.place, way.is_cable));
    finding.detail = fmt::format("{} {} node{} are lost here, for {}: {}.", way.is_back ? "Answers of" : "Requests to", way.nodes.size(),
                                 way.nodes.size() == 1 ? "" : "s", way.fault, first_names(input.subnet, way.nodes));
  }
}

}  // namespace

async::Task<RouteAnalysis> analyse_routes(const RouteTables& tables, routing::ReadLanes read_lanes, routing::Pause pause) {
  RouteAnalysis analysis;
  const Network& network = tables.network;
  routing::RouteFindings found(tables);
  const routing::AnalysisChoice choice{.unicast_loops = !tables.has_multicast, .multicast = tables.has_multicast};
  const routing::UseRoutes no_further;
  co_await routing::analyse(tables, choice, no_further, read_lanes, pause, found);
  for (const routing::Cause* cause : found.unicast.findings()) analysis.findings.push_back(finding_of(network, *cause, false));
  if (found.multicast) {
    for (const routing::Cause* cause : found.multicast->findings()) analysis.findings.push_back(finding_of(network, *cause, true));
  }
  const routing::CreditLoops& loops = tables.has_multicast ? *found.multicast_loops : *found.loops;
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

bool is_query(const subnet::Failure& failure) {
  const mad::MadError* error = request_of(failure);
  return error != nullptr && mad::HeaderView(error->request()).mgmt_class() == mad::mgmt_class::sa;
}

bool is_silence_by_lid(const subnet::Failure& failure) {
  const mad::MadError* error = request_of(failure);
  if (failure.kind != subnet::Failure::Kind::no_answer || error == nullptr || is_query(failure)) return false;
  return error->path().directed() == nullptr || !mad::is_smp(mad::HeaderView(error->request()).mgmt_class());
}

bool is_cut_off(const Input& input, NodeIndex node) {
  return std::ranges::any_of(input.broken_ways,
                             [node](const BrokenWay& way) { return std::ranges::find(way.nodes, node) != way.nodes.end(); });
}

std::vector<LostRequest> lost_requests(const Input& input) {
  std::set<LostRequest> requests;
  const PortIndex start = input.subnet.start;
  for (const subnet::Failure& failure : input.failures) {
    if (failure.node == subnet::none || failure.beyond || !is_silence_by_lid(failure)) continue;
    const path::IbPath& path = request_of(failure)->path().ib();
    requests.insert({failure.node, path.dlid, path.slid});
  }
  const PortIndex at = own_sm_port(input.subnet);
  if (input.is_sa_silent && at != subnet::none)
    requests.insert({input.subnet.port(at).node, own_sm_lid(input.subnet), input.subnet.lid(start)});
  return {requests.begin(), requests.end()};
}

std::set<TableBlock> judge_ways(const routing::Network& network, const routing::FindOutPort& find, const std::vector<LostRequest>& requests,
                                Input& input) {
  const Subnet& subnet = network.subnet();
  std::set<TableBlock> missing;
  input.broken_ways.clear();
  input.nodes_not_traced.clear();
  for (const LostRequest& request : requests) {
    Route way = routing::follow(network, find, subnet.start, request.dlid);
    const bool is_back = way.fault == Fault::arrives;
    if (is_back) way = routing::follow(network, find, subnet.find_lid(request.dlid), request.slid);
    if (way.fault == Fault::not_read) {
      input.nodes_not_traced.insert(request.node);
      const Lid lid = is_back ? request.slid : request.dlid;
      if (way.at != routing::none && way.out == routing::none)
        missing.emplace(way.at, static_cast<std::uint16_t>(lid.value / routing::LinearTables::per_block));
    } else if (way.fault != Fault::arrives) {
      add_broken_way(network, way, is_back, request.node, input.broken_ways);
    }
  }
  return missing;
}

std::span<const Check> route_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"way-broken", error, needs(), "Requests or their answers are lost here: the nodes that seem silent are not the cause.",
       "Look at the port; if it is fine, or out of use on purpose, have the subnet manager sweep again, which routes around it.",
       find_broken_ways},
      {"routes", error, needs(routes), "Packets do not arrive, or can deadlock.",
       "See {check_routes}; have the subnet manager sweep again.",
       [](const Input& input, Findings& findings) { std::ranges::copy(input.route_findings, std::back_inserter(findings)); }},
  };
  return checks;
}

}  // namespace ib::health
