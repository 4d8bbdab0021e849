// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include <algorithm>

#include "iba/wire.hpp"
#include "mad/error.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/discovery.hpp"
#include "subnet/sweep/mlnx.hpp"

namespace ib::subnet {
namespace {

/// Whether the host has a port that the sweep did not find.
bool lacks_ports(const Subnet& subnet, const Node& host) {
  const auto is_missing = [&host](const Port& port) { return port.number != 0 && port.number <= host.info.num_ports && !port.is_known(); };
  return host.kind() != NodeKind::sw && std::ranges::any_of(subnet.ports_of(host), is_missing);
}

/// The ports of switches at the bound that are not the way in, in the order in which libibnetdisc requests them.
std::vector<PortIndex> rim_ports(const Subnet& subnet, unsigned bound, bool mlnx) {
  std::vector<PortIndex> ports;
  const LegacySweep sweep = legacy_sweep(subnet, {.max_hops = bound, .mlnx = mlnx});
  for (const NodeIndex at : sweep.found) {
    const Node& node = subnet.node(at);
    if (node.kind() != NodeKind::sw || node.hops < bound || !subnet.port(node.first_port).has_info) continue;
    for (unsigned number = 1; number <= node.info.num_ports && number < node.slots; ++number) {
      if (number != sweep.entry_ports[at]) ports.push_back(node.first_port + number);
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
    const PortIndex last = co_await find_last();
    if (last == none || subnet.port(last).peer != none) co_return;
    const Port& from = subnet.port(last);
    const std::optional<path::IbDrPath> beyond = route_from(path_to(last)).advance(from.number);
    if (!beyond) co_return;
    const path::Path path = *beyond;
    const mad::Result<smp::NodeInfo> found = co_await transactor.try_subn_get<smp::NodeInfo>(path);
    if (!found) {
      failures.push_back(failure_of(found.shared_error(), from.node, from.number, true, "NodeInfo"));
      co_return;
    }
    const NodeIndex host = subnet.port(subnet.start).node;
    if (found->node_guid != subnet.node(host).guid()) co_return;
    const PortIndex at = subnet.port_of(host, found->local_port_num);
    if (at == none || subnet.port(at).is_known()) co_return;
    subnet.set_port_guid(at, found->port_guid);
    subnet.link(last, at);
    co_await read_port(at, path);
    if (mlnx) co_await read_fdr10(at, path), co_await read_fdr10(last, path_to(last));
  }

  /// The port at the bound beyond which libibnetdisc tries its last link, or none.
  async::Task<PortIndex> find_last() {
    PortIndex last = none;
    for (const PortIndex at : rim_ports(subnet, bound, mlnx)) {
      const Port& port = subnet.port(at);
      if (!port.has_info) {
        const path::Path path = path_to(at);
        const bool answered = co_await read_port(at, path);
        if (!answered) break;
      }
      if (!port.has_info || !port.is_link_up()) continue;
      // A port that may run at FDR10 gets one more request before its link is tried. Meanwhile the next port is handled.
      const bool waits = mlnx && may_be_fdr10(subnet.node(port.node).info, port.info());
      if (last == none || !waits) last = at;
      if (!waits) break;
    }
    co_return last;
  }

  path::Path path_to(PortIndex port) const { return smp_path(subnet, subnet.port(port).node, start); }

  /// Reads a PortInfo. Returns false if nothing answered.
  async::Task<bool> read_port(PortIndex at, const path::Path& path) {
    const mad::Result<smp::PortInfo> info = co_await transactor.try_subn_get<smp::PortInfo>(path, subnet.port(at).number);
    if (!info) {
      const Port& port = subnet.port(at);
      failures.push_back(failure_of(info.shared_error(), port.node, port.number, false, "PortInfo", port.number));
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
  if (fabric.subnet.start == none || !lacks_ports(fabric.subnet, fabric.subnet.node_of(fabric.subnet.start))) co_return;
  LinkBack link{transactor, fabric.subnet, fabric.failures, std::move(start), bound, mlnx};
  co_await link.read();
}

}  // namespace ib::subnet
