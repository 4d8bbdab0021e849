// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// What a port has counted between two rows. Only this file knows that counters wrap at 64 bits, stop at the greatest value of narrower
// fields, are cleared, go down below zero on some adapters, and cannot count more than the link carries in the time between the readings.
//
//   const RowDifference difference(before, now, octets_per_second(subnet, now.port));
//   … difference.change(column_of("port_xmit_data")).delta …    // one counter
//   … difference.errors().find("symbol_error_counter") …        // what is notable of all counters of errors
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "async/clock.hpp"
#include "base/error.hpp"
#include "counters/row.hpp"
#include "iba/struct_info.hpp"
#include "subnet/model/model.hpp"
#include "subnet/model/rate.hpp"

namespace ib::counters {

/// The change of a counter between two readings.
struct CounterChange {
  enum class Kind : std::uint8_t {
    unknown,      ///< not known in one of the readings, or of different widths
    counted,      ///< `delta` is exact, also after a wrap at 64 bits
    saturated,    ///< at the greatest value of its field: it has counted `delta` or more. Nothing is known if it was there before
    reset,        ///< the value went down: the counter was cleared in between, or the node restarted
    implausible,  ///< it has counted more than its link can carry, or it is below zero
  };
  Kind kind{};
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
std::optional<double> octets_per_second(const subnet::Subnet& subnet, subnet::PortIndex port);

/// The share of `seconds`, 0 to 1, in which a port had data to send and sent none: PortXmitWait (IBA 16.1.3.5) grew by `waited` ticks, and
/// its PMA reports `tick` in PortSamplesControl (IBA 16.1.3.2). Absent if the rate of the link is not known, or no time has passed.
///
/// A tick of n is n + 1 symbol times: as many octets of one lane. NVIDIA's switches from Quantum on have a tick of 7 and count octets of
/// the whole port; a tick of 7 is read so.
std::optional<double> waiting_share(std::uint64_t waited, std::uint8_t tick, double seconds, const subnet::LinkRate& rate);

/// The changes of counters of one port, or of all ports of a node together. Most counters of errors of a good fabric stand still, and are
/// not kept.
struct PortChanges {
  subnet::PortIndex port = subnet::none;
  std::optional<double> seconds{};  ///< between the readings that are compared; absent with one reading
  bool began_anew{};                ///< all counters that had counted something began again: it restarted, or all were cleared
  bool has_discard_details{};       ///< PortXmitDiscardDetails was read
  bool lacks_discard_details{};     ///< a counter of PortXmitDiscardDetails is full, or its change is not known
  bool all_ports{};                 ///< of all ports of the node together
  std::vector<CounterChange> changes{};
  std::shared_ptr<const Error> failure{};  ///< the reason why the counters are not known; null if they are

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
  /// The seconds between the two readings of errors; absent if not known.
  std::optional<double> error_seconds() const { return error_seconds_; }
  /// Whether the counters of the port, taken together, started again: all that had counted something were cleared, or the node restarted.
  bool began_anew() const;
  PortChanges errors() const;
  /// The changes of the counters of data and packets, as far as they are known.
  PortChanges traffic() const;

 private:
  std::optional<std::uint64_t> before(std::size_t column) const;
  void add_details(PortChanges& to, Source source, std::string_view sum) const;

  const CounterRow* before_;
  const CounterRow& now_;
  std::optional<double> octets_per_second_, error_seconds_, traffic_seconds_;
};

}  // namespace ib::counters
