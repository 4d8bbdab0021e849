// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Nodes are grouped in the order of infiniband-diags: first the places of Voltaire and Mellanox boards, then boxes around
// Voltaire spines, then nodes with the same system image GUID.
#include "subnet/model/chassis.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace ib::subnet {
namespace {

using voltaire::Line;
using voltaire::Model;

constexpr std::uint32_t mellanox_vendor = 0x2c9, topspin_vendor = 0x5ad, silverstorm_vendor = 0x66a, xsigo_vendor = 0x1397;
constexpr std::uint16_t infiniscale4 = 0xbd36;

bool is_xsigo_switch(Guid guid) { return guid.value >> 32 == 0x00139701; }
bool is_xsigo_leaf_one(Guid guid) { return guid.value >> 24 == 0x0013970102; }
/// In the system image GUIDs of these vendors, byte 4 is the slot within the box.
Guid without_slot(Guid guid) { return {guid.value & 0xffffffff00ffffffU}; }

class Grouper {
 public:
  Grouper(const Subnet& subnet, std::span<const NodeIndex> order) : subnet_(subnet), order_(order) {
    result_.slots.resize(subnet.nodes().size());
    result_.external_port.resize(subnet.ports().size());
  }

  Grouping run() {
    for (const NodeIndex at : order_) {
      if (!is_switch(at)) continue;
      if (vendor(at) == voltaire::vendor_id) place_voltaire(at);
      if (vendor(at) == mellanox_vendor) place_mellanox(at);
    }
    for (const NodeIndex at : order_) {
      const bool spine = is_switch(at) && vendor(at) == voltaire::vendor_id && spine_of(at) != Model::unknown;
      if (spine && slot_at(at).recognised && slot_at(at).chassis == none) build_box(at);
    }
    group_by_image();
    return std::move(result_);
  }

 private:
  bool is_switch(NodeIndex at) const { return subnet_.node(at).kind() == NodeKind::sw; }
  std::uint32_t vendor(NodeIndex at) const { return subnet_.node(at).info.vendor_id; }
  std::uint16_t device(NodeIndex at) const { return subnet_.node(at).info.device_id; }
  Model spine_of(NodeIndex at) const { return voltaire::spine_model(device(at)); }
  Line line_of(NodeIndex at) const { return voltaire::line_board(device(at)); }
  Slot& slot_at(NodeIndex at) { return result_.slots[at]; }

  /// Calls `use(port, peer)` for the linked ports 1…last of a node.
  template <class Use>
  void each_link(NodeIndex at, unsigned last, Use use) const {
    const Node& node = subnet_.node(at);
    for (unsigned number = 1; number < node.slots && number <= last; ++number) {
      const Port& port = subnet_.port(node.first_port + number);
      if (port.peer != none) use(port, subnet_.port(port.peer));
    }
  }

  void settle(NodeIndex at, SlotKind kind, Model model, voltaire::SlotAndChip where) {
    slot_at(at) = {slot_at(at).chassis, kind, where.slot, where.chip, true, std::string(voltaire::model_name(model))};
  }
  void settle_router(NodeIndex at, const Port& spine_port) {
    const Model model = spine_of(spine_port.node);
    settle(at, SlotKind::router, model, voltaire::router_place(model, spine_port.number, subnet_.node(spine_port.node).guid()));
    if (vendor(at) != voltaire::vendor_id) slot_at(at).model = {};  // another vendor's adapter in that slot
  }

  void place_voltaire(NodeIndex at) {
    if (slot_at(at).recognised) return;
    slot_at(at).recognised = true;
    const Model spine = spine_of(at);
    const Line line = line_of(at);
    if (voltaire::is_router_board(device(at))) {
      each_link(at, 255, [&](const Port&, const Port& peer) {
        if (spine_of(peer.node) != Model::unknown) settle_router(at, peer);
      });
    } else if (spine != Model::unknown) {
      each_link(at, spine == Model::isr4700x2 ? 18 : 255, [&](const Port& port, const Port& peer) {
        if (!is_switch(peer.node)) {
          if (!slot_at(peer.node).recognised) settle_router(peer.node, port);
        } else if (slot_at(at).model.empty()) {
          settle(at, SlotKind::spine, spine, voltaire::spine_place(spine, peer.number));
        }
      });
    } else if (line != Line::none) {
      each_link(at, voltaire::first_external(line, spine) - 1, [&](const Port&, const Port& peer) {
        const Model model = spine_of(peer.node);
        if (slot_at(at).kind == SlotKind::unknown) settle(at, SlotKind::line, model, voltaire::line_place(model, peer.number));
      });
    }
    if (line == Line::none && spine != Model::isr4700x2) return;
    const Node& node = subnet_.node(at);
    for (unsigned number = 1; number < node.slots; ++number) {
      result_.external_port[node.first_port + number] =
          static_cast<std::uint8_t>(voltaire::external_port(line, spine, slot_at(at).chip, number));
    }
  }

