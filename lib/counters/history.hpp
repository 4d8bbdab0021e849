// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What is kept from one reading to the next: the last row of each port, and what PMAs can do. It outlives models: its key is the GUID of a
// node and the number of a port, so that a fabric may be swept again between two readings.
//
//   CounterHistory history;
//   const std::optional<CounterRow> before = history.take(key, reading.row);    // nothing the first time
//   … RowDifference(before ? &*before : nullptr, reading.row, octets_per_second) …
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "counters/row.hpp"
#include "iba/types.hpp"
#include "subnet/model/model.hpp"

namespace ib::counters {

/// The owner of counters: a node and a PortSelect.
struct CounterKey {
  Guid node;
  std::uint8_t twin{};  ///< how many nodes of the model before this one claim the same GUID; not_kept: too many
  static constexpr std::uint8_t not_kept = 255;
  std::uint8_t port{};  ///< PortSelect: the number of a port, or subnet::all_ports
  auto operator<=>(const CounterKey&) const = default;
};

struct CounterKeyHash {
  std::size_t operator()(const CounterKey& key) const {
    constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // spreads GUIDs that differ in low bits
    // The top 16 bits of a GUID are of its vendor's OUI: there a port of one node takes no number of another node of that vendor.
    return static_cast<std::size_t>((key.node.value ^ std::uint64_t{key.port} << 56U ^ std::uint64_t{key.twin} << 48U) * odd);
  }
};

CounterKey counter_key(const subnet::Subnet& subnet, subnet::NodeIndex node, std::uint8_t select);

class CounterHistory {
 public:
  /// Keeps a row in the place of the one before, which it returns. Nothing if it is the first one of this port, or if too many nodes claim
  /// its GUID. Details that were not read are taken from the row before, if their sum has not moved since.
  std::optional<CounterRow> take(const CounterKey& key, const CounterRow& row);
  /// The last row; null if there was none.
  const CounterRow* last(const CounterKey& key) const;
  /// Forgets nodes that `subnet`, which was swept again, does not hold. Also forgets nodes of which several claim one GUID, because their
  /// order may have changed.
  void keep_nodes_of(const subnet::Subnet& subnet);
  std::size_t size() const { return rows_.size(); }  ///< of ports

 private:
  std::unordered_map<CounterKey, CounterRow, CounterKeyHash> rows_;
};

/// The capabilities of the PMAs of nodes that are read again.
class KnownPmas {
 public:
  std::optional<PmaSupport> find(const subnet::Subnet& subnet, subnet::NodeIndex node) const;
  void add(const subnet::Subnet& subnet, subnet::NodeIndex node, const PmaSupport& support);
  /// As CounterHistory::keep_nodes_of().
  void keep_nodes_of(const subnet::Subnet& subnet);

 private:
  std::unordered_map<CounterKey, PmaSupport, CounterKeyHash> supports_;  ///< PortSelect 0
};

}  // namespace ib::counters
