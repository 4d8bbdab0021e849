// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/decoded_tables.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/escape.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"

namespace ib::snapshot {
namespace {

constexpr std::string_view node_views = R"(
CREATE VIEW facts AS SELECT name, value FROM raw_fact;
CREATE VIEW nodes AS
  SELECT n.node, i.node_guid AS guid, i.node_type_text AS type, d.node_string AS description, i.num_ports, i.vendor_id, i.device_id,
         n.hops
  FROM raw_node n LEFT JOIN node_info i USING(node) LEFT JOIN node_description d USING(node);
CREATE VIEW ports AS
  SELECT p.node, p.port, printf('%04x:%04x:%04x:%04x', r.guid >> 48 & 65535, r.guid >> 32 & 65535, r.guid >> 16 & 65535, r.guid & 65535)
         AS guid, p.lid, p.lmc, p.port_state_text AS state, p.port_physical_state_text AS physical_state,
         p.link_width_active_text AS width, p.link_speed_active_text AS speed,
         nullif(r.peer_node, -1) AS peer_node, CASE WHEN r.peer_node >= 0 THEN r.peer_port END AS peer_port
  FROM port_info p LEFT JOIN raw_port r USING(node, port);
CREATE VIEW links AS
  SELECT r.node AS node_a, r.port AS port_a, a.node_string AS description_a,
         r.peer_node AS node_b, r.peer_port AS port_b, b.node_string AS description_b
  FROM raw_port r LEFT JOIN node_description a ON a.node = r.node LEFT JOIN node_description b ON b.node = r.peer_node
  WHERE r.peer_node > r.node OR (r.peer_node = r.node AND r.peer_port >= r.port);
CREATE VIEW failures AS
  SELECT nullif(node, -1) AS node, nullif(port, -1) AS port, beyond, attribute, modifier, why FROM raw_failure
  UNION ALL
  SELECT node, entry_port, 0, printf('class 0x%02x attribute 0x%04x', mgmt_class, attribute), modifier,
         CASE status WHEN -1 THEN 'no answer' WHEN -2 THEN CAST(payload AS TEXT) ELSE printf('status 0x%04x', status) END
  FROM raw_answer WHERE status <> 0;
)";

/// An SQL expression: the number that `digits` hexadecimal digits of a payload make, from the digit `first` (an expression, from
/// 0) on. Zeros at the end of a payload are not stored.
std::string number_at(std::string_view first, unsigned digits) {
  std::string sum;
  for (unsigned i = 1; i <= digits; ++i) {
    const std::string place = fmt::format("({} + {})", first, i);
    sum += fmt::format("{}(length(payload) * 2 >= {}) * instr('123456789ABCDEF', substr(hex(payload), {}, 1)) * {}", i > 1 ? " + " : "",
                       place, place, 1U << (4 * (digits - i)));
  }
  return "(" + sum + ")";
}

/// "WITH RECURSIVE place(n) AS …": the numbers below `count`.
std::string places(unsigned count) {
  return fmt::format("WITH RECURSIVE place(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM place WHERE n < {})", count - 1);
}

/// The views of the tables that nodes have in blocks.
std::string block_views() {
  constexpr std::string_view from = "FROM raw_answer, place WHERE status = 0 AND mgmt_class = 1 AND attribute =";
  std::string views;
  views += fmt::format("CREATE VIEW lft AS {} SELECT node, modifier * 64 + n AS lid, {} AS out_port {} {};", places(64),
                       number_at("n * 2", 2), from, smp::LinearForwardingTable::attribute_id);
  views += fmt::format(
      "CREATE VIEW mft AS {}, bit(b) AS (VALUES(0) UNION ALL SELECT b + 1 FROM bit WHERE b < 15) SELECT node, 49152 + (modifier & 511) * "
      "32 + n "
      "AS mlid, (modifier >> 28) * 16 + b AS out_port FROM raw_answer, place, bit WHERE status = 0 AND mgmt_class = 1 AND attribute = {} "
      "AND "
      "({} >> b) & 1;",
      places(32), smp::MulticastForwardingTable::attribute_id, number_at("n * 4", 4));
  views += fmt::format(
      "CREATE VIEW pkeys AS {} SELECT node, max(entry_port, modifier >> 16) AS port, (modifier & 65535) * 32 + n AS pkey_index, {} AS pkey "
      "{} "
      "{};",
      places(32), number_at("n * 4", 4), from, smp::PKeyTable::attribute_id);
  views += fmt::format(
      "CREATE VIEW sl2vl AS {} SELECT node, entry_port, modifier >> 8 & 255 AS in_port, modifier & 255 AS out_port, n AS sl, {} AS vl {} "
      "{};",
      places(16), number_at("n", 1), from, smp::SLToVLMappingTable::attribute_id);
  return views;
}

/// Which column of raw_answer says the port of an attribute.
enum class PortColumn : std::uint8_t { none, modifier, selector };

struct AttributeTable {
  const StructInfo& info;
  std::uint8_t mgmt_class;
  PortColumn port;
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

bool is_column(const FieldInfo& field) {
  return !field.reserved && !field.secret && field.count == 1 && field.kind != FieldKind::bytes && field.kind != FieldKind::structure;
}

bool has_text(const FieldInfo& field) { return field.enumeration != nullptr && field.kind == FieldKind::uint; }

std::vector<AttributeTable> attribute_tables() {
  constexpr std::uint8_t smp_class = 0x01, performance = 0x04;
  std::vector<AttributeTable> tables{{smp::NodeInfo::info(), smp_class, PortColumn::none},
                                     {smp::NodeDescription::info(), smp_class, PortColumn::none},
                                     {smp::SwitchInfo::info(), smp_class, PortColumn::none},
                                     {smp::PortInfo::info(), smp_class, PortColumn::modifier}};
  for (const StructInfo* info : all_structs()) {
    if (info->mgmt_class == performance && info->attribute_id >= 0 && info->variant.empty())
      tables.push_back({*info, performance, PortColumn::selector});
  }
  return tables;
}

/// Binds one field, and its text, from parameter `at` on. Returns the next one. `texts` keeps what is bound.
int bind_field(Statement& row, int at, Bytes bytes, const FieldInfo& field, std::vector<std::string>& texts) {
  const Value value = read_field(bytes, field);
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
  const bool has_port = table.port != PortColumn::none;
  std::string columns = has_port ? "node INTEGER, port INTEGER, time INTEGER" : "node INTEGER PRIMARY KEY, time INTEGER";
  int parameters = has_port ? 3 : 2;
  std::size_t text_count = 0;
  for (const FieldInfo& field : table.info.fields) {
    if (!is_column(field)) continue;
    columns += fmt::format(", \"{}\"", field.name);
    if (has_text(field)) columns += fmt::format(", \"{}_text\"", field.name);
    parameters += has_text(field) ? 2 : 1;
    text_count += 1;
  }
  database.run(fmt::format("CREATE TABLE {}({}{}", name, columns, has_port ? ", PRIMARY KEY(node, port)) WITHOUT ROWID" : ")"));
  std::string values = "?1";
  for (int at = 2; at <= parameters; ++at) values += fmt::format(",?{}", at);
  // Where a CA was asked at two of its ports, the counters of a port stand there twice.
  Statement row(database, fmt::format("INSERT OR REPLACE INTO {} VALUES({})", name, values));
  Statement answers(database,
                    fmt::format("SELECT node, modifier, selector, time, payload FROM raw_answer WHERE mgmt_class = {} AND attribute = "
                                "{} AND status = 0",
                                table.mgmt_class, table.info.attribute_id));
  std::vector<std::string> texts;
  texts.reserve(text_count);
  while (answers.step()) {
    texts.clear();
    int at = 1;
    row.bind(at++, answers.integer(0));
    if (has_port) row.bind(at++, answers.integer(table.port == PortColumn::modifier ? 1 : 2));
    row.bind(at++, answers.integer(3));
    for (const FieldInfo& field : table.info.fields) {
      if (is_column(field)) at = bind_field(row, at, answers.bytes(4), field, texts);
    }
    row.run();
  }
}

}  // namespace

void write_decoded_tables(Database& database) {
  for (const AttributeTable& table : attribute_tables()) write_table(database, table);
  database.run(std::string(node_views));
  database.run(block_views());
}

void drop_decoded_tables(Database& database) {
  std::vector<std::string> objects;
  {
    Statement names(database,
                    "SELECT type, name FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'raw\\_%' ESCAPE '\\'");
    while (names.step()) {
      std::string name(names.text(1));
      for (std::size_t at = name.find('"'); at != std::string::npos; at = name.find('"', at + 2)) name.insert(at, 1, '"');
      objects.push_back(fmt::format("DROP {} \"{}\"", names.text(0), name));
    }
  }
  for (const std::string& drop : objects) database.run(drop);
}

}  // namespace ib::snapshot
