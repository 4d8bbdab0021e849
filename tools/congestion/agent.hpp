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
#include "tools/frame/session.hpp"

namespace ib::tools::congestion {

/// An operation of the command line.
struct Name {
  std::string_view full, alias;
  std::string_view values;  ///< the words after the target, for the help text
};

/// The index of `word` in `names`. Upper and lower case are the same. ibtool accepts unambiguous abbreviations, infiniband-diags does not.
/// Throws UsageError or DiagsFailure.
std::size_t find_operation(std::span<const Name> names, std::string_view word, bool as_diags);
/// The lines of the help text that list the operations.
std::string operation_list(std::span<const Name> names);

/// An operation that runs on a node.
struct Ask {
  Session& session;
  Emit& emit;
  Destination node;       ///< its path has the CC_Key
  std::string_view word;  ///< the operation as the user wrote it
  std::string_view name;  ///< the full name
  bool as_diags;

  /// The message of infiniband-diags if the operation fails.
  DiagsWords words(std::string_view why) const;
  /// Ends the command for a reason other than a failed request.
  [[noreturn]] void refuse(std::string_view why) const { session.refuse(UsageError(std::string(why)), words(why)); }

  /// Sends CCGet or CCSet and returns the attribute of the answer. The attribute of a log begins before the data field. If the request
  /// fails, the results in `so_far` are printed and the command ends.
  async::Task<std::vector<std::uint8_t>> get(const StructInfo& info, std::uint32_t modifier, const char* why,
                                             const Report* so_far = nullptr) const;
  async::Task<std::vector<std::uint8_t>> set(const StructInfo& info, std::uint32_t modifier, std::vector<std::uint8_t> value,
                                             const char* why) const;
  /// Reads the NodeInfo of the node. Ends the command if the node is not a switch.
  async::Task<smp::NodeInfo> switch_info(const char* why) const;

 private:
  async::Task<std::vector<std::uint8_t>> call(const StructInfo& info, std::uint8_t method, std::uint32_t modifier,
                                              std::vector<std::uint8_t> value, const char* why, const Report* so_far) const;
};

/// The base of commands with a command line "OP TARGET …" and a CC_Key.
class CongestionCommand : public Command {
 protected:
  CongestionCommand(std::span<const Name> names) : names_(names) {}

  void add_key(OptionSet& set);
  void add_key(DiagsOptions& set);
  /// Binds OP and TARGET.
  void add_operands(OptionSet& set);
  void add_operands(DiagsOptions& set);
  std::size_t operation() const { return find_operation(names_, word_, as_diags_); }
  async::Task<Ask> ask(Session& session, Emit& emit, std::size_t operation) const;
  async::Task<Destination> find(Session& session) const;

  std::span<const Name> names_;
  std::string word_;
  Target target_;
  std::uint64_t key_{};
  bool as_diags_{};
};

}  // namespace ib::tools::congestion
