// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// From an address to a path: what the subnet administrator knows of the way between two end ports. On RoCE there is no
// SA to ask: there a path needs its DGID, and what is added is the SGID of the DGID's subnet and the GRH.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "async/task.hpp"
#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::sa {

/// The SA has no path to the address: nobody has it, or its port is not reachable from here.
class PathNotFound : public mad::SaError {
 public:
  using mad::SaError::SaError;
  [[noreturn]] void raise() const override { throw *this; }
};

/// What a path must be like.
struct PathWanted {
  /// The way back is the same, turned around: MADs and other datagrams that are answered need it (IBA 13.5.4).
  bool reversible = true;
  /// Further components of the query (IBA 15.2.5.16): P_Key, SL, MTU or rate with their selectors, … Those that say
  /// from where and to where come from the path.
  PathRecord::Query properties{};
};

/// Resolves paths on one transactor and remembers them. Each destination is asked about once, also by many that
/// ask at the same time; errors are not remembered. It must outlive its tasks.
class PathResolver {
 public:
  /// `transactor` must outlive this. At most `capacity` answers are kept, the oldest are forgotten first.
  explicit PathResolver(mad::Transactor& transactor, std::size_t capacity = 16384);
  ~PathResolver();
  PathResolver(const PathResolver&) = delete;
  PathResolver& operator=(const PathResolver&) = delete;

  /// Completes `path`, of which at least the DGID or the DLID must be set: asks the SA for one path (PathRecord) from its
  /// SGID, or from the end port's default GID, and takes over LIDs, GIDs, SL, P_Key, MTU, rate, lifetime and the
  /// GRH fields; there is a GRH where the record has a hop limit. The rest of `path` stays as it is.
  ///
  /// Throws PathNotFound, another MadError, each with the note "Failed getting path record for path …", or Error where
  /// the end port knows no SM, a RoCE target has no GID, or the SA answers with an impossible path.
  async::Task<path::Path> resolve(path::Path path, PathWanted wanted = {});

  /// A path for GMPs to `target`: from QP1 to QP1 where the target names no others, with the SL that the SA gives. A
  /// directed route is followed through the SA's LinkRecords to the LID at its end, so that no SMP is needed; only where the SA does
  /// not know a link is the node asked. A path that is complete is not asked for. Throws as resolve() does.
  async::Task<path::Path> mad_path(path::Path target, PathWanted wanted = {});

  /// Forgets all answers, as after a change of the subnet.
  void clear();

 private:
  struct Entry;
  struct Asking;
  using Key = std::string;  ///< the record that is asked with, and its component mask

  async::Task<std::shared_ptr<Entry>> ask(PathRecord::Query query);
  void keep(const Key& key);

  mad::Transactor& transactor_;
  std::size_t capacity_;
  std::unordered_map<Key, std::shared_ptr<Entry>> entries_;  ///< answered, or being asked
  std::deque<Key> order_;                                    ///< of those that are answered
};

/// PathResolver::resolve() for one path, without memory.
async::Task<path::Path> resolve_path(mad::Transactor& transactor, const path::Path& path, const PathWanted& wanted = {});
/// PathResolver::mad_path() for one path, without memory.
async::Task<path::Path> get_mad_path(mad::Transactor& transactor, const path::Path& target);
/// Up to `most` (1…127) paths that differ in their LIDs, as many as LMC and the SA give. Throws as resolve_path() does.
async::Task<std::vector<path::Path>> resolve_paths(mad::Transactor& transactor, const path::Path& path, unsigned most,
                                                   const PathWanted& wanted = {});

/// What resolve_path() does on RoCE, where there is no SA: a port is known by its GIDs, and the kernel has no use for LIDs
/// (IBA annex A17). Throws Error where the path has no DGID.
void complete_roce(path::IbPath& path);

}  // namespace ib::sa
