// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The families of treydock's infiniband_exporter 0.10, by the names of switches and once more by those of HCAs. A port without a link has
// no sample in any of them.
#include <fmt/format.h>

#include <algorithm>

#include "iba/types.hpp"
#include "metrics/families.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/rate.hpp"

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

std::string_view kind_label(const ItemWriter& to) { return to.is_switch() ? "switch" : "hca"; }

template <double LaneRate::*rate>
void write_rate(const ItemWriter& to) {
  constexpr double bytes_per_gigabit = 1e9 / 8;
  const subnet::Subnet& subnet = to.fabric().subnet;
  to.each_linked_port([&](PortIndex port, PortIndex peer) {
    if (!to.has_swept_rate(port, peer)) return;
    const subnet::LinkRate link = subnet::active_rate(subnet, port);
    if (!link.known()) return;
    Sample sample = to.out.sample().label("guid", to.device().guid);
    if (to.is_switch()) sample.label("port", subnet.port(port).number);
    sample.value(lane_rate(link.speed).*rate * link.lanes * bytes_per_gigabit);
  });
}

void write_uplink(const ItemWriter& to) {
  const SweptFabric& fabric = to.fabric();
  const Device& of = to.device();
  to.each_linked_port([&](PortIndex port, PortIndex peer) {
    const subnet::Port& at = fabric.subnet.port(peer);
    to.out.sample()
        .label("guid", of.guid)
        .label("port", fabric.subnet.port(port).number)
        .label(kind_label(to), fabric.name(of.node))
        .label("uplink", fabric.name(at.node))
        .label("uplink_guid", device_guid(fabric.subnet, peer))
        .label("uplink_type", subnet::short_type(fabric.subnet.node(at.node)))
        .label("uplink_port", at.number)
        .label("uplink_lid", fabric.subnet.lid(peer).value)
        .value(1);
  });
}

void write_info(const ItemWriter& to) {
  const SweptFabric& fabric = to.fabric();
  const Device& of = to.device();
  if (!to.is_switch() && to.linked_peer(of.port) == subnet::none) return;
  to.out.sample()
      .label("guid", of.guid)
      .label(kind_label(to), fabric.name(of.node))
      .label("lid", fabric.subnet.lid(of.port).value)
      .value(1);
}

std::string collector(const ItemWriter& to, std::string_view kind, bool details = false) {
  return fmt::format("{}{}{}", kind, to.exported.run_once ? "-runonce" : "", details ? "-rcv-err" : "");
}

Sample collector_sample(const ItemWriter& to, std::string_view kind) {
  Sample sample = to.out.sample();
  sample.label("collector", collector(to, kind));
  return sample;
}

enum class Part : std::uint8_t { seconds, error, timeout };

using Outcome = DeviceReading::Outcome;

double value_of(Part part, const DeviceReading& reading, bool details) {
  if (part == Part::seconds) return static_cast<double>(reading.seconds);
  const bool is_silent = reading.outcome == Outcome::silent;
  const bool is_error = has_failed(reading) || (details && reading.lacks_details);
  return (part == Part::error ? is_error : is_silent) ? 1 : 0;
}

/// What became of the reading of a device, with details in a second row.
template <Part part>
void write_outcome(const ItemWriter& to) {
  const DeviceReading* of = to.reading();
  if (of == nullptr || of->outcome == Outcome::unwanted) return;
  for (const bool details : {false, true}) {
    if (details && !to.exported.details) continue;
    const std::string name = collector(to, kind_label(to), details);
    to.out.sample().label("guid", to.guid()).label("collector", name).value(value_of(part, *of, details));
  }
}

void write_durations(const ItemWriter& to) {
  if (!to.view.reading) return;
  const double took = seconds(to.view.reading->took);
  collector_sample(to, "ibnetdiscover").value(seconds(to.fabric().took));
  collector_sample(to, "switch").value(took);
  if (to.exported.hcas) collector_sample(to, "hca").value(took);
}

