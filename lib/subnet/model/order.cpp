// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/model/order.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <numeric>
#include <tuple>

#include "subnet/sweep/mlnx.hpp"

namespace ib::subnet {

namespace {

/// Simulates a first-in, first-out queue of requests. ibnetdiscover finds nodes in this order if replies come in the order of requests.
class LegacyQueue {
 public:
  /// Hops of a directed route, at most (IBA 14.2.1.2).
  static constexpr std::size_t longest_route = 63;

  LegacyQueue(const Subnet& subnet, const LegacyScan& scan) : subnet_(subnet), scan_(scan), states_(subnet.nodes().size()) {
    sweep_.read.resize(subnet.ports().size());
    sweep_.entry_ports.resize(subnet.nodes().size());
    const Node& first = subnet.node_of(subnet.start);
    const PortIndex entry = subnet.port_of(subnet.port(subnet.start).node, first.entry_port);
    sweep_.start = scan.start != none ? scan.start : entry != none ? entry : subnet.start;
  }

  LegacySweep run() {
    enqueue(RequestKind::node_info, sweep_.start, 0);
    while (!queue_.empty()) {
      const Request request = queue_.front();
      queue_.pop_front();
      if (request.what == RequestKind::node_info) got_node(request);
      if (request.what == RequestKind::description) states_[request.at].described = true;
      if (request.what == RequestKind::port_info) got_port(request);
      if (request.what == RequestKind::mlnx_port_info) go_on(request.at);
    }
    return std::move(sweep_);
  }

 private:
  enum class RequestKind : std::uint8_t { node_info, description, switch_info, port_info, mlnx_port_info };
  struct Request {
    RequestKind what;
    std::int16_t hops;
    std::uint32_t at;       // a port; a node for its description and SwitchInfo
    PortIndex from = none;  // the port beyond which the node is, by the route that is taken; none: it is the start
  };
  struct State {
    bool found{}, described{};
    std::int16_t hops{};
    std::uint8_t entry{};  // the port that the first request came in by
    PortIndex via = none;
  };

  void enqueue(RequestKind what, std::uint32_t at, int hops, PortIndex from = none) {
    queue_.push_back({what, static_cast<std::int16_t>(hops), at, from});
    ++sweep_.mads;
  }

  /// The route to the node beyond `via`, by which the nodes on the way were found first.
  std::vector<std::uint8_t> route_beyond(PortIndex via) const {
    std::vector<std::uint8_t> route;
    while (via != none && route.size() < longest_route) {
      route.push_back(subnet_.port(via).number);
      via = states_[subnet_.port(via).node].via;
    }
    std::reverse(route.begin(), route.end());
    return route;
  }

  void got_node(const Request& request) {
    const PortIndex arrival = request.at;
    const Port& port = subnet_.port(arrival);
    const Node& node = subnet_.node(port.node);
    State& state = states_[port.node];
    const bool is_new = !state.found;
    if (scan_.with_steps) {
      const PortIndex via = arrival == sweep_.start ? none : port.peer;
      sweep_.steps.push_back({arrival, route_beyond(via), is_new, state.described, sweep_.read[arrival]});
    }
    // Of a route back (go_back()) the real link is kept, not the one that libibnetdisc takes for it.
    if (request.from != none) sweep_.links.emplace_back(request.from, subnet_.port(request.from).peer);
    if (is_new) {
      state = {true, false, request.hops, port.number, request.from};
      sweep_.found.push_back(port.node);
      sweep_.entry_ports[port.node] = port.number;
      enqueue(RequestKind::description, port.node, request.hops);
      if (node.kind() == NodeKind::sw) {
        enqueue(RequestKind::switch_info, port.node, request.hops);
        enqueue(RequestKind::port_info, node.first_port, request.hops);
      }
    }
    if (node.kind() != NodeKind::sw) enqueue(RequestKind::port_info, arrival, request.hops);
  }

  void got_port(const Request& request) {
    const PortIndex at = request.at;
    const Port& port = subnet_.port(at);
    if (!port.has_info) return;
    if (!sweep_.read[at]) sweep_.ports.push_back(at);
    sweep_.read[at] = true;
    const Node& node = subnet_.node(port.node);
    const State& state = states_[port.node];
    if (scan_.mlnx && may_be_fdr10(node.info, port.info())) {
      enqueue(RequestKind::mlnx_port_info, at, state.hops);
    } else {
      go_on(at);
    }
    if (node.kind() == NodeKind::sw && port.number == 0) {
      for (unsigned number = 1; number <= node.info.num_ports && number < node.slots; ++number) {
        enqueue(RequestKind::port_info, node.first_port + number, state.hops);
      }
    }
  }

