// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Provides the model of a fabric. Commands ask for a fabric. This file and World decide whether the fabric is swept, read from
// the SA or read from stored data.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "async/task.hpp"
#include "formats/netdisc_cache.hpp"
#include "path/path.hpp"
#include "subnet/discovery.hpp"
#include "tools/frame/options.hpp"

namespace ib::tools {

class Session;
struct DiscoveryOptions;

/// What part of a fabric is wanted, and who gets messages meanwhile.
struct FabricWanted {
  Target around{};                           ///< where to begin; this node, where none is given
  std::optional<path::Path> start{};         ///< the path to the node to begin at, where it is known already
  unsigned radius = ~0U;                     ///< links from there
  std::optional<subnet::KnownNode> known{};  ///< a node that was asked already
  bool alone{};                              ///< only the node there, and nothing of what is linked to it
  subnet::DiscoverNeeds needs{};             ///< what is to be known of the nodes; more may be known
  std::function<void(std::size_t nodes)> progress{};
  std::function<void(std::string_view line)> tell{};  ///< one line for people when the way of reading changes
};

/// Fills models.
class FabricSource {
 public:
  virtual ~FabricSource() = default;
  /// "DR", "LID", "SA", …; empty where no fabric is asked
  virtual std::string_view name() const = 0;
  /// Fills `into` as far as the source knows the fabric, in the place of what it held. What the source does not know is a failure in
  /// it. Throws if nothing can be read.
  virtual async::Task<subnet::DiscoverStats> read(FabricWanted wanted, subnet::SweptSubnet& into) = 0;
  /// What was read, where that is a cache of libibnetdisc.
  virtual std::shared_ptr<const formats::NetdiscCache> stored() const { return nullptr; }
  /// Whether switches are asked one by one, so that a route from a LID may not be answered (discover_around()).
  virtual bool asks_nodes() const { return false; }
};

/// Takes from a model that holds all what a command with these needs would not know: that something does not come for which it does not
/// ask.
void forget_unwanted(subnet::SweptSubnet& swept, const subnet::DiscoverNeeds& needs);
/// Takes from a model what a command would not know that does not ask for MlnxExtPortInfo.
void forget_fdr10(subnet::Subnet& subnet);

/// The source of a run: the file of --load-cache, else World's where it has one, else the fabric itself, swept or from its SA, as the
/// options say. `session` and
/// `options` must outlive it. Throws UsageError for --sa with another mode.
std::unique_ptr<FabricSource> fabric_source(Session& session, const DiscoveryOptions& options);

}  // namespace ib::tools
