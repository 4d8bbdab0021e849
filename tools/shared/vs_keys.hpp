// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The option for VS_Keys, which never stand on the command line.
#pragma once

#include <optional>
#include <string>

#include "phy/vs_keys.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {

/// Adds --vskey. `file` gets the name of a file, or `-` for the terminal.
void add_vs_keys(OptionSet& set, std::optional<std::string>& file);

/// The keys of the option; none without it. Throws UsageError and SysError.
phy::VsKeys read_vs_keys(const Session& session, const std::optional<std::string>& file);

}  // namespace ib::tools
