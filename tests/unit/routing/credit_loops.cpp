// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Verdicts on credit loops: over ports, and over (port, VL).
#include "routing/credit_loops.hpp"

#include <set>

#include "async/loop.hpp"
#include "support/catch.hpp"
#include "unit/routing/made_fabric.hpp"

namespace routing_credit_loops_tests {

using namespace ib;
using namespace ib::routing;
using ibtest::MadeFabric;

namespace {

/// Switches in a ring; port 2 leads to the next one, port 3 to the one before. Host n + 1 is at port 1 of switch n, and packets go
/// forwards over at most `most` links between switches, else backwards.
struct Ring : MadeFabric {
  explicit Ring(unsigned size, unsigned most) {
    for (unsigned at = 0; at < size; ++at) add_switch(4);
    for (unsigned at = 0; at < size; ++at) {
      link_switches(at, 2, (at + 1) % size, 3);
      add_host(at, 1, at + 1);
    }
    for (unsigned at = 0; at < size; ++at) {
      for (unsigned to = 0; to < size; ++to) {
        const unsigned forwards = (to + size - at) % size;
        lft[{at, to + 1}] = forwards == 0 ? 1 : forwards <= most ? 2 : 3;
      }
    }
  }
};

using Vls = std::array<std::uint8_t, sl_count>;

struct Judged {
  explicit Judged(const MadeFabric& made, bool with_switches = false)
      : network(made.subnet),
        tables(made.tables()),
        destinations(network.destinations(with_switches)),
        channels(network),
        lanes(network.switches().size()) {
    RouteTree tree(network, tables, with_switches);
    for (const DestinationLid& to : destinations) {
      tree.find(to);
      channels.add(tree);
    }
  }
  /// Gives all input and output ports of a switch the same table.
  void map(SwitchIndex at, const Vls& vls) {
    const unsigned slots = network.switches()[at].slots;
    for (unsigned in = 0; in < slots; ++in) {
      for (unsigned out = 1; out < slots; ++out) lanes.set(at, slots, in, out, vls);
    }
  }
  void map_all(const Vls& vls) {
    for (SwitchIndex at = 0; at < network.switches().size(); ++at) map(at, vls);
  }
  CreditLoops judge(const ServiceLevels& levels, bool with_lanes = true, bool unread = false, MulticastChannels* groups = nullptr) {
    async::Loop loop;
    ReadLanes read;
    if (with_lanes) read = [](std::vector<WantedLanes>) -> async::Task<> { co_return; };
    const Pause pause;
    return loop.run(find_loops({tables, destinations, false, channels, groups, lanes, levels}, unread, read, pause));
  }

