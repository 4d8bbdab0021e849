// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A preload for programs that send requests to an agent of ours for performance management or congestion control on a simulated fabric, or
// that are such an agent. ibsim answers for these agents of all nodes itself, so no request to them reaches a program there. Requests and
// answers of these classes travel as those of vendor classes, which ibsim passes on. The programs on both ends do not see that.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "next.hpp"

namespace {

constexpr std::size_t packet_header = 32;  // what stands before a MAD on ibsim's socket
constexpr std::size_t packet_size = packet_header + 256;
constexpr std::size_t class_at = packet_header + 1;
constexpr struct {
  std::uint8_t mgmt_class, stand_in;
} classes[] = {{0x04, 0x0e}, {0x21, 0x0f}};  // the latter of the vendor classes without OUI

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void* buffer, std::size_t count) {
  if (count != packet_size) return real_write(fd, buffer, count);
  std::array<std::uint8_t, packet_size> packet;
  std::memcpy(packet.data(), buffer, count);
  for (const auto& each : classes) {
    if (packet[class_at] != each.mgmt_class) continue;
    packet[class_at] = each.stand_in;
    break;
  }
  return real_write(fd, packet.data(), count);
}

extern "C" __attribute__((visibility("default"))) ssize_t read(int fd, void* buffer, std::size_t count) {
  const ssize_t got = real_read(fd, buffer, count);
  auto* const packet = static_cast<std::uint8_t*>(buffer);
  if (count != packet_size || got != static_cast<ssize_t>(packet_size)) return got;
  for (const auto& each : classes) {
    if (packet[class_at] == each.stand_in) packet[class_at] = each.mgmt_class;
  }
  return got;
}
