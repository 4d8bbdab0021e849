// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Parses the command lines of infiniband-diags programs that are Perl scripts (Getopt::Std). Options have one letter. The first word that
// is not an option ends the options. DiagsOptions passes every word (words_alone()) to this class.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ib::tools {

class PerlOptions {
 public:
  /// `letters`, each with a ':' behind it where it has a value: "hRC:P:".
  explicit PerlOptions(std::string_view letters) : letters_(letters) {}

  void take(std::string_view word);

  bool has(char letter) const { return values_.contains(letter); }
  /// The value of an option. Empty if the option was not given.
  std::string value(char letter) const { return has(letter) ? values_.at(letter) : std::string(); }
  /// The words after the options.
  const std::vector<std::string>& operands() const { return operands_; }
  /// The messages for stderr about unknown options.
  const std::string& complaints() const { return complaints_; }
  /// Whether --help or --version was given. Perl prints a text for it on stderr, and the program goes on.
  bool asks_help() const { return asks_help_; }
  /// Whether all options were known and had their values.
  bool good() const { return complaints_.empty() && waiting_ == 0; }
  /// Whether the scripts print their usage: for -h, or if the options are not good.
  bool wants_usage() const { return !good() || has('h'); }

 private:
  std::string_view letters_;
  std::map<char, std::string> values_;
  std::vector<std::string> operands_;
  std::string complaints_;
  char waiting_ = 0;  ///< the option whose value is the next word
  bool ended_{}, asks_help_{};
};

}  // namespace ib::tools
