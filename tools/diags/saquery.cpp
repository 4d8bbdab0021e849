// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// saquery of infiniband-diags: queries to the subnet administrator, by name of a record or by a letter. What its records
// look like stands in saquery_text.cpp, other lists in saquery_lists.cpp; this is the command line and the records by name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>

#include "base/escape.hpp"
#include "tools/diags/console.hpp"
#include "tools/diags/fabric.hpp"
#include "tools/diags/legacy.hpp"
#include "tools/diags/saquery_lists.hpp"
#include "tools/diags/saquery_requests.hpp"
#include "tools/diags/saquery_tables.hpp"
#include "tools/diags/saquery_text.hpp"
#include "tools/diags/tools.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"
#include "iba/generic.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "mad/describe.hpp"
#include "mad/rpc.hpp"
#include "sa/records.hpp"

namespace ib::diags {

using namespace saquery_tables;

namespace {

[[noreturn]] void show_usage(const std::string& complaint = {}) { throw Stop{2, complaint + usage_text(saquery_tool)}; }

enum class Action { query, nodes, class_port_info, managers, groups, members };

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

/// What -dd shows on stdout of each query: the request as the 256 bytes that are sent, and the answer.
class QueryDump final : public mad::Tracer {
 public:
  QueryDump(tools::TextOut& out, Keys keys) : out_(out), keys_(keys) {}
  void completed(Bytes request, const path::Path& /*path*/, Bytes reply) override {
    std::array<std::uint8_t, mad::packet_size> sent{};
    std::copy_n(request.begin(), std::min(request.size(), sent.size()), sent.begin());
    show("SA Request", sent);
    if (!reply.empty()) show("SA Response", reply);
  }
  void retried(Bytes /*request*/, const path::Path& /*path*/) override {}
  void unexpected(Bytes /*mad*/, const path::Path& /*path*/, bool /*late*/) override {}

 private:
  void show(std::string_view what, Bytes mad) {
    const std::vector<std::uint8_t> masked = mad::without_keys(mad);
    out_.print("{}:\n{}", what, hex_words(keys_ == Keys::shown ? mad : Bytes(masked)));
  }

  tools::TextOut& out_;
  Keys keys_;
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

  async::Task<> match_words(sa::Pattern& pattern, const RecordQuery& query, const std::vector<std::string>& words);
  void match_options(sa::Pattern& pattern) const;
  async::Task<> query_class_port_info();
  async::Task<> query_records(const RecordQuery& query, const std::vector<std::string>& words);

  mad::Transactor& transactor() { return context_->session.transactor(); }

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
  std::optional<QueryDump> dump_;
};

bool Saquery::take_member(int letter, const char* value) {
  for (const auto& [option, member] : gid_options) {
    if (option != letter) continue;
    const auto given = parse_gid(value);
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
  if (action_ == Action::class_port_info) query = find_query("CPI");
  if (query == nullptr && action_ == Action::query) {
    query = context.arguments.empty() ? nullptr : find_query(context.arguments[0].c_str());
    if (query != nullptr) ++at;
    if (query == nullptr) query = find_query("NR");
  }
  check_operand(context, at);
  const Fabric fabric(context);
  if (context.settings.debug > 1) context.session.rpc().set_tracer(&dump_.emplace(context.out, context.settings.keys));
  names_ = read_node_names(map_file_);
  for (const auto& [word, member] : {std::pair{&source_, "SLID"}, {&destination_, "DLID"}}) {
    if (!*word || (*word)->empty()) continue;
    const std::uint16_t lid = co_await lid_of(transactor(), **word);
    numbers_.emplace_back(member, lid);
  }
  if (query != nullptr && (query->form == &class_port_info_form || query->form == &switch_info_record_form))
    co_await query_class_port_info();
  switch (action_) {
    case Action::nodes:
      co_await list_nodes(transactor(), what_, operand_, names_, context.out);
      break;
    case Action::managers:
      co_await list_managers(transactor(), names_, context.out);
      break;
    case Action::groups:
      co_await list_groups(transactor(), names_, context.out);
      break;
    case Action::members:
      co_await list_members(transactor(), operand_, names_, context.out);
      break;
    case Action::class_port_info:
    case Action::query: {
      const std::vector<std::string> words(context.arguments.begin() + static_cast<std::ptrdiff_t>(at), context.arguments.end());
      co_await query_records(*query, words);
    }
  }
}

async::Task<> Saquery::match_words(sa::Pattern& pattern, const RecordQuery& query, const std::vector<std::string>& words) {
  for (std::size_t word = 0; word < std::min(words.size(), query.members.size()); ++word) {
    std::string rest = words[word];
    for (std::size_t part = 0; part < query.members[word].size() && !query.members[word][part].empty(); ++part) {
      const std::size_t slash = std::min(rest.find('/'), rest.size());
      const std::string text = rest.substr(0, slash);
      if (part == 0) {
        const std::uint16_t lid = co_await lid_of(transactor(), text);
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
    const sa::Records records = co_await ask_sa(transactor(), pattern, mad::method::get);
    const Bytes info = records.bytes[0];
    class_port_info_.assign(info.begin(), info.end());
  } catch (const Stop& stop) {
    throw Stop{stop.status, stop.err + "Failed to query SA:ClassPortInfo\n"};
  }
}

async::Task<> Saquery::query_records(const RecordQuery& query, const std::vector<std::string>& words) {
  tools::TextOut& out = context_->out;
  constexpr std::size_t mask2_at_bit = 32;
  const auto mask2 = static_cast<std::uint32_t>(wire::get_bits(class_port_info_, mask2_at_bit, 27));
  const RecordStyle style{names_, context_->settings.keys, mask2};
  if (query.form == &class_port_info_form) {
    out.write(record_text(class_port_info_form, class_port_info_, style));
    co_return;
  }
  sa::Pattern pattern(query.info());
  if (query.form == &inform_info_record_form && !words.empty()) {
    const auto subscriber = parse_gid(words[0]);
    if (!subscriber) throw Stop{invalid_argument, fmt::format("Invalid SubscriberGID specified: \"{}\"\n", printable(words[0]))};
    pattern.match("subscriberGID", to_text(*subscriber));
  }
  co_await match_words(pattern, query, words);
  match_options(pattern);
  const sa::Records records = co_await ask_sa(transactor(), pattern);
  for (const Bytes record : records.bytes) out.write(record_text(*query.form, record, style));
}

}  // namespace

int saquery(std::span<char* const> words) { return run_legacy<Saquery>(words); }

}  // namespace ib::diags
