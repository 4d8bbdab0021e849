// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibtool: one program for the diagnostics of InfiniBand fabrics. What happens is in run.cpp.
#include <cstddef>
#include <cstdlib>

#include "tools/run.hpp"

int main(int argc, char** argv) {
  // ibsim's client would let requests come before there is an agent for them, and crash. Serving says it at the right time.
  ::unsetenv("SIM_SET_ISSM");
  return ib::tools::run({argv, static_cast<std::size_t>(argc)});
}
