// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery: prints the records of the subnet administrator that match a pattern of member values.
#include "tools/saquery/saquery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <tuple>
#include <utility>

#include "base/escape.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"
#include "iba/dump.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "mad/rpc.hpp"
#include "sa/record_types.hpp"
#include "tools/frame/commands.hpp"
#include "tools/saquery/option_tables.hpp"
#include "tools/saquery/packet_dump.hpp"
#include "tools/shared/attribute_text.hpp"

namespace ib::tools::saquery {
namespace {

/// `MTU of PathRecord, MCMemberRecord`.
std::string member_help(std::string_view member) {
  std::string records;
  for (const sa::RecordType& type : sa::record_types()) {
    const auto ref = find_path(type.info(), member);
    if (!type.classic || !ref || ref->field->iba_name != member) continue;
    records += (records.empty() ? "" : ", ") + std::string(type.name);
  }
  return fmt::format("{} of {}", member, records);
}

std::string item_list() {
  std::string text =
      "Asks the subnet administrator for the records ITEM whose members have\n"
      "the values that ARG and MEMBER=VALUE say. ITEM and ARG are one of\n";
  for (const sa::RecordType& type : sa::record_types())
    text += fmt::format("    {}{}{}  {}\n", type.name, type.alias.empty() ? "" : " ", type.alias, type.argument);
  return text + "A LID may be given as the name of its node.";
}

std::string diags_item_list() {
  std::string text = "ITEM is a kind of records by name or short name, NodeRecord by default; ARG says of which LID, port and so on:\n";
  for (const RecordForm& form : record_forms())
    text += fmt::format("  {} {}{}{}\n", form.name, form.alias, form.arguments.empty() ? "" : "  ", form.arguments);
  return text + "For -L, -l, -G, -O, -U, -N and -m the operand is a name, LID or GUID.";
}

constexpr std::uint64_t all_paths = 0x7f;  // the greatest numbPath

using Assignments = std::vector<std::pair<std::string, std::string>>;

/// Removes the words MEMBER=VALUE from the end and returns them.
Assignments take_assignments(std::vector<std::string>& words) {
  std::size_t first = words.size();
  while (first > 0 && words[first - 1].find('=') != std::string::npos) --first;
  Assignments result;
  for (std::size_t i = first; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    result.emplace_back(words[i].substr(0, equals), words[i].substr(equals + 1));
  }
  words.resize(first);
  return result;
}

/// `['2', '3']`
std::string list_text(std::span<const std::string> words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + quoted(word);
  return "[" + text + "]";
}

/// Removes the text up to the first `at` and returns it without `at`. Without an `at`, this is the whole text.
std::string_view take_until(std::string_view& text, char at) {
  const std::size_t end = std::min(text.find(at), text.size());
  const std::string_view first = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return first;
}

/// Some values have a selector. infiniband-diags reads the selector from the two bits above the value.
constexpr unsigned selected_bits = 6;
std::string selector_of(std::string_view member) { return std::string(member) + "Selector"; }

void match_option(sa::Pattern& pattern, const std::string& member, const std::string& text) {
  const auto number = parse_number(text);
  if (number && *number >> selected_bits != 0 && *number <= 0xff && find_path(pattern.form(), selector_of(member))) {
    pattern.match(selector_of(member), *number >> selected_bits);
    pattern.match(member, *number & ((1U << selected_bits) - 1));
  } else {
    pattern.match(member, text);
  }
}

/// A key as infiniband-diags' saquery reads it: what does not begin with a hexadecimal digit is asked for.
std::uint64_t key_of(const CommonOptions& common, const std::string& text, std::string_view prompt) {
  if (std::isxdigit(static_cast<unsigned char>(text[0])) != 0) return c_number(text);
  return c_number(ask_unseen(*common.world, prompt));
}

bool is_about_nodes(List list) { return list >= List::lids && list <= List::adapters; }

class Saquery final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.operand("ITEM", [this](std::string_view word) { words_.emplace_back(word); });
    set.words("ARG|MEMBER=VALUE", words_);
    set.notes(item_list());
    for (const Choice& choice : choices) {
      set.action(choice.names, choice.help,
                 [this, &choice] { choose(choice.names, choice.record, choice.record.empty() ? choice.list : List::records); });
    }
    set.flag("--get", get_, "Ask by SubnAdmGet, for the only record that matches.");
    set.flag("--no-defaults", no_defaults_, "Match what is said and nothing more: paths from anywhere, no selectors.");
    set.value("--src-to-dst", "SRC:DST", "The paths between two LIDs or names of nodes", [this](std::string_view text) {
      choose("--src-to-dst", "PathRecord", List::records);
      set_ends(text, ':', "SLID", "DLID");
    });
    set.value("--sgid-to-dgid", "SGID-DGID", "The paths between two GIDs", [this](std::string_view text) {
      choose("--sgid-to-dgid", "PathRecord", List::records);
      set_ends(text, '-', "SGID", "DGID");
    });
    for (const MemberOption& option : member_options)
      set.value(option.names, "VALUE", member_help(option.member),
                [this, &option](std::string_view text) { by_option_.emplace_back(option.member, text); });
    add_common(set, common, group_fabric);
  }

