// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "routing/channels.hpp"

#include <algorithm>
#include <bit>
#include <unordered_map>

#include "iba-gen/smp.hpp"
#include "subnet/sweep/smp_tables.hpp"

namespace ib::routing {

namespace {

constexpr HostIndex everybody = none - 1;
constexpr unsigned word_bits = 64;

constexpr std::uint32_t unset = 0xffffffffU;

/// Tarjan's search with a stack of its own.
class Components {
 public:
  explicit Components(const Digraph& graph) : graph_(graph), number_(graph.size(), unset), low_(graph.size()), is_open_(graph.size()) {}

  std::vector<std::vector<std::uint32_t>> find() {
    for (std::uint32_t root = 0; root < graph_.size(); ++root) {
      if (number_[root] == unset) search(root);
    }
    std::ranges::stable_sort(found_, [](const auto& a, const auto& b) { return a.size() > b.size(); });
    return std::move(found_);
  }

 private:
  struct Visit {
    std::uint32_t node, edge;
  };

  void enter(std::uint32_t node) {
    number_[node] = low_[node] = count_++;
    is_open_[node] = true;
    open_.push_back(node);
    visits_.push_back({node, graph_.first[node]});
  }

  void search(std::uint32_t root) {
    enter(root);
    while (!visits_.empty()) {
      Visit& visit = visits_.back();
      const std::uint32_t node = visit.node;
      if (visit.edge < graph_.first[node + 1]) {
        const std::uint32_t next = graph_.to[visit.edge++];
        if (number_[next] == unset) {
          enter(next);
        } else if (is_open_[next]) {
          low_[node] = std::min(low_[node], number_[next]);
        }
        continue;
      }
      visits_.pop_back();
      if (!visits_.empty()) low_[visits_.back().node] = std::min(low_[visits_.back().node], low_[node]);
      if (low_[node] == number_[node]) leave(node);
    }
  }

  void leave(std::uint32_t root) {
    std::vector<std::uint32_t> component;
    do {
      component.push_back(open_.back());
      is_open_[open_.back()] = false;
      open_.pop_back();
    } while (component.back() != root);
    if (component.size() == 1 && std::ranges::count(graph_.next(root), root) == 0) return;
    std::ranges::sort(component);
    found_.push_back(std::move(component));
  }

  const Digraph& graph_;
  std::vector<std::uint32_t> number_, low_;
  std::vector<bool> is_open_;
  std::uint32_t count_ = 0;
  std::vector<std::uint32_t> open_;
  std::vector<Visit> visits_;
  std::vector<std::vector<std::uint32_t>> found_;
};

/// Breadth first searches from one node after the other, none deeper than the best cycle so far. A node whose cycles were all seen is left
/// out of later searches.
class CycleSearch {
 public:
  CycleSearch(const Digraph& graph, std::span<const std::uint32_t> component, std::uint64_t budget)
      : graph_(graph), budget_(budget), before_(graph.size(), unset), seen_(graph.size()), is_in_(graph.size()) {
    for (const std::uint32_t node : component) is_in_[node] = true;
  }

  std::vector<std::uint32_t> find(std::span<const std::uint32_t> component) {
    for (const std::uint32_t start : component) {
      search(start);
      if (best_.size() == 1 || (budget_ == 0 && !best_.empty())) break;
      is_in_[start] = false;
    }
    std::ranges::rotate(best_, std::ranges::min_element(best_));
    return std::move(best_);
  }

 private:
  void search(std::uint32_t start) {
    ++pass_;
    queue_.assign(1, start);
    seen_[start] = pass_;
    std::size_t length = 1;
    for (std::size_t head = 0; head < queue_.size() && (best_.empty() || length < best_.size()); ++length) {
      for (const std::size_t end = queue_.size(); head < end; ++head) {
        if (visit(queue_[head], start)) return;
      }
    }
  }

