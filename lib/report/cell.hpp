// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Texts as cells of a table. A text may hold any bytes that a remote node sent. In a cell it is UTF-8, disturbs no terminal, and has an
// apostrophe in front where a spreadsheet would take it for a formula.
#pragma once

#include <string>
#include <string_view>

namespace ib::report {

/// A cell of CSV (RFC 4180): in double quotes where it needs them.
std::string csv_cell(std::string_view value);
/// A cell between tabs: tabs, line feeds, carriage returns and backslashes are \t, \n, \r and \\.
std::string tsv_cell(std::string_view value);

}  // namespace ib::report
