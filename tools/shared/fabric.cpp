// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Discovery for commands: the mode, the progress line on a terminal, and afterwards the errors. The errors are sorted, so that the output
// for a fabric with dead parts is always the same.
#include "tools/shared/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "iba/text.hpp"
#include "mad/error.hpp"
#include "snapshot/cache.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/set/set_target.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/name_match.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/target.hpp"
#include "tools/frame/targets.hpp"
#include "tools/frame/world.hpp"
#include "tools/shared/fabric_report.hpp"
#include "tools/shared/fabric_source.hpp"
#include "tools/shared/failure_lines.hpp"

namespace ib::tools {
namespace {

/// The key by which two failures of one request are recognised, for instance in the sweep and afterwards.
using FailureKey = std::tuple<subnet::NodeIndex, bool, subnet::Failure::Kind, std::string, std::uint32_t>;
FailureKey key_of(const subnet::Failure& failure) {
  // A PMA is silent for whatever attribute is requested first.
  if (is_silent_pma(failure)) return {failure.node, false, failure.kind, {}, static_cast<std::uint32_t>(failure.port)};
  // Without an attribute no request was sent.
  return {failure.node, failure.beyond, failure.kind, failure.attribute.empty() ? failure.why : failure.attribute, failure.modifier};
}

/// The route to a node that is named by a route from here.
std::optional<std::vector<std::uint8_t>> route_to(const Target& target) {
  std::vector<std::uint8_t> route;
  if (!target.given()) return route;
  const path::IbDrPath* const path = target.path ? target.path->directed() : nullptr;
  if (path == nullptr || path->dr_slid != permissive_lid) return std::nullopt;
  route.assign(path->route.begin() + 1, path->route.begin() + 1 + path->hops);
  return route;
}

/// The route from here to a node of the file of --from; nothing if no node or several nodes have the GUID.
std::optional<std::vector<std::uint8_t>> stored_route(Host& host, Guid guid) {
  const subnet::Subnet whole = host.stored().read_fabric(&host.end_port()).subnet;
  const subnet::NodeIndex node = subnet::only_node(whole, guid);
  if (node == subnet::none) return std::nullopt;
  std::array<std::uint8_t, 64> route{};
  const unsigned hops = subnet::route_to(whole, node, route);
  return std::vector<std::uint8_t>(route.begin() + 1, route.begin() + 1 + hops);
}

/// Throws snapshot::Outdated if another node is now where a stored fabric has `target`, or if it has no such node.
async::Task<> check_target(Stack& stack, const subnet::SweptSubnet& swept, const path::Path& target) {
  const subnet::Subnet& subnet = swept.subnet;
  const subnet::FoundPort found = subnet::find_port(swept, target);
  if (!found) throw snapshot::Outdated(found.missing);
  const std::optional<path::Path> by_lid = subnet::lid_path(subnet, found.port, stack.here(), Qpn{0});
  const path::Path path = by_lid ? *by_lid : subnet::smp_path(subnet, subnet.port(found.port).node, stack.here());
  const mad::Result<smp::NodeInfo> answer = co_await stack.smp_transactor().try_subn_get<smp::NodeInfo>(path);
  static_cast<void>(answer);  // the layer of the cache compares it
}

bool concerns(const subnet::Subnet& subnet, const subnet::Failure& failure, subnet::NodeIndex node) {
  const auto ports = subnet.ports_of(subnet.node(node));
  return failure.node == node || std::any_of(ports.begin(), ports.end(), [&](const subnet::Port& port) {
           return port.peer != subnet::none && subnet.port(port.peer).node == failure.node && !failure.beyond;
         });
}

void add_mode(OptionSet& set, DiscoveryOptions& options) {
  set.choice("--discovery", options.mode, {"LID", "DR", "SA"}, "How the subnet is discovered.");
}

void add_fdr10(OptionSet& set, DiscoveryOptions& options) {
  set.flag("--fdr10", options.fdr10, "Query Mellanox devices whether a link at QDR is one at FDR10.");
}

/// Prints the failures of `met` that the fabric does not have, and returns them.
subnet::Failures print_new(const Host& host, const Fabric& fabric, subnet::Failures met) {
  std::set<FailureKey> known;
  for (const subnet::Failure& failure : fabric.failures) known.insert(key_of(failure));
  std::erase_if(met, [&known](const subnet::Failure& failure) { return known.contains(key_of(failure)); });
  print_failures(host, fabric.subnet, met);
  return met;
}

void add_matches(const Fabric& fabric, const TargetPort& pattern, std::vector<ChosenNode>& to) {
  const NameWord word(pattern.target.text());
  const std::size_t before = to.size();
  for (const subnet::NodeIndex node : subnet::breadth_first(fabric.subnet)) {
    const std::string name(subnet::name_of(fabric.subnet.node(node), &fabric.names));
    const bool fits = word.match(name) != NameMatch::none || word.match(fabric.subnet.node(node).description()) != NameMatch::none;
    if (fits) to.push_back({node, name, pattern.port});
  }
  if (to.size() == before) throw UsageError(fmt::format("no node's name fits {}", in_quotes(pattern.target.text())));
}

/// The node at which the sweep `part` began, in `whole`, or none. Of twins of a GUID the one with its LID.
subnet::NodeIndex same_node(const subnet::Subnet& whole, const subnet::Subnet& part) {
  const Guid guid = part.node_of(part.start).guid();
  const Lid lid = part.lid(part.start);
  const subnet::PortIndex at = lid.is_unicast() ? whole.find_lid(lid) : subnet::none;
  return at != subnet::none && whole.node_of(at).guid() == guid ? whole.port(at).node : whole.find_node(guid);
}

}  // namespace

bool is_cut_off(const subnet::SweptSubnet& swept) {
  const subnet::Subnet& subnet = swept.subnet;
  if (subnet.start == subnet::none) return false;
  const auto linked = [](const subnet::Port& port) { return port.peer != subnet::none; };
  const subnet::Node& node = subnet.node(subnet.port(subnet.start).node);
  return std::ranges::none_of(subnet.ports_of(node), linked) && std::ranges::any_of(swept.failures, &subnet::Failure::beyond);
}

void add_live_discovery(OptionSet& set, DiscoveryOptions& options) {
  add_mode(set, options);
  add_fdr10(set, options);
}

async::Task<> check_meant_node(Stack& stack, const Target& target, const subnet::Subnet& subnet, subnet::NodeIndex node) {
  const Destination at = co_await stack.manners().smp_node(target);
  mad::Result<smp::NodeInfo> info = co_await subnet::check_set_target(stack.smp_transactor(), at.path);
  const Guid found = std::move(info).take().node_guid;
  if (found != subnet.node(node).guid())
    throw Error(fmt::format("{} is at {}, and {} was found there before: nothing was set", to_text(found), mad::target_text(at.path),
                            to_text(subnet.node(node).guid())));
}

void add_discovery(OptionSet& set, DiscoveryOptions& options) {
  add_mode(set, options);
  set.text("--load-cache", options.load_cache, "FILE", "Read nodes and links from this file of a fabric.");
  set.one_of({"--discovery", "--load-cache"});
  set.text("--cache", options.cache, "FILE", "Keep what is read in this snapshot, and take from it what it has already.");
  set.flag("--refresh-cache", options.refresh_cache, "Read all again, whatever the file of --cache has.");
  set.value("--cache-age", "TIME", "Read all again where the file is older: 30m, 12h or 7d; the default is 1d.",
            [&options](std::string_view text) { options.cache_age = parse_age(text); });
  options.has_cache = true;
  set.one_of({"--load-cache", "--cache"});
  set.stored_fabric(options.load_cache);
  add_fdr10(set, options);
  set.known_fabric(options.load_cache);
  set.known_fabric({[&options](const World& world, const sys::EndPort& port) { return cache_file(options, world, port); }});
}

async::Task<> discover(Session& session, const DiscoveryOptions& options, Fabric& fabric) {
  co_await read_whole(session, options, fabric);
  if (!options.silent) print_failures(session.host(), fabric.subnet, fabric.failures);
}

async::Task<> prepare_cache(Session& session, const DiscoveryOptions& options) {
  if (!has_cache(session.host(), options)) co_return;
  Fabric fabric;
  co_await discover(session, options, fabric);
}

async::Task<> discover_from(Session& session, const DiscoveryOptions& options, path::Path start, unsigned radius, Fabric& fabric,
                            std::optional<subnet::KnownNode> known) {
  fabric.names = session.manners().node_name_map();
  FabricWanted wanted;
  wanted.start = std::move(start);
  wanted.known = known;
  wanted.radius = radius;
  co_await read_fabric(session, options, source_of(session, options), std::move(wanted), fabric);
}

async::Task<subnet::NodeIndex> discover_around(Session& session, const DiscoveryOptions& options, const Target& target, Fabric& fabric,
                                               bool neighbours) {
  fabric.names = session.manners().node_name_map();
  const FabricSource source = source_of(session, options);
  const auto keep_part = [&fabric](subnet::SweptSubnet whole, subnet::NodeIndex node) {
    std::erase_if(whole.failures, [&](const subnet::Failure& f) { return !concerns(whole.subnet, f, node); });
    static_cast<subnet::SweptSubnet&>(fabric) = std::move(whole);
  };
  std::unique_ptr<subnet::SweptSubnet> known;
  if (has_cache(session.host(), options)) {
    Fabric whole;
    co_await read_whole(session, options, whole);
    if (session.stack().uses_cache() && target.path) co_await check_target(session.stack(), whole, *target.path);
    known = std::make_unique<subnet::SweptSubnet>(std::move(whole));
  } else if (target.path && reads_nodes(source) && !options.fdr10 && !options.through) {
    known = session.targets().take_swept();
  }
  if (known) {
    const subnet::PortIndex port = target.path ? subnet::get_port(*known, *target.path) : known->subnet.start;
    const subnet::NodeIndex node = known->subnet.port(port).node;
    keep_part(std::move(*known), node);
    if (!options.silent) print_failures(session.host(), fabric.subnet, fabric.failures);
    co_return node;
  }
  FabricWanted wanted;
  wanted.around = target;
  wanted.radius = 1;
  wanted.alone = !neighbours;
  co_await read_fabric(session, options, source, wanted, fabric);
  fabric.route_to_start = route_to(target);
  const Guid start = fabric.subnet.node(fabric.subnet.port(fabric.subnet.start).node).guid();
  if (!fabric.route_to_start && session.host().options().from) fabric.route_to_start = stored_route(session.host(), start);
  subnet::NodeIndex node = fabric.subnet.port(fabric.subnet.start).node;
  const bool by_lid = !target.path || target.path->directed() == nullptr;
  const bool forwards = fabric.subnet.node(node).kind() == subnet::NodeKind::sw;
  if (by_lid && forwards && reads_nodes(source) && is_cut_off(fabric)) {
    if (session.host().options().error_level() >= 1)
      session.host().log().debug("Directed routes that start at a LID are not answered: sweeping the fabric for the node.");
    Fabric whole;
    FabricWanted all;
    co_await read_fabric(session, options, source, all, whole);
    const subnet::NodeIndex found = same_node(whole.subnet, fabric.subnet);
    if (found != subnet::none) {
      node = found;
      fabric.route_to_start.emplace();
      keep_part(std::move(whole), node);
    }
  }
  if (!options.silent) print_failures(session.host(), fabric.subnet, fabric.failures);
  co_return node;
}

void note_discovered(const Host& host, std::string_view what) {
  if (host.options().error_level() >= 1) host.log().debug(fmt::format("Discovered: '{}'", what));
}

subnet::Failure port_failure(const subnet::Subnet& subnet, subnet::PortIndex port, const std::shared_ptr<const mad::MadError>& error) {
  const unsigned number = subnet.port(port).number;
  return {.kind = subnet::kind_of(*error),
          .node = subnet.port(port).node,
          .port = static_cast<int>(number),
          .attribute = "PortInfo",
          .modifier = number,
          .why = error->message(),
          .error = error};
}

void require_read(bool any_read, const std::vector<subnet::Failure>& failures) {
  const bool only_unread = std::ranges::none_of(failures, [](const subnet::Failure& failure) { return cause_of(failure).empty(); });
  if (!any_read && !failures.empty() && only_unread) throw Error(cause_of(failures.front()));
}

void add_failures(const Host& host, Fabric& fabric, subnet::Failures met) {
  std::ranges::move(print_new(host, fabric, std::move(met)), std::back_inserter(fabric.failures));
}

void FabricReport::add_failures(const Host& host, subnet::Failures met) {
  std::ranges::move(print_new(host, fabric, std::move(met)), std::back_inserter(failures));
}

std::vector<ChosenNode> chosen_nodes(const Fabric& fabric, const std::vector<TargetPort>& targets) {
  std::vector<ChosenNode> chosen;
  if (targets.empty()) {
    for (const subnet::NodeIndex node : subnet::breadth_first(fabric.subnet)) chosen.push_back({node});
  }
  for (const TargetPort& one : targets) {
    if (one.target.path) {
      chosen.push_back({fabric.subnet.port(subnet::get_port(fabric, *one.target.path)).node, one.target.text(), one.port});
    } else {
      add_matches(fabric, one, chosen);
    }
  }
  return chosen;
}

}  // namespace ib::tools