  /// Requests the NodeInfo of the node beyond a port that is up. The bound is compared with the hops tried so far, so that the sweep can go
  /// one hop beyond it.
  void go_on(PortIndex at) {
    const Port& port = subnet_.port(at);
    const Node& node = subnet_.node(port.node);
    const State& state = states_[port.node];
    if (port.number == 0) return;
    const bool is_start = at == sweep_.start;
    const bool is_switch = node.kind() == NodeKind::sw;
    const bool onward = is_start || (is_switch && port.number != state.entry);
    if (!onward || !port.is_link_up()) return;
    // A port at the start that is linked to itself is found again and again, until no route is that long.
    if (is_start && !is_switch && times_from_start_++ >= longest_route) return;
    if (scan_.max_hops != 0 && sweep_.hops > scan_.max_hops) return;
    if (!is_switch && scan_.start_hops > 1) return go_back(port);
    if (!is_switch && scan_.by_lid) return;
    sweep_.hops = std::max(sweep_.hops, static_cast<unsigned>(state.hops + 1));
    const bool through_end_node = !is_switch && scan_.start_hops > 0;  // nothing answers there
    if (port.peer != none && !through_end_node) {
      enqueue(RequestKind::node_info, port.peer, state.hops + 1, at);
    } else {
      ++sweep_.mads;  // a request without an answer
      sweep_.unanswered.push_back(at);
    }
  }

  /// Goes on from an end node at the end of a directed route: back along that route. libibnetdisc takes the port by which its requests come
  /// to the switch there for the other end of the link.
  void go_back(const Port& port) {
    ++sweep_.hops;
    if (port.peer == none) return;
    const NodeIndex before = subnet_.port(port.peer).node;
    const PortIndex entry = subnet_.port_of(before, subnet_.node(before).entry_port);
    enqueue(RequestKind::node_info, entry != none ? entry : port.peer, -1, sweep_.start);
  }

  const Subnet& subnet_;
  const LegacyScan scan_;
  std::size_t times_from_start_ = 0;
  std::deque<Request> queue_;
  std::vector<State> states_;
  LegacySweep sweep_;
};

}  // namespace

std::vector<PortIndex> first_links(const Subnet& subnet, const std::unordered_set<PortIndex>& avoided) {
  std::vector<PortIndex> links;
  if (subnet.start == none) return links;
  std::vector<bool> reached(subnet.ports().size());  // by end port
  reached[subnet.start] = true;
  const auto follow = [&](PortIndex out) {
    const PortIndex in = subnet.port(out).peer;
    if (in == none || reached[subnet.end_port_of(in)] || avoided.contains(out) || avoided.contains(in)) return;
    reached[subnet.end_port_of(in)] = true;
    links.push_back(out);
  };
  const auto leave = [&](PortIndex end) {
    const Node& node = subnet.node_of(end);
    if (node.kind() != NodeKind::sw) return end == subnet.start ? follow(end) : void();  // other nodes pass nothing on
    for (unsigned number = 1; number < node.slots; ++number) follow(node.first_port + number);
  };
  leave(subnet.start);
  for (std::size_t next = 0; next < links.size(); ++next) leave(subnet.end_port_of(subnet.port(links[next]).peer));
  return links;
}

std::vector<NodeIndex> breadth_first(const Subnet& subnet) {
  std::vector<NodeIndex> order;
  if (subnet.start == none) return order;
  order.reserve(subnet.nodes().size());
  std::vector<bool> listed(subnet.nodes().size());
  const auto list = [&](NodeIndex at) {
    if (!listed[at]) order.push_back(at);
    listed[at] = true;
  };
  list(subnet.port(subnet.start).node);
  for (const PortIndex out : first_links(subnet)) list(subnet.port(subnet.port(out).peer).node);
  if (order.size() < subnet.nodes().size()) std::ranges::for_each(by_guid(subnet), list);
  return order;
}

std::vector<PortIndex> end_ports(const Subnet& subnet, NodeIndex at) {
  const Node& node = subnet.node(at);
  if (node.kind() == NodeKind::sw) return {node.first_port};
  std::vector<PortIndex> ports;
  for (unsigned number = 1; number < node.slots; ++number) {
    const PortIndex port = node.first_port + number;
    if (subnet.port(port).has_info || subnet.port(port).peer != none || number == node.entry_port) ports.push_back(port);
  }
  return ports;
}

std::vector<PortIndex> end_ports(const Subnet& subnet) {
  std::vector<PortIndex> ports;
  for (const NodeIndex at : breadth_first(subnet)) std::ranges::copy(end_ports(subnet, at), std::back_inserter(ports));
  return ports;
}

std::vector<NodeIndex> by_guid(const Subnet& subnet) {
  std::vector<NodeIndex> order(subnet.nodes().size());
  std::iota(order.begin(), order.end(), NodeIndex{});
  std::ranges::sort(order, {}, [&subnet](NodeIndex at) { return std::tuple(subnet.node(at).guid(), subnet.node(at).hops, at); });
  return order;
}

LegacySweep legacy_sweep(const Subnet& subnet, const LegacyScan& scan) {
  if (subnet.start == none) return {};
  return LegacyQueue(subnet, scan).run();
}

SweptSubnet restricted_to(const SweptSubnet& whole, const LegacySweep& sweep) {
  const Subnet& subnet = whole.subnet;
  SweptSubnet result;
  Subnet& part = result.subnet;
  std::vector<NodeIndex> copies(subnet.nodes().size(), none);
  for (const NodeIndex at : sweep.found) {
    const Node& node = subnet.node(at);
    copies[at] = part.add_node(node.info);
    Node& copy = part.node(copies[at]);
    copy.description_bytes = node.description_bytes;
    copy.switch_info_bytes = node.switch_info_bytes;
    copy.has_description = node.has_description;
    copy.has_switch_info = node.has_switch_info;
    copy.hops = node.hops;
    copy.entry_port = node.entry_port;
  }
  const auto copy_of = [&](PortIndex at) {
    const Port& port = subnet.port(at);
    return copies[port.node] == none ? none : part.port_of(copies[port.node], port.number);
  };
  const auto set_guid = [&](PortIndex at) {
    if (copy_of(at) != none && subnet.port(at).guid.value != 0) part.set_port_guid(copy_of(at), subnet.port(at).guid);
  };
  for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
    if (!sweep.read[at] || copy_of(at) == none) continue;
    part.set_port_info(copy_of(at), {subnet.port(at).info_bytes.data(), subnet.port(at).info_bytes.size()});
    part.port(copy_of(at)).fdr10 = subnet.port(at).fdr10;
    part.port(copy_of(at)).fdr10_supported = subnet.port(at).fdr10_supported;
    set_guid(at);
  }
  for (const auto& [from, to] : sweep.links) {
    if (copy_of(from) == none || copy_of(to) == none) continue;
    set_guid(to);
    part.link(copy_of(from), copy_of(to));
  }
  for (const NodeIndex at : sweep.found) {
    const PortIndex via = subnet.node(at).via;
    if (via != none) part.node(copies[at]).via = copy_of(via);
  }
  for (const Failure& failure : whole.failures) {
    if (failure.node == none || copies[failure.node] == none) continue;
    const PortIndex at = failure.port < 0 ? none : subnet.port_of(failure.node, static_cast<unsigned>(failure.port));
    if (failure.beyond && std::ranges::find(sweep.unanswered, at) == sweep.unanswered.end()) continue;
    result.failures.push_back(failure);
    result.failures.back().node = copies[failure.node];
  }
  if (sweep.start != none && copy_of(sweep.start) != none) part.set_port_guid(copy_of(sweep.start), subnet.end_port_guid(sweep.start));
  if (subnet.start != none) part.start = copy_of(subnet.start);
  return result;
}

