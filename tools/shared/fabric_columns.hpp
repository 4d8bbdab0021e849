// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The columns of nodes and of ports of a fabric, for all commands that list them. They are their part of the dictionary of JSON.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "report/columns.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// A row of a list of nodes.
struct NodeLine {
  const Fabric* fabric;
  subnet::NodeIndex node;
};
/// A row of a list of ports.
struct PortLine {
  const Fabric* fabric;
  subnet::PortIndex port;
};

/// The columns that say which node it is: GUID, type, description and the name in the node name map.
std::span<const report::Column<NodeLine>> name_columns();
/// The columns of a node, the names first.
std::span<const report::Column<NodeLine>> node_columns();
/// The columns of a port: number, addresses, state, rates and the port at the other end.
std::span<const report::Column<PortLine>> port_columns();
/// The columns of a table of ports: of the node, then of the port. A column of the node whose key a port has too is nodes.KEY.
std::span<const report::Column<PortLine>> listed_port_columns();
inline constexpr std::size_t listed_port_column_count = 34;

/// listed_port_columns() for rows that are more than a port; Row is derived from PortLine. `usual`: the keys that a text shows.
template <class Row>
std::vector<report::Column<Row>> listed_columns_of(std::initializer_list<std::string_view> usual) {
  std::vector<report::Column<Row>> columns;
  const auto add = [&]<std::size_t... at>(std::index_sequence<at...>) {
    (columns.push_back({listed_port_columns()[at], [](const Row& row) { return listed_port_columns()[at].get(row); }}), ...);
  };
  add(std::make_index_sequence<listed_port_column_count>());
  for (report::Column<Row>& column : columns) column.usual = std::ranges::find(usual, column.key) != usual.end();
  return columns;
}

}  // namespace ib::tools
