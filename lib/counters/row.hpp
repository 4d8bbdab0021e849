// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The counters of a port in one flat row: values, which of them are known, how wide their fields are, and when they were read. What prints,
// exports, judges or keeps counters takes rows; counters/difference.hpp compares two of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>

#include "async/clock.hpp"
#include "base/bytes.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/smp.hpp"
#include "iba/struct_info.hpp"
#include "mad/transactor.hpp"
#include "subnet/model/model.hpp"

namespace ib::counters {

using subnet::NodeIndex;
using subnet::PortIndex;

// All counters of a port together: PortCounters and PortCountersExtended (IBA 16.1.3.5, 16.1.4.11). Each counter comes from the
// attribute with its widest field, as far as the ClassPortInfo of the PMA says that the PMA supports the counter. The names and
// widths of the counters come from iba-defs.

struct CounterInfo {
  std::string_view name;      ///< `port_xmit_data`, …
  std::size_t column{};       ///< in a CounterRow (counters/row.hpp)
  const FieldInfo* narrow{};  ///< field in PortCounters; null if there is none
  const FieldInfo* wide{};    ///< field in PortCountersExtended; null if there is none
  std::uint16_t needs{};      ///< bit of the PMA's CapabilityMask that the counter needs; 0 for none
  bool additional{};          ///< `wide` needs CapabilityMask2.IsAdditionalPortCountersExtendedSupported
  bool ietf{};                ///< `wide` needs CapabilityMask.IsExtendedWidthSupported: counters of unicast and multicast packets
  bool traffic{};             ///< counts data or packets without errors; other counters are for errors and waiting
  /// The counter's bits in the reset masks of PortCounters and PortCountersExtended (see readings.hpp); 0 if it has none.
  std::uint64_t narrow_reset{}, wide_reset{};

  /// The field by which the counter is called: of PortCounters where that has one.
  const FieldInfo& named_field() const { return narrow != nullptr ? *narrow : *wide; }
};

using CounterChoice = std::function<bool(const CounterInfo&)>;

/// Finds a counter by its name in the IBA (`portXmitDiscards`), libibmad (`PortXmitDiscards`), perfquery (`XmtDiscards`) or
/// iba-defs (`port_xmit_discards`), without regard to case. Null if there is none.
const CounterInfo* find_counter(std::string_view name);

/// All counters: first the counters of PortCounters in their order, then what only PortCountersExtended has.
std::span<const CounterInfo> counter_infos();

const StructInfo& extended_speeds_layout(smp::FecMode mode);

/// Whether a field of an attribute of counters selects what is counted, read or reset. Such a field is not a counter itself.
bool is_selector(const FieldInfo& field);

struct PmaSupport {
  std::uint16_t capability_mask{};   ///< pm::capability_mask
  std::uint32_t capability_mask2{};  ///< pm::capability_mask2
  bool extended() const;
  /// Whether PortCountersExtended has its additional part, which counts errors.
  bool additional() const;
  /// Whether PortSelect 255 reads or clears all ports of the PMA together (IBA 16.1.3.1: AllPortSelect).
  bool all_port_select() const;
  bool narrow(const CounterInfo& counter) const;
  bool wide(const CounterInfo& counter) const;
};

async::Task<mad::Result<PmaSupport>> read_pma_support(mad::Transactor& transactor, path::Path pma);

/// The attributes that hold a counter.
enum class Source : std::uint8_t {
  counters,         ///< PortCounters and PortCountersExtended
  error_details,    ///< PortRcvErrorDetails
  discard_details,  ///< PortXmitDiscardDetails
  fec,              ///< PortExtendedSpeedsCounters: of all lanes together, in either layout
};

enum class Meaning : std::uint8_t {
  data,        ///< words of 32 bits
  packets,     ///< packets without errors
  error,       ///< errors, and waiting
  correction,  ///< what forward error correction put right: no errors
};

struct Column {
  std::string_view field;  ///< its name in iba-defs
  Source source{};
  Meaning meaning{};
  std::string_view treydock{};    ///< in treydock's exporter: "infiniband_switch_port_transmit_data_bytes_total"; empty: it has none
  std::string_view guilbaults{};  ///< in guilbaults' exporter: "infiniband_portxmitdata_total"; empty: it has none
  std::string_view help{};        ///< what it counts, for people; of Source::fec a sentence
  std::string_view lane_field{};  ///< of Source::fec, in the layout without RS-FEC: the field that each lane has

