// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What Mellanox devices tell in their vendor class (0x0a), as vendstat asks for it and shows it. Both dialects use it; the
// layouts are those of infiniband-diags' vendstat.c, there is no public specification.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "iba-gen/mlx.hpp"

namespace ib::tools::mlnx {

inline constexpr std::uint8_t vendor_class = 0x0a;
inline constexpr std::uint16_t infini_scale3 = 47396;  ///< the device ID of the switch that has PortXmitWait in its configuration space
inline constexpr std::size_t most_records = 18;        ///< in one ConfigSpaceAccess

/// The attribute modifier of a ConfigSpaceAccess with that many records.
constexpr std::uint32_t config_space_modifier(std::size_t records) { return 2U << 22 | static_cast<std::uint32_t>(records) << 16; }

/// The ports of an InfiniScale III switch are read in two requests: ports 4 to 19, then the other eight.
inline constexpr unsigned wait_requests = 2;
std::size_t wait_records(unsigned request);
mlx::ConfigSpaceAccess wait_request(unsigned request);
/// "Port 4: PortXmitWait 0x1f", a line for each counter that is not zero.
std::string wait_lines(unsigned request, const mlx::ConfigSpaceAccess& answer);

/// "Config space record at 0x10013c: 0x0" for the first `records`.
std::string config_space_lines(const mlx::ConfigSpaceAccess& answer, std::size_t records);

/// The counter groups of an InfiniScale IV switch, from the data of the answer.
std::string counter_group_lines(Bytes answer);

/// Whether a device with this ID in its GeneralInfo answers with the layout of InfiniScale IV and later.
bool has_ext_firmware_version(std::uint16_t device_id);
/// GeneralInfo as infiniband-diags shows it, from the data of the answer.
std::string general_info_lines(Bytes answer);

}  // namespace ib::tools::mlnx
