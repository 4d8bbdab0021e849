// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/credit_loops.hpp"

#include <algorithm>
#include <array>

namespace ib::routing {

MulticastChannels::MulticastChannels(const Network& network, const MulticastTables& tables, const Multicast& multicast)
    : network_(network),
      tables_(tables),
      multicast_(multicast),
      groups_(tables.groups()),
      entry_of_(network.switches().size(), none),
      seen_(network.port_id_count()) {
  std::erase_if(groups_, [&](Lid mlid) { return !multicast.is_tree(mlid); });
  for (const Lid mlid : groups_) {
    const std::vector<Member> members = multicast.members_of(mlid);
    switches_send_ =
        switches_send_ || std::ranges::any_of(members, [](const Member& member) { return member.host == none && member.sends; });
  }
}

void MulticastChannels::walk(Lid mlid, std::span<const Member> members, const FindLane& lane, const UseEdge& use) {
  entries_ = tables_.entries(mlid);
  for (std::uint32_t i = 0; i < entries_.size(); ++i) entry_of_[entries_[i].at] = i;
  queue_.clear();
  for (const Member& member : members) {
    if (!member.sends) continue;
    if (member.host == none) {
      forward(nullptr, member.at, 0, lane, use);
    } else if (const Host& host = network_.hosts()[member.host]; host.leaf != none) {
      const Held held{network_.port_id_of_host(member.host), no_vl};
      forward(&held, host.leaf, host.leaf_port, lane, use);
    }
  }
  for (std::size_t head = 0; head < queue_.size(); ++head) {
    const Held held = queue_[head];
    const Wire& wire = network_.wire(held.port_id);
    if (wire.to == Wire::To::switch_port) forward(&held, wire.index, wire.in_port, lane, use);
  }
  for (const Held& held : queue_) seen_[held.port_id] = 0;
  for (const MulticastEntry& entry : entries_) entry_of_[entry.at] = none;
}

void MulticastChannels::forward(const Held* held, SwitchIndex at, unsigned in, const FindLane& lane, const UseEdge& use) {
  if (entry_of_[at] == none) return;
  const Switch& from = network_.switches()[at];
  entries_[entry_of_[at]].ports.each([&](unsigned port) {
    if (port == 0 || port == in || port >= from.slots || !network_.wire(from.first_port_id + port).carries()) return;
    const PortId out = from.first_port_id + port;
    const std::optional<unsigned> vl = lane(out, in);
    if (!vl) return;
    if (held != nullptr) use(*held, {out, *vl});
    if ((seen_[out] >> *vl & 1) != 0) return;
    seen_[out] |= 1U << *vl;
    queue_.push_back({out, *vl});
  });
}

void MulticastChannels::add_to(Channels& channels, Lid mlid) {
  const UseEdge use = [&channels](Held held, Held wanted) { channels.add_edge(held.port_id, wanted.port_id); };
  walk_lanes(mlid, multicast_.members_of(mlid), nullptr, use);
}

void MulticastChannels::add_to(LaneGraph& lanes, Lid mlid) {
  const UseEdge use = [&lanes](Held held, Held wanted) {
    const bool are_in = !lanes.network().is_host_port(held.port_id) && lanes.is_in(held.port_id) && lanes.is_in(wanted.port_id);
    if (are_in) lanes.add_edge(held.port_id, held.vl, wanted.port_id, wanted.vl);
  };
  walk_lanes(mlid, multicast_.members_of(mlid), &lanes, use);
}

void MulticastChannels::walk_lanes(Lid mlid, std::span<const Member> members, LaneGraph* lanes, const UseEdge& use) {
  SlSet sls = lanes == nullptr ? SlSet{1} : sls_of ? sls_of(mlid) : 0;
  if (sls == 0) sls = ServiceLevels().of_rest(lanes->rest());
  each_bit(sls, [&](unsigned sl) {
    const FindLane lane = [&](PortId out, unsigned in) -> std::optional<unsigned> {
      if (lanes == nullptr || !lanes->is_in(out)) return no_vl;
      const LaneRow* const row = lanes->row(out, in);
      if (row == nullptr || (*row)[sl] >= dropped_vl) return std::nullopt;
      return (*row)[sl];
    };
    walk(mlid, members, lane, use);
  });
}

std::optional<Lid> MulticastChannels::sender(Lid mlid, const LoopChannel& held, const LoopChannel& wanted, LaneGraph* lanes) {
  for (const Member& member : multicast_.members_of(mlid)) {
    bool found = false;
    const UseEdge use = [&](Held from, Held to) {
      const bool are_ports = from.port_id == held.port_id && to.port_id == wanted.port_id;
      found = found || (are_ports && (lanes == nullptr || (from.vl == held.vl && to.vl == wanted.vl)));
    };
    walk_lanes(mlid, {&member, 1}, lanes, use);
    if (found) return member.host == none ? network_.lid_of(member.at) : network_.hosts()[member.host].base;
  }
  return std::nullopt;
}

std::string_view name(Verdict verdict) {
  constexpr std::array<std::string_view, 5> names{"free", "free_for_used_sls", "possible", "found", "not_read"};
  return names.at(static_cast<std::size_t>(verdict));
}

namespace {

/// Finds the routes to each destination in turn.
async::Task<> each_destination(RouteTree& tree, std::span<const DestinationLid> destinations, bool skip_aggregation, const UseRoutes& use,
                               const Pause& pause) {
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    const DestinationLid& to = destinations[i];
    tree.find(to, skip_aggregation && to.host != none && tree.network().hosts()[to.host].is_aggregation);
    use(tree, i);
    if (pause && (i + 1) % destinations_a_slice == 0) co_await pause(i + 1, destinations.size(), "destinations");
  }
}

std::vector<std::uint32_t> joined(const std::vector<std::vector<std::uint32_t>>& components) {
  std::vector<std::uint32_t> nodes;
  for (const auto& component : components) nodes.insert(nodes.end(), component.begin(), component.end());
  return nodes;
}

class LoopSearch {
 public:
  LoopSearch(const LoopInput& input, const Pause& pause)
      : in_(input),
        network_(input.channels.network()),
        pause_(pause),
        port_graph_(input.channels.graph()),
        port_components_(cyclic_components(port_graph_)),
        ports_(joined(port_components_)) {}

