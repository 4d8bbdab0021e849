// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/health/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/escape.hpp"
#include "counters/difference.hpp"
#include "iba/text.hpp"
#include "snapshot/stored_fabric.hpp"
#include "snapshot/transactor.hpp"
#include "subnet/diff/counterparts.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/stack.hpp"
#include "tools/shared/failure_lines.hpp"
#include "tools/shared/survey.hpp"

namespace ib::tools::health {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

std::vector<NodeIndex> all_nodes(const subnet::Subnet& subnet) {
  std::vector<NodeIndex> nodes(subnet.nodes().size());
  std::iota(nodes.begin(), nodes.end(), NodeIndex{});
  return nodes;
}

std::vector<PortIndex> ports_of_node(const Scope& scope, const subnet::Subnet& subnet, NodeIndex node) {
  std::vector<PortIndex> ports = counters::countable_ports(subnet, node);
  std::erase_if(ports, [&scope](PortIndex at) { return !scope.has_port(at); });
  return ports;
}

/// The port of the model with this node GUID and number; none if there is none, or if several nodes claim the GUID.
PortIndex only_port(const subnet::Subnet& subnet, Guid guid, unsigned number) {
  const NodeIndex node = subnet::only_node(subnet, guid);
  return node == subnet::none ? subnet::none : subnet.port_of(node, number);
}

/// The port of another model that has the node GUID and the number of this one; none if there is none, or if it is not the only one.
PortIndex same_port(const subnet::Subnet& subnet, PortIndex at, const subnet::Subnet& other) {
  if (&other == &subnet) return at;
  const subnet::Port& port = subnet.port(at);
  return subnet::has_own_guid(subnet, port.node) ? only_port(other, subnet.node(port.node).guid(), port.number) : subnet::none;
}

}  // namespace

std::vector<PortIndex> ports_in(const Scope& scope, const subnet::Subnet& subnet) {
  std::vector<PortIndex> all;
  for (const NodeIndex node : all_nodes(subnet)) std::ranges::move(ports_of_node(scope, subnet, node), std::back_inserter(all));
  return all;
}

std::vector<PortIndex> CounterReadings::known_ports(std::vector<PortIndex> ports, const subnet::Subnet& subnet) const {
  if (nodes_.empty()) return ports;  // the last reading is that of an earlier run, of the same port
  std::erase_if(ports, [&](PortIndex at) { return !nodes_.contains(subnet.node(subnet.port(at).node).guid()); });
  return ports;
}

/// The layout of the counters of blocks of a port; null where its PMA does not say that it has them, or where its FEC mode is not known.
const StructInfo* CounterReadings::blocks_layout(const subnet::Subnet& subnet, const counters::PmaReading& reading) const {
  if (fec_modes_ == nullptr) return nullptr;
  const auto mode = fec_modes_->find(same_port(subnet, reading.port, *fec_subnet_));
  return mode == fec_modes_->end() ? nullptr : counters::blocks_layout(reading.support, mode->second);
}

/// Whether a counter differs from the reading before; without such a reading, whether it is not zero.
bool CounterReadings::has_moved(const counters::CounterKey& key, const counters::PmaReading& reading, std::string_view counter) const {
  const std::size_t column = counters::column_of(counter);
  const std::uint64_t now = reading.row.value(column);
  const counters::CounterRow* before = history_.last(key);
  return now != (before == nullptr ? 0 : before->value(column));
}

async::Task<subnet::Failures> CounterReadings::read_all(mad::Transactor& transactor, const subnet::Subnet& subnet,
                                                        subnet::SurveyOptions options, const Scope& scope, mad::Transactor* owners,
                                                        Take take) {
  counters::ReadingPlan plan;
  plan.owners = owners;
  plan.ports = counters::ReadingPlan::Ports::each;
  plan.pmas = &pmas_;
  if (cost_ == Cost::usual) {
    plan.further = [&](const counters::PmaReading& reading) -> counters::Further {
      const counters::CounterKey key = counters::counter_key(subnet, subnet.port(reading.port).node, reading.select);
      return {.discard_details = has_moved(key, reading, "port_xmit_discards"),
              .error_details = has_moved(key, reading, "port_rcv_errors"),
              .speeds = blocks_layout(subnet, reading)};
    };
  }
  if (!scope.is_all) plan.ports_of = [&subnet, &scope](NodeIndex node) { return ports_of_node(scope, subnet, node); };
  plan.on_node = [&](const counters::PmaNode& node) {
    for (const counters::PmaReading& reading : node.ports) {
      if (reading.known()) take(node.node, reading);
    }
  };
  std::vector<NodeIndex> nodes = all_nodes(subnet);
  counters::PmaReadings readings = co_await counters::read_pmas(transactor, subnet, std::move(nodes), std::move(plan), std::move(options));
  co_return std::move(readings.failures);
}

