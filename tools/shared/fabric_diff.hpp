// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The options --diff and --diffcheck of commands that compare a fabric with a stored fabric. Each command prints the differences in its own
// form.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "subnet/diff/difference.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {

/// What begins a line of one of the two fabrics that are compared, as in diff(1).
inline constexpr std::string_view old_side = "< ", new_side = "> ";

using subnet::DiffChecks;
using subnet::DiffSide;
using subnet::DiffWay;
using subnet::NodeDifference;
using subnet::PortDifference;

struct DiffKey {
  std::string_view word;
  bool DiffChecks::*check;
};

/// The options of a command that compares. `keys` are the words that it knows. `checks` are at first its default checks.
struct DiffOptions {
  std::span<const DiffKey> keys;
  DiffChecks checks;
  std::optional<std::string> file{};  ///< the file of --diff
};

void add_diff(OptionSet& set, DiffOptions& options);

}  // namespace ib::tools
