// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// The reports of saquery, in the format of both dialects. Fields that share a word on the wire are sometimes printed as this word by
// infiniband-diags.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/escape.hpp"
#include "base/log.hpp"
#include "base/split.hpp"
#include "iba-gen/mad.hpp"
#include "iba-gen/smp.hpp"
#include "iba/generic.hpp"
#include "iba/secrets.hpp"
#include "iba/text.hpp"
#include "iba/wire.hpp"
#include "report/structure.hpp"
#include "tools/frame/common_options.hpp"
#include "tools/frame/diags_words.hpp"
#include "tools/frame/emit.hpp"
#include "tools/frame/host.hpp"
#include "tools/frame/manners.hpp"
#include "tools/frame/session.hpp"
#include "tools/frame/stack.hpp"
#include "tools/frame/targets.hpp"
#include "tools/frame/world.hpp"
#include "tools/saquery/saquery.hpp"
#include "tools/shared/attribute_text.hpp"

namespace ib::tools::saquery {

/// The text of one record: "<tab><tab>label....value".
class RecordLines {
 public:
  RecordLines(const RecordForm& form, Bytes bytes, const RecordStyle& record_style)
      : record(bytes), style(record_style), form_(form), text_(form.title.empty() ? "" : fmt::format("{}\n", form.title)) {}

  const Bytes record;
  const RecordStyle& style;

  const StructInfo& info() const { return form_.info(); }

  template <class Record>
  Record unpacked() const {
    return wire::unpack_short<Record>(record);
  }
  void line(std::string_view label, std::string_view value) { text_ += fmt::format("\t\t{:.<{}}{}\n", label, form_.column, value); }
  void lines(std::string_view form);
  void secret(std::string_view label, const std::string& key) { line(label, style.keys == Keys::shown ? key : std::string(hidden_text)); }
  void write(std::string_view whole) { text_ += whole; }

  std::string take() { return std::move(text_); }

