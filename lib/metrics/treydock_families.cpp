// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The families of treydock's infiniband_exporter 0.10, by the names of switches and once more by those of HCAs. A port without a link has
// no sample in any of them.
#include <fmt/format.h>

#include <limits>

#include "iba/types.hpp"
#include "metrics/families.hpp"
#include "subnet/names.hpp"
#include "subnet/rate.hpp"

namespace ib::metrics {
namespace {

using subnet::PortIndex;

/// Gb/s of a lane on the wire, and without what the line code takes. treydock's exporter has 250 for XDR, which is wrong.
struct LaneRate {
  double raw, effective;
};

LaneRate lane_rate(subnet::Speed speed) {
  switch (speed) {
    case subnet::Speed::sdr:
      return {2.5, 2};
    case subnet::Speed::ddr:
      return {5, 4};
    case subnet::Speed::qdr:
      return {10, 8};
    case subnet::Speed::fdr10:
      return {10.3125, 10};
    case subnet::Speed::fdr:
      return {14.0625, 13.64};
    case subnet::Speed::edr:
      return {25.78125, 25};
    case subnet::Speed::hdr:
      return {50, 50};
    case subnet::Speed::ndr:
      return {100, 100};
    case subnet::Speed::xdr:
      return {200, 200};
    case subnet::Speed::unknown:
      break;
  }
  return {};
}

std::string_view kind_label(Item item) { return item.kind == Items::switches ? "switch" : "hca"; }

/// A count of 32-bit words as bytes. What does not fit 64 bits is written as Prometheus keeps it, in floating point.
void write_bytes(Sample sample, std::uint64_t words) {
  constexpr std::uint64_t octets = 4;
  if (words <= std::numeric_limits<std::uint64_t>::max() / octets) {
    sample.value(words * octets);
  } else {
    sample.value(static_cast<double>(words) * octets);
  }
}

void write_port_counter(const View& view, const Exported&, const Family& family, Item item, Exposition& out) {
  const Guid guid = device(view, item).guid;
  const subnet::Subnet& subnet = view.reading->fabric->subnet;
  each_linked_row(view, item, [&](const PortRow& row, PortIndex) {
    if (!row.is_known(family.column)) return;
    Sample sample = out.sample().label("guid", guid).label("port", subnet.port(row.port).number);
    if (columns()[family.column].is_data) {
      write_bytes(sample, row.value(family.column));
    } else {
      sample.value(row.value(family.column));
    }
  });
}

template <double LaneRate::*rate>
void write_rate(const View& view, const Exported&, const Family&, Item item, Exposition& out) {
  constexpr double bytes_per_gigabit = 1e9 / 8;
  const subnet::Subnet& subnet = view.reading->fabric->subnet;
  each_linked_port(view, item, [&](PortIndex port, PortIndex peer) {
    if (view.states->has_other_rate(port) || view.states->has_other_rate(peer)) return;
    const subnet::LinkRate link = subnet::active_rate(subnet, port);
    if (!link.known()) return;
    Sample sample = out.sample().label("guid", device(view, item).guid);
    if (item.kind == Items::switches) sample.label("port", subnet.port(port).number);
    sample.value(lane_rate(link.speed).*rate * link.lanes * bytes_per_gigabit);
  });
}

void write_uplink(const View& view, const Exported&, const Family&, Item item, Exposition& out) {
  const SweptFabric& fabric = *view.reading->fabric;
  const Device& of = device(view, item);
  each_linked_port(view, item, [&](PortIndex port, PortIndex peer) {
    const subnet::Port& at = fabric.subnet.port(peer);
    out.sample()
        .label("guid", of.guid)
        .label("port", fabric.subnet.port(port).number)
        .label(kind_label(item), fabric.name(of.node))
        .label("uplink", fabric.name(at.node))
        .label("uplink_guid", device_guid(fabric.subnet, peer))
        .label("uplink_type", subnet::short_type(fabric.subnet.node(at.node)))
        .label("uplink_port", at.number)
        .label("uplink_lid", fabric.subnet.lid(peer).value)
        .value(std::uint64_t{1});
  });
}

void write_info(const View& view, const Exported&, const Family&, Item item, Exposition& out) {
  const SweptFabric& fabric = *view.reading->fabric;
  const Device& of = device(view, item);
  const bool is_switch = item.kind == Items::switches;
  if (!is_switch && linked_peer(view, of.port) == subnet::none) return;
  out.sample()
      .label("guid", of.guid)
      .label(kind_label(item), fabric.name(of.node))
      .label("lid", fabric.subnet.lid(of.port).value)
      .value(std::uint64_t{1});
}

std::string collector(std::string_view kind, const Exported& exported, bool details) {
  return fmt::format("{}{}{}", kind, exported.run_once ? "-runonce" : "", details ? "-rcv-err" : "");
}

enum class Told : std::uint8_t { seconds, error, timeout };

using Outcome = DeviceReading::Outcome;

double value_of(Told told, const DeviceReading& reading, bool details) {
  if (told == Told::seconds) return static_cast<double>(reading.seconds);
  const bool is_silent = reading.outcome == Outcome::silent;
  const bool is_error = has_failed(reading) || (details && reading.lacks_details);
  return (told == Told::error ? is_error : is_silent) ? 1 : 0;
}

/// What became of the reading of a device, with details in a second row.
template <Told told>
void write_outcome(const View& view, const Exported& exported, const Family&, Item item, Exposition& out) {
  const DeviceReading* of = reading(view, item);
  if (of == nullptr || of->outcome == Outcome::unwanted) return;
  const Guid guid = device(view, item).guid;
  for (const bool details : {false, true}) {
    if (details && !exported.details) continue;
    Sample sample = out.sample().label("guid", guid).label("collector", collector(kind_label(item), exported, details));
    sample.value(value_of(told, *of, details));
  }
}

/// The devices of one kind that were not read, of which the silent ones.
std::size_t count_failures(const std::vector<DeviceReading>& readings, bool silent) {
  std::size_t count = 0;
  for (const DeviceReading& of : readings) {
    const bool is_counted = silent ? of.outcome == Outcome::silent : has_failed(of);
    count += is_counted ? 1 : 0;
  }
  return count;
}

void write_durations(const View& view, const Exported& exported, const Family&, Item, Exposition& out) {
  if (!view.reading) return;
  out.sample().label("collector", collector("ibnetdiscover", exported, false)).value(seconds(view.reading->fabric->took));
  out.sample().label("collector", collector("switch", exported, false)).value(seconds(view.reading->took));
  if (exported.hcas) out.sample().label("collector", collector("hca", exported, false)).value(seconds(view.reading->took));
}

template <bool silent>
void write_failures(const View& view, const Exported& exported, const Family&, Item, Exposition& out) {
  const std::uint64_t lost = view.exporter.is_last_round_lost && !silent ? 1 : 0;
  out.sample().label("collector", collector("ibnetdiscover", exported, false)).value(lost);
  const auto failed = [&](const std::vector<DeviceReading>& readings) -> std::uint64_t { return count_failures(readings, silent); };
  out.sample().label("collector", collector("switch", exported, false)).value(view.reading ? failed(view.reading->switches) : lost);
  if (!exported.hcas) return;
  out.sample().label("collector", collector("hca", exported, false)).value(view.reading ? failed(view.reading->hcas) : lost);
}

void write_last_execution(const View& view, const Exported& exported, const Family&, Item, Exposition& out) {
  if (!view.exporter.last_execution) return;
  const double time = seconds(view.exporter.last_execution->time_since_epoch());
  for (const std::string_view kind : {"ibnetdiscover", "switch", "hca"}) {
    if (kind != "hca" || exported.hcas) out.sample().label("collector", collector(kind, exported, false)).value(time);
  }
}

/// The families of one kind of devices.
void add_device_families(std::vector<Family>& to, Items items, bool details) {
  const bool is_switch = items == Items::switches;
  const std::string kind = is_switch ? "switch" : "hca";
  const std::string prefix = "infiniband_" + kind + "_";
  const std::uint8_t selected = is_switch ? select_switch : select_hca;
  for (std::size_t at = 0; at < columns().size(); ++at) {
    const Column& column = columns()[at];
    if (column.treydock.empty() || (column.source != Source::counters && !details)) continue;
    const auto by = static_cast<std::uint8_t>(selected | (column.is_traffic ? select_data : select_errors));
    to.push_back({fmt::format("{}port_{}_total", prefix, column.treydock), fmt::format("{}.", column.help), Type::counter, items, by,
                  write_port_counter, at});
  }
  const auto gauge = [&](std::string_view name, std::string_view help, WriteItem write, bool is_live = false) {
    to.push_back({prefix + std::string(name), std::string(help), Type::gauge, items, selected, write, 0, is_live});
  };
  gauge(is_switch ? "port_rate_bytes_per_second" : "rate_bytes_per_second", "Bytes a second that the link carries without its line code.",
        write_rate<&LaneRate::effective>);
  gauge(is_switch ? "port_raw_rate_bytes_per_second" : "raw_rate_bytes_per_second", "Bytes a second on the wire of the link.",
        write_rate<&LaneRate::raw>);
  gauge("uplink_info", "What is at the other end of the link.", write_uplink);
  gauge("info", is_switch ? "The switches." : "The ports of channel adapters.", write_info);
  gauge("collect_duration_seconds", "Time from the first request for counters to the last answer.", write_outcome<Told::seconds>, true);
  gauge("collect_error", "1 where counters were not read, for whatever reason.", write_outcome<Told::error>, true);
  gauge("collect_timeout", "1 where the node did not answer.", write_outcome<Told::timeout>, true);
}

}  // namespace

void add_treydock_families(std::vector<Family>& to, const Exported& exported) {
  add_device_families(to, Items::switches, exported.details);
  if (exported.hcas) add_device_families(to, Items::hcas, exported.details);
  const auto own = [&](std::string_view name, std::string_view help, WriteItem write) {
    to.push_back({std::string(name), std::string(help), Type::gauge, Items::exporter, 0, write});
  };
  own("infiniband_exporter_collector_duration_seconds", "Time that the last sweep and the last reading took.", write_durations);
  own("infiniband_exporter_collect_errors", "Failures of the last sweep, and devices that the last reading did not read whole.",
      write_failures<false>);
  own("infiniband_exporter_collect_timeouts", "Devices that did not answer in the last reading.", write_failures<true>);
  if (exported.run_once) own("infiniband_exporter_last_execution", "Unix time of this run.", write_last_execution);
}

}  // namespace ib::metrics
