// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The tables of a snapshot's file that this layer reads back. Their names begin with `raw_`. The tables for people and their SQL are in
// decoded_tables.hpp; nothing reads them back.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"

namespace ib::snapshot {

/// Of SQLite's header (PRAGMA application_id): "ibss" in ASCII.
inline constexpr std::uint32_t application_id = 0x69627373;
/// PRAGMA user_version. It grows when a program of the version before could not read the file. In format 1, which is no longer read, one
/// fact held the device as a JSON text. In format 2, each table that is read back had one more column, a checksum of the row.
inline constexpr std::int64_t format_version = 3, oldest_format = 2;

struct TableDefinition {
  std::string_view name, sql;
};
/// The tables that are read back, as sqlite_schema has them in the newest format.
std::span<const TableDefinition> raw_tables();
/// What sqlite_schema has of such a table in a file of `format`, as it would have it in the newest one.
std::string newest_sql(std::string_view sql, std::int64_t format);

/// Times are stored in milliseconds since 1970.
inline std::int64_t stored_time(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

/// The bytes of a text.
inline Bytes as_bytes(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }
/// The bytes without the zeros at their end: the form in which payloads are stored.
Bytes without_trailing_zeros(Bytes bytes);
/// A stored payload with zeros at its end up to `size` bytes.
template <std::size_t size>
std::array<std::uint8_t, size> padded(Bytes payload) {
  std::array<std::uint8_t, size> bytes{};
  std::copy_n(payload.begin(), std::min(payload.size(), size), bytes.begin());
  return bytes;
}

/// Whether the first bytes of a file (at least 72) are those of a snapshot.
bool is_snapshot(Bytes file);

/// The fact that says what made a file. Files of earlier versions do not have it: they count as snapshots.
inline constexpr std::string_view kind_fact = "kind", kind_snapshot = "snapshot", kind_cache = "cache";

/// The values of raw_answer.status, the outcome of a request. A positive value is the status of the reply (IBA 13.4.7).
inline constexpr std::int64_t answered = 0, no_answer = -1, false_answer = -2;

}  // namespace ib::snapshot
