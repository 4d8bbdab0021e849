// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/model/names.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "base/escape.hpp"
#include "base/parse.hpp"

namespace ib::subnet {

namespace {

constexpr std::array<std::uint16_t, 7> whole_boxes{0xbd36, 0xc738, 0xc739, 0xcb20, 0xcb21, 0xcf08, 0xcf09};  // up to Switch-IB 2
constexpr std::uint16_t quantum = 0xd2f0, quantum2 = 0xd2f2;
constexpr unsigned quantum_cages = 40, quantum2_ports = 64;

bool is_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, is_digit); }

/// Whether a description names a chip of a director: "NAME/L16/U2", "NAME/S01/U1".
bool is_in_director(std::string_view description) {
  const std::size_t chip = description.rfind("/U");
  if (chip == std::string_view::npos || chip == 0 || !is_digits(description.substr(chip + 2))) return false;
  const std::size_t board = description.rfind('/', chip - 1);
  if (board == std::string_view::npos || board + 1 >= chip) return false;
  const char kind = description[board + 1];
  return (kind == 'L' || kind == 'S') && is_digits(description.substr(board + 2, chip - board - 2));
}

std::string quantum_label(unsigned number, unsigned ports) {
  if (ports <= quantum_cages + 1) return number <= quantum_cages ? std::to_string(number) : "";
  return number <= 2 * quantum_cages ? fmt::format("{}/{}", (number - 1) / 2 + 1, (number - 1) % 2 + 1) : "";
}

std::string quantum2_label(unsigned number, unsigned ports) {
  if (ports <= quantum2_ports + 1)
    return number <= quantum2_ports ? fmt::format("1/{}/{}", (number - 1) / 2 + 1, (number - 1) % 2 + 1) : "";
  if (number > 2 * quantum2_ports) return "";
  return fmt::format("1/{}/{}/{}", (number - 1) / 4 + 1, (number - 1) / 2 % 2 + 1, (number - 1) % 2 + 1);
}

}  // namespace

std::string diags_node_name(const NodeNameMap& names, Guid node, std::string_view description) {
  const auto mapped = names.find(node);
  return mapped ? printable_words(*mapped) : printable(description);
}

std::string diags_node_name(const Node& node, const NodeNameMap& names) { return diags_node_name(names, node.guid(), node.description()); }

std::string port_label(const Subnet& subnet, PortIndex at) {
  const Port& port = subnet.port(at);
  const Node& node = subnet.node(port.node);
  if (node.kind() != NodeKind::sw || port.number == 0 || is_in_director(node.description())) return {};
  if (node.info.device_id == quantum) return quantum_label(port.number, node.info.num_ports);
  if (node.info.device_id == quantum2) return quantum2_label(port.number, node.info.num_ports);
  return std::ranges::find(whole_boxes, node.info.device_id) != whole_boxes.end() ? std::to_string(port.number) : "";
}

std::string twin_mark(const Subnet& subnet, NodeIndex node) {
  if (has_own_guid(subnet, node)) return {};
  std::string text = " (route 0";
  for (const unsigned port : route_ports(subnet, node)) text += ',' + std::to_string(port);
  return text + ')';
}

}  // namespace ib::subnet
