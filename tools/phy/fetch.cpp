// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/phy/fetch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "subnet/names.hpp"
#include "subnet/order.hpp"
#include "subnet/port_label.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;
using subnet::PortIndex;

std::vector<PortIndex> wanted_ports(const PhyWanted& wanted, const subnet::Subnet& subnet, const std::vector<NodeIndex>& nodes) {
  std::vector<PortIndex> ports;
  for (const NodeIndex at : nodes) {
    for (unsigned number = 1; number < subnet.node(at).slots; ++number) {
      const PortIndex port = subnet.port_of(at, number);
      if (wanted.wants(subnet, port)) ports.push_back(port);
    }
  }
  return ports;
}

/// Says which devices were not read, and what was seen of them.
void note_unread(const Session& session, const std::vector<phy::DeviceRow>& devices) {
  for (const auto& [state, why] : {std::pair{phy::DeviceState::other_vendor, "they are not NVIDIA's"},
                                   {phy::DeviceState::no_registers, "their GeneralInfo does not list AccessRegister"},
                                   {phy::DeviceState::refused, "they refuse GeneralInfo"}}) {
    const auto unread = std::ranges::count(devices, state, &phy::DeviceRow::state);
    if (unread != 0) session.note(fmt::format("Registers of {} of {} devices are not read: {}", unread, devices.size(), why));
  }
}

}  // namespace

void add_phy_options(OptionSet& set, PhyWanted& wanted) {
  set.optional_operands();
  set.target("TARGET", wanted.target);
  set.number("--rate", wanted.per_second, "N", "Send at most so many requests a second; 2000 by default.", {.low = 1, .high = 1000000});
  add_discovery(set, wanted.discovery);
}

async::Task<phy::Reading> fetch_phy(Session& session, const PhyWanted& wanted, Fabric& fabric) {
  std::vector<NodeIndex> nodes;
  if (wanted.target.given()) {
    const NodeIndex node = co_await discover_around(session, wanted.discovery, wanted.target, fabric);
    nodes.push_back(node);
  } else {
    co_await discover(session, wanted.discovery, fabric);
    nodes = subnet::breadth_first(fabric.subnet);
  }
  subnet::PortPaths paths(fabric.subnet, session.here());
  if (!session.options().skip_sl) co_await session.read_service_levels(paths);
  phy::ReadingOptions options;
  options.paths = &paths;
  options.wanted = wanted.registers;
  options.per_second = wanted.per_second;
  const std::string_view what = wanted.registers == phy::Wanted::ports ? "ports" : "devices";
  options.progress = [&session, what](std::size_t done, std::size_t of) { session.progress().count(done, of, what); };
  std::vector<PortIndex> ports = wanted_ports(wanted, fabric.subnet, nodes);
  phy::Reading found = co_await phy::read_phy(session.transactor(), fabric.subnet, std::move(ports), options);
  note_unread(session, found.devices);
  add_failures(session, fabric, std::move(found.failures));
  co_return found;
}

void add_table_options(OptionSet& set, TableOptions& options, std::vector<std::string> keys) {
  set.text("--columns", options.columns, "KEY[,…]", "Show these columns, by their names in JSON; all: every one.");
  set.offer(keys);
  set.text("--sort", options.sort, "KEY", "Sort by this column; --sort=-KEY: the greatest value first.");
  set.offer(std::move(keys));
}

report::Cell node_name_cell(const Fabric& fabric, NodeIndex node) {
  const subnet::Node& of = fabric.subnet.node(node);
  return report::text_cell(std::string(subnet::name_of(of, &fabric.names)));
}

report::Cell node_guid_cell(const Fabric& fabric, NodeIndex node) { return fabric.subnet.node(node).guid(); }

report::Cell port_label_cell(const Fabric& fabric, PortIndex port) { return report::text_cell(subnet::port_label(fabric.subnet, port)); }

}  // namespace ib::tools
