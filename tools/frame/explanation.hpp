// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The first line about a request that ended the command, in ibtool's dialect. mad/plain_text.hpp says what was wanted, of which address,
// and what came instead. This file adds the name of the node, what is known of it, and what to do next. It sends a few requests for that,
// each of which may fail. All words of the error itself follow with -v.
#pragma once

#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "iba-gen/smp.hpp"
#include "mad/error.hpp"
#include "path/path.hpp"

namespace ib::tools {

class Stack;

/// An error under a first line that explains it. With -v, the lines of the error follow.
class Explained final : public Error {
 public:
  /// `cause` holds `error`.
  Explained(std::string words, std::exception_ptr cause, const mad::MadError& error)
      : Error(std::move(words), error.exit_status()), cause_(std::move(cause)), error_(&error) {}
  using Error::lines;
  std::vector<std::string> lines(int verbosity, Keys keys) const override;

 private:
  std::exception_ptr cause_;  ///< keeps *error_
  const mad::MadError* error_;
};

/// Throws Explained for an error that can be explained, else `error` itself, which is a mad::MadError.
async::Task<> rethrow_explained(Stack& stack, std::exception_ptr error);

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
