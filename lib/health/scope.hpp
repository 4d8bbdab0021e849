// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The part of a fabric that the user wants to know about.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "health/finding.hpp"
#include "health/hosts.hpp"
#include "routing/tables.hpp"
#include "subnet/model/model.hpp"

namespace ib::health {

struct Scope {
  bool is_all = true;
  std::vector<bool> ports, nodes;  ///< by their indexes, unless it is all

  bool has_port(subnet::PortIndex port) const { return is_all || ports[port]; }
  /// Whether a finding is of a port or a node that is in here.
  bool has(const Finding& finding) const;
  /// Whether a port or node is in the scope. False for a place that no longer exists or that did not answer.
  bool has(const Place& place) const;
  /// Removes from a group the ports and nodes that are not in the scope.
  void narrow(Finding& finding) const;
};

/// How many machines with channel adapters, Aggregation Nodes excepted, switches and links are in a scope.
std::size_t host_count(const subnet::Subnet& subnet, const HostNames& names, const Scope& scope = {});
std::size_t switch_count(const subnet::Subnet& subnet, const Scope& scope = {});
std::size_t link_count(const subnet::Subnet& subnet, const Scope& scope = {});

/// One node, with its ports and those at the other ends of their links.
Scope scope_around(const subnet::Subnet& subnet, subnet::NodeIndex centre);

/// The ports at both ends of all links that packets between `hosts`, nodes of the model, go over, as the tables say, and the nodes of
/// these ports. Where packets do not arrive, the links up to the fault.
Scope scope_between(const routing::Network& network, const routing::LinearTables& tables, const std::set<subnet::NodeIndex>& hosts);

}  // namespace ib::health
