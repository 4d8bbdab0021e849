// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a reading holds, and what a port has counted between two readings.
#include <algorithm>

#include "counters/attributes.hpp"
#include "counters/pma_supports.hpp"
#include "counters/readings.hpp"
#include "iba-gen/pm.hpp"
#include "iba/generic.hpp"

namespace ib::counters {
namespace {

CounterValue value_of(Bytes attribute, const FieldInfo* field) {
  if (field == nullptr || attribute.empty()) return {};
  return {read_number(attribute, *field), static_cast<std::uint8_t>(field->bits)};
}

}  // namespace

bool PmaReading::errors_in_extended() const { return has_additional(support) && !extended.empty(); }

CounterValue PmaReading::error_count(const CounterInfo& counter) const {
  if (errors_in_extended()) return value_of(extended, counter.wide);
  return value_of(counters, counter.narrow);
}

async::Time PmaReading::error_time() const { return errors_in_extended() ? extended_time : counters_time; }

CounterValue PmaReading::traffic_count(const CounterInfo& counter) const {
  if (extended.empty()) return value_of(counters, counter.narrow);
  return support.wide(counter) ? value_of(extended, counter.wide) : CounterValue{};
}

namespace {

CounterChange change_in(const std::optional<CounterGrowth>& growth, const FieldInfo* field) {
  return growth && field != nullptr ? growth->change(*field) : CounterChange{};
}

std::optional<double> seconds_of(const std::optional<CounterGrowth>& growth) { return growth ? growth->seconds : std::nullopt; }

}  // namespace

CounterChange PmaGrowth::error_change(const CounterInfo& counter) const {
  return errors_in_extended ? change_in(extended, counter.wide) : change_in(counters, counter.narrow);
}

CounterChange PmaGrowth::traffic_change(const CounterInfo& counter) const {
  if (!extended) return change_in(counters, counter.narrow);
  return support.wide(counter) ? change_in(extended, counter.wide) : CounterChange{};
}

std::optional<double> PmaGrowth::error_seconds() const { return seconds_of(errors_in_extended ? extended : counters); }
std::optional<double> PmaGrowth::traffic_seconds() const { return seconds_of(extended ? extended : counters); }

PmaGrowth take(CounterHistory& history, const CounterKey& key, const PmaReading& reading, std::optional<double> octets_per_second) {
  PmaGrowth growth;
  growth.support = reading.support;
  growth.errors_in_extended = reading.errors_in_extended();
  const auto take_one = [&](const StructInfo& attribute, async::Time time, Bytes bytes) {
    return bytes.empty() ? std::nullopt : history.take(key, attribute, time, bytes, octets_per_second);
  };
  growth.counters = take_one(pm::PortCounters::info(), reading.counters_time, reading.counters);
  growth.extended = take_one(pm::PortCountersExt::info(), reading.extended_time, reading.extended);
  growth.discard_details = take_one(pm::PortXmitDiscardDetails::info(), reading.error_time(), reading.discard_details);
  growth.error_details = take_one(pm::PortRcvErrorDetails::info(), reading.error_time(), reading.error_details);
  if (reading.speeds_info != nullptr) growth.speeds = take_one(*reading.speeds_info, reading.error_time(), reading.speeds);
  return growth;
}

const StructInfo* blocks_layout(const PmaSupport& support, smp::FecMode mode) {
  const bool has_blocks = (support.capability_mask & pm::capability_mask::rs_fec_counters_supported) != 0;
  return has_blocks ? &extended_speeds_layout(mode) : nullptr;
}

std::vector<subnet::PortIndex> countable_ports(const subnet::Subnet& subnet, subnet::NodeIndex at) {
  const subnet::Node& node = subnet.node(at);
  const bool has_port0 = node.kind() == subnet::NodeKind::sw && node.has_switch_info && node.switch_info().enhanced_port0 != 0;
  std::vector<subnet::PortIndex> ports;
  for (unsigned number = has_port0 ? 0 : 1; number < node.slots; ++number) {
    if (subnet.port(node.first_port + number).is_known()) ports.push_back(node.first_port + number);
  }
  return ports;
}

bool all_ports_read(const subnet::Subnet& subnet, const PmaNode& node) {
  if (node.ports.empty()) return node.all && node.all->known();
  const subnet::Node& of = subnet.node(node.node);
  if (of.kind() == subnet::NodeKind::sw && !of.has_switch_info) return false;  // whether port 0 counts is not known
  const auto external = std::ranges::count_if(node.ports, [](const PmaReading& reading) { return reading.select != 0; });
  return external >= of.info.num_ports && std::ranges::all_of(node.ports, &PmaReading::known);
}

}  // namespace ib::counters
