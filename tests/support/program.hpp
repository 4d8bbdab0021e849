// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The whole program in the process of a test: a command line in, exit status and both streams out. It stands on a
// fabric in memory and a clock that jumps.
#pragma once

#include <string>
#include <vector>

#include "support/fake_fabric.hpp"
#include "support/fake_sysfs.hpp"

namespace ibtest {

struct Outcome {
  int status{};
  std::string out, err;
};

/// `ibtool WORDS…` on a host whose device fake0 is where `fabric` is attached.
Outcome ibtool(FakeFabric& fabric, std::vector<std::string> words);
/// The same on the host of which SYSFS_PATH tells, for what asks no fabric.
Outcome ibtool(std::vector<std::string> words);
/// `NAME WORDS…` there, a tool of infiniband-diags: `words` begins with its name.
Outcome legacy(std::vector<std::string> words);

}  // namespace ibtest
