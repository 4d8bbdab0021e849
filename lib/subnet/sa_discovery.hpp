// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Discovery from the subnet administrator: the whole subnet by a query for each of four tables, whatever its size. No SMP
// is sent, no M_Key needed and no node disturbed; what is learnt is what the subnet manager found at its last sweep.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "subnet/discovery.hpp"

namespace ib::subnet {

struct SaDiscoverOptions {
  /// The LID to begin at; this host's port where it is absent.
  std::optional<Lid> start;
  /// Links from the start that are followed. Where it is limited records are asked for one by one, as many as the start's
  /// neighbourhood needs.
  unsigned radius = ~0U;
  /// Called now and then with the number of nodes found so far.
  std::function<void(std::size_t)> progress;
};

/// Reads the subnet that the SA knows into `subnet`, which must be empty. What is missing, since a table ends within a record,
/// becomes Failures. Throws the MadError of a table or of the start's NodeRecord, and Error where the SA does
/// not know the start.
async::Task<DiscoverStats> discover_from_sa(mad::Transactor& transactor, Subnet& subnet, SaDiscoverOptions options);

}  // namespace ib::subnet
