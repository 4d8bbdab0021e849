// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The records of the subnet administrator as words of a command line: their names in python-rdma and infiniband-diags, and
// the short way to choose some of them (`2/1` for LID 2, port 1).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "iba/struct_info.hpp"

namespace ib::sa {

struct RecordType {
  std::string_view name, alias;  ///< the alias may be empty
  const StructInfo& (*info)();
  std::string_view argument;  ///< how the short form is told to people: `[LID]/[PORT]`; empty where there is none
  std::string_view members;   ///< what its parts are: `endportLID/portNum`
  bool classic = true;        ///< one of python-rdma's: its abbreviations win over those of others
};

/// Every record that can be asked for by name.
std::span<const RecordType> record_types();

/// The record of that name, alias or structure name, in any case and abbreviated if unambiguous. Throws UsageError
/// "Unknown operation 'zz'" or "Ambiguous operation 's'".
const RecordType& find_record_type(std::string_view word);

/// The members that the short form chooses by, with their values as they were given. Takes from the front of `words` what
/// belongs to it: at most as many words as `argument` has.
std::vector<std::pair<std::string_view, std::string>> take_argument(const RecordType& type, std::vector<std::string>& words);

}  // namespace ib::sa
