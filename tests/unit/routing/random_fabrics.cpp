// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Random fabrics with random faults, walked packet by packet: the passes by destination count the same pairs, hops, causes, loads and
// channels as a walk along the cables of the model that knows nothing of them.
#include <functional>
#include <utility>

#include "base/bytes.hpp"
#include "routing/channels.hpp"
#include "routing/unicast.hpp"
#include "support/catch.hpp"
#include "unit/routing/random_fabric.hpp"

namespace routing_random_fabrics_tests {

using namespace ib;
using namespace ib::routing;
using ibtest::PortIndex;
using ibtest::Random;
using ibtest::RandomFabric;
using ibtest::Walk;
using ibtest::Walker;

namespace {

/// Identifies a cause.
struct Key {
  Fault fault;
  PortIndex at;
  std::vector<std::size_t> cycle;

  bool operator==(const Key& other) const = default;
  bool operator<(const Key& other) const {
    const auto place = std::pair(fault, at), other_place = std::pair(other.fault, other.at);
    return place != other_place ? place < other_place : SequenceLess()(cycle, other.cycle);
  }
};
struct Lost {
  std::set<unsigned> lids;
  std::uint64_t pairs = 0;
  std::set<std::pair<unsigned, unsigned>> all;  ///< SLID and DLID
  bool operator==(const Lost& other) const { return lids == other.lids && pairs == other.pairs; }
};

struct Counted {
  std::uint64_t pairs = 0, arrived = 0, longer = 0;
  std::map<std::size_t, std::uint64_t> hops;
  std::map<Key, Lost> lost;
  std::map<PortIndex, std::uint64_t> routes;
  std::map<PortIndex, std::set<unsigned>> lids;
  std::set<std::pair<PortIndex, PortIndex>> edges;
};

/// The links of the shortest way between two ports over links that carry packets; nothing if there is none.
std::map<PortIndex, std::size_t> shortest_from(const subnet::Subnet& subnet, PortIndex from) {
  const auto carries = [&subnet](PortIndex port) {
    const auto active = [&subnet](PortIndex of) { return !subnet.port(of).has_info || subnet.port(of).state() == smp::PortState::active; };
    return subnet.port(port).peer != subnet::none && active(port) && active(subnet.port(port).peer);
  };
  std::map<PortIndex, std::size_t> found;        // host ports, and port 0 of switches
  std::map<subnet::NodeIndex, std::size_t> far;  // switches
  std::deque<subnet::NodeIndex> queue;
  const auto reach = [&](PortIndex port, std::size_t links) {
    const subnet::NodeIndex node = subnet.port(port).node;
    if (subnet.node(node).kind() != subnet::NodeKind::sw) {
      found.emplace(port, links);
    } else if (far.emplace(node, links).second) {
      found.emplace(subnet.node(node).first_port, links);
      queue.push_back(node);
    }
  };
  if (subnet.node(subnet.port(from).node).kind() == subnet::NodeKind::sw) {
    reach(from, 0);
  } else if (carries(from)) {
    reach(subnet.port(from).peer, 1);
  }
  while (!queue.empty()) {
    const subnet::NodeIndex node = queue.front();
    queue.pop_front();
    for (unsigned number = 1; number <= subnet.node(node).info.num_ports; ++number) {
      const PortIndex port = subnet.node(node).first_port + number;
      if (carries(port)) reach(subnet.port(port).peer, far[node] + 1);
    }
  }
  return found;
}

class Counter {
 public:
  Counter(const RandomFabric& fabric, bool with_switches) : fabric_(fabric), subnet_(fabric.subnet), walker_(fabric) {
    for (PortIndex port = 0; port < subnet_.ports().size(); ++port) {
      const bool of_switch = subnet_.node(subnet_.port(port).node).kind() == subnet::NodeKind::sw;
      const bool is_end = of_switch ? with_switches && subnet_.port(port).number == 0 : subnet_.port(port).peer != subnet::none;
      if (is_end && subnet_.lid(port).value != 0) ends_.push_back(port);
    }
  }

  Counted count() {
    for (const PortIndex from : ends_) {
      const auto shortest = shortest_from(subnet_, from);
      for (unsigned lid = 1; lid <= fabric_.last_lid; ++lid) {
        const PortIndex to = subnet_.find_lid(Lid{static_cast<std::uint16_t>(lid)});
        if (to == from || std::ranges::find(ends_, to) == ends_.end()) continue;
        add(from, lid, shortest.contains(to) ? shortest.at(to) : 0);
      }
    }
    return counted_;
  }

