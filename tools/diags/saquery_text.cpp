// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The offsets are those of IBA 15.2.5; whole words are read where the text shows whole words.
#include "diags/saquery_text.hpp"

#include <fmt/format.h>

#include <array>

#include "diags/console.hpp"
#include "diags/listing.hpp"
#include "diags/smpquery_ops.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "out/escape.hpp"

namespace ib::diags {
namespace {

constexpr std::string_view not_displayed = "<not displayed>";

/// A record by byte offsets.
class Words {
 public:
  explicit Words(Bytes record) : record_(record) {}
  std::uint64_t operator()(std::size_t at, unsigned bytes) const { return wire::get_bits(record_, at * 8, bytes * 8); }
  std::uint64_t bits(std::size_t bit, unsigned width) const { return wire::get_bits(record_, bit, width); }
  std::string gid(std::size_t at) const {
    Gid gid;
    for (std::size_t i = 0; i < gid.bytes.size(); ++i) gid.bytes[i] = static_cast<std::uint8_t>((*this)(at + i, 1));
    return to_text(gid);
  }
  Bytes from(std::size_t at, std::size_t size) const {
    const std::size_t begin = std::min(at, record_.size());
    return record_.subspan(begin, std::min(size, record_.size() - begin));
  }

 private:
  Bytes record_;
};

/// Lines of two tabs, a name, dots and a value.
class Lines {
 public:
  Lines(std::string_view title, unsigned width) : text_(title), width_(width) { text_ += '\n'; }
  template <class... T>
  Lines& add(std::string_view name, fmt::format_string<T...> format, T&&... values) {
    text_ += "\t\t";
    text_ += name;
    text_.append(name.size() < width_ ? width_ - name.size() : 0, '.');
    text_ += fmt::vformat(format, fmt::make_format_args(values...));
    text_ += '\n';
    return *this;
  }
  Lines& line(std::string_view line) {
    text_ += line;
    text_ += '\n';
    return *this;
  }
  std::string text() const { return text_; }

