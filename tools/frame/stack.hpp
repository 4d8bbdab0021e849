// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The layers of Transactors at an end port, built in one place. From bottom to top: the Rpc on a channel with the PortGate, or the file
// of --from; the SetGuard; the cache of --cache; the layer of --sa. A Stack also has the path to the SA, and the paths that the SA gave.
//
// A Stack opens when it is first used. close() takes everything down, so that it opens again: after the end port has gone away and come
// back, after LIDs have changed or the SM has moved (Host::reread()). When it is closed, no task, no Transactor and no resolved path of it
// may be in use.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "base/error.hpp"
#include "mad/trace.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "subnet/sweep/discovery.hpp"
#include "sys/device.hpp"

namespace ib::mad {
class Channel;
class Rpc;
}  // namespace ib::mad
namespace ib::sa {
class PathResolver;
}
namespace ib::snapshot {
class Cache;
class SnapshotTransactor;
}  // namespace ib::snapshot
namespace ib::subnet {
class PortPaths;
class SetGuard;
struct SetPolicy;
}  // namespace ib::subnet

namespace ib::tools {

class Host;
class Manners;
class PortGate;
class ProgressLine;
struct KnownFabric;

/// Nothing passes the end port: it is Down, or has no physical link.
class PortDown final : public Error {
 public:
  using Error::Error;
};

/// Whether an SMP on `path` stays on this host: a directed route of no hop, which begins here.
bool stays_here(const path::Path& path);

class Stack {
 public:
  /// All must outlive this object. Opens nothing. `manners` are of a command's dialect. Without them nothing is printed or shown.
  Stack(Host& host, async::Loop& loop, Manners* manners = nullptr);
  ~Stack();

  Host& host() const { return host_; }
  async::Loop& loop() const { return loop_; }
  /// Precondition: it is the stack of a command.
  Manners& manners() const { return *manners_; }
  /// The line that a run of more than a second shows on a terminal. It counts MADs by itself. A command may set further counts.
  ProgressLine& progress() { return *progress_; }
  /// A warning; nothing without manners.
  void warn(std::string_view line) const;
  bool is_open() const { return rpc_ || stored_; }
  /// Opens the end port, if it is not open. Throws as World::open_channel() and Host::end_port() do.
  void open() { lowest_transactor(); }
  /// Closes everything.
  void close();
  /// A channel that is open already: the next opening uses it.
  std::unique_ptr<mad::Channel>& ready_channel() { return channel_; }

  // The layers. Each opens the stack.
  /// The Transactor for all requests to the fabric. With --sa, SMPs that read become queries to the SA.
  mad::Transactor& transactor();
  /// The Transactor for SMPs that go to the nodes themselves, also with --sa.
  mad::Transactor& smp_transactor();
  /// The lowest layer for requests: the Rpc with the gate of the end port, or with --from the file. For sweeps, which send no Sets.
  mad::Transactor& lowest_transactor();
  /// The Rpc, which sends and receives. Throws NeedsFabric with --from.
  mad::Rpc& rpc();
  /// The statistics of the Rpc; null if there is no open Rpc.
  const mad::Stats* stats() const;
  /// Throws NeedsFabric with --from: `what` ("disable") cannot be done to a file.
  void require_fabric(std::string_view what) const;
  /// Makes transactor() behave as with --sa.
  void read_from_sa();
  /// Counts a sweep: its requests are compared with its plan (--stats). All other requests count as planned.
  void count_plan(const subnet::DiscoverStats& stats);
  /// The sum of all sweeps so far.
  const subnet::DiscoverStats& plan() const { return plan_; }

  // The state of the end port in sysfs (PortGate). All is well with --from, and where the dialect ignores that state.
  /// Throws Error if the end port is not an InfiniBand port, which has no SMPs; not if an SA is named, which is queried instead.
  void require_infiniband();
  /// Throws PortDown if nothing passes the end port, and Error if it is no InfiniBand port. Warns, once, if nothing but SMPs passes. To be
  /// called before a sweep, and before names are looked up: what reads only the own node would find a fabric of one node.
  void require_link();
  /// For what needs LIDs: GMPs, and queries to the SA. Throws PortDown, and Error in Initialize and Armed.
  void require_lids();
  /// For queries to the SA: as require_lids(), and throws Error for a port that is no InfiniBand port.
  void require_sa();
  bool is_port_down();
  /// The end port; on a planarized HCA the half that is Down.
  const sys::EndPort& down_port();
  /// What PortDown says.
  std::string down_text();
  /// The stored fabric that knows what the end port that is Down was linked to. Absent if none does.
  std::optional<std::string> former_fabric();
  /// Why no GMP leaves the end port in Initialize or Armed; empty if GMPs do. Throws PortDown.
  std::string why_no_gmps();
  /// Stored fabrics that may have what the end port was linked to.
  void know_fabrics(std::vector<KnownFabric> known);

