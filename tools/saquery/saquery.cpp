// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery in ibtool's dialect: prints the records of the subnet administrator that match a pattern of member values.
#include "tools/saquery/saquery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <utility>

#include "base/escape.hpp"
#include "base/split.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "report/field_columns.hpp"
#include "sa/pattern.hpp"
#include "subnet/model/name_search.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/run.hpp"
#include "tools/frame/targets.hpp"
#include "tools/shared/attribute_text.hpp"

namespace ib::tools::saquery {

std::string MemberOption::help() const {
  std::string records;
  for (const QueryInfo& type : sa::record_types()) {
    const auto ref = find_path(*type.info, member);
    if (!type.classic || !ref || ref->field->iba_name != member) continue;
    records += (records.empty() ? "" : ", ") + std::string(type.name);
  }
  return fmt::format("{} of {}", member, records);
}

namespace {

std::string item_list() {
  std::string text =
      "Queries the subnet administrator for the records ITEM whose members have\n"
      "the values that ARG and MEMBER=VALUE say. ITEM and ARG are one of\n";
  for (const QueryInfo& type : sa::record_types()) {
    text += fmt::format("    {}{}{}{}{}\n", type.name, type.alias.empty() ? "" : " ", type.alias, type.argument.empty() ? "" : "  ",
                        type.argument);
  }
  return text + "A LID may be given as any TARGET, such as the name of its node, or a pattern\nof names: leaf[01-04].";
}

const QueryInfo& record_type(std::string_view word) { return sa::find_record_type(word, "ibtool help saquery"); }

std::vector<std::string> member_assignments(const std::string& item) {
  std::vector<std::string> words;
  for (const sa::Component& component : sa::components(sa::Pattern(*record_type(item).info).form())) {
    if (!component.reserved) words.push_back(component.member + "=");
  }
  return words;
}

std::vector<report::Column<Bytes>> record_columns(const StructInfo& type, Keys keys) {
  return report::field_columns<Bytes>({{&type}, keys}, [&type](Bytes record) { return report::LaidOut{&type, record}; });
}

using Assignments = std::vector<std::pair<std::string, std::string>>;

void match_option(sa::Pattern& pattern, const std::string& member, const std::string& text) {
  const auto number = parse_number(text);
  if (number && *number >> selected_bits != 0 && *number <= 0xff && find_path(pattern.form(), selector_of(member))) {
    pattern.match(selector_of(member), *number >> selected_bits);
    pattern.match(member, *number & ((1U << selected_bits) - 1));
  } else {
    pattern.match(member, text);
  }
}

/// The nodes with the name `name`: the whole description, else what the name means as a target (the best matches).
async::Task<sa::Nodes> named(Session& session, std::string name) {
  if (session.manners().node_name_map().empty() && name.size() <= smp::NodeDescription::wire_size) {
    sa::Nodes nodes = co_await sa::find_nodes_by_name(session.stack().transactor(), name);
    if (!nodes.records.empty()) co_return nodes;
  }
  mad::Result<sa::Nodes> nodes = co_await session.targets().nodes_called(std::move(name));
  co_return std::move(nodes).take();
}

/// The names in the SA's table that are like `name`, as a question.
async::Task<std::string> near_to(Targets& targets, std::string name) {
  const mad::Result<sa::Nodes> table = co_await targets.node_table();
  std::vector<std::string> names;
  if (!table) co_return "";
  for (const sa::NodeRecord& node : table->records) names.push_back(description_of(node));
  co_return subnet::nearest_names(name, names);
}

/// The nodes of `list` by one or two queries of the SA. `word` is the name, LID or GUID. Throws Error if there is no such node.
async::Task<sa::Nodes> find_nodes(Session& session, ListKind list, std::string word) {
  mad::Transactor& transactor = session.stack().transactor();
  if (list == ListKind::adapters) co_return co_await sa::find_nodes(transactor, "nodeInfo.nodeType", "1");
  sa::Nodes nodes;
  std::string near;
  if (list == ListKind::name_of_lid) {
    nodes = co_await sa::find_nodes(transactor, "LID", word);
  } else if (list == ListKind::name_of_guid) {
    nodes = co_await sa::find_nodes(transactor, "nodeInfo.portGUID", word);
    if (nodes.records.empty()) nodes = co_await sa::find_nodes(transactor, "nodeInfo.nodeGUID", word);
  } else {
    nodes = co_await named(session, word);
    if (nodes.records.empty()) near = co_await near_to(session.targets(), word);
  }
  if (nodes.records.empty()) throw Error(fmt::format("The SA knows no node {}{}", in_quotes(word), near));
  co_return nodes;
}

/// The LID that `text` means: a number, or a target (Targets::path()). Empty if it can be neither. Throws UsageError for a name that no
/// node has, or several.
async::Task<std::optional<Lid>> lid_of(Session& session, std::string text) {
  if (const auto lid = parse_lid(text)) co_return *lid;
  if (std::ranges::none_of(text, [](unsigned char c) { return std::isalpha(c) != 0 || c == ':'; })) co_return std::nullopt;
  path::Path path = co_await session.targets().path(std::move(text));
  if (!path.ib().dlid.is_unicast() || path.directed() != nullptr) path = co_await session.stack().gmp_path(&path);
  co_return path.ib().dlid;
}

/// SRC:DST of --src-to-dst, where either end may have colons of its own: a GUID, or the name of a node. An empty word is any end.
struct TwoEnds {
  std::string source, destination;
};

/// How well `word` names an end: 2 as an address or whole words of a name, 1 as a piece of a name, 0 not at all.
async::Task<int> fit_of(Targets& targets, std::string word, bool may_sweep) {
  constexpr std::size_t guid_colons = 3, guid_size = 19;
  if (word.empty()) co_return 2;
  // A GUID has four digits in each group here: 3:0000:0000:0000 is not a GUID, but a LID and the beginning of a GUID.
  if (std::ranges::count(word, ':') == guid_colons && word.size() < guid_size) co_return 0;
  const Targets::Meaning meaning = co_await targets.meaning(std::move(word), may_sweep);
  co_return !meaning.path ? 0 : meaning.is_exact ? 2 : 1;
}

/// Divides `text`, which has a colon, where both parts fit, and fit best. Throws UsageError if there is no such division, or several.
async::Task<TwoEnds> two_ends(Targets& targets, std::string text) {
  std::vector<TwoEnds> divisions, found;
  for (std::size_t at = text.find(':'); at != std::string::npos; at = text.find(':', at + 1))
    divisions.push_back({text.substr(0, at), text.substr(at + 1)});
  if (divisions.size() == 1) co_return divisions.front();  // what is wrong with an end is said where it is used
  for (const bool may_sweep : {false, true}) {
    if (!found.empty()) break;
    int best = 1;
    for (const TwoEnds& ends : divisions) {
      const int source = co_await fit_of(targets, ends.source, may_sweep);
      if (source < 1) continue;
      const int destination = co_await fit_of(targets, ends.destination, may_sweep);
      const int fit = std::min(source, destination);
      if (fit > best) found.clear();
      best = std::max(best, fit);
      if (fit == best) found.push_back(ends);
    }
  }
  if (found.empty())
    throw UsageError(
        fmt::format("--src-to-dst: {} has no colon with a target on either side (a LID, a GUID or the name of a node)", in_quotes(text)));
  if (found.size() == 1) co_return found.front();
  std::string list;
  for (const TwoEnds& ends : found) add_part(list, fmt::format("{} to {}", in_quotes(ends.source), in_quotes(ends.destination)), ", or ");
  throw UsageError(fmt::format("--src-to-dst: {} can be divided in several ways: {}: give LIDs", in_quotes(text), list));
}

class Saquery final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.optional_operands();
    set.operand("ITEM", [this](std::string_view word) { words_.emplace_back(word); });
    set.offer(sa::record_types(), &QueryInfo::name);
    set.words("ARG|MEMBER=VALUE", words_);
    set.offer([this] { return words_.empty() ? std::vector<std::string>() : member_assignments(words_.front()); });
    set.notes(item_list());
    for (const ListOption& choice : list_options) {
      set.action(choice.spelling, choice.help, [this, &choice] {
        choose(choice.spelling.names, choice.record, choice.record.empty() ? choice.list : ListKind::records);
      });
    }
    set.flag("--get", get_, "Query by SubnAdmGet, for the only record that matches.");
    set.flag("--no-defaults", no_defaults_, "Match what is given and nothing more: paths from anywhere, no selectors.");
    add_path_options(
        set,
        [this](std::string_view text) {
          check_ends("--src-to-dst", text, ':');
          source_to_destination_ = text;
        },
        [this](std::string_view text) {
          const std::size_t at = check_ends("--sgid-to-dgid", text, '-');
          ends_ = {{"SGID", std::string(text.substr(0, at))}, {"DGID", std::string(text.substr(at + 1))}};
        });
    const auto take = [this](const MemberOption& option, std::string_view text) { by_option_.emplace_back(option.member, text); };
    add_member_options(set, take);
    for (const std::string_view names : {"-f --flow_label --flow-label", "-F"})
      set.value(names, "VALUE", flow_label.help(), [take](std::string_view text) { take(flow_label, text); });
    add_table_options(set, common, table_, [this] { return column_keys(); });
    add_common(set, common, group_fabric);
  }

