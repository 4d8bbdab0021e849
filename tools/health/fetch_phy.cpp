// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "health/merge.hpp"
#include "phy/planes.hpp"
#include "phy/reading.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/stack.hpp"
#include "tools/health/fetch.hpp"
#include "tools/shared/failure_lines.hpp"
#include "tools/shared/vs_keys.hpp"

namespace ib::tools::health {
namespace {

using phy::Part;
using subnet::NodeIndex;
using subnet::PortIndex;

/// Whether the file that answers was written without the registers of a device.
bool has_no_registers(phy::DeviceState state) { return state == phy::DeviceState::not_read || state == phy::DeviceState::other_vendor; }

/// The external ports of devices that may have registers.
std::vector<PortIndex> ports_with_registers(const subnet::Subnet& subnet, const Scope& scope) {
  std::vector<PortIndex> ports;
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    const subnet::Port& port = subnet.port(at);
    if (port.number != 0 && port.has_info && scope.has_port(at) && subnet::is_mellanox(subnet.node(port.node).info)) ports.push_back(at);
  }
  return ports;
}

phy::ReadingOptions options_for(Stack& stack, const Extent& extent) {
  phy::ReadingOptions options = reading_options(stack, extent.paths, extent.wanted.vs_keys);
  options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "ports"); };
  return options;
}

std::vector<NodeIndex> switches_of(const subnet::Subnet& subnet, const std::vector<PortIndex>& ports) {
  std::set<NodeIndex> nodes;
  for (const PortIndex at : ports) {
    const NodeIndex node = subnet.port(at).node;
    if (subnet.node(node).kind() == subnet::NodeKind::sw) nodes.insert(node);
  }
  return {nodes.begin(), nodes.end()};
}

/// Source::unhealthy, of devices that are known to have MlnxExtPortInfo.
async::Task<> read_unhealthy(Stack& stack, const subnet::Subnet& subnet, std::vector<PortIndex> ports, Input& input) {
  std::erase_if(ports, [&subnet](PortIndex at) { return !subnet::has_mlnx_ext_port_info(subnet.node(subnet.port(at).node).info); });
  if (ports.empty()) {
    input.skip(Source::unhealthy, "no device is known to have MlnxExtPortInfo");
    co_return;
  }
  const subnet::SurveyOptions options(stack.here(), subnet::SurveyWay::smp);
  const subnet::SurveyQuestion<smp::MlnxExtPortInfo> question = [](subnet::SurveyPort port) {
    return port.transactor.try_subn_get<smp::MlnxExtPortInfo>(port.path, port.number);
  };
  const auto found = co_await subnet::survey<smp::MlnxExtPortInfo>(stack.transactor(), subnet, std::move(ports), options, question);
  std::size_t lost = 0, absent = 0;
  for (const auto& row : found.rows) {
    if (row.value) input.unhealthy[row.port] = row.value->unhealthy_reason;
    if (row.value) continue;
    const subnet::Failure::Kind kind = found.failures[row.failure].kind;
    if (kind == subnet::Failure::Kind::not_read) ++absent;
    if (kind != subnet::Failure::Kind::refused) ++lost;
  }
  if (absent != 0 && absent == found.rows.size()) {
    input.skip(Source::unhealthy, fmt::format("{} has no MlnxExtPortInfo", stack.host().stored().subject()));
  } else if (lost != 0) {
    input.not_read(Source::unhealthy, fmt::format("MlnxExtPortInfo of {} of {} ports", input.unhealthy.size(), found.rows.size()),
                   !input.unhealthy.empty());
  } else if (input.unhealthy.empty()) {
    input.skip(Source::unhealthy, "no device has MlnxExtPortInfo");
  } else {
    input.source(Source::unhealthy) = {};
  }
}

/// Source::planes: how many planes the ports have. What planes are like comes with the registers.
async::Task<> read_planes(Stack& stack, const subnet::Subnet& subnet, const std::vector<PortIndex>& ports, Input& input) {
  std::set<NodeIndex> nodes;
  for (const PortIndex at : ports) nodes.insert(subnet.port(at).node);
  input.planes = co_await phy::read_planes(stack.transactor(), subnet, stack.here(), {nodes.begin(), nodes.end()});
  const std::size_t unread = input.planes.failures.size();
  if (unread != 0 && stack.host().options().from) {
    input.skip(Source::planes, fmt::format("{} has no planes", stack.host().stored().subject()));
  } else if (unread != 0) {
    input.not_read(Source::planes, fmt::format("the planes of {} of {} devices", nodes.size() - unread, nodes.size()),
                   !input.planes.of_node.empty());
  } else if (input.planes.of_node.empty() && input.unhealthy.empty()) {
    input.skip(Source::planes, "no device has planes");
  } else {
    input.source(Source::planes) = {};
  }
}

/// The registers that say why a port is down, or how well its link does.
phy::Parts parts_for(const subnet::Subnet& subnet, const std::vector<PortIndex>& ports) {
  const bool any_up = std::ranges::any_of(ports, [&subnet](PortIndex at) { return subnet.port(at).is_link_up(); });
  const phy::Parts down = phy::parts_of(Part::troubleshooting, Part::module, Part::link_down);
  return any_up ? static_cast<phy::Parts>(down | phy::parts_of(Part::statistics)) : down;
}

