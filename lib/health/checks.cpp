// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "health/checks.hpp"

#include <algorithm>
#include <array>

#include "health/check_functions.hpp"

namespace ib::health {
namespace {

using enum Source;
using enum Level;

// id, level, needs, text, remedy, function
constexpr Check table[] = {
    {"node-silent",
     error,
     {},
     "A node that does not answer can not be managed, and is lost to the fabric at the next sweep of its manager.",
     "Look at the node: power, firmware, a driver that hangs. If it is well, look at the cable.",
     find_silent_nodes},
    {"node-partial",
     warning,
     {},
     "A node that leaves requests without an answer is overloaded, or its firmware is at fault.",
     "Request it alone (ibtool smpquery, ibtool perfquery); if it stays so, restart it or renew its firmware.",
     find_partial_nodes},
    {"duplicate-guid",
     error,
     {},
     "Two nodes or ports have one GUID: the subnet manager takes them for one, and packets for one come to the other.",
     "Burn the GUID of one of them anew, the one whose firmware was copied.",
     find_duplicate_guids},
    {"description-default",
     info,
     {},
     "These nodes have the description of their chip or none, by which nobody finds their place.",
     "Nothing for unmanaged switches (a --node-name-map names them); on hosts let rdma-ndd run.",
     find_default_descriptions},
    {"description-duplicate",
     info,
     {},
     "Several nodes have one description, by which nobody finds their place.",
     "Give each host a name of its own; name switches in a --node-name-map.",
     find_duplicate_descriptions},
    {"sibling-ports",
     warning,
     {},
     "What most siblings have is missing or different here: a cable that is gone, or the wrong adapter.",
     "Compare it with a sibling, and look for a cable that is not plugged in; nothing if it is meant.",
     find_other_siblings},
    {"rail",
     warning,
     {},
     "The HCA is on the leaf of other HCAs: traffic between equal HCAs takes more hops there.",
     "Exchange the cables of this host's HCAs, or their names (udev).",
     find_other_rails},

    {"port-init",
     error,
     {},
     "The link is up and no subnet manager has set it up: no packets pass but those of management.",
     "See whether a subnet manager runs (ibtool sminfo), and in its log why it leaves this port: P_Key, LID, GUID that is there twice.",
     find_initialize},
    {"port-armed",
     error,
     {},
     "The subnet manager stopped half-way, or the other end is not ready.",
     "Let the subnet manager sweep anew; if it stays so, restart the port (ibtool ibportstate reset).",
     find_armed},
    {"lid-zero",
     error,
     {},
     "The port is Active and has no LID: nothing can be sent to it.",
     "Let the subnet manager sweep anew, and look at its log.",
     find_zero_lids},
    {"lid-duplicate",
     error,
     {},
     "Two ports have one LID: packets for one of them come to the other.",
     "See whether two subnet managers are masters (ibtool sminfo); then let one sweep anew.",
     find_duplicate_lids},
    {"lmc-mismatch",
     warning,
     {},
     "The port has another number of LIDs than most: paths to it are fewer, or more, than the manager plans.",
     "Look at the lmc of the subnet manager's configuration, and let it sweep anew.",
     find_other_lmcs},

    {"link-slow",
     error,
     {},
     "The link runs below what both of its ends have enabled: a lane is lost, or training failed.",
     "Pull the cable, clean it and plug it in; if it stays slow, change it.",
     find_slow_links},
    {"link-misconfigured",
     warning,
     {},
     "The port could do more than somebody has enabled.",
     "Enable it if that was not meant (ibtool ibportstate width, speed).",
     find_misconfigured_ports},
    {"link-misconnected",
     info,
     {},
     "The ends of the link support different things: by design, or it is the wrong port.",
     "Nothing if it is meant; else move the cable to a port that can do as much.",
     find_misconnected_links},
    {"fec-mismatch", warning, needs(fec),
     "The ends correct errors in different ways, so that one of them counts what the other meant to mend.",
     "Set the FEC mode of both ends alike, or renew the older firmware.", find_fec_mismatches},
    {"mtu-mismatch",
     warning,
     {},
     "Packets longer than the smaller MTU are discarded.",
     "Let the subnet manager sweep anew, and look at its log.",
     find_mtu_mismatches},
    {"vl-mismatch",
     info,
     {},
     "The ends use different numbers of virtual lanes: packets on the others are discarded.",
     "Let the subnet manager sweep anew; look at max_op_vls in its configuration.",
     find_vl_mismatches},

    {"symbol-errors", error, needs(window), "Bits break on this link more often than a good link lets them.",
     "Clean the connectors and plug them in; if it goes on, change the cable, then the transceiver or the port.", find_symbol_errors},
    {"receive-errors", error, needs(window), "Packets arrive broken, and are sent again or lost.",
     "Clean the connectors and plug them in; if it goes on, change the cable, then the transceiver or the port.", find_receive_errors},
    {"fec-uncorrectable", error, needs(window, blocks), "Error correction met more errors than it can mend: packets were lost.",
     "Clean the connectors and plug them in; if it goes on, change the cable, then the transceiver or the port.",
     find_uncorrectable_blocks},
    {"link-recovery", warning, needs(window), "The link lost its synchronisation and trained anew: packets waited or were lost.",
     "Clean the connectors and plug them in; if it goes on, change the cable.", find_recoveries},
    {"link-flap", error, needs(window), "The link went down, and no restart of a node explains it: jobs that used it have failed.",
     "See whether a node was switched off; if not, change the cable, and at the same port once more the transceiver or the port.",
     find_flaps},
    {"link-restart", info, needs(window), "The link went down at one end alone: it was a node, not the cable.",
     "Nothing if it was meant; else look at the log of the host.", find_restarts},
    {"link-integrity", error, needs(window), "So many symbols broke that the port's own limit was passed (LocalPhyErrors).",
     "Change the cable.", find_integrity_errors},
    {"buffer-overrun", error, needs(window), "Packets came for which there was no buffer: the sender ignores credits.",
     "Compare the VLs of both ends (ibtool smpquery PI); renew the firmware of the sender, which is the other end.", find_overruns},
    {"discards-congestion", warning, needs(window), "Packets waited too long and were thrown away.",
     "Look behind this port for the receiver that is slow (check congestion), and for credit loops (ibtool check_routes).",
     find_congestion_discards},
    {"discards-mtu", error, needs(window), "Packets were longer than the MTU of the next port, and were thrown away.",
     "Compare the MTUs of both ends and of the path (ibtool smpquery PI, ibtool saquery PR).", find_mtu_discards},
    {"discards-inactive", info, needs(window), "Packets were for a port behind which nobody was.",
     "Nothing if a node was restarted; else let the subnet manager sweep anew.", find_inactive_discards},
    {"discards", warning, needs(window), "Packets were thrown away before they were sent.",
     "See what else is said of this link, and behind it.", find_other_discards},
    {"congestion", info, needs(window), "Packets wait here for credits, and others behind them.",
     "Look at the node at the other end: its memory, its PCI link, or more senders than it can take.", find_congestion},
    {"constraint-errors", warning, needs(window), "Packets were refused by the P_Key or the raw filter of this port.",
     "Compare the P_Keys of both ends (ibtool smpquery PKeys): a partition, not the cable.", find_constraint_errors},
    {"counter-stuck", info, needs(counters), "These counters hold all that they can, so that nothing is seen of what comes.",
     "Set them to zero: ibtool ibclearerrors.", find_stuck_counters},
    {"counter-cleared", info, needs(window), "These counters hold less than before: somebody set them to zero, or the nodes restarted.",
     "Nothing; what they counted in between is not known.", find_cleared_counters},
    {"vl15-dropped", info, needs(window), "Packets of management came faster than this node takes them; a sweep does that too.", "Nothing.",
     find_dropped_vl15},
    {"relay-errors", info, needs(window), "The switch had packets that it could not send on; multicast that came back counts too.",
     "Nothing.", find_relay_errors},

    {"sm-none", error, needs(managers), "Nobody manages the subnet: what is plugged in stays in Initialize, what breaks stays broken.",
     "Start a subnet manager (opensm, or that of a switch).", find_no_manager},
    {"sm-many-masters", error, needs(managers), "Several subnet managers are master: they undo each other's work.",
     "Stop all but one; compare their SM_Keys and their configuration, then let it sweep anew.", find_many_masters},
    {"sm-no-standby", info, needs(managers), "There is no subnet manager that would take the place of the master.",
     "Start one on another node, with a lower priority.", find_no_standby},
    {"sm-not-best", warning, needs(managers), "A subnet manager on standby should be master: no handover, or no trust between the two.",
     "Compare the SM_Keys of both, and look at their logs.", find_better_standbys},
    {"sm-lid-differs", error, needs(managers), "These ports know another LID for their subnet manager's: its SA does not answer them.",
     "Let the subnet manager sweep anew, and look for another one that set these ports.", find_other_sm_lids},
    {"sm-stuck", warning, needs(managers, activity), "The subnet manager does nothing: it neither sweeps nor polls.",
     "Look at its process and its log; restart it.", find_stuck_managers},
    {"pkey-mismatch", error, needs(pkeys), "The switch port keeps out partitions of which the host is a member: packets are discarded.",
     "Let the subnet manager sweep anew, and look at its partition configuration.", find_pkey_mismatches},
    {"pkey-no-full-member", warning, needs(pkeys), "Limited members can not talk to each other: nobody talks in this partition.",
     "Make those full members that the others are to reach, in the partition configuration of the subnet manager.",
     find_partitions_without_full_member},
    {"multicast-rate", error, needs(groups), "The group is faster than links of its members: these can not join it, or lose packets.",
     "Lower the rate of the group in the partition configuration of the subnet manager, or mend the slow links.", find_fast_groups},
    {"routes", error, needs(routes), "Packets do not arrive, or can wait for each other for ever.",
     "See ibtool check_routes; let the subnet manager sweep anew.", find_route_faults},

    {"link-gone", error, needs(baseline), "Both nodes are there, and the cable between them is not, or no link comes up over it.",
     "See whether it is plugged in at both ends; if it is, change it.", find_gone_links},
    {"link-new", info, needs(baseline), "The baseline does not have this cable.", "Nothing if it is meant; then take a new baseline.",
     find_new_links},
    {"link-moved", error, needs(baseline), "The cable leads to another port than before: tables and plans that go by ports are wrong.",
     "Plug it in where it was, or take a new baseline if it was moved on purpose.", find_moved_links},
    {"link-slower", error, needs(baseline), "The link has run faster.",
     "Pull the cable, clean it and plug it in; if it stays slow, see whether somebody has changed what is enabled.", find_slower_links},
    {"node-gone", error, needs(baseline), "The node is not in the fabric any more.",
     "Look at the node and at its cable; take a new baseline if it was removed on purpose.", find_gone_nodes},
    {"node-new", info, needs(baseline), "The baseline does not have this node.", "Nothing if it is meant; then take a new baseline.",
     find_new_nodes},
    {"node-replaced", warning, needs(baseline),
     "The name and the place are those of a node with another GUID: what goes by GUIDs is wrong.",
     "Change the GUID where it is written down (name maps, partitions), and take a new baseline.", find_replaced_nodes},
    {"node-renamed", info, needs(baseline), "The node has another description.", "Nothing if it is meant; then take a new baseline.",
     find_renamed_nodes},
    {"changed", warning, needs(baseline), "Somebody has changed the hardware, its firmware or its settings.",
     "See whether it was meant; then take a new baseline.", find_changes},
};

}  // namespace

std::span<const Check> all_checks() { return table; }

const Check* find_check(std::string_view id) {
  const Check* found = std::ranges::find(table, id, &Check::id);
  return found == std::end(table) ? nullptr : found;
}

bool Selection::has(const Check& check) const {
  const bool is_named = only.empty() || std::ranges::find(only, &check) != only.end();
  return is_named && std::ranges::find(skip, &check) == skip.end();
}

Sources Selection::needs() const {
  Sources all;
  for (const Check& check : table) {
    if (has(check)) all |= check.needs;
  }
  return all;
}

}  // namespace ib::health
