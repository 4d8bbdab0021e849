// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "metrics/fabric.hpp"

#include <utility>

#include "base/parse.hpp"
#include "mad/error.hpp"

namespace ib::metrics {
namespace {

/// The place of a device: the name of the node at the other end of its first link, and the port there.
std::pair<std::string_view, unsigned> place_of(const subnet::Subnet& subnet, const Device& device) {
  for (const subnet::Port& port : subnet.ports_of(subnet.node(device.node))) {
    if (port.peer == subnet::none) continue;
    const subnet::Port& peer = subnet.port(port.peer);
    return {subnet.node(peer.node).description(), peer.number};
  }
  return {};
}

constexpr std::chrono::hours remembered{24};

}  // namespace

const Device* SweptFabric::find(bool is_switch, Guid guid) const {
  const std::span<const Device> all = is_switch ? switches() : hcas();
  const auto found = std::ranges::lower_bound(all, guid, {}, &Device::guid);
  return found != all.end() && found->guid == guid ? &*found : nullptr;
}

void SweptFabric::remember(const SweptFabric& before) {
  for (const GoneDevice& device : before.gone) {
    if (find(device.is_switch, device.guid) == nullptr && time - device.since < remembered) gone.push_back(device);
  }
  for (const Device& device : before.devices) {
    if (find(device.is_switch, device.guid) == nullptr)
      gone.push_back({device.is_switch, device.guid, std::string(before.name(device.node)), time});
  }
  std::ranges::sort(gone, {}, [](const GoneDevice& device) { return std::pair(!device.is_switch, device.guid); });
}

/// Of several devices with one GUID the first one is the same in each sweep: the one whose name and place are first.
void SweptFabric::list_devices() {
  std::vector<Device> all;
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    const subnet::Node& node = subnet.node(at);
    if (node.kind() == subnet::NodeKind::sw) all.push_back({node.info.port_guid, at, node.first_port, true});
    if (node.kind() != subnet::NodeKind::ca) continue;
    for (PortIndex port = node.first_port + 1; port < node.first_port + node.slots; ++port) {
      if (subnet.port(port).is_known()) all.push_back({subnet.port_guid(port), at, port, false});
    }
  }
  const auto order = [](const Device& device) { return std::pair(!device.is_switch, device.guid); };
  std::ranges::stable_sort(all, [&](const Device& a, const Device& b) {
    if (order(a) != order(b)) return order(a) < order(b);
    const std::string_view name = subnet.node(a.node).description(), other = subnet.node(b.node).description();
    return name != other ? name < other : place_of(subnet, a) < place_of(subnet, b);
  });
  devices.clear();
  twins.clear();
  for (const Device& device : all) {
    const bool is_first = devices.empty() || order(devices.back()) != order(device);
    is_first ? devices.push_back(device) : twins.push_back(device.guid);
  }
  std::ranges::sort(twins);
  switch_count = static_cast<std::size_t>(std::ranges::count(devices, true, &Device::is_switch));
}

std::string_view SweptFabric::name(NodeIndex node) const { return trim(subnet::name_of(subnet.node(node), &names)); }

PortStates::PortStates(const subnet::Subnet& subnet) {
  states_.reserve(subnet.ports().size());
  for (const subnet::Port& port : subnet.ports())
    states_.push_back({static_cast<std::uint8_t>(port.state()), static_cast<std::uint8_t>(port.physical_state())});
}

std::vector<PortIndex> PortStates::update(const PortStates& later) {
  std::vector<PortIndex> changed;
  for (std::size_t at = 0; at < states_.size(); ++at) {
    if (later.states_[at] == State() || later.states_[at] == states_[at]) continue;
    if (states_[at] != State()) changed.push_back(static_cast<PortIndex>(at));
    states_[at] = later.states_[at];
  }
  return changed;
}

PortIndex linked_peer(const subnet::Subnet& subnet, const PortStates& states, PortIndex port) {
  const PortIndex peer = subnet.port(port).peer;
  if (peer == subnet::none) return peer;
  for (const PortIndex end : {port, peer}) {
    const PortStates::State state = states.of(end);
    if (state.is_known() && !state.is_link_up()) return subnet::none;
  }
  return peer;
}