  std::string_view table_rows() const override {
    return list_ == ListKind::records ? "records" : list_ == ListKind::managers ? "" : "nodes";
  }

  async::Task<> run(Session& session, Emit& emit) override {
    if (list_ != ListKind::records) check_look_up();
    session.stack().require_sa();
    co_await session.stack().prepare_sa();
    if (list_ == ListKind::records) {
      co_await list_each(session, emit);
    } else if (list_ == ListKind::managers) {
      if (table_.given()) throw UsageError(fmt::format("{} prints two lists: --format, --columns, --sort and --top are for one", chosen_));
      co_await list_managers(session.stack(), emit);
    } else {
      sa::Nodes nodes = co_await find_nodes(session, list_, first_word());
      if (nodes.torn) session.host().log().warning(torn_text(nodes.records.size()));
      emit_nodes(session.stack(), emit, list_, std::move(nodes), table_);
    }
  }

 private:
  /// The option `names` selects the list. Throws OptionError if another option has selected another list.
  void choose(std::string_view names, std::string_view record, ListKind list) {
    if (!chosen_.empty() && (record != record_ || list != list_))
      throw OptionError(fmt::format("{} and {} contradict each other", chosen_, names));
    chosen_ = names;
    record_ = record;
    list_ = list;
  }

  std::vector<std::string> column_keys() const {
    if (list_ == ListKind::managers) return {};
    if (list_ != ListKind::records) return node_list_keys();
    return keys_of(record_columns(sa::Pattern(*record_type(item()).info).answer(), Keys::hidden));
  }

