// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A subnet as far as it is known: nodes, their ports, the links between ports, and LIDs. The model is flat: all nodes are in one vector,
// all ports are in another (the ports of a node side by side), and a link is an index of the latter. Time and memory per node therefore do
// not depend on the size of the fabric. The model holds the answers of the nodes byte for byte and assumes nothing more. What could not be
// read is not in the model: the function that fills the model returns the failures beside it (subnet/model/failures.hpp).
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "iba-gen/smp.hpp"
#include "iba/types.hpp"
#include "subnet/model/storage.hpp"

namespace ib::subnet {

using NodeIndex = std::uint32_t;  ///< index of Subnet::nodes(), or none
using PortIndex = std::uint32_t;  ///< index of Subnet::ports(), or none

inline constexpr unsigned last_switch_port = 254;  ///< ports of a switch are 1…254 (IBA 14.2.5.6)

enum class NodeKind : std::uint8_t { other, ca, sw, router };  ///< NodeType (IBA 14.2.5.3), or another number

/// One port of a node. Port 0 is the management port of a switch, and unused on other nodes.
struct Port {
  std::array<std::uint8_t, 64> info_bytes{};  ///< PortInfo as it was read; zero if not read
  Guid guid;                                  ///< from the NodeInfo that came through this port; zero if there was none
  NodeIndex node = none;
  PortIndex peer = none;  ///< the port at the other end of the link
  std::uint8_t number{};
  std::uint8_t fdr10{};            ///< LinkSpeedActive of MlnxExtPortInfo; 0 if that was not read
  std::uint8_t fdr10_supported{};  ///< LinkSpeedSupported of MlnxExtPortInfo; 0 if that was not read
  bool has_info{};

  bool is_known() const { return has_info || guid.value != 0 || peer != none; }
  /// The PortInfo; all zero if it was not read.
  smp::PortInfo info() const { return smp::PortInfo::unpack(info_bytes); }
  /// PortPhysicalState (IBA 14.2.5.6); no_change if the PortInfo was not read.
  smp::PortPhysicalState physical_state() const { return static_cast<smp::PortPhysicalState>(info_bytes[33] >> 4); }
  /// PortState (IBA 14.2.5.6); no_change if the PortInfo was not read.
  smp::PortState state() const { return static_cast<smp::PortState>(info_bytes[32] & 0xf); }
  bool is_link_up() const { return physical_state() == smp::PortPhysicalState::link_up; }
  /// Whether the port waits for a cable or was switched off.
  bool is_polling_or_disabled() const {
    return physical_state() == smp::PortPhysicalState::polling || physical_state() == smp::PortPhysicalState::disabled;
  }
};

struct Node {
  smp::NodeInfo info;
  std::array<char, 64> description_bytes{};
  std::array<std::uint8_t, 20> switch_info_bytes{};
  PortIndex first_port{};     ///< port p has the index first_port + p
  std::uint16_t slots{};      ///< number of ports with room in the model, port 0 included
  std::uint8_t hops{};        ///< length of the first route that reached the node
  PortIndex via = none;       ///< the port of a node nearer to the start from which this node was reached; none at the start
  NodeIndex twin = none;      ///< the next node with the same claimed GUID
  std::uint8_t entry_port{};  ///< the port through which the first NodeInfo came
  bool has_description{}, has_switch_info{};
  bool is_twin{};      ///< an earlier node claims the same GUID
  bool lid_refused{};  ///< the node did not answer at its LID
  /// The node is known only from a listing. Of NodeInfo the type, GUIDs, vendor, device and number of ports are known, of SwitchInfo
  /// whether port 0 is enhanced, of the PortInfo of a port LID, LMC and the rate of its link. All else in them is zero and was not read.
  bool is_listed{};

  NodeKind kind() const {
    const auto type = static_cast<std::uint8_t>(info.node_type);
    return type <= static_cast<std::uint8_t>(NodeKind::router) ? static_cast<NodeKind>(type) : NodeKind::other;
  }
  Guid guid() const { return info.node_guid; }
  /// The description up to its terminator, or all 64 bytes without one. Untrusted bytes: escape them before printing.
  std::string_view description() const { return {description_bytes.data(), strnlen(description_bytes.data(), description_bytes.size())}; }
  smp::SwitchInfo switch_info() const { return smp::SwitchInfo::unpack(switch_info_bytes); }
  /// An empty text says nothing, and is not stored.
  void set_description(Bytes text) {
    std::copy_n(text.begin(), std::min(text.size(), description_bytes.size()), description_bytes.begin());
    has_description = has_description || !text.empty();
  }
  void set_switch_info(Bytes bytes) {
    std::copy_n(bytes.begin(), std::min(bytes.size(), switch_info_bytes.size()), switch_info_bytes.begin());
    has_switch_info = true;
  }
};

/// The impossible value in a NodeInfo, as a sentence. Empty if there is none.
std::string false_claim(const smp::NodeInfo& info);

/// The greatest size of a model. Answers may be invented endlessly, so code that fills the model stops at this size.
struct SubnetLimits {
  std::size_t nodes = 1U << 17;  ///< a subnet has 49,151 unicast LIDs
  std::size_t ports = 1U << 21;  ///< includes port 0 and ports without a link; 42 ports for each of these LIDs, 200 MB
};

class Subnet {
 public:
  Subnet() = default;
  explicit Subnet(const SubnetLimits& limits) : limits_(limits) {}

