// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery in infiniband-diags' dialect. Numbers are read like strtoul does, words and parts that are too many are ignored, and options for
// members have an effect only on paths and multicast members. If a request fails, the program ends with an errno as its exit status.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba-gen/mad.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/targets.hpp"
#include "tools/saquery/saquery.hpp"
#include "tools/shared/attribute_text.hpp"

namespace ib::tools::saquery {
namespace {

/// "ERROR: Query result returned 0x0200,  SA(SA_ERR_REQ_INVALID)" and a newline.
std::string status_line(unsigned status) {
  const std::vector<std::string_view> errors = split(
      "NO_RESOURCES,REQ_INVALID,NO_RECORDS,TOO_MANY_RECORDS,REQ_INVALID_GID,REQ_INSUFFICIENT_COMPONENTS,REQ_DENIED,STATUS_PRIO_SUGGESTED,"
      "UNKNOWN");
  const unsigned own = status >> 8;
  const std::string by_class = own == 0 ? "" : fmt::format(" SA(SA_ERR_{})", errors[std::min<std::size_t>(own, errors.size()) - 1]);
  const std::string common = (status & 0xffU) == 0 ? ""
                                                   : fmt::format(" ({}; {}; {})", (status & 1U) != 0 ? "BUSY" : "",
                                                                 (status & 2U) != 0 ? "Redirection Required" : "", "MAD ERROR");
  return fmt::format("ERROR: Query result returned 0x{:04x}, {}{}\n", status, common, by_class);
}

/// All NodeRecords. Throws DiagsExit for a query that failed.
async::Task<sa::Nodes> node_table(Session& session) {
  mad::Result<sa::Nodes> answer = co_await session.targets().node_table();
  if (!answer) exit_for(sa::NodeRecord::info(), answer.error());
  if (answer->torn) warn(session.host().world(), "sa_query", torn_text(answer->records.size()));
  co_return std::move(*answer);
}

/// Whether `word` is the whole name of a node: where the site has a name, that or the description as it is, else the description as it is
/// printed.
bool is_whole_name(std::string_view word, const sa::NodeRecord& node, const subnet::NodeNameMap& names) {
  const std::string description = description_of(node);
  const auto sites = names.find(node.node_info.node_guid);
  return sites ? *sites == word || description == word : printable(description) == word;
}

/// The nodes of `list` among all NodeRecords. If LMC is not zero, a node is found by its base LID only; the SA would find it by all its
/// LIDs.
async::Task<sa::Nodes> search_all_nodes(Session& session, ListKind list, std::string word) {
  sa::Nodes nodes = co_await node_table(session);
  const subnet::NodeNameMap& names = session.manners().node_name_map();
  const std::uint64_t number = c_number(word);
  std::erase_if(nodes.records, [&](const sa::NodeRecord& node) {
    if (node_key(list) == NodeKey::name) return !is_whole_name(word, node, names);
    if (list == ListKind::adapters) return node.node_info.node_type != smp::NodeType::channel_adapter;
    if (list == ListKind::name_of_lid) return node.lid.value != static_cast<std::uint16_t>(number);
    return node.node_info.port_guid.value != number;
  });
  co_return nodes;
}

/// The LID that `text` means: a number as strtol reads it, or the description of a node. Throws DiagsExit if it is neither.
async::Task<Lid> lid_or_exit(Session& session, std::string text) {
  if (!text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0) {
    const sa::Nodes nodes = co_await node_table(session);
    const auto named = std::ranges::find(nodes.records, text, description_of);
    if (named != nodes.records.end()) co_return named->lid;
    throw DiagsExit(ENONET, fmt::format("Failed to find lid for \"{}\": {}\n", printable(text), std::strerror(ENONET)));
  }
  errno = 0;
  const long value = std::strtol(text.c_str(), nullptr, 0);
  if (errno != 0 || value <= 0 || value > UINT16_MAX)
    throw DiagsExit(EINVAL, fmt::format("Invalid lid specified: \"{}\"\n", printable(text)));
  co_return Lid{static_cast<std::uint16_t>(value)};
}

std::string diags_item_list() {
  std::string text = "ITEM is a kind of records by name or short name, NodeRecord by default; ARG says of which LID, port and so on:\n";
  for (const RecordForm& form : record_forms())
    text += fmt::format("  {} {}{}{}\n", form.name, form.alias, form.arguments.empty() ? "" : "  ", form.arguments);
  return text + "For -L, -l, -G, -O, -U, -N and -m the operand is a name, LID or GUID.";
}

/// A key. If `text` does not begin with a hexadecimal digit, the key is requested on the terminal.
std::uint64_t key_of(const CommonOptions& common, const std::string& text, std::string_view prompt) {
  if (std::isxdigit(static_cast<unsigned char>(text[0])) != 0) return c_number(text);
  return c_number(read_unseen(*common.world, prompt));
}

bool is_about_nodes(ListKind list) { return list >= ListKind::lids && list <= ListKind::adapters; }

/// The texts before and after the first `between`, which must be there.
std::pair<std::string, std::string> split_ends(const std::string& text, char between) {
  const std::size_t at = text.find(between);
  if (at == std::string::npos) throw DiagsUsage();
  return {text.substr(0, at), text.substr(at + 1)};
}

[[noreturn]] void refuse_port(const Host& host, std::string_view complaint, int code) {
  warn(host.world(), "sa_get_handle", complaint);
  throw DiagsPanic("Failed to bind to the SA", code);
}

/// Without an end port, or without a subnet manager that knows it, there is no SA.
void find_port(Stack& stack) {
  const std::string port = fmt::format("{}:{}", stack.host().options().device ? "" : "(null)", diags_port_number(stack.host().options()));
  bool found = false;
  try {
    found = stack.host().end_port().sm_lid != Lid{};
  } catch (const Error&) {
    // No such port, or no device at all: there is no SA either.
  }
  // libibumad looks for a device of its own choice, and to find none is not an error of the system.
  const bool has_none = !stack.host().options().device && stack.host().devices().devices().empty();
  if (!found) refuse_port(stack.host(), fmt::format("No SM/SA found on port {}", port), has_none ? 0 : ENOENT);
  if (const std::optional<int> failure = open_failure(stack))
    refuse_port(stack.host(), fmt::format("umad_open_port on port {} failed", port), *failure);
}

/// Matches each of the members in "to_lid/to_port" with its part of `word`.
async::Task<> match_word(Session& session, sa::Pattern& pattern, std::string_view members, std::string_view word) {
  const std::vector<std::string_view> names = split(members, "/"), parts = split(word, "/");
  for (std::size_t at = 0; at < std::min(names.size(), parts.size()); ++at) {
    const std::string_view member = names[at];
    const std::string text(parts[at]);
    const FieldKind kind = find_path(pattern.form(), member)->field->kind;
    if (kind == FieldKind::lid) {
      const Lid lid = co_await lid_or_exit(session, text);
      pattern.match(member, std::uint64_t{lid.value});
    } else if (kind == FieldKind::gid) {
      if (!parse_gid(text)) throw DiagsExit(EINVAL, fmt::format("Invalid SubscriberGID specified: \"{}\"\n", printable(text)));
      pattern.match(member, text);
    } else {
      char* end = nullptr;
      const unsigned long number = std::strtoul(text.c_str(), &end, 0);
      const NotGiven not_given = ones_of(find_path(pattern.form(), member)->field->bits <= 8 ? 8 : 16);
      if (end != text.c_str() && !not_given.is(number)) pattern.match(member, std::uint64_t{number});
    }
  }
}

class SaqueryDiags final : public Command {
 public:
  void diags_options(OptionSet& set, CommonOptions& common) override {
    set.without("DGLsy");
    common.sends_sa_key = true;
    set.optional_operands();
    set.words("ITEM|ARG", words_);
    set.notes(diags_item_list());
    for (const ListOption& choice : list_options) set.action(choice.spelling, choice.help, [this, &choice] { choose(choice); });
    add_path_options(
        set, [this](const std::string& text) { set_lids(text); }, [this](const std::string& text) { set_gids(text); });
    add_node_name_map(set, common);
    set.value("--smkey", "KEY", "The SM_Key of queries; anything but a number: read from the terminal.",
              [&common](const std::string& text) { common.sm_key = key_of(common, text, "SM_Key"); });
    const auto take = [this, &common](const MemberOption& option, const std::string& text) { take_member(option, text, common); };
    add_member_options(set, take);
    set.value(flow_label.spelling, "VALUE", flow_label.help(), [take](const std::string& text) { take(flow_label, text); });
  }

