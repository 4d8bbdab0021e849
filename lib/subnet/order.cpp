// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// breadth_first() follows links. legacy_sweep() simulates a first-in, first-out queue of requests. Discovery by ibnetdiscover
// has the same order if replies come in the order of requests.
#include "subnet/order.hpp"

#include <algorithm>
#include <deque>
#include <iterator>

#include "subnet/mlnx.hpp"

namespace ib::subnet {
namespace {

constexpr unsigned link_up = 5;  // IBA 14.2.5.6: PortPhysicalState LinkUp

void sort_by_guid(const Subnet& subnet, std::vector<NodeIndex>::iterator first, std::vector<NodeIndex>::iterator last) {
  std::sort(first, last, [&](NodeIndex a, NodeIndex b) {
    const Node &x = subnet.node(a), &y = subnet.node(b);
    if (x.guid() != y.guid()) return x.guid() < y.guid();
    return x.hops != y.hops ? x.hops < y.hops : a < b;
  });
}

class LegacyQueue {
 public:
  LegacyQueue(const Subnet& subnet, bool with_steps, bool mlnx)
      : subnet_(subnet), with_steps_(with_steps), mlnx_(mlnx), states_(subnet.nodes().size()), read_(subnet.ports().size()) {
    sweep_.entry_ports.resize(subnet.nodes().size());
  }

  LegacySweep run() {
    ask_node(subnet_.start, 0);
    while (!queue_.empty()) {
      const Request request = queue_.front();
      queue_.pop_front();
      switch (request.what) {
        case What::node_info:
          got_node(request.at, request.hops);
          break;
        case What::description:
          states_[request.at].described = true;
          break;
        case What::switch_info:
          break;
        case What::port_info:
          got_port(request.at);
          break;
        case What::mlnx_port_info:
          go_on(request.at);
          break;
      }
    }
    return std::move(sweep_);
  }

 private:
  enum class What : std::uint8_t { node_info, description, switch_info, port_info, mlnx_port_info };
  struct Request {
    What what;
    std::uint8_t hops;
    std::uint32_t at;  // a port; for description and SwitchInfo, a node
  };
  struct State {
    bool found{}, described{};
    std::uint8_t hops{};
    std::uint8_t entry{};  // the port that received the first request
    PortIndex via = none;
  };

  void ask(What what, std::uint32_t at, unsigned hops) {
    queue_.push_back({what, static_cast<std::uint8_t>(hops), at});
    ++sweep_.mads;
  }
  void ask_node(PortIndex arrival, unsigned hops) {
    sweep_.hops = std::max(sweep_.hops, hops);
    ask(What::node_info, arrival, hops);
  }

  void got_node(PortIndex arrival, unsigned hops) {
    const Port& port = subnet_.port(arrival);
    const Node& node = subnet_.node(port.node);
    State& state = states_[port.node];
    const bool is_new = !state.found;
    if (with_steps_) add_step(arrival, is_new, state);
    if (is_new) {
      state = {true, false, static_cast<std::uint8_t>(hops), port.number, arrival == subnet_.start ? none : port.peer};
      sweep_.found.push_back(port.node);
      sweep_.entry_ports[port.node] = port.number;
      ask(What::description, port.node, hops);
      if (node.kind() == NodeKind::sw) {
        ask(What::switch_info, port.node, hops);
        ask(What::port_info, node.first_port, hops);
      }
    }
    if (node.kind() != NodeKind::sw) ask(What::port_info, arrival, hops);
  }

  void got_port(PortIndex at) {
    const Port& port = subnet_.port(at);
    if (!port.has_info) return;
    if (!read_[at]) sweep_.ports.push_back(at);
    read_[at] = true;
    const Node& node = subnet_.node(port.node);
    const State& state = states_[port.node];
    if (mlnx_ && may_be_fdr10(node.info, port.info())) {
      ask(What::mlnx_port_info, at, state.hops);
    } else {
      go_on(at);
    }
    if (node.kind() == NodeKind::sw && port.number == 0) {
      for (unsigned number = 1; number <= node.info.num_ports; ++number) {
        ask(What::port_info, node.first_port + number, state.hops);
      }
    }
  }

