// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/libibnetdisc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/file.hpp"
#include "formats/netdisc_cache.hpp"
#include "mad/error.hpp"
#include "subnet/model/failures.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"

namespace ib::tools {
namespace {

using subnet::NodeIndex;

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
    static_cast<Fabric&>(fabric) = co_await discover(session, options);
  }
  if (!fabric.stored && (wanted.max_hops != 0 || subnet::exceeds_legacy_sweep(fabric.subnet))) {
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
  if (failed) fabric.failures.push_back(subnet::failure_of(failed, subnet::none, -1, false, "NodeInfo"));
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
    if (subnet::is_in_legacy_sweep(fabric.subnet, failure))
      print_on_stderr(host.world(), failure_note(failure, host.options().program, from_here));
  }
}

void store_fabric(const LibibnetdiscFabric& fabric, const std::string& file) {
  if (fabric.stored) return replace_file(file, formats::netdisc_cache_file(*fabric.stored));
  replace_file(file, formats::netdisc_cache_file(formats::cache_of(fabric.subnet, fabric.sweep, fabric.order)));
}

}  // namespace ib::tools
