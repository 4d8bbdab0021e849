// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "health/checks/common.hpp"
#include "mad/error.hpp"
#include "mad/packet.hpp"
#include "routing/tables.hpp"

namespace ib::health {
namespace {

using routing::Fault;
using routing::Route;
using subnet::NodeIndex;
using subnet::PortIndex;

/// The error of a request that was sent; null if there is none.
const mad::MadError* request_of(const subnet::Failure& failure) {
  const auto* error = dynamic_cast<const mad::MadError*>(failure.error.get());
  return error != nullptr && error->request().size() >= mad::header_size ? error : nullptr;
}

std::string_view phrase(Fault fault) {
  switch (fault) {
    case Fault::no_entry:
      return "the switch has no entry for their LID";
    case Fault::loop:
      return "they circulate";
    case Fault::wrong_node:
      return "the port leads to a node that does not have their LID";
    default:
      return "the port has no Active link";
  }
}

/// Adds a node to those whose requests or answers are lost at the end of a way.
void add_broken_way(const routing::Network& network, const Route& way, bool is_back, NodeIndex node, std::vector<BrokenWay>& ways) {
  const bool is_port = way.fault == Fault::dead_port || way.fault == Fault::wrong_node;
  Place place = way.out != routing::none ? place_of(network.subnet(), network.port_of(way.out))
                                         : Place{network.switches()[way.at].node, subnet::none};
  if (!is_port) place.port = subnet::none;
  const std::string fault(phrase(way.fault));
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

bool is_query(const subnet::Failure& failure) {
  const mad::MadError* error = request_of(failure);
  return error != nullptr && mad::HeaderView(error->request()).mgmt_class() == mad::mgmt_class::sa;
}

bool is_silence_by_lid(const subnet::Failure& failure) {
  const mad::MadError* error = request_of(failure);
  if (failure.kind != subnet::Failure::Kind::no_answer || error == nullptr || is_query(failure)) return false;
  return error->path().directed() == nullptr || !mad::is_smp(mad::HeaderView(error->request()).mgmt_class());
}

bool is_lost_on_its_way(const Input& input, const subnet::Failure& failure) {
  return is_silence_by_lid(failure) && is_cut_off(input, failure.node);
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
  const subnet::Subnet& subnet = network.subnet();
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

std::span<const Check> way_checks() {
  using enum Level;
  static constexpr Check checks[] = {
      {"way-broken", error, needs(), "Requests or their answers are lost here: the nodes that seem silent are not the cause.",
       "Look at the port; if it is fine, or out of use on purpose, have the subnet manager sweep again, which routes around it.",
       find_broken_ways},
  };
  return checks;
}

}  // namespace ib::health
