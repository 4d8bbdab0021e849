// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Credit loops in random fabrics with random SL to VL tables: the lanes that the search joins, its verdict, its loops and its witnesses are
// those of walks of single packets.
#include <functional>
#include <numeric>
#include <tuple>

#include "async/loop.hpp"
#include "routing/credit_loops.hpp"
#include "support/catch.hpp"
#include "unit/routing/random_fabric.hpp"

namespace routing_random_lanes_tests {

using namespace ib;
using namespace ib::routing;
using ibtest::PortIndex;
using ibtest::Random;
using ibtest::RandomFabric;
using ibtest::Walk;
using ibtest::Walker;

namespace {

using Vls = std::array<std::uint8_t, sl_count>;
/// A channel: the port that sends, and the VL.
using Channel = std::pair<PortIndex, unsigned>;
using Edges = std::map<Channel, std::set<Channel>>;

/// A random fabric without switches that send, with tables and SLs.
struct Site {
  explicit Site(Random& random)
      : made(random),
        network(made.subnet),
        tables(made.read_tables()),
        lanes(network.switches().size()),
        destinations(network.destinations(false)) {
    add_lanes(random);
    levels = ServiceLevels(network.hosts().size(), destinations.size());
    for (std::size_t sender = 0; sender < network.hosts().size(); ++sender) {
      for (std::size_t to = 0; to < destinations.size(); ++to) {
        const unsigned sl = ibtest::below(random, sl_count);
        levels.set(sender, to, sl);
        sl_of[{sender, to}] = sl;
      }
    }
  }

  void add_lanes(Random& random) {
    const unsigned count = 1 + ibtest::below(random, 3);
    std::vector<Vls> rows(1 + ibtest::below(random, 4));
    for (Vls& row : rows) {
      for (std::uint8_t& vl : row) vl = static_cast<std::uint8_t>(ibtest::below(random, count));
    }
    for (SwitchIndex at = 0; at < network.switches().size(); ++at) {
      const unsigned slots = network.switches()[at].slots;
      const PortIndex port0 = made.subnet.node(network.switches()[at].node).first_port;
      for (unsigned in = 0; in < slots; ++in) {
        for (unsigned out = 1; out < slots; ++out) {
          const Vls& row = rows[ibtest::below(random, static_cast<unsigned>(rows.size()))];
          lanes.set(at, slots, in, out, row);
          vls[{port0 + in, port0 + out}] = row;
        }
      }
    }
  }