  async::Task<> run(Session& session, Emit& emit) override {
    read_words();
    find_port(session.stack());
    co_await session.stack().prepare_sa();
    if (list_ == ListKind::managers) {
      co_await list_managers(session.stack(), emit);
    } else if (is_about_nodes(list_)) {
      sa::Nodes nodes = co_await search_all_nodes(session, list_, first_word());
      emit_nodes(session.stack(), emit, list_, std::move(nodes));
    } else {
      co_await list_records(session, emit);
    }
  }

 private:
  std::string first_word() const { return words_.empty() ? std::string() : words_[0]; }

  /// The last option that names a list of its own counts, before any that names a kind of records. What is printed of nodes stays chosen
  /// whatever follows.
  void choose(const ListOption& choice) {
    if (choice.list == ListKind::records && choice.record != "ClassPortInfo") {
      record_ = choice.record;
      return;
    }
    command_ = &choice;
    list_ = choice.list;
    if (!is_about_nodes(choice.list)) return;
    about_nodes_ = choice.list;
    list_ = ListKind::nodes;
  }

  void read_words() {
    if (command_ == nullptr && record_.empty() && !words_.empty() && find_form(words_[0]) != nullptr) {
      record_ = find_form(words_[0])->name;
      words_.erase(words_.begin());
    }
    if (command_ != nullptr && list_ == ListKind::records) record_ = command_->record;
    check_word();
    if (list_ == ListKind::nodes) {
      list_ = about_nodes_;
    } else if (about_nodes_ == ListKind::name_of_lid || about_nodes_ == ListKind::name_of_guid) {
      words_.clear();  // a LID or GUID, and no name to the other lists
    }
  }

