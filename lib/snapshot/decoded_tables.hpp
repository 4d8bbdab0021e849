// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The tables and views of a snapshot that people query: ibtool-snapshot(5) describes them. A table of an attribute has a column
// for each of its fields, by the names of iba-defs/. Nothing in this program reads them back.
#pragma once

#include "snapshot/file/sqlite.hpp"

namespace ib::snapshot {

/// Creates the tables and views and fills them from the raw tables, in the open transaction.
void write_decoded_tables(Database& database);

}  // namespace ib::snapshot