  void diags_options(DiagsOptions& set) override {
    as_diags_ = true;
    set.without("DGLsy");
    set.sends_sa_key();
    set.optional_operands();
    set.words("ITEM|ARG", words_);
    set.notes(diags_item_list());
    for (const Choice& choice : choices) {
      set.action(choice.diags_name, choice.names[1], choice.help, [this, &choice] { choose_as_diags(choice); });
    }
    CommonOptions& common = set.common();
    set.value("src-to-dst", 0, "SRC:DST", "The paths between two LIDs or names of nodes", [this](const std::string& text) {
      ends_.clear();
      set_ends(text, ':', "SLID", "DLID");
      match_all_paths();
    });
    set.value("sgid-to-dgid", 0, "SGID-DGID", "The paths between two GIDs", [this](const std::string& text) {
      std::string_view rest = text;
      const std::string source(take_until(rest, '-'));
      if (source.size() == text.size()) throw DiagsUsage();
      add_gid("SGID", source);
      add_gid("DGID", std::string(rest));
      match_all_paths();
    });
    set.node_name_map();
    set.value("smkey", 0, "KEY", "The SM_Key of queries; what is no number asks for it.",
              [&common](const std::string& text) { common.sm_key = key_of(common, text, "SM_Key"); });
    for (const MemberOption& option : member_options) {
      if (option.diags_name.empty()) continue;
      set.value(option.diags_name, option.letter, "VALUE", member_help(option.member),
                [this, &option, &common](const std::string& text) { take_member(option, text, common); });
    }
  }

  async::Task<> run(Session& session, Emit& emit) override {
    const Ask ask{session, emit, as_diags_};
    if (as_diags_) {
      read_diags_words();
      find_diags_port(session);
    } else {
      check_word(list_, first_word(), false);
      if (list_ != List::records) check_look_up();
    }
    co_await session.prepare_sa();
    if (as_diags_ && session.options().debug > 1 && !session.options().from)
      session.rpc().set_tracer(&dump_.emplace(emit.text(), session.options().keys));
    switch (list_) {
      case List::managers:
        co_await list_managers(ask);
        break;
      case List::records:
      case List::nodes:
      case List::groups:
      case List::members:
        co_await list_records(ask);
        break;
      default:
        co_await look_up(ask, list_, first_word().value_or(""));
    }
  }

 private:
  /// If there is no end port, or no subnet manager knows it, infiniband-diags reports that it finds no SA.
  static void find_diags_port(Session& session) {
    try {
      if (session.end_port().sm_lid != Lid{}) return;
    } catch (const UsageError&) {
      // No such port: it has no SA either.
    }
    session.diags_warning("sa_get_handle", fmt::format("No SM/SA found on port {}:{}", session.options().device ? "" : "(null)",
                                                       session.diags_port_number()));
    throw DiagsPanic({"main", "Failed to bind to the SA"}, ENOENT);
  }

  /// For ibtool: the option `names` selects the list. Throws OptionError if another option has selected another list.
  void choose(std::string_view names, std::string_view record, List list) {
    if (!chosen_.empty() && (record != record_ || list != list_))
      throw OptionError(fmt::format("{} and {} contradict each other", chosen_, names));
    chosen_ = names;
    record_ = record;
    list_ = list;
  }

