// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/congestion/agent.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <tuple>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "iba-gen/cc.hpp"
#include "mad/transactor.hpp"
#include "subnet/set_target.hpp"

namespace ib::tools::congestion {
namespace {

bool same(std::string_view a, std::string_view b) { return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0; }

bool begins(std::string_view name, std::string_view with) { return name.size() >= with.size() && same(name.substr(0, with.size()), with); }

}  // namespace

std::size_t find_operation(std::span<const Name> names, std::string_view word, bool as_diags) {
  std::vector<std::size_t> found;
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (same(names[at].full, word) || same(names[at].alias, word)) return at;
    if (begins(names[at].full, word)) found.push_back(at);
  }
  if (as_diags) throw DiagsFailure({"main", fmt::format("operation '{}' not supported", word)});
  if (found.size() == 1) return found.front();
  if (found.size() > 1) throw UsageError(fmt::format("Ambiguous operation {}", in_quotes(word)));
  std::vector<std::string_view> words;
  for (const Name& name : names) words.insert(words.end(), {name.full, name.alias});
  throw UsageError(fmt::format("Unknown operation {}{}", in_quotes(word), did_you_mean(word, words)));
}

std::string operation_list(std::span<const Name> names) {
  std::string text = "OP, in any case, is one of\n";
  for (const Name& name : names)
    text += fmt::format("    {} {}{}{}\n", name.full, name.alias, name.values.empty() ? "" : ": ", name.values);
  return text;
}

DiagsWords Ask::words(std::string_view why) const { return {"main", fmt::format("operation {}: {}", word, why)}; }

async::Task<std::vector<std::uint8_t>> Ask::call(const StructInfo& info, std::uint8_t method, std::uint32_t modifier,
                                                 std::vector<std::uint8_t> value, const char* why, const Report* so_far) const {
  constexpr std::size_t log_offset = 32;  // IBA A10.4.1
  const mad::Request request = mad::attribute_request(node.path, info, method, modifier, value, mad::mgmt_class::congestion);
  mad::Result<mad::Reply> reply = co_await session.transactor().try_call(request);
  if (!reply && so_far != nullptr) emit.so_far(*so_far);
  const mad::Reply answer = session.take(std::move(reply), words(why));
  const bool is_log = info.attribute_id == cc::CongestionLogSwitch::attribute_id;
  const Bytes data = is_log ? Bytes(answer.bytes).subspan(log_offset) : answer.payload();
  co_return std::vector<std::uint8_t>(data.begin(), data.end());
}

async::Task<std::vector<std::uint8_t>> Ask::get(const StructInfo& info, std::uint32_t modifier, const char* why,
                                                const Report* so_far) const {
  return call(info, mad::method::get, modifier, {}, why, so_far);
}

async::Task<std::vector<std::uint8_t>> Ask::set(const StructInfo& info, std::uint32_t modifier, std::vector<std::uint8_t> value,
                                                const char* why) const {
  return call(info, mad::method::set, modifier, std::move(value), why, nullptr);
}

async::Task<smp::NodeInfo> Ask::switch_info(const char* why) const {
  const path::Path path = subnet::smp_path_of(node.path);
  mad::Result<smp::NodeInfo> answer = co_await session.transactor().try_subn_get<smp::NodeInfo>(path);
  const smp::NodeInfo info = session.take(std::move(answer), words(why));
  if (info.node_type != smp::NodeType::switch_) refuse("destination not a switch");
  co_return info;
}

void CongestionCommand::add_key(OptionSet& set) {
  set.key("-c --cckey", key_, "KEY", "The CC_Key of the requests; what is no number asks for it.");
}

void CongestionCommand::add_key(DiagsOptions& set) {
  set.value("cckey", 'c', "KEY", "The CC_Key of the requests.", [this](const std::string& text) { key_ = c_number(text); });
}

void CongestionCommand::add_operands(OptionSet& set) {
  set.word("OP", word_);
  set.offer([names = names_] {
    std::vector<std::string> words;
    for (const Name& name : names) words.emplace_back(name.full);
    return words;
  });
  set.target("TARGET", target_);
  set.optional_operands();
  set.notes(operation_list(names_));
}

void CongestionCommand::add_operands(DiagsOptions& set) {
  as_diags_ = true;
  set.without("DK");
  set.operand("OP", [this](const std::string& word) {
    word_ = word;
    static_cast<void>(operation());
  });
  set.target("LID|GUID", target_);
  set.optional_operands();
  set.notes(operation_list(names_));
}

async::Task<Destination> CongestionCommand::find(Session& session) const {
  std::ignore = session.transactor();  // a failure to open it has words of its own
  try {
    Destination node = co_await session.gmp_node(target_);
    co_return node;
  } catch (const DiagsFailure&) {
    if (!as_diags_ || !target_.given()) throw;
  }
  throw DiagsFailure({"main", fmt::format("can't resolve destination {}", target_.text())});
}

async::Task<Ask> CongestionCommand::ask(Session& session, Emit& emit, std::size_t operation) const {
  Destination node = co_await find(session);
  node.path.ib().cc_key = key_;
  Ask ask{session, emit, std::move(node), word_, names_[operation].full, as_diags_};
  co_return ask;
}

}  // namespace ib::tools::congestion
