// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One run of one command: its options, and what it needs of the host and the fabric, opened when first asked for. The end port comes
// from -C and -P, or from a target that names one; all targets must agree.
// The two dialects differ here, so that commands need not know of it: how a target is read, found and named, and what is said
// of a failed request (session_diags.cpp). A command asks for a node, sends requests to the node's path, and takes the result
// by take().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.hpp"
#include "mad/error.hpp"
#include "path/path.hpp"
#include "subnet/discovery.hpp"
#include "subnet/node_name_map.hpp"
#include "sys/device.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/world.hpp"

namespace ib::mad {
class Rpc;
class Tracer;
class Transactor;
}  // namespace ib::mad

namespace ib::sa {
class PathResolver;
}

namespace ib::snapshot {
class Cache;
class Snapshot;
class SnapshotTransactor;
}  // namespace ib::snapshot

namespace ib::sa {
struct NodeRecord;
}
namespace ib::subnet {
class PortPaths;
class Subnet;
}  // namespace ib::subnet

namespace ib::tools {

/// A node or port to send requests to: its path and its name in texts.
struct Destination {
  path::Path path;
  std::string name;  ///< "Lid 4" of infiniband-diags; path::to_text() of ibtool
};

class SetGuard;
struct PlannedSets;

class Session {
 public:
  Session(const World& world, Dialect dialect, std::string_view program, CommonOptions options, std::vector<std::string> operands,
          async::Loop& loop);
  ~Session();

  const World& world() const { return world_; }
  const CommonOptions& options() const { return options_; }
  /// The name that the program was called by, for messages of infiniband-diags.
  const std::string& program() const { return program_; }
  async::Loop& loop() { return loop_; }
  /// The line that a run of more than a second shows on a terminal. It counts MADs by itself; who knows more tells it.
  ProgressLine& progress() { return progress_; }

  /// Hands the operands to `set`; targets choose the end port. A target by name is looked up in the stored fabric of `set` if the
  /// options name one, else in the live fabric. Throws UsageError.
  void bind_operands(const OptionSet& set);

  const sys::DeviceList& devices();
  const sys::EndPort& end_port();
  /// The site's names for nodes: the file of --node-name-map, else the default file if there is one. Lines that say nothing are
  /// warnings. In ibtool's dialect throws as NodeNameMap::read() does; in the other one a file that can not be read is a warning.
  const subnet::NodeNameMap& node_name_map();

  /// All that asks the fabric. Opens it on end_port(). With --sa, SMPs that read become queries to the SA.
  mad::Transactor& transactor();
  /// The same without --sa: SMPs go to the nodes themselves.
  mad::Transactor& smp_transactor();
  /// What transactor() stands on: the engine that sends and receives, or with --from the snapshot. For sweeps, which set nothing.
  mad::Transactor& lowest_transactor();
  /// The engine. For commands that serve requests. Throws NeedsFabric with --from.
  mad::Rpc& rpc();
  /// Throws NeedsFabric with --from: `what` ("disable") can not be done to a snapshot.
  void require_fabric(std::string_view what) const;
  /// The snapshot of --from.
  snapshot::Snapshot& snapshot();
  /// Keeps the whole of `subnet`, which was just swept, and what is asked from now on in the file `cache`, until save_cache(). `fdr10`: the
  /// sweep asked for MlnxExtPortInfo. Where the file can not be written, a warning says so, and the run goes on.
  void begin_cache(const std::string& cache, const subnet::Subnet& subnet, bool fdr10);
  /// Answers SMPs from `cache` where it has them. What it does not have is asked and added to its file.
  void use_cache(std::unique_ptr<snapshot::Snapshot> cache);
  /// Whether use_cache() was called.
  bool uses_cache() const;
  /// Writes the file of begin_cache() or use_cache(), if there is one and it has grown. The run was a success.
  void save_cache();
  /// The Sets that --dry-run kept back so far.
  PlannedSets planned_sets() const;
  /// Throws UsageError where a TARGET is only a piece of a name: nothing may be set then. Whoever is going to set something calls it first.
  void require_exact_targets() const;
  /// As if --sa had been given.
  void read_from_sa();
  /// The table of the SA, if a target was looked up in it by its name; else empty.
  const std::vector<sa::NodeRecord>& node_records() const { return node_records_; }
  /// The whole fabric as seen from this host, if it was swept to look up a target by its name; else null.
  const std::unique_ptr<subnet::Subnet>& swept() const { return swept_; }
  /// The same, for good: after this there is none.
  std::unique_ptr<subnet::Subnet> take_swept() { return std::move(swept_); }
  /// Reads the service levels of `paths` from the SA, without --skip-sl. In ibtool's dialect a warning says why it did not give them. Where
  /// their table comes cut, on stock ibsim, SL 0 is used: ibsim looks at no SL, so that they are not worth a query for each port.
  async::Task<> read_service_levels(subnet::PortPaths& paths);
  /// Warns once a run, in ibtool's dialect, that GMPs use SL 0, and `why`: the SA did not give their SL. Nothing if `why` is empty.
  void tell_sl_0(std::string_view why);
  /// Makes the path of --sa-path fit for use, where one was given. Finding nodes does it; call it before queries to the SA that need none.
  async::Task<> prepare_sa();

