// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/libibnetdisc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "base/file.hpp"
#include "formats/netdisc_cache.hpp"
#include "iba-gen/smp.hpp"
#include "iba/wire.hpp"
#include "mad/error.hpp"
#include "mad/transactor.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/sweep/mlnx.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;

/// Whether libibnetdisc would find less of the fabric. It does not cross a port whose PortPhysicalState is not LinkUp, and does not read
/// the ports of a switch whose port 0 did not answer PortInfo.
bool goes_beyond_libibnetdisc(const subnet::Subnet& subnet) {
  const auto crosses = [](const subnet::Port& port) { return port.has_info && port.peer != subnet::none && !port.is_link_up(); };
  const auto lacks_port0 = [&](const subnet::Node& node) {
    return node.kind() == subnet::NodeKind::sw && !subnet.port(node.first_port).has_info;
  };
  return std::ranges::any_of(subnet.ports(), crosses) || std::ranges::any_of(subnet.nodes(), lacks_port0);
}

/// Whether libibnetdisc would have sent the request. It does not go further if port 0 of a switch does not answer or if a port is not up.
bool read_by_libibnetdisc(const subnet::Subnet& subnet, const subnet::Failure& failure) {
  if (failure.node == subnet::none || failure.port < 1) return true;
  const subnet::Node& node = subnet.node(failure.node);
  const subnet::PortIndex at = subnet.port_of(failure.node, static_cast<unsigned>(failure.port));
  if (at == subnet::none) return true;
  if (failure.beyond) return subnet.port(at).is_link_up();
  return node.kind() != subnet::NodeKind::sw || subnet.port(node.first_port).has_info;
}

/// The message of infiniband-diags for a failed request. It begins with a source line of libibnetdisc, because sites search for it. Then
/// follow the route, the attribute and the kind of failure. The routes of a sweep `from_here` have no source LID.
std::string failure_note(const subnet::Failure& failure, std::string_view program, bool from_here) {
  const auto* error = dynamic_cast<const mad::MadError*>(failure.error.get());
  if (error == nullptr) return fmt::format("{}: {}\n", program, failure.why);
  std::string route = diags_name(error->path());
  const auto* path = error->path().directed();
  if (from_here && path != nullptr) route = libibnetdisc_route({path->route.data() + 1, path->hops});
  const mad::HeaderView request(error->request());
  const std::string what = fmt::format("({} Attr 0x{:x}:{})", route, request.attribute_id(), request.attribute_modifier());
  if (failure.kind == subnet::Failure::Kind::no_answer)
    return fmt::format("./libibnetdisc/query_smp.c:186; umad {} bad status {}; {}\n", what, ETIMEDOUT, std::strerror(ETIMEDOUT));
  return fmt::format("./libibnetdisc/query_smp.c:193; mad {} bad status 0x{:x}\n", what, error->status());
}

/// The nodes in the reverse of the order of the model.
std::vector<NodeIndex> reversed(const subnet::Subnet& subnet) {
  std::vector<NodeIndex> order(subnet.nodes().size());
  std::iota(order.rbegin(), order.rend(), NodeIndex{});
  return order;
}

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
    if (!found) {
      subnet::Failure failure = port_failure(subnet_, last->port, found.shared_error());
      failure.attribute = "NodeInfo";
      failure.modifier = 0;
      failure.beyond = true;
      failures_.push_back(std::move(failure));
      co_return;
    }
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
    subnet_.set_port_info(at, wire::packed(*info));
    co_return true;
  }

  async::Task<> read_fdr10(PortIndex at, const path::Path& path) {
    subnet::Port& port = subnet_.port(at);
    if (!port.has_info || !subnet::may_be_fdr10(subnet_.node(port.node).info, port.info())) co_return;
    const mad::Result<smp::MlnxExtPortInfo> info = co_await transactor_.try_subn_get<smp::MlnxExtPortInfo>(path, port.number);
    if (info) subnet::store_fdr10(port, *info);
  }

  mad::Transactor& transactor_;
  Subnet& subnet_;
  subnet::Failures& failures_;
  const path::Path start_;
  const unsigned bound_;
  const bool mlnx_;
};

}  // namespace

void LibibnetdiscFabric::compute_sweep(const Host& host, bool with_steps) {
  sweep = {};
  if (stored) {
    sweep.hops = stored->max_hops;
    order = reversed(subnet);
    return;
  }
  sweep = subnet::legacy_sweep(subnet, {.mlnx = host.options().mlnx_extended_port_info, .with_steps = with_steps});
  order = subnet::legacy_order(subnet, sweep);
}

