// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The operations of smpquery: every attribute that iba-defs says to be read by SMP. Those that the references have too print their texts:
// operations that print one attribute are in attributes.cpp, operations that print tables in tables.cpp. All others are any_attribute().
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "iba/queries.hpp"
#include "iba/struct_info.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools::smpquery {

/// An operation that runs.
struct OperationRun {
  Stack& stack;
  Emit& emit;
  const Destination& node;
  const QueryInfo& query;
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

struct Operation {
  std::string_view name, short_name;  ///< the names of the operation; unambiguous abbreviations and any case are allowed
  std::string_view attribute;         ///< its name as an attribute: SMPNodeInfo
  const QueryInfo* query;
  async::Task<> (*run)(const OperationRun& op);
  bool python_rdma;         ///< an operation of python-rdma; its abbreviations take precedence over those of newer operations
  bool diags;               ///< infiniband-diags has the operation, by its name and short name
  std::string_view rows{};  ///< Command::table_rows()
};

/// Prints the attribute as its descriptor says.
async::Task<> any_attribute(const OperationRun& op);
async::Task<> node_info(const OperationRun& op);
async::Task<> node_description(const OperationRun& op);
async::Task<> port_info(const OperationRun& op);
async::Task<> port_info_extended(const OperationRun& op);
async::Task<> mlnx_ext_port_info(const OperationRun& op);
async::Task<> switch_info(const OperationRun& op);
async::Task<> pkey_table(const OperationRun& op);
async::Task<> sl_to_vl_tables(const OperationRun& op);
async::Task<> vl_arbitration(const OperationRun& op);
async::Task<> guid_info(const OperationRun& op);
async::Task<> linear_forwarding_table(const OperationRun& op);
async::Task<> multicast_forwarding_table(const OperationRun& op);

/// All operations.
std::span<const Operation> operations();
/// The operation with that name. Throws UsageError "Unknown operation 'zz' (ibtool help smpquery lists all)" or "Ambiguous operation 'n'".
const Operation& find_operation(std::string_view word);
/// The operation that infiniband-diags calls `word`, by its full or short name. Abbreviations do not count. Null if there is none.
const Operation* find_diags_operation(std::string_view word);

}  // namespace ib::tools::smpquery
