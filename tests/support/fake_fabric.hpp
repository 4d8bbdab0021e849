// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A subnet in memory: switches and channel adapters that answer SMPs (SubnGet of NodeInfo, NodeDescription, PortInfo,
// SwitchInfo, LFT, MFT, SL to VL and P_Key tables, GUIDInfo; SubnSet of PortInfo and SMInfo) by directed route and by LID, with the faults
// that real fabrics have. It answers through a FakeChannel on a fake clock, so that minutes of timeouts cost nothing. GMPs go to the
// services that nodes run side by side (fake_pma.hpp is one), those that no node serves to Network::gmp.
//
//   FakeFabric fabric;
//   const auto sw = fabric.add_switch(0x100, 8, "leaf"); const auto host = fabric.add_ca(0x200, 1, "host");
//   fabric.link(sw, 1, host, 1); fabric.assign_lids(); fabric.attach(host);
//   Loop loop(clock); Rpc rpc(loop, fabric.open()); … fabric.node(sw).faults.silent = true;
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "iba-gen/smp.hpp"
#include "support/fake_channel.hpp"
#include "sys/device.hpp"

namespace ibtest {

class FakeFabric {
 public:
  using NodeId = std::size_t;
  using Answer = std::vector<std::uint8_t>;

  struct Port {
    std::optional<std::pair<NodeId, unsigned>> peer;    ///< what is linked to it
    bool up = true;                                     ///< a link is up when both of its ports are
    ib::smp::PortInfo info;                             ///< what it answers, but for the state, which follows the link
    std::optional<ib::smp::PortInfoExtended> extended;  ///< if it has that
    std::vector<std::uint16_t> pkeys{ib::default_pkey.value};
  };
  struct Faults {
    bool silent = false;          ///< it never answers; a switch still forwards
    unsigned answers_left = ~0U;  ///< after so many answers it falls silent
    unsigned drop_next = 0;       ///< drops so many requests, then answers
    std::function<bool()> deaf;   ///< called for each request: true drops it
    std::uint16_t ignores = 0;    ///< never answers requests for this attribute
    unsigned busy_next = 0;       ///< answers so many requests with status Busy
    unsigned vanish_after = ~0U;  ///< after so many answers all its links go down
    std::uint16_t status = 0;     ///< the status of every answer to `status_attribute` (0: to any)
    std::uint16_t status_attribute = 0;
    std::optional<ib::async::Duration> delay;  ///< instead of the fabric's
    std::function<void(Answer&)> lie;          ///< may change every answer
  };
  /// The agent of a node for a management class that uses QP1.
  struct Service {
    /// The answer to a request that came to port `in_port` of the node; nothing: no answer.
    std::function<std::optional<Answer>(unsigned in_port, ib::Bytes request)> answer;
    Faults faults;          ///< of this agent; those of its node apply as well
    unsigned requests = 0;  ///< that reached the node
    unsigned answered = 0;
  };
  struct Node {
    ib::smp::NodeInfo info;  ///< port_guid and local_port_num are set for each answer
    std::array<std::uint8_t, 64> description{};
    ib::smp::SwitchInfo switch_info;
    std::optional<ib::smp::SMInfo> sm_info;  ///< of a subnet manager, if one runs there
    std::vector<Port> ports;                 ///< [0] is a switch's management port; unused by CAs
    std::vector<std::uint8_t> lft;           ///< of a switch: output port by LID, 255 for none
    /// Of a switch: output ports by multicast LID, up to switch_info.multicast_fdb_cap of them.
    std::map<std::uint16_t, std::set<unsigned>> mft;
    /// VLs by SL, by input and output port; where there are none SL n goes to VL n modulo 8.
    std::map<std::pair<unsigned, unsigned>, std::array<std::uint8_t, 16>> sl_to_vl;
    std::optional<bool> adaptive_routing;      ///< of a switch that has AdaptiveRoutingInfo: whether it is on
    Faults faults;                             ///< of its SMA and of all its services
    std::map<std::uint8_t, Service> services;  ///< by management class
    bool is_switch() const { return info.node_type == ib::smp::NodeType::switch_; }
    unsigned answered = 0;  ///< MADs so far
  };
  /// Faults of the network.
  struct Network {
    ib::async::Duration delay = std::chrono::microseconds(10);
    double loss = 0;              ///< of requests, at random by `seed`
    bool duplicate = false;       ///< every answer arrives twice
    unsigned capacity = ~0U;      ///< more requests than this on their way: the surplus is lost, as on VL15
    bool lid_routing = true;      ///< LID routed SMPs are answered
    bool combined_routes = true;  ///< directed routes that begin or end with LID routing are answered
    bool rmpp = false;            ///< channels put answers in segments together, as the kernel does
    bool reports = true;          ///< channels report unanswered requests, as the kernel does
    /// Answers the GMPs for which the node at their LID has no service; nothing: no answer.
    std::function<std::optional<Answer>(ib::Bytes request, const ib::path::Path& path)> gmp;
    std::function<void(FakeChannel& channel)> on_serve;  ///< of every channel
    /// Sees every answer last, also a missing one: what it returns arrives in the place of the answer.
    std::function<std::vector<Answer>(ib::Bytes request, std::optional<Answer> answer)> tamper;
  };

