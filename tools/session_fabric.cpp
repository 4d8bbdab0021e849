// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Paths and the transactor stack of a session.
#include <fmt/format.h>

#include "tools/session.hpp"

namespace ib::tools {

void Session::debug_path(std::string_view name, const path::Path& path) const {
  debug(1, fmt::format("{} {}\n{:{}}{}", name, to_text(path), "", name.size() + 4, to_spec(path)));
}

}  // namespace ib::tools
