// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The tables of a snapshot's file that this layer reads back. Their names begin with `raw_`. The tables for people and their SQL are in
// decoded_tables.cpp; nothing reads them back.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
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
// raw_fact     what the file is about: names and their values
// raw_node     a node: its number in the model, and how the sweep found it
// raw_port     what the sweep knows of a port: its GUID, what is linked to it, and whether it read its PortInfo
// raw_failure  what the sweep could not read
// raw_answer   the answer to each request: the attribute without the zeros at its end, or why there is none
inline constexpr std::array<TableDefinition, 5> raw_tables{{
    {"raw_fact", "CREATE TABLE raw_fact(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"},
    {"raw_node",
     "CREATE TABLE raw_node(node INTEGER PRIMARY KEY, hops INTEGER NOT NULL, via_node INTEGER NOT NULL, "
     "via_port INTEGER NOT NULL, entry_port INTEGER NOT NULL, lid_refused INTEGER NOT NULL)"},
    {"raw_port",
     "CREATE TABLE raw_port(node INTEGER NOT NULL, port INTEGER NOT NULL, guid INTEGER NOT NULL, "
     "peer_node INTEGER NOT NULL, peer_port INTEGER NOT NULL, fdr10 INTEGER NOT NULL, swept INTEGER NOT NULL, "
     "PRIMARY KEY(node, port)) WITHOUT ROWID"},
    {"raw_failure",
     "CREATE TABLE raw_failure(failure INTEGER PRIMARY KEY, kind INTEGER NOT NULL, node INTEGER NOT NULL, "
     "port INTEGER NOT NULL, beyond INTEGER NOT NULL, attribute TEXT NOT NULL, modifier INTEGER NOT NULL, "
     "why TEXT NOT NULL, tries INTEGER NOT NULL, waited INTEGER NOT NULL, path TEXT NOT NULL, request BLOB NOT NULL, "
     "reply BLOB NOT NULL)"},
    {"raw_answer",
     "CREATE TABLE raw_answer(mgmt_class INTEGER NOT NULL, attribute INTEGER NOT NULL, node INTEGER NOT NULL, "
     "entry_port INTEGER NOT NULL, modifier INTEGER NOT NULL, selector INTEGER NOT NULL, status INTEGER NOT NULL, "
     "time INTEGER NOT NULL, hides_key INTEGER NOT NULL, payload BLOB NOT NULL, "
     "PRIMARY KEY(mgmt_class, attribute, node, entry_port, modifier, selector)) WITHOUT ROWID"},
}};

/// Times are stored in milliseconds since 1970.
inline std::int64_t stored_time(std::chrono::system_clock::time_point time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
}

/// The bytes without the zeros at their end: the form in which payloads are stored.
constexpr Bytes without_trailing_zeros(Bytes bytes) {
  while (!bytes.empty() && bytes.back() == 0) bytes = bytes.first(bytes.size() - 1);
  return bytes;
}
/// A stored payload with zeros at its end up to `size` bytes.
template <std::size_t size>
std::array<std::uint8_t, size> padded(Bytes payload) {
  std::array<std::uint8_t, size> bytes{};
  std::copy_n(payload.begin(), std::min(payload.size(), size), bytes.begin());
  return bytes;
}

/// The fact that says what made a file. Files of earlier versions do not have it: they count as snapshots.
inline constexpr std::string_view kind_fact = "kind", kind_snapshot = "snapshot", kind_cache = "cache";

/// The values of raw_answer.status, the outcome of a request. A positive value is the status of the reply (IBA 13.4.7).
inline constexpr std::int64_t answered = 0, no_answer = -1, false_answer = -2;

}  // namespace ib::snapshot
