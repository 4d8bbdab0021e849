// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of a snapshot. Each part has a name for --only and --skip, and holds the answers to certain requests: the requests of the
// commands that read a fabric. part_requests.hpp lists them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace ib::snapshot {

/// A part, in the order in which the parts are read.
enum class Part : std::uint8_t {
  topology,
  sa,
  ports,
  lft,
  mft,
  sl2vl,
  vlarb,
  pkeys,
  guids,
  sminfo,
  attributes,
  counters,
  details,
  congestion,
  vendor,
  phy,
};

struct PartInfo {
  Part part;
  std::string_view name;         ///< the word for --only and --skip
  std::string_view description;  ///< what the part holds, as a phrase for help
};

/// All parts in their order.
inline constexpr std::array all_parts{
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

/// Whether a part is read unless the user wants otherwise.
constexpr bool is_usual(Part part) { return part != Part::phy && part != Part::attributes; }

constexpr std::string_view name(Part part) { return all_parts[static_cast<std::size_t>(part)].name; }

/// The part of that name, in lower case; nothing if there is none.
constexpr std::optional<Part> find_part(std::string_view name) {
  const auto found = std::ranges::find(all_parts, name, &PartInfo::name);
  return found == all_parts.end() ? std::nullopt : std::optional(found->part);
}

}  // namespace ib::snapshot
