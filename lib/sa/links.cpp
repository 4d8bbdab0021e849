// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/links.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sa/records.hpp"
#include "sa/subn_adm.hpp"

namespace ib::sa {
namespace {

/// The link among the results of `query` that really starts at LID `from`.
async::Task<std::optional<LinkRecord>> pick(mad::Transactor& transactor, LinkRecord::Query query, Lid from) {
  const auto table = co_await try_subn_adm_get_table(transactor, query);
  if (!table) co_return std::nullopt;
  const auto is_it = [&](const LinkRecord& link) { return link.from_lid == from && link.from_port == query.record.from_port; };
  const auto found = std::ranges::find_if(table->records, is_it);
  if (found == table->records.end()) co_return std::nullopt;
  co_return *found;
}

}  // namespace

async::Task<mad::Result<LinkRecord>> find_link(mad::Transactor& transactor, Lid from, std::optional<std::uint8_t> port) {
  LinkRecord::Query query;
  query.from_lid(from);
  if (port) query.from_port(*port);
  const mad::Result<LinkRecord> link = co_await try_subn_adm_get(transactor, query);
  if (link || !port || !is_no_records(link.error())) co_return link;
  LinkRecord::Query by_port;
  by_port.from_port(*port);
  const std::optional<LinkRecord> found = co_await pick(transactor, by_port, from);
  if (found) co_return *found;
  co_return link;
}

Lid end_of(const LinkRecord& link) {
  if (link.to_lid.is_unicast()) return link.to_lid;
  throw Error(
      fmt::format("The SA's link record leads from port {} of LID {} to LID {}", link.from_port, link.from_lid.value, link.to_lid.value));
}

}  // namespace ib::sa
