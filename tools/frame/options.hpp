// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The table of the options and operands of a command line, bound to the variables of the command. Two readers stand on it: CLI11 reads the
// lines of ibtool's dialect (command_line.cpp), getopt_long the lines of the legacy names (diags_command_line.cpp). Both have the habits of
// getopt_long: bundled letters, `--name=value` and `--name value`, unambiguous abbreviations, options after operands, `--`, the last of a
// repeated option wins. In ibtool's dialect a word like `-1` is an operand where no option has that letter. What a command does not define
// itself comes from the common groups, minus the letters and names it has taken.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdio>
#include <functional>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "tools/frame/target.hpp"

namespace ib::sys {
struct EndPort;
}

namespace ib::tools {

struct World;

/// A mistake in the options.
class OptionError : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Words that may stand in a place of the command line, for shells that complete it. Called once what stands before is known. Throws Error
/// where there are none.
using OfferedWords = std::function<std::vector<std::string>()>;

struct Option {
  char letter = 0;                 ///< 0: long names only
  std::vector<std::string> names;  ///< long names; the first is the one that help shows
  bool has_value = false;
  bool value_optional = false;  ///< only as --name=VALUE
  std::string metavar;          ///< what help calls the value
  std::string help;
  OfferedWords offered;                         ///< values; null: none are known
  bool common = false;                          ///< from a common group
  bool early = false;                           ///< acts before all others: --help, --config
  bool given = false;                           ///< the command line has it
  std::function<void(const std::string&)> set;  ///< called once for each occurrence, in order

  /// "-t", "--timeout", …
  std::vector<std::string> spellings() const;
  bool has_name(std::string_view name) const { return std::ranges::find(names, name) != names.end(); }
};

/// "--timeout" out of "-t --timeout": how messages name the option.
std::string display_name(std::string_view what);
/// Reads `text` as an integer with C's prefixes (0x…, 0…) within [low, high]; throws OptionError naming `what`.
std::int64_t parse_integer(std::string_view text, std::string_view what, std::int64_t low, std::int64_t high);
/// Reads `text` as an unsigned integer (a key, a mask) with C's prefixes within [low, high]; throws OptionError naming `what`.
std::uint64_t parse_unsigned(std::string_view text, std::string_view what, std::uint64_t low = 0,
                             std::uint64_t high = std::numeric_limits<std::uint64_t>::max());

/// From the lowest to the highest value, both included.
template <std::integral T>
struct Range {
  T low = std::numeric_limits<T>::min();
  T high = std::numeric_limits<T>::max();
};
/// The type of the value in a variable of the type To, a number or an optional one.
template <class To>
using ValueOf = typename decltype(std::optional{std::declval<const To&>()})::value_type;

template <std::integral T>
T parse_within(std::string_view text, std::string_view what, Range<T> range) {
  if constexpr (std::unsigned_integral<T> && sizeof(T) == 8) {
    return parse_unsigned(text, what, range.low, range.high);
  } else {
    return static_cast<T>(parse_integer(text, what, range.low, range.high));
  }
}

/// Reads `text` as C's strtoul(text, 0, 0) does, and so do the legacy names: what is not a number is 0.
std::uint64_t c_number(const std::string& text);

/// The spellings of an option in both dialects.
struct Spelling {
  constexpr Spelling() = default;
  template <std::convertible_to<std::string_view> Text>
  constexpr Spelling(const Text& all, std::string_view by_legacy_name = {}) : names(all), diags(by_legacy_name) {}

  std::string_view names;  ///< of ibtool's dialect: "-n --no_dests --no-dests". Help shows the first long one
  std::string_view diags;  ///< by the legacy name, if these are not the letter and the first long name of `names`
};

/// The word of a target that is read. The name of a node is looked up later, when requests may be sent.
struct NamedTarget {
  std::string word;
  std::optional<std::string> complaint{};  ///< why it is not an address, if no node has that name; absent: the usual complaint
  std::string argument{};                  ///< the name of the operand, for complaints
  bool is_alone{};                         ///< the last word, and another target is expected: two nodes may be in it
  bool takes_several{};                    ///< the word may be a pattern of names; then `found` is called for each node
  std::function<void(NamedPath)> found{};  ///< gets the path
};

/// Hands the path of an address to NamedTarget::found, and keeps a name until it is looked up. Throws UsageError for neither.
using TargetReader = std::function<void(NamedTarget)>;

/// A stored fabric that may have what the end port of this host was linked to, for the message that the port is Down.
struct KnownFabric {
  std::function<std::optional<std::string>(const World& world, const sys::EndPort& port)> file;  ///< its name; nothing: there is none
};

/// An operand that the command needs is missing, or there are too many. The usage line is printed with the message.
class MissingOperands : public UsageError {
 public:
  using UsageError::UsageError;
};

/// An operand of a command, bound to the variable that it sets.
struct Operand {
  std::string name;  ///< "TARGET", as the usage line has it
  bool required = true;
  bool repeated = false;   ///< takes all words that are left
  bool is_target = false;  ///< two words, a LID and a route, with a combined address
  /// Whether the operand is the port of the target before it, as in NODE/PORT; null: never. Called when those before it have values.
  std::function<bool()> is_port{};
  OfferedWords offered;  ///< null: none are known
  /// Of an operation, which stands before a target: throws UsageError for a word that is none.
  std::function<void(const std::string& word)> find_operation{};
  /// Throws UsageError with the reason.
  std::function<void(const std::string& word, const TargetReader& read_target)> set;
};

/// The options and operands that one command line takes.
class OptionSet {
 public:
  /// Of ibtool's dialect.
  OptionSet() = default;
  /// Of the legacy name `program`.
  explicit OptionSet(std::string_view program) : program_(program) {}