  FakeFabric();

  NodeId add_switch(std::uint64_t guid, unsigned ports, std::string_view description);
  /// Port N of a CA has the GUID `guid` + N.
  NodeId add_ca(std::uint64_t guid, unsigned ports, std::string_view description);
  NodeId add_router(std::uint64_t guid, unsigned ports, std::string_view description);
  void link(NodeId a, unsigned port_a, NodeId b, unsigned port_b);
  void set_link(NodeId node, unsigned port, bool up);
  /// Gives all nodes LIDs from 1, in the order of their creation, and switches the LFTs for shortest paths.
  void assign_lids();
  /// A two-level fat tree: `leaves` × `hosts` CAs of one port, each leaf linked once to each of `spines`. With LIDs;
  /// attached to the first host.
  static FakeFabric fat_tree(unsigned leaves, unsigned spines, unsigned hosts);

  Node& node(NodeId id) { return nodes_[id]; }
  std::size_t size() const { return nodes_.size(); }
  /// Whether port `port` of a node has a link that is up.
  bool is_up(NodeId node, unsigned port) const { return is_up(nodes_[node], port); }
  ib::Guid port_guid(NodeId node, unsigned port) const;
  /// The PortInfo of a port of a node, except LocalPortNum, which depends on the port that receives the request.
  ib::smp::PortInfo port_info(NodeId node, unsigned port) const;
  Network network;
  void seed(unsigned value) { random_.seed(value); }

  /// Where the program under test sits: port `port` of `node`. Its end port is `fake0/PORT`.
  void attach(NodeId node, unsigned port = 1);
  const ib::sys::EndPort& end_port() const { return *end_port_; }
  /// Whether the cable at this end port carries nothing. False where no cable was ever there.
  bool is_cut_off() const { return nodes_[host_].ports.at(host_port_).peer && !is_up(host_, host_port_); }
  /// A channel to the fabric, which must outlive it. The last one opened is channel().
  std::unique_ptr<FakeChannel> open();
  FakeChannel& channel() { return *channel_; }

  /// Every SubnSet that reached a node.
  std::vector<Answer> sets;

  /// SMPs that were sent, by node that they were for; nodes_.size() for those that reach none.
  std::size_t requests_to(NodeId id) const { return requests_.size() > id ? requests_[id] : 0; }

 private:
  struct Target {
    NodeId node;
    unsigned in_port;
  };
  NodeId add(ib::smp::NodeType type, std::uint64_t guid, unsigned ports, std::string_view description);
  void carry(FakeChannel& channel, ib::Bytes mad, const ib::path::Path& path);
  std::optional<Answer> answer_smp(const std::optional<Target>& target, ib::Bytes mad, ib::async::Duration& delay);
  std::optional<Answer> answer_gmp(const std::optional<Target>& target, ib::Bytes mad, const ib::path::Path& path,
                                   ib::async::Duration& delay);
  static void answered(Node& node);
  std::optional<Target> follow_route(ib::Bytes mad, const ib::path::Path& path) const;
  std::optional<Target> find_lid(ib::Lid lid) const { return find_lid({host_, host_port_}, lid); }
  std::optional<Target> find_lid(Target from, ib::Lid lid) const;
  bool has_lid(const Target& at, ib::Lid lid) const;
  bool is_owned(ib::Lid lid) const;
  bool leads_back(const Target& from) const;
  std::optional<Target> across(NodeId node, unsigned port) const;
  bool is_up(const Node& node, unsigned port) const;
  ib::smp::PortInfo port_info(const Node& node, unsigned port) const;
  Answer answer(NodeId id, unsigned in_port, ib::Bytes request);
  std::uint16_t fill(NodeId id, unsigned in_port, ib::Bytes request, ib::MutableBytes data);
  static std::uint16_t fill_pkeys(const Node& node, unsigned in_port, std::uint32_t modifier, ib::MutableBytes data);
  static std::uint16_t fill_sl_to_vl(const Node& node, std::uint32_t modifier, ib::MutableBytes data);
  static std::uint16_t fill_mft(const Node& node, std::uint32_t modifier, ib::MutableBytes data);
  std::uint16_t fill_port_info(Node& node, unsigned in_port, ib::Bytes request, ib::MutableBytes data);
  void route_switches();

  std::deque<Node> nodes_;
  std::vector<std::size_t> requests_;
  std::mt19937 random_;
  NodeId host_ = 0;
  unsigned host_port_ = 1;
  std::unique_ptr<ib::sys::Device> device_;
  ib::sys::EndPort* end_port_{};
  FakeChannel* channel_{};
};

}  // namespace ibtest
