// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "metrics/columns.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "iba-gen/pm.hpp"
#include "iba/generic.hpp"

namespace ib::metrics {
namespace {

constexpr Column data(std::string_view field, std::string_view treydock, std::string_view guilbaults, std::string_view help) {
  return {field, Source::counters, true, true, treydock, guilbaults, help};
}
constexpr Column packets(std::string_view field, std::string_view treydock, std::string_view guilbaults, std::string_view help) {
  return {field, Source::counters, true, false, treydock, guilbaults, help};
}
constexpr Column error(std::string_view field, std::string_view treydock, std::string_view guilbaults, std::string_view help) {
  return {field, Source::counters, false, false, treydock, guilbaults, help};
}
constexpr Column received(std::string_view field, std::string_view treydock, std::string_view guilbaults, std::string_view help) {
  return {field, Source::error_details, false, false, treydock, guilbaults, help};
}
constexpr Column discarded(std::string_view field, std::string_view guilbaults, std::string_view help) {
  return {field, Source::discard_details, false, false, "", guilbaults, help};
}

// dli_mapping_errors is how treydock's exporter spells it.
constexpr std::array all_columns{
    data("port_xmit_data", "transmit_data_bytes", "portxmitdata", "PortXmitData: data sent"),
    data("port_rcv_data", "receive_data_bytes", "portrcvdata", "PortRcvData: data received"),
    packets("port_xmit_pkts", "transmit_packets", "portxmitpkts", "PortXmitPkts: packets sent"),
    packets("port_rcv_pkts", "receive_packets", "portrcvpkts", "PortRcvPkts: packets received"),
    packets("port_unicast_xmit_pkts", "unicast_transmit_packets", "portunicastxmitpkts", "PortUnicastXmitPkts: unicast packets sent"),
    packets("port_unicast_rcv_pkts", "unicast_receive_packets", "portunicastrcvpkts", "PortUnicastRcvPkts: unicast packets received"),
    packets("port_multicast_xmit_pkts", "multicast_transmit_packets", "portmulticastxmitpkts",
            "PortMulticastXmitPkts: multicast packets sent"),
    packets("port_multicast_rcv_pkts", "multicast_receive_packets", "portmulticastrcvpkts",
            "PortMulticastRcvPkts: multicast packets received"),
    error("symbol_error_counter", "symbol_error", "symbolerrorcounter", "SymbolErrorCounter: minor errors of the link"),
    error("link_error_recovery_counter", "link_error_recovery", "linkerrorrecoverycounter",
          "LinkErrorRecoveryCounter: times that the link retrained and came up again"),
    error("link_downed_counter", "link_downed", "linkdownedcounter", "LinkDownedCounter: times that the link went down"),
    error("port_rcv_errors", "receive_errors", "portrcverrors", "PortRcvErrors: packets received with an error"),
    error("port_rcv_remote_physical_errors", "receive_remote_physical_errors", "portrcvremotephysicalerrors",
          "PortRcvRemotePhysicalErrors: packets received that another port had marked bad"),
    error("port_rcv_switch_relay_errors", "receive_switch_relay_errors", "",
          "PortRcvSwitchRelayErrors: packets received that the switch could not forward"),
    error("port_xmit_discards", "transmit_discards", "portxmitdiscards",
          "PortXmitDiscards: packets not sent, since the port was down or full"),
    error("port_xmit_constraint_errors", "transmit_constraint_errors", "portxmitconstrainterrors",
          "PortXmitConstraintErrors: packets not sent because of partition or raw filters"),
    error("port_rcv_constraint_errors", "receive_constraint_errors", "portrcvconstrainterrors",
          "PortRcvConstraintErrors: packets received and dropped because of partition or raw filters"),
    error("local_link_integrity_errors", "local_link_integrity_errors", "locallinkintegrityerrors",
          "LocalLinkIntegrityErrors: times that local physical errors passed their threshold"),
    error("excessive_buffer_overrun_errors", "excessive_buffer_overrun_errors", "excessivebufferoverrunerrors",
          "ExcessiveBufferOverrunErrors: times that buffer overruns passed their threshold"),
    error("vl15_dropped", "vl15_dropped", "vl15dropped", "VL15Dropped: management packets dropped for lack of buffers"),
    error("port_xmit_wait", "transmit_wait", "portxmitwait", "PortXmitWait: ticks in which a packet waited for credits or arbitration"),
    error("qp1_dropped", "qp1_dropped", "", "QP1Dropped: packets to QP1 dropped for lack of buffers"),
    received("port_local_physical_errors", "local_physical_errors", "portlocalphysicalerrors",
             "PortLocalPhysicalErrors: packets received with a physical error"),
    received("port_malformed_packet_errors", "malformed_packet_errors", "portmalformedpkterrors",
             "PortMalformedPktErrors: malformed packets received"),
    received("port_buffer_overrun_errors", "buffer_overrun_errors", "portbufferoverrunerrors",
             "PortBufferOverrunErrors: packets received for which no buffer was free"),
    received("port_dlid_mapping_errors", "dli_mapping_errors", "portdlidmappingerrors",
             "PortDLIDMappingErrors: packets received whose DLID has no port"),
    received("port_vl_mapping_errors", "vl_mapping_errors", "", "PortVLMappingErrors: packets received whose SL has no VL"),
    received("port_looping_errors", "looping_errors", "", "PortLoopingErrors: packets received that would leave by the same port"),
    discarded("port_inactive_discards", "portinactivediscards", "PortInactiveDiscards: packets not sent, since the port was not active"),
    discarded("port_neighbor_mtu_discards", "portneighbormtudiscards", "PortNeighborMTUDiscards: packets not sent, longer than the MTU"),
    discarded("port_sw_lifetime_limit_discards", "portswlifetimelimitdiscards",
              "PortSwLifetimeLimitDiscards: packets that waited in the switch for too long"),
    discarded("port_sw_hoq_limit_discards", "portswhoqlifetimelimitdiscards",
              "PortSwHOQLifetimeLimitDiscards: packets that waited at the head of a queue for too long"),
};
static_assert(all_columns.size() == counter_columns + detail_columns);

const StructInfo& attribute_of(Source source) {
  return source == Source::error_details ? pm::PortRcvErrorDetails::info() : pm::PortXmitDiscardDetails::info();
}

/// Where each column of Source::counters stands among counter_infos(), and the field of each other one.
struct Places {
  std::array<std::size_t, counter_columns> counters{};
  std::array<const FieldInfo*, detail_columns> details{};

