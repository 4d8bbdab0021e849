// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Nodes that differ from those of the baseline.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/escape.hpp"
#include "health/checks/evidence.hpp"
#include "health/checks/topics.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "subnet/diff/counterparts.hpp"

namespace ib::health {
namespace {

using subnet::IndexPair;
using subnet::NodeIndex;
using subnet::PortIndex;

/// Evidence of a field whose value has changed since the baseline.
Evidence changed_value(const FieldInfo& field, std::size_t end, std::uint64_t was, std::uint64_t is) {
  Evidence evidence = field_value(field.iba_name, end, {is, {}});
  evidence.before = {was, {}};
  return evidence;
}

/// Adds evidence of a changed field: of flags each one that has changed, by its name.
void add_change(Finding& finding, std::size_t end, const subnet::FieldChange& change) {
  std::uint64_t left = change.current ^ change.reference;
  if (const EnumInfo* const flags = change.field->enumeration; flags != nullptr && flags->flags) {
    for (const EnumValue& flag : flags->values) {
      if ((left & flag.number) == 0) continue;
      const auto bit = [&flag](std::uint64_t of) { return std::uint64_t{(of & flag.number) != 0}; };
      finding.evidence.push_back(field_value(flag.text, end, {bit(change.current), {}}));
      finding.evidence.back().before = {bit(change.reference), {}};
      left &= ~flag.number;
    }
    if (left == 0) return;
  }
  finding.evidence.push_back(changed_value(*change.field, end, change.reference, change.current));
}

/// The P_Keys in `a` that are not in `b`, for people.
std::string others_text(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b) {
  constexpr std::size_t most = 8;
  std::string text;
  std::size_t count = 0;
  for (const std::uint16_t pkey : a) {
    if (std::ranges::find(b, pkey) != b.end() || ++count > most) continue;
    text += fmt::format("{}{:#06x}", text.empty() ? "" : ", ", pkey);
  }
  return count > most ? text + ", …" : text;
}

/// The finding of a node; made if there is none yet.
Finding& finding_of(std::map<NodeIndex, Finding>& found, NodeIndex node) { return found.try_emplace(node, on_node(node)).first->second; }

void find_other_priorities(const Input& input, std::map<NodeIndex, Finding>& found) {
  const subnet::Counterparts& pairs = input.baseline->changes.pairs;
  for (const Manager& manager : input.managers) {
    const auto before = input.baseline->tables.managers.find(pairs.port_then(manager.port));
    if (before == input.baseline->tables.managers.end() || before->second.priority == manager.info.priority) continue;
    const Place place = place_of(input.subnet, manager.port);
    Finding& finding = finding_of(found, place.node);
    const FieldInfo& field = *find_field(smp::SMInfo::info(), "priority");
    finding.evidence.push_back(changed_value(field, finding.end_of(place), before->second.priority, manager.info.priority));
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

BaselineTables tables_of(const Input& input) {
  BaselineTables tables;
  tables.pkeys = input.pkeys;
  for (const Manager& manager : input.managers) tables.managers.emplace(manager.port, manager.info);
  tables.firmware = input.firmware;
  return tables;
}

std::span<const Check> node_change_checks() {
  using enum Level;
  using enum Source;
  static constexpr Check checks[] = {
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
