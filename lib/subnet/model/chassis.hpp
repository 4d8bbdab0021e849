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
  Chassis() {
    spines.fill(none);
    lines.fill(none);
    unlisted.fill(none);
  }

  unsigned number{};  ///< from 1; 0 means a single node, which is not shown as a box
  Guid guid;
  std::array<NodeIndex, max_spines + 1> spines;  ///< by slot, from 1
  std::array<NodeIndex, max_lines + 1> lines;
  std::vector<NodeIndex> others;  ///< parts without a known slot; the last found is the first
  /// Boards whose slot is outside the tables above: spine 19 or line 0, spine 0, line 37. infiniband-diags counts them as parts of the box
  /// but does not list them.
  std::array<NodeIndex, 3> unlisted;
};

enum class SlotKind : std::uint8_t { unknown, line, spine, router };

struct Slot {
  std::uint32_t chassis = none;  ///< index into Grouping::chassis
  SlotKind kind{};
  std::uint8_t slot{}, chip{};
  bool recognised{};
  std::string model;  ///< "ISR9288", or the text of the node description
};

struct Grouping {
  std::vector<Chassis> chassis;
  std::vector<Slot> slots;                  ///< by node index
  std::vector<std::uint8_t> external_port;  ///< by port index; 0: not known

  /// The number of a port on the front of its box, in lists of links; empty if it is not known.
  std::string external_text(PortIndex at) const { return external_port[at] == 0 ? std::string() : std::to_string(external_port[at]); }
  bool grouped(NodeIndex node) const { return slots[node].chassis != none && chassis[slots[node].chassis].number != 0; }
  /// The text of the slot, `Line 3 Chip 1`, or empty.
  std::string slot_text(const Node& node, NodeIndex at) const;
};

/// Groups the nodes of `subnet`. Boxes are numbered in the order of their nodes in `order`, which must name every node once.
Grouping group(const Subnet& subnet, std::span<const NodeIndex> order);

bool is_xsigo(Guid guid);         ///< the node is a part of a Xsigo director
bool is_xsigo_host(Guid guid);    ///< the node is a host adapter of a Xsigo director
bool is_xsigo_target(Guid guid);  ///< the node is a target adapter of a Xsigo director

}  // namespace ib::subnet

// The director switches of Voltaire: the device IDs of their boards, and the place of a board by the port of another board that
// it is wired to. The wiring of the backplanes is regular, so most places are computed.
namespace ib::subnet::voltaire {

inline constexpr std::uint32_t vendor_id = 0x8f1;

enum class Model : std::uint8_t { unknown, isr9288, isr9096, isr2012, isr2004, isr4700, isr4700x2, isr4200 };
enum class Line : std::uint8_t { none, slb24, slb8, slb2024, slb4018 };

Model spine_model(std::uint16_t device_id);
Line line_board(std::uint16_t device_id);
bool is_router_board(std::uint16_t device_id);
std::string_view model_name(Model model);

/// A slot of a box, and the chip on the board in that slot; 0: not known.
struct SlotAndChip {
  std::uint8_t slot{}, chip{};
};

/// The place of the line board that is wired to port `port` of a spine of model `spine`.
SlotAndChip line_place(Model spine, unsigned port);
/// The place of the spine that is wired to port `port` of a line board.
SlotAndChip spine_place(Model spine, unsigned port);
/// The place of chip `chip` in slot `slot` among all spines of a box.
unsigned spine_number(Model spine, unsigned slot, unsigned chip);
/// The place of the router board that is wired to port `port` of the spine with node GUID `spine_guid`.
SlotAndChip router_place(Model spine, unsigned port, Guid spine_guid);

/// The first port that leads out of the box. Lower ports lead to the backplane.
unsigned first_external(Line line, Model spine);
/// The number on the front panel for `port` of chip `chip` (1 or 2), or 0.
unsigned external_port(Line line, Model spine, unsigned chip, unsigned port);

}  // namespace ib::subnet::voltaire
