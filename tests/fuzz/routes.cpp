// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A topology and forwarding tables from untrusted text, analysed: whatever they say, each pair arrives, is lost by one cause or is not
// known, loads add up to the pairs that arrive, and every loop is one.
#include "async/loop.hpp"
#include "base/error.hpp"
#include "formats/forwarding_text.hpp"
#include "formats/topology_text.hpp"
#include "fuzz.hpp"
#include "routing/credit_loops.hpp"
#include "routing/multicast.hpp"
#include "routing/unicast.hpp"

namespace ibtest::fuzz_routes {

using namespace ib;
using namespace ib::routing;

namespace {

constexpr std::string_view between = "=====\n";

struct Tables {
  explicit Tables(const Network& of) : network(of), linear(of.switches().size(), Lid{last_unicast_lid}), multicast(of.switches().size()) {
    for (SwitchIndex at = 0; at < of.switches().size(); ++at) linear.clear(at);
  }

  void take(const formats::StoredForwardingTable& table) {
    const auto node = network.subnet().find_node(table.node_guid.value_or(Guid{}));
    const SwitchIndex at = node == subnet::none ? none : network.switch_of(node);
    if (at == none) return;
    for (const formats::StoredRoute& route : table.routes) linear.set_entry(at, route.lid, route.port);
    if (!table.multicast) return;
    multicast.set_known(at);
    for (const formats::StoredGroup& group : table.groups) {
      PortSet ports;
      for (unsigned port = 0; port < group.ports.size(); ++port) {
        if (group.ports[port]) ports.add(port);
      }
      multicast.add(at, group.lid, ports);
    }
  }

  const Network& network;
  LinearTables linear;
  MulticastTables multicast;
};

void read_tables(std::string_view text, Tables& tables) {
  formats::ForwardingTextReader reader("FILE", [&tables](formats::StoredForwardingTable&& table) { tables.take(table); });
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    reader.line(line);
  }
  reader.end();
}

void check_unicast(const Unicast& unicast, const Load& load, const Network& network) {
  std::uint64_t lost = 0, hops = 0, from_hosts = 0;
  for (const Cause* cause : unicast.findings()) {
    lost += cause->pairs;
    ibtest::must(cause->pairs > 0 && !cause->lids.empty(), "a cause of nothing");
    ibtest::must((cause->fault == Fault::loop) == !cause->cycle.empty(), "a loop without switches");
  }
  for (const std::uint64_t pairs : unicast.hops()) hops += pairs;
  for (HostIndex at = 0; at < network.hosts().size(); ++at) from_hosts += load.routes(network.port_id_of_host(at));
  ibtest::must(unicast.arrived() + lost + unicast.unknown() == unicast.pairs(), "pairs that are neither lost nor found");
  ibtest::must(hops == unicast.arrived() && from_hosts == unicast.arrived(), "pairs that arrive and are not counted");
}

void analyse(const Tables& tables) {
  const Network& network = tables.network;
  const std::vector<DestinationLid> destinations = network.destinations(false);
  Unicast unicast(network, destinations);
  Load load(network);
  Channels channels(network);
  RouteTree tree(network, tables.linear, false);
  for (const DestinationLid& to : destinations) {
    tree.find(to);
    unicast.add(tree);
    load.add(tree);
    channels.add(tree);
  }
  load.finish();
  check_unicast(unicast, load, network);
  Multicast multicast(network, tables.multicast, {});
  for (const Lid mlid : tables.multicast.groups()) multicast.add(mlid);
  for (const Cause* cause : multicast.findings()) ibtest::must(!cause->lids.empty(), "a cause of no group");
  async::Loop loop;
  const SlToVlTables lanes(network.switches().size());
  const ReadLanes no_lanes;
  const ServiceLevels levels;
  const Pause pause = [](std::size_t, std::size_t, std::string_view) -> async::Task<> { co_return; };
  const CreditLoops found =
      loop.run(find_loops({tables.linear, destinations, false, channels, nullptr, lanes, levels}, false, no_lanes, pause));
  ibtest::must((found.verdict == Verdict::free) == found.loops.empty(), "a verdict without a loop");
  for (const CreditLoop& one : found.loops) {
    ibtest::must(one.cycle.size() == one.witnesses.size(), "an edge without a witness");
    for (std::size_t i = 0; i < one.cycle.size(); ++i) {
      const Wire& wire = network.wire(one.cycle[i].port_id);
      const PortId next = one.cycle[(i + 1) % one.cycle.size()].port_id;
      ibtest::must(wire.to == Wire::To::switch_port && network.switch_at(next) == wire.index, "a cycle that is none");
    }
  }
}

}  // namespace

int try_input(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto end = text.find(between);
  if (end == std::string_view::npos) return 0;
  try {
    subnet::Subnet subnet;
    formats::read_topology_text(text.substr(0, end), subnet);
    const Network network(subnet);
    Tables tables(network);
    read_tables(text.substr(end + between.size()), tables);
    tables.multicast.finish();
    analyse(tables);
  } catch (const UsageError& error) {
    ibtest::must(!error.message().empty(), "an error without a message");
  }
  return 0;
}

std::vector<std::string> seeds() {
  // Three switches in a ring with a host each; the second has an LMC.
  std::string text = "#\n";
  for (int at = 0; at < 3; ++at) {
    const int next = (at + 1) % 3, before = (at + 2) % 3;
    const auto id = [](char kind, int number) { return std::string(1, kind) + "-" + std::to_string(number); };
    text += "\nSwitch\t4 \"" + id('S', 20 + at) + "\"\t\t# \"s\" base port 0 lid " + std::to_string(16 + at) + " lmc 0\n";
    text += "[1]\t\"" + id('H', 10 + at) + "\"[1](1" + std::to_string(at) + ") \t\t# \"h\" lid " + std::to_string(4 * at + 4) + " 4xEDR\n";
    text +=
        "[2]\t\"" + id('S', 20 + next) + "\"[3]\t\t# \"s\" lid 1 4xEDR\n[3]\t\"" + id('S', 20 + before) + "\"[2]\t\t# \"s\" lid 1 4xEDR\n";
    text += "\nCa\t1 \"" + id('H', 10 + at) + "\"\t\t# \"h\"\n[1](1" + std::to_string(at) + ") \t\"" + id('S', 20 + at) +
            "\"[1]\t\t# lid " + std::to_string(4 * at + 4) + " lmc " + std::to_string(at) + " \"s\" lid 1 4xEDR\n";
  }
  std::string tables(between), groups;
  for (int at = 0; at < 3; ++at) {
    const std::string heading = "Switch 0x" + std::to_string(20 + at) + "\nLID    : ";
    tables += "dump_ucast_routes: " + heading + "Port : Hops : Optimal\n";
    for (int lid = 4; lid < 16; ++lid) tables += std::to_string(lid) + " : " + (lid / 4 - 1 == at ? "1" : "2") + "\n";
    groups += heading + "Out Port(s)\n0xC000 : 0x001  0x002  0x003 \n0xC001 : 0x001 \n";
  }
  return {text + tables, text + tables + groups, text + std::string(between) + groups};
}

}  // namespace ibtest::fuzz_routes
