// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "sys/host.hpp"

#include <algorithm>

#include "support/catch.hpp"

namespace sys_host_tests {

using namespace ib::sys;

TEST_CASE("processors as /proc/cpuinfo lists them, or does not") {
  CHECK(cpu_text("processor\t: 0\nmodel name\t: A: fast one\nmodel\t\t: 2\ncpu MHz\t\t: 2596.120\n\n"
                 "processor\t: 1\nflags\t: x\n\nprocessor\t: 2\ncpu MHz :") ==
        "cpu 0: model A: fast one MHZ 2596.120\ncpu 1: model  MHZ \ncpu 2: model  MHZ \n");
  CHECK(cpu_text("").empty());
  CHECK(cpu_text("model name : nobody's\n:\n\n").empty());
  std::string many;
  for (int i = 0; i < 5000; ++i) many += "processor : 1\n";
  CHECK(std::ranges::count(cpu_text(many), '\n') == 4096);
}

TEST_CASE("a host has a name") { CHECK_FALSE(host_name().empty()); }

}  // namespace sys_host_tests
