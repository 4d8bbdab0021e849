// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fuzz targets. With clang and -Dfuzz=true libFuzzer drives each; else standalone.cpp does, with a fixed set of mutations, so that the
// targets are built and run wherever the tests are. They are one program then.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace ibtest {

/// A target: its file has both functions, in the namespace fuzz_NAME.
struct FuzzTarget {
  const char* name;
  /// Runs the code under test on one input. Always returns 0; what must not happen ends the program.
  int (*try_input)(const std::uint8_t* data, std::size_t size);
  /// Good inputs to begin with.
  std::vector<std::string> (*seeds)();
};

/// Ends the program where `condition` does not hold.
inline void must(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: %s\n", what);
  std::abort();
}

}  // namespace ibtest
