// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What the commands that look at a whole fabric share: how it is discovered, the names of nodes, and what is said of
// the parts that did not answer.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "iba-gen/smp.hpp"
#include "subnet/discovery.hpp"
#include "subnet/node_name_map.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/fabric_source.hpp"

namespace ib::tools {

struct DiscoveryOptions {
  std::optional<std::string> mode;        ///< LID, DR or SA
  std::optional<std::string> load_cache;  ///< the file to read instead (tools/shared/stored_fabric.hpp)
  std::optional<std::string> cache;       ///< the snapshot to keep what is read in; see cache_file()
  bool refresh_cache{};                   ///< reads the fabric although that file has it
  bool fdr10{};                           ///< also ask for MlnxExtPortInfo
  std::optional<unsigned> retries;        ///< where the common options give none
  bool diags{};                           ///< failures are told of in the words of infiniband-diags
  unsigned radius = ~0U;                  ///< how many links from this host to go, for discover()
  bool quiet{};                           ///< of infiniband-diags: libibnetdisc_failures() is called later
  subnet::DiscoverNeeds needs{};          ///< what the command uses of the nodes; not with `diags`
};

/// Adds --discovery, --load-cache, --cache, --refresh-cache and --fdr10.
void add_discovery(OptionSet& set, DiscoveryOptions& options);
/// As the programs of infiniband-diags discover: by directed routes, FDR10 as ibdiag.conf has it.
void discover_as_diags(DiscoveryOptions& options);
/// "DR path slid 0; dlid 0; 0,1,3"
std::string libibnetdisc_route(std::span<const std::uint8_t> ports);
/// Opens the end port. Where that fails, tells of it as libibnetdisc does and gives up as a program that could not discover.
void open_for_libibnetdisc(Session& session);

/// A fabric as it was found.
struct Fabric {
  subnet::Subnet subnet;
  subnet::NodeNameMap names;
  std::shared_ptr<const subnet::NetdiscCache> stored{};  ///< what was read, where that is a cache of libibnetdisc
};

/// Discovers the whole fabric as the options say and tells on stderr what did not answer. Throws what fabric_source() and its source
/// throw: CannotLoad for the file of DiscoveryOptions::load_cache.
async::Task<> discover(Session& session, const DiscoveryOptions& options, Fabric& fabric);
/// The same for a part of the fabric: the nodes that are `radius` links away from the node at `start`, or nearer, of which those at the
/// rim are read only as far as the links to them need. What did not answer is not told of yet: libibnetdisc_failures() does that.
async::Task<> discover_from(Session& session, const DiscoveryOptions& options, path::Path start, unsigned radius, Fabric& fabric,
                            std::optional<subnet::KnownNode> known = {});
/// Tells on stderr what did not answer, in the words of libibnetdisc. `from_here`: the sweep began at this host.
void libibnetdisc_failures(const Session& session, const Fabric& fabric, bool from_here);
/// Reads the node at `target` and its neighbours only. Where a target that was named by its LID cannot be looked around
/// (nodes that do not support directed routes from a LID), the whole fabric is swept for it, and what is told and
/// counts for the exit status is what concerns the node. Returns the node. Without `neighbours` nothing is asked beyond its ports.
async::Task<subnet::NodeIndex> discover_around(Session& session, const DiscoveryOptions& options, const Target& target, Fabric& fabric,
                                               bool neighbours = true);

/// With -v: tells which attributes of the fabric were read, in the words of python-rdma.
void note_discovered(const Session& session, std::string_view what);

/// Prints the `E:` lines for what a sweep could not read, on stderr. Similar failures share a line.
void print_failures(const subnet::Subnet& subnet, int level, Keys keys = Keys::hidden);

/// A node that is no switch, where one is needed. The error has the path to the node, and its GID if that is reached by LID.
Error not_a_switch(path::Path path, const smp::NodeInfo& node);

/// A port that did not tell or take its PortInfo, for Subnet::failures.
subnet::Failure port_failure(const subnet::Subnet& subnet, subnet::PortIndex port, const std::shared_ptr<const mad::MadError>& error);

struct NodeDifference;

/// The base of reports on a fabric: those that are not complete say so in their exit status.
struct FabricReport : Report {
  explicit FabricReport(const Fabric& of) : fabric(of) {}
  Exit status() const override { return fabric.subnet.failures.empty() ? Exit::ok : Exit::incomplete; }

  /// Selects the ports of a node to write. If empty, nodes have no member `ports`.
  using PortFilter = std::function<bool(subnet::PortIndex)>;
  /// The ports of which anything is known.
  PortFilter known_ports() const;

  /// The member `nodes`: each of `nodes` as an object, with the ports that `ports` lets through.
  void visit_nodes(out::Sink& sink, const std::vector<subnet::NodeIndex>& nodes, const PortFilter& ports = {}) const;
  /// The members that identify a node: GUID, type, description and the site's name.
  void visit_names(out::Sink& sink, subnet::NodeIndex at) const;
  /// The member `differences`: what is different from the fabric `before`.
  void visit_differences(out::Sink& sink, const Fabric& before, const std::vector<NodeDifference>& differences) const;
  /// The members of a port: number, addresses, state, rates and the port at the other end.
  void visit_port_members(out::Sink& sink, subnet::PortIndex at) const;
  /// The member `unreachable`: what did not answer, and why.
  void visit_failures(out::Sink& sink) const;

  const Fabric& fabric;

 private:
  void visit_node(out::Sink& sink, subnet::NodeIndex at, const PortFilter& ports) const;
  void visit_addresses(out::Sink& sink, subnet::PortIndex at) const;
  void visit_port(out::Sink& sink, subnet::PortIndex at, std::string_view key = {}) const;
  void visit_head(out::Sink& sink, subnet::NodeIndex at, std::string_view key) const;
  void visit_peer(out::Sink& sink, subnet::PortIndex at) const;
  void visit_failure(out::Sink& sink, const subnet::Failure& failure) const;
};

}  // namespace ib::tools
