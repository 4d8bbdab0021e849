// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// help: the tasks and commands, one command's usage, options and examples, or what fits a word.
#include "tools/frame/help.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "base/split.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

using report::Sink;

void visit_command(Sink& sink, const CommandInfo& info) {
  const CommandLine command(info);
  sink.value("name", info.name);
  sink.value("group", group_heading(info.group));
  sink.value("purpose", info.summary);
  sink.value("can_change", info.changes);
  sink.value("operands", command.set.operand_line());
  sink.objects("options", command.set.options(), [&](const Option& option) {
    sink.values("names", option.spellings());
    sink.text_or_null("metavar", option.metavar);
    sink.value("help", option.help);
    sink.value("is_common", option.common);
  });
  sink.objects("examples", help_page(info.name).examples, [&](const HelpExample& example) {
    sink.value("line", example.line);
    sink.value("meaning", example.meaning);
  });
}

/// Commands with all that help has of them, and the text of help.
class HelpReport final : public Report {
 public:
  HelpReport(std::vector<const CommandInfo*> of, std::string words) : of_(std::move(of)), text_(std::move(words)) {}
  void visit(Sink& sink) const override {
    sink.objects("commands", of_, [&](const CommandInfo* info) { visit_command(sink, *info); });
  }
  void text(TextOut& out) const override { out.write(text_); }

 private:
  std::vector<const CommandInfo*> of_;
  std::string text_;
};

/// The other commands that fit a command's name, if that is an everyday word.
std::string others_text(const CommandInfo& command) {
  constexpr std::size_t most = 5;
  const std::string word(command.name);
  std::vector<std::string_view> others;
  for (const CommandInfo* other : search_help({&word, 1}).commands) {
    if (other != &command && others.size() < most) others.push_back(other->name);
  }
  return others.empty() ? std::string() : fmt::format("See also: {}\n", joined(others, ", "));
}

class Help final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.flag("-a --all", all_, "List all commands with their summaries.");
    set.optional_operands();
    set.words("WORD", words_);
    set.offer(commands(), &CommandInfo::name);
    set.notes("WORD is a command, or any words: help then lists the commands and options that fit, and the manual pages that have them.");
    add_common(set, common, group_output);
  }
  async::Task<> run(Session& session, Emit& emit) override {
    const std::size_t width = session.host().world().help_width;
    const CommandInfo* info = words_.size() == 1 ? find_command(words_.front()) : nullptr;
    const std::vector<const CommandInfo*> every(commands().begin(), commands().end());
    if (words_.empty()) {
      emit(HelpReport(every, all_ ? command_list(width) : overview(width)));
    } else if (info != nullptr) {
      emit(HelpReport({info}, command_help(*info, CommandLine(*info).set, width) + others_text(*info)));
    } else {
      const HelpHits hits = search_help(words_);
      if (!hits.any()) throw no_such_command(joined(words_, " "));
      emit(HelpReport(hits.commands, hits_text(hits, width)));
    }
    co_return;
  }

 private:
  std::vector<std::string> words_;
  bool all_{};
};

}  // namespace

constinit const CommandInfo rooms::help{
    .name = "help",
    .group = HelpGroup::local,
    .summary = "List the commands, describe one, or find those that fit a word.",
    .make = make_command<Help>,
};

}  // namespace ib::tools