  bool is_diags() const { return !program_.empty(); }
  /// The legacy name.
  const std::string& program() const { return program_; }

  void flag(const Spelling& spelling, bool& target, std::string_view help);
  /// A text. In ibtool's dialect the name of a FILE must not be empty.
  void text(const Spelling& spelling, std::optional<std::string>& target, std::string_view metavar, std::string_view help);
  /// A number within `range`; a complaint names it. A legacy name reads it with c_number() and has no range.
  template <class To>
  void number(const Spelling& spelling, To& target, std::string_view metavar, std::string_view help, Range<ValueOf<To>> range = {}) {
    value(spelling, metavar, help, number_reader(spelling.names, target, range));
  }
  /// One of `choices`, in any case and abbreviated if unambiguous.
  void choice(const Spelling& spelling, std::optional<std::string>& target, std::vector<std::string> choices, std::string_view help);
  /// Calls `set` with the one of `choices` that was given.
  void choice(const Spelling& spelling, std::vector<std::string> choices, std::string_view help,
              std::function<void(const std::string&)> set);
  /// Calls `set` with the value; it throws to refuse one: OptionError in ibtool's dialect.
  void value(const Spelling& spelling, std::string_view metavar, std::string_view help, std::function<void(const std::string&)> set);
  /// Calls `set` when the option is met.
  void action(const Spelling& spelling, std::string_view help, std::function<void()> set);

  // Operands, in the order in which they stand. Those after optional_operands() may be left out.
  template <class To>  // std::string, or an optional one
  void word(std::string_view name, To& to) {
    operand(name, [&to](const std::string& word) { to = word; });
  }
  /// All words that are left.
  void words(std::string_view name, std::vector<std::string>& to);
  /// `takes_several`: for a command that reads and can run for each of several nodes. TARGET may be a pattern, compute[01-16] or leaf*.
  void target(std::string_view name, Target& to, bool takes_several = false);
  void target_each(std::string_view name, Target& to) { target(name, to, true); }
  /// All words that are left, each TARGET or TARGET@PORT. A name may have a @ in it that no port follows. `takes_patterns`: for a command
  /// that reads. A pattern has a word and no path: the command finds the nodes that it fits.
  void target_ports(std::string_view name, std::vector<TargetPort>& to, bool takes_patterns = false);
  void target_patterns(std::string_view name, std::vector<TargetPort>& to) { target_ports(name, to, true); }
  template <class To>
  void integer(std::string_view name, To& to, Range<ValueOf<To>> range = {}) {
    operand(name, number_reader(name, to, range));
  }
  /// The operand added last is the port of the target before it, so that this may be NODE/PORT; with `when`, if that is true.
  void is_port(std::function<bool()> when = [] { return true; }) { operands_.back().is_port = std::move(when); }
  /// The operand added last is an operation, which `find` finds; it throws UsageError for another word. The next operand is a target.
  void is_operation(std::function<void(const std::string& word)> find) { operands_.back().find_operation = std::move(find); }
  /// Any other operand: `set` gets the word.
  void operand(std::string_view name, std::function<void(const std::string& word)> set);
  void optional_operands() { operands_required_ = false; }
  /// If an option sets `file`, targets are nodes of the fabric that is stored there.
  void stored_fabric(const std::optional<std::string>& file) { stored_file_ = &file; }
  std::optional<std::string> stored_fabric() const { return stored_file_ != nullptr ? *stored_file_ : std::nullopt; }
  /// A stored fabric that the command is given for another purpose.
  void known_fabric(KnownFabric known) { known_fabrics_.push_back(std::move(known)); }
  /// As above, where an option sets `file`.
  void known_fabric(const std::optional<std::string>& file) {
    known_fabric({[&file](const World&, const sys::EndPort&) { return file; }});
  }
  const std::vector<KnownFabric>& known_fabrics() const { return known_fabrics_; }
  /// The option `name` ("-S") replaces the operands: with this option the command takes none.
  void instead_of_operands(std::string_view name) { instead_of_operands_ = name; }
  /// The legacy name is a shell script: `read` gets the words up to the first empty one, and no word is an option.
  void script(std::function<void(const std::vector<std::string>& words)> read) { script_ = std::move(read); }
  bool is_script() const { return script_ != nullptr; }
  /// The legacy name is a Perl script (Getopt::Std): one letter an option, none behind the first operand; mistakes show the usage.
  void perl_script();
  bool is_perl() const { return perl_; }
  /// Only one of these options may be given, but options in one text ("-c -f") may be given together. If `required`, one must be given.
  void one_of(std::vector<std::string_view> options, bool required = false);
  /// Hands `words` to the operands. Throws UsageError, naming what is missing, too much or wrong, or does not go together.
  void bind(const std::vector<std::string>& words, bool combined, const TargetReader& read_target) const;

