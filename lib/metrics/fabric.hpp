// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What pages are made from. A SweptFabric is one sweep: it is filled once and then shared by the readings that were made on it. A Reading
// holds the counters of one round, PortStates the states of the ports of switches, which are polled more often. None of them changes once
// it is shared, so that a page may be sent while the next round is read.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "async/clock.hpp"
#include "async/loop.hpp"
#include "counters/difference.hpp"
#include "counters/readings.hpp"
#include "counters/row.hpp"
#include "phy/reading.hpp"
#include "subnet/model/failures.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/names.hpp"
#include "subnet/sweep/survey.hpp"

namespace ib::metrics {

using subnet::NodeIndex;
using subnet::PortIndex;

using WallTime = std::chrono::system_clock::time_point;

/// What has a `guid` of its own in metrics: a switch, or one port of a channel adapter, which counts as an HCA of its own.
struct Device {
  Guid guid;  ///< the port GUID; of a switch the GUID of its port 0
  NodeIndex node = subnet::none;
  PortIndex port = subnet::none;  ///< the end port
  bool is_switch{};
};

/// A device that an earlier sweep found, and the last one did not.
struct GoneDevice {
  bool is_switch{};
  Guid guid;
  std::string name;  ///< as SweptFabric::name()
  WallTime since{};  ///< when the first sweep without it ended
};

/// A fabric as one sweep found it.
struct SweptFabric : subnet::SweptSubnet {
  subnet::NodeNameMap names;
  std::vector<Device> devices;      ///< first the switches, by GUID; then HCAs, by GUID. Each GUID once among either
  std::size_t switch_count{};       ///< in `devices`
  std::vector<Guid> twins;          ///< GUIDs that a second device claims, which is not in `devices`; ascending
  std::vector<GoneDevice> gone;     ///< in the order of `devices`
  WallTime time{};                  ///< when the sweep ended
  std::chrono::nanoseconds took{};  ///< for the sweep
  bool is_sa_silent{};              ///< the SA was requested after the sweep, and did not answer

  std::span<const Device> switches() const { return std::span(devices).first(switch_count); }
  std::span<const Device> hcas() const { return std::span(devices).subspan(switch_count); }
  /// The device of that kind and GUID; null if there is none.
  const Device* find(bool is_switch, Guid guid) const;
  /// Calls `use` with each external port of a switch, or with the one port of an HCA.
  template <class Use>
  void each_port(const Device& device, Use use) const {
    const PortIndex first = device.port + (device.is_switch ? 1 : 0);
    const PortIndex last = device.port + (device.is_switch ? subnet.node(device.node).slots : 1);
    for (PortIndex port = first; port < last; ++port) use(port);
  }
  /// Fills the list of devices from the model.
  void list_devices();
  /// Notes as gone what `before`, an earlier sweep, found or knew to be gone, and this one did not find. After a day it is forgotten.
  /// `time` must be set.
  void remember(const SweptFabric& before);
  bool has_twins(Guid guid) const { return std::ranges::binary_search(twins, guid); }
  /// The name of a node without blanks at both ends. Not escaped.
  std::string_view name(NodeIndex node) const;
};

/// PortState and PortPhysicalState of the ports of a fabric (IBA 14.2.5.6), and what has changed since the sweep.
class PortStates {
 public:
  /// All states are as the sweep found them.
  explicit PortStates(const subnet::Subnet& subnet);

  struct State {
    std::uint8_t logical{}, physical{};
    bool is_known() const { return logical != 0; }
    bool is_link_up() const { return physical == link_up; }
    bool operator==(const State&) const = default;
  };
  State of(PortIndex port) const { return states_[port]; }
  void set(PortIndex port, State state) { states_[port] = state; }
  /// Takes over the states that `later` knows of the same ports. Returns the ports whose state was known and has changed.
  std::vector<PortIndex> update(const PortStates& later);
  /// Notes a port that is not as the sweep found it: its link runs at another rate, or it is port 0 of a switch with another LID. How it is
  /// now is known after the next sweep.
  void set_changed(PortIndex port) { changed_.insert(port); }
  const std::set<PortIndex>& changed() const { return changed_; }

