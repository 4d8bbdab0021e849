// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// libc's getopt_long does the parsing, so that abbreviations, permutation and the wording of its complaints are what users of the
// original know. The common options stand at the end of this file.
#include "tools/frame/diags_options.hpp"

#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <utility>

#include "base/escape.hpp"
#include "path/parse.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/help.hpp"
#include "tools/frame/ibdiag_conf.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

constexpr const char* build_version = "44.0";  // of the infiniband-diags whose text and options these are
constexpr int first_long_only = 256;

/// Lets getopt_long print its own message for the bad option among `words`. The user's words are made printable first.
void complain(std::FILE* err, std::span<char* const> words, const std::string& letters, const std::vector<option>& table) {
  std::vector<std::string> shown;
  for (const char* word : words) shown.push_back(printable_words(word));
  std::vector<char*> argv;
  for (std::string& word : shown) argv.push_back(word.data());
  const int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  optind = 0;
  opterr = 1;
  std::FILE* const own = std::exchange(stderr, err);  // glibc lets its standard streams be replaced
  for (int letter = 0; letter != -1 && letter != '?';) letter = getopt_long(argc, argv.data(), letters.c_str(), table.data(), nullptr);
  stderr = own;
}

[[noreturn]] void bad_value(std::string text) { throw DiagsFailure({"process_opt", std::move(text)}); }

std::chrono::milliseconds timeout_of(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text.c_str(), &end, 0);
  if (errno != 0 || *end != '\0' || value <= 0 || value > INT_MAX)
    bad_value(fmt::format("Invalid timeout \"{}\".  Timeout requires a positive integer value < {}.", text, INT_MAX));
  return std::chrono::milliseconds(value);
}

Lid sm_lid_of(const std::string& text) {
  const auto value = static_cast<int>(std::strtol(text.c_str(), nullptr, 0));
  if (value < 1 || value > last_unicast_lid) bad_value(fmt::format("cannot resolve SM destination port {}", text));
  return Lid{static_cast<std::uint16_t>(value)};
}

std::uint16_t pkey_index_of(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long value = std::strtol(text.c_str(), &end, 0);
  if (errno != 0 || end == text.c_str() || *end != '\0' || value < 0 || value > UINT16_MAX)
    bad_value(fmt::format("Invalid P_Key index \"{}\".  Requires an integer in the range [0, {}].", text, UINT16_MAX));
  return static_cast<std::uint16_t>(value);
}

/// The port numbers 0 and below mean the first usable port in infiniband-diags.
std::optional<std::string> port_option(int number) { return number <= 0 ? std::nullopt : std::optional(std::to_string(number)); }

}  // namespace

std::uint64_t c_number(const std::string& text) { return std::strtoull(text.c_str(), nullptr, 0); }

DiagsOptions::DiagsOptions(std::string_view program, CommonOptions& common) : program_(program), common_(common) {
  constexpr std::chrono::milliseconds default_timeout{1000};  // libibmad: three tries of a second each
  constexpr unsigned tries = 3;
  common_.address = path::Form::lid;
  common_.timeout = default_timeout;
  common_.retries = tries - 1;
  common_.pkey_index = 0;
  common_.sm_key = 0;
}

void DiagsOptions::add(const Spelling& spelling, std::string_view metavar, std::string_view help, bool has_value,
                       std::function<void(const std::string&)> set) {
  const int id = spelling.letter != 0 ? spelling.letter : first_long_only + static_cast<int>(entries_.size());
  entries_.push_back({std::string(spelling.name), std::string(metavar), std::string(help), id, has_value, std::move(set)});
}

void DiagsOptions::flag(const Spelling& spelling, bool& to, std::string_view help) {
  add(spelling, {}, help, false, [&to](const std::string&) { to = true; });
}

void DiagsOptions::action(const Spelling& spelling, std::string_view help, std::function<void()> set) {
  add(spelling, {}, help, false, [set = std::move(set)](const std::string&) { set(); });
}

void DiagsOptions::value(const Spelling& spelling, std::string_view metavar, std::string_view help,
                         std::function<void(const std::string&)> set) {
  add(spelling, metavar, help, true, std::move(set));
}

void DiagsOptions::text(const Spelling& spelling, std::optional<std::string>& to, std::string_view metavar, std::string_view help) {
  value(spelling, metavar, help, [&to](const std::string& text) { to = text; });
}

