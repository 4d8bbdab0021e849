// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Numbers are compared as texts, because ibnetdiscover always writes a number in the same form.
#include "tools/ibidsverify/topology_ids.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace ib::tools {
namespace {

constexpr std::string_view digits = "0123456789";

/// The digits between the last `before` that is followed by digits, and the blank after these digits.
std::optional<std::string> last_number(std::string_view line, std::string_view before) {
  for (auto at = line.rfind(before); at != std::string_view::npos; at = at == 0 ? std::string_view::npos : line.rfind(before, at - 1)) {
    const std::string_view rest = line.substr(at + before.size());
    const auto end = rest.find_first_not_of(digits);
    if (end != std::string_view::npos && end > 0 && rest[end] == ' ') return std::string(rest.substr(0, end));
  }
  return std::nullopt;
}

/// The text in the parentheses that begin at `open`. Empty if there is no closing parenthesis.
std::string in_parentheses(std::string_view line, std::size_t open) {
  const auto close = line.find(')', open);
  return close == std::string_view::npos ? std::string() : std::string(line.substr(open + 1, close - open - 1));
}

}  // namespace

void TopologyIds::complain(std::string line) { complaints_ += std::move(line) + "\n"; }

void TopologyIds::add_lid() {
  if (lid_ == "0") return complain(fmt::format("LID 0 found for {} NodeGUID {}", type_, node_guid_));
  const auto [known, is_new] = lids_.try_emplace(lid_, node_guid_);
  if (!is_new) complain(fmt::format("LID {} already defined for NodeGUID {}", lid_, known->second));
}

void TopologyIds::add_node_guid() {
  if (node_guid_ == "0x0") return complain(fmt::format("{} GUID 0x0 found with LID {}", type_, lid_));
  const auto [known, is_new] = node_guids_.try_emplace(node_guid_, lid_);
  if (!is_new) complain(fmt::format("NodeGUID {} already defined for LID {}", node_guid_, known->second));
}

void TopologyIds::add_port_guid() {
  if (port_guid_ == "0x0") return complain(fmt::format("{} GUID 0x0 found with LID {}", type_, lid_));
  const auto [known, is_new] = port_guids_.try_emplace(port_guid_, lid_);
  if (!is_new) return complain(fmt::format("PortGUID {} already defined for LID {}", port_guid_, known->second));
  if (node_guid_ != port_guid_ && node_guids_.contains(port_guid_))
    complain(fmt::format("PortGUID {} is an invalid duplicate of a NodeGUID", port_guid_));
}

/// Reads a line at the beginning of a node's block.
void TopologyIds::node_head(std::string_view line) {
  constexpr std::string_view switch_guid = "switchguid=";
  for (const std::string_view word : {std::string_view("caguid="), std::string_view("rtguid=")}) {
    if (!line.starts_with(word)) continue;
    node_guid_ = line.substr(word.size());
    type_.clear();
  }
  if (line.starts_with(switch_guid)) {
    node_guid_ = line.substr(switch_guid.size());
    port_guid_.clear();
    type_.clear();
    if (const auto open = node_guid_.find('('); open != std::string::npos) {
      port_guid_ = "0x" + in_parentheses(node_guid_, open);
      node_guid_.erase(open);
    }
  }
  if (line.starts_with("Ca") || line.starts_with("Rt")) {
    type_ = line.starts_with("Ca") ? "ca" : "router";
    first_port_ = true;
  }
  if (!line.starts_with("Switch")) return;
  const auto lid = last_number(line, " lid ");
  if (!lid || line.find("\"S-") == std::string_view::npos || line.find(" port") == std::string_view::npos) return;
  type_ = "switch";
  first_port_ = true;
  lid_ = *lid;
  add_lid();
  add_node_guid();
  if (!port_guid_.empty()) add_port_guid();
}

/// Reads the line of a linked port of a channel adapter or router.
void TopologyIds::end_port(std::string_view line) {
  if (!line.starts_with('[')) return;
  const auto lid = last_number(line, "# lid ");
  const bool linked = std::ranges::any_of(std::array<std::string_view, 3>{"\"S-", "\"H-", "\"R-"},
                                          [line](std::string_view peer) { return line.find(peer) != std::string_view::npos; });
  if (lid && linked) {
    lid_ = *lid;
    add_lid();
    if (std::exchange(first_port_, false)) add_node_guid();
  }
  const auto number = line.find_first_not_of(digits, 1);
  if (number == 1 || number == std::string_view::npos || !line.substr(number).starts_with("](")) return;
  port_guid_ = "0x" + in_parentheses(line, number + 1);
  add_port_guid();
}

void TopologyIds::read_line(std::string_view line) {
  node_head(line);
  if (type_ == "ca" || type_ == "router") end_port(line);
}

void TopologyIds::read(std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    read_line(line);
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
}

}  // namespace ib::tools
