// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the commands of the physical layer share: which ports are read, the reading, and the names of a row.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "phy/reading.hpp"
#include "report/columns.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// What the command line wants to be read.
struct PhyWanted {
  Target target;
  DiscoveryOptions discovery;
  unsigned per_second = 2000;
  phy::Wanted registers = phy::Wanted::ports;
  /// Whether a port is read.
  std::function<bool(const subnet::Subnet& subnet, subnet::PortIndex port)> wants;
};

/// Adds TARGET, --rate and the options of a discovery.
void add_phy_options(OptionSet& set, PhyWanted& wanted);

/// Discovers the fabric, or what is around TARGET, and reads the ports that are wanted. The failures are added to the fabric, and printed.
async::Task<phy::Reading> fetch_phy(Session& session, const PhyWanted& wanted, Fabric& fabric);

/// How the commands show a table: --columns and --sort.
struct TableOptions {
  std::optional<std::string> columns, sort;

  /// Throws UsageError.
  template <class Row>
  void apply(report::Table<Row>& table) const {
    if (columns) table.choose(*columns);
    if (sort) table.sort_by(*sort);
  }
};
void add_table_options(OptionSet& set, TableOptions& options, std::vector<std::string> keys);

/// The keys of columns.
template <class Columns>
std::vector<std::string> keys_of(const Columns& columns) {
  std::vector<std::string> keys;
  for (const auto& column : columns) keys.emplace_back(column.key);
  return keys;
}

/// The description of a node, or its name in the node name map; nothing where it was not read.
report::Cell node_name_cell(const Fabric& fabric, subnet::NodeIndex node);
report::Cell node_guid_cell(const Fabric& fabric, subnet::NodeIndex node);
/// The label of a port on its box.
report::Cell port_label_cell(const Fabric& fabric, subnet::PortIndex port);

}  // namespace ib::tools
