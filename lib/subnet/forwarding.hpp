// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The forwarding tables of the switches of a model, and the paths of packets according to these tables. A trace does not trust
// the tables: it ends at a loop, a dead end or a missing entry, and reports which of them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "subnet/forwarding_tables.hpp"
#include "subnet/model.hpp"
#include "subnet/survey.hpp"

namespace ib::subnet {

/// Those tables of switches that were read.
struct ForwardingTables {
  std::map<NodeIndex, LinearTable> linear;
  std::map<NodeIndex, MulticastTable> multicast;
  std::vector<Failure> failures;  ///< switches with a table that is not completely known

  const LinearTable* linear_of(NodeIndex node) const;
  const MulticastTable* multicast_of(NodeIndex node) const;
};

/// The tables of a switch to read, and the range of LIDs.
struct ForwardingWanted {
  bool linear = true, multicast = false;
  LidRange lids;  ///< only blocks that contain some of these
};

/// Reads the tables of `switches`, nodes of `subnet`; other nodes among them are skipped. `subnet` must outlive the task.
/// `options.window` is a number of switches; `options.way` and the SMPs are as in survey().
async::Task<ForwardingTables> read_forwarding(mad::Transactor& transactor, const Subnet& subnet, std::vector<NodeIndex> switches,
                                              ForwardingWanted wanted, SurveyOptions options);

/// All switches of `subnet`, in the order of its nodes.
std::vector<NodeIndex> switches_of(const Subnet& subnet);

/// The end of a trace and its reason.
enum class TraceEnd : std::uint8_t {
  arrived,
  no_table,      ///< the table of the switch was not read
  not_known,     ///< the entry of the LID was not read, because the switch did not answer or it was not wanted
  no_entry,      ///< the switch has no entry for the LID, or the entry means "not forwarded"
  no_such_port,  ///< the entry names a port that the switch does not have
  no_link,       ///< the output port has no link
  not_active,    ///< the link of the output port carries no data: PortState is below Armed
  loop,          ///< the packet comes to a switch for the second time
  wrong_port,    ///< the packet ends at a port that does not own the LID
};
/// The word for an end: "arrived", "no_table", ….
std::string_view name(TraceEnd end);

/// The forwarding of a packet to a unicast LID by one switch.
struct NextHop {
  TraceEnd end{};         ///< arrived: the packet reaches `peer`, or stays in the switch if `out` is port 0
  PortIndex out = none;   ///< the output port, if the table names an existing port
  PortIndex peer = none;  ///< the port at the other end of the link
};
NextHop next_hop(const Subnet& subnet, const ForwardingTables& tables, NodeIndex node, Lid to);

/// A node on the path of a packet.
struct Hop {
  NodeIndex node = none;
  PortIndex in = none;   ///< the input port; none at the start
  PortIndex out = none;  ///< the output port; none at the end
  bool operator==(const Hop&) const = default;
};

/// The path of a packet to a unicast LID.
struct Trace {
  std::vector<Hop> hops;  ///< from the start to the end; at the end, `out` is the output port if it is the fault
  TraceEnd end{};
  bool arrived() const { return end == TraceEnd::arrived; }
};

/// The path of a packet that port `from` sends to `to`, according to the tables. From a port of a switch, the path begins at
/// the switch.
Trace trace(const Subnet& subnet, const ForwardingTables& tables, PortIndex from, Lid to);

/// The paths of a packet to a multicast LID.
struct MulticastTrace {
  struct Step {
    NodeIndex node = none;
    PortIndex in = none;          ///< the input port; none at the start
    std::uint32_t before = none;  ///< the previous step
  };
  /// A fault and its place. `port` is the output port; for a loop it is the input port of the second arrival. It is none if the
  /// fault is of the whole node.
  struct Fault {
    TraceEnd end{};
    NodeIndex node = none;
    PortIndex port = none;
  };
  std::vector<Step> steps;  ///< breadth first, ports ascending; each switch once, an end node once for each port
  std::vector<Fault> faults;

  /// The path to `node`. Empty if the packet does not reach it.
  std::vector<Hop> way_to(const Subnet& subnet, NodeIndex node) const;
};

/// The paths of a packet that port `from` sends to `mlid`, according to the tables: every switch sends the packet out by all
/// member ports but the input port.
MulticastTrace trace_multicast(const Subnet& subnet, const ForwardingTables& tables, PortIndex from, Lid mlid);

}  // namespace ib::subnet
