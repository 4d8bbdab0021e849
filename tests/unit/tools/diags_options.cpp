// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The command line of a legacy name: what getopt_long users rely on, operands, and the usage text.
#include "tools/frame/options.hpp"

#include <memory>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "path/parse.hpp"
#include "support/catch.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/help.hpp"
#include "tools/frame/world.hpp"

namespace tools_diags_options_tests {

using namespace ib::tools;

namespace {

void read(OptionSet& set, CommonOptions& common, std::vector<std::string> words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  read_diags_line(set, common, pointers);
}

/// A program with options and operands of its own, and what a command line made of them.
struct Program {
  explicit Program(std::vector<std::string> words) {
    common.world = &world;
    world.err = err;
    world.log = &log;
    set.without("K");
    set.value("--file --other-file", "FILE", "A file.", [this](const std::string& text) { file = text; });
    set.flag({"-q --fast", "-s --quick"}, quick, "Be quick.");
    set.word("OP", op);
    set.optional_operands();
    set.words("MORE", more);
    read(set, common, std::move(words));
  }
  ~Program() { std::fclose(err); }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  std::FILE* err = std::tmpfile();
  ib::Log log{err};
  World world;
  CommonOptions common = diags_defaults();
  OptionSet set{"atool"};
  std::string op, file;
  std::vector<std::string> more;
  bool quick{};
};

bool shows_usage(std::vector<std::string> words) {
  try {
    Program program(std::move(words));
  } catch (const DiagsUsage&) {
    return true;
  }
  return false;
}

std::string failure_of(std::vector<std::string> words) {
  try {
    Program program(std::move(words));
  } catch (const DiagsFailure& failure) {
    return failure.message();
  }
  return "";
}

}  // namespace

TEST_CASE("options and operands may come in any order") {
  const Program p({"NI", "-C", "mlx5_0", "-P2", "7", "-vv", "--", "-3"});
  CHECK(p.common.device == "mlx5_0");
  CHECK(p.common.port == "2");
  CHECK(p.common.verbosity == 2);
  CHECK(p.op == "NI");
  CHECK(p.more == std::vector<std::string>{"7", "-3"});
}

TEST_CASE("long options can be abbreviated and the last of two wins") {
  const Program p({"x", "--Dir", "--time=50", "--Guid", "--timeout", "70", "--fi", "map", "--deb"});
  CHECK(p.common.address == ib::path::Form::guid);
  CHECK(p.common.timeout == std::chrono::milliseconds(70));
  CHECK(p.common.debug == 1);
  CHECK(p.common.show_errors);
  CHECK(p.file == "map");
}

TEST_CASE("without options the times are libibmad's and an address is a LID") {
  const Program p({"x"});
  CHECK(p.common.timeout == std::chrono::milliseconds(1000));
  CHECK(p.common.retries == 2U);
  CHECK(p.common.address == ib::path::Form::lid);
}

TEST_CASE("a letter of the program hides the common option's, and those that it lacks are unknown") {
  const Program p({"x", "-s", "5"});
  CHECK(p.quick);
  CHECK_FALSE(p.common.sm_lid.has_value());
  CHECK(p.more == std::vector<std::string>{"5"});
  CHECK(shows_usage({"x", "-K"}));
  CHECK(shows_usage({"x", "--show_keys"}));
}

TEST_CASE("of the spellings of an option a legacy name has the letter and the first long one, or its own") {
  CHECK(Program({"x", "--file", "map"}).file == "map");
  CHECK(shows_usage({"x", "--other-file=map"}));
  CHECK(Program({"x", "--quick"}).quick);
  CHECK(shows_usage({"x", "--fast"}));
  CHECK(shows_usage({"x", "--verbosity"}));
}

TEST_CASE("wrong options, missing operands and --help show the usage text, --version ends with 0") {
  CHECK(shows_usage({"x", "--ver"}));  // ambiguous
  CHECK(shows_usage({"x", "-C"}));
  CHECK(shows_usage({"-h"}));
  CHECK(shows_usage({}));
  try {
    Program program({"--version"});
    FAIL("--version goes on");
  } catch (const DiagsExit& end) {
    CHECK(end.status() == 0);
    CHECK(end.message() == "atool BUILD VERSION: 44.0\n");
  }
}

TEST_CASE("bad values are failures") {
  CHECK(failure_of({"x", "-t", "0"}) == "Invalid timeout \"0\".  Timeout requires a positive integer value < 2147483647.");
  CHECK(failure_of({"x", "-t", "5x"}) == "Invalid timeout \"5x\".  Timeout requires a positive integer value < 2147483647.");
  CHECK(failure_of({"x", "-Y", "65536"}) == "Invalid P_Key index \"65536\".  Requires an integer in the range [0, 65535].");
  CHECK(Program({"x", "-Y", "0x10"}).common.pkey_index == 16);
  CHECK(Program({"x", "-y", "0xffffffffffffffff"}).common.m_key == UINT64_MAX);
}

TEST_CASE("the usage text lists operands, then the options of the program, then the common ones") {
  const Program p({"x"});
  const std::string text = diags_usage(p.set);
  CHECK_THAT(text, ibtest::starts_with("Usage: atool [options] OP [MORE]...\n\nOptions:\n  -h, --help "));
  CHECK(text.find("  --file=FILE") < text.find("  -s, --quick"));
  CHECK(text.find("  -s, --quick") < text.find("  -z FILE, --config=FILE"));
  CHECK_THAT(text, ibtest::contains("  -t MS, --timeout=MS"));
  CHECK(text.find("show_keys") == std::string::npos);
  CHECK(text.find("sm_port") == std::string::npos);
}

TEST_CASE("an unreadable file of -z ends the program") { CHECK_THROWS_AS(Program({"x", "-z", "/dev/zero"}), ib::UsageError); }

TEST_CASE("a Perl script takes letters up to the first operand, and shows its usage for a mistake") {
  struct Script {
    explicit Script(std::vector<std::string> words) {
      world.err = err.get();
      common.world = &world;
      set.perl_script();
      set.flag("-R", again, "Again.");
      set.text("-l --long", file, "FILE", "A file.");
      add_common(set, common, group_device);
      set.optional_operands();
      set.words("WORD", rest);
      read(set, common, std::move(words));
    }

    std::unique_ptr<std::FILE, int (*)(std::FILE*)> err{std::tmpfile(), std::fclose};
    World world;
    CommonOptions common = diags_defaults();
    OptionSet set{"ascript"};
    bool again{};
    std::optional<std::string> file;
    std::vector<std::string> rest;
  };
  const auto complaint_of = [](std::vector<std::string> words) -> std::string {
    try {
      const Script script(std::move(words));
    } catch (const DiagsUsage& usage) {
      return "usage: " + usage.message();
    }
    return "";
  };
  const Script script({"-Rlfile", "-C", "mlx5_0", "-P", "2", "x", "-R", "--"});
  CHECK(script.again);
  CHECK(script.file == "file");
  CHECK(script.common.device == "mlx5_0");
  CHECK(script.common.port == "2");
  CHECK(script.rest == std::vector<std::string>{"x", "-R", "--"});
  CHECK(Script({"-l", "-R", "--", "-x"}).rest == std::vector<std::string>{"-x"});
  CHECK(Script({"-l", "-R"}).file == "-R");
  CHECK(Script({"--help", "-R", "-"}).rest == std::vector<std::string>{"-"});
  CHECK(complaint_of({"-h"}) == "usage: ");
  CHECK(complaint_of({"-R", "-l"}) == "usage: ");
  CHECK(complaint_of({"-xRy", "-h", "z"}) == "usage: Unknown option: x\n");
  CHECK(complaint_of({"--R"}) == "usage: Unknown option: -\n");
  CHECK_THAT(diags_usage(script.set), ibtest::contains("  -C CA "));
  CHECK(diags_usage(script.set).find("--") == std::string::npos);
}

TEST_CASE("words of the user reach the terminal without control bytes") {
  CHECK_THAT(failure_line("atool", "can't resolve destination port \x1b[2J\xc2\x9bz"), ibtest::contains("port  [2J z\n"));
}

}  // namespace tools_diags_options_tests
