// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the subnet administrator knows of an SMP attribute: the record that holds it, the components that select it,
// and where in the record it stands. Pure translation; SaTransactor asks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "iba-gen/smp.hpp"

namespace ib::sa {

/// What of a node decides how its records are asked for.
struct NodeKind {
  smp::NodeType type{};
  std::uint8_t num_ports{};
  bool is_switch() const { return type == smp::NodeType::switch_; }
};

/// One SubnAdmGet that stands for a SubnGet.
struct RecordQuery {
  std::uint16_t attribute_id{};     ///< of the record
  std::uint64_t component_mask{};   ///< IBA 15.2.1.1
  std::vector<std::uint8_t> bytes;  ///< the record with its selecting components set
  std::size_t offset{}, size{};     ///< the SMP attribute in the record, in bytes
  /// A table of which the SA may hold some blocks only: that it has no record of a block is no error.
  bool sparse = false;
  bool switch_only = false;  ///< a sparse table that only switches have
  std::uint8_t port{};       ///< the port a sparse table is of
};

/// Whether record_query() must know what kind of node it is about.
bool needs_node_kind(std::uint16_t smp_attribute, std::uint32_t modifier);

/// The query for SMP attribute `smp_attribute` with `modifier` of the node at `lid`; nothing where the SA has no record
/// of it. `node` may be null where needs_node_kind() is false.
///
/// Two rules differ between an SMP and a record. Port 0 of a channel adapter's or router's PortInfo means "the port that
/// this SMP came in by" (IBA 14.2.5.6): the LID names that port alone; of a switch it is port 0 itself. And the tables
/// of an end port of theirs are selected by its LID, without a port number.
std::optional<RecordQuery> record_query(std::uint16_t smp_attribute, std::uint32_t modifier, Lid lid, const NodeKind* node);

}  // namespace ib::sa
