// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// OptionSet's reader of the words behind a legacy name. libc's getopt_long does the parsing, so that abbreviations, permutation and the
// wording of its complaints are what users of the original know.
#include <fmt/format.h>
#include <getopt.h>

#include <algorithm>
#include <utility>

#include "base/escape.hpp"
#include "path/path.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/help.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {
namespace {

/// The options as getopt_long takes them. It returns a letter, or for a long name first_long and the index in the table.
struct Getopt {
  static constexpr int first_long = 256;

  explicit Getopt(const std::vector<Option>& options) {
    for (const Option& one : options) {
      const int argument = one.has_value ? required_argument : no_argument;
      const int id = first_long + static_cast<int>(&one - options.data());
      for (const std::string& name : one.names) longs.push_back({name.c_str(), argument, nullptr, id});
      if (one.letter != 0) letters += one.letter;
      if (one.letter != 0 && one.has_value) letters += ':';
    }
    longs.push_back({});
  }

  /// Begins with the words of `argv`, which ends with a null pointer. getopt_long changes their order.
  static void begin() {
    optind = 0;  // glibc: start over
    opterr = 0;  // it prints nothing
  }
  int next(std::vector<char*>& argv) const {
    return getopt_long(static_cast<int>(argv.size()) - 1, argv.data(), letters.c_str(), longs.data(), nullptr);
  }

  std::string letters;
  std::vector<option> longs;
};

/// What getopt_long prints of the option `word` that it has just refused. It prints on libc's own stderr only.
std::string refusal(const OptionSet& set, const Getopt& getopt, std::string_view word) {
  if (optopt != 0 && optopt < Getopt::first_long) {
    const char letter = static_cast<char>(optopt);
    const bool is_known = getopt.letters.find(letter) != std::string::npos;
    return fmt::format("{} -- '{}'", is_known ? "option requires an argument" : "invalid option", letter);
  }
  const std::string_view name = word.substr(2, word.find('=') - 2);
  const auto fits = set.meant(name);
  if (fits.empty()) return fmt::format("unrecognized option '{}'", word);
  if (optopt != 0)
    return fmt::format("option '--{}' {} an argument", fits.front().second, name.size() + 2 < word.size() ? "doesn't allow" : "requires");
  std::string text = fmt::format("option '{}' is ambiguous; possibilities:", word);
  for (const auto& [option, full] : fits) text += fmt::format(" '--{}'", full);
  return text;
}

/// The message for the bad option in `argv`. The user's words are made printable first.
std::string complaint(const OptionSet& set, const Getopt& getopt, const std::vector<char*>& argv) {
  std::vector<std::string> shown;
  for (const char* word : argv) {
    if (word != nullptr) shown.push_back(printable_words(word));
  }
  std::vector<char*> words;
  for (std::string& word : shown) words.push_back(word.data());
  words.push_back(nullptr);
  Getopt::begin();
  for (int id = 0; id != -1 && id != '?';) id = getopt.next(words);
  return fmt::format("{}: {}\n", words.front(), refusal(set, getopt, words[static_cast<std::size_t>(optind) - 1]));
}

}  // namespace

std::vector<std::string> OptionSet::parse_diags(std::span<char* const> words, std::FILE* err) {
  if (script_) {
    script_({words.begin(), std::ranges::find_if(words, [](const char* word) { return *word == '\0'; })});
    return {};
  }
  if (perl_) return parse_perl(words, err);
  const Getopt getopt(options_);
  std::vector<char*> argv{program_.data()};
  argv.insert(argv.end(), words.begin(), words.end());
  argv.push_back(nullptr);
  const std::vector<char*> given = argv;
  Getopt::begin();
  for (int id = 0; (id = getopt.next(argv)) != -1;) {
    const bool is_long = id >= Getopt::first_long;
    const auto option = is_long ? options_.begin() + (id - Getopt::first_long) : std::ranges::find(options_, id, &Option::letter);
    if (option == options_.end()) {
      std::fputs(complaint(*this, getopt, given).c_str(), err);
      throw DiagsUsage();
    }
    option->given = true;
    option->set(option->has_value ? optarg : "");
  }
  return {argv.begin() + optind, argv.end() - 1};
}

std::vector<std::string> OptionSet::parse_perl(std::span<char* const> words, std::FILE* err) {
  std::string complaints;
  bool lacks_value = false;
  std::size_t at = 0;
  const auto read_bundle = [&](const std::string& word) {
    for (std::size_t letter = 1; letter < word.size(); ++letter) {
      const auto option = std::ranges::find(options_, word[letter], &Option::letter);
      if (option == options_.end()) {
        complaints += fmt::format("Unknown option: {}\n", word[letter]);
        continue;
      }
      option->given = true;
      if (!option->has_value) {
        option->set("");
        continue;
      }
      const bool is_attached = letter + 1 < word.size();
      lacks_value = !is_attached && at + 1 == words.size();
      if (!lacks_value) option->set(is_attached ? word.substr(letter + 1) : words[++at]);
      return;
    }
  };
  for (; at < words.size(); ++at) {
    const std::string word = words[at];
    if (word.size() < 2 || word[0] != '-' || word == "--") break;
    if (word == "--help" || word == "--version") {
      std::fputs(diags_usage(*this).c_str(), err);  // Perl prints a text for it, and the program goes on
    } else {
      read_bundle(word);
    }
  }
  if (!complaints.empty() || lacks_value || is_given("-h")) throw DiagsUsage(complaints);
  if (at < words.size() && std::string_view(words[at]) == "--") ++at;
  return {words.begin() + static_cast<std::ptrdiff_t>(at), words.end()};
}

void OptionSet::bind_diags(const std::vector<std::string>& words, bool combined) const {
  if (!instead_of_operands_.empty() && is_given(instead_of_operands_)) return;
  const auto required = std::ranges::count_if(operands_, &Operand::required);
  if (words.size() < static_cast<std::size_t>(required)) throw DiagsUsage();
  const TargetReader words_only = [](const NamedTarget&) {};
  std::size_t at = 0;
  for (const Operand& operand : operands_) {
    if (at >= words.size()) return;
    do {
      std::string word = words[at++];
      // A route that is missing reads as C prints a null pointer.
      if (operand.is_target && combined) word += " " + (at < words.size() ? words[at++] : "(null)");
      operand.set(word, words_only);
    } while (operand.repeated && at < words.size());
  }
}

}  // namespace ib::tools