  /// Finds the place of a Mellanox board in its node description: `MF0;<system>:<type>/<L or S><slot>[:<board>]/U<chip>`.
  void place_mellanox(NodeIndex at) {
    const Node& node = subnet_.node(at);
    const std::string_view text = node.description();
    if (device(at) != infiniscale4 || !text.starts_with("MF0;")) return;
    const std::size_t colon = text.find(':'), slash = text.find('/', colon);
    if (slash == std::string_view::npos) return;
    const std::size_t end = text.find_first_of("/:", slash + 1), last = text.find('/', end);
    const std::string_view slot = text.substr(slash + 1, end - slash - 1);
    if (last == std::string_view::npos || !text.substr(last).starts_with("/U")) return;
    if (slot.empty() || (slot[0] != 'L' && slot[0] != 'S')) return;
    Slot& p = slot_at(at);
    p.chip = number_at(text.substr(last + 2));
    p.kind = slot[0] == 'L' ? SlotKind::line : SlotKind::spine;
    p.slot = number_at(slot.substr(1));
    p.recognised = true;
    if (p.slot > (p.kind == SlotKind::line ? max_lines : max_spines) + 1) {  // infiniband-diags takes one too many
      p.slot = 0;
      return;
    }
    p.model = text.substr(colon + 1, slash - colon - 1).substr(0, 19);
    for (unsigned number = 1; p.kind == SlotKind::line && number < node.slots && number <= 18; ++number) {
      result_.external_port[node.first_port + number] = static_cast<std::uint8_t>(number);
    }
  }
  /// The number at the beginning of `text`, or 0. Only its low 8 bits are kept: slot 260 is slot 4.
  static std::uint8_t number_at(std::string_view text) {
    return static_cast<std::uint8_t>(std::strtol(std::string(text).c_str(), nullptr, 10));
  }

  void insert_spine(NodeIndex at, std::uint32_t box) {
    const Slot& p = slot_at(at);
    const unsigned where = voltaire::spine_number(spine_of(at), p.slot, p.chip);
    if (p.slot > 0 && where >= 1 && where <= max_spines) insert(result_.chassis[box].spines[where], at, box);
  }
  void insert_line(NodeIndex at, std::uint32_t box) {
    const Slot& p = slot_at(at);
    const unsigned where = line_of(at) == Line::slb4018 ? p.slot : 3U * (p.slot - 1U) + p.chip;
    if (p.slot > 0 && where >= 1 && where <= max_lines) insert(result_.chassis[box].lines[where], at, box);
  }
  /// The slot that a Mellanox board says it is in. infiniband-diags uses one slot for spine 19 and line 0: the board of them that is found
  /// first takes it.
  static NodeIndex& slot_of(Chassis& box, const Slot& p) {
    const bool is_line = p.kind == SlotKind::line;
    if (p.slot == 0) return box.unlisted[is_line ? 0 : 1];
    if (p.slot > (is_line ? max_lines : max_spines)) return box.unlisted[is_line ? 2 : 0];
    return is_line ? box.lines[p.slot] : box.spines[p.slot];
  }
  void insert(NodeIndex& slot, NodeIndex at, std::uint32_t box) {
    if (slot != none) return;
    slot = at;
    slot_at(at).chassis = box;
  }

  /// Builds the box of one spine. Follows the backplane until no board is new: spines lead to lines, and lines lead to spines.
  void build_box(NodeIndex spine) {
    const auto box = static_cast<std::uint32_t>(result_.chassis.size());
    result_.chassis.emplace_back().number = ++numbered_;
    insert_spine(spine, box);
    const auto lines_of = [&](NodeIndex at) {
      each_link(at, spine_of(at) == Model::isr4700x2 ? 18 : 255, [&](const Port&, const Port& peer) {
        if (slot_at(peer.node).recognised && spine_of(peer.node) == Model::unknown) insert_line(peer.node, box);
      });
    };
    lines_of(spine);
    for (int pass = 0; pass < 2; ++pass) {
      for (const NodeIndex at : result_.chassis[box].lines) {
        if (at == none || line_of(at) == Line::none) continue;
        each_link(at, voltaire::first_external(line_of(at), Model::unknown) - 1, [&](const Port&, const Port& peer) {
          if (slot_at(peer.node).recognised && spine_of(peer.node) != Model::unknown) insert_spine(peer.node, box);
        });
      }
      for (const NodeIndex at : result_.chassis[box].spines) {
        if (at != none) lines_of(at);
      }
    }
    Chassis& built = result_.chassis[box];
    for (const NodeIndex at : built.spines) {
      if (at == none) continue;
      built.guid = {subnet_.node(at).guid().value - 1};  // the GUID of the box is one less than the GUID of its first chip
      break;
    }
  }

