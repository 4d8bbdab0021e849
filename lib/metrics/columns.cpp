// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "metrics/columns.hpp"

#include <algorithm>
#include <array>

namespace ib::metrics {
namespace {

constexpr Column named(std::string_view field, std::string_view treydock, std::string_view guilbaults, std::string_view help) {
  return {counters::columns[counters::column_of(field)], treydock, guilbaults, help};
}
constexpr Column ours(std::string_view field, std::string_view help) { return named(field, "", "", help); }

// dli_mapping_errors is how treydock's exporter spells it.
constexpr std::array all_columns{
    named("port_xmit_data", "transmit_data_bytes", "portxmitdata", "PortXmitData: data sent"),
    named("port_rcv_data", "receive_data_bytes", "portrcvdata", "PortRcvData: data received"),
    named("port_xmit_pkts", "transmit_packets", "portxmitpkts", "PortXmitPkts: packets sent"),
    named("port_rcv_pkts", "receive_packets", "portrcvpkts", "PortRcvPkts: packets received"),
    named("port_unicast_xmit_pkts", "unicast_transmit_packets", "portunicastxmitpkts", "PortUnicastXmitPkts: unicast packets sent"),
    named("port_unicast_rcv_pkts", "unicast_receive_packets", "portunicastrcvpkts", "PortUnicastRcvPkts: unicast packets received"),
    named("port_multicast_xmit_pkts", "multicast_transmit_packets", "portmulticastxmitpkts",
          "PortMulticastXmitPkts: multicast packets sent"),
    named("port_multicast_rcv_pkts", "multicast_receive_packets", "portmulticastrcvpkts",
          "PortMulticastRcvPkts: multicast packets received"),
    named("symbol_error_counter", "symbol_error", "symbolerrorcounter", "SymbolErrorCounter: minor errors of the link"),
    named("link_error_recovery_counter", "link_error_recovery", "linkerrorrecoverycounter",
          "LinkErrorRecoveryCounter: times that the link retrained and came up again"),
    named("link_downed_counter", "link_downed", "linkdownedcounter", "LinkDownedCounter: times that the link went down"),
    named("port_rcv_errors", "receive_errors", "portrcverrors", "PortRcvErrors: packets received with an error"),
    named("port_rcv_remote_physical_errors", "receive_remote_physical_errors", "portrcvremotephysicalerrors",
          "PortRcvRemotePhysicalErrors: packets received that another port had marked bad"),
    named("port_rcv_switch_relay_errors", "receive_switch_relay_errors", "",
          "PortRcvSwitchRelayErrors: packets received that the switch could not forward"),
    named("port_xmit_discards", "transmit_discards", "portxmitdiscards",
          "PortXmitDiscards: packets not sent, since the port was down or full"),
    named("port_xmit_constraint_errors", "transmit_constraint_errors", "portxmitconstrainterrors",
          "PortXmitConstraintErrors: packets not sent because of partition or raw filters"),
    named("port_rcv_constraint_errors", "receive_constraint_errors", "portrcvconstrainterrors",
          "PortRcvConstraintErrors: packets received and dropped because of partition or raw filters"),
    named("local_link_integrity_errors", "local_link_integrity_errors", "locallinkintegrityerrors",
          "LocalLinkIntegrityErrors: times that local physical errors passed their threshold"),
    named("excessive_buffer_overrun_errors", "excessive_buffer_overrun_errors", "excessivebufferoverrunerrors",
          "ExcessiveBufferOverrunErrors: times that buffer overruns passed their threshold"),
    named("vl15_dropped", "vl15_dropped", "vl15dropped", "VL15Dropped: management packets dropped for lack of buffers"),
    named("port_xmit_wait", "transmit_wait", "portxmitwait", "PortXmitWait: ticks in which a packet waited for credits or arbitration"),
    named("qp1_dropped", "qp1_dropped", "", "QP1Dropped: packets to QP1 dropped for lack of buffers"),
    named("port_local_physical_errors", "local_physical_errors", "portlocalphysicalerrors",
          "PortLocalPhysicalErrors: packets received with a physical error"),
    named("port_malformed_packet_errors", "malformed_packet_errors", "portmalformedpkterrors",
          "PortMalformedPktErrors: malformed packets received"),
    named("port_buffer_overrun_errors", "buffer_overrun_errors", "portbufferoverrunerrors",
          "PortBufferOverrunErrors: packets received for which no buffer was free"),
    named("port_dlid_mapping_errors", "dli_mapping_errors", "portdlidmappingerrors",
          "PortDLIDMappingErrors: packets received whose DLID has no port"),
    named("port_vl_mapping_errors", "vl_mapping_errors", "", "PortVLMappingErrors: packets received whose SL has no VL"),
    named("port_looping_errors", "looping_errors", "", "PortLoopingErrors: packets received that would leave by the same port"),
    named("port_inactive_discards", "", "portinactivediscards", "PortInactiveDiscards: packets not sent, since the port was not active"),
    named("port_neighbor_mtu_discards", "", "portneighbormtudiscards", "PortNeighborMTUDiscards: packets not sent, longer than the MTU"),
    named("port_sw_lifetime_limit_discards", "", "portswlifetimelimitdiscards",
          "PortSwLifetimeLimitDiscards: packets that waited in the switch for too long"),
    named("port_sw_hoq_limit_discards", "", "portswhoqlifetimelimitdiscards",
          "PortSwHOQLifetimeLimitDiscards: packets that waited at the head of a queue for too long"),
    ours("port_fec_correctable_block_ctr", "Blocks that forward error correction corrected."),
    ours("port_fec_uncorrectable_block_ctr", "Blocks that forward error correction could not correct."),
    ours("port_fec_corrected_symbol_ctr", "Symbols that RS-FEC corrected."),
};
static_assert(std::ranges::equal(all_columns, counters::columns, {}, &Column::field, &counters::Column::field));

}  // namespace

std::span<const Column> columns() { return all_columns; }

}  // namespace ib::metrics
