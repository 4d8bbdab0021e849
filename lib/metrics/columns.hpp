// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The counters of a port that an exporter reads, in flat rows: their fields, their names in the two exporters whose names are used here,
// and their units. This is the only list of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "counters/readings.hpp"

namespace ib::metrics {

/// The attributes that hold a counter.
enum class Source : std::uint8_t {
  counters,         ///< PortCounters and PortCountersExtended
  error_details,    ///< PortRcvErrorDetails
  discard_details,  ///< PortXmitDiscardDetails
};

/// A counter of a port.
struct Column {
  std::string_view field;  ///< its name in iba-defs
  Source source{};
  bool is_traffic{};            ///< counts data or packets, not errors
  bool is_data{};               ///< counts words of 32 bits, which treydock's exporter shows as bytes
  std::string_view treydock;    ///< "transmit_data_bytes", of "infiniband_switch_port_transmit_data_bytes_total"; empty: it has none
  std::string_view guilbaults;  ///< "portxmitdata", of "infiniband_portxmitdata_total"; empty: it has none
  std::string_view help;
};

/// All columns: first those of Source::counters.
std::span<const Column> columns();

inline constexpr std::size_t counter_columns = 22;  ///< of Source::counters
inline constexpr std::size_t detail_columns = 10;   ///< the others: fields of 16 bits (IBA 16.1.4.1, 16.1.4.2)

/// Counters of forward error correction (IBA 16.1.4: PortExtendedSpeedsCounters): of all lanes together, in either layout.
enum class FecCounter : std::uint8_t { corrected_blocks, uncorrectable_blocks, corrected_symbols };
inline constexpr std::size_t fec_counters = 3;

/// What was read of a port. A large fabric has many of them: they are kept small.
struct PortRow {
  subnet::PortIndex port = subnet::none;
  std::uint32_t known{};         ///< bit n: column n was read
  std::uint32_t wide{};          ///< bit n: it was read from PortCountersExtended
  std::uint32_t milliseconds{};  ///< when its errors were read, from the beginning of the reading
  std::array<std::uint64_t, counter_columns> counters{};
  std::array<std::uint64_t, fec_counters> fec{};  ///< by FecCounter
  std::array<std::uint16_t, detail_columns> details{};
  std::uint8_t known_fec{};  ///< bit n: element n of `fec` was read

  bool is_known(std::size_t column) const { return (known >> column & 1U) != 0; }
  bool is_known(FecCounter counter) const { return (known_fec >> static_cast<unsigned>(counter) & 1U) != 0; }
  bool is_wide(std::size_t column) const { return (wide >> column & 1U) != 0; }
  std::uint64_t value(FecCounter counter) const { return fec[static_cast<std::size_t>(counter)]; }
  /// The value of a column that was read.
  std::uint64_t value(std::size_t column) const { return column < counter_columns ? counters[column] : details[column - counter_columns]; }
};

static_assert(sizeof(PortRow) <= 256);

/// The field of a column: in PortCountersExtended if it was read from there (`wide`), else in PortCounters or in the details.
const FieldInfo& field_of(std::size_t column, bool wide);

/// The row of a reading. Each counter comes from the widest attribute that its PMA has; one that the PMA does not count is not known.
PortRow row_of(const counters::PmaReading& reading);

}  // namespace ib::metrics
