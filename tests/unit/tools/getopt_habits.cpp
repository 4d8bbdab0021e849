// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The habits of getopt_long that OptionSet keeps: both read the same words with the same table, where getopt_long has an answer.
#include "tools/frame/options.hpp"

#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "path/parse.hpp"
#include "support/catch.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/emit.hpp"

namespace tools_getopt_habits_tests {

using namespace ib::tools;

namespace {

/// A command with a bit of everything.
struct Sample {
  OptionSet set;
  bool list = false, lid_show = false;
  int debug = 0;
  std::optional<std::string> device;
  std::optional<unsigned> port;
  std::vector<std::string> operands;

  Sample() {
    set.flag("-l --list", list, "list");
    set.flag("--lid_show", lid_show, "show");
    set.action("-d --debug", "debug", [this] { ++debug; });
    set.text("-C --Ca", device, "CA", "device");
    set.number("-p --port-number", port, "N", "port");
  }
  Sample& parse(std::vector<std::string> words) {
    operands = set.parse(words);
    return *this;
  }
};

std::string message(const std::vector<std::string>& words) {
  Sample sample;
  try {
    sample.parse(words);
  } catch (const OptionError& e) {
    return e.message();
  }
  return "";
}

/// What getopt_long makes of `words` with Sample's table: its letters and arguments in order, then the operands.
std::string getopt_reading(std::vector<std::string> words) {
  static const option longs[] = {{"list", 0, nullptr, 'l'}, {"lid_show", 0, nullptr, 1},      {"debug", 0, nullptr, 'd'},
                                 {"Ca", 1, nullptr, 'C'},   {"port-number", 1, nullptr, 'p'}, {nullptr, 0, nullptr, 0}};
  words.insert(words.begin(), "sample");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::string reading;
  opterr = 0;
  optind = 0;
  const int argc = static_cast<int>(words.size());
  for (int c = 0; (c = getopt_long(argc, argv.data(), "ldC:p:", longs, nullptr)) != -1;) {
    if (c == '?') return "error";
    reading += c == 1 ? "show" : std::string(1, static_cast<char>(c));
    if (optarg != nullptr && (c == 'C' || c == 'p')) reading += std::string("=") + optarg;
    reading += " ";
  }
  for (int i = optind; i < argc; ++i) reading += std::string("[") + argv[i] + "]";
  return reading;
}

/// What is written to a stream while `use` has it.
template <class Use>
std::string written(Use use) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = open_memstream(&text, &size);
  use(stream);
  std::fclose(stream);
  std::string copy(text, size);
  std::free(text);
  return copy;
}

/// What getopt_long complains of a line of Sample's options, and what is printed of it where a legacy name has them.
std::pair<std::string, std::string> complaints(std::vector<std::string> words) {
  static const option longs[] = {{"list", 0, nullptr, 'l'}, {"lid_show", 0, nullptr, 1},      {"debug", 0, nullptr, 'd'},
                                 {"Ca", 1, nullptr, 'C'},   {"port-number", 1, nullptr, 'p'}, {nullptr, 0, nullptr, 0}};
  OptionSet set("sample");
  set.action("-l --list", "", [] {});
  set.action("--lid_show", "", [] {});
  set.action("-d --debug", "", [] {});
  set.value("-C --Ca", "", "", [](std::string_view) {});
  set.value("-p --port-number", "", "", [](std::string_view) {});
  words.insert(words.begin(), "sample");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const std::string ours = written([&](std::FILE* err) {
    try {
      set.parse_diags(std::span(argv).subspan(1), err);
    } catch (const DiagsUsage&) {
    }
  });
  argv.push_back(nullptr);
  const std::string theirs = written([&](std::FILE* err) {
    std::FILE* const own = std::exchange(stderr, err);  // glibc lets its standard streams be replaced
    optind = 0;
    opterr = 1;
    for (int c = 0; c != -1 && c != '?';) c = getopt_long(static_cast<int>(words.size()), argv.data(), "ldC:p:", longs, nullptr);
    stderr = own;
  });
  return {ours, theirs};
}

/// What our own scanner makes of them.
std::string our_reading(const std::vector<std::string>& words) {
  std::string reading;
  OptionSet set;
  set.action("-l --list", "", [&] { reading += "l "; });
  set.action("--lid_show", "", [&] { reading += "show "; });
  set.action("-d --debug", "", [&] { reading += "d "; });
  set.value("-C --Ca", "", "", [&](std::string_view v) { reading += "C=" + std::string(v) + " "; });
  set.value("-p --port-number", "", "", [&](std::string_view v) { reading += "p=" + std::string(v) + " "; });
  try {
    for (const std::string& operand : set.parse(words)) reading += "[" + operand + "]";
  } catch (const OptionError&) {
    return "error";
  }
  return reading;
}

}  // namespace

