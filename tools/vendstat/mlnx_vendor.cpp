// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/vendstat/mlnx_vendor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/escape.hpp"

namespace ib::tools::mlnx {
namespace {

constexpr std::size_t wait_split = 16;  // the number of records in the first request
constexpr unsigned first_port = 4;      // the port of the first counter

constexpr std::pair<std::uint16_t, std::uint16_t> ext_firmware_devices[]{
    {0x01b3, 0x01b3}, {0x0245, 0x0245}, {0x1003, 0x101b}, {0x1b02, 0x1b02}, {0x1b33, 0x1b33}, {0x1b40, 0x1b41}, {0x1b50, 0x1b50},
    {0x1b60, 0x1b61}, {0x1b73, 0x1b73}, {0x1b83, 0x1b83}, {0x1b93, 0x1b94}, {0x1ba0, 0x1ba0}, {0x1bb4, 0x1bb5}, {0x1bc4, 0x1bc6},
    {0x1bd0, 0x1bd5}, {0x1bf0, 0x1bf0}, {0xa2d2, 0xa2d2}, {0xc738, 0xc73b}, {0xcb20, 0xcb20}, {0xcf08, 0xcf08}, {0xd2f0, 0xd2f0},
};

/// The first `size` bytes of `data`, filled up with zeros.
template <std::size_t size>
std::array<std::uint8_t, size> padded(Bytes data) {
  std::array<std::uint8_t, size> bytes{};
  std::copy_n(data.begin(), std::min(data.size(), size), bytes.begin());
  return bytes;
}

/// The format %#x of C: zero has no prefix.
std::string alternate_hex(std::uint32_t value) { return value == 0 ? "0" : fmt::format("0x{:x}", value); }

std::string version(std::uint32_t major, std::uint32_t minor, std::uint32_t sub_minor) {
  return fmt::format("{:02}.{:02}.{:02}", major, minor, sub_minor);
}

}  // namespace

std::string wait_lines(unsigned request, const mlx::ConfigSpaceAccess& answer) {
  std::string text;
  for (std::size_t i = 0; i < wait_records(request); ++i) {
    const std::size_t place = i + request * wait_split;
    const std::size_t port = place < 20 ? place + first_port + (request == 0 ? 0 : 1) : place - 19;
    if (const std::uint32_t count = answer.record.at(i).data; count != 0)
      text += fmt::format("Port {}: PortXmitWait 0x{:x}\n", port, count);
  }
  return text;
}

std::string config_space_lines(const mlx::ConfigSpaceAccess& answer, std::size_t records) {
  std::string text;
  for (std::size_t i = 0; i < std::min(records, answer.record.size()); ++i) {
    const mlx::ConfigRecord& record = answer.record.at(i);
    text += fmt::format("Config space record at 0x{:x}: 0x{:x}\n", record.address, record.data & record.mask);
  }
  return text;
}

std::string counter_group_lines(Bytes answer) {
  constexpr std::size_t masks = 12;  // the offset of the masks
  const auto info = mlx::CounterGroupInfo::unpack(padded<mlx::CounterGroupInfo::wire_size>(answer));
  std::string text = fmt::format("counter_group_info:\n{} counter groups\n", info.num_counter_groups);
  for (std::size_t i = 0; i < info.num_counter_groups && masks + 4 * i + 4 <= answer.size(); ++i)
    text += fmt::format("group{} mask {}\n", i, alternate_hex(load_be<std::uint32_t>(answer.data() + masks + 4 * i)));
  return text;
}

bool has_ext_firmware_version(std::uint16_t device_id) {
  return std::any_of(std::begin(ext_firmware_devices), std::end(ext_firmware_devices),
                     [=](const auto& range) { return range.first <= device_id && device_id <= range.second; });
}

std::string general_info_lines(Bytes answer) {
  const auto bytes = padded<mlx::Is4GeneralInfo::wire_size>(answer);
  const auto is3 = mlx::GeneralInfo::unpack(Bytes(bytes).first(mlx::GeneralInfo::wire_size));
  const auto is4 = mlx::Is4GeneralInfo::unpack(bytes);
  const bool extended = has_ext_firmware_version(is3.device_id);
  return fmt::format(
      "hw_dev_rev:  0x{:04x}\nhw_dev_id:   0x{:04x}\nhw_uptime:   0x{:08x}\nfw_version:  {}\nfw_build_id: 0x{:04x}\n"
      "fw_date:     {:02x}/{:02x}/{:04x}\nfw_psid:     '{}'\nfw_ini_ver:  {}\nsw_version:  {}\n",
      is3.hw_revision, is3.device_id, is3.uptime,
      extended ? version(is4.ext_major, is4.ext_minor, is4.ext_sub_minor) : version(is3.fw_major, is3.fw_minor, is3.fw_sub_minor),
      is3.fw_build_id, is3.fw_month, is3.fw_day, is3.fw_year, printable(fixed_text(is3.fw_psid)),
      static_cast<std::int32_t>(is3.fw_init_file_version),
      extended ? version(is4.sw_major, is4.sw_minor, is4.sw_sub_minor) : version(is3.hw_major, is3.hw_minor, is3.hw_sub_minor));
}

}  // namespace ib::tools::mlnx
