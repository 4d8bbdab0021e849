// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The legacy command line: what getopt_long users rely on, and the usage text's layout.
#include "tools/diags/options.hpp"

#include <array>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "tools/diags/console.hpp"
#include "tools/diags/legacy.hpp"
#include "support/catch.hpp"

using namespace ib::diags;

namespace {

constexpr std::array<Option, 2> own_options{{{"file", 1, "<file>", "a file"}, {"quick", 's', nullptr, "be quick"}}};
constexpr std::array<const char*, 1> examples{"3 1\t# an example"};
constexpr Tool tool{"atool", "<op> <dest>", "K", own_options, examples};

struct Parsed {
  Settings settings;
  std::vector<std::string> arguments;
  std::vector<std::pair<int, std::string>> own;
};

Parsed parse(std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  Parsed parsed;
  parsed.arguments = parse_command_line(tool, pointers, parsed.settings,
                                        [&](int letter, const char* value) { parsed.own.emplace_back(letter, value ? value : ""); });
  return parsed;
}

int status_of(std::vector<std::string> words) {
  try {
    parse(std::move(words));
  } catch (const Stop& stop) {
    return stop.status;
  }
  return -1;
}

std::string failure_of(std::vector<std::string> words) {
  try {
    parse(std::move(words));
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options and arguments may come in any order") {
  const auto p = parse({"NI", "-C", "mlx5_0", "-P2", "7", "-vv", "--", "-3"});
  CHECK(p.settings.device == "mlx5_0");
  CHECK(p.settings.port == "2");
  CHECK(p.settings.verbose == 2);
  CHECK(p.arguments == std::vector<std::string>{"NI", "7", "-3"});
}

TEST_CASE("long options can be abbreviated and the last of two wins") {
  const auto p = parse({"--Dir", "--time=50", "--Guid", "--timeout", "70", "--fi", "map", "--deb"});
  CHECK(p.settings.destination == Destination::guid);
  CHECK(p.settings.timeout_ms == 70);
  CHECK(p.settings.debug == 1);
  CHECK(p.settings.show_errors);
  CHECK(p.own == std::vector<std::pair<int, std::string>>{{1, "map"}});
}

TEST_CASE("a tool's letter hides the common option's, and left-out options are unknown") {
  const auto p = parse({"-s", "5"});
  CHECK(p.own == std::vector<std::pair<int, std::string>>{{'s', ""}});
  CHECK_FALSE(p.settings.sm_lid.has_value());
  CHECK(status_of({"-K"}) == 2);
  CHECK(status_of({"--show_keys"}) == 2);
}

TEST_CASE("usage errors and --help end with 2, --version with 0") {
  CHECK(status_of({"--ver"}) == 2);  // ambiguous
  CHECK(status_of({"-C"}) == 2);
  CHECK(status_of({"-h"}) == 2);
  CHECK(status_of({"--version"}) == 0);
}

TEST_CASE("bad values are failures") {
  CHECK(failure_of({"-t", "0"}) == "Invalid timeout \"0\".  Timeout requires a positive integer value < 2147483647.");
  CHECK(failure_of({"-t", "5x"}) == "Invalid timeout \"5x\".  Timeout requires a positive integer value < 2147483647.");
  CHECK(failure_of({"-Y", "65536"}) == "Invalid P_Key index \"65536\".  Requires an integer in the range [0, 65535].");
  CHECK(parse({"-Y", "0x10"}).settings.pkey_index == 16);
  CHECK(parse({"-y", "0xffffffffffffffff"}).settings.m_key == UINT64_MAX);
}

TEST_CASE("the usage text lists the tool's options first") {
  const std::string text = usage_text(tool);
  CHECK(
      text.starts_with("\nUsage: atool [options] <op> <dest>\n\nOptions:\n"
                       "  --file <file>           a file\n"
                       "  --quick, -s             be quick\n"
                       "  --config, -z <config>   use config file, default: /etc/infiniband-diags/ibdiag.conf\n"));
  CHECK_THAT(text, ibtest::contains("  --timeout, -t <ms>      timeout in ms\n"));
  CHECK(text.find("pkey-idx") == std::string::npos);
  CHECK(text.find("show_keys") == std::string::npos);
  CHECK(text.ends_with("  --version, -V           show version\n\nExamples:\n  atool 3 1\t# an example\n\n"));
}

TEST_CASE("files that are none end nothing but what needs them") {
  CHECK_THROWS_AS(parse({"-z", "/dev/zero"}), ib::UsageError);
  CHECK(read_node_names("/dev/zero").empty());  // a warning says so
}

TEST_CASE("words of the user reach the terminal without control bytes") {
  const std::string what = "can't resolve destination port \x1b[2J\xc2\x9bz";
  for (const bool debug : {false, true}) CHECK_THAT(failure_line("atool", Failure("main", what), debug), ibtest::contains("port  [2J z\n"));
}