  /// Requests the NodeInfo beyond a port whose link is up.
  void go_on(PortIndex at) {
    const Port& port = subnet_.port(at);
    const Node& node = subnet_.node(port.node);
    const State& state = states_[port.node];
    if (port.number == 0) return;
    const bool onward = node.kind() == NodeKind::sw ? port.number != state.entry : at == subnet_.start;
    if (!onward || port.physical_state() != link_up) return;
    if (port.peer != none) {
      ask_node(port.peer, state.hops + 1U);
    } else {
      ++sweep_.mads;  // the request gets no answer
    }
  }

  void add_step(PortIndex arrival, bool is_new, const State& state) {
    LegacyStep step{arrival, {}, is_new, state.described, read_[arrival]};
    PortIndex via = arrival == subnet_.start ? none : subnet_.port(arrival).peer;
    while (via != none && step.route.size() < 63) {
      step.route.push_back(subnet_.port(via).number);
      via = states_[subnet_.port(via).node].via;
    }
    std::reverse(step.route.begin(), step.route.end());
    sweep_.steps.push_back(std::move(step));
  }

  const Subnet& subnet_;
  bool with_steps_, mlnx_;
  std::deque<Request> queue_;
  std::vector<State> states_;
  std::vector<bool> read_;  // by port: the PortInfo was read
  LegacySweep sweep_;
};

}  // namespace

std::vector<NodeIndex> breadth_first(const Subnet& subnet) {
  std::vector<NodeIndex> order;
  if (subnet.start == none) return order;
  order.reserve(subnet.nodes().size());
  std::vector<bool> listed(subnet.nodes().size()), queued(subnet.ports().size());
  std::vector<PortIndex> ends{subnet.start};
  queued[subnet.start] = true;
  const auto follow = [&](PortIndex port) {
    const PortIndex peer = subnet.port(port).peer;
    if (peer == none) return;
    const PortIndex end = subnet.end_port_of(peer);
    if (queued[end]) return;
    queued[end] = true;
    ends.push_back(end);
  };
  for (std::size_t next = 0; next < ends.size(); ++next) {
    const PortIndex end = ends[next];
    const NodeIndex at = subnet.port(end).node;
    if (!listed[at]) order.push_back(at);
    listed[at] = true;
    const Node& node = subnet.node(at);
    if (node.kind() == NodeKind::sw) {
      for (unsigned number = 1; number < node.slots; ++number) follow(node.first_port + number);
    } else {
      follow(end);
    }
  }
  const auto reached = static_cast<std::ptrdiff_t>(order.size());
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    if (!listed[at]) order.push_back(at);
  }
  sort_by_guid(subnet, order.begin() + reached, order.end());
  return order;
}

std::vector<NodeIndex> by_guid(const Subnet& subnet, std::optional<NodeKind> kind) {
  std::vector<NodeIndex> order;
  for (NodeIndex at = 0; at < subnet.nodes().size(); ++at) {
    if (!kind || subnet.node(at).kind() == *kind) order.push_back(at);
  }
  sort_by_guid(subnet, order.begin(), order.end());
  return order;
}

LegacySweep legacy_sweep(const Subnet& subnet, bool with_steps, bool mlnx_extended_port_info) {
  if (subnet.start == none) return {};
  return LegacyQueue(subnet, with_steps, mlnx_extended_port_info).run();
}

std::vector<NodeIndex> legacy_order(const Subnet& subnet, const LegacySweep& sweep) {
  std::vector<NodeIndex> order(sweep.found.rbegin(), sweep.found.rend());
  std::vector<bool> listed(subnet.nodes().size());
  for (const NodeIndex at : order) listed[at] = true;
  std::ranges::copy_if(breadth_first(subnet), std::back_inserter(order), [&](NodeIndex at) { return !listed[at]; });
  return order;
}

}  // namespace ib::subnet
