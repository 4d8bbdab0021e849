// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Caches of libibnetdisc: a sweep that is stored and loaded is the same fabric, the file has the order of libibnetdisc's tables, and a file
// that is cut off, changed or contradicts itself is refused in one sentence.
#include "formats/netdisc_cache.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "formats/topology_text.hpp"
#include "support/catch.hpp"
#include "unit/subnet/swept.hpp"

namespace formats_netdisc_cache_tests {

using namespace ib;
using namespace ib::formats;
using namespace ib::subnet;
using ibtest::FakeFabric;
using ibtest::Swept;

namespace {

using File = std::vector<std::uint8_t>;

constexpr std::size_t header = 28, node_head = 207, key_size = 9, port_size = 95;

File stored(const Subnet& subnet) {
  const LegacySweep sweep = legacy_sweep(subnet, {});
  return netdisc_cache_file(cache_of(subnet, sweep, legacy_order(subnet, sweep)));
}

/// The topology file of a fabric, without its date.
std::string topology(const Subnet& subnet) {
  std::string text;
  const TopologyText printer(subnet, nullptr);
  for (const NodeIndex at : breadth_first(subnet)) printer.node(text, at);
  return text;
}

std::string complaint(const File& file) {
  try {
    static_cast<void>(read_netdisc_cache(file));
  } catch (const UsageError& error) {
    return error.message();
  }
  return "";
}

std::uint64_t little(const File& file, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8U | file[at + i];
  return value;
}

/// Where the records of ports begin.
std::size_t first_port(const File& file) {
  std::size_t at = header;
  for (std::uint64_t nodes = little(file, 8, 4); nodes > 0; --nodes) at += node_head + key_size * file[at + node_head - 1];
  return at;
}

/// Two switches, hosts on both, one of them with a second port.
struct Example {
  Example() {
    const auto leaf = fabric.add_switch(0x100, 4, "leaf"), other = fabric.add_switch(0x200, 4, "other");
    const auto host = fabric.add_ca(0x300, 1, "host"), dual = fabric.add_ca(0x400, 2, "dual");
    fabric.link(leaf, 1, host, 1);
    fabric.link(leaf, 2, other, 2);
    fabric.link(leaf, 3, dual, 1);
    fabric.link(other, 3, dual, 2);
    fabric.assign_lids();
    fabric.attach(host);
    swept.emplace(fabric);
    file = stored(swept->subnet);
  }
  FakeFabric fabric;
  std::optional<Swept> swept;
  File file;
};

}  // namespace

TEST_CASE_METHOD(Example, "a fabric is equal after it was stored and loaded") {
  Subnet loaded;
  const NetdiscCache cache = read_netdisc_cache(file);
  fill_subnet(cache, loaded);
  CHECK(topology(loaded) == topology(swept->subnet));
  CHECK(loaded.start == loaded.find_port(Guid{0x301}));
  CHECK(cache.max_hops == 3);
  CHECK(loaded.find_lid(swept->subnet.lid(swept->subnet.find_port(Guid{0x402}))) == loaded.find_port(Guid{0x402}));
  CHECK(loaded.node(loaded.find_node(Guid{0x200})).hops == 2);
  CHECK(netdisc_cache_file(read_netdisc_cache(file)).size() == file.size());
}

TEST_CASE_METHOD(Example, "the file has the last node first, and ports by the bucket of their GUID") {
  CHECK(little(file, 0, 4) == 0x8fe7832b);
  CHECK(little(file, 8, 4) == 4);
  CHECK(little(file, 16, 8) == 0x300);
  const LegacySweep sweep = legacy_sweep(swept->subnet, {});
  CHECK(little(file, header + 68, 8) == swept->subnet.node(sweep.found.back()).guid().value);
  std::vector<std::uint64_t> buckets;
  for (std::size_t at = first_port(file); at < file.size(); at += port_size) buckets.push_back(little(file, at, 8) * 101 % 137);
  CHECK(buckets.size() == little(file, 12, 4));
  CHECK(std::is_sorted(buckets.begin(), buckets.end()));
}

TEST_CASE_METHOD(Example, "a port whose PortInfo was not read is not stored, and no link leads to it") {
  const PortIndex port = swept->subnet.port_of(swept->subnet.find_node(Guid{0x200}), 2);
  swept->subnet.port(port).has_info = false;
  const NetdiscCache cache = read_netdisc_cache(stored(swept->subnet));
  for (const CachedPort& one : cache.ports) {
    const Guid node = cache.nodes[one.node].guid;
    CHECK_FALSE((node == Guid{0x200} && one.number == 2));
    if (node == Guid{0x100} && one.number == 2) CHECK(one.remote == none);
  }
}

TEST_CASE_METHOD(Example, "every file that is cut off is refused") {
  for (std::size_t size = 0; size < file.size(); ++size) {
    INFO(size);
    REQUIRE_FALSE(complaint(File(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))).empty());
  }
  CHECK(complaint({}) == "it is not a cache of libibnetdisc");
  File longer = file;
  longer.push_back(7);
  CHECK(complaint(longer).empty());  // libibnetdisc does not look there
}

TEST_CASE_METHOD(Example, "a file with a bit that is wrong is refused, or is a fabric that holds together") {
  for (std::size_t at = 0; at < file.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      File changed = file;
      changed[at] = static_cast<std::uint8_t>(changed[at] ^ 1U << bit);
      if (!complaint(changed).empty()) continue;
      const NetdiscCache cache = read_netdisc_cache(changed);
      Subnet subnet;
      fill_subnet(cache, subnet);
      REQUIRE(breadth_first(subnet).size() == cache.nodes.size());
      for (const Port& port : subnet.ports()) REQUIRE((port.peer == none || subnet.port(port.peer).peer != none));
    }
  }
}

TEST_CASE_METHOD(Example, "contradictions in a file are named") {
  const auto with = [this](std::size_t at, std::uint8_t value) {
    File changed = file;
    changed.at(at) = value;
    return complaint(changed);
  };
  CHECK(with(4, 9) == "it has version 9 of the format, and only 1 is known");
  CHECK(with(11, 1) == "it claims 16777220 nodes and 13 ports, more than a subnet can have");
  CHECK(with(13, 1) == "it claims 4 nodes and 269 ports, and is too short for them");
  CHECK(with(16, 0x77) == "it lacks node 0x0000000000000377, at which it says to begin");
  // The first node is the one that was found last; its number of ports.
  const std::size_t num_ports = header + 77;
  CHECK(with(num_ports, 0).find("and has 0 ports") != std::string::npos);
  const std::size_t owner = first_port(file) + 77;
  CHECK(with(owner, 0x99).find("which is not its own") != std::string::npos);
  const std::size_t guid = header + 68;
  CHECK(with(guid + 1, file[guid + 1] == 2 ? 1 : 2).find("it has two nodes") != std::string::npos);
}

}  // namespace formats_netdisc_cache_tests
