// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Files of other programs that hold a fabric: opening one throws UsageError, or gives a fabric that has an end port and answers requests.
#include <memory>

#include "base/error.hpp"
#include "formats/netdisc_cache.hpp"
#include "formats/topology_text.hpp"
#include "fuzz.hpp"
#include "iba-gen/smp.hpp"
#include "snapshot/stored_fabric.hpp"
#include "snapshot/transactor.hpp"
#include "subnet/model/order.hpp"
#include "subnet/model/port_paths.hpp"

namespace ibtest::fuzz_fabric_file {

using namespace ib;

namespace {

void request_all(snapshot::StoredFabric& stored) {
  const subnet::Subnet subnet = stored.read_fabric(nullptr).subnet;
  snapshot::SnapshotTransactor transactor(stored);
  const path::Path start = path::IbDrPath(&stored.end_port());
  const subnet::NodeIndex end = std::min<subnet::NodeIndex>(static_cast<subnet::NodeIndex>(subnet.nodes().size()), 16);
  for (subnet::NodeIndex node = 0; node < end; ++node) {
    const path::Path path = subnet::smp_path(subnet, node, start);
    for (const StructInfo* info : {&smp::NodeInfo::info(), &smp::NodeDescription::info(), &smp::SwitchInfo::info(), &smp::PortInfo::info(),
                                   &smp::LinearForwardingTable::info()}) {
      for (const std::uint32_t modifier : {0U, 1U, 255U})
        static_cast<void>(transactor.known_answer(mad::attribute_request(path, *info, mad::method::get, modifier)));
    }
  }
}

/// A switch with two hosts.
constexpr std::string_view listing =
    "#\n# Initiated from node 0000000000000300 port 0000000000000301\n\nvendid=0x2c9\ndevid=0xbd36\nsysimgguid=0x100\n"
    "switchguid=0x100(100)\nSwitch\t4 \"S-0000000000000100\"\t\t# \"leaf\" enhanced port 0 lid 1 lmc 0\n"
    "[1]\t\"H-0000000000000300\"[1](301) \t\t# \"a\" lid 2 4xEDR\n[2]\t\"H-0000000000000400\"[1](401) \t\t# \"b\" lid 3 4xQDR\n\n"
    "caguid=0x300\nCa\t1 \"H-0000000000000300\"\t\t# \"a\"\n[1](301) \t\"S-0000000000000100\"[1]\t\t# lid 2 lmc 0 \"leaf\" lid 1 4xEDR\n\n"
    "caguid=0x400\nCa\t1 \"H-0000000000000400\"\t\t# \"b\"\n[1](401) \t\"S-0000000000000100\"[2]\t\t# lid 3 lmc 0 \"leaf\" lid 1 4xQDR\n";

std::string cache_of_listing() {
  subnet::Subnet subnet;
  formats::read_topology_text(listing, subnet);
  const subnet::LegacySweep sweep = subnet::legacy_sweep(subnet, {});
  const auto file = formats::netdisc_cache_file(formats::cache_of(subnet, sweep, subnet::legacy_order(subnet, sweep)));
  return {file.begin(), file.end()};
}

}  // namespace

int try_input(const std::uint8_t* data, std::size_t size) {
  std::unique_ptr<snapshot::StoredFabric> stored;
  try {
    stored = snapshot::imported_fabric("file", Bytes(data, size));
  } catch (const UsageError& error) {
    ibtest::must(!error.message().empty(), "an error without a message");
    return 0;
  }
  request_all(*stored);
  return 0;
}

std::vector<std::string> seeds() { return {std::string(listing), cache_of_listing()}; }

}  // namespace ibtest::fuzz_fabric_file