  Guid image_of(NodeIndex at) const {
    const Node& node = subnet_.node(at);
    const Guid image = node.info.system_image_guid;
    if (vendor(at) == topspin_vendor || vendor(at) == silverstorm_vendor) return without_slot(image);
    if (vendor(at) != xsigo_vendor && !is_xsigo(image)) return image;
    if (is_xsigo_switch(image)) return without_slot(image);
    if (!is_xsigo_host(image) && !is_xsigo_target(image)) return image;
    // An adapter belongs to the box that its port 1 is wired to.
    const PortIndex first = subnet_.port_of(at, 1);
    if (first == none || !subnet_.port(first).is_known()) return {};  // infiniband-diags groups these together
    if (subnet_.port(first).peer == none) return image;
    const Guid remote = subnet_.node_of(subnet_.port(first).peer).info.system_image_guid;
    return is_xsigo_leaf_one(remote) ? without_slot(remote) : image;
  }

  void group_by_image() {
    struct Box {
      std::uint32_t index{};
      unsigned nodes{};
    };
    std::unordered_map<Guid, Box> boxes;
    const auto counts = [&](NodeIndex at) {
      return vendor(at) != voltaire::vendor_id && subnet_.node(at).info.system_image_guid.value != 0;
    };
    std::vector<Guid> first_seen;
    for (const NodeIndex at : order_) {
      if (counts(at) && boxes[image_of(at)].nodes++ == 0) first_seen.push_back(image_of(at));
    }
    for (const Guid image : first_seen) {
      if (boxes[image].nodes < 2) continue;
      boxes[image].index = static_cast<std::uint32_t>(result_.chassis.size());
      result_.chassis.emplace_back().guid = image;
    }
    for (const NodeIndex at : order_) {
      if (!counts(at) || boxes[image_of(at)].nodes < 2) continue;
      const std::uint32_t index = boxes[image_of(at)].index;
      Chassis& box = result_.chassis[index];
      if (box.number == 0) box.number = ++numbered_;
      Slot& p = slot_at(at);
      if (!p.recognised) {
        p.recognised = true;
        p.chassis = index;
        box.others.insert(box.others.begin(), at);
      } else if (vendor(at) == mellanox_vendor && (p.kind == SlotKind::line || p.kind == SlotKind::spine)) {
        insert(slot_of(box, p), at, index);
      }
    }
  }

  const Subnet& subnet_;
  std::span<const NodeIndex> order_;
  Grouping result_;
  unsigned numbered_{};
};

}  // namespace

bool is_xsigo(Guid guid) { return guid.value >> 40 == 0x001397; }
bool is_xsigo_host(Guid guid) { return guid.value >> 32 == 0x00139702; }
bool is_xsigo_target(Guid guid) { return guid.value >> 32 == 0x00139703; }

std::string Grouping::slot_text(const Node& node, NodeIndex at) const {
  const Slot& p = slots[at];
  const bool known_vendor = node.info.vendor_id == voltaire::vendor_id || node.info.vendor_id == mellanox_vendor;
  if (!known_vendor || p.chassis == none || p.kind == SlotKind::unknown) return {};
  const std::string_view kind = p.kind == SlotKind::line ? "Line" : p.kind == SlotKind::spine ? "Spine" : "SRBD";
  return std::string(kind) + ' ' + std::to_string(p.slot) + " Chip " + std::to_string(p.chip);
}

Grouping group(const Subnet& subnet, std::span<const NodeIndex> order) { return Grouper(subnet, order).run(); }

}  // namespace ib::subnet

