// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Whether two models are of one fabric at all.
#pragma once

#include <string>

#include "subnet/diff/counterparts.hpp"

namespace ib::subnet {

/// The reason why `reference` is of another fabric than `current`, as the end of a sentence: "it is of another fabric: none of its 8 nodes
/// is here". Empty if they may be of one: of the nodes of the smaller model one in ten or more is in the other one too.
std::string other_fabric(const Subnet& current, const Subnet& reference, const Counterparts& pairs);
std::string other_fabric(const Subnet& current, const Subnet& reference);

}  // namespace ib::subnet
