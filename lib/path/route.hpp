// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Directed routes as lists of port numbers.
#pragma once

#include <string>
#include <string_view>

#include "path/path.hpp"

namespace ib::path {

/// Sets the route of `path` from port numbers with `separator` between them, which may also follow the last: "0,1," with a
/// comma. The first number is 0, the others are at most 254, and there are at most 64. Throws UsageError "Invalid DR path
/// specification …".
void set_route(IbDrPath& path, std::string_view text, char separator);
/// As above; returns false for a text that is not a route, of which `path` then has a part.
bool try_set_route(IbDrPath& path, std::string_view text, char separator);
/// The error of set_route().
std::string no_route_text(std::string_view text);

}  // namespace ib::path