bool exceeds_legacy_sweep(const Subnet& subnet) {
  const auto crosses = [](const Port& port) { return port.has_info && port.peer != none && !port.is_link_up(); };
  const auto lacks_port0 = [&](const Node& node) { return node.kind() == NodeKind::sw && !subnet.port(node.first_port).has_info; };
  return std::ranges::any_of(subnet.ports(), crosses) || std::ranges::any_of(subnet.nodes(), lacks_port0);
}

bool is_in_legacy_sweep(const Subnet& subnet, const Failure& failure) {
  if (failure.node == none || failure.port < 1) return true;
  const Node& node = subnet.node(failure.node);
  const PortIndex at = subnet.port_of(failure.node, static_cast<unsigned>(failure.port));
  if (at == none) return true;
  if (failure.beyond) return subnet.port(at).is_link_up();
  return node.kind() != NodeKind::sw || subnet.port(node.first_port).has_info;
}

std::vector<NodeIndex> legacy_order(const Subnet& subnet, const LegacySweep& sweep) {
  std::vector<NodeIndex> order(sweep.found.rbegin(), sweep.found.rend());
  std::vector<bool> listed(subnet.nodes().size());
  for (const NodeIndex at : order) listed[at] = true;
  std::ranges::copy_if(breadth_first(subnet), std::back_inserter(order), [&](NodeIndex at) { return !listed[at]; });
  return order;
}

void lay_routes(Subnet& subnet) {
  if (subnet.start == none) return;
  std::vector<bool> reached(subnet.nodes().size());
  reached[subnet.port(subnet.start).node] = true;
  subnet.node_of(subnet.start).entry_port = subnet.port(subnet.start).number;
  for (const PortIndex out : first_links(subnet)) {
    const Port& in = subnet.port(subnet.port(out).peer);
    if (reached[in.node]) continue;
    reached[in.node] = true;
    Node& node = subnet.node(in.node);
    node.via = out;
    node.hops = static_cast<std::uint8_t>(std::min(subnet.node_of(out).hops + 1, 255));
    node.entry_port = in.number;
  }
}

}  // namespace ib::subnet
