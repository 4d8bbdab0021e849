// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Reads four tables, or crawls if only the nodes near the start are wanted.
#include "subnet/sweep/sa_discovery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "iba/wire.hpp"
#include "sa/records.hpp"
#include "subnet/sweep/sa_crawl.hpp"
#include "subnet/sweep/sa_records.hpp"

namespace ib::subnet {
namespace {

/// Reads the tables of an SA.
class Tables {
 public:
  Tables(mad::Transactor& transactor, SaRecords& records) : transactor_(transactor), records_(records) {}

  async::Task<> read(SaDiscoverOptions& options) {
    records_.nodes = std::move(options.nodes);
    if (records_.nodes.empty()) co_await read_table(records_.nodes);
    if (options.progress) options.progress(records_.nodes.size());
    if (options.needs.end_ports.any()) co_await read_table(records_.ports);
    if (options.needs.links) co_await read_table(records_.links);
    if (options.needs.switch_infos) co_await read_table(records_.switches);
  }
  /// A Failure for each table that came without its end.
  const std::vector<Failure>& cut() const { return cut_; }

 private:
  template <class Record>
  async::Task<> read_table(std::vector<Record>& into) {
    const sa::Pattern everything(Record::info());
    const sa::Records records = co_await sa::find_records(transactor_, everything);
    into.reserve(records.bytes.size());
    for (const Bytes bytes : records.bytes) into.push_back(wire::unpack_short<Record>(bytes));
    if (!records.torn) co_return;
    const std::string name(Record::info().iba_name.substr(2));  // without "SA"
    std::string why = fmt::format("The SA's table of {}s came without its end: {} arrived.", name, into.size());
    cut_.push_back({.kind = Failure::Kind::no_record, .attribute = name, .why = std::move(why), .error = {}});
  }

  mad::Transactor& transactor_;
  SaRecords& records_;
  std::vector<Failure> cut_;
};

std::uint64_t tables(const DiscoverNeeds& needs) {
  return 1U + (needs.end_ports.any() ? 1U : 0U) + (needs.links ? 1U : 0U) + (needs.switch_infos ? 1U : 0U);
}

}  // namespace

async::Task<Discovered> discover_from_sa(mad::Transactor& transactor, Subnet& subnet, SaDiscoverOptions options) {
  const sys::EndPort& here = transactor.end_port();
  const Lid start = options.start.value_or(here.lid);
  const bool whole = options.radius == ~0U && !options.alone;
  SaRecords records;
  Tables all(transactor, records);
  Discovered result;
  DiscoverStats& stats = result.stats;
  if (whole) {
    stats.plan = tables(options.needs) - (options.nodes.empty() ? 0U : 1U);
    co_await all.read(options);
  } else {
    async::Loop& loop = co_await async::current_loop;
    SaCrawl crawl(loop, transactor, records, options);
    co_await crawl.run(start);
    stats.plan = crawl.queries();
  }
  stats.requested = stats.plan;
  subnet.clear();
  result.failures = build(records, {options.start ? Guid{} : here.port_guid(), start}, subnet);
  if (subnet.start == none) {
    Error unknown(fmt::format("The SA does not know the port at LID {}, where the discovery was to begin", start.value));
    for (const Failure& table : all.cut()) unknown.note(table.why);
    throw unknown;
  }
  if (whole && all.cut().empty())  // what a table without its end lacks is one failure
    std::ranges::move(find_gaps(subnet, options.needs), std::back_inserter(result.failures));
  sort(result.failures, subnet);
  result.failures.insert(result.failures.end(), all.cut().begin(), all.cut().end());
  co_return result;
}

}  // namespace ib::subnet
