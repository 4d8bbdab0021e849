// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Declares the CommandInfo of each command, under the name of the command, and the interface of a Command.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "async/task.hpp"
#include "base/error.hpp"
#include "tools/command_list.hpp"

namespace ib::tools {

class Emit;
class Host;
class OptionSet;
class Session;
struct CommonOptions;

/// One command in one run. Its members hold the values of options and operands, which the command line of either dialect sets.
class Command {
 public:
  virtual ~Command() = default;

  /// `ibtool NAME`: binds operands and options to members, then adds the common groups that the command takes (add_common).
  virtual void options(OptionSet& /*set*/, CommonOptions& /*common*/) {}
  /// `NAME`, as a program of infiniband-diags: binds its operands and options to members; the common ones follow.
  virtual void diags_options(OptionSet& /*set*/, CommonOptions& /*common*/) {}
  /// The place of the rows in the result, with these options, as report::TableSink takes it: "nodes.ports". Empty: it is not a table.
  virtual std::string_view table_rows() const { return {}; }
  /// Whether the result of ibtool's dialect has the end port that is Down. The names of targets are not looked up then.
  virtual bool reports_down_port() const { return false; }
  /// Whether runs for each node of a pattern (Targets::has_pattern()) keep their rows, which emit_rows() emits behind the last of them.
  virtual bool gathers_rows() const { return false; }
  virtual void emit_rows(const Host& /*host*/, Emit& /*emit*/) {}
  /// Fetches the data and emits the result, in the same way for both dialects. Throws on failure.
  virtual async::Task<> run(Session& session, Emit& emit) = 0;
};

/// The heading under which `ibtool help` lists a command, in the order of its list.
enum class HelpGroup { local, topology, query, counters, forwarding, sa, config, other };

/// A program of infiniband-diags that is a shell script around another program.
struct DiagsScript {
  std::string_view runs;        ///< the name of the other program in its messages
  std::string_view last_words;  ///< the last text on stdout, also after a failure; the status is then 0
};

struct CommandInfo {
  std::string_view name;
  HelpGroup group;
  std::string_view summary;            ///< a sentence on the result of the command
  std::unique_ptr<Command> (*make)();  ///< for `ibtool NAME`
  /// For `NAME` as a program of infiniband-diags; null if there is none. It differs from `make` where the two command lines do more than
  /// spell options differently: then two small classes stand over the same fetch functions and results.
  std::unique_ptr<Command> (*make_diags)(){};
  std::string_view alias{};     ///< another name that is accepted, not listed; empty: none
  bool changes{};               ///< the command can change the fabric or this host
  bool reports_changes{};       ///< the command itself prints which nodes and ports it has changed
  bool needs_fabric{};          ///< the command only changes, serves, pings or watches: a snapshot cannot answer it
  const DiagsScript* script{};  ///< not null if that program is a shell script
};

/// CommandInfo::make for a command of class T, which is made of `arguments`.
template <class T, auto... arguments>
std::unique_ptr<Command> make_command() {
  return std::make_unique<T>(arguments...);
}

/// Every command, sorted by name.
std::span<const CommandInfo* const> commands();
/// The command of that name or alias, or null.
const CommandInfo* find_command(std::string_view name);
/// The error for an unknown command name. Its message suggests the nearest name.
UsageError no_such_command(std::string_view name);

namespace rooms {

#define IB_DECLARE_COMMAND(name) extern const CommandInfo name;
IB_EACH_COMMAND(IB_DECLARE_COMMAND)
#undef IB_DECLARE_COMMAND

}  // namespace rooms
}  // namespace ib::tools
