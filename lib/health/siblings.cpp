// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Hosts and switches that are not like their siblings. Nobody gives a plan of the fabric: what most of a kind have in common is taken for
// one. Links are compared by what both of their ends support, as what they run at is looked at by other checks (links.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "health/check_functions.hpp"
#include "health/host_names.hpp"
#include "iba/text.hpp"
#include "subnet/names.hpp"
#include "subnet/rate.hpp"

namespace ib::health {
namespace {

using subnet::NodeIndex;
using subnet::NodeKind;
using subnet::PortIndex;

constexpr std::size_t least_siblings = 3;  // that agree, so that another one differs

using Devices = std::set<std::pair<std::uint32_t, std::uint16_t>>;  // vendor and device ID

/// What siblings have in common.
struct Traits {
  std::size_t links{};
  Devices devices;
  std::pair<subnet::Speed, unsigned> slowest;   ///< speed and lanes of the slowest link; unknown where no rate is known
  std::map<NodeIndex, std::size_t> neighbours;  ///< of switches: links to each other switch
};

/// A host with all of its adapters, or a switch.
struct Unit {
  std::vector<NodeIndex> nodes;
  std::set<std::string> patterns;  ///< of their descriptions
  Traits traits;
};

/// Units by kind and patterns of their descriptions.
using Siblings = std::map<std::pair<std::string_view, std::string>, std::vector<Unit>>;

bool is_host_node(const subnet::Node& node) { return node.kind() != NodeKind::sw && !subnet::is_aggregation_node(node); }

/// Adds a node to the traits of its unit. Of a switch the links to other switches count: hosts come and go.
void add_node(const subnet::Subnet& subnet, NodeIndex at, Unit& unit) {
  const subnet::Node& node = subnet.node(at);
  unit.nodes.push_back(at);
  unit.patterns.insert(name_pattern(node.description()));
  unit.traits.devices.emplace(node.info.vendor_id, node.info.device_id);
  for (PortIndex port = node.first_port; port < node.first_port + node.slots; ++port) {
    const PortIndex peer = subnet.port(port).peer;
    if (peer == subnet::none) continue;
    const subnet::Node& other = subnet.node(subnet.port(peer).node);
    if (node.kind() == NodeKind::sw && other.kind() != NodeKind::sw) continue;
    ++unit.traits.links;
    if (node.kind() == NodeKind::sw) ++unit.traits.neighbours[subnet.port(peer).node];
    const subnet::LinkRate rate = subnet::best_rate(subnet, port);
    const std::pair of{rate.speed, rate.lanes};
    if (rate.known() && (unit.traits.slowest.second == 0 || of < unit.traits.slowest)) unit.traits.slowest = of;
  }
}

/// Whether hosts are linked to a switch: then it is a leaf.
bool is_leaf(const subnet::Subnet& subnet, const subnet::Node& node) {
  return std::ranges::any_of(subnet.ports_of(node), [&subnet](const subnet::Port& port) {
    return port.peer != subnet::none && is_host_node(subnet.node(subnet.port(port.peer).node));
  });
}

Siblings siblings_of(const subnet::Subnet& subnet) {
  Siblings siblings;
  std::map<std::string_view, Unit> hosts;
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    if (const std::string_view host = host_name(node); !host.empty()) {
      add_node(subnet, at, hosts[host]);
    } else if (node.kind() == NodeKind::sw && node.has_description && !node.is_twin) {
      Unit unit;
      add_node(subnet, at, unit);
      std::string pattern = *unit.patterns.begin();
      siblings[{is_leaf(subnet, node) ? "leaf" : "spine", std::move(pattern)}].push_back(std::move(unit));
    }
  }
  for (auto& [name, unit] : hosts) {
    std::string pattern = fmt::format("{}", fmt::join(unit.patterns, ", "));
    siblings[{"host", std::move(pattern)}].push_back(std::move(unit));
  }
  return siblings;
}

/// What most of `units` have in common, and at least three; null if nothing.
template <class T>
const T* common(const std::vector<Unit>& units, T Traits::*trait) {
  std::map<T, std::size_t> counts;
  for (const Unit& unit : units) ++counts[unit.traits.*trait];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& of) { return of.second; });
  if (most == counts.end() || most->second < least_siblings || 2 * most->second <= units.size()) return nullptr;
  const auto owner = std::ranges::find_if(units, [&](const Unit& unit) { return unit.traits.*trait == most->first; });
  return &((*owner).traits.*trait);
}

std::string rate_text(const std::pair<subnet::Speed, unsigned>& rate) {
  return fmt::format("{}x {}", rate.second, subnet::name(rate.first));
}

