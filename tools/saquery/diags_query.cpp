// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/saquery/diags_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>

#include "base/escape.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "mad/rpc.hpp"
#include "tools/shared/attribute_text.hpp"

namespace ib::tools::saquery {
namespace {

std::string diags_item_list() {
  std::string text = "ITEM is a kind of records by name or short name, NodeRecord by default; ARG says of which LID, port and so on:\n";
  for (const RecordForm& form : record_forms())
    text += fmt::format("  {} {}{}{}\n", form.name, form.alias, form.arguments.empty() ? "" : "  ", form.arguments);
  return text + "For -L, -l, -G, -O, -U, -N and -m the operand is a name, LID or GUID.";
}

/// A key. If `text` does not begin with a hexadecimal digit, the key is requested on the terminal.
std::uint64_t key_of(const CommonOptions& common, const std::string& text, std::string_view prompt) {
  if (std::isxdigit(static_cast<unsigned char>(text[0])) != 0) return c_number(text);
  return c_number(ask_unseen(*common.world, prompt));
}

bool is_about_nodes(List list) { return list >= List::lids && list <= List::adapters; }

/// Removes the text up to the first `at` and returns it without `at`. Without an `at`, this is the whole text.
std::string_view take_until(std::string_view& text, char at) {
  const std::size_t end = std::min(text.find(at), text.size());
  const std::string_view first = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return first;
}

/// The texts before and after the first `between`, which must be there.
std::pair<std::string, std::string> two_ends(const std::string& text, char between) {
  const std::size_t at = text.find(between);
  if (at == std::string::npos) throw DiagsUsage();
  return {text.substr(0, at), text.substr(at + 1)};
}

[[noreturn]] void refuse_port(const Session& session, std::string_view complaint, int code) {
  session.diags_warning("sa_get_handle", complaint);
  throw DiagsPanic({"main", "Failed to bind to the SA"}, code);
}

/// If there is no end port, or no subnet manager knows it, no SA is found.
void find_port(Session& session) {
  const std::string port = fmt::format("{}:{}", session.options().device ? "" : "(null)", session.diags_port_number());
  bool found = false;
  try {
    found = session.end_port().sm_lid != Lid{};
  } catch (const UsageError&) {
    // No such port: it has no SA either.
  } catch (const Error&) {
    // No device at all.
  }
  // libibumad looks for a device of its own choice, and to find none is no error of the system.
  const bool has_none = !session.options().device && session.devices().devices().empty();
  if (!found) refuse_port(session, fmt::format("No SM/SA found on port {}", port), has_none ? 0 : ENOENT);
  if (const std::optional<int> failure = session.open_failure())
    refuse_port(session, fmt::format("umad_open_port on port {} failed", port), *failure);
}

/// CapabilityMask2 of the SA. The fields of a SwitchInfo depend on it.
async::Task<std::uint32_t> capability_mask2(const Ask& ask) {
  FormedReport info = ask.report(sa::Pattern(mad::ClassPortInfo::info()));
  co_await ask.fetch(info, mad::method::get);
  co_return wire::unpack_short<mad::ClassPortInfo>(info.records.bytes[0]).capability_mask2;
}

/// Matches `members`, "to_lid/to_port", with the parts of `word`.
async::Task<> match_word(const Ask& ask, sa::Pattern& pattern, std::string_view members, std::string_view word) {
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

}  // namespace

void DiagsQuery::options(DiagsOptions& set) {
  set.without("DGLsy");
  set.sends_sa_key();
  set.optional_operands();
  set.words("ITEM|ARG", words_);
  set.notes(diags_item_list());
  for (const Choice& choice : choices) set.action(choice.diags_name, choice.names[1], choice.help, [this, &choice] { choose(choice); });
  set.value("src-to-dst", 0, "SRC:DST", "The paths between two LIDs or names of nodes",
            [this](const std::string& text) { set_lids(text); });
  set.value("sgid-to-dgid", 0, "SGID-DGID", "The paths between two GIDs", [this](const std::string& text) { set_gids(text); });
  set.node_name_map();
  CommonOptions& common = set.common();
  set.value("smkey", 0, "KEY", "The SM_Key of queries; what is no number asks for it.",
            [&common](const std::string& text) { common.sm_key = key_of(common, text, "SM_Key"); });
  for (const MemberOption& option : member_options) {
    if (option.diags_name.empty()) continue;
    set.value(option.diags_name, option.letter, "VALUE", option.help(),
              [this, &option, &common](const std::string& text) { take_member(option, text, common); });
  }
}

async::Task<> DiagsQuery::run(Session& session, Emit& emit) {
  const Ask ask{session, emit, true};
  read_words();
  find_port(session);
  co_await session.prepare_sa();
  if (session.options().debug > 1 && !session.options().from) session.rpc().set_tracer(&dump_.emplace(emit.text(), session.options().keys));
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

/// The last option that names a list of its own counts, before any that names a kind of records. What is printed of nodes stays chosen
/// whatever follows.
void DiagsQuery::choose(const Choice& choice) {
  if (choice.list == List::records && choice.record != "ClassPortInfo") {
    record_ = choice.record;
    return;
  }
  command_ = &choice;
  list_ = choice.list;
  if (!is_about_nodes(choice.list)) return;
  about_nodes_ = choice.list;
  list_ = List::nodes;
}

void DiagsQuery::read_words() {
  if (command_ == nullptr && record_.empty() && !words_.empty() && find_form(words_[0]) != nullptr) {
    record_ = find_form(words_[0])->name;
    words_.erase(words_.begin());
  }
  if (command_ != nullptr && list_ == List::records) record_ = command_->record;
  check_word(about_nodes_, first_word(), true);
  if (list_ == List::nodes) {
    list_ = about_nodes_;
  } else if (about_nodes_ == List::name_of_lid || about_nodes_ == List::name_of_guid) {
    words_.clear();  // a LID or GUID, and no name to the other lists
  }
}

void DiagsQuery::set_lids(const std::string& text) {
  auto [source, destination] = two_ends(text, ':');
  ends_ = {{"SLID", std::move(source)}, {"DLID", std::move(destination)}};
  match_all_paths();
}

void DiagsQuery::set_gids(const std::string& text) {
  const auto [source, destination] = two_ends(text, '-');
  add_gid("SGID", source);
  add_gid("DGID", destination);
  match_all_paths();
}

void DiagsQuery::add_gid(std::string_view member, const std::string& text) {
  const auto gid = parse_gid(text);
  if (!gid) throw DiagsUsage();
  gids_.erase(member);
  if (*gid != Gid{}) gids_[member] = to_text(*gid);
}

void DiagsQuery::match_all_paths() {
  record_ = "PathRecord";
  numbers_[std::ranges::find(member_options, "numbPath", &MemberOption::member)] = all_paths;
}

void DiagsQuery::take_member(const MemberOption& option, const std::string& text, const CommonOptions& common) {
  switch (option.value) {
    case Value::gid:
      add_gid(option.member, text);
      break;
    case Value::key:
      numbers_[&option] = key_of(common, text, option.member == "PKey" ? "P_Key" : "Q_Key");
      break;
    case Value::number:
      numbers_[&option] = c_number(text);
  }
}

async::Task<> DiagsQuery::list_records(const Ask& ask) const {
  const sa::Pattern pattern = co_await make_pattern(ask);
  FormedReport report = ask.report(pattern), nodes = ask.report(sa::Pattern(sa::NodeRecord::info()));
  if (&pattern.record() == &sa::SwitchInfoRecord::info()) {
    const std::uint32_t mask = co_await capability_mask2(ask);
    report.style.capability_mask2 = mask;
  }
  co_await ask.fetch(report, sa::list_method(pattern.record()));
  if (list_ == List::members) co_await ask.fetch(nodes);
  report.style.nodes = &nodes.records;
  set_form(ask.session, report);
  ask.emit(report);
}

async::Task<sa::Pattern> DiagsQuery::make_pattern(const Ask& ask) const {
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
    co_await match_word(ask, pattern, members, words_[at]);
  }
  if (&pattern.record() != &sa::PathRecord::info() && &pattern.record() != &sa::MCMemberRecord::info()) co_return pattern;
  match_options(pattern);
  for (const auto& [member, lid] : ends) {
    if (find_path(pattern.record(), member)) pattern.match(member, std::uint64_t{lid.value});
  }
  co_return pattern;
}

void DiagsQuery::match_options(sa::Pattern& pattern) const {
  const auto is_member = [&](std::string_view member) { return find_path(pattern.record(), member).has_value(); };
  const bool asks_members = &pattern.record() == &sa::MCMemberRecord::info();
  for (const auto& [member, gid] : gids_) {
    if (is_member(member)) pattern.match(member, gid);
  }
  for (const auto& [option, number] : numbers_) {
    if (!is_member(option->member) || (asks_members ? option->not_given_of_member : option->not_given).is(number)) continue;
    const std::string selector = selector_of(option->member);
    if (is_member(selector)) pattern.match(selector, number >> selected_bits & 3U);
    pattern.match(option->member, number);
  }
}

/// Sets the form in which the records are printed, and the selection of records.
void DiagsQuery::set_form(Session& session, FormedReport& report) const {
  const std::string word = first_word().value_or("");
  report.form = &form_of(report.pattern.record());
  if (list_ == List::nodes && !words_.empty()) {
    report.shown = [&session, word](Bytes node) { return is_called(session, wire::unpack_short<sa::NodeRecord>(node), word); };
  } else if (list_ == List::groups) {
    report.form = &mc_group_form;
  } else if (list_ == List::members) {
    report.form = words_.empty() ? &mc_member_form : &mc_gid_form;
    const std::uint64_t mlid = c_number(word);
    if (!words_.empty()) report.shown = [mlid](Bytes member) { return wire::unpack_short<sa::MCMemberRecord>(member).mlid.value == mlid; };
  } else if (&report.pattern.record() == &sa::PortInfoRecord::info()) {
    constexpr std::size_t port_info_at = 4;
    for (const Bytes record : report.records.bytes) warn_of_link_width(session, record.subspan(std::min(port_info_at, record.size())));
  }
}

}  // namespace ib::tools::saquery
