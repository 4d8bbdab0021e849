// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/decoded_tables.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/escape.hpp"
#include "iba-gen/smp.hpp"
#include "iba/generic.hpp"
#include "iba/registry.hpp"
#include "iba/text.hpp"

namespace ib::snapshot {
namespace {

constexpr std::string_view node_views = R"(
CREATE VIEW facts AS SELECT name, value FROM raw_fact;
CREATE VIEW nodes AS
  SELECT n.node, i.node_guid AS guid, i.node_type_text AS type, d.node_string AS description, i.num_ports,
         (SELECT p.lid FROM port_info p WHERE p.node = n.node AND p.lid <> 0 ORDER BY p.port LIMIT 1) AS lid,
         i.system_image_guid, i.vendor_id, i.device_id, i.revision, n.hops
  FROM raw_node n LEFT JOIN node_info i USING(node) LEFT JOIN node_description d USING(node);
CREATE VIEW ports AS
  SELECT p.node, p.port, CASE WHEN r.guid <> 0 THEN printf('%04x:%04x:%04x:%04x', r.guid >> 48 & 65535, r.guid >> 32 & 65535,
         r.guid >> 16 & 65535, r.guid & 65535) END AS guid, p.lid, p.lmc, p.port_state_text AS state,
         p.port_physical_state_text AS physical_state, p.link_width_active_text AS width,
         CASE WHEN p.link_speed_ext_active2 <> 0 THEN p.link_speed_ext_active2_text
              WHEN p.link_speed_ext_active <> 0 THEN p.link_speed_ext_active_text
              WHEN r.fdr10 & 255 THEN 'FDR10' ELSE p.link_speed_active_text END AS speed,
         nullif(r.peer_node, -1) AS peer_node, CASE WHEN r.peer_node >= 0 THEN r.peer_port END AS peer_port,
         CASE p.link_width_active WHEN 1 THEN 1 WHEN 2 THEN 4 WHEN 4 THEN 8 WHEN 8 THEN 12 WHEN 16 THEN 2 END AS lanes,
         CASE WHEN p.link_width_supported & 8 THEN 12 WHEN p.link_width_supported & 4 THEN 8 WHEN p.link_width_supported & 2 THEN 4
              WHEN p.link_width_supported & 16 THEN 2 WHEN p.link_width_supported & 1 THEN 1 END AS lanes_supported,
         CASE p.link_speed_ext_active2 WHEN 2 THEN 200 WHEN 1 THEN 100 ELSE
           CASE p.link_speed_ext_active WHEN 4 THEN 50 WHEN 2 THEN 25 WHEN 1 THEN 14 ELSE
             CASE WHEN r.fdr10 & 255 THEN 10 ELSE CASE p.link_speed_active WHEN 4 THEN 10 WHEN 2 THEN 5 WHEN 1 THEN 2.5 END END
           END END AS lane_speed,
         CASE WHEN p.link_speed_ext_supported2 & 2 THEN 200 WHEN p.link_speed_ext_supported2 & 1 THEN 100
              WHEN p.link_speed_ext_supported & 4 THEN 50 WHEN p.link_speed_ext_supported & 2 THEN 25
              WHEN p.link_speed_ext_supported & 1 THEN 14 WHEN p.link_speed_supported & 4 THEN 10
              WHEN p.link_speed_supported & 2 THEN 5 WHEN p.link_speed_supported & 1 THEN 2.5 END AS lane_speed_supported
  FROM port_info p LEFT JOIN raw_port r USING(node, port);
CREATE VIEW links AS
  SELECT a.node AS node_a, a.port AS port_a, c.node_string AS description_a,
         a.peer_node AS node_b, a.peer_port AS port_b, d.node_string AS description_b, p.state, p.width, p.speed,
         p.lanes, min(p.lanes_supported, q.lanes_supported) AS lanes_supported,
         p.lane_speed, min(p.lane_speed_supported, q.lane_speed_supported) AS lane_speed_supported
  FROM raw_port a LEFT JOIN node_description c ON c.node = a.node LEFT JOIN node_description d ON d.node = a.peer_node
  LEFT JOIN ports p ON p.node = a.node AND p.port = a.port LEFT JOIN ports q ON q.node = a.peer_node AND q.port = a.peer_port
  WHERE a.peer_node > a.node OR (a.peer_node = a.node AND a.peer_port >= a.port);
CREATE VIEW failures AS
  SELECT nullif(node, -1) AS node, nullif(port, -1) AS port, beyond, attribute, modifier, why,
         (SELECT CAST(value AS INTEGER) FROM raw_fact WHERE name = 'begun') AS time
  FROM raw_failure
  UNION ALL
  SELECT CASE mgmt_class WHEN 3 THEN NULL ELSE node END, nullif(entry_port, 0), 0,
         coalesce(name, printf('class 0x%02x attribute 0x%04x', mgmt_class, attribute)), modifier,
         CASE WHEN status = -1 THEN 'no answer' WHEN status = -2 THEN CAST(payload AS TEXT)
              WHEN status & 28 = 4 THEN 'refused: class version not supported' WHEN status & 28 = 8 THEN 'refused: method not supported'
              WHEN status & 28 = 12 THEN 'refused: method and attribute not supported'
              WHEN status & 28 = 28 THEN 'refused: invalid field' ELSE printf('refused: status 0x%04x', status) END,
         time
  FROM raw_answer LEFT JOIN attributes USING(mgmt_class, attribute) WHERE status <> 0;
)";

/// An SQL expression: the number that a hexadecimal digit of `bytes` makes, counted from 1. `bytes` is an expression too. Digits of missing
/// bytes are 0, because zeros at the end of a payload are not stored.
std::string digit_of(std::string_view bytes, std::string_view digit) {
  return fmt::format("instr('123456789ABCDEF', substr(hex({}) || '0000', {}, 1))", bytes, digit);
}

/// An SQL expression: the number in `size` bytes of a payload, from the byte `first` on, which is an expression that counts from 0.
std::string number_at(std::string_view first, unsigned size) {
  const std::string bytes = fmt::format("substr(payload, {} + 1, {})", first, size);
  std::string sum;
  for (unsigned digit = 1; digit <= 2 * size; ++digit) {
    sum += fmt::format("{}{} * {}", digit > 1 ? " + " : "", digit_of(bytes, std::to_string(digit)), 1U << (4 * (2 * size - digit)));
  }
  return "(" + sum + ")";
}

/// "WITH RECURSIVE place(n) AS …": the numbers below `count`.
std::string places(unsigned count) {
  return fmt::format("WITH RECURSIVE place(n) AS (VALUES(0) UNION ALL SELECT n + 1 FROM place WHERE n < {})", count - 1);
}

/// The views of the tables that consist of blocks.
std::string block_views() {
  constexpr std::string_view where = "status = 0 AND mgmt_class = 1 AND attribute =";
  std::string views;
  views += fmt::format(
      "CREATE VIEW lft AS {} SELECT node, modifier * 64 + n AS lid, {} AS out_port, modifier AS block FROM raw_answer JOIN switch_info "
      "USING(node), place WHERE {} {} AND modifier * 64 + n BETWEEN 1 AND linear_fdb_top;",
      places(64), number_at("n", 1), where, smp::LinearForwardingTable::attribute_id);
  views += fmt::format(
      "CREATE VIEW mft AS {}, bit(b) AS (VALUES(0) UNION ALL SELECT b + 1 FROM bit WHERE b < 15) SELECT node, 49152 + (modifier & 511) * "
      "32 + n AS mlid, (modifier >> 28) * 16 + b AS out_port FROM raw_answer, place, bit WHERE {} {} AND length(payload) > n * 2 AND "
      "({} >> b) & 1;",
      places(32), where, smp::MulticastForwardingTable::attribute_id, number_at("n * 2", 2));
  views += fmt::format(
      "CREATE VIEW pkeys AS {}, entry AS (SELECT node, max(entry_port, modifier >> 16) AS port, (modifier & 65535) * 32 + n AS "
      "pkey_index, {} AS pkey, time FROM raw_answer, place WHERE {} {} AND length(payload) > n * 2) SELECT node, port, pkey_index, pkey, "
      "pkey & 32767 AS partition, pkey >> 15 AS is_full_member, max(time) AS time FROM entry WHERE pkey & 32767 <> 0 GROUP BY node, port, "
      "pkey_index;",
      places(32), number_at("n * 2", 2), where, smp::PKeyTable::attribute_id);
  views += fmt::format(
      "CREATE VIEW sl2vl AS {} SELECT node, entry_port, modifier >> 8 & 255 AS in_port, modifier & 255 AS out_port, n AS sl, {} AS vl FROM "
      "raw_answer, place WHERE {} {};",
      places(16), digit_of("substr(payload, n / 2 + 1, 1)", "n % 2 + 1"), where, smp::SLToVLMappingTable::attribute_id);
  return views;
}

/// Makes the table of the attributes' names, for the view of failures.
void write_names(Database& database) {
  database.run(
      "CREATE TABLE attributes(mgmt_class INTEGER, attribute INTEGER, name TEXT, PRIMARY KEY(mgmt_class, attribute)) WITHOUT ROWID");
  Statement row(database, "INSERT OR IGNORE INTO attributes VALUES(?1,?2,?3)");
  struct ClassVersion {
    std::uint8_t mgmt_class, version;
  };
  for (const ClassVersion one : {ClassVersion{0x01, 1}, {0x03, 2}, {0x04, 1}, {0x0a, 1}, {0x21, 2}}) {
    for (const StructInfo* any : all_structs()) {
      if (any->attribute_id < 0) continue;
      const auto id = static_cast<std::uint16_t>(any->attribute_id);
      const StructInfo* info = find_attribute(one.mgmt_class, one.version, id);
      if (info != nullptr) row.bind(1, one.mgmt_class).bind(2, id).bind(3, info->title).run();
    }
  }
}

/// The column of raw_answer that has the port of an attribute.
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
  const bool is_plain = field.kind == FieldKind::uint ? field.bits <= 64 : field.count == 1;
  return !field.reserved && !field.secret && is_plain && field.kind != FieldKind::bytes && field.kind != FieldKind::structure;
}

