// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The sources that send requests to the fabric itself.
#include "tools/shared/fabric_source.hpp"

#include <fmt/format.h>

#include "base/log.hpp"
#include "mad/transactor.hpp"
#include "sa/transactor.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/sweep/sa_discovery.hpp"
#include "tools/frame/port_gate.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/stored_fabric.hpp"

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

bool is_whole(const FabricWanted& wanted) { return !wanted.start && !wanted.around.given() && wanted.radius == ~0U; }

/// SMPs to the nodes.
class Sweep : public FabricSource {
 public:
  Sweep(Session& session, const DiscoveryOptions& options, subnet::Routing routing)
      : session_(session), options_(options), routing_(routing) {}

  std::string_view name() const override { return routing_ == subnet::Routing::lid ? "LID" : "DR"; }
  bool reads_nodes() const override { return true; }
  async::Task<subnet::DiscoverStats> read(FabricWanted wanted, subnet::SweptSubnet& into) override {
    if (is_whole(wanted) && !options_.fdr10 && !options_.through) {
      if (const std::unique_ptr<subnet::SweptSubnet> swept = session_.targets().take_swept()) {
        into = std::move(*swept);
        forget_unwanted(into, wanted.needs);
        co_return subnet::DiscoverStats{};
      }
    }
    subnet::DiscoverOptions how;
    how.routing = routing_;
    how.radius = wanted.radius;
    how.alone = wanted.alone;
    how.needs = wanted.needs;
    how.known = wanted.known;
    how.mlnx_extended_port_info = options_.fdr10;
    how.progress = [this](std::size_t nodes) { session_.stack().progress().count(nodes, "nodes"); };
    if (wanted.notices != nullptr) how.notice = [log = wanted.notices](std::string_view line) { log->debug(line); };
    path::Path start = path::IbDrPath(&session_.host().end_port());
    if (options_.retries) start.ib().retries = *options_.retries;
    session_.stack().apply_options(start);
    if (wanted.start) {
      start = *wanted.start;
    } else if (wanted.around.given()) {
      const Destination node = co_await session_.manners().smp_node(wanted.around);
      start = node.path;
    }
    const bool is_own_node = stays_here(start) && (wanted.alone || wanted.around.given());
    if (!is_own_node) session_.stack().require_link();
    // libibnetdisc, unlike libibmad, prints no requests with -d.
    mad::Transactor& lowest = session_.stack().lowest_transactor();
    mad::Transactor& sends = options_.through ? options_.through(lowest) : lowest;
    subnet::Discovered discovered = co_await subnet::discover(sends, into.subnet, start, how);
    into.failures = std::move(discovered.failures);
    co_return discovered.stats;
  }

 protected:
  Session& session_;
  const DiscoveryOptions& options_;

 private:
  subnet::Routing routing_;
};

/// The snapshot of --from. The whole fabric is read at once. A part of it is read by a sweep whose requests the snapshot answers.
class FromSnapshot final : public Sweep {
 public:
  FromSnapshot(Session& session, const DiscoveryOptions& options) : Sweep(session, options, subnet::Routing::directed) {}

  std::string_view name() const override { return {}; }
  async::Task<subnet::DiscoverStats> read(FabricWanted wanted, subnet::SweptSubnet& into) override {
    if (is_whole(wanted)) {
      into = session_.host().stored().read_fabric(&session_.host().end_port());
      if (!options_.fdr10) forget_fdr10(into.subnet);
      forget_unwanted(into, wanted.needs);
      co_return subnet::DiscoverStats{};
    }
    subnet::DiscoverStats stats = co_await Sweep::read(std::move(wanted), into);
    co_return stats;
  }
};

/// The tables of subnet administration.
class SaTables final : public FabricSource {
 public:
  explicit SaTables(Session& session) : session_(session) { session.stack().read_from_sa(); }

  std::string_view name() const override { return "SA"; }
  async::Task<subnet::DiscoverStats> read(FabricWanted wanted, subnet::SweptSubnet& into) override {
    subnet::SaDiscoverOptions how;
    how.radius = wanted.radius;
    how.alone = wanted.alone;
    how.needs = wanted.needs;
    how.nodes = session_.targets().node_records();
    how.progress = [this](std::size_t nodes) { session_.stack().progress().count(nodes, "nodes"); };
    session_.stack().require_sa();
    co_await session_.stack().prepare_sa();
    mad::Transactor& transactor = session_.stack().transactor();
    if (wanted.around.given()) {
      const Destination node = co_await session_.manners().smp_node(wanted.around);
      sa::SaTransactor links(transactor);
      const mad::Result<Lid> lid = co_await links.find_lid(node.path);
      if (!lid) lid.error().raise();
      how.start = *lid;
    }
    subnet::Discovered discovered = co_await subnet::discover_from_sa(transactor, into.subnet, how);
    into.failures = std::move(discovered.failures);
    co_return discovered.stats;
  }

 private:
  Session& session_;
};

}  // namespace

void forget_unwanted(subnet::SweptSubnet& swept, const subnet::DiscoverNeeds& needs) {
  std::erase_if(swept.failures, [&](const subnet::Failure& failure) { return !is_wanted(swept.subnet, needs, failure); });
}

void forget_fdr10(subnet::Subnet& subnet) {
  for (subnet::PortIndex at = 0; at < subnet.ports().size(); ++at) subnet.port(at).fdr10 = subnet.port(at).fdr10_supported = 0;
}

std::unique_ptr<FabricSource> fabric_source(Session& session, const DiscoveryOptions& options) {
  if (options.load_cache) return stored_fabric(*options.load_cache);
  const bool use_sa = session.host().options().use_sa;
  if (use_sa && options.mode && options.mode != "SA")
    throw UsageError(fmt::format("Can't combine --sa with discovery mode '{}'", *options.mode));
  if (use_sa || options.mode == "SA") return std::make_unique<SaTables>(session);
  if (session.host().options().from && !session.host().stored().format().empty()) return stored_fabric(session.host());
  if (session.host().options().from) return std::make_unique<FromSnapshot>(session, options);
  const sys::EndPort& port = session.host().end_port();
  const bool by_lid = options.mode ? options.mode == "LID" : port.is_active() && port.lid.is_unicast();
  return std::make_unique<Sweep>(session, options, by_lid ? subnet::Routing::lid : subnet::Routing::directed);
}

}  // namespace ib::tools
