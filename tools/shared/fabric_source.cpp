// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A cache also keeps data of libibnetdisc that the model does not have, so that a loaded fabric is stored unchanged.
#include "tools/shared/fabric_source.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "mad/transactor.hpp"
#include "sa/transactor.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/sweep/discovery.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/targets.hpp"

namespace ib::tools {
namespace {

/// Whether a sweep with these needs would have this failure.
bool is_wanted(const subnet::Subnet& subnet, const subnet::DiscoverNeeds& needs, const subnet::Failure& failure) {
  if (failure.node == subnet::none || failure.beyond) return true;
  const subnet::NodeKind kind = subnet.node(failure.node).kind();
  if (failure.attribute == "SwitchInfo") return needs.switch_infos;
  if (failure.attribute == "NodeDescription") return needs.descriptions.has(kind);
  if (failure.attribute != "PortInfo" || failure.port < 0) return true;
  const subnet::PortIndex port = subnet.port_of(failure.node, static_cast<unsigned>(failure.port));
  return port == subnet::none || port != subnet.end_port_of(port) || port == subnet.start || needs.end_ports.has(kind);
}

subnet::DiscoverOptions options_of(Stack& stack, const FabricWanted& wanted) {
  subnet::DiscoverOptions how;
  how.radius = wanted.radius;
  how.alone = wanted.alone;
  how.needs = wanted.needs;
  how.progress = [&stack](std::size_t nodes) { stack.progress().count(nodes, "nodes"); };
  return how;
}

}  // namespace

FabricSource::FabricSource(Session& session, const DiscoveryOptions& options) : session_(session), options_(options), way_(Way::file) {
  Host& host = session.host();
  if (options.load_cache) return;
  const bool use_sa = host.options().use_sa;
  if (use_sa && options.mode && options.mode != "SA")
    throw UsageError(fmt::format("Can't combine --sa with discovery mode '{}'", *options.mode));
  if (use_sa || options.mode == "SA") {
    way_ = Way::sa;
    session.stack().read_from_sa();
  } else if (host.options().from) {
    way_ = host.stored().format().empty() ? Way::snapshot : Way::file;
  } else {
    const sys::EndPort& port = host.end_port();
    const bool by_lid = options.mode ? options.mode == "LID" : port.is_active() && port.lid.is_unicast();
    way_ = by_lid ? Way::lid : Way::directed;
  }
}

std::string_view FabricSource::name() const {
  return way_ == Way::lid ? "LID" : way_ == Way::directed ? "DR" : way_ == Way::sa ? "SA" : "";
}

async::Task<subnet::DiscoverStats> FabricSource::read(FabricWanted wanted, subnet::SweptSubnet& into) {
  subnet::DiscoverStats stats;
  if (way_ == Way::file) {
    stats = read_file(wanted, into);
  } else if (way_ == Way::sa) {
    stats = co_await read_sa(std::move(wanted), into);
  } else if (way_ == Way::snapshot && wanted.is_whole()) {
    into = session_.host().stored().read_fabric(&session_.host().end_port());
    if (!options_.fdr10) forget_fdr10(into.subnet);
    forget_unwanted(into, wanted.needs);
  } else {
    stats = co_await sweep(std::move(wanted), into);
  }
  co_return stats;
}

/// SMPs to the nodes.
async::Task<subnet::DiscoverStats> FabricSource::sweep(FabricWanted wanted, subnet::SweptSubnet& into) {
  Stack& stack = session_.stack();
  if (wanted.is_whole() && !options_.fdr10 && !options_.through) {
    if (const std::unique_ptr<subnet::SweptSubnet> swept = session_.targets().take_swept()) {
      into = std::move(*swept);
      forget_unwanted(into, wanted.needs);
      co_return subnet::DiscoverStats{};
    }
  }
  subnet::DiscoverOptions how = options_of(stack, wanted);
  how.routing = way_ == Way::lid ? subnet::Routing::lid : subnet::Routing::directed;
  how.known = wanted.known;
  how.mlnx_extended_port_info = options_.fdr10;
  if (wanted.notices != nullptr) how.notice = [log = wanted.notices](std::string_view line) { log->debug(line); };
  path::Path start = path::IbDrPath(&session_.host().end_port());
  if (options_.retries) start.ib().retries = *options_.retries;
  stack.apply_options(start);
  if (wanted.start) {
    start = *wanted.start;
  } else if (wanted.around.given()) {
    const Destination node = co_await session_.manners().smp_node(wanted.around);
    start = node.path;
  }
  const bool is_own_node = stays_here(start) && (wanted.alone || wanted.around.given());
  if (!is_own_node) stack.require_link();
  mad::Transactor& lowest = stack.lowest_transactor();
  mad::Transactor& sends = options_.through ? options_.through(lowest) : lowest;
  subnet::Discovered discovered = co_await subnet::discover(sends, into.subnet, start, how);
  into.failures = std::move(discovered.failures);
  co_return discovered.stats;
}

/// The tables of subnet administration.
async::Task<subnet::DiscoverStats> FabricSource::read_sa(FabricWanted wanted, subnet::SweptSubnet& into) {
  Stack& stack = session_.stack();
  const subnet::DiscoverOptions how = options_of(stack, wanted);
  std::vector<sa::NodeRecord> nodes = session_.targets().node_records();
  std::optional<Lid> start;
  stack.require_sa();
  co_await stack.prepare_sa();
  if (wanted.around.given()) {
    const Destination node = co_await session_.manners().smp_node(wanted.around);
    sa::SaTransactor links(stack.transactor());
    const mad::Result<Lid> lid = co_await links.find_lid(node.path);
    if (!lid) lid.error().raise();
    start = *lid;
  }
  subnet::Discovered discovered = co_await subnet::discover_from_sa(stack.transactor(), into.subnet, how, start, std::move(nodes));
  into.failures = std::move(discovered.failures);
  co_return discovered.stats;
}

/// With FabricWanted::around the model begins at that port.
subnet::DiscoverStats FabricSource::read_file(const FabricWanted& wanted, subnet::SweptSubnet& into) {
  Host& host = session_.host();
  const std::string file = options_.load_cache ? *options_.load_cache : host.stored().file();
  if (wanted.notices != nullptr) wanted.notices->debug(fmt::format("Loading discovery cache from {}", in_quotes(file)));
  if (options_.load_cache) {
    Fabric loaded;
    load_fabric(file, loaded);
    cache_ = loaded.stored;
    into = std::move(loaded);
  } else {  // which answers requests from the same file later
    into = host.stored().read_fabric(&host.end_port());
    cache_ = host.stored().netdisc();
  }
  const path::Path* const start = wanted.start ? &*wanted.start : wanted.around.path ? &*wanted.around.path : nullptr;
  if (start != nullptr) into.subnet.start = subnet::get_port(into, *start);
  return {};
}

void forget_unwanted(subnet::SweptSubnet& swept, const subnet::DiscoverNeeds& needs) {
  std::erase_if(swept.failures, [&](const subnet::Failure& failure) { return !is_wanted(swept.subnet, needs, failure); });
}

void forget_fdr10(subnet::Subnet& subnet) {
  for (subnet::PortIndex at = 0; at < subnet.ports().size(); ++at) subnet.port(at).fdr10 = subnet.port(at).fdr10_supported = 0;
}

bool is_listing(const Fabric& fabric) { return std::ranges::any_of(fabric.subnet.nodes(), &subnet::Node::is_listed); }

void load_fabric(const std::string& file, Fabric& fabric) try {
  const std::unique_ptr<snapshot::StoredFabric> stored = snapshot::open_fabric(file);
  fabric.stored = stored->netdisc();
  static_cast<subnet::SweptSubnet&>(fabric) = stored->take_fabric(nullptr);
} catch (const UsageError& error) {
  throw CannotLoad(error.message());
}

void load_diags_fabric(const std::string& file, Fabric& fabric) {
  load_fabric(file, fabric);
  if (is_listing(fabric)) throw CannotLoad(fmt::format("{} is topology text, not a cache of libibnetdisc", in_quotes(file)));
}

}  // namespace ib::tools
