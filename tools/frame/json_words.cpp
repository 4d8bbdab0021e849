// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/json_words.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "base/stored_text.hpp"

namespace ib::tools {
namespace {

using enum JsonType;

// key, type, list, coded, meaning. Only the compiler reads this list: the program holds it as stored_words.
constexpr JsonWord table[] = {
    {"adaptive_routing", object, true, false, "Switches that have adaptive routing on, or of which it is not known."},
    {"after", object, false, false, "A node, port or link in the fabric of which the report is; null: it is not there."},
    {"all_ports", object, false, false, "What all ports of a node have counted together."},
    {"also", text, true, false, "Ids of other checks that found the same cable or node, whose findings are in this one."},
    {"answered", integer, false, false, "Requests that were answered; of tables of the SA tables.", report::counter()},
    {"answers", integer, false, false, "How many answers a file holds."},
    {"arrived_count", integer, false, false, "Pairs of a sender and a destination LID whose packets arrive.", report::gauge()},
    {"attribute", text, false, false,
     "The attribute that a request was for, or whose fields data or records hold, by its name in ibtool query: SMPPortInfo."},
    {"avg_rtt_ms", number, false, false, "Mean time from request to answer.", report::gauge("ms")},
    {"bad", integer, false, false, "How many of what was checked are bad.", report::gauge()},
    {"balanced", boolean, false, false,
     "The ports of the switch that lead to other switches carry alike, null where its table was not read."},
    {"before", object, false, false, "A node, port or link in the stored fabric; null: it is not there."},
    {"best_speed", number, false, true, "The highest speed that both ends of the link support: Mb/s of a lane.",
     report::gauge("Mb/s of a lane")},
    {"best_width", integer, false, true, "The greatest width that both ends of the link support: lanes.", report::gauge("lanes")},
    {"beyond", boolean, false, false, "What did not answer is the node at the other end of the port."},
    {"bidirectional", boolean, false, false, "Both ends wrote at the same time."},
    {"board_id", text, false, false, "Board of a device of this host."},
    {"bytes", integer, false, false, "Bytes written in one direction.", report::counter("bytes")},
    {"ca_type", text, false, false, "Type of a device of this host."},
    {"capability_mask", integer, false, true, "PortInfo.CapabilityMask."},
    {"capacity", integer, false, false, "Entries that a table has room for, null where that was not read."},
    {"change", text, false, false,
     "How a counter has changed since the reading before: counted, saturated (delta or more), reset, implausible (more than the link "
     "carries); null where that is not known."},
    {"changes", object, true, false, "Fields that a Set changes."},
    {"channel_count", integer, false, false,
     "Ports that send, or pairs of port and VL, of which packets hold one while they wait for another.", report::gauge()},
    {"channels", object, true, false, "A circle of ports, each held by packets that wait for the next one."},
    {"check", text, false, false,
     "What a check looks at: node (what the SA says of it), port, or errors (counters); of health the name of the check: link-slow."},
    {"check_state", text, false, false, "Whether a check was done: done, not_read (something did not answer) or skipped (ruled out)."},
    {"checked", integer, false, false, "How many were checked.", report::gauge()},
    {"checks", object, true, false, "Checks, those where all is well with -v alone; of health all."},
    {"cleared", boolean, false, false, "Counters of the port were set to zero."},
    {"command", text, false, false, "Name of the command."},
    {"complete", boolean, false, false, "False where the answer of the SA was cut on its way."},
    {"confidence", text, false, false, "How sure a finding is: sure, likely or possible."},
    {"count", integer, false, false, "What a counter holds, in its unit: of data 4 octets.", report::counter()},
    {"counter", text, false, false, "Name of a counter: a field of an attribute of performance management."},
    {"counters", object, true, false, "Counters of a port."},
    {"cpus", text, true, false, "What a host says of its processors."},
    {"credit_loops", object, false, false, "Whether packets can wait for each other in a circle."},
    {"current", object, false, false, "Numbers of what the present fabric has."},
    {"cycle", object, true, false, "Switches through which packets go round; empty where that is not the fault."},
    {"data", fields, false, false, "Fields of what attribute or structure names."},
    {"default_out_ports", integer, true, false, "Ports by which packets to multicast groups go out of which a table has no entry."},
    {"delta", integer, false, false, "What was counted since the reading before, null where that is not known.", report::gauge()},
    {"destination", object, false, false, "The end port that owns a LID, or to which packets go; null where that is not known."},
    {"destinations", object, true, false,
     "End ports to which packets go by a port; null for a port of what is no switch, and where the table was not read."},
    {"details", object, true, false, "Counters of PortXmitDiscardDetails and PortRcvErrorDetails."},
    {"device", text, false, false, "RDMA device of this host: mlx5_0."},
    {"device_id", integer, false, false, "NodeInfo.DeviceID."},
    {"devices", object, true, false, "RDMA devices of this host."},
    {"dgid", gid, false, false, "Destination GID of a path."},
    {"difference", text, false, false, "What is different: end_port, node, link, rate or lid."},
    {"differences", object, true, false, "What is new, gone or different between two fabrics."},
    {"dlid", integer, false, false, "Destination LID of a path."},
    {"dqpn", integer, false, false, "Destination queue pair of a path."},
    {"dr_dlid", integer, false, false, "DrDLID of a directed route."},
    {"dr_slid", integer, false, false, "DrSLID of a directed route."},
    {"dry_run", boolean, false, false, "Nothing was set."},
    {"duplicate_guid", boolean, false, false, "Another node claims the same node GUID."},
    {"edge_count", integer, false, false, "Pairs of ports of which packets hold the first while they wait for the second.",
     report::gauge()},
    {"edits", object, true, false, "GUIDs that were put in the place of others."},
    {"elapsed_seconds", number, false, false, "How long it took.", report::gauge("s")},
    {"end", text, false, false,
     "How a way ends: arrived, unreachable, no_entry, not_read, not_active, no_answer, wrong_port, loop, too_long or no_way."},
    {"end_port", text, false, false, "End port of this host: mlx5_0/1."},
    {"end_port_count", integer, false, false, "Number of end ports.", report::gauge()},
    {"ends", object, true, false, "The two ends of a link; of a finding about something else the nodes or ports that it is about."},
    {"enhanced_port0", boolean, false, false, "SwitchInfo.EnhancedPort0."},
    {"error", text, false, false, "What went wrong, in one line."},
    {"errors", object, true, false, "Counters of errors that are beyond their thresholds."},
    {"evidence", object, true, false, "Counters and fields that show a finding."},
    {"example", object, false, false, "A pair with the fault, null where it is not about pairs."},
    {"expected", text, false, false, "What a check expected, in words or digits."},
    {"failures", integer, false, false, "How many elements of unreachable are of this part."},
    {"fault", text, false, false,
     "Why packets do not arrive: no_entry, dead_port, loop, wrong_node or not_read; of multicast no_entry, dead_port, loop, not_reached or "
     "not_read."},
    {"field", text, false, false, "Name of a field of an attribute."},
    {"file", text, false, false, "The file that was written."},
    {"file_bytes", integer, false, false, "Its size.", report::gauge("bytes")},
    {"files", boolean, false, false, "The name of a file may stand in the place of the last word."},
    {"finding_count", integer, false, false, "Findings in which a check has a part.", report::gauge()},
    {"findings", object, true, false, "What a check found to be wrong."},
    {"firmware", text, false, false, "Firmware version of a device of this host."},
    {"flow_label", integer, false, false, "Flow label of a path."},
    {"format", text, false, false, "Name of the structure whose fields mad holds: SMPFormat."},
    {"found", text, false, false, "What a check found, in words or digits."},
    {"from", integer, false, true, "Value of a field before."},
    {"gid", gid, false, false, "GID 0 of a port: its subnet prefix and its port GUID."},
    {"greatest", integer, false, false, "Most routes that a link of the kind carries in one direction; null: some are not known.",
     report::gauge()},
    {"groups", object, true, false, "Groups of a multicast forwarding table."},
    {"gsi_umad", text, false, false, "Device of this host for GMPs: umad0."},
    {"guids", guid, true, false, "GUIDs of a port, by their index."},
    {"hardware", text, false, false, "Hardware version of a device of this host."},
    {"has_tables", boolean, false, false, "The port has VL arbitration tables."},
    {"headers", object, true, false, "Headers that stand before a MAD."},
    {"help", text, false, false, "What a word of a command line means; null: nothing is told."},
    {"hex", hex, false, false, "Bytes as they came."},
    {"high", object, true, false, "Entries of the high-priority VL arbitration table."},
    {"high_capacity", integer, false, false, "PortInfo.VLArbitrationHighCap."},
    {"hop_count", integer, false, false, "Links from port to port.", report::gauge()},
    {"hop_histogram", object, true, false, "How many pairs have ways of how many links."},
    {"hop_limit", integer, false, false, "Hop limit of a path."},
    {"hops", object, true, false, "Nodes on a way, from the first behind its source to its destination."},
    {"hoq_life", integer, false, false, "PortInfo.HOQLife."},
    {"host", text, false, false, "Name that a host gives itself."},
    {"host_count", integer, false, false, "Number of channel adapters.", report::gauge()},
    {"host_links", object, false, false, "What links between hosts and switches carry."},
    {"implausible_count", integer, false, false, "Differences of counters that are more than their link can carry, and were left out.",
     report::gauge()},
    {"in_port", integer, false, false, "Port by which packets come in."},
    {"in_ports", object, true, false, "SL to VL tables of a port, by the port at which packets come in."},
    {"incoming", object, false, false, "What the other end of a bandwidth test wrote to this one."},
    {"index", integer, false, false, "Place of a counter in a list of its name, null where it is alone."},
    {"initiated_from", object, false, false, "Port at which a sweep began."},
    {"is_on", boolean, false, false, "Adaptive routing is on; null where that was not read."},
    {"is_sm", fields, true, false, "PortInfoRecords of ports at which a subnet manager runs."},
    {"is_sm_disabled", fields, true, false, "PortInfoRecords of ports at which a subnet manager is disabled."},
    {"is_upward", boolean, false, false, "The direction away from hosts."},
    {"item", object, false, false, "With --format jsonl: an element of the list that list names."},
    {"iterations", integer, false, false, "Writes of a bandwidth test.", report::counter()},
    {"kind", text, false, false, "Kind of a path: lid, gid (with a GRH) or directed."},
    {"last_lid", integer, false, false, "Last LID of a port, whose LIDs are 2^lmc."},
    {"least", integer, false, false, "Fewest routes that a link of the kind carries in one direction; null: some are not known.",
     report::gauge()},
    {"level", text, false, false, "How bad a finding is: error, warning or info."},
    {"levels", fields, false, false, "Number of findings by level: error, warning and info."},
    {"lid", integer, false, false, "Base LID of the end port."},
    {"lid_count", integer, false, false, "Number of LIDs that ports have.", report::gauge()},
    {"lids", integer, true, false, "Destination LIDs, of multicast MLIDs."},
    {"limit", number, false, false, "What a value, or what was counted, is beyond; null: there is no one number."},
    {"link_count", integer, false, false, "Number of links.", report::gauge()},
    {"link_kind", text, false, false, "What a link joins: host (an end port and a switch) or switch (two switches)."},
    {"link_layer", text, false, false, "InfiniBand or Ethernet."},
    {"links", object, true, false, "Links in each of their directions, named by the port that sends."},
    {"list", text, false, false, "With --format jsonl: key of the list that item is an element of."},
    {"lmc", integer, false, false, "LMC of the end port."},
    {"load", object, false, false, "What links carry, with --load."},
    {"longer_count", integer, false, false, "Pairs whose way has more links than the shortest one.", report::gauge()},
    {"loops", object, true, false,
     "Sets of ports, each of which can be reached from each other one by waiting; with a shortest circle each."},
    {"lost", integer, false, false, "Pings without an answer.", report::counter()},
    {"low", object, true, false, "Entries of the low-priority VL arbitration table."},
    {"low_capacity", integer, false, false, "PortInfo.VLArbitrationLowCap."},
    {"mad", fields, false, false, "A whole MAD, in the structure that format names."},
    {"mad_description", text, false, false, "Method, class and attribute of a MAD in words."},
    {"mad_status", integer, false, false, "Status field of a MAD."},
    {"match", object, false, false, "What was asked for: names of fields, with their values as in records."},
    {"max_hops", integer, false, false, "Greatest number of hops to a node.", report::gauge()},
    {"max_rtt_ms", number, false, false, "Longest time from request to answer.", report::gauge("ms")},
    {"mean", number, false, false, "Routes that a link of the kind carries in one direction on average; null: some are not known.",
     report::gauge()},
    {"megabytes_per_second", number, false, false, "Millions of bytes a second.", report::gauge("10^6 bytes/s")},
    {"member_count", integer, false, false, "Members of all groups together.", report::gauge()},
    {"message", text, false, false, "A finding as a sentence."},
    {"message_bytes", integer, false, false, "Bytes of one write of a bandwidth test."},
    {"method", text, false, false, "Name of an RPC: SubnGet."},
    {"min_rtt_ms", number, false, false, "Shortest time from request to answer.", report::gauge("ms")},
    {"mlid", integer, false, false, "Multicast LID."},
    {"mlid_count", integer, false, false, "MLIDs that multicast forwarding tables have, or to which the SA names members.",
     report::gauge()},
    {"modifier", integer, false, false, "Attribute modifier of a request."},
    {"multicast", object, false, false, "What was found out about multicast groups."},
    {"needs_aggregation", boolean, false, false, "Without routes between Aggregation Nodes there would be no circle."},
    {"new_guid", guid, false, false, "GUID that was put in the place of old_guid."},
    {"no_lid_count", integer, false, false, "End ports with an Active link that have no LID.", report::gauge()},
    {"node_count", integer, false, false, "Number of nodes.", report::gauge()},
    {"node_description", text, false, false, "What a node says of itself."},
    {"node_guid", guid, false, false, "NodeInfo.NodeGUID."},
    {"node_name", text, false, false, "Name that the site's map has for a node."},
    {"node_type", integer, false, true, "NodeInfo.NodeType."},
    {"nodes", object, true, false, "Nodes of the fabric."},
    {"nodes_bad", integer, false, false, "Nodes with errors.", report::gauge()},
    {"nodes_checked", integer, false, false, "Nodes whose counters were to be read.", report::gauge()},
    {"not_compared", object, false, false,
     "How many objects are not compared, since one of the two fabrics does not tell whether it has them."},
    {"not_read", object, true, false, "What is not known, since a table was not read. No findings."},
    {"num_ports", integer, false, false, "NodeInfo.NumPorts."},
    {"old_guid", guid, false, false, "GUID that new_guid took the place of."},
    {"operation", text, false, false, "What the command was to do, in its own words."},
    {"out_port", integer, false, false, "Port by which packets go out."},
    {"out_ports", integer, true, false, "Ports by which packets to a multicast group go out."},
    {"outgoing", object, false, false, "What this end of a bandwidth test wrote to the other one."},
    {"pair_count", integer, false, false, "Pairs of a sender and a destination LID.", report::gauge()},
    {"part", text, false, false, "Part of a snapshot: topology, ports, lft, ..., as --only and --skip name it."},
    {"parts", object, true, false, "Parts of a snapshot that were read."},
    {"path", object, false, false, "The path of a request; see PATHS."},
    {"peer", object, false, false, "The port at the other end of a link."},
    {"peer_address", text, false, false, "Internet address of the other end of a bandwidth test."},
    {"per_second", number, false, false, "delta by the seconds that it took.", report::gauge()},
    {"phys_state", integer, false, true, "PortInfo.PortPhysicalState.", report::state()},
    {"pings", object, true, false, "Each ping."},
    {"pkey", integer, false, false, "P_Key of a path."},
    {"pkeys", integer, true, false, "P_Keys of a port, by their index."},
    {"planned", integer, false, false, "Requests that were to be sent, as far as they were known before.", report::counter()},
    {"port_by_lid", integer, true, false, "Linear forwarding table: output port by LID, null where packets to a LID are dropped."},
    {"port_count", integer, false, false, "Number of ports that told their PortInfo.", report::gauge()},
    {"port_guid", guid, false, false, "NodeInfo.PortGUID of the end port."},
    {"port_label", text, false, false, "What is printed on the box beside a port; null where that is not known."},
    {"port_num", integer, false, false, "Number of a port on its node."},
    {"ports", object, true, false, "Ports of a node or a device, or those that the command was to act on."},
    {"ports_bad", integer, false, false, "Ports with errors.", report::gauge()},
    {"ports_checked", integer, false, false, "Ports whose counters were to be read.", report::gauge()},
    {"ports_failed", integer, false, false, "Ports that could not be set."},
    {"ports_set", integer, false, false, "Ports that were set."},
    {"provable_error_ratio", number, false, false,
     "Errors a bit below which a link without errors is with a confidence of 95 %; without a link the slowest one.", report::gauge()},
    {"rate_mbps", number, false, false, "Signalling rate of the link in Mb/s.", report::gauge("Mb/s")},
    {"readings", object, true, false, "What was read again and again."},
    {"reason", text, false, false,
     "Why something is not known: no_answer, refused, false_answer, duplicate_guid, duplicate_lid, hop_limit, no_record or not_read; of a "
     "check of health in words."},
    {"received", integer, false, false, "Pings that were answered.", report::counter()},
    {"records", fields, true, false, "Structures of the kind that attribute names."},
    {"reference", object, false, false, "Numbers of what the stored fabric has."},
    {"refused", integer, false, false, "Requests that were refused: what is asked for is not there.", report::counter()},
    {"relation", text, false, false, "How found should be to expected: equal, not_equal or at_most."},
    {"remedy", text, false, false, "What to do about a finding."},
    {"request", text, false, false, "A request by its name in ibtool query, with its attribute: PerformanceSet(PMPortCounters)."},
    {"revision", integer, false, false, "NodeInfo.Revision."},
    {"role", text, false, false, "Role in a bandwidth test: client or server."},
    {"route", integer, true, false,
     "Output ports of a directed route, from the first hop on; of a node null where its route from this host is not known."},
    {"route_count", integer, false, false, "Pairs whose packets a link carries in one direction, of those that are known.",
     report::gauge()},
    {"routed_lids", integer, false, false, "LIDs of end ports to which packets go out by a port.", report::gauge()},
    {"routes", object, true, false, "Entries of a linear forwarding table: packets to dlid go out by out_port."},
    {"rtt_ms", number, false, false, "Time from request to answer, null where none came.", report::gauge("ms")},
    {"saturated", boolean, false, false, "The counter holds all that it can: more may have been counted."},
    {"schema", integer, false, false, "Version of these words: 3."},
    {"script", text, false, false, "A script that a shell runs to complete command lines."},
    {"seconds", number, false, false, "Time since the reading before, of a port since the one before that was not lost; null at the first.",
     report::gauge("s")},
    {"seq", integer, false, false, "Number of a ping, from 1."},
    {"sets", object, true, false, "Sets that --dry-run kept back, in the order in which they would have been sent."},
    {"severity", text, false, false, "error or warning."},
    {"sgid", gid, false, false, "Source GID of a path."},
    {"shell", text, false, false, "bash, zsh or fish."},
    {"silent_lids", integer, true, false, "LIDs that did not tell whose they are."},
    {"sl", integer, false, false, "Service level of a path."},
    {"sl_to_vl", integer, true, false, "Virtual lane by service level."},
    {"slid", integer, false, false, "Source LID of a path."},
    {"sm_lid", integer, false, false, "LID of the port's subnet manager."},
    {"sm_sl", integer, false, false, "Service level to the port's subnet manager."},
    {"smi_umad", text, false, false, "Device of this host for SMPs: umad0."},
    {"source", object, false, false, "The end port that packets come from, null where that is not known."},
    {"source_count", integer, false, false, "Ports that send.", report::gauge()},
    {"speed", number, false, true, "Speed of the link: Mb/s of a lane.", report::gauge("Mb/s of a lane")},
    {"state", integer, false, true, "PortInfo.PortState.", report::state()},
    {"status", integer, false, false, "Exit status of the command."},
    {"structure", text, false, false, "Name of the structure whose fields data holds, where that is no attribute."},
    {"summary", object, true, false, "Numbers of what was checked, by check."},
    {"suppressed", text, true, false, "Counters that were no errors, whatever they hold."},
    {"switch_count", integer, false, false, "Number of switches.", report::gauge()},
    {"switch_links", object, false, false, "What links between switches carry."},
    {"switches", object, true, false, "Switches, with what was read of their forwarding tables."},
    {"sysfs_rate", text, false, false, "The kernel's words for the rate of a port: 40 Gb/sec (4X QDR)."},
    {"system_image_guid", guid, false, false, "NodeInfo.SystemImageGUID."},
    {"text", text, false, false, "What was seen, and why it matters."},
    {"threshold", integer, false, false, "Greatest count that is no error."},
    {"thresholds", object, true, false, "Thresholds of counters."},
    {"tier", integer, false, false, "Distance of the lower end of links from switches with hosts."},
    {"tiers", object, true, false, "What links between switches carry, by tier and direction; empty where the fabric has no tiers."},
    {"time", text, false, false, "When a reading began, in UTC: 2026-11-23T19:47:57.250Z."},
    {"time_ms", number, false, false, "How long it took.", report::gauge("ms")},
    {"to", integer, false, true, "Value of a field afterwards."},
    {"top", integer, false, false, "SwitchInfo.LinearFDBTop."},
    {"traces", object, true, false, "Ways of packets."},
    {"traffic", object, true, false, "Counters of data and packets."},
    {"traffic_class", integer, false, false, "Traffic class of a path."},
    {"transmitted", integer, false, false, "Pings that were sent.", report::counter()},
    {"umad", fields, false, false, "Header of a packet at /dev/infiniband/umadN, with the kernel's names."},
    {"unicast", object, false, false, "What was found out about unicast routes."},
    {"unknown_count", integer, false, false, "Pairs of which a table that was not read, or an SL that is not known, decides.",
     report::gauge()},
    {"unreachable", object, true, false, "What was not read, and why."},
    {"unread_switch_count", integer, false, false, "Switches whose multicast table was not read, or not wholly.", report::gauge()},
    {"unrequested_lids", integer, true, false, "LIDs that were not asked whose they are, because the time for that was up."},
    {"unresolved_count", integer, false, false, "Members of groups, by the SA, with GUIDs that no port of the fabric has: not checked.",
     report::gauge()},
    {"unused", integer, false, false, "Links of the kind that carry nothing in one direction; null: some routes are not known.",
     report::gauge()},
    {"value_after", number, false, true, "What a counter or field holds; of a speed Mb/s of a lane."},
    {"value_before", number, false, true, "What a counter held at the reading before; null: there was none, or it is a field."},
    {"vendor_id", integer, false, false, "NodeInfo.VendorID."},
    {"verdict", text, false, false,
     "What a check comes to: ok, warning or failed; on credit loops free, free_for_used_sls, possible, found or not_read; of health "
     "healthy, findings or unknown."},
    {"vl", integer, false, false, "Virtual lane."},
    {"vl_stall_count", integer, false, false, "PortInfo.VLStallCount."},
    {"weight", integer, false, false, "Weight of a VL arbitration entry."},
    {"which_end", integer, false, false, "Index in ends."},
    {"width", integer, false, true, "Width of the link: lanes.", report::gauge("lanes")},
    {"window_seconds", number, false, false, "Time between the two readings of a port, the shortest of all ports.", report::gauge("s")},
    {"witnesses", object, true, false, "For each port of a circle a pair whose packets hold it and wait for the next one."},
    {"word", text, false, false, "A word that may stand in the place of the last one of a command line."},
    {"words", object, true, false, "The words that may stand in the place of the last one of a command line."},
};
static_assert(std::ranges::is_sorted(table, {}, &JsonWord::key));

/// JsonWord, member by member.
struct StoredWord {
  StoredText key, meaning, unit;
  JsonType type;
  bool list, coded;
  report::Measure::Kind kind;
};

constexpr std::size_t size_of_texts = [] {
  std::size_t size = 0;
  for (const JsonWord& word : table) size += word.key.size() + word.meaning.size() + word.measure.unit.size();
  return size;
}();

struct StoredWords {
  std::array<char, size_of_texts> texts{};
  std::array<StoredWord, std::size(table)> words{};
};

constexpr StoredWords stored_words = [] {
  StoredWords stored;
  std::uint32_t end = 0;
  const auto store = [&](std::string_view text) {
    std::ranges::copy(text, stored.texts.begin() + end);
    const StoredText part{end & 0xffffffU, static_cast<std::uint8_t>(text.size())};
    if (part.size != text.size()) throw text;  // does not compile
    end += part.size;
    return part;
  };
  std::ranges::transform(table, stored.words.begin(), [&](const JsonWord& word) {
    return StoredWord{store(word.key), store(word.meaning), store(word.measure.unit), word.type, word.list, word.coded, word.measure.kind};
  });
  return stored;
}();

}  // namespace

std::span<const JsonWord> json_words() {
  static const std::vector<JsonWord> words = [] {
    const auto text = [](StoredText part) { return part.in(stored_words.texts.data()); };
    std::vector<JsonWord> made;
    made.reserve(stored_words.words.size());
    for (const StoredWord& word : stored_words.words)
      made.push_back({text(word.key), word.type, word.list, word.coded, text(word.meaning), {word.kind, text(word.unit)}});
    return made;
  }();
  return words;
}

const JsonWord* find_json_word(std::string_view key) {
  const auto found = std::ranges::lower_bound(json_words(), key, {}, &JsonWord::key);
  return found != json_words().end() && found->key == key ? &*found : nullptr;
}

report::Measure measure_of(std::string_view key) {
  const JsonWord* word = find_json_word(key);
  return word != nullptr ? word->measure : report::Measure{};
}

std::string_view type_name(const JsonWord& word) {
  constexpr std::array<std::string_view, 9> one{"boolean", "integer", "number", "text", "GUID", "GID", "hex digits", "object", "structure"};
  constexpr std::array<std::string_view, 9> list{"boolean",       "list of integers", "list of numbers",
                                                 "list of texts", "list of GUIDs",    "list of GIDs",
                                                 "hex digits",    "list of objects",  "list of structures"};
  static_assert(static_cast<std::size_t>(fields) + 1 == one.size());
  return (word.list ? list : one)[static_cast<std::size_t>(word.type)];
}

}  // namespace ib::tools
