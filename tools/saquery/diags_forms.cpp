// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/saquery/diags_forms.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/escape.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/smp.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "tools/saquery/option_tables.hpp"
#include "tools/shared/diags_name.hpp"

namespace ib::tools::saquery {

/// The lines of one record: "<tab><tab>label....value".
class RecordLines {
 public:
  RecordLines(std::size_t column, const RecordStyle& record_style) : style(record_style), column_(column) {}

  const RecordStyle& style;

  void line(std::string_view label, std::string_view value) { text_ += fmt::format("\t\t{:.<{}}{}\n", label, column_, value); }
  void line(std::string_view label, fmt::format_string<std::uint64_t&> format, std::uint64_t number) {
    line(label, fmt::format(format, number));
  }
  void line(std::string_view label, std::uint64_t number) { line(label, "{}", number); }
  void line(std::string_view label, Lid lid) { line(label, lid.value); }
  void line(std::string_view label, Guid guid) { line(label, "0x{:016x}", guid.value); }
  void line(std::string_view label, const Gid& gid) { line(label, to_text(gid)); }
  void secret(std::string_view label, const std::string& key) { line(label, style.keys == Keys::shown ? key : std::string(hidden_text)); }
  /// Adds whole lines.
  void lines(std::string_view whole) { text_ += whole; }

  std::string take() { return std::move(text_); }

