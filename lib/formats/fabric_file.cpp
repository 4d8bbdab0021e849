// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "formats/fabric_file.hpp"

#include <array>

#include "formats/topology_reader.hpp"

namespace ib::formats {
namespace {

std::string_view as_text(Bytes file) { return {reinterpret_cast<const char*>(file.data()), file.size()}; }

void fill_from_netdisc_cache(Bytes file, FabricFile& into) {
  auto cache = std::make_shared<NetdiscCache>(read_netdisc_cache(file));
  fill_subnet(*cache, into.fabric.subnet);
  into.netdisc = std::move(cache);
}

bool is_topology(Bytes file) { return is_topology_text(as_text(file)); }

void fill_from_topology(Bytes file, FabricFile& into) { read_topology_text(as_text(file), into.fabric.subnet); }

constexpr std::array kinds{
    FabricFormat{"a cache of libibnetdisc", is_netdisc_cache, fill_from_netdisc_cache},
    FabricFormat{"topology text", is_topology, fill_from_topology},
};

}  // namespace

std::span<const FabricFormat> fabric_formats() { return kinds; }

}  // namespace ib::formats
