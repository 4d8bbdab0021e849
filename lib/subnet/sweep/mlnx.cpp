// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Device IDs from rdma-core. Bull sold the same chips under its own vendor ID.
#include "subnet/sweep/mlnx.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace ib::subnet {

namespace {

struct Range {
  std::uint16_t first, last;
};
constexpr std::uint32_t bull = 0x119f;
constexpr std::array<std::uint32_t, 3> vendors{0x2c9, 0x8f1, bull};  // Mellanox, Voltaire, Bull
constexpr std::uint32_t port_xmit_wait = 0x10013c;                   // in the configuration space; the next port's is 0x1000 further
constexpr std::size_t wait_split = 16;                               // records of the first request
constexpr Range devices[]{{0x1003, 0x101b}, {0xa2d2, 0xa2d2}, {0xc738, 0xc73b}, {0xc839, 0xc839},
                          {0xcb20, 0xcb20}, {0xcf08, 0xcf09}, {0xd2f0, 0xd2f0}};
constexpr Range bull_devices[]{{0x1b02, 0x1b02}, {0x1b33, 0x1b33}, {0x1b40, 0x1b41}, {0x1b50, 0x1b50}, {0x1b60, 0x1b61},
                               {0x1b73, 0x1b73}, {0x1b83, 0x1b83}, {0x1b93, 0x1b94}, {0x1ba0, 0x1ba0}, {0x1bb4, 0x1bb5},
                               {0x1bc4, 0x1bc6}, {0x1bd0, 0x1bd5}, {0x1bf0, 0x1bf0}};

// Besides the devices of Bull: those whose GeneralInfo has the layout of InfiniScale IV (infiniband-diags' vendstat.c).
constexpr Range is4_devices[]{{0x01b3, 0x01b3}, {0x0245, 0x0245}, {0x1003, 0x101b}, {0xa2d2, 0xa2d2},
                              {0xc738, 0xc73b}, {0xcb20, 0xcb20}, {0xcf08, 0xcf08}, {0xd2f0, 0xd2f0}};

bool contains(std::span<const Range> ranges, std::uint16_t id) {
  return std::ranges::any_of(ranges, [id](const Range& range) { return id >= range.first && id <= range.last; });
}

}  // namespace

bool has_mlnx_ext_port_info(const smp::NodeInfo& node) {
  return contains(devices, node.device_id) || (node.vendor_id == bull && contains(bull_devices, node.device_id));
}

bool may_be_fdr10(const smp::NodeInfo& node, const smp::PortInfo& port) {
  constexpr unsigned qdr = 4;
  return port.port_physical_state == smp::PortPhysicalState::link_up && port.link_speed_active == qdr && port.link_speed_ext_active == 0 &&
         has_mlnx_ext_port_info(node);
}

void store_fdr10(Port& port, const smp::MlnxExtPortInfo& info) {
  port.fdr10 = info.link_speed_active;
  port.fdr10_supported = info.link_speed_supported;
}

bool is_mellanox(const smp::NodeInfo& node) { return std::ranges::find(vendors, node.vendor_id) != vendors.end(); }

const StructInfo& general_info_layout(std::uint16_t device_id) {
  const bool is_is4 = contains(is4_devices, device_id) || contains(bull_devices, device_id);
  return is_is4 ? mlx::Is4GeneralInfo::info() : mlx::GeneralInfo::info();
}

std::size_t wait_records(unsigned request) { return request == 0 ? wait_split : 8; }

mlx::ConfigSpaceAccess wait_request(unsigned request) {
  mlx::ConfigSpaceAccess access;
  for (std::size_t i = 0; i < wait_records(request); ++i)
    access.record.at(i).address = port_xmit_wait + (static_cast<std::uint32_t>(i + 1 + request * wait_split) << 12);
  return access;
}

std::size_t wait_port(unsigned request, std::size_t record) {
  constexpr std::size_t first_port = 4, last_of_high = 20;
  const std::size_t place = record + request * wait_split;
  return place < last_of_high ? place + first_port + request : place - last_of_high + 1;
}

}  // namespace ib::subnet