  /// For infiniband-diags: the last option that names a list of its own counts, before any that names a kind of records. What is printed
  /// of nodes stays chosen whatever follows.
  void choose_as_diags(const Choice& choice) {
    if (choice.list == List::records && choice.record != "ClassPortInfo") {
      record_ = choice.record;
      return;
    }
    diags_command_ = &choice;
    list_ = choice.list;
    if (!is_about_nodes(choice.list)) return;
    about_nodes_ = choice.list;
    list_ = List::nodes;
  }
  void read_diags_words() {
    if (diags_command_ == nullptr && record_.empty() && !words_.empty() && find_form(words_[0]) != nullptr) {
      record_ = find_form(words_[0])->name;
      words_.erase(words_.begin());
    }
    if (diags_command_ != nullptr && list_ == List::records) record_ = diags_command_->record;
    check_word(about_nodes_, first_word(), true);
    if (list_ == List::nodes) {
      list_ = about_nodes_;
    } else if (about_nodes_ == List::name_of_lid || about_nodes_ == List::name_of_guid) {
      words_.clear();  // a LID or GUID, and no name to the other lists
    }
  }
  std::optional<std::string> first_word() const { return words_.empty() ? std::nullopt : std::optional(words_[0]); }

  void set_ends(std::string_view text, char between, std::string_view source, std::string_view destination) {
    const std::size_t at = text.find(between);
    if (at == std::string_view::npos && as_diags_) throw DiagsUsage();
    if (at == std::string_view::npos) throw OptionError(fmt::format("'{}' has no '{}' between the two ends", escaped(text), between));
    ends_.emplace_back(source, text.substr(0, at));
    ends_.emplace_back(destination, text.substr(at + 1));
  }

  // For infiniband-diags: the values of members.
  void add_gid(std::string_view member, const std::string& text) {
    const auto gid = parse_gid(text);
    if (!gid) throw DiagsUsage();
    std::erase_if(by_option_, [&](const auto& old) { return old.first == member; });
    if (*gid != Gid{}) by_option_.emplace_back(member, to_text(*gid));
  }
  void match_number(const MemberOption& option, std::uint64_t number) { numbers_[&option] = number; }
  void match_all_paths() {
    record_ = "PathRecord";
    match_number(*std::ranges::find(member_options, "numbPath", &MemberOption::member), all_paths);
  }
  void take_member(const MemberOption& option, const std::string& text, const CommonOptions& common) {
    switch (option.value) {
      case Value::gid:
        add_gid(option.member, text);
        break;
      case Value::key: {
        const std::string_view prompt = option.member == "PKey" ? "P_Key" : "Q_Key";
        match_number(option, key_of(common, text, prompt));
        break;
      }
      case Value::number:
        match_number(option, c_number(text));
    }
  }

  void check_look_up() const {
    if (words_.size() > 1) throw UsageError(fmt::format("Arguments {} are not understood.", list_text(std::span(words_).subspan(1))));
    if (get_ || no_defaults_ || !by_option_.empty())
      throw UsageError(fmt::format("{} takes no values of members, and neither --get nor --no-defaults", chosen_));
  }

  async::Task<> list_records(const Ask& ask) {
    async::Task<sa::Pattern> reading = as_diags_ ? make_diags_pattern(ask) : make_pattern(ask);
    const sa::Pattern pattern = co_await std::move(reading);
    if (!as_diags_ && ask.session.options().error_level() >= 1) announce(pattern, ask.session.options().keys, ask.emit);
    const std::uint8_t method = get_ ? mad::method::get : sa::list_method(pattern.record());
    FormedReport report = ask.report(pattern), nodes = ask.report(sa::Pattern(sa::NodeRecord::info()));
    report.single = method == mad::method::get;
    if (as_diags_ && &pattern.record() == &sa::SwitchInfoRecord::info()) {
      const std::uint32_t mask = co_await capability_mask2(ask);
      report.style.capability_mask2 = mask;
    }
    co_await ask.fetch(report, method);
    if (list_ == List::members) co_await ask.fetch(nodes);
    report.style.nodes = &nodes.records;
    if (as_diags_) set_form(ask.session, report);
    ask.emit(report);
  }

  /// CapabilityMask2 of the SA. The fields of a SwitchInfo depend on it.
  static async::Task<std::uint32_t> capability_mask2(const Ask& ask) {
    FormedReport info = ask.report(sa::Pattern(mad::ClassPortInfo::info()));
    co_await ask.fetch(info, mad::method::get);
    co_return wire::unpack_short<mad::ClassPortInfo>(info.records.bytes[0]).capability_mask2;
  }

