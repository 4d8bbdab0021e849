// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Answers queries for paths from the stored table of all paths from this end port. An SA has no table of paths. It computes each
// path for the query, with an MTU, a rate or a life time that the query limits (IBA 15.2.5.16). The stored paths are those without
// a limit. What opensm makes of them under a limit is computed here, in the same order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "iba-gen/sa.hpp"
#include "sa/record_rows.hpp"
#include "sys/device.hpp"

namespace ib::sa {

/// A query for PathRecords.
struct PathQuery {
  PathRecord wanted;
  std::uint64_t component_mask;
  bool single;  ///< SubnAdmGet: one path is enough (IBA 15.2.5.16)
};

class StoredPaths {
 public:
  /// `rows` are the PathRecords whose SGID is the default GID of `end_port`, with all pairs of LIDs, and `back` those whose DGID it is,
  /// or none. All must outlive this object. Throws Error if the LIDs contradict each other.
  StoredPaths(const RecordRows& rows, const RecordRows& back, const sys::EndPort& end_port);

  /// Why the stored paths cannot answer the query, as a sentence. `has_qos` says whether paths depend on a service or QoS class;
  /// nothing if that is not known.
  std::optional<std::string> not_stored(const PathQuery& query, std::optional<bool> has_qos) const;

  /// The answer of an SA.
  struct Answer {
    std::uint16_t status = 0;  ///< 0 or the status of an error; a query that finds no path is not an error here
    std::vector<PathRecord> paths;
  };
  /// The answer to a query that not_stored() accepts.
  Answer answer(const PathQuery& query) const;

 private:
  /// The paths to one GID. A port has several GIDs if it has alias GUIDs.
  struct PathsToGid {
    Gid gid;
    Lid first, last;  ///< the LIDs of its port
    std::vector<std::size_t> rows;
  };
  enum class Known : std::uint8_t { absent, unknown, ours, other };
  Known source_by_gid(const PathQuery& query) const;
  Known source_by_lid(const PathQuery& query) const;
  bool has_destination(const PathQuery& query) const;
  std::vector<const PathsToGid*> destinations(const PathQuery& query) const;
  bool is_reversible(const PathRecord& path, const PathQuery& query) const;
  void add_paths(const PathQuery& query, const PathsToGid& to, std::vector<PathRecord>& paths) const;

  RecordRows rows_, back_;
  const sys::EndPort& end_port_;
  std::vector<PathsToGid> destinations_;  ///< in the order of the table
  std::unordered_map<std::uint64_t, std::size_t> by_guid_;
  std::vector<std::vector<std::size_t>> by_lid_;
  std::unordered_map<std::uint32_t, std::size_t> back_by_lids_;  ///< rows of back_ by SLID << 16 | DLID
  Lid first_source_, last_source_;
};

}  // namespace ib::sa