  std::string item() const { return !record_.empty() ? record_ : words_.empty() ? "NodeRecord" : words_.front(); }

  /// The part of ARG or MEMBER=VALUE that is a LID, which a name may replace; empty if there is no LID.
  std::string lid_part(const std::string& word) const {
    const QueryInfo& type = record_type(item());
    std::vector<std::string> words{word};
    Assignments members = sa::take_assignments(words);
    for (const auto& [member, value] : sa::take_argument(type, words)) members.emplace_back(member, value);
    const auto place = members.empty() ? std::nullopt : find_path(sa::Pattern(*type.info).form(), members.front().first);
    return place && place->field->kind == FieldKind::lid ? members.front().second : "";
  }

  std::string first_word() const { return words_.empty() ? "" : words_[0]; }

  /// Chooses the list of paths. Returns where `between` first stands in `text`.
  std::size_t check_ends(std::string_view option, std::string_view text, char between) {
    choose(option, "PathRecord", ListKind::records);
    const std::size_t at = text.find(between);
    if (at == std::string_view::npos) throw OptionError(fmt::format("'{}' has no '{}' between the two ends", escaped(text), between));
    return at;
  }

  void check_look_up() const {
    const NodeKey key = node_key(list_);
    if (key != NodeKey::none && first_word().empty())
      throw UsageError(fmt::format("No {} is given", key == NodeKey::name ? "node name" : key == NodeKey::lid ? "LID" : "GUID"));
    std::string others;
    for (std::size_t i = 1; i < words_.size(); ++i) add_part(others, in_quotes(words_[i]));
    if (!others.empty()) throw UsageError(fmt::format("Arguments [{}] are not understood.", others));
    if (get_ || no_defaults_ || !by_option_.empty())
      throw UsageError(fmt::format("{} takes no values of members, and neither --get nor --no-defaults", chosen_));
  }

