// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Four tables, or a crawl where they cannot be had whole.
#include "subnet/sa_discovery.hpp"

#include <fmt/format.h>

#include "subnet/sa_crawl.hpp"
#include "subnet/sa_records.hpp"

namespace ib::subnet {
namespace {

/// All records of a kind; sets `cut` where they came back incomplete.
template <class Query>
async::Task<std::vector<decltype(Query::record)>> whole_table(mad::Transactor& transactor, bool& cut) {
  const Query everything;
  auto result = co_await transactor.try_subn_adm_get_table(everything);
  auto table = std::move(result).take();
  cut = cut || table.cut;
  co_return std::move(table.records);
}

/// Returns whether all tables came whole.
async::Task<bool> read_tables(mad::Transactor& transactor, SaRecords& records) {
  bool cut = false;
  records.nodes = co_await whole_table<sa::NodeRecord::Query>(transactor, cut);
  if (!cut) records.ports = co_await whole_table<sa::PortInfoRecord::Query>(transactor, cut);
  if (!cut) records.links = co_await whole_table<sa::LinkRecord::Query>(transactor, cut);
  if (!cut) records.switches = co_await whole_table<sa::SwitchInfoRecord::Query>(transactor, cut);
  co_return !cut;
}

}  // namespace

async::Task<DiscoverStats> discover_from_sa(mad::Transactor& transactor, Subnet& subnet, SaDiscoverOptions options) {
  const sys::EndPort& here = transactor.end_port();
  SaRecords records;
  DiscoverStats stats;
  bool whole = false;
  if (options.radius == ~0U) {
    stats.plan = 4;
    whole = co_await read_tables(transactor, records);
    if (!whole && options.tell) options.tell("The SA's tables come back cut: asking for the records one by one.");
  }
  const Lid start = options.start.value_or(here.lid);
  if (!whole) {
    records = {};
    async::Loop& loop = co_await async::current_loop;
    SaCrawl crawl(loop, transactor, records, options);
    co_await crawl.run(start);
    stats.plan += crawl.queries();
  }
  build(records, {options.start ? Guid{} : here.port_guid(), start}, subnet);
  if (whole) find_gaps(subnet);
  if (subnet.start == none)
    throw Error(fmt::format("The SA does not know the port at LID {}, where the discovery was to begin", start.value));
  co_return stats;
}

}  // namespace ib::subnet
