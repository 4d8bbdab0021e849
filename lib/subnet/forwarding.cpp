// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/forwarding.hpp"

#include <algorithm>

namespace ib::subnet {
namespace {

bool is_switch(const Subnet& subnet, NodeIndex node) { return subnet.node(node).kind() == NodeKind::sw; }

/// Follows the link of `out`. On `arrived`, `peer` is the port at the other end.
TraceEnd cross(const Subnet& subnet, PortIndex out, PortIndex& peer) {
  if (out == none) return TraceEnd::no_such_port;
  const Port& port = subnet.port(out);
  if (port.peer == none) return TraceEnd::no_link;
  if (port.has_info && port.state() < smp::PortState::armed) return TraceEnd::not_active;
  peer = port.peer;
  return TraceEnd::arrived;
}

/// Looks up what a switch does with a packet to `to`. On `arrived`, `out` is its output port, which may be port 0.
TraceEnd forward(const Subnet& subnet, const ForwardingTables& tables, NodeIndex node, Lid to, PortIndex& out) {
  const LinearTable* const table = tables.linear_of(node);
  if (table == nullptr) return TraceEnd::no_table;
  if (!table->exists(to)) return TraceEnd::no_entry;
  if (!table->is_known(to)) return TraceEnd::not_known;
  const std::uint8_t number = table->out_port(to);
  if (number == no_out_port) return TraceEnd::no_entry;
  out = subnet.port_of(node, number);
  return out == none ? TraceEnd::no_such_port : TraceEnd::arrived;
}

/// Reads the tables of switches. If a switch falls silent, the entries read before are kept.
class ForwardingReader {
 public:
  ForwardingReader(const Subnet& subnet, ForwardingWanted wanted) : subnet_(subnet), wanted_(wanted) {}

  async::Task<mad::Result<bool>> read(SurveyPort port) {
    const NodeIndex at = subnet_.port(port.index).node;
    smp::SwitchInfo info = subnet_.node(at).switch_info();
    if (!subnet_.node(at).has_switch_info) {
      const mad::Result<smp::SwitchInfo> answer = co_await port.transactor.try_subn_get<smp::SwitchInfo>(port.path);
      if (!answer) co_return answer.shared_error();
      info = *answer;
    }
    if (wanted_.linear) {
      LinearTable& table = found.linear.try_emplace(at, info, wanted_.lids).first->second;
      std::shared_ptr<const mad::MadError> error = co_await read_table(port.transactor, port.path, table);
      if (error) co_return error;
    }
    if (wanted_.multicast) {
      const unsigned ports = subnet_.node(at).info.num_ports;
      MulticastTable& table = found.multicast.try_emplace(at, info, ports, wanted_.lids).first->second;
      std::shared_ptr<const mad::MadError> error = co_await read_table(port.transactor, port.path, table);
      if (error) co_return error;
    }
    co_return true;
  }

  ForwardingTables found;

 private:
  const Subnet& subnet_;
  ForwardingWanted wanted_;
};

}  // namespace

const LinearTable* ForwardingTables::linear_of(NodeIndex node) const {
  const auto found = linear.find(node);
  return found == linear.end() ? nullptr : &found->second;
}

const MulticastTable* ForwardingTables::multicast_of(NodeIndex node) const {
  const auto found = multicast.find(node);
  return found == multicast.end() ? nullptr : &found->second;
}

std::vector<NodeIndex> switches_of(const Subnet& subnet) {
  std::vector<NodeIndex> switches;
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    if (is_switch(subnet, at)) switches.push_back(at);
  }
  return switches;
}

async::Task<ForwardingTables> read_forwarding(mad::Transactor& transactor, const Subnet& subnet, std::vector<NodeIndex> switches,
                                              ForwardingWanted wanted, SurveyOptions options) {
  std::vector<PortIndex> ports;
  for (const NodeIndex at : switches) {
    if (is_switch(subnet, at)) ports.push_back(subnet.node(at).first_port);
  }
  ForwardingReader reader(subnet, wanted);
  const SurveyQuestion<bool> ask = [&reader](SurveyPort port) { return reader.read(port); };
  Surveyed<bool> surveyed = co_await survey(transactor, subnet, std::move(ports), std::move(options), ask);
  reader.found.failures = std::move(surveyed.failures);
  co_return std::move(reader.found);
}

std::string_view name(TraceEnd end) {
  switch (end) {
    case TraceEnd::arrived:
      return "arrived";
    case TraceEnd::no_table:
      return "no_table";
    case TraceEnd::not_known:
      return "not_known";
    case TraceEnd::no_entry:
      return "no_entry";
    case TraceEnd::no_such_port:
      return "no_such_port";
    case TraceEnd::no_link:
      return "no_link";
    case TraceEnd::not_active:
      return "not_active";
    case TraceEnd::loop:
      return "loop";
    case TraceEnd::wrong_port:
      return "wrong_port";
  }
  return "";
}

