// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The columns of what was read of a port: those of its link, and behind them those of its module. `ibtool phy`, `ibtool modules` and the
// JSON of health have their values from here.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "phy/port_row.hpp"
#include "report/columns.hpp"

namespace ib::phy {

inline constexpr std::size_t link_columns = 16, module_columns = 15;
/// The column of this number, below link_columns + module_columns. The key of one of the module begins with "module.".
const report::Column<PortRow>& row_column(std::size_t number);

/// The columns from `first` on for rows of another type; `row_of` is what was read of the port of such a row.
template <class Row, const PortRow& (*row_of)(const Row& row), std::size_t first, std::size_t... numbers>
std::vector<report::Column<Row>> columns_of(std::index_sequence<numbers...> /*each*/) {
  return {report::Column<Row>{row_column(first + numbers), [](const Row& row) { return row_column(first + numbers).get(row_of(row)); }}...};
}

/// Writes the values of a row into the open object; null for what was not read.
void visit(report::Sink& sink, const PortRow& row);

}  // namespace ib::phy
