// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Shared by ibping and ibsysstat: the OUI of their services, the text that a host sends, and the server.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "async/task.hpp"

namespace ib::mad {
class Server;
}

namespace ib::tools {

class OptionSet;
class Stack;

/// The option -o: the 24 bits that distinguish the service from others of its class.
void add_oui(OptionSet& set, std::uint32_t& oui);

/// The text of a remote host in the format of infiniband-diags: line breaks are kept, other control bytes become blanks.
std::string printable_lines(std::string_view text);

/// Calls `offer`, which registers the answers of a server. Then serves until the program is ended. With -v, -d or -e, prints refused
/// requests and unsent answers on stderr. Ends the command if another program of this host offers the same service: ibtool throws
/// SysError, infiniband-diags prints `cannot`.
async::Task<> serve(Stack& stack, std::function<void(mad::Server& server)> offer, std::string cannot);

}  // namespace ib::tools
