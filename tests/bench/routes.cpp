// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The stages of `ibtool check_routes` apart, for routes.py: bench-routes TOPOLOGY LFTS reads the topology, then the forwarding tables, and
// then analyses them. Prints one line of JSON: the seconds of each stage, and the peak memory behind it.
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <string>

#include "base/error.hpp"
#include "base/file.hpp"
#include "formats/forwarding_text.hpp"
#include "routing/channels.hpp"
#include "routing/load.hpp"
#include "routing/unicast.hpp"
#include "subnet/topology_reader.hpp"

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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  constexpr std::size_t longest = std::size_t{1} << 30;
  try {
    std::string out;
    subnet::Subnet subnet;
    measure(out, "topology", [&] { subnet::read_topology_text(read_regular_file(argv[1], longest), subnet); });
    const routing::Network network(subnet);
    const std::vector<routing::Destination> destinations = network.destinations(false);
    routing::LinearTables tables(network.switches().size(), destinations.empty() ? Lid{} : destinations.back().lid);
    measure(out, "tables", [&] { read_tables(argv[2], network, tables); });
    std::uint64_t pairs = 0, arrived = 0, greatest = 0;
    std::size_t loops = 0;
    measure(out, "analysis", [&] {
      const routing::Network again(subnet);
      routing::Unicast unicast(again, destinations);
      routing::Load load(again);
      routing::Channels channels(again);
      routing::Ways ways(again, tables, false);
      for (const routing::Destination& to : destinations) {
        ways.find(to);
        unicast.add(ways);
        load.add(ways);
        channels.add(ways);
      }
      load.finish();
      pairs = unicast.pairs();
      arrived = unicast.arrived();
      greatest = load.switch_links().greatest;
      loops = routing::cyclic_components(channels.graph()).size();
    });
    fmt::print("{{{}\"pairs\": {}, \"arrived\": {}, \"greatest\": {}, \"loops\": {}}}\n", out, pairs, arrived, greatest, loops);
  } catch (const Error& error) {
    fmt::print(stderr, "E: {}\n", error.what());
    return 3;
  }
}