TEST_CASE("the scanner reads command lines as getopt_long does") {
  const std::vector<std::vector<std::string>> lines = {
      {},
      {"-l", "x", "-d", "y"},
      {"-ldd", "-Cmlx5_0"},
      {"-C", "mlx5_0", "-C", "mlx5_1"},
      {"-dC", "mlx5_0", "z"},
      {"--Ca=mlx5_0", "--Ca", "mlx5_1", "--Ca="},
      {"--li"},
      {"--l"},
      {"--lis", "--lid"},
      {"--deb", "--port", "3"},
      {"--list=1"},
      {"--nosuch"},
      {"-x"},
      {"-p"},
      {"--Ca"},
      {"--", "-l", "--Ca"},
      {"a", "--", "-l", "--"},
      {"-", "-l"},
      {"-C", "--", "-l"},
      {"-p", "-1"},
      {"-p-1", "[1,2]"},
      {"", "-l"},
  };
  for (const auto& line : lines) {
    std::string shown;
    for (const auto& word : line) shown += word + " ";
    INFO(shown);
    CHECK(our_reading(line) == getopt_reading(line));
  }
}

TEST_CASE("a legacy name complains in the words of getopt_long") {
  const std::vector<std::string> words = {
      "-l", "-ld", "-C",  "-lC", "-p7", "--list",   "--li", "--lis",    "--Ca", "--Ca=", "--Ca=a=b", "--de=5", "--=",  "--",
      "-",  "-lx", "--l", "",    "x",   "--nosuch", "---",  "--list=1", "-x",   "--l=2", "--no=x",   "--po",   "--C=", "--Ca=a=b"};
  std::size_t complained = 0;
  for (const std::string& first : words) {
    for (const std::string& second : words) {
      INFO(first << ' ' << second);
      const auto [ours, theirs] = complaints({first, second});
      CHECK(ours == theirs);
      complained += theirs.empty() ? 0 : 1;
    }
  }
  CHECK(complained > 300);
}

TEST_CASE("the scanner reads all command lines of three words as getopt_long does") {
  const std::vector<std::string> words = {"-l",     "-ld",   "-dl",  "-C",       "-Cx",      "-lCx", "-lC", "-p7", "--list",
                                          "--li",   "--lis", "--Ca", "--Ca=",    "--Ca=a=b", "--de", "--=", "--",  "-",
                                          "--lid_", "",      "x",    "--nosuch", "--list=1", "-x",   "-lx", "---"};
  for (const std::string& first : words) {
    for (const std::string& second : words) {
      for (const std::string& third : words) {
        const std::vector<std::string> line{first, second, third};
        if (our_reading(line) == getopt_reading(line)) continue;
        CAPTURE(line);
        CHECK(our_reading(line) == getopt_reading(line));
      }
    }
  }
}

TEST_CASE("a digit that is not the letter of an option begins an operand") {
  for (const std::vector<std::string>& line : {std::vector<std::string>{"-1", "x"}, {"-1C", "x"}, {"-C=", "-12", "-1Cl", "--"}}) {
    const bool has_option = line[0] == "-C=";
    Sample sample;
    sample.parse(line);
    CHECK(sample.operands == std::vector<std::string>(line.begin() + (has_option ? 1 : 0), line.end() - (has_option ? 1 : 0)));
  }
  Sample sample;
  CHECK(sample.parse({"-l1", "x"}).operands == std::vector<std::string>{"-1", "x"});
  CHECK(sample.list);
}

TEST_CASE("errors are one line that says what is wrong") {
  CHECK(message({"--nosuch"}) == "unrecognized option '--nosuch'");
  CHECK(message({"-x"}) == "invalid option -- 'x'");
  CHECK(message({"-lx"}) == "invalid option -- 'x'");
  CHECK(message({"-C"}) == "option '-C' requires an argument");
  CHECK(message({"--Ca"}) == "option '--Ca' requires an argument");
  CHECK(message({"--list=3"}) == "option '--list' doesn't allow an argument");
  CHECK(message({"--li"}) == "option '--li' is ambiguous; possibilities: '--list' '--lid_show'");
  CHECK(message({"-p", "seven"}) == "--port-number: 'seven' is not an integer");
  CHECK(message({"-p", "-1"}) == "--port-number: -1 is not within 0…4294967295");
  CHECK(message({"-p", "4294967296"}) == "--port-number: 4294967296 is not within 0…4294967295");
  CHECK(message({"-p", "99999999999999999999"}) == "--port-number: '99999999999999999999' is not an integer");
}

