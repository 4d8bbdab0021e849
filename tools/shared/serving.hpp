// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibping and ibsysstat have in common: the OUI of their service, the text that a host sends, and the server.
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

class DiagsOptions;
class OptionSet;
class Session;

/// -o: the 24 bits that tell the service from others of its class.
void add_oui(OptionSet& set, std::uint32_t& oui);
void add_oui(DiagsOptions& set, std::uint32_t& oui);

/// A text that a remote host sent, as infiniband-diags shows it: line ends stay, other control bytes become blanks.
std::string printable_lines(std::string_view text);

/// Lets `offer` register the answers of a server, and serves until the program is ended. With -v, -d or -e, prints refused
/// requests and unsent answers on stderr. Gives up if another program of this host serves the same: ibtool throws SysError,
/// infiniband-diags gives up with `cannot`.
async::Task<> serve(Session& session, std::function<void(mad::Server& server)> offer, std::string cannot);

}  // namespace ib::tools