CounterRound::CounterRound(async::Loop& loop, std::shared_ptr<const SweptFabric> fabric, std::shared_ptr<const PortStates> states,
                           bool hcas, bool details, counters::KnownPmas& pmas)
    : loop_(loop), fabric_(std::move(fabric)), states_(std::move(states)), details_(details), pmas_(pmas) {
  reading_->fabric = fabric_;
  reading_->begun = loop.now();
  reading_->devices.resize(hcas ? fabric_->devices.size() : fabric_->switch_count);
  for (std::size_t at = 0; at < reading_->devices.size(); ++at) device_at_[fabric_->devices[at].port] = at;
  std::size_t rows = 0;
  for (const NodeIndex node : nodes()) rows += ports_of(node).size();
  reading_->rows.reserve(rows);  // no more: a large fabric has millions of counters
}

std::vector<NodeIndex> CounterRound::nodes() const {
  std::vector<NodeIndex> nodes;
  for (std::size_t at = 0; at < reading_->devices.size(); ++at) nodes.push_back(fabric_->devices[at].node);
  const auto hosts = nodes.begin() + static_cast<std::ptrdiff_t>(fabric_->switch_count);
  std::sort(hosts, nodes.end());
  nodes.erase(std::unique(hosts, nodes.end()), nodes.end());
  std::erase_if(nodes, [this](NodeIndex node) { return ports_of(node).empty(); });
  return nodes;
}

PortIndex CounterRound::first_port(NodeIndex at) const {
  const subnet::Node& node = fabric_->subnet.node(at);
  return node.kind() == subnet::NodeKind::sw ? node.first_port : ports_of(at).front();
}

/// Calls `use` with the GUID and the reading of each device of a node that has something to read.
template <class Use>
void CounterRound::each_device(NodeIndex node, Use use) const {
  const auto use_device = [&](PortIndex end) { use(fabric_->devices[device_at_.at(end)].guid, reading_->devices[device_at_.at(end)]); };
  const subnet::Node& of = fabric_->subnet.node(node);
  if (of.kind() == subnet::NodeKind::sw) return use_device(of.first_port);
  std::ranges::for_each(ports_of(node), use_device);
}

bool CounterRound::is_silent(NodeIndex node, const std::set<Guid>& silent) const {
  bool all = true;
  each_device(node, [&](Guid guid, const DeviceReading&) { all = all && silent.contains(guid); });
  return all;
}

void CounterRound::take_silent(NodeIndex node) {
  const float seconds = std::chrono::duration<float>(loop_.now() - reading_->begun).count();
  each_device(node, [&](Guid, DeviceReading& device) {
    device.outcome = DeviceReading::Outcome::silent;
    device.seconds = seconds;
    device.first_row = static_cast<std::uint32_t>(reading_->rows.size());
  });
}

std::vector<Device> CounterRound::read_devices() const {
  std::vector<Device> read;
  for (std::size_t at = 0; at < reading_->devices.size(); ++at) {
    if (reading_->devices[at].rows != 0) read.push_back(fabric_->devices[at]);
  }
  return read;
}

void CounterRound::drop(const std::set<PortIndex>& moved, const std::set<PortIndex>& unowned) {
  if (moved.empty() && unowned.empty()) return;
  std::vector<DeviceReading*> all;
  for (const auto& [port, at] : device_at_) {
    DeviceReading* const device = all.emplace_back(&reading_->devices[at]);
    if (!moved.contains(port) && !unowned.contains(port)) continue;
    device->outcome = moved.contains(port) ? DeviceReading::Outcome::moved : DeviceReading::Outcome::unowned;
    device->rows = 0;
  }
  std::ranges::sort(all, {}, &DeviceReading::first_row);
  auto kept = reading_->rows.begin();
  for (DeviceReading* device : all) {
    const auto first = reading_->rows.begin() + device->first_row, last = first + device->rows;
    device->first_row = static_cast<std::uint32_t>(kept - reading_->rows.begin());
    if (device->rows != 0) kept = std::move(first, last, kept);
  }
  reading_->rows.erase(kept, reading_->rows.end());
}

