// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Hosts. A host may have several channel adapters; their descriptions begin with its name: "n042 mlx5_0", "n042 mlx5_1". All channel
// adapters with one host name are of one machine. Where adapters with different SystemImageGUIDs have one and the same description, the
// name is of several machines, as "(none)" or "node" is: then each SystemImageGUID is a machine.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/model/model.hpp"

namespace ib::health {

/// Extracts the name of a host from the description of its channel adapter.
class HostNames {
 public:
  /// The first word.
  HostNames() = default;
  /// The first group of an extended regular expression (POSIX), or all that it matches where it has no group. Throws UsageError.
  explicit HostNames(const std::string& expression);

  /// The name of the host of a channel adapter. Empty for other nodes, and where the description has no name of a host: it is missing, is
  /// an Aggregation Node's, or has_default_description().
  std::string host_of(const subnet::Node& node) const;

 private:
  class Expression;
  std::shared_ptr<const Expression> expression_;
};

/// Whether a description does not distinguish its node from others: it is missing, is the chip's, or has no name of a host.
bool has_default_description(const subnet::Node& node);

/// The number N of an HCA where the description of its node names a device that ends in `_N` (mlx5_2) beside `host`, the name of its host.
/// Nothing where `host` is empty, or no device is named.
std::optional<std::uint64_t> hca_number(const subnet::Node& node, std::string_view host);

/// A name with '#' for each row of digits: nodes of one pattern are siblings.
std::string name_pattern(std::string_view name);

struct Machine {
  std::string name;  ///< the host name; empty: it has none
  Guid system;       ///< SystemImageGUID, else the node GUID, where the name does not distinguish the machine; else zero
  auto operator<=>(const Machine&) const = default;
};

class Machines {
 public:
  Machines(const subnet::Subnet& subnet, const HostNames& names);

  /// The machine of a channel adapter. Without a name for other nodes.
  const Machine& of(subnet::NodeIndex node) const { return machines_[node]; }

 private:
  std::vector<Machine> machines_;  // by node
};

}  // namespace ib::health
