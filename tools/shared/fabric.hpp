// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Shared by the commands that read a fabric: its discovery, surveys of its ports, the names of nodes, and the messages about parts that did
// not answer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "iba-gen/smp.hpp"
#include "path/path.hpp"
#include "subnet/model/columns.hpp"
#include "subnet/sweep/discovery.hpp"

namespace ib::formats {
struct NetdiscCache;
}
namespace ib::subnet {
class PortPaths;
struct SurveyOptions;
enum class SurveyWay : std::uint8_t;
}  // namespace ib::subnet
namespace ib::sys {
struct EndPort;
}

namespace ib::tools {

using subnet::NodeIndex;
using subnet::PortIndex;

class Host;
class OptionSet;
class Session;
class Stack;
struct Target;
struct TargetPort;
struct World;

struct DiscoveryOptions {
  std::optional<std::string> mode;                ///< LID, DR or SA
  std::optional<std::string> load_cache;          ///< the file to read instead
  std::optional<std::string> cache;               ///< the snapshot to keep what is read in; see cache_file()
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

/// The file of --cache or IBTOOL_CACHE, $C (the device), $P (the port) and $A (both) filled in. Nothing if the command has no cache.
std::optional<std::string> cache_file(const DiscoveryOptions& options, const World& world, const sys::EndPort& port);
void add_discovery(OptionSet& set, DiscoveryOptions& options);
/// Adds the options for a command that sets something: --discovery and --fdr10. It has no options for a stored fabric.
void add_live_discovery(OptionSet& set, DiscoveryOptions& options);
/// Throws Error unless `node` of the model is now at `target`. To be called before a Set.
async::Task<> check_meant_node(Stack& stack, const Target& target, const subnet::Subnet& subnet, subnet::NodeIndex node);

/// A model, what could not be read, and what goes with them. Commands add what they could not read themselves (add_failures()).
struct Fabric : subnet::NamedSubnet {
  std::shared_ptr<const formats::NetdiscCache> stored{};  ///< the file that was read, if it is a cache of libibnetdisc
  Exit status() const { return failures.empty() ? Exit::ok : Exit::incomplete; }
};

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

/// Discovers the whole fabric. Prints on stderr what did not answer. Throws CannotLoad for a file.
async::Task<Fabric> discover(Session& session, const DiscoveryOptions& options);
/// For a command that sends requests to single nodes. With --cache, reads the whole fabric or takes it from the file, so that the answers
/// to the command's requests are stored in the file and taken from it. Prints which nodes did not answer. Without --cache does nothing.
async::Task<> prepare_cache(Session& session, const DiscoveryOptions& options);
/// Discovers the nodes at most `radius` links from the node at `start`; of the farthest only what describes their links. Prints nothing.
async::Task<> discover_from(Session& session, const DiscoveryOptions& options, path::Path start, unsigned radius, Fabric& fabric,
                            std::optional<subnet::KnownNode> known = {});
/// Reads only the node at `target` and its neighbours. Returns the node. Without `neighbours`, sends nothing beyond its ports. Some nodes
/// do not support directed routes that begin at a LID. If the target is such a node and is given by its LID, the whole fabric is swept.
/// Then only failures that concern the node are printed and count for the exit status.
async::Task<subnet::NodeIndex> discover_around(Session& session, const DiscoveryOptions& options, const Target& target, Fabric& fabric,
                                               bool neighbours = true);

/// The options of a survey that reports its progress in ports.
subnet::SurveyOptions port_survey(Stack& stack, subnet::SurveyWay way);
/// The options of a survey by GMPs. It uses `paths`, which must outlive the survey.
subnet::SurveyOptions gmp_survey(Stack& stack, const subnet::PortPaths& paths);
/// Finds out whose counters are read (ReadingPlan::owners), past caches; with --sa the SA says who has a LID. Null with --from.
mad::Transactor* owner_transactor(Stack& stack);
/// That Transactor for a single reading of nodes of a file, which may have other LIDs by now; null for a fabric that was just read.
mad::Transactor* owner_transactor(Stack& stack, const std::optional<std::string>& load_cache);

/// With -v, prints which attributes of the fabric were read, in the format of python-rdma.
void note_discovered(const Host& host, std::string_view what);

/// Prints `E:` lines for all failures: a line for each cause, and with -v a line for each node, with the details of its request.
void print_failures(const Host& host, const subnet::Subnet& subnet, const subnet::Failures& failures);
/// Prints `E:` lines for those of `met`, which came after the discovery, that the fabric lacks, and adds them to `to`.
void add_failures(const Host& host, const Fabric& fabric, subnet::Failures met, subnet::Failures& to);
/// As above: adds them to the failures of the fabric.
void add_failures(const Host& host, Fabric& fabric, subnet::Failures met);

/// For a command that can show nothing if `any_read` is false. Throws an error then if all of `failures` come from a file that does not
/// have what the command needs. Its message says what to read when such a file is written. Call it before add_failures().
void require_read(bool any_read, const std::vector<subnet::Failure>& failures);

/// A node, the word by which complaints call it, and the only port that is meant.
struct ChosenNode {
  subnet::NodeIndex node;
  std::string word{};
  std::optional<std::uint8_t> port{};
};

/// The nodes of `targets`, which OptionSet::target_patterns() read; without targets all nodes, the nearest first. Throws UsageError for a
/// pattern that fits no node, and Error for an address that no port of the fabric has.
std::vector<ChosenNode> chosen_nodes(const Fabric& fabric, const std::vector<TargetPort>& targets);

}  // namespace ib::tools
