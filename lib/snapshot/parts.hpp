// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The parts of a snapshot. Each part has a name for --only and --skip, and holds the answers to certain requests: the requests of the
// commands that read a fabric. questions.hpp lists them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace ib::snapshot {

/// A part, in the order in which the parts are read.
enum class Part : std::uint8_t {
  topology,    ///< what a sweep reads; every snapshot has it
  sa,          ///< the tables of the subnet administrator
  ports,       ///< PortInfo that the sweep did not request, PortInfoExtended, MlnxExtPortInfo
  lft,         ///< linear forwarding tables
  mft,         ///< multicast forwarding tables
  sl2vl,       ///< SLtoVL mapping tables
  vlarb,       ///< VL arbitration tables
  pkeys,       ///< P_Key tables
  guids,       ///< GUIDInfo
  sminfo,      ///< SMInfo of the ports that have a subnet manager
  attributes,  ///< the other attributes of subnet management that iba-defs has in this part; read only where it is wanted by name
  counters,    ///< ClassPortInfo of performance management, PortCounters, PortCountersExtended
  details,     ///< the other attributes of performance management that commands show
  congestion,  ///< congestion control
  vendor,      ///< attributes of the vendor class of Mellanox devices
  phy,         ///< registers of the physical layer; read only where it is wanted by name
};

/// All parts in their order.
std::span<const Part> all_parts();
/// Whether a part is read unless the user wants otherwise.
bool is_usual(Part part);
/// The word for --only and --skip: "lft".
std::string_view name(Part part);
/// The part of that name, in lower case; nothing if there is none.
std::optional<Part> find_part(std::string_view name);
/// What the part holds, as a phrase for help: "linear forwarding tables".
std::string_view description(Part part);

}  // namespace ib::snapshot
