// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sys/host.hpp"

#include "support/catch.hpp"

namespace sys_host_tests {

using namespace ib::sys;

TEST_CASE("processors as /proc/cpuinfo lists them, or does not") {
  const auto cpus = parse_cpus(
      "processor\t: 0\nmodel name\t: A: fast one\nmodel\t\t: 2\ncpu MHz\t\t: 2596.120\n\n"
      "processor\t: 1\nflags\t: x\n\nprocessor\t: 2\ncpu MHz :");
  REQUIRE(cpus.size() == 3);
  CHECK(cpus[0].model == "A: fast one");
  CHECK(cpus[0].mhz == "2596.120");
  CHECK(cpus[1].model.empty());
  CHECK(cpus[2].mhz.empty());
  CHECK(parse_cpus("").empty());
  CHECK(parse_cpus("model name : nobody's\n:\n\n").empty());
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "processor : 1\n";
  CHECK(parse_cpus(many).size() == 4096);
}

TEST_CASE("a host has a name") { CHECK_FALSE(host_name().empty()); }

}  // namespace sys_host_tests
