// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The attribute and the node that a request names, without its path. A request by LID, by a directed route or through another switch thus
// finds the same stored answer. Also removes keys from answers.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

#include "mad/request.hpp"
#include "sa/stored_tables.hpp"
#include "snapshot/file/sqlite.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/model.hpp"

namespace ib::snapshot {

/// The row of raw_answer that answers a request.
struct AnswerKey {
  std::uint8_t mgmt_class{};  ///< for SMPs of both kinds the class of LID-routed SMPs
  std::uint16_t attribute{};
  subnet::NodeIndex node{};   ///< the destination; 0 for the SA
  std::uint8_t entry_port{};  ///< for a node that is not a switch: the port whose agent answers, if it answers for this port only; else 0
  std::uint32_t modifier{};
  /// PortSelect for performance management; by_lid for the NodeInfo of a switch that was requested by its LID; for other GMPs a hash of
  /// their data.
  std::uint32_t selector{};
  auto operator<=>(const AnswerKey&) const = default;
};

/// The selector of a NodeInfo whose LocalPortNum is the port through which LID-routed SMPs come in.
inline constexpr std::uint32_t by_lid = 1;

/// The key of `request` to the node at `place`. Precondition: `place` has a node.
AnswerKey key_of(const subnet::Subnet& subnet, const subnet::PathEnd& place, const mad::Request& request);
/// Whether an SMP attribute of a node is the same through all of its ports.
bool is_of_whole_node(std::uint16_t attribute);
/// The key of a table of an SA's records. Two tables may have the same attribute.
AnswerKey table_key(const QueryInfo& table);

/// The part of a MAD of a class that is stored: its attribute. For congestion control it is everything behind the CC_Key, because
/// attributes of this class begin at different places (IBA A10.4.3).
mad::DataArea stored_area(std::uint8_t mgmt_class);

/// The payload of a row, the stored_area() of an answer or a table of the SA, with zeros in the place of each key. Nothing if no key is
/// set.
std::optional<std::vector<std::uint8_t>> without_keys_of(const AnswerKey& key, Bytes payload);

/// The key in the first columns of a row of raw_answer.
AnswerKey key_in(const Statement& row);

}  // namespace ib::snapshot
