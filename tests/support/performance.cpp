// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A preload for programs that ask, or are, a performance management agent of ours on a simulated fabric. ibsim answers for the PMAs of
// all nodes itself, and so no request of that class reaches a program there. Requests and answers of the class travel as those of a
// vendor class, which ibsim passes on; the programs on both ends do not see it.
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstring>

#include "next.hpp"

namespace {

constexpr std::size_t packet_header = 32;  // what stands before a MAD on ibsim's socket
constexpr std::size_t packet_size = packet_header + 256;
constexpr std::size_t class_at = packet_header + 1;
constexpr std::uint8_t performance = 0x04, stand_in = 0x0e;  // of the vendor classes without OUI

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void* buffer, std::size_t count) {
  if (count != packet_size || static_cast<const std::uint8_t*>(buffer)[class_at] != performance) return real_write(fd, buffer, count);
  std::array<std::uint8_t, packet_size> packet;
  std::memcpy(packet.data(), buffer, count);
  packet[class_at] = stand_in;
  return real_write(fd, packet.data(), count);
}

extern "C" __attribute__((visibility("default"))) ssize_t read(int fd, void* buffer, std::size_t count) {
  const ssize_t got = real_read(fd, buffer, count);
  auto* const packet = static_cast<std::uint8_t*>(buffer);
  if (count == packet_size && got == static_cast<ssize_t>(packet_size) && packet[class_at] == stand_in) packet[class_at] = performance;
  return got;
}
