// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
#include "tools/saquery/diags_forms.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <utility>

#include "base/escape.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/smp.hpp"
#include "iba/generic.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "tools/shared/diags_fabric.hpp"

namespace ib::tools::saquery {

/// A line of a form: a label, and a member of the record.
struct FormLine {
  std::string_view label{};   ///< without a member: whole lines
  std::string_view member{};  ///< a path, as find_path() takes it
  std::string_view format{};  ///< of a number; empty: as the kind of the member has it
  unsigned bits = 0;          ///< of a word that holds several members, this one first; 0: of the member
  unsigned skipped = 0;       ///< bits of the member before the word
};

/// The text of one record: "<tab><tab>label....value".
class RecordLines {
 public:
  RecordLines(const RecordForm& form, Bytes bytes, const RecordStyle& record_style)
      : record(bytes), style(record_style), form_(form), text_(form.title.empty() ? "" : fmt::format("{}\n", form.title)) {}

  const Bytes record;
  const RecordStyle& style;

  template <class Record>
  Record unpacked() const {
    return wire::unpack_short<Record>(record);
  }
  void line(std::string_view label, std::string_view value) { text_ += fmt::format("\t\t{:.<{}}{}\n", label, form_.column, value); }
  void line(const FormLine& line);
  void lines(std::span<const FormLine> all) {
    for (const FormLine& each : all) line(each);
  }
  void secret(std::string_view label, const std::string& key) { line(label, style.keys == Keys::shown ? key : std::string(hidden_text)); }
  void lines(std::string_view whole) { text_ += whole; }

  std::string take() { return std::move(text_); }