void CounterRound::take_ticks(const std::map<PortIndex, std::optional<std::uint8_t>>& ticks) {
  for (const auto& [port, tick] : ticks) {
    if (const auto device = device_at_.find(port); device != device_at_.end()) reading_->devices[device->second].tick = tick;
  }
}

void CounterRound::take(subnet::Failures failures) {
  for (subnet::Failure& failure : failures) {
    failure.error.reset();
    reading_->failures.push_back(std::move(failure));
  }
}

std::vector<PortIndex> CounterRound::ports_of(NodeIndex at) const {
  const subnet::Node& node = fabric_->subnet.node(at);
  const bool is_switch = node.kind() == subnet::NodeKind::sw;
  std::vector<PortIndex> ports;
  for (unsigned number = 1; number < node.slots; ++number) {
    const PortIndex port = node.first_port + number;
    if (linked_peer(fabric_->subnet, *states_, port) == subnet::none) continue;
    if (is_switch || device_at_.contains(port)) ports.push_back(port);
  }
  return ports;
}

counters::ReadingPlan CounterRound::plan() {
  counters::ReadingPlan plan;
  plan.counts = counters::ReadingPlan::Counts::all;
  plan.ports = counters::ReadingPlan::Ports::each;
  plan.pmas = &pmas_;
  plan.ports_of = [this](NodeIndex node) { return ports_of(node); };
  plan.on_node = [this](const counters::PmaNode& node) { take(node); };
  if (!details_) return plan;
  plan.further = [this](const counters::PmaReading& reading) {
    counters::Further further{false, true, true, nullptr};
    if (!reading_->fec_modes) return further;
    if (const auto mode = reading_->fec_modes->find(reading.port); mode != reading_->fec_modes->end())
      further.speeds = counters::blocks_layout(reading.support, mode->second);
    return further;
  };
  return plan;
}

void CounterRound::take(const counters::PmaNode& node) {
  const async::Time from = node.begun.value_or(loop_.now());
  const subnet::Node& of = fabric_->subnet.node(node.node);
  const auto device = [&](PortIndex end) -> DeviceReading& { return reading_->devices[device_at_.at(end)]; };
  if (of.kind() == subnet::NodeKind::sw) return take(device(of.first_port), node.ports, from);
  for (const counters::PmaReading& reading : node.ports) take(device(reading.port), std::span(&reading, 1), from);
}

/// Takes the readings of the ports of one device.
void CounterRound::take(DeviceReading& to, std::span<const counters::PmaReading> readings, async::Time begun) {
  to.first_row = static_cast<std::uint32_t>(reading_->rows.size());
  async::Time ended = begun;
  bool is_silent = false, is_refused = false;
  for (const counters::PmaReading& reading : readings) {
    if (reading.known()) {
      reading_->rows.push_back(reading.row);
      to.lacks_details |= details_ && !reading.row.is_known(counters::column_of("port_local_physical_errors"));
      ended = std::max({ended, reading.row.error_time, reading.row.traffic_time});
    } else {  // a request was not answered, or was refused, or no path leads to the PMA
      const mad::MadError* error = reading.problems.empty() ? nullptr : reading.problems.back().error.get();
      (reading.problems.empty() || (error != nullptr && mad::is_timeout(*error)) ? is_silent : is_refused) = true;
    }
  }
  to.rows = static_cast<std::uint32_t>(reading_->rows.size()) - to.first_row;
  const bool has_failed = is_silent || is_refused;
  to.outcome = !has_failed    ? DeviceReading::Outcome::read
               : to.rows != 0 ? DeviceReading::Outcome::partly
               : is_silent    ? DeviceReading::Outcome::silent
                              : DeviceReading::Outcome::refused;
  const async::Duration took = (has_failed ? loop_.now() : ended) - begun;
  to.seconds = std::chrono::duration<float>(took).count();
}

}  // namespace ib::metrics