  /// The records; where a word has a pattern of names in the place of a LID, of one node after the other.
  async::Task<> list_each(Session& session, Emit& emit) {
    const auto has_pattern = [this](const std::string& word) { return subnet::NameWord(lid_part(word)).is_pattern(); };
    const auto first = words_.begin() + (record_.empty() && !words_.empty() ? 1 : 0);
    const auto word = std::find_if(first, words_.end(), has_pattern);
    if (word == words_.end()) {
      co_await list_records(session, emit);
      co_return;
    }
    if (std::find_if(word + 1, words_.end(), has_pattern) != words_.end()) throw UsageError("one word may be a pattern of names, not two");
    const std::string whole = *word, pattern = lid_part(*word);
    const std::size_t begin = whole.find(pattern);
    mad::Result<sa::Nodes> found = co_await session.targets().nodes_called(pattern);
    sa::Nodes nodes = std::move(found).take();
    if (nodes.records.empty()) throw UsageError(fmt::format("no node's name fits {}", in_quotes(pattern)));
    std::ranges::stable_sort(nodes.records, {}, description_of);
    std::vector<NamedPath> targets;
    for (const sa::NodeRecord& node : nodes.records) {
      path::IbPath path;
      path.dlid = node.lid;
      targets.push_back({path, description_of(node)});
    }
    emit.set_table_rows(table_rows(), true);
    const WorkOnNode list_of = [&](const NamedPath& node) {
      *word = fmt::format("{}{}{}", whole.substr(0, begin), node.path.ib().dlid.value, whole.substr(begin + pattern.size()));
      return list_records(session, emit);
    };
    co_await run_for_each(targets, list_of, session, emit);
  }

  async::Task<> list_records(Session& session, Emit& emit) {
    const sa::Pattern pattern = co_await make_pattern(session);
    if (session.host().options().error_level() >= 1) announce(pattern, session.host().options().keys, emit);
    const std::uint8_t method = get_ ? mad::method::get : sa::list_method(pattern.record());
    RecordsReport report(session.stack(), pattern);
    report.single = method == mad::method::get;
    co_await fetch_records(session.stack(), report, method);
    if (report.records.bytes.empty() && !emit.json()) session.host().note("0 records");
    if (table_.given()) {
      const Keys keys = session.host().options().keys;
      report.table.emplace("records", report::Table<Bytes>(record_columns(pattern.answer(), keys), table_),
                           std::vector<Bytes>(report.records.bytes.begin(), report.records.bytes.end()));
    }
    emit(report);
  }