std::string devices_text(const Devices& devices) {
  std::string text;
  for (const auto& [vendor, device] : devices) text += fmt::format("{}{:#x}", text.empty() ? "" : ", ", device);
  return text;
}

/// Where a switch has fewer links to another one than most of its siblings have: the other one.
std::vector<NodeIndex> lost_neighbours(const std::vector<Unit>& units, const Unit& unit) {
  std::map<NodeIndex, std::size_t> with_as_many;  // siblings that have more links to a switch than `unit`
  for (const Unit& other : units) {
    for (const auto& [neighbour, links] : other.traits.neighbours) {
      const auto own = unit.traits.neighbours.find(neighbour);
      if (links > (own == unit.traits.neighbours.end() ? 0 : own->second)) ++with_as_many[neighbour];
    }
  }
  std::vector<NodeIndex> lost;
  for (const auto& [neighbour, count] : with_as_many) {
    if (count >= least_siblings && 2 * count > units.size()) lost.push_back(neighbour);
  }
  return lost;
}

/// The findings of one kind of siblings.
class Family {
 public:
  Family(const std::vector<Unit>& units, std::string_view kind, const std::string& pattern)
      : units_(units),
        kind_(kind),
        pattern_(pattern),
        links_(common(units, &Traits::links)),
        devices_(common(units, &Traits::devices)),
        slowest_(common(units, &Traits::slowest)) {}

  /// What a unit differs in, as sentences.
  std::string differences(const Unit& unit) const {
    std::string text;
    const auto add = [&text](const std::string& more) { text += (text.empty() ? "" : " ") + more; };
    const std::string most =
        fmt::format("most of the {} {} {}", units_.size(), kind_ == "leaf" ? "leaves" : fmt::format("{}s", kind_), quoted(pattern_));
    const Traits& own = unit.traits;
    if (lacks_links(unit)) add(fmt::format("It has {} link{}, {} have {}.", own.links, own.links == 1 ? "" : "s", most, *links_));
    const bool is_known = slowest_ != nullptr && own.slowest.second != 0;
    if (is_known && (own.slowest.first < slowest_->first || own.slowest.second < slowest_->second))
      add(fmt::format("A link of it can do {}, those of {} {}.", rate_text(own.slowest), most, rate_text(*slowest_)));
    if (devices_ != nullptr && own.devices != *devices_)
      add(fmt::format("Its device is {}, that of {} {}.", devices_text(own.devices), most, devices_text(*devices_)));
    return text;
  }
  bool lacks_links(const Unit& unit) const { return links_ != nullptr && unit.traits.links < *links_; }

 private:
  const std::vector<Unit>& units_;
  std::string_view kind_;
  const std::string& pattern_;
  const std::size_t* links_;
  const Devices* devices_;
  const std::pair<subnet::Speed, unsigned>* slowest_;
};

/// The links that switches lack, each between two of them: both of its ends miss the same one.
std::set<std::pair<NodeIndex, NodeIndex>> lost_links(const Siblings& siblings) {
  std::set<std::pair<NodeIndex, NodeIndex>> lost;
  for (const auto& [key, units] : siblings) {
    const Family family(units, key.first, key.second);
    for (const Unit& unit : units) {
      if (key.first == "host" || !family.lacks_links(unit)) continue;
      for (const NodeIndex other : lost_neighbours(units, unit))
        lost.emplace(std::min(unit.nodes.front(), other), std::max(unit.nodes.front(), other));
    }
  }
  return lost;
}

}  // namespace

void find_other_siblings(const Input& input, Findings& findings) {
  const Siblings siblings = siblings_of(input.subnet);
  const auto links = lost_links(siblings);
  std::set<NodeIndex> told;
  const auto by_guid = [&input](NodeIndex at) { return input.subnet.node(at).guid(); };
  for (auto [a, b] : links) {
    if (by_guid(b) < by_guid(a)) std::swap(a, b);
    Finding finding = on_node(a);
    finding.ends.push_back({b, subnet::none});
    finding.detail = "There are fewer links between these two than between their siblings.";
    findings.push_back(std::move(finding));
    told.insert({a, b});
  }
  for (const auto& [key, units] : siblings) {
    const Family family(units, key.first, key.second);
    for (const Unit& unit : units) {
      if (family.lacks_links(unit) && told.contains(unit.nodes.front())) continue;
      std::string detail = family.differences(unit);
      if (detail.empty()) continue;
      Finding finding;
      finding.subject = Finding::Subject::place;
      for (const NodeIndex node : unit.nodes) finding.ends.push_back({node, subnet::none});
      finding.detail = std::move(detail);
      findings.push_back(std::move(finding));
    }
  }
}

}  // namespace ib::health
