// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The reading half of options.hpp. libc's getopt_long does the parsing, so that abbreviations, permutation and the
// wording of its complaints are what users of the original know.
#include "tools/diags/options.hpp"

#include <fmt/format.h>
#include <getopt.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>

#include "base/escape.hpp"
#include "tools/diags/console.hpp"

namespace ib::diags {
namespace {

constexpr const char* build_version = "44.0";  // of the infiniband-diags whose text and options these are

[[noreturn]] void bad_value(const std::string& what) { throw Failure("process_opt", what); }

int timeout_of(const char* text) {
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 0);
  if (errno != 0 || *end != '\0' || value <= 0 || value > INT_MAX)
    bad_value(fmt::format("Invalid timeout \"{}\".  Timeout requires a positive integer value < {}.", text, INT_MAX));
  return static_cast<int>(value);
}

Lid sm_lid_of(const char* text) {
  const long value = std::strtol(text, nullptr, 0);
  const Lid lid{static_cast<std::uint16_t>(value)};
  if (value < 1 || value > last_unicast_lid) bad_value(fmt::format("cannot resolve SM destination port {}", text));
  return lid;
}

std::optional<std::uint64_t> key_of(const char* text) {
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 0);
  if (errno != 0 || *end != '\0' || end == text) return std::nullopt;
  return value;
}

std::uint16_t pkey_index_of(const char* text) {
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text, &end, 0);
  if (errno != 0 || end == text || *end != '\0' || value < 0 || value > UINT16_MAX)
    bad_value(fmt::format("Invalid P_Key index \"{}\".  Requires an integer in the range [0, {}].", text, UINT16_MAX));
  return static_cast<std::uint16_t>(value);
}

/// A common option; false if `letter` is none.
bool take_common(const Tool& tool, int letter, const char* value, Settings& to) {
  switch (letter) {
    case 'z':
      to.apply(tools::IbdiagConf::read_if_any(value, tools::ConfReader::diags));
      break;
    case 'C':
      to.device = value;
      break;
    case 'P':
      to.port = value;
      break;
    case 'D':
      to.destination = Destination::direct;
      break;
    case 'L':
      to.destination = Destination::lid;
      break;
    case 'G':
      to.destination = Destination::guid;
      break;
    case 't':
      to.timeout_ms = timeout_of(value);
      break;
    case 's':
      to.sm_lid = sm_lid_of(value);
      break;
    case 'K':
      to.keys = Keys::shown;
      break;
    case 'y':
      to.m_key = read_m_key(value, "M_Key: ", "Bad M_Key", "process_opt");
      break;
    case 'Y':
      to.pkey_index = pkey_index_of(value);
      break;
    case 'e':
      to.show_errors = true;
      break;
    case 'v':
      ++to.verbose;
      break;
    case 'd':
      ++to.debug;
      to.show_errors = true;
      break;
    case 'h':
      throw Stop{2, usage_text(tool)};
    case 'V':
      throw Stop{0, fmt::format("{} BUILD VERSION: {}\n", tool.name, build_version)};
    default:
      return false;
  }
  return true;
}

/// Has getopt_long complain of the bad option among `words` in its own words, but with those of the user made printable.
void complain(std::span<char* const> words, const std::string& letters, const std::vector<option>& table) {
  std::vector<std::string> shown;
  for (const char* word : words) shown.push_back(printable_words(word));
  std::vector<char*> argv;
  for (std::string& word : shown) argv.push_back(word.data());
  const int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  optind = 0;
  opterr = 1;
  for (int letter = 0; letter != -1 && letter != '?';) letter = getopt_long(argc, argv.data(), letters.c_str(), table.data(), nullptr);
}

bool is_own(const Tool& tool, int letter) {
  for (const Option& option : tool.options)
    if (option.letter == letter) return true;
  return false;
}

}  // namespace

std::uint64_t read_m_key(const char* text, const char* prompt, const char* complaint, const char* function) {
  if (const auto key = key_of(text)) return *key;
  const char* typed = getpass(prompt);
  const auto key = typed != nullptr ? key_of(typed) : std::nullopt;
  if (!key) throw Failure(function, complaint);
  return *key;
}

void Settings::apply(const tools::IbdiagConf& conf) {
  if (conf.device) device = conf.device;
  if (conf.port) port = *conf.port == 0 ? "" : std::to_string(*conf.port);
  if (conf.timeout && conf.timeout->count() > 0) timeout_ms = static_cast<int>(std::min<long long>(conf.timeout->count(), INT_MAX));
  if (conf.mlnx_extended_port_info) mlnx_extended_port_info = *conf.mlnx_extended_port_info;
  if (conf.m_key) m_key = *conf.m_key;
  if (conf.sa_key) sa_key = *conf.sa_key;
  if (conf.node_description_format) node_description_format = conf.node_description_format;
}

std::vector<std::string> parse_command_line(const Tool& tool, std::span<char* const> words, Settings& settings, const Handler& own) {
  settings.apply(tools::IbdiagConf::read_if_any(tools::default_ibdiag_conf, tools::ConfReader::diags));
  std::string letters, name = tool.name;
  std::vector<option> table;
  for (const Option& o : all_options(tool)) {
    table.push_back({o.name, o.argument != nullptr ? required_argument : no_argument, nullptr, o.letter});
    letters += static_cast<char>(o.letter);
    if (o.argument != nullptr) letters += ':';
  }
  table.push_back({});
  std::vector<char*> argv{name.data()};
  argv.insert(argv.end(), words.begin(), words.end());
  const std::vector<char*> given = argv;  // getopt_long changes the order
  const int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  optind = 0;  // glibc: start over
  opterr = 0;
  for (;;) {
    const int letter = getopt_long(argc, argv.data(), letters.c_str(), table.data(), nullptr);
    if (letter == -1) break;
    if (letter == '?') {
      complain(given, letters, table);
      throw Stop{2, usage_text(tool)};
    }
    if (is_own(tool, letter)) {
      own(letter, optarg);
    } else if (!take_common(tool, letter, optarg, settings)) {
      throw Stop{2, usage_text(tool)};
    }
  }
  return {argv.begin() + optind, argv.end() - 1};
}

}  // namespace ib::diags
