// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The methods of subnet administration (IBA 15.3.1) for typed records: SubnAdmGet, Set, GetTable. A
// query is the generated T::Query, which sets a component together with its bit of the component mask. The query goes to the SA
// of the transactor's end port, on its sa_path(). A function try_… returns the error instead of throwing it.
// sa/records.hpp is for records that a program knows only by their descriptor.
//
// The transactor and the query must live until the call has ended.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "base/bytes.hpp"
#include "iba-gen/sa.hpp"
#include "mad/transactor.hpp"

namespace ib::sa {

// The records of an answer, one after another in one buffer at a constant distance (stride). A table of millions of records needs no memory
// but its bytes.

/// A view of records in a buffer that someone else owns.
class RecordRows {
 public:
  class Iterator {
   public:
    using value_type = Bytes;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    Iterator(const RecordRows& rows, std::size_t at) : rows_(&rows), at_(at) {}
    Bytes operator*() const { return (*rows_)[at_]; }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) { return {*rows_, at_++}; }
    bool operator==(const Iterator& other) const = default;

   private:
    const RecordRows* rows_{};
    std::size_t at_{};
  };

  RecordRows() = default;
  /// `count` records of `size` bytes each, which begin at multiples of `stride` in `bytes`. The last record may be shorter: it
  /// ends at the end of `bytes`.
  RecordRows(Bytes bytes, std::size_t stride, std::size_t size, std::size_t count)
      : bytes_(bytes), stride_(stride), size_(size), count_(count) {}

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  /// The bytes of record `at`, which must be less than size().
  Bytes operator[](std::size_t at) const {
    const Bytes rest = bytes_.subspan(at * stride_);
    return rest.first(std::min(size_, rest.size()));
  }
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, count_}; }

  /// The records cut to their first `size` bytes. Shorter records stay whole.
  RecordRows first(std::size_t size) const { return {bytes_, stride_, std::min(size, size_), count_}; }

 private:
  Bytes bytes_;
  std::size_t stride_{}, size_{}, count_{};
};

/// Records with the buffer that they are in.
class RecordBuffer : public RecordRows {
 public:
  RecordBuffer() = default;
  /// Takes over `bytes`, which contain `rows`.
  RecordBuffer(std::vector<std::uint8_t> bytes, const RecordRows& rows) : RecordRows(rows), bytes_(std::move(bytes)) {}
  RecordBuffer(RecordBuffer&&) = default;
  RecordBuffer& operator=(RecordBuffer&&) = default;

 private:
  std::vector<std::uint8_t> bytes_;
};

/// The records of a SubnAdmGetTableResp or a similar answer.
template <class T>
struct Table {
  std::vector<T> records;
  bool torn = false;  ///< the answer came without its end: there may be more records; see table_rows()
};

/// The records of an answer as byte ranges.
struct TableRows {
  RecordRows records;
  bool torn = false;  ///< the answer came without its end
};

/// The records of a SubnAdmGetTableResp as byte ranges of `reply`, each of at least `record_size` bytes. Works for any method;
/// the answer to a SubnAdmGet has one record. Throws Error if the reply contradicts itself.
///
/// The last record may lack its padding. Zeros may follow it, because some senders count the whole last segment. Other bytes
/// are the beginning of a missing record, so the table is torn.
///
/// An answer of one packet is whole if it is the last segment. Otherwise the records that came are returned, and the table is torn. An
/// answer without RMPP (RMPPType 0) is torn if its RMPPFlags say that it is a first segment. Otherwise it is whole if it is shorter than a
/// packet. If it fills a packet, the end of its records is not known, and Error is thrown.
TableRows table_rows(const mad::Reply& reply, std::size_t record_size);

/// A request to the SA on `path` for records of a kind. `payload` is the record to match, or the structure that replaces it (IBA 15.2.5).
mad::Request sa_request(const path::Path& path, const StructInfo& record, std::uint8_t method, Bytes payload, std::uint64_t component_mask);

namespace detail {

/// The records of a try_ function for a table. Throws its error, or Error if the table is torn.
template <class T>
mad::Task<std::vector<T>> taken_whole(mad::Task<mad::Result<Table<T>>> tried) {
  mad::Result<Table<T>> result = co_await std::move(tried);
  Table<T> table = std::move(result).take();
  if (table.torn) throw Error("The SA's table came without its end");
  co_return std::move(table.records);
}

template <class T>
Table<T> unpacked_table(const mad::Reply& reply) {
  const TableRows rows = table_rows(reply, T::wire_size);
  Table<T> table;
  table.torn = rows.torn;
  table.records.reserve(rows.records.size());
  for (const Bytes row : rows.records) table.records.push_back(T::unpack(row));
  return table;
}

template <class Query>
mad::Task<mad::Result<mad::Reply>> call(mad::Transactor& transactor, std::uint8_t method, const Query& query) {
  using Record = decltype(Query::record);
  const auto bytes = wire::packed(query.record);
  const mad::Request request = sa_request(transactor.sa_path(), Record::info(), method, bytes, query.component_mask);
  co_return co_await transactor.try_call(request);
}

template <class Query>
mad::Task<mad::Result<decltype(Query::record)>> try_one(mad::Transactor& transactor, std::uint8_t method, const Query& query) {
  const mad::Result<mad::Reply> reply = co_await call(transactor, method, query);
  if (!reply) co_return reply.shared_error();
  co_return decltype(Query::record)::unpack(reply->payload());
}

}  // namespace detail

/// SubnAdmGet: the one record that matches `query`. The error is an SaError: code 3 if no record matches, code 4 if several match.
template <class Query>
mad::Task<mad::Result<decltype(Query::record)>> try_subn_adm_get(mad::Transactor& transactor, const Query& query) {
  return detail::try_one(transactor, mad::method::get, query);
}

/// SubnAdmSet of the components of `query` that are set. The result is the record after the change.
template <class Query>
mad::Task<decltype(Query::record)> subn_adm_set(mad::Transactor& transactor, const Query& query) {
  return mad::taken(detail::try_one(transactor, mad::method::set, query));
}

/// SubnAdmGetTable: all records that match; see Table. Throws Error if the answer contradicts itself.
template <class Query>
mad::Task<mad::Result<Table<decltype(Query::record)>>> try_subn_adm_get_table(mad::Transactor& transactor, const Query& query) {
  const mad::Result<mad::Reply> reply = co_await detail::call(transactor, mad::method::get_table, query);
  if (!reply) co_return reply.shared_error();
  co_return detail::unpacked_table<decltype(Query::record)>(*reply);
}
/// SubnAdmGetTable that throws its error, and Error if the answer is torn.
template <class Query>
mad::Task<std::vector<decltype(Query::record)>> subn_adm_get_table(mad::Transactor& transactor, const Query& query) {
  return detail::taken_whole(try_subn_adm_get_table(transactor, query));
}

}  // namespace ib::sa
