// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The readings of counters between which health looks for changes: two of this fabric, or one of a snapshot and one of this fabric.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "async/task.hpp"
#include "counters/history.hpp"
#include "counters/readings.hpp"
#include "health/input.hpp"
#include "health/scope.hpp"
#include "subnet/sweep/survey.hpp"
#include "tools/frame/session.hpp"
#include "tools/health/wanted.hpp"

namespace ib::tools::health {

class CounterReadings {
 public:
  enum class Cost : std::uint8_t {
    usual,
    least,  ///< no details of errors and discards, no service levels, and no SMP that says whose counters they are
  };
  explicit CounterReadings(Cost cost = Cost::usual) : cost_(cost) {}

  /// The FEC modes of ports of `subnet`: where the PMA has counters of blocks, they are read from these ports, also in a snapshot, which
  /// knows them by GUID and number. To be called again for another model. Both must outlive the next readings.
  void read_blocks_of(const subnet::Subnet& subnet, const subnet::FecModes& modes) {
    fec_subnet_ = &subnet;
    fec_modes_ = &modes;
  }
  /// Whether a port reported such counters.
  bool has_blocks() const { return has_blocks_; }

  /// Reads the ports of `scope` in this fabric, or in the snapshot of --from, and keeps what they hold for the next reading, of whatever
  /// model. With `table`, adds to it what they have counted since the reading before. Returns what failed. `subnet` and `scope` must
  /// outlive the task.
  async::Task<subnet::Failures> read(Stack& stack, const subnet::Subnet& subnet, const Scope& scope, subnet::SurveyOptions options,
                                     CounterTable* table);
  /// Takes the counters in a snapshot as the reading before the first one of `current`. Throws UsageError where it has none, or is of
  /// another fabric.
  async::Task<> read_snapshot(Stack& stack, const std::string& file, const subnet::Subnet& current);
  /// Adds the ports of a subnet without a link that had one when the snapshot was taken, with the ports at the other ends.
  void name_former_peers(const subnet::Subnet& subnet, std::map<subnet::PortIndex, subnet::PortIndex>& peers) const;
  /// Those of `ports` whose nodes were there at the last reading. A node that has come since begins to be watched now.
  std::vector<subnet::PortIndex> known_ports(std::vector<subnet::PortIndex> ports, const subnet::Subnet& subnet) const;
  /// A failure that names the nodes of the snapshot that are not in `subnet`; none if all are there.
  subnet::Failures find_gone(const subnet::Subnet& subnet) const;
  /// Whether there was a reading.
  bool any() const { return history_.size() != 0; }
  /// Forgets nodes that `subnet`, which was swept again, does not hold.
  void keep_nodes_of(const subnet::Subnet& subnet);
  counters::CounterHistory& history() { return history_; }

 private:
  using EndOfLink = std::pair<Guid, std::uint8_t>;  // the GUID of the node, and the number of the port
  using Take = std::function<void(subnet::NodeIndex node, const counters::PmaReading& reading)>;
  async::Task<subnet::Failures> read_all(mad::Transactor& transactor, const subnet::Subnet& subnet, subnet::SurveyOptions options,
                                         const Scope& scope, mad::Transactor* owners, Take take);
  const StructInfo* blocks_layout(const subnet::Subnet& subnet, const counters::PmaReading& reading) const;
  bool has_moved(const counters::CounterKey& key, const counters::PmaReading& reading, std::string_view counter) const;

  Cost cost_;
  counters::CounterHistory history_;
  counters::KnownPmas pmas_;
  const subnet::Subnet* fec_subnet_{};
  const subnet::FecModes* fec_modes_{};   ///< of ports of fec_subnet_; null: blocks are not read
  std::map<EndOfLink, EndOfLink> links_;  ///< of the snapshot, both ways
  bool has_blocks_{};
  std::set<Guid> nodes_;                     ///< of the model of the last reading
  std::string since_;                        ///< the snapshot
  std::map<Guid, std::string> since_nodes_;  ///< its nodes, with their descriptions
};

/// The ports of `scope` whose counters are read.
std::vector<subnet::PortIndex> ports_in(const Scope& scope, const subnet::Subnet& subnet);

}  // namespace ib::tools::health