void LibibnetdiscFabric::load(const Host& host, const std::string& file, std::string_view what) {
  try {
    load_diags_fabric(file, *this);
  } catch (const CannotLoad&) {
    throw DiagsFailure(fmt::format("loading cached fabric for {} failed\n", what));
  }
  compute_sweep(host);
}

void LibibnetdiscFabric::keep(const subnet::LegacySweep& part) {
  static_cast<subnet::SweptSubnet&>(*this) = subnet::restricted_to(*this, part);
  sweep = {};
  order = reversed(subnet);
}

DiscoveryOptions libibnetdisc_discovery(const Host& host) {
  DiscoveryOptions options;
  options.mode = "DR";
  options.fdr10 = host.options().mlnx_extended_port_info;
  options.silent = true;
  return options;
}

async::Task<> discover_as_libibnetdisc(Session& session, const LibibnetdiscWanted& wanted, LibibnetdiscFabric& fabric) {
  DiscoveryOptions options = libibnetdisc_discovery(session.host());
  if (wanted.max_hops != 0) options.radius = radius_for_libibnetdisc(wanted.max_hops);
  if (wanted.load_cache) {
    fabric.names = session.manners().node_name_map();
    load_diags_fabric(*wanted.load_cache, fabric);
  } else {
    open_for_libibnetdisc(session.stack());
    co_await discover(session, options, fabric);
  }
  if (!fabric.stored && (wanted.max_hops != 0 || goes_beyond_libibnetdisc(fabric.subnet))) {
    fabric.keep(subnet::legacy_sweep(fabric.subnet, {.max_hops = wanted.max_hops, .mlnx = options.fdr10}));
  }
  if (!wanted.silent) libibnetdisc_failures(session.host(), fabric, true);
  if (wanted.max_hops == 0) fabric.compute_sweep(session.host(), wanted.with_steps);
}

async::Task<> discover_part_as_libibnetdisc(Session& session, path::Path start, unsigned radius, Fabric& fabric,
                                            std::optional<subnet::KnownNode> known) {
  const DiscoveryOptions options = libibnetdisc_discovery(session.host());
  std::shared_ptr<const mad::MadError> failed;
  try {
    co_await discover_from(session, options, std::move(start), radius, fabric, known);
  } catch (const mad::MadTimeout& error) {
    failed = std::make_shared<const mad::MadTimeout>(error);
  } catch (const mad::MadError& error) {
    failed = std::make_shared<const mad::MadError>(error);
  }
  if (failed)
    fabric.failures.push_back({.kind = subnet::kind_of(*failed), .attribute = "NodeInfo", .why = failed->message(), .error = failed});
}

unsigned radius_for_libibnetdisc(unsigned hops) {
  constexpr unsigned hops_beyond_bound = 2;
  return std::max(hops, hops + hops_beyond_bound);
}

void open_for_libibnetdisc(Stack& stack) {
  try {
    std::ignore = stack.lowest_transactor();
  } catch (const DiagsFailure&) {
    throw DiagsFailure("discover failed\n");
  }
}

void libibnetdisc_failures(const Host& host, const Fabric& fabric, bool from_here) {
  for (const subnet::Failure& failure : fabric.failures) {
    if (read_by_libibnetdisc(fabric.subnet, failure))
      print_on_stderr(host.world(), failure_note(failure, host.options().program, from_here));
  }
}

std::string libibnetdisc_route(std::span<const std::uint8_t> ports) {
  std::string text = "DR path slid 0; dlid 0; 0";
  for (const unsigned port : ports) text += ',' + std::to_string(port);
  return text;
}

void store_fabric(const LibibnetdiscFabric& fabric, const std::string& file) {
  if (fabric.stored) return replace_file(file, formats::netdisc_cache_file(*fabric.stored));
  replace_file(file, formats::netdisc_cache_file(formats::cache_of(fabric.subnet, fabric.sweep, fabric.order)));
}

async::Task<> read_link_back(Stack& stack, Fabric& fabric, path::Path start, unsigned bound) {
  const Subnet& subnet = fabric.subnet;
  if (subnet.start == none || !lacks_ports(subnet, subnet.port(subnet.start).node)) co_return;
  LinkBack link(stack, fabric, std::move(start), bound);
  co_await link.read();
}

}  // namespace ib::tools
