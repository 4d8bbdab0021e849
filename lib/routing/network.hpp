// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The links and LIDs of a subnet as flat arrays by switch index, copied from the model, for analyses that pass over them thousands of
// times. Switches have the indexes 0…n−1 in the order of their GUIDs, which does not depend on how the model was filled. A host is a CA or
// router port with a LID. A PortId names a port that can send, a port of a switch (port 0 included) or a host: first come the
// ports of switch 0, then the ports of switch 1, …, then the hosts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "iba/types.hpp"
#include "subnet/model/model.hpp"

namespace ib::routing {

using SwitchIndex = std::uint32_t;
using HostIndex = std::uint32_t;
using PortId = std::uint32_t;
inline constexpr std::uint32_t none = 0xffffffffU;

struct Wire {
  enum class To : std::uint8_t {
    nothing,      ///< no link
    dead,         ///< a link that is not Active at one of its ends
    silent,       ///< an Active link to something that did not answer
    switch_port,  ///< port `in_port` of the switch `index`
    host,         ///< the host `index`
    other_end,    ///< an end port without a LID; `index` is none
  };
  To to = To::nothing;
  std::uint8_t in_port{};
  std::uint32_t index = none;
  bool carries() const { return to >= To::switch_port; }
};

struct Switch {
  subnet::NodeIndex node{};
  PortId first_port_id{};               ///< of port 0; port p has first_port_id + p
  std::uint16_t slots{};                ///< NumPorts + 1
  std::uint32_t first_host{}, hosts{};  ///< the hosts behind its ports are attached()[first_host … first_host + hosts − 1]
};

struct Host {
  subnet::PortIndex port{};
  Lid base;
  std::uint8_t lmc{};
  SwitchIndex leaf = none;   ///< the switch behind its link; none if another end port is there, or the link is dead
  std::uint8_t leaf_port{};  ///< the port of that switch
  bool is_aggregation{};     ///< an Aggregation Node inside of a switch (SHARP)
};

struct DestinationLid {
  Lid lid;
  HostIndex host = none;  ///< its owner, …
  SwitchIndex at = none;  ///< … or the switch whose port 0 owns it
  bool is_switch() const { return at != none; }
};

class Network {
 public:
  explicit Network(const subnet::Subnet& subnet);

  std::span<const Switch> switches() const { return switches_; }
  std::span<const Host> hosts() const { return hosts_; }
  std::span<const HostIndex> attached(const Switch& to) const { return std::span(attached_).subspan(to.first_host, to.hosts); }
  std::span<const HostIndex> stray() const { return stray_; }
  /// The number of CA and router ports that have no LID, or whose LID was not read, though their link is Active at both ends.
  std::size_t without_lid() const { return without_lid_; }
  std::size_t switches_with_lid() const;

  std::size_t port_id_count() const { return wires_.size(); }
  const Wire& wire(PortId port_id) const { return wires_[port_id]; }
  /// Calls use(wire) for each link from switch `at` to a switch.
  template <class F>
  void each_neighbour(SwitchIndex at, F&& use) const {
    for (unsigned port = 1; port < switches_[at].slots; ++port) {
      if (const Wire& link = wire(port_id(at, port)); link.to == Wire::To::switch_port) use(link);
    }
  }
  PortId port_id(SwitchIndex at, unsigned port) const { return switches_[at].first_port_id + port; }
  PortId port_id_of_host(HostIndex host) const { return first_host_port_id_ + host; }
  bool is_host_port(PortId port_id) const { return port_id >= first_host_port_id_; }
  HostIndex host_at(PortId port_id) const { return port_id - first_host_port_id_; }
  SwitchIndex switch_at(PortId port_id) const { return switch_of_port_id_[port_id]; }
  unsigned port_at(PortId port_id) const {
    if (is_host_port(port_id)) return subnet_.port(hosts_[host_at(port_id)].port).number;
    return port_id - switches_[switch_at(port_id)].first_port_id;
  }
  subnet::PortIndex port_of(PortId port_id) const {
    if (is_host_port(port_id)) return hosts_[host_at(port_id)].port;
    return subnet_.node(switches_[switch_at(port_id)].node).first_port + port_at(port_id);
  }

  /// The LIDs of hosts in ascending order (with LMC, each of a host), `with_switches` with the LIDs of switches. A LID that two
  /// ports claim belongs to the port that claimed it first.
  std::vector<DestinationLid> destinations(bool with_switches) const;
  /// The highest LID of a port of the model; zero if there is none.
  Lid last_lid() const;
  SwitchIndex switch_of(subnet::NodeIndex node) const { return switch_of_node_[node]; }
  HostIndex host_of(subnet::PortIndex port) const { return host_of_port_[port]; }
  /// The LID of port 0; zero if it has none.
  Lid lid_of(SwitchIndex at) const { return subnet_.lid(subnet_.node(switches_[at].node).first_port); }
  const subnet::Subnet& subnet() const { return subnet_; }

 private:
  void add_nodes();
  void add_wires();
  void attach_hosts();
  Wire wire_of(subnet::PortIndex port) const;

  const subnet::Subnet& subnet_;
  std::vector<Switch> switches_;
  std::vector<Host> hosts_;
  std::vector<HostIndex> attached_, stray_;
  std::vector<Wire> wires_;                     // by PortId
  std::vector<SwitchIndex> switch_of_port_id_;  // for ports of switches
  std::vector<SwitchIndex> switch_of_node_;     // by node of the model
  std::vector<HostIndex> host_of_port_;         // by port of the model
  PortId first_host_port_id_{};
  std::size_t without_lid_{};
};

/// The links of the shortest route from each switch to the switches with destinations, over links that carry packets.
class Distances {
 public:
  static constexpr std::uint16_t unreachable = 0xffff;
  Distances(const Network& network, std::span<const DestinationLid> destinations);
  std::uint16_t between(SwitchIndex from, SwitchIndex to) const {
    return row_of_[to] == none ? unreachable : links_[row_of_[to] * count_ + from];
  }

 private:
  std::size_t count_;
  std::vector<std::uint32_t> row_of_;  // by switch: none if it has no destinations
  std::vector<std::uint16_t> links_;
};

}  // namespace ib::routing
