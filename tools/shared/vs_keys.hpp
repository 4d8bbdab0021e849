// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The option for VS_Keys, which never stand on the command line, and the reading of registers with them.
#pragma once

#include <optional>
#include <string>

#include "phy/reading.hpp"

namespace ib::tools {

class Host;
class OptionSet;
class Stack;

/// Adds --vskey. `file` gets the name of a file, or `-` for the terminal.
void add_vs_keys(OptionSet& set, std::optional<std::string>& file);

/// The keys of the option; none without it, nor where a stored fabric answers. Throws UsageError and SysError.
phy::VsKeys read_vs_keys(const Host& host, const std::optional<std::string>& file);

/// How registers are read through the session with these keys, and besides as `options` say. The arguments must outlive the reading.
phy::ReadingOptions reading_options(Stack& stack, const subnet::PortPaths& paths, const phy::VsKeys& keys,
                                    phy::ReadingOptions options = {});

}  // namespace ib::tools
