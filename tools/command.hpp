// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a command is. The table in commands.cpp lists every command with its factory, and with the entry of the legacy
// dialect where that is spoken; only the one that was asked for is constructed.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "async/task.hpp"
#include "tools/common_options.hpp"
#include "tools/emit.hpp"
#include "tools/options.hpp"

namespace ib::tools {

class Session;

/// One command in our dialect. It lives for one run.
class Command {
 public:
  virtual ~Command() = default;

  /// Binds the command's options to its members, then adds the common groups that it takes (add_common).
  virtual void options(OptionSet& set, CommonOptions& common) = 0;
  /// Does the work. Throws what it cannot do; the caller prints that and chooses the exit status.
  virtual async::Task<> run(Session& session, Emit& emit) = 0;
};

/// How ibtool(1) sorts the commands.
enum class HelpGroup { local, query, topology, forwarding, counters, sa, config, other };

struct CommandInfo {
  std::string_view name;
  std::span<const std::string_view> aliases;  ///< accepted, not listed
  HelpGroup group;
  std::string_view summary;            ///< one sentence, as help prints it
  std::unique_ptr<Command> (*make)();  ///< our dialect
  /// The tool of infiniband-diags of that name, given the words after its name; returns the exit status. Null
  /// where the legacy dialect is not spoken.
  int (*legacy)(std::span<char* const> words);
};

/// Every command, sorted by name.
std::span<const CommandInfo> commands();
/// The command of that name or alias, or null.
const CommandInfo* find_command(std::string_view name);
/// The same; throws UsageError, with the nearest name, where there is none.
const CommandInfo& command_named(std::string_view name);

}  // namespace ib::tools
