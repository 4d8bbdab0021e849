// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/frame/json_words.hpp"

#include <algorithm>

namespace ib::tools {
namespace {

using enum JsonType;

// key, type, list, coded, meaning
constexpr JsonWord table[] = {
    {"after", object, false, false, "A node, port or link in the fabric of which the report is; null: it is not there."},
    {"all_ports", object, false, false, "What all ports of a node have counted together."},
    {"answered", integer, false, false, "Requests that were answered; of tables of the SA tables.", out::counter()},
    {"answers", integer, false, false, "How many answers a file holds."},
    {"attribute", text, false, false,
     "The attribute that a request was for, or whose fields data or records hold, by its name in ibtool query: SMPPortInfo."},
    {"avg_rtt_ms", number, false, false, "Mean time from request to answer.", out::gauge("ms")},
    {"bad", integer, false, false, "How many of what was checked are bad.", out::gauge()},
    {"balanced", boolean, false, false,
     "The ports of the switch that lead to other switches carry alike, null where its table was not read."},
    {"before", object, false, false, "A node, port or link in the stored fabric; null: it is not there."},
    {"best_speed", number, false, true, "The highest speed that both ends of the link support: Mb/s of a lane.",
     out::gauge("Mb/s of a lane")},
    {"best_width", integer, false, true, "The greatest width that both ends of the link support: lanes.", out::gauge("lanes")},
    {"beyond", boolean, false, false, "What did not answer is the node at the other end of the port."},
    {"bidirectional", boolean, false, false, "Both ends wrote at the same time."},
    {"board_id", text, false, false, "Board of a device of this host."},
    {"bytes", integer, false, false, "Bytes written in one direction.", out::counter("bytes")},
    {"ca_type", text, false, false, "Type of a device of this host."},
    {"capability_mask", integer, false, true, "PortInfo.CapabilityMask."},
    {"capacity", integer, false, false, "Entries that a table has room for, null where that was not read."},
    {"changes", object, true, false, "Fields that a Set changes."},
    {"check", text, false, false, "What a check looks at: node (what the SA says of it), port, or errors (counters)."},
    {"checked", integer, false, false, "How many were checked.", out::gauge()},
    {"checks", object, true, false, "Checks, those where all is well with -v alone."},
    {"cleared", boolean, false, false, "Counters of the port were set to zero."},
    {"command", text, false, false, "Name of the command."},
    {"complete", boolean, false, false, "False where the answer of the SA was cut on its way."},
    {"count", integer, false, false, "What a counter holds, in its unit: of data 4 octets.", out::counter()},
    {"counter", text, false, false, "Name of a counter: a field of an attribute of performance management."},
    {"counters", object, true, false, "Counters of a port."},
    {"cpus", text, true, false, "What a host says of its processors."},
    {"current", object, false, false, "Numbers of what the present fabric has."},
    {"data", fields, false, false, "Fields of what attribute or structure names."},
    {"default_out_ports", integer, true, false, "Ports by which packets to multicast groups go out of which a table has no entry."},
    {"delta", integer, false, false, "What was counted since the reading before, null where that is not known.", out::gauge()},
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
    {"edits", object, true, false, "GUIDs that were put in the place of others."},
    {"elapsed_seconds", number, false, false, "How long it took.", out::gauge("s")},
    {"end", text, false, false,
     "How a way ends: arrived, unreachable, no_entry, not_read, not_active, no_answer, wrong_port, loop, too_long or no_way."},
    {"end_port", text, false, false, "End port of this host: mlx5_0/1."},
    {"end_port_count", integer, false, false, "Number of end ports.", out::gauge()},
    {"ends", object, true, false, "The two ends of a link."},
    {"enhanced_port0", boolean, false, false, "SwitchInfo.EnhancedPort0."},
    {"error", text, false, false, "What went wrong, in one line."},
    {"errors", object, true, false, "Counters of errors that are beyond their thresholds."},
    {"expected", text, false, false, "What a check expected, in words or digits."},
    {"failures", integer, false, false, "How many elements of unreachable are of this part."},
    {"field", text, false, false, "Name of a field of an attribute."},
    {"file", text, false, false, "The file that was written."},
    {"file_bytes", integer, false, false, "Its size.", out::gauge("bytes")},
    {"findings", object, true, false, "What a check found to be wrong."},
    {"firmware", text, false, false, "Firmware version of a device of this host."},
    {"flow_label", integer, false, false, "Flow label of a path."},
    {"format", text, false, false, "Name of the structure whose fields mad holds: SMPFormat."},
    {"found", text, false, false, "What a check found, in words or digits."},
    {"from", integer, false, true, "Value of a field before."},
    {"gid", gid, false, false, "GID 0 of a port: its subnet prefix and its port GUID."},
    {"groups", object, true, false, "Groups of a multicast forwarding table."},
    {"gsi_umad", text, false, false, "Device of this host for GMPs: umad0."},
    {"guids", guid, true, false, "GUIDs of a port, by their index."},
    {"hardware", text, false, false, "Hardware version of a device of this host."},
    {"has_tables", boolean, false, false, "The port has VL arbitration tables."},
    {"headers", object, true, false, "Headers that stand before a MAD."},
    {"hex", hex, false, false, "Bytes as they came."},
    {"high", object, true, false, "Entries of the high-priority VL arbitration table."},
    {"high_capacity", integer, false, false, "PortInfo.VLArbitrationHighCap."},
    {"hop_limit", integer, false, false, "Hop limit of a path."},
    {"hops", object, true, false, "Nodes on a way, from the first behind its source to its destination."},
    {"hoq_life", integer, false, false, "PortInfo.HOQLife."},
    {"host", text, false, false, "Name that a host gives itself."},
    {"in_port", integer, false, false, "Port by which packets come in."},
    {"in_ports", object, true, false, "SL to VL tables of a port, by the port at which packets come in."},
    {"incoming", object, false, false, "What the other end of a bandwidth test wrote to this one."},
    {"index", integer, false, false, "Place of a counter in a list of its name, null where it is alone."},
    {"initiated_from", object, false, false, "Port at which a sweep began."},
    {"is_sm", fields, true, false, "PortInfoRecords of ports at which a subnet manager runs."},
    {"is_sm_disabled", fields, true, false, "PortInfoRecords of ports at which a subnet manager is disabled."},
    {"item", object, false, false, "With --format jsonl: an element of the list that list names."},
    {"iterations", integer, false, false, "Writes of a bandwidth test.", out::counter()},
    {"kind", text, false, false, "Kind of a path: lid, gid (with a GRH) or directed."},
    {"last_lid", integer, false, false, "Last LID of a port, whose LIDs are 2^lmc."},
    {"lid", integer, false, false, "Base LID of the end port."},
    {"lid_count", integer, false, false, "Number of LIDs that ports have.", out::gauge()},
    {"link_count", integer, false, false, "Number of links.", out::gauge()},
    {"link_layer", text, false, false, "InfiniBand or Ethernet."},
    {"list", text, false, false, "With --format jsonl: key of the list that item is an element of."},
    {"lmc", integer, false, false, "LMC of the end port."},
    {"lost", integer, false, false, "Pings without an answer.", out::counter()},
    {"low", object, true, false, "Entries of the low-priority VL arbitration table."},
    {"low_capacity", integer, false, false, "PortInfo.VLArbitrationLowCap."},
    {"mad", fields, false, false, "A whole MAD, in the structure that format names."},
    {"mad_description", text, false, false, "Method, class and attribute of a MAD in words."},
    {"mad_status", integer, false, false, "Status field of a MAD."},
    {"match", object, false, false, "What was asked for: names of fields, with their values as in records."},
    {"max_hops", integer, false, false, "Greatest number of hops to a node.", out::gauge()},
    {"max_rtt_ms", number, false, false, "Longest time from request to answer.", out::gauge("ms")},
    {"megabytes_per_second", number, false, false, "Millions of bytes a second.", out::gauge("10^6 bytes/s")},
    {"message", text, false, false, "A finding as a sentence."},
    {"message_bytes", integer, false, false, "Bytes of one write of a bandwidth test."},
    {"method", text, false, false, "Name of an RPC: SubnGet."},
    {"min_rtt_ms", number, false, false, "Shortest time from request to answer.", out::gauge("ms")},
    {"mlid", integer, false, false, "Multicast LID."},
    {"modifier", integer, false, false, "Attribute modifier of a request."},
    {"new_guid", guid, false, false, "GUID that was put in the place of old_guid."},
    {"node_count", integer, false, false, "Number of nodes.", out::gauge()},
    {"node_description", text, false, false, "What a node says of itself."},
    {"node_guid", guid, false, false, "NodeInfo.NodeGUID."},
    {"node_name", text, false, false, "Name that the site's map has for a node."},
    {"node_type", integer, false, true, "NodeInfo.NodeType."},
    {"nodes", object, true, false, "Nodes of the fabric."},
    {"nodes_bad", integer, false, false, "Nodes with errors.", out::gauge()},
    {"nodes_checked", integer, false, false, "Nodes whose counters were to be read.", out::gauge()},
    {"num_ports", integer, false, false, "NodeInfo.NumPorts."},
    {"old_guid", guid, false, false, "GUID that new_guid took the place of."},
    {"operation", text, false, false, "What the command was to do, in its own words."},
    {"out_port", integer, false, false, "Port by which packets go out."},
    {"out_ports", integer, true, false, "Ports by which packets to a multicast group go out."},
    {"outgoing", object, false, false, "What this end of a bandwidth test wrote to the other one."},
    {"part", text, false, false, "Part of a snapshot: topology, ports, lft, ..., as --only and --skip name it."},
    {"parts", object, true, false, "Parts of a snapshot that were read."},
    {"path", object, false, false, "The path of a request; see PATHS."},
    {"peer", object, false, false, "The port at the other end of a link."},
    {"peer_address", text, false, false, "Internet address of the other end of a bandwidth test."},
    {"per_second", number, false, false, "delta by the seconds that it took.", out::gauge()},
    {"phys_state", integer, false, true, "PortInfo.PortPhysicalState.", out::state()},
    {"pings", object, true, false, "Each ping."},
    {"pkey", integer, false, false, "P_Key of a path."},
    {"pkeys", integer, true, false, "P_Keys of a port, by their index."},
    {"planned", integer, false, false, "Requests that were to be sent, as far as they were known before.", out::counter()},
    {"port_by_lid", integer, true, false, "Linear forwarding table: output port by LID, null where packets to a LID are dropped."},
    {"port_count", integer, false, false, "Number of ports that told their PortInfo.", out::gauge()},
    {"port_guid", guid, false, false, "NodeInfo.PortGUID of the end port."},
    {"port_num", integer, false, false, "Number of a port on its node."},
    {"ports", object, true, false, "Ports of a node or a device, or those that the command was to act on."},
    {"ports_bad", integer, false, false, "Ports with errors.", out::gauge()},
    {"ports_checked", integer, false, false, "Ports whose counters were to be read.", out::gauge()},
    {"ports_failed", integer, false, false, "Ports that could not be set."},
    {"ports_set", integer, false, false, "Ports that were set."},
    {"rate_mbps", number, false, false, "Signalling rate of the link in Mb/s.", out::gauge("Mb/s")},
    {"readings", object, true, false, "What was read again and again."},
    {"reason", text, false, false,
     "Why something is not known: no_answer, refused, false_answer, duplicate_guid, duplicate_lid, hop_limit, no_record or not_read."},
    {"received", integer, false, false, "Pings that were answered.", out::counter()},
    {"records", fields, true, false, "Structures of the kind that attribute names."},
    {"reference", object, false, false, "Numbers of what the stored fabric has."},
    {"refused", integer, false, false, "Requests that were refused: what is asked for is not there.", out::counter()},
    {"relation", text, false, false, "How found should be to expected: equal, not_equal or at_most."},
    {"request", text, false, false, "A request by its name in ibtool query, with its attribute: PerformanceSet(PMPortCounters)."},
    {"revision", integer, false, false, "NodeInfo.Revision."},
    {"role", text, false, false, "Role in a bandwidth test: client or server."},
    {"route", integer, true, false,
     "Output ports of a directed route, from the first hop on; of a node null where its route from this host is not known, as after a "
     "sweep that "
     "began at a LID."},
    {"routed_lids", integer, false, false, "LIDs of end ports to which packets go out by a port.", out::gauge()},
    {"routes", object, true, false, "Entries of a linear forwarding table: packets to dlid go out by out_port."},
    {"rtt_ms", number, false, false, "Time from request to answer, null where none came.", out::gauge("ms")},
    {"saturated", boolean, false, false, "The counter holds all that it can: more may have been counted."},
    {"schema", integer, false, false, "Version of these words: 3."},
    {"seconds", number, false, false, "Time since the reading before, of a port since the one before that was not lost; null at the first.",
     out::gauge("s")},
    {"seq", integer, false, false, "Number of a ping, from 1."},
    {"sets", object, true, false, "Sets that --dry-run kept back, in the order in which they would have been sent."},
    {"severity", text, false, false, "error or warning."},
    {"sgid", gid, false, false, "Source GID of a path."},
    {"silent_lids", integer, true, false, "LIDs that did not tell whose they are."},
    {"sl", integer, false, false, "Service level of a path."},
    {"sl_to_vl", integer, true, false, "Virtual lane by service level."},
    {"slid", integer, false, false, "Source LID of a path."},
    {"sm_lid", integer, false, false, "LID of the port's subnet manager."},
    {"sm_sl", integer, false, false, "Service level to the port's subnet manager."},
    {"smi_umad", text, false, false, "Device of this host for SMPs: umad0."},
    {"source", object, false, false, "The end port that packets come from, null where that is not known."},
    {"speed", number, false, true, "Speed of the link: Mb/s of a lane.", out::gauge("Mb/s of a lane")},
    {"state", integer, false, true, "PortInfo.PortState.", out::state()},
    {"status", integer, false, false, "Exit status of the command."},
    {"structure", text, false, false, "Name of the structure whose fields data holds, where that is no attribute."},
    {"summary", object, true, false, "Numbers of what was checked, by check."},
    {"suppressed", text, true, false, "Counters that were no errors, whatever they hold."},
    {"switches", object, true, false, "Switches, with what was read of their forwarding tables."},
    {"sysfs_rate", text, false, false, "The kernel's words for the rate of a port: 40 Gb/sec (4X QDR)."},
    {"system_image_guid", guid, false, false, "NodeInfo.SystemImageGUID."},
    {"threshold", integer, false, false, "Greatest count that is no error."},
    {"thresholds", object, true, false, "Thresholds of counters."},
    {"time", text, false, false, "When a reading began, in UTC: 2026-11-23T19:47:57.250Z."},
    {"time_ms", number, false, false, "How long it took.", out::gauge("ms")},
    {"to", integer, false, true, "Value of a field afterwards."},
    {"top", integer, false, false, "SwitchInfo.LinearFDBTop."},
    {"traces", object, true, false, "Ways of packets."},
    {"traffic", object, true, false, "Counters of data and packets."},
    {"traffic_class", integer, false, false, "Traffic class of a path."},
    {"transmitted", integer, false, false, "Pings that were sent.", out::counter()},
    {"umad", fields, false, false, "Header of a packet at /dev/infiniband/umadN, with the kernel's names."},
    {"unreachable", object, true, false, "What was not read, and why."},
    {"unrequested_lids", integer, true, false, "LIDs that were not asked whose they are, because the time for that was up."},
    {"vendor_id", integer, false, false, "NodeInfo.VendorID."},
    {"verdict", text, false, false, "What a check comes to: ok, warning or failed."},
    {"vl", integer, false, false, "Virtual lane."},
    {"vl_stall_count", integer, false, false, "PortInfo.VLStallCount."},
    {"weight", integer, false, false, "Weight of a VL arbitration entry."},
    {"width", integer, false, true, "Width of the link: lanes.", out::gauge("lanes")},
};
static_assert(std::ranges::is_sorted(table, {}, &JsonWord::key));

}  // namespace

std::span<const JsonWord> json_words() { return table; }

const JsonWord* find_json_word(std::string_view key) {
  const auto* found = std::ranges::lower_bound(table, key, {}, &JsonWord::key);
  return found != std::end(table) && found->key == key ? found : nullptr;
}

out::Measure measure_of(std::string_view key) {
  const JsonWord* word = find_json_word(key);
  return word != nullptr ? word->measure : out::Measure{};
}

std::string_view type_name(const JsonWord& word) {
  switch (word.type) {
    case boolean:
      return "boolean";
    case integer:
      return word.list ? "list of integers" : "integer";
    case number:
      return word.list ? "list of numbers" : "number";
    case text:
      return word.list ? "list of texts" : "text";
    case guid:
      return word.list ? "list of GUIDs" : "GUID";
    case gid:
      return word.list ? "list of GIDs" : "GID";
    case hex:
      return "hex digits";
    case object:
      return word.list ? "list of objects" : "object";
    case fields:
      return word.list ? "list of structures" : "structure";
  }
  return "";
}

}  // namespace ib::tools