  // Sets (subnet/set/set_guard.hpp)
  subnet::SetPolicy& sets() { return *sets_; }
  /// Throws UsageError if Sets are refused.
  void require_exact_targets() const;

  // The cache of --cache
  /// Answers SMPs from the cache `file`: what begin() or use() of it says. A request whose answer is not in it is sent, and the answer is
  /// added. If the file cannot be written, prints a warning, and the run goes on.
  snapshot::Cache& open_cache(const std::string& file);
  bool uses_cache() const;
  /// Writes the file of the cache, if there is one and answers were added. With -v or -d a line says so.
  void save_cache();

  // Paths (stack_paths.cpp)
  /// Sets the path of --sa-path. prepare_sa() completes it when the SA is needed.
  void set_sa_target(path::Path target) { sa_target_ = std::move(target); }
  /// Sets the function that finds the end port of a GID which the SA does not know, or for which no SA answers. ibtool's dialect calls it.
  using PortFinder = std::function<async::Task<path::Path>(path::Path target, std::string why)>;  ///< sa::PortFinder
  void set_finder(PortFinder finder) { finder_ = std::move(finder); }
  /// Completes the path of --sa-path, if there is one: smp_path() and gmp_path() do so, other code calls it before its queries.
  async::Task<> prepare_sa();
  sa::PathResolver& resolver();
  /// Puts the keys, retries and times of the options into a path.
  void apply_options(path::Path& path) const;
  /// Sets the P_Key at the index of the options. Throws UsageError if there is none, unless the dialect ignores that.
  void set_pkey(path::IbPath& path);
  /// A directed route of 0 hops to this port, with the keys and times of the options. Sweeps begin with it.
  path::Path here();
  /// The path of SMPs to a LID, with the keys and times of the options.
  path::Path smp_path_to(Lid lid);
  /// The path of SMPs to `target`; null is this node. A GID or GUID is resolved by the SA. Throws Error for a GID of another subnet.
  async::Task<path::Path> smp_path(const path::Path* target);
  /// The path of GMPs to `target`; null is this node. SL 0 for a LID with --skip-sl, or without an SA. Throws if the SA knows no path.
  async::Task<path::Path> gmp_path(const path::Path* target);
  /// Reads the service levels of `paths` from the SA, without --skip-sl.
  async::Task<> read_service_levels(subnet::PortPaths& paths);
  /// Warns once, in ibtool's dialect, that GMPs use SL 0, and `why`. Nothing if `why` is empty.
  void report_sl_0(std::string_view why);

 private:
  void open_fabric();
  void open_stored();
  void stack_on_top();
  bool as_libibmad() const;
  bool looks_at_port() const;
  bool lacks_sa() const;
  sys::Passage passage(bool smp);
  void set_sa_path(path::Path& path);
  /// The link of the end port that is Down, as a stored fabric has it.
  struct FormerLink {
    std::string file;       ///< the stored fabric
    std::string other_end;  ///< "port 7 of 'leaf' 0000:0000:0000:0100"
  };
  std::optional<FormerLink> former_link();
  // stack_paths.cpp
  PortFinder finder_for(const path::IbPath& path);
  void prepare_smp_path(path::Path& path) const;
  async::Task<path::Path> smps_to_gid(path::Path path);
  void debug_path(std::string_view name, const path::Path& path) const;

  Host& host_;
  async::Loop& loop_;
  Manners* manners_;
  std::unique_ptr<ProgressLine> progress_;
  subnet::DiscoverStats plan_;
  std::unique_ptr<mad::Channel> channel_;  ///< see ready_channel()
  std::optional<path::Path> sa_target_;    ///< of --sa-path
  PortFinder finder_;                      ///< see set_finder()
  std::unique_ptr<subnet::SetPolicy> sets_;
  bool reported_sl_0_{};
  std::vector<KnownFabric> known_fabrics_;  ///< see know_fabrics()
  std::string reported_state_;              ///< the last warning of require_link()

  // The layers that close() destroys, from bottom to top.
  std::unique_ptr<snapshot::SnapshotTransactor> stored_;  ///< the file of --from
  std::unique_ptr<mad::Tracer> tracer_;                   ///< gets each MAD that is sent or received
  std::unique_ptr<mad::Rpc> rpc_;                         ///< sends and receives
  std::unique_ptr<PortGate> gate_;                        ///< on the Rpc, unless the state of the end port is ignored
  std::unique_ptr<subnet::SetGuard> guard_;               ///< on these: Sets pass through it
  std::unique_ptr<snapshot::Cache> cache_;                ///< on these with --cache
  std::unique_ptr<mad::Transactor> top_;                  ///< on these with --sa
  std::unique_ptr<sa::PathResolver> resolver_;
  bool is_sa_prepared_{};  ///< the path of --sa-path is in use
};

}  // namespace ib::tools
