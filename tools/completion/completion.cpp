// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// completion: the script by which a shell completes command lines of ibtool, and what that script runs for each of them.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "base/split.hpp"
#include "snapshot/stored_fabric.hpp"
#include "tools/completion_scripts.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/help.hpp"
#include "tools/frame/run.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace completion {
namespace {

struct Candidate {
  std::string word;  ///< the whole word; a word that ends with "=" or "[" is the beginning of a word
  std::string help;  ///< may be empty
};

struct Candidates final : Report {
  std::vector<Candidate> words;
  bool files{};  ///< the last word, or its part after "--NAME=", may be the name of a file

  void visit(report::Sink& sink) const override {
    sink.objects("words", words, [&](const Candidate& candidate) {
      sink.value("word", candidate.word);
      sink.text_or_null("help", candidate.help);
    });
    sink.value("files", files);
  }
  void text(TextOut& out) const override {
    for (const Candidate& candidate : words) out.print("{}{}{}\n", candidate.word, candidate.help.empty() ? "" : "\t", candidate.help);
    if (files) out.write(":files\n");
  }
};

bool is_option(std::string_view word) { return word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9'); }

bool names_file(std::string_view metavar) { return metavar == "FILE" || metavar == "CONFIG"; }

/// What `find` finds; nothing where that fails. Mistakes in a line that is being typed are not reported.
template <class Find>
auto or_nothing(Find find) -> decltype(find()) {
  try {
    return find();
  } catch (const Error&) {
    return {};
  }
}

/// The descriptions of the nodes in the stored fabric `file`, each once, sorted. Those with bytes that are not plain text are left out.
std::set<std::string> stored_node_names(const std::string& file) {
  std::set<std::string> names;
  const subnet::SweptSubnet fabric = snapshot::open_fabric(file)->read_fabric(nullptr);
  for (const subnet::Node& node : fabric.subnet.nodes()) {
    if (std::string name(node.description()); !name.empty() && printable(name) == name) names.insert(std::move(name));
  }
  return names;
}

/// A line of words of which `set` has the options and operands.
class Line {
 public:
  Line(const OptionSet& set, const World& world, const std::vector<std::string>& words)
      : set_(set), word_(words.back()), from_(world.from) {
    read({words.begin(), words.end() - 1});
  }

  Candidates complete() {
    if (value_of_ != nullptr) {
      add_values(*value_of_, {});
    } else if (!literal_ && word_.starts_with("--") && word_.find('=') != std::string::npos) {
      add_attached_value();
    } else if (!literal_ && word_.starts_with('-')) {
      add_options_of_set();
    } else {
      add_operand();
    }
    return std::move(found_);
  }

 private:
  /// Reads the words before the last one.
  void read(const std::vector<std::string>& before) {
    for (std::size_t at = 0; at < before.size(); ++at) {
      if (literal_ || !is_option(before[at])) {
        take_operand(before[at]);
      } else if (before[at] == "--") {
        literal_ = true;
      } else if (const Option* const option = or_nothing([&] { return set_.takes_next(before[at]); })) {
        if (at + 1 == before.size()) value_of_ = option;
        if (++at < before.size() && option->has_name("from")) from_ = before[at];
      } else if (before[at].starts_with("--from=")) {
        from_ = before[at].substr(before[at].find('=') + 1);
      }
    }
  }

  /// An operand may decide about what follows it: the method about the attributes that go with it.
  void take_operand(const std::string& word) {
    const Operand* const operand = current_operand();
    ++operands_;
    if (operand == nullptr) return;
    try {
      operand->set(word, [](const NamedTarget& target) { target.found({path::IbPath(), target.word}); });
    } catch (const Error&) {
      // Offers that depend on it may be empty.
    }
  }

  const Operand* current_operand() const {
    const auto& all = set_.operands();
    if (operands_ < all.size()) return &all[operands_];
    return !all.empty() && all.back().repeated ? &all.back() : nullptr;
  }

  /// The words that are offered; none where what stands before them is wrong.
  static std::vector<std::string> offered(const OfferedWords& words) { return words ? or_nothing(words) : std::vector<std::string>(); }

  void add(const std::string& word, std::string_view help = {}) {
    if (word.starts_with(word_)) found_.words.push_back({word, std::string(help)});
  }

  /// The values of an option, behind `before`.
  void add_values(const Option& option, const std::string& before) {
    found_.files = names_file(option.metavar);
    std::string list = before;  // "lft,mft": the last part is completed
    if (const std::size_t comma = word_.rfind(','); comma != std::string::npos && option.metavar.find(',') != std::string::npos)
      list = word_.substr(0, comma + 1);
    for (const std::string& value : offered(option.offered)) add(list + value);
  }

  void add_attached_value() {
    const std::string name = word_.substr(0, word_.find('='));
    const Option* const option = or_nothing([&] { return &set_.find_long(std::string_view(name).substr(2)); });
    if (option != nullptr) add_values(*option, name + "=");
  }

  void add_options_of_set() {
    for (const Option& option : set_.options()) {
      if (option.names.empty()) {
        add({'-', option.letter}, option.help);
        continue;
      }
      // The name that help shows, or else another one that begins so.
      const auto name = std::ranges::find_if(option.names, [this](const std::string& one) { return ("--" + one).starts_with(word_); });
      if (name == option.names.end()) continue;
      if (!option.has_value) add("--" + *name, option.help);
      if (option.has_value || (option.value_optional && option.offered)) add("--" + *name + "=", option.help);
    }
  }

  void add_operand() {
    const Operand* const operand = current_operand();
    if (operand == nullptr) return;
    found_.files = names_file(operand->name);
    for (const std::string& word : offered(operand->offered)) add(word);
    if (!operand->is_target || !from_) return;
    for (const std::string& name : or_nothing([this] { return stored_node_names(*from_); })) {
      // A fabric gives no options. The scripts take a word that ends with = or [ for the beginning of one.
      if ((literal_ || !name.starts_with('-')) && !name.ends_with('=') && !name.ends_with('[')) add(name);
    }
  }

  const OptionSet& set_;
  std::string word_;
  std::optional<std::string> from_;  ///< the snapshot whose nodes are the targets
  std::size_t operands_ = 0;         ///< before the last word
  const Option* value_of_{};         ///< the last word is the value of this option
  bool literal_{};                   ///< no word is an option any more
  Candidates found_;
};

Candidates command_names(std::string_view begin) {
  Candidates found;
  const auto add = [&](std::string_view name, std::string_view help) {
    if (name.starts_with(begin)) found.words.push_back({std::string(name), std::string(help)});
  };
  if (begin.starts_with('-')) {
    add("--help", "List the commands.");
    add("--version", "Show the version and exit.");
    return found;
  }
  for (const CommandInfo* info : commands()) add(info->name, info->summary);
  return found;
}

/// The candidates that begin with the last of `words`; `words` are the words behind "ibtool". Empty if the words before it do not determine
/// the candidates. Sends nothing. The options of the line have no effect.
Candidates candidates(const World& world, std::vector<std::string> words) {
  if (words.empty()) return {};
  // Options of all commands may stand before the name. The command's line takes them as if they stood behind it.
  const auto name = or_nothing([&] { return std::optional(leading_options(std::span(words).first(words.size() - 1))); });
  if (!name) return {};
  if (*name + 1 == words.size()) return command_names(words.back());
  if (*name >= words.size()) {  // the value of such an option
    CommonOptions common;
    common.world = &world;
    OptionSet set;
    add_common(set, common, ~0U);
    add_general(set, common);
    return Line(set, world, words).complete();
  }
  const CommandInfo* const info = find_command(words[*name]);
  if (info == nullptr) return {};
  const CommandLine line(*info, &world);
  words.erase(words.begin() + static_cast<std::ptrdiff_t>(*name));
  return Line(line.set, world, words).complete();
}

struct ScriptReport final : Report {
  std::string_view shell, script;

  void visit(report::Sink& sink) const override {
    sink.value("shell", shell);
    sink.value("script", script);
  }
  void text(TextOut& out) const override { out.write(script); }
};

class Completion final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.notes(
        "SHELL is bash, zsh or fish. Its script completes commands, options, their\n"
        "values, attributes and fields, the devices of this host, and the names of the\n"
        "nodes in the file of IBTOOL_FROM or --from.");
    set.words("SHELL|WORD", words_);
    set.offer([this] {
      std::vector<std::string> shells;
      for (const auto& [shell, script] : scripts)
        if (words_.empty()) shells.emplace_back(shell);
      return shells;
    });
    set.flag("--words", lists_,
             "For such a script: print the completions of the last WORD of the command line ibtool WORD..., one a line.");
    add_common(set, common, group_output);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (lists_) {
      emit(candidates(session.host().world(), words_));
      co_return;
    }
    if (words_.size() > 1) throw UsageError("Too many arguments: one SHELL is expected");
    std::vector<std::string_view> shells;
    ScriptReport report;
    for (const auto& [shell, script] : scripts) {
      shells.push_back(shell);
      if (shell == words_.front()) report.shell = shell, report.script = script;
    }
    if (report.shell.empty())
      throw UsageError(fmt::format("There is no script for {}{} Try one of {}", in_quotes(words_.front()),
                                   did_you_mean(words_.front(), shells, "."), joined(shells, ", ")));
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