 private:
  const RecordForm& form_;
  std::string text_;
};

void RecordLines::lines(std::string_view form) {
  for (std::string_view label : split(form, "|")) {
    if (label.starts_with('\t')) {
      text_ += fmt::format("{}\n", label);
      continue;
    }
    const auto cut = [&label](char mark) {
      const std::size_t at = std::min(label.find(mark), label.size());
      const std::string_view behind = label.substr(std::min(at + 1, label.size()));
      label = label.substr(0, at);
      return behind;
    };
    const std::string_view format = cut(':'), bits = cut('*'), skipped = cut('+'), name = cut('=');
    const FieldRef member = *find_path(form_.info(), name.empty() ? label : name);
    if (member.field->kind == FieldKind::gid) {
      line(label, to_text(std::get<Gid>(read_path(record, member))));
      continue;
    }
    const std::uint64_t value = wire::get_bits(record, member.bit_offset + static_cast<unsigned>(parse_number(skipped).value_or(0)),
                                               static_cast<unsigned>(parse_number(bits).value_or(member.field->bits)));
    const std::string usual_format = member.field->kind == FieldKind::guid ? "0x{:016x}" : "{}";
    line(label, fmt::format(fmt::runtime(format.empty() ? usual_format : fmt::format("0x{{:{}}}", format)), value));
  }
}

namespace {

constexpr std::size_t usual = 24, wide = 27;

void node_record(RecordLines& out) {
  const auto record = out.unpacked<sa::NodeRecord>();
  const std::string_view type = smp::to_text(record.node_info.node_type);
  out.line("node_type", type.empty() ? "UNKNOWN" : type);
  out.lines(
      "num_ports|sys_guid=system_image_guid|node_guid|port_guid|partition_cap:X|device_id:X|revision:X|port_num=local_port_num|"
      "vendor_id:X");
  out.line("NodeDescription", node_name(record, out.style.names));
}

void port_info(RecordLines& out) {
  const auto record = out.unpacked<sa::PortInfoRecord>();
  const std::string listing = libibmad_listing(wire::packed(record.port_info), smp::PortInfo::info(), out.style.keys, out.style.new_fields);
  // Each field has two tabs before it. The names of single bits are on lines of their own, which already have tabs.
  for (std::size_t at = 0; at < listing.size();) {
    const std::size_t end = listing.find('\n', at) + 1;
    out.write((listing[at] == '\t' ? "" : "\t\t") + listing.substr(at, end - at));
    at = end;
  }
}

void sl2vl(RecordLines& out) {
  const auto record = out.unpacked<sa::SLToVLMappingTableRecord>();
  out.write("\t\tSL: 0| 1| 2| 3| 4| 5| 6| 7| 8| 9|10|11|12|13|14|15|\n\t\tVL:");
  out.write(std::string_view(libibmad_sl_to_vl(wire::packed(record.sl_to_vl_mapping_table))).substr(1));
}

void table(RecordLines& out) { out.write(sa::table_text(out.record, out.info())); }

/// A table with an empty line behind it.
void closed_table(RecordLines& out) {
  table(out);
  out.write("\n");
}

void inform_info(RecordLines& out) {
  const mad::InformInfo info = out.unpacked<sa::InformInfoRecord>().inform_info;
  const bool generic = info.is_generic != 0;
  out.lines(generic ? "trap_num=trap_number" : "dev_id=trap_number:X");
  out.secret("qpn", fmt::format("0x{:06X}", info.qpn));
  out.lines(generic ? "resp_time_val=resp_time_value|node_type=producer_type:06X"
                    : "resp_time_val=resp_time_value|vendor_id=producer_type:06X");
}

void service(RecordLines& out) {
  const auto record = out.unpacked<sa::ServiceRecord>();
  out.secret("ServiceKey", fmt::format("0x{:016x}{:016x}", record.service_key.prefix().value, record.service_key.guid().value));
  out.line("ServiceName", printable(fixed_text(record.service_name)));
  for (const unsigned bits : {8U, 16U, 32U, 64U}) {
    const std::string data = fmt::format("ServiceData{}", bits);
    for (unsigned i = 0; i < 128 / bits; ++i) out.lines(fmt::format("{0}.{1}={0}[{2}]:{3}", data, i + 1, i, bits == 64 ? "016x" : "X"));
  }
}

std::string member_name(const Gid& port, const RecordStyle& style) {
  const auto node = std::ranges::find(style.nodes, port.guid(), [](const sa::NodeRecord& each) { return each.node_info.port_guid; });
  return node != style.nodes.end() ? node_name(*node, style.names) : "<unknown>";
}

void mc_member_name(RecordLines& out) { out.line("NodeDescription", member_name(out.unpacked<sa::MCMemberRecord>().port_gid, out.style)); }

void mc_gid(RecordLines& out) {
  const Gid port = out.unpacked<sa::MCMemberRecord>().port_gid;
  out.line("PortGid", fmt::format("{} ({})", to_text(port), member_name(port, out.style)));
}

void switch_info(RecordLines& out) {
  constexpr std::uint32_t multicast_top_supported = 1U << 3;
  if ((out.style.capability_mask2 & multicast_top_supported) != 0) out.lines("MulticastFDBTop=multicast_fdb_top:X");
}

constexpr RecordForm forms[]{
    {"ClassPortInfo", "CPI", "", "SA ClassPortInfo:", 25, mad::ClassPortInfo::info,
     "Base version=base_version|Class version=class_version|Capability mask=capability_mask:04X|"
     "Capability mask 2=capability_mask2:08X|Response time value=resp_time_value:02X|Redirect GID=redirect_gid|"
     "Redirect TC/SL/FL=redirect_tc*32:08X|Redirect LID=redirect_lid|Redirect PKey=redirect_p_key:04X|Redirect QP=reserved_256*32:08X|"
     "Redirect QKey=redirect_q_key:08X|Trap GID=trap_gid|Trap TC/SL/FL=trap_tc*32:08X|Trap LID=trap_lid|Trap PKey=trap_p_key:04X|"
     "Trap HL/QP=trap_hl*32:08X|Trap QKey=trap_q_key:08X"},
    {"NodeRecord", "NR", "lid", "NodeRecord dump:", usual, sa::NodeRecord::info,
     "lid|reserved=reserved_16:X|base_version:X|class_version:X", node_record},
    {"PortInfoRecord", "PIR", "endport_lid/port_num/options", "PortInfoRecord dump:", usual, sa::PortInfoRecord::info,
     "\tRID|EndPortLid|PortNum|Options:x|\tPortInfo dump:", port_info},
    {"SL2VLTableRecord", "SL2VL", "lid/input_port_num/output_port_num", "SL2VLTableRecord dump:", wide, sa::SLToVLMappingTableRecord::info,
     "LID|InPort=input_port_num|OutPort=output_port_num", sl2vl},
    {"PKeyTableRecord", "PKTR", "lid/port_num/block_num", "PKeyTableRecord dump:", wide, sa::PKeyTableRecord::info,
     "LID|Port=port_num|Block=block_num", closed_table},
    {"VLArbitrationTableRecord", "VLAR", "lid/output_port_num/block_num", "VLArbTableRecord dump:", wide,
     sa::VLArbitrationTableRecord::info, "LID|Port=output_port_num|Block=block_num", table},
    {"InformInfoRecord", "IIR", "subscriber_gid", "InformInfoRecord dump:", usual, sa::InformInfoRecord::info,
     "\t\tRID|SubscriberGID|SubscriberEnum=enumeration:X|\t\tInformInfo dump:|gid=inform_info.gid|lid_range_begin|lid_range_end|"
     "is_generic:X|subscribe:X|trap_type=inform_info.type:X",
     inform_info},
    {"LinkRecord", "LR", "from_lid/from_port to_lid/to_port", "LinkRecord dump:", wide, sa::LinkRecord::info,
     "FromLID|FromPort|ToPort|ToLID"},
    {"ServiceRecord", "SR", "", "ServiceRecord dump:", usual, sa::ServiceRecord::info,
     "ServiceID:016x|ServiceGID|ServiceP_Key=service_p_key:X|ServiceLease:X", service},
    {"PathRecord", "PR", "", "PathRecord dump:", usual, sa::PathRecord::info,
     "service_id:016x|dgid|sgid|dlid|slid|hop_flow_raw=raw_traffic*32:X|tclass=t_class:X|num_path_revers=reversible*8:X|pkey=p_key:X|"
     "qos_class:X|sl:X|mtu=mtu_selector*8:X|rate=rate_selector*8:X|pkt_life=packet_life_time_selector*8:X|preference:X|"
     "resv2=reverse_path_p_key_member_bit*48:012X"},
    // ProxyJoin is the highest bit of its byte. infiniband-diags takes the lowest, the last of the seven reserved ones beside it.
    {"MCMemberRecord", "MCMR", "", "MCMember Record dump:", usual, sa::MCMemberRecord::info,
     "MGID|PortGid|qkey=q_key:x|mlid:x|mtu=mtu_selector*8:x|TClass:x|pkey=p_key:x|rate=rate_selector*8:x|"
     "pkt_life=packet_life_time_selector*8:x|SL:x|FlowLabel:x|HopLimit:x|Scope:x|JoinState:x|ProxyJoin=reserved_393+6*1:x"},
    {"LFTRecord", "LFTR", "lid/block_num", "LFT Record dump:", wide, sa::LinearForwardingTableRecord::info, "LID|Block=block_num",
     closed_table},
    {"MFTRecord", "MFTR", "lid/position/block_num", "MFT Record dump:", wide, sa::MulticastForwardingTableRecord::info,
     "LID|Position|Block=block_num", closed_table},
    {"GUIDInfoRecord", "GIR", "lid/block_num", "GUIDInfo Record dump:", wide, sa::GuidInfoRecord::info,
     "LID|Block=block_num|GUID 0=guid_block[0]|GUID 1=guid_block[1]|GUID 2=guid_block[2]|GUID 3=guid_block[3]|GUID 4=guid_block[4]|"
     "GUID 5=guid_block[5]|GUID 6=guid_block[6]|GUID 7=guid_block[7]"},
    {"SwitchInfoRecord", "SWIR", "lid", "SwitchInfoRecord dump:", 40, sa::SwitchInfoRecord::info,
     "\t\tRID|LID|\t\tSwitchInfo dump:|LinearFDBCap:X|RandomFDBCap:X|MulticastFDBCap:X|LinearFDBTop:X|DefaultPort|"
     "DefaultMulticastPrimaryPort|DefaultMulticastNotPrimaryPort|LifeTimeValue/PortStateChange/OpSL2VL=life_time_value*8:X|"
     "LIDsPerPort:X|PartitionEnforcementCap:X|flags=inbound_enforcement_cap*8:X",
     switch_info},
    {"SMInfoRecord", "SMIR", "lid", "SMInfoRecord dump:", 22, sa::SMInfoRecord::info,
     "\t\tRID|LID|\t\tSMInfo dump:|GUID=sm_info.guid|SM_Key:016x|ActCount|Priority|SMState"},
};

constexpr RecordForm special_forms[]{
    // SpecialForm, in its order
    {"", "", "", "PortInfoRecord dump:", usual, sa::PortInfoRecord::info,
     "EndPortLid|PortNum|base_lid=port_info.lid|master_sm_base_lid=port_info.master_sm_lid|capability_mask=port_info.capability_mask:X"},
    {"", "", "", "MCMemberRecord group dump:", usual, sa::MCMemberRecord::info,
     "MGID|Mlid:X|Mtu=mtu_selector*8:X|pkey=p_key:X|Rate=rate_selector*8:X|SL:X"},
    {"", "", "", "MCMemberRecord member dump:", usual, sa::MCMemberRecord::info,
     "MGID|Mlid:X|PortGid|ScopeState=scope*8:X|ProxyJoin=reserved_393+6*1:X", mc_member_name},
    {"", "", "", "", usual, sa::MCMemberRecord::info, "", mc_gid},
};

struct NamedNode {
  sa::NodeRecord record;
  std::optional<std::string> mapped;  ///< the name in the node name map of the site

