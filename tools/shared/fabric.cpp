// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Discovery for commands: the mode, the progress line on a terminal, and afterwards the errors. The errors are sorted, so that the output
// for a fabric with dead parts is always the same.
#include "tools/shared/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "iba/text.hpp"
#include "mad/error.hpp"
#include "mad/transactor.hpp"
#include "sa/transactor.hpp"
#include "snapshot/cache.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/diff/counterparts.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/model/name_search.hpp"
#include "subnet/model/names.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"
#include "subnet/set/set_target.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/target.hpp"
#include "tools/frame/targets.hpp"
#include "tools/frame/world.hpp"

namespace ib::tools {
namespace {

/// The part of a fabric that a command requests.
struct FabricWanted : subnet::DiscoverOptions {
  Target around{};                    ///< the first node; the node of this host if empty
  std::optional<path::Path> start{};  ///< the path to the first node, if it is known already

  bool is_whole() const { return !start && !around.given() && radius == ~0U; }
};

enum class FabricSource : std::uint8_t {
  lid,       ///< a sweep by LIDs
  directed,  ///< a sweep by directed routes
  snapshot,  ///< of --from: the whole is read at once, a part by a sweep whose requests the snapshot answers
  sa,
  file,  ///< of --load-cache, or of --from where that is not a snapshot
};
/// Whether requests go to the switches themselves: a directed route from a LID may stay unanswered then (discover_around()).
constexpr bool reads_nodes(FabricSource source) { return source <= FabricSource::snapshot; }
/// Throws UsageError for --sa with another mode.
FabricSource source_of(Session& session, const DiscoveryOptions& options) {
  Host& host = session.host();
  if (options.load_cache) return FabricSource::file;
  const bool use_sa = host.options().use_sa;
  if (use_sa && options.mode && options.mode != "SA")
    throw UsageError(fmt::format("Can't combine --sa with discovery mode '{}'", *options.mode));
  if (use_sa || options.mode == "SA") {
    session.stack().read_from_sa();
    return FabricSource::sa;
  }
  if (host.options().from) return host.stored().format().empty() ? FabricSource::snapshot : FabricSource::file;
  const sys::EndPort& port = host.end_port();
  const bool by_lid = options.mode ? options.mode == "LID" : port.is_active() && port.lid.is_unicast();
  return by_lid ? FabricSource::lid : FabricSource::directed;
}

bool is_verbose(const Host& host, const DiscoveryOptions& options) { return !options.silent && host.options().error_level() >= 1; }

/// SMPs to the nodes.
async::Task<subnet::DiscoverStats> sweep_fabric(Session& session, const DiscoveryOptions& options, FabricSource source, FabricWanted wanted,
                                                Fabric& into) {
  Stack& stack = session.stack();
  if (wanted.is_whole() && !options.fdr10 && !options.through) {
    if (const std::unique_ptr<subnet::SweptSubnet> swept = session.targets().take_swept()) {
      static_cast<subnet::SweptSubnet&>(into) = std::move(*swept);
      forget_unwanted(into, options.needs, false);
      co_return subnet::DiscoverStats{};
    }
  }
  wanted.routing = source == FabricSource::lid ? subnet::Routing::lid : subnet::Routing::directed;
  wanted.mlnx_extended_port_info = options.fdr10;
  if (is_verbose(session.host(), options)) wanted.notice = [&log = session.host().log()](std::string_view line) { log.debug(line); };
  path::Path start = path::IbDrPath(&session.host().end_port());
  if (options.retries) start.ib().retries = *options.retries;
  stack.apply_options(start);
  if (wanted.start) {
    start = *wanted.start;
  } else if (wanted.around.given()) {
    const Destination node = co_await session.manners().smp_node(wanted.around);
    start = node.path;
  }
  const bool is_own_node = stays_here(start) && (wanted.alone || wanted.around.given());
  if (!is_own_node) stack.require_link();
  mad::Transactor& lowest = stack.lowest_transactor();
  mad::Transactor& sends = options.through ? options.through(lowest) : lowest;
  subnet::Discovered discovered = co_await subnet::discover(sends, into.subnet, start, std::move(wanted));
  into.failures = std::move(discovered.failures);
  co_return discovered.stats;
}

/// The tables of subnet administration.
async::Task<subnet::DiscoverStats> read_sa_tables(Session& session, FabricWanted wanted, Fabric& into) {
  Stack& stack = session.stack();
  std::vector<sa::NodeRecord> nodes = session.targets().node_records();
  std::optional<Lid> start;
  stack.require_sa();
  co_await stack.prepare_sa();
  if (wanted.around.given()) {
    const Destination node = co_await session.manners().smp_node(wanted.around);
    sa::SaTransactor links(stack.transactor());
    const mad::Result<Lid> lid = co_await links.find_lid(node.path);
    if (!lid) lid.error().raise();
    start = *lid;
  }
  subnet::Discovered discovered =
      co_await subnet::discover_from_sa(stack.transactor(), into.subnet, std::move(wanted), start, std::move(nodes));
  into.failures = std::move(discovered.failures);
  co_return discovered.stats;
}

/// With FabricWanted::around the model begins at that port.
void read_fabric_file(Host& host, const DiscoveryOptions& options, const FabricWanted& wanted, Fabric& into) {
  const std::string file = options.load_cache ? *options.load_cache : host.stored().file();
  if (is_verbose(host, options)) host.log().debug(fmt::format("Loading discovery cache from {}", in_quotes(file)));
  if (options.load_cache) {
    load_fabric(file, into);
  } else {  // which answers requests from the same file later
    static_cast<subnet::SweptSubnet&>(into) = host.stored().read_fabric(&host.end_port());
    into.stored = host.stored().netdisc();
  }
  const path::Path* const start = wanted.start ? &*wanted.start : wanted.around.path ? &*wanted.around.path : nullptr;
  if (start != nullptr) into.subnet.start = subnet::get_port(into, *start);
}

/// Replaces the model in `into` by the fabric, as far as the source knows it; the source may read more than what is wanted. Missing parts
/// are failures in `into`. Throws if nothing can be read: CannotLoad for a file.
async::Task<> read_fabric(Session& session, const DiscoveryOptions& options, FabricSource source, FabricWanted wanted, Fabric& into) {
  Host& host = session.host();
  constexpr std::string_view modes[] = {"LID", "DR", "", "SA", ""};  // by FabricSource
  const std::string_view mode = modes[static_cast<std::size_t>(source)];
  if (is_verbose(host, options) && !mode.empty()) host.log().debug(fmt::format("Performing discovery using mode '{}'", mode));
  wanted.needs = options.needs;
  wanted.progress = [&stack = session.stack()](std::size_t nodes) { stack.progress().count(nodes, "nodes"); };
  subnet::DiscoverStats stats;
  if (source == FabricSource::file) {
    read_fabric_file(host, options, wanted, into);
  } else if (source == FabricSource::sa) {
    stats = co_await read_sa_tables(session, std::move(wanted), into);
  } else if (source == FabricSource::snapshot && wanted.is_whole()) {
    static_cast<subnet::SweptSubnet&>(into) = host.stored().read_fabric(&host.end_port());
    forget_unwanted(into, options.needs, options.fdr10);
  } else {
    stats = co_await sweep_fabric(session, options, source, std::move(wanted), into);
  }
  session.stack().count_plan(stats);
}

/// The file of --cache or IBTOOL_CACHE. Nothing where the fabric comes from another file. Throws UsageError for options without effect.
std::optional<std::string> cache_file(Host& host, const DiscoveryOptions& options) {
  const std::string_view file = options.load_cache ? "--load-cache" : host.options().from ? "--from" : "";
  const bool has_option = options.has_cache && options.cache;
  const std::string_view given = options.refresh_cache ? "--refresh-cache"
                                 : options.cache_age   ? "--cache-age"
                                 : has_option          ? "--cache"
                                                       : "";
  if (!file.empty() && !given.empty()) throw UsageError(fmt::format("{} and {} exclude each other", given, file));
  if (!file.empty() || !options.has_cache) return std::nullopt;
  if (options.cache || host.world().cache) return cache_file(options, host.world(), host.end_port());
  if (!given.empty()) throw UsageError(fmt::format("{} goes with --cache or IBTOOL_CACHE", given));
  return std::nullopt;
}

/// Takes the fabric from the cache `file`, if it may be used: fills `into`, and lets the stack use the file. Prints a warning with the time
/// of the fabric. False if the fabric is not taken from it; `file` is empty then if no cache may be stored there. Throws UsageError for a
/// file that is not a snapshot.
async::Task<bool> load_cache(Stack& stack, const DiscoveryOptions& options, std::optional<std::string>& file, subnet::SweptSubnet& into) {
  Host& host = stack.host();
  try {
    if (!snapshot::has_cache_file(*file)) co_return false;
  } catch (const UsageError&) {
    throw;
  } catch (const Error& error) {
    host.log().warning(fmt::format("{}: it is not used as a cache", error.message()));
    file.reset();
  }
  if (!file) co_return false;
  snapshot::CacheTerms terms{.port = host.end_port(), .now = stack.loop().clock().wall_time(), .start = stack.here()};
  terms.age = options.cache_age.value_or(terms.age);
  terms.keys = host.options().keys;
  terms.fdr10 = options.fdr10;
  terms.refresh = options.refresh_cache || host.world().refresh_cache;
  if (!host.options().use_sa && options.mode != "SA") terms.smps = [&stack]() -> mad::Transactor& { return stack.lowest_transactor(); };
  snapshot::CachedFabric cache = co_await snapshot::read_cache(*file, terms);
  if (!cache.why_unfit.empty()) {
    if (!cache.why_kept.empty()) {
      host.log().warning(cache.why_kept);
      file.reset();
      co_return false;
    }
    if (cache.is_damaged) host.log().warning(fmt::format("{}; the fabric is read again", cache.why_unfit));
    host.detail(fmt::format("Reading the fabric again: {} is not used, {}", in_quotes(*file), cache.why_unfit));
    co_return false;
  }
  host.log().warning(fmt::format("fabric as of {}, from {}", time_of(*cache.snapshot), escaped(*file)));
  if (stack.is_port_down()) host.log().warning(stack.down_text());
  stack.open_cache(*file).use(std::move(cache.snapshot));
  into = std::move(cache.fabric);
  forget_unwanted(into, options.needs, options.fdr10);
  co_return true;
}

/// Reads the whole fabric, or takes it from the file of --cache.
async::Task<Fabric> read_whole(Session& session, const DiscoveryOptions& options) {
  Fabric fabric;
  fabric.names = session.manners().node_name_map();
  std::optional<std::string> cache = cache_file(session.host(), options);
  if (cache) {
    const bool is_loaded = co_await load_cache(session.stack(), options, cache, fabric);
    if (is_loaded) co_return fabric;
  }
  FabricWanted wanted;
  wanted.radius = options.radius;
  DiscoveryOptions how = options;
  if (cache) {  // what is kept serves other commands too
    how.needs = {};
    wanted.radius = ~0U;
  }
  co_await read_fabric(session, how, source_of(session, options), std::move(wanted), fabric);
  if (cache) {
    session.stack().open_cache(*cache).begin(fabric, options.fdr10);
    forget_unwanted(fabric, options.needs, options.fdr10);
  }
  co_return fabric;
}

/// The route to a node that is named by a route from here.
std::optional<std::vector<std::uint8_t>> route_to(const Target& target) {
  if (!target.given()) return std::vector<std::uint8_t>();
  const path::IbDrPath* const path = target.path ? target.path->directed() : nullptr;
  if (path == nullptr || path->dr_slid != permissive_lid) return std::nullopt;
  return std::vector<std::uint8_t>(path->route.begin() + 1, path->route.begin() + 1 + path->hops);
}

/// The route from here to a node of the file of --from; nothing if no node or several nodes have the GUID.
std::optional<std::vector<std::uint8_t>> stored_route(Host& host, Guid guid) {
  const subnet::Subnet whole = host.stored().read_fabric(&host.end_port()).subnet;
  const subnet::NodeIndex node = subnet::only_node(whole, guid);
  if (node == subnet::none) return std::nullopt;
  return subnet::route_ports(whole, node);
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

/// A length of time: "90s", "30m", "12h", "7d". Throws OptionError.
std::chrono::seconds parse_age(std::string_view text) {
  constexpr std::uint64_t minute = 60, hour = 60 * minute, day = 24 * hour, longest = 36500 * day;
  std::uint64_t count = 0, unit = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (code == std::errc() && end + 1 == text.data() + text.size())
    unit = *end == 's' ? 1 : *end == 'm' ? minute : *end == 'h' ? hour : *end == 'd' ? day : 0;
  if (unit == 0 || count > longest / unit)
    throw OptionError(fmt::format("--cache-age: {} is no time such as 30m, 12h or 7d (at most 36500d)", in_quotes(text)));
  return std::chrono::seconds(count * unit);
}

void add_mode(OptionSet& set, DiscoveryOptions& options) {
  set.choice("--discovery", options.mode, {"LID", "DR", "SA"}, "How the subnet is discovered.");
}

void add_fdr10(OptionSet& set, DiscoveryOptions& options) {
  set.flag("--fdr10", options.fdr10, "Query Mellanox devices whether a link at QDR is one at FDR10.");
}

}  // namespace

std::optional<std::string> cache_file(const DiscoveryOptions& options, const World& world, const sys::EndPort& port) {
  const std::optional<std::string>& given = options.cache ? options.cache : world.cache;
  if (!options.has_cache || !given) return std::nullopt;
  const std::string number = std::to_string(port.number);
  const std::pair<std::string_view, std::string> words[] = {{"${PORT}", number},
                                                            {"${CA}", port.device->name},
                                                            {"$C", port.device->name},
                                                            {"$P", number},
                                                            {"$A", fmt::format("{}-{}", port.device->name, number)}};
  std::string file = *given;
  for (const auto& [word, value] : words) {
    for (std::size_t at = file.find(word); at != std::string::npos; at = file.find(word, at + value.size()))
      file.replace(at, word.size(), value);
  }
  return file;
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

async::Task<Fabric> discover(Session& session, const DiscoveryOptions& options) {
  Fabric fabric = co_await read_whole(session, options);
  if (!options.silent) print_failures(session.host(), fabric.subnet, fabric.failures);
  co_return fabric;
}

async::Task<> prepare_cache(Session& session, const DiscoveryOptions& options) {
  if (cache_file(session.host(), options)) std::ignore = co_await discover(session, options);
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
  NodeIndex node = subnet::none;
  std::unique_ptr<subnet::SweptSubnet> whole;  // of which a part is kept
  if (cache_file(session.host(), options)) {
    Fabric stored = co_await read_whole(session, options);
    if (session.stack().uses_cache() && target.path) co_await check_target(session.stack(), stored, *target.path);
    whole = std::make_unique<subnet::SweptSubnet>(std::move(stored));
  } else if (target.path && reads_nodes(source) && !options.fdr10 && !options.through) {
    whole = session.targets().take_swept();
  }
  if (whole) {
    node = whole->subnet.port(target.path ? subnet::get_port(*whole, *target.path) : whole->subnet.start).node;
  } else {
    FabricWanted wanted;
    wanted.around = target;
    wanted.radius = 1;
    wanted.alone = !neighbours;
    co_await read_fabric(session, options, source, wanted, fabric);
    node = fabric.subnet.port(fabric.subnet.start).node;
    fabric.route_to_start = route_to(target);
    if (!fabric.route_to_start && session.host().options().from)
      fabric.route_to_start = stored_route(session.host(), fabric.subnet.node(node).guid());
    const bool by_lid = !target.path || target.path->directed() == nullptr;
    const bool forwards = fabric.subnet.node(node).kind() == subnet::NodeKind::sw;
    if (by_lid && forwards && reads_nodes(source) && is_cut_off(fabric)) {
      session.host().detail("Directed routes that start at a LID are not answered: sweeping the fabric for the node.");
      Fabric swept;
      const FabricWanted all;
      co_await read_fabric(session, options, source, all, swept);
      if (const NodeIndex found = subnet::same_start(swept.subnet, fabric.subnet); found != subnet::none) {
        node = found;
        fabric.route_to_start.emplace();
        whole = std::make_unique<subnet::SweptSubnet>(std::move(swept));
      }
    }
  }
  if (whole) {
    std::erase_if(whole->failures, [&](const subnet::Failure& failure) { return !concerns(whole->subnet, failure, node); });
    static_cast<subnet::SweptSubnet&>(fabric) = std::move(*whole);
  }
  if (!options.silent) print_failures(session.host(), fabric.subnet, fabric.failures);
  co_return node;
}

subnet::SurveyOptions port_survey(Stack& stack, subnet::SurveyWay way) {
  subnet::SurveyOptions options(stack.here(), way);
  options.progress = [&stack](std::size_t done, std::size_t of) { stack.progress().count(done, of, "ports"); };
  return options;
}

subnet::SurveyOptions gmp_survey(Stack& stack, const subnet::PortPaths& paths) {
  subnet::SurveyOptions options = port_survey(stack, subnet::SurveyWay::gmp);
  options.paths = &paths;
  return options;
}

mad::Transactor* owner_transactor(Stack& stack) {
  if (stack.host().options().from) return nullptr;
  return stack.host().options().use_sa ? &stack.transactor() : &stack.lowest_transactor();
}

mad::Transactor* owner_transactor(Stack& stack, const std::optional<std::string>& load_cache) {
  return load_cache || stack.uses_cache() ? owner_transactor(stack) : nullptr;
}

void note_discovered(const Host& host, std::string_view what) { host.detail(fmt::format("Discovered: '{}'", what)); }

void require_read(bool any_read, const std::vector<subnet::Failure>& failures) {
  const bool only_unread = std::ranges::none_of(failures, [](const subnet::Failure& failure) { return cause_of(failure).empty(); });
  if (!any_read && !failures.empty() && only_unread) throw Error(cause_of(failures.front()));
}

void print_failures(const Host& host, const subnet::Subnet& subnet, const subnet::Failures& failures) {
  for (const auto& [line, error] : failure_lines(subnet, failures, host.options().error_level() >= 1)) {
    host.log().error(line);
    if (error) host.report(*error, false);
  }
}

void add_failures(const Host& host, const Fabric& fabric, subnet::Failures met, subnet::Failures& to) {
  remove_known(met, fabric.failures);
  print_failures(host, fabric.subnet, met);
  std::ranges::move(met, std::back_inserter(to));
}

void add_failures(const Host& host, Fabric& fabric, subnet::Failures met) { add_failures(host, fabric, std::move(met), fabric.failures); }

std::vector<ChosenNode> chosen_nodes(const Fabric& fabric, const std::vector<TargetPort>& targets) {
  std::vector<ChosenNode> chosen;
  const std::vector<subnet::NodeIndex> all = subnet::breadth_first(fabric.subnet);
  for (std::size_t at = 0; targets.empty() && at < all.size(); ++at) chosen.push_back({all[at]});
  for (const TargetPort& one : targets) {
    if (one.target.path) {
      chosen.push_back({fabric.subnet.port(subnet::get_port(fabric, *one.target.path)).node, one.target.text(), one.port});
      continue;
    }
    const subnet::NameWord word(one.target.text());
    const std::size_t before = chosen.size();
    for (const subnet::NodeIndex at : all) {
      const subnet::Node& node = fabric.subnet.node(at);
      const subnet::NameMatch match = word.match(node.guid(), node.description(), fabric.names);
      if (match != subnet::NameMatch::no_match) chosen.push_back({at, std::string(subnet::name_of(node, &fabric.names)), one.port});
    }
    if (chosen.size() == before) throw UsageError(fmt::format("no node's name fits {}", in_quotes(one.target.text())));
  }
  return chosen;
}

}  // namespace ib::tools
