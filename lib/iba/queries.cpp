// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "iba/queries.hpp"

#include <algorithm>
#include <vector>

#include "iba/tables.hpp"

namespace ib {

std::span<const QueryInfo> all_queries() {
  static const std::vector<QueryInfo> all = [] {
    std::vector<QueryInfo> made;
    for (const detail::QueryRow& row : detail::tables().queries) {
      made.push_back({.info = &detail::structs[row.structure],
                      .name = row.name,
                      .alias = row.alias,
                      .about = row.about,
                      .access = row.access,
                      .mgmt_class = row.mgmt_class,
                      .part = row.part,
                      .modifier = row.modifier,
                      .entries = row.entries,
                      .switches = row.switches,
                      .vendor = row.vendor,
                      .classic = row.classic,
                      .trust = row.trust,
                      .argument = row.argument,
                      .members = row.members,
                      .needs = row.needs});
    }
    return made;
  }();
  return all;
}

const QueryInfo* find_query(std::uint8_t mgmt_class, std::uint16_t attribute_id) {
  const std::span<const QueryInfo> all = all_queries();
  const auto found = std::ranges::find_if(
      all, [&](const QueryInfo& query) { return query.mgmt_class == mgmt_class && query.info->attribute_id == attribute_id; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace ib