 private:
  std::size_t column_;
  std::string text_;
};

namespace {

constexpr std::size_t usual = 24, wide = 27;

struct WordPart {
  std::uint64_t value;
  unsigned bits;
};

/// The word that consists of these fields, the most significant first.
constexpr std::uint64_t word_of(std::initializer_list<WordPart> fields) {
  std::uint64_t word = 0;
  for (const auto& [value, bits] : fields) word = word << bits | value;
  return word;
}

/// The byte of a value and its selector.
template <class T>
constexpr std::uint64_t selected(sa::Selector selector, T value) {
  return word_of({{static_cast<std::uint64_t>(selector), 2}, {static_cast<std::uint64_t>(value), selected_bits}});
}

void class_port_info(RecordLines& out, const mad::ClassPortInfo& info) {
  out.line("Base version", info.base_version);
  out.line("Class version", info.class_version);
  out.line("Capability mask", "0x{:04X}", info.capability_mask);
  out.line("Capability mask 2", "0x{:08X}", info.capability_mask2);
  out.line("Response time value", "0x{:02X}", info.resp_time_value);
  out.line("Redirect GID", info.redirect_gid);
  out.line("Redirect TC/SL/FL", "0x{:08X}", word_of({{info.redirect_tc, 8}, {info.redirect_sl, 4}, {info.redirect_fl, 20}}));
  out.line("Redirect LID", info.redirect_lid);
  out.line("Redirect PKey", "0x{:04X}", info.redirect_p_key);
  out.line("Redirect QP", "0x{:08X}", word_of({{info.reserved_256, 8}, {info.redirect_qp, 24}}));
  out.line("Redirect QKey", "0x{:08X}", info.redirect_q_key);
  out.line("Trap GID", info.trap_gid);
  out.line("Trap TC/SL/FL", "0x{:08X}", word_of({{info.trap_tc, 8}, {info.trap_sl, 4}, {info.trap_fl, 20}}));
  out.line("Trap LID", info.trap_lid);
  out.line("Trap PKey", "0x{:04X}", info.trap_p_key);
  out.line("Trap HL/QP", "0x{:08X}", word_of({{info.trap_hl, 8}, {info.trap_qp, 24}}));
  out.line("Trap QKey", "0x{:08X}", info.trap_q_key);
}

void node_record(RecordLines& out, const sa::NodeRecord& record) {
  constexpr std::array<std::string_view, 4> types{"UNKNOWN", "Channel Adapter", "Switch", "Router"};
  const smp::NodeInfo& info = record.node_info;
  const auto type = static_cast<std::size_t>(info.node_type);
  out.line("lid", record.lid);
  out.line("reserved", "0x{:X}", record.reserved_16);
  out.line("base_version", "0x{:X}", info.base_version);
  out.line("class_version", "0x{:X}", info.class_version);
  out.line("node_type", types[type < types.size() ? type : 0]);
  out.line("num_ports", info.num_ports);
  out.line("sys_guid", info.system_image_guid);
  out.line("node_guid", info.node_guid);
  out.line("port_guid", info.port_guid);
  out.line("partition_cap", "0x{:X}", info.partition_cap);
  out.line("device_id", "0x{:X}", info.device_id);
  out.line("revision", "0x{:X}", info.revision);
  out.line("port_num", info.local_port_num);
  out.line("vendor_id", "0x{:X}", info.vendor_id);
  out.line("NodeDescription", node_name(record, out.style.names));
}

void port_info_record(RecordLines& out, const sa::PortInfoRecord& record) {
  out.lines("\tRID\n");
  out.line("EndPortLid", record.endport_lid);
  out.line("PortNum", record.port_num);
  out.line("Options", "0x{:x}", record.options);
  out.lines("\tPortInfo dump:\n");
  const std::string listing = libibmad_listing(wire::packed(record.port_info), smp::PortInfo::info(), out.style.keys, out.style.new_fields);
  // Each field has two tabs before it. The names of single bits are on lines of their own, which already have tabs.
  for (std::size_t at = 0; at < listing.size();) {
    const std::size_t end = listing.find('\n', at) + 1;
    out.lines((listing[at] == '\t' ? "" : "\t\t") + listing.substr(at, end - at));
    at = end;
  }
}

void port_summary(RecordLines& out, const sa::PortInfoRecord& record) {
  out.line("EndPortLid", record.endport_lid);
  out.line("PortNum", record.port_num);
  out.line("base_lid", record.port_info.lid);
  out.line("master_sm_base_lid", record.port_info.master_sm_lid);
  out.line("capability_mask", "0x{:X}", record.port_info.capability_mask);
}

void sl2vl_record(RecordLines& out, const sa::SLToVLMappingTableRecord& record) {
  out.line("LID", record.lid);
  out.line("InPort", record.input_port_num);
  out.line("OutPort", record.output_port_num);
  out.lines("\t\tSL: 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|\n\t\tVL:");
  out.lines(libibmad_sl_to_vl(wire::packed(record.sl_to_vl_mapping_table)).substr(1));
}

void pkey_table_record(RecordLines& out, const sa::PKeyTableRecord& record) {
  out.line("LID", record.lid);
  out.line("Port", record.port_num);
  out.line("Block", record.block_num);
  out.lines("\t\tPKey Table:\n");
  const auto& keys = record.p_key_table.p_key_block;
  for (std::size_t i = 0; i < keys.size(); ++i)
    out.lines(fmt::format("{}0x{:04x}{}", i % 8 == 0 ? "\t\t" : " ", keys[i], i % 8 == 7 ? "\n" : ""));
  out.lines("\n");
}

void vl_arbitration_record(RecordLines& out, const sa::VLArbitrationTableRecord& record) {
  out.line("LID", record.lid);
  out.line("Port", record.output_port_num);
  out.line("Block", record.block_num);
  for (const std::size_t first : {0U, 16U}) {
    std::string vls = "\t\tVL    :", weights = "\t\tWeight:";
    for (const unsigned entry : std::span(record.vl_arbitration_table.vl_weight_block).subspan(first, 16)) {
      vls += fmt::format("{:2}|", entry >> 8U);
      weights += fmt::format("{:2}|", entry & 0xffU);
    }
    out.lines(vls + '\n' + weights + '\n');
  }
}

void inform_info_record(RecordLines& out, const sa::InformInfoRecord& record) {
  const mad::InformInfo& info = record.inform_info;
  const bool generic = info.is_generic != 0;
  out.lines("\t\tRID\n");
  out.line("SubscriberGID", record.subscriber_gid);
  out.line("SubscriberEnum", "0x{:X}", record.enumeration);
  out.lines("\t\tInformInfo dump:\n");
  out.line("gid", info.gid);
  out.line("lid_range_begin", info.lid_range_begin);
  out.line("lid_range_end", info.lid_range_end);
  out.line("is_generic", "0x{:X}", info.is_generic);
  out.line("subscribe", "0x{:X}", info.subscribe);
  out.line("trap_type", "0x{:X}", info.type);
  if (generic) {
    out.line("trap_num", info.trap_number);
  } else {
    out.line("dev_id", "0x{:X}", info.trap_number);
  }
  out.secret("qpn", fmt::format("0x{:06X}", info.qpn));
  out.line("resp_time_val", "0x{:X}", info.resp_time_value);
  out.line(generic ? "node_type" : "vendor_id", "0x{:06X}", info.producer_type);
}

void link_record(RecordLines& out, const sa::LinkRecord& record) {
  out.line("FromLID", record.from_lid);
  out.line("FromPort", record.from_port);
  out.line("ToPort", record.to_port);
  out.line("ToLID", record.to_lid);
}

template <class Numbers>
void service_data(RecordLines& out, const Numbers& numbers, fmt::format_string<std::uint64_t&> format) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    out.line(fmt::format("ServiceData{}.{}", sizeof(numbers[i]) * 8, i + 1), format, numbers[i]);
}

void service_record(RecordLines& out, const sa::ServiceRecord& record) {
  out.line("ServiceID", "0x{:016x}", record.service_id);
  out.line("ServiceGID", record.service_gid);
  out.line("ServiceP_Key", "0x{:X}", record.service_p_key);
  out.line("ServiceLease", "0x{:X}", record.service_lease);
  const Gid& key = record.service_key;
  out.secret("ServiceKey", fmt::format("0x{:016x}{:016x}", key.prefix().value, key.guid().value));
  out.line("ServiceName", printable(fixed_text(record.service_name)));
  service_data(out, record.service_data8, "0x{:X}");
  service_data(out, record.service_data16, "0x{:X}");
  service_data(out, record.service_data32, "0x{:X}");
  service_data(out, record.service_data64, "0x{:016x}");
}

void path_record(RecordLines& out, const sa::PathRecord& record) {
  out.line("service_id", "0x{:016x}", record.service_id);
  out.line("dgid", record.dgid);
  out.line("sgid", record.sgid);
  out.line("dlid", record.dlid);
  out.line("slid", record.slid);
  out.line("hop_flow_raw", "0x{:X}",
           word_of({{record.raw_traffic, 1}, {record.reserved_353, 3}, {record.flow_label, 20}, {record.hop_limit, 8}}));
  out.line("tclass", "0x{:X}", record.t_class);
  out.line("num_path_revers", "0x{:X}", word_of({{record.reversible, 1}, {record.numb_path, 7}}));
  out.line("pkey", "0x{:X}", record.p_key);
  out.line("qos_class", "0x{:X}", record.qos_class);
  out.line("sl", "0x{:X}", record.sl);
  out.line("mtu", "0x{:X}", selected(record.mtu_selector, record.mtu));
  out.line("rate", "0x{:X}", selected(record.rate_selector, record.rate));
  out.line("pkt_life", "0x{:X}", selected(record.packet_life_time_selector, record.packet_life_time));
  out.line("preference", "0x{:X}", record.preference);
  out.line("resv2", "0x{:012X}",
           word_of({{record.reverse_path_p_key_member_bit, 2}, {record.reserved_466, 14}, {record.reserved_480, 32}}));
}

/// ProxyJoin is the highest bit of its byte. infiniband-diags takes the lowest, the last of the seven reserved ones beside it.
std::uint64_t diags_proxy_join(const sa::MCMemberRecord& record) { return record.reserved_393 >> 16U & 1U; }

void mc_member_record(RecordLines& out, const sa::MCMemberRecord& record) {
  out.line("MGID", record.mgid);
  out.line("PortGid", record.port_gid);
  out.line("qkey", "0x{:x}", record.q_key);
  out.line("mlid", "0x{:x}", record.mlid.value);
  out.line("mtu", "0x{:x}", selected(record.mtu_selector, record.mtu));
  out.line("TClass", "0x{:x}", record.t_class);
  out.line("pkey", "0x{:x}", record.p_key);
  out.line("rate", "0x{:x}", selected(record.rate_selector, record.rate));
  out.line("pkt_life", "0x{:x}", selected(record.packet_life_time_selector, record.packet_life_time));
  out.line("SL", "0x{:x}", record.sl);
  out.line("FlowLabel", "0x{:x}", record.flow_label);
  out.line("HopLimit", "0x{:x}", record.hop_limit);
  out.line("Scope", "0x{:x}", record.scope);
  out.line("JoinState", "0x{:x}", record.join_state);
  out.line("ProxyJoin", "0x{:x}", diags_proxy_join(record));
}

void mc_group(RecordLines& out, const sa::MCMemberRecord& record) {
  out.line("MGID", record.mgid);
  out.line("Mlid", "0x{:X}", record.mlid.value);
  out.line("Mtu", "0x{:X}", selected(record.mtu_selector, record.mtu));
  out.line("pkey", "0x{:X}", record.p_key);
  out.line("Rate", "0x{:X}", selected(record.rate_selector, record.rate));
  out.line("SL", "0x{:X}", record.sl);
}

/// The name of the node whose port is a member.
std::string member_name(const sa::MCMemberRecord& member, const RecordStyle& style) {
  const auto node =
      std::ranges::find(style.nodes, member.port_gid.guid(), [](const sa::NodeRecord& each) { return each.node_info.port_guid; });
  return node != style.nodes.end() ? node_name(*node, style.names) : "<unknown>";
}

void mc_member(RecordLines& out, const sa::MCMemberRecord& record) {
  out.line("MGID", record.mgid);
  out.line("Mlid", "0x{:X}", record.mlid.value);
  out.line("PortGid", record.port_gid);
  out.line("ScopeState", "0x{:X}", word_of({{record.scope, 4}, {record.join_state, 4}}));
  out.line("ProxyJoin", "0x{:X}", diags_proxy_join(record));
  out.line("NodeDescription", member_name(record, out.style));
}

void mc_gid(RecordLines& out, const sa::MCMemberRecord& record) {
  out.line("PortGid", fmt::format("{} ({})", to_text(record.port_gid), member_name(record, out.style)));
}

void lft_record(RecordLines& out, const sa::LinearForwardingTableRecord& record) {
  out.line("LID", record.lid);
  out.line("Block", record.block_num);
  out.lines("\t\tLFT:\n\t\tLID\tPort Number\n");
  const auto& ports = record.linear_forwarding_table.port_block;
  for (std::size_t i = 0; i < ports.size(); ++i) out.lines(fmt::format("\t\t{}\t{}\n", record.block_num * ports.size() + i, ports[i]));
  out.lines("\n");
}

void mft_record(RecordLines& out, const sa::MulticastForwardingTableRecord& record) {
  constexpr std::size_t first_multicast_lid = 0xc000;
  out.line("LID", record.lid);
  out.line("Position", record.position);
  out.line("Block", record.block_num);
  out.lines("\t\tMFT:\n\t\tMLID\tPort Mask\n");
  const auto& masks = record.multicast_forwarding_table.port_mask_block;
  const std::size_t first = first_multicast_lid + record.block_num * masks.size();
  for (std::size_t i = 0; i < masks.size(); ++i) out.lines(fmt::format("\t\t0x{:04x}\t0x{:04x}\n", first + i, masks[i]));
  out.lines("\n");
}

void guid_info_record(RecordLines& out, const sa::GuidInfoRecord& record) {
  out.line("LID", record.lid);
  out.line("Block", record.block_num);
  const auto& guids = record.guid_info.guid_block;
  for (std::size_t i = 0; i < guids.size(); ++i) out.line(fmt::format("GUID {}", i), guids[i]);
}

void switch_info_record(RecordLines& out, const sa::SwitchInfoRecord& record) {
  constexpr std::uint32_t multicast_top_supported = 1U << 3;
  const smp::SwitchInfo& info = record.switch_info;
  out.lines("\t\tRID\n");
  out.line("LID", record.lid);
  out.lines("\t\tSwitchInfo dump:\n");
  out.line("LinearFDBCap", "0x{:X}", info.linear_fdb_cap);
  out.line("RandomFDBCap", "0x{:X}", info.random_fdb_cap);
  out.line("MulticastFDBCap", "0x{:X}", info.multicast_fdb_cap);
  out.line("LinearFDBTop", "0x{:X}", info.linear_fdb_top);
  out.line("DefaultPort", info.default_port);
  out.line("DefaultMulticastPrimaryPort", info.default_multicast_primary_port);
  out.line("DefaultMulticastNotPrimaryPort", info.default_multicast_not_primary_port);
  out.line("LifeTimeValue/PortStateChange/OpSL2VL", "0x{:X}",
           word_of({{info.life_time_value, 5}, {info.port_state_change, 1}, {info.optimized_sl_to_vl_mapping_programming, 2}}));
  out.line("LIDsPerPort", "0x{:X}", info.lids_per_port);
  out.line("PartitionEnforcementCap", "0x{:X}", info.partition_enforcement_cap);
  out.line("flags", "0x{:X}",
           word_of({{info.inbound_enforcement_cap, 1},
                    {info.outbound_enforcement_cap, 1},
                    {info.filter_raw_inbound_cap, 1},
                    {info.filter_raw_outbound_cap, 1},
                    {info.enhanced_port0, 1},
                    {info.reserved_133, 3}}));
  if ((out.style.capability_mask2 & multicast_top_supported) != 0) out.line("MulticastFDBTop", "0x{:X}", info.multicast_fdb_top);
}

void sm_info_record(RecordLines& out, const sa::SMInfoRecord& record) {
  out.lines("\t\tRID\n");
  out.line("LID", record.lid);
  out.lines("\t\tSMInfo dump:\n");
  out.line("GUID", record.sm_info.guid);
  out.line("SM_Key", "0x{:016x}", record.sm_info.sm_key);
  out.line("ActCount", record.sm_info.act_count);
  out.line("Priority", record.sm_info.priority);
  out.line("SMState", static_cast<std::uint64_t>(record.sm_info.sm_state));
}

/// What a form has of the function that prints its records.
template <auto print>
struct PrintsRecords;
template <class Record, void (*print)(RecordLines&, const Record&)>
struct PrintsRecords<print> {
  static const StructInfo& info() { return Record::info(); }
  static void lines(RecordLines& out, Bytes record) { print(out, wire::unpack_short<Record>(record)); }
};

template <auto print>
constexpr RecordForm printed_by(std::string_view name, std::string_view alias, std::string_view arguments, std::string_view title,
                                std::size_t column) {
  return {name, alias, arguments, title, column, PrintsRecords<print>::info, PrintsRecords<print>::lines};
}

constexpr RecordForm forms[]{
    printed_by<class_port_info>("ClassPortInfo", "CPI", "", "SA ClassPortInfo:", 25),
    printed_by<node_record>("NodeRecord", "NR", "lid", "NodeRecord dump:", usual),
    printed_by<port_info_record>("PortInfoRecord", "PIR", "endport_lid/port_num/options", "PortInfoRecord dump:", usual),
    printed_by<sl2vl_record>("SL2VLTableRecord", "SL2VL", "lid/input_port_num/output_port_num", "SL2VLTableRecord dump:", wide),
    printed_by<pkey_table_record>("PKeyTableRecord", "PKTR", "lid/port_num/block_num", "PKeyTableRecord dump:", wide),
    printed_by<vl_arbitration_record>("VLArbitrationTableRecord", "VLAR", "lid/output_port_num/block_num", "VLArbTableRecord dump:", wide),
    printed_by<inform_info_record>("InformInfoRecord", "IIR", "subscriber_gid", "InformInfoRecord dump:", usual),
    printed_by<link_record>("LinkRecord", "LR", "from_lid/from_port to_lid/to_port", "LinkRecord dump:", wide),
    printed_by<service_record>("ServiceRecord", "SR", "", "ServiceRecord dump:", usual),
    printed_by<path_record>("PathRecord", "PR", "", "PathRecord dump:", usual),
    printed_by<mc_member_record>("MCMemberRecord", "MCMR", "", "MCMember Record dump:", usual),
    printed_by<lft_record>("LFTRecord", "LFTR", "lid/block_num", "LFT Record dump:", wide),
    printed_by<mft_record>("MFTRecord", "MFTR", "lid/position/block_num", "MFT Record dump:", wide),
    printed_by<guid_info_record>("GUIDInfoRecord", "GIR", "lid/block_num", "GUIDInfo Record dump:", wide),
    printed_by<switch_info_record>("SwitchInfoRecord", "SWIR", "lid", "SwitchInfoRecord dump:", 40),
    printed_by<sm_info_record>("SMInfoRecord", "SMIR", "lid", "SMInfoRecord dump:", 22),
};

}  // namespace