  /// Gives possible values of the option or operand that was added last. A word that ends with "=" or "[" is the beginning of a value.
  void offer(OfferedWords words);
  void offer(std::vector<std::string> words) {
    offer([words = std::move(words)] { return words; });
  }
  /// As above: the name of each element of `table`.
  template <class Table, class Name>
  void offer(const Table& table, Name name) {
    std::vector<std::string> words;
    for (const auto& element : table) words.emplace_back(std::invoke(name, element));
    offer(std::move(words));
  }

  /// Paragraphs between the usage line and the options.
  void notes(std::string text) { notes_ = std::move(text); }
  /// The value of the long option added last may be left out; then `set` gets an empty text.
  void make_value_optional() {
    last_option_->has_value = false;
    last_option_->value_optional = true;
  }
  /// The option added last acts before all others, wherever it stands.
  void make_early() { last_option_->early = true; }
  /// Leaves out the common options with these letters, which the legacy name lacks.
  void without(std::string_view letters) { without_ = letters; }
  /// What is added from now on is common: it lacks what is taken. By a legacy name, one of which anything is taken is left out.
  void begin_common() { common_ = true; }

  /// Scans all of `args`, then sets the options in their order, and returns the operands. Throws OptionError.
  std::vector<std::string> parse(std::span<const std::string> args);
  /// Reads the words behind a legacy name: sets each option as soon as it is met, and returns the operands. Throws DiagsUsage.
  std::vector<std::string> parse_diags(std::span<char* const> words, std::FILE* err);
  /// Hands `words` to the operands. Throws DiagsUsage if there are too few; those that are too many are ignored.
  void bind_diags(const std::vector<std::string>& words, bool combined) const;

  /// The option in `word`, an option or a bundle of letters, that takes the next word as its value, whatever the next word is. Null if
  /// there is no such option. Throws OptionError for an unknown long option, and for an unknown letter if `all_known`.
  const Option* takes_next(const std::string& word, bool all_known = false) const;
  /// The long options that `name` can mean, which may be cut, each with its name in full: only the one of that name if there is one.
  std::vector<std::pair<const Option*, std::string_view>> meant(std::string_view name) const;
  /// The option of a long name or an unambiguous abbreviation. Throws OptionError if there is none.
  const Option& find_long(std::string_view name) const;
  /// The option with that letter, or null.
  const Option* find_letter(char letter) const {
    const auto option = std::ranges::find(options_, letter, &Option::letter);
    return option != options_.end() ? &*option : nullptr;
  }

  /// Without the common options whose letter and names the command has all taken.
  const std::vector<Option>& options() const { return options_; }
  const std::vector<Operand>& operands() const { return operands_; }
  const std::string& notes() const { return notes_; }
  /// The operands as the usage line has them: "OP TARGET [ATTR_MOD]".
  std::string operand_line() const;

 private:
  Operand& add_operand(std::string_view name);
  Option& add(const Spelling& spelling, std::string_view metavar, std::string_view help);
  /// Whether `word`, a letter ("-S") or a long name ("--cpi"), is not for a common option.
  bool taken(std::string_view word) const;
  /// Whether the command line has the option of that letter ("-S") or long name ("--cpi").
  bool is_given(std::string_view name) const;
  void check_combinations() const;
  template <class To>
  std::function<void(const std::string&)> number_reader(std::string_view what, To& to, Range<ValueOf<To>> range) const {
    return [this, &to, range, name = std::string(what)](const std::string& text) {
      to = is_diags() ? static_cast<ValueOf<To>>(c_number(text)) : parse_within(text, name, range);
    };
  }

  std::string program_;  ///< empty: ibtool's dialect
  std::vector<Option> options_;
  std::vector<Operand> operands_;
  std::string notes_, without_;
  std::function<void(const std::vector<std::string>& words)> script_;
  bool operands_required_ = true;
  std::string instead_of_operands_;  ///< empty: no option does
  const std::optional<std::string>* stored_file_{};
  std::vector<KnownFabric> known_fabrics_;
  struct OneOf {
    std::vector<std::vector<std::string>> options;
    bool required;
  };
  std::vector<OneOf> one_of_;
  bool common_ = false, perl_ = false;
  bool operand_is_last_ = false;  ///< an operand was added after the last option
  Option hidden_;                 ///< the last option that has no spelling left
  Option* last_option_{};         ///< the option added last: in options_, or hidden_
};

}  // namespace ib::tools
