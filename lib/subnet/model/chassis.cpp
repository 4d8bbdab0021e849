// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Nodes are grouped in the order of infiniband-diags: first the places of Voltaire and Mellanox boards, then boxes around
// Voltaire spines, then nodes with the same system image GUID.
#include "subnet/model/chassis.hpp"

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "subnet/model/voltaire.hpp"

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
    result_.places.resize(subnet.nodes().size());
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
      if (spine && place(at).recognised && place(at).chassis == none) build_box(at);
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
  Place& place(NodeIndex at) { return result_.places[at]; }

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
    Place& p = place(at);
    p.recognised = true;
    p.kind = kind;
    p.model = voltaire::model_name(model);
    p.slot = where.slot;
    p.chip = where.chip;
  }
  void settle_router(NodeIndex at, const Port& spine_port) {
    const Model model = spine_of(spine_port.node);
    settle(at, SlotKind::router, model, voltaire::router_place(model, spine_port.number, subnet_.node(spine_port.node).guid()));
    if (vendor(at) != voltaire::vendor_id) place(at).model = {};  // another vendor's adapter in that slot
  }

  void place_voltaire(NodeIndex at) {
    if (place(at).recognised) return;
    place(at).recognised = true;
    const Model spine = spine_of(at);
    const Line line = line_of(at);
    if (voltaire::is_router_board(device(at))) {
      each_link(at, 255, [&](const Port&, const Port& peer) {
        if (spine_of(peer.node) != Model::unknown) settle_router(at, peer);
      });
    } else if (spine != Model::unknown) {
      each_link(at, spine == Model::isr4700x2 ? 18 : 255, [&](const Port& port, const Port& peer) {
        if (!is_switch(peer.node)) {
          if (!place(peer.node).recognised) settle_router(peer.node, port);
        } else if (place(at).model.empty()) {
          settle(at, SlotKind::spine, spine, voltaire::spine_place(spine, peer.number));
        }
      });
    } else if (line != Line::none) {
      each_link(at, voltaire::first_external(line, spine) - 1, [&](const Port&, const Port& peer) {
        const Model model = spine_of(peer.node);
        if (place(at).kind == SlotKind::unknown) settle(at, SlotKind::line, model, voltaire::line_place(model, peer.number));
      });
    }
    if (line == Line::none && spine != Model::isr4700x2) return;
    const Node& node = subnet_.node(at);
    for (unsigned number = 1; number < node.slots; ++number) {
      result_.external_port[node.first_port + number] =
          static_cast<std::uint8_t>(voltaire::external_port(line, spine, place(at).chip, number));
    }
  }

  /// Finds the place of a Mellanox board in its node description: `MF0;<system>:<type>/<L or S><slot>[:<board>]/U<chip>`.
  void place_mellanox(NodeIndex at) {
    const Node& node = subnet_.node(at);
    std::string_view text = node.description();
    if (device(at) != infiniscale4 || !text.starts_with("MF0;")) return;
    const auto take = [&text](std::string_view ends) -> std::optional<std::string_view> {
      const auto end = text.find_first_of(ends);
      if (end == std::string_view::npos) return std::nullopt;
      const std::string_view part = text.substr(0, end);
      text.remove_prefix(end);
      return part;
    };
    if (!take(":")) return;
    text.remove_prefix(1);
    const auto type = take("/");
    if (!type) return;
    text.remove_prefix(1);
    const auto slot = take("/:");
    if (!slot || slot->empty() || (slot->front() != 'L' && slot->front() != 'S')) return;
    if (!take("/") || !text.starts_with("/U")) return;
    Place& p = place(at);
    p.chip = number_at(text.substr(2));
    p.kind = slot->front() == 'L' ? SlotKind::line : SlotKind::spine;
    p.slot = number_at(slot->substr(1));
    p.recognised = true;
    if (p.slot > (p.kind == SlotKind::line ? max_lines : max_spines) + 1) {  // infiniband-diags takes one too many
      p.slot = 0;
      return;
    }
    p.model = type->substr(0, 19);
    for (unsigned number = 1; p.kind == SlotKind::line && number < node.slots && number <= 18; ++number) {
      result_.external_port[node.first_port + number] = static_cast<std::uint8_t>(number);
    }
  }
  /// The number at the beginning of `text`, or 0. Only its low 8 bits are kept: slot 260 is slot 4.
  static std::uint8_t number_at(std::string_view text) {
    return static_cast<std::uint8_t>(std::strtol(std::string(text).c_str(), nullptr, 10));
  }

  Chassis& new_box() {
    Chassis& box = result_.chassis.emplace_back();
    box.spines.fill(none);
    box.lines.fill(none);
    box.unlisted.fill(none);
    return box;
  }
  void insert_spine(NodeIndex at, std::uint32_t box) {
    const Place& p = place(at);
    unsigned where = p.slot;
    switch (spine_of(at)) {
      case Model::isr9288:
      case Model::isr2012:
        where = 3U * (p.slot - 1U) + p.chip;
        break;
      case Model::isr4700:
      case Model::isr4700x2:
        where = 2U * (p.slot - 1U) + p.chip;
        break;
      default:
        break;
    }
    if (p.slot > 0 && where >= 1 && where <= max_spines) insert(result_.chassis[box].spines[where], at, box);
  }
  void insert_line(NodeIndex at, std::uint32_t box) {
    const Place& p = place(at);
    const unsigned where = line_of(at) == Line::slb4018 ? p.slot : 3U * (p.slot - 1U) + p.chip;
    if (p.slot > 0 && where >= 1 && where <= max_lines) insert(result_.chassis[box].lines[where], at, box);
  }
  /// The slot that a Mellanox board says it is in. infiniband-diags uses one slot for spine 19 and line 0: the board of them that is found
  /// first takes it.
  static NodeIndex& slot_of(Chassis& box, const Place& p) {
    const bool is_line = p.kind == SlotKind::line;
    if (p.slot == 0) return box.unlisted[is_line ? 0 : 1];
    if (p.slot > (is_line ? max_lines : max_spines)) return box.unlisted[is_line ? 2 : 0];
    return is_line ? box.lines[p.slot] : box.spines[p.slot];
  }
  void insert(NodeIndex& slot, NodeIndex at, std::uint32_t box) {
    if (slot != none) return;
    slot = at;
    place(at).chassis = box;
  }

  /// Builds the box of one spine. Follows the backplane until no board is new: spines lead to lines, and lines lead to spines.
  void build_box(NodeIndex spine) {
    const auto box = static_cast<std::uint32_t>(result_.chassis.size());
    new_box().number = ++numbered_;
    insert_spine(spine, box);
    const auto lines_of = [&](NodeIndex at) {
      each_link(at, spine_of(at) == Model::isr4700x2 ? 18 : 255, [&](const Port&, const Port& peer) {
        if (place(peer.node).recognised && spine_of(peer.node) == Model::unknown) insert_line(peer.node, box);
      });
    };
    lines_of(spine);
    for (int pass = 0; pass < 2; ++pass) {
      for (const NodeIndex at : result_.chassis[box].lines) {
        if (at == none || line_of(at) == Line::none) continue;
        each_link(at, voltaire::first_external(line_of(at), Model::unknown) - 1, [&](const Port&, const Port& peer) {
          if (place(peer.node).recognised && spine_of(peer.node) != Model::unknown) insert_spine(peer.node, box);
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
    const Guid remote = subnet_.node(subnet_.port(subnet_.port(first).peer).node).info.system_image_guid;
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
      new_box().guid = image;
    }
    for (const NodeIndex at : order_) {
      if (!counts(at) || boxes[image_of(at)].nodes < 2) continue;
      const std::uint32_t index = boxes[image_of(at)].index;
      Chassis& box = result_.chassis[index];
      if (box.number == 0) box.number = ++numbered_;
      Place& p = place(at);
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
  const Place& p = places[at];
  const bool known_vendor = node.info.vendor_id == voltaire::vendor_id || node.info.vendor_id == mellanox_vendor;
  if (!known_vendor || p.chassis == none || p.kind == SlotKind::unknown) return {};
  const std::string_view kind = p.kind == SlotKind::line ? "Line" : p.kind == SlotKind::spine ? "Spine" : "SRBD";
  return std::string(kind) + ' ' + std::to_string(p.slot) + " Chip " + std::to_string(p.chip);
}

Grouping group(const Subnet& subnet, std::span<const NodeIndex> order) { return Grouper(subnet, order).run(); }

}  // namespace ib::subnet