  std::string name() const { return mapped ? *mapped : description_of(record); }
  std::string diags_name() const { return mapped ? printable_words(*mapped) : printable(description_of(record)); }
};

using report::Column;

std::span<const Column<NamedNode>> node_list_columns() {
  static const std::array<Column<NamedNode>, 7> columns{{
      {{.key = "node_guid", .heading = "GUID"}, [](const NamedNode& node) { return node.record.node_info.node_guid; }},
      {{.key = "node_type", .heading = "TYPE", .usual = true, .coded = true},
       [](const NamedNode& node) { return report::coded_cell(true, node.record.node_info.node_type); }},
      {{.key = "node_description", .heading = "NODE", .usual = true}, [](const NamedNode& node) { return description_of(node.record); }},
      {{.key = "node_name", .heading = "NAME"}, [](const NamedNode& node) { return report::text_cell(node.mapped.value_or("")); }},
      {{.key = "port_guid", .heading = "PORT GUID", .usual = true}, [](const NamedNode& node) { return node.record.node_info.port_guid; }},
      {{.key = "port_num", .heading = "PORT", .usual = true}, [](const NamedNode& node) { return node.record.node_info.local_port_num; }},
      {{.key = "lid", .heading = "LID", .usual = true}, [](const NamedNode& node) { return node.record.lid.value; }},
  }};
  return columns;
}

struct NodesReport final : Report {
  ListKind what;
  bool torn, as_table;
  ListReport<NamedNode> list;

