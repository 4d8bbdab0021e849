// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A tool of infiniband-diags: its command line, what it does, and how it ends. The tools share the session with our
// own commands (end port, transactor, addresses); what is the dialect's are options, text, streams and exit status.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "async/task.hpp"
#include "tools/diags/options.hpp"
#include "subnet/node_name_map.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/session.hpp"

namespace ib::diags {

/// What a running tool has at hand.
struct Context {
  const Settings& settings;
  const std::vector<std::string>& arguments;  ///< those that are no options
  tools::Session& session;
  tools::TextOut& out;  ///< stdout

  /// Argument `at` as C's strtol(…, 0) reads it, which is 0 for what is no number; `missing` if there is none.
  long number(std::size_t at, long missing = 0) const;
};

/// One tool in one run.
class Legacy {
 public:
  virtual ~Legacy() = default;

  virtual const Tool& tool() const = 0;
  /// Takes an option of the tool's own; `value` is null if it has no argument. May change the common settings.
  virtual void option(int letter, const char* value, Settings& settings);
  /// Does the work. Throws Failure or Panic to give up, Stop for a usage error.
  virtual async::Task<> run(Context& context) = 0;
};

/// Runs the tool with the words after its name and returns its exit status.
int run_legacy(Legacy& legacy, std::span<char* const> words);

/// The entry of a tool in the table of commands.
template <class T>
int run_legacy(std::span<char* const> words) {
  T legacy;
  return run_legacy(legacy, words);
}

/// The node name map of --node-name-map, or the site's own where `file` is empty. One that can not be read is a warning
/// on stderr, and empty; the site's own need not exist.
subnet::NodeNameMap read_node_names(const std::string& file);

/// The options of the session that a tool's settings stand for.
tools::CommonOptions common_options(const Settings& settings);

}  // namespace ib::diags
