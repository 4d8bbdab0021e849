// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/format.hpp"

#include <bit>
#include <cstring>

namespace ib::snapshot {
namespace {

// raw_fact     what the file is about: names and their values
// raw_node     a node: its number in the model, and how the sweep found it
// raw_port     what the sweep knows of a port: its GUID, what is linked to it, and whether it read its PortInfo
// raw_failure  what the sweep could not read
// raw_answer   the answer to each request: the attribute without the zeros at its end, or why there is none
constexpr std::array<TableDefinition, 5> tables{{
    {"raw_fact", "CREATE TABLE raw_fact(name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID"},
    {"raw_node",
     "CREATE TABLE raw_node(node INTEGER PRIMARY KEY, hops INTEGER NOT NULL, via_node INTEGER NOT NULL, "
     "via_port INTEGER NOT NULL, entry_port INTEGER NOT NULL, lid_refused INTEGER NOT NULL, checksum INTEGER NOT NULL)"},
    {"raw_port",
     "CREATE TABLE raw_port(node INTEGER NOT NULL, port INTEGER NOT NULL, guid INTEGER NOT NULL, "
     "peer_node INTEGER NOT NULL, peer_port INTEGER NOT NULL, fdr10 INTEGER NOT NULL, swept INTEGER NOT NULL, "
     "checksum INTEGER NOT NULL, PRIMARY KEY(node, port)) WITHOUT ROWID"},
    {"raw_failure",
     "CREATE TABLE raw_failure(failure INTEGER PRIMARY KEY, kind INTEGER NOT NULL, node INTEGER NOT NULL, "
     "port INTEGER NOT NULL, beyond INTEGER NOT NULL, attribute TEXT NOT NULL, modifier INTEGER NOT NULL, "
     "why TEXT NOT NULL, tries INTEGER NOT NULL, waited INTEGER NOT NULL, path TEXT NOT NULL, request BLOB NOT NULL, "
     "reply BLOB NOT NULL, checksum INTEGER NOT NULL)"},
    {"raw_answer",
     "CREATE TABLE raw_answer(mgmt_class INTEGER NOT NULL, attribute INTEGER NOT NULL, node INTEGER NOT NULL, "
     "entry_port INTEGER NOT NULL, modifier INTEGER NOT NULL, selector INTEGER NOT NULL, status INTEGER NOT NULL, "
     "time INTEGER NOT NULL, hides_key INTEGER NOT NULL, payload BLOB NOT NULL, checksum INTEGER NOT NULL, "
     "PRIMARY KEY(mgmt_class, attribute, node, entry_port, modifier, selector)) WITHOUT ROWID"},
}};

/// FNV-1a, in steps of eight bytes.
class Hash {
 public:
  void add(std::uint64_t word) { value_ = (value_ ^ word) * 0x100000001b3U; }
  void add(Bytes bytes) {
    while (!bytes.empty()) {
      std::uint64_t word = 0;
      const std::size_t size = std::min(bytes.size(), sizeof(word));
      std::memcpy(&word, bytes.data(), size);
      if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
      add(word);
      bytes = bytes.subspan(size);
    }
  }
  std::int64_t value() const { return static_cast<std::int64_t>(value_); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace

std::span<const TableDefinition> raw_tables() { return tables; }

Bytes without_trailing_zeros(Bytes bytes) {
  while (!bytes.empty() && bytes.back() == 0) bytes = bytes.first(bytes.size() - 1);
  return bytes;
}

std::int64_t row_checksum(std::initializer_list<std::int64_t> numbers, Bytes bytes) {
  Hash hash;
  for (const std::int64_t number : numbers) hash.add(static_cast<std::uint64_t>(number));
  hash.add(bytes.size());
  hash.add(bytes);
  return hash.value();
}

bool is_snapshot(Bytes file) {
  constexpr std::string_view magic("SQLite format 3\0", 16);
  constexpr std::size_t application_id_offset = 68;
  return file.size() >= application_id_offset + 4 && std::equal(magic.begin(), magic.end(), file.begin()) &&
         load_be<std::uint32_t>(file.data() + application_id_offset) == application_id;
}

}  // namespace ib::snapshot