constinit const RecordForm port_summary_form = printed_by<port_summary>("", "", "", "PortInfoRecord dump:", usual);
constinit const RecordForm mc_group_form = printed_by<mc_group>("", "", "", "MCMemberRecord group dump:", usual);
constinit const RecordForm mc_member_form = printed_by<mc_member>("", "", "", "MCMemberRecord member dump:", usual);
constinit const RecordForm mc_gid_form = printed_by<mc_gid>("", "", "", "", usual);

std::span<const RecordForm> record_forms() { return forms; }

const RecordForm* find_form(std::string_view word) {
  const std::string given(word);
  const auto found = std::ranges::find_if(forms, [&](const RecordForm& each) {
    return strcasecmp(given.c_str(), each.name.data()) == 0 || strcasecmp(given.c_str(), each.alias.data()) == 0;
  });
  return found != std::end(forms) ? &*found : nullptr;
}

const RecordForm& form_of(const StructInfo& info) {
  return *std::ranges::find_if(forms, [&](const RecordForm& each) { return &each.info() == &info; });
}

std::string record_text(const RecordForm& form, Bytes record, const RecordStyle& style) {
  RecordLines out(form.column, style);
  if (!form.title.empty()) out.lines(fmt::format("{}\n", form.title));
  form.print(out, record);
  return out.take();
}

std::string node_name(const sa::NodeRecord& node, const subnet::NodeNameMap& names) {
  return diags_node_name(names, node.node_info.node_guid, fixed_text(node.node_description.node_string));
}

}  // namespace ib::tools::saquery