  async::Task<CreditLoops> judge(bool unread, const ReadLanes& read) {
    CreditLoops result;
    result.channel_count = in_.channels.channel_count();
    result.edge_count = in_.channels.edge_count();
    if (ports_.empty()) {
      result.verdict = unread ? Verdict::not_read : Verdict::free;
      co_return result;
    }
    result.verdict = Verdict::not_read;
    if (read) {
      const bool from_switches = in_.with_switches || (in_.multicast != nullptr && in_.multicast->switches_send());
      co_await read(wanted_lanes(in_.channels, ports_, from_switches));
      co_await judge_lanes(result);
    }
    if (result.verdict == Verdict::not_read) co_await report_ports(result);
    const bool is_free = result.verdict == Verdict::free || result.verdict == Verdict::free_for_used_sls;
    if (is_free && unread) result.verdict = Verdict::not_read;
    co_return result;
  }

 private:
  struct Edge {
    LoopChannel held, wanted;
  };

  bool has_aggregation() const { return std::ranges::any_of(network_.hosts(), &Host::is_aggregation); }

  async::Task<> judge_lanes(CreditLoops& result) {
    bool complete = co_await judge_lanes(result, UnknownSl::certain);
    if (!result.loops.empty()) {
      result.verdict = Verdict::found;
      co_return;
    }
    const std::uint64_t unknown = unknown_pairs();
    const bool knows_groups = in_.multicast == nullptr || in_.multicast->knows_all_sls();
    if (unknown > 0 || !knows_groups) {
      const bool with_any = co_await judge_lanes(result, UnknownSl::possible);
      complete = complete && with_any;
      if (!result.loops.empty()) {
        result.verdict = Verdict::possible;
        result.unknown_pairs = unknown;
        co_return;
      }
    }
    if (!complete) co_return;
    const bool knows_none = !in_.levels.covers_all() && !in_.levels.is_by_pair();
    result.verdict = knows_none ? Verdict::free : Verdict::free_for_used_sls;
  }

