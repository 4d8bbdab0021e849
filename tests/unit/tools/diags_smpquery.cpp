// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What smpquery of infiniband-diags prints without a fabric: tables beside Debian's libibmad, names, routes.
#include <infiniband/mad.h>

#include <array>
#include <random>
#include <string>

#include "diags/smpquery_ops.hpp"
#include "support/catch.hpp"

using namespace ib::diags;
using ib::Lid;

TEST_CASE("VL tables are written as libibmad writes them") {
  std::mt19937 random(1);
  for (int i = 0; i < 200; ++i) {
    std::array<std::uint8_t, 64> block{};
    for (auto& byte : block) byte = static_cast<std::uint8_t>(random());
    std::array<char, 2048> theirs{};
    const unsigned entries = 1 + static_cast<unsigned>(random()) % 32;
    mad_dump_vlarbitration(theirs.data(), static_cast<int>(theirs.size()), block.data(), static_cast<int>(2 * entries));
    REQUIRE(arbitration_lines(block, entries) == theirs.data());

    std::array<std::uint8_t, 16> vls{};
    for (std::size_t sl = 0; sl < vls.size(); ++sl)
      vls[sl] = static_cast<std::uint8_t>(sl % 2 == 0 ? block[sl / 2] >> 4 : block[sl / 2] & 15);
    mad_dump_sltovl(theirs.data(), static_cast<int>(theirs.size()), block.data(), 8);
    REQUIRE(sl_to_vl_line(vls) + "\n" == theirs.data());
  }
}

TEST_CASE("a description ends at its first NUL and shows nothing that is not printable ASCII") {
  std::array<std::uint8_t, 64> full;
  full.fill('x');
  CHECK(clean_description(full) == std::string(64, 'x'));
  const std::array<std::uint8_t, 8> hostile{'a', 0x1b, '[', 0xc3, 0xa9, '\n', 0, 'z'};
  CHECK(clean_description(hostile) == "a [   ");
}

TEST_CASE("short names stand flush right, long ones behind one dot") {
  CHECK(description_line("Hca1") == "Node Description:............................Hca1\n");
  CHECK(description_line(std::string(32, 'n')) == "Node Description:." + std::string(32, 'n') + "\n");
}

TEST_CASE("directed routes are read as atoi reads numbers") {
  CHECK(read_route("0,1,3") == std::vector<std::uint8_t>{0, 1, 3});
  CHECK(read_route("0") == std::vector<std::uint8_t>{0});
  CHECK(read_route("x, 7y,,256,9,") == std::vector<std::uint8_t>{0, 7, 0, 0, 9});
  CHECK_FALSE(read_route("").has_value());
  std::string longest = "0";
  for (int hop = 1; hop <= 63; ++hop) longest += ",1";
  CHECK(read_route(longest)->size() == 64);
  CHECK_FALSE(read_route(longest + ",1").has_value());
  CHECK(route_text(Lid{1}, Lid{0xffff}, {0, 12}) == "slid 1; dlid 65535; 0,12");
}

TEST_CASE("operations go by name or alias in any case") {
  CHECK(find_operation("nodeinfo") == find_operation("NI"));
  CHECK(find_operation("sl2vl") == find_operation("SL2VLTable"));
  CHECK(find_operation("mepi")->name == "MlnxExtPortInfo");
  CHECK(find_operation("zz") == nullptr);
  CHECK(find_operation("") == nullptr);
}
