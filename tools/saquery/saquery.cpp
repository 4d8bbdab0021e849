// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery: the records of the subnet administrator that match a pattern of member values.
#include "tools/saquery/saquery.hpp"

#include <fmt/format.h>

#include <cctype>
#include <utility>

#include "base/escape.hpp"
#include "iba-gen/sa.hpp"
#include "iba/dump.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "sa/record_types.hpp"
#include "tools/diags/tools.hpp"
#include "tools/frame/commands.hpp"
#include "tools/shared/records_report.hpp"

namespace ib::tools::saquery {
namespace {

struct KindOption {
  std::string_view letter;
  std::string_view type;
};
constexpr KindOption kind_options[] = {
    {"-p", "PathRecord"}, {"-N", "NodeRecord"},    {"-g", "MCMemberRecord"}, {"-m", "MCMemberRecord"},
    {"-x", "LinkRecord"}, {"-c", "ClassPortInfo"}, {"-S", "ServiceRecord"},  {"-I", "InformInfoRecord"},
};

struct MemberOption {
  std::string_view names, member;
};
constexpr MemberOption member_options[] = {
    {"--dlid", "DLID"},
    {"--slid", "SLID"},
    {"--mlid", "MLID"},
    {"--sgid", "SGID"},
    {"--dgid", "DGID"},
    {"--gid", "portGID"},
    {"--mgid", "MGID"},
    {"-r --reversible", "reversible"},
    {"-n --numb_path --numb-path", "numbPath"},
    {"--pkey", "PKey"},
    {"-Q --qos_class --qos-class", "QOSClass"},
    {"--sl", "SL"},
    {"-M --mtu", "MTU"},
    {"-R --rate", "rate"},
    {"--pkt_lifetime --pkt-lifetime", "packetLifeTime"},
    {"-q --qkey", "QKey"},
    {"-T --tclass", "TClass"},
    {"-f --flow_label --flow-label", "flowLabel"},
    {"-F", "flowLabel"},
    {"-H --hop_limit --hop-limit", "hopLimit"},
    {"--scope", "scope"},
    {"-J --join_state --join-state", "joinState"},
    {"-X --proxy_join --proxy-join", "proxyJoin"},
    {"--service_id --service-id", "serviceID"},
};

/// `Use with: PathRecord, MCMemberRecord`.
std::string member_help(std::string_view member) {
  std::string records;
  for (const sa::RecordType& type : sa::record_types()) {
    const auto ref = find_path(type.info(), member);
    if (!type.classic || !ref || ref->field->iba_name != member) continue;
    records += (records.empty() ? "" : ", ") + std::string(type.name);
  }
  return fmt::format("Match using the {} member. Use with: {}", member, records);
}

std::string item_list() {
  std::string text =
      "Asks the subnet administrator for the records ITEM whose members have\n"
      "the values that ARG and MEMBER=VALUE say. ITEM and ARG are one of\n";
  for (const sa::RecordType& type : sa::record_types())
    text += fmt::format("    {}{}{}  {}\n", type.name, type.alias.empty() ? "" : " ", type.alias, type.argument);
  return text + "A LID may be given as the name of its node.";
}

using Assignments = std::vector<std::pair<std::string, std::string>>;

/// Takes the MEMBER=VALUE words from the end.
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
std::string list_text(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + quoted(word);
  return "[" + text + "]";
}

/// Some values go with a selector, which infiniband-diags takes in the two bits above them.
void match_option(sa::Pattern& pattern, const std::string& member, const std::string& text) {
  constexpr std::uint64_t value_bits = 6;
  const std::string selector = member + "Selector";
  const auto number = parse_number(text);
  if (number && *number >> value_bits != 0 && *number <= 0xff && find_path(pattern.form(), selector)) {
    pattern.match(selector, *number >> value_bits);
    pattern.match(member, *number & ((1U << value_bits) - 1));
  } else {
    pattern.match(member, text);
  }
}

class Saquery final : public Command {
 public:
  void options(OptionSet& set, CommonOptions& common) override {
    set.usage("[ITEM] [ARG] [MEMBER=VALUE]...", 0, any_number);
    set.notes(item_list());
    for (const KindOption& kind : kind_options)
      set.action(kind.letter, fmt::format("Perform a query for {}", kind.type),
                 [this, &kind] { type_ = &sa::find_record_type(kind.type); });
    add_lookups(set);
    set.flag("--get", get_, "Use a SubnAdmGet() method instead of SubnAdmGetTable()");
    set.flag("--no-defaults", no_defaults_, "Do not set default values for any queries");
    set.value("--src-to-dst", "SRC:DST", "Get the paths between two LIDs or node names.",
              [this](std::string_view text) { set_ends(text, ':', "SLID", "DLID"); });
    set.value("--sgid-to-dgid", "SGID-DGID", "Get the paths between two GIDs.",
              [this](std::string_view text) { set_ends(text, '-', "SGID", "DGID"); });
    for (const MemberOption& option : member_options)
      set.value(option.names, "MATCH", member_help(option.member),
                [this, &option](std::string_view text) { by_option_.emplace_back(option.member, text); });
    add_common(set, common, group_fabric);
  }

