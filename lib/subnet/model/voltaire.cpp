// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Ports are counted from 1. Runs of ports lead to the same slot or chip: "port / run" is the slot, "port % run" the chip.
#include "subnet/model/voltaire.hpp"

#include <array>

namespace ib::subnet::voltaire {
namespace {

struct Runs {
  unsigned last;  ///< the last backplane port
  unsigned run;   ///< ports per slot
  unsigned chip;  ///< ports per chip within a slot; 0: one chip per slot
};

SlotAndChip place(const Runs& wiring, unsigned port) {
  if (port < 1 || port > wiring.last) return {};
  const unsigned at = port - 1;
  const unsigned chip = wiring.chip == 0 ? 1 : at % wiring.run / wiring.chip + 1;
  return {static_cast<std::uint8_t>(at / wiring.run + 1), static_cast<std::uint8_t>(chip)};
}

}  // namespace

Model spine_model(std::uint16_t device_id) {
  switch (device_id) {
    case 0x5a0b:
    case 0x5a33:
      return Model::isr9096;
    case 0x5a08:
    case 0x5a32:
      return Model::isr9288;
    case 0x5a40:
      return Model::isr2004;
    case 0x5a37:
      return Model::isr2012;
    case 0x5a5c:
      return Model::isr4700;
    case 0x5a5d:
      return Model::isr4700x2;
    case 0x5a60:
      return Model::isr4200;
    default:
      return Model::unknown;
  }
}

Line line_board(std::uint16_t device_id) {
  switch (device_id) {
    case 0x5a09:
    case 0x5a34:
    case 0x5a42:
      return Line::slb24;
    case 0x5a0d:
      return Line::slb8;
    case 0x5a38:
      return Line::slb2024;
    case 0x5a5b:
      return Line::slb4018;
    default:
      return Line::none;
  }
}

bool is_router_board(std::uint16_t device_id) { return device_id == 0x5a00 || device_id == 0x5a01; }

std::string_view model_name(Model model) {
  switch (model) {
    case Model::isr9288:
      return "ISR9288";
    case Model::isr9096:
      return "ISR9096";
    case Model::isr2012:
      return "ISR2012";
    case Model::isr2004:
      return "ISR2004";
    case Model::isr4700:
    case Model::isr4700x2:
      return "ISR4700";
    case Model::isr4200:
      return "ISR4200";
    case Model::unknown:
      break;
  }
  return "";
}

SlotAndChip line_place(Model spine, unsigned port) {
  switch (spine) {
    case Model::isr9096:
    case Model::isr2004:
      return place({24, 6, 3}, port);
    case Model::isr9288:
    case Model::isr2012:
      return place({24, 2, 1}, port);
    case Model::isr4700:
      return place({36, 2, 0}, port);
    case Model::isr4700x2:
      return place({18, 1, 0}, port);
    case Model::isr4200:
      return place({36, 4, 0}, port);
    case Model::unknown:
      break;
  }
  return {};
}

SlotAndChip spine_place(Model spine, unsigned port) {
  switch (spine) {
    case Model::isr9096:
    case Model::isr2004:
      return place({12, 3, 0}, port);
    case Model::isr9288:
    case Model::isr2012:
      return place({12, 3, 1}, port);
    case Model::isr4700:
      return place({18, 2, 0}, port);
    case Model::isr4700x2: {  // the chips of a fabric board are wired in descending order
      SlotAndChip at = place({18, 2, 1}, port);
      if (at.chip != 0) at.chip = static_cast<std::uint8_t>(3 - at.chip);
      return at;
    }
    case Model::isr4200: {  // ports 5 and 6 of a line board are not connected
      if (port == 5 || port == 6) return {0, 1};
      return place({16, 4, 0}, port < 5 ? port : port - 2);
    }
    case Model::unknown:
      break;
  }
  return {};
}

SlotAndChip router_place(Model spine, unsigned port, Guid spine_guid) {
  const std::uint8_t slot = line_place(spine, port).slot;
  switch (spine) {
    case Model::isr9096:
    case Model::isr2004:
      return {slot, slot == 0 ? std::uint8_t{} : static_cast<std::uint8_t>(3 - (port - 1) % 3)};
    case Model::isr9288:
    case Model::isr2012: {  // chips of a fabric board have consecutive GUIDs, the first one wired to module 3
      constexpr std::array<std::uint8_t, 4> module{2, 3, 2, 1};
      return {slot, module[spine_guid.value % 4]};
    }
    default:
      return {};
  }
}

unsigned first_external(Line line, Model spine) { return line == Line::slb4018 || spine == Model::isr4700x2 ? 19 : 13; }

unsigned external_port(Line line, Model spine, unsigned chip, unsigned port) {
  // For the first chip, from port 13 on. The numbers of the second chip follow in the same pattern.
  constexpr std::array<std::uint8_t, 12> slb24{6, 5, 4, 18, 17, 16, 1, 2, 3, 13, 14, 15};
  constexpr std::array<std::uint8_t, 12> slb8{2, 2, 2, 6, 6, 6, 1, 1, 1, 5, 5, 5};
  const unsigned first = first_external(line, spine);
  const unsigned count = first == 19 ? 18 : 12;
  if (chip < 1 || chip > 2 || port < first || port >= first + count) return 0;
  const unsigned at = port - first;
  switch (line) {
    case Line::slb24:
      return slb24[at] + (chip - 1) * 6U;
    case Line::slb8:
      return slb8[at] + (chip - 1) * 2U;
    case Line::slb2024:
      return chip == 1 ? port : port - 12;
    case Line::slb4018:
      return at + 1;
    case Line::none:
      break;
  }
  return spine == Model::isr4700x2 ? at / 3 + (chip == 1 ? 7 : 1) : 0;
}

}  // namespace ib::subnet::voltaire
