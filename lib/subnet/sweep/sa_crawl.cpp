// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The ports of a switch are requested one by one, and then the link of each port that is up. Any other node is one port, known
// by its LID.
#include "subnet/sweep/sa_crawl.hpp"

#include "sa/links.hpp"
#include "sa/subn_adm.hpp"

namespace ib::subnet {
namespace {

constexpr std::size_t max_open_queries = 256;  // limits the memory of waiting queries; the Transactor has windows of its own

std::uint32_t end_of_link(Lid lid, unsigned port) { return std::uint32_t{lid.value} << 8 | port; }

bool is_up(const smp::PortInfo& port) {
  return port.port_physical_state == smp::PortPhysicalState::link_up || port.port_state >= smp::PortState::init;
}

}  // namespace

async::Task<> SaCrawl::run(Lid start) {
  depth_.emplace(start.value, 0);
  Work first;
  first.lid = start;
  co_await request_node(first);
  pump();
  co_await group_.join();
}

void SaCrawl::pump() {
  while (!work_.empty() && group_.running() < max_open_queries) {
    const Work work = work_.front();
    work_.pop_front();
    group_.spawn(perform(work));
  }
}

async::Task<> SaCrawl::perform(Work work) {
  switch (work.what) {
    case What::node:
      co_await request_node(work);
      break;
    case What::switch_info:
      co_await request_switch_info(work);
      break;
    case What::port_info:
      co_await request_port_info(work);
      break;
    case What::link:
      co_await request_link(work);
      break;
  }
  pump();
}

async::Task<> SaCrawl::request_node(Work work) {
  ++queries_;
  sa::NodeRecord::Query query;
  query.lid(work.lid);
  const mad::Result<sa::NodeRecord> record = co_await sa::try_subn_adm_get(transactor_, query);
  if (record) {
    found(work, *record);
  } else if (work.depth == 0) {
    record.error().raise();
  } else {
    records_.misses.push_back({work.from, work.from_port, true, "NodeRecord", record.shared_error()});
  }
}

void SaCrawl::found(const Work& work, const sa::NodeRecord& record) {
  records_.nodes.push_back(record);
  if (options_.progress) options_.progress(records_.nodes.size());
  ports_ += record.node_info.num_ports + 1U;
  if (ports_ > SubnetLimits().ports) return;  // build() reports that there are too many
  const auto enqueue = [&](What what, int port) {
    Work next;
    next.what = what;
    next.lid = work.lid;
    next.depth = work.depth;
    next.port = port;
    work_.push_back(next);
  };
  if (record.node_info.node_type != smp::NodeType::switch_) {
    enqueue(What::port_info, -1);
    return;
  }
  if (options_.needs.switch_infos) enqueue(What::switch_info, -1);
  enqueue(What::port_info, 0);
  if (at_rim(work.depth)) {
    if (work.port > 0) enqueue(What::port_info, work.port);
    return;
  }
  const int ports = static_cast<int>(std::min<unsigned>(record.node_info.num_ports, last_switch_port));
  for (int port = 1; port <= ports; ++port) enqueue(What::port_info, port);
}

async::Task<> SaCrawl::request_switch_info(Work work) {
  ++queries_;
  sa::SwitchInfoRecord::Query query;
  query.lid(work.lid);
  const mad::Result<sa::SwitchInfoRecord> record = co_await sa::try_subn_adm_get(transactor_, query);
  if (record) {
    records_.switches.push_back(*record);
  } else {
    records_.misses.push_back({work.lid, -1, false, "SwitchInfo", record.shared_error()});
  }
}

async::Task<> SaCrawl::request_port_info(Work work) {
  ++queries_;
  sa::PortInfoRecord::Query query;
  query.endport_lid(work.lid);
  if (work.port >= 0) query.port_num(static_cast<std::uint8_t>(work.port));
  const mad::Result<sa::PortInfoRecord> record = co_await sa::try_subn_adm_get(transactor_, query);
  if (!record) {
    records_.misses.push_back({work.lid, work.port, false, "PortInfo", record.shared_error()});
    co_return;
  }
  records_.ports.push_back(*record);
  const bool leads_on = work.port > 0 || (work.port < 0 && work.depth == 0);  // links of other end nodes are known from their switches
  if (!leads_on || options_.alone || at_rim(work.depth) || !is_up(record->port_info)) co_return;
  if (work.port > 0 && linked_.contains(end_of_link(work.lid, static_cast<unsigned>(work.port)))) co_return;
  work.what = What::link;
  work_.push_back(work);
}

async::Task<> SaCrawl::request_link(Work work) {
  ++queries_;
  std::optional<std::uint8_t> port;
  if (work.port >= 0) port = static_cast<std::uint8_t>(work.port);
  const mad::Result<sa::LinkRecord> record = co_await sa::find_link(transactor_, work.lid, port);
  if (!record) {
    records_.misses.push_back({work.lid, work.port, true, "Link", record.shared_error()});
    co_return;
  }
  records_.links.push_back(*record);
  linked_.insert(end_of_link(record->to_lid, record->to_port));
  if (!record->to_lid.is_unicast()) co_return;
  Work next;
  next.lid = record->to_lid;
  next.depth = work.depth + 1;
  next.port = record->to_port;
  next.from = work.lid;
  next.from_port = record->from_port;
  const auto [known, is_new] = depth_.emplace(next.lid.value, next.depth);
  if (!is_new && (!at_rim(known->second) || next.port == 0)) co_return;
  // Another link to a switch at the greatest distance, of which only linked ports are read.
  if (!is_new) next.what = What::port_info;
  work_.push_back(next);
}

}  // namespace ib::subnet
