// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Errors as stacks of messages.
#include "base/error.hpp"

#include <cerrno>

#include "support/catch.hpp"

namespace base_error_tests {

using ib::Error;
using ib::Exit;

TEST_CASE("notes stand on top of the message, the last one first", "[error]") {
  Error error("read failed");
  CHECK(error.what() == std::string("read failed"));
  error.note("reading port 1").note("discovering the subnet");
  CHECK(error.message() == "read failed");
  CHECK(error.what() == std::string("discovering the subnet"));
  CHECK(error.lines(0) == std::vector<std::string>{"discovering the subnet", "reading port 1", "read failed"});
}

TEST_CASE("errors keep their kind and their notes on the way up", "[error]") {
  try {
    try {
      throw ib::SysError(ENOENT, "open", "/dev/infiniband/umad0");
    } catch (Error& error) {
      error.note("opening ibsim0/1");
      throw;
    }
  } catch (const ib::SysError& error) {
    CHECK(error.code() == ENOENT);
    CHECK(error.exit_status() == Exit::failed);
    CHECK(error.lines(0) == std::vector<std::string>{"opening ibsim0/1", "open /dev/infiniband/umad0: No such file or directory"});
  }
  CHECK(ib::UsageError("x").exit_status() == Exit::usage);
  CHECK(Error("x", Exit::incomplete).exit_status() == Exit::incomplete);
}

}  // namespace base_error_tests
