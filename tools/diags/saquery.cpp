// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery of infiniband-diags: queries to the subnet administrator, by name of a record or by a letter. What its records
// look like stands in saquery_text.cpp; this is the command line and what is asked.
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "diags/console.hpp"
#include "diags/fabric.hpp"
#include "diags/legacy.hpp"
#include "diags/saquery_tables.hpp"
#include "diags/saquery_text.hpp"
#include "diags/tools.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"
#include "iba/generic.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "out/escape.hpp"
#include "sa/records.hpp"

namespace ib::diags {

using namespace saquery_tables;

namespace {

[[noreturn]] void show_usage(const std::string& complaint = {}) { throw Stop{2, complaint + usage_text(saquery_tool)}; }

/// "ERROR: Query result returned 0x0200,  SA(SA_ERR_REQ_INVALID)" and a newline.
std::string status_line(unsigned status) {
  constexpr std::array<std::string_view, 10> texts{"SA_NO_ERROR",
                                                   "SA_ERR_NO_RESOURCES",
                                                   "SA_ERR_REQ_INVALID",
                                                   "SA_ERR_NO_RECORDS",
                                                   "SA_ERR_TOO_MANY_RECORDS",
                                                   "SA_ERR_REQ_INVALID_GID",
                                                   "SA_ERR_REQ_INSUFFICIENT_COMPONENTS",
                                                   "SA_ERR_REQ_DENIED",
                                                   "SA_ERR_STATUS_PRIO_SUGGESTED",
                                                   "SA_ERR_UNKNOWN"};
  const unsigned own = status >> 8;
  const std::string by_class = own == 0 ? "" : fmt::format(" SA({})", texts[std::min<std::size_t>(own, texts.size() - 1)]);
  const std::string common = (status & 0xffU) == 0 ? ""
                                                   : fmt::format(" ({}; {}; {})", (status & 1U) != 0 ? "BUSY" : "",
                                                                 (status & 2U) != 0 ? "Redirection Required" : "", "MAD ERROR");
  return fmt::format("ERROR: Query result returned 0x{:04x}, {}{}\n", status, common, by_class);
}

constexpr int timed_out = 110, io_error = 5, not_on_network = 64, invalid_argument = 22;  // the errno values that it ends with

enum class Action { query, nodes, class_port_info, managers, groups, members };
enum class Names { all, lids, one_lid, guids, adapters, name_of_lid, name_of_guid };

/// A letter that says what to do: a query, or another action.
struct Choice {
  int letter;
  const char* query;
  Action action = Action::query;
  Names what = Names::all;
};
constexpr Choice choices[]{
    {'p', "PR"},
    {'S', "SR"},
    {'I', "IIR"},
    {'x', "LR"},
    {'c', nullptr, Action::class_port_info},
    {'s', nullptr, Action::managers},
    {'g', nullptr, Action::groups},
    {'m', nullptr, Action::members},
    {'N', nullptr, Action::nodes},
    {'D', nullptr, Action::nodes, Names::adapters},
    {'L', nullptr, Action::nodes, Names::lids},
    {'l', nullptr, Action::nodes, Names::one_lid},
    {'G', nullptr, Action::nodes, Names::guids},
    {'O', nullptr, Action::nodes, Names::name_of_lid},
    {'U', nullptr, Action::nodes, Names::name_of_guid},
};

class Saquery : public Legacy {
 public:
  const Tool& tool() const override { return saquery_tool; }
  void option(int letter, const char* value, Settings& settings) override;
  async::Task<> run(Context& context) override;

 private:
  bool take_member(int letter, const char* value);
  void set_ends(const std::string& text, char between);
  void check_operand(const Context& context, std::size_t at);

  async::Task<sa::Records> ask(const sa::Pattern& pattern, std::uint8_t method = mad::method::get_table, std::uint32_t modifier = 0);
  async::Task<std::uint16_t> lid_of(std::string word);
  async::Task<> match_words(sa::Pattern& pattern, const RecordQuery& query, const std::vector<std::string>& words);
  void match_options(sa::Pattern& pattern) const;
  async::Task<> query_class_port_info();
  async::Task<> query_records(const RecordQuery& query, const std::vector<std::string>& words);
  async::Task<> list_nodes(tools::TextOut& out);
  void list_node(tools::TextOut& out, Bytes record) const;
  async::Task<> list_managers(tools::TextOut& out);
  async::Task<> list_members(tools::TextOut& out);