  async::Task<> run(Session& session, Emit& emit) override {
    session.read_operands({}, 0, OperandKind::word);
    co_await session.prepare_sa();
    if (lookup_ != Lookup::none) {
      const auto& words = session.operands();
      if (words.size() > 1) throw UsageError(fmt::format("Arguments {} are not understood.", list_text({words.begin() + 1, words.end()})));
      std::string word = words.empty() ? "" : words[0];
      co_await look_up(session, emit, lookup_, std::move(word));
      co_return;
    }
    RecordsReport report(co_await make_pattern(session));
    if (session.options().error_level() >= 1) announce(report.pattern, session.options().keys, emit);
    const CommonOptions& options = session.options();
    report.names = options.int_names || options.error_level() >= 2 ? RecordNames::internal : RecordNames::saquery;
    report.keys = options.keys;
    const std::uint8_t method = get_ ? mad::method::get : sa::list_method(report.pattern.record());
    report.single = method == mad::method::get;
    report.records.type = &report.pattern.answer();
    mad::Transactor& transactor = session.transactor();
    mad::Result<sa::Records> records = co_await sa::try_records(transactor, transactor.sa_path(), report.pattern, method);
    if (records) {
      report.records = std::move(*records);
    } else {
      report.none = sa::is_no_records(records.error());
      if (!report.none) records.error().raise();
    }
    tell_if_cut(session, report.records);
    emit(report);
  }

 private:
  void add_lookups(OptionSet& set) {
    const auto add = [&](std::string_view names, Lookup lookup, std::string_view help) {
      set.action(names, help, [this, lookup] { lookup_ = lookup; });
    };
    add("-L", Lookup::lids, "Return the LIDs of the node named by the operand");
    add("-l", Lookup::one_lid, "Return the first LID of the node named by the operand");
    add("-G", Lookup::guids, "Return the port GUIDs of the node named by the operand");
    add("-O", Lookup::name_of_lid, "Return the name of the node whose LID is the operand");
    add("-U", Lookup::name_of_guid, "Return the name of the node whose port or node GUID is the operand");
    add("-D --list", Lookup::adapters, "List the names of all channel adapters");
    add("-s", Lookup::managers, "List the ports at which a subnet manager runs or is disabled");
  }

  void set_ends(std::string_view text, char between, std::string_view source, std::string_view destination) {
    const std::size_t at = text.find(between);
    if (at == std::string_view::npos) throw OptionError(fmt::format("'{}' has no '{}' between the two ends", escaped(text), between));
    type_ = &sa::find_record_type("PathRecord");
    ends_.emplace_back(source, text.substr(0, at));
    ends_.emplace_back(destination, text.substr(at + 1));
  }

  async::Task<sa::Pattern> make_pattern(Session& session) {
    std::vector<std::string> words = session.operands();
    const sa::RecordType* type = type_;
    if (type == nullptr && words.empty()) type = &sa::find_record_type("NodeRecord");
    if (type == nullptr) {
      type = &sa::find_record_type(words[0]);
      words.erase(words.begin());
    }
    const Assignments assignments = take_assignments(words);
    const std::vector<std::string> given = words;
    const auto arguments = sa::take_argument(*type, words);
    if (!words.empty()) throw UsageError(fmt::format("Arguments {} are not understood.", list_text(words)));
    sa::Pattern pattern(type->info());
    for (const auto& [member, text] : arguments) {
      const bool good = co_await match_argument(session, pattern, member, text);
      if (!good) throw UsageError(fmt::format("Argument {} did not match {}", quoted(given[0]), type->argument));
    }
    for (const auto& [member, text] : ends_) {
      if (text.empty()) continue;
      const bool good = co_await match_argument(session, pattern, member, text);
      if (!good) throw UsageError(fmt::format("{} is neither an address nor the name of a node", quoted(text)));
    }
    for (const auto& [member, text] : assignments) pattern.match(member, text);
    for (const auto& [member, text] : by_option_) match_option(pattern, member, text);
    if (!no_defaults_) set_defaults(pattern, session.end_port());
    co_return pattern;
  }

  /// Where a LID is meant the name of a node will do.
  async::Task<bool> match_argument(Session& session, sa::Pattern& pattern, std::string_view member, std::string text) {
    if (find_path(pattern.form(), member)->field->kind == FieldKind::lid) {
      const std::optional<Lid> lid = co_await lid_of(session, text);
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
    constexpr std::uint64_t all_paths = 0x7f;
    if (&pattern.record() == &path && !pattern.matches_on("numbPath")) pattern.match("numbPath", ends_.empty() ? 1 : all_paths);
    // Paths must have a source (IBA 15.2.5.16), one way or the other.
    if (!pattern.matches_on("SGID") && !pattern.matches_on("SLID")) pattern.match("SGID", to_text(port.default_gid()));
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

  const sa::RecordType* type_{};
  Lookup lookup_ = Lookup::none;
  bool get_{}, no_defaults_{};
  Assignments ends_, by_option_;
};

}  // namespace
}  // namespace ib::tools::saquery

namespace ib::tools {

constinit const CommandInfo rooms::saquery{.name = "saquery", .group = HelpGroup::sa, .summary = "Print records of the subnet administrator: nodes, ports, paths, groups, services.", .make = make_command<saquery::Saquery>, .diags = true, .legacy = diags::saquery};

}  // namespace ib::tools
