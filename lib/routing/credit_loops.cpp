// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/credit_loops.hpp"

#include <algorithm>

namespace ib::routing {
namespace {

/// The components of `all` that no component of `rest` has a node of.
std::vector<bool> vanished(const std::vector<std::vector<std::uint32_t>>& all, const std::vector<std::vector<std::uint32_t>>& rest,
                           std::size_t nodes) {
  std::vector<bool> is_left(nodes);
  for (const auto& component : rest) {
    for (const std::uint32_t node : component) is_left[node] = true;
  }
  std::vector<bool> gone;
  for (const auto& component : all) {
    gone.push_back(std::ranges::none_of(component, [&](std::uint32_t node) { return is_left[node]; }));
  }
  return gone;
}

}  // namespace

std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::free:
      return "free";
    case Verdict::free_for_used_sls:
      return "free_for_used_sls";
    case Verdict::possible:
      return "possible";
    case Verdict::found:
      return "found";
    case Verdict::not_read:
      return "not_read";
  }
  return "";
}

async::Task<> each_destination(Ways& ways, std::span<const DestinationLid> destinations, bool skip_aggregation, const UseWays& use,
                               const Pause& pause) {
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    const DestinationLid& to = destinations[i];
    ways.find(to, skip_aggregation && to.host != none && ways.network().hosts()[to.host].is_aggregation);
    use(ways, i);
    if ((i + 1) % destinations_a_slice != 0 || !pause) continue;
    async::Task<> others = pause(i + 1, destinations.size(), "destinations");
    co_await std::move(others);
  }
}

async::Task<> each_group(std::span<const Lid> groups, const std::function<void(Lid mlid)>& use, const Pause& pause) {
  for (std::size_t i = 0; i < groups.size(); ++i) {
    use(groups[i]);
    if (!pause) continue;
    async::Task<> others = pause(i + 1, groups.size(), "groups");
    co_await std::move(others);
  }
}

LoopSearch::LoopSearch(const LinearTables& tables, std::span<const DestinationLid> destinations, bool with_switches,
                       const Channels& channels, MulticastChannels* multicast)
    : network_(channels.network()),
      tables_(tables),
      destinations_(destinations),
      with_switches_(with_switches),
      channels_(channels),
      multicast_(multicast),
      port_graph_(channels.graph()),
      port_components_(cyclic_components(port_graph_)) {
  for (const auto& component : port_components_) ports_.insert(ports_.end(), component.begin(), component.end());
}

async::Task<CreditLoops> LoopSearch::judge(bool unread, const SlToVlTables* lanes, const ServiceLevels& levels, const Pause& pause) {
  CreditLoops result;
  result.channel_count = channels_.channel_count();
  result.edge_count = channels_.edge_count();
  lanes_ = lanes;
  if (ports_.empty()) {
    result.verdict = unread ? Verdict::not_read : Verdict::free;
    co_return result;
  }
  result.verdict = Verdict::not_read;
  if (lanes != nullptr) co_await judge_lanes(result, levels, pause);
  if (result.verdict == Verdict::not_read) co_await report_ports(result, pause);
  const bool is_free = result.verdict == Verdict::free || result.verdict == Verdict::free_for_used_sls;
  if (is_free && unread) result.verdict = Verdict::not_read;
  co_return result;
}

async::Task<CreditLoops> LoopSearch::judge(bool unread, const ReadLanes& read, const SlToVlTables& lanes, const ServiceLevels& levels,
                                           const Pause& pause) {
  const bool reads = !ports_.empty() && read;
  if (reads) {
    const bool from_switches = with_switches_ || (multicast_ != nullptr && multicast_->switches_send());
    async::Task<> reading = read(wanted_lanes(channels_, ports_, from_switches));
    co_await std::move(reading);
  }
  co_return co_await judge(unread, reads ? &lanes : nullptr, levels, pause);
}

async::Task<> LoopSearch::judge_lanes(CreditLoops& result, const ServiceLevels& levels, const Pause& pause) {
  bool complete = co_await judge_lanes(result, levels, UnknownSl::certain, pause);
  if (!result.loops.empty()) {
    result.verdict = Verdict::found;
    co_return;
  }
  const std::uint64_t unknown = unknown_pairs(levels);
  const bool knows_groups = multicast_ == nullptr || multicast_->knows_all_sls();
  if (unknown > 0 || !knows_groups) {
    const bool with_any = co_await judge_lanes(result, levels, UnknownSl::possible, pause);
    complete = complete && with_any;
    if (!result.loops.empty()) {
      result.verdict = Verdict::possible;
      result.unknown_pairs = unknown;
      co_return;
    }
  }
  if (!complete) co_return;
  const bool knows_none = !levels.covers_all() && !levels.is_by_pair();
  result.verdict = knows_none ? Verdict::free : Verdict::free_for_used_sls;
}

