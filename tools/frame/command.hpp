// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A command says what is wanted, how it is fetched and what was found. A class holds the first two, for both dialects; a Report
// (emit.hpp) holds the third. tools/meson.build lists the rooms of the commands. The table of commands, the legacy names and
// the manual pages follow from that list.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "async/task.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_options.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {

class Session;

/// One command in one run. Its members hold what is wanted; the command line of either dialect fills them.
class Command {
 public:
  virtual ~Command() = default;

  /// `ibtool NAME`: binds operands and options to members, then adds the common groups that the command takes (add_common).
  virtual void options(OptionSet& set, CommonOptions& common) = 0;
  /// `NAME`, as a program of infiniband-diags: the same for its command line. For commands with CommandInfo::diags.
  virtual void diags_options(DiagsOptions& set);
  /// Where the rows of the result are, with these options and operands, as report::TableSink names places: "nodes.ports". Empty where the
  /// result is no table.
  virtual std::string_view table_rows() const { return {}; }
  /// Fetches what is wanted and emits what was found, in the same way for both dialects. Throws on failure.
  virtual async::Task<> run(Session& session, Emit& emit) = 0;
};

/// The heading under which `ibtool help` lists a command.
enum class HelpGroup { local, query, topology, forwarding, counters, sa, config, other };

/// A program of infiniband-diags that is a shell script around another one.
struct DiagsScript {
  std::string_view runs;        ///< what that one is called by, in its messages
  std::string_view last_words;  ///< end stdout whatever came of it; the status is 0 then
};

struct CommandInfo {
  std::string_view name;
  HelpGroup group;
  std::string_view summary;  ///< a sentence that says what one gets
  std::unique_ptr<Command> (*make)();
  std::span<const std::string_view> aliases{};  ///< accepted, not listed
  bool changes{};                               ///< it can change the fabric or this host
  bool needs_fabric{};                          ///< it does nothing else than change, serve, ping or watch: no snapshot can answer it
  bool diags{};                                 ///< infiniband-diags has a program of that name, and diags_options() is there
  const DiagsScript* script{};                  ///< it is a script; else null
};

/// CommandInfo::make for a command of class T.
template <class T>
std::unique_ptr<Command> make_command() {
  return std::make_unique<T>();
}

/// Adds all options and operands of `ibtool NAME`: those of `command` itself, --dry-run if it can change something, and those that every
/// command has.
void add_options(const CommandInfo& info, Command& command, OptionSet& set, CommonOptions& common, General& general);

/// Every command, sorted by name.
std::span<const CommandInfo* const> commands();
/// The command of that name or alias, or null.
const CommandInfo* find_command(std::string_view name);
/// The error for an unknown command name. Its message suggests the nearest name.
UsageError no_such_command(std::string_view name);

}  // namespace ib::tools
