// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What files hold beside the model that a fabric is compared with: P_Keys, subnet managers, and the firmware of Mellanox devices, which a
// live fabric is read for.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>

#include "base/escape.hpp"
#include "iba/text.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/failures.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/health/fetch.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools::health {
namespace {

std::vector<NodeIndex> all_nodes(const Subnet& subnet) {
  std::vector<NodeIndex> nodes(subnet.nodes().size());
  std::iota(nodes.begin(), nodes.end(), NodeIndex{});
  return nodes;
}

std::vector<PortIndex> ports_of_node(const Scope& scope, const Subnet& subnet, NodeIndex node) {
  std::vector<PortIndex> ports = counters::countable_ports(subnet, node);
  std::erase_if(ports, [&scope](PortIndex at) { return !scope.has_port(at); });
  return ports;
}

/// The port of another model that has the node GUID and the number of this one; none if there is none, or if it is not the only one.
PortIndex same_port(const Subnet& subnet, PortIndex at, const Subnet& other) {
  if (&other == &subnet) return at;
  if (at == subnet::none || !subnet::has_own_guid(subnet, subnet.port(at).node)) return subnet::none;
  const NodeIndex node = subnet::only_node(other, subnet.node_of(at).guid());
  return node == subnet::none ? subnet::none : other.port_of(node, subnet.port(at).number);
}

std::vector<PortIndex> swept_ports(const Subnet& subnet) {
  std::vector<PortIndex> ports;
  for (NodeIndex index = 0; index < subnet.nodes().size(); ++index) {
    const subnet::Node& node = subnet.node(index);
    const PortIndex at = node.kind() == NodeKind::sw ? node.first_port : node.first_port + node.entry_port;
    if (subnet::has_own_guid(subnet, index) && subnet.lid(at) != Lid{}) ports.push_back(at);
  }
  return ports;
}

bool has_firmware(snapshot::StoredFabric& stored) { return stored.has_part("vendor") || stored.has_part("phy"); }

async::Task<subnet::Failures> survey_firmware(mad::Transactor& transactor, phy::ReadingOptions options, std::vector<PortIndex> ports,
                                              Input& input) {
  options.wanted = phy::ReadingScope::nothing;
  phy::Reading found = co_await phy::read_phy(transactor, input.subnet, std::move(ports), std::move(options));
  for (const phy::DeviceRow& device : found.devices) {
    if (device.firmware) input.firmware[input.subnet.node(device.node).guid()] = device.firmware->version;
  }
  co_return std::move(found.failures);
}

/// The P_Keys, subnet managers and firmware that a file holds.
async::Task<BaselineTables> tables_in_file(snapshot::StoredFabric& stored) {
  snapshot::SnapshotTransactor transactor(stored);
  const path::Path start = path::IbDrPath(&stored.end_port());
  const subnet::Failures none{};
  const Thresholds thresholds{};
  Input then(transactor.subnet(), none, thresholds);
  if (stored.has_part("pkeys")) co_await survey_pkeys(transactor, start, then);
  if (stored.has_part("sminfo")) {
    std::vector<PortIndex> ports = subnet::ports_with_manager(then.subnet);
    const auto found = co_await subnet::survey_managers(transactor, then.subnet, std::move(ports), start);
    take_managers(found, {}, then);
  }
  if (has_firmware(stored)) {
    std::vector<PortIndex> ports = swept_ports(then.subnet);
    const subnet::PortPaths paths(then.subnet, start);
    phy::ReadingOptions options;
    options.paths = &paths;
    options.is_stored = true;
    co_await survey_firmware(transactor, std::move(options), std::move(ports), then);
  }
  co_return tables_of(then);
}

}  // namespace

std::vector<PortIndex> ports_in(const Scope& scope, const Subnet& subnet) {
  std::vector<PortIndex> all;
  for (const NodeIndex node : all_nodes(subnet)) std::ranges::move(ports_of_node(scope, subnet, node), std::back_inserter(all));
  return all;
}

