// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One reading of counters while it is made: which ports are asked, and where the answers go.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "async/loop.hpp"
#include "counters/readings.hpp"
#include "metrics/fabric.hpp"

namespace ib::metrics {

class CounterRound {
 public:
  using Supports = std::unordered_map<subnet::NodeIndex, counters::PmaSupport>;

  /// `supports` has what is known of PMAs already, and gets what is learnt. It must outlive this object.
  CounterRound(async::Loop& loop, std::shared_ptr<const SweptFabric> fabric, std::shared_ptr<const PortStates> states, bool hcas,
               bool details, Supports& supports);
  CounterRound(const CounterRound&) = delete;
  CounterRound& operator=(const CounterRound&) = delete;

  /// The nodes to ask, each once.
  std::vector<subnet::NodeIndex> nodes() const;
  /// How they are asked. This object must outlive it.
  counters::PmaWanted wanted();
  /// The reading, when all nodes have been told of. Its times are still to be set.
  std::shared_ptr<Reading> take() { return std::move(reading_); }

 private:
  std::vector<subnet::PortIndex> ports_of(subnet::NodeIndex node) const;
  void take(const counters::PmaNode& node);
  void take(DeviceReading& to, const counters::PmaReading* first, const counters::PmaReading* last, async::Time begun);

  async::Loop& loop_;
  std::shared_ptr<const SweptFabric> fabric_;
  std::shared_ptr<const PortStates> states_;
  bool details_;
  Supports& supports_;
  std::shared_ptr<Reading> reading_ = std::make_shared<Reading>();
  std::unordered_map<subnet::NodeIndex, std::size_t> switch_at_;  ///< in the list of switches
  std::unordered_map<subnet::PortIndex, std::size_t> hca_at_;     ///< in the list of HCAs; empty where these are not read
  std::unordered_map<subnet::NodeIndex, async::Time> begun_;      ///< when a node was asked first
};

}  // namespace ib::metrics