/// The first of these ports whose requests, and those for the GeneralInfo of their devices, are at most most_phy_requests. Before a VS_Key
/// is sent to a device it is requested to say who it is.
std::vector<PortIndex> affordable(const subnet::Subnet& subnet, const phy::VsKeys& keys, const std::vector<PortIndex>& ports) {
  constexpr std::size_t requests_a_port = 4;
  const std::size_t requests_a_device = keys.any() ? 2 : 1;
  std::vector<PortIndex> chosen;
  std::set<NodeIndex> nodes;
  for (const PortIndex at : ports) {
    const NodeIndex node = subnet.port(at).node;
    if (!subnet::is_mellanox(subnet.node(node).info)) continue;
    nodes.insert(node);
    if (nodes.size() * requests_a_device + (chosen.size() + 1) * requests_a_port > most_phy_requests) break;
    chosen.push_back(at);
  }
  return chosen;
}

}  // namespace

async::Task<> read_phy_before(Stack& stack, const Fabric& fabric, Extent& extent, Input& input) {
  std::vector<PortIndex> ports = ports_with_registers(fabric.subnet, extent.scope);
  if (ports.empty()) co_return;
  co_await read_service_levels_once(stack, extent.paths);
  phy::ReadingOptions options = options_for(stack, extent);
  options.parts = phy::parts_of(Part::physical, Part::statistics);
  options.silent = &extent.silent;
  phy::Reading found = co_await phy::read_phy(stack.transactor(), fabric.subnet, std::move(ports), std::move(options));
  input.phy_before = {std::make_shared<const phy::Reading>(std::move(found)), fabric.subnet};
}

async::Task<LastPhy> read_phy_sources(Stack& stack, const Fabric& fabric, Extent& extent, Sources needed, Input& input) {
  std::vector<PortIndex> ports = ports_with_registers(fabric.subnet, extent.scope);
  if (ports.empty()) {
    for (const Source source : sources_of_phy) input.skip(source, "no device is NVIDIA's");
    co_return nullptr;
  }
  const auto needs = [&needed](Source source) { return needed.test(static_cast<std::size_t>(source)); };
  if (needs(Source::unhealthy) || needs(Source::planes)) co_await read_unhealthy(stack, fabric.subnet, ports, input);
  if (needs(Source::planes)) co_await read_planes(stack, fabric.subnet, ports, input);
  co_await read_service_levels_once(stack, extent.paths);
  input.phy_ports = ports;
  input.environment_nodes = switches_of(fabric.subnet, ports);
  phy::ReadingOptions options = options_for(stack, extent);
  options.wanted = phy::ReadingScope::ports_and_environment;
  options.planes = &input.planes;
  options.silent = &extent.silent;
  options.plane_parts = phy::parts_of(Part::operation, Part::module);
  phy::Reading found = co_await phy::read_phy(stack.transactor(), fabric.subnet, std::move(ports), std::move(options));
  if (stack.host().options().from && std::ranges::all_of(found.devices, has_no_registers, &phy::DeviceRow::state)) {
    input.phy_ports.clear();
    input.environment_nodes.clear();
    for (const Source source : {Source::phy, Source::environment})
      input.skip(source, fmt::format("{} has no registers (ibtool snapshot --also phy)", stack.host().stored().subject()));
    co_return nullptr;
  }
  print_failures(stack.host(), fabric.subnet, found.failures);
  const auto reading = std::make_shared<const phy::Reading>(std::move(found));
  input.phy = {reading, fabric.subnet};
  input.source(Source::phy) = input.source(Source::environment) = {};
  if (std::ranges::none_of(reading->ports, &phy::PortRow::is_known)) input.not_read(Source::phy, "no device gave its registers");
  if (input.environment_nodes.empty()) {
    input.skip(Source::environment, "no switch is NVIDIA's");
  } else if (reading->environments.empty()) {
    input.not_read(Source::environment, "no switch gave its temperatures");
  }
  co_return reading;
}

async::Task<> explain_by_phy(Stack& stack, const Fabric& fabric, Extent& extent, Input& input, Diagnosis& diagnosis) {
  std::vector<PortIndex> ports = affordable(fabric.subnet, extent.wanted.vs_keys, ports_of(diagnosis.findings, input));
  if (ports.empty()) co_return;
  co_await read_service_levels_once(stack, extent.paths);
  phy::ReadingOptions options = options_for(stack, extent);
  options.parts = parts_for(fabric.subnet, ports);
  options.most_requests = most_phy_requests;
  options.tries_once = true;
  phy::Reading found = co_await phy::read_phy(stack.transactor(), fabric.subnet, std::move(ports), std::move(options));
  input.phy = {std::make_shared<const phy::Reading>(std::move(found)), fabric.subnet};
  add_layer(diagnosis.findings, input);
}

}  // namespace ib::tools::health
