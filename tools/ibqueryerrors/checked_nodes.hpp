// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Which nodes ibqueryerrors checks: all of the fabric, or the one of TARGET, -G or -D.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "async/task.hpp"
#include "subnet/port_paths.hpp"
#include "tools/frame/session.hpp"
#include "tools/ibqueryerrors/wanted.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools::ibqueryerrors {

/// The nodes to be checked, and the ways to their PMAs.
struct CheckedNodes {
  explicit CheckedNodes(const Wanted& asked) : wanted(asked) {}

  const Wanted& wanted;
  Target target;
  std::optional<std::string> guid, route;  ///< of infiniband-diags: -G and -S, -D
  DiscoveryOptions discovery;
  bool shows_links{};  ///< in text or JSON

  /// Whether infiniband-diags' dialect is spoken.
  bool as_diags() const { return discovery.diags; }
  /// For what is reset: the fabric itself is read. Throws UsageError where the options name a stored one.
  void refuse_stored_fabric();
  /// For infiniband-diags: -G or -D is the target. Opens the end port.
  void prepare_as_diags(Session& session);
  /// Discovers what is needed of the fabric, and returns the nodes in print order. `told` gets what infiniband-diags prints of that with
  /// -d.
  async::Task<std::vector<subnet::NodeIndex>> find(Session& session, Fabric& fabric, TextOut& told);
  /// Asks for the service levels. False where infiniband-diags ends for want of them: it asks for none of the node of -G, and if there is
  /// no node of -D.
  async::Task<bool> find_paths(Session& session, subnet::PortPaths& paths, const Fabric& fabric,
                               const std::vector<subnet::NodeIndex>& nodes);

 private:
  bool is_checked(subnet::NodeKind kind) const;
  subnet::DiscoverNeeds needs() const;
  async::Task<> discover_all(Session& session, Fabric& fabric);
  async::Task<subnet::NodeIndex> discover_target(Session& session, Fabric& fabric, TextOut& told);
  async::Task<subnet::NodeIndex> discover_at_route(Session& session, Fabric& fabric, TextOut& told);
  async::Task<subnet::NodeIndex> discover_traced(Session& session, Fabric& fabric, TextOut& told, path::IbDrPath end, smp::NodeInfo info);
  bool begins_before(Session& session, const smp::NodeInfo& info, unsigned hops) const;
  void tell_silence(const Session& session, const mad::MadError& error) const;
  subnet::NodeIndex named_node(const Session& session, const Fabric& fabric, subnet::NodeIndex at_route) const;
  async::Task<> find_paths_to(Session& session, subnet::PortPaths& paths, const Fabric& fabric, subnet::NodeIndex node) const;
  path::Path address_of(Session& session, const subnet::Subnet& subnet, subnet::PortIndex end) const;

  subnet::NodeIndex named_ = subnet::none;  ///< the node of TARGET, -G or -D, whether it is checked or not
};

}  // namespace ib::tools::ibqueryerrors
