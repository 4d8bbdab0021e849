// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The keys by which the tables of an SA are divided into parts; see simulator_tables.hpp. Each kind of record has keys that divide its
// table, the coarsest key first.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sa/pattern.hpp"

namespace ib::sa {

/// Where the values of a key come from.
enum class KeyValues : std::uint8_t {
  all_lids,      ///< all LIDs up to the top of the forwarding tables
  lids,          ///< the LIDs of all end ports, node by node
  even_lids,     ///< the LIDs of all end ports, if the SA does not round any of them to another LID: see links.hpp
  lids_by_port,  ///< the LIDs of all end ports in the order of port GUIDs
  gids,          ///< the GIDs of all end ports
  own_lids,      ///< all LIDs (LMC) of the end port in the member `of`
  ports,         ///< the ports of the node in the member `of`; without it, as many ports as the largest node has
  numbers,       ///< `count` numbers from `first` on
  blocks,        ///< block numbers from 0 to `count` − 1; no block exists after a missing one
};

/// A member of a record, and the values that it has in a fabric.
struct TableKey {
  std::string_view member;
  KeyValues values;
  std::string_view of = {};  ///< the member that names the end port; for GIDs, a LID that replaces them
  unsigned first = 0, count = 0;
};

/// The keys of the table that `pattern` asks for, where the end ports have 2^`lmc` LIDs. None for kinds that cannot be divided.
std::span<const TableKey> table_keys(const Pattern& pattern, unsigned lmc);

}  // namespace ib::sa