void DiagsOptions::node_name_map() {
  text({"node-name-map"}, common_.node_name_map, "FILE", "Names for nodes: lines of GUID and \"name\".");
}

void DiagsOptions::outstanding_smps() {
  value({"outstanding_smps", 'o'}, "N", outstanding_smps_help, [this](const std::string& text) {
    if (const std::uint64_t smps = c_number(text); smps != 0)
      common_.outstanding_smps = static_cast<unsigned>(std::min<std::uint64_t>(smps, most_outstanding_smps));
  });
}

void DiagsOptions::operand(std::string_view name, std::function<void(const std::string&)> set) {
  operands_.push_back({std::string(name), operands_required_, false, false, std::move(set)});
}

void DiagsOptions::word(std::string_view name, std::string& to) {
  operand(name, [&to](const std::string& word) { to = word; });
}

void DiagsOptions::word(std::string_view name, std::optional<std::string>& to) {
  operand(name, [&to](const std::string& word) { to = word; });
}

void DiagsOptions::words(std::string_view name, std::vector<std::string>& to) {
  each_word(name, [&to](const std::string& word) { to.push_back(word); });
}

void DiagsOptions::each_word(std::string_view name, std::function<void(const std::string& word)> set) {
  operand(name, std::move(set));
  operands_.back().repeated = true;
}

void DiagsOptions::target(std::string_view name, Target& to) {
  operand(name, [&to](const std::string& word) { to.word = word; });
  operands_.back().is_target = true;
}

void DiagsOptions::bind(const std::vector<std::string>& words) const {
  if (instead_of_operands_ != nullptr && *instead_of_operands_) return;
  const auto required = std::ranges::count_if(operands_, &DiagsOperand::required);
  if (words.size() < static_cast<std::size_t>(required)) throw DiagsUsage();
  std::size_t at = 0;
  for (const DiagsOperand& operand : operands_) {
    if (at >= words.size()) return;
    do {
      std::string word = words[at++];
      // A route that is missing reads as C prints a null pointer.
      if (operand.is_target && common_.combined) word += " " + (at < words.size() ? words[at++] : "(null)");
      operand.set(word);
    } while (operand.repeated && at < words.size());
  }
}

void DiagsOptions::parse(std::span<char* const> words) {
  if (words_alone_) {
    const std::vector<std::string> given(words.begin(), std::ranges::find_if(words, [](const char* word) { return *word == '\0'; }));
    return script_ ? script_(given) : bind(given);
  }
  add_common_options();
  apply(IbdiagConf::read_if_any(default_ibdiag_conf, ConfReader::diags));
  std::string letters;
  std::vector<option> table;
  for (const Entry& entry : entries_) {
    if (!entry.name.empty()) table.push_back({entry.name.c_str(), entry.has_value ? required_argument : no_argument, nullptr, entry.id});
    if (entry.id >= first_long_only) continue;
    letters += static_cast<char>(entry.id);
    if (entry.has_value) letters += ':';
  }
  table.push_back({});
  std::string name = program_;
  std::vector<char*> argv{name.data()};
  argv.insert(argv.end(), words.begin(), words.end());
  const std::vector<char*> given = argv;  // getopt_long changes the order
  const int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  optind = 0;  // glibc: start over
  opterr = 0;
  for (;;) {
    const int id = getopt_long(argc, argv.data(), letters.c_str(), table.data(), nullptr);
    if (id == -1) break;
    const auto entry = std::ranges::find(entries_, id, &Entry::id);
    if (entry == entries_.end()) {
      complain(common_.world->err, given, letters, table);
      throw DiagsUsage();
    }
    entry->set(optarg != nullptr && entry->has_value ? optarg : "");
  }
  bind({argv.begin() + optind, argv.end() - 1});
}

std::string DiagsOptions::usage_text() const {
  std::string text = fmt::format("\nUsage: {} [options]", program_);
  for (const DiagsOperand& operand : operands_)
    text += fmt::format(" {}{}{}{}", operand.required ? "" : "[", operand.name, operand.repeated ? "..." : "", operand.required ? "" : "]");
  text += "\n\n";
  if (!notes_.empty()) text += paragraphs(notes_) + "\n";
  HelpRows rows;
  for (const Entry& entry : entries_) {
    std::string names = entry.name.empty() ? "" : fmt::format("--{}", entry.name);
    if (entry.id < first_long_only) names += fmt::format("{}-{}", names.empty() ? "" : ", ", static_cast<char>(entry.id));
    if (entry.has_value) names += " " + entry.metavar;
    rows.emplace_back(std::move(names), entry.help);
  }
  return text + "Options:\n" + help_table(rows) + "\n";
}

