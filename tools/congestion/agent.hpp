// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What ibccquery and ibccconfig share: the words of their operations, and requests to an agent for congestion control (IBA annex A10).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iba-gen/smp.hpp"
#include "tools/frame/command.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools::congestion {

/// An operation as the command line names it.
struct Name {
  std::string_view full, alias;
  std::string_view values;  ///< what stands behind the target, for help
};

/// The place of `word` in `names`: ibtool takes abbreviations that are unambiguous, infiniband-diags none. Neither looks at case. Throws
/// UsageError or DiagsFailure.
std::size_t find_operation(std::span<const Name> names, std::string_view word, bool as_diags);
/// The lines of help that list them.
std::string operation_list(std::span<const Name> names);

/// One run of an operation on a node.
struct Ask {
  Session& session;
  Emit& emit;
  Destination node;       ///< with the CC_Key
  std::string_view word;  ///< the operation as the user wrote it
  std::string_view name;  ///< in full
  bool as_diags;

  /// What infiniband-diags says where the operation fails.
  DiagsWords words(std::string_view why) const;
  /// Gives up for a reason that is no request's.
  [[noreturn]] void refuse(std::string_view why) const { session.refuse(UsageError(std::string(why)), words(why)); }

  /// CCGet and CCSet: what the answer's data holds, of a log what begins before the data. A failure ends the command, after what
  /// `so_far` found.
  async::Task<std::vector<std::uint8_t>> get(const StructInfo& info, std::uint32_t modifier, const char* why,
                                             const Report* so_far = nullptr) const;
  async::Task<std::vector<std::uint8_t>> set(const StructInfo& info, std::uint32_t modifier, std::vector<std::uint8_t> value,
                                             const char* why) const;
  /// The NodeInfo of a switch. What is none is refused.
  async::Task<smp::NodeInfo> switch_info(const char* why) const;

 private:
  async::Task<std::vector<std::uint8_t>> call(const StructInfo& info, std::uint8_t method, std::uint32_t modifier,
                                              std::vector<std::uint8_t> value, const char* why, const Report* so_far) const;
};

/// A command line "OP TARGET …" with a CC_Key.
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
