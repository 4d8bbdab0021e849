// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What help takes from the manual pages in man/pages: the examples, and the words by which a page is found. make_help_pages.py makes the
// table from the sources of the pages, so that an example stands in one place.
#pragma once

#include <span>
#include <string_view>

namespace ib::tools {

/// A command line that works on the fabric of the manual pages' examples.
struct HelpExample {
  std::string_view line;     ///< "ibtool iblinkinfo --down"
  std::string_view meaning;  ///< "The ports whose link is down."
};

struct HelpPage {
  std::string_view command;
  std::span<const HelpExample> examples;
  std::string_view words;  ///< words of the prose in lower case, each once, with a blank in front of each; without those of most pages
};

/// The pages of all commands, by name.
std::span<const HelpPage> help_pages();
/// The page of a command; one without examples where it has none yet.
const HelpPage& help_page(std::string_view command);

}  // namespace ib::tools
