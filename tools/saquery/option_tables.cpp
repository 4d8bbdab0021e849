// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/saquery/option_tables.hpp"

#include <fmt/format.h>

#include "iba/struct_info.hpp"
#include "sa/record_types.hpp"

namespace ib::tools::saquery {

std::string MemberOption::help() const {
  std::string records;
  for (const QueryInfo& type : sa::record_types()) {
    const auto ref = find_path(*type.info, member);
    if (!type.classic || !ref || ref->field->iba_name != member) continue;
    records += (records.empty() ? "" : ", ") + std::string(type.name);
  }
  return fmt::format("{} of {}", member, records);
}

}  // namespace ib::tools::saquery
