// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Tables whose columns are the fields of a structure: they have the JSON of the structure, and sort by what a field means.
#include "report/field_columns.hpp"

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "iba/queries.hpp"
#include "report/json.hpp"
#include "report/structure.hpp"
#include "support/catch.hpp"

namespace report_field_columns_tests {

using namespace ib;
using namespace ib::report;
using nlohmann::json;
using BytesColumn = Column<Bytes>;

namespace {

std::vector<BytesColumn> columns_of(const StructInfo& info, Keys keys = Keys::hidden) {
  return field_columns<Bytes>({{&info}, keys}, [&info](Bytes bytes) { return LaidOut{&info, bytes}; });
}

/// What `write` writes into an object.
template <class Write>
json written(Write write) {
  std::string text;
  {
    JsonSink sink(text, JsonStyle::lines);
    sink.begin_object();
    write(sink);
    sink.end_object();
  }
  return json::parse(text);
}

std::string text_of(const Table<Bytes>& table, const std::vector<Bytes>& rows) {
  std::string text;
  table.write_text(rows, unlimited_width, [&text](std::string_view line) { text += line; });
  return text;
}

}  // namespace

TEST_CASE("field columns: a row has the JSON of the structure") {
  std::minstd_rand random(1);
  REQUIRE(all_queries().size() > 40);
  for (const QueryInfo& query : all_queries()) {
    INFO(query.info->name);
    for (const Keys keys : {Keys::hidden, Keys::shown}) {
      std::vector<std::uint8_t> bytes(query.info->bytes);
      for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>('A' + random() % 26);
      const std::vector<BytesColumn> columns = columns_of(*query.info, keys);
      Table<Bytes> table(columns);
      const json row = written([&](Sink& sink) { table.visit(sink, "rows", {Bytes(bytes)}); });
      const json whole = written([&](Sink& sink) { visit_fields(sink, "data", bytes, *query.info, keys); });
      CHECK(row["rows"][0] == whole["data"]);
      CHECK_FALSE(text_of(table, {Bytes(bytes)}).empty());
    }
  }
}

TEST_CASE("field columns: at most eight are usual, addresses and states first") {
  for (const QueryInfo& query : all_queries()) {
    INFO(query.info->name);
    const std::vector<BytesColumn> columns = columns_of(*query.info);
    CHECK(std::ranges::count(columns, true, &BytesColumn::usual) <= 8);
    if (query.info == &sa::PortInfoRecord::info()) {
      for (const BytesColumn& column : columns) {
        if (column.key == "endport_lid" || column.key == "port_info.port_state") CHECK(column.usual);
        if (column.key == "port_info.capability_mask") CHECK_FALSE(column.usual);
      }
    }
  }
}

TEST_CASE("field columns: numbers sort as numbers, and a row without bytes has no values") {
  std::vector<std::vector<std::uint8_t>> records;
  for (const unsigned lid : {300U, 7U, 41U}) {
    sa::NodeRecord record;
    record.lid = Lid{static_cast<std::uint16_t>(lid)};
    records.push_back(wire::packed_vector(record));
  }
  std::vector<Bytes> rows(records.begin(), records.end());
  rows.emplace_back();
  const std::vector<BytesColumn> columns = columns_of(sa::NodeRecord::info());
  const Table<Bytes> table(columns, {.columns = "lid,node_info.node_guid", .sort = "-lid"});
  table.arrange(rows);
  CHECK(text_of(table, rows) == "LID  nodeGUID\n300  0000:0000:0000:0000\n 41  0000:0000:0000:0000\n  7  0000:0000:0000:0000\n  -  -\n");
}

TEST_CASE("field columns: a field that is hidden, or that another layout has, leaves the others of its object known") {
  smp::PortInfo info{.m_key = 0x1234, .lid = Lid{7}};
  const std::vector<std::uint8_t> bytes = wire::packed_vector(info);
  const FieldsShown shown{{&smp::PortInfo::info(), &smp::NodeInfo::info()}, Keys::hidden, "data"};
  const auto rows_of = [&](Bytes of, std::string_view columns) {
    const Table<Bytes> table(field_columns<Bytes>(shown,
                                                  [](Bytes row) {
                                                    return LaidOut{&smp::PortInfo::info(), row};
                                                  }),
                             {.columns = std::string(columns)});
    return written([&](Sink& sink) { table.visit(sink, "rows", {of}); })["rows"][0];
  };
  const json hidden = rows_of(bytes, "data.m_key,data.lid");
  CHECK(hidden["data"]["m_key"].is_null());
  CHECK(hidden["data"]["lid"] == 7);
  const json other = rows_of(bytes, "data.node_type,data.lid");
  CHECK(other["data"].at("node_type").is_null());
  CHECK(other["data"].at("node_type_text").is_null());
  CHECK(other["data"]["lid"] == 7);
  CHECK(rows_of({}, "data.lid,data.lmc")["data"].is_null());
}

}  // namespace report_field_columns_tests
