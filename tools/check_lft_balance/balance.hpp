// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Whether the ports of a switch carry alike: how many LIDs go out by each.
#pragma once

#include <string>
#include <vector>

namespace ib::tools::balance {

/// A port that counts, and the LIDs of end ports that go out by it.
struct PortUse {
  unsigned port{};
  unsigned lids{};
};

/// What is found of one switch.
struct SwitchUse {
  std::string name;
  std::string guid;            ///< as it is shown
  std::vector<PortUse> ports;  ///< those that lead on to other switches
  unsigned in_use{};           ///< ports that are up or carry something, those to end ports included
  bool unbalanced{};
};

/// Sets `unbalanced`: whether a port carries at least two LIDs more than another. With `deeper` a switch of more than 12 ports counts as
/// balanced too where its ports are of two halves (up and down) or unused ones, each balanced in itself.
void judge(SwitchUse& of, bool deeper);

}  // namespace ib::tools::balance
