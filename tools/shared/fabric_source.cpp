// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/shared/fabric_source.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "mad/transactor.hpp"
#include "sa/transactor.hpp"
#include "snapshot/cache.hpp"
#include "snapshot/snapshot.hpp"
#include "snapshot/stored_fabric.hpp"
#include "subnet/model/find_port.hpp"
#include "subnet/sweep/discovery.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/progress.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/targets.hpp"
#include "tools/frame/world.hpp"

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

/// Removes from a complete model the failures of attributes that a command with these needs would not request.
void forget_unwanted(subnet::SweptSubnet& swept, const subnet::DiscoverNeeds& needs) {
  std::erase_if(swept.failures, [&](const subnet::Failure& failure) { return !is_wanted(swept.subnet, needs, failure); });
}

/// Removes the fields of MlnxExtPortInfo from a model, for a command that does not request this attribute.
void forget_fdr10(subnet::Subnet& subnet) {
  for (subnet::PortIndex at = 0; at < subnet.ports().size(); ++at) subnet.port(at).fdr10 = subnet.port(at).fdr10_supported = 0;
}

subnet::DiscoverOptions options_of(Stack& stack, const DiscoveryOptions& options, const FabricWanted& wanted) {
  subnet::DiscoverOptions how;
  how.radius = wanted.radius;
  how.alone = wanted.alone;
  how.needs = options.needs;
  how.progress = [&stack](std::size_t nodes) { stack.progress().count(nodes, "nodes"); };
  return how;
}

bool is_verbose(const Host& host, const DiscoveryOptions& options) { return !options.silent && host.options().error_level() >= 1; }

/// SMPs to the nodes.
async::Task<subnet::DiscoverStats> sweep_fabric(Session& session, const DiscoveryOptions& options, FabricSource source, FabricWanted wanted,
                                                Fabric& into) {
  Stack& stack = session.stack();
  if (wanted.is_whole() && !options.fdr10 && !options.through) {
    if (const std::unique_ptr<subnet::SweptSubnet> swept = session.targets().take_swept()) {
      static_cast<subnet::SweptSubnet&>(into) = std::move(*swept);
      forget_unwanted(into, options.needs);
      co_return subnet::DiscoverStats{};
    }
  }
  subnet::DiscoverOptions how = options_of(stack, options, wanted);
  how.routing = source == FabricSource::lid ? subnet::Routing::lid : subnet::Routing::directed;
  how.known = wanted.known;
  how.mlnx_extended_port_info = options.fdr10;
  if (is_verbose(session.host(), options)) how.notice = [&log = session.host().log()](std::string_view line) { log.debug(line); };
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
  subnet::Discovered discovered = co_await subnet::discover(sends, into.subnet, start, how);
  into.failures = std::move(discovered.failures);
  co_return discovered.stats;
}

/// The tables of subnet administration.
async::Task<subnet::DiscoverStats> read_sa_tables(Session& session, const DiscoveryOptions& options, FabricWanted wanted, Fabric& into) {
  Stack& stack = session.stack();
  const subnet::DiscoverOptions how = options_of(stack, options, wanted);
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
  subnet::Discovered discovered = co_await subnet::discover_from_sa(stack.transactor(), into.subnet, how, start, std::move(nodes));
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

constexpr std::chrono::seconds usual_age = std::chrono::hours(24);

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

enum class CacheState : std::uint8_t { absent, present, unusable };

/// A symbolic link, a file of another user, and a file that other users may write are not used and cause a warning. A file of root may be
/// used by all users.
CacheState state_of(Log& log, const std::string& file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) return CacheState::absent;
  const bool is_link = S_ISLNK(status.st_mode);
  if (!is_link && !S_ISREG(status.st_mode)) return CacheState::present;
  const bool is_foreign = status.st_uid != ::geteuid() && status.st_uid != 0;
  const std::string_view why = is_link                                       ? "is a symbolic link"
                               : (status.st_mode & (S_IWGRP | S_IWOTH)) != 0 ? "may be written by other users"
                               : is_foreign                                  ? "belongs to another user"
                                                                             : "";
  if (why.empty()) return status.st_size == 0 ? CacheState::absent : CacheState::present;
  log.warning(fmt::format("{} {}: it is not used as a cache", in_quotes(file), why));
  return CacheState::unusable;
}

/// Whether all nodes that did not answer when a stored fabric was read are still silent. With --sa no SMP is sent for this.
async::Task<bool> is_silent_as_then(Stack& stack, const DiscoveryOptions& options, const subnet::SweptSubnet& stored) {
  const auto is_silence = [](const subnet::Failure& failure) { return failure.kind == subnet::Failure::Kind::no_answer; };
  if (std::ranges::none_of(stored.failures, is_silence)) co_return true;
  if (stack.host().options().use_sa || options.mode == "SA") co_return false;
  const path::Path start = stack.here();
  const bool silent = co_await subnet::are_still_silent(stack.lowest_transactor(), stored.subnet, stored.failures, start);
  co_return silent;
}

