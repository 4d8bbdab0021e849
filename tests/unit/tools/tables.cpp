// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Results as tables: every command that prints one, held against its JSON, and every other one says that it has none.
#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>

#include "man/json_words.hpp"
#include "support/catch.hpp"
#include "support/program.hpp"
#include "support/small_fabric.hpp"
#include "unit/tools/json_cases.hpp"

namespace tools_tables_tests {

using nlohmann::json;

namespace {

using Table = std::vector<std::vector<std::string>>;

/// The cells of CSV (RFC 4180).
Table parse_csv(const std::string& text) {
  Table table;
  std::vector<std::string> row(1);
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted && c == '"' && at + 1 < text.size() && text[at + 1] == '"') {
      row.back() += text[++at];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && c == ',') {
      row.emplace_back();
    } else if (!quoted && c == '\r') {
      REQUIRE(text.substr(at, 2) == "\r\n");
      ++at;
      table.push_back(std::move(row));
      row.assign(1, "");
    } else {
      row.back() += c;
    }
  }
  REQUIRE(row == std::vector<std::string>(1));
  return table;
}

/// A row of a document: its element, the elements around it from the outermost on, and the keys of their lists.
struct Row {
  std::vector<json> elements;
  std::vector<std::string> lists;
};

/// All places of rows in a document: of lists of objects, of lists in their elements, and of objects; with the rows there.
std::map<std::string, std::vector<Row>> places(const json& document) {
  std::map<std::string, std::vector<Row>> found;
  const std::function<void(const std::string&, const json&, const Row&)> walk = [&](const std::string& place, const json& object,
                                                                                    const Row& around) {
    for (const auto& [key, value] : object.items()) {
      const std::string here = place.empty() ? key : place + "." + key;
      const bool is_list = value.is_array() && std::ranges::all_of(value, [](const json& one) { return one.is_object(); });
      if (!is_list && !value.is_object()) continue;
      found[here];
      for (const json& element : value.is_array() ? value : json::array({value})) {
        Row row = around;
        row.elements.push_back(element);
        row.lists.push_back(key);
        found[here].push_back(row);
        walk(here, element, row);
      }
    }
  };
  walk("", document, {});
  return found;
}

/// The value of a column such as "peer.lid" in an object. Null below a null. (What is returned is made by name: json is made of an
/// optional, too.)
std::optional<json> member(const json& object, const std::string& column) {
  if (object.contains(column)) return std::make_optional<json>(object[column]);
  const std::size_t dot = column.find('.');
  if (dot == std::string::npos || !object.contains(column.substr(0, dot))) return std::nullopt;
  const json& inner = object[column.substr(0, dot)];
  if (inner.is_null()) return std::make_optional<json>();
  return inner.is_object() ? member(inner, column.substr(dot + 1)) : std::nullopt;
}

std::optional<json> value_of(const Row& row, const std::string& column) {
  for (std::size_t depth = row.elements.size(); depth-- > 0;) {
    if (auto found = member(row.elements[depth], column)) return found;
  }
  for (std::size_t depth = 0; depth < row.elements.size(); ++depth) {  // LIST.MEMBER of one around the row
    const std::string list = row.lists[depth] + ".";
    if (column.starts_with(list)) return member(row.elements[depth], column.substr(list.size()));
  }
  return std::nullopt;
}

bool is_cell_of(const std::string& cell, const json& value) {
  if (value.is_null()) return cell.empty();
  if (!value.is_string()) return !cell.empty() && json::parse(cell) == value;
  const auto& text = value.get_ref<const std::string&>();
  return cell == text || cell == "'" + text;
}

