// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "formats/forwarding_text.hpp"

#include <fstream>
#include <tuple>

#include "base/error.hpp"
#include "support/catch.hpp"
#include "support/temporary_directory.hpp"

namespace formats_service_levels_tests {

using namespace ib;

namespace {

using Pair = std::tuple<std::uint64_t, unsigned, unsigned>;

std::vector<Pair> read(const std::string& content) {
  const ibtest::TemporaryDirectory directory;
  std::ofstream(directory.file("psl")) << content;
  std::vector<Pair> all;
  formats::read_service_levels(directory.file("psl"), [&all](const formats::StoredServiceLevel& level) {
    all.emplace_back(level.node_guid.value, level.dlid.value, level.sl);
  });
  return all;
}

}  // namespace

TEST_CASE("SLs by source node and DLID") {
  CHECK(read("0x0002c90200000110 6 0\n0002c90200000120\t0x8  15\r\n# a comment\n\n 0002:c902:0000:0130 49151 2") ==
        std::vector<Pair>{{0x0002c90200000110, 6, 0}, {0x0002c90200000120, 8, 15}, {0x0002c90200000130, 49151, 2}});
}

TEST_CASE("lines without an SL are refused") {
  for (const char* line :
       {"0x1 6 16", "0x1 49152 0", "0x1 6", "0x1", "0x1 6 0 0", "0x1 6 0x", "0xg 6 0", "0x1 -6 0", "x", "11112222333344445 6 0"}) {
    CAPTURE(line);
    CHECK_THROWS_WITH(read("0x1 6 0\n" + std::string(line) + "\n"), ibtest::ends_with("/psl:2: not a line of NODE_GUID DLID SL"));
  }
  CHECK_THROWS_WITH(read("# nothing\n"), ibtest::ends_with("/psl: this file holds no SL"));
}

}  // namespace formats_service_levels_tests
