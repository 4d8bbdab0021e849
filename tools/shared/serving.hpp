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

/// `offer` registers the answers of a server, which then serves until the program ends. With -v, -d or -e prints refused requests. If
/// another program of this host offers the service, ibtool throws SysError, and infiniband-diags prints `cannot`.
async::Task<> serve(Stack& stack, std::function<void(mad::Server& server)> offer, std::string cannot);

}  // namespace ib::tools