bool is_table_of(const Table& table, const std::vector<Row>& rows) {
  if (table.size() != rows.size() + 1) return false;
  const std::vector<std::string>& columns = table.front();
  for (std::size_t at = 0; at < rows.size(); ++at) {
    for (std::size_t column = 0; column < columns.size(); ++column) {
      const auto value = value_of(rows[at], columns[column]);
      if (!value || !is_cell_of(table[at + 1][column], *value)) return false;
    }
    for (const auto& [key, value] : rows[at].elements.back().items()) {  // no member is lost
      const bool is_there =
          std::ranges::any_of(columns, [&](const auto& column) { return column == key || column.starts_with(key + "."); });
      if (!is_there) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("every command prints a list of its JSON as CSV, or says that its result is no table") {
  std::set<std::string> with_table, without_table;
  for (const ibtest::JsonCase& one : ibtest::json_cases()) {
    const auto outcome = ibtest::run_json_case(one, "--format=csv");
    std::string line;
    for (const std::string& word : one.words) line += word + " ";
    INFO(line << '\n' << outcome.out << outcome.err);
    if (outcome.err.find(" is not a table") != std::string::npos) {
      without_table.insert(one.words[0]);
      CHECK(outcome.status == 2);
      CHECK(outcome.out.empty());
      CHECK(std::ranges::count(outcome.err, '\n') == 1);
      continue;
    }
    with_table.insert(one.words[0]);
    CHECK(outcome.status == one.status);
    const auto document = json::parse(ibtest::run_json_case(one, "--format=json").out);
    const auto all = places(document);
    const Table table = parse_csv(outcome.out);
    CHECK(std::ranges::any_of(all, [&](const auto& place) { return is_table_of(table, place.second); }));
    if (one.status != 2 && one.words[0] != "environment") CHECK_FALSE(table.empty());
  }
  for (const char* command : {"ibhosts", "iblinkinfo", "ibnetdiscover", "saquery", "perfquery", "ibqueryerrors", "ibtracert", "ibroute"}) {
    INFO(command);
    CHECK(with_table.contains(command));
  }
  for (const char* command : {"ibaddr", "ibportstate", "set_port_state", "smpdump"}) {
    INFO(command);
    CHECK(without_table.contains(command));
  }
}

TEST_CASE("a list without rows has its first line in every form") {
  ibtest::SmallFabric f;
  const std::vector<std::vector<std::string>> lines{{"ibrouters"},
                                                    {"ibidsverify"},
                                                    {"ibnetdiscover", "--Router_list"},
                                                    {"iblinkinfo", "1", "--down", "--up"},
                                                    {"ibroute", "1", "5000", "5001"},
                                                    {"ibroute", "-M", "1"},
                                                    {"dump_fts", "5000", "5001"},
                                                    {"dump_mfts"},
                                                    {"smpquery", "--all", "SMInfo"}};
  for (const std::vector<std::string>& words : lines) {
    std::string csv, tsv;
    for (const std::string form : {"csv", "tsv", "table", "wide"}) {
      std::vector<std::string> line = words;
      line.insert(line.end(), {"--format", form});
      const auto done = ibtest::ibtool(f.fabric, line);
      INFO(words[0] << " " << form << '\n' << done.out << done.err);
      CHECK(done.status != 2);
      CHECK(std::ranges::count(done.out, '\n') == 1);
      CHECK(done.out.size() > 10);
      if (form == "csv") csv = done.out;
      if (form == "tsv") tsv = done.out;
    }
    std::ranges::replace(tsv, '\t', ',');
    CHECK(csv == tsv.substr(0, tsv.size() - 1) + "\r\n");
  }
}

TEST_CASE("a list of JSON is a table: columns, order, first rows") {
  ibtest::SmallFabric f;
  const auto run = [&](std::vector<std::string> words) { return ibtest::ibtool(f.fabric, std::move(words)); };
  const auto csv = run({"ibroute", "1", "--format", "csv", "--columns", "dlid,out_port", "--sort=-out_port"});
  INFO(csv.out << csv.err);
  REQUIRE(csv.status == 0);
  const Table rows = parse_csv(csv.out);
  CHECK(rows[0] == std::vector<std::string>{"dlid", "out_port"});
  REQUIRE(rows.size() == 4);
  CHECK(rows[1][0] == "3");
  CHECK(run({"ibroute", "1", "--format", "csv", "--columns", "dlid,out_port", "--sort=-out_port", "--top", "1"}).out ==
        csv.out.substr(0, csv.out.find("\r\n", csv.out.find("\r\n") + 1) + 2));
  const auto text = run({"ibroute", "1", "--columns", "out_port,dlid"});
  CHECK(text.out.starts_with("out_port  dlid\n"));
  CHECK(text.out.find("       2     3\n") != std::string::npos);
  const auto hops = run({"ibtracert", "2", "3", "--format", "tsv", "--columns", "node_guid"});
  CHECK(hops.out == "node_guid\n0000:0000:0000:0100\n0000:0000:0000:0300\n");
  const auto wrong = run({"ibroute", "1", "--columns", "dlid,zz"});
  CHECK(wrong.status == 2);
  CHECK(wrong.out.empty());
  CHECK(wrong.err.find("no column is called 'zz'") != std::string::npos);
  CHECK(wrong.err.find("out_port") != std::string::npos);
  CHECK(run({"ibroute", "1", "--sort", "zz", "--format", "csv"}).status == 2);
  CHECK(run({"ibroute", "1", "--top", "0"}).status == 2);
  CHECK(run({"ibroute", "1", "--top=-1"}).status == 2);
  CHECK(run({"ibroute", "1", "--columns", "dlid", "--json"}).status == 2);
}

TEST_CASE("the table of a list begins with what an administrator looks for") {
  ibtest::SmallFabric f;
  const auto head = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--format", "table"});
    const auto outcome = ibtest::ibtool(f.fabric, words);
    INFO(outcome.out << outcome.err);
    CHECK(outcome.status == 0);
    std::vector<std::string> names;
    std::istringstream line(outcome.out.substr(0, outcome.out.find('\n')));
    for (std::string name; line >> name;) names.push_back(name);
    return names;
  };
  using Names = std::vector<std::string>;
  CHECK(head({"ibtracert", "2", "3"}) == Names{"out_port", "node_description", "lid", "in_port"});
  CHECK(head({"ibroute", "1"}) == Names{"node_description", "dlid", "out_port", "destination.node_description"});
  CHECK(head({"dump_fts"}) == Names{"node_description", "dlid", "out_port", "destination.node_description"});
  CHECK(head({"dump_mfts"}) == Names{"node_description", "mlid", "out_ports"});
  CHECK(head({"ibnetdiscover"}) ==
        Names{"node_description", "port_num", "lid", "state_text", "width_text", "speed_text", "peer.node_description", "peer.port_num"});
}

TEST_CASE("hostile names in tables") {
  for (const std::string name :
       {"=1+1", "+1", "-1", "@a", "a\"b", "a,b", "a\tb", "a\nb", "a\r\nb", "\x1b[31mred", "\xff\xfe", "'a", "a b ", "a\\b",
        "\xc2\x9b"
        "2J",
        "\xe2\x80\xae"
        "abc"}) {
    ibtest::FakeFabric fabric;
    const auto leaf = fabric.add_switch(0x100, 4, "leaf"), here = fabric.add_ca(0x200, 1, name);
    fabric.link(leaf, 1, here, 1);
    fabric.assign_lids();
    fabric.attach(here);
    const json document = json::parse(ibtest::ibtool(fabric, {"ibhosts", "--json"}).out);
    const auto told = document["nodes"][0]["node_description"].get<std::string>();
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"ibhosts"}, {"ibidsverify", "-v"}, {"iblinkinfo"}, {"ibnetdiscover", "-p"}, {"ibtracert", "1", "2"}}) {
      const auto run = [&](const std::string& form) {
        std::vector<std::string> line = words;
        line.insert(line.end(), {"--format", form});
        return ibtest::ibtool(fabric, line);
      };
      const auto csv = run("csv");
      INFO(words[0] << '\n' << csv.out << csv.err);
      const Table rows = parse_csv(csv.out);
      for (const auto& row : rows) CHECK(row.size() == rows[0].size());
      // What could disturb a terminal is U+FFFD in a cell.
      const auto holds = [&](const std::string& cell) { return is_cell_of(cell, told) || cell.find("\xef\xbf\xbd") != std::string::npos; };
      CHECK(std::ranges::any_of(rows, [&](const auto& row) { return std::ranges::any_of(row, holds); }));
      for (const auto& row : rows) {
        for (const std::string& cell : row) CHECK((cell.empty() || std::string("=+@").find(cell[0]) == std::string::npos));
      }
      const std::string tsv = run("tsv").out;
      CHECK(static_cast<std::size_t>(std::ranges::count(tsv, '\n')) == rows.size());
      CHECK(static_cast<std::size_t>(std::ranges::count(tsv, '\t')) == rows.size() * (rows[0].size() - 1));
      for (const std::string& text : {csv.out, tsv, run("wide").out}) CHECK(text.find_first_of("\x1b\xff\x9b") == std::string::npos);
      CHECK(static_cast<std::size_t>(std::ranges::count(run("wide").out, '\n')) == rows.size());
    }
  }
}