NextHop next_hop(const Subnet& subnet, const ForwardingTables& tables, NodeIndex node, Lid to) {
  NextHop next;
  next.end = forward(subnet, tables, node, to, next.out);
  const bool leaves = next.end == TraceEnd::arrived && subnet.port(next.out).number != 0;
  if (leaves) next.end = cross(subnet, next.out, next.peer);
  return next;
}

Trace trace(const Subnet& subnet, const ForwardingTables& tables, PortIndex from, Lid to) {
  Trace way;
  std::vector<bool> seen(subnet.nodes().size());  // switches
  Hop hop{subnet.port(from).node, none, none};
  const PortIndex owner = subnet.find_lid(to);
  PortIndex at = subnet.end_port_of(from);  // position of the packet: the end port of the sender, later the input port of a node
  for (;;) {
    way.end = TraceEnd::arrived;
    if (owner != none && subnet.end_port_of(at) == owner) break;
    if (seen[hop.node]) {
      way.end = TraceEnd::loop;
    } else if (is_switch(subnet, hop.node)) {
      seen[hop.node] = true;
      way.end = forward(subnet, tables, hop.node, to, hop.out);
      if (way.arrived() && subnet.port(hop.out).number == 0) way.end = TraceEnd::wrong_port;
    } else if (hop.in == none) {
      hop.out = at;
    } else {
      way.end = TraceEnd::wrong_port;
    }
    PortIndex peer = none;
    if (way.arrived()) way.end = cross(subnet, hop.out, peer);
    if (!way.arrived()) break;
    way.hops.push_back(hop);
    hop = {subnet.port(peer).node, peer, none};
    at = peer;
  }
  way.hops.push_back(hop);
  return way;
}

std::vector<Hop> MulticastTrace::way_to(const Subnet& subnet, NodeIndex node) const {
  std::vector<Hop> hops;
  auto step = std::ranges::find(steps, node, &Step::node);
  if (step == steps.end()) return hops;
  PortIndex out = none;
  for (;;) {
    hops.push_back({step->node, step->in, out});
    if (step->before == none) break;
    out = subnet.port(step->in).peer;
    step = steps.begin() + step->before;
  }
  std::ranges::reverse(hops);
  return hops;
}

namespace {

/// The implementation of trace_multicast().
class MulticastWalk {
 public:
  MulticastWalk(const Subnet& subnet, const ForwardingTables& tables, Lid mlid)
      : subnet_(subnet), tables_(tables), mlid_(mlid), seen_(subnet.nodes().size()) {}

  MulticastTrace from(PortIndex start) {
    visit({subnet_.port(start).node, none, none});
    for (std::uint32_t at = 0; at < found_.steps.size(); ++at) {
      const MulticastTrace::Step step = found_.steps[at];
      if (is_switch(subnet_, step.node)) {
        send_on(at, step);
      } else if (step.in == none) {
        send_by(at, step.node, start);
      }
    }
    return std::move(found_);
  }

 private:
  void visit(const MulticastTrace::Step& step) {
    if (is_switch(subnet_, step.node)) {
      if (seen_[step.node]) {
        found_.faults.push_back({TraceEnd::loop, step.node, step.in});
        return;
      }
      seen_[step.node] = true;
    }
    found_.steps.push_back(step);
  }

  void send_on(std::uint32_t at, const MulticastTrace::Step& step) {
    const MulticastTable* const table = tables_.multicast_of(step.node);
    const auto fault = [&](TraceEnd end) { found_.faults.push_back({end, step.node, none}); };
    if (table == nullptr) return fault(TraceEnd::no_table);
    const std::vector<std::uint8_t> members = table->members(mlid_);
    if (table->exists(mlid_) && !table->is_known(mlid_)) {
      fault(TraceEnd::not_known);
    } else if (members.empty()) {
      fault(TraceEnd::no_entry);
    }
    for (const std::uint8_t number : members) {
      const PortIndex out = subnet_.port_of(step.node, number);
      const bool stays = number == 0 || (out != none && out == step.in);
      if (!stays) send_by(at, step.node, out);
    }
  }

  void send_by(std::uint32_t at, NodeIndex node, PortIndex out) {
    PortIndex peer = none;
    const TraceEnd end = cross(subnet_, out, peer);
    if (end == TraceEnd::arrived) {
      visit({subnet_.port(peer).node, peer, at});
    } else {
      found_.faults.push_back({end, node, out});
    }
  }

  const Subnet& subnet_;
  const ForwardingTables& tables_;
  Lid mlid_;
  std::vector<bool> seen_;
  MulticastTrace found_;
};

}  // namespace

MulticastTrace trace_multicast(const Subnet& subnet, const ForwardingTables& tables, PortIndex from, Lid mlid) {
  return MulticastWalk(subnet, tables, mlid).from(from);
}

}  // namespace ib::subnet
