// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A document as lines, coded values, and documents that an error cuts short.

#include "base/error.hpp"
#include "report/json.hpp"
#include "support/catch.hpp"
#include "support/full_disk.hpp"

namespace report_lines_tests {

using ib::report::JsonSink;
using ib::report::JsonStyle;
using ib::report::LinesSink;
using ib::report::Sink;

namespace {

void head(Sink& sink) { sink.value("command", "c"); }

/// The members of a document with all that it may have.
void members(Sink& sink) {
  sink.value("lid", 3);
  sink.begin_array("nodes");
  for (int i = 0; i < 2; ++i) {
    sink.begin_object();
    sink.value("i", i);
    sink.begin_array("ports");
    sink.begin_object();
    sink.end_object();
    sink.end_array();
    sink.end_object();
  }
  sink.end_array();
  sink.begin_array("pkeys");
  sink.value({}, 1);
  sink.value({}, 2);
  sink.end_array();
  sink.begin_array("none");
  sink.end_array();
  sink.begin_array("rows");
  for (int i = 0; i < 2; ++i) {
    sink.begin_array();
    sink.value({}, i);
    sink.end_array();
  }
  sink.end_array();
  sink.begin_object("from");
  sink.begin_array("route");
  sink.begin_object();
  sink.end_object();
  sink.end_array();
  sink.end_object();
}

}  // namespace

TEST_CASE("each object of a list of the document is a line, the rest is the last one") {
  std::string out;
  LinesSink sink(out, head);
  sink.begin_object();
  members(sink);
  CHECK(out == R"({"command":"c","list":"nodes","item":{"i":0,"ports":[{}]}}
{"command":"c","list":"nodes","item":{"i":1,"ports":[{}]}}
)");
  out.clear();
  sink.value("status", 0);
  sink.end_object();
  CHECK(out == R"({"command":"c","lid":3,"pkeys":[1,2],"none":[],"rows":[[0],[1]],"from":{"route":[{}]},"status":0}
)");
}

TEST_CASE("a null in a list of objects is a line too") {
  std::string out;
  LinesSink sink(out, head);
  sink.begin_object();
  sink.begin_array("nodes");
  sink.begin_object();
  sink.end_object();
  sink.null({});
  sink.end_array();
  sink.end_object();
  CHECK(out == R"({"command":"c","list":"nodes","item":{}}
{"command":"c","list":"nodes","item":null}
{"command":"c"}
)");
}

TEST_CASE("an error becomes a member of the document that it cut short") {
  const auto cut = [](Sink& sink) {
    sink.value("lid", 3);
    sink.begin_array("nodes");
    sink.begin_object();
    sink.begin_array("ports");
    sink.value({}, 1);
    sink.unwind();
    sink.value("error", "e");
    sink.end_object();
  };
  std::string document;
  JsonSink json(document, JsonStyle::lines);
  json.begin_object();
  cut(json);
  CHECK(document == R"({"lid":3,"nodes":[{"ports":[1]}],"error":"e"})"
                    "\n");
  std::string text;
  LinesSink lines(text, head);
  lines.begin_object();
  cut(lines);
  CHECK(text == R"({"command":"c","lid":3,"error":"e"})"
                "\n");
}

TEST_CASE("a list of numbers that an error cut short is closed in the last line") {
  std::string text;
  LinesSink lines(text, head);
  lines.begin_object();
  lines.begin_array("pkeys");
  lines.value({}, 1);
  lines.unwind();
  lines.unwind();  // nothing is open any more
  lines.begin_array("nodes");
  lines.unwind();
  lines.value("error", "e");
  lines.end_object();
  CHECK(text == R"({"command":"c","pkeys":[1],"error":"e"})"
                "\n");
}

TEST_CASE("a coded value is a number and a word, which may be missing") {
  enum class Code : std::uint8_t { one = 1 };
  std::string out;
  JsonSink sink(out, JsonStyle::lines);
  sink.begin_object();
  sink.symbol("state", Code::one, "One");
  sink.symbol("width", 4U, "4x");
  sink.symbol("speed", 25781.25, "EDR");
  sink.symbol("odd", 9, "");
  sink.no_symbol("unread");
  sink.end_object();
  CHECK(out == R"({"state":1,"state_text":"One","width":4,"width_text":"4x","speed":25781.25,"speed_text":"EDR",)"
               R"("odd":9,"odd_text":null,"unread":null,"unread_text":null})"
               "\n");
}

TEST_CASE("reals have no exponent that a reader has to think about") {
  std::string out;
  JsonSink sink(out, JsonStyle::lines);
  sink.begin_array();
  for (const double value : {0.0, 100000.0, 1275000.0, 103125.0, 25781.25, 0.000125, -0.5, 1e300, 1e-9}) sink.value({}, value);
  sink.end_array();
  CHECK(out == "[0,100000,1275000,103125,25781.25,0.000125,-0.5,1e+300,1e-09]\n");
}

TEST_CASE("lines can be dropped as long as none was written") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  {
    LinesSink sink(file, head);
    sink.begin_object();
    sink.value("lid", 3);
    sink.begin_array("nodes");
    CHECK(sink.withdraw());
    sink.begin_object();
    sink.end_object();
    CHECK_FALSE(sink.withdraw());
  }
  CHECK(std::ftell(file) > 0);
  std::fclose(file);
}

TEST_CASE("lines that a full disk refuses are an error") {
  const ibtest::File full = ibtest::open_full_disk();
  LinesSink sink(full.get(), head);
  sink.begin_object();
  CHECK_THROWS_AS(sink.end_object(), ib::SysError);
}

}  // namespace report_lines_tests
