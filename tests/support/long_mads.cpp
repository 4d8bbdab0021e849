// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// A preload that puts MADs longer than a packet of InfiniBand before the first MAD that a program reads from umad, as an Omni-Path
// adapter delivers them. Loaded before libumad2sim.so. read() keeps the kernel's rules (drivers/infiniband/core/user_mad.c): a MAD that
// does not fit stays at the front of the queue, and the error is EINVAL if not even one segment of it fits, else ENOSPC.
//
//   IBTEST_LONG_MADS=2048,5000   their lengths
#include <rdma/ib_user_mad.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <vector>

#include "next.hpp"

namespace {

constexpr std::size_t header_size = sizeof(ib_user_mad_hdr), segment_size = 2048;

/// umad2sim numbers its umad devices so.
bool is_umad(int fd) { return fd >= 1024 && fd < 2048; }

std::deque<std::size_t> lengths() {
  std::deque<std::size_t> all;
  const char* text = std::getenv("IBTEST_LONG_MADS");
  while (text != nullptr && *text != '\0') {
    char* end = nullptr;
    all.push_back(std::strtoul(text, &end, 10));
    text = *end == ',' ? end + 1 : nullptr;
  }
  return all;
}

/// An SMP of Omni-Path, with its umad header.
std::vector<std::uint8_t> message(std::size_t length) {
  constexpr std::array<std::uint8_t, 4> first{0x80, 0x81, 0x80, 0x81};  // versions, class and method: an answer that no request expects
  std::vector<std::uint8_t> bytes(header_size + length, 0xee);
  ib_user_mad_hdr header{};
  header.length = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data(), &header, header_size);
  std::copy(first.begin(), first.end(), bytes.begin() + header_size);
  return bytes;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) ssize_t read(int fd, void* buffer, std::size_t count) {
  static std::deque<std::size_t> left = lengths();
  if (!is_umad(fd) || left.empty()) return real_read(fd, buffer, count);
  const std::vector<std::uint8_t> first = message(left.front());
  if (count < std::min(first.size(), header_size + segment_size)) {
    errno = EINVAL;
    return -1;
  }
  std::memcpy(buffer, first.data(), std::min(count, first.size()));
  if (count < first.size()) {
    errno = ENOSPC;
    return -1;
  }
  left.pop_front();
  return static_cast<ssize_t>(first.size());
}
