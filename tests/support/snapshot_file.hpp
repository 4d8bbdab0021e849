// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The name of a file for snapshots. The file goes when the program ends.
#pragma once

#include <string>

#include "support/temporary_directory.hpp"

namespace ibtest {

inline const std::string& snapshot_file() {
  static const TemporaryDirectory directory;
  static const std::string name = directory.file("snapshot");
  return name;
}

}  // namespace ibtest
