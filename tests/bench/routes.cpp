// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The stages of `ibtool check_routes` apart, for routes.py: bench-routes TOPOLOGY LFTS reads the topology, then the forwarding tables, and
// then analyses them. Virtual lanes are looked at as if each port between switches were in a circle, each pair with an SL of its own, which
// is the most that there can be to do; multicast with spanning trees that all hosts are members of. Prints one line of JSON: the seconds of
// each stage, and the peak memory behind it.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file.hpp"
#include "formats/forwarding_text.hpp"
#include "formats/topology_text.hpp"
#include "routing/channels.hpp"
#include "routing/credit_loops.hpp"
#include "routing/unicast.hpp"

using namespace ib;

namespace {

/// VmHWM of /proc/self/status. What getrusage() gives begins with the memory of the parent process.
double peak_mib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib / 1024;
  }
  return 0;
}

/// Runs a stage and appends its time and memory to `out`.
template <class Stage>
void measure(std::string& out, const char* name, Stage stage) {
  const auto begin = std::chrono::steady_clock::now();
  stage();
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  out += fmt::format("\"{0}\": {1:.6f}, \"{0}_mib\": {2:.1f}, ", name, taken.count(), peak_mib());
}

void read_tables(const std::string& path, const routing::Network& network, routing::LinearTables& tables) {
  formats::read_forwarding_text(path, [&](formats::StoredForwardingTable&& table) {
    const auto node = network.subnet().find_node(table.node_guid.value_or(Guid{}));
    const routing::SwitchIndex at = node == subnet::none ? routing::none : network.switch_of(node);
    if (at == routing::none) return;
    tables.clear(at);
    for (const formats::StoredRoute& route : table.routes) tables.set_entry(at, route.lid, route.port);
  });
}

constexpr unsigned sls = 8, groups = 64;

struct Bench {
  subnet::Subnet subnet;
  std::optional<routing::Network> network;
  std::vector<routing::DestinationLid> destinations;
  std::optional<routing::LinearTables> tables;
  std::optional<routing::Channels> channels;
  std::uint64_t pairs = 0, arrived = 0, greatest = 0, members = 0;
  std::size_t loops = 0, group_loops = 0, lane_loops = 0;

  void read_topology(const char* path) {
    constexpr std::size_t longest = std::size_t{1} << 30;
    formats::read_topology_text(read_regular_file(path, longest), subnet);
    network.emplace(subnet);
    destinations = network->destinations(false);
    tables.emplace(network->switches().size(), network->last_lid());
  }

  void analyse() {
    routing::Unicast unicast(*network, destinations);
    routing::Load load(*network);
    channels.emplace(*network);
    routing::RouteTree tree(*network, *tables, false);
    for (const routing::DestinationLid& to : destinations) {
      tree.find(to);
      unicast.add(tree);
      load.add(tree);
      channels->add(tree);
    }
    load.finish();
    pairs = unicast.pairs();
    arrived = unicast.arrived();
    greatest = load.switch_links().greatest;
    loops = routing::cyclic_components(channels->graph()).size();
  }

  routing::ServiceLevels levels() const {
    routing::ServiceLevels levels(network->hosts().size(), destinations.size());
    for (std::size_t to = 0; to < destinations.size(); ++to) {
      for (std::size_t from = 0; from < network->hosts().size(); ++from) levels.set(from, to, static_cast<unsigned>((from + to) % sls));
    }
    return levels;
  }

  /// SLtoVL mapping tables that give each SL its VL, for all ports between switches.
  routing::SlToVlTables lanes() const {
    std::array<std::uint8_t, routing::sl_count> vls{};
    for (unsigned sl = 0; sl < vls.size(); ++sl) vls.at(sl) = static_cast<std::uint8_t>(sl % sls);
    routing::SlToVlTables lanes(network->switches().size());
    for (routing::SwitchIndex at = 0; at < network->switches().size(); ++at) {
      const unsigned slots = network->switches()[at].slots;
      for (unsigned in = 1; in < slots; ++in) {
        for (unsigned out = 1; out < slots; ++out) lanes.set(at, slots, in, out, vls);
      }
    }
    return lanes;
  }