/// The devices of each kind that were not read, or of these the silent ones.
template <bool silent>
void write_failures(const ItemWriter& to) {
  const std::size_t lost = to.view.exporter.is_last_round_lost && !silent ? 1 : 0;
  const auto write = [&](std::string_view kind, std::vector<DeviceReading> Reading::*devices) {
    const auto is_counted = [](const DeviceReading& of) { return silent ? of.outcome == Outcome::silent : has_failed(of); };
    const std::size_t failed =
        to.view.reading ? static_cast<std::size_t>(std::ranges::count_if((*to.view.reading).*devices, is_counted)) : lost;
    collector_sample(to, kind).value(failed);
  };
  collector_sample(to, "ibnetdiscover").value(lost);
  write("switch", &Reading::switches);
  if (to.exported.hcas) write("hca", &Reading::hcas);
}

void write_last_execution(const ItemWriter& to) {
  if (!to.view.exporter.last_execution) return;
  const double time = seconds(*to.view.exporter.last_execution);
  for (const std::string_view kind : {"ibnetdiscover", "switch", "hca"}) {
    if (kind != "hca" || to.exported.hcas) collector_sample(to, kind).value(time);
  }
}

constexpr std::string_view per_second = "bytes_per_second";
constexpr FamilyColumn rate_columns[] = {
    {"rate_bytes_per_second", report::gauge(per_second), "Bytes a second that the link carries without its line code.",
     write_rate<&LaneRate::effective>},
    {"raw_rate_bytes_per_second", report::gauge(per_second), "Bytes a second on the wire of the link.", write_rate<&LaneRate::raw>},
};
constexpr FamilyColumn uplink_column{"uplink_info", report::gauge(), "What is at the other end of the link.", write_uplink};
constexpr FamilyColumn switch_info{"info", report::gauge(), "The switches.", write_info};
constexpr FamilyColumn hca_info{"info", report::gauge(), "The ports of channel adapters.", write_info};
constexpr FamilyColumn outcome_columns[] = {
    {"collect_duration_seconds", report::gauge("seconds"), "Time from the first request for counters to the last answer.",
     write_outcome<Part::seconds>},
    {"collect_error", report::gauge(), "1 where counters were not read, for whatever reason.", write_outcome<Part::error>},
    {"collect_timeout", report::gauge(), "1 where the node did not answer.", write_outcome<Part::timeout>},
};
constexpr FamilyColumn treydock_exporter_columns[] = {
    {"collector_duration_seconds", report::gauge("seconds"), "Time that the last sweep and the last reading took.", write_durations},
    {"collect_errors", report::gauge(), "Failures of the last sweep, and devices that the last reading did not read whole.",
     write_failures<false>},
    {"collect_timeouts", report::gauge(), "Devices that did not answer in the last reading.", write_failures<true>},
};
constexpr FamilyColumn last_execution{"last_execution", report::gauge(), "Unix time of this run.", write_last_execution};

/// The families of one kind of devices.
void add_device_families(std::vector<Family>& to, Items items, bool details) {
  const bool is_switch = items == Items::switches;
  const std::string prefix = is_switch ? "infiniband_switch_" : "infiniband_hca_";
  const std::uint8_t selected = is_switch ? select_switch : select_hca;
  for (std::size_t at = 0; at < counters::columns.size(); ++at) {
    const counters::Column& column = counters::columns[at];
    if (column.treydock.empty() || (column.source != counters::Source::counters && !details)) continue;
    const auto by = static_cast<std::uint8_t>(selected | (column.is_traffic() ? select_data : select_errors));
    to.push_back(counter_family({prefix + "port_", items, by}, column.treydock, at, write_port_counter));
  }
  add_families(to, {prefix + (is_switch ? "port_" : ""), items, selected}, rate_columns);
  to.push_back(family_of({prefix, items, selected}, uplink_column));
  to.push_back(family_of({prefix, items, selected}, is_switch ? switch_info : hca_info));
  add_families(to, {prefix, items, selected, true}, outcome_columns);
}

}  // namespace

void add_treydock_families(std::vector<Family>& to, const Exported& exported) {
  add_device_families(to, Items::switches, exported.details);
  if (exported.hcas) add_device_families(to, Items::hcas, exported.details);
  const FamilyGroup own{"infiniband_exporter_", Items::exporter};
  add_families(to, own, treydock_exporter_columns);
  if (exported.run_once) to.push_back(family_of(own, last_execution));
}

}  // namespace ib::metrics
