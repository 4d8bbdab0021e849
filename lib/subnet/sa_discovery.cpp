// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads four tables, or crawls if only the nodes near the start are wanted.
#include "subnet/sa_discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "iba/wire.hpp"
#include "sa/records.hpp"
#include "subnet/sa_crawl.hpp"
#include "subnet/sa_records.hpp"

namespace ib::subnet {
namespace {

template <class Record>
async::Task<> read_table(mad::Transactor& transactor, std::vector<Record>& into) {
  const sa::Pattern everything(Record::info());
  const sa::Records records = co_await sa::find_records(transactor, everything);
  into.reserve(records.bytes.size());
  for (const Bytes bytes : records.bytes) into.push_back(wire::unpack_short<Record>(bytes));
}

async::Task<> read_tables(mad::Transactor& transactor, SaDiscoverOptions& options, SaRecords& records) {
  records.nodes = std::move(options.nodes);
  if (records.nodes.empty()) co_await read_table(transactor, records.nodes);
  if (options.progress) options.progress(records.nodes.size());
  if (options.needs.end_ports.any()) co_await read_table(transactor, records.ports);
  if (options.needs.links) co_await read_table(transactor, records.links);
  if (options.needs.switch_infos) co_await read_table(transactor, records.switches);
}

std::uint64_t tables(const DiscoverNeeds& needs) {
  return 1U + (needs.end_ports.any() ? 1U : 0U) + (needs.links ? 1U : 0U) + (needs.switch_infos ? 1U : 0U);
}

}  // namespace

async::Task<Discovered> discover_from_sa(mad::Transactor& transactor, Subnet& subnet, SaDiscoverOptions options) {
  const sys::EndPort& here = transactor.end_port();
  const Lid start = options.start.value_or(here.lid);
  const bool whole = options.radius == ~0U && !options.alone;
  SaRecords records;
  Discovered result;
  DiscoverStats& stats = result.stats;
  if (whole) {
    stats.plan = tables(options.needs) - (options.nodes.empty() ? 0U : 1U);
    co_await read_tables(transactor, options, records);
  } else {
    async::Loop& loop = co_await async::current_loop;
    SaCrawl crawl(loop, transactor, records, options);
    co_await crawl.run(start);
    stats.plan = crawl.queries();
  }
  stats.asked = stats.plan;
  subnet.clear();
  result.failures = build(records, {options.start ? Guid{} : here.port_guid(), start}, subnet);
  if (whole) std::ranges::move(find_gaps(subnet, options.needs), std::back_inserter(result.failures));
  sort(result.failures, subnet);
  if (subnet.start == none)
    throw Error(fmt::format("The SA does not know the port at LID {}, where the discovery was to begin", start.value));
  co_return result;
}

}  // namespace ib::subnet
