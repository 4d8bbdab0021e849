// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/old_content.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "iba/registry.hpp"
#include "mad/describe.hpp"
#include "mad/packet.hpp"
#include "sa/stored_tables.hpp"
#include "snapshot/format.hpp"

namespace ib::snapshot {
namespace {

constexpr int payload_column = 9;                      // of raw_answer
constexpr int request_column = 11, reply_column = 12;  // of raw_failure

/// Whether a structure may contain a key. The DataDetails of a trap may contain one, depending on the trap number (IBA 13.4.8.2).
bool may_hold_key(const StructInfo& info) {
  return std::ranges::any_of(info.fields, [](const FieldInfo& field) {
    return field.secret || field.name == "data_details" || (field.structure != nullptr && may_hold_key(*field.structure));
  });
}

/// The attributes of MADs other than the SA's in which keys may stand, few of all.
using KeyAttributes = std::set<std::pair<std::uint8_t, std::uint16_t>>;
KeyAttributes key_attributes() {
  KeyAttributes found;
  for (const StructInfo* info : all_structs()) {
    for (const AttributeClass& of : classes_of(*info)) {
      const std::pair key(of.mgmt_class, static_cast<std::uint16_t>(info->attribute_id));
      const bool is_found = find_attribute(of.mgmt_class, mad::class_version_of(of.mgmt_class), key.second) == info;
      if (is_found && may_hold_key(*info)) found.insert(key);
    }
  }
  return found;
}

/// Whether a key may stand in the stored attribute. Snapshots have millions of answers.
bool may_hold_key(const AnswerKey& key) {
  static const KeyAttributes attributes = key_attributes();
  return find_keyed_data(key.mgmt_class) != nullptr || attributes.contains({key.mgmt_class, key.attribute});
}

/// The table of the SA that is stored by `key`, or null.
const QueryInfo* table_of(const AnswerKey& key) {
  for (const QueryInfo& table : sa::stored_table_infos()) {
    if (table_key(table) == key) return &table;
  }
  return nullptr;
}

/// Copies the answers, without keys.
void copy_public_answers(Statement& row, Statement& copy) {
  while (row.step()) {
    copy.bind_row(row);
    const Bytes payload = row.bytes(payload_column);
    const AnswerKey key = key_in(row);
    const auto public_payload = row.integer(6) == answered ? without_keys_of(key, payload) : std::nullopt;
    if (public_payload) {
      const bool is_table = key.mgmt_class == mad::mgmt_class::sa;
      const std::int64_t hides_key = is_table ? row.integer(8) : 1;
      const Bytes kept = is_table ? Bytes(*public_payload) : without_trailing_zeros(*public_payload);
      copy.bind(9, hides_key).bind(10, kept).run();
      continue;
    }
    copy.run();
  }
}

/// Copies what the sweep could not read, without the keys in requests and replies.
void copy_public_failures(Statement& row, Statement& copy) {
  while (row.step()) {
    const std::vector<std::uint8_t> request = mad::without_keys(row.bytes(request_column));
    const std::vector<std::uint8_t> reply = mad::without_keys(row.bytes(reply_column));
    copy.bind_row(row).bind(request_column + 1, Bytes(request)).bind(reply_column + 1, Bytes(reply)).run();
  }
}

}  // namespace

std::optional<std::vector<std::uint8_t>> without_answer_keys(const AnswerKey& key, Bytes payload) {
  if (!may_hold_key(key)) return std::nullopt;
  return mad::without_keys(key.mgmt_class, key.attribute, stored_area(key.mgmt_class).offset, payload);
}

std::optional<std::vector<std::uint8_t>> without_keys_of(const AnswerKey& key, Bytes payload) {
  if (key.mgmt_class != mad::mgmt_class::sa) return without_answer_keys(key, payload);
  const QueryInfo* const table = table_of(key);
  if (table == nullptr) return std::nullopt;
  std::vector<std::uint8_t> bytes(payload.begin(), payload.end());
  if (bytes.size() >= mad::data_area(key.mgmt_class).offset) sa::hide_keys(*table, bytes);
  return std::ranges::equal(bytes, payload) ? std::nullopt : std::optional(std::move(bytes));
}

AnswerKey key_in(const Statement& row) {
  AnswerKey key;
  key.mgmt_class = static_cast<std::uint8_t>(row.integer(0));
  key.attribute = static_cast<std::uint16_t>(row.integer(1));
  key.node = static_cast<subnet::NodeIndex>(row.integer(2));
  key.entry_port = static_cast<std::uint8_t>(row.integer(3));
  key.modifier = static_cast<std::uint32_t>(row.integer(4));
  key.selector = static_cast<std::uint32_t>(row.integer(5));
  return key;
}

void copy_content(Database& from, Database& to, Keys keys) {
  for (const TableDefinition& table : raw_tables) {
    // The columns by name: a file of an older format has another one.
    std::string columns, places;
    Statement column(to, fmt::format("SELECT name FROM pragma_table_info('{}')", table.name));
    for (int at = 1; column.step(); ++at) {
      columns += fmt::format("{}{}", at == 1 ? "" : ",", column.text(0));
      places += fmt::format("{}?{}", at == 1 ? "" : ",", at);
    }
    Statement row(from, fmt::format("SELECT {} FROM {}", columns, table.name));
    Statement copy(to, fmt::format("INSERT INTO {} VALUES({})", table.name, places));
    if (keys == Keys::hidden && table.name == "raw_answer") {
      copy_public_answers(row, copy);
    } else if (keys == Keys::hidden && table.name == "raw_failure") {
      copy_public_failures(row, copy);
    } else {
      while (row.step()) copy.bind_row(row).run();
    }
  }
}

}  // namespace ib::snapshot
