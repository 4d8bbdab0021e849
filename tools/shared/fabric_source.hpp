// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Provides the model of a fabric. A command requests a fabric. The options of the run decide whether the fabric is swept, read from the SA
// or read from stored data.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "async/task.hpp"
#include "formats/netdisc_cache.hpp"
#include "path/path.hpp"
#include "subnet/sweep/discovery.hpp"
#include "tools/frame/options.hpp"

namespace ib {
class Log;
}

namespace ib::tools {

class Session;
struct DiscoveryOptions;

/// The wanted part of a fabric.
struct FabricWanted {
  Target around{};                           ///< the first node; the node of this host if empty
  std::optional<path::Path> start{};         ///< the path to the first node, if it is known already
  unsigned radius = ~0U;                     ///< the greatest distance from the first node in links
  std::optional<subnet::KnownNode> known{};  ///< a node whose NodeInfo was read already
  bool alone{};                              ///< only the first node, without the nodes at the other ends of its links
  subnet::DiscoverNeeds needs{};             ///< the attributes that are needed; the source may read more
  Log* notices{};                            ///< gets one line for people when the way of reading changes; may be null
};

/// Fills models.
class FabricSource {
 public:
  virtual ~FabricSource() = default;
  /// "DR", "LID", "SA", …; empty if no requests are sent to a fabric
  virtual std::string_view name() const = 0;
  /// Replaces the content of `into` by the fabric, as far as the source knows it. Missing parts are failures in `into`. Throws if nothing
  /// can be read.
  virtual async::Task<subnet::DiscoverStats> read(FabricWanted wanted, subnet::SweptSubnet& into) = 0;
  /// The file that was read, if it is a cache of libibnetdisc; else null.
  virtual std::shared_ptr<const formats::NetdiscCache> stored() const { return nullptr; }
  /// Whether the source sends requests to the switches themselves. Then a directed route from a LID may stay unanswered
  /// (discover_around()).
  virtual bool reads_nodes() const { return false; }
};

/// Removes from a complete model the failures of attributes that a command with these needs would not request.
void forget_unwanted(subnet::SweptSubnet& swept, const subnet::DiscoverNeeds& needs);
/// Removes the fields of MlnxExtPortInfo from a model, for a command that does not request this attribute.
void forget_fdr10(subnet::Subnet& subnet);

/// The source of a run, as the options say: the file of --load-cache, a snapshot, or the fabric itself, swept or from its SA. `session` and
/// `options` must outlive it. Throws UsageError for --sa with another mode.
std::unique_ptr<FabricSource> fabric_source(Session& session, const DiscoveryOptions& options);

}  // namespace ib::tools
