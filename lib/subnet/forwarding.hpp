// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Where packets go: the forwarding tables of the switches of a model, and the ways that follow from them. A trace believes no table: it
// ends at a loop, a dead end or a missing entry, and says which.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "subnet/forwarding_tables.hpp"
#include "subnet/model.hpp"
#include "subnet/survey.hpp"

namespace ib::subnet {

/// Tables of switches, those that were read.
struct ForwardingTables {
  std::map<NodeIndex, LinearTable> linear;
  std::map<NodeIndex, MulticastTable> multicast;
  std::vector<Failure> failures;  ///< switches of which a table is not, or not wholly, known

  const LinearTable* linear_of(NodeIndex node) const;
  const MulticastTable* multicast_of(NodeIndex node) const;
};

/// Which tables of a switch are read, and how much of them.
struct ForwardingWanted {
  bool linear = true, multicast = false;
  LidRange lids;  ///< only blocks that hold some of these
};

/// Reads the tables of `switches`, nodes of `subnet`; those of them that are none are left out. `subnet` must outlive the task.
/// `options.window` counts switches; SMPs and `options.way` are as in survey().
async::Task<ForwardingTables> read_forwarding(mad::Transactor& transactor, const Subnet& subnet, std::vector<NodeIndex> switches,
                                              ForwardingWanted wanted, SurveyOptions options);

/// All switches of `subnet`, in the order of its nodes.
std::vector<NodeIndex> switches_of(const Subnet& subnet);

/// How a way ended, and why.
enum class TraceEnd : std::uint8_t {
  arrived,
  no_table,      ///< the table of the switch was not read
  not_known,     ///< the entry of the LID was not read
  no_entry,      ///< the switch has no entry for the LID, or the entry says that there is no way
  no_such_port,  ///< the entry names a port that the switch does not have
  no_link,       ///< nothing is linked to the output port
  not_active,    ///< the link of the output port carries no data: its PortState is below Armed
  loop,          ///< the packet comes to a switch where it was before
  wrong_port,    ///< the packet ends at a port that does not own the LID
};
/// The end as a word: "arrived", "no_table", ….
std::string_view name(TraceEnd end);

/// What a switch does with a packet to a unicast LID.
struct NextHop {
  TraceEnd end{};         ///< arrived: the packet gets to `peer`, or stays where `out` is port 0
  PortIndex out = none;   ///< the output port, where the table names one that there is
  PortIndex peer = none;  ///< the port at the other end of its link
};
NextHop next_hop(const Subnet& subnet, const ForwardingTables& tables, NodeIndex node, Lid to);

/// A node on a way.
struct Hop {
  NodeIndex node = none;
  PortIndex in = none;   ///< by which the packet comes in; none at the start
  PortIndex out = none;  ///< by which it leaves; none at the end
  bool operator==(const Hop&) const = default;
};

/// The way of a packet to a unicast LID.
struct Trace {
  std::vector<Hop> hops;  ///< the first is the start; the last is where it ends, with `out` where the output port is at fault
  TraceEnd end{};
  bool arrived() const { return end == TraceEnd::arrived; }
};

/// The way of a packet that port `from` sends to `to`, as the tables say. From a port of a switch it begins at the switch.
Trace trace(const Subnet& subnet, const ForwardingTables& tables, PortIndex from, Lid to);

/// The ways of a packet to a multicast LID.
struct MulticastTrace {
  struct Step {
    NodeIndex node = none;
    PortIndex in = none;          ///< by which the packet comes in; none at the start
    std::uint32_t before = none;  ///< the step from which it comes
  };
  /// What goes wrong, and where. `port` is the output port, of a loop the input port where the packet comes again; none where the
  /// node as a whole is at fault.
  struct Fault {
    TraceEnd end{};
    NodeIndex node = none;
    PortIndex port = none;
  };
  std::vector<Step> steps;  ///< breadth first, ports ascending; each node once, an end node once for each port
  std::vector<Fault> faults;

  /// The way to `node`, or no hops where the packet does not get there.
  std::vector<Hop> way_to(const Subnet& subnet, NodeIndex node) const;
};

/// The ways of a packet that port `from` sends to `mlid`, as the tables say: every switch sends it on by all of its members but the one by
/// which it came in.
MulticastTrace trace_multicast(const Subnet& subnet, const ForwardingTables& tables, PortIndex from, Lid mlid);

}  // namespace ib::subnet