TEST_CASE("nothing is set when the command line has an error") {
  Sample sample;
  CHECK_THROWS_AS(sample.parse({"-l", "-ddd", "-C", "mlx5_0", "--nosuch"}), OptionError);
  CHECK_FALSE(sample.list);
  CHECK(sample.debug == 0);
  CHECK_FALSE(sample.device);
}

TEST_CASE("values, counts and the last of a repeated option") {
  Sample sample;
  sample.parse({"-dd", "--debug", "-C", "a", "--Ca=b", "-p", "0x10", "9", "-1"});
  CHECK(sample.debug == 3);
  CHECK(sample.device == "b");
  CHECK(sample.port == 16U);
  CHECK(sample.operands == std::vector<std::string>{"9", "-1"});  // no option has the letter 1
}

TEST_CASE("a command's own options take letters and names from the common ones") {
  CommonOptions common;
  OptionSet set;
  bool lid = false, show_lid = false;
  set.flag("-l --lid_show", show_lid, "");
  set.flag("-L --Lid_show", lid, "");
  add_common(set, common, group_target);

  SECTION("the letter is the command's") {
    const std::vector<std::string> words{"-L"};
    set.parse(words);
    CHECK(lid);
    CHECK(common.address == ib::path::Form::any);
  }
  SECTION("the common long name stays") {
    const std::vector<std::string> words{"--Lid"};
    set.parse(words);
    CHECK_FALSE(lid);
    CHECK(common.address == ib::path::Form::lid);
  }
  SECTION("a further spelling does not hide an abbreviation of the command's option") {
    const std::vector<std::string> words{"--lid"};
    set.parse(words);
    CHECK(show_lid);
    CHECK(common.address == ib::path::Form::any);
  }
  SECTION("both references' spellings of the common options") {
    const std::vector<std::string> words{"--direct", "--verbose", "--verbosity",        "-y", "0x1234", "--m_key=5", "-Y", "2", "-K",
                                         "-t",       "100",       "--outstanding_smps", "7"};
    set.parse(words);
    CHECK(common.address == ib::path::Form::direct);
    CHECK(common.verbosity == 2);
    CHECK(common.m_key == 5);
    CHECK(common.pkey_index == std::uint16_t{2});
    CHECK(common.keys == ib::Keys::shown);
    CHECK(common.timeout == std::chrono::milliseconds(100));
    CHECK(common.outstanding_smps == 7U);
  }
}

TEST_CASE("JSON in both forms") {
  for (const auto& [word, format] : {std::pair{"--json", Format::json},
                                     {"--json=document", Format::json},
                                     {"--json=lines", Format::lines},
                                     {"--format=json", Format::json},
                                     {"--format=jsonl", Format::lines},
                                     {"--format=text", Format::text},
                                     {"--format=csv", Format::csv},
                                     {"--format=t", Format::text}}) {
    CommonOptions common;
    OptionSet set;
    add_common(set, common, group_output);
    const std::vector<std::string> words{word, "operand"};
    INFO(word);
    if (word == std::string_view("--format=t")) {
      CHECK_THROWS_AS(set.parse(words), OptionError);  // text or tsv
      continue;
    }
    CHECK(set.parse(words) == std::vector<std::string>{"operand"});
    CHECK(common.format == format);
  }
  CommonOptions common;
  OptionSet set;
  add_common(set, common, group_output);
  const std::vector<std::string> words{"--json=xml"};
  CHECK_THROWS_AS(set.parse(words), OptionError);
}

TEST_CASE("options that act early see the command line before the others") {
  OptionSet set;
  std::string order;
  set.action("-a", "", [&] { order += "a"; });
  set.value("-z", "", "", [&](std::string_view v) { order += v; });
  set.make_early();
  const std::vector<std::string> words{"-a", "-z", "1", "-a", "-z2"};
  set.parse(words);
  CHECK(order == "12aa");
}

TEST_CASE("choices may be abbreviated and written in any case") {
  std::optional<std::string> mode;
  OptionSet set;
  set.choice("--discovery", mode, {"LID", "DR", "SA"}, "");
  for (const auto& [word, value] : {std::pair{"lid", "LID"}, {"D", "DR"}, {"SA", "SA"}}) {
    const std::vector<std::string> words{"--discovery", word};
    set.parse(words);
    CHECK(mode == value);
  }
  const std::vector<std::string> words{"--discovery=zz"};
  CHECK_THROWS_AS(set.parse(words), OptionError);
}

}  // namespace tools_getopt_habits_tests
