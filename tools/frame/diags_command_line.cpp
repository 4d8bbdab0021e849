// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// OptionSet's reader of the words behind a legacy name. libc's getopt_long does the parsing, so that abbreviations, permutation and the
// wording of its complaints are what users of the original know.
#include <fmt/format.h>
#include <getopt.h>

#include "base/escape.hpp"
#include "path/path.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/help.hpp"

namespace ib::tools {
namespace {

/// The options as getopt_long takes them. It returns a letter, or for a long name first_long and the index in the table.
struct Getopt {
  static constexpr int first_long = 256, perl_help = std::numeric_limits<int>::max();

  Getopt(const std::vector<Option>& options, bool perl) {
    if (perl) {
      letters = "+";  // ends at the first operand
      for (const char* name : {"help", "version"}) longs.push_back({name, no_argument, nullptr, perl_help});
    }
    for (const Option& one : options) {
      const int argument = one.has_value ? required_argument : no_argument;
      const int id = first_long + static_cast<int>(&one - options.data());
      for (const std::string& name : one.names) longs.push_back({name.c_str(), argument, nullptr, id});
      if (one.letter != 0) letters += one.letter;
      if (one.letter != 0 && one.has_value) letters += ':';
    }
    longs.push_back({});
  }

  std::string letters;
  std::vector<option> longs;
};

/// The letter that getopt_long has just refused; 0 if it was a long option.
char refused_letter() { return optopt < Getopt::first_long ? static_cast<char>(optopt) : '\0'; }

/// What getopt_long prints of the option `word` that it has just refused. It prints on libc's own stderr only.
std::string refusal(const OptionSet& set, std::string_view word) {
  if (const char letter = refused_letter(); letter != 0)
    return fmt::format("{} -- '{}'", set.find_letter(letter) != nullptr ? "option requires an argument" : "invalid option", letter);
  const std::string_view name = word.substr(2, word.find('=') - 2);
  const auto fits = set.meant(name);
  if (fits.empty()) return fmt::format("unrecognized option '{}'", word);
  if (optopt != 0)
    return fmt::format("option '--{}' {} an argument", fits.front().second, name.size() + 2 < word.size() ? "doesn't allow" : "requires");
  std::string text = fmt::format("option '{}' is ambiguous; possibilities:", word);
  for (const auto& [option, full] : fits) text += fmt::format(" '--{}'", full);
  return text;
}

}  // namespace

void OptionSet::perl_script() {
  perl_ = true;
  action("-h", "Print this.", [] { throw DiagsUsage(); });
}

std::vector<std::string> OptionSet::parse_diags(std::span<char* const> words, std::FILE* err) {
  if (script_) {
    script_({words.begin(), std::ranges::find_if(words, [](const char* word) { return *word == '\0'; })});
    return {};
  }
  const Getopt getopt(options_, perl_);
  std::vector<char*> argv{program_.data()};
  argv.insert(argv.end(), words.begin(), words.end());
  argv.push_back(nullptr);
  optind = 0;  // glibc: start over
  opterr = 0;  // getopt_long prints nothing
  const int count = static_cast<int>(argv.size()) - 1;
  for (int id = 0; (id = getopt_long(count, argv.data(), getopt.letters.c_str(), getopt.longs.data(), nullptr)) != -1;) {
    if (id == Getopt::perl_help) {
      std::fputs(diags_usage(*this).c_str(), err);  // Perl prints a text for it, and the program goes on
      continue;
    }
    const bool is_long = id >= Getopt::first_long;
    const auto option = is_long ? options_.begin() + (id - Getopt::first_long) : std::ranges::find(options_, id, &Option::letter);
    if (option == options_.end() && perl_) {
      const char letter = refused_letter() != 0 ? refused_letter() : '-';
      throw DiagsUsage(find_letter(letter) != nullptr ? "" : fmt::format("Unknown option: {}\n", letter));
    }
    if (option == options_.end()) {
      const std::string why = refusal(*this, argv[static_cast<std::size_t>(optind) - 1]);
      std::fputs(fmt::format("{}\n", printable_words(program_ + ": " + why)).c_str(), err);
      throw DiagsUsage();
    }
    option->given = true;
    option->set(option->has_value ? optarg : "");
  }
  return {argv.begin() + optind, argv.end() - 1};
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
