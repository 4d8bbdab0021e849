// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Hosts and switches that differ from their siblings. There is no plan of the fabric: what most siblings have in common is taken for the
// plan. Links are compared by what both of their ends support; other checks look at their active rates (ports.cpp).
//
// Rails: where hosts have several HCAs, the same one of each host is often linked to the same leaf, so that traffic between equal HCAs
// passes one switch. Whether a fabric is built so is derived from the names of its HCAs.
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "health/checks/common.hpp"

namespace ib::health {
namespace {

constexpr std::size_t least_siblings = 3;  // that agree, so that another one differs

using Devices = std::set<std::pair<std::uint32_t, std::uint16_t>>;  // vendor and device ID

/// A rate in the order of the data that it carries: 4x QDR is above 1x FDR.
struct DataRate {
  subnet::LinkRate rate;
  auto key() const { return std::tuple(rate.data_mbps(), rate.speed, rate.lanes); }
  bool operator<(const DataRate& other) const { return key() < other.key(); }
  bool operator==(const DataRate&) const = default;
};

struct Traits {
  std::size_t links{};
  Devices devices;
  DataRate slowest;                             ///< of the links; unknown where no rate is known
  std::map<NodeIndex, std::size_t> neighbours;  ///< of switches: links to each other switch
};

struct Unit {
  std::vector<NodeIndex> nodes;
  std::set<std::string> patterns;  ///< of their descriptions
  Traits traits;
};

/// Units by kind and patterns of their descriptions.
using Siblings = std::map<std::pair<std::string_view, std::string>, std::vector<Unit>>;
using Units = std::vector<const Unit*>;

bool is_host_node(const subnet::Node& node) { return node.kind() != NodeKind::sw && !subnet::is_aggregation_node(node); }

/// Adds a node to the traits of its unit. Of a switch the links to other switches count: hosts come and go.
void add_node(const Subnet& subnet, NodeIndex at, Unit& unit) {
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
    if (rate.known() && (!unit.traits.slowest.rate.known() || DataRate{rate} < unit.traits.slowest)) unit.traits.slowest = {rate};
  }
}

bool is_leaf(const Subnet& subnet, const subnet::Node& node) {
  return std::ranges::any_of(subnet.ports_of(node), [&subnet](const subnet::Port& port) {
    return port.peer != subnet::none && is_host_node(subnet.node(subnet.port(port.peer).node));
  });
}

Siblings siblings_of(const Input& input) {
  const Subnet& subnet = input.subnet;
  Siblings siblings;
  std::map<Machine, Unit> hosts;
  const Machines machines(subnet, input.host_names);
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    if (const Machine& host = machines.of(at); !host.name.empty()) {
      add_node(subnet, at, hosts[host]);
    } else if (node.kind() == NodeKind::sw && node.has_description && !node.is_twin) {
      Unit unit;
      add_node(subnet, at, unit);
      std::string pattern = *unit.patterns.begin();
      siblings[{is_leaf(subnet, node) ? "leaf" : "spine", std::move(pattern)}].push_back(std::move(unit));
    }
  }
  for (auto& [host, unit] : hosts) {
    std::string pattern = joined(unit.patterns, ", ");
    siblings[{"host", std::move(pattern)}].push_back(std::move(unit));
  }
  return siblings;
}

/// What most of `units` have in common, and at least three.
template <class T>
std::optional<T> common(const Units& units, T Traits::*trait) {
  std::map<T, std::size_t> counts;
  for (const Unit* unit : units) ++counts[unit->traits.*trait];
  const auto most = std::ranges::max_element(counts, {}, [](const auto& of) { return of.second; });
  if (most == counts.end() || most->second < least_siblings || 2 * most->second <= units.size()) return std::nullopt;
  return most->first;
}

std::string devices_text(const Devices& devices) {
  std::string text;
  for (const auto& [vendor, device] : devices) add_part(text, fmt::format("{:#x}", device));
  return text;
}

