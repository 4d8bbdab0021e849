// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "subnet/sweep/mlnx_vendor.hpp"

#include <algorithm>
#include <array>

namespace ib::subnet {
namespace {

constexpr std::array<std::uint32_t, 3> vendors{0x2c9, 0x8f1, 0x119f};  // Mellanox, Voltaire, Bull
constexpr std::uint32_t port_xmit_wait = 0x10013c;                     // in the configuration space; the next port's is 0x1000 further
constexpr std::size_t wait_split = 16;                                 // records of the first request

}  // namespace

bool is_mellanox(const smp::NodeInfo& node) { return std::ranges::find(vendors, node.vendor_id) != vendors.end(); }

std::size_t wait_records(unsigned request) { return request == 0 ? wait_split : 8; }

mlx::ConfigSpaceAccess wait_request(unsigned request) {
  mlx::ConfigSpaceAccess access;
  for (std::size_t i = 0; i < wait_records(request); ++i)
    access.record.at(i).address = port_xmit_wait + (static_cast<std::uint32_t>(i + 1 + request * wait_split) << 12);
  return access;
}

}  // namespace ib::subnet
