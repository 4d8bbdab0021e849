// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A table of columns as text, JSON and CSV, chosen and sorted.
#include "report/columns.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "report/json.hpp"
#include "report/table.hpp"
#include "support/catch.hpp"

namespace report_columns_tests {

using namespace ib;
using namespace ib::report;
using ibtest::contains;
using nlohmann::json;

namespace {

struct Row {
  std::string name;
  std::optional<std::uint64_t> lid;
  std::optional<double> ber;
  Coded state;
};

const std::array<Column<Row>, 5> columns{{
    {{"name", "NAME", {}, true}, [](const Row& row) { return text_cell(row.name); }},
    {{"lid", "LID", {}, true}, [](const Row& row) { return cell(row.lid); }},
    {{"link.ber", "BER", gauge(), true}, [](const Row& row) { return cell(row.ber); }},
    {{"link.state", "STATE", {}, false, true}, [](const Row& row) { return Cell(row.state); }},
    {{"list", "LIST", {}, false},
     [](const Row& row) {
       return Cell(Numbers(std::vector<std::optional<double>>{row.ber, 2.0}));
     }},
}};

std::vector<Row> rows() { return {{"b\x1b", 3, 5e-9, {4, "Active"}}, {"a", std::nullopt, 0, {7, ""}}, {"", 12, std::nullopt, {}}}; }

json document(const Table<Row>& table, const std::vector<Row>& of) {
  std::string text;
  JsonSink sink(text);
  sink.begin_object();
  table.visit(sink, "rows", of);
  sink.end_object();
  return json::parse(text);
}

std::string csv(const Table<Row>& table, const std::vector<Row>& of) {
  std::string text;
  TableSink sink(text, TableStyle::csv, "rows");
  sink.begin_object();
  table.visit(sink, "rows", of);
  sink.end_object();
  return text;
}

/// The table as one text.
template <class Row>
std::string text_of(const Table<Row>& table, const std::type_identity_t<std::vector<Row>>& rows, std::size_t width = unlimited_width) {
  std::string text;
  table.write_text(rows, width, [&text](std::string_view line) { text += line; });
  return text;
}

std::vector<std::string> names(const std::vector<Row>& of) {
  std::vector<std::string> found;
  for (const Row& row : of) found.push_back(row.name);
  return found;
}

}  // namespace

TEST_CASE("a text has the usual columns, aligned, and escapes what came from the fabric") {
  const Table<Row> table(columns);
  CHECK(text_of(table, rows()) ==
        "NAME   LID    BER\n"
        "b\\x1b    3  5e-09\n"
        "a        -      0\n"
        "-       12      -\n");
  CHECK(text_of(table, {}) == "NAME  LID  BER\n");
}

TEST_CASE("a text is cut to a width in its words, and never in its numbers") {
  const Table<Row> table(columns);
  const std::vector<Row> long_names{{"a name that is long", 3, 5e-9, {}}, {"short", 123456, std::nullopt, {}}};
  CHECK(text_of(table, long_names, 23) ==
        "NAME         LID    BER\n"
        "a name..       3  5e-09\n"
        "short     123456      -\n");
  CHECK(text_of(table, long_names, 22) == text_of(table, long_names, 1));
  CHECK(text_of(table, long_names, 34) == text_of(table, long_names));
  const Table<Row> wide(columns, {.wide = true});
  CHECK_THAT(text_of(wide, long_names, 20), contains("a name that is long") && contains("STATE"));
}

TEST_CASE("a cell with members is words in a text and what it writes in JSON, and a picture is in no JSON") {
  const std::array<Column<Row>, 2> two{{
      {{"ends", "ENDS", {}, true},
       [](const Row& row) {
         return Cell(Nested{row.name, [&row](Sink& sink, std::string_view key) { sink.value(key, row.lid); }});
       }},
      {{"bar", "BAR", {}, true, false, true}, [](const Row&) { return Cell(std::string("##")); }},
  }};
  const Table<Row> table(two);
  CHECK(text_of(table, {{"a\x1b", 3, {}, {}}, {}}) == "ENDS   BAR\na\\x1b  ##\n-      ##\n");
  CHECK(document(table, {{"a", 3, {}, {}}})["rows"][0] == json({{"ends", 3}}));
  CHECK(csv(table, {}) == "ends\r\n");
}

TEST_CASE("rows written one by one equal the rows of a list") {
  const Table<Row> table(columns, {.top = 2});
  CHECK_FALSE(table.layout().sorts());
  CHECK(table.layout().most_rows() == 2);
  std::string text;
  TableSink sink(text, TableStyle::csv, "rows");
  sink.begin_object();
  table.layout().begin(sink, "rows");
  CHECK(text.empty());
  for (const Row& row : rows()) table.visit_row(sink, row);
  CHECK(std::ranges::count(text, '\n') == 4);  // each as it came
  sink.end_array();
  sink.end_object();
  CHECK(text == csv(table, rows()));
  std::vector<std::string> lines;
  table.write_text(rows(), unlimited_width, [&](std::string_view line) { lines.emplace_back(line); });
  CHECK(lines.size() == 4);
  CHECK(Table<Row>(columns, {.sort = "lid"}).layout().sorts());
}

TEST_CASE("a text that lives with its row is a cell") {
  const std::array<Column<Row>, 1> one{{{{"name", "NAME", {}, true}, [](const Row& row) { return Cell(std::string_view(row.name)); }}}};
  const Table<Row> table(one, {.sort = "-name"});
  std::vector<Row> sorted = rows();
  table.arrange(sorted);
  CHECK(text_of(table, sorted) == "NAME\nb\\x1b\na\n\n");
  CHECK(document(table, sorted)["rows"][0]["name"] == "b\x1b");
}

TEST_CASE("the first rows are kept after they were sorted") {
  std::vector<Row> sorted = rows();
  Table<Row>(columns, {.sort = "-lid", .top = 1}).arrange(sorted);
  CHECK(names(sorted) == std::vector<std::string>{""});
}

TEST_CASE("JSON has all columns, with objects for keys with a dot and null for what is not known") {
  const json all = document(Table<Row>(columns), rows())["rows"];
  CHECK(all[0]["lid"] == 3);
  CHECK(all[0]["link"] == json({{"ber", 5e-9}, {"state", 4}, {"state_text", "Active"}}));
  CHECK(all[1]["lid"] == nullptr);
  CHECK(all[1]["link"]["state_text"] == nullptr);
  CHECK(all[2]["link"] == json({{"ber", nullptr}, {"state", nullptr}, {"state_text", nullptr}}));
  CHECK(all[2]["list"] == json({nullptr, 2}));
}

TEST_CASE("columns are chosen by their keys, in the order of the list") {
  const Table<Row> table(columns, {.columns = "lid,name"});
  CHECK_THAT(text_of(table, rows()), contains("LID  NAME\n  3  b"));
  CHECK(document(table, rows())["rows"][0] == json({{"lid", 3}, {"name", "b\x1b"}}));
  CHECK_THAT(text_of(Table<Row>(columns, {.columns = "all"}), rows()), contains("STATE") && contains("LIST") && contains("5e-09,2"));
  CHECK_THROWS_AS(Table<Row>(columns, {.columns = "nmae"}), UsageError);
  CHECK_THROWS_AS(Table<Row>(columns, {.columns = ""}), UsageError);
  CHECK_THROWS_AS(Table<Row>(columns, {.sort = "-"}), UsageError);
}

TEST_CASE("rows are sorted by a column, and what is not known comes last in either order") {
  std::vector<Row> sorted = rows();
  Table<Row>(columns, {.sort = "lid"}).arrange(sorted);
  CHECK(names(sorted) == std::vector<std::string>{"b\x1b", "", "a"});
  Table<Row>(columns, {.sort = "-lid"}).arrange(sorted);
  CHECK(names(sorted) == std::vector<std::string>{"", "b\x1b", "a"});
  Table<Row>(columns, {.sort = "name"}).arrange(sorted);
  CHECK(names(sorted) == std::vector<std::string>{"a", "b\x1b", ""});
}

TEST_CASE("CSV names its columns also where there is no row") {
  const Table<Row> table(columns);
  CHECK_THAT(csv(table, rows()), contains("name,lid,link.ber,link.state,link.state_text,list\r\n"));
  CHECK(csv(table, {}) == csv(table, rows()).substr(0, csv(table, rows()).find('\n') + 1));
  CHECK(csv(Table<Row>(columns, {.columns = "lid"}), {}) == "lid\r\n");
}

TEST_CASE("an object whose first member is not known is null, and has its columns in a table") {
  const std::array<Column<Row>, 4> nested{{
      {{.key = "lid", .heading = "LID"}, [](const Row& row) { return cell(row.lid); }},
      {{.key = "peer.ber", .heading = "BER", .is_needed = true}, [](const Row& row) { return cell(row.ber); }},
      {{.key = "peer.state", .heading = "STATE", .coded = true}, [](const Row& row) { return Cell(row.state); }},
      {{.key = "name", .heading = "NAME"}, [](const Row& row) { return text_cell(row.name); }},
  }};
  const auto write = [&](Sink& sink) {
    sink.begin_object();
    sink.objects("rows", rows(), [&](const Row& row) { write_members(sink, std::span<const Column<Row>>(nested), row); });
    sink.end_object();
  };
  std::string text, table;
  JsonSink documents(text);
  write(documents);
  const json written = json::parse(text).at("rows");
  CHECK(written[0] == json{{"lid", 3}, {"peer", {{"ber", 5e-9}, {"state", 4}, {"state_text", "Active"}}}, {"name", "b\x1b"}});
  CHECK(written[2] == json{{"lid", 12}, {"peer", nullptr}, {"name", nullptr}});
  TableSink cells(table, TableStyle::tsv, "rows");
  write(cells);
  CHECK(table.starts_with("lid\tpeer.ber\tpeer.state\tpeer.state_text\tname\n3\t5e-09\t4\tActive\t"));
  CHECK(table.ends_with("\n12\t\t\t\t\n"));
}

}  // namespace report_columns_tests
