// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/decoded_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/escape.hpp"
#include "iba-gen/mad.hpp"
#include "iba/generic.hpp"
#include "iba/queries.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"
#include "snapshot/answer_key.hpp"
#include "snapshot/views.hpp"

namespace ib::snapshot {
namespace {

/// Makes the table of the attributes' names, for the view of failures.
void write_names(Database& database) {
  database.run(
      "CREATE TABLE attributes(mgmt_class INTEGER, attribute INTEGER, name TEXT, PRIMARY KEY(mgmt_class, attribute)) WITHOUT ROWID");
  Statement row(database, "INSERT OR IGNORE INTO attributes VALUES(?1,?2,?3)");
  for (const StructInfo* any : all_structs()) {
    for (const AttributeClass& one : classes_of(*any)) {
      const auto id = static_cast<std::uint16_t>(any->attribute_id);
      const StructInfo* info = find_attribute(one.mgmt_class, one.class_version, id, one.oui);
      if (info != nullptr) row.bind(1, one.mgmt_class).bind(2, id).bind(3, info->title).run();
    }
  }
}

struct AttributeTable {
  const StructInfo& info;
  std::uint8_t mgmt_class;
  std::string_view port;  ///< the number of the port, an SQL expression over raw_answer; empty: the attribute is of a whole node
};

/// "smp::PortInfo" as "port_info".
std::string table_name(const StructInfo& info) {
  std::string name;
  const std::string_view type = info.name.substr(info.name.rfind(':') + 1);
  for (std::size_t at = 0; at < type.size(); ++at) {
    const bool upper = type[at] >= 'A' && type[at] <= 'Z';
    const bool after_lower = at > 0 && !(type[at - 1] >= 'A' && type[at - 1] <= 'Z');
    const bool before_lower = at + 1 < type.size() && type[at + 1] >= 'a' && type[at + 1] <= 'z';
    if (upper && at > 0 && (after_lower || before_lower)) name += '_';
    name += static_cast<char>(upper ? type[at] - 'A' + 'a' : type[at]);
  }
  return name;
}

bool is_plain(const FieldInfo& field) {
  const bool is_one = field.kind == FieldKind::uint ? field.bits <= 64 : field.count == 1;
  return !field.reserved && !field.secret && is_one && field.kind != FieldKind::bytes && field.kind != FieldKind::structure;
}

/// The fields that are columns. Of an attribute whose layout depends on the device or the link they are those that all layouts have.
std::vector<const FieldInfo*> columns_of(const StructInfo& info) {
  std::vector<const FieldInfo*> columns;
  for (const FieldInfo& field : info.fields) {
    const bool is_in_all = std::ranges::all_of(all_structs(), [&](const StructInfo* other) {
      const bool is_layout = other->mgmt_class != 0 && other->mgmt_class == info.mgmt_class && other->attribute_id == info.attribute_id;
      return !is_layout || std::ranges::any_of(other->fields, [&](const FieldInfo& same) {
        return same.name == field.name && same.bit_offset == field.bit_offset && same.bits == field.bits && same.count == field.count &&
               same.kind == field.kind;
      });
    });
    if (is_plain(field) && is_in_all) columns.push_back(&field);
  }
  return columns;
}

bool has_text(const FieldInfo& field) { return field.enumeration != nullptr && field.kind == FieldKind::uint; }

/// The name of a column. For a field with several elements it has the number of the element.
std::string column_name(const FieldInfo& field, std::uint32_t index) {
  return field.count == 1 ? std::string(field.name) : fmt::format("{}_{}", field.name, index);
}

std::vector<AttributeTable> attribute_tables() {
  constexpr std::string_view of_agent = "entry_port", of_port = "CASE modifier WHEN 0 THEN entry_port ELSE modifier END";
  std::vector<AttributeTable> tables{{mad::ClassPortInfo::info(), mad::mgmt_class::performance, of_agent}};
  for (const QueryInfo& query : all_queries()) {
    if (query.by_sa() || query.part.empty() || query.access == Access::block) continue;
    const bool is_of_node = query.by_smp() && is_of_whole_node(static_cast<std::uint16_t>(query.info->attribute_id));
    const bool selects = query.mgmt_class == mad::mgmt_class::performance;
    tables.push_back({*query.info, query.mgmt_class,
                      is_of_node                     ? std::string_view()
                      : query.access == Access::node ? of_agent
                      : selects                      ? "selector"
                                                     : of_port});
  }
  return tables;
}

/// Binds one element of a field, and its text, from parameter `at` on. Returns the next one. `texts` keeps what is bound.
int bind_field(Statement& row, int at, Bytes bytes, const FieldInfo& field, std::uint32_t index, std::vector<std::string>& texts) {
  const Value value = read_field(bytes, field, index);
  const auto bind_text = [&](std::string text) {
    texts.push_back(std::move(text));
    row.bind(at++, std::string_view(texts.back()));
  };
  if (const auto* number = std::get_if<std::uint64_t>(&value)) {
    row.bind(at++, static_cast<std::int64_t>(*number));
    if (has_text(field)) bind_text(symbol(*field.enumeration, *number));
  } else if (const auto* lid = std::get_if<Lid>(&value)) {
    row.bind(at++, lid->value);
  } else if (const auto* guid = std::get_if<Guid>(&value)) {
    bind_text(to_text(*guid));
  } else if (const auto* gid = std::get_if<Gid>(&value)) {
    bind_text(to_text(*gid));
  } else if (const auto* prefix = std::get_if<GidPrefix>(&value)) {
    bind_text(to_text(*prefix));
  } else {
    bind_text(escaped(fixed_text(std::get<Bytes>(value))));
  }
  return at;
}

void write_table(Database& database, const AttributeTable& table) {
  const std::string name = table_name(table.info);
  const bool has_port = !table.port.empty();
  std::string columns = has_port ? "node INTEGER, port INTEGER, time INTEGER" : "node INTEGER PRIMARY KEY, time INTEGER";
  int parameters = has_port ? 3 : 2;
  std::size_t text_count = 0;
  const std::vector<const FieldInfo*> fields = columns_of(table.info);
  for (const FieldInfo* field : fields) {
    for (std::uint32_t index = 0; index < field->count; ++index) {
      columns += fmt::format(", \"{}\"", column_name(*field, index));
      if (has_text(*field)) columns += fmt::format(", \"{}_text\"", column_name(*field, index));
      parameters += has_text(*field) ? 2 : 1;
      text_count += 1;
    }
  }
  database.run(fmt::format("CREATE TABLE {}({}{}", name, columns, has_port ? ", PRIMARY KEY(node, port)) WITHOUT ROWID" : ")"));
  std::string values = "?1";
  for (int at = 2; at <= parameters; ++at) values += fmt::format(",?{}", at);
  // If two ports of a CA got requests, the counters of a port are stored twice.
  Statement row(database, fmt::format("INSERT OR REPLACE INTO {} VALUES({})", name, values));
  Statement answers(database,
                    fmt::format("SELECT node, time, payload, {} FROM raw_answer WHERE mgmt_class = {} AND attribute = {} AND status = 0",
                                has_port ? table.port : "0", table.mgmt_class, table.info.attribute_id));
  const std::size_t before = mad::data_area(table.mgmt_class).offset - stored_area(table.mgmt_class).offset;
  std::vector<std::string> texts;
  texts.reserve(text_count);
  while (answers.step()) {
    texts.clear();
    int at = 1;
    row.bind(at++, answers.integer(0));
    if (has_port) row.bind(at++, answers.integer(3));
    row.bind(at++, answers.integer(1));
    const Bytes payload = answers.bytes(2), attribute = payload.subspan(std::min(before, payload.size()));
    for (const FieldInfo* field : fields) {
      for (std::uint32_t index = 0; index < field->count; ++index) at = bind_field(row, at, attribute, *field, index, texts);
    }
    row.run();
  }
}

}  // namespace

void write_decoded_tables(Database& database) {
  for (const AttributeTable& table : attribute_tables()) write_table(database, table);
  write_names(database);
  create_views(database);
}

}  // namespace ib::snapshot
