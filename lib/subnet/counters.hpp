// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// All counters of a port in one: PortCounters and PortCountersExtended (IBA 16.1.3.5, 16.1.4.11), each counter from where it is widest,
// as far as the ClassPortInfo of the PMA says that it counts. Which counters there are, and how wide, comes from iba-defs.
// And what happened between two readings.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "iba-gen/mad.hpp"
#include "subnet/survey.hpp"

namespace ib::subnet {

/// A counter by its name in iba-defs, and its fields.
struct CounterInfo {
  std::string_view name;      ///< `port_xmit_data`, …
  const FieldInfo* narrow{};  ///< in PortCounters; null where it has none
  const FieldInfo* wide{};    ///< in PortCountersExtended; null where it has none
  std::uint16_t needs{};      ///< a bit of the PMA's CapabilityMask without which nobody counts this; 0 for none
  bool additional{};          ///< `wide` needs CapabilityMask2.IsAdditionalPortCountersExtendedSupported
  bool ietf{};                ///< `wide` needs CapabilityMask.IsExtendedWidthSupported: counts of unicast and multicast
  unsigned octets{};          ///< of data that one count stands for (IBA 16.1.3.5: 4); 0 where it counts something else
  bool traffic{};             ///< it counts data or packets that went well; the others tell of errors and of waiting
  /// Its bit in the reset mask of PortCounters and of PortCountersExtended (see counter_clears.hpp); 0 where it is in none.
  std::uint64_t narrow_reset{}, wide_reset{};
};

/// All of them, in the order of PortCounters; then those that only PortCountersExtended has.
std::span<const CounterInfo> counter_infos();

/// What a PMA says that it can.
struct PmaSupport {
  std::uint16_t capability_mask{};   ///< pm::capability_mask
  std::uint32_t capability_mask2{};  ///< pm::capability_mask2
  /// Whether PortCountersExtended exists.
  bool extended() const;
  /// Whether it counts `counter` in PortCounters, and in PortCountersExtended.
  bool narrow(const CounterInfo& counter) const;
  bool wide(const CounterInfo& counter) const;
};

struct CounterValue {
  std::uint64_t value{};
  std::uint8_t bits{};  ///< of the field that it comes from; 0: not known
  bool known() const { return bits != 0; }
  /// It stopped at the greatest value that its field holds; the true count is that or more. Counters of 64 bits wrap instead.
  bool saturated() const { return known() && bits < 64 && value == (std::uint64_t{1} << bits) - 1; }
  bool operator==(const CounterValue&) const = default;
};

/// One reading of the counters of a port, in the order of counter_infos().
struct CounterReading {
  std::vector<CounterValue> values;
  /// By name; throws std::invalid_argument for a name that is no counter's.
  const CounterValue& operator[](std::string_view name) const;
};

/// Merges the attributes of a port; either may be empty where it was not read.
CounterReading merge_counters(const PmaSupport& support, Bytes port_counters, Bytes port_counters_extended);

/// Asks a PMA for its ClassPortInfo.
async::Task<mad::Result<PmaSupport>> read_pma_support(mad::Transactor& transactor, path::Path pma);

/// Asks a PMA for the counters of its port `number`, by the fewest MADs that give all it counts: one or two.
async::Task<mad::Result<CounterReading>> read_counters(mad::Transactor& transactor, path::Path pma, std::uint8_t number,
                                                       PmaSupport support);

/// The counters of many ports. Each PMA is asked for its ClassPortInfo once. `options.way` is gmp.
async::Task<Surveyed<CounterReading>> survey_counters(mad::Transactor& transactor, const Subnet& subnet, std::vector<PortIndex> ports,
                                                      SurveyOptions options);

/// What became of a counter between two readings.
struct CounterChange {
  enum class Kind : std::uint8_t {
    unknown,    ///< it is not known in one of them, or the PMA kept it in another width
    counted,    ///< `delta` is exact; one that wrapped at 64 bits counts on
    saturated,  ///< it stands at the greatest value that it holds: it counted so much or more
    reset,      ///< it went down: it was cleared in between
  };
  Kind kind{};
  std::optional<std::uint64_t> delta;  ///< in the unit of the counter; null where it is not known
  std::optional<double> rate;          ///< per second: octets of data, else in the unit of the counter; null where it is not known
};

/// `after` against `before`, in the order of counter_infos(). Without a time > 0 between them there are no rates.
std::vector<CounterChange> difference(const CounterReading& before, const CounterReading& after, double seconds);

}  // namespace ib::subnet
