// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// From the command line to the exit status: choose the dialect by the name the program was called by, construct the
// one command that was asked for, let it set up its options, run it, and turn what went wrong into words and a number.
#include "tools/run.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <optional>

#include "async/loop.hpp"
#include "base/log.hpp"
#include "tools/build_info.hpp"
#include "tools/command.hpp"
#include "tools/help.hpp"
#include "tools/ibdiag_conf.hpp"
#include "tools/session.hpp"

namespace ib::tools {
namespace {

/// Prints what was asked for instead of a run. Throws SysError where stdout does not take it.
int print(std::string_view text) {
  TextOut out(stdout);
  out.write(text);
  out.finish();
  return 0;
}

int print_version() { return print(fmt::format("ibtool {}\n", version)); }

/// Runs the command and returns its exit status.
int execute(Command& command, const CommandInfo& info, CommonOptions common, std::vector<std::string> operands,
            const Surroundings& around) {
  Emit emit(common.json, info.name, stdout);
  async::Clock real_time;
  async::Loop loop(around.clock != nullptr ? *around.clock : real_time);
  Session session(std::move(common), std::move(operands), loop, around);
  try {
    loop.run(command.run(session, emit));
    emit.flush();
    session.print_stats();
    return static_cast<int>(emit.status());
  } catch (const Error& error) {  // with the session alive: errors refer to its end ports
    emit.text().push();           // what was found before the error stands before it on a terminal
    session.report(error);
    session.print_stats();
    return static_cast<int>(error.exit_status());
  }
}

int run_command(const CommandInfo& info, std::span<const std::string> args, const Surroundings& around) {
  const std::unique_ptr<Command> command = info.make();
  CommonOptions common;
  General general;
  OptionSet set;
  apply_default_config(common);
  command->options(set, common);
  add_general(set, common, general);
  std::vector<std::string> operands;
  try {
    operands = set.parse(args);
    if (!general.help && !general.version && operands.size() > set.most_operands())
      throw OptionError(fmt::format("Got {} arguments but expected {}", operands.size(), set.most_operands()));
  } catch (const OptionError& error) {
    log::error(fmt::format("{}: {} (see ibtool help {})", info.name, error.message(), info.name));
    return static_cast<int>(Exit::usage);
  }
  if (general.help) return print(command_help(info, set));
  if (general.version) return print_version();
  return execute(*command, info, std::move(common), std::move(operands), around);
}

/// How many of `args` are options, and their values, before the first other word. Throws OptionError for what no command takes.
std::size_t leading_options(std::span<const std::string> args) {
  CommonOptions common;
  General general;
  OptionSet set;
  add_common(set, common, ~0U);
  add_general(set, common, general);
  std::size_t at = 0;
  while (at < args.size() && args[at].size() > 1 && args[at][0] == '-') at += set.takes_next(args[at]) ? 2 : 1;
  return std::min(at, args.size());
}

/// `ibtool …`: finds the command, or answers what is asked of the program itself.
int run_ibtool(std::span<const std::string> args, const Surroundings& around) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h") return print(command_list());
  if (args[0] == "--version" || args[0] == "-V") return print_version();
  // Options of all commands may stand before the name.
  const std::size_t at = args[0].starts_with('-') ? leading_options(args) : 0;
  if (at == args.size()) throw UsageError("No command is named (see ibtool help)");
  std::vector<std::string> words(args.begin(), args.begin() + static_cast<std::ptrdiff_t>(at));
  words.insert(words.end(), args.begin() + static_cast<std::ptrdiff_t>(at) + 1, args.end());
  return run_command(command_named(args[at]), words, around);
}

}  // namespace

int run(std::span<char* const> argv, const Surroundings& around) {
  const std::string_view called = argv.empty() ? "ibtool" : argv[0];
  const std::span<char* const> words = argv.empty() ? argv : argv.subspan(1);
  try {
    const CommandInfo* legacy = find_command(called.substr(called.rfind('/') + 1));
    if (legacy != nullptr && legacy->legacy != nullptr) return legacy->legacy(words);
    return run_ibtool(std::vector<std::string>(words.begin(), words.end()), around);
  } catch (const Error& error) {
    print_error(error, 0);
    return static_cast<int>(error.exit_status());
  } catch (const std::exception& error) {
    log::error(error.what());
    return static_cast<int>(Exit::failed);
  }
}

}  // namespace ib::tools
