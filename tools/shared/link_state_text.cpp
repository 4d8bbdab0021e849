// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/link_state_text.hpp"

#include <fmt/format.h>

#include "iba-gen/smp.hpp"

namespace ib::tools {
namespace {

template <class State>
std::string text_of(unsigned state) {
  const std::string_view text = state == 0 ? "" : smp::to_text(static_cast<State>(state));
  return text.empty() ? fmt::format("?? {}", state) : std::string(text);
}

}  // namespace

std::string link_state_text(unsigned state) { return text_of<smp::PortState>(state); }
std::string phys_link_state_text(unsigned state) { return text_of<smp::PortPhysicalState>(state); }

}  // namespace ib::tools
