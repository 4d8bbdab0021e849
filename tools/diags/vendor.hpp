// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibping and ibsysstat of infiniband-diags share: MADs of the OpenIB vendor classes to a node, and their server.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tools/diags/fabric.hpp"
#include "mad/server.hpp"

namespace ib::diags {

/// -o as C's strtoul(…, 0) reads it, of which 24 bits count.
std::uint32_t read_oui(const char* text);

/// A text that a remote host sent, free of control bytes but for line ends.
std::string received_text(Bytes field);

/// Has `serve` register what it answers, and answers until the channel breaks. Throws Failure(`cannot`) where another program
/// does that already.
async::Task<> serve_forever(Context& context, std::string_view cannot, void (*serve)(mad::Server& server, std::uint32_t oui),
                            std::uint32_t oui);

}  // namespace ib::diags