  /// Throws DiagsUsage if the name, LID or GUID of a node is missing or wrong.
  void check_word() const {
    const NodeKey key = node_key(about_nodes_);
    if (key == NodeKey::none) return;
    if (words_.empty())
      throw DiagsUsage(fmt::format("ERROR: {} not specified\n", key == NodeKey::name ? "name" : key == NodeKey::lid ? "lid" : "guid"));
    if (key == NodeKey::lid && static_cast<std::uint16_t>(c_number(words_[0])) == 0) throw DiagsUsage("ERROR: lid invalid\n");
  }

  void set_lids(const std::string& text) {
    auto [source, destination] = split_ends(text, ':');
    ends_ = {{"SLID", std::move(source)}, {"DLID", std::move(destination)}};
    match_all_paths();
  }

  void set_gids(const std::string& text) {
    const auto [source, destination] = split_ends(text, '-');
    add_gid("SGID", source);
    add_gid("DGID", destination);
    match_all_paths();
  }

  void add_gid(std::string_view member, const std::string& text) {
    const auto gid = parse_gid(text);
    if (!gid) throw DiagsUsage();
    gids_.erase(member);
    if (*gid != Gid{}) gids_[member] = to_text(*gid);
  }

  void match_all_paths() {
    record_ = "PathRecord";
    numbers_[std::ranges::find(member_options, "numbPath", &MemberOption::member)] = all_paths;
  }

  void take_member(const MemberOption& option, const std::string& text, const CommonOptions& common) {
    if (option.value == DiagsValue::gid) return add_gid(option.member, text);
    const bool is_key = option.value == DiagsValue::key;
    numbers_[&option] = is_key ? key_of(common, text, option.member == "PKey" ? "P_Key" : "Q_Key") : c_number(text);
  }

  async::Task<> list_records(Session& session, Emit& emit) const {
    const sa::Pattern pattern = co_await make_pattern(session);
    RecordsReport report(session.stack(), pattern);
    if (&pattern.record() == &sa::SwitchInfoRecord::info()) {
      RecordsReport info(session.stack(), sa::Pattern(mad::ClassPortInfo::info()));
      co_await fetch_records(session.stack(), info, mad::method::get);
      report.style.capability_mask2 = wire::unpack_short<mad::ClassPortInfo>(info.records.bytes[0]).capability_mask2;
    }
    co_await fetch_records(session.stack(), report, sa::list_method(pattern.record()));
    sa::Nodes nodes;
    if (list_ == ListKind::members) nodes = co_await node_table(session);
    report.style.nodes = nodes.records;
    set_form(session.manners(), report);
    emit(report);
  }

