// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/checks/regions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/escape.hpp"
#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"
#include "health/finding_text.hpp"
#include "iba/text.hpp"

namespace ib::health {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::PortIndex;
using subnet::Subnet;

/// Follows the links of nodes that are gone to others that are gone.
class RegionSearch {
 public:
  explicit RegionSearch(const Input& input) : was_(input.baseline->subnet) {
    for (const NodeIndex node : input.baseline->changes.nodes_gone) open_.emplace(node, true);
  }

  Region take(NodeIndex first) {
    Region region;
    std::vector<NodeIndex> from{first};
    open_.at(first) = false;
    while (!from.empty()) {
      const NodeIndex node = from.back();
      from.pop_back();
      region.nodes.push_back(node);
      for (const subnet::Port& port : was_.ports_of(was_.node(node))) {
        if (port.peer == subnet::none) continue;
        const auto other = open_.find(was_.port(port.peer).node);
        if (other == open_.end()) region.boundary.push_back(was_.port(port.peer).peer);
        if (other != open_.end() && std::exchange(other->second, false)) from.push_back(other->first);
      }
    }
    const auto by_place = [this](PortIndex at) { return place_order(was_, at); };
    const auto by_kind = [this](NodeIndex at) { return std::pair(was_.node(at).kind() != NodeKind::sw, was_.node(at).guid()); };
    std::ranges::sort(region.boundary, {}, by_place);
    std::ranges::sort(region.nodes, {}, by_kind);
    return region;
  }
  bool is_open(NodeIndex node) const { return open_.at(node); }

 private:
  const Subnet& was_;
  std::map<NodeIndex, bool> open_;  // the nodes that are gone, and whether they are in no region yet
};

bool is_port(const Place& place) { return !place.is_before && place.port != subnet::none; }

/// Whether a port that is still there has no link any more.
bool is_down(const Input& input, const Place& near) {
  return is_port(near) && input.subnet.port(near.port).peer == subnet::none && !input.subnet.port(near.port).is_link_up();
}

/// Whether the link at a port is up, and its other end is in no model.
bool is_silent(const Input& input, const Place& near) {
  return is_port(near) && input.subnet.port(near.port).peer == subnet::none && input.subnet.port(near.port).is_link_up();
}

/// The finding of a part with several nodes: its boundary's cables whose near ends are down. Where these are none, the first one whose near
/// end is up, and silent; else the first node.
Finding finding_of(const Input& input, const Region& region) {
  Finding finding;
  finding.confidence = sure_of_absence(input);
  std::optional<Place> silent;
  for (const PortIndex far : region.boundary) {
    const Place near = place_now(input, input.baseline->subnet.port(far).peer);
    if (is_port(near)) finding.lost.push_back(near);
    if (is_silent(input, near) && !silent) silent = near;
    if (!is_down(input, near)) continue;
    finding.ends.push_back(near);
    finding.ends.push_back({input.baseline->subnet.port(far).node, far, true});
  }
  const std::string contents = contents_of(input.baseline->subnet, region);
  const std::size_t cables = finding.ends.size() / 2;
  if (cables > 0) {
    finding.subject = Finding::Subject::cables;
    finding.detail = fmt::format("{} down, and with {} {}.", cables == 1 ? "The cable is" : fmt::format("All {} cables are", cables),
                                 cables == 1 ? "it" : "them", contents);
  } else if (silent) {
    finding.ends.push_back(*silent);
    finding.detail = fmt::format("Behind it were {}.", contents);
  } else {
    finding.subject = Finding::Subject::place;
    finding.ends.push_back({region.nodes.front(), subnet::none, true});
    finding.detail = fmt::format("No cable that led there is seen as down. Missing: {}.", contents);
  }
  return finding;
}

/// A node of the baseline that is linked to a silent port is not gone: whoever does not answer there is probably this node. Adds to the
/// finding of this port who it was.
Finding silence_of(const Input& input, const Region& region, const Place& near) {
  Finding finding;
  finding.ends.push_back(near);
  finding.lost.push_back(near);
  finding.confidence = Confidence::possible;
  finding.detail = fmt::format("In the baseline this is {}.", contents_of(input.baseline->subnet, region));
  return finding;
}

}  // namespace

Place place_now(const Input& input, PortIndex reference) {
  const PortIndex now = input.baseline->changes.pairs.port_now(reference);
  if (now == subnet::none) return {input.baseline->subnet.port(reference).node, reference, true};
  return {input.subnet.port(now).node, now};
}

std::vector<FormerCable> silent_cables(const Input& input, const Region& region) {
  std::vector<FormerCable> cables;
  for (const PortIndex far : region.boundary) {
    const Place near = place_now(input, input.baseline->subnet.port(far).peer);
    if (is_silent(input, near)) cables.push_back({near, far});
  }
  return cables;
}

std::string contents_of(const Subnet& was, const Region& region) {
  if (region.nodes.size() == 1) {
    const subnet::Node& node = was.node(region.nodes.front());
    return fmt::format("{} {}", in_quotes(node.description()), to_text(node.guid()));
  }
  const auto is_switch = [&was](NodeIndex at) { return was.node(at).kind() == NodeKind::sw; };
  const auto switches = static_cast<std::size_t>(std::ranges::count_if(region.nodes, is_switch));
  const std::size_t others = region.nodes.size() - switches;
  std::string text = switches == 0 ? "" : count_text(switches, "switch", "switches");
  if (others > 0) text += (text.empty() ? "" : " and ") + count_text(others, "adapter", "adapters");
  return text + ": " + first_names(was, region.nodes);
}

