// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Resolves an address to a path with the subnet administrator's knowledge of the path between two end ports. On RoCE there is
// no SA: the path must have its DGID, and the SGID of the same subnet and the GRH are added.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>

#include "async/once.hpp"
#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"

namespace ib::sa {

/// The SA has no path to the address: no port has the address, or the port cannot be reached from here.
class PathNotFound : public mad::SaError {
 public:
  using mad::SaError::SaError;
  [[noreturn]] void raise() const override { throw *this; }
};

/// The required properties of a path.
struct PathWanted {
  /// The reverse path is the same path. MADs and other datagrams that are answered need this (IBA 13.5.4).
  bool reversible = true;
  /// Further components of the query (IBA 15.2.5.16): P_Key, SL, MTU or rate with their selectors, … Source and destination
  /// come from the path.
  PathRecord::Query properties{};
};

/// Finds the end port of a GID in another way than by the SA, which gives no path for the reason `why`: by its LID, else by a directed
/// route. Throws Error if there is no such port.
using PortFinder = std::function<async::Task<path::Path>(path::Path target, std::string why)>;

/// Resolves paths on one transactor and stores the results. Each query is sent once, even if many tasks need it at the same time. Errors
/// are not stored. The resolver must outlive its tasks.
class PathResolver {
 public:
  /// `transactor` must outlive the resolver. At most `capacity` results are stored; where another one comes, the stored ones are removed.
  explicit PathResolver(mad::Transactor& transactor, std::size_t capacity = 16384) : transactor_(transactor), capacity_(capacity) {}

  /// Completes `path`, which must have at least a DGID or a DLID. Requests one PathRecord from the SA, with the path's SGID or
  /// the end port's default GID as the source. Takes LIDs, GIDs, SL, P_Key, MTU, rate, lifetime and the GRH fields from the
  /// record. The path has a GRH if the record has a hop limit. A path by DGID is meant for the port of that GUID, unless another node is
  /// meant already. The rest of `path` stays unchanged.
  ///
  /// Throws PathNotFound or another MadError, each with the note "The SA gives no path to …". Throws Error if the
  /// end port knows no SM, if a RoCE target has no GID, if the SA answers with an impossible path, or with one to another DGID or DLID
  /// or with another P_Key than requested.
  async::Task<path::Path> resolve(path::Path path, PathWanted wanted = {});

  /// A directed route becomes a path to the LID at its end, which mad_path() explains; another target stays as it is.
  async::Task<path::Path> lid_routed(path::Path target);
  /// A path for GMPs to `target`, with the SL that the SA gives. It leads from QP1 to QP1 unless the target names other QPs. A
  /// directed route is followed through the SA's LinkRecords to the LID at its end, so no SMP is needed. If the SA does not know a link,
  /// the node itself gets an SMP. A complete path needs no query. Throws as resolve() does.
  async::Task<path::Path> mad_path(path::Path target, PathWanted wanted = {});

  /// As mad_path(), but if no SA answers, a path to a LID gets the SLID of the end port and SL 0: that is the right SL on most fabrics, and
  /// counters and pings are needed most when the subnet manager is dead. The SA is not queried for such a path if `skips_sa`, if none is
  /// known, and once none has answered; see why_no_sa(). A GID whose port the SA does not know may be the GID of a node or system: the path
  /// then leads to its only port. With `find`, which may be null, a port of a GID without a path is searched; if the SA answers and knows
  /// no path to it, that is an Error. Throws UsageError for a GUID of several ports, and for a target without a LID if `skips_sa`.
  async::Task<path::Path> gmp_path(path::Path target, PathWanted wanted, bool skips_sa, PortFinder find);
  /// A path for SMPs to the port of a GID: the SA's, else what `find`, which may be null, finds. `why_not` is the reason why the SA is not
  /// queried; empty if it is.
  async::Task<path::Path> path_to_gid(path::Path target, std::string why_not, PortFinder find);
  /// Why the SA gives no paths; empty text for `skips_sa`.
  const std::optional<std::string>& why_no_sa() const { return no_sa_; }

  /// Removes all stored results. To be called after a change of the subnet.
  void clear() { answers_.clear(); }

 private:
  /// What the SA says of a path.
  struct Answer {
    std::optional<path::Path> path;
    std::exception_ptr not_found;  ///< it has none, else none answers
    std::string why;
  };
  async::Task<Answer> query(path::Path path, PathWanted wanted, bool may_find, bool may_be_silent);
  async::Task<path::Path> without_sa(path::Path path, std::exception_ptr not_found, PortFinder find);
  async::Task<mad::Result<PathRecord>> fetch(PathRecord::Query query);

  mad::Transactor& transactor_;
  std::size_t capacity_;
  async::Once<std::string, mad::Result<PathRecord>> answers_;  ///< by the record of the query and its component mask
  std::optional<std::string> no_sa_;                           ///< see why_no_sa()
};

/// The path to the LID `lid` that is at the end of the directed route `route`, for any QP.
path::IbPath to_lid(const path::Path& route, Lid lid);
/// Completes a path on RoCE, where there is no SA. A port is identified by its GIDs, and the kernel does not use LIDs (IBA
/// annex A17). Throws Error if the path has no DGID.
void complete_roce(path::IbPath& path);

}  // namespace ib::sa
