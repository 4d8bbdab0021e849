// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/perl_options.hpp"

#include <utility>

namespace ib::tools {

void PerlOptions::take(std::string_view word) {
  if (waiting_ != 0) {
    values_[std::exchange(waiting_, char{})] = word;
    return;
  }
  if (!ended_ && word == "--") {
    ended_ = true;
    return;
  }
  ended_ = ended_ || word.size() < 2 || word[0] != '-';
  if (ended_) {
    operands_.emplace_back(word);
    return;
  }
  if (word == "--help" || word == "--version") {
    asks_help_ = true;
    return;
  }
  for (word.remove_prefix(1); !word.empty();) {
    const char letter = word[0];
    word.remove_prefix(1);
    const std::size_t at = letters_.find(letter);
    if (at == std::string_view::npos) {
      complaints_ += std::string("Unknown option: ") + letter + "\n";
      continue;
    }
    const bool has_value = letters_.substr(at + 1).starts_with(':');
    values_[letter] = has_value ? std::string(word) : "1";
    if (!has_value) continue;
    if (word.empty()) waiting_ = letter;
    return;
  }
}

}  // namespace ib::tools