  std::span<const Node> nodes() const { return {nodes_.data(), nodes_.size()}; }
  std::span<const Port> ports() const { return {ports_.data(), ports_.size()}; }
  const Node& node(NodeIndex at) const { return nodes_[at]; }
  Node& node(NodeIndex at) { return nodes_[at]; }
  const Port& port(PortIndex at) const { return ports_[at]; }
  Port& port(PortIndex at) { return ports_[at]; }
  const Node& node_of(PortIndex port) const { return nodes_[ports_[port].node]; }
  Node& node_of(PortIndex port) { return nodes_[ports_[port].node]; }
  std::span<const Port> ports_of(const Node& node) const { return {ports_.data() + node.first_port, node.slots}; }

  /// The ports that `is_meant` accepts, by index.
  template <class IsMeant>
  std::vector<PortIndex> ports_where(IsMeant is_meant) const {
    std::vector<PortIndex> found;
    for (PortIndex at = 0; at < ports_.size(); ++at) {
      if (is_meant(at)) found.push_back(at);
    }
    return found;
  }
  PortIndex port_of(NodeIndex node, unsigned number) const {
    if (node >= nodes_.size() || number >= nodes_[node].slots) return none;
    return nodes_[node].first_port + number;
  }
  /// The port that owns the LID and GUID of `port`: port 0 for a switch, the port itself for other nodes.
  PortIndex end_port_of(PortIndex port) const {
    const Node& owner = nodes_[ports_[port].node];
    return owner.kind() == NodeKind::sw ? owner.first_port : port;
  }
  /// The first node that claimed `guid`, or none. Node::twin leads to further nodes.
  NodeIndex find_node(Guid guid) const { return by_guid_.find(guid); }
  /// The end port with the port GUID `guid`, or none.
  PortIndex find_port(Guid guid) const { return by_port_guid_.find(guid); }
  /// The end port that owns `lid` (with LMC), or none.
  PortIndex find_lid(Lid lid) const { return lid.value < by_lid_.size() ? by_lid_[lid.value] : none; }
  /// The PortGUID of the end port of `port` (IBA 14.2.5.3): of a switch the one in its NodeInfo, of another node's port the one in the
  /// NodeInfo that came through this very port. Zero if none came: each port of a CA or router has its own GUID, so none stands in for it.
  Guid end_port_guid(PortIndex port) const {
    const Node& owner = nodes_[ports_[port].node];
    return owner.kind() == NodeKind::sw ? owner.info.port_guid : ports_[port].guid;
  }
  /// A name of a port rather than its GUID, never zero where a NodeInfo has one: the PortGUID of the NodeInfo that came through this
  /// port, else the PortGUID of its node's NodeInfo. That is the GUID of another port where nothing came through this port of a CA or
  /// router: infiniband-diags prints it so.
  Guid port_guid(PortIndex port) const {
    const Port& of = ports_[port];
    return of.guid != Guid{} ? of.guid : nodes_[of.node].info.port_guid;
  }
  /// The base LID of the end port of `port`; zero if it is not known.
  Lid lid(PortIndex port) const {
    const Port& end = ports_[end_port_of(port)];
    return {load_be<std::uint16_t>(end.info_bytes.data() + 16)};  // IBA 14.2.5.6: PortInfo.LID
  }
  unsigned lmc(PortIndex port) const { return ports_[end_port_of(port)].info_bytes[34] & 7U; }

  /// Whether the model has room for a node with the NodeInfo `info`. add_node() does not check this.
  bool has_room_for(const smp::NodeInfo& info) const {
    return nodes_.size() < limits_.nodes && ports_.size() + slots_of(info) <= limits_.ports;
  }
  /// Adds a node with the NodeInfo `info`. If other nodes claim its GUID, it becomes the last of their twins.
  NodeIndex add_node(const smp::NodeInfo& info);
  /// Stores a PortInfo and its LIDs. Returns the port that already owned one of these LIDs, or none.
  PortIndex set_port_info(PortIndex port, Bytes info);
  void set_port_guid(PortIndex port, Guid guid) {
    ports_[port].guid = guid;
    by_port_guid_.insert(guid, end_port_of(port));
  }
  /// Links two ports. Earlier links of both are removed.
  void link(PortIndex a, PortIndex b);
  void unlink(PortIndex port);

  /// Removes everything that the model holds. Its limits stay.
  void clear() { *this = Subnet(limits_); }

  PortIndex start = none;  ///< the end port where the sweep began

 private:
  /// The number of ports of a node to make room for, port 0 included. A node that names a port beyond its last one also gets room
  /// for that port.
  static std::uint16_t slots_of(const smp::NodeInfo& info) {
    return static_cast<std::uint16_t>(std::max<unsigned>(info.num_ports, info.local_port_num) + 1);
  }

  GrowingArray<Node> nodes_;
  GrowingArray<Port> ports_;
  GuidIndex by_guid_, by_port_guid_;
  std::vector<PortIndex> by_lid_;
  SubnetLimits limits_;
};

/// Whether no other node claims the GUID of this one.
bool has_own_guid(const Subnet& subnet, NodeIndex node);
/// The only node that claims a GUID; none if there is none, or if there are several.
NodeIndex only_node(const Subnet& subnet, Guid guid);

/// The reason why the filling of a model ended, as a sentence.
inline constexpr std::string_view no_room_text = "There are more nodes or ports than a subnet can have; going no further.";

/// Writes the output ports of the route that reached `node` from the start of the sweep to route[1…]. Returns the number of
/// hops (at most 63: IBA 14.2.2).
unsigned route_to(const Subnet& subnet, NodeIndex node, std::array<std::uint8_t, 64>& route);
/// The output ports of that route.
std::vector<std::uint8_t> route_ports(const Subnet& subnet, NodeIndex node);

}  // namespace ib::subnet