  NodesReport(ListKind of, bool is_torn, const TableOptions& options, std::vector<NamedNode> nodes)
      : what(of),
        torn(is_torn),
        as_table(options.given()),
        list("nodes", report::Table<NamedNode>(node_list_columns(), options), std::move(nodes)) {}
  void visit(report::Sink& sink) const override {
    sink.value("complete", !torn);
    list.visit(sink);
  }
  void text(TextOut& out) const override { as_table ? list.text(out) : print(out, false); }
  void diags_text(TextOut& out) const override { print(out, true); }
  Exit status() const override { return torn ? Exit::incomplete : Exit::ok; }

 private:
  void print(TextOut& out, bool as_diags) const {
    if (what == ListKind::adapters) out.write("   LID \"name\"\n================\n");
    for (const NamedNode& node : list.rows) {
      const Guid guid = node.record.node_info.port_guid;
      const unsigned lid = node.record.lid.value;
      if (what == ListKind::adapters) {
        out.print("{:6}  {}\n", lid, as_diags ? fmt::format("\"{}\"", node.diags_name()) : in_quotes(node.name()));
      } else if (what == ListKind::guids) {
        out.print("{}\n", as_diags ? fmt::format("0x{:016x}", guid.value) : to_text(guid));
      } else if (what == ListKind::name_of_lid || what == ListKind::name_of_guid) {
        out.print("{}\n", as_diags ? node.diags_name() : escaped(node.name()));
      } else {
        out.print("{}\n", lid);
      }
    }
  }
};

/// The ports whose CapabilityMask has a bit for a subnet manager.
struct ManagersReport final : Report {
  RecordsReport active, disabled;
  bool all = false;  ///< the list includes disabled subnet managers