 private:
  const RecordForm& form_;
  std::string text_;
};

void RecordLines::line(const FormLine& line) {
  if (line.member.empty()) return lines(line.label);
  const FieldRef member = *find_path(form_.info(), line.member);
  const unsigned bits = line.bits != 0 ? line.bits : member.field->bits;
  if (member.field->kind == FieldKind::gid) return this->line(line.label, to_text(std::get<Gid>(read_path(record, member))));
  const std::string_view usual_format = member.field->kind == FieldKind::guid ? "0x{:016x}" : "{}";
  this->line(line.label, fmt::format(fmt::runtime(line.format.empty() ? usual_format : line.format),
                                     wire::get_bits(record, member.bit_offset + line.skipped, bits)));
}

namespace {

constexpr std::size_t usual = 24, wide = 27;
constexpr std::string_view lower = "0x{:x}", upper = "0x{:X}", upper2 = "0x{:02X}", upper4 = "0x{:04X}", upper6 = "0x{:06X}",
                           upper8 = "0x{:08X}", lower16 = "0x{:016x}";

constexpr FormLine class_port_info[]{{"Base version", "base_version"},
                                     {"Class version", "class_version"},
                                     {"Capability mask", "capability_mask", upper4},
                                     {"Capability mask 2", "capability_mask2", upper8},
                                     {"Response time value", "resp_time_value", upper2},
                                     {"Redirect GID", "redirect_gid"},
                                     {"Redirect TC/SL/FL", "redirect_tc", upper8, 32},
                                     {"Redirect LID", "redirect_lid"},
                                     {"Redirect PKey", "redirect_p_key", upper4},
                                     {"Redirect QP", "reserved_256", upper8, 32},
                                     {"Redirect QKey", "redirect_q_key", upper8},
                                     {"Trap GID", "trap_gid"},
                                     {"Trap TC/SL/FL", "trap_tc", upper8, 32},
                                     {"Trap LID", "trap_lid"},
                                     {"Trap PKey", "trap_p_key", upper4},
                                     {"Trap HL/QP", "trap_hl", upper8, 32},
                                     {"Trap QKey", "trap_q_key", upper8}};

constexpr FormLine node_record_head[]{
    {"lid", "lid"}, {"reserved", "reserved_16", upper}, {"base_version", "base_version", upper}, {"class_version", "class_version", upper}};
constexpr FormLine node_record_rest[]{{"num_ports", "num_ports"},
                                      {"sys_guid", "system_image_guid"},
                                      {"node_guid", "node_guid"},
                                      {"port_guid", "port_guid"},
                                      {"partition_cap", "partition_cap", upper},
                                      {"device_id", "device_id", upper},
                                      {"revision", "revision", upper},
                                      {"port_num", "local_port_num"},
                                      {"vendor_id", "vendor_id", upper}};

void node_record(RecordLines& out) {
  const auto record = out.unpacked<sa::NodeRecord>();
  const std::string_view type = smp::to_text(record.node_info.node_type);
  out.line("node_type", type.empty() ? "UNKNOWN" : type);
  out.lines(node_record_rest);
  out.line("NodeDescription", node_name(record, out.style.names));
}

constexpr FormLine port_info_record[]{
    {"\tRID\n"}, {"EndPortLid", "endport_lid"}, {"PortNum", "port_num"}, {"Options", "options", lower}, {"\tPortInfo dump:\n"}};

void port_info(RecordLines& out) {
  const auto record = out.unpacked<sa::PortInfoRecord>();
  const std::string listing = libibmad_listing(wire::packed(record.port_info), smp::PortInfo::info(), out.style.keys, out.style.new_fields);
  // Each field has two tabs before it. The names of single bits are on lines of their own, which already have tabs.
  for (std::size_t at = 0; at < listing.size();) {
    const std::size_t end = listing.find('\n', at) + 1;
    out.lines((listing[at] == '\t' ? "" : "\t\t") + listing.substr(at, end - at));
    at = end;
  }
}

constexpr FormLine port_summary[]{{"EndPortLid", "endport_lid"},
                                  {"PortNum", "port_num"},
                                  {"base_lid", "port_info.lid"},
                                  {"master_sm_base_lid", "port_info.master_sm_lid"},
                                  {"capability_mask", "port_info.capability_mask", upper}};

constexpr FormLine sl2vl_record[]{{"LID", "lid"},
                                  {"InPort", "input_port_num"},
                                  {"OutPort", "output_port_num"},
                                  {"\t\tSL: 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|\n\t\tVL:"}};

void sl2vl(RecordLines& out) {
  const auto record = out.unpacked<sa::SLToVLMappingTableRecord>();
  out.lines(std::string_view(libibmad_sl_to_vl(wire::packed(record.sl_to_vl_mapping_table))).substr(1));
}

constexpr FormLine pkey_table_record[]{{"LID", "lid"}, {"Port", "port_num"}, {"Block", "block_num"}, {"\t\tPKey Table:\n"}};

void pkey_table(RecordLines& out) {
  const auto keys = out.unpacked<sa::PKeyTableRecord>().p_key_table.p_key_block;
  for (std::size_t i = 0; i < keys.size(); ++i)
    out.lines(fmt::format("{}0x{:04x}{}", i % 8 == 0 ? "\t\t" : " ", keys[i], i % 8 == 7 ? "\n" : ""));
  out.lines("\n");
}

constexpr FormLine vl_arbitration_record[]{{"LID", "lid"}, {"Port", "output_port_num"}, {"Block", "block_num"}};

void vl_arbitration(RecordLines& out) {
  const auto record = out.unpacked<sa::VLArbitrationTableRecord>();
  for (const std::size_t first : {0U, 16U}) {
    std::string vls = "\t\tVL    :", weights = "\t\tWeight:";
    for (const unsigned entry : std::span(record.vl_arbitration_table.vl_weight_block).subspan(first, 16)) {
      vls += fmt::format("{:2}|", entry >> 8U);
      weights += fmt::format("{:2}|", entry & 0xffU);
    }
    out.lines(vls + '\n' + weights + '\n');
  }
}

constexpr FormLine inform_info_record[]{{"\t\tRID\n"},
                                        {"SubscriberGID", "subscriber_gid"},
                                        {"SubscriberEnum", "enumeration", upper},
                                        {"\t\tInformInfo dump:\n"},
                                        {"gid", "inform_info.gid"},
                                        {"lid_range_begin", "lid_range_begin"},
                                        {"lid_range_end", "lid_range_end"},
                                        {"is_generic", "is_generic", upper},
                                        {"subscribe", "subscribe", upper},
                                        {"trap_type", "inform_info.type", upper}};

void inform_info(RecordLines& out) {
  const mad::InformInfo info = out.unpacked<sa::InformInfoRecord>().inform_info;
  const bool generic = info.is_generic != 0;
  out.line(generic ? FormLine{"trap_num", "trap_number"} : FormLine{"dev_id", "trap_number", upper});
  out.secret("qpn", fmt::format("0x{:06X}", info.qpn));
  out.line({"resp_time_val", "resp_time_value"});
  out.line({generic ? "node_type" : "vendor_id", "producer_type", upper6});
}

constexpr FormLine link_record[]{{"FromLID", "from_lid"}, {"FromPort", "from_port"}, {"ToPort", "to_port"}, {"ToLID", "to_lid"}};

constexpr FormLine service_record[]{{"ServiceID", "service_id", lower16},
                                    {"ServiceGID", "service_gid"},
                                    {"ServiceP_Key", "service_p_key", upper},
                                    {"ServiceLease", "service_lease", upper}};

void service(RecordLines& out) {
  const auto record = out.unpacked<sa::ServiceRecord>();
  out.secret("ServiceKey", fmt::format("0x{:016x}{:016x}", record.service_key.prefix().value, record.service_key.guid().value));
  out.line("ServiceName", printable(fixed_text(record.service_name)));
  for (const unsigned bits : {8U, 16U, 32U, 64U}) {
    const std::string data = fmt::format("ServiceData{}", bits);
    for (unsigned i = 0; i < 128 / bits; ++i)
      out.line({fmt::format("{}.{}", data, i + 1), fmt::format("{}[{}]", data, i), bits == 64 ? lower16 : upper});
  }
}

constexpr FormLine path_record[]{{"service_id", "service_id", lower16},
                                 {"dgid", "dgid"},
                                 {"sgid", "sgid"},
                                 {"dlid", "dlid"},
                                 {"slid", "slid"},
                                 {"hop_flow_raw", "raw_traffic", upper, 32},
                                 {"tclass", "t_class", upper},
                                 {"num_path_revers", "reversible", upper, 8},
                                 {"pkey", "p_key", upper},
                                 {"qos_class", "qos_class", upper},
                                 {"sl", "sl", upper},
                                 {"mtu", "mtu_selector", upper, 8},
                                 {"rate", "rate_selector", upper, 8},
                                 {"pkt_life", "packet_life_time_selector", upper, 8},
                                 {"preference", "preference", upper},
                                 {"resv2", "reverse_path_p_key_member_bit", "0x{:012X}", 48}};

constexpr FormLine mc_member_record[]{
    {"MGID", "mgid"},
    {"PortGid", "port_gid"},
    {"qkey", "q_key", lower},
    {"mlid", "mlid", lower},
    {"mtu", "mtu_selector", lower, 8},
    {"TClass", "t_class", lower},
    {"pkey", "p_key", lower},
    {"rate", "rate_selector", lower, 8},
    {"pkt_life", "packet_life_time_selector", lower, 8},
    {"SL", "sl", lower},
    {"FlowLabel", "flow_label", lower},
    {"HopLimit", "hop_limit", lower},
    {"Scope", "scope", lower},
    {"JoinState", "join_state", lower},
    // ProxyJoin is the highest bit of its byte. infiniband-diags takes the lowest, the last of the seven reserved ones beside it.
    {"ProxyJoin", "reserved_393", lower, 1, 6},
};

constexpr FormLine mc_group[]{{"MGID", "mgid"},
                              {"Mlid", "mlid", upper},
                              {"Mtu", "mtu_selector", upper, 8},
                              {"pkey", "p_key", upper},
                              {"Rate", "rate_selector", upper, 8},
                              {"SL", "sl", upper}};

constexpr FormLine mc_member[]{{"MGID", "mgid"},
                               {"Mlid", "mlid", upper},
                               {"PortGid", "port_gid"},
                               {"ScopeState", "scope", upper, 8},
                               {"ProxyJoin", "reserved_393", upper, 1, 6}};

std::string member_name(const Gid& port, const RecordStyle& style) {
  const auto node = std::ranges::find(style.nodes, port.guid(), [](const sa::NodeRecord& each) { return each.node_info.port_guid; });
  return node != style.nodes.end() ? node_name(*node, style.names) : "<unknown>";
}

void mc_member_name(RecordLines& out) { out.line("NodeDescription", member_name(out.unpacked<sa::MCMemberRecord>().port_gid, out.style)); }

void mc_gid(RecordLines& out) {
  const Gid port = out.unpacked<sa::MCMemberRecord>().port_gid;
  out.line("PortGid", fmt::format("{} ({})", to_text(port), member_name(port, out.style)));
}

constexpr FormLine lft_record[]{{"LID", "lid"}, {"Block", "block_num"}, {"\t\tLFT:\n\t\tLID\tPort Number\n"}};

void lft(RecordLines& out) {
  const auto record = out.unpacked<sa::LinearForwardingTableRecord>();
  const auto& ports = record.linear_forwarding_table.port_block;
  for (std::size_t i = 0; i < ports.size(); ++i) out.lines(fmt::format("\t\t{}\t{}\n", record.block_num * ports.size() + i, ports[i]));
  out.lines("\n");
}

constexpr FormLine mft_record[]{{"LID", "lid"}, {"Position", "position"}, {"Block", "block_num"}, {"\t\tMFT:\n\t\tMLID\tPort Mask\n"}};

void mft(RecordLines& out) {
  constexpr std::size_t first_multicast_lid = 0xc000;
  const auto record = out.unpacked<sa::MulticastForwardingTableRecord>();
  const auto& masks = record.multicast_forwarding_table.port_mask_block;
  const std::size_t first = first_multicast_lid + record.block_num * masks.size();
  for (std::size_t i = 0; i < masks.size(); ++i) out.lines(fmt::format("\t\t0x{:04x}\t0x{:04x}\n", first + i, masks[i]));
  out.lines("\n");
}

constexpr FormLine guid_info_record[]{{"LID", "lid"}, {"Block", "block_num"}};

void guid_info(RecordLines& out) {
  for (unsigned i = 0; i < 8; ++i) out.line({fmt::format("GUID {}", i), fmt::format("guid_block[{}]", i)});
}

constexpr FormLine switch_info_record[]{{"\t\tRID\n"},
                                        {"LID", "lid"},
                                        {"\t\tSwitchInfo dump:\n"},
                                        {"LinearFDBCap", "linear_fdb_cap", upper},
                                        {"RandomFDBCap", "random_fdb_cap", upper},
                                        {"MulticastFDBCap", "multicast_fdb_cap", upper},
                                        {"LinearFDBTop", "linear_fdb_top", upper},
                                        {"DefaultPort", "default_port"},
                                        {"DefaultMulticastPrimaryPort", "default_multicast_primary_port"},
                                        {"DefaultMulticastNotPrimaryPort", "default_multicast_not_primary_port"},
                                        {"LifeTimeValue/PortStateChange/OpSL2VL", "life_time_value", upper, 8},
                                        {"LIDsPerPort", "lids_per_port", upper},
                                        {"PartitionEnforcementCap", "partition_enforcement_cap", upper},
                                        {"flags", "inbound_enforcement_cap", upper, 8}};

void switch_info(RecordLines& out) {
  constexpr std::uint32_t multicast_top_supported = 1U << 3;
  if ((out.style.capability_mask2 & multicast_top_supported) != 0) out.line({"MulticastFDBTop", "multicast_fdb_top", upper});
}

constexpr FormLine sm_info_record[]{{"\t\tRID\n"},
                                    {"LID", "lid"},
                                    {"\t\tSMInfo dump:\n"},
                                    {"GUID", "sm_info.guid"},
                                    {"SM_Key", "sm_key", lower16},
                                    {"ActCount", "act_count"},
                                    {"Priority", "priority"},
                                    {"SMState", "sm_state"}};

constexpr RecordForm forms[]{
    {"ClassPortInfo", "CPI", "", "SA ClassPortInfo:", 25, mad::ClassPortInfo::info, class_port_info},
    {"NodeRecord", "NR", "lid", "NodeRecord dump:", usual, sa::NodeRecord::info, node_record_head, node_record},
    {"PortInfoRecord", "PIR", "endport_lid/port_num/options", "PortInfoRecord dump:", usual, sa::PortInfoRecord::info, port_info_record,
     port_info},
    {"SL2VLTableRecord", "SL2VL", "lid/input_port_num/output_port_num", "SL2VLTableRecord dump:", wide, sa::SLToVLMappingTableRecord::info,
     sl2vl_record, sl2vl},
    {"PKeyTableRecord", "PKTR", "lid/port_num/block_num", "PKeyTableRecord dump:", wide, sa::PKeyTableRecord::info, pkey_table_record,
     pkey_table},
    {"VLArbitrationTableRecord", "VLAR", "lid/output_port_num/block_num", "VLArbTableRecord dump:", wide,
     sa::VLArbitrationTableRecord::info, vl_arbitration_record, vl_arbitration},
    {"InformInfoRecord", "IIR", "subscriber_gid", "InformInfoRecord dump:", usual, sa::InformInfoRecord::info, inform_info_record,
     inform_info},
    {"LinkRecord", "LR", "from_lid/from_port to_lid/to_port", "LinkRecord dump:", wide, sa::LinkRecord::info, link_record},
    {"ServiceRecord", "SR", "", "ServiceRecord dump:", usual, sa::ServiceRecord::info, service_record, service},
    {"PathRecord", "PR", "", "PathRecord dump:", usual, sa::PathRecord::info, path_record},
    {"MCMemberRecord", "MCMR", "", "MCMember Record dump:", usual, sa::MCMemberRecord::info, mc_member_record},
    {"LFTRecord", "LFTR", "lid/block_num", "LFT Record dump:", wide, sa::LinearForwardingTableRecord::info, lft_record, lft},
    {"MFTRecord", "MFTR", "lid/position/block_num", "MFT Record dump:", wide, sa::MulticastForwardingTableRecord::info, mft_record, mft},
    {"GUIDInfoRecord", "GIR", "lid/block_num", "GUIDInfo Record dump:", wide, sa::GuidInfoRecord::info, guid_info_record, guid_info},
    {"SwitchInfoRecord", "SWIR", "lid", "SwitchInfoRecord dump:", 40, sa::SwitchInfoRecord::info, switch_info_record, switch_info},
    {"SMInfoRecord", "SMIR", "lid", "SMInfoRecord dump:", 22, sa::SMInfoRecord::info, sm_info_record},
};

}  // namespace

constinit const RecordForm port_summary_form{"", "", "", "PortInfoRecord dump:", usual, sa::PortInfoRecord::info, port_summary};
constinit const RecordForm mc_group_form{"", "", "", "MCMemberRecord group dump:", usual, sa::MCMemberRecord::info, mc_group};
constinit const RecordForm mc_member_form{
    "", "", "", "MCMemberRecord member dump:", usual, sa::MCMemberRecord::info, mc_member, mc_member_name};
constinit const RecordForm mc_gid_form{"", "", "", "", usual, sa::MCMemberRecord::info, {}, mc_gid};

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
  RecordLines out(form, record, style);
  out.lines(form.lines);
  if (form.rest != nullptr) form.rest(out);
  return out.take();
}

std::string node_name(const sa::NodeRecord& node, const subnet::NodeNameMap& names) {
  return diags_node_name(names, node.node_info.node_guid, fixed_text(node.node_description.node_string));
}

}  // namespace ib::tools::saquery
