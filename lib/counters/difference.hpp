// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a port has counted between two rows. Only this file knows that counters wrap at 64 bits, stop at the greatest value of narrower
// fields, are cleared, go down below zero on some adapters, and cannot count more than the link carries in the time between the readings.
//
//   const RowDifference difference(before, now, octets_per_second(subnet, now.port));
//   … difference.change(column_of("port_xmit_data")).delta …    // one counter
//   … difference.errors().find("symbol_error_counter") …        // what is notable of all counters of errors
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "async/clock.hpp"
#include "counters/row.hpp"
#include "iba/struct_info.hpp"
#include "iba/types.hpp"
#include "report/sink.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/rate.hpp"

namespace ib::counters {

/// What became of a counter between two readings.
enum class ChangeKind : std::uint8_t {
  unknown,      ///< not known in one of the readings, or of different widths
  counted,      ///< CounterChange::delta is exact, also after a wrap at 64 bits
  saturated,    ///< at the greatest value of its field: it has counted `delta` or more. Nothing is known if it was there before
  reset,        ///< the value went down: the counter was cleared in between, or the node restarted
  implausible,  ///< it has counted more than its link can carry, or it is below zero
};

struct CounterChange {
  ChangeKind kind{};
  std::optional<std::uint64_t> delta{};  ///< in the unit of the counter; absent if not known

  // Of a change between rows:
  const FieldInfo* counter{};             ///< CounterRow::named_field()
  std::optional<std::uint64_t> before{};  ///< absent if it was not read before
  std::uint64_t now{};
  bool is_full{};                      ///< of Source::counters: CounterRow::is_full(), also with one reading
  std::optional<double> per_second{};  ///< `delta` by the seconds between the readings; absent if not known

  /// Adds the same counter of another port. What is unknown of one port is unknown of the sum, which is saturated, reset or implausible if
  /// it is so of one of them.
  void add(const CounterChange& other);
};

/// The change of a counter of `bits` bits from `before` to `now`. Counters of 64 bits wrap; others stop at the greatest value of their
/// field (IBA 16.1.3.5). A counter of 64 bits in the upper half of its range that did not grow has gone below zero, which happens on some
/// adapters, and may sink there.
CounterChange change_of(std::uint64_t before, std::uint64_t now, unsigned bits);
/// The change of the counter in `field`, read `seconds` apart at a port that can carry `octets_per_second` in one direction. A greater
/// change is implausible, and so is a counter that was cleared in between and holds more. If `seconds` or `octets_per_second` is absent,
/// this is not checked.
CounterChange change_of(std::uint64_t before, std::uint64_t now, const FieldInfo& field, std::optional<double> seconds,
                        std::optional<double> octets_per_second);

/// The seconds from `before` to `now`. Absent if no time has passed.
std::optional<double> seconds_between(async::Time before, async::Time now);

/// The greatest number of octets a second that the link of a port can carry in one direction, at the best rate of both ends. Of a
/// port without a link, which may have had one a moment ago: at the best rate of the port. Absent if it is not known.
std::optional<double> octets_per_second(const subnet::Subnet& subnet, PortIndex port);

/// The share of `seconds`, 0 to 1, in which a port had data to send and sent none: PortXmitWait (IBA 16.1.3.5) grew by `waited` ticks, and
/// its PMA reports `tick` in PortSamplesControl (IBA 16.1.3.2). Absent if the rate of the link is not known, or no time has passed.
///
/// A tick of n is n + 1 symbol times: as many octets of one lane. NVIDIA's switches from Quantum on have a tick of 7 and count octets of
/// the whole port; a tick of 7 is read so.
std::optional<double> waiting_share(std::uint64_t waited, std::uint8_t tick, double seconds, const subnet::LinkRate& rate);

/// The changes of counters of one port. Most counters of errors of a good fabric stand still, and are
/// not kept.
struct PortChanges {
  PortIndex port = subnet::none;
  std::optional<double> seconds{};  ///< between the readings that are compared; absent with one reading
  bool began_anew{};                ///< all counters that had counted something began again: it restarted, or all were cleared
  bool has_discard_details{};       ///< PortXmitDiscardDetails was read
  bool lacks_discard_details{};     ///< a counter of PortXmitDiscardDetails is full, or its change is not known
  std::vector<CounterChange> changes{};

  /// The change of a counter by its name in iba-defs; null if it stands still, or if its change is not known.
  const CounterChange* find(std::string_view counter) const;
  /// What a counter has counted; 0 where it stands still, or where that is not known.
  std::uint64_t delta(std::string_view counter) const;
};

/// Two rows of one port. Each column is compared with itself from the same attribute.
class RowDifference {
 public:
  /// `before` is null if the port was not read before. Both rows must outlive this object. `octets_per_second` as in change_of().
  RowDifference(const CounterRow* before, const CounterRow& now, std::optional<double> octets_per_second);

  CounterChange change(std::size_t column) const;
  std::optional<double> error_seconds() const { return error_seconds_; }
  /// Whether the counters of the port, taken together, started again: all that had counted something were cleared, or the node restarted.
  bool began_anew() const;
  PortChanges errors() const;
  PortChanges traffic() const;

 private:
  std::optional<std::uint64_t> before(std::size_t column) const;
  void add_details(PortChanges& to, Source source, std::string_view sum) const;

  const CounterRow* before_;
  const CounterRow& now_;
  std::optional<double> octets_per_second_, error_seconds_, traffic_seconds_;
};

/// Members that only some lists of counters have.
struct GrowthMembers {
  bool has_index{};
  std::optional<std::uint32_t> index{};      ///< of an element of an array; absent: the counter is none
  std::optional<std::uint64_t> threshold{};  ///< what the counter exceeds; absent: it is not a member
};

/// Writes an element of an array: `counter`, `count`, `change`, `delta`, `per_second`, and what `members` says.
void visit_growth(report::Sink& sink, const CounterChange& change, const GrowthMembers& members = {});

/// The line of a counter, whose name `label` has its dots already: "PortXmitData:....123      (+ 4.000/s)".
std::string growth_line(std::string_view label, const CounterChange& change);
/// " [PortXmitData + 123 (4.000/s)]"; " [PortXmitData reset]" if it was reset, and the like. Nothing if the counter did not grow.
std::string growth_words(std::string_view label, const CounterChange& change);

// What is kept from one reading to the next: the last row of each port, and what PMAs can do. It outlives models: its key is the GUID of a
// node and the number of a port, so that a fabric may be swept again between two readings.
//
//   CounterHistory history;
//   const std::optional<CounterRow> before = history.take(key, reading.row);    // nothing the first time
//   … RowDifference(before ? &*before : nullptr, reading.row, octets_per_second) …

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

CounterKey counter_key(const subnet::Subnet& subnet, NodeIndex node, std::uint8_t select);

class CounterHistory {
 public:
  /// Keeps a row in the place of the one before, which it returns. Nothing if it is the first one of this port, or if too many nodes claim
  /// its GUID. Details that were not read are taken from the row before, if their sum has not moved since.
  std::optional<CounterRow> take(const CounterKey& key, const CounterRow& row);
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
  std::optional<PmaSupport> find(const subnet::Subnet& subnet, NodeIndex node) const;
  void add(const subnet::Subnet& subnet, NodeIndex node, const PmaSupport& support);
  void keep_nodes_of(const subnet::Subnet& subnet);

 private:
  std::unordered_map<CounterKey, PmaSupport, CounterKeyHash> supports_;  ///< PortSelect 0
};

}  // namespace ib::counters
