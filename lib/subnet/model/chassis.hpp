// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds the switches that are in one box (chassis). Director switches of Voltaire are recognised by device ID and by the spine
// port that a line board is wired to. Director switches of Mellanox are recognised by their node descriptions. Other boxes, and
// nodes of any kind with several parts, are recognised by a shared system image GUID. Slots and port numbers are also converted
// to those printed on the front panel.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "subnet/model/model.hpp"

namespace ib::subnet {

inline constexpr unsigned max_spines = 18;
inline constexpr unsigned max_lines = 36;

/// One box. The slot tables hold node indexes or none.
struct Chassis {
  unsigned number{};  ///< from 1; 0 means a single node, which is not shown as a box
  Guid guid;
  std::array<NodeIndex, max_spines + 1> spines{};  ///< by slot, from 1
  std::array<NodeIndex, max_lines + 1> lines{};
  std::vector<NodeIndex> others;  ///< parts without a known slot; the last found is the first
  /// Boards whose slot is outside the tables above: spine 19 or line 0, spine 0, line 37. infiniband-diags counts them as parts of the box
  /// but does not list them.
  std::array<NodeIndex, 3> unlisted{};
};

enum class SlotKind : std::uint8_t { unknown, line, spine, router };

/// The place of a node in its box.
struct Place {
  std::uint32_t chassis = none;  ///< index into Grouping::chassis
  SlotKind kind{};
  std::uint8_t slot{}, chip{};
  bool recognised{};
  std::string model;  ///< "ISR9288", or the text of the node description
};

/// The boxes of a subnet and the places of its nodes.
struct Grouping {
  std::vector<Chassis> chassis;
  std::vector<Place> places;                ///< by node index
  std::vector<std::uint8_t> external_port;  ///< by port index; 0: not known

  bool grouped(NodeIndex node) const { return places[node].chassis != none && chassis[places[node].chassis].number != 0; }
  /// The text of the slot, `Line 3 Chip 1`, or empty.
  std::string slot_text(const Node& node, NodeIndex at) const;
};

/// Groups the nodes of `subnet`. Boxes are numbered in the order of their nodes in `order`, which must name every node once.
Grouping group(const Subnet& subnet, std::span<const NodeIndex> order);

bool is_xsigo(Guid guid);         ///< the node is a part of a Xsigo director
bool is_xsigo_host(Guid guid);    ///< the node is a host adapter of a Xsigo director
bool is_xsigo_target(Guid guid);  ///< the node is a target adapter of a Xsigo director

}  // namespace ib::subnet