  /// Looks for loops of (port, VL). Returns false where tables were needed that were not read.
  async::Task<bool> judge_lanes(CreditLoops& result, UnknownSl rest) {
    LaneGraph graph(in_.channels, ports_, in_.lanes, in_.levels, rest);
    co_await fill(graph, false);
    const Digraph edges = graph.graph();
    const auto components = cyclic_components(edges);
    std::optional<Digraph> without;
    if (!components.empty() && has_aggregation()) {
      LaneGraph others(in_.channels, ports_, in_.lanes, in_.levels, rest);
      co_await fill(others, true);
      without = others.graph();
    }
    co_await add_loops(result, edges, components, without, &graph);
    co_return !graph.lacks_tables();
  }

  /// Adds the dependencies of all packets, without the routes between Aggregation Nodes where these are to be skipped.
  template <class Graph>
  async::Task<> fill(Graph& graph, bool skip_aggregation) {
    RouteTree tree(network_, in_.tables, in_.with_switches);
    const UseRoutes use = [&graph](const RouteTree& found, [[maybe_unused]] std::size_t destination) {
      if constexpr (std::is_same_v<Graph, Channels>) {
        graph.add(found);
      } else {
        graph.add(found, destination);
      }
    };
    co_await each_destination(tree, in_.destinations, skip_aggregation, use, pause_);
    if (in_.multicast == nullptr) co_return;
    for (const Lid mlid : in_.multicast->groups()) in_.multicast->add_to(graph, mlid);
  }

  async::Task<> report_ports(CreditLoops& result) {
    std::optional<Digraph> without;
    if (has_aggregation()) {
      Channels others(network_);
      co_await fill(others, true);
      without = others.graph();
    }
    co_await add_loops(result, port_graph_, port_components_, without, nullptr);
  }

  /// `without` has the edges without routes between Aggregation Nodes; nothing if there are no such nodes.
  async::Task<> add_loops(CreditLoops& result, const Digraph& edges, std::span<const std::vector<std::uint32_t>> components,
                          const std::optional<Digraph>& without, LaneGraph* graph) {
    std::vector<bool> is_left(edges.size(), !without);
    if (without) {
      for (const std::uint32_t node : joined(cyclic_components(*without))) is_left[node] = true;
    }
    for (const std::vector<std::uint32_t>& component : components) {
      CreditLoop loop;
      loop.channels = component.size();
      loop.needs_aggregation = std::ranges::none_of(component, [&](std::uint32_t node) { return is_left[node]; });
      for (const std::uint32_t node : shortest_cycle(edges, component)) {
        loop.cycle.push_back(graph != nullptr ? graph->channel(node) : LoopChannel{node, std::nullopt});
      }
      co_await find_witnesses(loop, graph);
      result.loops.push_back(std::move(loop));
    }
  }

  async::Task<> find_witnesses(CreditLoop& loop, LaneGraph* graph) {
    RouteTree tree(network_, in_.tables, in_.with_switches);
    for (std::size_t i = 0; i < loop.cycle.size(); ++i) {
      const Edge edge{loop.cycle[i], loop.cycle[(i + 1) % loop.cycle.size()]};
      std::optional<Pair> found = co_await unicast_witness(tree, edge, graph);
      for (std::size_t group = 0; in_.multicast != nullptr && group < in_.multicast->groups().size() && !found; ++group) {
        const Lid mlid = in_.multicast->groups()[group];
        const std::optional<Lid> sender = in_.multicast->sender(mlid, edge.held, edge.wanted, graph);
        if (sender) found = Pair{*sender, mlid};
      }
      loop.witnesses.push_back(found.value_or(Pair{}));
    }
  }

