// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The director switches of Voltaire: the device IDs of their boards, and the place of a board by the port of another board that
// it is wired to. The wiring of the backplanes is regular, so most places are computed.
#pragma once

#include <cstdint>

#include "subnet/model/chassis.hpp"

namespace ib::subnet::voltaire {

inline constexpr std::uint32_t vendor_id = 0x8f1;

/// The models of director switches.
enum class Model : std::uint8_t { unknown, isr9288, isr9096, isr2012, isr2004, isr4700, isr4700x2, isr4200 };
/// The models of line boards.
enum class Line : std::uint8_t { none, slb24, slb8, slb2024, slb4018 };

/// The model of the spine boards with this device ID.
Model spine_model(std::uint16_t device_id);
/// The model of the line boards with this device ID.
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
/// The place of the router board that is wired to port `port` of the spine with node GUID `spine_guid`.
SlotAndChip router_place(Model spine, unsigned port, Guid spine_guid);

/// The first port that leads out of the box. Lower ports lead to the backplane.
unsigned first_external(Line line, Model spine);
/// The number on the front panel for `port` of chip `chip` (1 or 2), or 0.
unsigned external_port(Line line, Model spine, unsigned chip, unsigned port);

}  // namespace ib::subnet::voltaire
