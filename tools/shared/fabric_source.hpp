// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Provides the model of a fabric for the functions of fabric.hpp. The options of the run decide whether the fabric is swept, read from the
// SA or read from a file (snapshot::open_fabric()): no end port is opened for a file in place of the fabric.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "async/task.hpp"
#include "path/path.hpp"
#include "subnet/sweep/discovery.hpp"
#include "tools/frame/target.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// The part of a fabric that a command requests.
struct FabricWanted {
  Target around{};                           ///< the first node; the node of this host if empty
  std::optional<path::Path> start{};         ///< the path to the first node, if it is known already
  unsigned radius = ~0U;                     ///< the greatest distance from the first node in links
  std::optional<subnet::KnownNode> known{};  ///< a node whose NodeInfo was read already
  bool alone{};                              ///< only the first node, without the nodes at the other ends of its links

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
FabricSource source_of(Session& session, const DiscoveryOptions& options);

/// Replaces the model in `into` by the fabric, as far as the source knows it; the source may read more than what is wanted. Missing parts
/// are failures in `into`. Throws if nothing can be read: CannotLoad for a file.
async::Task<> read_fabric(Session& session, const DiscoveryOptions& options, FabricSource source, FabricWanted wanted, Fabric& into);

/// Reads the whole fabric, or takes it from the file of --cache.
async::Task<> read_whole(Session& session, const DiscoveryOptions& options, Fabric& fabric);

/// A length of time: "90s", "30m", "12h", "7d". Throws OptionError.
std::chrono::seconds parse_age(std::string_view text);

/// Whether the command is to use or to fill a cache. Throws UsageError for options that do not go together.
bool has_cache(Host& host, const DiscoveryOptions& options);

}  // namespace ib::tools
