// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/ways.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"
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

struct WayJudge::BothWays {
  Route there, back;
};

WayJudge::BothWays WayJudge::follow(const LostRequest& request) const {
  const subnet::Subnet& subnet = network_.subnet();
  BothWays ways{routing::follow(network_, find_, subnet.start, request.dlid), {}};
  if (ways.there.fault == Fault::arrives) ways.back = routing::follow(network_, find_, subnet.find_lid(request.dlid), request.slid);
  return ways;
}

std::set<TableBlock> WayJudge::missing(const std::vector<LostRequest>& requests) const {
  std::set<TableBlock> blocks;
  const auto add = [&blocks](const Route& way, Lid lid) {
    if (way.fault == Fault::not_read && way.at != routing::none && way.out == routing::none)
      blocks.emplace(way.at, static_cast<std::uint16_t>(lid.value / routing::LinearTables::per_block));
  };
  for (const LostRequest& request : requests) {
    const BothWays ways = follow(request);
    add(ways.there, request.dlid);
    if (ways.there.fault == Fault::arrives) add(ways.back, request.slid);
  }
  return blocks;
}

void WayJudge::judge(const std::vector<LostRequest>& requests) {
  for (const LostRequest& request : requests) {
    const BothWays ways = follow(request);
    const bool is_back = ways.there.fault == Fault::arrives;
    add(request, is_back ? ways.back : ways.there, is_back);
  }
}

void WayJudge::add(const LostRequest& request, const Route& way, bool is_back) {
  if (way.fault == Fault::arrives) return;
  if (way.fault == Fault::not_read) {
    input_.nodes_not_traced.insert(request.node);
    return;
  }
  Place place = way.out != routing::none ? place_of(network_.subnet(), network_.port_of(way.out))
                                         : Place{network_.switches()[way.at].node, subnet::none};
  const bool is_port = way.fault == Fault::dead_port || way.fault == Fault::wrong_node;
  if (!is_port) place.port = subnet::none;
  const std::string fault(phrase(way.fault));
  const auto is_same = [&](const BrokenWay& known) { return known.place == place && known.is_back == is_back && known.fault == fault; };
  auto known = std::ranges::find_if(input_.broken_ways, is_same);
  if (known == input_.broken_ways.end())
    known = input_.broken_ways.insert(known, {place, way.fault == Fault::dead_port, is_back, fault, {}});
  if (std::ranges::find(known->nodes, request.node) == known->nodes.end()) known->nodes.push_back(request.node);
}

namespace {

void find_broken_ways(const Input& input, Findings& findings) {
  for (const BrokenWay& way : input.broken_ways) {
    Finding& finding = findings.emplace_back(on_place(input.subnet, way.place, way.is_cable));
    finding.detail = fmt::format("{} {} node{} are lost here, for {}: {}.", way.is_back ? "Answers of" : "Requests to", way.nodes.size(),
                                 way.nodes.size() == 1 ? "" : "s", way.fault, first_names(input.subnet, way.nodes));
  }
}

}  // namespace

std::span<const Check> way_checks() {
  using enum Level;
  static constexpr Check checks[] = {
      {"way-broken",
       error,
       {},
       "Requests or their answers are lost here: the nodes that seem silent are not the cause.",
       "Look at the port; if it is fine, or out of use on purpose, have the subnet manager sweep again, which routes around it.",
       find_broken_ways},
  };
  return checks;
}

}  // namespace ib::health
