// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/escape.hpp"
#include "counters/row.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/pm.hpp"
#include "iba-gen/smp.hpp"
#include "iba/dump.hpp"
#include "iba/generic.hpp"
#include "iba/queries.hpp"
#include "iba/registry.hpp"
#include "snapshot/writer.hpp"
#include "subnet/model/rate.hpp"

namespace ib::snapshot {
namespace {

/// Makes the table of the attributes' names, for the view of failures.
void write_names(Database& database) {
  database.run(
      "CREATE TABLE attributes(mgmt_class INTEGER, attribute INTEGER, name TEXT, PRIMARY KEY(mgmt_class, attribute)) WITHOUT ROWID");
  Statement row(database, "INSERT OR IGNORE INTO attributes VALUES(?1,?2,?3)");
  for (const StructInfo& any : all_structs()) {
    for (const AttributeClass& one : classes_of(any)) {
      const auto id = static_cast<std::uint16_t>(any.attribute_id);
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

/// One element of a field.
struct ElementColumn {
  const FieldInfo& field;
  std::uint32_t index;

  bool has_text() const { return field.enumeration != nullptr && field.kind == FieldKind::uint; }
  std::string name() const { return field.count == 1 ? std::string(field.name) : fmt::format("{}_{}", field.name, index); }
};

/// The elements that are columns. Of an attribute whose layout depends on the device or the link they are those that all layouts have.
std::vector<ElementColumn> columns_of(const StructInfo& info) {
  std::vector<ElementColumn> columns;
  for (const FieldInfo& field : info.fields) {
    const bool is_in_all = std::ranges::all_of(all_structs(), [&](const StructInfo& other) {
      const bool is_layout = other.mgmt_class != 0 && other.mgmt_class == info.mgmt_class && other.attribute_id == info.attribute_id;
      return !is_layout || std::ranges::any_of(other.fields, [&](const FieldInfo& same) {
        return same.name == field.name && same.bit_offset == field.bit_offset && same.bits == field.bits && same.count == field.count &&
               same.kind == field.kind;
      });
    });
    for (std::uint32_t index = 0; is_plain(field) && is_in_all && index < field.count; ++index) columns.push_back({field, index});
  }
  return columns;
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

/// Binds an element and its text, from parameter `at` on. Returns the next one. `texts` keeps what is bound.
int bind_element(Statement& row, int at, Bytes bytes, const ElementColumn& column, std::vector<std::string>& texts) {
  const FieldInfo& field = column.field;
  const Value value = read_field(bytes, field, column.index);
  if (const auto* lid = std::get_if<Lid>(&value)) return row.bind(at++, lid->value), at;
  const auto* number = std::get_if<std::uint64_t>(&value);
  if (number != nullptr) row.bind(at++, static_cast<std::int64_t>(*number));
  if (number != nullptr && !column.has_text()) return at;
  texts.push_back(number != nullptr               ? symbol(*field.enumeration, *number)
                  : field.kind == FieldKind::text ? escaped(fixed_text(std::get<Bytes>(value)))
                                                  : field_text(bytes, field, column.index));
  row.bind(at++, std::string_view(texts.back()));
  return at;
}

void write_table(Database& database, const AttributeTable& table) {
  const std::string name = table_name(table.info);
  const bool has_port = !table.port.empty();
  const std::vector<ElementColumn> columns = columns_of(table.info);
  std::string declared = has_port ? "node INTEGER, port INTEGER, time INTEGER" : "node INTEGER PRIMARY KEY, time INTEGER";
  std::string values = has_port ? "?,?,?" : "?,?";
  for (const ElementColumn& column : columns) {
    declared += fmt::format(", \"{}\"", column.name());
    if (column.has_text()) declared += fmt::format(", \"{}_text\"", column.name());
    values += column.has_text() ? ",?,?" : ",?";
  }
  database.run(fmt::format("CREATE TABLE {}({}{}", name, declared, has_port ? ", PRIMARY KEY(node, port)) WITHOUT ROWID" : ")"));
  // If two ports of a CA got requests, the counters of a port are stored twice.
  Statement row(database, fmt::format("INSERT OR REPLACE INTO {} VALUES({})", name, values));
  Statement answers(database,
                    fmt::format("SELECT node, time, payload, {} FROM raw_answer WHERE mgmt_class = {} AND attribute = {} AND status = 0",
                                has_port ? table.port : "0", table.mgmt_class, table.info.attribute_id));
  const std::size_t before = mad::data_area(table.mgmt_class).offset - stored_area(table.mgmt_class).offset;
  std::vector<std::string> texts;
  texts.reserve(columns.size());
  while (answers.step()) {
    texts.clear();
    int at = 1;
    row.bind(at++, answers.integer(0));
    if (has_port) row.bind(at++, answers.integer(3));
    row.bind(at++, answers.integer(1));
    const Bytes payload = answers.bytes(2), attribute = payload.subspan(std::min(before, payload.size()));
    for (const ElementColumn& column : columns) at = bind_element(row, at, attribute, column, texts);
    row.run();
  }
}

using subnet::Speed;

constexpr Speed fastest_speed = Speed::xdr;

// What was not read is null in all views. Rates follow subnet/model/rate.hpp, and counters follow counters/row.hpp: which field counts
// is decided by the capabilities that the port or the PMA reports.

constexpr std::string_view node_views = R"(
CREATE VIEW facts AS SELECT name, value FROM raw_fact;
CREATE VIEW nodes AS
  SELECT n.node, i.node_guid AS guid, i.node_type_text AS type, d.node_string AS description, i.num_ports,
         (SELECT p.lid FROM port_info p WHERE p.node = n.node AND p.lid <> 0 ORDER BY p.port LIMIT 1) AS lid,
         i.system_image_guid, i.vendor_id, i.device_id, i.revision, n.hops
  FROM raw_node n LEFT JOIN node_info i USING(node) LEFT JOIN node_description d USING(node);
CREATE VIEW ends AS
  SELECT r.node, r.port AS port_num, i.node_guid, i.node_type, i.node_type_text, d.node_string AS node_description,
         CASE WHEN g.guid <> 0 THEN printf('%04x:%04x:%04x:%04x', g.guid >> 48 & 65535, g.guid >> 32 & 65535, g.guid >> 16 & 65535,
         g.guid & 65535) END AS port_guid, nullif(e.lid, 0) AS lid, e.lmc, nullif(r.peer_node, -1) AS peer_node,
         CASE WHEN r.peer_node >= 0 THEN r.peer_port END AS peer_port_num
  FROM raw_port r LEFT JOIN node_info i USING(node) LEFT JOIN node_description d USING(node)
  LEFT JOIN raw_port g ON g.node = r.node AND g.port = CASE i.node_type WHEN 2 THEN 0 ELSE r.port END
  LEFT JOIN port_info e ON e.node = r.node AND e.port = CASE i.node_type WHEN 2 THEN 0 ELSE r.port END;
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

/// Sets of speeds are integers: bit n is the Speed n. Operators on bits all have one precedence in SQLite. The extended fields count where
/// the capability mask of the end port says so, or was not read.
constexpr std::string_view port_view = R"(
CREATE VIEW ports AS
  WITH valid AS (
    SELECT p.*, r.guid, r.peer_node, r.peer_port, r.fdr10, coalesce(e.capability_mask >> 14 & 1, 1) AS has_extended,
           coalesce((e.capability_mask >> 15) & (e.capability_mask2 >> 11) & 1, 1) AS has_extended2
    FROM port_info p LEFT JOIN raw_port r USING(node, port) LEFT JOIN node_info n USING(node)
    LEFT JOIN port_info e ON e.node = p.node AND e.port = CASE n.node_type WHEN 2 THEN 0 ELSE p.port END),
  generation AS (
    SELECT *, CASE WHEN fdr10 & 1 THEN {fdr10} ELSE (link_speed_active & 7) << 1 END AS basic,
           has_extended * (((link_speed_ext_active & 15) << 5) | (has_extended2 * (link_speed_ext_active2 & 1) << 9)) AS extended,
           ((link_speed_supported & 7) << 1) | (coalesce((fdr10 | (fdr10 >> 8)) & 1, 0) * {fdr10}) |
             (has_extended * (((link_speed_ext_supported & 15) << 5) | (has_extended2 * (link_speed_ext_supported2 & 1) << 9))) AS speeds
    FROM valid),
  rate AS (SELECT *, CASE WHEN extended <> 0 THEN extended ELSE basic END AS active FROM generation)
  SELECT node, port, CASE WHEN guid <> 0 THEN printf('%04x:%04x:%04x:%04x', guid >> 48 & 65535, guid >> 32 & 65535, guid >> 16 & 65535,
         guid & 65535) END AS guid, lid, lmc, port_state_text AS state, port_physical_state_text AS physical_state,
         link_width_active_text AS width, {active_name} AS speed, nullif(peer_node, -1) AS peer_node,
         CASE WHEN peer_node >= 0 THEN peer_port END AS peer_port, {lanes} AS lanes, {supported_lanes} AS lanes_supported,
         {active_gbps} AS lane_speed, {supported_gbps} AS lane_speed_supported, port_state, port_physical_state, active AS active_speeds,
         speeds AS supported_speeds, link_width_supported AS supported_widths
  FROM rate;
)";

/// The columns of two rows of `ends`, a and b.
constexpr std::string_view both_ends =
    "a.node, a.node_guid, a.node_description, a.lid, a.port_num, b.node AS peer_node, b.node_guid AS peer_node_guid, "
    "b.node_description AS peer_node_description, b.lid AS peer_lid, b.port_num AS peer_port_num";

/// On the views above. A cable is named from its end with the lower number of node and port.
constexpr std::string_view question_views = R"(
CREATE VIEW cables AS
  WITH cable AS (
    SELECT {both_ends}, p.port_state AS state,
           p.state AS state_text, p.lanes AS width, p.active_speeds, p.supported_widths & q.supported_widths AS link_width_supported,
           p.supported_speeds & q.supported_speeds AS best_speeds
    FROM ends a JOIN ends b ON b.node = a.peer_node AND b.port_num = a.peer_port_num
    LEFT JOIN ports p ON p.node = a.node AND p.port = a.port_num LEFT JOIN ports q ON q.node = b.node AND q.port = b.port_num
    WHERE a.peer_node > a.node OR (a.peer_node = a.node AND a.peer_port_num >= a.port_num))
  SELECT node, node_guid, node_description, lid, port_num, peer_node, peer_node_guid, peer_node_description, peer_lid, peer_port_num,
         state, state_text, width, width || 'x' AS width_text, {active_mbps} AS speed, {active_name} AS speed_text,
         width * {active_mbps} AS rate_mbps, {best_lanes} AS best_width, {best_lanes} || 'x' AS best_width_text,
         {best_mbps} AS best_speed, {best_name} AS best_speed_text
  FROM cable;
CREATE VIEW slow_links AS SELECT * FROM cables WHERE width < best_width OR speed < best_speed;
CREATE VIEW links_not_read AS SELECT * FROM cables WHERE (width < best_width OR speed < best_speed) IS NULL;
CREATE VIEW links AS
  SELECT cables.node AS node_a, port_num AS port_a, node_description AS description_a, cables.peer_node AS node_b, peer_port_num AS port_b,
         peer_node_description AS description_b, p.state, p.width, p.speed, p.lanes, best_width AS lanes_supported,
         p.lane_speed, {best_gbps} AS lane_speed_supported
  FROM cables LEFT JOIN ports p ON p.node = cables.node AND p.port = port_num;
CREATE VIEW hosts_by_leaf AS
  SELECT {both_ends}
  FROM ends a JOIN ends b ON b.node = a.peer_node AND b.port_num = a.peer_port_num WHERE a.node_type = 2 AND b.node_type = 1;
CREATE VIEW lids AS
  SELECT lid, lid + (1 << lmc) - 1 AS last_lid, lmc, node, node_guid, node_type, node_type_text, node_description, port_num, port_guid
  FROM ends WHERE lid IS NOT NULL AND (node_type <> 2 OR port_num = 0);
CREATE VIEW switch_load AS
  WITH RECURSIVE destination(lid, last_lid) AS (
    SELECT lid, last_lid FROM lids WHERE node_type <> 2 UNION ALL SELECT lid + 1, last_lid FROM destination WHERE lid < last_lid),
  used AS (SELECT node, out_port, count(*) AS routed_lids FROM lft WHERE lid IN (SELECT lid FROM destination) GROUP BY node, out_port),
  whole AS (
    SELECT node FROM switch_info s WHERE linear_fdb_top / 64 + 1 = (
      SELECT count(*) FROM raw_answer r WHERE r.node = s.node AND {lft_blocks} AND modifier <= linear_fdb_top / 64))
  SELECT {both_ends},
         CASE WHEN a.node IN (SELECT node FROM whole) THEN coalesce(routed_lids, 0) END AS routed_lids
  FROM ends a JOIN ends b ON b.node = a.peer_node AND b.port_num = a.peer_port_num
  LEFT JOIN used ON used.node = a.node AND out_port = a.port_num WHERE a.node_type = 2;
)";

constexpr std::string_view counter_views = R"(
CREATE VIEW counters AS
  WITH place AS (SELECT node, port FROM port_counters UNION SELECT node, port FROM port_counters_ext)
  SELECT place.node, place.port AS port_num{columns}
  FROM place LEFT JOIN port_counters n USING(node, port) LEFT JOIN port_counters_ext w USING(node, port)
  LEFT JOIN node_info USING(node)
  LEFT JOIN class_port_info pma ON pma.node = place.node AND pma.port = CASE node_type WHEN 2 THEN 0 ELSE place.port END
  WHERE place.port < 255;
CREATE VIEW ports_with_errors AS
  SELECT {both_ends}{errors}
  FROM counters c JOIN ends a ON a.node = c.node AND a.port_num = c.port_num
  LEFT JOIN ends b ON b.node = a.peer_node AND b.port_num = a.peer_port_num WHERE {sum} > 0;
CREATE VIEW counters_not_read AS
  SELECT {both_ends}
  FROM ends a LEFT JOIN ends b ON b.node = a.peer_node AND b.port_num = a.peer_port_num
  LEFT JOIN ports p ON p.node = a.node AND p.port = a.port_num
  WHERE a.port_num > 0 AND (a.peer_node IS NOT NULL OR p.port_state > {down})
    AND NOT EXISTS (SELECT 1 FROM port_counters n WHERE n.node = a.node AND n.port = a.port_num)
    AND NOT EXISTS (SELECT 1 FROM port_counters_ext w WHERE w.node = a.node AND w.port = a.port_num);
)";

/// An SQL expression: what `value` returns of the fastest speed of a set; null for the empty set.
template <class Value>
std::string of_fastest(std::string_view set, Value value) {
  std::string cases;
  for (auto speed = static_cast<unsigned>(fastest_speed); speed > 0; --speed)
    cases += fmt::format(" WHEN {} & {} THEN {}", set, 1U << speed, value(static_cast<Speed>(speed)));
  return "CASE" + cases + " END";
}

std::string quoted_name(Speed speed) { return fmt::format("'{}'", subnet::name(speed)); }
/// The speed of a lane in Gb/s, as it is called: 25 for EDR.
std::string_view gbps(Speed speed) {
  constexpr std::array<std::string_view, 10> names{"NULL", "2.5", "5", "10", "10", "14", "25", "50", "100", "200"};
  return names.at(static_cast<std::size_t>(speed));
}

/// An SQL expression: the Gb/s of a speed that is known by its name.
std::string gbps_of_name(std::string_view name) {
  std::string cases;
  for (auto speed = static_cast<unsigned>(fastest_speed); speed > 0; --speed)
    cases += fmt::format(" WHEN '{}' THEN {}", subnet::name(static_cast<Speed>(speed)), gbps(static_cast<Speed>(speed)));
  return fmt::format("CASE {}{} END", name, cases);
}

/// An SQL expression: the most lanes of a set of LinkWidth codes; null for the empty set.
std::string most_lanes(std::string_view codes) {
  std::string cases;
  for (const unsigned code : {8U, 4U, 2U, 16U, 1U}) cases += fmt::format(" WHEN {} & {} THEN {}", codes, code, subnet::lanes(code));
  return "CASE" + cases + " END";
}

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

/// An SQL expression: what a port has counted, from the widest field in which its PMA counts it.
std::string counted(const counters::CounterInfo& counter) {
  namespace capability = pm::capability_mask;
  const auto has = [](std::string_view mask, unsigned bits) { return fmt::format("{} & {} = {}", mask, bits, bits); };
  const std::string needed = counter.needs == 0 ? std::string("1") : has("pma.capability_mask", counter.needs);
  std::string cases;
  if (counter.wide != nullptr) {
    constexpr unsigned any_width = capability::is_extended_width_supported | capability::is_extended_width_no_ietf_supported;
    const unsigned width = counter.ietf ? unsigned{capability::is_extended_width_supported} : any_width;
    cases += fmt::format(" WHEN w.{} IS NOT NULL AND {} AND pma.capability_mask & {} <> 0", counter.name, needed, width);
    if (counter.additional)
      cases += " AND " + has("pma.capability_mask2", pm::capability_mask2::is_additional_port_counters_extended_supported);
    cases += fmt::format(" THEN w.{}", counter.name);
  }
  if (counter.narrow != nullptr) cases += fmt::format(" WHEN {} THEN n.{}", needed, counter.name);
  return "CASE" + cases + " END";
}

std::string counter_sql() {
  std::string columns, errors, sum;
  for (const counters::CounterInfo& counter : counters::counter_infos()) {
    columns += fmt::format(", {} AS {}", counted(counter), counter.name);
    if (counter.traffic || counter.name == "port_xmit_wait") continue;  // waiting is not an error here
    errors += fmt::format(", {}", counter.name);
    sum += fmt::format("{}coalesce({}, 0)", sum.empty() ? "" : " + ", counter.name);
  }
  return fmt::format(counter_views, fmt::arg("both_ends", both_ends), fmt::arg("columns", columns), fmt::arg("errors", errors),
                     fmt::arg("sum", sum), fmt::arg("down", static_cast<unsigned>(smp::PortState::down)));
}

/// The views of nodes, ports, links and tables that consist of blocks, and on these the views whose columns have the names of the JSON
/// dictionary (cables, lids, …).
void create_views(Database& database) {
  constexpr std::string_view active = "active", best = "best_speeds";
  database.run(std::string(node_views));
  database.run(fmt::format(port_view, fmt::arg("fdr10", 1U << static_cast<unsigned>(Speed::fdr10)),
                           fmt::arg("active_name", of_fastest(active, quoted_name)), fmt::arg("active_gbps", of_fastest(active, gbps)),
                           fmt::arg("supported_gbps", of_fastest("speeds", gbps)), fmt::arg("lanes", most_lanes("link_width_active")),
                           fmt::arg("supported_lanes", most_lanes("link_width_supported"))));
  database.run(block_views());
  database.run(fmt::format(
      question_views, fmt::arg("both_ends", both_ends), fmt::arg("active_mbps", of_fastest("active_speeds", subnet::lane_mbps)),
      fmt::arg("active_name", of_fastest("active_speeds", quoted_name)), fmt::arg("best_lanes", most_lanes("link_width_supported")),
      fmt::arg("best_mbps", of_fastest(best, subnet::lane_mbps)), fmt::arg("best_name", of_fastest(best, quoted_name)),
      fmt::arg("best_gbps", gbps_of_name("best_speed_text")),
      fmt::arg("lft_blocks", fmt::format("status = 0 AND mgmt_class = 1 AND attribute = {}", smp::LinearForwardingTable::attribute_id))));
  database.run(counter_sql());
}

}  // namespace

void write_decoded_tables(Database& database) {
  for (const AttributeTable& table : attribute_tables()) write_table(database, table);
  write_names(database);
  create_views(database);
}

}  // namespace ib::snapshot
