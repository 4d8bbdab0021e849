// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The offsets are those of IBA 15.2.5. If the text shows a whole word, the whole word is read.
#include "tools/saquery/diags_forms.hpp"

#include <fmt/format.h>
#include <strings.h>

#include <algorithm>
#include <array>
#include <bit>

#include "base/escape.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/sa.hpp"
#include "iba-gen/smp.hpp"
#include "iba/libibmad_text.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"

namespace ib::tools::saquery {
namespace {

constexpr std::size_t usual = 24, wide = 27, switch_info_column = 40;

/// The number at byte `at`.
std::uint64_t word(Bytes record, std::size_t at, unsigned size) { return wire::get_bits(record, at * 8, size * 8); }

/// A part of a record. It is shorter if the record ends before.
Bytes part(Bytes record, std::size_t at, std::size_t size) {
  const std::size_t begin = std::min(at, record.size());
  return record.subspan(begin, std::min(size, record.size() - begin));
}

std::string line_text(std::string_view label, std::size_t column, std::string_view value) {
  return fmt::format("\t\t{:.<{}}{}\n", label, column, value);
}

std::string key_text(const RecordStyle& style, const std::string& key) {
  return style.keys == Keys::shown ? key : std::string(hidden_text);
}

std::string node_type(Bytes record, const RecordStyle& /*style*/) {
  constexpr std::array<std::string_view, 4> texts{"UNKNOWN", "Channel Adapter", "Switch", "Router"};
  const std::uint64_t type = word(record, 6, 1);
  return std::string(texts[type < texts.size() ? type : 0]);
}

std::string name_in_style(Bytes record, const RecordStyle& style) { return node_name(record, style.names); }

Gid gid_at(Bytes record, std::size_t bit) {
  Gid gid;
  for (std::size_t i = 0; i < gid.bytes.size(); ++i) gid.bytes[i] = static_cast<std::uint8_t>(wire::get_bits(record, bit + 8 * i, 8));
  return gid;
}

constexpr std::size_t port_gid_bit = 16 * 8;  // the bit offset of PortGID in a MCMemberRecord

/// The name of the node whose port is a member.
std::string member_name(Bytes record, const RecordStyle& style) {
  constexpr std::size_t port_guid_at = 24;
  const std::uint64_t guid = gid_at(record, port_gid_bit).guid().value;
  for (const Bytes node : style.nodes->bytes) {
    if (word(node, port_guid_at, 8) == guid) return node_name(node, style.names);
  }
  return "<unknown>";
}

std::string member_gid_and_name(Bytes record, const RecordStyle& style) {
  return fmt::format("{} ({})", to_text(gid_at(record, port_gid_bit)), member_name(record, style));
}

std::string port_info_lines(Bytes record, const RecordStyle& style) {
  const std::string listing = libibmad_listing(part(record, 4, 64), smp::PortInfo::info(), style.keys);
  // Each field has two tabs before it. The names of single bits are on lines of their own, which already have tabs.
  std::string text;
  for (std::size_t at = 0; at < listing.size();) {
    const std::size_t end = listing.find('\n', at) + 1;
    text += (listing[at] == '\t' ? "" : "\t\t") + listing.substr(at, end - at);
    at = end;
  }
  return text;
}

std::string service_key(Bytes record, const RecordStyle& style) {
  return key_text(style, fmt::format("0x{:016x}{:016x}", word(record, 32, 8), word(record, 40, 8)));
}

std::string service_name(Bytes record, const RecordStyle& /*style*/) { return printable(fixed_text(part(record, 48, 64))); }

std::string service_data_lines(Bytes record, const RecordStyle& /*style*/) {
  constexpr std::size_t begin = 112, size = 16;  // of ServiceData8; three more arrays of this size follow
  std::string text;
  for (const unsigned bytes : {1U, 2U, 4U, 8U}) {
    for (std::size_t i = 0; i < size / bytes; ++i) {
      const std::uint64_t value = word(record, begin + size * static_cast<std::size_t>(std::countr_zero(bytes)) + i * bytes, bytes);
      text += line_text(fmt::format("ServiceData{}.{}", bytes * 8, i + 1), usual,
                        bytes == 8 ? fmt::format("0x{:016x}", value) : fmt::format("0x{:X}", value));
    }
  }
  return text;
}

std::string multicast_top_line(Bytes record, const RecordStyle& style) {
  constexpr std::uint32_t multicast_top_supported = 1U << 3;
  if ((style.capability_mask2 & multicast_top_supported) == 0) return "";
  return line_text("MulticastFDBTop", switch_info_column, fmt::format("0x{:X}", word(record, 22, 2)));
}

bool is_generic(Bytes inform_info_record) { return word(inform_info_record, 46, 1) != 0; }

std::string trap_or_device_line(Bytes record, const RecordStyle& /*style*/) {
  const std::uint64_t value = word(record, 50, 2);
  if (is_generic(record)) return line_text("trap_num", usual, fmt::format("{}", value));
  return line_text("dev_id", usual, fmt::format("0x{:X}", value));
}

std::string node_type_or_vendor_line(Bytes record, const RecordStyle& /*style*/) {
  return line_text(is_generic(record) ? "node_type" : "vendor_id", usual, fmt::format("0x{:06X}", word(record, 57, 3)));
}

std::string subscriber_qpn(Bytes record, const RecordStyle& style) { return key_text(style, fmt::format("0x{:06X}", word(record, 52, 3))); }

std::string sl2vl_lines(Bytes record, const RecordStyle& /*style*/) {
  return "\t\tSL: 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|\n\t\tVL:" + libibmad_sl_to_vl(part(record, 8, 8)).substr(1);
}

std::string vl_arbitration_lines(Bytes record, const RecordStyle& /*style*/) {
  std::string text;
  for (const std::size_t first : {0U, 16U}) {
    std::string vls = "\t\tVL    :", weights = "\t\tWeight:";
    for (std::size_t i = first; i < first + 16; ++i) {
      vls += fmt::format("{:2}|", word(record, 8 + 2 * i, 1));
      weights += fmt::format("{:2}|", word(record, 9 + 2 * i, 1));
    }
    text += vls + '\n' + weights + '\n';
  }
  return text;
}

std::string pkey_lines(Bytes record, const RecordStyle& /*style*/) {
  std::string text;
  for (std::size_t i = 0; i < 32; ++i)
    text += fmt::format("{}0x{:04x}{}", i % 8 == 0 ? "\t\t" : " ", word(record, 8 + 2 * i, 2), i % 8 == 7 ? "\n" : "");
  return text + '\n';
}

std::string lft_lines(Bytes record, const RecordStyle& /*style*/) {
  std::string text;
  for (std::size_t i = 0; i < 64; ++i) text += fmt::format("\t\t{}\t{}\n", word(record, 2, 2) * 64 + i, word(record, 8 + i, 1));
  return text + '\n';
}

constexpr RecordValue mft_block{.bit = 23, .width = 9};

std::string mft_lines(Bytes record, const RecordStyle& /*style*/) {
  constexpr std::size_t first_multicast_lid = 0xc000;
  const std::uint64_t first = first_multicast_lid + wire::get_bits(record, mft_block.bit, mft_block.width) * 32;
  std::string text;
  for (std::size_t i = 0; i < 32; ++i) text += fmt::format("\t\t0x{:04x}\t0x{:04x}\n", first + i, word(record, 8 + 2 * i, 2));
  return text + '\n';
}

constexpr RecordValue bits(std::size_t first, unsigned width) { return {first, width, nullptr}; }
constexpr RecordValue bytes(std::size_t at, unsigned size) { return bits(at * 8, size * 8); }
constexpr unsigned gid_width = 128;
constexpr RecordValue gid(std::size_t at) { return bits(at * 8, gid_width); }
constexpr RecordValue made(std::string (*make)(Bytes, const RecordStyle&)) { return {0, 0, make}; }

constexpr RecordLine class_port_info_lines[]{
    {"Base version", bytes(0, 1)},
    {"Class version", bytes(1, 1)},
    {"Capability mask", bytes(2, 2), "0x{:04X}"},
    {"Capability mask 2", bits(32, 27), "0x{:08X}"},
    {"Response time value", bits(59, 5), "0x{:02X}"},
    {"Redirect GID", gid(8)},
    {"Redirect TC/SL/FL", bytes(24, 4), "0x{:08X}"},
    {"Redirect LID", bytes(28, 2)},
    {"Redirect PKey", bytes(30, 2), "0x{:04X}"},
    {"Redirect QP", bytes(32, 4), "0x{:08X}"},
    {"Redirect QKey", bytes(36, 4), "0x{:08X}"},
    {"Trap GID", gid(40)},
    {"Trap TC/SL/FL", bytes(56, 4), "0x{:08X}"},
    {"Trap LID", bytes(60, 2)},
    {"Trap PKey", bytes(62, 2), "0x{:04X}"},
    {"Trap HL/QP", bytes(64, 4), "0x{:08X}"},
    {"Trap QKey", bytes(68, 4), "0x{:08X}"},
};
constexpr RecordLine node_record_lines[]{
    {"lid", bytes(0, 2)},
    {"reserved", bytes(2, 2), "0x{:X}"},
    {"base_version", bytes(4, 1), "0x{:X}"},
    {"class_version", bytes(5, 1), "0x{:X}"},
    {"node_type", made(node_type)},
    {"num_ports", bytes(7, 1)},
    {"sys_guid", bytes(8, 8), "0x{:016x}"},
    {"node_guid", bytes(16, 8), "0x{:016x}"},
    {"port_guid", bytes(24, 8), "0x{:016x}"},
    {"partition_cap", bytes(32, 2), "0x{:X}"},
    {"device_id", bytes(34, 2), "0x{:X}"},
    {"revision", bytes(36, 4), "0x{:X}"},
    {"port_num", bytes(40, 1)},
    {"vendor_id", bytes(41, 3), "0x{:X}"},
    {"NodeDescription", made(name_in_style)},
};
constexpr RecordLine port_info_record_lines[]{
    {"\tRID"},
    {"EndPortLid", bytes(0, 2)},
    {"PortNum", bytes(2, 1)},
    {"Options", bytes(3, 1), "0x{:x}"},
    {"\tPortInfo dump:"},
    {"", made(port_info_lines)},
};
constexpr RecordLine port_summary_lines[]{
    {"EndPortLid", bytes(0, 2)},
    {"PortNum", bytes(2, 1)},
    {"base_lid", bytes(20, 2)},
    {"master_sm_base_lid", bytes(22, 2)},
    {"capability_mask", bytes(24, 4), "0x{:X}"},
};
constexpr RecordLine sl2vl_record_lines[]{{"LID", bytes(0, 2)}, {"InPort", bytes(2, 1)}, {"OutPort", bytes(3, 1)}, {"", made(sl2vl_lines)}};
constexpr RecordLine pkey_table_record_lines[]{
    {"LID", bytes(0, 2)}, {"Port", bytes(4, 1)}, {"Block", bytes(2, 2)}, {"\t\tPKey Table:"}, {"", made(pkey_lines)}};
constexpr RecordLine vl_arbitration_record_lines[]{
    {"LID", bytes(0, 2)}, {"Port", bytes(2, 1)}, {"Block", bytes(3, 1)}, {"", made(vl_arbitration_lines)}};
constexpr RecordLine inform_info_record_lines[]{
    {"\t\tRID"},
    {"SubscriberGID", gid(0)},
    {"SubscriberEnum", bytes(16, 2), "0x{:X}"},
    {"\t\tInformInfo dump:"},
    {"gid", gid(24)},
    {"lid_range_begin", bytes(40, 2)},
    {"lid_range_end", bytes(42, 2)},
    {"is_generic", bytes(46, 1), "0x{:X}"},
    {"subscribe", bytes(47, 1), "0x{:X}"},
    {"trap_type", bytes(48, 2), "0x{:X}"},
    {"", made(trap_or_device_line)},
    {"qpn", made(subscriber_qpn)},
    {"resp_time_val", bits(55 * 8 + 3, 5), "0x{:X}"},
    {"", made(node_type_or_vendor_line)},
};
constexpr RecordLine link_record_lines[]{
    {"FromLID", bytes(0, 2)}, {"FromPort", bytes(2, 1)}, {"ToPort", bytes(3, 1)}, {"ToLID", bytes(4, 2)}};
constexpr RecordLine service_record_lines[]{
    {"ServiceID", bytes(0, 8), "0x{:016x}"},  {"ServiceGID", gid(8)},
    {"ServiceP_Key", bytes(24, 2), "0x{:X}"}, {"ServiceLease", bytes(28, 4), "0x{:X}"},
    {"ServiceKey", made(service_key)},        {"ServiceName", made(service_name)},
    {"", made(service_data_lines)},
};
constexpr RecordLine path_record_lines[]{
    {"service_id", bytes(0, 8), "0x{:016x}"},
    {"dgid", gid(8)},
    {"sgid", gid(24)},
    {"dlid", bytes(40, 2)},
    {"slid", bytes(42, 2)},
    {"hop_flow_raw", bytes(44, 4), "0x{:X}"},
    {"tclass", bytes(48, 1), "0x{:X}"},
    {"num_path_revers", bytes(49, 1), "0x{:X}"},
    {"pkey", bytes(50, 2), "0x{:X}"},
    {"qos_class", bits(52 * 8, 12), "0x{:X}"},
    {"sl", bits(53 * 8 + 4, 4), "0x{:X}"},
    {"mtu", bytes(54, 1), "0x{:X}"},
    {"rate", bytes(55, 1), "0x{:X}"},
    {"pkt_life", bytes(56, 1), "0x{:X}"},
    {"preference", bytes(57, 1), "0x{:X}"},
    {"resv2", bytes(58, 6), "0x{:012X}"},
};
constexpr RecordLine mc_member_record_lines[]{
    {"MGID", gid(0)},
    {"PortGid", gid(16)},
    {"qkey", bytes(32, 4), "0x{:x}"},
    {"mlid", bytes(36, 2), "0x{:x}"},
    {"mtu", bytes(38, 1), "0x{:x}"},
    {"TClass", bytes(39, 1), "0x{:x}"},
    {"pkey", bytes(40, 2), "0x{:x}"},
    {"rate", bytes(42, 1), "0x{:x}"},
    {"pkt_life", bytes(43, 1), "0x{:x}"},
    {"SL", bits(44 * 8, 4), "0x{:x}"},
    {"FlowLabel", bits(44 * 8 + 4, 20), "0x{:x}"},
    {"HopLimit", bytes(47, 1), "0x{:x}"},
    {"Scope", bits(48 * 8, 4), "0x{:x}"},
    {"JoinState", bits(48 * 8 + 4, 4), "0x{:x}"},
    {"ProxyJoin", bits(49 * 8 + 7, 1), "0x{:x}"},
};
constexpr RecordLine mc_group_lines[]{
    {"MGID", gid(0)},
    {"Mlid", bytes(36, 2), "0x{:X}"},
    {"Mtu", bytes(38, 1), "0x{:X}"},
    {"pkey", bytes(40, 2), "0x{:X}"},
    {"Rate", bytes(42, 1), "0x{:X}"},
    {"SL", bits(44 * 8, 4), "0x{:X}"},
};
constexpr RecordLine mc_member_lines[]{
    {"MGID", gid(0)},
    {"Mlid", bytes(36, 2), "0x{:X}"},
    {"PortGid", gid(16)},
    {"ScopeState", bytes(48, 1), "0x{:X}"},
    {"ProxyJoin", bits(49 * 8 + 7, 1), "0x{:X}"},
    {"NodeDescription", made(member_name)},
};
constexpr RecordLine mc_gid_lines[]{{"PortGid", made(member_gid_and_name)}};
constexpr RecordLine lft_record_lines[]{
    {"LID", bytes(0, 2)}, {"Block", bytes(2, 2)}, {"\t\tLFT:"}, {"\t\tLID\tPort Number"}, {"", made(lft_lines)}};
constexpr RecordLine mft_record_lines[]{{"LID", bytes(0, 2)}, {"Position", bits(16, 4)}, {"Block", mft_block},
                                        {"\t\tMFT:"},         {"\t\tMLID\tPort Mask"},   {"", made(mft_lines)}};
constexpr RecordLine guid_info_record_lines[]{
    {"LID", bytes(0, 2)},
    {"Block", bytes(2, 1)},
    {"GUID 0", bytes(8, 8), "0x{:016x}"},
    {"GUID 1", bytes(16, 8), "0x{:016x}"},
    {"GUID 2", bytes(24, 8), "0x{:016x}"},
    {"GUID 3", bytes(32, 8), "0x{:016x}"},
    {"GUID 4", bytes(40, 8), "0x{:016x}"},
    {"GUID 5", bytes(48, 8), "0x{:016x}"},
    {"GUID 6", bytes(56, 8), "0x{:016x}"},
    {"GUID 7", bytes(64, 8), "0x{:016x}"},
};
constexpr RecordLine switch_info_record_lines[]{
    {"\t\tRID"},
    {"LID", bytes(0, 2)},
    {"\t\tSwitchInfo dump:"},
    {"LinearFDBCap", bytes(4, 2), "0x{:X}"},
    {"RandomFDBCap", bytes(6, 2), "0x{:X}"},
    {"MulticastFDBCap", bytes(8, 2), "0x{:X}"},
    {"LinearFDBTop", bytes(10, 2), "0x{:X}"},
    {"DefaultPort", bytes(12, 1)},
    {"DefaultMulticastPrimaryPort", bytes(13, 1)},
    {"DefaultMulticastNotPrimaryPort", bytes(14, 1)},
    {"LifeTimeValue/PortStateChange/OpSL2VL", bytes(15, 1), "0x{:X}"},
    {"LIDsPerPort", bytes(16, 2), "0x{:X}"},
    {"PartitionEnforcementCap", bytes(18, 2), "0x{:X}"},
    {"flags", bytes(20, 1), "0x{:X}"},
    {"", made(multicast_top_line)},
};
constexpr RecordLine sm_info_record_lines[]{
    {"\t\tRID"},
    {"LID", bytes(0, 2)},
    {"\t\tSMInfo dump:"},
    {"GUID", bytes(4, 8), "0x{:016x}"},
    {"SM_Key", bytes(12, 8), "0x{:016x}"},
    {"ActCount", bytes(20, 4)},
    {"Priority", bits(24 * 8, 4)},
    {"SMState", bits(24 * 8 + 4, 4)},
};

std::string value_text(const RecordLine& line, Bytes record, const RecordStyle& style) {
  const auto& [bit, width, make] = line.value;
  if (make != nullptr) return make(record, style);
  if (width == gid_width) return to_text(gid_at(record, bit));
  return fmt::vformat(line.format, fmt::make_format_args(wire::get_bits(record, bit, width)));
}

constexpr RecordForm forms[]{
    {"ClassPortInfo", "CPI", mad::ClassPortInfo::info, "", "SA ClassPortInfo:", 25, class_port_info_lines},
    {"NodeRecord", "NR", sa::NodeRecord::info, "lid", "NodeRecord dump:", usual, node_record_lines},
    {"PortInfoRecord", "PIR", sa::PortInfoRecord::info, "endport_lid/port_num/options", "PortInfoRecord dump:", usual,
     port_info_record_lines},
    {"SL2VLTableRecord", "SL2VL", sa::SLToVLMappingTableRecord::info, "lid/input_port_num/output_port_num", "SL2VLTableRecord dump:", wide,
     sl2vl_record_lines},
    {"PKeyTableRecord", "PKTR", sa::PKeyTableRecord::info, "lid/port_num/block_num", "PKeyTableRecord dump:", wide,
     pkey_table_record_lines},
    {"VLArbitrationTableRecord", "VLAR", sa::VLArbitrationTableRecord::info, "lid/output_port_num/block_num",
     "VLArbTableRecord dump:", wide, vl_arbitration_record_lines},
    {"InformInfoRecord", "IIR", sa::InformInfoRecord::info, "subscriber_gid", "InformInfoRecord dump:", usual, inform_info_record_lines},
    {"LinkRecord", "LR", sa::LinkRecord::info, "from_lid/from_port to_lid/to_port", "LinkRecord dump:", wide, link_record_lines},
    {"ServiceRecord", "SR", sa::ServiceRecord::info, "", "ServiceRecord dump:", usual, service_record_lines},
    {"PathRecord", "PR", sa::PathRecord::info, "", "PathRecord dump:", usual, path_record_lines},
    {"MCMemberRecord", "MCMR", sa::MCMemberRecord::info, "", "MCMember Record dump:", usual, mc_member_record_lines},
    {"LFTRecord", "LFTR", sa::LinearForwardingTableRecord::info, "lid/block_num", "LFT Record dump:", wide, lft_record_lines},
    {"MFTRecord", "MFTR", sa::MulticastForwardingTableRecord::info, "lid/position/block_num", "MFT Record dump:", wide, mft_record_lines},
    {"GUIDInfoRecord", "GIR", sa::GuidInfoRecord::info, "lid/block_num", "GUIDInfo Record dump:", wide, guid_info_record_lines},
    {"SwitchInfoRecord", "SWIR", sa::SwitchInfoRecord::info, "lid", "SwitchInfoRecord dump:", switch_info_column, switch_info_record_lines},
    {"SMInfoRecord", "SMIR", sa::SMInfoRecord::info, "lid", "SMInfoRecord dump:", 22, sm_info_record_lines},
};

}  // namespace

const RecordForm port_summary_form{"", "", sa::PortInfoRecord::info, "", "PortInfoRecord dump:", usual, port_summary_lines};
const RecordForm mc_group_form{"", "", sa::MCMemberRecord::info, "", "MCMemberRecord group dump:", usual, mc_group_lines};
const RecordForm mc_member_form{"", "", sa::MCMemberRecord::info, "", "MCMemberRecord member dump:", usual, mc_member_lines};
const RecordForm mc_gid_form{"", "", sa::MCMemberRecord::info, "", "", usual, mc_gid_lines};

std::span<const RecordForm> record_forms() { return forms; }

const RecordForm* find_form(std::string_view word) {
  const std::string given(word);
  const auto found = std::ranges::find_if(forms, [&](const RecordForm& form) {
    return strcasecmp(given.c_str(), form.name.data()) == 0 || strcasecmp(given.c_str(), form.alias.data()) == 0;
  });
  return found != std::end(forms) ? &*found : nullptr;
}

const RecordForm& form_of(const StructInfo& info) {
  return *std::ranges::find_if(forms, [&](const RecordForm& form) { return &form.info() == &info; });
}

std::string record_text(const RecordForm& form, Bytes record, const RecordStyle& style) {
  std::string text = form.title.empty() ? "" : fmt::format("{}\n", form.title);
  for (const RecordLine& line : form.lines) {
    if (line.label.empty())
      text += value_text(line, record, style);
    else if (line.value == RecordValue{})
      text += fmt::format("{}\n", line.label);
    else
      text += line_text(line.label, form.column, value_text(line, record, style));
  }
  return text;
}

std::string node_name(Bytes node_record, const subnet::NodeNameMap& names) {
  constexpr std::size_t node_guid_at = 16, description_at = 44, description_size = 64;
  const auto mapped = names.find(Guid{word(node_record, node_guid_at, 8)});
  return mapped ? printable_words(*mapped) : printable(fixed_text(part(node_record, description_at, description_size)));
}

}  // namespace ib::tools::saquery