  /// The node that `target` names, or this one where it names none, by a path that SMPs can use, with the keys and times of the
  /// options. A GID or GUID is resolved by the SA. Throws Error for a GID of another subnet: SMPs do not go there.
  async::Task<Destination> smp_node(const Target& target);
  /// The same for GMPs, with the P_Key of the options; what was learnt of paths is kept for the session. In ibtool's dialect SL 0 is used
  /// for a LID with --skip-sl, and where no SA answers. An SA that knows no path is an error.
  async::Task<Destination> gmp_node(const Target& target);
  /// The node at the other end of the link of port `port` of a switch. Throws if the route becomes too long.
  Destination beyond(const Destination& node, std::uint8_t port) const;
  /// The device and the port of the options as messages of infiniband-diags call them: "mlx5_0" or "(null)", and a number as C reads it.
  std::string diags_device() const;
  long diags_port_number() const;
  /// Both: "mlx5_0:1" or "(null):0".
  std::string diags_port() const;
  /// The same for what -d tells of a request. After routes_of_libibnetdisc() directed routes have no LIDs at their ends.
  std::string diags_route(const path::Path& path) const;
  /// From now on directed routes are those that libibnetdisc found, and not what the user wrote.
  void routes_of_libibnetdisc() { routes_of_libibnetdisc_ = true; }
  /// For infiniband-diags: opens the end port. If that fails returns errno, and has said no more than libibumad says itself.
  std::optional<int> open_failure();
  /// What texts call the node at `path`.
  std::string name_of(const path::Path& path) const;
  /// The paths of smp_node() and gmp_node() of ibtool's dialect; a null target is this node.
  async::Task<path::Path> smp_path(const path::Path* target);
  async::Task<path::Path> gmp_path(const path::Path* target);
  /// Puts the keys, retries and times of the options into a path.
  void apply_options(path::Path& path) const;
  /// This port as a directed route of no hops, with the options: where sweeps begin.
  path::Path here();

  /// The value of the reply. A failure ends the command: ibtool throws the error; infiniband-diags prints libibmad's warning
  /// for the request and gives up with `words`.
  template <class T>
  T take(mad::Result<T> result, const DiagsWords& words) const {
    if (!result) give_up(result.shared_error(), words);
    return std::move(*result);
  }
  /// Ends the command for a failure, as take() does.
  [[noreturn]] void give_up(const std::shared_ptr<const mad::MadError>& error, const DiagsWords& words) const;
  /// Ends the command for another reason. ibtool throws `error`.
  template <class E>
  [[noreturn]] void refuse(E error, DiagsWords words) const {
    if (dialect_ == Dialect::diags) throw DiagsFailure(std::move(words));
    throw error;
  }
  /// A request that failed and does not end the command. ibtool prints "E: …" where -v or -d is given; infiniband-diags warns.
  void tell_failure(const mad::MadError& error) const;
  /// A remark of infiniband-diags on stderr, "ibwarn: [PID] FUNCTION: TEXT"; nothing in ibtool's words.
  void diags_warning(std::string_view function, std::string_view text) const;
  /// The same where -d was given.
  void diags_debug(std::string_view function, std::string_view text) const;
  /// What programs of infiniband-diags themselves say with -d, on stdout: "ibdebug: [PID] FUNCTION: TEXT".
  void diags_debug(TextOut& out, std::string_view function, std::string_view text) const;

  /// A diagnostic line on stderr ("D: …") where the debug level is at least `level`.
  void debug(int level, std::string_view text) const;
  /// Prints the effect of a Set on stderr. A Set prints nothing else. Nothing with --dry-run.
  void note(std::string_view line) const;
  /// Counts a sweep: its requests are compared with its plan, all others are a plan of their own (print_stats()).
  void count_plan(const subnet::DiscoverStats& stats);
  /// The plan of all sweeps so far, in requests.
  std::uint64_t sweep_plan() const { return plan_.plan; }
  /// With --stats: what was planned, what was sent, and why it was more, on stderr.
  void print_stats() const;
  /// An error that does not end the command ("E: …" and "E: +…" on stderr).
  void report(const Error& error) const;

