// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What SAs of tests answer to a SubnAdmGetMulti: a path from each source to each destination, up to NumbPath of them.
#pragma once

#include <vector>

#include "iba-gen/sa.hpp"
#include "mad/server.hpp"
#include "sa/multi_path.hpp"

namespace ibtest {

inline std::vector<ib::sa::PathRecord> multi_paths(const ib::mad::Incoming& incoming) {
  const ib::sa::MultiPathGids ends = ib::sa::gids_of(incoming.payload());
  const std::size_t most = incoming.as<ib::sa::MultiPathRecord>().numb_path;
  std::vector<ib::sa::PathRecord> paths;
  for (const ib::Gid& source : ends.sources) {
    for (const ib::Gid& destination : ends.destinations) {
      if (paths.size() == most) return paths;
      paths.emplace_back();
      paths.back().sgid = source;
      paths.back().dgid = destination;
    }
  }
  return paths;
}

}  // namespace ibtest
