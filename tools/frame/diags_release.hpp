// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The releases of infiniband-diags that the legacy names can stand in for, and what one prints otherwise than another.
#pragma once

#include <array>
#include <string_view>

#include "iba/libibmad_text.hpp"

namespace ib::tools {

/// What a release of infiniband-diags does otherwise than other releases.
struct DiagsRelease {
  std::string_view version;  ///< what -V prints
  /// The function of libibmad that reports an end port that cannot be opened.
  std::string_view open_function;
  /// Whether each PortInfo of smpquery and saquery ends with the fields of LinkSpeedExt2.
  NewFields new_fields;
  /// Whether libibmad opens an end port whose state is Down.
  bool opens_down_ports;
  /// Whether libibmad takes a negative port number for the first usable port. Otherwise no port has it.
  bool opens_negative_ports;
  /// Whether ibstat fails for a port that the device does not have. Otherwise it warns, and its status is 0.
  bool ibstat_needs_port;
};

/// The releases of Debian 12 and of Debian 13.
inline constexpr std::array<DiagsRelease, 2> diags_releases{{
    {.version = "44.0",
     .open_function = "mad_rpc_open_port",
     .new_fields = NewFields::if_set,
     .opens_down_ports = true,
     .opens_negative_ports = true,
     .ibstat_needs_port = true},
    {.version = "56.1",
     .open_function = "mad_rpc_open_port2",
     .new_fields = NewFields::always,
     .opens_down_ports = false,
     .opens_negative_ports = false,
     .ibstat_needs_port = false},
}};

/// The release of that version, else the first one.
constexpr const DiagsRelease& diags_release(std::string_view version) {
  for (const DiagsRelease& release : diags_releases) {
    if (release.version == version) return release;
  }
  return diags_releases.front();
}

}  // namespace ib::tools
