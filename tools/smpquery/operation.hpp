// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The operations of smpquery: every attribute that iba-defs says to be read by SMP.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "iba/queries.hpp"
#include "iba/struct_info.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools {
class Emit;
}

namespace ib::tools::smpquery {

struct OperationRun;

/// An operation has the names of its query; unambiguous abbreviations and any case are allowed.
struct Operation {
  const StructInfo& (*attribute)();  ///< null: the references do not have it
  async::Task<> (*run)(const OperationRun& op);
  bool diags = true;                 ///< infiniband-diags has the operation, by its name and short name
  std::string_view title{};          ///< of any_attribute(): in the heading
  const char* why = "query failed";  ///< of any_attribute(): the message of infiniband-diags if it cannot be read
  const QueryInfo* query{};
  bool classic{};  ///< QueryInfo::classic
};

struct OperationRun {
  Stack& stack;
  Emit& emit;
  const Destination& node;
  const Operation& operation;
  std::string_view word;   ///< the operation as the user wrote it
  std::uint32_t modifier;  ///< ATTR_MOD, usually a port number
  bool extended;           ///< -x: request PortInfo with extended speeds
  bool always_names_node;  ///< NodeDesc reads the GUID even if there is no node name map

  const path::Path& path() const { return node.path; }
  /// The message of infiniband-diags if the operation fails: "operation NI: node info query failed".
  std::string words(std::string_view why) const;
  /// Reads an attribute that the operation needs. A failure ends the command.
  async::Task<std::vector<std::uint8_t>> get(const StructInfo& info, std::uint32_t attribute_modifier, const char* why) const;
  template <class T>
  async::Task<T> get(std::uint32_t attribute_modifier, const char* why) const {
    const std::vector<std::uint8_t> bytes = co_await get(T::info(), attribute_modifier, why);
    co_return T::unpack(bytes);
  }
};

/// Operation::run of most: prints the attribute as its descriptor says.
async::Task<> any_attribute(const OperationRun& op);

std::span<const Operation> operations();
/// The operation with that name. Throws UsageError "Unknown operation 'zz' (ibtool help smpquery lists all)" or "Ambiguous operation 'n'".
const Operation& find_operation(std::string_view word);
/// The operation that infiniband-diags calls `word`, by its full or short name. Abbreviations do not count. Null if there is none.
const Operation* find_diags_operation(std::string_view word);

}  // namespace ib::tools::smpquery
