// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The families of metrics as data: the name, the type, the items that have samples, and the function that writes the samples of one item.
// The families of treydock's infiniband_exporter and of guilbaults' infiniband-exporter have exactly the names and labels of these, so that
// dashboards continue to work. Our own families are added to either.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/exposition.hpp"
#include "metrics/fabric.hpp"
#include "report/sink.hpp"

namespace ib::metrics {

/// The exporter whose names are used.
enum class Names : std::uint8_t { treydock, guilbaults };

/// What an exporter exports, for as long as it runs.
struct Exported {
  Names names = Names::treydock;
  bool hcas{};      ///< HCAs too
  bool details{};   ///< PortRcvErrorDetails and PortXmitDiscardDetails too
  bool phy{};       ///< the physical layer too
  bool run_once{};  ///< a run that ends: collectors are called "switch-runonce", …
};

/// What a request may select: a family that has one of these bits.
enum Selection : std::uint8_t {
  select_switch = 1U << 0,  ///< all of switches
  select_hca = 1U << 1,     ///< all of HCAs
  select_errors = 1U << 2,  ///< counters of errors
  select_data = 1U << 3,    ///< counters of data and packets
  select_all = 0xf,
};

/// The items of which a family has samples: the exporter, which is one item, the devices of a view, or its findings. Families of
/// `known_switches` and `known_hcas` also have samples of devices that are gone; the kind of these items is gone_switches or gone_hcas.
enum class Items : std::uint8_t {
  exporter,
  switches,
  hcas,
  switches_and_hcas,
  known_switches,
  known_hcas,
  gone_switches,
  gone_hcas,
  findings
};

/// A device or a finding of a view.
struct Item {
  Items kind{};  ///< switches, hcas, gone_switches, gone_hcas or findings; or exporter
  std::size_t at{};
};

/// Times as Prometheus has them: in seconds.
inline double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }
inline double seconds(WallTime time) { return seconds(time.time_since_epoch()); }

struct ItemWriter;
/// Writes the samples of one item.
using WriteItem = void (*)(const ItemWriter& to);

struct Family {
  std::string name, help;
  Type type{};
  Items items{};
  std::uint8_t selected_by{};  ///< Selection; 0: in each page
  WriteItem write{};
  std::size_t column{};  ///< of counters: which
  /// Says what a snapshot does not hold: how the reading of a device went, what was between two readings, or what is read with the FEC
  /// modes. So does every family of Items::exporter.
  bool is_live{};
  std::string_view unit{};  ///< see FamilyHead
  FamilyHead head() const { return {name, type, help, unit}; }
};

/// A family as a column over items: from it come the name, HELP, TYPE and UNIT.
struct FamilyColumn {
  std::string_view key;     ///< the name behind what all families of these items begin with; that of a counter gets "_total"
  report::Measure measure;  ///< a counter or a gauge, and its unit
  std::string_view meaning;
  WriteItem write{};
};
/// What the families of some columns have in common.
struct FamilyGroup {
  std::string prefix;
  Items items{};
  std::uint8_t selected_by{};
  bool is_live{};
};
/// A column as a family.
Family family_of(const FamilyGroup& group, const FamilyColumn& column);
void add_families(std::vector<Family>& to, const FamilyGroup& group, std::span<const FamilyColumn> columns);
/// The family of a counter of counters::columns. Its key and `write` are those of an exporter.
Family counter_family(const FamilyGroup& group, std::string_view key, std::size_t column, WriteItem write);

/// All families of a page, in their order.
std::vector<Family> families(const Exported& exported);

/// The parts of families().
void add_treydock_families(std::vector<Family>& to, const Exported& exported);
void add_guilbaults_families(std::vector<Family>& to, const Exported& exported);
void add_own_families(std::vector<Family>& to, const Exported& exported);
void add_phy_families(std::vector<Family>& to, const Exported& exported);

/// How many items a family has.
std::size_t count(const View& view, Items items);
/// The item of that number.
Item item_of(const View& view, Items items, std::size_t number);
/// The GUID that `guid` stands for in metrics: of a switch the one in its NodeInfo, of another node's port Subnet::port_guid(), which falls
/// back to that of another port of its node: no series has an empty label.
Guid device_guid(const subnet::Subnet& subnet, subnet::PortIndex port);

/// One item of a family, and where its samples go. A view that has devices has a reading.
struct ItemWriter {
  const View& view;
  const Exported& exported;
  const Family& family;
  Item item;
  Exposition& out;

  const SweptFabric& fabric() const { return *view.reading->fabric; }
  bool is_switch() const { return item.kind == Items::switches || item.kind == Items::gone_switches; }
  bool is_gone() const { return item.kind == Items::gone_switches || item.kind == Items::gone_hcas; }
  /// The GUID of a device, also of one that is gone; of a finding that of the device at its first end.
  Guid guid() const;
  /// A device that is gone.
  const GoneDevice& gone_device() const { return (is_switch() ? fabric().gone_switches : fabric().gone_hcas)[item.at]; }
  const Device& device() const { return (is_switch() ? fabric().switches : fabric().hcas)[item.at]; }
  /// How a device was read; null: its counters are not wanted.
  const DeviceReading* reading() const;
  /// Begins a sample with the labels `guid` and `port` of a port of the device.
  Sample port_sample(subnet::PortIndex port) const;
  /// The port at the other end of the link of a port, or none.
  subnet::PortIndex linked_peer(subnet::PortIndex port) const { return metrics::linked_peer(fabric().subnet, *view.states, port); }
  /// Whether a link still runs at the rate that the sweep found.
  bool has_swept_rate(subnet::PortIndex port, subnet::PortIndex peer) const {
    return !view.states->has_other_rate(port) && !view.states->has_other_rate(peer);
  }

  /// Calls `use` with each port of a device that has a link, and its peer: those of a switch, or the one of an HCA.
  template <class Use>
  void each_linked_port(Use use) const {
    const subnet::PortIndex first = device().port + (is_switch() ? 1 : 0);
    const subnet::PortIndex last = device().port + (is_switch() ? fabric().subnet.node(device().node).slots : 1);
    for (subnet::PortIndex port = first; port < last; ++port) {
      if (const subnet::PortIndex peer = linked_peer(port); peer != subnet::none) use(port, peer);
    }
  }
  /// Calls `use` with each row of a device whose port has a link, and its peer.
  template <class Use>
  void each_linked_row(Use use) const {
    const DeviceReading* of = reading();
    if (of == nullptr) return;
    for (std::uint32_t at = of->first_row; at < of->first_row + of->rows; ++at) {
      const counters::CounterRow& row = view.reading->rows[at];
      if (const subnet::PortIndex peer = linked_peer(row.port); peer != subnet::none) use(row, peer);
    }
  }
};

// Functions of several families.
/// Writes the counter Family::column of each linked port by the GUID of its device; words of 32 bits as bytes.
void write_port_counter(const ItemWriter& to);
/// Writes the time that the last reading took.
void write_reading_duration(const ItemWriter& to);

}  // namespace ib::metrics
