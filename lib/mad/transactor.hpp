// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The one interface through which everything asks the fabric. A Transactor turns requests into replies: the Rpc over a
// channel, or one that stands on another (SA instead of SMPs, a recorder, a recording). The typed calls keep the
// words of the IBA: subn_get<smp::PortInfo>(path, port). Paths and payloads given by reference must live until the
// call has ended: await at once, or keep them in the frame of the task that does.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.hpp"
#include "iba-gen/sa.hpp"
#include "mad/error.hpp"
#include "mad/record_rows.hpp"
#include "mad/request.hpp"
#include "mad/stats.hpp"

namespace ib::mad {

using async::Task;

/// The records of a SubnAdmGetTableResp or its like.
template <class T>
struct SaTable {
  std::vector<T> records;
  bool cut = false;  ///< the answer lost its end on the way: there may be more records; see sa_records()
};

namespace detail {
template <class T>
Task<T> taken(Task<Result<T>> tried);
template <class T>
Task<std::vector<T>> taken_whole(Task<Result<SaTable<T>>> tried);
}  // namespace detail

class Transactor {
 public:
  explicit Transactor(const sys::EndPort& end_port);
  Transactor(const Transactor&) = delete;
  Transactor& operator=(const Transactor&) = delete;
  virtual ~Transactor() = default;

  /// Asks, waits, asks again as the path says. The result is a valid reply with status 0, or the MadError that came
  /// instead. Throws SysError where this host cannot send at all.
  virtual Task<Result<Reply>> try_call(const Request& request) = 0;
  /// The counters of what lies below, null where nothing is sent.
  virtual const Stats* stats() const { return nullptr; }

  /// try_call() that throws the MadError.
  Task<Reply> call(const Request& request);

  const sys::EndPort& end_port() const { return end_port_; }
  /// The path to the subnet administrator of the end port (IBA 15.4.2). To be changed (SM_Key, retries) before use only.
  path::Path& sa_path() { return sa_path_; }
  const path::Path& sa_path() const { return sa_path_; }

  /// SubnGet(T), by directed route or LID as `path` is. The M_Key is the path's.
  template <class T>
  Task<Result<T>> try_subn_get(const path::Path& path, std::uint32_t modifier = 0, Reason reason = asked);
  template <class T>
  Task<T> subn_get(const path::Path& path, std::uint32_t modifier = 0, Reason reason = asked) {
    return detail::taken(try_subn_get<T>(path, modifier, reason));
  }
  /// SubnSet; the result is what the node answers, which tells what it really set.
  template <class T>
  Task<Result<T>> try_subn_set(const T& value, const path::Path& path, std::uint32_t modifier = 0);
  template <class T>
  Task<T> subn_set(const T& value, const path::Path& path, std::uint32_t modifier = 0) {
    return detail::taken(try_subn_set(value, path, modifier));
  }

  /// Get and Set of the class that T belongs to: performance, board, device, vendor, congestion.
  template <class T>
  Task<Result<T>> try_gmp_get(const path::Path& path, std::uint32_t modifier = 0, T value = {}) {
    return try_gmp<T>(method::get, path, modifier, std::move(value));
  }
  template <class T>
  Task<Result<T>> try_gmp_set(const T& value, const path::Path& path, std::uint32_t modifier = 0) {
    return try_gmp<T>(method::set, path, modifier, value);
  }
  /// PerformanceGet(T); `value` carries the selectors (port_select, counter_select, …) that T may have.
  template <class T>
  Task<T> performance_get(const path::Path& path, T value = {}, std::uint32_t modifier = 0) {
    return detail::taken(try_gmp_get<T>(path, modifier, std::move(value)));
  }
  template <class T>
  Task<T> performance_set(const T& value, const path::Path& path, std::uint32_t modifier = 0) {
    return detail::taken(try_gmp_set(value, path, modifier));
  }
  /// VendGet(T) of a vendor class.
  template <class T>
  Task<T> vend_get(const path::Path& path, std::uint32_t modifier = 0) {
    return detail::taken(try_gmp_get<T>(path, modifier));
  }
  template <class T>
  Task<T> vend_set(const T& value, const path::Path& path, std::uint32_t modifier = 0) {
    return detail::taken(try_gmp_set(value, path, modifier));
  }