std::vector<NodeIndex> lost_neighbours(const Units& units, const Unit& unit) {
  std::map<NodeIndex, std::size_t> with_as_many;  // siblings that have more links to a switch than `unit`
  for (const Unit* other : units) {
    for (const auto& [neighbour, links] : other->traits.neighbours) {
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

/// Siblings of one kind and pattern: with one device, if there are enough of them, which then form a family of their own; or the rest,
/// which is compared with all.
class Family {
 public:
  /// `members` are judged by what most of `units` have.
  Family(std::string_view of_kind, const std::string& pattern, const std::string& device, Units all, Units judged)
      : kind(of_kind),
        units(std::move(all)),
        members(std::move(judged)),
        links_(common(units, &Traits::links)),
        devices_(common(units, &Traits::devices)),
        slowest_(common(units, &Traits::slowest)),
        most_(fmt::format("most of the {} {} {}{}", units.size(), kind == "leaf" ? "leaves" : fmt::format("{}s", kind), in_quotes(pattern),
                          device)) {}

  const std::string_view kind;
  const Units units, members;
  bool lacks_links(const Unit& unit) const { return links_ && unit.traits.links < *links_; }

  /// Adds a finding of a unit that differs from what most have.
  void judge(const Unit& unit, Findings& findings) const {
    const Traits& own = unit.traits;
    const bool is_slow = is_slower(own), is_other = devices_ && own.devices != *devices_;
    if (!lacks_links(unit) && !is_slow && !is_other) return;
    Finding& finding = findings.emplace_back(on_nodes(unit.nodes));
    if (!is_slow && !is_other) finding.symptom = Finding::Symptom::fewer_links;
    if (lacks_links(unit))
      finding.add_sentence(fmt::format("It has {} link{}, {} have {}.", own.links, own.links == 1 ? "" : "s", most_, *links_));
    if (is_slow)
      finding.add_sentence(
          fmt::format("A link of it can do {}, those of {} {}.", rate_text(own.slowest.rate), most_, rate_text(slowest_->rate)));
    if (is_other)
      finding.add_sentence(fmt::format("Its device is {}, that of {} {}.", devices_text(own.devices), most_, devices_text(*devices_)));
  }

 private:
  /// Whether a link supports less than the links of most siblings do. False if three siblings or more are like that: cables do not change
  /// what is supported.
  bool is_slower(const Traits& own) const {
    if (!slowest_ || !own.slowest.rate.known() || own.slowest.rate.data_mbps() >= slowest_->rate.data_mbps()) return false;
    const auto is_alike = [&own](const Unit* unit) { return unit->traits.slowest == own.slowest; };
    return static_cast<std::size_t>(std::ranges::count_if(units, is_alike)) < least_siblings;
  }

  std::optional<std::size_t> links_;
  std::optional<Devices> devices_;
  std::optional<DataRate> slowest_;
  std::string most_;
};

std::vector<Family> families_of(const Siblings& siblings) {
  std::vector<Family> families;
  for (const auto& [key, units] : siblings) {
    const auto& [kind, pattern] = key;
    Units all, rest;
    std::map<Devices, Units> by_devices;
    for (const Unit& unit : units) {
      all.push_back(&unit);
      by_devices[unit.traits.devices].push_back(&unit);
    }
    for (auto& [devices, alike] : by_devices) {
      if (alike.size() < least_siblings) {
        rest.insert(rest.end(), alike.begin(), alike.end());
        continue;
      }
      const std::string device = by_devices.size() == 1 ? std::string() : " with device " + devices_text(devices);
      families.emplace_back(kind, pattern, device, alike, alike);
    }
    if (!rest.empty()) families.emplace_back(kind, pattern, std::string(), std::move(all), std::move(rest));
  }
  return families;
}

/// The other end of the chain of switches that ends with `end`; none if it ends no chain. All other switches of a chain have two
/// neighbours.
NodeIndex other_end_of_chain(const std::map<NodeIndex, const Unit*>& switches, NodeIndex end) {
  NodeIndex before = subnet::none, at = end;
  for (std::size_t length = 0; length < switches.size(); ++length) {
    const auto known = switches.find(at);
    if (known == switches.end()) return subnet::none;
    const auto& neighbours = known->second->traits.neighbours;
    if (neighbours.size() != (at == end ? 1U : 2U)) return neighbours.size() == 1 ? at : subnet::none;
    const NodeIndex next = neighbours.begin()->first == before ? neighbours.rbegin()->first : neighbours.begin()->first;
    before = std::exchange(at, next);
  }
  return subnet::none;
}

void find_other_siblings(const Input& input, Findings& findings) {
  const Siblings siblings = siblings_of(input);
  const std::vector<Family> families = families_of(siblings);
  std::map<NodeIndex, const Unit*> switches;
  for (const auto& [key, units] : siblings) {
    for (const Unit& unit : units) {
      if (key.first != "host") switches.emplace(unit.nodes.front(), &unit);
    }
  }
  const auto guid = [&input](NodeIndex at) { return input.subnet.node(at).guid(); };
  const auto pair_of = [](NodeIndex a, NodeIndex b) { return std::pair(std::min(a, b), std::max(a, b)); };
  std::set<std::pair<NodeIndex, NodeIndex>> lost, chains;  // pairs of switches: both miss the link to the other, or both are an end
  for (const Family& family : families) {
    for (const Unit* unit : family.members) {
      if (family.kind == "host" || !family.lacks_links(*unit)) continue;
      const NodeIndex at = unit->nodes.front(), end = other_end_of_chain(switches, at);
      for (const NodeIndex other : lost_neighbours(family.units, *unit)) lost.insert(pair_of(at, other));
      if (end != subnet::none) chains.insert(pair_of(at, end));
    }
  }
  std::set<NodeIndex> reported;
  const auto report = [&](NodeIndex a, NodeIndex b, std::string_view detail) -> Finding& {
    if (guid(b) < guid(a)) std::swap(a, b);
    reported.insert({a, b});
    Finding& finding = findings.emplace_back(on_nodes(std::array{a, b}));
    finding.symptom = Finding::Symptom::lost_link;
    finding.detail = detail;
    return finding;
  };
  for (const auto& [a, b] : lost) report(a, b, "There are fewer links between these two than between their siblings.");
  for (const auto& [a, b] : chains) {
    if (reported.contains(a) || reported.contains(b)) continue;
    Finding& finding = report(a, b, "These are the ends of a chain of switches: each is linked to one other switch.");
    finding.level = Level::info;
    finding.confidence = Confidence::possible;
    finding.remedy = "Nothing if it was built so; if it was a ring, look for the cable between them.";
  }
  for (const Family& family : families) {
    for (const Unit* unit : family.members) {
      if (!family.lacks_links(*unit) || !reported.contains(unit->nodes.front())) family.judge(*unit, findings);
    }
  }
}

constexpr std::size_t least_hcas = 3;  // of a leaf, with numbers in their names

struct Leaf {
  std::map<std::uint64_t, std::vector<PortIndex>> by_number;  ///< ports of the leaf
  std::size_t hcas{};

  std::optional<std::uint64_t> rail() const {
    for (const auto& [number, ports] : by_number) {
      if (hcas >= least_hcas && 2 * ports.size() > hcas) return number;
    }
    return std::nullopt;
  }
};

struct Hca {
  Machine host;
  std::uint64_t number{};
};

/// The HCAs whose descriptions contain their number, by node.
std::map<NodeIndex, Hca> hcas_of(const Input& input) {
  std::map<NodeIndex, Hca> hcas;
  std::map<Machine, std::set<std::uint64_t>> hosts;
  const Machines machines(input.subnet, input.host_names);
  for (NodeIndex at = 0; at < input.subnet.nodes().size(); ++at) {
    const Machine& host = machines.of(at);
    const auto number = hca_number(input.subnet.node(at), host.name);
    if (!number) continue;
    hosts[host].insert(*number);
    hcas[at] = {host, *number};
  }
  std::erase_if(hcas, [&hosts](const auto& hca) { return hosts.at(hca.second.host).size() < 2; });
  return hcas;
}

std::map<NodeIndex, Leaf> leaves_of(const Input& input) {
  const Subnet& subnet = input.subnet;
  const std::map<NodeIndex, Hca> hcas = hcas_of(input);
  std::map<NodeIndex, Leaf> leaves;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const subnet::Port& port = subnet.port(at);
    if (port.peer == subnet::none || subnet.node(port.node).kind() != NodeKind::sw) continue;
    const auto hca = hcas.find(subnet.port(port.peer).node);
    if (hca == hcas.end()) continue;
    Leaf& leaf = leaves[port.node];
    leaf.by_number[hca->second.number].push_back(at);
    ++leaf.hcas;
  }
  return leaves;
}

/// Whether the fabric has rails: most leaves have one, they are not all the same, and three of four HCAs are on the rail of their leaf. In
/// a fabric without rails, small leaves have one by chance.
bool has_rails(const std::map<NodeIndex, Leaf>& leaves) {
  std::size_t known = 0, with_rail = 0, hcas = 0, on_rail = 0;
  std::set<std::uint64_t> rails;
  for (const auto& [node, leaf] : leaves) {
    if (leaf.hcas < least_hcas) continue;
    ++known;
    hcas += leaf.hcas;
    if (!leaf.rail()) continue;
    ++with_rail;
    on_rail += leaf.by_number.at(*leaf.rail()).size();
    rails.insert(*leaf.rail());
  }
  return 2 * with_rail > known && 4 * on_rail >= 3 * hcas && rails.size() > 1;
}

void find_other_rails(const Input& input, Findings& findings) {
  const std::map<NodeIndex, Leaf> leaves = leaves_of(input);
  if (!has_rails(leaves)) return;
  for (const auto& [node, leaf] : leaves) {
    const std::optional<std::uint64_t> rail = leaf.rail();
    if (!rail) continue;
    for (const auto& [number, ports] : leaf.by_number) {
      if (number == *rail) continue;
      for (const PortIndex at : ports) {
        findings.emplace_back(on_cable(input.subnet, at)).detail =
            fmt::format("It is the HCA number {} of its host; {} of the {} HCAs of this leaf are number {}.", number,
                        leaf.by_number.at(*rail).size(), leaf.hcas, *rail);
      }
    }
  }
}

}  // namespace

std::span<const Check> sibling_checks() {
  using enum Level;
  static constexpr Check checks[] = {
      {"sibling-ports", warning, needs(),
       "What most siblings have is missing or different here: a cable that is gone, or the wrong adapter.",
       "Compare it with a sibling, and look for a cable that is not plugged in; nothing if this is intended.", find_other_siblings},
      {"rail", warning, needs(), "The HCA is on the leaf of other HCAs: traffic between equal HCAs takes more hops there.",
       "Exchange the cables of this host's HCAs, or their names (udev).", find_other_rails},
  };
  return checks;
}

}  // namespace ib::health
