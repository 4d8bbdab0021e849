// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// completion: the script by which a shell completes command lines of ibtool, and what that script runs for each of them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "tools/completion/candidates.hpp"
#include "tools/completion/scripts.hpp"
#include "tools/frame/commands.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
namespace completion {
namespace {

std::vector<std::string> shells() {
  std::vector<std::string> names;
  for (const Script& script : scripts()) names.emplace_back(script.shell);
  return names;
}

struct ScriptReport final : Report {
  const Script* script{};

  void visit(report::Sink& sink) const override {
    sink.value("shell", script->shell);
    sink.value("script", script->text);
  }
  void text(TextOut& out) const override { out.write(script->text); }
};

struct WordsReport final : Report {
  Candidates found;

  void visit(report::Sink& sink) const override {
    sink.objects("words", found.words, [&](const Candidate& candidate) {
      sink.value("word", candidate.word);
      sink.text_or_null("help", candidate.help);
    });
    sink.value("files", found.files);
  }
  void text(TextOut& out) const override {
    for (const Candidate& candidate : found.words)
      out.print("{}{}{}\n", candidate.word, candidate.help.empty() ? "" : "\t", candidate.help);
    if (found.files) out.write(":files\n");
  }
};

class Completion final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes(
        "SHELL is bash, zsh or fish. Its script completes commands, options, their\n"
        "values, attributes and fields, the devices of this host, and the names of the\n"
        "nodes in the file of IBTOOL_FROM or --from.");
    set.words("SHELL|WORD", words_);
    set.offer([this] { return words_.empty() ? shells() : std::vector<std::string>(); });
    set.flag("--words", lists_,
             "For such a script: print the completions of the last WORD of the command line ibtool WORD..., one a line.");
    add_common(set, common, group_output);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (lists_) {
      WordsReport report;
      report.found = candidates(session.host().world(), words_);
      emit(report);
      co_return;
    }
    if (words_.size() > 1) throw UsageError("Too many arguments: one SHELL is expected");
    ScriptReport report;
    const auto found = std::ranges::find(scripts(), words_.front(), &Script::shell);
    if (found == scripts().end()) {
      std::vector<std::string_view> known;
      for (const Script& script : scripts()) known.push_back(script.shell);
      throw UsageError(fmt::format("There is no script for {}{} Try one of {}", in_quotes(words_.front()),
                                   did_you_mean(words_.front(), known, "."), fmt::join(known, ", ")));
    }
    report.script = &*found;
    emit(report);
  }

 private:
  std::vector<std::string> words_;
  bool lists_{};
};

}  // namespace
}  // namespace completion

constinit const CommandInfo rooms::completion{
    .name = "completion",
    .group = HelpGroup::other,
    .summary = "Print a script by which bash, zsh or fish completes the command lines of ibtool.",
    .make = make_command<tools::completion::Completion>,
};

}  // namespace ib::tools
