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
#include "snapshot/snapshot.hpp"
#include "subnet/failures.hpp"
#include "subnet/find_port.hpp"
#include "subnet/port_paths.hpp"
#include "subnet/set_target.hpp"
#include "tools/shared/cache.hpp"
#include "tools/shared/stored_fabric.hpp"

namespace ib::tools {
namespace {

std::string node_text(const subnet::Subnet& subnet, subnet::NodeIndex at) {
  const subnet::Node& node = subnet.node(at);
  std::string text = to_text(node.guid());
  if (node.has_description) text += ' ' + in_quotes(node.description());
  return text;
}

/// Port numbers as ranges: "1-8, 12".
class Ranges {
 public:
  void add(unsigned number) {
    if (!text_.empty() && number == last_ + 1) {
      last_ = number;
      return;
    }
    close();
    text_ += (text_.empty() ? "" : ", ") + std::to_string(number);
    first_ = last_ = number;
    ++runs_;
  }
  std::string text() {
    close();
    return (runs_ > 1 || last_ != first_ ? "ports " : "port ") + text_;
  }

 private:
  void close() {
    if (last_ != first_) text_ += '-' + std::to_string(last_);
    first_ = last_;
  }
  std::string text_;
  unsigned first_{}, last_{}, runs_{};
};

std::string sentence(const subnet::Subnet& subnet, const subnet::Failure& failure, Ranges& ports) {
  using Kind = subnet::Failure::Kind;
  if (failure.node == subnet::none) return failure.why;
  const std::string who = node_text(subnet, failure.node);
  if (failure.beyond) {
    const std::string where = fmt::format("port {} of {}", failure.port, who);
    if (failure.kind == Kind::no_answer) return fmt::format("No answer from beyond {}.", where);
    if (failure.kind == Kind::refused) return fmt::format("The node beyond {} does not say what it is.", where);
    if (failure.kind == Kind::no_record) return fmt::format("The SA does not know what is beyond {}.", where);
    return fmt::format("Beyond {}: {}", where, failure.why);
  }
  const std::string what =
      failure.port >= 0 && failure.attribute != "NodeInfo" ? failure.attribute + " of " + ports.text() : failure.attribute;
  const auto* error = dynamic_cast<const mad::MadError*>(failure.error.get());
  const bool was_set =
      error != nullptr && error->request().size() >= mad::header_size && mad::HeaderView(error->request()).method() == mad::method::set;
  if (failure.attribute.empty()) return fmt::format("{}: {}", who, failure.why);  // no request could be sent
  switch (failure.kind) {
    case Kind::no_answer:
      if (failure.attribute == "NodeInfo") return fmt::format("{}: {}", who, failure.why);  // it answered at first and is silent now
      return fmt::format("No answer from {} about {}.", who, what);
    case Kind::refused:
      return fmt::format("{} refuses to {} its {}.", who, was_set ? "set" : "tell", what);
    case Kind::no_record:
      return fmt::format("The SA has no {} of {}.", what, who);
    default:
      return fmt::format("{}: {}", who, failure.why);
  }
}

/// The key by which two failures of one request are recognised, for instance in the sweep and afterwards.
using FailureKey = std::tuple<subnet::NodeIndex, bool, subnet::Failure::Kind, std::string, std::uint32_t>;
FailureKey key_of(const subnet::Failure& failure) {
  return {failure.node, failure.beyond, failure.kind, failure.attribute, failure.modifier};
}

bool alike(const subnet::Failure& a, const subnet::Failure& b) {
  const bool same_cause = (a.error && b.error) || a.kind == subnet::Failure::Kind::no_record;
  return same_cause && !a.beyond && !b.beyond && a.node == b.node && a.kind == b.kind && a.attribute == b.attribute && a.why == b.why;
}

/// Reads the source once. The model lists everything that was not read.
async::Task<> read_fabric(Session& session, const DiscoveryOptions& options, FabricSource& source, FabricWanted wanted, Fabric& fabric) {
  wanted.needs = options.needs;
  const bool is_verbose = !options.silent && session.options().error_level() >= 1;
  if (is_verbose && !source.name().empty()) session.log().debug(fmt::format("Performing discovery using mode '{}'", source.name()));
  wanted.progress = [&session](std::size_t nodes) { session.progress().count(nodes, "nodes"); };
  if (is_verbose) wanted.notice = [&log = session.log()](std::string_view line) { log.debug(line); };
  const subnet::DiscoverStats stats = co_await source.read(std::move(wanted), fabric);
  session.count_plan(stats);
  fabric.stored = source.stored();
}

/// The reason why a request was not sent, without the node; empty for another kind of failure.
std::string cause_of(const subnet::Failure& failure) {
  const auto* error = dynamic_cast<const mad::NotRead*>(failure.error.get());
  return error != nullptr ? error->cause() : "";
}

/// Prints one line for all attributes that were not read for one reason, whatever the number of nodes is.
void print_unread(Log& log, const std::vector<subnet::Failure>& failures) {
  std::vector<std::pair<std::string, std::vector<const subnet::Failure*>>> causes;
  for (const subnet::Failure& failure : failures) {
    std::string cause = cause_of(failure);
    if (cause.empty()) continue;
    auto known = std::ranges::find(causes, cause, &decltype(causes)::value_type::first);
    if (known == causes.end()) known = causes.insert(causes.end(), {std::move(cause), {}});
    known->second.push_back(&failure);
  }
  for (const auto& [cause, of] : causes) log.error(of.size() == 1 && of.front()->node != subnet::none ? of.front()->why : cause);
}

/// Similar failures share a line.
void print_failures(const Session& session, const subnet::Subnet& subnet, const std::vector<subnet::Failure>& failures) {
  print_unread(session.log(), failures);
  for (std::size_t at = 0; at < failures.size();) {
    const subnet::Failure& failure = failures[at];
    if (!cause_of(failure).empty()) {
      ++at;
      continue;
    }
    Ranges ports;
    std::size_t end = at;
    do {
      if (failures[end].port >= 0) ports.add(static_cast<unsigned>(failures[end].port));
      ++end;
    } while (end < failures.size() && alike(failure, failures[end]));
    session.log().error(sentence(subnet, failure, ports));
    if (failure.error) print_error(session.log(), *failure.error, session.options().error_level(), session.options().keys, false);
    at = end;
  }
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

/// The route from here to a node of the snapshot of --from; nothing if no node or several nodes have the GUID.
std::optional<std::vector<std::uint8_t>> stored_route(Session& session, Guid guid) {
  const subnet::Subnet whole = session.snapshot().read_fabric(&session.end_port()).subnet;
  const subnet::NodeIndex node = whole.find_node(guid);
  if (node == subnet::none || whole.node(node).twin != subnet::none) return std::nullopt;
  std::array<std::uint8_t, 64> route{};
  const unsigned hops = subnet::route_to(whole, node, route);
  return std::vector<std::uint8_t>(route.begin() + 1, route.begin() + 1 + hops);
}

/// Prints what did not answer.
void report_outcome(const Session& session, const DiscoveryOptions& options, const Fabric& fabric) {
  if (!options.silent) print_failures(session, fabric.subnet, fabric.failures);
}

/// Reads the whole fabric, or takes it from the file of --cache.
async::Task<> read_whole(Session& session, const DiscoveryOptions& options, Fabric& fabric) {
  fabric.names = session.node_name_map();
  const CacheUse cache = co_await load_cache(session, options, fabric);
  if (cache.is_loaded) co_return;
  const std::unique_ptr<FabricSource> source = fabric_source(session, options);
  FabricWanted wanted;
  wanted.radius = options.radius;
  DiscoveryOptions how = options;
  if (cache.file) {  // what is kept serves other commands too
    how.needs = {};
    wanted.radius = ~0U;
  }
  co_await read_fabric(session, how, *source, wanted, fabric);
  if (cache.file) {
    session.begin_cache(*cache.file, fabric, options.fdr10);
    forget_unwanted(fabric, options.needs);
  }
}

/// Requests the NodeInfo of the node that a stored fabric has for `target`. Throws snapshot::Outdated if another node is there now, or if
/// the stored fabric has no such node.
async::Task<> check_target(Session& session, const subnet::SweptSubnet& swept, const path::Path& target) {
  const subnet::Subnet& subnet = swept.subnet;
  const subnet::FoundPort found = subnet::find_port(swept, target);
  if (!found) throw snapshot::Outdated(found.missing);
  const std::optional<path::Path> by_lid = subnet::lid_path(subnet, found.port, session.here(), Qpn{0});
  const path::Path path = by_lid ? *by_lid : subnet::smp_path(subnet, subnet.port(found.port).node, session.here());
  const mad::Result<smp::NodeInfo> told = co_await session.smp_transactor().try_subn_get<smp::NodeInfo>(path);
  static_cast<void>(told);  // the layer of the cache compares the answer
}

bool concerns(const subnet::Subnet& subnet, const subnet::Failure& failure, subnet::NodeIndex node) {
  const auto ports = subnet.ports_of(subnet.node(node));
  return failure.node == node || std::any_of(ports.begin(), ports.end(), [&](const subnet::Port& port) {
           return port.peer != subnet::none && subnet.port(port.peer).node == failure.node && !failure.beyond;
         });
}

}  // namespace

bool is_cut_off(const subnet::SweptSubnet& swept) {
  const subnet::Subnet& subnet = swept.subnet;
  if (subnet.start == subnet::none) return false;
  const auto linked = [](const subnet::Port& port) { return port.peer != subnet::none; };
  const subnet::Node& node = subnet.node(subnet.port(subnet.start).node);
  return std::ranges::none_of(subnet.ports_of(node), linked) && std::ranges::any_of(swept.failures, &subnet::Failure::beyond);
}

namespace {

void add_mode(OptionSet& set, DiscoveryOptions& options) {
  set.choice("--discovery", options.mode, {"LID", "DR", "SA"}, "How the subnet is discovered.");
}

void add_fdr10(OptionSet& set, DiscoveryOptions& options) {
  set.flag("--fdr10", options.fdr10, "Ask Mellanox devices whether a link at QDR is one at FDR10.");
}

}  // namespace

void add_live_discovery(OptionSet& set, DiscoveryOptions& options) {
  add_mode(set, options);
  add_fdr10(set, options);
}

async::Task<> check_meant_node(Session& session, const Target& target, const subnet::Subnet& subnet, subnet::NodeIndex node) {
  const Destination at = co_await session.smp_node(target);
  mad::Result<smp::NodeInfo> info = co_await subnet::check_set_target(session.smp_transactor(), at.path);
  const Guid found = std::move(info).take().node_guid;
  if (found != subnet.node(node).guid())
    throw Error(fmt::format("{} is at {}, and {} was found there before: nothing was set", to_text(found), at.name,
                            to_text(subnet.node(node).guid())));
}

void read_stored(const std::string& file, subnet::Subnet& subnet) {
  Fabric fabric;
  load_fabric(file, fabric);
  subnet = std::move(fabric.subnet);
}

void add_discovery(OptionSet& set, DiscoveryOptions& options) {
  add_mode(set, options);
  set.text("--load-cache", options.load_cache, "FILE", load_cache_help);
  set.one_of({"--discovery", "--load-cache"});
  set.text("--cache", options.cache, "FILE", "Keep what is read in this snapshot, and take from it what it has already.");
  set.flag("--refresh-cache", options.refresh_cache, "Read all anew, whatever the file of --cache has.");
  set.value("--cache-age", "TIME", "Read all anew where the file is older: 30m, 12h or 7d; the default is 1d.",
            [&options](std::string_view text) { options.cache_age = parse_age(text); });
  options.has_cache = true;
  set.one_of({"--load-cache", "--cache"});
  set.stored_fabric(options.load_cache, read_stored);
  add_fdr10(set, options);
  const auto given = [&options](const World&, const sys::EndPort&) { return options.load_cache; };
  const auto kept = [&options](const World& world, const sys::EndPort& port) { return cache_file(options, world, port); };
  set.known_fabric({given, read_stored});
  set.known_fabric({kept, read_stored});
}

async::Task<> discover(Session& session, const DiscoveryOptions& options, Fabric& fabric) {
  co_await read_whole(session, options, fabric);
  report_outcome(session, options, fabric);
}

async::Task<> prepare_cache(Session& session, const DiscoveryOptions& options) {
  if (!has_cache(session, options)) co_return;
  Fabric fabric;
  co_await discover(session, options, fabric);
}

async::Task<> discover_from(Session& session, const DiscoveryOptions& options, path::Path start, unsigned radius, Fabric& fabric,
                            std::optional<subnet::KnownNode> known) {
  fabric.names = session.node_name_map();
  const std::unique_ptr<FabricSource> source = fabric_source(session, options);
  FabricWanted wanted;
  wanted.start = std::move(start);
  wanted.known = known;
  wanted.radius = radius;
  co_await read_fabric(session, options, *source, wanted, fabric);
}

async::Task<subnet::NodeIndex> discover_around(Session& session, const DiscoveryOptions& options, const Target& target, Fabric& fabric,
                                               bool neighbours) {
  fabric.names = session.node_name_map();
  const std::unique_ptr<FabricSource> source = fabric_source(session, options);
  const auto keep_part = [&fabric](subnet::SweptSubnet whole, subnet::NodeIndex node) {
    std::erase_if(whole.failures, [&](const subnet::Failure& f) { return !concerns(whole.subnet, f, node); });
    static_cast<subnet::SweptSubnet&>(fabric) = std::move(whole);
  };
  std::unique_ptr<subnet::SweptSubnet> known;
  if (has_cache(session, options)) {
    Fabric whole;
    co_await read_whole(session, options, whole);
    if (session.uses_cache() && target.path) co_await check_target(session, whole, *target.path);
    known = std::make_unique<subnet::SweptSubnet>(std::move(whole));
  } else if (target.path && source->asks_nodes() && !options.fdr10) {
    known = session.take_swept();
  }
  if (known) {
    const subnet::PortIndex port = target.path ? subnet::get_port(*known, *target.path) : known->subnet.start;
    const subnet::NodeIndex node = known->subnet.port(port).node;
    keep_part(std::move(*known), node);
    report_outcome(session, options, fabric);
    co_return node;
  }
  FabricWanted wanted;
  wanted.around = target;
  wanted.radius = 1;
  wanted.alone = !neighbours;
  co_await read_fabric(session, options, *source, wanted, fabric);
  fabric.route_to_start = route_to(target);
  const Guid start = fabric.subnet.node(fabric.subnet.port(fabric.subnet.start).node).guid();
  if (!fabric.route_to_start && session.options().from) fabric.route_to_start = stored_route(session, start);
  subnet::NodeIndex node = fabric.subnet.port(fabric.subnet.start).node;
  const bool by_lid = !target.path || target.path->directed() == nullptr;
  const bool forwards = fabric.subnet.node(node).kind() == subnet::NodeKind::sw;
  if (by_lid && forwards && source->asks_nodes() && is_cut_off(fabric)) {
    const Guid guid = fabric.subnet.node(node).guid();
    if (session.options().error_level() >= 1)
      session.log().debug("Directed routes that start at a LID are not answered: sweeping the fabric for the node.");
    Fabric whole;
    FabricWanted all;
    co_await read_fabric(session, options, *source, all, whole);
    const subnet::NodeIndex found = whole.subnet.find_node(guid);
    if (found != subnet::none) {
      node = found;
      fabric.route_to_start.emplace();
      keep_part(std::move(whole), node);
    }
  }
  report_outcome(session, options, fabric);
  co_return node;
}

void note_discovered(const Session& session, std::string_view what) {
  if (session.options().error_level() >= 1) session.log().debug(fmt::format("Discovered: '{}'", what));
}

Error not_a_switch(path::Path path, const smp::NodeInfo& node) {
  path::IbPath& ib = path.ib();
  if (path.directed() == nullptr && !ib.dgid) ib.dgid = Gid::from(link_local_prefix, node.port_guid);
  return Error(fmt::format("Not a switch at {}", to_spec(path)));
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

namespace {

/// Prints those of `met` that the fabric does not have, and returns them.
subnet::Failures print_new(const Session& session, const Fabric& fabric, subnet::Failures met) {
  std::set<FailureKey> known;
  for (const subnet::Failure& failure : fabric.failures) known.insert(key_of(failure));
  std::erase_if(met, [&known](const subnet::Failure& failure) { return !failure.attribute.empty() && known.contains(key_of(failure)); });
  print_failures(session, fabric.subnet, met);
  return met;
}

}  // namespace

void add_failures(const Session& session, Fabric& fabric, subnet::Failures met) {
  std::ranges::move(print_new(session, fabric, std::move(met)), std::back_inserter(fabric.failures));
}

void FabricReport::add_failures(const Session& session, subnet::Failures met) {
  std::ranges::move(print_new(session, fabric, std::move(met)), std::back_inserter(failures));
}

}  // namespace ib::tools
