// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One run of one command: its options and operands, and what it needs of the host and the fabric, opened when first
// asked for. The end port comes from -C and -P, or from a target that names one; all targets must agree.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "path/path.hpp"
#include "subnet/node_name_map.hpp"
#include "sys/device.hpp"
#include "tools/command.hpp"

namespace ib::mad {
class Channel;
class Rpc;
class Tracer;
class Transactor;
}  // namespace ib::mad

namespace ib::sa {
class PathResolver;
}

namespace ib::tools {

/// What a session stands on. Tests put a fabric in memory and a clock that jumps in the place of umad and of real time.
struct Surroundings {
  std::function<std::unique_ptr<mad::Channel>(const sys::EndPort&)> open_channel;  ///< empty: umad
  async::Clock* clock{};                                                           ///< null: real time
};

/// What an operand is read as.
enum class Operand {
  word,
  target,
  integer,
  target_port,  ///< TARGET or TARGET@PORT: both a target and, if given, an integer
};

class Session {
 public:
  Session(CommonOptions options, std::vector<std::string> operands, async::Loop& loop, const Surroundings& around = {});
  ~Session();

  const CommonOptions& options() const { return options_; }
  const std::vector<std::string>& operands() const { return operands_; }
  async::Loop& loop() { return loop_; }

  /// Reads the operands as `kinds` say, the first `least` of which are required; targets choose the end port. Call it
  /// once, before anything is opened. Throws UsageError "Too many arguments, expected no more than 1.",
  /// "Too few arguments" or "Invalid command line argument #1 'zzz' - …".
  /// With `rest` any number of operands of that kind may follow.
  void read_operands(std::initializer_list<Operand> kinds, std::size_t least, std::optional<Operand> rest = std::nullopt);
  /// Operand `at` if it was given, after read_operands().
  const path::Path* target(std::size_t at) const;
  std::optional<std::int64_t> integer(std::size_t at) const;

  const sys::DeviceList& devices();
  const sys::EndPort& end_port();
  /// The site's names for nodes: the file of --node-name-map, else the default file if there is one. Lines that say nothing are
  /// warnings. Throws as NodeNameMap::read() does.
  const subnet::NodeNameMap& node_name_map();
  /// All that asks the fabric. Opens it on end_port(). With --sa, SMPs that read become queries to the SA.
  mad::Transactor& transactor();
  /// The same without --sa: SMPs go to the nodes themselves.
  mad::Transactor& smp_transactor();
  /// What sends and receives below transactor(): for those who serve requests too.
  mad::Rpc& rpc();
  /// As if --sa had been given; before transactor() is called.
  void read_from_sa() { options_.use_sa = true; }
  /// Makes the path of --sa-path fit for use, where one was given. smp_path() and gmp_path() do it; call it before
  /// queries to the SA that need neither.
  async::Task<> prepare_sa();

  /// A path that SMPs to `target` can use, with the keys and times of the options; the local node where it is null.
  /// A GID or GUID is resolved by the SA. Traced with -d. Throws Error for a GID of another subnet: SMPs do not go there.
  async::Task<path::Path> smp_path(const path::Path* target);
  /// A path for GMPs to `target`, or to this port where it is null: PathResolver::mad_path(), and what was learnt is kept for the
  /// session. Traced with -d.
  async::Task<path::Path> gmp_path(const path::Path* target);
  /// Puts the keys, retries and times of the options into a path.
  void apply_options(path::Path& path) const;

  /// A diagnostic line on stderr ("D: …") where the debug level is at least `level`.
  void debug(int level, std::string_view text) const;
  /// With --stats: what was sent, on stderr.
  void print_stats() const;
  /// An error that does not end the command ("E: …" and "E: +…" on stderr).
  void report(const Error& error) const;

 private:
  path::Path parse_target(std::string_view text, path::Form form);
  void read_operand(std::string_view text, Operand kind);
  void parse_sa_path();
  sa::PathResolver& resolver();
  void debug_path(std::string_view name, const path::Path& path) const;

  CommonOptions options_;
  std::vector<std::string> operands_;
  async::Loop& loop_;
  Surroundings around_;
  std::vector<std::optional<path::Path>> targets_;
  std::vector<std::optional<std::int64_t>> integers_;
  std::optional<sys::DeviceList> devices_;
  std::optional<subnet::NodeNameMap> node_name_map_;
  const sys::EndPort* end_port_{};
  bool end_port_fixed_{};  ///< named by -P or by a target
  std::unique_ptr<mad::Tracer> tracer_;
  std::optional<path::Path> sa_target_;          ///< of --sa-path, until it is in use
  std::unique_ptr<mad::Rpc> rpc_;                ///< what sends
  std::unique_ptr<mad::Transactor> transactor_;  ///< what stands on it, if anything
  std::unique_ptr<sa::PathResolver> resolver_;
};

/// The `E:` lines of an error at the given level of detail, on stderr. Without `top` they follow a line that tells what
/// the error did harm to.
void print_error(const Error& error, int level, Keys keys = Keys::hidden, bool top = true);

}  // namespace ib::tools
