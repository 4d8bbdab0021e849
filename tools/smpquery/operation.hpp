// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The operations of smpquery. Those that print one attribute are in attributes.cpp, the tables in tables.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "async/task.hpp"
#include "iba/struct_info.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/session.hpp"

namespace ib::tools::smpquery {

/// One run of an operation.
struct Ask {
  Session& session;
  Emit& emit;
  const Destination& node;
  std::string_view word;   ///< the operation as the user wrote it
  std::uint32_t modifier;  ///< ATTR_MOD, usually a port number
  bool extended;           ///< -x: ask PortInfo for extended speeds
  bool always_names_node;  ///< NodeDesc asks for the GUID also where no map gives names

  const path::Path& path() const { return node.path; }
  /// What infiniband-diags says where the operation fails: "operation NI: node info query failed".
  DiagsWords words(std::string_view why) const;
  /// An attribute that the operation can not do without.
  async::Task<std::vector<std::uint8_t>> get(const StructInfo& info, std::uint32_t attribute_modifier, const char* why) const;
  template <class T>
  async::Task<T> get(std::uint32_t attribute_modifier, const char* why) const {
    const std::vector<std::uint8_t> bytes = co_await get(T::info(), attribute_modifier, why);
    co_return T::unpack(bytes);
  }
};

struct Operation {
  std::string_view name, short_name, attribute;  ///< any of them, abbreviated if unambiguous, in any case
  async::Task<> (*run)(const Ask& ask);
  bool python_rdma = true;  ///< its abbreviations win over those of newer operations
  bool diags = true;        ///< infiniband-diags has it, by name and short name
};

async::Task<> node_info(const Ask& ask);
async::Task<> node_description(const Ask& ask);
async::Task<> port_info(const Ask& ask);
async::Task<> port_info_extended(const Ask& ask);
async::Task<> mlnx_ext_port_info(const Ask& ask);
async::Task<> switch_info(const Ask& ask);
async::Task<> pkey_table(const Ask& ask);
async::Task<> sl_to_vl_tables(const Ask& ask);
async::Task<> vl_arbitration(const Ask& ask);
async::Task<> guid_info(const Ask& ask);
async::Task<> linear_forwarding_table(const Ask& ask);
async::Task<> multicast_forwarding_table(const Ask& ask);

/// All operations.
std::span<const Operation> operations();
/// The operation of that name. Throws UsageError "Unknown operation 'zz'" or "Ambiguous operation 'n'".
const Operation& find_operation(std::string_view word);
/// The same by the names of infiniband-diags, in full; null where there is none.
const Operation* find_diags_operation(std::string_view word);

}  // namespace ib::tools::smpquery
