// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The families of metrics as data: the name, the type, the items that have samples, and the function that writes the samples of one item.
// The families of treydock's infiniband_exporter and of guilbaults' infiniband-exporter have exactly the names and labels of these, so that
// dashboards continue to work. Our own families are added to either.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "metrics/exposition.hpp"
#include "metrics/fabric.hpp"

namespace ib::metrics {

/// The exporter whose names are used.
enum class Names : std::uint8_t { treydock, guilbaults };

/// What an exporter exports, for as long as it runs.
struct Exported {
  Names names = Names::treydock;
  bool hcas{};      ///< HCAs too
  bool details{};   ///< PortRcvErrorDetails and PortXmitDiscardDetails too
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

struct Family;
/// Writes the samples of one item.
using WriteItem = void (*)(const View& view, const Exported& exported, const Family& family, Item item, Exposition& out);

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
  FamilyHead head() const { return {name, type, help}; }
};

/// All families of a page, in their order.
std::vector<Family> families(const Exported& exported);

/// The parts of families().
void add_treydock_families(std::vector<Family>& to, const Exported& exported);
void add_guilbaults_families(std::vector<Family>& to, const Exported& exported);
void add_own_families(std::vector<Family>& to, const Exported& exported);

// Helpers of several families. A view that has devices has a reading.

/// How many items a family has.
std::size_t count(const View& view, Items items);
/// The item of that number.
Item item_of(const View& view, Items items, std::size_t number);
/// The GUID of a device, also of one that is gone; of a finding that of the device at its first end.
Guid guid_of(const View& view, Item item);
/// A device that is gone.
const GoneDevice& gone_device(const View& view, Item item);
const Device& device(const View& view, Item item);
/// How a device was read; null: its counters are not wanted.
const DeviceReading* reading(const View& view, Item item);
/// The port at the other end of the link of a port, or none.
subnet::PortIndex linked_peer(const View& view, subnet::PortIndex port);
/// The GUID that `guid` stands for in metrics: of a switch the one in its NodeInfo, of another node's port Subnet::port_guid(), which falls
/// back to that of another port of its node: no series has an empty label.
Guid device_guid(const subnet::Subnet& subnet, subnet::PortIndex port);

/// Calls `use` with each port of a device that has a link, and its peer: those of a switch, or the one of an HCA.
template <class Use>
void each_linked_port(const View& view, Item item, Use use) {
  const subnet::Subnet& subnet = view.reading->fabric->subnet;
  const Device& of = device(view, item);
  const bool is_switch = item.kind == Items::switches;
  const subnet::PortIndex first = is_switch ? of.port + 1 : of.port;
  const subnet::PortIndex last = is_switch ? of.port + subnet.node(of.node).slots : of.port + 1;
  for (subnet::PortIndex port = first; port < last; ++port) {
    if (const subnet::PortIndex peer = linked_peer(view, port); peer != subnet::none) use(port, peer);
  }
}

/// Calls `use` with each row of a device whose port has a link, and its peer.
template <class Use>
void each_linked_row(const View& view, Item item, Use use) {
  const DeviceReading* of = reading(view, item);
  if (of == nullptr) return;
  for (std::uint32_t at = of->first_row; at < of->first_row + of->rows; ++at) {
    const PortRow& row = view.reading->rows[at];
    if (const subnet::PortIndex peer = linked_peer(view, row.port); peer != subnet::none) use(row, peer);
  }
}

}  // namespace ib::metrics
