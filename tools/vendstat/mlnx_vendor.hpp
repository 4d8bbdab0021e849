// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The vendor class (0x0a) of Mellanox devices, for vendstat: texts of answers. Both dialects use them. There is no public specification.
// The layouts come from infiniband-diags' vendstat.c.
#pragma once

#include <cstdint>
#include <string>

#include "base/bytes.hpp"
#include "iba-gen/mlx.hpp"
#include "subnet/sweep/mlnx.hpp"

namespace ib::tools::mlnx {

using subnet::config_space_modifier;
using subnet::infini_scale3;
using subnet::wait_records;
using subnet::wait_request;
using subnet::wait_requests;

inline constexpr std::size_t most_records = 18;  ///< the greatest number of records in one ConfigSpaceAccess

/// "Port 4: PortXmitWait 0x1f", a line for each counter that is not zero.
std::string wait_lines(unsigned request, const mlx::ConfigSpaceAccess& answer);

/// "Config space record at 0x10013c: 0x0" for the first `records`.
std::string config_space_lines(const mlx::ConfigSpaceAccess& answer, std::size_t records);

/// The text for the counter groups of an InfiniScale IV switch, from the data of the answer.
std::string counter_group_lines(Bytes answer);

/// Whether a device with this ID in its GeneralInfo answers with the layout of InfiniScale IV and later.
bool has_ext_firmware_version(std::uint16_t device_id);
/// The text of infiniband-diags for GeneralInfo, from the data of the answer.
std::string general_info_lines(Bytes answer);

}  // namespace ib::tools::mlnx