 private:
  static constexpr std::uint8_t link_up = 5;
  std::vector<State> states_;
  std::set<PortIndex> changed_;
};

/// The port at the other end of the link of a port. None if there is no link: no peer in the model, or a poll of either end, later than the
/// sweep, found the link down.
PortIndex linked_peer(const subnet::Subnet& subnet, const PortStates& states, PortIndex port);

struct DeviceReading {
  enum class Outcome : std::uint8_t {
    unwanted,  ///< none of its ports has a link
    read,
    partly,  ///< of some of its ports
    silent,
    refused,
    moved,    ///< another device has its LID now: the counters are of that device, and are dropped
    unowned,  ///< no device says that the LID is its own: whose counters they are is not known, and they are dropped
  };
  Outcome outcome = Outcome::unwanted;
  bool lacks_details{};               ///< wanted details were not read
  std::optional<std::uint8_t> tick;   ///< PortSamplesControl.Tick: how long a tick of PortXmitWait is; absent if it is not known
  float seconds{};                    ///< from the first request to the last answer
  std::uint32_t first_row{}, rows{};  ///< in Reading::rows
};

/// Whether counters were wanted, and some or all of them not read.
inline bool has_failed(const DeviceReading& reading) {
  return reading.outcome != DeviceReading::Outcome::read && reading.outcome != DeviceReading::Outcome::unwanted;
}

/// What the checks of health found between two readings.
struct Findings {
  /// A check that was done, and how many findings it has of each level.
  struct Counts {
    std::string_view check;
    std::array<std::uint32_t, 3> counts{};  ///< by `levels`
  };
  /// A port or a node, as labels show it.
  struct End {
    Guid guid;  ///< of the device
    std::optional<unsigned> port;
    std::string_view name;
    auto operator<=>(const End&) const = default;
  };
  /// Something that is not as it should be.
  struct Row {
    std::string_view check, confidence;
    std::uint8_t level{};                   ///< in `levels`
    std::optional<End> end{}, other_end{};  ///< absent: not known, or there is none
    auto operator<=>(const Row&) const = default;
  };
  static constexpr std::array<std::string_view, 3> levels{"info", "warning", "error"};

  std::shared_ptr<const SweptFabric> fabric;  ///< of the ends, whose names it holds; may be older than the fabric of the reading

  std::vector<Counts> checks;
  std::vector<Row> list;              ///< the worst first; no two of them are the same
  std::vector<std::string> texts;     ///< of the first ones, for people: what was seen
  std::vector<std::string> remedies;  ///< of the same ones
  std::string verdict;                ///< the sentence with which `ibtool health` begins; with `needs_no_reading` the numbers of findings
  bool is_unknown{};                  ///< the verdict is that not everything was read
  bool needs_no_reading{};            ///< they explain why nothing was read: the own port is Down
};

/// The counters of a fabric in one round.
struct Reading {
  std::shared_ptr<const SweptFabric> fabric;
  std::vector<counters::CounterRow> rows;             ///< the rows of a device side by side, by port
  std::vector<DeviceReading> devices;                 ///< as in the fabric; only switches where HCAs are not read
  std::shared_ptr<const subnet::FecModes> fec_modes;  ///< null: they were not read
  subnet::Failures failures;                          ///< without their errors
  async::Time begun{};                                ///< when the round began
  WallTime time{};                                    ///< when the round ended
  std::chrono::nanoseconds took{};                    ///< for the round
};

/// The number of devices of which counters were read, of one port at least.
inline std::size_t read_count(const Reading& reading) {
  return static_cast<std::size_t>(std::ranges::count_if(reading.devices, [](const DeviceReading& device) { return device.rows != 0; }));
}

/// The registers of the physical layer, as the last reading of them found them.
struct PhyReading {
  phy::Table table;                 ///< by the ports of the fabric of the reading that is published
  phy::Table before;                ///< of the reading of registers before, by the same ports
  WallTime time{};                  ///< when it ended
  std::chrono::nanoseconds took{};  ///< for it
};

struct ExporterFacts {
  std::string version;
  std::uint64_t mads_sent{}, sweeps{}, failed_rounds{};
  bool is_last_round_lost{};                 ///< the sweep or the reading that was tried last failed altogether
  std::optional<WallTime> last_execution{};  ///< of a run that ends
};

/// The content of a page: complete, and all of one time.
struct View {
  std::shared_ptr<const Reading> reading;    ///< null: nothing was read, or it is too old
  std::shared_ptr<const PortStates> states;  ///< of the ports of the fabric of `reading`
  /// The subnet managers of that fabric, as they were polled last; null: they were not polled.
  std::shared_ptr<const subnet::SurveyedManagers> managers;
  std::shared_ptr<const std::vector<float>> waits;  ///< by row of `reading`: the share of time, 0 to 1, in which the port waited since the
                                                    ///< reading before; not a number where that is not known. Null: of no port
  std::shared_ptr<const PhyReading> phy;            ///< null: registers were not read, or too long ago
  std::shared_ptr<const Findings> findings;         ///< of `reading`, or of one shortly before; null: no check was done
  ExporterFacts exporter;

