// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The node whose counters are read again and again. It is the one that answered first at the end of the path, wherever its LID is later.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "iba-gen/smp.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/stack.hpp"
#include "tools/perfquery/readings.hpp"

namespace ib::tools::perfquery {

struct WatchedNode {
  std::optional<smp::NodeInfo> node;                                         ///< absent until it has answered
  bool is_lost{};                                                            ///< it did not answer at the end of the path in the last round
  std::map<std::pair<Guid, std::int32_t>, std::optional<PortReading>> last;  ///< by node and port
};

/// Requests who has answered at the end of the path (counters/owner.hpp). Returns null if that is the node that is watched, or if SMPs do
/// not go there.
async::Task<std::shared_ptr<const Error>> check_owner(Stack& stack, Destination node, WatchedNode& watched);

/// Looks for the node that is watched by its port GUID; before it has answered, for `target`. Where the SA does not know it, or none
/// answers, `last` is returned.
async::Task<Destination> find_again(Stack& stack, const Target& target, Destination last, const WatchedNode& watched);

}  // namespace ib::tools::perfquery
