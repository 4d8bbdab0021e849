// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The command line of a program of infiniband-diags, with the habits of GNU getopt_long: permuted arguments, abbreviated long
// options, the last one wins. The common options are the same for all programs, but each program lacks some. Unlike ibtool's
// own options, these depend on their order: -z reads a file of defaults at its place. Numbers are read as C's strtoul(…, 0) does: a word
// that is not a number is 0.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/frame/common_options.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {

/// Reads `text` as C's strtoul(text, 0, 0) does.
std::uint64_t c_number(const std::string& text);

struct IbdiagConf;

class DiagsOptions {
 public:
  DiagsOptions(std::string_view program, CommonOptions& common);

  // Options of the program's own; they hide common ones of the same letter or name. OptionSet has options by the same names.
  void flag(const Spelling& spelling, bool& to, std::string_view help);
  void action(const Spelling& spelling, std::string_view help, std::function<void()> set);
  void value(const Spelling& spelling, std::string_view metavar, std::string_view help, std::function<void(const std::string& text)> set);
  void text(const Spelling& spelling, std::optional<std::string>& to, std::string_view metavar, std::string_view help);
  template <std::integral T>
  void number(const Spelling& spelling, std::optional<T>& to, std::string_view metavar, std::string_view help, Within<T> /*range*/ = {}) {
    value(spelling, metavar, help, [&to](const std::string& text) { to = static_cast<T>(c_number(text)); });
  }
  /// --node-name-map, and -o by the long name of sweeping programs.
  void node_name_map();
  /// -o: how many SMPs may be outstanding. 0 changes nothing.
  void outstanding_smps();
  /// The program sends the sa_key of ibdiag.conf to the SA. Others send none when they look for the LID of a GUID.
  void sends_sa_key() { sends_sa_key_ = true; }
  /// Leaves out the common options with these letters, which the program lacks.
  void without(std::string_view letters) { without_ = letters; }
  /// The program was a shell script: every word is an operand, up to the first empty one, and no file of defaults is read.
  void words_alone() { words_alone_ = true; }
  /// The program was a shell script with its own syntax: `read` gets all words up to the first empty one at once, and no file of defaults
  /// is read.
  void script(std::function<void(const std::vector<std::string>& words)> read) {
    words_alone_ = true;
    script_ = std::move(read);
  }
  /// Paragraphs between the usage line and the options.
  void notes(std::string text) { notes_ = std::move(text); }

  // Operands, in the order in which they stand. Those after optional_operands() may be left out; words beyond them are ignored.
  void word(std::string_view name, std::string& to);
  void word(std::string_view name, std::optional<std::string>& to);
  void words(std::string_view name, std::vector<std::string>& to);
  /// All words that are left: `set` gets each.
  void each_word(std::string_view name, std::function<void(const std::string& word)> set);
  void target(std::string_view name, Target& to);
  template <std::integral T>
  void integer(std::string_view name, T& to) {
    operand(name, [&to](const std::string& text) { to = static_cast<T>(c_number(text)); });
  }
  template <std::integral T>
  void integer(std::string_view name, std::optional<T>& to) {
    operand(name, [&to](const std::string& text) { to = static_cast<T>(c_number(text)); });
  }
  void operand(std::string_view name, std::function<void(const std::string& word)> set);
  void optional_operands() { operands_required_ = false; }
  /// If `option` is set, operands are neither needed nor read.
  void instead_of_operands(const bool& option) { instead_of_operands_ = &option; }

  /// Reads `words`, those after the program's name: first /etc/infiniband-diags/ibdiag.conf, then options in their order, then
  /// operands. Complaints of getopt_long go to stderr at once. Throws DiagsUsage, DiagsExit for --version, DiagsFailure for bad
  /// values.
  void parse(std::span<char* const> words);

  /// The text that --help prints on stderr.
  std::string usage_text() const;
  CommonOptions& common() { return common_; }

 private:
  struct Entry {
    std::string name, metavar, help;
    int id;  ///< the letter, or a number above all letters
    bool has_value;
    std::function<void(const std::string& text)> set;
  };
  struct DiagsOperand {
    std::string name;
    bool required, repeated = false, is_target = false;
    std::function<void(const std::string& word)> set;
  };

  void add(const Spelling& spelling, std::string_view metavar, std::string_view help, bool has_value,
           std::function<void(const std::string&)> set);
  void add_common(const Spelling& spelling, std::string_view metavar, std::string_view help, std::function<void(const std::string&)> set);
  void add_common_options();
  void apply(const IbdiagConf& conf);
  void bind(const std::vector<std::string>& words) const;

  std::string program_, without_, notes_;
  CommonOptions& common_;
  std::vector<Entry> entries_;
  std::vector<DiagsOperand> operands_;
  bool operands_required_ = true, words_alone_ = false, sends_sa_key_ = false;
  const bool* instead_of_operands_{};
  std::function<void(const std::vector<std::string>& words)> script_;
};

}  // namespace ib::tools
