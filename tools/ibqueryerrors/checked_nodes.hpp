// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which nodes ibqueryerrors checks, and the ways to their PMAs, in both dialects.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/task.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/frame/session.hpp"
#include "tools/ibqueryerrors/wanted.hpp"
#include "tools/shared/fabric.hpp"
#include "tools/shared/libibnetdisc.hpp"

namespace ib::tools::ibqueryerrors {

/// The nodes to be checked, all of the fabric or the one of TARGET, and the ways to their PMAs.
struct CheckedNodes {
  explicit CheckedNodes(const Wanted& what) : wanted(what) {}

  const Wanted& wanted;
  Target target;
  DiscoveryOptions discovery;
  bool shows_links{};  ///< in text or JSON

  /// For what is reset: the fabric itself is read. Throws UsageError where the options name a stored one.
  void refuse_stored_fabric();
  /// Discovers what is needed of the fabric, and returns the nodes in print order.
  async::Task<std::vector<subnet::NodeIndex>> find(Session& session, Fabric& fabric);
  /// The nodes of a whole fabric in print order.
  std::vector<subnet::NodeIndex> all_nodes(const Fabric& fabric) const;
  /// Requests the service levels of the paths to `nodes`.
  async::Task<> find_paths(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric, const std::vector<subnet::NodeIndex>& nodes);

 private:
  subnet::DiscoverNeeds needs() const;
  void keep_wanted(const Fabric& fabric, std::vector<subnet::NodeIndex>& nodes) const;
};

/// How the paths to the PMAs of one node are queried.
struct PathQuery {
  std::optional<Gid> known{};  ///< the GID of an end port that was queried before. This one is queried by GID again, the others by LID
  bool of_this_port{};         ///< also queries the path to the requesting port itself, which some SAs do not have
  bool plain_if_none{};        ///< SL 0 to an end port of which the SA has no record
  bool until_failure{};        ///< ends with the first end port to which no path is found
};

/// Queries the paths to the PMAs of one node, one end port after another.
async::Task<> find_paths_to(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric, subnet::NodeIndex node, PathQuery query);

/// For infiniband-diags: the nodes to be checked, all of the fabric or the one of -G, -S or -D, and the ways to their PMAs.
struct DiagsNodes {
  explicit DiagsNodes(const Wanted& what) : wanted(what) {}

  const Wanted& wanted;
  std::optional<std::string> guid, route;  ///< -G and -S, -D
  LibibnetdiscWanted discovery;            ///< which file is read

  /// Opens the end port.
  void prepare(Stack& stack);
  /// Discovers what is needed of the fabric, and returns the nodes in print order.
  async::Task<std::vector<subnet::NodeIndex>> find(Session& session, LibibnetdiscFabric& fabric);
  /// Queries the service levels. Returns false if the program ends without them: infiniband-diags queries none for the node of -G, and none
  /// if there is no node of -D.
  async::Task<bool> find_paths(Stack& stack, subnet::PortPaths& paths, const Fabric& fabric,
                               const std::vector<subnet::NodeIndex>& nodes) const;

 private:
  async::Task<> discover_all(Session& session, LibibnetdiscFabric& fabric) const;
  async::Task<subnet::NodeIndex> discover_target(Session& session, LibibnetdiscFabric& fabric) const;
  async::Task<subnet::NodeIndex> discover_at_route(Session& session, LibibnetdiscFabric& fabric) const;
  bool begins_before(Host& host, const smp::NodeInfo& info, unsigned hops) const;
  subnet::NodeIndex named_node(const Host& host, const Fabric& fabric, subnet::NodeIndex at_route) const;

  Target target_;                           ///< the node of -G or -D
  subnet::NodeIndex named_ = subnet::none;  ///< the same, whether it is checked or not
};

}  // namespace ib::tools::ibqueryerrors
