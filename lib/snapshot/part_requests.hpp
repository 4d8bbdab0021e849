// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The requests of each part of a snapshot. They are the requests that the commands send, in both dialects, so that each command finds the
// answers to its requests in the snapshot. The sweep's own requests are not repeated: NodeInfo, NodeDescription, SwitchInfo, and PortInfo
// of all ports of switches and of the linked ports of other nodes.
//
// An agent is a port that gets the requests: port 0 of a switch, each linked port of another node. N is its NumPorts. "Own" is the number
// of the agent's port. For a node that is not a switch, PortInfo of port 0 is the PortInfo of the agent's port, and the other bits of the
// attribute modifier do not change the stored answer (answer_key.hpp). The sweep has read these PortInfos.
//
//   part        agents            requests, and who sends them
//   ports       all               PortInfo: 1…N where the sweep had no reason (smpquery, ibaddr, ibportstate)
//                                 PortInfoExtended of nodes that say that they have it: 0…N and 255 (smpquery, perfquery -T).
//                                 MlnxExtPortInfo: 0…N (smpquery, ibportstate, ibnetdiscover --fdr10)
//   lft         switches          LinearForwardingTable: blocks up to LinearFDBTop (ibroute, ibtracert, dump_*, check_lft_balance, …)
//                                 AdaptiveRoutingInfo of Mellanox switches (check_routes)
//   mft         switches          MulticastForwardingTable: blocks up to MulticastFDBTop, all positions
//   sl2vl       all               SLtoVLMappingTable: of a switch input 0…N by output 0…N; of another node output Own
//   vlarb       all               VLArbitrationTable: as many blocks as the port's capacities need (port 0 of a switch: if enhanced;
//                                 a port without a link of a node that is not a switch: only at the node's first agent)
//   pkeys       all               P_KeyTable: PartitionCap entries; of external ports of switches PartitionEnforcementCap. A node that
//                                 claims more than any has: of each port its share of PartRequests::most_pkey_requests
//   guids       all               GUIDInfo: GUIDCap entries
//   sminfo      managers          SMInfo of ports with IsSM, and of the port at the SM LID of our own one
//   attributes  all               nothing but what follows from iba-defs
//   counters    all, at QP1       ClassPortInfo; PortCounters and PortCountersExtended of 0, of each port, of 255 with AllPortSelect
//   details     all, at QP1       ClassPortInfo, where the part counters has not read it
//   congestion  all, at QP1       ClassPortInfo, CongestionInfo; where one is answered CongestionLog, CongestionControlTable; of switches
//                                 SwitchPortCongestionSetting
//   vendor      Mellanox, at QP1  ClassPortInfo; PortXmitWait of InfiniScale III (vendstat)
//   phy         (see read_phy_part())
//
// Each part has besides what iba-defs has in it (iba/queries.hpp): of an agent once, of ports 0…N, by PortSelect of 255 too, tables in
// blocks as far as SwitchInfo says; what only Mellanox devices or only switches have (smpquery, perfquery, ibccquery, vendstat).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "iba-gen/smp.hpp"
#include "iba/struct_info.hpp"
#include "snapshot/parts.hpp"
#include "subnet/model/failures.hpp"

namespace ib::snapshot {

/// Requests to one agent for one attribute.
struct AttributeRequests {
  enum class By : std::uint8_t {
    modifier,      ///< `values` are attribute modifiers
    port_select,   ///< `values` are PortSelects
    config_space,  ///< `values` are the numbers of subnet::wait_request()
  };
  const StructInfo* attribute{};
  std::vector<std::uint32_t> values{};  ///< the first is requested before all others: a node that lacks the attribute gets one request
  By by = By::modifier;
  std::uint8_t mgmt_class{};  ///< of an attribute of several classes; else 0
  bool unsure{};              ///< the agent may lack the attribute: no answer does not make it silent
  bool lacking{};             ///< the agent lacks the attribute: the remaining values are not requested

  /// The attribute modifier and the content of the request for `value`.
  std::uint32_t modifier(std::uint32_t value) const;
  std::vector<std::uint8_t> payload(std::uint32_t value) const;
};

/// What an agent has answered so far, as far as the next requests depend on it.
struct AgentState {
  bool requested{};                 ///< ClassPortInfo was requested, and the agent did not fall silent
  bool has_answered{};              ///< ClassPortInfo or CongestionInfo was answered
  std::uint16_t capability_mask{};  ///< from it
  std::uint16_t ccti_limit{};       ///< from CongestionControlTable
  std::uint16_t device_id{};        ///< from GeneralInfo

  void take(const AttributeRequests& of, std::uint32_t value, Bytes payload);
};

/// Computes the requests of parts from a model.
class PartRequests {
 public:
  PartRequests(const subnet::Subnet& subnet, const subnet::Failures& failures);

  /// The agents that get the requests of a part, in the order of the nodes.
  std::vector<subnet::PortIndex> agents(Part part) const;
  /// Whether the requests of a part are SMPs.
  static bool by_smp(Part part);

  static constexpr unsigned steps = 3;
  /// The requests of a step to an agent, whose answers to the steps before are in `state`.
  std::vector<AttributeRequests> of_step(Part part, subnet::PortIndex agent, unsigned step, const AgentState& state) const;
  /// The limit of requests to one agent for P_Key tables. Each of up to 255 ports may claim 65,535 P_Keys, and thus 522,240 requests. The
  /// limit leaves 1,024 P_Keys to each of them. No other part needs one: the size of its tables follows from ports, LIDs and VLs.
  static constexpr std::size_t most_pkey_requests = 8192;
  /// A sentence on the requests of a part to an agent that are left out because of the limits. Nothing if no request is left out.
  std::optional<std::string> left_out(Part part, subnet::PortIndex agent) const;
  /// The number of requests of all steps, where the agent has all that it can have.
  /// `requested`: ClassPortInfo was requested before.
  std::uint64_t plan(Part part, subnet::PortIndex agent, bool requested) const;

  /// PortInfo of port `number` of the agent's node was answered.
  void take_port_info(subnet::PortIndex agent, std::uint32_t number, Bytes payload);

  struct Agent;  ///< a port that gets requests

 private:
  Agent agent_of(subnet::PortIndex port) const;
  std::vector<AttributeRequests> planned(Part part, const Agent& of, unsigned step, const AgentState& state) const;
  std::vector<AttributeRequests> ports(const Agent& of) const;
  std::vector<AttributeRequests> marked(Part part, const Agent& of) const;
  std::vector<AttributeRequests> missing_port_infos(const Agent& of) const;
  std::vector<AttributeRequests> vl_arbitration(const Agent& of, unsigned step) const;
  std::optional<smp::PortInfo> port_info(const Agent& of, std::uint32_t number) const;

  const subnet::Subnet& subnet_;
  std::vector<subnet::PortIndex> agents_;
  std::map<subnet::NodeIndex, subnet::PortIndex> first_agents_;  // of nodes with several
  std::map<subnet::PortIndex, smp::PortInfo> infos_;             // of ports without PortInfo in the model
  std::vector<bool> requested_infos_;                            // by port: the sweep requested PortInfo and got no answer
};

}  // namespace ib::snapshot
