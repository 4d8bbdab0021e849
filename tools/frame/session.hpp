// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One run of one command: a Host, the Stack on its end port, the Targets of the command line, and also the names of nodes, the progress
// line and the manners of the dialect. A command gets a node from smp_node() or gmp_node(), sends requests to the node's path, and gets the
// result from take().
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
#include "subnet/model/node_name_map.hpp"
#include "subnet/sweep/discovery.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/targets.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {

class Session {
 public:
  Session(const World& world, MakeManners make_manners, std::string_view program, CommonOptions options, std::vector<std::string> operands,
          async::Loop& loop);
  ~Session();

  Host& host() { return host_; }
  Stack& stack() { return stack_; }
  Targets& targets() { return targets_; }
  const World& world() const { return host_.world(); }
  Log& log() const { return *world().log; }
  const CommonOptions& options() const { return host_.options(); }
  /// The name that the program was called by, for messages of infiniband-diags.
  const std::string& program() const { return program_; }
  async::Loop& loop() { return stack_.loop(); }
  /// The line that a run of more than a second shows on a terminal. It counts MADs by itself. A command may set further counts.
  ProgressLine& progress() { return progress_; }
  /// For long computations: shows the counts there, and lets the loop run.
  async::Task<> pause(std::size_t done, std::size_t of, std::string_view unit);

  /// Hands the operands to `set` (Targets::bind()).
  void bind_operands(const OptionSet& set) { targets_.bind(set, operands_); }

  const sys::DeviceList& devices() { return host_.own_devices(); }
  const sys::EndPort& end_port() { return host_.end_port(); }
  /// The fabric of --from.
  snapshot::StoredFabric& stored() { return host_.stored(); }
  /// The site's names for nodes: the file of --node-name-map, else the default file if there is one. Invalid lines are warnings. In
  /// ibtool's dialect throws as formats::read_node_name_map() does. In the dialect of infiniband-diags a file that cannot be read is a
  /// warning.
  const subnet::NodeNameMap& node_name_map();

  // See Stack.
  mad::Transactor& transactor() { return stack_.transactor(); }
  mad::Transactor& smp_transactor() { return stack_.smp_transactor(); }
  mad::Transactor& lowest_transactor() { return stack_.lowest_transactor(); }
  mad::Rpc& rpc();
  void require_fabric(std::string_view what) const { stack_.require_fabric(what); }
  void begin_cache(const std::string& file, const subnet::SweptSubnet& fabric, bool fdr10) { stack_.begin_cache(file, fabric, fdr10); }
  void use_cache(std::unique_ptr<snapshot::Snapshot> cache);
  bool uses_cache() const { return stack_.uses_cache(); }
  /// Writes the file of the cache, if there is one and answers were added. To be called after a successful run.
  void save_cache();
  PlannedSets planned_sets() const;
  /// Prints a note for each Set, with the node and the port that it changed. For commands that print nothing better themselves.
  void report_sets();
  void aim_sets(std::optional<path::Path> node, std::optional<unsigned> port) { stack_.aim_sets(std::move(node), port); }
  void require_exact_targets() const { stack_.require_exact_targets(); }
  void read_from_sa() { stack_.read_from_sa(); }
  async::Task<> prepare_sa() { return stack_.prepare_sa(); }
  async::Task<> read_service_levels(subnet::PortPaths& paths) { return stack_.read_service_levels(paths); }
  void report_sl_0(std::string_view why) { stack_.report_sl_0(why); }
  void apply_options(path::Path& path) const { stack_.apply_options(path); }
  path::Path here() { return stack_.here(); }

  // See Targets.
  const std::vector<sa::NodeRecord>& node_records() const { return targets_.node_records(); }
  const std::unique_ptr<subnet::SweptSubnet>& swept() const { return targets_.swept(); }
  std::unique_ptr<subnet::SweptSubnet> take_swept() { return targets_.take_swept(); }

