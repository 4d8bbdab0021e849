// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which records a component mask selects.
#include "sa/table_match.hpp"

#include <algorithm>
#include <string_view>

#include "iba-gen/sa.hpp"
#include "iba/generic.hpp"
#include "sa/pattern.hpp"
#include "sa/stored_tables.hpp"
#include "support/catch.hpp"

namespace sa_table_match_tests {

using namespace ib;

namespace {

using Row = std::vector<std::uint8_t>;

template <class Record>
Row packed(const Record& record) {
  Row row(Record::wire_size);
  record.pack(row);
  return row;
}

/// Whether a query like "MTUSelector=1 MTU=4" selects the record.
template <class Record>
bool selects(std::initializer_list<std::pair<std::string_view, std::string_view>> members, const Record& record) {
  sa::Pattern pattern(Record::info());
  for (const auto& [member, value] : members) pattern.match(member, value);
  return sa::TableMatch(Record::info(), pattern.bytes(), pattern.component_mask())(packed(record));
}

}  // namespace

TEST_CASE("a component excludes records with another value; reserved ones exclude none") {
  for (const QueryInfo& table : sa::stored_table_infos()) {
    const StructInfo& record = *table.info;
    if (record.title == "ClassPortInfo" || record.title == "PathRecord") continue;
    Row row(record.bytes);
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::uint8_t>(37 * i + 11);
    for (const sa::Component& component : sa::components(record)) {
      INFO(sa::table_name(table) << " " << component.member);
      const FieldRef field = *find_path(record, component.member);
      if (component.member.ends_with("Selector") || find_path(record, component.member + "Selector")) continue;
      if (field.field->kind == FieldKind::structure) continue;
      CHECK(sa::TableMatch(record, row, component.mask)(row));
      Row other = row;
      other[(field.bit_offset + field.field->bits - 1) / 8] ^=
          static_cast<std::uint8_t>(1U << (7 - (field.bit_offset + field.field->bits - 1) % 8));
      CHECK(sa::TableMatch(record, row, component.mask)(other) == component.reserved);
      CHECK(sa::TableMatch(record, row, 0)(other));
    }
  }
}

TEST_CASE("names are equal up to their end") {
  sa::NodeRecord node;
  const std::string_view name = "leaf";
  std::copy(name.begin(), name.end(), node.node_description.node_string.begin());
  CHECK(selects({{"nodeDescription.nodeString", "leaf"}}, node));
  CHECK_FALSE(selects({{"nodeDescription.nodeString", "lea"}}, node));
  CHECK_FALSE(selects({{"nodeDescription.nodeString", "leaf 1"}}, node));
  node.node_description.node_string[10] = 'x';  // beyond the end
  CHECK(selects({{"nodeDescription.nodeString", "leaf"}}, node));
}

TEST_CASE("a selector says how MTUs and rates of groups are compared; without a selector they are not") {
  sa::MCMemberRecord group;
  group.mtu = smp::Mtu::mtu_2048;
  group.rate = sa::Rate::gbps_25;
  CHECK(selects({{"MTUSelector", "0"}, {"MTU", "3"}}, group));
  CHECK_FALSE(selects({{"MTUSelector", "0"}, {"MTU", "4"}}, group));
  CHECK(selects({{"MTUSelector", "1"}, {"MTU", "5"}}, group));
  CHECK_FALSE(selects({{"MTUSelector", "1"}, {"MTU", "4"}}, group));
  CHECK(selects({{"MTUSelector", "2"}, {"MTU", "4"}}, group));
  CHECK_FALSE(selects({{"MTUSelector", "2"}, {"MTU", "5"}}, group));
  CHECK(selects({{"MTUSelector", "3"}, {"MTU", "1"}}, group));
  CHECK(selects({{"MTU", "1"}}, group));
  CHECK(selects({{"MTUSelector", "2"}}, group));                  // of no value
  CHECK(selects({{"rateSelector", "0"}, {"rate", "4"}}, group));  // 25 Gb/s carry more than "30 Gb/s"
  CHECK_FALSE(selects({{"rateSelector", "1"}, {"rate", "4"}}, group));
  CHECK(selects({{"rateSelector", "1"}, {"rate", "7"}}, group));
  CHECK_FALSE(selects({{"packetLifeTimeSelector", "2"}, {"packetLifeTime", "9"}}, group));
}

TEST_CASE("capabilities: the same, or at least these") {
  sa::PortInfoRecord port;
  port.port_info.capability_mask = smp::PortInfo{}.capability_mask;
  Row row = packed(port), wanted(row.size());
  const FieldRef mask = *find_path(sa::PortInfoRecord::info(), "portInfo.capabilityMask");
  write_number(row, mask, 0x0251086a);
  write_number(wanted, mask, 0x2);
  CHECK_FALSE(sa::TableMatch(sa::PortInfoRecord::info(), wanted, mask.mask)(row));
  CHECK(sa::TableMatch(sa::PortInfoRecord::info(), wanted, mask.mask, true)(row));
  write_number(wanted, mask, 0x6);
  CHECK_FALSE(sa::TableMatch(sa::PortInfoRecord::info(), wanted, mask.mask, true)(row));
}

TEST_CASE("bytes that a record lacks count as zero") {
  const StructInfo& info = sa::ServiceRecord::info();
  Row wanted(info.bytes);
  const FieldRef data = *find_path(info, "serviceData64[1]");
  const Row row(100);
  CHECK(sa::TableMatch(info, wanted, data.mask)(row));
  CHECK(sa::TableMatch(info, Bytes(wanted).first(50), data.mask)(row));
  write_number(wanted, data, 1);
  CHECK_FALSE(sa::TableMatch(info, wanted, data.mask)(row));
}

}  // namespace sa_table_match_tests