  async::Task<sa::Pattern> make_pattern(Session& session) const {
    std::vector<std::pair<std::string_view, Lid>> ends;
    for (const auto& [member, text] : ends_) {
      if (text.empty()) continue;
      const Lid lid = co_await lid_or_exit(session, text);
      ends.emplace_back(member, lid);
    }
    if (list_ == ListKind::groups || list_ == ListKind::members) co_return sa::Pattern(sa::MCMemberRecord::info());
    if (list_ == ListKind::nodes) co_return sa::Pattern(sa::NodeRecord::info());
    const RecordForm& form = *find_form(record_.empty() ? "NodeRecord" : record_);
    sa::Pattern pattern(form.info());
    const std::vector<std::string_view> arguments = split_list(form.arguments, " ");
    for (std::size_t at = 0; at < std::min(words_.size(), arguments.size()); ++at)
      co_await match_word(session, pattern, arguments[at], words_[at]);
    if (&pattern.record() != &sa::PathRecord::info() && &pattern.record() != &sa::MCMemberRecord::info()) co_return pattern;
    match_options(pattern);
    for (const auto& [member, lid] : ends) {
      if (find_path(pattern.record(), member)) pattern.match(member, std::uint64_t{lid.value});
    }
    co_return pattern;
  }

  void match_options(sa::Pattern& pattern) const {
    const auto is_member = [&](std::string_view member) { return find_path(pattern.record(), member).has_value(); };
    const bool lists_members = &pattern.record() == &sa::MCMemberRecord::info();
    for (const auto& [member, gid] : gids_) {
      if (is_member(member)) pattern.match(member, gid);
    }
    for (const auto& [option, number] : numbers_) {
      if (!is_member(option->member) || (lists_members ? option->not_given_of_member : option->not_given).is(number)) continue;
      const std::string selector = selector_of(option->member);
      if (is_member(selector)) pattern.match(selector, number >> selected_bits & 3U);
      pattern.match(option->member, number);
    }
  }

  void set_form(Manners& manners, RecordsReport& report) const {
    const std::string word = first_word();
    report.form = &form_of(report.pattern.record());
    if (list_ == ListKind::nodes && !words_.empty()) {
      report.shown = [&manners, word](Bytes record) {
        return is_whole_name(word, wire::unpack_short<sa::NodeRecord>(record), manners.node_name_map());
      };
    } else if (list_ == ListKind::groups) {
      report.form = &special_form(SpecialForm::mc_group);
    } else if (list_ == ListKind::members) {
      report.form = &special_form(words_.empty() ? SpecialForm::mc_member : SpecialForm::mc_gid);
      const std::uint64_t mlid = c_number(word);
      if (!words_.empty())
        report.shown = [mlid](Bytes member) { return wire::unpack_short<sa::MCMemberRecord>(member).mlid.value == mlid; };
    } else if (&report.pattern.record() == &sa::PortInfoRecord::info()) {
      const FieldInfo& port_info = *find_path(sa::PortInfoRecord::info(), "portInfo")->field;
      for (const Bytes record : report.records.bytes) warn_of_link_width(manners, field_bytes(record, port_info));
    }
  }

  std::vector<std::string> words_;
  std::string record_;                                          ///< the name of the kind of records
  const ListOption* command_{};                                 ///< the last option that names a list of its own
  ListKind list_ = ListKind::records;                           ///< that list
  ListKind about_nodes_ = ListKind::nodes;                      ///< what is printed of nodes, by the last option that says so
  std::vector<std::pair<std::string_view, std::string>> ends_;  ///< the ends of a path by their members: LIDs or names of nodes
  std::map<std::string_view, std::string> gids_;                ///< by their members
  std::map<const MemberOption*, std::uint64_t> numbers_;
};

}  // namespace

void exit_for(const StructInfo& record, const mad::MadError& error) {
  const bool was_not_read = dynamic_cast<const mad::NotRead*>(&error) != nullptr;
  const int status = !was_not_read && error.reply().empty() ? ETIMEDOUT : EIO;
  std::string text = fmt::format("Query SA failed: {}\n", status == ETIMEDOUT ? std::strerror(status) : error.message());
  // Without a status the answer is for another query.
  if (!was_not_read && !error.reply().empty() && error.status() != 0) text = status_line(error.status());
  if (&record == &mad::ClassPortInfo::info()) text += "Failed to query SA:ClassPortInfo\n";
  throw DiagsExit(status, std::move(text));
}

std::unique_ptr<Command> make_saquery_diags() { return std::make_unique<SaqueryDiags>(); }

}  // namespace ib::tools::saquery
