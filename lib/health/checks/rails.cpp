// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Rails: where hosts have several HCAs, the same one of each host is often linked to the same leaf, so that traffic between equal HCAs
// passes one switch. Whether a fabric is built so is derived from the names of its HCAs.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "health/checks/topics.hpp"
#include "health/hosts.hpp"

namespace ib::health {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

constexpr std::size_t least_hcas = 3;  // of a leaf, with numbers in their names

/// The HCAs of one leaf by their number.
struct Leaf {
  std::map<unsigned, std::vector<PortIndex>> by_number;  ///< ports of the leaf
  std::size_t hcas{};

  /// The number that more than half of the HCAs have.
  std::optional<unsigned> rail() const {
    for (const auto& [number, ports] : by_number) {
      if (hcas >= least_hcas && 2 * ports.size() > hcas) return number;
    }
    return std::nullopt;
  }
  /// The HCAs that have this number; 0 where there is none.
  std::size_t on_rail() const { return rail() ? by_number.at(*rail()).size() : 0; }
};

/// An HCA of a host that has several.
struct Hca {
  Machine host;
  unsigned number{};
};

/// The HCAs whose descriptions contain their number, by node.
std::map<NodeIndex, Hca> hcas_of(const Input& input) {
  std::map<NodeIndex, Hca> hcas;
  std::map<Machine, std::set<unsigned>> hosts;
  const Machines machines = machines_of(input, input.subnet);
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

/// Leaves with the HCAs of hosts that have several.
std::map<NodeIndex, Leaf> leaves_of(const Input& input) {
  const subnet::Subnet& subnet = input.subnet;
  const std::map<NodeIndex, Hca> hcas = hcas_of(input);
  std::map<NodeIndex, Leaf> leaves;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const subnet::Port& port = subnet.port(at);
    if (port.peer == subnet::none || subnet.node(port.node).kind() != subnet::NodeKind::sw) continue;
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
  std::set<unsigned> rails;
  for (const auto& [node, leaf] : leaves) {
    if (leaf.hcas < least_hcas) continue;
    ++known;
    hcas += leaf.hcas;
    if (!leaf.rail()) continue;
    ++with_rail;
    on_rail += leaf.on_rail();
    rails.insert(*leaf.rail());
  }
  return 2 * with_rail > known && 4 * on_rail >= 3 * hcas && rails.size() > 1;
}

void find_other_rails(const Input& input, Findings& findings) {
  const std::map<NodeIndex, Leaf> leaves = leaves_of(input);
  if (!has_rails(leaves)) return;
  for (const auto& [node, leaf] : leaves) {
    const std::optional<unsigned> rail = leaf.rail();
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

std::span<const Check> rail_checks() {
  using enum Level;
  static constexpr Check checks[] = {
      {"rail",
       warning,
       {},
       "The HCA is on the leaf of other HCAs: traffic between equal HCAs takes more hops there.",
       "Exchange the cables of this host's HCAs, or their names (udev).",
       find_other_rails},
  };
  return checks;
}

}  // namespace ib::health
