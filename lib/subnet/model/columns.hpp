// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The columns of nodes and of ports of a subnet, for every table and every JSON that lists them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "report/columns.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/names.hpp"

namespace ib::subnet {

/// A swept subnet, the site's names of its nodes, and where the sweep began.
struct NamedSubnet : SweptSubnet {
  NodeNameMap names{};
  /// The directed route from this host to where the sweep began; nothing if it began at a LID, so that routes from here are not known.
  std::optional<std::vector<std::uint8_t>> route_to_start = std::vector<std::uint8_t>();
};

struct NodeLine {
  const NamedSubnet* fabric;
  NodeIndex node;
};
struct PortLine {
  const NamedSubnet* fabric;
  PortIndex port;
};

/// The columns that say which node it is: GUID, type, description and the name in the node name map.
std::span<const report::Column<NodeLine>> name_columns();
/// The columns of a node, the names first.
std::span<const report::Column<NodeLine>> node_columns();
/// The columns of a port: number, addresses, state, rates and the port at the other end.
std::span<const report::Column<PortLine>> port_columns();
/// The columns of a table of ports: of the node, then of the port. A column of the node whose key a port has too is nodes.KEY.
std::span<const report::Column<PortLine>> listed_port_columns();

/// listed_port_columns() for rows that are more than a port; Row is derived from PortLine. `usual`: the keys that a text shows. `keys`:
/// the columns, in their order; empty: all.
template <class Row>
std::vector<report::Column<Row>> listed_columns_of(std::initializer_list<std::string_view> usual,
                                                   std::initializer_list<std::string_view> keys = {}) {
  auto all = report::columns_of_part<Row>(listed_port_columns(), [](const Row& row) -> const PortLine& { return row; });
  for (report::Column<Row>& column : all) column.usual = std::ranges::find(usual, column.key) != usual.end();
  if (keys.size() == 0) return all;
  std::vector<report::Column<Row>> columns;
  for (const std::string_view key : keys) columns.push_back(*std::ranges::find(all, key, &report::ColumnInfo::key));
  return columns;
}

}  // namespace ib::subnet