 private:
  std::string text_;
  unsigned width_;
};

constexpr unsigned usual = 24, wide = 27;

std::string_view node_type_text(std::uint64_t type) {
  constexpr std::array<std::string_view, 4> texts{"UNKNOWN", "Channel Adapter", "Switch", "Router"};
  return texts[type < texts.size() ? type : 0];
}

}  // namespace

std::string node_name(Bytes node_record, const subnet::NodeNameMap& names) {
  constexpr std::size_t node_guid_at = 20, description_at = 44, description_size = 64;
  const Words word(node_record);
  const auto mapped = names.find(Guid{word(node_guid_at, 8)});
  return mapped ? std::string(*mapped) : clean_description(word.from(description_at, description_size));
}

std::string node_record_text(Bytes record, const RecordStyle& style) {
  const Words w(record);
  return Lines("NodeRecord dump:", usual)
      .add("lid", "{}", w(0, 2))
      .add("reserved", "0x{:X}", w(2, 2))
      .add("base_version", "0x{:X}", w(4, 1))
      .add("class_version", "0x{:X}", w(5, 1))
      .add("node_type", "{}", node_type_text(w(6, 1)))
      .add("num_ports", "{}", w(7, 1))
      .add("sys_guid", "0x{:016x}", w(8, 8))
      .add("node_guid", "0x{:016x}", w(16, 8))
      .add("port_guid", "0x{:016x}", w(24, 8))
      .add("partition_cap", "0x{:X}", w(32, 2))
      .add("device_id", "0x{:X}", w(34, 2))
      .add("revision", "0x{:X}", w(36, 4))
      .add("port_num", "{}", w(40, 1))
      .add("vendor_id", "0x{:X}", w(41, 3))
      .add("NodeDescription", "{}", node_name(record, style.names))
      .text();
}

std::string path_record_text(Bytes record, const RecordStyle& /*style*/) {
  const Words w(record);
  return Lines("PathRecord dump:", usual)
      .add("service_id", "0x{:016x}", w(0, 8))
      .add("dgid", "{}", w.gid(8))
      .add("sgid", "{}", w.gid(24))
      .add("dlid", "{}", w(40, 2))
      .add("slid", "{}", w(42, 2))
      .add("hop_flow_raw", "0x{:X}", w(44, 4))
      .add("tclass", "0x{:X}", w(48, 1))
      .add("num_path_revers", "0x{:X}", w(49, 1))
      .add("pkey", "0x{:X}", w(50, 2))
      .add("qos_class", "0x{:X}", w.bits(52 * 8, 12))
      .add("sl", "0x{:X}", w.bits(53 * 8 + 4, 4))
      .add("mtu", "0x{:X}", w(54, 1))
      .add("rate", "0x{:X}", w(55, 1))
      .add("pkt_life", "0x{:X}", w(56, 1))
      .add("preference", "0x{:X}", w(57, 1))
      .add("resv2", "0x{:012X}", w(58, 6))
      .text();
}

std::string class_port_info_text(Bytes record, const RecordStyle& /*style*/) {
  const Words w(record);
  return Lines("SA ClassPortInfo:", 25)
      .add("Base version", "{}", w(0, 1))
      .add("Class version", "{}", w(1, 1))
      .add("Capability mask", "0x{:04X}", w(2, 2))
      .add("Capability mask 2", "0x{:08X}", w.bits(32, 27))
      .add("Response time value", "0x{:02X}", w.bits(59, 5))
      .add("Redirect GID", "{}", w.gid(8))
      .add("Redirect TC/SL/FL", "0x{:08X}", w(24, 4))
      .add("Redirect LID", "{}", w(28, 2))
      .add("Redirect PKey", "0x{:04X}", w(30, 2))
      .add("Redirect QP", "0x{:08X}", w(32, 4))
      .add("Redirect QKey", "0x{:08X}", w(36, 4))
      .add("Trap GID", "{}", w.gid(40))
      .add("Trap TC/SL/FL", "0x{:08X}", w(56, 4))
      .add("Trap LID", "{}", w(60, 2))
      .add("Trap PKey", "0x{:04X}", w(62, 2))
      .add("Trap HL/QP", "0x{:08X}", w(64, 4))
      .add("Trap QKey", "0x{:08X}", w(68, 4))
      .text();
}

std::string port_info_record_text(Bytes record, const RecordStyle& style) {
  const Words w(record);
  std::string text = Lines("PortInfoRecord dump:", usual)
                         .line("\tRID")
                         .add("EndPortLid", "{}", w(0, 2))
                         .add("PortNum", "{}", w(2, 1))
                         .add("Options", "0x{:x}", w(3, 1))
                         .line("\tPortInfo dump:")
                         .text();
  constexpr std::size_t width_active_at = 4 + 31;
  const std::uint64_t width = w(width_active_at, 1);
  if (listed_value(Form::width_active, width, 8).starts_with("undefined")) warn("mad_dump_linkwidth", fmt::format("bad width {}", width));
  std::string listing = listed(port_info_listing, w.from(4, 64), style.show_keys ? "" : "m_key");
  // Two tabs before each field; the names of single bits stand on lines of their own, which have tabs already.
  for (std::size_t at = 0; at < listing.size();) {
    const std::size_t end = listing.find('\n', at) + 1;
    text += (listing[at] == '\t' ? "" : "\t\t") + listing.substr(at, end - at);
    at = end;
  }
  return text;
}

std::string port_summary_text(Bytes record, const RecordStyle& /*style*/) {
  const Words w(record);
  return Lines("PortInfoRecord dump:", usual)
      .add("EndPortLid", "{}", w(0, 2))
      .add("PortNum", "{}", w(2, 1))
      .add("base_lid", "{}", w(20, 2))
      .add("master_sm_base_lid", "{}", w(22, 2))
      .add("capability_mask", "0x{:X}", w(24, 4))
      .text();
}

std::string mc_member_record_text(Bytes record, const RecordStyle& /*style*/) {
  const Words w(record);
  return Lines("MCMember Record dump:", usual)
      .add("MGID", "{}", w.gid(0))
      .add("PortGid", "{}", w.gid(16))
      .add("qkey", "0x{:x}", w(32, 4))
      .add("mlid", "0x{:x}", w(36, 2))
      .add("mtu", "0x{:x}", w(38, 1))
      .add("TClass", "0x{:x}", w(39, 1))
      .add("pkey", "0x{:x}", w(40, 2))
      .add("rate", "0x{:x}", w(42, 1))
      .add("pkt_life", "0x{:x}", w(43, 1))
      .add("SL", "0x{:x}", w.bits(352, 4))
      .add("FlowLabel", "0x{:x}", w.bits(356, 20))
      .add("HopLimit", "0x{:x}", w(47, 1))
      .add("Scope", "0x{:x}", w.bits(384, 4))
      .add("JoinState", "0x{:x}", w.bits(388, 4))
      .add("ProxyJoin", "0x{:x}", w(49, 1) & 1U)
      .text();
}

std::string mc_group_text(Bytes record, const RecordStyle& /*style*/) {
  const Words w(record);
  return Lines("MCMemberRecord group dump:", usual)
      .add("MGID", "{}", w.gid(0))
      .add("Mlid", "0x{:X}", w(36, 2))
      .add("Mtu", "0x{:X}", w(38, 1))
      .add("pkey", "0x{:X}", w(40, 2))
      .add("Rate", "0x{:X}", w(42, 1))
      .add("SL", "0x{:X}", w.bits(352, 4))
      .text();
}

std::string service_record_text(Bytes record, const RecordStyle& style) {
  const Words w(record);
  const std::string key = style.show_keys ? fmt::format("0x{:016x}{:016x}", w(32, 8), w(40, 8)) : std::string(not_displayed);
  Lines lines("ServiceRecord dump:", usual);
  lines.add("ServiceID", "0x{:016x}", w(0, 8))
      .add("ServiceGID", "{}", w.gid(8))
      .add("ServiceP_Key", "0x{:X}", w(24, 2))
      .add("ServiceLease", "0x{:X}", w(28, 4))
      .add("ServiceKey", "{}", key)
      .add("ServiceName", "{}", out::printable(out::fixed_text(w.from(48, 64))));
  struct Group {
    unsigned bits, count;
    std::size_t at;
  };
  for (const Group& group : {Group{8, 16, 112}, Group{16, 8, 128}, Group{32, 4, 144}, Group{64, 2, 160}}) {
    for (unsigned i = 0; i < group.count; ++i) {
      const std::uint64_t value = w(group.at + i * group.bits / 8, group.bits / 8);
      const std::string name = fmt::format("ServiceData{}.{}", group.bits, i + 1);
      lines.add(name, "{}", group.bits == 64 ? fmt::format("0x{:016x}", value) : fmt::format("0x{:X}", value));
    }
  }
  return lines.text();
}

std::string sm_info_record_text(Bytes record, const RecordStyle& /*style*/) {
  const Words w(record);
  return Lines("SMInfoRecord dump:", 22)
      .line("\t\tRID")
      .add("LID", "{}", w(0, 2))
      .line("\t\tSMInfo dump:")
      .add("GUID", "0x{:016x}", w(4, 8))
      .add("SM_Key", "0x{:016x}", w(12, 8))
      .add("ActCount", "{}", w(20, 4))
      .add("Priority", "{}", w(24, 1) >> 4)
      .add("SMState", "{}", w(24, 1) & 15U)
      .text();
}

std::string switch_info_record_text(Bytes record, const RecordStyle& style) {
  constexpr std::uint32_t multicast_top_supported = 1U << 3;
  const Words w(record);
  Lines lines("SwitchInfoRecord dump:", 40);
  lines.line("\t\tRID")
      .add("LID", "{}", w(0, 2))
      .line("\t\tSwitchInfo dump:")
      .add("LinearFDBCap", "0x{:X}", w(4, 2))
      .add("RandomFDBCap", "0x{:X}", w(6, 2))
      .add("MulticastFDBCap", "0x{:X}", w(8, 2))
      .add("LinearFDBTop", "0x{:X}", w(10, 2))
      .add("DefaultPort", "{}", w(12, 1))
      .add("DefaultMulticastPrimaryPort", "{}", w(13, 1))
      .add("DefaultMulticastNotPrimaryPort", "{}", w(14, 1))
      .add("LifeTimeValue/PortStateChange/OpSL2VL", "0x{:X}", w(15, 1))
      .add("LIDsPerPort", "0x{:X}", w(16, 2))
      .add("PartitionEnforcementCap", "0x{:X}", w(18, 2))
      .add("flags", "0x{:X}", w(20, 1));
  if ((style.capability_mask2 & multicast_top_supported) != 0) lines.add("MulticastFDBTop", "0x{:X}", w(22, 2));
  return lines.text();
}

std::string inform_info_record_text(Bytes record, const RecordStyle& style) {
  const Words w(record);
  const bool generic = w(46, 1) != 0;
  const std::string qpn = style.show_keys ? fmt::format("0x{:06X}", w(52, 3)) : std::string(not_displayed);
  return Lines("InformInfoRecord dump:", usual)
      .line("\t\tRID")
      .add("SubscriberGID", "{}", w.gid(0))
      .add("SubscriberEnum", "0x{:X}", w(16, 2))
      .line("\t\tInformInfo dump:")
      .add("gid", "{}", w.gid(24))
      .add("lid_range_begin", "{}", w(40, 2))
      .add("lid_range_end", "{}", w(42, 2))
      .add("is_generic", "0x{:X}", w(46, 1))
      .add("subscribe", "0x{:X}", w(47, 1))
      .add("trap_type", "0x{:X}", w(48, 2))
      .add(generic ? "trap_num" : "dev_id", "{}", generic ? fmt::format("{}", w(50, 2)) : fmt::format("0x{:X}", w(50, 2)))
      .add("qpn", "{}", qpn)
      .add("resp_time_val", "0x{:X}", w.bits(55 * 8 + 3, 5))
      .add(generic ? "node_type" : "vendor_id", "0x{:06X}", w(57, 3))
      .text();
}

std::string link_record_text(Bytes record, const RecordStyle& /*style*/) {
  const Words w(record);
  return Lines("LinkRecord dump:", wide)
      .add("FromLID", "{}", w(0, 2))
      .add("FromPort", "{}", w(2, 1))
      .add("ToPort", "{}", w(3, 1))
      .add("ToLID", "{}", w(4, 2))
      .text();
}

std::string sl2vl_record_text(Bytes record, const RecordStyle& /*style*/) {
  const Words w(record);
  std::string vls = "\t\tVL:";
  for (std::size_t sl = 0; sl < 16; ++sl) vls += fmt::format("{:2}|", w.bits(64 + 4 * sl, 4));
  return Lines("SL2VLTableRecord dump:", wide)
      .add("LID", "{}", w(0, 2))
      .add("InPort", "{}", w(2, 1))
      .add("OutPort", "{}", w(3, 1))
      .line("\t\tSL: 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|")
      .line(vls)
      .text();
}

std::string vl_arbitration_record_text(Bytes record, const RecordStyle& /*style*/) {
  const Words w(record);
  Lines lines("VLArbTableRecord dump:", wide);
  lines.add("LID", "{}", w(0, 2)).add("Port", "{}", w(2, 1)).add("Block", "{}", w(3, 1));
  for (const std::size_t first : {0U, 16U}) {
    std::string vls = "\t\tVL    :", weights = "\t\tWeight:";
    for (std::size_t i = first; i < first + 16; ++i) {
      vls += fmt::format("{:2}|", w(8 + 2 * i, 1));
      weights += fmt::format("{:2}|", w(9 + 2 * i, 1));
    }
    lines.line(vls).line(weights);
  }
  return lines.text();
}

std::string pkey_table_record_text(Bytes record, const RecordStyle& /*style*/) {
  const Words w(record);
  Lines lines("PKeyTableRecord dump:", wide);
  lines.add("LID", "{}", w(0, 2)).add("Port", "{}", w(4, 1)).add("Block", "{}", w(2, 2)).line("\t\tPKey Table:");
  for (std::size_t first = 0; first < 32; first += 8) {
    std::string row = "\t\t";
    for (std::size_t i = first; i < first + 8; ++i) row += fmt::format("{}0x{:04x}", i == first ? "" : " ", w(8 + 2 * i, 2));
    lines.line(row);
  }
  return lines.text() + "\n";
}

std::string lft_record_text(Bytes record, const RecordStyle& /*style*/) {
  const Words w(record);
  Lines lines("LFT Record dump:", wide);
  lines.add("LID", "{}", w(0, 2)).add("Block", "{}", w(2, 2)).line("\t\tLFT:\n\t\tLID\tPort Number");
  for (std::size_t i = 0; i < 64; ++i) lines.line(fmt::format("\t\t{}\t{}", w(2, 2) * 64 + i, w(8 + i, 1)));
  return lines.text() + "\n";
}

std::string mft_record_text(Bytes record, const RecordStyle& /*style*/) {
  constexpr std::size_t first_multicast_lid = 0xc000;
  const Words w(record);
  const std::uint64_t block = w.bits(23, 9);
  Lines lines("MFT Record dump:", wide);
  lines.add("LID", "{}", w(0, 2)).add("Position", "{}", w.bits(16, 4)).add("Block", "{}", block).line("\t\tMFT:\n\t\tMLID\tPort Mask");
  for (std::size_t i = 0; i < 32; ++i)
    lines.line(fmt::format("\t\t0x{:04x}\t0x{:04x}", first_multicast_lid + block * 32 + i, w(8 + 2 * i, 2)));
  return lines.text() + "\n";
}

std::string guid_info_record_text(Bytes record, const RecordStyle& /*style*/) {
  const Words w(record);
  Lines lines("GUIDInfo Record dump:", wide);
  lines.add("LID", "{}", w(0, 2)).add("Block", "{}", w(2, 1));
  for (std::size_t i = 0; i < 8; ++i) lines.add(fmt::format("GUID {}", i), "0x{:016x}", w(8 + 8 * i, 8));
  return lines.text();
}

}  // namespace ib::diags
