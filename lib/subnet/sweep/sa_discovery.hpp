// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// Discovery from the subnet administrator: four queries at most, one for each table, read a subnet of any size. No SMP is sent, no
// M_Key is needed and no node is disturbed. The result is the state that the subnet manager found in its last sweep.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "iba-gen/sa.hpp"
#include "subnet/sweep/discovery.hpp"

namespace ib::subnet {

struct SaDiscoverOptions {
  /// The LID of the first node; the port of this host if absent.
  std::optional<Lid> start;
  /// The greatest number of links from the start. If it is limited, records are requested one by one, only for nodes within
  /// that distance.
  unsigned radius = ~0U;
  /// What is wanted besides NodeRecords. Tables that hold nothing of it are not queried.
  DiscoverNeeds needs{};
  /// Only the start is read, by single records.
  bool alone = false;
  /// The table of NodeRecords, if it was read before; else empty. Not for a part of the subnet.
  std::vector<sa::NodeRecord> nodes{};
  /// Called from time to time with the number of nodes found so far.
  std::function<void(std::size_t)> progress;
};

/// Reads the subnet that the SA knows into `subnet`, in the place of what it held. Missing records become failures, and so does each table
/// that came without its end. Throws the MadError of a table or of the start's NodeRecord, and Error if the SA does not know the start.
async::Task<Discovered> discover_from_sa(mad::Transactor& transactor, Subnet& subnet, SaDiscoverOptions options);

}  // namespace ib::subnet
