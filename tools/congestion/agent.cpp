// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/congestion/agent.hpp"

#include <fmt/format.h>

#include <array>
#include <tuple>

#include "base/nearest.hpp"
#include "base/split.hpp"
#include "iba-gen/cc.hpp"
#include "mad/transactor.hpp"
#include "subnet/set/set_target.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools::congestion {

const Operation& find_operation(std::span<const Operation> operations, std::string_view word) {
  constexpr bool Operation::*no_preference = nullptr;
  return find_by_prefix(word, operations, no_preference, [](const Operation& each) { return std::array{each.full, each.alias}; });
}

std::string AgentOperation::words(std::string_view why) const { return fmt::format("operation {}: {}", word, why); }

async::Task<std::vector<std::uint8_t>> AgentOperation::call(std::uint8_t method, const StructInfo& info, std::uint32_t modifier,
                                                            const char* why, Bytes value, const Report* so_far) const {
  constexpr std::size_t log_offset = 32;  // IBA A10.4.1
  const mad::Request request = mad::attribute_request(node.path, info, method, modifier, value, mad::mgmt_class::congestion);
  mad::Result<mad::Reply> reply = co_await stack.transactor().try_call(request);
  if (!reply && so_far != nullptr) emit.so_far(*so_far);
  const mad::Reply answer = stack.manners().take(std::move(reply), words(why));
  const bool is_log = info.attribute_id == cc::CongestionLogSwitch::attribute_id;
  const Bytes data = is_log ? Bytes(answer.bytes).subspan(log_offset) : answer.payload();
  co_return std::vector<std::uint8_t>(data.begin(), data.end());
}

async::Task<smp::NodeInfo> AgentOperation::switch_info(const char* why) const {
  const path::Path path = subnet::smp_path_of(node.path);
  mad::Result<smp::NodeInfo> answer = co_await stack.transactor().try_subn_get<smp::NodeInfo>(path);
  const smp::NodeInfo info = stack.manners().take(std::move(answer), words(why));
  if (info.node_type != smp::NodeType::switch_) refuse("destination not a switch");
  co_return info;
}

void CongestionCommand::add_agent_key(OptionSet& set, const CommonOptions& common) {
  constexpr std::string_view spelling = "-c --cckey";
  if (set.is_diags()) {
    set.value(spelling, "KEY", "The CC_Key of the requests.", [this](const std::string& text) { key_ = c_number(text); });
  } else {
    add_key(set, common, spelling, key_, "KEY", "The CC_Key of the requests; anything but a number: read from the terminal.");
  }
}

void CongestionCommand::add_operands(OptionSet& set, bool reads) {
  std::string list = "OP, in any case, is one of\n";
  for (const Operation& each : operations_)
    list += fmt::format("    {} {}{}{}\n", each.full, each.alias, each.values.empty() ? "" : ": ", each.values);
  set.notes(list);
  if (set.is_diags()) {
    set.without("DK");
    set.operand("OP", [this](const std::string& word) {
      word_ = word;
      for (const Operation& each : operations_)
        if (equal_ignoring_case(each.full, word) || equal_ignoring_case(each.alias, word)) chosen_ = &each;
      if (chosen_ == nullptr) throw DiagsFailure(fmt::format("operation '{}' not supported", word));
    });
    set.target("LID|GUID", target_);
  } else {
    set.word("OP", word_);
    set.offer(operations_, &Operation::full);
    set.is_operation([this](const std::string& word) { find_operation(operations_, word); });
    reads ? set.target_each("TARGET", target_) : set.target("TARGET", target_);
  }
  set.optional_operands();
}

async::Task<AgentOperation> CongestionCommand::find_agent(Stack& stack, Emit& emit) const {
  std::ignore = stack.transactor();  // a failure to open it has words of its own
  try {
    Destination node = co_await stack.manners().gmp_node(target_);
    node.path.ib().cc_key = key_;
    AgentOperation found{stack, emit, std::move(node), word_, operation(), is_diags() ? Keys::shown : stack.host().options().keys};
    co_return found;
  } catch (const DiagsFailure&) {
    if (!target_.given()) throw;
  }
  throw DiagsFailure(fmt::format("can't resolve destination {}", target_.text()));
}

}  // namespace ib::tools::congestion
