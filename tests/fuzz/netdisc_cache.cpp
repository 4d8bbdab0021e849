// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Caches of libibnetdisc: reading one throws UsageError or gives a fabric in which every index is good; what is written of it reads as the
// same, and a model can be filled with it.
#include "formats/netdisc_cache.hpp"

#include "base/error.hpp"
#include "fuzz.hpp"
#include "subnet/model/order.hpp"

namespace ibtest::fuzz_netdisc_cache {

using namespace ib;
using formats::NetdiscCache;

namespace {

/// Two switches, an adapter with two ports on them, and a port that nothing is linked to.
NetdiscCache small_fabric() {
  NetdiscCache cache;
  cache.max_hops = 2;
  const auto add_node = [&cache](std::uint64_t guid, std::uint8_t type, std::uint8_t ports) {
    formats::CachedNode node;
    node.guid.value = guid;
    node.type = type;
    node.num_ports = ports;
    cache.nodes.push_back(node);
  };
  const auto add_port = [&cache](std::uint32_t node, std::uint8_t number) {
    formats::CachedPort port;
    port.guid.value = cache.nodes[node].guid.value + (cache.nodes[node].type == 2 ? 0 : number);
    port.number = number;
    port.node = node;
    port.info[17] = static_cast<std::uint8_t>(cache.ports.size() + 1);
    cache.nodes[node].ports.push_back(static_cast<std::uint32_t>(cache.ports.size()));
    cache.ports.push_back(port);
    return static_cast<std::uint32_t>(cache.ports.size() - 1);
  };
  const auto link = [&cache](std::uint32_t a, std::uint32_t b) {
    cache.ports[a].remote = b;
    cache.ports[b].remote = a;
  };
  add_node(0x100, 1, 2);
  add_node(0x200, 2, 4);
  add_node(0x300, 2, 4);
  link(add_port(0, 1), add_port(1, 1));
  link(add_port(0, 2), add_port(2, 1));
  link(add_port(1, 2), add_port(2, 2));
  add_port(1, 0);
  add_port(2, 0);
  add_port(2, 4);
  return cache;
}

std::string text_of(const NetdiscCache& cache) {
  const auto file = formats::netdisc_cache_file(cache);
  return {file.begin(), file.end()};
}

void check_indexes(const NetdiscCache& cache) {
  ibtest::must(cache.from_node < cache.nodes.size(), "no node to begin at");
  for (const auto& node : cache.nodes) {
    for (const auto port : node.ports) ibtest::must(port < cache.ports.size(), "a node has a port that is not there");
  }
  for (const auto& port : cache.ports) {
    ibtest::must(port.node < cache.nodes.size() && port.number <= cache.nodes[port.node].num_ports, "a port that no node can have");
    ibtest::must(port.remote == subnet::none || port.remote < cache.ports.size(), "a link to a port that is not there");
  }
}

}  // namespace

int try_input(const std::uint8_t* data, std::size_t size) {
  NetdiscCache cache;
  try {
    cache = formats::read_netdisc_cache({data, size});
  } catch (const UsageError& error) {
    ibtest::must(!error.message().empty(), "an error without a message");
    return 0;
  }
  check_indexes(cache);
  subnet::Subnet subnet;
  formats::fill_subnet(cache, subnet);
  ibtest::must(subnet::breadth_first(subnet).size() == cache.nodes.size(), "a node that is not listed");
  const auto file = formats::netdisc_cache_file(cache);
  NetdiscCache again;
  try {
    again = formats::read_netdisc_cache(file);
  } catch (const UsageError& error) {
    ibtest::must(false, error.message().c_str());
  }
  ibtest::must(again.nodes.size() == cache.nodes.size() && again.ports.size() == cache.ports.size(), "what was written reads otherwise");
  return 0;
}

std::vector<std::string> seeds() {
  std::vector<std::string> all{text_of(small_fabric())};
  NetdiscCache loose = small_fabric();
  for (auto& port : loose.ports) port.remote = subnet::none;
  all.push_back(text_of(loose));
  return all;
}

}  // namespace ibtest::fuzz_netdisc_cache
