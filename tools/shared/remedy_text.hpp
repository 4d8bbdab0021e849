// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Remedies of lib/health in the words of this program.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace ib::tools {

/// A remedy whose actions in braces (ib::health::Finding::what_to_do) are command lines.
inline std::string remedy_text(std::string_view remedy) {
  using fmt::arg;
  return fmt::format(fmt::runtime(remedy), arg("check_routes", "ibtool check_routes"), arg("clear_counters", "ibtool ibclearerrors"),
                     arg("enable_own_port", "ibtool ibportstate -D 0 PORT enable"), arg("find_manager", "ibtool sminfo"),
                     arg("query_mtus", "ibtool smpquery PI, ibtool saquery PR"), arg("query_node", "ibtool smpquery, ibtool perfquery"),
                     arg("query_pkeys", "ibtool smpquery PKeys"), arg("query_vls", "ibtool smpquery PI"),
                     arg("reset_port", "ibtool ibportstate reset"), arg("set_rate", "ibtool ibportstate width, speed"));
}

}  // namespace ib::tools
