// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/congestion/agent.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <tuple>

#include "base/escape.hpp"
#include "base/nearest.hpp"
#include "iba-gen/cc.hpp"
#include "mad/transactor.hpp"
#include "subnet/set/set_target.hpp"

namespace ib::tools::congestion {
namespace {

bool same(std::string_view a, std::string_view b) { return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0; }

bool begins(std::string_view name, std::string_view with) { return name.size() >= with.size() && same(name.substr(0, with.size()), with); }

}  // namespace

std::optional<std::size_t> find_whole_name(std::span<const OperationName> names, std::string_view word) {
  const auto found =
      std::ranges::find_if(names, [&](const OperationName& name) { return same(name.full, word) || same(name.alias, word); });
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

std::size_t find_operation(std::span<const OperationName> names, std::string_view word) {
  if (const auto whole = find_whole_name(names, word)) return *whole;
  std::vector<std::size_t> found;
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < names.size(); ++at) {
    if (begins(names[at].full, word)) found.push_back(at);
    words.insert(words.end(), {names[at].full, names[at].alias});
  }
  if (found.size() == 1) return found.front();
  if (found.size() > 1) throw UsageError(fmt::format("Ambiguous operation {}", in_quotes(word)));
  throw UsageError(fmt::format("Unknown operation {}{}", in_quotes(word), did_you_mean(word, words)));
}

std::string operation_list(std::span<const OperationName> names) {
  std::string text = "OP, in any case, is one of\n";
  for (const OperationName& name : names)
    text += fmt::format("    {} {}{}{}\n", name.full, name.alias, name.values.empty() ? "" : ": ", name.values);
  return text;
}

std::string AgentOperation::words(std::string_view why) const { return fmt::format("operation {}: {}", word, why); }

async::Task<std::vector<std::uint8_t>> AgentOperation::call(const StructInfo& info, std::uint8_t method, std::uint32_t modifier,
                                                            std::vector<std::uint8_t> value, const char* why, const Report* so_far) const {
  constexpr std::size_t log_offset = 32;  // IBA A10.4.1
  const mad::Request request = mad::attribute_request(node.path, info, method, modifier, value, mad::mgmt_class::congestion);
  mad::Result<mad::Reply> reply = co_await stack.transactor().try_call(request);
  if (!reply && so_far != nullptr) emit.so_far(*so_far);
  const mad::Reply answer = stack.manners().take(std::move(reply), words(why));
  const bool is_log = info.attribute_id == cc::CongestionLogSwitch::attribute_id;
  const Bytes data = is_log ? Bytes(answer.bytes).subspan(log_offset) : answer.payload();
  co_return std::vector<std::uint8_t>(data.begin(), data.end());
}

async::Task<std::vector<std::uint8_t>> AgentOperation::get(const StructInfo& info, std::uint32_t modifier, const char* why,
                                                           const Report* so_far) const {
  return call(info, mad::method::get, modifier, {}, why, so_far);
}

async::Task<std::vector<std::uint8_t>> AgentOperation::set(const StructInfo& info, std::uint32_t modifier, std::vector<std::uint8_t> value,
                                                           const char* why) const {
  return call(info, mad::method::set, modifier, std::move(value), why, nullptr);
}

async::Task<smp::NodeInfo> AgentOperation::switch_info(const char* why) const {
  const path::Path path = subnet::smp_path_of(node.path);
  mad::Result<smp::NodeInfo> answer = co_await stack.transactor().try_subn_get<smp::NodeInfo>(path);
  const smp::NodeInfo info = stack.manners().take(std::move(answer), words(why));
  if (info.node_type != smp::NodeType::switch_) refuse("destination not a switch");
  co_return info;
}

void CongestionCommand::add_key(OptionSet& set) {
  constexpr std::string_view spelling = "-c --cckey";
  if (set.is_diags()) {
    set.value(spelling, "KEY", "The CC_Key of the requests.", [this](const std::string& text) { key_ = c_number(text); });
  } else {
    set.key(spelling, key_, "KEY", "The CC_Key of the requests; anything but a number: read from the terminal.");
  }
}

void CongestionCommand::add_operands(OptionSet& set, bool reads) {
  set.word("OP", word_);
  set.offer([names = names_] {
    std::vector<std::string> words;
    for (const OperationName& name : names) words.emplace_back(name.full);
    return words;
  });
  reads ? set.target_each("TARGET", target_) : set.target("TARGET", target_);
  set.optional_operands();
  set.notes(operation_list(names_));
}

void CongestionCommand::add_diags_operands(OptionSet& set) {
  set.without("DK");
  set.operand("OP", [this](const std::string& word) {
    word_ = word;
    const auto found = find_whole_name(names_, word);
    if (!found) throw DiagsFailure(fmt::format("operation '{}' not supported", word));
    chosen_ = *found;
  });
  set.target("LID|GUID", target_);
  set.optional_operands();
  set.notes(operation_list(names_));
}

async::Task<AgentOperation> CongestionCommand::find_agent(Stack& stack, Emit& emit) const {
  std::ignore = stack.transactor();  // a failure to open it has words of its own
  Destination node = co_await stack.manners().gmp_node(target_);
  node.path.ib().cc_key = key_;
  AgentOperation operation{stack, emit, std::move(node), word_, names_[chosen_].full, stack.host().options().keys};
  co_return operation;
}

async::Task<AgentOperation> CongestionCommand::find_diags_agent(Stack& stack, Emit& emit) const {
  std::ignore = stack.transactor();
  try {
    AgentOperation operation = co_await find_agent(stack, emit);
    operation.keys = Keys::shown;
    co_return operation;
  } catch (const DiagsFailure&) {
    if (!target_.given()) throw;
  }
  throw DiagsFailure(fmt::format("can't resolve destination {}", target_.text()));
}

}  // namespace ib::tools::congestion
