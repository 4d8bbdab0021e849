// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Big-endian readers and writers against bytes written out by hand.
#include "base/bytes.hpp"

#include <array>

#include "support/catch.hpp"

namespace base_bytes_tests {

TEST_CASE("load_be reads the most significant byte first", "[bytes]") {
  const std::array<std::uint8_t, 8> wire{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef};
  REQUIRE(ib::load_be<std::uint8_t>(wire.data()) == 0x01);
  REQUIRE(ib::load_be<std::uint16_t>(wire.data()) == 0x0123);
  REQUIRE(ib::load_be<std::uint32_t>(wire.data()) == 0x01234567U);
  REQUIRE(ib::load_be<std::uint64_t>(wire.data()) == 0x0123456789abcdefULL);
}

TEST_CASE("store_be writes the most significant byte first", "[bytes]") {
  std::array<std::uint8_t, 8> wire{};
  ib::store_be<std::uint64_t>(wire.data(), 0x0123456789abcdefULL);
  REQUIRE(wire == std::array<std::uint8_t, 8>{0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef});
  ib::store_be<std::uint16_t>(wire.data() + 1, 0xfedcU);
  REQUIRE(wire == std::array<std::uint8_t, 8>{0x01, 0xfe, 0xdc, 0x67, 0x89, 0xab, 0xcd, 0xef});
}

}  // namespace base_bytes_tests