  Places() {
    for (std::size_t column = 0; column < all_columns.size(); ++column) {
      column < counter_columns ? find_counter(column) : find_detail(column);
    }
  }

 private:
  void find_counter(std::size_t column) {
    const std::span<const counters::CounterInfo> infos = counters::counter_infos();
    const auto found = std::ranges::find(infos, all_columns[column].field, &counters::CounterInfo::name);
    if (found == infos.end()) throw std::logic_error("no counter is named " + std::string(all_columns[column].field));
    counters[column] = static_cast<std::size_t>(found - infos.begin());
  }
  void find_detail(std::size_t column) {
    const auto& fields = attribute_of(all_columns[column].source).fields;
    const auto found = std::ranges::find(fields, all_columns[column].field, &FieldInfo::name);
    if (found == fields.end()) throw std::logic_error("no field is named " + std::string(all_columns[column].field));
    details[column - counter_columns] = &*found;
  }
};

const Places& places() {
  static const Places known;
  return known;
}

}  // namespace

std::span<const Column> columns() { return all_columns; }

const FieldInfo& field_of(std::size_t column, bool wide) {
  if (column >= counter_columns) return *places().details[column - counter_columns];
  const counters::CounterInfo& info = counters::counter_infos()[places().counters[column]];
  return wide || info.narrow == nullptr ? *info.wide : *info.narrow;
}

namespace {

/// Adds the counters of PortExtendedSpeedsCounters. Those of lanes are added up.
void add_fec(PortRow& row, const counters::PmaReading& reading) {
  struct Name {
    std::string_view of_port, of_lane;
  };
  constexpr std::array<Name, fec_counters> names{{{"port_fec_correctable_block_ctr", "fec_correctable_block_ctr_lane"},
                                                  {"port_fec_uncorrectable_block_ctr", "fec_uncorrectable_block_ctr_lane"},
                                                  {"port_fec_corrected_symbol_ctr", ""}}};
  if (reading.speeds.empty() || reading.speeds_info == nullptr) return;
  for (const FieldInfo& field : reading.speeds_info->fields) {
    const auto name = std::ranges::find_if(names, [&](const Name& of) { return field.name == of.of_port || field.name == of.of_lane; });
    if (field.reserved || name == names.end()) continue;
    const auto at = static_cast<std::size_t>(name - names.begin());
    row.known_fec = static_cast<std::uint8_t>(row.known_fec | 1U << at);
    for (std::uint32_t lane = 0; lane < std::max<std::uint32_t>(field.count, 1); ++lane)
      row.fec[at] += read_number(reading.speeds, field, lane);
  }
}

}  // namespace

PortRow row_of(const counters::PmaReading& reading) {
  constexpr unsigned widest = 64;  // bits: only PortCountersExtended has such fields
  PortRow row;
  row.port = reading.port;
  const counters::CounterReading merged = reading.merged();
  for (std::size_t column = 0; column < counter_columns; ++column) {
    const counters::CounterValue& value = merged.values[places().counters[column]];
    if (!value.known()) continue;
    row.known |= 1U << column;
    if (value.bits == widest) row.wide |= 1U << column;
    row.counters[column] = value.value;
  }
  for (std::size_t column = counter_columns; column < all_columns.size(); ++column) {
    const bool is_discard = all_columns[column].source == Source::discard_details;
    const Bytes bytes = is_discard ? reading.discard_details : reading.error_details;
    if (bytes.empty()) continue;
    row.known |= 1U << column;
    const std::size_t at = column - counter_columns;
    row.details[at] = static_cast<std::uint16_t>(read_number(bytes, *places().details[at]));
  }
  add_fec(row, reading);
  return row;
}

}  // namespace ib::metrics
