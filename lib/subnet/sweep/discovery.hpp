// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Discovery reads a subnet by SMPs, breadth first from one port, with many requests at a time. A sweep always ends, and it
// never throws because of a node. Missing and impossible information becomes a Failure, and the sweep continues around it.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "async/task.hpp"
#include "mad/transactor.hpp"
#include "path/path.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"
#include "sys/device.hpp"

namespace ib::sa {
struct NodeRecord;
}

namespace ib::subnet {

enum class Routing : std::uint8_t {
  directed,  ///< by the directed route that found the node
  lid,       ///< by LID if the node has one, and by directed route if that does not work
};

class NodeKinds {
 public:
  constexpr NodeKinds() = default;
  constexpr NodeKinds(std::initializer_list<NodeKind> kinds) {
    for (const NodeKind kind : kinds) bits_ |= bit(kind);
  }
  static constexpr NodeKinds all() { return {NodeKind::other, NodeKind::ca, NodeKind::sw, NodeKind::router}; }
  constexpr bool has(NodeKind kind) const { return (bits_ & bit(kind)) != 0; }
  constexpr bool any() const { return bits_ != 0; }
  constexpr NodeKinds& operator|=(NodeKinds other) {
    bits_ |= other.bits_;
    return *this;
  }

 private:
  static constexpr unsigned bit(NodeKind kind) { return 1U << static_cast<unsigned>(kind); }
  unsigned bits_{};
};

/// The attributes that a sweep reads besides those that it needs to find the nodes. Every sweep reads NodeInfo, and the PortInfo of the
/// start and of the external ports of switches, which say where there is a link. An attribute that is not wanted stays unread in the model,
/// and that is not a Failure. The NodeDescription of a node that a Failure names is read in any case.
struct DiscoverNeeds {
  NodeKinds descriptions = NodeKinds::all();  ///< NodeDescription of nodes of these kinds
  NodeKinds end_ports = NodeKinds::all();     ///< PortInfo (LID, LMC, rates) of their end ports: port 0 of a switch, linked ports of others
  bool switch_infos = true;                   ///< SwitchInfo
  bool links = true;                          ///< which ports are linked. For SAs: without links a sweep would find no nodes
};

/// A node whose NodeInfo was read before the sweep begins.
struct KnownNode {
  smp::NodeInfo info;
  std::uint8_t beyond{};  ///< 0: the first node; else the node beyond this port of the first one
};

/// A sweep uses all of them; discover_from_sa() uses `needs`, `radius`, `alone` and `progress`.
struct DiscoverOptions {
  Routing routing = Routing::directed;
  DiscoverNeeds needs{};
  /// The greatest number of links from the start. Of nodes at this distance, only what the link to them needs is read.
  unsigned radius = ~0U;
  /// Only the start is read. No request goes beyond its ports.
  bool alone = false;
  /// A node whose NodeInfo is known: it is not requested again.
  std::optional<KnownNode> known{};
  /// Also read MlnxExtPortInfo if a link may be FDR10.
  bool mlnx_extended_port_info = false;
  /// Gets one line for people when the sweep changes its method (LID routing does not work here, …).
  std::function<void(std::string_view)> notice;
  /// Called for each new node with the number of nodes found so far.
  std::function<void(std::size_t)> progress;
};

/// The number of requests of a sweep, compared with the minimum that reads the same attributes of the same fabric. The minimum is one
/// NodeInfo for the start and for each link; a PortInfo for each external port of a switch; and as far as DiscoverNeeds wants them
/// NodeDescription, SwitchInfo, a PortInfo for port 0 of a switch and for each linked port of another node. LID routing takes the PortInfo
/// of port 0 of each switch.
struct DiscoverStats {
  std::uint64_t plan{};
  std::uint64_t requested{};  ///< requests that were sent with the reason mad::requested: the plan, and `beyond`
  /// Additional requests with the same reason (mad::requested). Requests with other reasons, and retries, are in the Transactor's
  /// statistics.
  std::vector<std::pair<std::string_view, std::uint64_t>> beyond;
  void add(std::string_view reason, std::uint64_t count = 1);
};

struct Discovered {
  DiscoverStats stats;
  Failures failures;  ///< what could not be read, sorted
};

/// Reads the subnet around `start` into `subnet`, in the place of what it held. `start` is the path to the first node (usually the local
/// one) and gives M_Key, timeout and retries. Throws what try_call() throws, and the MadError of the first node's NodeInfo.
async::Task<Discovered> discover(mad::Transactor& transactor, Subnet& subnet, path::Path start, DiscoverOptions options);

/// Whether the nodes that did not answer an earlier sweep are still silent. If so, the model of that sweep is as complete as a new one
/// would be. Sends each unanswered request (Failure::Kind::no_answer) once more, by one try. `failures` come from the sweep that began
/// at `start` and filled `subnet`. False if there is any answer now, also a refusal, or if the request cannot be found again from the
/// model. `subnet` must outlive the task.
async::Task<bool> are_still_silent(mad::Transactor& transactor, const Subnet& subnet, std::vector<Failure> failures, path::Path start);

/// Removes from a complete model what a sweep with these needs would not request: failures, and without `fdr10` MlnxExtPortInfo.
void forget_unwanted(SweptSubnet& swept, const DiscoverNeeds& needs, bool fdr10);

/// Reads the subnet that the subnet administrator knows into `subnet`, in the place of what it held: the state that the subnet manager
/// found in its last sweep. No SMP is sent. Four queries at most, one for each table that `options` need; for a part of the subnet records
/// are requested one by one. `start` is the LID of the first node; the port of this host if absent. `nodes` is the table of NodeRecords, if
/// it was read before. Missing records become failures, and so does each table that came without its end. Throws the MadError of a table or
/// of the start's NodeRecord, and Error if the SA does not know the start.
async::Task<Discovered> discover_from_sa(mad::Transactor& transactor, Subnet& subnet, DiscoverOptions options, std::optional<Lid> start,
                                         std::vector<sa::NodeRecord> nodes);

/// libibnetdisc notices its bound of hops one link late: of the switches at the bound it still tries the first link that leads on. Where
/// this host has several ports in the subnet, that link may lead back to one of them, which libibnetdisc then lists with the host.
/// `fabric` was swept from this host at `start`, an empty directed route, with the radius `bound`. Finds the link with as few requests as
/// possible, and if it leads to a port of the host that is not known yet, reads this port, with `mlnx` also its MlnxExtPortInfo. What does
/// not answer is added to the failures of `fabric`. Does nothing if all ports of the host are known.
async::Task<> read_link_back(mad::Transactor& transactor, SweptSubnet& fabric, path::Path start, unsigned bound, bool mlnx);

// The node of this host as sysfs has it, without a MAD: what is left to report when its port is Down.

/// Adds the node of `port` to an empty model: its GUIDs, its description, and of this port the LIDs and both states. It is the
/// start of the model. A node without a description in sysfs has none in the model.
void add_own_node(Subnet& subnet, const sys::EndPort& port);

/// Whether the port where the sweep began is Down, so that nothing beyond it can have been seen.
bool is_start_down(const Subnet& subnet);
/// Whether the sweep found nothing beyond any port of its first node, although a request there failed.
bool is_cut_off(const SweptSubnet& swept);

}  // namespace ib::subnet
