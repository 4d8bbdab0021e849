// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// SubnAdmGetMulti and SubnAdmGetTraceTable, which no command sends: the requests, and what SAs of tests answer to SubnAdmGetMulti.
#pragma once

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "iba-gen/sa.hpp"
#include "iba/wire.hpp"
#include "mad/server.hpp"
#include "sa/pattern.hpp"
#include "sa/subn_adm.hpp"

namespace ibtest {

struct MultiPathGids {
  std::vector<ib::Gid> sources, destinations;
};

/// The GIDs of a received MultiPathRecord. Throws Error if the counts exceed the GIDs that the record holds.
inline MultiPathGids gids_of(ib::Bytes record) {
  constexpr std::size_t gid_size = 16, sources_at = 15, destinations_at = 16;
  constexpr std::size_t gids_at = 24;  // IBA 15.2.5.20: SDGID1
  const std::size_t end = gids_at + gid_size * (std::size_t{record[sources_at]} + record[destinations_at]);
  if (record.size() < gids_at || record.size() < end) throw ib::Error("The MultiPathRecord ends within its GIDs");
  MultiPathGids gids;
  for (std::size_t at = gids_at; at < end; at += gid_size) {
    ib::Gid gid;
    std::copy_n(record.begin() + static_cast<std::ptrdiff_t>(at), gid_size, gid.bytes.begin());
    (gids.sources.size() < record[sources_at] ? gids.sources : gids.destinations).push_back(gid);
  }
  return gids;
}

/// What an SA of tests answers: a path from each source to each destination, up to NumbPath of them.
inline std::vector<ib::sa::PathRecord> multi_paths(const ib::mad::Incoming& incoming) {
  const MultiPathGids ends = gids_of(incoming.payload());
  const std::size_t most = incoming.as<ib::sa::MultiPathRecord>().numb_path;
  std::vector<ib::sa::PathRecord> paths;
  for (const ib::Gid& source : ends.sources) {
    for (const ib::Gid& destination : ends.destinations) {
      if (paths.size() == most) return paths;
      paths.emplace_back();
      paths.back().sgid = source;
      paths.back().dgid = destination;
    }
  }
  return paths;
}

/// SubnAdmGetMulti: paths from `sources` to `destinations` (1…255 GIDs each) with the properties of `query` (IBA 15.2.5.20).
/// The GIDs and their counts in `query` are not used. An SA may accept fewer GIDs: opensm accepts 11 in all.
inline ib::mad::Task<ib::mad::Result<ib::sa::Table<ib::sa::PathRecord>>> try_subn_adm_get_multi(ib::mad::Transactor& transactor,
                                                                                                const ib::sa::MultiPathRecord::Query& query,
                                                                                                const std::vector<ib::Gid>& sources,
                                                                                                const std::vector<ib::Gid>& destinations) {
  using ib::sa::MultiPathRecord;
  MultiPathRecord::Query counted = query;
  counted.sgid_count(0).dgid_count(0);
  std::vector<std::uint8_t> bytes(MultiPathRecord::wire_size);
  counted.record.pack(bytes);
  for (const ib::Gid& gid : sources) ib::sa::add_gid(bytes, ib::sa::PathEnd::source, gid);
  for (const ib::Gid& gid : destinations) ib::sa::add_gid(bytes, ib::sa::PathEnd::destination, gid);
  const ib::mad::Request request = ib::sa::sa_request(transactor.sa_path(), MultiPathRecord::info(), ib::mad::method::get_multi,
                                                      ib::sa::used_part(bytes), counted.component_mask);
  const ib::mad::Result<ib::mad::Reply> reply = co_await transactor.try_call(request);
  if (!reply) co_return reply.shared_error();
  co_return ib::sa::detail::unpacked_table<ib::sa::PathRecord>(*reply);
}
inline ib::mad::Task<std::vector<ib::sa::PathRecord>> subn_adm_get_multi(ib::mad::Transactor& transactor,
                                                                         const ib::sa::MultiPathRecord::Query& query,
                                                                         const std::vector<ib::Gid>& sources,
                                                                         const std::vector<ib::Gid>& destinations) {
  return ib::sa::detail::taken_whole(try_subn_adm_get_multi(transactor, query, sources, destinations));
}

/// SubnAdmGetTraceTable: the nodes and ports along a path (IBA 15.2.5.19).
inline ib::mad::Task<std::vector<ib::sa::TraceRecord>> subn_adm_get_trace_table(ib::mad::Transactor& transactor,
                                                                                const ib::sa::PathRecord::Query& query) {
  const auto bytes = ib::wire::packed(query.record);
  const ib::mad::Request request =
      ib::sa::sa_request(transactor.sa_path(), ib::sa::TraceRecord::info(), ib::mad::method::get_trace_table, bytes, query.component_mask);
  const ib::mad::Reply reply = co_await transactor.call(request);
  ib::sa::Table<ib::sa::TraceRecord> table = ib::sa::detail::unpacked_table<ib::sa::TraceRecord>(reply);
  if (table.torn) throw ib::Error("The SA's table came without its end");
  co_return std::move(table.records);
}

}  // namespace ibtest
