// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "snapshot/cache.hpp"
#include "snapshot/snapshot.hpp"
#include "subnet/sweep/discovery.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/world.hpp"
#include "tools/shared/fabric_source.hpp"

namespace ib::tools {
namespace {

constexpr std::chrono::seconds usual_age = std::chrono::hours(24);

/// Throws UsageError if --refresh-cache or --cache-age is given beside a file that the fabric comes from, where it has no effect.
void refuse_cache_options(const Host& host, const DiscoveryOptions& options) {
  const std::string_view file = options.load_cache ? "--load-cache" : host.options().from ? "--from" : "";
  const std::string_view given = options.refresh_cache ? "--refresh-cache" : options.cache_age ? "--cache-age" : "";
  if (!file.empty() && !given.empty()) throw UsageError(fmt::format("{} and {} exclude each other", given, file));
}

/// The file of --cache or IBTOOL_CACHE. Nothing where the fabric comes from another file.
std::optional<std::string> cache_file(Host& host, const DiscoveryOptions& options) {
  refuse_cache_options(host, options);
  if (options.load_cache || !options.has_cache) return std::nullopt;
  if (host.options().from) {
    if (options.cache) throw UsageError("--cache and --from exclude each other");
    return std::nullopt;
  }
  const std::optional<std::string>& given = options.cache ? options.cache : host.world().cache;
  if (options.refresh_cache && !given) throw UsageError("--refresh-cache goes with --cache or IBTOOL_CACHE");
  if (options.cache_age && !given) throw UsageError("--cache-age goes with --cache or IBTOOL_CACHE");
  if (!given) return std::nullopt;
  return cache_file(options, host.world(), host.end_port());
}

enum class Kept : std::uint8_t { nothing, a_file, no_use };

/// The kind of the file at the name of a cache. A symbolic link, a file of another user, and a file that other users may write are not used
/// and cause a warning. A file of root may be used by all users.
Kept look_at(Log& log, const std::string& file) {
  struct stat status {};
  if (::lstat(file.c_str(), &status) != 0) return Kept::nothing;
  if (S_ISLNK(status.st_mode)) {
    log.warning(fmt::format("{} is a symbolic link: it is not used as a cache", in_quotes(file)));
    return Kept::no_use;
  }
  if (!S_ISREG(status.st_mode)) return Kept::a_file;
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    log.warning(fmt::format("{} may be written by other users: it is not used as a cache", in_quotes(file)));
    return Kept::no_use;
  }
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    log.warning(fmt::format("{} belongs to another user: it is not used as a cache", in_quotes(file)));
    return Kept::no_use;
  }
  return status.st_size == 0 ? Kept::nothing : Kept::a_file;
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

}  // namespace

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

async::Task<CacheUse> load_cache(Stack& stack, const DiscoveryOptions& options, subnet::SweptSubnet& into) {
  CacheUse use;
  const std::optional<std::string> file = cache_file(stack.host(), options);
  if (!file) co_return use;
  const Kept kept = look_at(stack.host().log(), *file);
  if (kept == Kept::no_use) co_return use;
  use.file = *file;
  if (kept == Kept::nothing) co_return use;
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

}  // namespace ib::tools
