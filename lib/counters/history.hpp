// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The last values of counters, and their change since then. A history outlives models: its key is the GUID of a node and the number of a
// port, so that a fabric may be swept anew between two readings.
//
//   CounterHistory history;
//   const std::optional<CounterGrowth> growth = history.take(key, pm::PortCounters::info(), time, bytes);
//   if (growth) … growth->change(field) …        // nothing the first time
//
// Each counter is compared with itself in the same attribute, never a field of PortCounters with a field of PortCountersExtended.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "async/clock.hpp"
#include "base/bytes.hpp"
#include "iba/struct_info.hpp"
#include "iba/types.hpp"
#include "subnet/model.hpp"

namespace ib::counters {

/// The change of a counter between two readings.
struct CounterChange {
  enum class Kind : std::uint8_t {
    unknown,      ///< not known in one of the readings, or of different widths
    counted,      ///< `delta` is exact, also after a wrap at 64 bits
    saturated,    ///< at the greatest value of its field: it has counted `delta` or more. Nothing is known if it was there before
    reset,        ///< the value went down: the counter was cleared in between, or the node restarted
    implausible,  ///< it has counted more than its link can carry
  };
  Kind kind{};
  std::optional<std::uint64_t> delta;  ///< in the unit of the counter; absent if not known
};

/// The change of a counter of `bits` bits from `before` to `now`. Counters of 64 bits wrap; others stop at the greatest value of their
/// field (IBA 16.1.3.5). A counter of 64 bits that seems to have grown by half of its range or more has gone below zero, which happens on
/// some adapters.
CounterChange change_of(std::uint64_t before, std::uint64_t now, unsigned bits);
/// The change of the counter in `field`, read `seconds` apart at a port that can carry `octets_per_second` in one direction. A greater
/// change is implausible. If `seconds` or `octets_per_second` is absent, this is not checked.
CounterChange change_of(std::uint64_t before, std::uint64_t now, const FieldInfo& field, std::optional<double> seconds,
                        std::optional<double> octets_per_second);

/// Whether the counters of a port, taken together, began anew: all that had counted something were cleared, or the node restarted. A
/// restart may itself count a few errors, so that a small counter that was not reset does not speak against it.
class NewBeginning {
 public:
  /// A counter that held `before`, and its change.
  void add(std::uint64_t before, const CounterChange& change) {
    constexpr std::uint64_t counted_by_a_restart = 3;
    if (before == 0) return;
    if (change.kind == CounterChange::Kind::reset) {
      any_reset_ = true;
    } else if (before > counted_by_a_restart) {
      any_kept_ = true;
    }
  }
  bool found() const { return any_reset_ && !any_kept_; }

 private:
  bool any_reset_{}, any_kept_{};
};

/// The seconds from `before` to `now`. Absent if no time has passed.
std::optional<double> seconds_between(async::Time before, async::Time now);

/// The content of one attribute of counters of a port at one time.
struct CounterSample {
  const StructInfo* attribute{};
  async::Time time{};
  std::vector<std::uint8_t> bytes;  ///< of the size of the attribute; never empty
};

/// Two readings of one attribute of a port.
struct CounterGrowth {
  CounterSample before, now;
  std::optional<double> seconds;            ///< between them
  std::optional<double> octets_per_second;  ///< what the link can carry in one direction; absent: nothing is implausible

  /// The change of the counter in `field`, of an array in element `index`.
  CounterChange change(const FieldInfo& field, std::uint32_t index = 0) const;
  /// Whether the counters of the attribute began anew: see NewBeginning.
  bool began_anew() const;
};

/// The owner of counters: a node and a PortSelect.
struct CounterKey {
  Guid node;
  std::uint8_t twin{};  ///< how many nodes of the model before this one claim the same GUID; not_kept: too many
  static constexpr std::uint8_t not_kept = 255;
  std::uint8_t port{};  ///< PortSelect: the number of a port, or subnet::all_ports
  auto operator<=>(const CounterKey&) const = default;
};

/// The key of a node of a model and a PortSelect.
CounterKey counter_key(const subnet::Subnet& subnet, subnet::NodeIndex node, std::uint8_t select);

/// The greatest number of octets a second that the link of a port can carry in one direction, at the best rate of both ends. Of a
/// port without a link, which may have had one a moment ago: at the best rate of the port. Absent if it is not known.
std::optional<double> octets_per_second(const subnet::Subnet& subnet, subnet::PortIndex port);

/// The last readings of many ports.
class CounterHistory {
 public:
  /// Keeps a reading in the place of the one before, and returns both. Nothing if it is the first one of this attribute of this port, or
  /// if too many nodes claim its GUID. `octets_per_second` as in CounterGrowth. Does not throw on times that go back: such a growth has no
  /// seconds.
  std::optional<CounterGrowth> take(const CounterKey& key, const StructInfo& attribute, async::Time time, Bytes bytes,
                                    std::optional<double> octets_per_second = {});
  /// The last reading; null if there was none.
  const CounterSample* last(const CounterKey& key, const StructInfo& attribute) const;
  /// Forgets nodes that `subnet`, which was swept anew, does not hold. Also forgets nodes of which several claim one GUID, because their
  /// order may have changed.
  void keep_nodes_of(const subnet::Subnet& subnet);
  /// Forgets what a port held, for instance because it was reset on purpose.
  void forget(const CounterKey& key) { samples_.erase(key); }
  std::size_t size() const { return samples_.size(); }  ///< of ports

 private:
  struct Hash {
    std::size_t operator()(const CounterKey& key) const {
      constexpr std::uint64_t odd = 0x9e3779b97f4a7c15;  // spreads GUIDs that differ in low bits
      // The top 16 bits of a GUID are of its vendor's OUI: there a port of one node takes no number of another node of that vendor.
      return static_cast<std::size_t>((key.node.value ^ std::uint64_t{key.port} << 56U ^ std::uint64_t{key.twin} << 48U) * odd);
    }
  };
  std::unordered_map<CounterKey, std::vector<CounterSample>, Hash> samples_;  ///< each attribute once
};

}  // namespace ib::counters