  /// The form in which infiniband-diags prints the records, and the selection of records.
  void set_form(Session& session, FormedReport& report) const {
    const std::string word = words_.empty() ? "" : words_[0];
    report.form = &form_of(report.pattern.record());
    if (list_ == List::nodes && !words_.empty()) {
      report.shown = [&session, word](Bytes node) { return is_called(session, wire::unpack_short<sa::NodeRecord>(node), word); };
    } else if (list_ == List::groups) {
      report.form = &mc_group_form;
    } else if (list_ == List::members) {
      report.form = words_.empty() ? &mc_member_form : &mc_gid_form;
      const std::uint64_t mlid = c_number(word);
      if (!words_.empty())
        report.shown = [mlid](Bytes member) { return wire::unpack_short<sa::MCMemberRecord>(member).mlid.value == mlid; };
    } else if (&report.pattern.record() == &sa::PortInfoRecord::info()) {
      constexpr std::size_t port_info_at = 4;
      for (const Bytes record : report.records.bytes) warn_of_link_width(session, record.subspan(std::min(port_info_at, record.size())));
    }
  }

  async::Task<sa::Pattern> make_pattern(const Ask& ask) {
    if (record_.empty() && words_.empty()) record_ = "NodeRecord";
    if (record_.empty()) {
      record_ = words_[0];
      words_.erase(words_.begin());
    }
    const sa::RecordType& type = sa::find_record_type(record_);
    const Assignments assignments = take_assignments(words_);
    const std::vector<std::string> given = words_;
    const auto arguments = sa::take_argument(type, words_);
    if (!words_.empty()) throw UsageError(fmt::format("Arguments {} are not understood.", list_text(words_)));
    sa::Pattern pattern(type.info());
    for (const auto& [member, text] : arguments) {
      const bool good = co_await match_argument(ask, pattern, member, text);
      if (!good) throw UsageError(fmt::format("Argument {} did not match {}", quoted(given[0]), type.argument));
    }
    for (const auto& [member, text] : ends_) {
      if (text.empty()) continue;
      const bool good = co_await match_argument(ask, pattern, member, text);
      if (!good) throw UsageError(fmt::format("{} is neither an address nor the name of a node", quoted(text)));
    }
    for (const auto& [member, text] : assignments) pattern.match(member, text);
    for (const auto& [member, text] : by_option_) match_option(pattern, member, text);
    if (!no_defaults_) set_defaults(pattern, ask.session.end_port());
    co_return pattern;
  }

  /// The name of a node can take the place of a LID.
  static async::Task<bool> match_argument(const Ask& ask, sa::Pattern& pattern, std::string_view member, std::string text) {
    if (find_path(pattern.form(), member)->field->kind == FieldKind::lid) {
      const std::optional<Lid> lid = co_await lid_of(ask, text);
      if (lid) pattern.match(member, std::uint64_t{lid->value});
      co_return lid.has_value();
    }
    try {
      pattern.match(member, text);
    } catch (const UsageError&) {
      co_return false;
    }
    co_return true;
  }

  void set_defaults(sa::Pattern& pattern, const sys::EndPort& port) const {
    pattern.complete_selectors();
    const StructInfo& path = sa::PathRecord::info();
    if (get_ || (&pattern.form() != &path && &pattern.answer() != &path)) return;
    if (&pattern.record() == &path && !pattern.matches_on("numbPath")) pattern.match("numbPath", ends_.empty() ? 1 : all_paths);
    // A query for paths must have a source (IBA 15.2.5.16): a LID or a GID.
    if (!pattern.matches_on("SGID") && !pattern.matches_on("SLID")) pattern.match("SGID", to_text(port.default_gid()));
  }