/// Looks for loops of (port, VL). Returns false where tables were needed that were not read.
async::Task<bool> LoopSearch::judge_lanes(CreditLoops& result, const ServiceLevels& levels, UnknownSl rest, const Pause& pause) {
  LaneGraph graph(channels_, ports_, *lanes_, levels, rest);
  const bool complete = co_await fill(graph, false, pause);
  const Digraph edges = graph.graph();
  const auto components = cyclic_components(edges);
  std::vector<bool> needs_aggregation(components.size());
  if (!components.empty() && has_aggregation()) {
    LaneGraph without(channels_, ports_, *lanes_, levels, rest);
    co_await fill(without, true, pause);
    needs_aggregation = vanished(components, cyclic_components(without.graph()), edges.size());
  }
  for (std::size_t i = 0; i < components.size(); ++i) {
    CreditLoop loop;
    loop.channels = components[i].size();
    loop.needs_aggregation = needs_aggregation[i];
    for (const std::uint32_t node : shortest_cycle(edges, components[i])) {
      loop.cycle.push_back({graph.place(node), static_cast<std::uint8_t>(LaneGraph::vl(node))});
    }
    co_await find_witnesses(loop, &graph, &levels, rest, pause);
    result.loops.push_back(std::move(loop));
  }
  co_return complete;
}

async::Task<bool> LoopSearch::fill(LaneGraph& graph, bool skip_aggregation, const Pause& pause) {
  Ways ways(network_, tables_, with_switches_);
  const UseWays use = [&graph](const Ways& found, std::size_t destination) { graph.add(found, destination); };
  co_await each_destination(ways, destinations_, skip_aggregation, use, pause);
  bool complete = true;
  if (multicast_ != nullptr) {
    for (const Lid mlid : multicast_->groups()) complete = multicast_->add_to(graph, mlid) && complete;
  }
  co_return complete && !graph.lacks_tables();
}

/// Adds the loops over ports alone to the result.
async::Task<> LoopSearch::report_ports(CreditLoops& result, const Pause& pause) {
  std::vector<bool> needs_aggregation(port_components_.size());
  if (has_aggregation()) {
    Channels without(network_);
    Ways ways(network_, tables_, with_switches_);
    const UseWays use = [&without](const Ways& found, std::size_t) { without.add(found); };
    co_await each_destination(ways, destinations_, true, use, pause);
    if (multicast_ != nullptr) {
      for (const Lid mlid : multicast_->groups()) multicast_->add_to(without, mlid);
    }
    needs_aggregation = vanished(port_components_, cyclic_components(without.graph()), port_graph_.size());
  }
  for (std::size_t i = 0; i < port_components_.size(); ++i) {
    CreditLoop loop;
    loop.channels = port_components_[i].size();
    loop.needs_aggregation = needs_aggregation[i];
    for (const std::uint32_t place : shortest_cycle(port_graph_, port_components_[i])) loop.cycle.push_back({place, std::nullopt});
    co_await find_witnesses(loop, nullptr, nullptr, UnknownSl::possible, pause);
    result.loops.push_back(std::move(loop));
  }
}

async::Task<> LoopSearch::find_witnesses(CreditLoop& loop, const LaneGraph* graph, const ServiceLevels* levels, UnknownSl rest,
                                         const Pause& pause) {
  Ways ways(network_, tables_, with_switches_);
  for (std::size_t i = 0; i < loop.cycle.size(); ++i) {
    const Edge edge{loop.cycle[i], loop.cycle[(i + 1) % loop.cycle.size()]};
    std::optional<Pair> found = co_await unicast_witness(ways, edge, levels, rest, pause);
    for (std::size_t group = 0; multicast_ != nullptr && group < multicast_->groups().size() && !found; ++group) {
      const Lid mlid = multicast_->groups()[group];
      const std::optional<Lid> sender = multicast_->sender(mlid, edge.held, edge.wanted, graph);
      if (sender) found = Pair{*sender, mlid};
    }
    loop.witnesses.push_back(found.value_or(Pair{}));
  }
}

