// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/link_state_text.hpp"

#include <fmt/format.h>

namespace ib::tools {

std::string link_state_text(unsigned state) {
  switch (state) {
    case 1:
      return "Down";
    case 2:
      return "Init";
    case 3:
      return "Armed";
    case 4:
      return "Active";
    default:
      return fmt::format("?? {}", state);
  }
}

std::string phys_link_state_text(unsigned state) {
  switch (state) {
    case 1:
      return "Sleep";
    case 2:
      return "Polling";
    case 3:
      return "Disabled";
    case 4:
      return "Config.Train";
    case 5:
      return "Link UP";
    case 6:
      return "Error Recovery";
    case 7:
      return "PHY Test";
    default:
      return fmt::format("?? {}", state);
  }
}

}  // namespace ib::tools
