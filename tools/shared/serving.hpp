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

/// Has `offer` register what the server answers, and answers until the program is ended. With -v, -d or -e it tells on stderr what it
/// refuses and what it cannot send. Gives up where another program of this host answers the same: in ibtool's words by SysError, in those
/// of infiniband-diags by `cannot`.
async::Task<> serve(Session& session, std::function<void(mad::Server& server)> offer, std::string cannot);

}  // namespace ib::tools
