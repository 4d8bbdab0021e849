// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Shared by the commands that read a fabric: its discovery, the names of nodes, and the messages about parts that did not answer.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "iba-gen/smp.hpp"
#include "subnet/model/names.hpp"
#include "subnet/sweep/discovery.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/options.hpp"
#include "tools/frame/session.hpp"
#include "tools/shared/fabric_source.hpp"

namespace ib::tools {

struct DiscoveryOptions {
  std::optional<std::string> mode;                ///< LID, DR or SA
  std::optional<std::string> load_cache;          ///< the file to read instead (tools/shared/stored_fabric.hpp)
  std::optional<std::string> cache;               ///< the snapshot to keep what is read in; see tools/shared/cache.hpp
  bool refresh_cache{};                           ///< reads the fabric although that file has it
  std::optional<std::chrono::seconds> cache_age;  ///< the greatest age of that file; absent: a day
  bool has_cache{};                               ///< the command has the option --cache, and looks at IBTOOL_CACHE
  bool fdr10{};                                   ///< also request MlnxExtPortInfo
  std::optional<unsigned> retries;                ///< the retries if the common options give none
  unsigned radius = ~0U;                          ///< for discover(): the greatest distance from this host in links
  bool silent{};                                  ///< nothing is printed: the caller does that
  subnet::DiscoverNeeds needs{};                  ///< what the command uses of the nodes
  /// The requests of a sweep go to what this returns for their Transactor; null: to that itself. No earlier sweep is used then.
  std::function<mad::Transactor&(mad::Transactor& below)> through{};
};

/// Fills an empty model with the fabric that is stored in `file`. Throws CannotLoad.
void read_stored(const std::string& file, subnet::Subnet& subnet);

/// Adds --discovery, --load-cache, --cache, --refresh-cache, --cache-age and --fdr10.
void add_discovery(OptionSet& set, DiscoveryOptions& options);
/// Adds the options for a command that sets something: --discovery and --fdr10. It has no options for a stored fabric.
void add_live_discovery(OptionSet& set, DiscoveryOptions& options);
/// Requests the NodeInfo of the node at `target`. Throws Error unless that is `node` of the model. To be called before a Set, so that the
/// Set goes to the intended node.
async::Task<> check_meant_node(Stack& stack, const Target& target, const subnet::Subnet& subnet, subnet::NodeIndex node);
/// Whether the sweep found nothing beyond any port of its first node, although a request there failed.
bool is_cut_off(const subnet::SweptSubnet& swept);

/// The result of a discovery: a model, what could not be read, and what goes with them. Commands add what they could not read themselves to
/// the failures (add_failures()).
struct Fabric : subnet::SweptSubnet {
  subnet::NodeNameMap names;
  std::shared_ptr<const formats::NetdiscCache> stored{};  ///< the file that was read, if it is a cache of libibnetdisc
  /// The directed route from this host to where the sweep began; nothing if it began at a LID, so that routes from here are not known.
  std::optional<std::vector<std::uint8_t>> route_to_start = std::vector<std::uint8_t>();
};

/// Discovers the whole fabric. Prints on stderr what did not answer. Throws the exceptions of fabric_source() and of the source, for
/// example CannotLoad for the file of DiscoveryOptions::load_cache.
async::Task<> discover(Session& session, const DiscoveryOptions& options, Fabric& fabric);
/// For a command that sends requests to single nodes. With --cache, reads the whole fabric or takes it from the file, so that the answers
/// to the command's requests are stored in the file and taken from it. Prints which nodes did not answer. Without --cache does nothing.
async::Task<> prepare_cache(Session& session, const DiscoveryOptions& options);
/// Discovers a part of the fabric: all nodes with a distance of at most `radius` links from the node at `start`. For nodes at the greatest
/// distance, only the attributes that describe the link to them are read. Does not print what did not answer.
async::Task<> discover_from(Session& session, const DiscoveryOptions& options, path::Path start, unsigned radius, Fabric& fabric,
                            std::optional<subnet::KnownNode> known = {});
/// Reads only the node at `target` and its neighbours. Returns the node. Without `neighbours`, sends nothing beyond its ports. Some nodes
/// do not support directed routes that begin at a LID. If the target is such a node and is given by its LID, the whole fabric is swept.
/// Then only failures that concern the node are printed and count for the exit status.
async::Task<subnet::NodeIndex> discover_around(Session& session, const DiscoveryOptions& options, const Target& target, Fabric& fabric,
                                               bool neighbours = true);

/// With -v, prints which attributes of the fabric were read, in the format of python-rdma.
void note_discovered(const Host& host, std::string_view what);

/// Prints an `E:` line on stderr for each of `met`, which came after the discovery, and adds them to those of the fabric. Similar
/// failures share a line.
void add_failures(const Host& host, Fabric& fabric, subnet::Failures met);

/// For a command that can show nothing if `any_read` is false. Throws an error then if all of `failures` come from a file that does not
/// have what the command needs. Its message says what to read when such a file is written. Call it before add_failures().
void require_read(bool any_read, const std::vector<subnet::Failure>& failures);

/// The failure of a Get or Set of a PortInfo, for add_failures().
subnet::Failure port_failure(const subnet::Subnet& subnet, subnet::PortIndex port, const std::shared_ptr<const mad::MadError>& error);

struct NodeDifference;

/// The base of reports on a fabric. The exit status shows whether the fabric is complete.
struct FabricReport : Report {
  explicit FabricReport(const Fabric& of) : fabric(of) {}
  Exit status() const override { return fabric.failures.empty() && failures.empty() ? Exit::ok : Exit::incomplete; }

  /// For one of several readings: prints those of `met` that the fabric does not have already, and adds them to the report's own failures.
  /// The next reading begins without them.
  void add_failures(const Host& host, subnet::Failures met);

  /// Selects the ports of a node to write. If empty, nodes have no member `ports`.
  using PortFilter = std::function<bool(subnet::PortIndex)>;
  /// Selects the ports about which something is known.
  PortFilter known_ports() const;

  /// Writes the member `nodes`: an object for each of `nodes`, with the ports that `ports` selects.
  void visit_nodes(report::Sink& sink, const std::vector<subnet::NodeIndex>& nodes, const PortFilter& ports = {}) const;
  /// Writes the members that identify a node: GUID, type, description and the name in the node name map.
  void visit_names(report::Sink& sink, subnet::NodeIndex at) const;
  /// Writes the member `differences`: the differences from the fabric `before`.
  void visit_differences(report::Sink& sink, const Fabric& before, const std::vector<NodeDifference>& differences) const;
  /// Writes the members of a port: number, addresses, state, rates and the port at the other end.
  void visit_port_members(report::Sink& sink, subnet::PortIndex at) const;
  /// Writes the member `unreachable`: the failures of the fabric and of the report, with their reasons.
  void visit_failures(report::Sink& sink) const;

  const Fabric& fabric;
  subnet::Failures failures;  ///< besides those of the fabric

 private:
  void visit_node(report::Sink& sink, subnet::NodeIndex at, const PortFilter& ports) const;
  void visit_port(report::Sink& sink, subnet::PortIndex at, std::string_view key = {}) const;
  void visit_head(report::Sink& sink, subnet::NodeIndex at, std::string_view key) const;
  void visit_failure(report::Sink& sink, const subnet::Failure& failure) const;
};

}  // namespace ib::tools