  struct Made : RandomFabric {
    explicit Made(Random& random) {
      ring(random);
      ibtest::route(*this, random);
      cut.clear();
    }
    /// A ring of switches with hosts and some links across it: shortest ways often close loops here.
    void ring(Random& random) {
      const unsigned count = 3 + ibtest::below(random, 5);
      for (unsigned at = 0; at < count; ++at) add_switch(8);
      for (unsigned at = 0; at < count; ++at) link_switches(at, 1, (at + 1) % count, 2);
      for (unsigned at = 0; at + 2 < count; at += 2) {
        if (ibtest::below(random, 3) == 0) link_switches(at, 3, at + 2, 4);
      }
      unsigned lid = 1;
      for (unsigned at = 0; at < count; ++at) {
        for (unsigned hosts = 1 + ibtest::below(random, 2); hosts > 0; --hosts) add_host(at, 4 + hosts, lid++);
      }
    }
  } made;
  Network network;
  LinearTables tables;
  SlToVlTables lanes;
  std::vector<DestinationLid> destinations;
  ServiceLevels levels;
  std::map<std::pair<std::size_t, std::size_t>, unsigned> sl_of;  ///< by sender and number of the destination
  std::map<std::pair<PortIndex, PortIndex>, Vls> vls;             ///< by input and output port
};

/// The channels that a packet holds one after the other, as far as it comes before a routing loop.
std::vector<Channel> channels_of(const Site& site, const Walk& way, unsigned sl) {
  std::vector<Channel> held;
  const std::size_t end = way.fault == Fault::loop ? std::min(way.before_cycle + 1, way.senders.size()) : way.senders.size();
  for (std::size_t i = 0; i < end; ++i) {
    const PortIndex in = i == 0 ? 0 : site.made.subnet.port(way.senders[i - 1]).peer;
    held.emplace_back(way.senders[i], i == 0 ? sl : site.vls.at({in, way.senders[i]})[sl]);
  }
  return held;
}

/// Two groups with all hosts. Each has a random tree of switches, and one SL.
struct Groups {
  Groups(const Site& site, Random& random) : tables(site.network.switches().size()) {
    for (const std::uint16_t mlid : {std::uint16_t{0xc001}, std::uint16_t{0xc002}}) {
      sl_of[mlid] = ibtest::below(random, sl_count);
      grow(site, random, mlid);
    }
    tables.finish();
  }
  void grow(const Site& site, Random& random, std::uint16_t mlid) {
    const subnet::Subnet& subnet = site.made.subnet;
    std::vector<PortIndex> linked;  // ports of switches
    for (PortIndex at = 0; at < subnet.ports().size(); ++at) {
      const bool is_switch = subnet.node(subnet.port(at).node).kind() == subnet::NodeKind::sw;
      if (is_switch && subnet.port(at).peer != subnet::none) linked.push_back(at);
    }
    std::shuffle(linked.begin(), linked.end(), random);
    std::vector<SwitchIndex> part(site.network.switches().size());
    std::iota(part.begin(), part.end(), 0U);
    std::vector<PortSet> entries(part.size());
    const auto add = [&](PortIndex port) {
      ports[mlid].insert(port);
      entries[site.network.switch_of(subnet.port(port).node)].add(subnet.port(port).number);
    };
    for (const PortIndex port : linked) {
      const SwitchIndex other = site.network.switch_of(subnet.port(subnet.port(port).peer).node);
      if (other == none) {
        add(port);
        continue;
      }
      const SwitchIndex from = part[site.network.switch_of(subnet.port(port).node)], to = part[other];
      if (from == to) continue;
      std::ranges::replace(part, from, to);
      add(port);
      add(subnet.port(port).peer);
    }
    for (SwitchIndex at = 0; at < entries.size(); ++at) tables.add(at, Lid{mlid}, entries[at]);
  }
  /// Adds the edges of the copies of a packet.
  void copy(const Site& site, std::uint16_t mlid, PortIndex from, Edges& edges) const {
    const subnet::Subnet& subnet = site.made.subnet;
    std::vector<Channel> queue{{from, 0}};
    while (!queue.empty()) {
      const Channel held = queue.back();
      queue.pop_back();
      const PortIndex in = subnet.port(held.first).peer;
      const subnet::NodeIndex node = subnet.port(in).node;
      if (subnet.node(node).kind() != subnet::NodeKind::sw) continue;
      for (const PortIndex out : ports.at(mlid)) {
        if (subnet.port(out).node != node || out == in) continue;
        queue.emplace_back(out, site.vls.at({in, out})[sl_of.at(mlid)]);
        if (held.first != from) edges[held].insert(queue.back());
      }
    }
  }

  MulticastTables tables;
  std::map<std::uint16_t, unsigned> sl_of;
  std::map<std::uint16_t, std::set<PortIndex>> ports;  ///< of the entries
};

/// All edges between channels of switches.
Edges walked(const Site& site) {
  Edges edges;
  const Walker walker(site.made);
  for (const auto& [pair, sl] : site.sl_of) {
    const Host& from = site.network.hosts()[pair.first];
    const DestinationLid& to = site.destinations[pair.second];
    if (to.host == pair.first) continue;
    const std::vector<Channel> held = channels_of(site, walker.walk(from.port, to.lid), sl);
    for (std::size_t i = 2; i < held.size(); ++i) edges[held[i - 1]].insert(held[i]);
  }
  return edges;
}

/// Whether the edges have a cycle: what is left when channels without a successor are taken away again and again.
bool has_cycle(Edges edges) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto edge = edges.begin(); edge != edges.end();) {
      std::erase_if(edge->second, [&edges](const Channel& wanted) { return !edges.contains(wanted); });
      changed = changed || edge->second.empty();
      edge = edge->second.empty() ? edges.erase(edge) : std::next(edge);
    }
  }
  return !edges.empty();
}

/// The same edges by port.
Edges by_port(const Edges& edges) {
  Edges found;
  for (const auto& [held, wanted] : edges) {
    for (const Channel& one : wanted) found[{held.first, 0}].insert({one.first, 0});
  }
  return found;
}

Channels channels_over_ports(const Site& site) {
  Channels channels(site.network);
  RouteTree tree(site.network, site.tables, false);
  for (const DestinationLid& to : site.destinations) {
    tree.find(to);
    channels.add(tree);
  }
  return channels;
}