TEST_CASE("Sets that are kept back are no table") {
  const auto outcome = ibtest::run_json_case({{"perfquery", "-R", "--dry-run", "1"}, {}, 2}, "--format=csv");
  CHECK(outcome.status == 2);
  CHECK(outcome.err == "E: --format csv: the output of perfquery here is not a table: text, json or jsonl\n");
}

TEST_CASE("--format and --json name the same forms") {
  const ibtest::JsonCase one{{"ibhosts"}, {}, 4};
  CHECK(ibtest::run_json_case(one, "--format=json").out == ibtest::run_json_case(one, "--json").out);
  CHECK(ibtest::run_json_case(one, "--format=jsonl").out == ibtest::run_json_case(one, "--json=lines").out);
  const auto wrong = ibtest::run_json_case(one, "--format=xml");
  CHECK(wrong.status == 2);
  CHECK(wrong.err.find("'text', 'json', 'jsonl', 'csv', 'tsv'") != std::string::npos);
  const ibtest::JsonCase last{{"ibhosts", "--json", "--format", "text"}, {}, 4};
  CHECK(ibtest::run_json_case(last, "--format=tsv").out.starts_with("node_guid\tnode_type\t"));
  const ibtest::JsonCase mistaken{{"ibaddr", "zzz", "--format", "json"}, {}, 2};
  CHECK(json::parse(ibtest::run_json_case(mistaken, "-v").out)["status"] == 2);
}

TEST_CASE("every number that the dictionary calls a measure has a unit that is a word") {
  using ib::report::Measure;
  for (const ib::tools::JsonWord& word : ib::tools::json_words()) {
    INFO(word.key);
    const bool is_number = word.value.type == ib::tools::JsonType::integer || word.value.type == ib::tools::JsonType::number;
    if (word.measure != Measure()) CHECK(is_number);
    if (word.key.ends_with("_ms")) CHECK(word.measure == ib::report::gauge("ms"));
  }
}

}  // namespace tools_tables_tests