  Network network;
  LinearTables tables;
  std::vector<DestinationLid> destinations;
  Channels channels;
  SlToVlTables lanes;
};

Vls identity() {
  Vls vls{};
  for (unsigned sl = 0; sl < vls.size(); ++sl) vls[sl] = static_cast<std::uint8_t>(sl == 15 ? 0 : sl);
  return vls;
}

/// SL 1 for pairs whose way passes from the last switch to the first one, SL 0 for the others.
ServiceLevels dateline(const Judged& of) {
  ServiceLevels levels(of.network.hosts().size(), of.destinations.size());
  for (std::size_t from = 0; from < of.network.hosts().size(); ++from) {
    for (std::size_t to = 0; to < of.destinations.size(); ++to) {
      if (from != to) levels.set(from, to, to < from ? 1 : 0);
    }
  }
  return levels;
}

/// A ring of four whose unicast ways never pass from switch 3 to switch 0 or back.
Ring line_in_ring() {
  Ring made(4, 3);
  for (unsigned at = 0; at < 4; ++at) {
    for (unsigned to = 0; to < 4; ++to) made.lft[{at, to + 1}] = at == to ? 1 : to > at ? 2 : 3;
  }
  return made;
}

/// Groups with all hosts of that ring. Their trees pass from switch 3 to switch 0, and not from switch 1 to switch 2.
MulticastTables trees_over_gap(std::initializer_list<Lid> mlids) {
  MulticastTables groups(4);
  const std::vector<std::vector<unsigned>> ports{{1, 2, 3}, {1, 3}, {1, 2}, {1, 2, 3}};
  for (const Lid mlid : mlids) {
    for (SwitchIndex at = 0; at < 4; ++at) {
      PortSet set;
      for (const unsigned port : ports[at]) set.add(port);
      groups.add(at, mlid, set);
    }
  }
  groups.finish();
  return groups;
}

}  // namespace

TEST_CASE("a ring that is never passed over more than one link is free, and nothing but forwarding tables is needed") {
  Judged ring{Ring(4, 1)};
  // Forwards one link, backwards two: the backward ports are a circle of four.
  CHECK(ring.judge({}, false).loops.size() == 1);
  Judged two{Ring(3, 1)};
  const CreditLoops found = two.judge({}, false);
  CHECK(found.verdict == Verdict::free);
  CHECK(found.loops.empty());
  CHECK(found.channel_count == 3 + 3 + 6);
}

TEST_CASE("where entries were not read, no loop is no proof") {
  Judged ring{Ring(3, 1)};
  CHECK(ring.judge({}, false, true).verdict == Verdict::not_read);
}

TEST_CASE("a ring over all of its links: without SLtoVL tables the verdict is open, and the circle is listed by ports") {
  Judged ring{Ring(3, 2)};
  const CreditLoops found = ring.judge({}, false);
  CHECK(found.verdict == Verdict::not_read);
  REQUIRE(found.loops.size() == 1);
  CHECK(found.loops[0].channels == 3);
  REQUIRE(found.loops[0].cycle.size() == 3);
  for (unsigned at = 0; at < 3; ++at) {
    CHECK(found.loops[0].cycle[at].port_id == ring.network.port_id(at, 2));
    CHECK_FALSE(found.loops[0].cycle[at].vl);
    // The pair that passes switch n and the next one by their ports 2 begins at switch n, or where it is behind the circle's begin.
    CHECK(found.loops[0].witnesses[at] == Pair{Lid{static_cast<std::uint16_t>(at + 1)}, Lid{static_cast<std::uint16_t>((at + 2) % 3 + 1)}});
  }
}

TEST_CASE("with one SL for all the ring has a loop, with SLs that change at a line it has none") {
  Judged ring{Ring(3, 2)};
  ring.map_all(identity());
  const CreditLoops found = ring.judge(ServiceLevels(1U << 3));
  CHECK(found.verdict == Verdict::found);
  REQUIRE(found.loops.size() == 1);
  CHECK(found.loops[0].cycle[0].vl == 3);
  CHECK(ring.judge(dateline(ring)).verdict == Verdict::free_for_used_sls);
}

TEST_CASE("a loop over two VLs that SLtoVL tables break, and one that they make") {
  Judged ring{Ring(3, 2)};
  SECTION("SL 0 changes to VL 1 at one switch: a loop is left only where a packet goes on") {
    // With VL = SL the pairs of SL 0 alone close the circle.
    ring.map_all(identity());
    CHECK(ring.judge(ServiceLevels(1)).verdict == Verdict::found);
    // Packets that come into switch 0 from switch 2 go on on VL 1, and on VL 1 out of switch 1 too if they came on it: by input port they
    // all come from switch 0, so the tables must look at where packets began. A table by input port breaks the circle.
    const unsigned slots = ring.network.switches()[0].slots;
    Vls one{};
    one.fill(1);
    ring.lanes.set(0, slots, 3, 2, one);
    ring.lanes.set(1, slots, 3, 2, one);
    ring.lanes.set(1, slots, 1, 2, Vls{});
    ring.lanes.set(2, slots, 3, 2, Vls{});
    CHECK(ring.judge(ServiceLevels(1)).verdict == Verdict::free_for_used_sls);
  }
  SECTION("two SLs without a loop are mapped to one VL") {
    Vls zero{};
    ring.map_all(zero);
    const CreditLoops found = ring.judge(dateline(ring));
    CHECK(found.verdict == Verdict::found);
    REQUIRE(found.loops.size() == 1);
    CHECK(found.loops[0].cycle[1].vl == 0);
    for (const Pair& pair : found.loops[0].witnesses) CHECK(pair.slid.value != 0);
  }
  SECTION("one switch maps SL 1 to VL 0, and the circle is over both VLs") {
    ring.map_all(identity());
    Vls merged = identity();
    merged[1] = 0;
    ring.map(0, merged);
    ring.map(1, merged);
    CHECK(ring.judge(dateline(ring)).verdict == Verdict::found);
  }
}

TEST_CASE("where the SLs of pairs are not known, a loop with some SLs is possible, and one with every SL is found") {
  Judged ring{Ring(3, 2)};
  ring.map_all(identity());
  const CreditLoops possible = ring.judge({});
  CHECK(possible.verdict == Verdict::possible);
  CHECK(possible.unknown_pairs == 6);
  ServiceLevels partly = dateline(ring);
  CHECK(ring.judge(partly).unknown_pairs == 0);
  ServiceLevels one_missing(3, 3);
  for (std::size_t from = 0; from < 3; ++from) {
    for (std::size_t to = 0; to < 3; ++to) {
      if (from != to && !(from == 0 && to == 2)) one_missing.set(from, to, to < from ? 1 : 0);
    }
  }
  const CreditLoops open = ring.judge(one_missing);
  CHECK(open.verdict == Verdict::possible);
  CHECK(open.unknown_pairs == 1);
  ring.map_all(Vls{});
  CHECK(ring.judge({}).verdict == Verdict::found);
}

TEST_CASE("a packet on VL 15 is not sent on, and holds nothing") {
  Judged ring{Ring(3, 2)};
  Vls dropped{};
  dropped.fill(15);
  ring.map_all(Vls{});
  ring.map(1, dropped);
  CHECK(ring.judge({}).verdict == Verdict::free);
}

TEST_CASE("a table that was not read leaves the verdict open, unless there is a loop without it") {
  Judged ring{Ring(3, 2)};
  ring.map(0, Vls{});
  ring.map(1, Vls{});
  CHECK(ring.judge({}).verdict == Verdict::not_read);
}

TEST_CASE("the tables of ports in circles decide, by the inputs from which packets come") {
  Judged ring{Ring(3, 2)};
  const auto wanted = wanted_lanes(ring.channels, cyclic_components(ring.channels.graph()).at(0), false);
  REQUIRE(wanted.size() == 3);
  for (SwitchIndex at = 0; at < 3; ++at) {
    CHECK(wanted[at].at == at);
    CHECK(wanted[at].out == 2);
    CHECK(wanted[at].in == std::vector<std::uint8_t>{1, 3});
  }
}

TEST_CASE("a routing loop is no credit loop") {
  Ring made(3, 1);
  made.lft[{0, 3}] = 2;
  made.lft[{1, 3}] = 3;
  Judged ring(made);
  CHECK(ring.judge({}, false).verdict == Verdict::free);
}

TEST_CASE("pairs that are lost hold what they get to") {
  Ring made(3, 2);
  made.lft[{2, 1}] = 255;  // the only pair that goes over switch 2 from switch 1
  CHECK(Judged(made).judge({}, false).verdict == Verdict::free);
  made.lft[{2, 1}] = 2;
  made.lft[{0, 1}] = 255;  // it is lost behind that
  Judged lost(made);
  CHECK(lost.judge({}, false).loops.size() == 1);
}

TEST_CASE("a loop that only routes between Aggregation Nodes close is reported as such") {
  Ring made(3, 2);
  const auto is_loop_of_aggregation = [](MadeFabric& fabric) {
    Judged judged(fabric);
    judged.map_all(Vls{});
    const CreditLoops found = judged.judge({});
    REQUIRE(found.loops.size() == 1);
    CHECK(judged.judge({}, false).loops[0].needs_aggregation == found.loops[0].needs_aggregation);
    return found.loops[0].needs_aggregation;
  };
  CHECK_FALSE(is_loop_of_aggregation(made));
  // Of the pairs that go over two links, 1 → 3, 2 → 1 and 3 → 2, the first is one between Aggregation Nodes.
  made.describe(made.subnet.port(made.subnet.find_lid(Lid{1})).node, "Mellanox Technologies Aggregation Node");
  CHECK_FALSE(is_loop_of_aggregation(made));
  made.describe(made.subnet.port(made.subnet.find_lid(Lid{3})).node, "Mellanox Technologies Aggregation Node");
  CHECK(is_loop_of_aggregation(made));
}

TEST_CASE("a multicast tree closes a loop that unicast leaves open") {
  const Ring made = line_in_ring();
  Judged line(made);
  CHECK(line.judge({}, false).verdict == Verdict::free);
  const MulticastTables groups = trees_over_gap({Lid{0xc001}});
  Multicast multicast(line.network, groups, {});
  multicast.add(Lid{0xc001});
  CHECK(multicast.findings().empty());
  MulticastChannels trees(line.network, groups, multicast);
  for (const Lid mlid : trees.groups()) trees.add_to(line.channels, mlid);
  line.map_all(identity());
  const CreditLoops found = line.judge(ServiceLevels(1), true, false, &trees);
  CHECK(found.verdict == Verdict::possible);  // if the group has SL 0 too
  REQUIRE_FALSE(found.loops.empty());
  bool by_group = false;
  for (const Pair& pair : found.loops[0].witnesses) by_group = by_group || pair.dlid == Lid{0xc001};
  CHECK(by_group);
  trees.sls_of = [](Lid) { return SlSet{1}; };
  CHECK(line.judge(ServiceLevels(1), true, false, &trees).verdict == Verdict::found);
  trees.sls_of = [](Lid) { return SlSet{2}; };
  CHECK(line.judge(ServiceLevels(1), true, false, &trees).verdict == Verdict::free_for_used_sls);
}

TEST_CASE("the witness of a loop that multicast closes is of a group that uses its VLs") {
  const Ring made = line_in_ring();
  Judged line(made);
  const MulticastTables groups = trees_over_gap({Lid{0xc001}, Lid{0xc002}});
  Multicast multicast(line.network, groups, {});
  for (const Lid mlid : groups.groups()) multicast.add(mlid);
  MulticastChannels trees(line.network, groups, multicast);
  for (const Lid mlid : trees.groups()) trees.add_to(line.channels, mlid);
  const auto groups_of_witnesses = [&] {
    const CreditLoops found = line.judge(ServiceLevels(1), true, false, &trees);
    CHECK(found.verdict == Verdict::found);
    std::set<std::uint16_t> mlids;
    for (const CreditLoop& loop : found.loops) {
      for (std::size_t i = 0; i < loop.cycle.size(); ++i) {
        CHECK(loop.cycle[i].vl == 0);
        CHECK(loop.witnesses[i] != Pair{});
        if (loop.witnesses[i].dlid.is_multicast()) mlids.insert(loop.witnesses[i].dlid.value);
      }
    }
    return mlids;
  };
  line.map_all(identity());
  trees.sls_of = [](Lid mlid) { return mlid == Lid{0xc001} ? SlSet{2} : SlSet{1}; };
  CHECK(groups_of_witnesses() == std::set<std::uint16_t>{0xc002});
  trees.sls_of = [](Lid mlid) { return mlid == Lid{0xc001} ? SlSet{3} : SlSet{1}; };  // SLs 0 and 1
  CHECK(groups_of_witnesses() == std::set<std::uint16_t>{0xc001});
  line.map_all(Vls{});
  trees.sls_of = [](Lid mlid) { return mlid == Lid{0xc001} ? SlSet{2} : SlSet{1}; };  // both on VL 0
  CHECK(groups_of_witnesses() == std::set<std::uint16_t>{0xc001});
}

}  // namespace routing_credit_loops_tests
