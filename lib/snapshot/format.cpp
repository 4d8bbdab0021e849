// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/format.hpp"

namespace ib::snapshot {
namespace {

// raw_fact     what the file is about: names and their values
// raw_node     a node: its number in the model, and how the sweep found it
// raw_port     what the sweep knows of a port: its GUID, what is linked to it, and whether it read its PortInfo
// raw_failure  what the sweep could not read
// raw_answer   the answer to each request: the attribute without the zeros at its end, or why there is none
constexpr std::array<TableDefinition, 5> tables{{
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

}  // namespace

std::span<const TableDefinition> raw_tables() { return tables; }

std::string newest_sql(std::string_view sql, std::int64_t format) {
  constexpr std::string_view checksum = ", checksum INTEGER NOT NULL";
  std::string newest(sql);
  const std::size_t at = format == format_version ? std::string::npos : newest.find(checksum);
  return at == std::string::npos ? newest : newest.erase(at, checksum.size());
}

Bytes without_trailing_zeros(Bytes bytes) {
  while (!bytes.empty() && bytes.back() == 0) bytes = bytes.first(bytes.size() - 1);
  return bytes;
}

bool is_snapshot(Bytes file) {
  constexpr std::string_view magic("SQLite format 3\0", 16);
  constexpr std::size_t application_id_offset = 68;
  return file.size() >= application_id_offset + 4 && std::equal(magic.begin(), magic.end(), file.begin()) &&
         load_be<std::uint32_t>(file.data() + application_id_offset) == application_id;
}

}  // namespace ib::snapshot