  /// The first pair whose packets use `edge`.
  async::Task<std::optional<Pair>> unicast_witness(RouteTree& tree, Edge edge, const LaneGraph* graph) {
    const SwitchIndex first = network_.switch_at(edge.held.port_id), second = network_.switch_at(edge.wanted.port_id);
    const auto sends = [this](SwitchIndex at, Lid lid, PortId port_id) {
      return in_.tables.is_known(at, lid) && in_.tables.out_port(at, lid) == network_.port_at(port_id);
    };
    for (std::size_t i = 0; i < in_.destinations.size(); ++i) {
      const DestinationLid& to = in_.destinations[i];
      if (sends(first, to.lid, edge.held.port_id) && sends(second, to.lid, edge.wanted.port_id)) {
        tree.find(to);
        const std::optional<Pair> found = sender_on(tree, edge, i, graph);
        if (found) co_return found;
      }
      if (pause_ && (i + 1) % destinations_a_slice == 0) co_await pause_(i + 1, in_.destinations.size(), "destinations");
    }
    co_return std::nullopt;
  }

  std::optional<Pair> sender_on(const RouteTree& tree, const Edge& edge, std::size_t destination, const LaneGraph* graph) {
    const SwitchIndex first = network_.switch_at(edge.held.port_id);
    if (!tree.is_reached(first) || tree.hop(first).in_cycle || tree.hop(first).out != edge.held.port_id) return std::nullopt;
    // Each switch comes behind its successor, so one pass finds those that send over `first`, and the switch before it on their routes.
    before_.resize(network_.switches().size());
    for (const SwitchIndex at : tree.reached()) {
      const Hop& hop = tree.hop(at);
      const bool goes_on = at != first && hop.next != none && !hop.in_cycle;
      before_[at] = !goes_on ? none : hop.next == first ? at : before_[hop.next];
      if (hop.senders == 0 || (at != first && before_[at] == none)) continue;
      const auto found = sender_to(tree, edge, at, before_[at], destination, graph);
      if (found) return found;
    }
    return std::nullopt;
  }

  /// A sender at the switch `from` whose packets use `edge`. `before` is the switch before the switch of the edge on their route; none if
  /// `from` is the switch of the edge.
  std::optional<Pair> sender_to(const RouteTree& tree, const Edge& edge, SwitchIndex from, SwitchIndex before, std::size_t destination,
                                const LaneGraph* graph) const {
    const unsigned next_in = tree.hop(network_.switch_at(edge.held.port_id)).in_port;
    const auto fits = [&](std::size_t sender, unsigned first_in) {
      if (graph == nullptr) return true;
      const unsigned in = before == none ? first_in : tree.hop(before).in_port;
      return uses(edge, in, next_in, in_.levels.of(sender, destination, graph->rest()));
    };
    const Lid dlid = tree.to().lid;
    for (const HostIndex host : network_.attached(network_.switches()[from])) {
      if (tree.sends(host) && fits(host, network_.hosts()[host].leaf_port)) return Pair{network_.hosts()[host].base, dlid};
    }
    if (tree.switch_sends(from) && fits(network_.hosts().size() + from, 0)) return Pair{network_.lid_of(from), dlid};
    return std::nullopt;
  }

  bool uses(const Edge& edge, unsigned in, unsigned next_in, SlSet sls) const {
    const LaneRow* const held = in_.lanes.find(network_.switch_at(edge.held.port_id), in, network_.port_at(edge.held.port_id));
    const LaneRow* const wanted = in_.lanes.find(network_.switch_at(edge.wanted.port_id), next_in, network_.port_at(edge.wanted.port_id));
    if (held == nullptr || wanted == nullptr) return false;
    bool found = false;
    each_bit(sls, [&](unsigned sl) { found = found || ((*held)[sl] == edge.held.vl && (*wanted)[sl] == edge.wanted.vl); });
    return found;
  }