 private:
  /// Prints what infiniband-diags prints about SMPs with -d.
  class DiagsTransactor;

  async::Task<Destination> named(async::Task<path::Path> found) const;
  path::Path parse_target(std::string_view text);
  path::Path parse_combined(std::string_view text);
  // session_names.cpp
  struct NamedPort;
  async::Task<path::Path> path_of_name(std::string word, std::string complaint);
  async::Task<std::vector<NamedPort>> named_ports();
  async::Task<> read_node_records();
  async::Task<> sweep_for_names();
  static std::vector<NamedPort> ports_in(const subnet::Subnet& subnet);
  path::Path parse_as(std::string_view text, path::Form form);
  const sys::EndPort* default_end_port();
  void parse_sa_path();
  sa::PathResolver& resolver();
  void open_fabric();
  void set_sa_path(path::Path& path);
  void stack_transactor();
  void open_snapshot();
  void stack_sa_transactor();
  void refuse_sets(std::string why);
  mad::Transactor& guarded();
  void make_cache(const std::string& file);
  mad::Transactor& below_sa();
  const std::string* why_no_sa();
  async::Task<path::Path> lid_routed(path::Path path);
  async::Task<path::Path> from_sa(path::Path path);
  void debug_path(std::string_view name, const path::Path& path) const;
  std::unique_ptr<mad::Channel> open_channel();

  // session_diags.cpp
  void stack_diags_transactor(mad::Transactor& below);
  async::Task<Destination> diags_node(const Target& target);
  async::Task<Destination> diags_gmp_node(const Target& target);
  std::optional<path::Path> path_of_lid(long lid);
  std::optional<path::Path> path_of_route(const std::string& text);
  std::optional<path::Path> path_of_combined(const std::string& text);
  async::Task<std::optional<path::Path>> path_of_guid(const std::string& text);
  std::unique_ptr<mad::Channel> open_diags_channel();
  void set_diags_pkey(path::IbPath& path);

  const World& world_;
  Dialect dialect_;
  std::string program_;
  CommonOptions options_;
  std::vector<std::string> operands_;
  async::Loop& loop_;
  ProgressLine progress_;
  subnet::DiscoverStats plan_;  ///< of all sweeps together
  std::optional<sys::DeviceList> devices_;
  std::optional<subnet::NodeNameMap> node_name_map_;
  const sys::EndPort* end_port_{};
  bool end_port_fixed_{};                             ///< named by -P or by a target
  std::function<void(subnet::Subnet&)> read_stored_;  ///< reads the stored fabric whose nodes the targets are; empty: the live one's
  std::vector<sa::NodeRecord> node_records_;          ///< see node_records()
  std::unique_ptr<subnet::Subnet> swept_;             ///< see take_swept()
  std::unique_ptr<mad::Tracer> tracer_;
  std::optional<path::Path> sa_target_;  ///< of --sa-path, until it is in use
  bool sa_path_parsed_{};
  std::unique_ptr<snapshot::Snapshot> snapshot_;
  std::unique_ptr<snapshot::SnapshotTransactor> stored_;  ///< what answers with --from
  std::unique_ptr<mad::Rpc> rpc_;                         ///< what sends
  std::unique_ptr<mad::Transactor> whole_tables_;         ///< on it where its channel loses segments
  std::unique_ptr<SetGuard> guard_;                       ///< on these: Sets pass through it
  std::string why_no_sets_;                               ///< a TARGET is a piece of a name; empty: Sets are allowed
  std::unique_ptr<snapshot::Cache> cache_;                ///< on these with --cache
  std::unique_ptr<mad::Transactor> transactor_;           ///< what stands on these, if anything
  std::unique_ptr<sa::PathResolver> resolver_;
  std::optional<std::string> no_sa_;  ///< why no SA answers, once it is known
  bool told_sl_0_{};
  bool routes_of_libibnetdisc_{};
  std::unique_ptr<mad::Channel> diags_channel_;  ///< opened by open_failure(), until it is used
};

/// What texts of infiniband-diags call the node at `path`: "Lid 4", "DR path slid 65535; dlid 65535; 0,1".
std::string diags_name(const path::Path& path);

/// Prints the `E:` lines of an error at the given level of detail on stderr. Without `top`, the lines continue a line that says
/// what failed because of the error.
void print_error(const Error& error, int level, Keys keys = Keys::hidden, bool top = true);

}  // namespace ib::tools
