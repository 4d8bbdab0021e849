// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// All counters of a port together: PortCounters and PortCountersExtended (IBA 16.1.3.5, 16.1.4.11). Each counter comes from the
// attribute with its widest field, as far as the ClassPortInfo of the PMA says that the PMA supports the counter. The names and
// widths of the counters come from iba-defs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "iba-gen/mad.hpp"
#include "iba-gen/smp.hpp"
#include "iba/struct_info.hpp"
#include "mad/transactor.hpp"

namespace ib::counters {

/// A counter with its name in iba-defs and its fields.
struct CounterInfo {
  std::string_view name;      ///< `port_xmit_data`, …
  std::size_t column{};       ///< in a CounterRow (counters/row.hpp)
  const FieldInfo* narrow{};  ///< field in PortCounters; null if there is none
  const FieldInfo* wide{};    ///< field in PortCountersExtended; null if there is none
  std::uint16_t needs{};      ///< bit of the PMA's CapabilityMask that the counter needs; 0 for none
  bool additional{};          ///< `wide` needs CapabilityMask2.IsAdditionalPortCountersExtendedSupported
  bool ietf{};                ///< `wide` needs CapabilityMask.IsExtendedWidthSupported: counters of unicast and multicast packets
  unsigned octets{};          ///< octets of data per count (IBA 16.1.3.5: 4); 0 if the counter does not count data
  bool traffic{};             ///< counts data or packets without errors; other counters are for errors and waiting
  /// The counter's bits in the reset masks of PortCounters and PortCountersExtended (see readings.hpp); 0 if it has none.
  std::uint64_t narrow_reset{}, wide_reset{};

  const FieldInfo& field() const { return wide != nullptr ? *wide : *narrow; }
};

/// Selects counters, for example those to clear.
using CounterChoice = std::function<bool(const CounterInfo&)>;

/// Finds a counter by its name in the IBA (`portXmitDiscards`), libibmad (`PortXmitDiscards`), perfquery (`XmtDiscards`) or
/// iba-defs (`port_xmit_discards`), without regard to case. Null if there is none.
const CounterInfo* find_counter(std::string_view name);

/// All counters: first the counters of PortCounters in their order, then what only PortCountersExtended has.
std::span<const CounterInfo> counter_infos();

const StructInfo& extended_speeds_layout(smp::FecMode mode);

/// Whether a field of an attribute of counters selects what is counted, read or reset. Such a field is not a counter itself.
bool is_selector(const FieldInfo& field);

/// The capabilities that a PMA reports.
struct PmaSupport {
  std::uint16_t capability_mask{};   ///< pm::capability_mask
  std::uint32_t capability_mask2{};  ///< pm::capability_mask2
  bool extended() const;
  /// Whether PortCountersExtended has its additional part, which counts errors.
  bool additional() const;
  /// Whether PortSelect 255 reads or clears all ports of the PMA together (IBA 16.1.3.1: AllPortSelect).
  bool all_port_select() const;
  /// Whether the PMA counts `counter` in PortCounters, and in PortCountersExtended.
  bool narrow(const CounterInfo& counter) const;
  bool wide(const CounterInfo& counter) const;
};

async::Task<mad::Result<PmaSupport>> read_pma_support(mad::Transactor& transactor, path::Path pma);

}  // namespace ib::counters