bool has_text(const FieldInfo& field) { return field.enumeration != nullptr && field.kind == FieldKind::uint; }

/// The name of a column. For a field with several elements it has the number of the element.
std::string column_name(const FieldInfo& field, std::uint32_t index) {
  return field.count == 1 ? std::string(field.name) : fmt::format("{}_{}", field.name, index);
}

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
  const bool has_port = table.port != PortColumn::none;
  std::string columns = has_port ? "node INTEGER, port INTEGER, time INTEGER" : "node INTEGER PRIMARY KEY, time INTEGER";
  int parameters = has_port ? 3 : 2;
  std::size_t text_count = 0;
  for (const FieldInfo& field : table.info.fields) {
    if (!is_column(field)) continue;
    for (std::uint32_t index = 0; index < field.count; ++index) {
      columns += fmt::format(", \"{}\"", column_name(field, index));
      if (has_text(field)) columns += fmt::format(", \"{}_text\"", column_name(field, index));
      parameters += has_text(field) ? 2 : 1;
      text_count += 1;
    }
  }
  database.run(fmt::format("CREATE TABLE {}({}{}", name, columns, has_port ? ", PRIMARY KEY(node, port)) WITHOUT ROWID" : ")"));
  std::string values = "?1";
  for (int at = 2; at <= parameters; ++at) values += fmt::format(",?{}", at);
  // If two ports of a CA got requests, the counters of a port are stored twice.
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
      for (std::uint32_t index = 0; is_column(field) && index < field.count; ++index)
        at = bind_field(row, at, answers.bytes(4), field, index, texts);
    }
    row.run();
  }
}

}  // namespace

void write_decoded_tables(Database& database) {
  for (const AttributeTable& table : attribute_tables()) write_table(database, table);
  write_names(database);
  database.run(std::string(node_views));
  database.run(block_views());
}

}  // namespace ib::snapshot
