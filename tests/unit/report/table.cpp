// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A list of a document as a table: which members are columns, what cells hold, and what no spreadsheet takes for a formula.
#include "report/table.hpp"

#include "base/error.hpp"
#include "report/sink.hpp"
#include "support/catch.hpp"
#include "support/full_disk.hpp"

namespace report_table_tests {

using ib::report::Sink;
using ib::report::TableSink;
using ib::report::TableStyle;

namespace {

/// A document of two nodes, of which the first has two ports.
void document(Sink& sink) {
  sink.begin_object();
  sink.value("command", "c");
  sink.begin_array("others");
  sink.begin_object();
  sink.value("lid", 99);
  sink.end_object();
  sink.end_array();
  sink.begin_array("nodes");
  for (const int node : {1, 2}) {
    sink.begin_object();
    sink.value("lid", node);
    sink.begin_array("ports");
    for (int port = 0; port < 2 && node == 1; ++port) {
      sink.begin_object();
      sink.value("port_num", port);
      sink.value("lid", 10 + port);
      const auto unknown = [](Sink& to) { to.null("lid"); };
      if (port == 0) {
        sink.null_object("peer", unknown);
      } else {
        sink.begin_object("peer");
        sink.value("lid", 7);
        sink.end_object();
      }
      sink.begin_array("route");
      sink.value({}, 0);
      sink.value({}, 5);
      sink.end_array();
      sink.end_object();
    }
    sink.end_array();
    sink.value("name", "node");  // behind the list of the rows
    sink.end_object();
  }
  sink.end_array();
  sink.value("status", 0);
  sink.end_object();
}

std::string table(TableStyle style, std::string_view rows, void (*write)(Sink&) = document) {
  std::string out;
  TableSink sink(out, style, rows);
  write(sink);
  return out;
}

/// The cell of a text, in a table with one column.
std::string cell(TableStyle style, std::string_view text) {
  std::string out;
  TableSink sink(out, style, "rows");
  sink.begin_object();
  sink.begin_array("rows");
  sink.begin_object();
  sink.value("t", text);
  sink.end_object();
  sink.end_array();
  sink.end_object();
  const std::string begin = style == TableStyle::csv ? "t\r\n" : "t\n";
  const std::string end = style == TableStyle::csv ? "\r\n" : "\n";
  REQUIRE(out.starts_with(begin));
  REQUIRE(out.ends_with(end));
  return out.substr(begin.size(), out.size() - begin.size() - end.size());
}

}  // namespace

TEST_CASE("an aligned text has its usual columns in their order, as far as they are there, else all") {
  const auto rows = [](Sink& sink) {
    sink.begin_object();
    sink.begin_array("rows");
    sink.begin_object();
    sink.value("port_num", 3);
    sink.value("port_guid", "0000:0000:0000:0001");
    sink.begin_object("peer");
    sink.value("node_guid", "0000:0000:0000:0002");
    sink.value("node_name", "second");
    sink.value("node_description", "leaf");
    sink.end_object();
    sink.end_object();
    sink.end_array();
    sink.end_object();
  };
  const auto aligned = [&](std::string_view usual) {
    std::string out;
    TableSink sink(out, TableStyle::aligned, "rows", {}, usual);
    rows(sink);
    return out;
  };
  CHECK(aligned("peer.node_description,no_such,port_num") ==
        "peer.node_description  port_num\n"
        "leaf                          3\n");
  CHECK_THAT(aligned(""), ibtest::contains("peer.node_guid") && ibtest::contains("peer.node_name"));
  CHECK_THAT(table(TableStyle::csv, "rows", rows), ibtest::contains("peer.node_guid") && ibtest::contains("peer.node_name"));
}

TEST_CASE("each element of the list is a row") {
  CHECK(table(TableStyle::csv, "others") == "lid\r\n99\r\n");
  CHECK(table(TableStyle::csv, "nodes") ==
        "lid,ports,name\r\n"
        "1,\"[{\"\"port_num\"\":0,\"\"lid\"\":10,\"\"peer\"\":null,\"\"route\"\":[0,5]},"
        "{\"\"port_num\"\":1,\"\"lid\"\":11,\"\"peer\"\":{\"\"lid\"\":7},\"\"route\"\":[0,5]}]\",node\r\n"
        "2,[],node\r\n");
}

TEST_CASE("elements of a list in a list have the members of what is around them, those behind the list too") {
  CHECK(table(TableStyle::csv, "nodes.ports") ==
        "nodes.lid,name,port_num,lid,peer.lid,route\r\n"
        "1,node,0,10,,\"[0,5]\"\r\n"
        "1,node,1,11,7,\"[0,5]\"\r\n");
  CHECK(table(TableStyle::tsv, "nodes.ports") ==
        "nodes.lid\tname\tport_num\tlid\tpeer.lid\troute\n"
        "1\tnode\t0\t10\t\t[0,5]\n"
        "1\tnode\t1\t11\t7\t[0,5]\n");
}

TEST_CASE("an object is a table of one row, and a list that is not there or null has none") {
  const auto one = [](Sink& sink) {
    sink.begin_object();
    sink.begin_object("data");
    sink.value("a", 1);
    sink.begin_object("in");
    sink.value("b", true);
    sink.end_object();
    sink.end_object();
    sink.null("rows");
    sink.end_object();
  };
  CHECK(table(TableStyle::csv, "data", one) == "a,in.b\r\n1,true\r\n");
  CHECK(table(TableStyle::csv, "rows", one).empty());
  CHECK(table(TableStyle::csv, "nothing", one).empty());
  CHECK(table(TableStyle::csv, "data.in", one).empty());
}

TEST_CASE("cells of all types") {
  const auto row = [](Sink& sink) {
    sink.begin_object();
    sink.begin_object("data");
    sink.null("nothing");
    sink.value("no", false);
    sink.value("least", std::int64_t{-5});
    sink.value("most", ~std::uint64_t{0});
    sink.value("real", 25781.25);
    sink.value("key", "");
    sink.hex64("mask", 0x5);
    sink.value("guid", ib::Guid{0x0002c90300001491U});
    sink.value("gid", ib::Gid::from(ib::link_local_prefix, {0x0002c90300001491U}));
    sink.symbol("state", 4, "");
    sink.end_object();
    sink.end_object();
  };
  CHECK(table(TableStyle::csv, "data", row) ==
        "nothing,no,least,most,real,key,mask,guid,gid,state,state_text\r\n"
        ",false,-5,18446744073709551615,25781.25,,0x0000000000000005,0002:c903:0000:1491,fe80::2:c903:0:1491,4,\r\n");
}

TEST_CASE("texts are quoted as RFC 4180 has it, and escaped between tabs") {
  CHECK(cell(TableStyle::csv, "plain") == "plain");
  CHECK(cell(TableStyle::csv, "two words") == "\"two words\"");
  CHECK(cell(TableStyle::csv, "a,b;c") == "\"a,b;c\"");
  CHECK(cell(TableStyle::csv, "a \"b\"") == "\"a \"\"b\"\"\"");
  CHECK(cell(TableStyle::csv, "a\r\nb\tc") == "\"a\r\nb\tc\"");
  CHECK(cell(TableStyle::tsv, "two words, \"quoted\"") == "two words, \"quoted\"");
  CHECK(cell(TableStyle::tsv, "a\r\nb\tc\\d") == "a\\r\\nb\\tc\\\\d");
}

TEST_CASE("no text is a formula") {
  for (const std::string_view text :
       {"=1+1", "+1", "-1", "@SUM(1)", "'quoted", "=HYPERLINK(\"http://x\",\"y\")", "\uff1d1", "\uff0b1", "\uff0d1", "\uff201"}) {
    INFO(text);
    CHECK(cell(TableStyle::tsv, text) == "'" + std::string(text));
    CHECK(cell(TableStyle::csv, text).starts_with(text.find('"') == std::string_view::npos ? "'" : "\"'"));
  }
  CHECK(cell(TableStyle::csv, "\t=1") == "\"'\t=1\"");
  CHECK(cell(TableStyle::csv, "\r=1") == "\"'\r=1\"");
  CHECK(cell(TableStyle::csv, "\n=1") == "\"'\n=1\"");
  CHECK(cell(TableStyle::tsv, "\t=1") == "'\\t=1");
  CHECK(cell(TableStyle::csv, "a=1") == "a=1");
}

TEST_CASE("terminal control characters and invalid UTF-8 are replaced") {
  CHECK(cell(TableStyle::csv, "a\x1b[2Jb") == "a\xef\xbf\xbd[2Jb");
  CHECK(cell(TableStyle::csv, "a\xffz") == "a\xef\xbf\xbdz");
  CHECK(cell(TableStyle::tsv, std::string_view("a\0b", 3)) ==
        "a\xef\xbf\xbd"
        "b");
  CHECK(cell(TableStyle::csv, "\u00e9\u20ac") == "\u00e9\u20ac");
}

TEST_CASE("members may come in another order, and a row that has others is an error") {
  std::string out;
  TableSink sink(out, TableStyle::csv, "rows");
  const auto row = [&sink](std::initializer_list<const char*> keys) {
    sink.begin_object();
    for (const char* key : keys) sink.value(key, key);
    sink.end_object();
  };
  sink.begin_object();
  sink.begin_array("rows");
  row({"a", "b"});
  row({"b", "a"});
  row({"b"});
  CHECK(out == "a,b\r\na,b\r\na,b\r\n,b\r\n");
  CHECK_THROWS_AS(row({"a", "c"}), ib::Error);
}

TEST_CASE("an incomplete row is dropped when an error comes") {
  std::string out;
  TableSink sink(out, TableStyle::csv, "nodes.ports");
  sink.begin_object();
  sink.begin_array("nodes");
  sink.begin_object();
  sink.begin_array("ports");
  sink.begin_object();
  sink.begin_array("route");
  sink.value({}, 1);
  sink.unwind();
  sink.value("error", "it broke");
  sink.end_object();
  CHECK(out.empty());
}

TEST_CASE("rows reach a file as soon as they are complete, and a full disk is an error") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  TableSink sink(file, TableStyle::csv, "rows");
  CHECK(sink.withdraw());
  sink.begin_object();
  sink.begin_array("rows");
  sink.begin_object();
  sink.value("n", 1);
  sink.end_object();
  CHECK(std::ftell(file) == 6);
  CHECK_FALSE(sink.withdraw());
  std::fclose(file);
  const ibtest::File full = ibtest::open_full_disk();
  TableSink to_full(full.get(), TableStyle::csv, "rows");
  to_full.begin_object();
  to_full.begin_array("rows");
  to_full.begin_object();
  to_full.value("n", 1);
  CHECK_THROWS_AS(to_full.end_object(), ib::SysError);
}

