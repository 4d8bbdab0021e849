// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// legacy_sweep() gives the order in which libibnetdisc would read the ports at the bound. They are read in this order until one leads on.
#include "tools/shared/link_back.hpp"

#include <array>
#include <vector>

#include "mad/transactor.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/mlnx.hpp"

namespace ib::tools {
namespace {

using subnet::none;
using subnet::PortIndex;
using subnet::Subnet;

/// An external port of a switch at the bound.
struct RimPort {
  PortIndex port;
  std::vector<std::uint8_t> route;  ///< to its switch, without the leading 0
};

/// Whether the host has a port that the sweep did not find.
bool lacks_ports(const Subnet& subnet, subnet::NodeIndex host) {
  const subnet::Node& node = subnet.node(host);
  if (node.kind() == subnet::NodeKind::sw) return false;
  for (unsigned number = 1; number <= node.info.num_ports; ++number) {
    const PortIndex at = subnet.port_of(host, number);
    if (at != none && !subnet.port(at).is_known()) return true;
  }
  return false;
}

/// The ports at the bound that are not the way in, in the order in which libibnetdisc requests them.
std::vector<RimPort> rim_ports(const Subnet& subnet, unsigned bound, bool mlnx) {
  std::vector<RimPort> ports;
  const subnet::LegacySweep sweep = subnet::legacy_sweep(subnet, {.max_hops = bound, .mlnx = mlnx, .with_steps = true});
  for (const subnet::LegacyStep& step : sweep.steps) {
    const subnet::Port& way_in = subnet.port(step.port);
    const subnet::Node& node = subnet.node(way_in.node);
    if (!step.is_new || node.kind() != subnet::NodeKind::sw || node.hops < bound || !subnet.port(node.first_port).has_info) continue;
    for (unsigned number = 1; number <= node.info.num_ports && number < node.slots; ++number) {
      if (number != way_in.number) ports.push_back({node.first_port + number, step.route});
    }
  }
  return ports;
}

class LinkBack {
 public:
  LinkBack(Stack& stack, subnet::SweptSubnet& fabric, path::Path start, unsigned bound)
      : transactor_(stack.lowest_transactor()),
        subnet_(fabric.subnet),
        failures_(fabric.failures),
        start_(std::move(start)),
        bound_(bound),
        mlnx_(stack.host().options().mlnx_extended_port_info) {}

  async::Task<> read() {
    const std::optional<RimPort> last = co_await find_last();
    if (!last || subnet_.port(last->port).peer != none) co_return;
    std::vector<std::uint8_t> route = last->route;
    route.push_back(subnet_.port(last->port).number);
    if (start_.directed() == nullptr || start_.directed()->hops + route.size() > path::max_hops) co_return;
    const path::Path path = path_by(route);
    const mad::Result<smp::NodeInfo> found = co_await transactor_.try_subn_get<smp::NodeInfo>(path);
    if (!found) co_return add_silence(last->port, found.shared_error());
    const subnet::NodeIndex host = subnet_.port(subnet_.start).node;
    if (found->node_guid != subnet_.node(host).guid()) co_return;
    const PortIndex at = subnet_.port_of(host, found->local_port_num);
    if (at == none || subnet_.port(at).is_known()) co_return;
    subnet_.set_port_guid(at, found->port_guid);
    subnet_.link(last->port, at);
    co_await read_port(at, path);
    if (mlnx_) co_await read_fdr10(at, path), co_await read_fdr10(last->port, path_by(last->route));
  }

 private:
  /// The port at the bound beyond which libibnetdisc tries its last link.
  async::Task<std::optional<RimPort>> find_last() {
    std::optional<RimPort> last;
    for (const RimPort& rim : rim_ports(subnet_, bound_, mlnx_)) {
      if (!subnet_.port(rim.port).has_info) {
        const path::Path path = path_by(rim.route);
        const bool answered = co_await read_port(rim.port, path);
        if (!answered) break;
      }
      const subnet::Port& port = subnet_.port(rim.port);
      if (!port.has_info || !port.is_link_up()) continue;
      // A port that may run at FDR10 gets one more request before its link is tried. Meanwhile the next port is handled.
      const bool waits = mlnx_ && subnet::may_be_fdr10(subnet_.node(port.node).info, port.info());
      if (!last || !waits) last = rim;
      if (!waits) break;
    }
    co_return last;
  }

  path::Path path_by(const std::vector<std::uint8_t>& route) const {
    path::IbDrPath path = subnet::route_from(start_);
    for (const std::uint8_t port : route) path.route[++path.hops] = port;
    return path;
  }

  /// Reads a PortInfo. Returns false if nothing answered.
  async::Task<bool> read_port(PortIndex at, const path::Path& path) {
    const mad::Result<smp::PortInfo> info = co_await transactor_.try_subn_get<smp::PortInfo>(path, subnet_.port(at).number);
    if (!info) {
      failures_.push_back(port_failure(subnet_, at, info.shared_error()));
      co_return !mad::is_timeout(info.error());
    }
    std::array<std::uint8_t, smp::PortInfo::wire_size> bytes{};
    info->pack(bytes);
    subnet_.set_port_info(at, bytes);
    co_return true;
  }

  async::Task<> read_fdr10(PortIndex at, const path::Path& path) {
    subnet::Port& port = subnet_.port(at);
    if (!port.has_info || !subnet::may_be_fdr10(subnet_.node(port.node).info, port.info())) co_return;
    const mad::Result<smp::MlnxExtPortInfo> info = co_await transactor_.try_subn_get<smp::MlnxExtPortInfo>(path, port.number);
    if (info) subnet::store_fdr10(port, *info);
  }

  void add_silence(PortIndex at, const std::shared_ptr<const mad::MadError>& error) {
    subnet::Failure failure = port_failure(subnet_, at, error);
    failure.attribute = "NodeInfo";
    failure.modifier = 0;
    failure.beyond = true;
    failures_.push_back(std::move(failure));
  }

  mad::Transactor& transactor_;
  Subnet& subnet_;
  subnet::Failures& failures_;
  const path::Path start_;
  const unsigned bound_;
  const bool mlnx_;
};

}  // namespace

async::Task<> read_link_back(Stack& stack, Fabric& fabric, path::Path start, unsigned bound) {
  const Subnet& subnet = fabric.subnet;
  if (subnet.start == none || !lacks_ports(subnet, subnet.port(subnet.start).node)) co_return;
  LinkBack link(stack, fabric, std::move(start), bound);
  co_await link.read();
}

}  // namespace ib::tools
