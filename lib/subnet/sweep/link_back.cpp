// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <optional>
#include <utility>
#include <vector>

#include "iba-gen/mlx.hpp"
#include "iba-gen/smp.hpp"
#include "iba/wire.hpp"
#include "mad/error.hpp"
#include "mad/transactor.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/discovery.hpp"
#include "subnet/sweep/mlnx.hpp"

namespace ib::subnet {
namespace {

/// An external port of a switch at the bound.
struct RimPort {
  PortIndex port;
  std::vector<std::uint8_t> route;  ///< to its switch, without the leading 0
};

/// Whether the host has a port that the sweep did not find.
bool lacks_ports(const Subnet& subnet, NodeIndex host) {
  const Node& node = subnet.node(host);
  if (node.kind() == NodeKind::sw) return false;
  for (unsigned number = 1; number <= node.info.num_ports; ++number) {
    const PortIndex at = subnet.port_of(host, number);
    if (at != none && !subnet.port(at).is_known()) return true;
  }
  return false;
}

/// The ports at the bound that are not the way in, in the order in which libibnetdisc requests them.
std::vector<RimPort> rim_ports(const Subnet& subnet, unsigned bound, bool mlnx) {
  std::vector<RimPort> ports;
  const LegacySweep sweep = legacy_sweep(subnet, {.max_hops = bound, .mlnx = mlnx, .with_steps = true});
  for (const LegacyStep& step : sweep.steps) {
    const Port& way_in = subnet.port(step.port);
    const Node& node = subnet.node(way_in.node);
    if (!step.is_new || node.kind() != NodeKind::sw || node.hops < bound || !subnet.port(node.first_port).has_info) continue;
    for (unsigned number = 1; number <= node.info.num_ports && number < node.slots; ++number) {
      if (number != way_in.number) ports.push_back({node.first_port + number, step.route});
    }
  }
  return ports;
}

struct LinkBack {
  mad::Transactor& transactor;
  Subnet& subnet;
  Failures& failures;
  const path::Path start;
  const unsigned bound;
  const bool mlnx;

  async::Task<> read() {
    const std::optional<RimPort> last = co_await find_last();
    if (!last || subnet.port(last->port).peer != none) co_return;
    std::vector<std::uint8_t> route = last->route;
    route.push_back(subnet.port(last->port).number);
    if (start.directed() == nullptr || start.directed()->hops + route.size() > path::max_hops) co_return;
    const path::Path path = path_by(route);
    const mad::Result<smp::NodeInfo> found = co_await transactor.try_subn_get<smp::NodeInfo>(path);
    if (!found) {
      Failure failure = port_failure(subnet, last->port, found.shared_error());
      failure.attribute = "NodeInfo";
      failure.modifier = 0;
      failure.beyond = true;
      failures.push_back(std::move(failure));
      co_return;
    }
    const NodeIndex host = subnet.port(subnet.start).node;
    if (found->node_guid != subnet.node(host).guid()) co_return;
    const PortIndex at = subnet.port_of(host, found->local_port_num);
    if (at == none || subnet.port(at).is_known()) co_return;
    subnet.set_port_guid(at, found->port_guid);
    subnet.link(last->port, at);
    co_await read_port(at, path);
    if (mlnx) co_await read_fdr10(at, path), co_await read_fdr10(last->port, path_by(last->route));
  }

  /// The port at the bound beyond which libibnetdisc tries its last link.
  async::Task<std::optional<RimPort>> find_last() {
    std::optional<RimPort> last;
    for (const RimPort& rim : rim_ports(subnet, bound, mlnx)) {
      if (!subnet.port(rim.port).has_info) {
        const path::Path path = path_by(rim.route);
        const bool answered = co_await read_port(rim.port, path);
        if (!answered) break;
      }
      const Port& port = subnet.port(rim.port);
      if (!port.has_info || !port.is_link_up()) continue;
      // A port that may run at FDR10 gets one more request before its link is tried. Meanwhile the next port is handled.
      const bool waits = mlnx && may_be_fdr10(subnet.node(port.node).info, port.info());
      if (!last || !waits) last = rim;
      if (!waits) break;
    }
    co_return last;
  }

  path::Path path_by(const std::vector<std::uint8_t>& route) const {
    path::IbDrPath path = route_from(start);
    for (const std::uint8_t port : route) path.route[++path.hops] = port;
    return path;
  }

  /// Reads a PortInfo. Returns false if nothing answered.
  async::Task<bool> read_port(PortIndex at, const path::Path& path) {
    const mad::Result<smp::PortInfo> info = co_await transactor.try_subn_get<smp::PortInfo>(path, subnet.port(at).number);
    if (!info) {
      failures.push_back(port_failure(subnet, at, info.shared_error()));
      co_return !mad::is_timeout(info.error());
    }
    subnet.set_port_info(at, wire::packed(*info));
    co_return true;
  }

  async::Task<> read_fdr10(PortIndex at, const path::Path& path) {
    Port& port = subnet.port(at);
    if (!port.has_info || !may_be_fdr10(subnet.node(port.node).info, port.info())) co_return;
    const mad::Result<smp::MlnxExtPortInfo> info = co_await transactor.try_subn_get<smp::MlnxExtPortInfo>(path, port.number);
    if (info) store_fdr10(port, *info);
  }
};

}  // namespace

async::Task<> read_link_back(mad::Transactor& transactor, SweptSubnet& fabric, path::Path start, unsigned bound, bool mlnx) {
  if (fabric.subnet.start == none || !lacks_ports(fabric.subnet, fabric.subnet.port(fabric.subnet.start).node)) co_return;
  LinkBack link{transactor, fabric.subnet, fabric.failures, std::move(start), bound, mlnx};
  co_await link.read();
}

}  // namespace ib::subnet