 private:
  void add(PortIndex from, unsigned lid, std::size_t shortest) {
    const Walk way = walker_.walk(from, Lid{static_cast<std::uint16_t>(lid)});
    ++counted_.pairs;
    const std::size_t end = way.fault == Fault::loop ? std::min(way.before_cycle + 1, way.senders.size()) : way.senders.size();
    for (std::size_t i = 1; i < end; ++i) counted_.edges.emplace(way.senders[i - 1], way.senders[i]);
    if (way.fault != Fault::arrives) {
      Lost& lost = counted_.lost[{way.fault, way.fault == Fault::loop ? 0 : way.at, way.cycle}];
      lost.lids.insert(lid);
      ++lost.pairs;
      lost.all.emplace(subnet_.lid(from).value, lid);
      return;
    }
    ++counted_.arrived;
    ++counted_.hops[way.links];
    counted_.longer += way.links > shortest ? 1 : 0;
    for (const PortIndex port : way.senders) {
      ++counted_.routes[port];
      counted_.lids[port].insert(lid);
    }
  }

  const RandomFabric& fabric_;
  const subnet::Subnet& subnet_;
  Walker walker_;
  std::vector<PortIndex> ends_;
  Counted counted_;
};

void check_causes(const Network& network, const std::vector<const Cause*>& causes, const Counted& expected, bool not_read) {
  std::map<Key, Lost> found;
  for (const Cause* cause : causes) {
    const std::vector<std::size_t> cycle(cause->cycle.begin(), cause->cycle.end());
    const Key key{cause->fault, cause->fault == Fault::loop ? 0 : network.port_of(cause->port_id), cycle};
    found[key] = {{cause->lids.begin(), cause->lids.end()}, cause->pairs, {}};
    REQUIRE(expected.lost.contains(key));
    CHECK(expected.lost.at(key).all.contains({cause->example.slid.value, cause->example.dlid.value}));
  }
  std::map<Key, Lost> wanted;
  for (const auto& [key, lost] : expected.lost) {
    if ((key.fault == Fault::not_read) == not_read) wanted[key] = lost;
  }
  CHECK(found == wanted);
  CHECK(std::ranges::is_sorted(causes, std::greater<>(), &Cause::pairs));
}

void compare(const RandomFabric& fabric, bool with_switches) {
  const Counted expected = Counter(fabric, with_switches).count();
  const Network network(fabric.subnet);
  const LinearTables tables = fabric.read_tables();
  const std::vector<DestinationLid> destinations = network.destinations(with_switches);
  Unicast unicast(network, destinations);
  Load load(network);
  Channels channels(network);
  RouteTree tree(network, tables, with_switches);
  for (const DestinationLid& to : destinations) {
    tree.find(to);
    unicast.add(tree);
    load.add(tree);
    channels.add(tree);
  }
  load.finish();

  CHECK(unicast.pairs() == expected.pairs);
  CHECK(unicast.arrived() == expected.arrived);
  CHECK(unicast.longer() == expected.longer);
  std::map<std::size_t, std::uint64_t> hops;
  for (std::size_t links = 0; links < unicast.hops().size(); ++links) {
    if (unicast.hops()[links] != 0) hops[links] = unicast.hops()[links];
  }
  CHECK(hops == expected.hops);
  check_causes(network, unicast.findings(), expected, false);
  check_causes(network, unicast.not_read(), expected, true);

  std::set<std::pair<PortIndex, PortIndex>> edges;
  for (PortId port_id = 0; port_id < network.port_id_count(); ++port_id) {
    const PortIndex port = network.port_of(port_id);
    const auto routes = expected.routes.find(port);
    CHECK(load.routes(port_id) == (routes == expected.routes.end() ? 0 : routes->second));
    CHECK(load.lids(port_id) == (routes == expected.routes.end() ? 0 : expected.lids.at(port).size()));
    const Wire& wire = network.wire(port_id);
    if (wire.to != Wire::To::switch_port) continue;
    for (unsigned out = 1; out < network.switches()[wire.index].slots; ++out) {
      const PortId wanted = network.port_id(wire.index, out);
      const bool has =
          network.is_host_port(port_id) ? channels.host_wants(network.host_at(port_id), wanted) : channels.has_edge(port_id, out);
      if (has) edges.emplace(port, network.port_of(wanted));
    }
  }
  CHECK(edges == expected.edges);
  CHECK(channels.edge_count() == expected.edges.size());
}

}  // namespace

TEST_CASE("passes by destination count what walks of single packets count") {
  Random random(27);
  std::set<Fault> met;
  for (unsigned round = 0; round < 150; ++round) {
    RandomFabric fabric;
    ibtest::cable(fabric, random);
    ibtest::route(fabric, random);
    CAPTURE(round);
    compare(fabric, false);
    compare(fabric, true);
    for (const auto& [key, lost] : Counter(fabric, true).count().lost) met.insert(key.fault);
  }
  CHECK(met == std::set<Fault>{Fault::no_entry, Fault::dead_port, Fault::loop, Fault::wrong_node, Fault::not_read});
}

}  // namespace routing_random_fabrics_tests
