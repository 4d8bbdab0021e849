// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The habits of getopt_long that command lines of the field rest on.
#include "tools/frame/options.hpp"

#include <string>
#include <vector>

#include "support/catch.hpp"

namespace tools_options_tests {

using namespace ib::tools;
using Words = std::vector<std::string>;

namespace {

struct Fixture {
  Fixture() {
    set.action("-d --debug", "", [this] { ++debug; });
    set.flag("--dry-run", dry_run, "");
    set.number("-t --timeout", timeout, "MS", "");
    set.text("-C --Ca --ca-name", device, "DEVICE", "");
    set.value("--json", "lines", "", [this](std::string_view v) { json = v.empty() ? "document" : std::string(v); });
    set.make_value_optional();
    set.action("--last", "", [this] { order += 'l'; });
    set.action("--first", "", [this] { order += 'f'; });
    set.make_early();
  }
  Words parse(const Words& words) { return set.parse(words); }

  int debug = 0;
  bool dry_run = false;
  int timeout = 0;
  std::optional<std::string> device;
  std::string json, order;
  OptionSet set;
};

}  // namespace

TEST_CASE_METHOD(Fixture, "letters bundle, repeat and take their value attached or as the next word") {
  CHECK(parse({"-ddt5", "x", "-C", "mlx5_0", "y"}) == Words{"x", "y"});
  CHECK(debug == 2);
  CHECK(timeout == 5);
  CHECK(device == "mlx5_0");
}

TEST_CASE_METHOD(Fixture, "long names may be abbreviated while that is unambiguous; the last of a repeated option wins") {
  CHECK(parse({"--time", "7", "--timeout=9", "--ca", "a", "--de"}).empty());
  CHECK(timeout == 9);
  CHECK(device == "a");
  CHECK(debug == 1);
  CHECK_THROWS_WITH(parse({"--d"}), "option '--d' is ambiguous; possibilities: '--debug' '--dry-run'");
  CHECK_THROWS_WITH(parse({"--nosuch"}), "unrecognized option '--nosuch'");
}

TEST_CASE_METHOD(Fixture, "values are taken whole, whatever they look like") {
  CHECK(parse({"-C", "[1,2]", "-t", "-5", "-C", "--debug"}).empty());
  CHECK(device == "--debug");
  CHECK(timeout == -5);
  CHECK(debug == 0);
  CHECK(parse({"--Ca=[1,2]"}).empty());
  CHECK(device == "[1,2]");
  CHECK(parse({"-C", ""}).empty());
  CHECK(device->empty());
  CHECK(parse({"-Cx", "--ca=", "y"}) == Words{"y"});
  CHECK(device->empty());
}

TEST_CASE_METHOD(Fixture, "operands: negative numbers, a lone dash, brackets, and all after --") {
  CHECK(parse({"-1", "-", "[1,2]", "++", "--", "-d", "--", "--nosuch"}) == Words{"-1", "-", "[1,2]", "++", "-d", "--", "--nosuch"});
  CHECK(debug == 0);
}

TEST_CASE_METHOD(Fixture, "an optional value comes only after an equals sign") {
  CHECK(parse({"--json", "lines"}) == Words{"lines"});
  CHECK(json == "document");
  CHECK(parse({"--json=lines"}).empty());
  CHECK(json == "lines");
  CHECK(parse({"--js=true"}).empty());
  CHECK(json == "true");
}

TEST_CASE_METHOD(Fixture, "early options act before all others") {
  CHECK(parse({"--last", "--first"}).empty());
  CHECK(order == "fl");
}

TEST_CASE_METHOD(Fixture, "mistakes are one line and set nothing") {
  CHECK_THROWS_WITH(parse({"-d", "-x"}), "invalid option -- 'x'");
  CHECK_THROWS_WITH(parse({"-d", "-dx"}), "invalid option -- 'x'");
  for (const char* bundle : {"-d-", "-d-debug"}) CHECK_THROWS_WITH(parse({bundle}), "invalid option -- '-'");
  CHECK_THROWS_WITH(parse({"-d", "-t"}), "option '-t' requires an argument");
  CHECK_THROWS_WITH(parse({"-d", "--timeout"}), "option '--timeout' requires an argument");
  CHECK_THROWS_WITH(parse({"-d", "--debug=1"}), "option '--debug' doesn't allow an argument");
  CHECK(debug == 0);
  CHECK_THROWS_AS(parse({"-t", "soon"}), OptionError);
}

TEST_CASE("options that contradict each other, and one of which is needed") {
  struct Two {
    Two() {
      set.flag("-a", a, "");
      set.flag("-b --bee", b, "");
      set.flag("--see", c, "");
      set.one_of({"-a", "-b --see"}, true);
    }
    void read(const Words& words) { set.bind(set.parse(words), false, {}); }
    bool a{}, b{}, c{};
    OptionSet set;
  };
  CHECK_THROWS_WITH(Two().read({}), "One of -a, -b and --see is needed");
  CHECK_THROWS_WITH(Two().read({"-a", "--bee"}), "-a and -b contradict each other");
  CHECK_THROWS_WITH(Two().read({"--see", "-a"}), "-a and --see contradict each other");
  CHECK_NOTHROW(Two().read({"-b", "--see", "-b"}));
}

TEST_CASE("an option that stands in the place of operands") {
  bool server = false;
  std::string host;
  OptionSet set;
  set.word("HOST", host);
  set.flag("-S", server, "");
  set.instead_of_operands("-S");
  CHECK(set.operand_line() == "-S | HOST");
  CHECK_THROWS_WITH(set.bind(set.parse(Words{}), false, {}), "Too few arguments: HOST is missing");
  CHECK_NOTHROW(set.bind(set.parse(Words{"-S"}), false, {}));
  CHECK_THROWS_WITH(set.bind(set.parse(Words{"-S", "far"}), false, {}), "-S and HOST contradict each other");
}

}  // namespace tools_options_tests
