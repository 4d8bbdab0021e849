// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/checks.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "health/checks/common.hpp"

namespace ib::health {

std::span<const Check> all_checks() {
  constexpr std::array topics{node_checks,     sibling_checks, port_checks, error_checks, traffic_checks,
                              physical_checks, manager_checks, way_checks,  route_checks, baseline_checks};
  static const std::vector<Check> all = [&topics] {
    std::vector<Check> checks;
    for (const auto topic : topics) std::ranges::copy(topic(), std::back_inserter(checks));
    return checks;
  }();
  return all;
}

const Check* find_check(std::string_view id) {
  const auto all = all_checks();
  const auto found = std::ranges::find(all, id, &Check::id);
  return found == all.end() ? nullptr : &*found;
}

bool Selection::has(const Check& check) const {
  const bool is_named = only.empty() || std::ranges::find(only, &check) != only.end();
  return is_named && std::ranges::find(skip, &check) == skip.end();
}

Sources Selection::needs() const {
  Sources all;
  for (const Check& check : all_checks()) {
    if (has(check)) all |= check.needs;
  }
  return all;
}

}  // namespace ib::health
