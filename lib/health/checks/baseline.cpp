// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What differs from the baseline: parts of the fabric that are gone, cables, and nodes.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "health/checks/common.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "subnet/diff/counterparts.hpp"

namespace ib::health {
namespace {

using subnet::IndexPair;

/// The place of a port of the baseline: the port as it is now where its node is still there.
Place place_now(const Input& input, PortIndex reference) {
  const PortIndex now = input.baseline->changes.pairs.port_now(reference);
  if (now == subnet::none) return {input.baseline->subnet.port(reference).node, reference, true};
  return {input.subnet.port(now).node, now};
}

/// The nodes that are gone and can be reached from `first` by links between such nodes. `open` has all that are gone, and whether they are
/// in no region yet.
Region region_of(const Input& input, NodeIndex first, std::map<NodeIndex, bool>& open) {
  const Subnet& was = input.baseline->subnet;
  Region region;
  std::vector<NodeIndex> from{first};
  open.at(first) = false;
  while (!from.empty()) {
    const NodeIndex node = from.back();
    from.pop_back();
    region.nodes.push_back(node);
    for (const subnet::Port& port : was.ports_of(was.node(node))) {
      if (port.peer == subnet::none) continue;
      const auto other = open.find(was.port(port.peer).node);
      if (other == open.end()) region.boundary.push_back({place_now(input, port.peer), {node, was.port(port.peer).peer, true}});
      if (other != open.end() && std::exchange(other->second, false)) from.push_back(other->first);
    }
  }
  std::ranges::sort(region.boundary, {}, [&was](const FormerCable& cable) { return place_order(was, cable.far.port); });
  std::ranges::sort(region.nodes, {}, [&was](NodeIndex at) { return std::pair(was.node(at).kind() != NodeKind::sw, was.node(at).guid()); });
  return region;
}

/// Whether a port is still there and has no link any more, which is up, and silent, or down.
bool has_lost_link(const Input& input, const Place& near, bool is_up) {
  if (near.is_before || near.port == subnet::none) return false;
  const subnet::Port& port = input.subnet.port(near.port);
  return port.peer == subnet::none && port.is_link_up() == is_up;
}

/// The confidence that something is gone: it may still be there, behind a node that is silent.
Confidence sure_of_absence(const Input& input) {
  const bool is_silent =
      std::ranges::any_of(input.failures, [](const subnet::Failure& failure) { return failure.kind == subnet::Failure::Kind::no_answer; });
  return is_silent ? Confidence::possible : Confidence::sure;
}

/// Adds the finding of a part with several nodes: its boundary's cables whose near ends are down. Where these are none, the first one whose
/// near end is up, and silent; else the first node. Nothing where several ends are silent, which are one finding of node-silent.
void judge_region(const Input& input, const Region& region, Findings& findings) {
  Finding finding{.confidence = sure_of_absence(input)};
  for (const FormerCable& cable : region.boundary) {
    if (!cable.near.is_before && cable.near.port != subnet::none) finding.lost.push_back(cable.near);
    if (has_lost_link(input, cable.near, false)) finding.ends.insert(finding.ends.end(), {cable.near, cable.far});
  }
  const std::string contents = contents_of(input.baseline->subnet, region);
  const std::vector<FormerCable> silent = silent_cables(input, region);
  const std::size_t cables = finding.ends.size() / 2;
  if (cables == 0 && silent.size() > 1) return;
  if (cables > 0) {
    finding.subject = Finding::Subject::cables;
    finding.detail = fmt::format("{} down, and with {} {}.", cables == 1 ? "The cable is" : fmt::format("All {} cables are", cables),
                                 cables == 1 ? "it" : "them", contents);
  } else if (!silent.empty()) {
    finding.ends.push_back(silent.front().near);
    finding.detail = fmt::format("Behind it were {}.", contents);
  } else {
    finding.subject = Finding::Subject::place;
    finding.ends.push_back({region.nodes.front(), subnet::none, true});
    finding.detail = fmt::format("No cable that led there is seen as down. Missing: {}.", contents);
  }
  findings.push_back(std::move(finding));
}

/// Adds the finding of a region that is one node: it is gone, or probably does not answer at the port to which it was linked. Nothing where
/// several ports are silent, as above.
void judge_node(const Input& input, const Region& region, Findings& findings) {
  const std::vector<FormerCable> silent = silent_cables(input, region);
  if (silent.size() > 1) return;
  if (!silent.empty()) {
    findings.push_back({.confidence = Confidence::possible,
                        .ends = {silent.front().near},
                        .lost = {silent.front().near},
                        .detail = fmt::format("In the baseline this is {}.", contents_of(input.baseline->subnet, region))});
    return;
  }
  Finding& finding = findings.emplace_back(on_place(input.subnet, {region.nodes.front(), subnet::none, true}, false));
  finding.confidence = sure_of_absence(input);
  const Subnet& was = input.baseline->subnet;
  for (const auto& [near, far] : region.boundary) {
    const subnet::Port& port = was.port(far.port);
    if (finding.detail.empty() && !near.is_before)
      finding.detail = fmt::format("Its port {} was linked to {}.", port.number, port_text(was, port.peer));
    finding.lost.push_back(near);
  }
}

void find_gone_regions(const Input& input, Findings& findings) {
  for (const Region& region : gone_regions(input)) {
    if (region.nodes.size() > 1) judge_region(input, region, findings);
  }
}

void find_gone_nodes(const Input& input, Findings& findings) {
  for (const Region& region : gone_regions(input)) {
    if (region.nodes.size() == 1) judge_node(input, region, findings);
  }
}

void find_gone_links(const Input& input, Findings& findings) {
  const Subnet& was = input.baseline->subnet;
  for (const PortIndex at : input.baseline->changes.links_gone) {
    const std::vector<Place> ends{place_now(input, at), place_now(input, was.port(at).peer)};
    findings.push_back({.confidence = sure_of_absence(input), .ends = ends, .lost = ends});
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
    if (rate.current.lanes < rate.reference.lanes)
      finding.evidence.push_back(changed_value("linkWidthActive", 0, width_value(rate.reference), width_value(rate.current)));
    if (rate.current.speed < rate.reference.speed)
      finding.evidence.push_back(changed_value("linkSpeedActive", 0, speed_value(rate.reference), speed_value(rate.current)));
    if (!finding.evidence.empty() && rate.current.data_mbps() < rate.reference.data_mbps()) findings.push_back(std::move(finding));
  }
}

/// Adds evidence of a changed field: of flags each one that has changed, by its name.
void add_change(Finding& finding, std::size_t end, const subnet::FieldChange& change) {
  std::uint64_t left = change.current ^ change.reference;
  if (const EnumInfo* const flags = change.field->enumeration; flags != nullptr && flags->flags) {
    for (const EnumValue& flag : flags->values) {
      if ((left & flag.number) == 0) continue;
      const auto bit = [&flag](std::uint64_t of) { return std::uint64_t{(of & flag.number) != 0}; };
      finding.evidence.push_back(changed_value(flag.text, end, number(bit(change.reference)), number(bit(change.current))));
      left &= ~flag.number;
    }
    if (left == 0) return;
  }
  finding.evidence.push_back(changed_value(change.field->iba_name, end, number(change.reference), number(change.current)));
}

std::string others_text(std::vector<std::uint16_t> a, const std::vector<std::uint16_t>& b) {
  std::erase_if(a, [&b](std::uint16_t pkey) { return std::ranges::find(b, pkey) != b.end(); });
  return pkeys_text(a);
}

Finding& finding_of(std::map<NodeIndex, Finding>& found, NodeIndex node) { return found.try_emplace(node, on_node(node)).first->second; }

void find_other_priorities(const Input& input, std::map<NodeIndex, Finding>& found) {
  const subnet::Counterparts& pairs = input.baseline->changes.pairs;
  for (const Manager& manager : input.managers) {
    const auto before = input.baseline->tables.managers.find(pairs.port_then(manager.port));
    if (before == input.baseline->tables.managers.end() || before->second.priority == manager.info.priority) continue;
    const Place place = place_of(input.subnet, manager.port);
    Finding& finding = finding_of(found, place.node);
    const std::string_view field = find_field(smp::SMInfo::info(), "priority")->iba_name;
    finding.evidence.push_back(changed_value(field, finding.end_of(place), number(before->second.priority), number(manager.info.priority)));
  }
}

void find_other_pkeys(const Input& input, std::map<NodeIndex, Finding>& found) {
  const subnet::Counterparts& pairs = input.baseline->changes.pairs;
  for (const auto& [at, pkeys] : input.pkeys) {
    const auto before = input.baseline->tables.pkeys.find(pairs.port_then(at));
    if (before == input.baseline->tables.pkeys.end() || before->second == pkeys) continue;
    const std::string came = others_text(pkeys, before->second), went = others_text(before->second, pkeys);
    if (came.empty() && went.empty()) continue;
    const Place place = place_of(input.subnet, at);
    Finding& finding = finding_of(found, place.node);
    finding.end_of(place);
    finding.add_sentence(fmt::format("P_Keys of port {}: {}{}{}.", input.subnet.port(at).number, came.empty() ? "" : "new " + came,
                                     came.empty() || went.empty() ? "" : "; ", went.empty() ? "" : "gone " + went));
  }
}

void find_other_firmware(const Input& input, std::map<NodeIndex, Finding>& found) {
  for (const auto& [guid, firmware] : input.firmware) {
    const auto before = input.baseline->tables.firmware.find(guid);
    const NodeIndex node = subnet::only_node(input.subnet, guid);
    if (node == subnet::none) continue;
    if (before == input.baseline->tables.firmware.end() || before->second == firmware) continue;
    finding_of(found, node).add_sentence(fmt::format("Its firmware was {}, is {}.", before->second, firmware));
  }
}

void find_replaced_nodes(const Input& input, Findings& findings) {
  for (const IndexPair& node : input.baseline->changes.replaced) {
    if (!subnet::has_own_guid(input.subnet, node.current)) continue;  // duplicate-guid: the GUID is wrong, not what is written down
    findings.emplace_back(on_node(node.current)).detail =
        fmt::format("Its GUID was {}.", to_text(input.baseline->subnet.node(node.reference).guid()));
  }
}

void find_renamed_nodes(const Input& input, Findings& findings) {
  for (const IndexPair& node : input.baseline->changes.renamed) {
    findings.emplace_back(on_node(node.current)).detail =
        fmt::format("It was called {}.", in_quotes(input.baseline->subnet.node(node.reference).description()));
  }
}

void find_changes(const Input& input, Findings& findings) {
  std::map<NodeIndex, Finding> found;
  for (const subnet::FieldChange& change : input.baseline->changes.fields) {
    Finding& finding = finding_of(found, change.node);
    add_change(finding, finding.end_of({change.node, change.port}), change);
  }
  if (const auto& master = input.baseline->changes.master) {
    Finding& finding = finding_of(found, input.subnet.port(master->current).node);
    finding.detail = fmt::format("The master subnet manager is here; it was at {}.", port_text(input.baseline->subnet, master->reference));
  }
  find_other_priorities(input, found);
  find_other_pkeys(input, found);
  find_other_firmware(input, found);
  for (auto& [node, finding] : found) findings.push_back(std::move(finding));
}

}  // namespace

std::vector<Region> gone_regions(const Input& input) {
  std::map<NodeIndex, bool> open;
  for (const NodeIndex node : input.baseline->changes.nodes_gone) open.emplace(node, true);
  std::vector<Region> regions;
  for (const NodeIndex node : input.baseline->changes.nodes_gone) {
    if (open.at(node)) regions.push_back(region_of(input, node, open));
  }
  return regions;
}

std::vector<FormerCable> silent_cables(const Input& input, const Region& region) {
  std::vector<FormerCable> cables = region.boundary;
  std::erase_if(cables, [&input](const FormerCable& cable) { return !has_lost_link(input, cable.near, true); });
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

BaselineTables tables_of(const Input& input) {
  BaselineTables tables;
  tables.pkeys = input.pkeys;
  for (const Manager& manager : input.managers) tables.managers.emplace(manager.port, manager.info);
  tables.firmware = input.firmware;
  return tables;
}

std::span<const Check> baseline_checks() {
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
      {"node-new", info, needs(baseline), "The baseline does not have this node.", "Nothing if this is intended; then take a new baseline.",
       [](const Input& input, Findings& findings) {
         for (const NodeIndex node : input.baseline->changes.nodes_new) findings.push_back(on_node(node));
       }},
      {"node-replaced", warning, needs(baseline),
       "A node with another GUID had this name and place before: name maps and lists of GUIDs are out of date.",
       "Change the GUID where it is written down (name maps, partitions), and take a new baseline.", find_replaced_nodes},
      {"node-renamed", info, needs(baseline), "The node has another description.", "Nothing if this is intended; then take a new baseline.",
       find_renamed_nodes},
      {"changed", warning, needs(baseline), "The hardware, its firmware or its settings were changed.",
       "If this is intended, take a new baseline.", find_changes},
  };
  return checks;
}

}  // namespace ib::health