/// Why the fabric is not taken from `file`; empty if it is: then `stored` has it. `cache` is the file, if it can be opened.
async::Task<std::string> why_read_anew(Stack& stack, const DiscoveryOptions& options, const std::string& file,
                                       std::unique_ptr<snapshot::Snapshot>& cache, subnet::SweptSubnet& stored) {
  const bool is_refresh = options.refresh_cache || stack.host().world().refresh_cache;
  try {
    cache = std::make_unique<snapshot::Snapshot>(file);
    if (!is_refresh) stored = cache->read_fabric(&stack.host().end_port());
  } catch (const UsageError& error) {
    const bool is_replaced = cache && cache->is_cache();
    if (is_replaced) stack.host().log().warning(fmt::format("{}; the fabric is read again", error.message()));
    co_return error.message();
  }
  if (is_refresh) co_return "all is read again";
  const snapshot::CacheTerms terms{stack.host().end_port(), stack.loop().clock().wall_time(), options.cache_age.value_or(usual_age),
                                   stack.host().options().keys, options.fdr10};
  std::string why = why_unfit(*cache, stored, terms);
  if (why.empty()) {
    const bool is_silent = co_await is_silent_as_then(stack, options, stored);
    if (!is_silent) why = "what did not answer when it was read may do so now";
  }
  co_return why;
}

struct CacheUse {
  bool is_loaded{};                   ///< the fabric was taken from the file
  std::optional<std::string> file{};  ///< else: the file in which the fabric is to be stored, if there is one
};

/// Takes the fabric from the cache of the command, if it may be used: fills `into`, and lets the stack use the file. Prints a warning
/// with the time of the fabric. Requests that were not answered when the file was written are sent once more. If one of them is answered
/// now, the fabric is not taken from the file. Throws UsageError for a file that is not a snapshot.
async::Task<CacheUse> load_cache(Stack& stack, const DiscoveryOptions& options, subnet::SweptSubnet& into) {
  CacheUse use;
  const std::optional<std::string> file = cache_file(stack.host(), options);
  if (!file) co_return use;
  const CacheState state = state_of(stack.host().log(), *file);
  if (state == CacheState::unusable) co_return use;
  use.file = *file;
  if (state == CacheState::absent) co_return use;
  try {
    if (!snapshot::is_snapshot_file(*file)) const snapshot::Snapshot refused(*file);  // throws: no other kind of file will do
  } catch (const SysError& error) {
    stack.host().log().warning(fmt::format("{}: it is not used as a cache", error.message()));
    use.file.reset();
    co_return use;
  }
  std::unique_ptr<snapshot::Snapshot> cache;
  subnet::SweptSubnet stored;
  const std::string why = co_await why_read_anew(stack, options, *file, cache, stored);
  if (!why.empty()) {
    const std::string refusal = cache ? why_not_replaced(*cache, why) : snapshot::not_replaced(*file, why);
    if (!refusal.empty()) {
      stack.host().log().warning(refusal);
      use.file.reset();
    } else if (stack.host().options().error_level() >= 1) {
      stack.host().log().debug(fmt::format("Reading the fabric again: {} is not used, {}", in_quotes(*file), why));
    }
    co_return use;
  }
  stack.host().log().warning(fmt::format("fabric as of {}, from {}", time_of(*cache), escaped(*file)));
  if (stack.is_port_down()) stack.host().log().warning(stack.down_text());
  stack.open_cache(cache->file()).use(std::move(cache));
  into = std::move(stored);
  if (!options.fdr10) forget_fdr10(into.subnet);
  forget_unwanted(into, options.needs);
  use.is_loaded = true;
  co_return use;
}

}  // namespace

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

async::Task<> read_fabric(Session& session, const DiscoveryOptions& options, FabricSource source, FabricWanted wanted, Fabric& into) {
  Host& host = session.host();
  const std::string_view mode = source == FabricSource::lid        ? "LID"
                                : source == FabricSource::directed ? "DR"
                                : source == FabricSource::sa       ? "SA"
                                                                   : "";
  if (is_verbose(host, options) && !mode.empty()) host.log().debug(fmt::format("Performing discovery using mode '{}'", mode));
  subnet::DiscoverStats stats;
  if (source == FabricSource::file) {
    read_fabric_file(host, options, wanted, into);
  } else if (source == FabricSource::sa) {
    stats = co_await read_sa_tables(session, options, std::move(wanted), into);
  } else if (source == FabricSource::snapshot && wanted.is_whole()) {
    static_cast<subnet::SweptSubnet&>(into) = host.stored().read_fabric(&host.end_port());
    if (!options.fdr10) forget_fdr10(into.subnet);
    forget_unwanted(into, options.needs);
  } else {
    stats = co_await sweep_fabric(session, options, source, std::move(wanted), into);
  }
  session.stack().count_plan(stats);
}

async::Task<> read_whole(Session& session, const DiscoveryOptions& options, Fabric& fabric) {
  fabric.names = session.manners().node_name_map();
  const CacheUse cache = co_await load_cache(session.stack(), options, fabric);
  if (cache.is_loaded) co_return;
  FabricWanted wanted;
  wanted.radius = options.radius;
  DiscoveryOptions how = options;
  if (cache.file) {  // what is kept serves other commands too
    how.needs = {};
    wanted.radius = ~0U;
  }
  co_await read_fabric(session, how, source_of(session, options), std::move(wanted), fabric);
  if (cache.file) {
    session.stack().open_cache(*cache.file).begin(fabric, options.fdr10);
    forget_unwanted(fabric, options.needs);
  }
}

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

bool has_cache(Host& host, const DiscoveryOptions& options) { return cache_file(host, options).has_value(); }

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