// Ports are counted from 1. Runs of ports lead to the same slot or chip: "port / run" is the slot, "port % run" the chip.
namespace ib::subnet::voltaire {
namespace {

struct Runs {
  unsigned last;  ///< the last backplane port
  unsigned run;   ///< ports per slot
  unsigned chip;  ///< ports per chip within a slot; 0: one chip per slot
};

struct SpineBoard {
  Model model;
  std::array<std::uint16_t, 2> device_ids;
  std::string_view name;
  Runs to_lines;          ///< from the ports of a spine board
  Runs to_spines;         ///< from the ports of a line board
  unsigned chips_a_slot;  ///< in the count of spines
};
constexpr SpineBoard spine_boards[] = {
    {Model::isr9096, {0x5a0b, 0x5a33}, "ISR9096", {24, 6, 3}, {12, 3, 0}, 1},
    {Model::isr9288, {0x5a08, 0x5a32}, "ISR9288", {24, 2, 1}, {12, 3, 1}, 3},
    {Model::isr2004, {0x5a40, 0x5a40}, "ISR2004", {24, 6, 3}, {12, 3, 0}, 1},
    {Model::isr2012, {0x5a37, 0x5a37}, "ISR2012", {24, 2, 1}, {12, 3, 1}, 3},
    {Model::isr4700, {0x5a5c, 0x5a5c}, "ISR4700", {36, 2, 0}, {18, 2, 0}, 2},
    {Model::isr4700x2, {0x5a5d, 0x5a5d}, "ISR4700", {18, 1, 0}, {18, 2, 1}, 2},
    {Model::isr4200, {0x5a60, 0x5a60}, "ISR4200", {36, 4, 0}, {16, 4, 0}, 1},
    {Model::unknown, {}, "", {}, {}, 1},
};
constexpr std::pair<std::uint16_t, Line> line_boards[] = {
    {0x5a09, Line::slb24}, {0x5a34, Line::slb24},   {0x5a42, Line::slb24},
    {0x5a0d, Line::slb8},  {0x5a38, Line::slb2024}, {0x5a5b, Line::slb4018},
};

const SpineBoard& board_of(Model model) { return *std::ranges::find(spine_boards, model, &SpineBoard::model); }

SlotAndChip place(const Runs& wiring, unsigned port) {
  if (port < 1 || port > wiring.last) return {};
  const unsigned at = port - 1;
  const unsigned chip = wiring.chip == 0 ? 1 : at % wiring.run / wiring.chip + 1;
  return {static_cast<std::uint8_t>(at / wiring.run + 1), static_cast<std::uint8_t>(chip)};
}

}  // namespace

Model spine_model(std::uint16_t device_id) {
  const auto has_id = [device_id](const SpineBoard& board) { return std::ranges::count(board.device_ids, device_id) > 0; };
  const auto board = std::ranges::find_if(spine_boards, has_id);
  return board == std::end(spine_boards) ? Model::unknown : board->model;
}

Line line_board(std::uint16_t device_id) {
  const auto board = std::ranges::find(line_boards, device_id, &std::pair<std::uint16_t, Line>::first);
  return board == std::end(line_boards) ? Line::none : board->second;
}

bool is_router_board(std::uint16_t device_id) { return device_id == 0x5a00 || device_id == 0x5a01; }

std::string_view model_name(Model model) { return board_of(model).name; }

SlotAndChip line_place(Model spine, unsigned port) { return place(board_of(spine).to_lines, port); }

SlotAndChip spine_place(Model spine, unsigned port) {
  if (spine == Model::isr4200 && (port == 5 || port == 6)) return {0, 1};  // these ports of a line board are not connected
  if (spine == Model::isr4200 && port > 6) port -= 2;
  SlotAndChip at = place(board_of(spine).to_spines, port);
  // The chips of a fabric board are wired in descending order.
  if (spine == Model::isr4700x2 && at.chip != 0) at.chip = static_cast<std::uint8_t>(3 - at.chip);
  return at;
}

unsigned spine_number(Model spine, unsigned slot, unsigned chip) {
  const unsigned chips = board_of(spine).chips_a_slot;
  return chips == 1 ? slot : chips * (slot - 1U) + chip;
}

SlotAndChip router_place(Model spine, unsigned port, Guid spine_guid) {
  const std::uint8_t slot = line_place(spine, port).slot;
  if (spine == Model::isr9096 || spine == Model::isr2004)
    return {slot, slot == 0 ? std::uint8_t{} : static_cast<std::uint8_t>(3 - (port - 1) % 3)};
  if (spine != Model::isr9288 && spine != Model::isr2012) return {};
  // Chips of a fabric board have consecutive GUIDs, the first one wired to module 3.
  constexpr std::array<std::uint8_t, 4> module{2, 3, 2, 1};
  return {slot, module[spine_guid.value % 4]};
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
  if (line == Line::slb24) return slb24[at] + (chip - 1) * 6U;
  if (line == Line::slb8) return slb8[at] + (chip - 1) * 2U;
  if (line == Line::slb2024) return chip == 1 ? port : port - 12;
  if (line == Line::slb4018) return at + 1;
  return spine == Model::isr4700x2 ? at / 3 + (chip == 1 ? 7 : 1) : 0;
}

}  // namespace ib::subnet::voltaire