/// The cycle is one of the edges that were walked, and each witness holds the one channel and wants the next. Returns the number of
/// witnesses that are packets of groups.
unsigned check_loop(const Site& site, const Groups* groups, const CreditLoop& loop, const Edges& edges) {
  unsigned multicast = 0;
  const Walker walker(site.made);
  REQUIRE(loop.witnesses.size() == loop.cycle.size());
  for (std::size_t i = 0; i < loop.cycle.size(); ++i) {
    const LoopChannel &here = loop.cycle[i], &next = loop.cycle[(i + 1) % loop.cycle.size()];
    REQUIRE(here.vl);
    const Channel held{site.network.port_of(here.port_id), *here.vl}, wanted{site.network.port_of(next.port_id), *next.vl};
    REQUIRE(edges.contains(held));
    CHECK(edges.at(held).contains(wanted));
    const Pair pair = loop.witnesses[i];
    if (groups != nullptr && pair.dlid.is_multicast()) {
      Edges copied;
      groups->copy(site, pair.dlid.value, site.made.subnet.find_lid(pair.slid), copied);
      CHECK(copied[held].contains(wanted));
      ++multicast;
      continue;
    }
    const auto to = std::ranges::find(site.destinations, pair.dlid, &DestinationLid::lid);
    REQUIRE(to != site.destinations.end());
    const PortIndex from = site.made.subnet.find_lid(pair.slid);
    const auto sender = std::ranges::find(site.network.hosts(), from, &Host::port);
    REQUIRE(sender != site.network.hosts().end());
    const std::size_t number = static_cast<std::size_t>(sender - site.network.hosts().begin());
    const unsigned sl = site.sl_of.at({number, static_cast<std::size_t>(to - site.destinations.begin())});
    const std::vector<Channel> way = channels_of(site, walker.walk(from, pair.dlid), sl);
    const auto at = std::ranges::find(way, held);
    REQUIRE(at != way.end());
    REQUIRE(at + 1 != way.end());
    CHECK(*(at + 1) == wanted);
  }
  return multicast;
}

struct Judgement {
  Verdict verdict{};
  unsigned multicast_witnesses = 0;
};

/// Judges, and compares with the edges that were walked.
Judgement judge(const Site& site, const Channels& channels, MulticastChannels* trees, const Groups* groups, const Edges& edges) {
  async::Loop loop;
  const Pause pause = [](std::size_t, std::size_t, std::string_view) -> async::Task<> { co_return; };
  const ReadLanes read = [](std::vector<WantedLanes>) -> async::Task<> { co_return; };
  const CreditLoops found =
      loop.run(find_loops({site.tables, site.destinations, false, channels, trees, site.lanes, site.levels}, false, read, pause));
  const bool over_ports = has_cycle(by_port(edges)), over_lanes = has_cycle(edges);
  CHECK(cyclic_components(channels.graph()).empty() == !over_ports);
  CHECK(found.verdict == (over_lanes ? Verdict::found : over_ports ? Verdict::free_for_used_sls : Verdict::free));
  CHECK(found.loops.empty() == !over_lanes);
  Judgement judgement{found.verdict};
  for (const CreditLoop& one : found.loops) judgement.multicast_witnesses += check_loop(site, groups, one, edges);
  return judgement;
}

}  // namespace

TEST_CASE("lanes, the verdict, the loops and their witnesses equal the result of following single packets") {
  Random random(3);
  std::map<Verdict, unsigned> verdicts;
  for (unsigned round = 0; round < 300; ++round) {
    CAPTURE(round);
    const Site site(random);
    const Edges edges = walked(site);
    ++verdicts[judge(site, channels_over_ports(site), nullptr, nullptr, edges).verdict];
  }
  CHECK(verdicts[Verdict::free] > 10);
  CHECK(verdicts[Verdict::free_for_used_sls] > 10);
  CHECK(verdicts[Verdict::found] > 10);
}

TEST_CASE("also with multicast groups the verdict, the loops and their witnesses equal the result of following single packets") {
  Random random(5);
  std::map<Verdict, unsigned> verdicts;
  unsigned multicast_witnesses = 0;
  for (unsigned round = 0; round < 300; ++round) {
    CAPTURE(round);
    const Site site(random);
    const Groups groups(site, random);
    Edges edges = walked(site);
    Channels channels = channels_over_ports(site);
    Multicast multicast(site.network, groups.tables, {});
    for (const Lid mlid : groups.tables.groups()) multicast.add(mlid);
    MulticastChannels trees(site.network, groups.tables, multicast);
    trees.sls_of = [&groups](Lid mlid) { return SlSet{1} << groups.sl_of.at(mlid.value); };
    for (const Lid mlid : trees.groups()) {
      trees.add_to(channels, mlid);
      for (const Host& host : site.network.hosts()) groups.copy(site, mlid.value, host.port, edges);
    }
    CHECK(trees.groups().size() == 2);
    const Judgement judgement = judge(site, channels, &trees, &groups, edges);
    ++verdicts[judgement.verdict];
    multicast_witnesses += judgement.multicast_witnesses;
  }
  CHECK(verdicts[Verdict::free_for_used_sls] > 10);
  CHECK(verdicts[Verdict::found] > 10);
  CHECK(multicast_witnesses > 10);
}

}  // namespace routing_random_lanes_tests
