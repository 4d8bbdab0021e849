// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is known of a subnet: nodes, their ports, the links between ports, LIDs, and what could not be read. The model
// is flat: all nodes in one vector, all ports in another (those of a node side by side), links as port numbers of
// that vector, so that time and memory per node do not depend on the size of the fabric. It holds what the nodes
// said, byte for byte; nothing in it has been believed more than that.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "iba-gen/smp.hpp"
#include "iba/types.hpp"
#include "subnet/growing_array.hpp"
#include "subnet/guid_index.hpp"

namespace ib::subnet {

using NodeIndex = std::uint32_t;  ///< of Subnet::nodes(), or none
using PortIndex = std::uint32_t;  ///< of Subnet::ports(), or none

enum class NodeKind : std::uint8_t { other, ca, sw, router };

/// One port of a node. Port 0 is a switch's management port and unused on other nodes.
struct Port {
  std::array<std::uint8_t, 64> info_bytes{};  ///< PortInfo as it was read; zero if it was not
  Guid guid;                                  ///< from the NodeInfo that came in through this port; zero if none did
  NodeIndex node = none;
  PortIndex peer = none;  ///< the other end of the link
  std::uint8_t number{};
  std::uint8_t fdr10{};            ///< MlnxExtPortInfo's LinkSpeedActive, where that was asked for
  std::uint8_t fdr10_supported{};  ///< its LinkSpeedSupported
  bool has_info{};

  /// The PortInfo, all zero if it was not read.
  smp::PortInfo info() const;
  /// PortPhysicalState (IBA 14.2.5.6): 5 = LinkUp.
  unsigned physical_state() const { return info_bytes[33] >> 4; }
  /// PortState (IBA 14.2.5.6): 1 = Down … 4 = Active; 0 if unknown.
  unsigned state() const { return info_bytes[32] & 0xf; }
};

struct Node {
  smp::NodeInfo info;
  std::array<char, 64> description_bytes{};
  std::array<std::uint8_t, 20> switch_info_bytes{};
  PortIndex first_port{};     ///< port p is first_port + p
  std::uint16_t slots{};      ///< number of ports there is room for, port 0 included
  std::uint8_t hops{};        ///< length of the route that reached the node first
  PortIndex via = none;       ///< the port, on a node nearer to the start, from which it was reached; none at the start
  NodeIndex twin = none;      ///< the next node that claims the same GUID
  std::uint8_t entry_port{};  ///< the port by which its first NodeInfo came in
  bool has_description{}, has_switch_info{};
  bool is_twin{};      ///< another node claimed this GUID before
  bool lid_refused{};  ///< it was seen not to answer at its LID

  NodeKind kind() const;
  Guid guid() const;
  /// The description up to its terminator, all 64 bytes where there is none. Hostile bytes: escape before printing.
  std::string_view description() const;
  smp::SwitchInfo switch_info() const;
};

/// Something that a sweep could not learn, and why.
struct Failure {
  enum class Kind : std::uint8_t {
    no_answer,       ///< no reply to any try
    refused,         ///< a reply with an error status
    false_answer,    ///< a reply that can not be true
    duplicate_guid,  ///< two nodes claim one GUID
    duplicate_lid,   ///< two ports claim one LID
    hop_limit,       ///< the route would be too long
    no_record,       ///< the SA knows nothing of it
  };
  Kind kind{};
  NodeIndex node = none;  ///< the node that was asked, or the last one before the silent one; none: it is about no node
  int port = -1;          ///< its port, or −1
  bool beyond{};          ///< what is missing is the node at the other end of `port`
  std::string attribute;  ///< "NodeInfo", "PortInfo", …
  std::uint32_t modifier{};
  std::string why;                     ///< one line for people
  std::shared_ptr<const Error> error;  ///< the MAD error, if one was behind it
};

/// What can not be true in a NodeInfo, as a sentence; empty where nothing is wrong.
std::string false_claim(const smp::NodeInfo& info);

/// The name of a failure's kind in JSON: "no_answer", ….
std::string_view name(Failure::Kind kind);

/// How large a model may become. What fills it from answers that may be made up without end stops there.
struct SubnetLimits {
  std::size_t nodes = 1U << 17;  ///< a subnet has 49,151 unicast LIDs
  std::size_t ports = 1U << 21;  ///< port 0 and those without a link included: 42 for each of these LIDs; 200 MB
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
  std::span<const Port> ports_of(const Node& node) const { return {ports_.data() + node.first_port, node.slots}; }

  /// Port `number` of a node, or none if it has no such port.
  PortIndex port_of(NodeIndex node, unsigned number) const;
  /// The port that owns the LID and GUID by which `port` is addressed: port 0 of a switch, itself elsewhere.
  PortIndex end_port_of(PortIndex port) const;
  /// The first node that claimed `guid`, or none; Node::twin leads to further ones.
  NodeIndex find_node(Guid guid) const { return by_guid_.find(guid); }
  /// The end port of that port GUID, or none.
  PortIndex find_port(Guid guid) const { return by_port_guid_.find(guid); }
  /// The end port that owns `lid` (LMC considered), or none.
  PortIndex find_lid(Lid lid) const { return lid.value < by_lid_.size() ? by_lid_[lid.value] : none; }
  /// The base LID of the end port of `port`; zero if it is not known.
  Lid lid(PortIndex port) const;
  /// The LMC of the end port of `port`.
  unsigned lmc(PortIndex port) const;

  /// Whether a node that said `info` may be added without the model becoming too large; add_node() does not ask.
  bool has_room_for(const smp::NodeInfo& info) const;
  /// Adds a node that said `info`. If others claim its GUID it becomes the last of their twins.
  NodeIndex add_node(const smp::NodeInfo& info);
  /// Stores a PortInfo, and the LIDs that it names. Returns the port that owned one of them before, or none.
  PortIndex set_port_info(PortIndex port, Bytes info);
  void set_port_guid(PortIndex port, Guid guid);
  /// Joins two ports, taking both from whatever they were joined with.
  void link(PortIndex a, PortIndex b);
  void unlink(PortIndex port);

  /// Room for that many nodes and ports, to fill quickly a model whose size is known.
  void reserve(std::size_t nodes, std::size_t ports);

  PortIndex start = none;         ///< the end port that the sweep began at
  std::vector<Failure> failures;  ///< in no particular order until sort_failures()
  /// Puts the failures in the order of the nodes and ports that they speak of, so that it does not depend on the
  /// order of replies.
  void sort_failures();

 private:
  GrowingArray<Node> nodes_;
  GrowingArray<Port> ports_;
  GuidIndex by_guid_, by_port_guid_;
  std::vector<PortIndex> by_lid_;
  SubnetLimits limits_;
};

/// Why the filling of a model ended, as a sentence.
inline constexpr std::string_view no_room_text = "There are more nodes or ports than a subnet can have; going no further.";

/// Writes the output ports of the route that reached `node`, from the start of the sweep, to route[1…] and returns
/// their number (at most 63: IBA 14.2.2).
unsigned route_to(const Subnet& subnet, NodeIndex node, std::array<std::uint8_t, 64>& route);

}  // namespace ib::subnet
