// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The cache of a command: the file of --cache or IBTOOL_CACHE, and whether the fabric in it may stand for the one that is there.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// A length of time: "90s", "30m", "12h", "7d". Throws OptionError.
std::chrono::seconds parse_age(std::string_view text);

/// Whether the command is to use or to fill a cache. Throws UsageError for options that do not go together.
bool has_cache(Session& session, const DiscoveryOptions& options);

struct CacheUse {
  bool is_loaded{};                   ///< the fabric was taken from the file
  std::optional<std::string> file{};  ///< else: the file in which what is read is to be kept, if there is one
};
/// Takes the fabric from the cache of the command, if that has it: fills `into`, and has the session use the file. A warning tells of
/// which time the fabric is. What did not answer when the file was written is requested once more: where there is an answer now, the
/// fabric is not taken from the file. Throws UsageError for a file that is no snapshot.
async::Task<CacheUse> load_cache(Session& session, const DiscoveryOptions& options, subnet::SweptSubnet& into);

}  // namespace ib::tools
