// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Scripts for shells. Each has the shell run `ibtool completion --words -- WORD…` for the line that is being typed.
#pragma once

#include <span>
#include <string_view>

namespace ib::tools::completion {

struct Script {
  std::string_view shell, text;
};
std::span<const Script> scripts();

}  // namespace ib::tools::completion