Confidence sure_of_absence(const Input& input) {
  const bool is_silent =
      std::ranges::any_of(input.failures, [](const subnet::Failure& failure) { return failure.kind == subnet::Failure::Kind::no_answer; });
  return is_silent ? Confidence::possible : Confidence::sure;
}

std::vector<Region> gone_regions(const Input& input) {
  RegionSearch search(input);
  std::vector<Region> regions;
  for (const NodeIndex node : input.baseline->changes.nodes_gone) {
    if (search.is_open(node)) regions.push_back(search.take(node));
  }
  return regions;
}

namespace {

void find_gone_links(const Input& input, Findings& findings) {
  const Subnet& was = input.baseline->subnet;
  for (const PortIndex at : input.baseline->changes.links_gone) {
    Finding& finding = findings.emplace_back();
    finding.ends = {place_now(input, at), place_now(input, was.port(at).peer)};
    finding.lost = finding.ends;
    finding.confidence = sure_of_absence(input);
  }
}

void find_moved_links(const Input& input, Findings& findings) {
  const Subnet& was = input.baseline->subnet;
  for (const subnet::IndexPair& end : input.baseline->changes.moved) {
    Finding& finding = findings.emplace_back(on_cable(input.subnet, end.current));
    finding.lost = {place_now(input, end.reference), place_now(input, was.port(end.reference).peer)};
    finding.detail =
        fmt::format("It led from {} to {} before.", port_text(was, end.reference), port_text(was, was.port(end.reference).peer));
  }
}

void find_slower_links(const Input& input, Findings& findings) {
  for (const subnet::RateDifference& rate : input.baseline->changes.rates) {
    Finding finding = on_cable(input.subnet, rate.port);
    const auto add = [&finding](std::string_view field, const Value& is, const Value& was) {
      finding.evidence.push_back(field_value(field, 0, is));
      finding.evidence.back().before = was;
    };
    if (rate.current.lanes < rate.reference.lanes) add("linkWidthActive", width_value(rate.current), width_value(rate.reference));
    if (rate.current.speed < rate.reference.speed) add("linkSpeedActive", speed_value(rate.current), speed_value(rate.reference));
    if (!finding.evidence.empty() && rate.current.data_mbps() < rate.reference.data_mbps()) findings.push_back(std::move(finding));
  }
}

void find_gone_regions(const Input& input, Findings& findings) {
  for (const Region& region : gone_regions(input)) {
    if (region.nodes.size() == 1) continue;  // find_gone_nodes()
    Finding finding = finding_of(input, region);
    const bool is_silent_at_all = finding.subject == Finding::Subject::cable && silent_cables(input, region).size() > 1;
    if (!is_silent_at_all) findings.push_back(std::move(finding));  // else it is that of find_silent_nodes()
  }
}

void find_gone_nodes(const Input& input, Findings& findings) {
  const Subnet& was = input.baseline->subnet;
  for (const Region& region : gone_regions(input)) {
    if (region.nodes.size() > 1) continue;  // find_gone_regions()
    const std::vector<FormerCable> silent = silent_cables(input, region);
    if (silent.size() == 1) findings.push_back(silence_of(input, region, silent.front().near));
    if (!silent.empty()) continue;  // several are one finding of find_silent_nodes()
    Finding& finding = findings.emplace_back(on_node(region.nodes.front()));
    finding.ends.front().is_before = true;
    finding.confidence = sure_of_absence(input);
    for (const PortIndex far : region.boundary) {
      const PortIndex peer = was.port(far).peer;
      const Place near = place_now(input, peer);
      if (finding.detail.empty() && !near.is_before)
        finding.detail = fmt::format("Its port {} was linked to {}.", was.port(far).number, port_text(was, peer));
      finding.lost.push_back(near);
    }
  }
}

}  // namespace

std::span<const Check> cable_change_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
      {"link-gone", error, needs(baseline), "Both nodes are there, but the cable between them is gone, or its link does not come up.",
       "Check that it is plugged in at both ends; if it is, replace it.", find_gone_links},
      {"link-new", info, needs(baseline), "The baseline does not have this cable.",
       "Nothing if this is intended; then take a new baseline.",
       [](const Input& input, Findings& findings) {
         for (const PortIndex at : input.baseline->changes.links_new) findings.push_back(on_cable(input.subnet, at));
       }},
      {"link-moved", error, needs(baseline),
       "The cable leads to another port than before: tables and plans that name ports are out of date.",
       "Plug it in where it was, or take a new baseline if it was moved on purpose.", find_moved_links},
      {"link-slower", error, needs(baseline), "The link was faster before.",
       "Unplug the cable, clean it and plug it in again; if the link stays slow, check the enabled widths and speeds.", find_slower_links},
      {"region-gone", error, needs(baseline), "A part of the fabric is cut off: nothing behind these cables can be reached any more.",
       "Look at both ends of the cables, and at power where they lead to; take a new baseline if the part was removed on purpose.",
       find_gone_regions},
      {"node-gone", error, needs(baseline), "The node is not in the fabric any more.",
       "Look at the node and at its cable; take a new baseline if it was removed on purpose.", find_gone_nodes},
  };
  return checks;
}

}  // namespace ib::health