/// The first pair whose packets use `edge`.
async::Task<std::optional<Pair>> LoopSearch::unicast_witness(Ways& ways, Edge edge, const ServiceLevels* levels, UnknownSl rest,
                                                             const Pause& pause) {
  const SwitchIndex first = network_.switch_at(edge.held.place), second = network_.switch_at(edge.wanted.place);
  const auto sends = [this](SwitchIndex at, Lid lid, PlaceIndex place) {
    return tables_.is_known(at, lid) && tables_.out_port(at, lid) == network_.port_at(place);
  };
  for (std::size_t i = 0; i < destinations_.size(); ++i) {
    const DestinationLid& to = destinations_[i];
    if (sends(first, to.lid, edge.held.place) && sends(second, to.lid, edge.wanted.place)) {
      ways.find(to);
      const std::optional<Pair> found = sender_on(ways, edge, i, levels, rest);
      if (found) co_return found;
    }
    if ((i + 1) % destinations_a_slice != 0 || !pause) continue;
    async::Task<> others = pause(i + 1, destinations_.size(), "destinations");
    co_await std::move(others);
  }
  co_return std::nullopt;
}

std::optional<Pair> LoopSearch::sender_on(const Ways& ways, const Edge& edge, std::size_t destination, const ServiceLevels* levels,
                                          UnknownSl rest) {
  const SwitchIndex first = network_.switch_at(edge.held.place);
  if (!ways.is_reached(first) || ways.step(first).in_cycle || ways.step(first).out != edge.held.place) return std::nullopt;
  // Each switch comes behind its successor, so one pass finds those that send over `first`, and the switch before it on their ways.
  before_.resize(network_.switches().size());
  for (const SwitchIndex at : ways.reached()) {
    const Step& step = ways.step(at);
    const bool goes_on = at != first && step.next != none && !step.in_cycle;
    before_[at] = !goes_on ? none : step.next == first ? at : before_[step.next];
    if (step.senders == 0 || (at != first && before_[at] == none)) continue;
    const auto found = sender_to(ways, edge, at, before_[at], destination, levels, rest);
    if (found) return found;
  }
  return std::nullopt;
}

/// A sender at the switch `from` whose packets use `edge`. `before` is the switch before the switch of the edge on their way; none if
/// `from` is the switch of the edge.
std::optional<Pair> LoopSearch::sender_to(const Ways& ways, const Edge& edge, SwitchIndex from, SwitchIndex before, std::size_t destination,
                                          const ServiceLevels* levels, UnknownSl rest) const {
  const unsigned next_in = ways.step(network_.switch_at(edge.held.place)).in_port;
  const auto fits = [&](std::size_t sender, unsigned first_in) {
    if (levels == nullptr) return true;
    const unsigned in = before == none ? first_in : ways.step(before).in_port;
    return uses(edge, in, next_in, levels->of(sender, destination, rest));
  };
  const Lid dlid = ways.to().lid;
  for (const HostIndex host : network_.attached(network_.switches()[from])) {
    if (ways.sends(host) && fits(host, network_.hosts()[host].leaf_port)) return Pair{network_.hosts()[host].base, dlid};
  }
  if (with_switches_ && ways.to().at != from && network_.lid_of(from).value != 0 && fits(network_.hosts().size() + from, 0)) {
    return Pair{network_.lid_of(from), dlid};
  }
  return std::nullopt;
}

bool LoopSearch::uses(const Edge& edge, unsigned in, unsigned next_in, SlSet sls) const {
  const LaneRow* const held = lanes_->find(network_.switch_at(edge.held.place), in, network_.port_at(edge.held.place));
  const LaneRow* const wanted = lanes_->find(network_.switch_at(edge.wanted.place), next_in, network_.port_at(edge.wanted.place));
  if (held == nullptr || wanted == nullptr) return false;
  for (unsigned sl = 0; sl <= any_sl; ++sl) {
    if ((sls >> sl & 1) != 0 && (*held)[sl] == edge.held.vl && (*wanted)[sl] == edge.wanted.vl) return true;
  }
  return false;
}

std::uint64_t LoopSearch::unknown_pairs(const ServiceLevels& levels) const {
  if (levels.covers_all()) return 0;
  std::uint64_t count = 0;
  for (std::size_t to = 0; to < destinations_.size(); ++to) {
    for (HostIndex host = 0; host < network_.hosts().size(); ++host) {
      if (host != destinations_[to].host && !levels.is_known(host, to)) ++count;
    }
    for (SwitchIndex at = 0; with_switches_ && at < network_.switches().size(); ++at) {
      const bool sends = at != destinations_[to].at && network_.lid_of(at).value != 0;
      if (sends && !levels.is_known(network_.hosts().size() + at, to)) ++count;
    }
  }
  return count;
}

bool LoopSearch::has_aggregation() const { return std::ranges::any_of(network_.hosts(), &Host::is_aggregation); }

}  // namespace ib::routing
