// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The records of the subnet administrator as words of a command line: the names of python-rdma and infiniband-diags, and the
// short form that selects records (`2/1` for LID 2, port 1). iba-defs has them (iba/queries.hpp).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iba/queries.hpp"

namespace ib::sa {

/// Every record that has a name: first the names of python-rdma, then the others, each in alphabetical order.
std::span<const QueryInfo> record_types();

/// The record with that name, alias or structure name. Letter case does not matter, and an unambiguous abbreviation is enough.
/// Throws UsageError "Unknown operation 'zz'" or "Ambiguous operation 's'"; `list` is the command that lists all names, for the first.
const QueryInfo& find_record_type(std::string_view word, std::string_view list = {});

/// Whether `word` is one of these names of `record`, and no abbreviation.
bool names_record(std::string_view word, const StructInfo& record);

/// The members of the short form with their given values. Removes the words of the short form from the front of `words`: at
/// most as many as `argument` has.
std::vector<std::pair<std::string_view, std::string>> take_argument(const QueryInfo& type, std::vector<std::string>& words);

}  // namespace ib::sa
