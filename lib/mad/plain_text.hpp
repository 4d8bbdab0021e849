// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The first line about a failed request: what was wanted, of what, and what came instead. The names of methods and classes, and the path,
// belong to the details that -v adds (MadError::lines()).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "path/path.hpp"

namespace ib::mad {

class MadError;

/// The destination of a path in a sentence: "LID 7", "this node", "route 0,1,30", "route 0,3 from LID 6", "GID fe80::1".
std::string target_text(const path::Path& path);

/// Whether a request, which has a whole header, is an SMP about the subnet manager of its destination.
bool is_about_manager(Bytes request);

/// The port that a request is about, by the attribute modifier or the PortSelect of its attribute. Nothing if the attribute has no port, or
/// if the port is 0, which for most attributes is the port that receives the request.
std::optional<unsigned> port_of_request(Bytes request);

/// "PortInfo of port 20", "NodeInfo": the attribute that a request is about, and the port.
std::string attribute_text(Bytes request);

/// "No answer from LID 99 about PortInfo of port 20 (4 tries in 1.2 s)". `whom` names the destination. With 0 tries, the request was not
/// sent because its destination was already silent.
std::string no_answer_text(Bytes request, std::string_view whom, unsigned tries, std::chrono::nanoseconds waited);

/// The sentence for a status other than 0: "LID 4 does not support SwitchInfo (status 0xc)".
std::string status_text(Bytes request, Bytes reply, std::string_view whom);

/// The sentence of `error` with another name of the destination. For an error that is neither a timeout nor a status: its message.
std::string plain_text(const MadError& error, std::string_view whom);

}  // namespace ib::mad
