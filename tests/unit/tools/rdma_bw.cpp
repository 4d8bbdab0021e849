// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What rdma_bw refuses before it opens anything. Its tests with real verbs are in tests/kernel.
#include "support/catch.hpp"
#include "support/program.hpp"

namespace tools_rdma_bw_tests {

using ibtest::contains;
using ibtest::ibtool;

TEST_CASE("rdma_bw: a server that no host can be called, and numbers that make no test") {
  CHECK_THAT(ibtool({"rdma_bw", "a b"}).err, contains("Invalid command line argument #1 'a b' - not a host name\n"));
  CHECK_THAT(ibtool({"rdma_bw", "a\x1b[2J"}).err, contains("'a\\x1b[2J'"));
  CHECK_THAT(ibtool({"rdma_bw", "one", "two"}).err, contains("Too many arguments"));
  for (const char* option : {"-p0", "-p65536", "-s0", "-e0", "-e1025", "-t0", "-t16385", "-n0", "-i0", "-n4294967296"}) {
    CAPTURE(option);
    CHECK(ibtool({"rdma_bw", option}).status == 2);
  }
}

}  // namespace tools_rdma_bw_tests
