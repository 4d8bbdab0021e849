// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What smpquery of infiniband-diags reads and prints without a fabric: names, routes, operations.
#include <string>

#include "tools/diags/smpquery_ops.hpp"
#include "support/catch.hpp"

using namespace ib::diags;
using ib::Lid;

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
