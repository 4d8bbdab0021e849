// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Provides the model of a fabric. A command requests a fabric. The options of the run decide whether the fabric is swept, read from the SA
// or read from a file (snapshot::open_fabric()): no end port is opened for a file in place of the fabric. A file that is given besides the
// fabric itself (--diff, --filterdownports, --topology) is read by load_fabric().
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "async/task.hpp"
#include "base/error.hpp"
#include "path/path.hpp"
#include "subnet/sweep/discovery.hpp"
#include "sys/device.hpp"
#include "tools/frame/target.hpp"
#include "tools/shared/fabric.hpp"

namespace ib {
class Log;
}

namespace ib::tools {

/// The part of a fabric that a command requests.
struct FabricWanted {
  Target around{};                           ///< the first node; the node of this host if empty
  std::optional<path::Path> start{};         ///< the path to the first node, if it is known already
  unsigned radius = ~0U;                     ///< the greatest distance from the first node in links
  std::optional<subnet::KnownNode> known{};  ///< a node whose NodeInfo was read already
  bool alone{};                              ///< only the first node, without the nodes at the other ends of its links
  subnet::DiscoverNeeds needs{};             ///< the attributes that are needed; the source may read more
  Log* notices{};                            ///< gets one line for people when the way of reading changes; may be null

  bool is_whole() const { return !start && !around.given() && radius == ~0U; }
};

/// Fills models, as the options say: from the file of --load-cache, from a snapshot, or from the fabric itself, swept or from its SA.
class FabricSource {
 public:
  /// Both must outlive this object. Throws UsageError for --sa with another mode.
  FabricSource(Session& session, const DiscoveryOptions& options);

  /// "DR", "LID" or "SA"; empty if no requests are sent to a fabric.
  std::string_view name() const;
  /// Replaces the content of `into` by the fabric, as far as the source knows it. Missing parts are failures in `into`. Throws if nothing
  /// can be read: CannotLoad for a file.
  async::Task<subnet::DiscoverStats> read(FabricWanted wanted, subnet::SweptSubnet& into);
  /// The file that was read, if it is a cache of libibnetdisc; else null.
  const std::shared_ptr<const formats::NetdiscCache>& stored() const { return cache_; }
  /// Whether requests go to the switches themselves: a directed route from a LID may stay unanswered then (discover_around()).
  bool reads_nodes() const { return way_ <= Way::snapshot; }

 private:
  enum class Way : std::uint8_t {
    lid,
    directed,
    snapshot,  ///< of --from: the whole is read at once, a part by a sweep whose requests the snapshot answers
    sa,
    file,  ///< of --load-cache, or of --from where that is not a snapshot
  };
  async::Task<subnet::DiscoverStats> sweep(FabricWanted wanted, subnet::SweptSubnet& into);
  async::Task<subnet::DiscoverStats> read_sa(FabricWanted wanted, subnet::SweptSubnet& into);
  subnet::DiscoverStats read_file(const FabricWanted& wanted, subnet::SweptSubnet& into);

  Session& session_;
  const DiscoveryOptions& options_;
  Way way_;
  std::shared_ptr<const formats::NetdiscCache> cache_;
};

/// Removes from a complete model the failures of attributes that a command with these needs would not request.
void forget_unwanted(subnet::SweptSubnet& swept, const subnet::DiscoverNeeds& needs);
/// Removes the fields of MlnxExtPortInfo from a model, for a command that does not request this attribute.
void forget_fdr10(subnet::Subnet& subnet);

/// A file that does not hold a fabric, or cannot be read. The programs of infiniband-diags have their own message for it.
class CannotLoad : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Whether a fabric is known only from a listing (subnet::Node::is_listed): the states of its ports were not read.
bool is_listing(const Fabric& fabric);
/// Reads `file` into `fabric`, which must be empty. Throws CannotLoad.
void load_fabric(const std::string& file, Fabric& fabric);
/// As above, for the programs of infiniband-diags: topology text, which these do not read, is not a fabric.
void load_diags_fabric(const std::string& file, Fabric& fabric);

struct World;

/// A length of time: "90s", "30m", "12h", "7d". Throws OptionError.
std::chrono::seconds parse_age(std::string_view text);

/// The file of --cache or IBTOOL_CACHE, $C (the device), $P (the port) and $A (both) filled in. Nothing if the command has no cache.
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