  /// The node that `target` names, or the node of this host if `target` is empty, with a path for SMPs that has the keys and times of the
  /// options. A GID or GUID is resolved by the SA. Throws Error for a GID of another subnet: SMPs do not go there.
  async::Task<Destination> smp_node(const Target& target) { return manners_->smp_node(target); }
  /// The node that `target` names by a path that GMPs can use, with the P_Key of the options (Stack::gmp_path()).
  async::Task<Destination> gmp_node(const Target& target) { return manners_->gmp_node(target); }
  /// `node` with IbPath::meant, for a node that a LID or a route names, which nothing yet says more of: the GUID of the node that is at the
  /// end of its path now, which is requested. What is meant already stays. A command calls it before it reads what it will set: no Set on
  /// this path goes to another node afterwards (SetGuard). Throws subnet::WrongNode if another node was meant before, and MadError if there
  /// is no answer. Returns `node` as it is where SMPs do not go (subnet::takes_smps()).
  async::Task<Destination> identified(Destination node) { return manners_->identified(std::move(node)); }
  /// The node at the other end of the link of port `port` of a switch. Throws if the route becomes too long.
  Destination beyond(const Destination& node, std::uint8_t port) const;
  /// -C and -P as messages of infiniband-diags have them: "mlx5_0:1" or "(null):0".
  std::string diags_port() const;
  /// For infiniband-diags: opens the end port. If that fails, returns errno after it has printed only the messages of libibumad.
  std::optional<int> open_failure();
  /// The channel that open_failure() opened. Null if there is none.
  std::unique_ptr<mad::Channel> take_channel() { return std::move(diags_channel_); }
  /// The name of the node at `path` in texts.
  std::string name_of(const path::Path& path) const { return manners_->name_of(path); }
  /// The paths of smp_node() and gmp_node() of ibtool's dialect; a null target is this node.
  async::Task<path::Path> smp_path(const path::Path* target) { return stack_.smp_path(target); }
  async::Task<path::Path> gmp_path(const path::Path* target) { return stack_.gmp_path(target); }

  /// The value of the reply. A failure ends the command: ibtool throws the error; infiniband-diags prints libibmad's warning
  /// for the request and gives up with `words`.
  template <class T>
  T take(mad::Result<T> result, std::string_view words) const {
    if (!result) give_up(result.shared_error(), words);
    return std::move(*result);
  }
  /// Ends the command for a failure, as take() does.
  [[noreturn]] void give_up(const std::shared_ptr<const mad::MadError>& error, std::string_view words) const {
    manners_->give_up(*error, words);
    error->raise();
    throw mad::MadError(*error);  // not reached: g++ does not know that a virtual function never returns
  }
  /// Ends the command for another reason. ibtool throws `error`.
  template <class E>
  [[noreturn]] void refuse(E error, std::string words) const {
    manners_->refuse(std::move(words));
    throw error;
  }
  /// A request that failed and does not end the command. ibtool prints "E: …" where -v or -d is given; infiniband-diags warns.
  void report_failure(const mad::MadError& error) const { manners_->report_failure(error); }
  /// A remark of infiniband-diags on stderr, "ibwarn: [PID] FUNCTION: TEXT"; nothing in ibtool's words.
  void diags_warning(std::string_view function, std::string_view text) const { manners_->diags_warning(function, text); }

  /// A diagnostic line on stderr ("D: …") where the debug level is at least `level`.
  void debug(int level, std::string_view text) const;
  /// Prints the effect of a Set on stderr. A Set prints nothing else. Nothing with --dry-run.
  void note(std::string_view line) const;
  /// Counts a sweep for print_stats(): the requests of the sweep are compared with its plan. All other requests count as planned.
  void count_plan(const subnet::DiscoverStats& stats);
  /// The plan of all sweeps so far, in requests.
  std::uint64_t sweep_plan() const { return plan_.plan; }
  /// With --stats: prints on stderr how many requests were planned, how many were sent, and why they were more.
  void print_stats() const;
  /// An error that does not end the command ("E: …" and "E: +…" on stderr).
  void report(const Error& error) const;

 private:
  StackManners stack_manners();
  Targets::Callbacks target_callbacks();

  std::string program_;
  std::vector<std::string> operands_;
  std::unique_ptr<Manners> manners_;
  Host host_;
  ProgressLine progress_;
  Stack stack_;
  Targets targets_;
  subnet::DiscoverStats plan_;  ///< of all sweeps together
  std::optional<subnet::NodeNameMap> node_name_map_;
  std::unique_ptr<mad::Channel> diags_channel_;  ///< opened by open_failure(), until it is used
};

/// The name of the node at `path` in texts of infiniband-diags: "Lid 4", "DR path slid 65535; dlid 65535; 0,1".
std::string diags_name(const path::Path& path);

/// Prints the `E:` lines of an error at the given level of detail. Without `top`, the lines continue a line that says
/// what failed because of the error.
void print_error(Log& log, const Error& error, int level, Keys keys = Keys::hidden, bool top = true);

}  // namespace ib::tools
