// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What may stand in the place of the last word of a command line, by the tables of commands, options and operands.
#pragma once

#include <string>
#include <vector>

#include "tools/frame/world.hpp"

namespace ib::tools::completion {

struct Candidate {
  std::string word;  ///< whole; one that ends with "=" or "[" is to be continued
  std::string help;  ///< may be empty
};

struct Candidates {
  std::vector<Candidate> words;
  bool files{};  ///< the name of a file may stand there, or after "--NAME=" of the last word
};

/// The words that begin with the last of `words`, which stand behind "ibtool"; nothing where that says nothing. Sends nothing. The options
/// of the line take no effect.
Candidates candidates(const World& world, const std::vector<std::string>& words);

}  // namespace ib::tools::completion
