// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the commands that serve have in common: ibping and ibsysstat.
#pragma once

#include <cstdint>
#include <string_view>

namespace ib::mad {
class Server;
}

namespace ib::tools {

class Session;

/// The value of -o: 24 bits. Throws OptionError.
std::uint32_t parse_oui(std::string_view text);

/// With -v, -d or -e: tells on stderr what the server refuses and what it cannot send.
void report_refusals(mad::Server& server, const Session& session);

}  // namespace ib::tools
