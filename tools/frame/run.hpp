// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One invocation of the program, apart from main() so that tests can make it in their own process.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.hpp"

namespace ib::tools {

class Command;
class Emit;
struct NamedPath;
class Session;
struct World;

/// Runs the program as called by `argv` in `world` and returns its exit status. called_name() chooses the command: a name of
/// infiniband-diags is that program, any other is a command in ibtool's words. A name that is not known is an error.
int run(std::span<char* const> argv, const World& world);

/// The number of words in `args`, the words behind `ibtool`, before the name of a command: options that all commands have. One more than
/// all if the value of the last one is missing. Throws OptionError for an option that no command has.
std::size_t leading_options(std::span<const std::string> args);

/// The name that selects the command: of a command, of a program of infiniband-diags, or one that begins with "ibtool". It is searched in
/// `called` (argv[0]), in the name of the executable, and in the names of the links that lead from there to the program. If no whole name
/// is known, a name may have an ending, as in `ibnetdiscover.distrib`. Empty if none is known.
std::string called_name(std::string_view called, const World& world);

using WorkOnNode = std::function<async::Task<>(const NamedPath& node)>;
/// Runs `run` for one of `nodes` after the other, each with a result of its own unless `rows` gathers theirs. A node that fails is
/// reported, the others are read, and the status is Exit::incomplete, or Exit::failed if all fail. All references must outlive the task.
async::Task<> run_for_each(const std::vector<NamedPath>& nodes, const WorkOnNode& run, Session& session, Emit& emit,
                           Command* rows = nullptr);

}  // namespace ib::tools
