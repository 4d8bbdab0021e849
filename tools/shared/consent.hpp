// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A question to the user before an operation that cannot be undone.
#pragma once

#include <string_view>

#include "tools/frame/world.hpp"

namespace ib::tools {

/// Whether a person can answer: standard input and standard error are terminals.
bool can_confirm(const World& world);

/// Prints `question` on standard error and reads an answer. True if the answer begins with y.
bool agrees(const World& world, std::string_view question);

/// Throws UsageError unless the user agrees.
void require_agreement(const World& world, std::string_view question);

/// Whether a reset of the counters of the whole fabric needs a confirmation; not with --yes or --dry-run (`agreed`). Throws UsageError if
/// there is no terminal for it.
bool confirms_reset(const World& world, bool agreed);

}  // namespace ib::tools
