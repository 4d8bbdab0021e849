// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The families of other exporters by their names and labels.
// - treydock's infiniband_exporter 0.10: for switches and once more for HCAs. A port without a link has no sample in any of them.
// - guilbaults' infiniband-exporter 0.0.6: of links that are Active. Data are words of 32 bits there. A counter that was read and is 0
//   has a sample here, so that its first increase can be seen; theirs has none.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "iba-gen/mad.hpp"
#include "iba-gen/pm.hpp"
#include "metrics/families.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/rate.hpp"

namespace ib::metrics {
namespace {

/// Gb/s of a lane on the wire, and without what the line code takes. treydock's exporter has 250 for XDR, which is wrong.
struct LaneRate {
  double raw, effective;
};
/// By subnet::Speed.
constexpr std::array<LaneRate, 10> lane_rates{
    {{}, {2.5, 2}, {5, 4}, {10, 8}, {10.3125, 10}, {14.0625, 13.64}, {25.78125, 25}, {50, 50}, {100, 100}, {200, 200}}};
static_assert(static_cast<std::size_t>(subnet::Speed::xdr) + 1 == lane_rates.size());

std::string_view kind_label(const ItemWriter& to) { return to.is_switch() ? "switch" : "hca"; }

template <double LaneRate::*rate>
void write_rate(const ItemWriter& to) {
  constexpr double bytes_per_gigabit = 1e9 / 8;
  const subnet::Subnet& subnet = to.fabric().subnet;
  to.each_linked_port([&](PortIndex port, PortIndex peer) {
    if (!to.has_swept_rate(port, peer)) return;
    const subnet::LinkRate link = subnet::active_rate(subnet, port);
    if (!link.known()) return;
    Sample sample = to.device_sample();
    if (to.is_switch()) sample.label("port", subnet.port(port).number);
    sample.value(lane_rates.at(static_cast<std::size_t>(link.speed)).*rate * link.lanes * bytes_per_gigabit);
  });
}

void write_uplink(const ItemWriter& to) {
  const SweptFabric& fabric = to.fabric();
  const Device& of = to.device();
  to.each_linked_port([&](PortIndex port, PortIndex peer) {
    const subnet::Port& at = fabric.subnet.port(peer);
    to.port_sample(port)
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
  to.device_sample().label(kind_label(to), fabric.name(of.node)).label("lid", fabric.subnet.lid(of.port).value).value(1);
}

std::string collector(const ItemWriter& to, std::string_view kind, bool details = false) {
  return fmt::format("{}{}{}", kind, to.exported.run_once ? "-runonce" : "", details ? "-rcv-err" : "");
}

/// Writes a value of each collector: of the sweep, of switches, and of HCAs where these are read.
void write_collectors(const ItemWriter& to, auto sweep, auto switches, auto hcas) {
  to.out.sample().label("collector", collector(to, "ibnetdiscover")).value(sweep);
  to.out.sample().label("collector", collector(to, "switch")).value(switches);
  if (to.exported.hcas) to.out.sample().label("collector", collector(to, "hca")).value(hcas);
}

/// What became of the reading of a device, with details in a second row.
template <auto value_of>
void write_outcome(const ItemWriter& to) {
  const DeviceReading* of = to.reading();
  if (of == nullptr || of->outcome == DeviceReading::Outcome::unwanted) return;
  for (const bool details : {false, true}) {
    if (details && !to.exported.details) continue;
    const std::string name = collector(to, kind_label(to), details);
    to.device_sample().label("collector", name).value(value_of(*of, details));
  }
}

bool is_silent(const DeviceReading& of) { return of.outcome == DeviceReading::Outcome::silent; }

void write_durations(const ItemWriter& to) {
  if (!to.view.reading) return;
  const double took = seconds(to.view.reading->took);
  write_collectors(to, seconds(to.fabric().took), took, took);
}

/// The devices of each kind that were not read, or of these the silent ones.
template <bool silent>
void write_failures(const ItemWriter& to) {
  const std::size_t lost = to.view.exporter.is_last_round_lost && !silent ? 1 : 0;
  if (!to.view.reading) return write_collectors(to, lost, lost, lost);
  const auto count = [](std::span<const DeviceReading> of) { return std::ranges::count_if(of, silent ? is_silent : has_failed); };
  const auto all = std::span(to.view.reading->devices);
  write_collectors(to, lost, count(all.first(to.fabric().switch_count)), count(all.subspan(to.fabric().switch_count)));
}

void write_last_execution(const ItemWriter& to) {
  if (!to.view.exporter.last_execution) return;
  const double time = seconds(*to.view.exporter.last_execution);
  write_collectors(to, time, time, time);
}

constexpr std::string_view per_second = "bytes_per_second";
constexpr FamilyColumn rate_columns[] = {
    {"rate_bytes_per_second", report::gauge(per_second), "Bytes a second that the link carries without its line code.",
     write_rate<&LaneRate::effective>},
    {"raw_rate_bytes_per_second", report::gauge(per_second), "Bytes a second on the wire of the link.", write_rate<&LaneRate::raw>},
};
constexpr FamilyColumn outcome_columns[] = {
    {"collect_duration_seconds", report::gauge("seconds"), "Time from the first request for counters to the last answer.",
     write_outcome<[](const DeviceReading& of, bool) { return static_cast<double>(of.seconds); }>},
    {"collect_error", report::gauge(), "1 where counters were not read, for whatever reason.",
     write_outcome<[](const DeviceReading& of, bool details) { return has_failed(of) || (details && of.lacks_details); }>},
    {"collect_timeout", report::gauge(), "1 where the node did not answer.",
     write_outcome<[](const DeviceReading& of, bool) { return is_silent(of); }>},
};
constexpr FamilyColumn treydock_exporter_columns[] = {
    {"collector_duration_seconds", report::gauge("seconds"), "Time that the last sweep and the last reading took.", write_durations},
    {"collect_errors", report::gauge(), "Failures of the last sweep, and devices that the last reading did not read whole.",
     write_failures<false>},
    {"collect_timeouts", report::gauge(), "Devices that did not answer in the last reading.", write_failures<true>},
};

/// The families of one kind of devices.
void add_device_families(std::vector<Family>& to, Items items, bool details) {
  const bool is_switch = items == Items::switches;
  const FamilyGroup group = group_of(items);
  for (std::size_t at = 0; at < counters::columns.size(); ++at) {
    const counters::Column& column = counters::columns[at];
    if (column.treydock.empty() || (column.source != counters::Source::counters && !details)) continue;
    const std::uint8_t what = column.is_traffic() ? select_data : select_errors;
    to.emplace_back(group_of(items, "port_", what), column.treydock, at, write_port_counter);
  }
  add_families(to, group_of(items, is_switch ? "port_" : ""), rate_columns);
  to.emplace_back(group, FamilyColumn{"uplink_info", report::gauge(), "What is at the other end of the link.", write_uplink});
  const std::string_view meaning = is_switch ? "The switches." : "The ports of channel adapters.";
  to.emplace_back(group, FamilyColumn{"info", report::gauge(), meaning, write_info});
  add_families(to, group_of(items, {}, 0, true), outcome_columns);
}

bool is_active(const View& view, PortIndex port) {
  const PortStates::State state = view.states->of(port);
  return state.logical == static_cast<std::uint8_t>(smp::PortState::active) && state.is_link_up();
}

/// The labels of a port. The local GUID has no leading zeros, the remote one 16 digits, as ibqueryerrors prints them; so do names with
/// blanks at their ends.
Sample link_sample(const ItemWriter& to, PortIndex port, PortIndex peer) {
  const SweptFabric& fabric = to.fabric();
  const subnet::Port &here = fabric.subnet.port(port), &there = fabric.subnet.port(peer);
  return to.out.sample()
      .label("component", to.is_switch() ? "switch" : "ca")
      .label("local_name", subnet::name_of(fabric.subnet.node(here.node), &fabric.names))
      .label("local_guid", fmt::format("0x{:x}", device_guid(fabric.subnet, port).value))
      .label("local_port", here.number)
      .label("remote_guid", device_guid(fabric.subnet, peer))
      .label("remote_port", there.number)
      .label("remote_name", subnet::name_of(fabric.subnet.node(there.node), &fabric.names));
}

void write_link_counter(const ItemWriter& to) {
  to.each_linked_row([&](const counters::CounterRow& row, PortIndex peer) {
    if (!row.is_known(to.family.column) || !is_active(to.view, row.port)) return;
    link_sample(to, row.port, peer).value(row.value(to.family.column));
  });
}

void write_speed(const ItemWriter& to) {
  constexpr double megabits_per_gigabit = 1000;
  to.each_linked_port([&](PortIndex port, PortIndex peer) {
    subnet::Speed speed = subnet::active_rate(to.fabric().subnet, port).speed;
    if (speed == subnet::Speed::unknown || !is_active(to.view, port) || !to.has_swept_rate(port, peer)) return;
    if (speed == subnet::Speed::fdr10) speed = subnet::Speed::qdr;  // ibqueryerrors does not distinguish them
    link_sample(to, port, peer).value(subnet::lane_mbps(speed) / megabits_per_gigabit);
  });
}

void write_width(const ItemWriter& to) {
  to.each_linked_port([&](PortIndex port, PortIndex peer) {
    const unsigned lanes = subnet::active_rate(to.fabric().subnet, port).lanes;
    if (lanes == 0 || !is_active(to.view, port) || !to.has_swept_rate(port, peer)) return;
    link_sample(to, port, peer).value(lanes);
  });
}

/// The LID, the name and the port of the requests for counters that failed in a reading and are wanted, each once, in the words of
/// ibqueryerrors, from whose stderr these labels come: {"Lid 17", "leaf 1", 3}.
template <class IsWanted>
std::set<std::tuple<std::string, std::string, unsigned>> failed_requests(const View& view, IsWanted is_wanted) {
  std::set<std::tuple<std::string, std::string, unsigned>> found;
  if (!view.reading) return found;
  const SweptFabric& fabric = *view.reading->fabric;
  for (const subnet::Failure& failure : view.reading->failures) {
    if (failure.node == subnet::none || !is_wanted(failure)) continue;
    const subnet::Node& node = fabric.subnet.node(failure.node);
    const int port = std::max(failure.port, node.kind() == subnet::NodeKind::sw ? 0 : 1);
    if (port >= node.slots) continue;
    const Lid lid = fabric.subnet.lid(fabric.subnet.end_port_of(node.first_port + static_cast<unsigned>(port)));
    found.emplace(fmt::format("Lid {}", lid.value), subnet::name_of(node, &fabric.names), port);
  }
  return found;
}

/// Nodes that did not answer.
void write_silent(const ItemWriter& to) {
  std::set<std::string> portids;
  const auto is_unanswered = [](const subnet::Failure& failure) { return failure.kind == subnet::Failure::Kind::no_answer; };
  for (const auto& [portid, name, port] : failed_requests(to.view, is_unanswered)) portids.insert(portid);
  for (const std::string& portid : portids) to.out.sample().label("portid", portid).value(1);
}

void write_failed_requests(const ItemWriter& to, std::string_view attribute, std::string_view counter_name) {
  const auto is_of_attribute = [attribute](const subnet::Failure& failure) { return failure.attribute == attribute; };
  for (const auto& [portid, name, port] : failed_requests(to.view, is_of_attribute))
    to.out.sample().label("counter_name", counter_name).label("local_name", name).label("portid", portid).label("port", port).value(1);
}

void write_no_capabilities(const ItemWriter& to) { write_failed_requests(to, mad::ClassPortInfo::info().title, "classportinfo"); }

void write_no_counters(const ItemWriter& to) {
  write_failed_requests(to, pm::PortCounters::info().title, "IB_GSI_PORT_COUNTERS");
  write_failed_requests(to, pm::PortCountersExt::info().title, "IB_GSI_PORT_COUNTERS_EXT");
}

constexpr FamilyColumn link_columns[] = {
    {"speed", report::gauge(), "Gb/s of a lane.", write_speed},
    {"width", report::gauge(), "Lanes of the link.", write_width},
};
constexpr FamilyColumn guilbaults_exporter_columns[] = {
    {"scrape_ok", report::gauge(), "1 if all devices were read.",
     [](const ItemWriter& to) { to.out.sample().value(to.view.reading && std::ranges::none_of(to.view.reading->devices, has_failed)); }},
    {"scrape_duration_seconds", report::gauge("seconds"), "Time that the last reading took.", write_reading_duration},
    {"ibqueryerrors_duration_seconds", report::gauge("seconds"), "Time that the last reading took: ibqueryerrors is not run.",
     write_reading_duration},
    {"mad_rpc_failed_error", report::gauge(), "1: the port did not answer.", write_silent},
    {"query_cap_mask_error", report::gauge(), "1: ClassPortInfo was not read.", write_no_capabilities},
    {"print_error", report::gauge(), "1: PortCounters or PortCountersExtended was not read.", write_no_counters},
};

}  // namespace

void add_treydock_families(std::vector<Family>& to, const Exported& exported) {
  add_device_families(to, Items::switches, exported.details);
  if (exported.hcas) add_device_families(to, Items::hcas, exported.details);
  const FamilyGroup own{"infiniband_exporter_", Items::exporter};
  add_families(to, own, treydock_exporter_columns);
  if (exported.run_once)
    to.emplace_back(own, FamilyColumn{"last_execution", report::gauge(), "Unix time of this run.", write_last_execution});
}

void add_guilbaults_families(std::vector<Family>& to, const Exported& exported) {
  const Items items = exported.hcas ? Items::switches_and_hcas : Items::switches;
  constexpr std::uint8_t nodes = select_switch | select_hca;
  for (std::size_t at = 0; at < counters::columns.size(); ++at) {
    const counters::Column& column = counters::columns[at];
    if (column.guilbaults.empty() || (column.source != counters::Source::counters && !exported.details)) continue;
    const auto by = static_cast<std::uint8_t>(nodes | (column.is_traffic() ? select_data : select_errors));
    to.emplace_back(FamilyGroup{"infiniband_", items, by}, column.guilbaults, at, write_link_counter);
  }
  add_families(to, {"infiniband_", items, nodes}, link_columns);
  add_families(to, {"infiniband_", Items::exporter}, guilbaults_exporter_columns);
}

}  // namespace ib::metrics
