// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// One reading of counters in progress: the ports to read, and the rows for the answers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "async/loop.hpp"
#include "counters/history.hpp"
#include "counters/readings.hpp"
#include "metrics/fabric.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::metrics {

class CounterRound {
 public:
  /// `pmas` has what is known of PMAs already, and gets what is learnt. It must outlive this object.
  CounterRound(async::Loop& loop, std::shared_ptr<const SweptFabric> fabric, std::shared_ptr<const PortStates> states, bool hcas,
               bool details, counters::KnownPmas& pmas);
  CounterRound(const CounterRound&) = delete;
  CounterRound& operator=(const CounterRound&) = delete;

  /// The nodes that have something to read, each once.
  std::vector<subnet::NodeIndex> nodes() const;
  /// The port whose PMA is requested first of such a node.
  subnet::PortIndex first_port(subnet::NodeIndex node) const;
  /// Whether none of the devices of a node answered, according to `silent`.
  bool is_silent(subnet::NodeIndex node, const std::set<Guid>& silent) const;
  /// What counters::read_pmas() reads. This object must outlive it.
  counters::ReadingPlan plan();
  /// Notes that a node did not answer: its counters are not read.
  void take_silent(subnet::NodeIndex node);
  /// The devices of which counters were read so far.
  std::vector<Device> read_devices() const;
  /// Notes that the counters of these devices, by port, belong to other devices (Outcome::moved), or that it is not known whose they are
  /// (Outcome::unowned). Drops their rows.
  void take_unowned(const std::set<subnet::PortIndex>& ports, DeviceReading::Outcome why);
  /// The FEC modes of ports, by which PortExtendedSpeedsCounters is read with the details.
  void read_fec(std::shared_ptr<const subnet::FecModes> modes) { reading_->fec_modes = std::move(modes); }
  /// Notes PortSamplesControl.Tick of the devices that were read, by port.
  void take_ticks(const std::map<subnet::PortIndex, std::optional<std::uint8_t>>& ticks);
  void take(subnet::Failures failures);
  /// The reading, once all nodes have been taken. The caller sets its times.
  std::shared_ptr<Reading> take() { return std::move(reading_); }

 private:
  template <class Use>
  void each_device(subnet::NodeIndex node, Use use) const;
  std::vector<subnet::PortIndex> ports_of(subnet::NodeIndex node) const;
  void take(const counters::PmaNode& node);
  void take(DeviceReading& to, std::span<const counters::PmaReading> readings, async::Time begun);

  async::Loop& loop_;
  std::shared_ptr<const SweptFabric> fabric_;
  std::shared_ptr<const PortStates> states_;
  bool details_;
  counters::KnownPmas& pmas_;
  std::shared_ptr<Reading> reading_ = std::make_shared<Reading>();
  std::unordered_map<subnet::PortIndex, std::size_t> device_at_;  ///< in Reading::devices, by end port
};

}  // namespace ib::metrics