  explicit ManagersReport(Stack& stack) : active(stack, with("IsSM")), disabled(stack, with("IsSMdisabled")) {
    active.form = disabled.form = &special_form(SpecialForm::port_summary);
  }
  void visit(report::Sink& sink) const override {
    sink.value("attribute", active.pattern.answer().iba_name);
    sink.value("complete", !active.records.torn && !disabled.records.torn);
    active.visit_records(sink, "is_sm");
    disabled.visit_records(sink, "is_sm_disabled");
  }
  void text(TextOut& out) const override { print(out, &RecordsReport::text); }
  void diags_text(TextOut& out) const override { print(out, &RecordsReport::diags_text); }
  Exit status() const override { return active.records.torn || disabled.records.torn ? Exit::incomplete : Exit::ok; }

 private:
  void print(TextOut& out, void (RecordsReport::*text_of)(TextOut&) const) const {
    out.write("IsSM ports\n");
    (active.*text_of)(out);
    if (!all) return;
    out.write("\nIsSMdisabled ports\n");
    (disabled.*text_of)(out);
  }
  static sa::Pattern with(std::string_view capability) {
    sa::Pattern pattern(sa::PortInfoRecord::info());
    pattern.match("portInfo.capabilityMask", capability);
    return pattern;
  }
};

}  // namespace

std::span<const RecordForm> record_forms() { return forms; }

const RecordForm& special_form(SpecialForm which) { return special_forms[static_cast<std::size_t>(which)]; }

const RecordForm* find_form(std::string_view word) {
  const auto found = std::ranges::find_if(
      forms, [&](const RecordForm& each) { return equal_ignoring_case(word, each.name) || equal_ignoring_case(word, each.alias); });
  return found != std::end(forms) ? &*found : nullptr;
}

const RecordForm& form_of(const StructInfo& info) {
  return *std::ranges::find_if(forms, [&](const RecordForm& each) { return &each.info() == &info; });
}

std::string record_text(const RecordForm& form, Bytes record, const RecordStyle& style) {
  RecordLines out(form, record, style);
  if (!form.lines.empty()) out.lines(form.lines);
  if (form.rest != nullptr) form.rest(out);
  return out.take();
}

std::string node_name(const sa::NodeRecord& node, const subnet::NodeNameMap& names) {
  return diags_node_name(names, node.node_info.node_guid, fixed_text(node.node_description.node_string));
}

RecordsReport::RecordsReport(Stack& stack, sa::Pattern wanted)
    : pattern(std::move(wanted)), style{stack.manners().node_name_map(), stack.host().options().keys} {
  const CommonOptions& options = stack.host().options();
  style.new_fields = stack.host().world().diags_release->new_fields;
  names = options.int_names || options.error_level() >= 2 ? sa::RecordNames::internal : sa::RecordNames::saquery;
}

void RecordsReport::visit(report::Sink& sink) const {
  sink.value("attribute", pattern.answer().iba_name);
  sink.begin_object("match");
  for (const auto& [component, _, secret] : pattern.matches()) {
    if (secret && style.keys == Keys::hidden) {
      sink.null(component.name);
    } else {
      report::visit_field(sink, component.name, pattern.bytes(), *find_path(pattern.form(), component.member));
    }
  }
  sink.end_object();
  sink.value("complete", !records.torn);
  table ? table->visit(sink) : visit_records(sink, "records");
}

void RecordsReport::visit_records(report::Sink& sink, std::string_view key) const {
  tools::visit_records(sink, key, records.bytes, pattern.answer(), style.keys);
}

void RecordsReport::text(TextOut& out) const {
  if (table) return table->text(out);
  const StructInfo& info = pattern.answer();
  const std::string_view title = names == sa::RecordNames::internal || info.saquery_name.empty() ? info.iba_name : info.saquery_name;
  for (const Bytes record : records.bytes) {
    out.print("{}{}:\n", title, single ? "" : " dump");
    out.write(sa::record_text(record, info, names, style.keys));
    const std::string_view note = secrets_note(record, info, style.keys);
    if (!note.empty()) out.print("\t\t{}", note);
  }
  if (none) out.write("No Records.\n");
}

void RecordsReport::diags_text(TextOut& out) const {
  for (const Bytes record : records.bytes) {
    if (!shown || shown(record)) out.write(record_text(*form, record, style));
  }
}

async::Task<> fetch_records(Stack& stack, RecordsReport& report, std::uint8_t method, std::uint32_t modifier) {
  mad::Transactor& transactor = stack.transactor();
  const bool as_diags = stack.manners().as_libibmad();
  mad::Result<sa::Records> tried = co_await sa::try_records(transactor, transactor.sa_path(), report.pattern, method, modifier);
  if (tried) {
    report.records = std::move(*tried);
    const std::size_t arrived = report.records.bytes.size();
    if (report.records.torn)
      as_diags ? warn(stack.host().world(), "sa_query", torn_text(arrived)) : stack.host().log().warning(torn_text(arrived));
    co_return;
  }
  if (as_diags) exit_for(report.pattern.record(), tried.error());
  report.none = sa::is_no_records(tried.error());
  if (!report.none) tried.error().raise();
}

std::string description_of(const sa::NodeRecord& node) { return std::string(fixed_text(node.node_description.node_string)); }

std::vector<std::string> node_list_keys() { return keys_of(node_list_columns()); }

void emit_nodes(Stack& stack, Emit& emit, ListKind list, sa::Nodes nodes, const TableOptions& table) {
  if (list == ListKind::one_lid && !nodes.records.empty()) nodes.records.resize(1);
  std::vector<NamedNode> rows;
  for (const sa::NodeRecord& node : nodes.records) {
    const auto mapped = stack.manners().node_name_map().find(node.node_info.node_guid);
    rows.push_back({node, mapped ? std::optional(std::string(*mapped)) : std::nullopt});
  }
  emit(NodesReport(list, nodes.torn, table, std::move(rows)));
}

async::Task<> list_managers(Stack& stack, Emit& emit) {
  constexpr std::uint32_t any_bit = 1U << 31;  // a record matches if it has the bits of the mask (IBA 15.2.5.3)
  ManagersReport report(stack);
  co_await fetch_records(stack, report.active, mad::method::get_table, any_bit);
  try {
    co_await fetch_records(stack, report.disabled, mad::method::get_table, any_bit);
  } catch (const Error&) {
    emit.so_far(report);
    throw;
  }
  report.all = true;
  emit(report);
}

}  // namespace ib::tools::saquery
