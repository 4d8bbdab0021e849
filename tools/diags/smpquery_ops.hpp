// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The operations of infiniband-diags' smpquery: each asks for what it needs and prints as it goes, so that what came
// before a failure stays printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "async/task.hpp"
#include "base/keys.hpp"
#include "diags/console.hpp"
#include "diags/fabric.hpp"
#include "subnet/node_name_map.hpp"
#include "tools/emit.hpp"

namespace ib::diags {

/// One run of an operation.
struct Query {
  Fabric& fabric;
  const Target& target;
  tools::TextOut& out;
  std::string_view operation;  ///< as the user wrote it
  int port;                    ///< the first argument after the address, 0 if there is none
  bool extended;               ///< -x: ask for extended speeds
  Keys keys;
  const subnet::NodeNameMap& names;

  /// An attribute that the operation can not do without; fails with `or_else`.
  template <class T>
  async::Task<T> get(std::uint32_t modifier, const char* or_else);
  async::Task<std::vector<std::uint8_t>> get_bytes(std::uint16_t attribute, std::uint32_t modifier, const char* or_else);
  /// "operation NI: node info query failed".
  Failure failure(std::string_view why) const;
};

struct Operation {
  std::string_view name, alias;
  async::Task<> (*run)(Query& query);
};

/// By name or alias, in any case; null if there is none.
const Operation* find_operation(std::string_view name);

template <class T>
async::Task<T> Query::get(std::uint32_t modifier, const char* or_else) {
  const std::vector<std::uint8_t> bytes = co_await get_bytes(T::attribute_id, modifier, or_else);
  co_return T::unpack(bytes);
}

/// A PortInfo as libibmad lists it, which warns of a width that it does not know.
std::string port_info_text(Bytes port_info, Keys keys);
/// "Node Description:" with dots and the name flush right.
std::string description_line(std::string_view name);

}  // namespace ib::diags
