// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sa/links.hpp"

#include <algorithm>

#include "sa/records.hpp"
#include "sa/subn_adm.hpp"

namespace ib::sa {
namespace {

constexpr unsigned last_port = 254;  // IBA 14.2.5.6

/// The link among all that `query` finds; sets `cut` where it may be among those that did not arrive.
async::Task<std::optional<LinkRecord>> pick(mad::Transactor& transactor, LinkRecord::Query query, Lid from, bool& cut) {
  const auto table = co_await try_subn_adm_get_table(transactor, query);
  cut = table && table->cut;
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
  bool cut = false;
  std::optional<LinkRecord> found = co_await pick(transactor, by_port, from, cut);
  for (unsigned peer = 1; cut && !found && peer <= last_port; ++peer) {  // in smaller parts
    bool part_cut = false;
    by_port.to_port(static_cast<std::uint8_t>(peer));
    found = co_await pick(transactor, by_port, from, part_cut);
  }
  if (found) co_return *found;
  co_return link;
}

}  // namespace ib::sa