  /// The findings, unless their reading is not shown; else null.
  const Findings* shown_findings() const { return findings && (reading || findings->needs_no_reading) ? findings.get() : nullptr; }
};

// One reading of counters in progress: the ports to read, and the rows for the answers.

class CounterRound {
 public:
  /// `pmas` has what is known of PMAs already, and gets what is learnt. It must outlive this object.
  CounterRound(async::Loop& loop, std::shared_ptr<const SweptFabric> fabric, std::shared_ptr<const PortStates> states, bool hcas,
               bool details, counters::KnownPmas& pmas);
  CounterRound(const CounterRound&) = delete;
  CounterRound& operator=(const CounterRound&) = delete;

  /// The nodes that have something to read, each once.
  std::vector<NodeIndex> nodes() const;
  /// The port whose PMA is requested first of such a node.
  PortIndex first_port(NodeIndex node) const;
  /// Whether none of the devices of a node answered, according to `silent`.
  bool is_silent(NodeIndex node, const std::set<Guid>& silent) const;
  /// What counters::read_pmas() reads. This object must outlive it.
  counters::ReadingPlan plan();
  /// Notes that a node did not answer: its counters are not read.
  void take_silent(NodeIndex node);
  /// The devices of which counters were read so far.
  std::vector<Device> read_devices() const;
  /// Drops the rows of devices, by port, whose counters belong to other devices (Outcome::moved), or of which it is not known whose they
  /// are (Outcome::unowned).
  void drop(const std::set<PortIndex>& moved, const std::set<PortIndex>& unowned);
  /// The FEC modes of ports, by which PortExtendedSpeedsCounters is read with the details.
  void read_fec(std::shared_ptr<const subnet::FecModes> modes) { reading_->fec_modes = std::move(modes); }
  /// Notes PortSamplesControl.Tick of the devices that were read, by port.
  void take_ticks(const std::map<PortIndex, std::optional<std::uint8_t>>& ticks);
  void take(subnet::Failures failures);
  /// The reading, once all nodes have been taken. The caller sets its times.
  std::shared_ptr<Reading> take() { return std::move(reading_); }

 private:
  template <class Use>
  void each_device(NodeIndex node, Use use) const;
  std::vector<PortIndex> ports_of(NodeIndex node) const;
  void take(const counters::PmaNode& node);
  void take(DeviceReading& to, std::span<const counters::PmaReading> readings, async::Time begun);

  async::Loop& loop_;
  std::shared_ptr<const SweptFabric> fabric_;
  std::shared_ptr<const PortStates> states_;
  bool details_;
  counters::KnownPmas& pmas_;
  std::shared_ptr<Reading> reading_ = std::make_shared<Reading>();
  std::unordered_map<PortIndex, std::size_t> device_at_;  ///< in Reading::devices, by end port
};

}  // namespace ib::metrics
