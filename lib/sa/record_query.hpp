// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Translates a request for an SMP attribute to a query of the subnet administrator: the record that holds the attribute, the
// components that select the record, and the place of the attribute in the record. The functions send nothing; SaTransactor
// does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "iba-gen/smp.hpp"

namespace ib::sa {

/// The properties of a node on which the query for its records depends.
struct NodeKind {
  smp::NodeType type{};
  std::uint8_t num_ports{};
  bool is_switch() const { return type == smp::NodeType::switch_; }
};

/// One SubnAdmGet that replaces a SubnGet.
struct RecordQuery {
  std::uint16_t attribute_id{};     ///< of the record
  std::uint64_t component_mask{};   ///< IBA 15.2.1.1
  std::vector<std::uint8_t> bytes;  ///< the record with its selecting components set
  std::size_t offset{}, size{};     ///< place of the SMP attribute in the record, in bytes
  /// The attribute is a block of a table in which zeros stand for nothing, and of which the SA may hold only some blocks: P_Keys, multicast
  /// forwarding. A missing record of such a block is not an error. Zeros in other tables are values: port 0, VL 0.
  bool sparse = false;
  bool switch_only = false;  ///< a sparse table that only switches have
  std::uint8_t port{};       ///< the port that the sparse table belongs to
};

/// Whether record_query() needs the kind of the node.
bool needs_node_kind(std::uint16_t smp_attribute, std::uint32_t modifier);

/// The query for SMP attribute `smp_attribute` with `modifier` of the node at `lid`. Nothing if the SA has no record of the
/// attribute. `node` may be null if needs_node_kind() is false.
///
/// Two rules differ between an SMP and a record. Port 0 in a PortInfo request to a channel adapter or router means "the port
/// that received this SMP" (IBA 14.2.5.6); in a record, the LID alone selects that port. For a switch, port 0 is port 0 itself.
/// Also, the tables of an end port of a channel adapter or router are selected by its LID without a port number.
std::optional<RecordQuery> record_query(std::uint16_t smp_attribute, std::uint32_t modifier, Lid lid, const NodeKind* node);

}  // namespace ib::sa
