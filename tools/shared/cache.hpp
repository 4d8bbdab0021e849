// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The cache of a command: the file of --cache or IBTOOL_CACHE, and whether the fabric in it may be used instead of a sweep.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// A length of time: "90s", "30m", "12h", "7d". Throws OptionError.
std::chrono::seconds parse_age(std::string_view text);

/// The file of --cache or IBTOOL_CACHE with the names of `port` in the places of $C (the device), $P (its port) and $A (both). Nothing if
/// the command has no cache.
std::optional<std::string> cache_file(const DiscoveryOptions& options, const World& world, const sys::EndPort& port);

/// Whether the command is to use or to fill a cache. Throws UsageError for options that do not go together.
bool has_cache(Host& host, const DiscoveryOptions& options);

struct CacheUse {
  bool is_loaded{};                   ///< the fabric was taken from the file
  std::optional<std::string> file{};  ///< else: the file in which the fabric is to be stored, if there is one
};
/// Takes the fabric from the cache of the command, if it may be used: fills `into`, and lets the stack use the file. Prints a warning
/// with the time of the fabric. Requests that were not answered when the file was written are sent once more. If one of them is answered
/// now, the fabric is not taken from the file. Throws UsageError for a file that is not a snapshot.
async::Task<CacheUse> load_cache(Stack& stack, const DiscoveryOptions& options, subnet::SweptSubnet& into);

}  // namespace ib::tools