async::Task<subnet::Failures> CounterReadings::read(Stack& stack, const subnet::Subnet& subnet, const Scope& scope,
                                                    subnet::SurveyOptions options, CounterTable* table) {
  std::optional<async::Time> time;  // where it is not that of the answers
  if (stack.host().options().from && any()) time = time_of(stack.host().stored(), stack.loop());
  const bool is_first = !any();
  const Take take = [this, &subnet, table, time, is_first](NodeIndex node, counters::PmaReading reading) {
    if (time) reading.row.error_time = reading.row.traffic_time = *time;
    const counters::CounterKey key = counters::counter_key(subnet, node, reading.select);
    has_blocks_ = has_blocks_ || reading.row.is_known(counters::column_of("port_fec_uncorrectable_block_ctr"));
    const std::optional<double> octets_per_second = is_first ? std::nullopt : counters::octets_per_second(subnet, reading.port);
    const std::optional<counters::CounterRow> before = history_.take(key, reading.row);
    if (table != nullptr) table->add(counters::RowDifference(before ? &*before : nullptr, reading.row, octets_per_second).errors());
  };
  mad::Transactor* owners = cost_ == Cost::usual ? owner_transactor(stack) : nullptr;
  subnet::Failures failures = co_await read_all(stack.transactor(), subnet, std::move(options), scope, owners, take);
  nodes_.clear();
  for (const subnet::Node& node : subnet.nodes()) nodes_.insert(node.guid());
  co_return failures;
}

void CounterReadings::name_former_peers(const subnet::Subnet& subnet, std::map<PortIndex, PortIndex>& peers) const {
  for (PortIndex at = 0; at < subnet.ports().size() && !links_.empty(); ++at) {
    const subnet::Port& port = subnet.port(at);
    if (port.peer != subnet::none || !has_own_guid(subnet, port.node)) continue;
    const auto link = links_.find({subnet.node(port.node).guid(), port.number});
    if (link == links_.end()) continue;
    const PortIndex peer = only_port(subnet, link->second.first, link->second.second);
    if (peer != subnet::none) peers[at] = peer;
  }
}

subnet::Failures CounterReadings::find_gone(const subnet::Subnet& subnet) const {
  std::vector<std::string> gone;
  for (const auto& [guid, description] : since_nodes_) {
    if (subnet.find_node(guid) == subnet::none) gone.push_back(to_text(guid) + (description.empty() ? "" : " " + in_quotes(description)));
  }
  if (gone.empty()) return {};
  std::string why = fmt::format("Not in the fabric any more since {}: {}", in_quotes(since_), some_of(gone, "node", "nodes"));
  return {{.kind = subnet::Failure::Kind::not_read, .attribute = {}, .why = std::move(why), .error = {}}};
}

void CounterReadings::keep_nodes_of(const subnet::Subnet& subnet) {
  history_.keep_nodes_of(subnet);
  pmas_.keep_nodes_of(subnet);
}

async::Task<> CounterReadings::read_snapshot(Stack& stack, const std::string& file, const subnet::Subnet& current) {
  const std::unique_ptr<snapshot::StoredFabric> stored = snapshot::open_fabric(file);
  if (const std::string why = stored->why_without("counters", "counters"); !why.empty()) throw UsageError("--since: " + why);
  const async::Time time = time_of(*stored, stack.loop());
  since_ = file;
  if (stack.host().options().from && time >= time_of(stack.host().stored(), stack.loop()))
    throw UsageError(
        fmt::format("--since: {} is not older than the snapshot of --from, whose counters are the second reading", in_quotes(file)));
  const sys::DeviceList devices = stored->devices();
  const sys::EndPort& port = devices.select({}, std::to_string(stored->port_number()));
  snapshot::SnapshotTransactor transactor(*stored, port, Keys::hidden);
  const subnet::Subnet& then = transactor.subnet();
  if (const std::string other = subnet::other_fabric(current, then); !other.empty())
    throw UsageError(fmt::format("--since: {} cannot be compared: {}", in_quotes(file), other));
  const auto end_of = [&then](PortIndex at) { return EndOfLink{then.node(then.port(at).node).guid(), then.port(at).number}; };
  for (PortIndex at = 0; at < then.ports().size(); ++at) {
    const PortIndex peer = then.port(at).peer;
    if (peer == subnet::none || !subnet::has_own_guid(then, then.port(at).node) || !subnet::has_own_guid(then, then.port(peer).node))
      continue;
    links_[end_of(at)] = end_of(peer);
  }
  for (const subnet::Node& node : then.nodes()) since_nodes_[node.guid()] = node.has_description ? node.description() : std::string();
  const Take take = [this, &then, time](NodeIndex node, counters::PmaReading reading) {
    reading.row.error_time = reading.row.traffic_time = time;
    history_.take(counters::counter_key(then, node, reading.select), reading.row);
  };
  const path::Path start = path::IbDrPath(&port);
  subnet::SurveyOptions options(start);
  const Scope all;
  co_await read_all(transactor, then, std::move(options), all, nullptr, take);  // failures of the snapshot are not failures of this fabric
  history_.keep_nodes_of(current);
  pmas_ = {};  // firmware may have been renewed since
}

}  // namespace ib::tools::health
