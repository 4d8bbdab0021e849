// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The candidates for the last word of a command line, from the tables of commands, options and operands.
#pragma once

#include <string>
#include <vector>

#include "tools/frame/world.hpp"

namespace ib::tools::completion {

struct Candidate {
  std::string word;  ///< the whole word; a word that ends with "=" or "[" is the beginning of a word
  std::string help;  ///< may be empty
};

struct Candidates {
  std::vector<Candidate> words;
  bool files{};  ///< the last word, or its part after "--NAME=", may be the name of a file
};

/// The candidates that begin with the last of `words`; `words` are the words behind "ibtool". Empty if the words before it do not determine
/// the candidates. Sends nothing. The options of the line have no effect.
Candidates candidates(const World& world, const std::vector<std::string>& words);

}  // namespace ib::tools::completion