  void analyse_lanes(const routing::SlToVlTables& lanes, const routing::ServiceLevels& levels) {
    std::vector<routing::PortId> port_ids;
    for (routing::PortId port_id = 0; port_id < network->port_id_count() && !network->is_host_port(port_id); ++port_id) {
      if (network->wire(port_id).to == routing::Wire::To::switch_port) port_ids.push_back(port_id);
    }
    routing::LaneGraph graph(*channels, port_ids, lanes, levels, routing::UnknownSl::certain);
    routing::RouteTree tree(*network, *tables, false);
    for (std::size_t to = 0; to < destinations.size(); ++to) {
      tree.find(destinations[to]);
      graph.add(tree, to);
    }
    lane_loops = routing::cyclic_components(graph.graph()).size();
  }

  /// Spanning trees of all switches from one after another, with all hosts.
  routing::MulticastTables trees() const {
    routing::MulticastTables found(network->switches().size());
    for (unsigned group = 0; group < groups; ++group) {
      const Lid mlid{static_cast<std::uint16_t>(subnet::first_multicast_lid.value + group)};
      std::vector<routing::PortSet> ports(network->switches().size());
      std::vector<bool> is_in(ports.size());
      std::vector<routing::SwitchIndex> queue{static_cast<routing::SwitchIndex>(group * 37 % ports.size())};
      is_in[queue[0]] = true;
      for (std::size_t head = 0; head < queue.size(); ++head) {
        const routing::SwitchIndex at = queue[head];
        for (unsigned port = 1; port < network->switches()[at].slots; ++port) {
          const routing::Wire& wire = network->wire(network->port_id(at, port));
          if (wire.to == routing::Wire::To::host) ports[at].add(port);
          if (wire.to != routing::Wire::To::switch_port || is_in[wire.index]) continue;
          is_in[wire.index] = true;
          ports[at].add(port);
          ports[wire.index].add(wire.in_port);
          queue.push_back(wire.index);
        }
      }
      for (routing::SwitchIndex at = 0; at < ports.size(); ++at) found.add(at, mlid, ports[at]);
    }
    found.finish();
    return found;
  }

  void analyse_groups(const routing::MulticastTables& trees) {
    routing::Multicast multicast(*network, trees, {});
    for (const Lid mlid : trees.groups()) multicast.add(mlid);
    routing::MulticastChannels both(*network, trees, multicast);
    routing::Channels with_unicast = *channels;
    for (const Lid mlid : both.groups()) both.add_to(with_unicast, mlid);
    members = multicast.members();
    group_loops = routing::cyclic_components(with_unicast.graph()).size();
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    std::string out;
    Bench bench;
    measure(out, "topology", [&] { bench.read_topology(argv[1]); });
    measure(out, "tables", [&] { read_tables(argv[2], *bench.network, *bench.tables); });
    measure(out, "analysis", [&] { bench.analyse(); });
    const routing::MulticastTables trees = bench.trees();
    measure(out, "multicast", [&] { bench.analyse_groups(trees); });
    const routing::SlToVlTables lanes = bench.lanes();
    std::optional<routing::ServiceLevels> levels;
    measure(out, "levels", [&] { levels = bench.levels(); });
    measure(out, "lanes", [&] { bench.analyse_lanes(lanes, *levels); });
    fmt::print(
        "{{{}\"pairs\": {}, \"arrived\": {}, \"greatest\": {}, \"members\": {}, \"loops\": {}, \"group_loops\": {}, "
        "\"lane_loops\": {}}}\n",
        out, bench.pairs, bench.arrived, bench.greatest, bench.members, bench.loops, bench.group_loops, bench.lane_loops);
  } catch (const Error& error) {
    fmt::print(stderr, "E: {}\n", error.what());
    return 3;
  }
}
