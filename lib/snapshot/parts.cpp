// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "snapshot/parts.hpp"

#include <algorithm>
#include <array>

namespace ib::snapshot {
namespace {

struct PartInfo {
  Part part;
  std::string_view name, description;
};

constexpr std::array infos{
    PartInfo{Part::topology, "topology", "nodes, ports and links; always read"},
    PartInfo{Part::sa, "sa", "tables of the subnet administrator"},
    PartInfo{Part::ports, "ports", "PortInfo as smpquery requests it, PortInfoExtended, MlnxExtPortInfo"},
    PartInfo{Part::lft, "lft", "linear forwarding tables"},
    PartInfo{Part::mft, "mft", "multicast forwarding tables"},
    PartInfo{Part::sl2vl, "sl2vl", "SLtoVL mapping tables"},
    PartInfo{Part::vlarb, "vlarb", "VL arbitration tables"},
    PartInfo{Part::pkeys, "pkeys", "P_Key tables"},
    PartInfo{Part::guids, "guids", "GUIDInfo"},
    PartInfo{Part::sminfo, "sminfo", "SMInfo of subnet managers"},
    PartInfo{Part::attributes, "attributes", "all other attributes that smpquery reads by name: by --also"},
    PartInfo{Part::counters, "counters", "PortCounters and PortCountersExtended"},
    PartInfo{Part::details, "details", "all other counters that perfquery shows"},
    PartInfo{Part::congestion, "congestion", "congestion control"},
    PartInfo{Part::vendor, "vendor", "what Mellanox devices report of themselves"},
    PartInfo{Part::phy, "phy", "registers of the physical layer, as phy reads them: by --also"},
};

constexpr auto parts = [] {
  std::array<Part, infos.size()> all{};
  for (std::size_t i = 0; i < infos.size(); ++i) all.at(i) = infos.at(i).part;
  return all;
}();

}  // namespace

std::span<const Part> all_parts() { return parts; }

bool is_usual(Part part) { return part != Part::phy && part != Part::attributes; }

std::string_view name(Part part) { return infos.at(static_cast<std::size_t>(part)).name; }

std::string_view description(Part part) { return infos.at(static_cast<std::size_t>(part)).description; }

std::optional<Part> find_part(std::string_view name) {
  const auto found = std::ranges::find(infos, name, &PartInfo::name);
  return found == infos.end() ? std::nullopt : std::optional(found->part);
}

}  // namespace ib::snapshot