  std::uint64_t unknown_pairs() const {
    if (in_.levels.covers_all()) return 0;
    std::uint64_t count = 0;
    for (std::size_t to = 0; to < in_.destinations.size(); ++to) {
      for (HostIndex host = 0; host < network_.hosts().size(); ++host) {
        if (host != in_.destinations[to].host && !in_.levels.is_known(host, to)) ++count;
      }
      for (SwitchIndex at = 0; in_.with_switches && at < network_.switches().size(); ++at) {
        const bool sends = at != in_.destinations[to].at && network_.lid_of(at).value != 0;
        if (sends && !in_.levels.is_known(network_.hosts().size() + at, to)) ++count;
      }
    }
    return count;
  }

  const LoopInput in_;
  const Network& network_;
  const Pause& pause_;
  const Digraph port_graph_;
  const std::vector<std::vector<std::uint32_t>> port_components_;
  const std::vector<PortId> ports_;
  std::vector<SwitchIndex> before_;  // by switch, for one destination; see sender_on()
};

}  // namespace

async::Task<CreditLoops> find_loops(LoopInput input, bool unread, const ReadLanes& read, const Pause& pause) {
  LoopSearch search(input, pause);
  co_return co_await search.judge(unread, read);
}

NetworkTables::NetworkTables(const subnet::Subnet& subnet, bool with_switches)
    : network(subnet),
      switches_send(with_switches),
      destinations(network.destinations(with_switches)),
      linear(network.switches().size(), destinations.empty() ? Lid{0} : destinations.back().lid),
      adaptive(unread_adaptive_routing(network)),
      multicast(network.switches().size()),
      lanes(network.switches().size()) {}

bool NetworkTables::has_any() const {
  return std::ranges::any_of(all_switches(network), [this](SwitchIndex at) { return linear.is_known(at) || multicast.is_known(at); });
}

async::Task<> analyse(const NetworkTables& tables, AnalysisChoice choice, const UseRoutes& use, const ReadLanes& read, const Pause& pause,
                      RouteFindings& found) {
  RouteTree tree(tables.network, tables.linear, tables.switches_send);
  const UseRoutes add = [&found, &use](const RouteTree& to, std::size_t destination) {
    found.unicast.add(to);
    found.channels.add(to);
    if (use) use(to, destination);
  };
  co_await each_destination(tree, tables.destinations, false, add, pause);
  const bool unread = !found.unicast.not_read().empty();
  const auto input = [&](const Channels& channels, MulticastChannels* groups) {
    return LoopInput{tables.linear, tables.destinations, tables.switches_send, channels, groups, tables.lanes, tables.levels};
  };
  if (choice.unicast_loops) found.loops = co_await find_loops(input(found.channels, nullptr), unread, read, pause);
  if (!choice.multicast) co_return;
  found.multicast.emplace(tables.network, tables.multicast, &tables.groups);
  const std::vector<Lid> in_use = groups_in_use(tables.multicast, tables.groups);
  for (std::size_t i = 0; i < in_use.size(); ++i) {
    found.multicast->add(in_use[i]);
    if (pause) co_await pause(i + 1, in_use.size(), "groups");
  }
  MulticastChannels groups(tables.network, tables.multicast, *found.multicast);
  groups.sls_of = [&tables, choice](Lid mlid) {
    const auto known = tables.groups.sls.find(mlid.value);
    return known == tables.groups.sls.end() ? choice.group_sls : known->second;
  };
  Channels both = found.channels;
  for (std::size_t i = 0; i < groups.groups().size(); ++i) {
    groups.add_to(both, groups.groups()[i]);
    if (pause) co_await pause(i + 1, groups.groups().size(), "groups");
  }
  const bool unread_group = tables.multicast.unread_count() > 0 || !found.multicast->not_read().empty();
  found.multicast_loops = co_await find_loops(input(both, &groups), unread || unread_group, read, pause);
}

}  // namespace ib::routing
