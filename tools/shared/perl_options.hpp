// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The command lines of those programs of infiniband-diags that are Perl scripts (Getopt::Std): options of one letter, which end at the
// first other word. DiagsOptions hands on every word (words_alone()); this takes them one by one.
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
  /// The value of an option; empty where it was not given.
  std::string value(char letter) const { return has(letter) ? values_.at(letter) : std::string(); }
  /// The words behind the options.
  const std::vector<std::string>& operands() const { return operands_; }
  /// The lines for stderr on options that there are not.
  const std::string& complaints() const { return complaints_; }
  /// Whether all was well: known options, each with its value.
  bool good() const { return complaints_.empty() && waiting_ == 0; }

 private:
  std::string_view letters_;
  std::map<char, std::string> values_;
  std::vector<std::string> operands_;
  std::string complaints_;
  char waiting_ = 0;  ///< the option whose value is the next word
  bool ended_{};
};

}  // namespace ib::tools