  /// The same for infiniband-diags. It reads numbers like strtoul and ignores superfluous words and parts. Options for members have an
  /// effect only on paths and multicast members.
  async::Task<sa::Pattern> make_diags_pattern(const Ask& ask) {
    std::vector<std::pair<std::string_view, Lid>> ends;
    for (const auto& [member, text] : ends_) {
      if (text.empty()) continue;
      const std::optional<Lid> lid = co_await lid_of(ask, text);
      ends.emplace_back(member, *lid);
    }
    if (list_ == List::groups || list_ == List::members) co_return sa::Pattern(sa::MCMemberRecord::info());
    if (list_ == List::nodes) co_return sa::Pattern(sa::NodeRecord::info());
    const RecordForm& form = *find_form(record_.empty() ? "NodeRecord" : record_);
    sa::Pattern pattern(form.info());
    std::string_view arguments = form.arguments;
    for (std::size_t at = 0; at < words_.size() && !arguments.empty(); ++at) {
      const std::string_view members = take_until(arguments, ' ');
      co_await match_diags_word(ask, pattern, members, words_[at]);
    }
    if (&pattern.record() != &sa::PathRecord::info() && &pattern.record() != &sa::MCMemberRecord::info()) co_return pattern;
    const auto is_member = [&](std::string_view member) { return find_path(pattern.record(), member).has_value(); };
    const bool asks_members = &pattern.record() == &sa::MCMemberRecord::info();
    for (const auto& [member, text] : by_option_) {
      if (is_member(member)) pattern.match(member, text);
    }
    for (const auto& [option, number] : numbers_) {
      const std::string member(option->member);
      if (!is_member(member) || (asks_members ? option->not_given_of_member : option->not_given).is(number)) continue;
      if (is_member(selector_of(member))) pattern.match(selector_of(member), number >> selected_bits & 3U);
      pattern.match(member, number);
    }
    for (const auto& [member, lid] : ends) {
      if (is_member(member)) pattern.match(member, std::uint64_t{lid.value});
    }
    co_return pattern;
  }

  static async::Task<> match_diags_word(const Ask& ask, sa::Pattern& pattern, std::string_view members, std::string_view word) {
    while (!members.empty()) {
      const std::string_view member = take_until(members, '/');
      const bool last = word.find('/') == std::string_view::npos;
      const std::string text(take_until(word, '/'));
      const FieldKind kind = find_path(pattern.form(), member)->field->kind;
      if (kind == FieldKind::lid) {
        const std::optional<Lid> lid = co_await lid_of(ask, text);
        pattern.match(member, std::uint64_t{lid->value});
      } else if (kind == FieldKind::gid) {
        if (!parse_gid(text)) throw DiagsExit(EINVAL, fmt::format("Invalid SubscriberGID specified: \"{}\"\n", printable(text)));
        pattern.match(member, text);
      } else {
        char* end = nullptr;
        const unsigned long number = std::strtoul(text.c_str(), &end, 0);
        const NotGiven not_given = ones_of(find_path(pattern.form(), member)->field->bits <= 8 ? 8 : 16);
        if (end != text.c_str() && !not_given.is(number)) pattern.match(member, std::uint64_t{number});
      }
      if (last) co_return;
    }
  }

  static void announce(const sa::Pattern& pattern, Keys keys, Emit& emit) {
    const auto matches = pattern.matches();
    if (matches.empty()) return;
    emit.heading(fmt::format("Performing query on {} with component mask:", pattern.record().iba_name));
    for (const auto& match : matches) {
      const bool hidden = match.secret && keys == Keys::hidden;
      emit.heading(fmt::format("  {:2} {} = {}", match.bit, match.member, hidden ? hidden_text : match.shown));
    }
  }

  std::vector<std::string> words_;
  std::string record_;  ///< its name
  List list_ = List::records;
  std::string_view chosen_;  ///< the option that selected the list
  bool get_{}, no_defaults_{};
  Assignments ends_, by_option_;  ///< the ends of a path: LIDs, names of nodes or GIDs
  std::map<const MemberOption*, std::uint64_t> numbers_;
  const Choice* diags_command_{};   ///< the last option of infiniband-diags that names a list of its own
  List about_nodes_ = List::nodes;  ///< the last one that says what is printed of nodes
  bool as_diags_{};                 ///< words are read like in infiniband-diags
  std::optional<PacketDump> dump_;
};

}  // namespace
}  // namespace ib::tools::saquery

namespace ib::tools {

constinit const CommandInfo rooms::saquery{
    .name = "saquery",
    .group = HelpGroup::sa,
    .summary = "Print records of the subnet administrator: nodes, ports, paths, groups, services.",
    .make = make_command<saquery::Saquery>,
    .diags = true,
};

}  // namespace ib::tools
