// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a request asks, without the path by which it asks: the same question by LID, by a directed route or through another
// switch finds the same stored answer.
#pragma once

#include <compare>
#include <cstdint>

#include "mad/request.hpp"
#include "sa/stored_tables.hpp"
#include "subnet/model.hpp"
#include "subnet/path_end.hpp"

namespace ib::snapshot {

/// The row of raw_answer that answers a request.
struct AnswerKey {
  std::uint8_t mgmt_class{};  ///< SMPs of both kinds: that of LID-routed ones
  std::uint16_t attribute{};
  subnet::NodeIndex node{};   ///< the node that is asked; 0 for the SA
  std::uint8_t entry_port{};  ///< the port of a node that is no switch, where its agents answer for one port only; else 0
  std::uint32_t modifier{};
  /// PortSelect of performance management; by_lid for the NodeInfo of a switch that was asked by its LID; of other GMPs a hash of
  /// their data.
  std::uint32_t selector{};
  auto operator<=>(const AnswerKey&) const = default;
};

/// The selector of a NodeInfo that tells by which port LID-routed SMPs come.
inline constexpr std::uint32_t by_lid = 1;

/// The key of `request` to the node at `place`, which must be one.
AnswerKey key_of(const subnet::Subnet& subnet, const subnet::PathEnd& place, const mad::Request& request);
/// The key of a table of an SA's records. Two tables may have the same attribute.
AnswerKey table_key(const sa::TableInfo& table);

/// The part of a MAD of a class that is stored: its attribute. Of congestion control, whose attributes do not all begin at the same
/// place (IBA A10.4.3), all behind the CC_Key.
mad::DataArea stored_area(std::uint8_t mgmt_class);

}  // namespace ib::snapshot
