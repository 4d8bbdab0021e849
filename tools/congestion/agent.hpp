// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Shared by ibccquery and ibccconfig: the names of operations, and requests to the congestion control agent of a node (IBA annex A10).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iba-gen/smp.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/target.hpp"

namespace ib::tools::congestion {

struct Operation {
  std::string_view full, alias;
  std::string_view values;  ///< the words after the target, for the help text
  const StructInfo& (*info)();
  const char* failed;  ///< infiniband-diags' words where the request fails
};

/// The operation `word`, which may be an unambiguous abbreviation. Throws UsageError.
const Operation& find_operation(std::span<const Operation> operations, std::string_view word);

struct AgentOperation {
  Stack& stack;
  Emit& emit;
  Destination node;       ///< its path has the CC_Key
  std::string_view word;  ///< the operation as the user wrote it
  const Operation& operation;
  Keys keys;  ///< whether the CC_Key is printed

  /// The message of infiniband-diags if the operation fails.
  std::string words(std::string_view why) const;
  /// Ends the command for a reason other than a failed request.
  [[noreturn]] void refuse(std::string_view why) const { stack.manners().refuse(UsageError(std::string(why)), words(why)); }

  /// Sends CCGet, or CCSet of `value`, and returns the attribute of the answer. The attribute of a log begins before the data field. If the
  /// request fails, the results in `so_far` are printed and the command ends.
  async::Task<std::vector<std::uint8_t>> call(std::uint8_t method, const StructInfo& info, std::uint32_t modifier, const char* why,
                                              Bytes value = {}, const Report* so_far = nullptr) const;
  /// Reads the NodeInfo of the node. Ends the command if the node is not a switch.
  async::Task<smp::NodeInfo> switch_info(const char* why) const;
};

/// The base of commands with a command line "OP TARGET …" and a CC_Key.
class CongestionCommand : public Command {
 protected:
  CongestionCommand(std::span<const Operation> operations) : operations_(operations) {}

  void add_agent_key(OptionSet& set, const CommonOptions& common);
  /// Binds OP and TARGET. `reads`: the command sets nothing, and TARGET may be a pattern of names.
  void add_operands(OptionSet& set, bool reads);
  /// OP: by the legacy names known when it was read.
  const Operation& operation() const { return chosen_ != nullptr ? *chosen_ : find_operation(operations_, word_); }
  bool is_diags() const { return chosen_ != nullptr; }
  /// The operation at TARGET. infiniband-diags has words of its own for a TARGET that it does not find, and prints the CC_Key.
  async::Task<AgentOperation> find_agent(Stack& stack, Emit& emit) const;

 private:
  std::span<const Operation> operations_;
  std::string word_;
  Target target_;
  std::uint64_t key_{};
  const Operation* chosen_{};
};

}  // namespace ib::tools::congestion