void DiagsOptions::add_common(const Spelling& spelling, std::string_view metavar, std::string_view help,
                              std::function<void(const std::string&)> set) {
  if (without_.find(spelling.letter) != std::string::npos) return;
  // An option whose letter or name the program uses itself is the program's.
  const auto is_taken = [&](const Entry& entry) {
    return entry.id == spelling.letter || (!spelling.name.empty() && entry.name == spelling.name);
  };
  if (std::ranges::none_of(entries_, is_taken)) add(spelling, metavar, help, !metavar.empty(), std::move(set));
}

void DiagsOptions::apply(const IbdiagConf& conf) {
  if (conf.device) common_.device = conf.device;
  if (conf.port) common_.port = port_option(static_cast<int>(*conf.port));
  if (conf.timeout && conf.timeout->count() > 0) common_.timeout = std::min(*conf.timeout, std::chrono::milliseconds(INT_MAX));
  if (conf.mlnx_extended_port_info) common_.mlnx_extended_port_info = *conf.mlnx_extended_port_info;
  if (conf.m_key) common_.m_key = *conf.m_key;
  if (conf.sa_key && sends_sa_key_) common_.sm_key = *conf.sa_key;
  if (conf.node_description_format) common_.node_description_format = *conf.node_description_format;
}

void DiagsOptions::add_common_options() {
  const auto form = [this](path::Form address) {
    return [this, address](const std::string&) {
      common_.address = address;
      common_.combined = false;  // the last one wins
    };
  };
  add_common({"config", 'z'}, "FILE", fmt::format("Read further defaults, besides {}.", default_ibdiag_conf),
             [this](const std::string& file) { apply(IbdiagConf::read_if_any(file, ConfReader::diags)); });
  add_common({"Ca", 'C'}, "CA", "The RDMA device to use.", [this](const std::string& text) { common_.device = text; });
  add_common({"Port", 'P'}, "PORT", "The port of the device to use.",
             [this](const std::string& text) { common_.port = port_option(static_cast<int>(std::strtoul(text.c_str(), nullptr, 0))); });
  add_common({"Direct", 'D'}, {}, "The address is a directed route: 0, or port numbers between commas after it.", form(path::Form::direct));
  add_common({"Lid", 'L'}, {}, "The address is a LID.", form(path::Form::lid));
  add_common({"Guid", 'G'}, {}, "The address is a port GUID.", form(path::Form::guid));
  add_common({"timeout", 't'}, "MS", "Milliseconds that one try of a MAD may take.",
             [this](const std::string& text) { common_.timeout = timeout_of(text); });
  add_common({"sm_port", 's'}, "LID", "The LID of the subnet manager.",
             [this](const std::string& text) { common_.sm_lid = sm_lid_of(text); });
  add_common({"show_keys", 'K'}, {}, "Print keys.", [this](const std::string&) { common_.keys = Keys::shown; });
  add_common({"m_key", 'y'}, "KEY", m_key_help, [this](const std::string& text) {
    common_.m_key = diags_key(common_, text, "M_Key", {"process_opt", "Bad M_Key"});
  });
  // Debian's has no -Y. A long name would make abbreviations of others ambiguous.
  add_common({"", 'Y'}, "INDEX", "Where in the P_Key table of this port the P_Key of GMPs stands.",
             [this](const std::string& text) { common_.pkey_index = pkey_index_of(text); });
  add_common({"errors", 'e'}, {}, "Print every request that fails.", [this](const std::string&) { common_.show_errors = true; });
  add_common({"verbose", 'v'}, {}, "Print more.", [this](const std::string&) { ++common_.verbosity; });
  add_common({"debug", 'd'}, {}, "Print what is sent; twice, the packets too.", [this](const std::string&) {
    ++common_.debug;
    common_.show_errors = true;
  });
  add_common({"help", 'h'}, {}, "Print this.", [](const std::string&) { throw DiagsUsage(); });
  add_common({"version", 'V'}, {}, "Print the version of infiniband-diags that this stands in for.",
             [this](const std::string&) { throw DiagsExit(0, fmt::format("{} BUILD VERSION: {}\n", program_, build_version)); });
}

}  // namespace ib::tools
