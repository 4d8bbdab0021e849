// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The counters of a port in one flat row: values, which of them are known, how wide their fields are, and when they were read. What prints,
// exports, judges or keeps counters takes rows; counters/difference.hpp compares two of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "async/clock.hpp"
#include "base/bytes.hpp"
#include "counters/counters.hpp"
#include "subnet/model.hpp"

namespace ib::counters {

/// The attributes that hold a counter.
enum class Source : std::uint8_t {
  counters,         ///< PortCounters and PortCountersExtended
  error_details,    ///< PortRcvErrorDetails
  discard_details,  ///< PortXmitDiscardDetails
  fec,              ///< PortExtendedSpeedsCounters: of all lanes together, in either layout
};

/// What a counter counts.
enum class Meaning : std::uint8_t {
  data,        ///< words of 32 bits
  packets,     ///< packets without errors
  error,       ///< errors, and waiting
  correction,  ///< what forward error correction put right: no errors
};

/// A counter of a row.
struct Column {
  std::string_view field;  ///< its name in iba-defs
  Source source{};
  Meaning meaning{};
  std::string_view lane_field{};  ///< of Source::fec, in the layout without RS-FEC: the field that each lane has

  constexpr bool is_traffic() const { return meaning == Meaning::data || meaning == Meaning::packets; }
};

/// All columns: first those of Source::counters, then the details, then those of Source::fec. This is the only list of them.
inline constexpr std::array columns = std::to_array<Column>({
    {"port_xmit_data", Source::counters, Meaning::data},
    {"port_rcv_data", Source::counters, Meaning::data},
    {"port_xmit_pkts", Source::counters, Meaning::packets},
    {"port_rcv_pkts", Source::counters, Meaning::packets},
    {"port_unicast_xmit_pkts", Source::counters, Meaning::packets},
    {"port_unicast_rcv_pkts", Source::counters, Meaning::packets},
    {"port_multicast_xmit_pkts", Source::counters, Meaning::packets},
    {"port_multicast_rcv_pkts", Source::counters, Meaning::packets},
    {"symbol_error_counter", Source::counters, Meaning::error},
    {"link_error_recovery_counter", Source::counters, Meaning::error},
    {"link_downed_counter", Source::counters, Meaning::error},
    {"port_rcv_errors", Source::counters, Meaning::error},
    {"port_rcv_remote_physical_errors", Source::counters, Meaning::error},
    {"port_rcv_switch_relay_errors", Source::counters, Meaning::error},
    {"port_xmit_discards", Source::counters, Meaning::error},
    {"port_xmit_constraint_errors", Source::counters, Meaning::error},
    {"port_rcv_constraint_errors", Source::counters, Meaning::error},
    {"local_link_integrity_errors", Source::counters, Meaning::error},
    {"excessive_buffer_overrun_errors", Source::counters, Meaning::error},
    {"vl15_dropped", Source::counters, Meaning::error},
    {"port_xmit_wait", Source::counters, Meaning::error},
    {"qp1_dropped", Source::counters, Meaning::error},
    {"port_local_physical_errors", Source::error_details, Meaning::error},
    {"port_malformed_packet_errors", Source::error_details, Meaning::error},
    {"port_buffer_overrun_errors", Source::error_details, Meaning::error},
    {"port_dlid_mapping_errors", Source::error_details, Meaning::error},
    {"port_vl_mapping_errors", Source::error_details, Meaning::error},
    {"port_looping_errors", Source::error_details, Meaning::error},
    {"port_inactive_discards", Source::discard_details, Meaning::error},
    {"port_neighbor_mtu_discards", Source::discard_details, Meaning::error},
    {"port_sw_lifetime_limit_discards", Source::discard_details, Meaning::error},
    {"port_sw_hoq_limit_discards", Source::discard_details, Meaning::error},
    {"port_fec_correctable_block_ctr", Source::fec, Meaning::correction, "fec_correctable_block_ctr_lane"},
    {"port_fec_uncorrectable_block_ctr", Source::fec, Meaning::error, "fec_uncorrectable_block_ctr_lane"},
    {"port_fec_corrected_symbol_ctr", Source::fec, Meaning::correction},
});

inline constexpr std::size_t counter_columns = 22;  ///< of Source::counters
inline constexpr std::size_t detail_columns = 10;   ///< fields of 16 bits (IBA 16.1.4.1, 16.1.4.2)
inline constexpr std::size_t fec_columns = 3;       ///< of 32 bits, or of a sum of lanes of 32 bits
static_assert(columns.size() == counter_columns + detail_columns + fec_columns);

/// The column of a field, by its name in iba-defs. Throws std::invalid_argument if there is none.
constexpr std::size_t column_of(std::string_view field) {
  for (std::size_t column = 0; column < columns.size(); ++column)
    if (columns[column].field == field) return column;
  throw std::invalid_argument("no column has this name");
}

/// What was read of a port. A large fabric has many of them: they are kept small.
struct CounterRow {
  subnet::PortIndex port = subnet::none;
  std::uint32_t wide{};        ///< bit n: column n was read from PortCountersExtended
  std::uint64_t known{};       ///< bit n: column n was read
  async::Time error_time{};    ///< when the columns of errors came
  async::Time traffic_time{};  ///< when data and packets came
  std::array<std::uint64_t, counter_columns> counters{};
  std::array<std::uint64_t, fec_columns> fec{};
  std::array<std::uint16_t, detail_columns> details{};
  std::uint8_t full_fec{};  ///< bit n: column n of Source::fec, or one of its lanes, holds the greatest value of its field
  bool is_of_lanes{};       ///< the columns of Source::fec are sums of lanes

  /// Takes what an attribute holds, which came at `time` from a PMA with these capabilities: PortCounters, PortCountersExtended (whose
  /// fields go before those of PortCounters), details, or PortExtendedSpeedsCounters in either layout. A counter that the PMA does not
  /// count stays unknown.
  void take(const PmaSupport& support, const StructInfo& attribute, Bytes bytes, async::Time time);

  bool is_known(std::size_t column) const { return (known >> column & 1U) != 0; }
  bool is_wide(std::size_t column) const { return column < counter_columns && (wide >> column & 1U) != 0; }
  /// The value of a column that was read.
  std::uint64_t value(std::size_t column) const {
    if (column < counter_columns) return counters[column];
    if (column < counter_columns + detail_columns) return details[column - counter_columns];
    return fec[column - counter_columns - detail_columns];
  }
  /// The value of a column of Source::counters, and how wide its field is.
  CounterValue count(std::size_t column) const;
  /// Adds the columns of Source::counters of another port. A column that is not known in one of the rows counts as 0 there; a sum stops at
  /// what 64 bits hold.
  void add(const CounterRow& row);
  /// Whether a column holds all that its field, or that of one of its lanes, can hold: its true count may be greater. Fields of 64 bits
  /// wrap instead.
  bool is_full(std::size_t column) const;
  /// The field that a column was read from.
  const FieldInfo& field(std::size_t column) const;
  /// The field by which a column is called: of PortCounters where that has one.
  const FieldInfo& named_field(std::size_t column) const;
};
static_assert(sizeof(CounterRow) <= 256);

}  // namespace ib::counters