  constexpr bool is_traffic() const { return meaning == Meaning::data || meaning == Meaning::packets; }
};

/// All columns: first Source::counters, then the details, then Source::fec. This is the only list of them.
/// "dli_mapping_errors" is the spelling of treydock's exporter.
inline constexpr std::array columns = [] {
  using enum Source;
  using enum Meaning;
  return std::to_array<Column>({
      {"port_xmit_data", counters, data, "transmit_data_bytes", "portxmitdata", "data sent"},
      {"port_rcv_data", counters, data, "receive_data_bytes", "portrcvdata", "data received"},
      {"port_xmit_pkts", counters, packets, "transmit_packets", "portxmitpkts", "packets sent"},
      {"port_rcv_pkts", counters, packets, "receive_packets", "portrcvpkts", "packets received"},
      {"port_unicast_xmit_pkts", counters, packets, "unicast_transmit_packets", "portunicastxmitpkts", "unicast packets sent"},
      {"port_unicast_rcv_pkts", counters, packets, "unicast_receive_packets", "portunicastrcvpkts", "unicast packets received"},
      {"port_multicast_xmit_pkts", counters, packets, "multicast_transmit_packets", "portmulticastxmitpkts", "multicast packets sent"},
      {"port_multicast_rcv_pkts", counters, packets, "multicast_receive_packets", "portmulticastrcvpkts", "multicast packets received"},
      {"symbol_error_counter", counters, error, "symbol_error", "symbolerrorcounter", "minor errors of the link"},
      {"link_error_recovery_counter", counters, error, "link_error_recovery", "linkerrorrecoverycounter",
       "times that the link retrained and came up again"},
      {"link_downed_counter", counters, error, "link_downed", "linkdownedcounter", "times that the link went down"},
      {"port_rcv_errors", counters, error, "receive_errors", "portrcverrors", "packets received with an error"},
      {"port_rcv_remote_physical_errors", counters, error, "receive_remote_physical_errors", "portrcvremotephysicalerrors",
       "packets received that another port had marked bad"},
      {"port_rcv_switch_relay_errors", counters, error, "receive_switch_relay_errors", "",
       "packets received that the switch could not forward"},
      {"port_xmit_discards", counters, error, "transmit_discards", "portxmitdiscards", "packets not sent, since the port was down or full"},
      {"port_xmit_constraint_errors", counters, error, "transmit_constraint_errors", "portxmitconstrainterrors",
       "packets not sent because of partition or raw filters"},
      {"port_rcv_constraint_errors", counters, error, "receive_constraint_errors", "portrcvconstrainterrors",
       "packets received and dropped because of partition or raw filters"},
      {"local_link_integrity_errors", counters, error, "local_link_integrity_errors", "locallinkintegrityerrors",
       "times that local physical errors passed their threshold"},
      {"excessive_buffer_overrun_errors", counters, error, "excessive_buffer_overrun_errors", "excessivebufferoverrunerrors",
       "times that buffer overruns passed their threshold"},
      {"vl15_dropped", counters, error, "vl15_dropped", "vl15dropped", "management packets dropped for lack of buffers"},
      {"port_xmit_wait", counters, error, "transmit_wait", "portxmitwait", "ticks in which a packet waited for credits or arbitration"},
      {"qp1_dropped", counters, error, "qp1_dropped", "", "packets to QP1 dropped for lack of buffers"},
      {"port_local_physical_errors", error_details, error, "local_physical_errors", "portlocalphysicalerrors",
       "packets received with a physical error"},
      {"port_malformed_packet_errors", error_details, error, "malformed_packet_errors", "portmalformedpkterrors",
       "malformed packets received"},
      {"port_buffer_overrun_errors", error_details, error, "buffer_overrun_errors", "portbufferoverrunerrors",
       "packets received for which no buffer was free"},
      {"port_dlid_mapping_errors", error_details, error, "dli_mapping_errors", "portdlidmappingerrors",
       "packets received whose DLID has no port"},
      {"port_vl_mapping_errors", error_details, error, "vl_mapping_errors", "", "packets received whose SL has no VL"},
      {"port_looping_errors", error_details, error, "looping_errors", "", "packets received that would leave by the same port"},
      {"port_inactive_discards", discard_details, error, "", "portinactivediscards", "packets not sent, since the port was not active"},
      {"port_neighbor_mtu_discards", discard_details, error, "", "portneighbormtudiscards", "packets not sent, longer than the MTU"},
      {"port_sw_lifetime_limit_discards", discard_details, error, "", "portswlifetimelimitdiscards",
       "packets that waited in the switch for too long"},
      {"port_sw_hoq_limit_discards", discard_details, error, "", "portswhoqlifetimelimitdiscards",
       "packets that waited at the head of a queue for too long"},
      {"port_fec_correctable_block_ctr", fec, correction, "", "", "Blocks that forward error correction corrected.",
       "fec_correctable_block_ctr_lane"},
      {"port_fec_uncorrectable_block_ctr", fec, error, "", "", "Blocks that forward error correction could not correct.",
       "fec_uncorrectable_block_ctr_lane"},
      {"port_fec_corrected_symbol_ctr", fec, correction, "", "", "Symbols that RS-FEC corrected."},
  });
}();

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
  static constexpr std::uint64_t all_counters = (std::uint64_t{1} << counter_columns) - 1;  ///< in `known`