  /// SubnAdmGet: the one record that matches `query` (a T::Query). Throws SaError with code 3 where there is none, 4
  /// where there are several.
  template <class Query>
  Task<Result<decltype(Query::record)>> try_subn_adm_get(const Query& query) {
    return try_subn_adm(method::get, query);
  }
  template <class Query>
  Task<decltype(Query::record)> subn_adm_get(const Query& query) {
    return detail::taken(try_subn_adm_get(query));
  }
  /// SubnAdmSet of the components of `query` that are set; the result is the record as it is then.
  template <class Query>
  Task<decltype(Query::record)> subn_adm_set(const Query& query) {
    return detail::taken(try_subn_adm(method::set, query));
  }
  /// SubnAdmGetTable: all records that match, or as many as came whole: see SaTable. Throws Error where the answer
  /// contradicts itself.
  template <class Query>
  Task<Result<SaTable<decltype(Query::record)>>> try_subn_adm_get_table(const Query& query);
  /// The same; throws Error where the answer was cut.
  template <class Query>
  Task<std::vector<decltype(Query::record)>> subn_adm_get_table(const Query& query) {
    return detail::taken_whole(try_subn_adm_get_table(query));
  }

  /// SubnAdmGetMulti: paths from `sources` to `destinations`, each of 1…255, as `query` wants them (IBA 15.2.5.20). SAs may
  /// serve fewer GIDs: opensm 11 in all. The GIDs and their counts in `query` are not used.
  Task<Result<SaTable<sa::PathRecord>>> try_subn_adm_get_multi(const sa::MultiPathRecord::Query& query, const std::vector<Gid>& sources,
                                                               const std::vector<Gid>& destinations);
  Task<std::vector<sa::PathRecord>> subn_adm_get_multi(const sa::MultiPathRecord::Query& query, const std::vector<Gid>& sources,
                                                       const std::vector<Gid>& destinations) {
    return detail::taken_whole(try_subn_adm_get_multi(query, sources, destinations));
  }
  /// SubnAdmGetTraceTable: the nodes and ports along a path (IBA 15.2.5.19). `query` should say all of the path; SAs want at
  /// least its source and destination.
  Task<Result<SaTable<sa::TraceRecord>>> try_subn_adm_get_trace_table(const sa::PathRecord::Query& query);
  Task<std::vector<sa::TraceRecord>> subn_adm_get_trace_table(const sa::PathRecord::Query& query) {
    return detail::taken_whole(try_subn_adm_get_trace_table(query));
  }

 private:
  template <class T>
  Task<Result<T>> try_gmp(std::uint8_t method, const path::Path& path, std::uint32_t modifier, T value);
  template <class Query>
  Task<Result<decltype(Query::record)>> try_subn_adm(std::uint8_t method, const Query& query);

  const sys::EndPort& end_port_;
  path::Path sa_path_;
};

/// The records of an answer as byte ranges of it.
struct SaRows {
  RecordRows records;
  bool cut = false;   ///< the answer lost its end on the way, and narrower queries may bring what is missing
  bool torn = false;  ///< it arrived whole, but its end is no whole record
};

/// The records of a SubnAdmGetTableResp as byte ranges of `reply`, each of at least `record_size` bytes. Throws Error
/// where the reply contradicts itself. For any method: the answer to a SubnAdmGet is one record.
///
/// The last record may lack its padding, and zeros may follow it: there are senders that count the rest of a segment. Other bytes
/// are the beginning of a record that is not there, and the table is torn.
///
/// An answer is cut where its sender left the segmentation to a kernel that is none: the simulated umad passes on the first
/// simulator_bytes of a table and throws the rest away. Such a MAD is Active with RMPPType 0. It is shorter where
/// the table was; then it is whole. A first segment without the others counts as cut too.
SaRows sa_records(const Reply& reply, std::size_t record_size);
/// What is wrong with a table that was cut, for messages.
inline constexpr std::string_view cut_text = "The answer was cut on its way: the table is longer than the records that arrived";

/// The class of an SMP on `path`: directed route or LID routed.
inline std::uint8_t smp_class(const path::Path& path) { return path.directed() != nullptr ? mgmt_class::smp_directed : mgmt_class::smp; }

}  // namespace ib::mad

#include "mad/transactor_calls.hpp"  // the bodies of the typed calls