  async::Task<sa::Pattern> make_pattern(Session& session) {
    std::vector<std::string> words = words_;
    const QueryInfo& type = record_type(item());
    if (!words.empty() && (record_.empty() || sa::names_record(words[0], *type.info))) words.erase(words.begin());  // ITEM itself
    const Assignments assignments = sa::take_assignments(words);
    const std::string first = words.empty() ? "" : in_quotes(words[0]);
    const auto arguments = sa::take_argument(type, words);
    if (!words.empty())
      throw UsageError(
          fmt::format("{} takes no word {} here: a member is given as MEMBER=VALUE (ibtool help saquery)", type.name, in_quotes(words[0])));
    sa::Pattern pattern(*type.info);
    const std::string mismatch = fmt::format("Argument {} did not match {}", first, type.argument);
    for (const auto& [member, text] : arguments) co_await match_member(session, pattern, member, text, mismatch);
    Assignments between = ends_;
    if (source_to_destination_) {
      TwoEnds ends = co_await two_ends(session.targets(), *source_to_destination_);
      between = {{"SLID", std::move(ends.source)}, {"DLID", std::move(ends.destination)}};
    }
    for (const auto& [member, text] : between) {
      const std::string unknown = fmt::format("{} is neither an address nor the name of a node", in_quotes(text));
      if (!text.empty()) co_await match_member(session, pattern, member, text, unknown);
    }
    for (const auto& [member, text] : assignments) co_await match_member(session, pattern, member, text, "");
    for (const auto& [member, text] : by_option_) match_option(pattern, member, text);
    if (!no_defaults_) set_defaults(pattern, session.host().end_port());
    co_return pattern;
  }

  /// The name of a node can take the place of a LID. Throws UsageError for a value that the member cannot have: `complaint`, or what
  /// sa::Pattern says if it is empty.
  static async::Task<> match_member(Session& session, sa::Pattern& pattern, std::string_view member, std::string text,
                                    std::string complaint) {
    const auto place = find_path(pattern.form(), member);
    std::optional<Lid> lid;
    if (place && place->field->kind == FieldKind::lid) lid = co_await lid_of(session, text);
    try {
      lid ? pattern.match(member, std::uint64_t{lid->value}) : pattern.match(member, text);
    } catch (const UsageError&) {
      if (complaint.empty()) throw;
      throw UsageError(complaint);
    }
  }

  void set_defaults(sa::Pattern& pattern, const sys::EndPort& port) const {
    pattern.complete_selectors();
    const StructInfo& path = sa::PathRecord::info();
    if (get_ || (&pattern.form() != &path && &pattern.answer() != &path)) return;
    if (&pattern.record() == &path && !pattern.matches_on("numbPath")) pattern.match("numbPath", ends_.empty() ? 1 : all_paths);
    // A query for paths must have a source (IBA 15.2.5.16): a LID or a GID.
    if (!pattern.matches_on("SGID") && !pattern.matches_on("SLID")) pattern.match("SGID", to_text(port.default_gid()));
  }

  static void announce(const sa::Pattern& pattern, Keys keys, Emit& emit) {
    const auto matches = pattern.matches();
    if (matches.empty()) return;
    emit.heading(fmt::format("Performing query on {} with component mask:", pattern.record().iba_name));
    for (const auto& match : matches) {
      const bool hidden = match.secret && keys == Keys::hidden;
      emit.heading(fmt::format("  {:2} {} = {}", match.component.bit, match.component.member, hidden ? hidden_text : match.shown));
    }
  }

  std::vector<std::string> words_;
  std::string record_;  ///< the name of the kind of records
  ListKind list_ = ListKind::records;
  std::string_view chosen_;  ///< the option that selected the list
  bool get_{}, no_defaults_{};
  std::optional<std::string> source_to_destination_;  ///< SRC:DST
  Assignments ends_;                                  ///< the ends of a path: LIDs, names of nodes or GIDs
  TableOptions table_;
  Assignments by_option_;
};

}  // namespace
}  // namespace ib::tools::saquery

namespace ib::tools {

constinit const CommandInfo rooms::saquery{
    .name = "saquery",
    .group = HelpGroup::sa,
    .summary = "Print records of the subnet administrator: nodes, ports, paths, groups, services.",
    .make = make_command<saquery::Saquery>,
    .make_diags = saquery::make_saquery_diags,
};

}  // namespace ib::tools
