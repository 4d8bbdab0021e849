// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// FDR10 is a speed of Mellanox, which PortInfo shows as QDR. On devices that have MlnxExtPortInfo, that attribute distinguishes
// the two.
#pragma once

#include <cstdint>

#include "iba-gen/mlx.hpp"
#include "iba-gen/smp.hpp"
#include "subnet/model/model.hpp"

namespace ib::subnet {

bool has_mlnx_ext_port_info(const smp::NodeInfo& node);
/// Whether `port` may run at FDR10 and the device has MlnxExtPortInfo, which says so.
bool may_be_fdr10(const smp::NodeInfo& node, const smp::PortInfo& port);
void store_fdr10(Port& port, const smp::MlnxExtPortInfo& info);

// Requests to Mellanox devices in their vendor class (0x0a). There is no public specification; the layouts are taken from infiniband-diags.

inline constexpr std::uint8_t mlnx_vendor_class = 0x0a;

/// Whether the vendor of a node builds it of Mellanox chips: Mellanox itself, Voltaire, Bull.
bool is_mellanox(const smp::NodeInfo& node);

/// The layout of the GeneralInfo of a device with this ID in it: InfiniScale IV and later have one of their own.
const StructInfo& general_info_layout(std::uint16_t device_id);

/// The device ID of InfiniScale III, the switch that has PortXmitWait in its configuration space.
inline constexpr std::uint16_t infini_scale3 = 47396;

constexpr std::uint32_t config_space_modifier(std::size_t records) { return 2U << 22 | static_cast<std::uint32_t>(records) << 16; }

/// The ports of an InfiniScale III switch are read in two requests: ports 4 to 19, then the other eight.
inline constexpr unsigned wait_requests = 2;
/// The number of records of request `request` (0 or 1), and its content.
std::size_t wait_records(unsigned request);
mlx::ConfigSpaceAccess wait_request(unsigned request);
/// The port whose PortXmitWait a record of the answer has.
std::size_t wait_port(unsigned request, std::size_t record);

}  // namespace ib::subnet
