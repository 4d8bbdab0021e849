// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Runs a command of ibtool's dialect: once, or once for each node that a pattern of names fits (OptionSet::target_each()).
#pragma once

#include <functional>
#include <vector>

#include "async/task.hpp"
#include "tools/frame/command.hpp"

namespace ib::tools {

class Host;
class Session;

/// A command that can print the rows of all nodes of a pattern as one table behind the last of them, instead of a result for each node.
class GathersRows {
 public:
  virtual ~GathersRows() = default;
  /// Whether it does, with these options. Command::run() then keeps the rows of its node where Targets::has_pattern().
  virtual bool gathers_rows() const = 0;
  virtual void emit_rows(const Host& host, Emit& emit) = 0;
};
/// The command as one that gathers rows, with these options; else null.
GathersRows* gathering(Command& command);

using WorkOnNode = std::function<async::Task<>(const NamedPath& node)>;
/// Runs `run` for one of `nodes` after the other, each with a result of its own unless there are `rows`. A node that fails is reported, the
/// others are read, and the status is Exit::incomplete, or Exit::failed if all fail. All references must outlive the task.
async::Task<> run_for_each(const std::vector<NamedPath>& nodes, const WorkOnNode& run, Session& session, Emit& emit,
                           GathersRows* rows = nullptr);

/// Runs a command when the nodes are known that its targets name. Explains the request that ended it. With a pattern, it does
/// run_for_each().
async::Task<> run_with_names(Command& command, Session& session, Emit& emit);

}  // namespace ib::tools
