// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which switches stand in one box. Director switches of Voltaire are recognised by device ID and by which port of a
// spine a line board is wired to, those of Mellanox by their node description, others (and multi-part nodes of any
// kind) by a shared system image GUID. What the boxes print on their front panels is mapped to as well: slots and
// external port numbers.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "subnet/model.hpp"

namespace ib::subnet {

inline constexpr unsigned max_spines = 18;
inline constexpr unsigned max_lines = 36;

/// One box. Slot tables hold node indexes or none.
struct Chassis {
  unsigned number{};  ///< from 1; 0: a single node after all, not to be shown
  Guid guid;
  std::array<NodeIndex, max_spines + 1> spines{};  ///< by place, from 1
  std::array<NodeIndex, max_lines + 1> lines{};
  std::vector<NodeIndex> others;  ///< parts that have no known slot, the last found first
};

enum class SlotKind : std::uint8_t { unknown, line, spine, router };

/// A node's place in its box.
struct Place {
  std::uint32_t chassis = none;  ///< of Grouping::chassis
  SlotKind kind{};
  std::uint8_t slot{}, chip{};
  bool recognised{};
  std::string model;  ///< "ISR9288", or what the description says
};

struct Grouping {
  std::vector<Chassis> chassis;
  std::vector<Place> places;                ///< by node
  std::vector<std::uint8_t> external_port;  ///< by port; 0: none known

  bool grouped(NodeIndex node) const { return places[node].chassis != none && chassis[places[node].chassis].number != 0; }
  /// `Line 3 Chip 1`, or nothing.
  std::string slot_text(const Node& node, NodeIndex at) const;
};

/// Groups the nodes of `subnet`. Boxes are numbered as `order`, which must name every node once, meets them.
Grouping group(const Subnet& subnet, std::span<const NodeIndex> order);

bool is_xsigo(Guid guid);         ///< a part of a Xsigo director
bool is_xsigo_host(Guid guid);    ///< a host adapter of one
bool is_xsigo_target(Guid guid);  ///< a target adapter of one

}  // namespace ib::subnet