  bool visit(std::uint32_t node, std::uint32_t start) {
    for (const std::uint32_t next : graph_.next(node)) {
      if (budget_ > 0) --budget_;
      if (next == start) {
        keep(node, start);
        return true;
      }
      if (!is_in_[next] || seen_[next] == pass_) continue;
      seen_[next] = pass_;
      before_[next] = node;
      queue_.push_back(next);
    }
    return false;
  }

  void keep(std::uint32_t node, std::uint32_t start) {
    best_.clear();
    for (; node != start; node = before_[node]) best_.push_back(node);
    best_.push_back(start);
    std::ranges::reverse(best_);
  }

  const Digraph& graph_;
  std::uint64_t budget_;
  std::vector<std::uint32_t> before_, seen_, queue_, best_;
  std::vector<bool> is_in_;
  std::uint32_t pass_ = 0;
};

/// The number of VLs for data (IBA 14.2.5.6: PortInfo.OperationalVLs); packets on others are discarded. All where it is not known.
unsigned data_lane_count(smp::VLCap operational) {
  const auto code = static_cast<unsigned>(operational);
  return code >= 1 && code <= 4 ? 1U << (code - 1) : dropped_vl;
}

async::Task<mad::Result<bool>> read_lane_rows(subnet::SurveyPort port, const Network& network, const WantedLanes& of, SlToVlTables& lanes) {
  const unsigned count = data_lane_count(network.subnet().port(port.index).info().operational_vls);
  std::vector<std::uint32_t> modifiers;
  for (const std::uint8_t in : of.in) modifiers.push_back(static_cast<std::uint32_t>(in << 8U | of.out));  // IBA 14.2.5.8
  const subnet::SmpBlocks blocks =
      co_await subnet::try_read_smp_blocks(port.transactor, port.path, smp::SLToVLMappingTable::info(), modifiers);
  for (std::size_t i = 0; i < of.in.size(); ++i) {
    if (std::ranges::binary_search(blocks.unread, i)) continue;
    const auto row = smp::SLToVLMappingTable::unpack(blocks.block(i)).sl_to_vl;
    std::array<std::uint8_t, sl_count> vls{};
    for (unsigned sl = 0; sl < sl_count; ++sl) {
      const auto vl = static_cast<std::uint8_t>(row[sl]);
      vls[sl] = vl < count ? vl : dropped_vl;
    }
    lanes.set(of.at, network.switches()[of.at].slots, of.in[i], of.out, vls);
  }
  if (blocks.error) co_return blocks.error;
  co_return true;
}

}  // namespace

Channels::Channels(const Network& network) : network_(network), used_(network.port_id_count()) {
  const std::size_t switch_port_ids = network.port_id_count() - network.hosts().size();
  first_hop_.resize(switch_port_ids, none);
  first_word_.resize(switch_port_ids + 1);
  for (PortId port_id = 0; port_id < switch_port_ids; ++port_id) {
    const Wire& wire = network.wire(port_id);
    const unsigned slots = wire.to == Wire::To::switch_port ? network.switches()[wire.index].slots : 0U;
    first_word_[port_id + 1] = first_word_[port_id] + (slots + word_bits - 1) / word_bits;
  }
  bits_.resize(first_word_[switch_port_ids]);
}

void Channels::add(const RouteTree& tree) {
  for (const SwitchIndex at : tree.reached()) {
    const Hop& hop = tree.hop(at);
    if (hop.out == none || !network_.wire(hop.out).carries()) continue;
    used_[hop.out] = true;
    if (hop.senders > 0) {
      const HostIndex owner = tree.to().host;
      const bool owner_is_here = owner != none && network_.hosts()[owner].leaf == at;
      HostIndex& senders = first_hop_[hop.out];
      senders = owner_is_here && (senders == none || senders == owner) ? owner : everybody;
    }
    if (hop.next == none || hop.in_cycle) continue;
    const PortId wanted = tree.hop(hop.next).out;
    if (wanted != none && network_.wire(wanted).carries()) set_edge(hop.out, wanted, hop.next);
  }
  for (const HostIndex host : network_.stray()) {
    if (tree.sends(host) && network_.wire(network_.port_id_of_host(host)).carries()) used_[network_.port_id_of_host(host)] = true;
  }
}

void Channels::add_edge(PortId held, PortId wanted) {
  used_[held] = used_[wanted] = true;
  if (network_.is_host_port(held)) {
    const HostIndex host = network_.host_at(held);
    if (!host_wants(host, wanted)) more_first_hops_.emplace(host, wanted);
    return;
  }
  set_edge(held, wanted, network_.switch_at(wanted));
}

void Channels::set_edge(PortId held, PortId wanted, SwitchIndex of_wanted) {
  const unsigned port = wanted - network_.switches()[of_wanted].first_port_id;
  bits_[first_word_[held] + port / word_bits] |= std::uint64_t{1} << port % word_bits;
}

std::uint64_t Channels::channel_count() const {
  std::vector<bool> used = used_;
  for (HostIndex at = 0; at < network_.hosts().size(); ++at) {
    const SwitchIndex leaf = network_.hosts()[at].leaf;
    if (leaf == none) continue;
    const Switch& to = network_.switches()[leaf];
    for (unsigned port = 1; port < to.slots && !used[network_.port_id_of_host(at)]; ++port) {
      if (host_wants(at, to.first_port_id + port)) used[network_.port_id_of_host(at)] = true;
    }
  }
  return static_cast<std::uint64_t>(std::ranges::count(used, true));
}

std::uint64_t Channels::edge_count() const {
  std::uint64_t count = more_first_hops_.size();
  for (const std::uint64_t word : bits_) count += static_cast<std::uint64_t>(std::popcount(word));
  for (PortId port_id = 0; port_id < first_hop_.size(); ++port_id) {
    if (first_hop_[port_id] == none) continue;
    const std::uint32_t hosts = network_.switches()[network_.switch_at(port_id)].hosts;
    count += first_hop_[port_id] == everybody || hosts == 0 ? hosts : hosts - 1;
  }
  return count;
}

Digraph Channels::graph() const {
  Digraph graph;
  graph.first.reserve(first_word_.size());
  for (PortId port_id = 0; port_id + 1 < first_word_.size(); ++port_id) {
    for (std::uint32_t word = first_word_[port_id]; word < first_word_[port_id + 1]; ++word) {
      const PortId base = network_.switches()[network_.wire(port_id).index].first_port_id + (word - first_word_[port_id]) * word_bits;
      each_bit(bits_[word], [&](unsigned port) { graph.to.push_back(base + port); });
    }
    graph.first.push_back(static_cast<std::uint32_t>(graph.to.size()));
  }
  return graph;
}

std::vector<std::vector<std::uint32_t>> cyclic_components(const Digraph& graph) { return Components(graph).find(); }

std::vector<std::uint32_t> shortest_cycle(const Digraph& graph, std::span<const std::uint32_t> component, std::uint64_t budget) {
  return CycleSearch(graph, component, budget).find(component);
}

std::vector<WantedLanes> wanted_lanes(const Channels& channels, std::span<const PortId> port_ids, bool with_switches) {
  const Network& network = channels.network();
  std::vector<WantedLanes> wanted;
  for (const PortId port_id : port_ids) {
    const SwitchIndex at = network.switch_at(port_id);
    const unsigned out = network.port_at(port_id);
    WantedLanes of{at, static_cast<std::uint8_t>(out), {}};
    if (with_switches) of.in.push_back(0);
    for (unsigned in = 1; in < network.switches()[at].slots; ++in) {
      const Wire& wire = network.wire(network.port_id(at, in));
      const bool from_switch = wire.to == Wire::To::switch_port && channels.has_edge(network.port_id(wire.index, wire.in_port), out);
      const bool from_host = wire.to == Wire::To::host && channels.host_wants(wire.index, port_id);
      if (from_switch || from_host) of.in.push_back(static_cast<std::uint8_t>(in));
    }
    wanted.push_back(std::move(of));
  }
  return wanted;
}

LaneGraph::LaneGraph(const Channels& channels, std::span<const PortId> port_ids, const SlToVlTables& tables, const ServiceLevels& levels,
                     UnknownSl rest)
    : network_(channels.network()),
      tables_(tables),
      levels_(levels),
      rest_(rest),
      port_ids_(port_ids.begin(), port_ids.end()),
      local_(network_.port_id_count(), none),
      vl_count_(tables.vl_count()),
      passing_(network_.switches().size()) {
  std::ranges::sort(port_ids_);
  for (std::uint32_t i = 0; i < port_ids_.size(); ++i) local_[port_ids_[i]] = i;
  first_.push_back(0);
  for (const PortId port_id : port_ids_) {
    const SwitchIndex next = network_.wire(port_id).index;
    for (unsigned out = 0; out < network_.switches()[next].slots; ++out) {
      const std::uint32_t wanted = local_[network_.port_id(next, out)];
      if (wanted != none && channels.has_edge(port_id, out)) wanted_.push_back(wanted);
    }
    first_.push_back(static_cast<std::uint32_t>(wanted_.size()));
  }
  pairs_.resize(wanted_.size() * vl_count_);
  host_rows_.resize(port_ids_.size());
}

const LaneRow* LaneGraph::row(PortId out, unsigned in) {
  const LaneRow* const found = tables_.find(network_.switch_at(out), in, network_.port_at(out));
  if (found == nullptr) lacks_tables_ = true;
  return found;
}

void LaneGraph::add(const RouteTree& tree, std::size_t destination) {
  const std::span<const SwitchIndex> reached = tree.reached();
  for (const SwitchIndex at : reached) passing_[at] = {};
  // A switch stands behind its successor. From the end on, everything that comes into a switch is known before what leaves it is computed.
  for (std::size_t i = reached.size(); i-- > 0;) {
    const SwitchIndex at = reached[i];
    const Hop& hop = tree.hop(at);
    if (hop.out == none || !network_.wire(hop.out).carries()) continue;
    if (hop.senders > 0) send_hosts(tree, at, destination);
    if (hop.next != none && !hop.in_cycle) send_on(tree, at);
  }
}

void LaneGraph::send(SwitchIndex at, PortId out, unsigned in, SlSet sls) {
  Passing& passing = passing_[at];
  if (local_[out] == none) {
    passing.sls |= sls;
    return;
  }
  const LaneRow* const vls = row(out, in);
  if (vls == nullptr) return;
  each_bit(sls, [&](unsigned sl) {
    if ((*vls)[sl] >= dropped_vl) return;
    passing.sls |= SlSet{1} << sl;
    passing.vls[sl] |= static_cast<std::uint16_t>(1U << (*vls)[sl]);
  });
}

void LaneGraph::send_hosts(const RouteTree& tree, SwitchIndex at, std::size_t destination) {
  const PortId out = tree.hop(at).out;
  const bool sends_itself = tree.switch_sends(at);
  if (sends_itself) send(at, out, 0, levels_.of(network_.hosts().size() + at, destination, rest_));
  if (tree.hop(at).senders == (sends_itself ? 1U : 0U)) return;
  const std::span<const HostIndex> hosts = network_.attached(network_.switches()[at]);
  const bool one_by_one = local_[out] != none && !has_one_row(out, hosts);
  SlSet sls = levels_.is_by_pair() ? 0 : levels_.of_rest(rest_);
  for (std::size_t i = 0; i < hosts.size() && (one_by_one || levels_.is_by_pair()); ++i) {
    if (!tree.sends(hosts[i])) continue;
    const SlSet of_host = levels_.of(hosts[i], destination, rest_);
    sls |= of_host;
    if (one_by_one) send(at, out, network_.hosts()[hosts[i]].leaf_port, of_host);
  }
  if (!one_by_one) send(at, out, network_.hosts()[hosts.front()].leaf_port, sls);
}

/// Whether all hosts of a switch meet the same SLtoVL mapping table on their route to its port `out`.
bool LaneGraph::has_one_row(PortId out, std::span<const HostIndex> hosts) {
  HostRows& known = host_rows_[local_[out]];
  if (known == HostRows::unknown) {
    const auto row_of = [&](HostIndex host) {
      return tables_.find(network_.switch_at(out), network_.hosts()[host].leaf_port, network_.port_at(out));
    };
    const bool is_one = std::ranges::all_of(hosts, [&](HostIndex host) { return row_of(host) == row_of(hosts.front()); });
    known = is_one ? HostRows::one : HostRows::several;
  }
  return known == HostRows::one;
}

void LaneGraph::send_on(const RouteTree& tree, SwitchIndex at) {
  const Hop& hop = tree.hop(at);
  const PortId wanted = tree.hop(hop.next).out;
  if (wanted == none || !network_.wire(wanted).carries()) return;
  const Passing& from = passing_[at];
  if (local_[hop.out] != none && local_[wanted] != none) {
    const LaneRow* const vls = row(wanted, hop.in_port);
    if (vls == nullptr) return;
    std::uint16_t* const pairs = pairs_.data() + edge(hop.out, wanted) * vl_count_;
    each_bit(from.sls, [&](unsigned sl) {
      const std::uint8_t vl = (*vls)[sl];
      if (vl < dropped_vl) each_bit(from.vls[sl], [&](unsigned held) { pairs[held] |= static_cast<std::uint16_t>(1U << vl); });
    });
  }
  send(hop.next, wanted, hop.in_port, from.sls);
}

std::size_t LaneGraph::edge_count() const {
  std::size_t count = 0;
  for (const std::uint16_t wanted : pairs_) count += static_cast<std::size_t>(std::popcount(wanted));
  return count;
}

Digraph LaneGraph::graph() const {
  Digraph graph;
  graph.first.reserve(port_ids_.size() * lanes + 1);
  graph.to.reserve(edge_count());
  for (std::size_t port_id = 0; port_id < port_ids_.size(); ++port_id) {
    for (unsigned held = 0; held < lanes; ++held) {
      for (std::uint32_t i = first_[port_id]; i < first_[port_id + 1] && held < vl_count_; ++i) {
        each_bit(pairs_[std::size_t{i} * vl_count_ + held], [&](unsigned vl) { graph.to.push_back(wanted_[i] * lanes + vl); });
      }
      graph.first.push_back(static_cast<std::uint32_t>(graph.to.size()));
    }
  }
  return graph;
}

async::Task<subnet::Failures> read_lanes(mad::Transactor& transactor, const Network& network, std::vector<WantedLanes> ports,
                                         SlToVlTables& lanes, subnet::SurveyOptions options) {
  std::unordered_map<subnet::PortIndex, const WantedLanes*> by_port;
  std::vector<subnet::PortIndex> to;
  for (const WantedLanes& of : ports) {
    const subnet::PortIndex at = network.port_of(network.port_id(of.at, of.out));
    by_port[at] = &of;
    if (!of.in.empty()) to.push_back(at);
  }
  const subnet::SurveyQuestion<bool> question = [&](subnet::SurveyPort port) {
    return read_lane_rows(port, network, *by_port.at(port.index), lanes);
  };
  subnet::Surveyed<bool> surveyed = co_await subnet::survey(transactor, network.subnet(), std::move(to), std::move(options), question);
  co_return std::move(surveyed.failures);
}

}  // namespace ib::routing
