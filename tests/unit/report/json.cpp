// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "report/json.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/full_disk.hpp"

namespace report_json_tests {

using ib::report::JsonSink;
using ib::report::JsonStyle;

namespace {

void sample(ib::report::Sink& sink) {
  sink.begin_object();
  sink.value("name", "a\"b");
  sink.value("lid", ib::Lid{18});
  sink.value("small", std::int8_t{-5});
  sink.value("big", std::numeric_limits<std::uint64_t>::max());
  sink.value("least", std::numeric_limits<std::int64_t>::min());
  sink.value("yes", true);
  sink.null("nothing");
  sink.value("real", 0.5);
  sink.value("nan", std::nan(""));
  sink.value("guid", ib::Guid{0x0002c90300001491U});
  sink.value("gid", ib::Gid::from(ib::link_local_prefix, {0x0002c90300001491U}));
  sink.begin_array("ports");
  sink.value("", 1);
  sink.begin_object();
  sink.end_object();
  sink.begin_array();
  sink.end_array();
  sink.end_array();
  sink.end_object();
}

}  // namespace

TEST_CASE("pretty JSON is indented by two", "[json]") {
  std::string out;
  JsonSink sink(out);
  sample(sink);
  CHECK(out == R"({
  "name": "a\"b",
  "lid": 18,
  "small": -5,
  "big": 18446744073709551615,
  "least": -9223372036854775808,
  "yes": true,
  "nothing": null,
  "real": 0.5,
  "nan": null,
  "guid": "0002:c903:0000:1491",
  "gid": "fe80::2:c903:0:1491",
  "ports": [
    1,
    {},
    []
  ]
}
)");
  CHECK(nlohmann::json::parse(out)["ports"].size() == 3);
}

TEST_CASE("JSON lines hold one value each", "[json]") {
  std::string out;
  JsonSink sink(out, JsonStyle::lines);
  for (int i = 0; i < 2; ++i) {
    sink.begin_object();
    sink.value("i", i);
    sink.begin_array("empty");
    sink.end_array();
    sink.end_object();
  }
  CHECK(out == "{\"i\":0,\"empty\":[]}\n{\"i\":1,\"empty\":[]}\n");
}

TEST_CASE("a file gets the document in pieces and whole", "[json]") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  {
    JsonSink sink(file, JsonStyle::lines);
    sink.begin_array();
    for (int i = 0; i < 50000; ++i) sink.value("", i);
    CHECK(std::ftell(file) > 100000);  // written before the end
    sink.end_array();
  }
  std::string text(400000, '\0');
  std::rewind(file);
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  const auto parsed = nlohmann::json::parse(text);
  REQUIRE(parsed.size() == 50000);
  CHECK(parsed[49999] == 49999);
}

TEST_CASE("a document of which nothing was written yet can be dropped", "[json]") {
  std::FILE* file = std::tmpfile();
  REQUIRE(file != nullptr);
  {
    JsonSink sink(file, JsonStyle::lines);
    sink.begin_array();
    sink.value("", 1);
    CHECK(sink.withdraw());
  }
  CHECK(std::ftell(file) == 0);
  {
    JsonSink sink(file, JsonStyle::lines);
    sink.begin_array();
    for (int i = 0; i < 50000; ++i) sink.value("", i);
    CHECK_FALSE(sink.withdraw());
    sink.end_array();
  }
  CHECK(std::ftell(file) > 200000);
  std::fclose(file);
}

TEST_CASE("a full disk is an error", "[json]") {
  const ibtest::File full = ibtest::open_full_disk();
  JsonSink sink(full.get());
  sink.begin_object();
  CHECK_THROWS_AS(sink.end_object(), ib::SysError);
}

}  // namespace report_json_tests
