// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/check_lft_balance/balance.hpp"

#include <algorithm>
#include <iterator>

namespace ib::tools::balance {

namespace {

constexpr unsigned few_ports = 12;  ///< a switch with so few used ports is not examined deeper

/// Whether no port carries more than one LID more than another.
bool is_even(const std::vector<PortUse>& ports) {
  const auto [least, most] = std::ranges::minmax_element(ports, {}, &PortUse::lids);
  return ports.empty() || most->lids <= least->lids + 1;
}

/// The ports that carry at least two LIDs less than the port that carries the most. Without `unused`, only ports that carry LIDs.
std::vector<PortUse> others(const std::vector<PortUse>& ports, bool unused) {
  const unsigned most = std::ranges::max_element(ports, {}, &PortUse::lids)->lids;
  std::vector<PortUse> rest;
  std::ranges::copy_if(ports, std::back_inserter(rest),
                       [&](const PortUse& port) { return port.lids + 1 < most && (unused || port.lids != 0); });
  return rest;
}

bool is_about_half(std::size_t count, unsigned of) {
  const std::size_t half = of / 2;
  return count == half || count == half + 1 || count + 1 == half;
}

}  // namespace

void judge(SwitchUse& of, bool deeper) {
  of.unbalanced = !is_even(of.ports);
  if (!of.unbalanced || !deeper || of.in_use <= few_ports) return;
  const std::vector<PortUse> half = others(of.ports, false);
  if (is_about_half(half.size(), of.in_use) && is_even(half)) of.unbalanced = false;
  const std::vector<PortUse> rest = others(of.ports, true);
  if (std::ranges::all_of(rest, [](const PortUse& port) { return port.lids == 0; })) of.unbalanced = false;
}

}  // namespace ib::tools::balance
