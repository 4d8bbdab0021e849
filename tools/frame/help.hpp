// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Help texts, made from the tables of commands and options so that they cannot drift from what is accepted.
#pragma once

#include <cstddef>

#include "tools/frame/commands.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {

/// The options and operands of `ibtool NAME`, bound to a command: its own, --dry-run if it can change something, and the general ones.
struct CommandLine {
  explicit CommandLine(const CommandInfo& info, const World* world = nullptr);
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  std::unique_ptr<Command> command;
  CommonOptions common{};
  OptionSet set{};
};

/// A command line that works on the fabric of the manual pages' examples.
struct HelpExample {
  std::string_view line;     ///< "ibtool iblinkinfo --down"
  std::string_view meaning;  ///< "The ports whose link is down."
};

struct HelpPage {
  std::string_view command;
  std::span<const HelpExample> examples;
  std::string_view words;  ///< words of the prose in lower case, each once, with a blank in front of each; without the words of most pages
};

/// The page of a command; one without examples where it has none yet.
const HelpPage& help_page(std::string_view command);

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

/// What fits all of `words`, in any case: the beginning of a word, or any part of a command's name. An s at the end is optional.
HelpHits search_help(std::span<const std::string> words);

/// The columns of a text if the user wants no other width (World::help_width).
inline constexpr std::size_t usual_width = 78;

/// The lines of `text`, broken to `width` columns, each with its end.
std::string paragraphs(std::string_view text, std::size_t width = usual_width);
/// `ibtool help`: the tasks of an administrator with their commands, and all commands, in at most 40 lines of 80 columns.
std::string overview(std::size_t width = usual_width);
/// `ibtool help --all`: every command with its summary.
std::string command_list(std::size_t width = usual_width);
/// `ibtool help WORD`: the commands and options that fit, with their summaries, and the pages that have the word.
std::string hits_text(const HelpHits& hits, std::size_t width = usual_width);
/// The headings of all groups of commands, in the order of the help, which is the order of HelpGroup.
std::span<const std::string_view> group_headings();
inline std::string_view group_heading(HelpGroup group) { return group_headings()[static_cast<std::size_t>(group)]; }
/// "ibtool smpquery OP TARGET [ATTR_MOD]".
std::string usage_line(const CommandInfo& command, const OptionSet& set);
/// `ibtool help NAME`: usage, notes, options, examples and the manual page.
std::string command_help(const CommandInfo& command, const OptionSet& set, std::size_t width = usual_width);
/// The text that --help of a legacy name prints: usage, notes and options.
std::string diags_usage(const OptionSet& set, std::size_t width = usual_width);

}  // namespace ib::tools