std::vector<PortIndex> CounterReadings::known_ports(std::vector<PortIndex> ports, const Subnet& subnet) const {
  if (nodes_.empty()) return ports;  // the last reading is of an earlier run, and of this port
  std::erase_if(ports, [&](PortIndex at) { return !nodes_.contains(subnet.node(subnet.port(at).node).guid()); });
  return ports;
}

/// The layout of the counters of blocks of a port; null where its PMA does not say that it has them, or where its FEC mode is not known.
const StructInfo* CounterReadings::blocks_layout(const Subnet& subnet, const counters::PmaReading& reading) const {
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

async::Task<subnet::Failures> CounterReadings::read_all(mad::Transactor& transactor, const Subnet& subnet, subnet::SurveyOptions options,
                                                        const Scope& scope, mad::Transactor* owners, Take take) {
  counters::ReadingPlan plan;
  plan.owners = owners;
  plan.ports = counters::ReadingPlan::Ports::each;
  plan.pmas = &pmas_;
  if (!is_local_) {
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

async::Task<subnet::Failures> CounterReadings::read(Stack& stack, const Subnet& subnet, const Scope& scope, subnet::SurveyOptions options,
                                                    CounterTable* table) {
  std::optional<async::Time> time;  // where it is not the time of the answers
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
  mad::Transactor* owners = is_local_ ? nullptr : owner_transactor(stack);
  subnet::Failures failures = co_await read_all(stack.transactor(), subnet, std::move(options), scope, owners, take);
  nodes_.clear();
  for (const subnet::Node& node : subnet.nodes()) nodes_.insert(node.guid());
  co_return failures;
}

void CounterReadings::name_former_peers(const Subnet& subnet, std::map<PortIndex, PortIndex>& peers) {
  for (PortIndex at = 0; at < subnet.ports().size() && then_; ++at) {
    const Subnet& then = then_->subnet();
    const PortIndex before = subnet.port(at).peer == subnet::none ? same_port(subnet, at, then) : subnet::none;
    const PortIndex peer = before == subnet::none ? subnet::none : same_port(then, then.port(before).peer, subnet);
    if (peer != subnet::none) peers[at] = peer;
  }
}

subnet::Failures CounterReadings::find_gone(const Subnet& subnet) {
  std::map<Guid, std::string> gone;
  for (const subnet::Node& node : then_->subnet().nodes()) {
    const std::string words = node.has_description && !node.description().empty() ? " " + in_quotes(node.description()) : "";
    if (subnet.find_node(node.guid()) == subnet::none) gone[node.guid()] = to_text(node.guid()) + words;
  }
  if (gone.empty()) return {};
  std::vector<std::string> names;
  for (auto& [guid, name] : gone) names.push_back(std::move(name));
  std::string why =
      fmt::format("Not in the fabric any more since {}: {}", in_quotes(since_->file()), subnet::some_of(names, "node", "nodes"));
  return {{.kind = subnet::Failure::Kind::not_read, .attribute = {}, .why = std::move(why), .error = {}}};
}

void CounterReadings::keep_nodes_of(const Subnet& subnet) {
  history_.keep_nodes_of(subnet);
  pmas_.keep_nodes_of(subnet);
}

async::Task<> CounterReadings::read_snapshot(Stack& stack, const std::string& file, const Subnet& current) {
  since_ = snapshot::open_fabric(file);
  if (const std::string why = since_->why_without("counters", "counters"); !why.empty()) throw UsageError("--since: " + why);
  const async::Time time = time_of(*since_, stack.loop());
  if (stack.host().options().from && time >= time_of(stack.host().stored(), stack.loop()))
    throw UsageError(
        fmt::format("--since: {} is not older than the snapshot of --from, whose counters are the second reading", in_quotes(file)));
  const Subnet& then = then_.emplace(*since_).subnet();
  if (const std::string other = subnet::other_fabric(current, then, subnet::Counterparts(current, then)); !other.empty())
    throw UsageError(fmt::format("--since: {} cannot be compared: {}", in_quotes(file), other));
  const Take take = [this, &then, time](NodeIndex node, counters::PmaReading reading) {
    reading.row.error_time = reading.row.traffic_time = time;
    history_.take(counters::counter_key(then, node, reading.select), reading.row);
  };
  subnet::SurveyOptions options(path::IbDrPath(&since_->end_port()));
  const Scope all;
  co_await read_all(*then_, then, std::move(options), all, nullptr, take);  // failures of the snapshot are not failures of this fabric
  history_.keep_nodes_of(current);
  pmas_ = {};  // firmware may have been renewed since
}

async::Task<> read_firmware(HealthRun& run) {
  const std::map<Guid, std::string>& known = run.input.baseline->tables.firmware;
  if (known.empty()) co_return;
  if (run.stack.host().options().from) {
    if (!has_firmware(run.stack.host().stored())) co_return;
    BaselineTables tables = co_await tables_in_file(run.stack.host().stored());
    run.input.firmware = std::move(tables.firmware);
    co_return;
  }
  co_await read_service_levels_once(run);
  std::vector<PortIndex> ports = swept_ports(run.input.subnet);
  std::erase_if(ports, [&](PortIndex at) { return !known.contains(run.input.subnet.node(run.input.subnet.port(at).node).guid()); });
  phy::ReadingOptions options = reading_options(run.stack, run.paths, run.wanted.vs_keys);
  options.silent = &run.silent;
  subnet::Failures failures = co_await survey_firmware(run.stack.transactor(), std::move(options), std::move(ports), run.input);
  std::erase_if(failures, [](const subnet::Failure& of) { return of.kind == subnet::Failure::Kind::refused; });  // it need not answer
  add_failures(run.stack.host(), run.fabric, std::move(failures));
}

StoredBaseline::StoredBaseline(const std::optional<std::string>& file, const subnet::NodeNameMap& names) {
  if (!file) return;
  stored_ = snapshot::open_fabric(*file);
  static_cast<subnet::SweptSubnet&>(fabric_.emplace()) = stored_->read_fabric(nullptr);
  fabric_->names = names;
  if (stored_->has_part("counters")) counters_time_ = stored_->ended().value_or(0);  // refused when it is to begin a window
}

async::Task<> StoredBaseline::read_tables() {
  if (stored_) tables_ = co_await tables_in_file(*stored_);
}

bool StoredBaseline::is_first_reading(Host& host) const {
  if (!counters_time_ || !host.options().from) return counters_time_.has_value();
  return host.stored().has_part("counters") && host.stored().ended().value_or(0) > *counters_time_;
}

const Baseline* StoredBaseline::compare(const Subnet& current) {
  if (!fabric_) return nullptr;
  compared_.emplace(fabric_->subnet, subnet::changes(current, fabric_->subnet), tables_);
  const std::string other = subnet::other_fabric(current, fabric_->subnet, compared_->changes.pairs);
  if (!other.empty()) throw UsageError(fmt::format("--baseline: {} cannot be compared: {}", in_quotes(stored_->file()), other));
  return &*compared_;
}

std::string why_impossible(std::optional<std::int64_t> milliseconds, WallTime now) {
  constexpr std::int64_t day = 86400000;  // milliseconds
  constexpr std::chrono::hours longest_window{24 * 365 * 10};
  const std::int64_t present = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count();
  if (!milliseconds) return "it does not say when it was written";
  if (*milliseconds <= 0) return "it is dated before 1970, or its clock was not set";
  if (*milliseconds > present) return "it is dated in the future: check the clocks of both hosts";
  const std::int64_t age = present - *milliseconds;
  if (age > std::chrono::milliseconds(longest_window).count())
    return fmt::format("it is dated {} days ago, as if its clock had not been set", age / day);
  return {};
}

async::Time time_of(std::int64_t milliseconds, async::Loop& loop) {
  const WallTime then{std::chrono::milliseconds(milliseconds)};
  return loop.now() - std::chrono::duration_cast<async::Duration>(loop.clock().wall_time() - then);
}

async::Time time_of(snapshot::StoredFabric& stored, async::Loop& loop) {
  const std::optional<std::int64_t> ended = stored.ended();
  const std::string why = why_impossible(ended, loop.clock().wall_time());
  if (!why.empty()) throw UsageError(fmt::format("{} cannot begin a window: {}", in_quotes(stored.file()), why));
  return time_of(*ended, loop);
}

}  // namespace ib::tools::health