TEST_CASE("the columns of a table without rows are those that were announced") {
  const auto nested = [](Sink& sink, std::size_t ports) {
    sink.begin_object();
    sink.begin_array("nodes");
    announce(sink, [](Sink& to) {
      to.begin_object();
      to.value("lid", 1);
      to.begin_object("peer");
      to.null("lid");
      to.end_object();
      to.values("route", std::vector<int>{});
      to.objects("ports", std::vector<int>{1}, [&](int) {
        to.value("lid", 1);
        to.null_object("errors", [](Sink& unknown) { unknown.no_symbol("state"); });
      });
      to.value("end", true);
      to.end_object();
    });
    sink.begin_object();
    sink.value("lid", 7);
    sink.begin_object("peer");
    sink.null("lid");
    sink.end_object();
    sink.values("route", std::vector<int>{1, 2});
    sink.objects("ports", std::vector<int>(ports), [&](int) {
      sink.value("lid", 8);
      sink.null_object("errors", [](Sink& unknown) { unknown.no_symbol("state"); });
    });
    sink.value("end", true);
    sink.end_object();
    sink.end_array();
    sink.end_object();
  };
  const std::string head = "nodes.lid,peer.lid,route,end,lid,errors.state,errors.state_text\r\n";
  const auto csv = [&](std::string_view rows, std::size_t ports) {
    std::string text;
    TableSink sink(text, TableStyle::csv, rows);
    nested(sink, ports);
    return text;
  };
  CHECK(csv("nodes.ports", 0) == head);
  CHECK(csv("nodes.ports", 1) == head + "7,,\"[1,2]\",true,8,,\r\n");
  CHECK(csv("nodes", 1).starts_with("lid,peer.lid,route,ports,end\r\n7,,"));
}

TEST_CASE("a row that has members which were not announced names the columns itself") {
  std::string text;
  TableSink sink(text, TableStyle::csv, "rows");
  sink.begin_object();
  sink.begin_array("rows");
  sink.columns({"a"});
  sink.begin_object();
  sink.value("a", 1);
  sink.value("b", 2);
  sink.end_object();
  sink.end_array();
  sink.end_object();
  CHECK(text == "a,b\r\n1,2\r\n");
}

TEST_CASE("names of members are there once, and lists have brackets") {
  const auto names = ib::report::member_names([](Sink& sink) {
    sink.value("a", 1);
    sink.objects("list", std::vector<int>{1, 2}, [&](int) { sink.symbol("b", 1, ""); });
    sink.text("a", "");
  });
  CHECK(names == std::vector<std::string>{"a", "list", "list[].b", "list[].b_text"});
}

}  // namespace report_table_tests
