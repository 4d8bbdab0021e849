// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A question to the user before an operation that cannot be undone.
#pragma once

#include <string_view>

#include "tools/frame/world.hpp"

namespace ib::tools {

/// Whether there is somebody to answer: standard input and standard error are terminals.
bool can_ask(const World& world);

/// Prints `question` on standard error and reads an answer. True if the answer begins with y.
bool agrees(const World& world, std::string_view question);

}  // namespace ib::tools
