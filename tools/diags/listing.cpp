// SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB
// See listing.hpp. libibmad's words for values are data here, one list for each way of writing.
#include "diags/listing.hpp"

#include <fmt/format.h>

#include <bit>
#include <initializer_list>
#include <stdexcept>

#include "iba/registry.hpp"
#include "iba/wire.hpp"

namespace ib::diags {
namespace {

struct Word {
  std::uint64_t number;
  std::string_view text;
};
using Words = std::initializer_list<Word>;

constexpr std::size_t value_column = 33;

const Words node_types{{1, "Channel Adapter"}, {2, "Switch"}, {3, "Router"}};
const Words port_states{{0, "NoChange"}, {1, "Down"}, {2, "Initialize"}, {3, "Armed"}, {4, "Active"}};
const Words physical_states{
    {0, "NoChange"},          {1, "Sleep"},  {2, "Polling"}, {3, "Disabled"}, {4, "PortConfigurationTraining"}, {5, "LinkUp"},
    {6, "LinkErrorRecovery"}, {7, "PhyTest"}};
const Words link_down_defaults{{0, "NoChange"}, {1, "Sleep"}, {2, "Polling"}};
const Words mtus{{1, "256"}, {2, "512"}, {3, "1024"}, {4, "2048"}, {5, "4096"}};
const Words vl_caps{{1, "VL0"}, {2, "VL0-1"}, {3, "VL0-3"}, {4, "VL0-7"}, {5, "VL0-14"}};
const Words operational_vls{{0, "No change"}, {1, "VL0"}, {2, "VL0-1"}, {3, "VL0-3"}, {4, "VL0-7"}, {5, "VL0-14"}};
const Words widths{{1, "1X"}, {2, "4X"}, {4, "8X"}, {8, "12X"}, {16, "2X"}};
const Words speeds_active{{0, "Extended speed"}, {1, "2.5 Gbps"}, {2, "5.0 Gbps"}, {4, "10.0 Gbps"}};
const Words speeds{{1, "2.5 Gbps"}, {2, "5.0 Gbps"}, {4, "10.0 Gbps"}};
const Words ext_speeds_active{{0, "No Extended Speed"}, {1, "14.0625 Gbps"}, {2, "25.78125 Gbps"}, {4, "53.125 Gbps"}, {8, "106.25 Gbps"}};
const Words ext_speeds{{1, "14.0625 Gbps"}, {2, "25.78125 Gbps"}, {4, "53.125 Gbps"}, {8, "106.25 Gbps"}};
const Words ext_speeds2_active{{0, "No Extended Speed 2"}, {1, "212.5 Gbps"}};
const Words ext_speeds2{{1, "212.5 Gbps"}};

// The names are libibmad's to the letter, its spelling included.
const Words capability_bits{{1, "IsSM"},
                            {2, "IsNoticeSupported"},
                            {3, "IsTrapSupported"},
                            {4, "IsOptionalIPDSupported"},
                            {5, "IsAutomaticMigrationSupported"},
                            {6, "IsSLMappingSupported"},
                            {7, "IsMKeyNVRAM"},
                            {8, "IsPKeyNVRAM"},
                            {9, "IsLedInfoSupported"},
                            {10, "IsSMdisabled"},
                            {11, "IsSystemImageGUIDsupported"},
                            {12, "IsPkeySwitchExternalPortTrapSupported"},
                            {14, "IsExtendedSpeedsSupported"},
                            {15, "IsCapabilityMask2Supported"},
                            {16, "IsCommunicatonManagementSupported"},
                            {17, "IsSNMPTunnelingSupported"},
                            {18, "IsReinitSupported"},
                            {19, "IsDeviceManagementSupported"},
                            {20, "IsVendorClassSupported"},
                            {21, "IsDRNoticeSupported"},
                            {22, "IsCapabilityMaskNoticeSupported"},
                            {23, "IsBootManagementSupported"},
                            {24, "IsLinkRoundTripLatencySupported"},
                            {25, "IsClientRegistrationSupported"},
                            {26, "IsOtherLocalChangesNoticeSupported"},
                            {27, "IsLinkSpeedWidthPairsTableSupported"},
                            {28, "IsVendorSpecificMadsTableSupported"},
                            {29, "IsMcastPkeyTrapSuppressionSupported"},
                            {30, "IsMulticastFDBTopSupported"},
                            {31, "IsHierarchyInfoSupported"}};
const Words capability2_bits{{0, "IsSetNodeDescriptionSupported"},   {1, "IsPortInfoExtendedSupported"}, {2, "IsVirtualizationSupported"},
                             {3, "IsSwitchPortStateTableSupported"}, {4, "IsLinkWidth2xSupported"},      {5, "IsLinkSpeedHDRSupported"},
                             {6, "IsMKeyProtectBitsExtSupported"},   {7, "IsEnhancedTrap128Supported"},  {8, "IsPartitionTopSupported"},
                             {9, "IsEnhancedQoSArbiterSupported"},   {10, "IsLinkSpeedNDRSupported"}};

std::string undefined(std::uint64_t value) { return fmt::format("undefined ({})", value); }

/// The word for exactly this value, else `other`.
std::string one_of(const Words& words, std::uint64_t value, std::string other) {
  for (const Word& word : words)
    if (word.number == value) return std::string(word.text);
  return other;
}

/// "A or B" of the bits of `value`; "undefined" stands last where a bit has no word, or none is set.
std::string any_of(const Words& words, std::uint64_t value) {
  std::string text;
  std::uint64_t known = 0;
  const auto add = [&](std::string_view word) { text.append(text.empty() ? "" : " or ").append(word); };
  for (const Word& word : words) {
    known |= word.number;
    if ((value & word.number) != 0) add(word.text);
  }
  if (value == 0 || (value & ~known) != 0) add(undefined(value));
  return text;
}

std::string ext_speeds_of(std::uint64_t value) { return value == 0 ? "0" : any_of(ext_speeds, value); }

std::string capabilities(const Words& names, std::uint64_t mask) {
  std::string text = fmt::format("0x{:x}", mask);
  for (const Word& name : names)
    if ((mask >> name.number & 1U) != 0) text.append("\n\t\t\t\t").append(name.text);
  return text;
}

/// IBA 14.2.5.6 LinkWidthSupported: the combinations that a port may claim all include 1X, save for 1X and 8X alone.
bool width_combination_defined(std::uint64_t value) {
  switch (value) {
    case 1:
    case 3:
    case 7:
    case 11:
    case 15:
    case 17:
    case 19:
    case 23:
    case 27:
    case 31:
      return true;
    default:
      return value >> 5 != 0;  // already marked as undefined
  }
}

std::string speeds_of(std::uint64_t value) {
  return any_of(speeds, value) + ((value & 1U) == 0 && value >> 3 == 0 ? " (IBA extension)" : "");
}

constexpr ListedField node_info_fields[]{
    {"base_version", "BaseVers"},
    {"class_version", "ClassVers"},
    {"node_type", "NodeType", Form::node_type},
    {"num_ports", "NumPorts"},
    {"system_image_guid", "SystemGuid", Form::hex},
    {"node_guid", "Guid", Form::hex},
    {"port_guid", "PortGuid", Form::hex},
    {"partition_cap", "PartCap"},
    {"device_id", "DevId", Form::hex},
    {"revision", "Revision", Form::hex},
    {"local_port_num", "LocalPort"},
    {"vendor_id", "VendorId", Form::hex},
};

constexpr ListedField switch_info_fields[]{
    {"linear_fdb_cap", "LinearFdbCap"},
    {"random_fdb_cap", "RandomFdbCap"},
    {"multicast_fdb_cap", "McastFdbCap"},
    {"linear_fdb_top", "LinearFdbTop"},
    {"default_port", "DefPort"},
    {"default_multicast_primary_port", "DefMcastPrimPort"},
    {"default_multicast_not_primary_port", "DefMcastNotPrimPort"},
    {"life_time_value", "LifeTime"},
    {"port_state_change", "StateChange"},
    {"optimized_sl_to_vl_mapping_programming", "OptSLtoVLMapping"},
    {"lids_per_port", "LidsPerPort"},
    {"partition_enforcement_cap", "PartEnforceCap"},
    {"inbound_enforcement_cap", "InboundPartEnf"},
    {"outbound_enforcement_cap", "OutboundPartEnf"},
    {"filter_raw_inbound_cap", "FilterRawInbound"},
    {"filter_raw_outbound_cap", "FilterRawOutbound"},
    {"enhanced_port0", "EnhancedPort0"},
    {"multicast_fdb_top", "MulticastFDBTop", Form::hex},
};

constexpr ListedField port_info_fields[]{
    {"m_key", "Mkey", Form::hex},
    {"gid_prefix", "GidPrefix", Form::hex},
    {"lid", "Lid"},
    {"master_sm_lid", "SMLid"},
    {"capability_mask", "CapMask", Form::capability_mask},
    {"diag_code", "DiagCode", Form::hex},
    {"m_key_lease_period", "MkeyLeasePeriod"},
    {"local_port_num", "LocalPort"},
    {"link_width_enabled", "LinkWidthEnabled", Form::width_enabled},
    {"link_width_supported", "LinkWidthSupported", Form::width_supported},
    {"link_width_active", "LinkWidthActive", Form::width_active},
    {"link_speed_supported", "LinkSpeedSupported", Form::speeds},
    {"port_state", "LinkState", Form::port_state},
    {"port_physical_state", "PhysLinkState", Form::physical_state},
    {"link_down_default_state", "LinkDownDefState", Form::link_down_default},
    {"m_key_protect_bits", "ProtectBits"},
    {"lmc", "LMC"},
    {"link_speed_active", "LinkSpeedActive", Form::speed_active},
    {"link_speed_enabled", "LinkSpeedEnabled", Form::speeds},
    {"neighbor_mtu", "NeighborMTU", Form::mtu},
    {"master_sm_sl", "SMSL"},
    {"vl_cap", "VLCap", Form::vl_cap},
    {"init_type", "InitType", Form::hex},
    {"vl_high_limit", "VLHighLimit"},
    {"vl_arbitration_high_cap", "VLArbHighCap"},
    {"vl_arbitration_low_cap", "VLArbLowCap"},
    {"init_type_reply", "InitReply", Form::hex},
    {"mtu_cap", "MtuCap", Form::mtu},
    {"vl_stall_count", "VLStallCount"},
    {"hoq_life", "HoqLife"},
    {"operational_vls", "OperVLs", Form::operational_vls},
    {"partition_enforcement_inbound", "PartEnforceInb"},
    {"partition_enforcement_outbound", "PartEnforceOutb"},
    {"filter_raw_inbound", "FilterRawInb"},
    {"filter_raw_outbound", "FilterRawOutb"},
    {"m_key_violations", "MkeyViolations"},
    {"p_key_violations", "PkeyViolations"},
    {"q_key_violations", "QkeyViolations"},
    {"guid_cap", "GuidCap"},
    {"client_reregister", "ClientReregister"},
    {"multicast_p_key_trap_suppression_enabled", "McastPkeyTrapSuppressionEnabled"},
    {"subnet_timeout", "SubnetTimeout"},
    {"resp_time_value", "RespTimeVal"},
    {"local_phy_errors", "LocalPhysErr"},
    {"overrun_errors", "OverrunErr"},
    {"max_credit_hint", "MaxCreditHint"},
    {"link_round_trip_latency", "RoundTrip"},
    {"capability_mask2", "CapabilityMask2", Form::capability_mask2},
    {"link_speed_ext_active", "LinkSpeedExtActive", Form::ext_speed_active},
    {"link_speed_ext_supported", "LinkSpeedExtSupported", Form::ext_speeds},
    {"link_speed_ext_enabled", "LinkSpeedExtEnabled", Form::ext_speeds_enabled},
};

constexpr ListedField port_info_xdr_fields[]{
    {"link_speed_ext_active2", "LinkSpeedExtActive2", Form::ext_speed2_active},
    {"link_speed_ext_supported2", "LinkSpeedExtSupported2", Form::ext_speeds2},
    {"link_speed_ext_enabled2", "LinkSpeedExtEnabled2", Form::ext_speeds2},
};

constexpr ListedField port_info_extended_fields[]{
    {"capability_mask", "CapMask", Form::hex},
    {"fec_mode_active", "FECModeActive"},
    {"fdr_fec_mode_supported", "FDRFECModeSupported", Form::hex},
    {"fdr_fec_mode_enabled", "FDRFECModeEnabled", Form::hex},
    {"edr_fec_mode_supported", "EDRFECModeSupported", Form::hex},
    {"edr_fec_mode_enabled", "EDRFECModeEnabled", Form::hex},
    {"hdr_fec_mode_supported", "HDRFECModeSupported", Form::hex},
    {"hdr_fec_mode_enabled", "HDRFECModeEnabled", Form::hex},
    {"ndr_fec_mode_supported", "NDRFECModeSupported", Form::hex},
    {"ndr_fec_mode_enabled", "NDRFECModeEnabled", Form::hex},
};

constexpr ListedField mlnx_ext_port_info_fields[]{
    {"state_change_enable", "StateChangeEnable", Form::hex},
    {"link_speed_supported", "LinkSpeedSupported", Form::hex},
    {"link_speed_enabled", "LinkSpeedEnabled", Form::hex},
    {"link_speed_active", "LinkSpeedActive", Form::hex},
};

}  // namespace

const Listing node_info_listing{"smp::NodeInfo", node_info_fields};
const Listing switch_info_listing{"smp::SwitchInfo", switch_info_fields};
const Listing port_info_listing{"smp::PortInfo", port_info_fields};
const Listing port_info_xdr_listing{"smp::PortInfo", port_info_xdr_fields};
const Listing port_info_extended_listing{"smp::PortInfoExtended", port_info_extended_fields};
const Listing mlnx_ext_port_info_listing{"smp::MlnxExtPortInfo", mlnx_ext_port_info_fields};

std::string listed_line(std::string_view label, std::string_view value) {
  std::string line = fmt::format("{}:", label);
  if (line.size() < value_column) line.append(value_column - line.size(), '.');
  return line.append(value);
}

std::string listed_value(Form form, std::uint64_t value, unsigned bits) {
  const std::string unknown = fmt::format("?({})", value);
  switch (form) {
    case Form::decimal:
      return std::to_string(value);
    case Form::hex:
      return fmt::format("0x{:0{}x}", value, (bits + 7) / 8 * 2);
    case Form::node_type:
      return one_of(node_types, value, unknown + "?");
    case Form::port_state:
      return one_of(port_states, value, unknown);
    case Form::physical_state:
      return one_of(physical_states, value, unknown);
    case Form::link_down_default:
      return one_of(link_down_defaults, value, unknown);
    case Form::mtu:
      return one_of(mtus, value, unknown);
    case Form::vl_cap:
      return one_of(vl_caps, value, unknown);
    case Form::operational_vls:
      return one_of(operational_vls, value, unknown);
    case Form::width_active:
      return one_of(widths, value, undefined(value));
    case Form::width_enabled:
      return any_of(widths, value);
    case Form::width_supported:
      return any_of(widths, value) + (width_combination_defined(value) ? "" : " (IBA extension)");
    case Form::speed_active:
      return one_of(speeds_active, value, undefined(value));
    case Form::speeds:
      return speeds_of(value);
    case Form::ext_speed_active:
      return one_of(ext_speeds_active, value, undefined(value));
    case Form::ext_speeds:
      return ext_speeds_of(value);
    case Form::ext_speeds_enabled:
      return value == 30 ? "Extended link speeds disabled" : ext_speeds_of(value);
    case Form::ext_speed2_active:
      return one_of(ext_speeds2_active, value, undefined(value));
    case Form::ext_speeds2:
      return value == 0 ? "0" : any_of(ext_speeds2, value);
    case Form::capability_mask:
      return capabilities(capability_bits, value);
    case Form::capability_mask2:
      return capabilities(capability2_bits, value);
  }
  return unknown;
}

std::string listed(const Listing& listing, Bytes bytes, std::string_view hidden) {
  const StructInfo* info = find_struct(listing.structure);
  if (info == nullptr) throw std::logic_error(fmt::format("no structure is called {}", listing.structure));
  std::string text;
  for (const ListedField& line : listing.fields) {
    const FieldInfo* field = find_field(*info, line.field);
    if (field == nullptr) throw std::logic_error(fmt::format("{} has no field {}", listing.structure, line.field));
    const std::uint64_t value = wire::get_bits(bytes, field->bit_offset, field->bits);
    text += listed_line(line.label, line.field == hidden ? "<not displayed>" : listed_value(line.form, value, field->bits));
    text += '\n';
  }
  return text;
}

}  // namespace ib::diags
