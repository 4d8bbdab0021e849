// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Rails: where hosts have several HCAs, the same one of each host is often linked to the same leaf, so that traffic between equal HCAs
// passes one switch. That a fabric is built so is taken from the names of its HCAs.
#include <fmt/format.h>

#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "health/check_functions.hpp"
#include "health/host_names.hpp"

namespace ib::health {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

constexpr std::size_t least_hcas = 3;  // of a leaf whose names tell something

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
  bool is_pure() const { return hcas >= least_hcas && by_number.size() == 1; }
};

/// Leaves with the HCAs of hosts that have several.
std::map<NodeIndex, Leaf> leaves_of(const subnet::Subnet& subnet) {
  std::map<std::string_view, std::set<unsigned>> hosts;
  for (const subnet::Node& node : subnet.nodes()) {
    if (const auto number = hca_number(node)) hosts[host_name(node)].insert(*number);
  }
  std::map<NodeIndex, Leaf> leaves;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const subnet::Port& port = subnet.port(at);
    if (port.peer == subnet::none || subnet.node(port.node).kind() != subnet::NodeKind::sw) continue;
    const subnet::Node& hca = subnet.node(subnet.port(port.peer).node);
    const auto number = hca_number(hca);
    if (!number || hosts[host_name(hca)].size() < 2) continue;
    Leaf& leaf = leaves[port.node];
    leaf.by_number[*number].push_back(at);
    ++leaf.hcas;
  }
  return leaves;
}

/// Whether most leaves have HCAs of one number each, and not all of them the same.
bool has_rails(const std::map<NodeIndex, Leaf>& leaves) {
  std::size_t known = 0, pure = 0;
  std::set<unsigned> rails;
  for (const auto& [node, leaf] : leaves) {
    known += leaf.hcas >= least_hcas ? 1 : 0;
    if (!leaf.is_pure()) continue;
    ++pure;
    rails.insert(leaf.by_number.begin()->first);
  }
  return 2 * pure > known && rails.size() > 1;
}

}  // namespace

void find_other_rails(const Input& input, Findings& findings) {
  const std::map<NodeIndex, Leaf> leaves = leaves_of(input.subnet);
  if (!has_rails(leaves)) return;
  for (const auto& [node, leaf] : leaves) {
    const std::optional<unsigned> rail = leaf.rail();
    if (!rail) continue;
    for (const auto& [number, ports] : leaf.by_number) {
      if (number == *rail) continue;
      for (const PortIndex at : ports) {
        Finding finding = on_cable(input.subnet, at);
        finding.detail = fmt::format("It is the HCA number {} of its host; {} of the {} HCAs of this leaf are number {}.", number,
                                     leaf.by_number.at(*rail).size(), leaf.hcas, *rail);
        findings.push_back(std::move(finding));
      }
    }
  }
}

}  // namespace ib::health
