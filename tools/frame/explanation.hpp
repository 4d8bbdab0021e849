// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The first line about a request that ended the command, in ibtool's dialect. mad/plain_text.hpp says what was wanted, of which address,
// and what came instead. This file adds the name of the node, what is known of it, and what to do next. It sends a few requests for that,
// each of which may fail. All words of the error itself follow with -v.
#pragma once

#include <string>
#include <string_view>

#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "path/path.hpp"

namespace ib::tools {

class Stack;

/// Does `work`. If a request ends it that can be explained, throws an error with the explanation in its first line, and the lines of the
/// request's own error with -v.
async::Task<> explained(Stack& stack, async::Task<> work);

/// "a switch", "a channel adapter", "a router", "a node of unknown type 7".
std::string kind_text(smp::NodeType type);
/// "'leaf01' (LID 2)"; only the address if the node has no description.
std::string called(std::string_view description, const path::Path& path);
/// called() with the description that the node at the end of `path`, a path for SMPs, reports.
async::Task<std::string> named_node(Stack& stack, path::Path path);
/// "'leaf01' (LID 2) has ports 0 to 36, and no port 99".
std::string no_such_port_text(std::string_view whom, const smp::NodeInfo& info, unsigned port);
/// "'compute01' (LID 9) is a channel adapter: it has no forwarding table".
std::string no_table_text(std::string_view whom, smp::NodeType type);

}  // namespace ib::tools