  Action action_ = Action::query;
  Names what_ = Names::all;
  const RecordQuery* query_{};
  std::optional<std::string> source_, destination_, operand_;
  std::string map_file_;
  std::vector<std::pair<std::string_view, std::uint64_t>> numbers_;
  std::vector<std::pair<std::string_view, Gid>> gids_;
  subnet::NodeNameMap names_;
  std::vector<std::uint8_t> class_port_info_;
  Context* context_{};
};

std::optional<Gid> as_gid(const std::string& text) { return parse_gid(text); }

bool Saquery::take_member(int letter, const char* value) {
  for (const auto& [option, member] : gid_options) {
    if (option != letter) continue;
    const auto given = as_gid(value);
    if (!given) show_usage();
    if (*given != Gid{}) gids_.emplace_back(member, *given);
    return true;
  }
  const auto found = std::ranges::find(member_options, letter, &MemberOption::letter);
  if (found == std::end(member_options)) return false;
  const bool is_key = letter == pkey || letter == 'q';
  const std::uint64_t number =
      is_key ? read_m_key(value, letter == pkey ? "P_Key: " : "Q_Key: ", "Bad key", "process_opt") : std::strtoull(value, nullptr, 0);
  std::erase_if(numbers_, [&](const auto& old) { return old.first == found->member; });
  if (number != 0 || !found->zero_is_none) numbers_.emplace_back(found->member, number);
  return true;
}

/// The ends of a path, between which `between` stands.
void Saquery::set_ends(const std::string& text, char between) {
  const std::size_t at = text.find(between);
  if (at == std::string::npos) show_usage();
  const std::string from = text.substr(0, at), to = text.substr(at + 1);
  if (between == ':') {
    source_ = from;
    destination_ = to;
  } else {
    take_member(sgid, from.c_str());
    take_member(dgid, to.c_str());
  }
  take_member('n', "0x7f");
  query_ = find_query("PR");
}

void Saquery::option(int letter, const char* value, Settings& settings) {
  if (value != nullptr && take_member(letter, value)) return;
  if (letter == src_to_dst) set_ends(value, ':');
  if (letter == sgid_to_dgid) set_ends(value, '-');
  if (letter == node_name_map) map_file_ = value;
  if (letter == smkey) settings.sa_key = read_m_key(value, "SM_Key: ", "Bad SM_Key", "process_opt");
  const auto choice = std::ranges::find(choices, letter, &Choice::letter);
  if (choice == std::end(choices)) return;
  if (choice->query != nullptr) {
    query_ = find_query(choice->query);
  } else {
    action_ = choice->action;
    if (choice->what != Names::all) what_ = choice->what;
  }
}

void Saquery::check_operand(const Context& context, std::size_t at) {
  if (at < context.arguments.size()) operand_ = context.arguments[at];
  const bool by_name = what_ == Names::lids || what_ == Names::one_lid || what_ == Names::guids;
  if (by_name && !operand_) show_usage("ERROR: name not specified\n");
  if (what_ == Names::name_of_lid && !operand_) show_usage("ERROR: lid not specified\n");
  if (what_ == Names::name_of_guid && !operand_) show_usage("ERROR: guid not specified\n");
  if (what_ == Names::name_of_lid && static_cast<std::uint16_t>(std::strtoul(operand_->c_str(), nullptr, 0)) == 0)
    show_usage("ERROR: lid invalid\n");
}

async::Task<> Saquery::run(Context& context) {
  context_ = &context;
  std::size_t at = 0;
  const RecordQuery* query = query_;
  if (query == nullptr && action_ == Action::query) {
    query = context.arguments.empty() ? nullptr : find_query(context.arguments[0].c_str());
    if (query != nullptr) ++at;
    if (query == nullptr) query = find_query("NR");
  }
  check_operand(context, at);
  const Fabric fabric(context);
  names_ = read_node_names(map_file_);
  for (const auto& [word, member] : {std::pair{&source_, "SLID"}, {&destination_, "DLID"}}) {
    if (!*word || (*word)->empty()) continue;
    const std::uint16_t lid = co_await lid_of(**word);
    numbers_.emplace_back(member, lid);
  }
  if (action_ == Action::class_port_info || (query != nullptr && (query == find_query("CPI") || query == find_query("SWIR"))))
    co_await query_class_port_info();
  switch (action_) {
    case Action::nodes:
      co_await list_nodes(context.out);
      break;
    case Action::managers:
      co_await list_managers(context.out);
      break;
    case Action::members:
      co_await list_members(context.out);
      break;
    case Action::groups: {
      const sa::Pattern all(sa::MCMemberRecord::info());
      const sa::Records records = co_await ask(all);
      for (const auto& record : records.bytes) context.out.write(mc_group_text(record, {names_}));
      break;
    }
    case Action::class_port_info:
      context.out.write(class_port_info_text(class_port_info_, {names_}));
      break;
    case Action::query: {
      const std::vector<std::string> words(context.arguments.begin() + static_cast<std::ptrdiff_t>(at), context.arguments.end());
      co_await query_records(*query, words);
    }
  }
}

/// Ends the tool where there is no answer, or one with a status.
async::Task<sa::Records> Saquery::ask(const sa::Pattern& pattern, std::uint8_t method, std::uint32_t modifier) {
  mad::Transactor& transactor = context_->session.transactor();
  mad::Result<sa::Records> records = co_await sa::try_records(transactor, transactor.sa_path(), pattern, method, modifier);
  if (records) co_return *std::move(records);
  const mad::MadError& error = records.error();
  if (error.reply().empty()) {
    const std::string text = std::strerror(timed_out);
    warn("sa_query", fmt::format("umad_recv failed: attr 0x{:x}: {}\n", pattern.record().attribute_id, text));
    throw Stop{timed_out, fmt::format("Query SA failed: {}\n", text)};
  }
  throw Stop{io_error, status_line(error.status())};
}

/// The LID that a word says or whose node it names; what is neither ends the tool.
async::Task<std::uint16_t> Saquery::lid_of(std::string word) {
  if (!word.empty() && std::isalpha(static_cast<unsigned char>(word[0])) != 0) {
    const sa::Pattern all(sa::NodeRecord::info());
    const sa::Records nodes = co_await ask(all);
    for (const auto& bytes : nodes.bytes) {
      const auto node = wire::unpack_short<sa::NodeRecord>(bytes);
      if (text_of(node.node_description.node_string) == word) co_return node.lid.value;
    }
    throw Stop{not_on_network, fmt::format("Failed to find lid for \"{}\": {}\n", out::printable(word), std::strerror(not_on_network))};
  }
  errno = 0;
  const long value = std::strtol(word.c_str(), nullptr, 0);
  if (errno != 0 || value <= 0 || value > UINT16_MAX)
    throw Stop{invalid_argument, fmt::format("Invalid lid specified: \"{}\"\n", out::printable(word))};
  co_return static_cast<std::uint16_t>(value);
}

async::Task<> Saquery::match_words(sa::Pattern& pattern, const RecordQuery& query, const std::vector<std::string>& words) {
  for (std::size_t word = 0; word < std::min(words.size(), query.members.size()); ++word) {
    std::string rest = words[word];
    for (std::size_t part = 0; part < query.members[word].size() && !query.members[word][part].empty(); ++part) {
      const std::size_t slash = std::min(rest.find('/'), rest.size());
      const std::string text = rest.substr(0, slash);
      if (part == 0) {
        const std::uint16_t lid = co_await lid_of(text);
        pattern.match(query.members[word][part], std::uint64_t{lid});
      } else {
        char* end = nullptr;
        const unsigned long number = std::strtoul(text.c_str(), &end, 0);
        if (end != text.c_str()) pattern.match(query.members[word][part], std::uint64_t{number});
      }
      if (slash == rest.size()) break;
      rest.erase(0, slash + 1);
    }
  }
}

void Saquery::match_options(sa::Pattern& pattern) const {
  const StructInfo& info = pattern.record();
  if (&info != &sa::PathRecord::info() && &info != &sa::MCMemberRecord::info()) return;
  for (const auto& [member, value] : gids_) {
    if (find_path(info, member)) pattern.match(member, to_text(value));
  }
  for (const auto& [member, number] : numbers_) {
    if (!find_path(info, member)) continue;
    const std::string selector = std::string(member) + "Selector";
    if (find_path(info, selector)) pattern.match(selector, number >> 6 & 3U);
    pattern.match(member, number);
  }
}

async::Task<> Saquery::query_class_port_info() {
  const sa::Pattern pattern(mad::ClassPortInfo::info());
  try {
    const sa::Records records = co_await ask(pattern, mad::method::get);
    class_port_info_ = records.bytes.at(0);
  } catch (const Stop& stop) {
    throw Stop{stop.status, stop.err + "Failed to query SA:ClassPortInfo\n"};
  }
}

async::Task<> Saquery::query_records(const RecordQuery& query, const std::vector<std::string>& words) {
  tools::TextOut& out = context_->out;
  constexpr std::size_t mask2_at_bit = 32;
  const auto mask2 = static_cast<std::uint32_t>(wire::get_bits(class_port_info_, mask2_at_bit, 27));
  const RecordStyle style{names_, context_->settings.show_keys, mask2};
  if (query.text == class_port_info_text) {
    out.write(class_port_info_text(class_port_info_, style));
    co_return;
  }
  sa::Pattern pattern(query.info());
  if (query.text == inform_info_record_text && !words.empty()) {
    const auto subscriber = as_gid(words[0]);
    if (!subscriber) throw Stop{invalid_argument, fmt::format("Invalid SubscriberGID specified: \"{}\"\n", out::printable(words[0]))};
    pattern.match("subscriberGID", to_text(*subscriber));
  }
  co_await match_words(pattern, query, words);
  match_options(pattern);
  const sa::Records records = co_await ask(pattern);
  for (const auto& record : records.bytes) out.write(query.text(record, style));
}

async::Task<> Saquery::list_nodes(tools::TextOut& out) {
  const sa::Pattern all(sa::NodeRecord::info());
  const sa::Records nodes = co_await ask(all);
  if (what_ == Names::adapters) out.write("   LID \"name\"\n================\n");
  for (const auto& bytes : nodes.bytes) {
    const auto node = wire::unpack_short<sa::NodeRecord>(bytes);
    bool wanted = true;
    if (what_ == Names::adapters) {
      wanted = node.node_info.node_type == smp::NodeType::channel_adapter;
    } else if (what_ == Names::name_of_lid) {
      wanted = node.lid.value == static_cast<std::uint16_t>(std::strtoul(operand_->c_str(), nullptr, 0));
    } else if (what_ == Names::name_of_guid) {
      wanted = node.node_info.port_guid.value == std::strtoul(operand_->c_str(), nullptr, 0);
    } else if (operand_) {
      wanted = text_of(node.node_description.node_string) == *operand_ || node_name(bytes, names_) == *operand_;
    }
    if (!wanted) continue;
    list_node(out, bytes);
    if (what_ == Names::one_lid) break;
  }
}

void Saquery::list_node(tools::TextOut& out, Bytes record) const {
  const auto node = wire::unpack_short<sa::NodeRecord>(record);
  switch (what_) {
    case Names::lids:
    case Names::one_lid:
      out.print("{}\n", node.lid.value);
      break;
    case Names::guids:
      out.print("0x{:016x}\n", node.node_info.port_guid.value);
      break;
    case Names::adapters:
      out.print("{:6}  \"{}\"\n", node.lid.value, node_name(record, names_));
      break;
    case Names::name_of_lid:
    case Names::name_of_guid:
      out.print("{}\n", node_name(record, names_));
      break;
    case Names::all:
      out.write(node_record_text(record, {names_}));
  }
}

async::Task<> Saquery::list_managers(tools::TextOut& out) {
  constexpr std::uint32_t any_bit = 1U << 31;  // what has the bit matches, the mask need not be equal (IBA 15.2.5.3)
  for (const auto& [title, capability] : {std::pair{"IsSM ports\n", "IsSM"}, {"\nIsSMdisabled ports\n", "IsSMdisabled"}}) {
    sa::Pattern pattern(sa::PortInfoRecord::info());
    pattern.match("portInfo.capabilityMask", capability);
    const sa::Records records = co_await ask(pattern, mad::method::get_table, any_bit);
    out.write(title);
    for (const auto& record : records.bytes) out.write(port_summary_text(record, {names_}));
  }
}

async::Task<> Saquery::list_members(tools::TextOut& out) {
  const sa::Pattern all_members(sa::MCMemberRecord::info()), all_nodes(sa::NodeRecord::info());
  const sa::Records members = co_await ask(all_members);
  const sa::Records nodes = co_await ask(all_nodes);
  for (const auto& bytes : members.bytes) {
    const auto member = wire::unpack_short<sa::MCMemberRecord>(bytes);
    std::string name = "<unknown>";
    for (const auto& node : nodes.bytes) {
      if (wire::unpack_short<sa::NodeRecord>(node).node_info.port_guid != member.port_gid.guid()) continue;
      name = node_name(node, names_);
      break;
    }
    if (operand_) {
      if (std::strtol(operand_->c_str(), nullptr, 0) == member.mlid.value)
        out.print("\t\tPortGid.................{} ({})\n", to_text(member.port_gid), name);
      continue;
    }
    constexpr std::size_t scope_state_at = 48, proxy_join_at = 49;
    out.print(
        "MCMemberRecord member dump:\n\t\tMGID....................{}\n\t\tMlid....................0x{:X}\n"
        "\t\tPortGid.................{}\n\t\tScopeState..............0x{:X}\n\t\tProxyJoin...............0x{:X}\n"
        "\t\tNodeDescription.........{}\n",
        to_text(member.mgid), member.mlid.value, to_text(member.port_gid), wire::get_bits(bytes, scope_state_at * 8, 8),
        wire::get_bits(bytes, proxy_join_at * 8, 8) & 1U, name);
  }
}

}  // namespace

int saquery(std::span<char* const> words) { return run_legacy<Saquery>(words); }

}  // namespace ib::diags
