// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The fabric of a command that reads counters again and again. LIDs change hands, and nodes go and come. If a round did not read a node
// that the round before had read, or another node has its LID, the fabric is swept again before the next round.
#pragma once

#include <set>

#include "async/task.hpp"
#include "counters/difference.hpp"
#include "counters/readings.hpp"
#include "subnet/model/port_paths.hpp"
#include "tools/shared/fabric.hpp"

namespace ib::tools {

/// What a round reads: a fabric, the paths to its PMAs, and the nodes.
struct RoundFabric {
  Fabric fabric{};
  std::optional<subnet::PortPaths> paths{};  ///< in `fabric`
  std::vector<subnet::NodeIndex> nodes{};
};

class WatchedFabric {
 public:
  /// Chooses the nodes that are read of a fabric that was swept again.
  using ChooseNodes = std::function<std::vector<subnet::NodeIndex>(const Fabric&)>;

  /// `first` is what the first rounds read. It must outlive this object.
  WatchedFabric(Session& session, DiscoveryOptions discovery, const RoundFabric& first, ChooseNodes choose);

  const RoundFabric& now() const { return swept_ ? *swept_ : first_; }
  /// The rows of the last reading of each port.
  counters::CounterHistory& history() { return history_; }
  /// Sweeps again, if the last round calls for it: then now() is another fabric, and no index of the one before is valid. Prints which
  /// nodes are gone. If nothing answers the sweep, now() stays, and the sweep is tried again before the next round.
  async::Task<> renew();
  /// Reads the counters of now() as `plan` says. ClassPortInfo is requested once of each PMA, whatever the number of rounds.
  async::Task<counters::PmaReadings> read(counters::ReadingPlan plan);

 private:
  /// Null where nothing answers.
  async::Task<std::unique_ptr<RoundFabric>> sweep();

  Session& session_;
  DiscoveryOptions discovery_;
  const RoundFabric& first_;
  ChooseNodes choose_;
  std::unique_ptr<RoundFabric> swept_;
  counters::KnownPmas pmas_;
  counters::CounterHistory history_;
  std::set<Guid> unread_;  ///< in the last round
  bool is_due_{};
};

}  // namespace ib::tools
