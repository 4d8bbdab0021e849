// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The nodes that the operands of a command name, in a fabric that was discovered.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/frame/options.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// A node, the word by which complaints call it, and the only port that is meant.
struct ChosenNode {
  subnet::NodeIndex node;
  std::string word{};
  std::optional<std::uint8_t> port{};
};

/// The nodes of `targets`, which OptionSet::target_patterns() read; without targets all nodes, the nearest first. Throws UsageError for a
/// pattern that fits no node, and Error for an address that no port of the fabric has.
std::vector<ChosenNode> chosen_nodes(const Fabric& fabric, const std::vector<TargetPort>& targets);

}  // namespace ib::tools