  PortIndex port = subnet::none;
  std::uint32_t wide{};        ///< bit n: column n was read from PortCountersExtended
  std::uint64_t known{};       ///< bit n: column n was read
  async::Time error_time{};    ///< when the columns of errors came
  async::Time traffic_time{};  ///< when data and packets came
  std::array<std::uint64_t, counter_columns> counters{};
  std::array<std::uint64_t, fec_columns> fec{};
  std::array<std::uint16_t, detail_columns> details{};
  std::uint8_t full_fec{};  ///< bit n: column n of Source::fec, or one of its lanes, holds the greatest value of its field
  bool is_of_lanes{};       ///< the columns of Source::fec are sums of lanes

  /// Takes what an attribute of a Source holds, which came at `time` from a PMA with these capabilities: PortCounters,
  /// PortCountersExtended (whose fields go before those of PortCounters), details, or PortExtendedSpeedsCounters in either layout. A
  /// counter that the PMA does not count stays unknown.
  void take(const PmaSupport& support, const StructInfo& attribute, Bytes bytes, async::Time time);

  bool is_known(std::size_t column) const { return (known >> column & 1U) != 0; }
  bool is_wide(std::size_t column) const { return column < counter_columns && (wide >> column & 1U) != 0; }
  /// The value of a column that was read.
  std::uint64_t value(std::size_t column) const {
    if (column < counter_columns) return counters[column];
    if (column < counter_columns + detail_columns) return details[column - counter_columns];
    return fec[column - counter_columns - detail_columns];
  }
  /// The value of a column; absent if it was not read.
  std::optional<std::uint64_t> count(std::size_t column) const { return is_known(column) ? std::optional(value(column)) : std::nullopt; }
  /// Adds the columns of Source::counters of another port. A column that is not known in one of the rows counts as 0 there; a sum stops at
  /// what 64 bits hold.
  void add(const CounterRow& row);
  /// Whether a column holds all that its field, or the field of one of its lanes, can hold: its true count may be greater. Fields of 64
  /// bits wrap instead.
  bool is_full(std::size_t column) const;
  /// The field that a column was read from.
  const FieldInfo& field(std::size_t column) const;
  /// The field by which a column is called: of PortCounters where that has one.
  const FieldInfo& named_field(std::size_t column) const;
};
static_assert(sizeof(CounterRow) <= 256);

}  // namespace ib::counters
