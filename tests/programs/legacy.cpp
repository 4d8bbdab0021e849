// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// ibtool as it is built with another -Ddiags: the version of infiniband-diags that the environment variable IBTEST_DIAGS names, "56.1".
#include <cstddef>
#include <cstdlib>

#include "mad/channel/simulator.hpp"
#include "tools/frame/run.hpp"
#include "tools/frame/world.hpp"

int main(int argc, char** argv) {
  ib::mad::keep_simulator_quiet();
  ib::tools::World world = ib::tools::this_host();
  if (const char* const version = std::getenv("IBTEST_DIAGS")) world.diags_release = &ib::tools::diags_release(version);
  return ib::tools::run({argv, static_cast<std::size_t>(argc)}, world);
}
