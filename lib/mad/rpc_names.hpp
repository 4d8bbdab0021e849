// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The RPCs by name: SubnGet, PerformanceSet, SubnAdmGetTable, … A name stands for a management class and a method. The
// descriptors know which attributes go with an RPC.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "iba/struct_info.hpp"
#include "mad/request.hpp"

namespace ib::mad {

/// Whether a request with this method changes something at its destination: Set, and Delete of the SA (IBA 13.4.5, 15.2.2).
constexpr bool changes_something(std::uint8_t method) { return method == method::set || method == method::delete_; }
inline bool changes_something(const Request& request) { return changes_something(request.method); }

/// An RPC: a name for a management class and a method.
struct RpcName {
  std::string_view name;
  std::uint8_t mgmt_class;  ///< 0: the vendor class of the attribute
  std::uint8_t method;
};

/// Every RPC for which at least one attribute is known.
std::span<const RpcName> rpc_names();

/// The name of a method of a class; empty if it is not known.
std::string_view rpc_name(std::uint8_t mgmt_class, std::uint8_t method);

/// Finds an RPC by name, without regard to case. Null if there is none.
const RpcName* find_rpc(std::string_view name);

/// The header fields of a MAD of an RPC with an attribute.
struct RpcHeader {
  std::uint8_t mgmt_class, class_version;
  std::uint32_t oui;  ///< vendor classes of range 2 only
};
/// The header fields of `rpc` with `attribute`. Nothing if the attribute does not go with the RPC.
std::optional<RpcHeader> rpc_header(const RpcName& rpc, const StructInfo& attribute);

std::vector<const StructInfo*> attributes_of(const RpcName& rpc);

/// Finds an attribute of `rpc` by its dump name (`SMPNodeInfo`), C++ name (`smp::NodeInfo`) or title (`NodeInfo`), without
/// regard to case. Null if there is none.
const StructInfo* find_attribute_of(const RpcName& rpc, std::string_view name);

}  // namespace ib::mad
