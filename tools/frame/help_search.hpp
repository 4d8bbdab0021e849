// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Finds commands by everyday words: in their names, in the tasks that help lists, in summaries, examples, options and manual pages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/frame/command.hpp"

namespace ib::tools {

/// A question of an administrator, and the commands that answer it.
struct HelpTask {
  std::string_view question;  ///< "What is connected to what?"
  std::string_view commands;  ///< "iblinkinfo ibnetdiscover", the best first
  std::string_view words{};   ///< other words by which the question is found
};

/// The tasks at the top of `ibtool help`, in that order.
std::span<const HelpTask> help_tasks();

/// What fits some words.
struct HelpHits {
  struct OfOption {
    const CommandInfo* command;  ///< null: a common option, which most commands have
    std::string option;          ///< "--down"
    std::string help;
  };
  std::vector<const CommandInfo*> best;      ///< by name or task, the best first; commands that can change something last
  std::vector<const CommandInfo*> commands;  ///< `best`, then those by summary or example
  std::vector<OfOption> options;             ///< of other commands
  std::vector<const CommandInfo*> pages;     ///< other commands whose manual page has the words

  bool any() const { return !commands.empty() || !options.empty() || !pages.empty(); }
};

/// What fits all of `words`, in any case. A word fits the beginning of a word, and any part of a command's name; an s at its end is
/// optional.
HelpHits search_help(std::span<const std::string> words);

}  // namespace ib::tools
