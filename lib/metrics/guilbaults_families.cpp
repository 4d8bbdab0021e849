// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The families of guilbaults' infiniband-exporter 0.0.6, of links that are Active. Data are words of 32 bits there. A counter that was read
// and is 0 has a sample here, so that its first increase can be seen; theirs has none.
#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <set>
#include <string>

#include "iba-gen/mad.hpp"
#include "iba-gen/pm.hpp"
#include "metrics/families.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/rate.hpp"

namespace ib::metrics {
namespace {

using subnet::PortIndex;

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

bool is_whole(const std::vector<DeviceReading>& readings) { return std::ranges::none_of(readings, has_failed); }

void write_ok(const ItemWriter& to) {
  const bool ok = to.view.reading && is_whole(to.view.reading->switches) && is_whole(to.view.reading->hcas);
  to.out.sample().value(ok);
}

/// A request for counters that failed in a reading, in the words of ibqueryerrors, from whose stderr these labels come.
struct FailedRequest {
  std::string portid, name;  ///< "Lid 17"
  unsigned port{};
  auto operator<=>(const FailedRequest&) const = default;
};

/// The failed requests of a reading that `is_wanted` accepts, each once.
template <class IsWanted>
std::set<FailedRequest> failed_requests(const View& view, IsWanted is_wanted) {
  std::set<FailedRequest> found;
  if (!view.reading) return found;
  const SweptFabric& fabric = *view.reading->fabric;
  for (const subnet::Failure& failure : view.reading->failures) {
    if (failure.node == subnet::none || !is_wanted(failure)) continue;
    const subnet::Node& node = fabric.subnet.node(failure.node);
    const unsigned least = node.kind() == subnet::NodeKind::sw ? 0 : 1;
    const unsigned port = std::max(failure.port < 0 ? 0U : static_cast<unsigned>(failure.port), least);
    if (port >= node.slots) continue;
    const Lid lid = fabric.subnet.lid(fabric.subnet.end_port_of(node.first_port + port));
    found.insert({fmt::format("Lid {}", lid.value), std::string(subnet::name_of(node, &fabric.names)), port});
  }
  return found;
}

/// Nodes that did not answer.
void write_silent(const ItemWriter& to) {
  std::set<std::string> portids;
  for (const FailedRequest& request :
       failed_requests(to.view, [](const subnet::Failure& failure) { return failure.kind == subnet::Failure::Kind::no_answer; }))
    portids.insert(request.portid);
  for (const std::string& portid : portids) to.out.sample().label("portid", portid).value(1);
}

void write_failed_requests(const ItemWriter& to, std::string_view attribute, std::string_view counter_name) {
  const auto is_wanted = [attribute](const subnet::Failure& failure) { return failure.attribute == attribute; };
  for (const FailedRequest& request : failed_requests(to.view, is_wanted)) {
    to.out.sample()
        .label("counter_name", counter_name)
        .label("local_name", request.name)
        .label("portid", request.portid)
        .label("port", request.port)
        .value(1);
  }
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
    {"scrape_ok", report::gauge(), "1 if all devices were read.", write_ok},
    {"scrape_duration_seconds", report::gauge("seconds"), "Time that the last reading took.", write_reading_duration},
    {"ibqueryerrors_duration_seconds", report::gauge("seconds"), "Time that the last reading took: ibqueryerrors is not run.",
     write_reading_duration},
    {"mad_rpc_failed_error", report::gauge(), "1: the port did not answer.", write_silent},
    {"query_cap_mask_error", report::gauge(), "1: ClassPortInfo was not read.", write_no_capabilities},
    {"print_error", report::gauge(), "1: PortCounters or PortCountersExtended was not read.", write_no_counters},
};

}  // namespace

void add_guilbaults_families(std::vector<Family>& to, const Exported& exported) {
  const Items items = exported.hcas ? Items::switches_and_hcas : Items::switches;
  constexpr std::uint8_t nodes = select_switch | select_hca;
  for (std::size_t at = 0; at < counters::columns.size(); ++at) {
    const counters::Column& column = counters::columns[at];
    if (column.guilbaults.empty() || (column.source != counters::Source::counters && !exported.details)) continue;
    const auto by = static_cast<std::uint8_t>(nodes | (column.is_traffic() ? select_data : select_errors));
    to.push_back(counter_family({"infiniband_", items, by}, column.guilbaults, at, write_link_counter));
  }
  add_families(to, {"infiniband_", items, nodes}, link_columns);
  add_families(to, {"infiniband_", Items::exporter}, guilbaults_exporter_columns);
}

}  // namespace ib::metrics
