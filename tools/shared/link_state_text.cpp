// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/link_state_text.hpp"

#include <fmt/format.h>

#include <array>
#include <span>
#include <string_view>

namespace ib::tools {

namespace {

/// The word for `state` of those from state 1 on.
std::string text_of(unsigned state, std::span<const std::string_view> from_1) {
  return state - 1 < from_1.size() ? std::string(from_1[state - 1]) : fmt::format("?? {}", state);
}

}  // namespace

std::string link_state_text(unsigned state) {
  constexpr std::array<std::string_view, 4> names{"Down", "Init", "Armed", "Active"};
  return text_of(state, names);
}

std::string phys_link_state_text(unsigned state) {
  constexpr std::array<std::string_view, 7> names{"Sleep", "Polling", "Disabled", "Config.Train", "Link UP", "Error Recovery", "PHY Test"};
  return text_of(state, names);
}

}  // namespace ib::tools
